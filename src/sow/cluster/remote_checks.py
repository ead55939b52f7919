"""Writes a check list for another host, and reads the results that come back; nothing in them is trusted."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from sow.cluster.packet import BadPacket
from sow.domain.checks import task_checks
from sow.domain.documents.state import Check, Evidence, TestCounts
from sow.domain.plans import command_line
from sow.engine.checks.check_list import TAIL, CheckListResult
from sow.system import clock
from sow.system.terminal import escape_control

KINDS = ("test", "criterion", "integration")
SENT, RETURNED = ("kind", "command", "expected"), ("command", "exit", "seconds", "output", "tests")
COUNTS = ("ran", "failed", "skipped")
MOST_CHECKS, MOST_COMMAND, MOST_TESTS = 200, 4000, 10_000_000
MOST_SECONDS = 7 * 86400.0
DIGEST = re.compile(r"[0-9a-f]{64}")
OTHER_FORM = "its checks have another form"


def write_list(checks: Sequence[Check]) -> str:
    """Returns a check list as text."""
    return json.dumps([{name: value for name, value in check.items() if name in SENT} for check in checks])


def read_list(text: str) -> list[Check]:
    """Returns the check list of a request. Raises BadPacket if it is none."""
    entries = _entries(text)
    for entry in entries:
        values = [entry.get(name, "") for name in SENT]
        if not all(isinstance(value, str) and len(value) <= MOST_COMMAND for value in values):
            raise BadPacket(OTHER_FORM, "")
        if values[0] not in KINDS or not values[1]:
            raise BadPacket(OTHER_FORM, "")
    return entries  # type: ignore[return-value]


def write_results(result: CheckListResult) -> str:
    """Returns the results of a list as text."""
    kept = ({name: value for name, value in entry.items() if name in RETURNED} for entry in result.evidence)
    return json.dumps([{**entry, "tail": result.tails[str(entry["command"])]} for entry in kept])


def read_results(text: str, checks: Sequence[Check], *, tree: str, iteration: int, host: str) -> CheckListResult:
    """Returns the evidence of a list that ran on a host. Raises BadPacket if it is not that of this list.

    It names no environment, so it is never taken for a result of this machine.
    """
    entries, result = _entries(text), CheckListResult()
    if [entry.get("command") for entry in entries] != [check["command"] for check in checks]:
        raise BadPacket("its results are not those of the list", "")
    for check, entry in zip(checks, entries, strict=True):
        code, output, tail = (entry.get(name) for name in ("exit", "output", "tail"))
        seconds: Any = entry.get("seconds")
        if type(code) is not int or type(seconds) not in (int, float) or not 0 <= seconds <= MOST_SECONDS:
            raise BadPacket(OTHER_FORM, "")
        if not (isinstance(output, str) and DIGEST.fullmatch(output) and isinstance(tail, str)):
            raise BadPacket(OTHER_FORM, "")
        evidence: Evidence = {
            "kind": check["kind"],
            "command": check["command"],
            "exit": code,
            "passed": code == command_line.expected_exit_code(check.get("expected", "")),
            "seconds": round(seconds, 3),
            "output": output,
            "iteration": iteration,
            "at": clock.now(),
            "tree": tree,
            "list": task_checks.digest(checks),
            "scope": "commit",
            "host": host,
        }
        counts = _counts(entry.get("tests"))
        if counts is not None:
            evidence["tests"] = counts
        result.evidence.append(evidence)
        result.tails[check["command"]] = escape_control(tail)[-TAIL:]
    return result


def _counts(value: Any) -> TestCounts | None:
    if not isinstance(value, dict) or "ran" not in value:
        return None
    counts = {name: value[name] for name in COUNTS if name in value}
    if any(type(count) is not int or not 0 <= count <= MOST_TESTS for count in counts.values()):
        return None
    return counts  # type: ignore[return-value]


def _entries(text: str) -> list[dict[str, Any]]:
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        entries = None
    if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_CHECKS:
        raise BadPacket(OTHER_FORM, "")
    if not all(isinstance(entry, dict) for entry in entries):
        raise BadPacket(OTHER_FORM, "")
    return entries
