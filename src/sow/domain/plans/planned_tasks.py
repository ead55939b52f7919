"""Turns the tasks of a plan into tasks of a project, and compares a plan with tasks that were imported before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from sow.domain import ids
from sow.domain.inputs import printable_line
from sow.domain.plans.plan import Criterion, Plan, PlanTask
from sow.domain.task import DEFAULT_AGENT, ENDED_STATUSES
from sow.domain.text.units import cut_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.documents.state import Check, Task

# The fields of a task that its plan decides. All others belong to the project.
FIELDS = (
    "name", "assigned_agent", "depends_on", "after", "criteria", "files", "checks", "protected", "estimated_minutes",
    "type", "worktree_group", "allow_empty",
)  # fmt: skip
LONGEST_NAME = 200
LONGEST_TEXT = 4000
LONGEST_PATH = 1000
SKIPPED = "skipped in the plan"
GONE = "no longer in the plan"


class PlannedTask:
    """A task as its plan describes it: its id, its fields, its description, and the digest of both."""

    def __init__(self, task: PlanTask, ident: str, fields: dict[str, Any], *, plan: str, description: str) -> None:
        self.id = ident
        self.source_plan = plan
        self.source_id = task.number
        self.fields = fields
        self.description = description
        self.status = task.status
        self.digest = ""


class Difference:
    """The change that an import would make to one task: kind is new, changed, gone, ended or same."""

    def __init__(self, kind: str, task: str, *, number: str, name: str, wanted: PlannedTask | None = None) -> None:
        self.kind = kind
        self.task = task
        self.number = number
        self.name = name
        self.wanted = wanted
        self.fields: list[tuple[str, str, str]] = []  # field, before, after


def agent_of(task: PlanTask, plan: Plan, roles: Collection[str]) -> str:
    """Returns the role that works on a task: its own, the plan's default, or sow's default, whichever exists."""
    return next((name for name in (task.agent, plan.default_agent) if name in roles), DEFAULT_AGENT)


def assign_ids(tasks: Sequence[PlanTask], existing: Mapping[str, str], used_ids: Iterable[str]) -> dict[str, str]:
    """Returns an id for each task of a plan: its existing id, N×10 if free (2.5 → 025), else the next free id."""
    numbers = {task.id: existing[task.id] for task in tasks if task.id in existing}
    used = {*used_ids, *numbers.values()}
    unnumbered = []
    for task in tasks:
        preferred = _id_from_number(task.number)
        if task.id in numbers:
            continue
        if preferred and preferred not in used:
            numbers[task.id] = preferred
            used.add(preferred)
        else:
            unnumbered.append(task)
    for task in unnumbered:
        numbers[task.id] = ids.next_id(used)
        used.add(numbers[task.id])
    return numbers


def _id_from_number(number: str) -> str:
    """Returns the id of task N: ten times its number, if that is a whole number, else an empty text."""
    whole, _, part = number.partition(".")
    if not (whole.isascii() and whole.isdigit() and len(whole) < 8) or (part and part not in "0123456789"):
        return ""
    value = str(int(whole) * ids.GAP + int(part or "0")).zfill(ids.WIDTH)
    return value if ids.is_task_id(value) and int(value) > 0 else ""


def task_fields(task: PlanTask, numbers: Mapping[str, str], *, agent: str, skipped: Collection[str]) -> dict[str, Any]:
    """Returns the fields of a task from the plan, in the form of the project's state."""
    values: dict[str, Any] = {
        "name": cut_to(LONGEST_NAME, printable_line(task.name)),
        "assigned_agent": agent,
        "depends_on": [numbers[dependency] for dependency in task.depends_on if dependency not in skipped],
        "after": [numbers[dependency] for dependency in task.implied_dependencies if dependency not in skipped],
        "criteria": _texts(criterion.text for criterion in [*task.success_criteria, *task.integration_criteria]),
        "files": [cut_to(LONGEST_PATH, printable_line(path)) for path in task.files if path.strip()],
        "checks": checks_of(task),
        "protected": list(task.protected),
        "estimated_minutes": _without_zero_fraction(task.estimated_minutes),
        "type": task.type if task.type != "regular" else "",
        "worktree_group": cut_to(LONGEST_NAME, printable_line(task.worktree_group)),
        "allow_empty": task.allow_empty,
    }
    return {key: value for key, value in values.items() if value or key in ("name", "depends_on", "criteria")}


def _without_zero_fraction(minutes: float | None) -> float | None:
    """Returns 45 rather than 45.0, as a person would write it."""
    return minutes if minutes is None or minutes != int(minutes) else int(minutes)


def checks_of(task: PlanTask) -> list[Check]:
    """Returns the commands of a task, in the order in which they are run."""
    checks: list[Check] = [{"kind": "dependency", "command": command} for command in _texts(task.dependency_checks)]
    checks += [{"kind": "test", "command": command} for command in _texts(task.test_commands)]
    for kind, criteria in (("criterion", task.success_criteria), ("integration", task.integration_criteria)):
        checks += [_check(kind, criterion) for criterion in criteria if criterion.command.strip()]
    return checks


def _check(kind: str, criterion: Criterion) -> Check:
    check: Check = {"kind": kind, "command": criterion.command.strip()[:LONGEST_TEXT]}
    if criterion.expected.strip():
        check["expected"] = cut_to(LONGEST_TEXT, criterion.expected.strip())
    if criterion.text.strip():
        check["criterion"] = cut_to(LONGEST_TEXT, criterion.text.strip())
    return check


def _texts(values: Iterable[str]) -> list[str]:
    return [cut_to(LONGEST_TEXT, value.strip()) for value in values if value.strip()]


def compare(wanted: Sequence[PlannedTask], tasks: Sequence[Task], plans: Collection[str]) -> list[Difference]:
    """Returns the changes of an import in plan order. Tasks that are no longer in these plans come last."""
    existing = {(task["source"]["plan"], task["source"]["id"]): task for task in tasks if "source" in task}
    differences = []
    for target in wanted:
        task = existing.pop((target.source_plan, target.source_id), None)
        differences.append(_difference(target, task))
    for (plan, source_id), task in existing.items():
        if plan in plans and task["status"] not in ENDED_STATUSES:
            differences.append(Difference("gone", task["id"], number=source_id, name=task["name"]))
    return differences


def _difference(wanted: PlannedTask, task: Task | None) -> Difference:
    kind = "new"
    if task is not None:
        kind = "same" if _is_same(wanted, task) else "ended" if task["status"] in ENDED_STATUSES else "changed"
    difference = Difference(kind, wanted.id, number=wanted.source_id, name=wanted.fields["name"], wanted=wanted)
    if task is not None and kind != "same":
        difference.fields = [
            (field, _shown(task.get(field)), _shown(wanted.fields.get(field)))
            for field in FIELDS
            if (task.get(field) or None) != (wanted.fields.get(field) or None)
        ] or [("description", "", "")]
    return difference


def _is_same(wanted: PlannedTask, task: Task) -> bool:
    """Returns whether a task matches its plan. Stored checks are compared too: a digest in a file proves nothing."""
    same = task["source"]["digest"] == wanted.digest
    return same and (task.get("checks") or []) == (wanted.fields.get("checks") or [])


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(item["command"] if isinstance(item, dict) else str(item) for item in value) or "nothing"
    return "nothing" if value in (None, "") else str(value)
