"""Dependencies as they are written → ids of tasks; what leads nowhere is an error with the nearest name."""

from __future__ import annotations

import posixpath
from itertools import islice

from sow.plans.near import nearest
from sow.plans.words import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from sow.domain.plan import Plan, PlanTask, Reference


def stem(file: str) -> str:
    """A file's name without its folder and its ending."""
    return posixpath.splitext(posixpath.basename(file))[0]


def beside(where: str, name: str) -> str:
    """The path of a file that another one names, from where that one stands."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(where), name))


class _Names:
    """The tasks of a plan, by their numbers and by their files."""

    __slots__ = ("by_ending", "by_file", "by_number", "by_path", "order")

    def __init__(self, plan: Plan) -> None:
        self.by_number: dict[str, list[PlanTask]] = {}
        self.by_file: dict[str, dict[str, PlanTask]] = {file: {} for file in plan.files}
        self.by_path: dict[str, list[str]] = {}
        self.by_ending: dict[str, list[str]] = {}
        self.order = {task.id: index for index, task in enumerate(plan.tasks)}
        for task in plan.tasks:
            self.by_number.setdefault(task.number, []).append(task)
            self.by_file[task.file].setdefault(task.number, task)
        for file in self.by_file:
            self._add_file(file)

    def _add_file(self, file: str) -> None:
        """A file is known by its path, by every ending of it, and by its name without the ending."""
        path = posixpath.normpath(file)
        self.by_path.setdefault(path, []).append(file)
        parts = path.split("/")
        for ending in (stem(path), *("/".join(parts[place:]) for place in range(len(parts)))):
            self.by_ending.setdefault(ending, []).append(file)

    def files(self, where: str, name: str) -> list[str]:
        """The given files that a name in a file means: the one beside it, or all with this ending."""
        return self.by_path.get(beside(where, name)) or self.by_ending.get(posixpath.normpath(name), [])


def resolve(plan: Plan) -> None:
    """Give every task the ids of the tasks that come first."""
    names = _Names(plan)
    for task in plan.tasks:
        found: dict[str, None] = {}
        own = {reference.task for reference in task.references if not reference.file}
        for reference in task.references:
            target = _target(plan, task, reference, names, own)
            if target is task:
                plan.error(task.file, reference.line, f"task {task.id} depends on itself", "remove that dependency")
            elif target is not None:
                found[target.id] = None
        task.depends_on = list(found)


def _target(plan: Plan, task: PlanTask, reference: Reference, names: _Names, own: set[str]) -> PlanTask | None:
    if reference.file:
        return _in_file(plan, task, reference, names, own)
    here = names.by_file[task.file].get(reference.task)
    others = names.by_number.get(reference.task, [])
    if here is not None or len(others) == 1:
        return here or others[0]
    if others:
        which = ", ".join(each.id for each in others[:12])
        what = f"task {task.id} depends on {reference.task}, which could be {which}"
        plan.error(task.file, reference.line, what, "write file:F:task:N")
    else:
        _unknown(plan, task, reference, names.by_number)
    return None


def _in_file(plan: Plan, task: PlanTask, reference: Reference, names: _Names, own: set[str]) -> PlanTask | None:
    files = names.files(task.file, reference.file)
    for file in files:
        if reference.task in names.by_file[file]:
            return names.by_file[file][reference.task]
    if not files:
        return _in_missing_file(plan, task, reference, names, own)
    _unknown(plan, task, reference, names.by_file[files[0]])
    return None


def _in_missing_file(plan: Plan, task: PlanTask, reference: Reference, names: _Names, own: set[str]) -> PlanTask | None:
    """A file that was not given: an only task of that number further up is taken for it, unless it is named, too."""
    candidates = names.by_number.get(reference.task, [])
    what = f"task {task.id} depends on task {reference.task} of {shown(reference.file)}, which was not given"
    hint = f"name that file too: sow plan show {task.file} {shown(beside(task.file, reference.file))}"
    if len(candidates) == 1 and reference.task not in own and names.order[candidates[0].id] < names.order[task.id]:
        taken = f"{what}: task {candidates[0].id} of {candidates[0].file} is taken for it"
        plan.warn(task.file, reference.line, taken, hint, kind="dependency")
        return candidates[0]
    plan.error(task.file, reference.line, what, hint)
    return None


def _unknown(plan: Plan, task: PlanTask, reference: Reference, known: Collection[str]) -> None:
    where = f" of {shown(reference.file)}" if reference.file else ""
    what = f"task {task.id} depends on task {reference.task}{where}, which does not exist"
    near = nearest(reference.task, known) if plan.may_suggest() else ""
    some = ", ".join(islice(known, 12)) + (", …" if len(known) > 12 else "")
    plan.error(task.file, reference.line, what, f"did you mean {near}?" if near else f"the tasks are: {some}")
