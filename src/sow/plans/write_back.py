"""The status of tasks, written into the text of their plan file; every other byte of it stays."""

from __future__ import annotations

from bisect import bisect_left

from sow.domain.plan import Plan, Source
from sow.errors import SowError
from sow.plans import markdown_status, reader, words
from sow.plans.status_edit import Refusal, word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from sow.domain.plan import PlanTask
    from sow.plans.status_edit import Edit

BOM = "\ufeff"


def with_statuses(text: str, file: str, statuses: Mapping[str, str]) -> str:
    """The text with these statuses of tasks, by their numbers; proven by reading it, or refused with the reason."""
    body = text.removeprefix(BOM)
    before = _read(body, file)
    changes = _changes(before, file, statuses)
    if not changes:
        return text
    after = _applied(body, _edits(body, changes))
    _prove(before, _read(after, file), {task.number: status for task, status in changes}, (body, after))
    return text[: len(text) - len(body)] + after


def _read(body: str, file: str) -> Plan:
    return reader.read([Source(file, body)])


def _changes(plan: Plan, file: str, statuses: Mapping[str, str]) -> list[tuple[PlanTask, str]]:
    """The tasks whose status is another one, in the order of the file."""
    wanted = {words.plain_id(number): status for number, status in statuses.items()}
    found: dict[str, PlanTask] = {}
    for task in plan.tasks:
        if task.number in found and task.number in wanted:
            raise _refused(task, wanted[task.number], f"line {found[task.number].line} has a task of this number too")
        found[task.number] = task
    for number in wanted:
        if number not in found:
            raise SowError(f"{file}: there is no task {number} in it", f"look with 'sow plan validate {file}'")
    return [(task, wanted[number]) for number, task in found.items() if wanted.get(number, task.status) != task.status]


def _refused(task: PlanTask, status: str, reason: str) -> SowError:
    place = f"{task.file}:{task.status_line or task.line}"
    return SowError(
        f"{place}: the status of task {task.number} cannot be written: {reason}",
        f"write it there by hand: {word(status)}",
    )


def _edits(body: str, changes: list[tuple[PlanTask, str]]) -> list[Edit]:
    text = _plain(body)
    if changes[0][0].file.lower().endswith(reader.YAML_ENDINGS):
        from sow.plans import yaml_status

        place = yaml_status.places(text)
    else:
        place = markdown_status.places(text)
    found = []
    for task, status in changes:
        try:
            found.append(place(task, word(status)))
        except Refusal as refusal:
            raise _refused(task, status, str(refusal)) from None
    return sorted(found)


def _plain(body: str) -> str:
    """The text as the reader sees it: each line ends with one character, which is \\n."""
    return body.replace("\r\n", "\n").replace("\r", "\n")


def _applied(body: str, edits: Iterable[Edit]) -> str:
    """The text as it was, with the edits at their places; each takes over the line ending that it meets."""
    pairs = _pairs(body)
    parts = []
    done = 0
    for start, end, new in edits:
        first, last = start + bisect_left(pairs, start), end + bisect_left(pairs, end)
        parts += [body[done:first], new.replace("\n", _ending(body, first))]
        done = last
    return "".join([*parts, body[done:]])


def _pairs(body: str) -> list[int]:
    """Where a line ends with two characters, counted in the text as the reader sees it."""
    found = []
    here = -1
    for piece in body.split("\r\n")[:-1]:
        here += len(piece) + 1
        found.append(here)
    return found


def _ending(body: str, index: int) -> str:
    """The line ending at this place, or the last one before it at the end of the text."""
    at = index if index < len(body) else max(body.rfind("\n"), body.rfind("\r"))
    if body[at : at + 2] == "\r\n" or body[max(at - 1, 0) : at + 1] == "\r\n":
        return "\r\n"
    return "\r" if at >= 0 and body[at] == "\r" else "\n"


def _prove(before: Plan, after: Plan, wanted: Mapping[str, str], texts: tuple[str, str]) -> None:
    """Refuse a text in which anything but these statuses reads otherwise than before."""
    old_lines, new_lines = (_plain(text).split("\n") for text in texts)
    for old, new in zip(before.tasks, after.tasks, strict=False):
        status = wanted.get(old.number, old.status)
        if new.number == old.number and new.status != status:
            raise _refused(old, status, f"it would be read as {word(new.status)}")
        if _facts(old, old_lines, old.number in wanted) != _facts(new, new_lines, old.number in wanted):
            raise _refused(old, status, "something else would be read otherwise")
    if len(before.tasks) != len(after.tasks) or _settings(before) != _settings(after):
        raise _all_refused(before, after, wanted)


def _all_refused(before: Plan, after: Plan, wanted: Mapping[str, str]) -> SowError:
    """The file as a whole would be read otherwise: what the reader says then leads to the task that it comes from."""
    tasks = [*wanted][:12] + ["…"] * (len(wanted) > 12)
    known = {each.message for each in before.errors}
    why = next((f" ({each.place}: {each.message})" for each in after.errors if each.message not in known), "")
    return SowError(
        f"{before.files[0]}: the status of task {', '.join(tasks)} cannot be written: the file would be broken{why}",
        "write it there by hand",
    )


def _facts(task: PlanTask, lines: list[str], changed: bool) -> dict[str, Any]:
    """All that is read of a task but its status and its place; the line of a changed status is left out of its text."""
    facts = {key: value for key, value in task.document().items() if key not in ("status", "line")}
    if changed and not task.file.lower().endswith(reader.YAML_ENDINGS):
        facts["text"] = _without_status(task, lines)
    return facts


def _without_status(task: PlanTask, lines: list[str]) -> str:
    first = task.line
    while first < len(lines) - 1 and not lines[first]:
        first += 1
    body = task.text.split("\n")
    if task.status_line:
        del body[task.status_line - 1 - first]
    return "\n".join(body).strip("\n")


def _settings(plan: Plan) -> tuple[Any, ...]:
    return plan.name, plan.default_agent, plan.max_concurrency, plan.quality_control, plan.worktree_groups
