"""Evidence: the commands of a task, run by us and not by its worker, bounded, captured and written down."""

from __future__ import annotations

import os
import time

from sow.domain import command_line
from sow.engine.check_mark import CheckMark
from sow.errors import SowError
from sow.system import clock, process
from sow.system.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sow.domain.shapes import Check, Evidence
    from sow.engine.steps import Steps
    from sow.system.process import Limits

SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")
NOT_FOUND = 127
STOPPED = 124
TAIL = 4000


class Ran:
    """One command that was run: its evidence, and the end of what it said; one that a person cut off shows nothing."""

    __slots__ = ("evidence", "interrupted", "tail")

    def __init__(self, evidence: Evidence, tail: str) -> None:
        self.evidence = evidence
        self.tail = tail
        self.interrupted = False


def arguments(command: str) -> list[str]:
    """What is started for a command: its words, or a shell with its text where only a shell understands it."""
    found = command_line.words(command)
    if found is not None:
        return found
    shell = next((each for each in SHELLS if os.access(each, os.X_OK)), SHELLS[-1])
    return [shell, "-c", command]


def run_check(
    check: Check,
    *,
    iteration: int,
    tree: str,
    cwd: str,
    folder: str,
    environment: Mapping[str, str],
    limits: Limits,
) -> Steps[Ran]:
    """Run one command in a folder with exactly this environment; its output goes to files in `folder`."""
    name = f"{folder}/{check['kind']}-{clock.stamp()}-{os.urandom(3).hex()}"
    out, err = f"{name}.out", f"{name}.err"
    started = time.monotonic()
    stopped = ""
    with CheckMark(name) as mark:
        try:
            child = process.Child(
                arguments(check["command"]),
                cwd=cwd,
                environment=environment,
                stdin_path=os.devnull,
                stdout_path=out,
                stderr_path=err,
                mark=mark.mark,
                limits=limits,
            )
        except SowError as problem:
            return _ran(check, NOT_FOUND, 0.0, problem.message, iteration=iteration, tree=tree)
        try:
            while child.step(_unheard):
                why = yield
                if why:
                    child.stop(why)
        finally:
            code = child.close()
            stopped = child.stopped
    seconds = time.monotonic() - started
    text = said(out, err)
    if stopped:
        text += f"\n(stopped: {stopped})"
    ran = _ran(check, STOPPED if stopped else code, seconds, text, iteration=iteration, tree=tree)
    ran.interrupted = stopped == process.INTERRUPT
    return ran


def _unheard(line: str) -> None:
    """What a check says is read when it has ended."""


def said(out: str, err: str) -> str:
    """All that a command said, as far as we keep it."""
    parts = []
    for path in (out, err):
        with open(path, encoding="utf-8", errors="replace") as file:
            parts.append(file.read(process.MAX_LINE))
    return "\n".join(part.rstrip("\n") for part in parts if part.strip())


def _ran(check: Check, code: int, seconds: float, text: str, *, iteration: int, tree: str) -> Ran:
    import hashlib

    evidence: Evidence = {
        "kind": check["kind"],
        "command": check["command"],
        "exit": code,
        "passed": code == command_line.wanted_exit(check.get("expected", "")),
        "seconds": round(seconds, 3),
        "output": hashlib.sha256(text.encode()).hexdigest(),
        "iteration": iteration,
        "at": clock.now(),
    }
    if tree:
        evidence["tree"] = tree
    # Test counts: when domain/test_counts.parse exists, set evidence["tests"] = parse(text) here if it finds any.
    return Ran(evidence, harmless(text)[-TAIL:])


def shell_commands(checks: Sequence[Check]) -> list[str]:
    """The commands that only a shell understands; a person agrees to them once for a plan."""
    return list(dict.fromkeys(each["command"] for each in checks if command_line.words(each["command"]) is None))
