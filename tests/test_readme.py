"""The README and the tutorial are correct: their commands work as printed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from conftest import Repo
from support.docs_commands import calls, parsed
from support.paths import ROOT
from support.quick_cases import few_of

README = (ROOT / "README.md").read_text()
TUTORIAL = (ROOT / "docs/tutorial.md").read_text()
PLACES = ["a fresh clone", "an empty folder"]
MOST_LINES = 70


def blocks(page: str) -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def run_page(page: str, place: str, folder: Path, environment: dict[str, str]) -> str:
    """Runs all `sh` blocks of a page in order and in one shell, and returns what they print."""
    if place == "a fresh clone":
        subprocess.run(["git", "clone", "-q", ROOT, folder], env=environment, check=True)
    else:
        folder.mkdir()
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "".join(blocks(page))],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@few_of("place", PLACES, 1)
def test_the_readme_works_as_one_script(environment: dict[str, str], tmp_path: Path, place: str):
    """The commands of the README end with two merged tasks on a clean branch, anywhere (D3)."""
    printed = run_page(README, place, tmp_path / "here", environment)
    assert "2 GREEN" in printed
    assert "nothing needs your answer" in printed
    repo = Repo(tmp_path / "here/shop", environment)
    assert repo.git("branch", "--show-current") == "sow/help-pages\n"
    assert repo.git("ls-tree", "-r", "--name-only", "HEAD") == "simulated/010.md\nsimulated/020.md\n"
    assert repo.git("log", "--format=%s") == "Write the index\nWrite the first page\nFirst commit\n"


@few_of("place", PLACES, 1)
def test_the_tutorial_works_as_one_script(environment: dict[str, str], tmp_path: Path, place: str):
    """The commands of the tutorial, in order and in one shell, work in a clone and in an empty folder."""
    assert len(blocks(TUTORIAL)) >= 10
    printed = run_page(TUTORIAL, place, tmp_path / "here", environment)
    assert "task 020: status is completed" in printed
    assert "clean: no project state in this checkout" in printed
    assert "2 GREEN" in printed
    repo = Repo(tmp_path / "here/shop", environment)
    assert repo.git("branch", "--show-current") == "feat/login\n"
    assert repo.git("ls-tree", "-r", "--name-only", "HEAD", ".sow/project") == ""
    assert repo.git("ls-files", "simulated") == "simulated/010.md\nsimulated/020.md\n"


def test_every_block_of_the_tutorial_runs():
    """No block of the tutorial is only shown."""
    assert TUTORIAL.count("```") == 2 * len(blocks(TUTORIAL))


def test_the_readme_is_one_screen():
    """The README has one picture, six commands for a plan, five from a goal to a merge, and little else."""
    fenced, _ = calls(README)
    assert len(README.splitlines()) <= MOST_LINES
    assert README.count("![") == 1
    names = [parsed(line)[0].name for line in fenced]
    assert names[:6] == ["doctor", "run", "status", "inbox", "runs show", "cleanup"]
    assert names[6:] == ["plan new", "run", "inbox", "deliver", "ui"]


def test_the_demo_needs_no_developer_tools(tmp_path: Path):
    """`make demo` installs the run-time dependencies and prints that; `make test` adds the tools (D13)."""
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
