"""Fakes of agent CLIs: small programs with the documented interface of each.

Directives in a prompt control a fake: `[[sh:COMMAND]]` is a call of its shell tool, `[[say:TEXT]]` its
answer, `[[fail:TEXT]]` an end with that text on stderr and no result.
"""

from __future__ import annotations

import sys
from pathlib import Path

from conftest import Repo

# Three CLIs that no registry has, and those of tests/real in one file that takes the name of a CLI.
PROGRAMS = {"cursor-agent": "cursor_agent.py", "devin": "devin.py", "amp": "amp.py"}
SPEAKERS = ("claude", "codex", "gemini", "opencode", "copilot", "qwen", "aider")


def install(repo: Repo, name: str, folder: Path) -> None:
    """Puts a fake on the PATH of a repository's calls."""
    folder.mkdir(exist_ok=True)
    script, played = ("cli_streams.py", f" {name}") if name in SPEAKERS else (PROGRAMS[name], "")
    program = folder / name
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).parent / script}"{played} "$@"\n')
    program.chmod(0o755)
    repo.environment["PATH"] = f"{folder}:{repo.environment['PATH']}"
