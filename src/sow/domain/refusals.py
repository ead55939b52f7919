"""Tool calls that an agent CLI refused: how a task records them, and how people are told."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from sow.domain.shapes import Concern, Refusal, Task

KIND = "refused"  # of the concern
SHELLS = frozenset({"bash", "shell", "run_shell_command", "command_execution", "exec_command", "shell_command"})
MOST = 200  # refusals that a task keeps
MOST_TOLD = 5
LONGEST = 120


def record(task: Task, found: Sequence[Refusal], *, again: bool = False) -> Task:
    """Add refusals to a task, with the concern that a reviewer must see.

    With `again` the output of a turn is read a second time, so that calls which the task has already are not counted.
    """
    kept = [*task.get("refusals", [])]
    places = {_key(each): index for index, each in enumerate(kept)}
    for each in found:
        index = places.get(_key(each))
        if index is None and len(kept) < MOST:
            places[_key(each)] = len(kept)
            kept.append(each)
        elif index is not None and not again:
            kept[index] = {**kept[index], "count": kept[index]["count"] + each["count"], "at": each["at"]}
    if kept == task.get("refusals", []):
        return task
    return {**task, "refusals": kept, "concerns": _concerns(task, kept, {each["iteration"] for each in found})}


def _key(each: Refusal) -> tuple[int, str, str]:
    return each["iteration"], each["tool"], each.get("command", "")


def _concerns(task: Task, kept: Sequence[Refusal], iterations: set[int]) -> list[Concern]:
    """One concern for each iteration with refusals."""
    others = [each for each in task.get("concerns", ()) if each["kind"] != KIND or each["iteration"] not in iterations]
    for number in sorted(iterations):
        own = [each for each in kept if each["iteration"] == number]
        text = f"{sentence(own)}. Check that the work does not depend on them"
        others.append({"iteration": number, "kind": KIND, "text": text})
    return others


def last(task: Task) -> list[Refusal]:
    """The refusals of this iteration; while a question is open also those before, since it may begin the next one."""
    found = task.get("refusals", [])
    now = [each for each in found if each["iteration"] == task["iteration"]]
    return now or [each for each in found if "question" in task and each["iteration"] == task["iteration"] - 1]


def sentence(refusals: Sequence[Mapping[str, Any]]) -> str:
    """`3 commands refused: npm install (2 times), curl example.org`; nothing where nothing was refused."""
    if not refusals:
        return ""
    total = sum(each["count"] for each in refusals)
    shown = [_with_count(each) for each in refusals[:MOST_TOLD]]
    shown += [f"{len(refusals) - MOST_TOLD} more"] if len(refusals) > MOST_TOLD else []
    return f"{count(total)} refused: {', '.join(shown)}"


def count(total: int) -> str:
    """`1 command`, `3 commands`."""
    return f"{total} command{'' if total == 1 else 's'}"


def _with_count(each: Mapping[str, Any]) -> str:
    times = f" ({each['count']} times)" if each["count"] > 1 else ""
    return called(each["tool"], each.get("command", "")) + times


def called(tool: str, command: str) -> str:
    """A refused call on one line: the command alone where the tool is a shell."""
    text = command if command and tool.lower() in SHELLS else f"{tool} {command}"
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def advice(refusals: Sequence[Mapping[str, Any]]) -> str:
    """The setting that allows what was refused; nothing where nothing was refused."""
    names = list(dict.fromkeys(each["executor"] for each in refusals if each.get("executor")))
    keys = [f"agents.executors.{name}.settings.yolo_mode: true" for name in names]
    if not refusals:
        return ""
    key = " and ".join(keys) or "yolo_mode: true in the settings of its executor"
    return f"to let the agent do everything, set {key} (sow config edit)"
