"""Checks a plan as a whole, and orders tasks that share files or groups."""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from itertools import pairwise

from sow.domain.plans import graph
from sow.domain.plans.plan import TYPES, Plan, PlanTask
from sow.plans.typo_hints import nearest
from sow.plans.values import is_number, shortened

MODES = ("auto", "explicit", "mixed", "intelligent")
INSTEAD = "; the default agent is used"
REVIEWERS = ("explicit_list", "additional", "blocked")


def check(plan: Plan, agents: Collection[str]) -> None:
    """Checks each task and the whole plan, and orders tasks that overlap."""
    check_numbers(plan)
    for task in plan.tasks:
        _type(plan, task)
        task.protected = list(dict.fromkeys((*plan.protected, *task.protected)))
    _groups(plan)
    if agents:
        _Agents(plan, agents).check()
    _review_mode(plan)
    _cycles(plan)
    if not plan.counts[True]:
        _order_overlaps(plan)


def check_numbers(plan: Plan) -> None:
    """Checks that each number is there once and above 0."""
    seen: dict[str, PlanTask] = {}
    for task in plan.tasks:
        first = seen.setdefault(task.id, task)
        if first is not task:
            message = f"task {task.number} is there twice: also in line {first.line}"
            plan.error(task.file, task.line, message, "give one of them another number")
        if is_number(task.number) and not task.number.strip("0."):
            plan.error(task.file, task.line, f"task {task.number}: a number must be above 0", "begin with 1")


def _type(plan: Plan, task: PlanTask) -> None:
    if task.type not in TYPES:
        message = f"task {task.id}: the type {task.type!r:.40} is read as regular"
        plan.warn(task.file, task.line_of("type"), message, "a type is one of: " + ", ".join(TYPES))
        task.type = "regular"
    if task.type == "integration" and not task.dependency_references:
        message = f"task {task.id} integrates, but depends on nothing"
        plan.error(task.file, task.line_of("type"), message, "name the tasks that it integrates")


def _groups(plan: Plan) -> None:
    """Warns about a task whose group is not among the groups that the plan names."""
    groups = dict.fromkeys(plan.worktree_groups)
    for task in plan.tasks if groups else ():
        if task.worktree_group and task.worktree_group not in groups:
            near = nearest(task.worktree_group, groups) if plan.use_suggestion() else ""
            names = ", ".join(shortened(name) for name in plan.worktree_groups[:12])
            hint = f"did you mean {shortened(near)}?" if near else f"the groups are: {names}"
            message = f"task {task.id}: there is no worktree group {task.worktree_group!r:.60}"
            plan.warn(task.file, task.line_of("worktree_group"), message, hint, kind="group")


class _Agents:
    """The known agents. An unknown agent is only a warning: the default agent does its work."""

    def __init__(self, plan: Plan, agents: Collection[str]) -> None:
        self.plan = plan
        self.names = agents
        self.hints: dict[str, str] = {}

    def check(self) -> None:
        """Warns about unknown agents and replaces them by the default agent."""
        plan = self.plan
        if plan.default_agent:
            file, line = plan.setting_lines["default_agent"]
            if not self._is_known(plan.default_agent, file, line, "default_agent: ", "; the usual one is used"):
                plan.default_agent = ""
        for task in plan.tasks:
            if task.agent and not self._is_known(task.agent, task.file, task.line_of("agent"), f"task {task.id}: "):
                default = "" if plan.default_agent else plan.default_agents.get(task.file, "")
                task.agent = default if default in self.names else ""
        self._check_reviewers()

    def _check_reviewers(self) -> None:
        file, line = self.plan.setting_lines.get("quality_control", ("", 0))
        control = self.plan.quality_control
        names = [name for key in REVIEWERS for name in control.get("agents", {}).get(key, ())]
        for name in filter(None, [control.get("review_agent"), *names]):
            self._is_known(name, file, line, "quality_control: ", "")

    def _is_known(self, name: str, file: str, line: int, whose: str, instead: str = INSTEAD) -> bool:
        if name in self.names:
            return True
        if name not in self.hints:
            near = nearest(name, self.names) if self.plan.use_suggestion() else ""
            self.hints[name] = f"did you mean {near}?" if near else "see 'sow agent list'"
        message = f"{whose}there is no agent {name!r:.60}{instead}"
        self.plan.warn(file, line, message, self.hints[name], kind="agent")
        return False


def _review_mode(plan: Plan) -> None:
    mode = plan.quality_control.get("agents", {}).get("mode", MODES[0])
    if mode not in MODES:
        file, line = plan.setting_lines["quality_control"]
        plan.warn(file, line, f"quality_control: {mode!r:.60} is no mode", "a mode is one of: " + ", ".join(MODES))


def _cycles(plan: Plan) -> None:
    tasks = {task.id: task for task in plan.tasks}
    for circle in graph.cycles({task.id: task.depends_on for task in plan.tasks}):
        first = tasks[circle[0]]
        path = circle if len(circle) <= 20 else [*circle[:10], "…", *circle[-9:]]
        message = f"a cycle of dependencies: {' → '.join(path)}"
        plan.error(first.file, first.line_of("depends_on"), message, "remove one of these dependencies")


def _order_overlaps(plan: Plan) -> None:
    """Makes the later of two tasks wait if both write the same file or share a group."""
    needs = plan.needs()
    writers = [(file, tasks) for file, tasks in _writers(plan).items() if len(tasks) > 1]
    shared = writers + [("", tasks) for tasks in _members(plan).values() if len(tasks) > 1]
    level = {task: number for number, wave in enumerate(graph.waves(needs)) for task in wave}
    before = graph.ancestor_bits(needs) if shared else {}
    order = {task: index for index, task in enumerate(needs)}
    waits: dict[str, dict[str, None]] = {task: {} for task in needs}
    for file, tasks in shared:
        for first, second in pairwise(sorted(tasks, key=lambda task: level[task.id])):
            if first.id in waits[second.id] or before[second.id] >> order[first.id] & 1:
                continue
            waits[second.id][first.id] = None
            if not file:
                second.group_dependencies.append(first.id)
            elif level[first.id] == level[second.id]:
                message = (
                    f"tasks {first.id} and {second.id} both write {shortened(file)}: {second.id} waits for {first.id}"
                )
                plan.warn(second.file, second.line_of("files"), message)
    for task in plan.tasks:
        task.implied_dependencies = list(waits[task.id])


def _members(plan: Plan) -> dict[str, list[PlanTask]]:
    """Returns the tasks of each group that shares a worktree one after the other."""
    tasks_of: dict[str, list[PlanTask]] = {}
    for task in plan.tasks:
        if task.worktree_group and task.worktree_group not in plan.parallel_groups:
            tasks_of.setdefault(task.worktree_group, []).append(task)
    return tasks_of


def _writers(plan: Plan) -> dict[str, list[PlanTask]]:
    tasks_of: dict[str, list[PlanTask]] = {}
    for task in plan.tasks:
        for file in dict.fromkeys(posixpath.normpath(path) for path in task.files):
            tasks_of.setdefault(file, []).append(task)
    return tasks_of
