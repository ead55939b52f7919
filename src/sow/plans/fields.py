"""Sets the fields of a task that Markdown and YAML plans share, and records their lines."""

from __future__ import annotations

from collections.abc import Callable

from sow.domain import inputs
from sow.domain.plans.plan import Plan, PlanTask, kind_of
from sow.plans import values
from sow.plans.values import MAX_REFERENCES, dependencies

YES = ("yes", "true", "y", "on")
NO = ("no", "false", "n", "off")
MARKS = "`*_ \t"


def set_fact(plan: Plan, task: PlanTask, field: str, value: str, line: int) -> None:
    """Sets a field that a task has once; warns if it is there twice, and the last one counts."""
    if field in task.lines:
        message = (
            f"task {task.number}: a second {field.replace('_', ' ')}; that of line {task.lines[field]} is left out"
        )
        plan.warn(task.file, line, message, "keep one of the two", kind=kind_of(field))
    task.lines[field] = line
    SETTERS[field](plan, task, value, line)


def _estimate(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    task.estimated_minutes = values.minutes(value)
    if task.estimated_minutes is None and not values.is_none_word(value):
        message = f"task {task.number}: {value!r:.60} is not a duration"
        plan.warn(task.file, line, message, "write: 30m, 1h 15m, 2 days")


def _agent(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    """Sets the agent to one name, and warns about words after it."""
    name, *rest = values.without_remarks(value).strip(MARKS).split() or [""]
    name = name.strip(MARKS + ",;").removeprefix("@")
    task.agent = "" if values.is_none_word(name) else name
    if rest:
        plan.warn(task.file, line, f"task {task.number}: of {value!r:.60} only {name!r:.60} is read", "name one agent")


def _status(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    status = values.status(value)
    task.status = status or "pending"
    if status is None:
        message = f"task {task.number}: the status {value!r:.60} is read as pending"
        plan.warn(task.file, line, message, "write: pending, in-progress, completed, failed or skipped", kind="status")


def _type(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    task.type = values.without_remarks(value).strip(MARKS).lower() or "regular"


def _worktree_group(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    task.worktree_group = "" if values.is_none_word(value) else value.strip(MARKS)


def _allow_empty(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    word = values.without_remarks(value).strip(MARKS).lower()
    task.allow_empty = word in YES
    if word not in (*YES, *NO) and not values.is_none_word(value):
        message = f"task {task.number}: allow empty is yes or no, not {value!r:.60}; it is read as no"
        plan.warn(task.file, line, message, "write: **Allow empty**: yes")


SETTERS: dict[str, Callable[[Plan, PlanTask, str, int], None]] = {
    "estimated_time": _estimate,
    "agent": _agent,
    "status": _status,
    "type": _type,
    "worktree_group": _worktree_group,
    "allow_empty": _allow_empty,
}


def add_dependencies(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    """Adds the tasks that this one depends on."""
    task.lines.setdefault("depends_on", line)
    if plan.reference_count > MAX_REFERENCES:
        return
    references, unreadable = dependencies(value, line)
    task.dependency_references += references
    plan.reference_count += len(references)
    if plan.reference_count > MAX_REFERENCES:
        message = f"task {task.number}: with these the plan has more than {MAX_REFERENCES:,} dependencies"
        plan.error(task.file, line, message, "depend on the last tasks of a group only")
    for part in unreadable:
        message = f"task {task.number}: the dependency {part!r:.80} is not understood"
        plan.warn(task.file, line, message, "write: Task 1, Task 2, or None", kind="dependency")


def add_files(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    """Adds the files that the task writes."""
    task.lines.setdefault("files", line)
    task.files += paths(plan, task, value, line)


def patterns(plan: Plan, whose: str, file: str, value: str, line: int) -> list[str]:
    """Returns the patterns of protected paths in a text, in backticks or between commas; a bad one is an error."""
    if values.is_none_word(value):
        return []
    protected = [part.strip(" \t\"'") for part in value.replace("`", "").split(",") if part.strip()]
    for pattern in protected:
        problem = inputs.pattern_problem(pattern)
        if problem:
            message = f"{whose}the protected path {pattern!r:.80} {problem}"
            plan.error(file, line, message, "write paths below the repository's root: tests/**, ci/, *.lock")
    return protected


def paths(plan: Plan, task: PlanTask, value: str, line: int) -> list[str]:
    """Returns the paths in a text, and warns about other words in it."""
    files, unreadable = values.paths(value)
    for part in unreadable:
        message = f"task {task.number}: {part!r:.80} is not read as a file"
        plan.warn(task.file, line, message, "put the path in backticks")
    return files
