"""Writes the status of tasks into the text of their plan file, and changes nothing else."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Any

from sow.domain.plans.plan import Plan, PlanSource, PlanTask
from sow.errors import SowError
from sow.plans import reader, values
from sow.plans.markdown import reader as markdown_reader
from sow.plans.task_lists.progress import TaskProgress
from sow.plans.values import Edit, StatusRefusal, status_word

BOM = "\ufeff"


def with_statuses(text: str, file: str, statuses: Mapping[str, str]) -> str:
    """Returns the text with these statuses by task number; raises SowError if reading it again shows another change."""
    body = text.removeprefix(BOM)
    before = _read(body, file)
    changes = _changes(before, file, statuses)
    if not changes:
        return text
    after = _applied(body, _edits(body, changes))
    _verify_only_statuses_changed(before, _read(after, file), {task.number: status for task, status in changes})
    return text[: len(text) - len(body)] + after


def with_progress(
    source: PlanSource, progress: Mapping[str, TaskProgress], now: str
) -> tuple[str, list[tuple[str, str, str]], list[str]]:
    """Returns another tool's task list with the progress of its tasks, each change, and each task that stays as it is.

    A change is the task, its old and its new word. A task stays if its status has no place; a message says why.
    Raises SowError if reading the new text shows another change.
    """
    body = source.text.removeprefix(BOM)
    text = _with_unix_newlines(body)
    tool = reader.module_of(reader.format_of(source.name, text))
    plan = Plan()
    tool.read(plan, source, text)
    reader.check_numbers(plan)
    for error in plan.errors:
        raise SowError(f"{error.location}: {error.message}", error.hint)
    before: dict[str, str] = tool.words(source, text)
    edits, new_words, unwritten = tool.edits(source, text, progress, now)
    after = _applied(body, sorted(edits))
    if tool.words(source, _with_unix_newlines(after)) != before | new_words:
        raise SowError(f"{source.name}: the file would be read differently: nothing is written", "write it by hand")
    changes = [(number, before[number], word) for number, word in new_words.items()]
    return source.text[: len(source.text) - len(body)] + after, changes, unwritten


def _read(body: str, file: str) -> Plan:
    return reader.read([PlanSource(file, body)])


def _changes(plan: Plan, file: str, statuses: Mapping[str, str]) -> list[tuple[PlanTask, str]]:
    """Returns the tasks whose status changes, in the order of the file."""
    wanted = {values.normalized_id(number): status for number, status in statuses.items()}
    tasks: dict[str, PlanTask] = {}
    for task in plan.tasks:
        if task.number in tasks and task.number in wanted:
            raise _refused(task, wanted[task.number], f"line {tasks[task.number].line} has a task of this number too")
        tasks[task.number] = task
    for number in wanted:
        if number not in tasks:
            raise SowError(f"{file}: there is no task {number} in it", f"look with 'sow plan validate {file}'")
    return [(task, wanted[number]) for number, task in tasks.items() if wanted.get(number, task.status) != task.status]


def _refused(task: PlanTask, status: str, reason: str) -> SowError:
    location = f"{task.file}:{task.status_line or task.line}"
    return SowError(
        f"{location}: the status of task {task.number} cannot be written: {reason}",
        f"write it there by hand: {status_word(status)}",
    )


def _edits(body: str, changes: list[tuple[PlanTask, str]]) -> list[Edit]:
    text = _with_unix_newlines(body)
    if changes[0][0].file.lower().endswith(reader.YAML_ENDINGS):
        from sow.plans import yaml_status

        edit_of = yaml_status.places(text)
    else:
        edit_of = markdown_reader.status_editor(text)
    edits = []
    for task, status in changes:
        try:
            edits.append(edit_of(task, status_word(status)))
        except StatusRefusal as refusal:
            raise _refused(task, status, str(refusal)) from None
    return sorted(edits)


def _with_unix_newlines(body: str) -> str:
    """Returns the text as the reader sees it: each line ends with \\n."""
    return body.replace("\r\n", "\n").replace("\r", "\n")


def _applied(body: str, edits: Iterable[Edit]) -> str:
    """Returns the text with the edits; each uses the line ending at its position."""
    pairs = _crlf_positions(body)
    parts = []
    position = 0
    for start, end, new in edits:
        first, last = start + bisect_left(pairs, start), end + bisect_left(pairs, end)
        parts += [body[position:first], new.replace("\n", _ending(body, first))]
        position = last
    return "".join([*parts, body[position:]])


def _crlf_positions(body: str) -> list[int]:
    """Returns the indexes of two-character line endings, counted in the text as the reader sees it."""
    indexes = []
    position = -1
    for piece in body.split("\r\n")[:-1]:
        position += len(piece) + 1
        indexes.append(position)
    return indexes


def _ending(body: str, index: int) -> str:
    """Returns the line ending at this index; at the end of the text, the last one before it."""
    position = index if index < len(body) else max(body.rfind("\n"), body.rfind("\r"))
    if body[position : position + 2] == "\r\n" or body[max(position - 1, 0) : position + 1] == "\r\n":
        return "\r\n"
    return "\r" if position >= 0 and body[position] == "\r" else "\n"


def _verify_only_statuses_changed(before: Plan, after: Plan, wanted: Mapping[str, str]) -> None:
    """Raises SowError if anything but these statuses would be read differently."""
    for old, new in zip(before.tasks, after.tasks, strict=False):
        status = wanted.get(old.number, old.status)
        if new.number == old.number and new.status != status:
            raise _refused(old, status, f"it would be read as {status_word(new.status)}")
        if _facts(old) != _facts(new):
            raise _refused(old, status, "something else would be read otherwise")
    if len(before.tasks) != len(after.tasks) or _settings(before) != _settings(after):
        raise _all_refused(before, after, wanted)


def _all_refused(before: Plan, after: Plan, wanted: Mapping[str, str]) -> SowError:
    """Returns the error if the whole file would be read differently, with the reader's first new error."""
    tasks = [*wanted][:12] + ["…"] * (len(wanted) > 12)
    messages = {error.message for error in before.errors}
    reason = next(
        (f" ({error.location}: {error.message})" for error in after.errors if error.message not in messages), ""
    )
    return SowError(
        f"{before.files[0]}: the status of task {', '.join(tasks)} cannot be written: the file would be broken{reason}",
        "write it there by hand",
    )


def _facts(task: PlanTask) -> dict[str, Any]:
    """Returns all that is read of a task but its status and line; the text of Markdown is without the status, too."""
    facts = {**task.document(), "text": task.brief if task.text_has_fields else task.text}
    return {key: value for key, value in facts.items() if key not in ("status", "line")}


def _settings(plan: Plan) -> tuple[Any, ...]:
    return plan.name, plan.default_agent, plan.max_concurrency, plan.quality_control, plan.worktree_groups
