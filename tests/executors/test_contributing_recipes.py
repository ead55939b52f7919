"""The recipes of CONTRIBUTING work in a copy of the package: a new agent and a new executor."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import SOW, Repo, Result
from support.paths import ROOT

# What the recipe's CLI would do: it keeps its sessions in files, and runs what the prompt says.
SCRIBE = f"""#!{sys.executable}
import json, os, pathlib, subprocess, sys
flag, session = sys.argv[2:4]
chat = pathlib.Path(os.environ["HOME"], f"{{session}}.chat")
if flag == "--resume" and not chat.exists():
    sys.exit("no such session")
prompt = sys.stdin.read()
chat.write_text((chat.read_text() if chat.exists() else "") + prompt)
print(json.dumps({{"type": "says", "text": " ".join(sys.argv[4:])}}))
command = prompt.rpartition("[[")[2].partition("]]")[0]
done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
print(json.dumps({{"type": "done", "text": f"{{done.stdout}} after {{chat.read_text().count('[[')}} prompts"}}))
"""


def recipe(title: str) -> list[str]:
    """Returns the code blocks of one section of CONTRIBUTING.md."""
    section = (ROOT / "CONTRIBUTING.md").read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    return [textwrap.dedent(block.partition("\n")[2]) for block in section.split("```")[1::2]]


class Copy:
    """A copy of the package, and calls of it in a repository."""

    def __init__(self, repo: Repo, folder: Path) -> None:
        self.repo = repo
        self.folder = folder
        shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        repo.environment |= {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}

    def add_executor(self, name: str, blocks: list[str]) -> None:
        (self.folder / f"src/sow/executors/clis/{name}.py").write_text(blocks[0])
        registry = self.folder / "src/sow/executors/settings.py"
        opening = "ADAPTERS = {\n"
        assert opening in registry.read_text()
        registry.write_text(registry.read_text().replace(opening, f"{opening}    {blocks[1]}"))

    def configure(self, **settings: Any) -> None:
        path = Path(self.repo.environment["HOME"], ".config", "sow", "config.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        executors = {"my-scribe": {"type": "scribe", "settings": settings, "custom_args": ["--fast"]}}
        bindings = {"implementer": "my-scribe"}
        path.write_text(yaml.safe_dump({"agents": {"executors": executors, "bindings": bindings}}))

    def sow(self, *arguments: str) -> Result:
        return self.repo.sow(*arguments)


@pytest.fixture
def copy(repo: Repo, tmp_path: Path) -> Copy:
    program = tmp_path / "bin" / "scribe"
    program.parent.mkdir()
    program.write_text(SCRIBE)
    program.chmod(0o755)
    repo.environment["PATH"] = f"{program.parent}:{repo.environment['PATH']}"
    return Copy(repo, tmp_path / "copy")


def test_an_executor_is_one_file_and_one_entry(copy: Copy) -> None:
    """With the recipe's file and line it spawns, pauses and resumes under its own name, and passes the linter."""
    copy.add_executor("scribe", recipe("A new executor"))
    copy.sow("task", "create", "--name", f"Work [[{SOW} task set --id 010 status paused]]", "--agent", "implementer")
    first = copy.sow("agent", "spawn", "implementer", "010", "--executor", "scribe")
    assert first.code == 0 and first.out.endswith("task 010: status is paused\n"), first
    assert f"--allow={SOW} --allow=sow --allow=git" in first.out
    second = copy.sow("agent", "resume", "010", f"Go on [[{SOW} task set --id 010 status needs_review]]")
    assert second.code == 0 and second.out.endswith("task 010: status is needs_review\n"), second
    record = yaml.safe_load((copy.repo.root / ".sow/local/sessions/010/1/record.yaml").read_text())["session"]
    assert (record["type"], [turn["outcome"] for turn in record["turns"]]) == ("scribe", ["done", "done"])
    checked = ["ruff", "check", "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    ruff = [sys.executable, "-m", *checked, str(copy.folder / "src/sow/executors/clis/scribe.py")]
    assert subprocess.run(ruff, capture_output=True, env=os.environ).returncode == 0


@pytest.mark.full
def test_users_can_set_the_new_executor(copy: Copy) -> None:
    """Its type works in the user's settings; without the recipe it is refused by name."""
    copy.configure(yolo_mode=True, model="quill")
    assert "unknown executor type: scribe" in copy.sow("config", "validate").err
    copy.add_executor("scribe", recipe("A new executor"))
    validated = copy.sow("config", "validate")
    assert validated.code == 0 and "scribe" in validated.out, validated
    copy.sow("task", "create", "--name", f"Work [[{SOW} task set --id 010 status paused]]", "--agent", "implementer")
    result = copy.sow("agent", "spawn", "implementer", "010")
    assert result.code == 0 and "--model quill --allow-all --fast" in result.out, result


@pytest.mark.full
def test_an_agent_is_one_file(copy: Copy) -> None:
    """The Markdown of the guide to roles is a valid role, is listed, and works on a task with its own text."""
    copy.add_executor("scribe", recipe("A new executor"))
    path = copy.repo.root / ".claude/agents/swift-dev.md"
    path.parent.mkdir(parents=True)
    path.write_text((ROOT / "docs/how-to/custom-role.md").read_text().partition("```markdown\n")[2].partition("```")[0])
    assert copy.sow("agent", "validate", ".claude/agents/swift-dev.md").code == 0
    listed = {agent["name"]: agent for agent in copy.sow("agent", "list", "--json").json["agents"]}
    assert listed["swift-dev"]["source"] == "project"
    copy.sow("task", "create", "--name", f"App [[{SOW} task set --id 010 status needs_review]]", "--agent", "swift-dev")
    result = copy.sow("agent", "spawn", "swift-dev", "010", "--executor", "scribe")
    assert result.code == 0 and result.out.endswith("task 010: status is needs_review\n"), result
    prompt = (copy.repo.root / ".sow/local/sessions/010/1/turn-001.prompt").read_text()
    assert prompt.startswith("You write Swift. Follow docs/ios.md.")
