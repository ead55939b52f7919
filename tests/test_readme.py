"""The README is true: what it tells a newcomer to type works as it stands."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from conftest import Repo
from support.paths import ROOT
from support.quick_cases import few_of

README = (ROOT / "README.md").read_text()


def blocks(word: str) -> list[str]:
    return re.findall(rf"^```{word}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


@few_of("place", ["a fresh clone", "an empty folder"], 1)
def test_the_whole_readme_as_one_script(environment: dict[str, str], tmp_path: Path, place: str):
    """All `sh` blocks, in order and in one shell, end well: in a clone and in an empty folder (D3)."""
    folder = tmp_path / "here"
    if place == "a fresh clone":
        subprocess.run(["git", "clone", "-q", ROOT, folder], env=environment, check=True)
    else:
        folder.mkdir()
    assert len(blocks("sh")) >= 8
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "".join(blocks("sh"))],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "task 020: status is completed" in done.stdout
    assert "clean: no project state in this checkout" in done.stdout
    assert "2 GREEN" in done.stdout
    repo = Repo(folder / "shop", environment)
    assert repo.git("branch", "--show-current") == "feat/login\n"
    assert repo.git("ls-tree", "-r", "--name-only", "HEAD", ".sow/project") == ""
    assert repo.git("ls-files", "simulated") == "simulated/010.md\nsimulated/020.md\n"


def test_every_other_command_is_one_of_sow():
    """The lines that are shown and not run name commands that exist."""
    from sow.cli.command import find

    lines = [line.split() for block in blocks("text") for line in block.splitlines() if line.startswith("sow ")]
    assert len(lines) >= 6
    for words in lines:
        assert find(words[1:])[0].name.split()[0] == words[1]


def test_run_a_workflow():
    """The README's workflow is the example that the tests run, and its commands are those of the program."""
    from sow.cli.command import find

    section = README.partition("## Run a workflow\n")[2].partition("\n## ")[0]
    assert "```text\nsh examples/workflow-user-management/run.sh\n```" in section
    for line in re.findall(r"`sow (workflow [^`]*)`", section):
        assert find(line.split())[0].name.startswith("workflow ")


def test_the_demo_needs_no_developer_tools(tmp_path: Path):
    """`make demo` installs the run-time dependencies and shows what it does; `make test` adds the tools (D13)."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    installs = {
        target: [
            line
            for line in subprocess.check_output(["make", "-n", target], cwd=tmp_path, text=True).splitlines()
            if "pip install" in line
        ]
        for target in ("demo", "test")
    }
    assert [line.split()[-1] for line in installs["demo"]] == ["."]
    assert [line.split()[-1] for line in installs["test"]] == [".", "'.[dev]'"]
    assert " -q" not in installs["demo"][0]
