"""The README is true: what it tells a newcomer to type works as it stands."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from conftest import Repo

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()


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
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "task 020: status is completed" in done.stdout
    assert done.stdout.splitlines()[-1] == "clean: no project state in this checkout"
