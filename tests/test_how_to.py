"""The how-to guides are correct: their commands work in a project as printed."""

from __future__ import annotations

import re
import shlex
import subprocess

from conftest import Repo
from support.docs_commands import calls
from support.paths import ROOT

GUIDES = {path.stem: path.read_text() for path in sorted((ROOT / "docs/how-to").glob("*.md"))}


def test_the_guide_adds_a_role(repo: Repo) -> None:
    """The commands of the guide write the file that it shows, and a task for the role."""
    script = "".join(re.findall(r"^```sh\n(.*?)^```", GUIDES["custom-role"], re.DOTALL | re.MULTILINE))
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=repo.root,
        env=repo.environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "swift-dev" in result.stdout
    assert repo.task("010")["assigned_agent"] == "swift-dev"
    (shown,) = re.findall(r"^```markdown\n(.*?)^```", GUIDES["custom-role"], re.DOTALL | re.MULTILINE)
    assert (repo.root / ".claude/agents/swift-dev.md").read_text() == shown


def test_every_setting_of_the_guides_is_valid(repo: Repo) -> None:
    """Each `sow config set` of a guide is accepted, and the settings are valid together."""
    repo.ok("agent", "new", "security-reviewer", "--description", "Looks for holes", "--prompt", "Review it")
    repo.ok("agent", "new", "swift-dev", "--description", "Writes Swift", "--prompt", "Write it")
    lines = [line for page in GUIDES.values() for part in calls(page) for line in part]
    settings = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("sow config set ")]
    settings = [words for words in settings if len(words) > 3]
    assert len(settings) >= 7
    for setting in settings:
        repo.ok(*setting)
    repo.ok("config", "validate")
