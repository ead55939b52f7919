"""The facts of a task, as Markdown and YAML both have them; each remembers its line."""

from __future__ import annotations

from sow.domain import path_pattern
from sow.domain.plan import kind_of
from sow.plans import words
from sow.plans.dependencies import MAX_REFERENCES, dependencies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sow.domain.plan import Plan, PlanTask

YES = ("yes", "true", "y", "on")
NO = ("no", "false", "n", "off")
MARKS = "`*_ \t"


def set_fact(plan: Plan, task: PlanTask, field: str, value: str, line: int) -> None:
    """Set one of the fields that a task has once; of two the last counts, and that is said."""
    if field in task.lines:
        what = f"task {task.number}: a second {field.replace('_', ' ')}; that of line {task.lines[field]} is left out"
        plan.warn(task.file, line, what, "keep one of the two", kind=kind_of(field))
    task.lines[field] = line
    SETTERS[field](plan, task, value, line)


def _estimate(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    task.estimated_minutes = words.minutes(value)
    if task.estimated_minutes is None and not words.is_nothing(value):
        what = f"task {task.number}: {value!r:.60} is not a duration"
        plan.warn(task.file, line, what, "write: 30m, 1h 15m, 2 days")


def _agent(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    """One name; what stands behind it is said."""
    name, *rest = words.without_remarks(value).strip(MARKS).split() or [""]
    name = name.strip(MARKS + ",;").removeprefix("@")
    task.agent = "" if words.is_nothing(name) else name
    if rest:
        plan.warn(task.file, line, f"task {task.number}: of {value!r:.60} only {name!r:.60} is read", "name one agent")


def _status(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    known = words.status(value)
    task.status = known or "pending"
    if known is None:
        what = f"task {task.number}: the status {value!r:.60} is read as pending"
        plan.warn(task.file, line, what, "write: pending, in-progress, completed, failed or skipped", kind="status")


def _type(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    task.type = words.without_remarks(value).strip(MARKS).lower() or "regular"


def _worktree_group(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    task.worktree_group = "" if words.is_nothing(value) else value.strip(MARKS)


def _allow_empty(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    word = words.without_remarks(value).strip(MARKS).lower()
    task.allow_empty = word in YES
    if word not in (*YES, *NO) and not words.is_nothing(value):
        what = f"task {task.number}: allow empty is yes or no, not {value!r:.60}; it is read as no"
        plan.warn(task.file, line, what, "write: **Allow empty**: yes")


SETTERS: dict[str, Callable[[Plan, PlanTask, str, int], None]] = {
    "estimated_time": _estimate,
    "agent": _agent,
    "status": _status,
    "type": _type,
    "worktree_group": _worktree_group,
    "allow_empty": _allow_empty,
}


def add_dependencies(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    """The tasks that come first."""
    task.lines.setdefault("depends_on", line)
    if plan.reference_count > MAX_REFERENCES:
        return
    found, strange = dependencies(value, line)
    task.references += found
    plan.reference_count += len(found)
    if plan.reference_count > MAX_REFERENCES:
        what = f"task {task.number}: with these the plan has more than {MAX_REFERENCES:,} dependencies"
        plan.error(task.file, line, what, "depend on the last tasks of a group only")
    for each in strange:
        what = f"task {task.number}: the dependency {each!r:.80} is not understood"
        plan.warn(task.file, line, what, "write: Task 1, Task 2, or None", kind="dependency")


def add_files(plan: Plan, task: PlanTask, value: str, line: int) -> None:
    """The files that the task writes."""
    task.lines.setdefault("files", line)
    task.files += paths(plan, task, value, line)


def patterns(plan: Plan, whose: str, file: str, value: str, line: int) -> list[str]:
    """The patterns of protected paths in a text, in backticks or between commas; a wrong one is an error."""
    if words.is_nothing(value):
        return []
    found = [part.strip(" \t\"'") for part in value.replace("`", "").split(",") if part.strip()]
    for each in found:
        problem = path_pattern.problem_with(each)
        if problem:
            what = f"{whose}the protected path {each!r:.80} {problem}"
            plan.error(file, line, what, "write paths below the repository's root: tests/**, ci/, *.lock")
    return found


def paths(plan: Plan, task: PlanTask, value: str, line: int) -> list[str]:
    """The paths in a text; other words in it are said."""
    found, strange = words.paths(value)
    for each in strange:
        what = f"task {task.number}: {each!r:.80} is not read as a file"
        plan.warn(task.file, line, what, "put the path in backticks")
    return found
