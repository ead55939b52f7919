"""Stand-ins for agent CLIs that no registry has: small programs with the documented interface of each.

A prompt tells a stand-in what to do by directives: `[[sh:COMMAND]]` is a call of its shell tool, `[[say:TEXT]]` its
answer, `[[fail:TEXT]]` an end with that text on stderr and no result.
"""

from __future__ import annotations

import sys
from pathlib import Path

from conftest import Repo

PROGRAMS = {"cursor-agent": "cursor_agent.py", "devin": "devin.py", "amp": "amp.py"}


def install(repo: Repo, name: str, folder: Path) -> None:
    """Put a stand-in on the PATH of a repository's calls."""
    folder.mkdir(exist_ok=True)
    script = Path(__file__).parent / PROGRAMS[name]
    program = folder / name
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    program.chmod(0o755)
    repo.environment["PATH"] = f"{folder}:{repo.environment['PATH']}"
