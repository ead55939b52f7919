"""The README is true: what it tells a newcomer to type works as it stands."""

from __future__ import annotations

import re
import subprocess

from conftest import Repo
from support.paths import ROOT

README = (ROOT / "README.md").read_text()


def test_the_first_five_minutes(bare_repo: Repo):
    """Every command of the first five minutes, typed in order in a fresh repository, does what the text says."""
    section = README.partition("## The first five minutes\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    assert len(blocks) >= 6
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "".join(blocks)],
        cwd=bare_repo.root,
        env=bare_repo.environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "task 020: status is completed" in done.stdout
    assert done.stdout.splitlines()[-1] == "clean: no project state in this checkout"


def test_run_a_plan(bare_repo: Repo):
    """The plan of the README is run as it is typed there: on a branch of its own, two tasks completed and merged."""
    section = README.partition("## Run a plan\n")[2].partition("\n## Run a workflow")[0]
    (block,) = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        cwd=bare_repo.root,
        env=bare_repo.environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert bare_repo.git("branch", "--show-current") == "sow/help-pages\n"
    assert sorted(path.name for path in (bare_repo.root / "simulated").iterdir()) == ["010.md", "020.md"]


def test_run_a_workflow():
    """The README's workflow is the example that the tests run, and its commands are those of the program."""
    from sow.cli.command import find

    section = README.partition("## Run a workflow\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    assert block == "sh examples/workflow-user-management/run.sh\n"
    for line in re.findall(r"`sow (workflow [^`]*)`", section):
        assert find(line.split())[0].name.startswith("workflow ")
