"""Records tool calls that an agent CLI refused in a task, and describes them to people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sow.domain import network
from sow.domain.documents.state import Concern, Refusal, Task
from sow.domain.inputs import printable_line
from sow.domain.text.units import counted, cut_to

KIND = "refused"  # of the concern
SHELLS = frozenset({"bash", "shell", "run_shell_command", "command_execution", "exec_command", "shell_command"})
MOST = 200  # refusals that a task keeps
MAX_LISTED = 5
LONGEST = 120


def record(task: Task, refusals: Sequence[Refusal], *, again: bool = False) -> Task:
    """Adds refusals to a task, with the concern that a reviewer must see.

    With `again` the output of a turn is read a second time, so calls that the task already has are not counted.
    """
    kept = [*task.get("refusals", [])]
    positions = {_key(refusal): index for index, refusal in enumerate(kept)}
    for refusal in refusals:
        index = positions.get(_key(refusal))
        if index is None and len(kept) < MOST:
            positions[_key(refusal)] = len(kept)
            kept.append(refusal)
        elif index is not None and not again:
            kept[index] = {**kept[index], "count": kept[index]["count"] + refusal["count"], "at": refusal["at"]}
    if kept == task.get("refusals", []):
        return task
    return {**task, "refusals": kept, "concerns": _concerns(task, kept, {refusal["iteration"] for refusal in refusals})}


def _key(refusal: Refusal) -> tuple[int, str, str]:
    return refusal["iteration"], refusal["tool"], refusal.get("command", "")


def _concerns(task: Task, kept: Sequence[Refusal], iterations: set[int]) -> list[Concern]:
    """Returns the task's concerns with one for each iteration with refusals."""
    concerns = [
        concern
        for concern in task.get("concerns", ())
        if concern["kind"] != KIND or concern["iteration"] not in iterations
    ]
    for number in sorted(iterations):
        matching = [refusal for refusal in kept if refusal["iteration"] == number]
        text = f"{sentence(matching)}. Check that the work does not depend on them"
        concerns.append({"iteration": number, "kind": KIND, "text": text})
    return concerns


def current_refusals(task: Task) -> list[Refusal]:
    """Returns the refusals of this iteration."""
    return [refusal for refusal in task.get("refusals", ()) if refusal["iteration"] == task["iteration"]]


def sentence(refusals: Sequence[Mapping[str, Any]]) -> str:
    """Returns `3 commands refused: npm install (2 times), curl example.org`, or an empty text."""
    kinds = {
        "command": [refusal for refusal in refusals if refusal["tool"] != network.TOOL],
        "connection": [refusal for refusal in refusals if refusal["tool"] == network.TOOL],
    }
    return "; ".join(_refused(kind, listed) for kind, listed in kinds.items() if listed)


def _refused(kind: str, refusals: Sequence[Mapping[str, Any]]) -> str:
    total = sum(refusal["count"] for refusal in refusals)
    parts = [_with_count(refusal) for refusal in refusals[:MAX_LISTED]]
    parts += [f"{len(refusals) - MAX_LISTED} more"] if len(refusals) > MAX_LISTED else []
    return f"{counted(total, kind)} refused: {', '.join(parts)}"


def _with_count(refusal: Mapping[str, Any]) -> str:
    times = f" ({refusal['count']} times)" if refusal["count"] > 1 else ""
    return call_text(refusal["tool"], refusal.get("command", "")) + times


def call_text(tool: str, command: str) -> str:
    """Returns a refused call on one line. For a shell it is only the command."""
    text = command if command and tool.lower() in (*SHELLS, network.TOOL) else f"{tool} {command}"
    return cut_to(LONGEST, printable_line(text))


def summary(refusals: Sequence[Mapping[str, Any]]) -> str:
    """Returns what was refused and how to allow it, or an empty text."""
    return f"{sentence(refusals)}; {advice(refusals)}" if refusals else ""


def advice(refusals: Sequence[Mapping[str, Any]]) -> str:
    """Returns how to allow the refused commands and connections, or an empty text."""
    commands = [refusal for refusal in refusals if refusal["tool"] != network.TOOL]
    names = list(dict.fromkeys(refusal["executor"] for refusal in commands if refusal.get("executor")))
    keys = [f"agents.executors.{name}.settings.yolo_mode: true" for name in names]
    key = " and ".join(keys) or "yolo_mode: true in the settings of its executor"
    ways = [f"to let the agent do everything, set {key} (sow config edit)"] if commands else []
    if len(commands) < len(refusals):
        ways.append("to let agents reach a host, name it in sandbox.hosts (sow config edit)")
    return "; ".join(ways)
