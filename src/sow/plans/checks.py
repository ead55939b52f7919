"""What must hold for a plan as a whole, and the order that shared files force on it."""

from __future__ import annotations

import posixpath
from itertools import pairwise

from sow.domain import graph
from sow.domain.plan import TYPES
from sow.plans.references import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from sow.domain.plan import Plan, PlanTask


def check(plan: Plan, agents: Collection[str]) -> None:
    """Everything that one task or all of them together can have wrong; overlaps are put in order."""
    _numbers(plan)
    unknown: dict[str, str] = {}
    for task in plan.tasks:
        _type(plan, task)
        _group(plan, task)
        if agents:
            _agent(plan, task, agents, unknown)
    _cycles(plan)
    if not plan.errors:
        _order_overlaps(plan)


def _numbers(plan: Plan) -> None:
    seen: dict[str, PlanTask] = {}
    for task in plan.tasks:
        first = seen.setdefault(task.id, task)
        if first is not task:
            what = f"task {task.number} is there twice: also in line {first.line}"
            plan.error(task.file, task.line, what, "give one of them another number")
        if task.number.replace(".", "", 1).isdigit() and float(task.number) <= 0:
            plan.error(task.file, task.line, f"task {task.number}: a number is above 0", "begin with 1")


def _type(plan: Plan, task: PlanTask) -> None:
    if task.type not in TYPES:
        what = f"task {task.id}: the type {task.type!r:.40} is read as regular"
        plan.warn(task.file, task.line, what, "a type is one of: " + ", ".join(TYPES))
        task.type = "regular"
    if task.type == "integration" and not task.references:
        what = f"task {task.id} integrates, but depends on nothing"
        plan.error(task.file, task.line, what, "name the tasks that it integrates")


def _group(plan: Plan, task: PlanTask) -> None:
    groups = plan.worktree_groups
    if task.worktree_group and groups and task.worktree_group not in groups:
        hint = nearest(task.worktree_group, groups) or "the groups are: " + ", ".join(groups[:12])
        plan.warn(task.file, task.line, f"task {task.id}: there is no worktree group {task.worktree_group!r:.60}", hint)


def _agent(plan: Plan, task: PlanTask, agents: Collection[str], unknown: dict[str, str]) -> None:
    """An agent that nobody defined is no error: the default agent does its work."""
    wanted = task.agent or plan.default_agent
    if not wanted or wanted in agents:
        return
    if wanted not in unknown:
        unknown[wanted] = nearest(wanted, agents) or "see 'sow agent list'"
    what = f"task {task.id}: there is no agent {wanted!r:.60}; the default agent is used"
    plan.warn(task.file, task.line, what, unknown[wanted])


def _cycles(plan: Plan) -> None:
    where = {task.id: task for task in plan.tasks}
    for circle in graph.cycles({task.id: task.depends_on for task in plan.tasks}):
        first = where[circle[0]]
        path = circle if len(circle) <= 20 else [*circle[:10], "…", *circle[-9:]]
        what = f"a cycle of dependencies: {' → '.join(path)}"
        plan.error(first.file, first.line, what, "remove one of these dependencies")


def _order_overlaps(plan: Plan) -> None:
    """Tasks that write the same file never run side by side: the later one waits."""
    level = {task: number for number, wave in enumerate(graph.waves(plan.needs())) for task in wave}
    writers: dict[str, list[PlanTask]] = {}
    for task in plan.tasks:
        for file in dict.fromkeys(posixpath.normpath(each) for each in task.files):
            writers.setdefault(file, []).append(task)
    for file, tasks in writers.items():
        for first, second in pairwise(sorted(tasks, key=lambda task: level[task.id])):
            if first.id in second.depends_on or first.id in second.implied:
                continue
            second.implied.append(first.id)
            if level[first.id] == level[second.id]:
                what = f"tasks {first.id} and {second.id} both write {file}: {second.id} waits for {first.id}"
                plan.warn(second.file, second.line, what)
