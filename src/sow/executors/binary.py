"""Finds the program of an executor, and words the errors of one that is missing or cannot resume a session."""

from __future__ import annotations

import os

from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.executors.adapter import Capabilities


def find_binary(binary: str, environment: Mapping[str, str]) -> str:
    """Returns the path of a program, or "" if it is not found."""
    if os.path.isabs(binary):
        return binary if os.access(binary, os.X_OK) and os.path.isfile(binary) else ""
    # shutil.which adds a quarter of Python's start time to every spawn. It also accepts a relative path and empty or
    # relative PATH entries, so a repository could decide which program runs.
    if "/" in binary:
        return ""
    for folder in environment.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, binary)
        if os.path.isabs(path) and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return ""


def missing_binary(name: str, binary: str, capabilities: Capabilities) -> SowError:
    """Returns the error for a CLI that is not installed."""
    need = f"requires the {binary} CLI to be installed and available on PATH"
    if os.path.isabs(binary):
        need = f"runs {binary}, which is not an executable file"
    advice = program_advice(name, binary, capabilities).replace("Install:", f"Install {binary}:")
    return SowError(f"executor binary not found: {binary}", f'Executor "{name}" {need}.\n\n{advice}')


def program_advice(name: str, binary: str, capabilities: Capabilities) -> str:
    """Returns how to install a missing program; one that the user's settings name is corrected there."""
    if binary == capabilities.binary:
        return f"Install: {capabilities.install}"
    return f"Correct agents.executors.{name}.settings.{'binary' if capabilities.binary else 'command'}: sow config edit"


def no_resumption(name: str, task: str, agent: str) -> SowError:
    """Returns the error for a CLI that cannot resume a session."""
    lines = [f"Cannot resume task {task}. Consider:" if task else "Consider:"]
    command = f": sow agent spawn {agent} {task} --fresh" if task else ""
    lines += [f"  - Spawning a new worker instance{command}"]
    lines += ["  - Switching to an executor with session support (claude-code, cursor)"]
    return SowError(f'executor "{name}" does not support session resumption', "\n".join(lines))
