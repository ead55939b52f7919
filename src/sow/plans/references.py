"""Dependencies as they are written → ids of tasks; what leads nowhere is an error with the nearest name."""

from __future__ import annotations

import posixpath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from sow.domain.plan import Plan, PlanTask, Reference

MAX_SUGGESTIONS = 20  # looking for the nearest of many names is slow, and nobody reads more of it


class _Names:
    """The tasks of a plan, by their numbers and by their files."""

    __slots__ = ("by_file", "by_number", "paths", "suggestions")

    def __init__(self, plan: Plan) -> None:
        self.by_number: dict[str, list[PlanTask]] = {}
        self.by_file: dict[str, dict[str, PlanTask]] = {file: {} for file in plan.files}
        self.paths = {file: posixpath.normpath(file) for file in plan.files}
        self.suggestions = MAX_SUGGESTIONS
        for task in plan.tasks:
            self.by_number.setdefault(task.number, []).append(task)
            self.by_file[task.file].setdefault(task.number, task)

    def hint(self, name: str, known: Collection[str]) -> str:
        """The nearest name, or the first few."""
        self.suggestions -= 1
        near = nearest(name, known) if self.suggestions >= 0 else ""
        some = list(known)[:12]
        return near or f"the tasks are: {', '.join(some)}{', …' if len(known) > len(some) else ''}"


def nearest(name: str, known: Collection[str]) -> str:
    """`did you mean …?` where a known name is near; numbers are never near each other."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known)[:2000], n=1) if not name.isdigit() else []
    return f"did you mean {near[0]}?" if near else ""


def resolve(plan: Plan) -> None:
    """Give every task the ids of the tasks that come first."""
    names = _Names(plan)
    for task in plan.tasks:
        found: dict[str, None] = {}
        for reference in task.references:
            target = _target(plan, task, reference, names)
            if target is task:
                plan.error(task.file, reference.line, f"task {task.id} depends on itself", "remove that dependency")
            elif target is not None:
                found[target.id] = None
        task.depends_on = list(found)


def _target(plan: Plan, task: PlanTask, reference: Reference, names: _Names) -> PlanTask | None:
    if reference.file:
        return _in_file(plan, task, reference, names)
    own = names.by_file[task.file].get(reference.task)
    others = names.by_number.get(reference.task, [])
    if own is not None or len(others) == 1:
        return own or others[0]
    if others:
        which = ", ".join(each.id for each in others[:12])
        what = f"task {task.id} depends on {reference.task}, which could be {which}"
        plan.error(task.file, reference.line, what, "write file:F:task:N")
    else:
        _unknown(plan, task, reference, names, names.by_number)
    return None


def _in_file(plan: Plan, task: PlanTask, reference: Reference, names: _Names) -> PlanTask | None:
    """A path counts from the folder of the file that has it; a bare ending of a given file's path is enough."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(task.file), reference.file))
    ending = f"/{posixpath.normpath(reference.file)}"
    exact = [file for file, path in names.paths.items() if path == beside]
    fitting = exact or [file for file, path in names.paths.items() if f"/{path}".endswith(ending)]
    if not fitting:
        return _in_missing_file(plan, task, reference, names)
    for file in fitting:
        if reference.task in names.by_file[file]:
            return names.by_file[file][reference.task]
    _unknown(plan, task, reference, names, names.by_file[fitting[0]])
    return None


def _in_missing_file(plan: Plan, task: PlanTask, reference: Reference, names: _Names) -> PlanTask | None:
    """A file that was not given: the only task of that number is taken for it, unless that one is named by itself."""
    candidates = [each for each in names.by_number.get(reference.task, []) if each is not task]
    named = any(each.task == reference.task and not each.file for each in task.references)
    what = f"task {task.id} depends on task {reference.task} of {reference.file}, which was not given"
    hint = f"name that file too: sow plan show {task.file} {reference.file}"
    if len(candidates) == 1 and not named:
        taken = f"{what}: task {candidates[0].id} of {candidates[0].file} is taken for it"
        plan.warn(task.file, reference.line, taken, hint)
        return candidates[0]
    plan.error(task.file, reference.line, what, hint)
    return None


def _unknown(plan: Plan, task: PlanTask, reference: Reference, names: _Names, known: Collection[str]) -> None:
    where = f" of {reference.file}" if reference.file else ""
    what = f"task {task.id} depends on task {reference.task}{where}, which does not exist"
    plan.error(task.file, reference.line, what, names.hint(reference.task, known))
