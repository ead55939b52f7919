"""Runs the commands of a task as evidence, with limits, and records their output."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sow.domain.checks import test_counts
from sow.domain.checks.consent import Consent
from sow.domain.documents.state import Check, Evidence, TestCounts
from sow.domain.plans import command_line
from sow.engine.consent import require
from sow.errors import SowError
from sow.gitwork.check_processes import CheckMark
from sow.gitwork.worktree import EnvironmentProblem
from sow.system import clock, plain_file
from sow.system.process import child_process
from sow.system.process.child_process import ProcessLimits
from sow.system.process.steps import Steps
from sow.system.sandbox import Box
from sow.system.terminal import escape_control

SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")
NOT_FOUND = 127
STOPPED = 124
TAIL = 4000


@dataclass
class CheckResult:
    """The evidence of one command and the end of its output; a command that a person stopped proves nothing."""

    evidence: Evidence
    tail: str
    interrupted: bool = False


def failed_evidence(kind: str, command: str, iteration: int) -> Evidence:
    """Return the evidence of something that failed and is no command, such as a merge."""
    facts: dict[str, Any] = {"exit": 1, "passed": False, "seconds": 0, "output": "0" * 64, "at": clock.now()}
    return {"kind": kind, "command": command, "iteration": iteration, **facts}  # type: ignore[typeddict-item]


def command_arguments(command: str) -> list[str]:
    """Return what is started for a command: its words, or a shell if only a shell understands it."""
    words = command_line.split_words(command)
    if words is not None:
        return words
    shell = next((path for path in SHELLS if os.access(path, os.X_OK)), SHELLS[-1])
    return [shell, "-c", command]


def run_check(
    check: Check,
    *,
    agreed: Consent,
    iteration: int,
    tree: str,
    cwd: str,
    folder: str,
    environment: Mapping[str, str],
    limits: ProcessLimits,
    box: Box | None,
) -> Steps[CheckResult]:
    """Run one command that the user agreed to, with exactly this environment; its output goes to files in `folder`."""
    require(agreed, check["command"])
    name = f"{folder}/{check['kind']}-{clock.stamp()}-{os.urandom(3).hex()}"
    out, err = f"{name}.out", f"{name}.err"
    started = time.monotonic()
    stopped = ""
    with CheckMark(name) as mark:
        try:
            child = child_process.Child(
                command_arguments(check["command"]),
                cwd=cwd,
                environment=environment,
                stdin_path=os.devnull,
                stdout_path=out,
                stderr_path=err,
                mark=mark.mark,
                limits=limits,
                box=box,
            )
        except SowError as problem:
            return _ran(check, NOT_FOUND, 0.0, problem.message, iteration=iteration, tree=tree)
        try:
            while child.step(_unheard):
                reason = yield
                if reason:
                    child.stop(reason)
        finally:
            code = child.close()
            stopped = child.stopped
    seconds = time.monotonic() - started
    if child.box_failed:
        reason = child.stderr_tail().strip().partition("\n")[0]
        raise EnvironmentProblem(
            f"the sandbox of `{check['command']}` did not start: {reason}", "see what sow doctor says about the sandbox"
        )
    text = read_output(out, err)
    if stopped:
        text += f"\n(stopped: {stopped})"
    ran = _ran(check, STOPPED if stopped else code, seconds, text, iteration=iteration, tree=tree)
    counts = _counts(check["command"], (out, err), passed=ran.evidence["passed"])
    if counts is not None:
        ran.evidence["tests"] = counts
    ran.interrupted = stopped == child_process.INTERRUPT
    return ran


def _unheard(line: str) -> None:
    """Ignore a line: the output is read when the check has ended."""


def read_output(out: str, err: str) -> str:
    """Return the output of a command, up to the size that is kept."""
    parts = [plain_file.read_text(path, child_process.MAX_LINE) for path in (out, err)]
    return "\n".join(part.rstrip("\n") for part in parts if part.strip())


def _counts(command: str, paths: Sequence[str], *, passed: bool) -> TestCounts | None:
    """Return how many tests a command ran, from its output; None if the output was removed."""
    try:
        ending = "\n".join(_ending(path) for path in paths)
    except OSError:
        return None
    return test_counts.of_command(command, ending) if passed else test_counts.parse(ending)


def _ending(path: str) -> str:
    """Return the end of a file, where a test runner prints its counts."""
    with open(plain_file.open_to_read(path), "rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - test_counts.MOST_BYTES, 0))
        return file.read(test_counts.MOST_BYTES).decode("utf-8", "replace")


def _ran(check: Check, code: int, seconds: float, text: str, *, iteration: int, tree: str) -> CheckResult:
    import hashlib

    evidence: Evidence = {
        "kind": check["kind"],
        "command": check["command"],
        "exit": code,
        "passed": code == command_line.expected_exit_code(check.get("expected", "")),
        "seconds": round(seconds, 3),
        "output": hashlib.sha256(text.encode()).hexdigest(),
        "iteration": iteration,
        "at": clock.now(),
    }
    if tree:
        evidence["tree"] = tree
    return CheckResult(evidence, escape_control(text)[-TAIL:])
