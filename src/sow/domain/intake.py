"""From a plan to the tasks of a project: which id each gets, which fields, and what a second import would change."""

from __future__ import annotations

from sow.domain import ids
from sow.domain.task import DEFAULT_AGENT, ENDED_STATUSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from sow.domain.plan import Criterion, Plan, PlanTask
    from sow.domain.shapes import Check, Task

# The fields of a task that its plan decides; all others are the project's own.
FIELDS = (
    "name",
    "assigned_agent",
    "depends_on",
    "after",
    "criteria",
    "files",
    "checks",
    "protected",
    "estimated_minutes",
    "type",
    "worktree_group",
    "allow_empty",
)
LONGEST_NAME = 200
LONGEST_TEXT = 4000
LONGEST_PATH = 1000
SKIPPED = "skipped in the plan"
GONE = "no longer in the plan"


class Wanted:
    """One task as its plan wants it: its id here, its fields, its description, and the digest of both."""

    __slots__ = ("description", "digest", "fields", "id", "source_id", "source_plan", "status")

    def __init__(self, task: PlanTask, ident: str, fields: dict[str, Any], *, plan: str, description: str) -> None:
        self.id = ident
        self.source_plan = plan
        self.source_id = task.number
        self.fields = fields
        self.description = description
        self.status = task.status
        self.digest = ""


class Difference:
    """What an import would do to one task: kind is new, changed, gone, ended or same."""

    __slots__ = ("fields", "kind", "name", "number", "task", "wanted")

    def __init__(self, kind: str, task: str, *, number: str, name: str, wanted: Wanted | None = None) -> None:
        self.kind = kind
        self.task = task
        self.number = number
        self.name = name
        self.wanted = wanted
        self.fields: list[tuple[str, str, str]] = []  # field, before, after


def agent_of(task: PlanTask, plan: Plan, known: Collection[str]) -> str:
    """The role that works on a task: its own, the plan's default, or ours, whichever is known."""
    return next((name for name in (task.agent, plan.default_agent) if name in known), DEFAULT_AGENT)


def number(tasks: Sequence[PlanTask], given: Mapping[str, str], taken: Iterable[str]) -> dict[str, str]:
    """An id for every task of a plan: the one it has, N×10 where it fits (2.5 → 025), else the next free one."""
    found = {task.id: given[task.id] for task in tasks if task.id in given}
    used = {*taken, *found.values()}
    rest = []
    for task in tasks:
        wanted = _tenfold(task.number)
        if task.id in found:
            continue
        if wanted and wanted not in used:
            found[task.id] = wanted
            used.add(wanted)
        else:
            rest.append(task)
    for task in rest:
        found[task.id] = ids.next_id(used)
        used.add(found[task.id])
    return found


def _tenfold(number: str) -> str:
    """The id of task N: ten times its number, where that is a whole one."""
    whole, _, part = number.partition(".")
    if not (whole.isascii() and whole.isdigit() and len(whole) < 8) or (part and part not in "0123456789"):
        return ""
    value = str(int(whole) * ids.GAP + int(part or "0")).zfill(ids.WIDTH)
    return value if ids.is_task_id(value) and int(value) > 0 else ""


def fields(task: PlanTask, numbers: Mapping[str, str], *, agent: str, skipped: Collection[str]) -> dict[str, Any]:
    """What the plan says of a task, as the project's state has it."""
    found: dict[str, Any] = {
        "name": _short(_one_line(task.name), LONGEST_NAME),
        "assigned_agent": agent,
        "depends_on": [numbers[each] for each in task.depends_on if each not in skipped],
        "after": [numbers[each] for each in task.implied if each not in skipped],
        "criteria": _texts(each.text for each in [*task.success_criteria, *task.integration_criteria]),
        "files": [_short(_one_line(each), LONGEST_PATH) for each in task.files if each.strip()],
        "checks": checks_of(task),
        "protected": list(task.protected),
        "estimated_minutes": _whole(task.estimated_minutes),
        "type": task.type if task.type != "regular" else "",
        "worktree_group": _short(_one_line(task.worktree_group), LONGEST_NAME),
        "allow_empty": task.allow_empty,
    }
    return {key: value for key, value in found.items() if value or key in ("name", "depends_on", "criteria")}


def _whole(minutes: float | None) -> float | None:
    """45 rather than 45.0, which is how a person would write it."""
    return minutes if minutes is None or minutes != int(minutes) else int(minutes)


def checks_of(task: PlanTask) -> list[Check]:
    """The commands of a task, in the order in which they are run."""
    found: list[Check] = [{"kind": "dependency", "command": each} for each in _texts(task.dependency_checks)]
    found += [{"kind": "test", "command": each} for each in _texts(task.test_commands)]
    for kind, criteria in (("criterion", task.success_criteria), ("integration", task.integration_criteria)):
        found += [_check(kind, each) for each in criteria if each.command.strip()]
    return found


def _check(kind: str, criterion: Criterion) -> Check:
    check: Check = {"kind": kind, "command": criterion.command.strip()[:LONGEST_TEXT]}
    if criterion.expected.strip():
        check["expected"] = _short(criterion.expected.strip(), LONGEST_TEXT)
    if criterion.text.strip():
        check["criterion"] = _short(criterion.text.strip(), LONGEST_TEXT)
    return check


def _texts(values: Iterable[str]) -> list[str]:
    return [_short(each.strip(), LONGEST_TEXT) for each in values if each.strip()]


def _one_line(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def compare(wanted: Sequence[Wanted], tasks: Sequence[Task], plans: Collection[str]) -> list[Difference]:
    """What an import would do, in the order of the plan; tasks of these plans that it no longer has come last."""
    there = {(task["source"]["plan"], task["source"]["id"]): task for task in tasks if "source" in task}
    found = []
    for each in wanted:
        task = there.pop((each.source_plan, each.source_id), None)
        found.append(_difference(each, task))
    for (plan, ident), task in there.items():
        if plan in plans and task["status"] not in ENDED_STATUSES:
            found.append(Difference("gone", task["id"], number=ident, name=task["name"]))
    return found


def _difference(wanted: Wanted, task: Task | None) -> Difference:
    kind = "new"
    if task is not None:
        ended = task["status"] in ENDED_STATUSES
        kind = "same" if _is_same(wanted, task) else "ended" if ended else "changed"
    difference = Difference(kind, wanted.id, number=wanted.source_id, name=wanted.fields["name"], wanted=wanted)
    if task is not None and kind != "same":
        difference.fields = [
            (field, _shown(task.get(field)), _shown(wanted.fields.get(field)))
            for field in FIELDS
            if (task.get(field) or None) != (wanted.fields.get(field) or None)
        ] or [("description", "", "")]
    return difference


def _is_same(wanted: Wanted, task: Task) -> bool:
    """Whether a task is as its plan wants it; stored checks are compared, because a digest in a file proves nothing."""
    same = task["source"]["digest"] == wanted.digest
    return same and (task.get("checks") or []) == (wanted.fields.get("checks") or [])


def _shown(value: Any) -> str:
    """A field's value for eyes."""
    if isinstance(value, list):
        return ", ".join(each["command"] if isinstance(each, dict) else str(each) for each in value) or "nothing"
    return "nothing" if value in (None, "") else str(value)
