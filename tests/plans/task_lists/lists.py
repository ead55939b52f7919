"""Task lists of other tools as short texts."""

from __future__ import annotations

from collections.abc import Mapping

from support.paths import TESTS

from plans.plan_text import found
from sow.domain.plans.plan import Plan, PlanSource
from sow.errors import SowError
from sow.plans import reader
from sow.plans.task_lists.progress import TaskProgress
from sow.plans.write_back import with_progress

SAMPLES = TESTS / "fixtures" / "task_lists"
SPEC_KIT = "specs/001-photo-albums/tasks.md"
TASK_MASTER = ".taskmaster/tasks/tasks.json"
NOW = "2026-11-18T09:30:00Z"


def sample(name: str) -> str:
    return (SAMPLES / name).read_text()


def needs(plan: Plan) -> dict[str, list[str]]:
    """Returns the dependencies of each task."""
    return plan.needs()


def read_list(name: str, text: str, **options: object) -> Plan:
    return reader.read([PlanSource(name, text, **options)])  # type: ignore[arg-type]


def errors(plan: Plan) -> list[str]:
    return found(plan, error=True)


def kinds(plan: Plan) -> list[tuple[str, int]]:
    """Returns the kind and the line of each warning."""
    return [(warning.kind, warning.line) for warning in plan.warnings]


def written(name: str, text: str, statuses: Mapping[str, str], **options: object) -> tuple[str, list[str]]:
    """Returns the text with these statuses of the project, and the changes as `task: old → new`."""
    progress = {number: TaskProgress(status) for number, status in statuses.items()}
    new, changes, _ = with_progress(PlanSource(name, text, **options), progress, NOW)  # type: ignore[arg-type]
    return new, [f"{number}: {before} → {after}" for number, before, after in changes]


def unwritten(name: str, text: str, statuses: Mapping[str, str], **options: object) -> list[str]:
    """Returns why each task stays as it is."""
    progress = {number: TaskProgress(status) for number, status in statuses.items()}
    return with_progress(PlanSource(name, text, **options), progress, NOW)[2]  # type: ignore[arg-type]


def refusal(name: str, text: str, statuses: Mapping[str, str]) -> str:
    """Returns why statuses cannot be written."""
    try:
        written(name, text, statuses)
    except SowError as error:
        assert error.hint
        return error.message
    raise AssertionError("it was written")


def changed_lines(before: str, after: str) -> list[str]:
    """Returns the new text of each changed line; both texts have the same number of lines."""
    pairs = list(zip(before.split("\n"), after.split("\n"), strict=True))
    return [new for old, new in pairs if old != new]
