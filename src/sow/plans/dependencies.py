"""Parses dependencies (`Task 1`, `Tasks 1, 2 and 4-6`, `setup.md:2`, `None`), and resolves them to ids of tasks."""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from itertools import islice

from sow.domain.plans.plan import DependencyReference, Plan, PlanTask
from sow.plans.typo_hints import nearest
from sow.plans.values import is_id, is_integer, is_none_word, is_range, normalized_id, shortened, without_remarks

MAX_REFERENCES = 200_000  # in one plan
MAX_RANGE = 20_000
BETWEEN = ("-", "–", "—", "to", "through", "until")
DASHES = ("-", "–", "—", ":")
OF_FILE = ("of", "in", "from")
JOINED = ("and", "&", "+")
MARKS = "`*[]\"' "


def dependencies(text: str, line: int) -> tuple[list[DependencyReference], list[str]]:
    """Returns the references in a dependency field, and the parts that are not understood."""
    if is_integer(text):
        return [DependencyReference(normalized_id(text), line=line)], []
    references: list[DependencyReference] = []
    unreadable: list[str] = []
    after_remark = False  # a part after `Task 1 - models` may still belong to that remark
    for part in _parts(without_remarks(text)):
        new_references, remark = _references(part, line)
        if new_references is None or (after_remark and not any(character.isdigit() for character in part)):
            unreadable.append(part)
            continue
        after_remark = remark
        references += new_references
        if len(references) > MAX_REFERENCES:
            break
    return references, unreadable


def _parts(text: str) -> list[str]:
    """Splits a text at commas, semicolons and `and`."""
    parts = []
    for piece in text.replace(";", ",").split(","):
        words: list[str] = []
        for word in [*piece.split(), "and"]:
            if word.lower() in JOINED:
                parts.append(" ".join(words).strip(MARKS))
                words = []
            else:
                words.append(word)
    return [part for part in parts if not is_none_word(part)]


def _references(part: str, line: int) -> tuple[list[DependencyReference] | None, bool]:
    """Returns the tasks that one part names, or None, and whether a remark follows them."""
    if part.lower().startswith("file:"):
        return _of_file(part[5:], line), False
    words = [word for word in part.split() if word.lower() not in ("task", "tasks")] or [part]
    first, rest = words[0].removeprefix("#"), words[1:]
    bare = first.rstrip(":.")
    if not rest:
        return _one(bare, line), False
    if len(rest) == 1 and first.endswith(":") and "." in bare and is_id(rest[0]):
        return [DependencyReference(normalized_id(rest[0]), file=bare, line=line)], False
    if len(rest) == 2 and rest[0].lower() in BETWEEN and is_integer(bare) and is_integer(rest[1]):
        return _range(bare, rest[1], line), False
    if len(rest) == 2 and rest[0].lower() in OF_FILE and "." in rest[1] and is_id(bare):
        return [DependencyReference(normalized_id(bare), file=rest[1].strip(MARKS), line=line)], False
    if first.endswith(":") or rest[0][0] in DASHES:
        return ([] if is_none_word(bare) else _one(bare, line)), True
    return None, False


def _one(bare: str, line: int) -> list[DependencyReference] | None:
    """Parses a single word: an id, a range of ids, or an id after its file."""
    for sign in ("#", ":"):
        file, separator, task = bare.rpartition(sign)
        if separator and file and is_id(task) and (sign == "#" or "." in file):
            return [DependencyReference(normalized_id(task), file=file, line=line)]
    bare = bare.replace("–", "-").replace("—", "-")
    if is_range(bare):
        first, _, last = bare.partition("-")
        return _range(first, last, line)
    return [DependencyReference(normalized_id(bare), line=line)] if is_id(bare) else None


def _range(first: str, last: str, line: int) -> list[DependencyReference]:
    """Returns all tasks of a range; a range that is reversed or too long becomes a task that does not exist."""
    if is_integer(first) and is_integer(last) and 0 <= int(last) - int(first) < MAX_RANGE:
        return [DependencyReference(str(number), line=line) for number in range(int(first), int(last) + 1)]
    return [DependencyReference(f"{first:.20}-{last:.20}", line=line)]


def _of_file(text: str, line: int) -> list[DependencyReference] | None:
    """Parses `F/task:N` and `F:task:N`."""
    for sign in ("/task:", ":task:"):
        file, separator, task = text.rpartition(sign)
        if separator and file.strip() and is_id(task.strip()):
            return [DependencyReference(normalized_id(task), file=file.strip(), line=line)]
    return None


def stem(file: str) -> str:
    """Returns a file's name without folder and extension."""
    return posixpath.splitext(posixpath.basename(file))[0]


def relative_path(file: str, name: str) -> str:
    """Returns the path of a file that is named relative to another file."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), name))


class TaskIndex:
    """The tasks of a plan by number and by file."""

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
        """Indexes a file by its path, by every ending of it, and by its name without extension."""
        path = posixpath.normpath(file)
        self.by_path.setdefault(path, []).append(file)
        parts = path.split("/")
        for ending in (stem(path), *("/".join(parts[index:]) for index in range(len(parts)))):
            self.by_ending.setdefault(ending, []).append(file)

    def files(self, file: str, name: str) -> list[str]:
        """Returns the files that a name can mean: the one in the same folder, or all with this ending."""
        return self.by_path.get(relative_path(file, name)) or self.by_ending.get(posixpath.normpath(name), [])


def resolve(plan: Plan) -> None:
    """Sets the ids of the tasks that each task depends on."""
    names = TaskIndex(plan)
    for task in plan.tasks:
        ids: dict[str, None] = {}
        own_numbers = {reference.task for reference in task.dependency_references if not reference.file}
        for reference in task.dependency_references:
            target = _target(plan, task, reference, names, own_numbers)
            if target is task:
                plan.error(task.file, reference.line, f"task {task.id} depends on itself", "remove that dependency")
            elif target is not None:
                ids[target.id] = None
        task.depends_on = list(ids)


def _target(
    plan: Plan, task: PlanTask, reference: DependencyReference, names: TaskIndex, own_numbers: set[str]
) -> PlanTask | None:
    if reference.file:
        return _in_file(plan, task, reference, names, own_numbers)
    number = reference.task
    if number not in names.by_number and number.lower().startswith("task-"):  # as in the heading `## TASK-10: name`
        number = normalized_id(number[len("task-") :])
    local = names.by_file[task.file].get(number)
    candidates = names.by_number.get(number, [])
    if local is not None or len(candidates) == 1:
        return local or candidates[0]
    if candidates:
        candidate_ids = ", ".join(candidate.id for candidate in candidates[:12])
        message = f"task {task.id} depends on {reference.task}, which could be {candidate_ids}"
        plan.error(task.file, reference.line, message, "write file:F:task:N")
    else:
        _unknown(plan, task, reference, names.by_number)
    return None


def _in_file(
    plan: Plan, task: PlanTask, reference: DependencyReference, names: TaskIndex, own_numbers: set[str]
) -> PlanTask | None:
    files = names.files(task.file, reference.file)
    for file in files:
        if reference.task in names.by_file[file]:
            return names.by_file[file][reference.task]
    if not files:
        return _in_missing_file(plan, task, reference, names, own_numbers)
    _unknown(plan, task, reference, names.by_file[files[0]])
    return None


def _in_missing_file(
    plan: Plan, task: PlanTask, reference: DependencyReference, names: TaskIndex, own_numbers: set[str]
) -> PlanTask | None:
    """Handles a file that was not given: uses the only earlier task of that number, unless the task names it too."""
    candidates = names.by_number.get(reference.task, [])
    message = f"task {task.id} depends on task {reference.task} of {shortened(reference.file)}, which was not given"
    hint = f"name that file too: sow plan show {task.file} {shortened(relative_path(task.file, reference.file))}"
    if (
        len(candidates) == 1
        and reference.task not in own_numbers
        and names.order[candidates[0].id] < names.order[task.id]
    ):
        assumption = f"{message}: task {candidates[0].id} of {candidates[0].file} is taken for it"
        plan.warn(task.file, reference.line, assumption, hint, kind="dependency")
        return candidates[0]
    plan.error(task.file, reference.line, message, hint)
    return None


def _unknown(plan: Plan, task: PlanTask, reference: DependencyReference, numbers: Collection[str]) -> None:
    origin = f" of {shortened(reference.file)}" if reference.file else ""
    message = f"task {task.id} depends on task {reference.task}{origin}, which does not exist"
    near = nearest(reference.task, numbers) if plan.use_suggestion() else ""
    examples = ", ".join(islice(numbers, 12)) + (", …" if len(numbers) > 12 else "")
    plan.error(task.file, reference.line, message, f"did you mean {near}?" if near else f"the tasks are: {examples}")
