"""Parses the values of fields in plans: numbers, lists and dependencies (`Task 1`, `Tasks 1, 2 and 4-6`, `None`)."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable
from itertools import groupby, islice

from sow.domain.plans.plan import DependencyReference, Plan, PlanTask
from sow.domain.text.units import cut_to

NOTHING = frozenset(
    {"", "-", "–", "—", "[]", "n/a", "na", "nil", "no", "none", "nothing", "null", "no dependencies", "no dependency"}
)
MAX_ID = 60
MAX_SHOWN = 80
MAX_DURATION = 100  # characters
MAX_DIGITS = 9
STATUS_WORDS = {
    "pending": "pending",
    "todo": "pending",
    "to do": "pending",
    "open": "pending",
    "not started": "pending",
    "in progress": "in_progress",
    "running": "in_progress",
    "started": "in_progress",
    "completed": "completed",
    "complete": "completed",
    "done": "completed",
    "finished": "completed",
    "failed": "failed",
    "skipped": "skipped",
}
MINUTES = {
    1 / 60: ("s", "sec", "secs", "second", "seconds"),
    1: ("m", "min", "mins", "minute", "minutes"),
    60: ("h", "hr", "hrs", "hour", "hours"),
    1440: ("d", "day", "days"),
    10080: ("w", "wk", "wks", "week", "weeks"),
}
UNITS = {unit: scale for scale, units in MINUTES.items() for unit in units}
DASHES = (" - ", " – ", " — ")
# Without signs and spaces: other names for the tasks a task waits for, or for its position in the order.
DEPENDENCY_WORDS = frozenset(
    {
        *("after", "blockedby", "blocker", "blockers", "blocks", "dep", "deps", "follows", "need", "needs", "order"),
        *("precededby", "predecessor", "predecessors", "prereq", "prereqs", "prerequisite", "prerequisites"),
        *("require", "required", "requires", "runafter", "sequence", "startafter", "upstream", "waitfor", "waitsfor"),
        *("waitson", "wave"),
    }
)
# Those of them that can only mean the tasks a task waits for.
WAITS_FOR = frozenset(
    {
        *("after", "blockedby", "dependency", "dependencies", "dependon", "depends", "dependson", "dependsupon"),
        *("needs", "prerequisite", "prerequisites", "requires", "runafter", "startafter", "waitsfor", "waitson"),
    }
)


def shortened(text: str) -> str:
    """Returns a text for a message: printable, and shortened."""
    return "".join(character if character.isprintable() else "\ufffd" for character in cut_to(MAX_SHOWN, text))


def is_integer(text: str) -> bool:
    """Returns whether a text is a few ASCII digits, so that int() accepts it."""
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


def is_number(text: str) -> bool:
    """Returns whether a text is digits with at most one dot."""
    return text.isascii() and text.replace(".", "", 1).isdigit()


def is_range(text: str) -> bool:
    """Returns whether a text is a range such as `1-3`."""
    first, dash, last = text.partition("-")
    return bool(dash) and first.isdigit() and last.isdigit()


def normalized_id(text: str) -> str:
    """Returns an id for comparison: 01 is 1."""
    text = text.strip()
    return text.lstrip("0") or "0" if text.isascii() and text.isdigit() else text


def looks_like_dependency(name: str) -> bool:
    """Returns whether an unknown key or label means a dependency."""
    bare = letters_of(name)
    return bare in DEPENDENCY_WORDS or bare.startswith("depend")


def letters_of(name: str) -> str:
    """Returns a label in lower case, without signs and spaces."""
    return "".join(character for character in name.lower() if character.isalnum())


def is_id(text: str) -> bool:
    """Returns whether a text is an id such as `1`, `2.5` or `integration-1`; a range and `none` are not."""
    if len(text) > MAX_ID or text.lower() in NOTHING or is_range(text):
        return False
    bare = text.replace(".", "").replace("-", "").replace("_", "")
    return bare.isascii() and bare.isalnum() and text[0].isalnum() and text[-1].isalnum()


def is_none_word(text: str) -> bool:
    """Returns whether a field such as `None`, `N/A` or `—` says that there is nothing."""
    return text.strip().strip("`*_.").lower() in NOTHING


def without_remarks(text: str) -> str:
    """Removes remarks in parentheses: `Task 3 (models)` is task 3. An open parenthesis without end stays."""
    if "(" not in text:
        return text
    kept: list[str] = []
    opened: list[int] = []
    for character in text:
        kept.append(character)
        if character == "(":
            opened.append(len(kept) - 1)
        elif character == ")" and opened:
            del kept[opened.pop() :]
    return "".join(kept)


def minutes(text: str) -> float | None:
    """Returns the minutes of `30m`, `1h 15m`, `1.5h`, `15 minutes`, `2h30m` or `2 days`; None if it is no duration."""
    if len(text) > MAX_DURATION:
        return None
    plain = without_remarks(text).lower().lstrip(" `*~≈").rstrip(" `*.").replace(" and ", " ").replace(". ", " ")
    runs = ["".join(letters) for kind, letters in groupby(plain, _kind) if kind != "gap"]
    numbers, units = runs[::2], runs[1::2]
    if not runs or len(numbers) != len(units):
        return None
    if not all(is_number(number) and len(number) <= MAX_DIGITS for number in numbers) or set(units) - UNITS.keys():
        return None
    return round(sum(float(number) * UNITS[unit] for number, unit in zip(numbers, units, strict=True)), 2)


def _kind(character: str) -> str:
    return "gap" if character in " ,\t" else "number" if character in "0123456789." else "unit"


def status(text: str) -> str | None:
    """Returns the status that a word means, or None; `✅ COMPLETE` is completed."""
    lowered = without_remarks(text).lower().replace("[x]", "")
    letters = "".join(character if character.isalpha() else " " for character in lowered)
    return STATUS_WORDS.get(" ".join(letters.split()))


def paths(text: str) -> tuple[list[str], list[str]]:
    """Returns the files of a `Files` field, in backticks or between commas, and the parts that are not files."""
    files: list[str] = []
    unreadable: list[str] = []
    for part in [] if is_none_word(text) else _parts(text):
        quoted = part.split("`")[1::2]
        bare = part.strip(" \t*\"'")
        for dash in DASHES:
            bare = bare.partition(dash)[0]
        bare = bare.rpartition(": ")[2].strip().removeprefix("and ")
        if quoted:
            files += [without_line_numbers(name) for name in quoted if name.strip()]
            continue
        for file_name in filter(None, (name.strip() for name in bare.split(" and "))):
            if any(character.isspace() for character in file_name):
                unreadable.append(file_name)
            else:
                files.append(without_line_numbers(file_name))
    return files, unreadable


def _parts(text: str) -> list[str]:
    """Splits a text at commas that are neither in backticks nor in a remark."""
    if "`" not in text and "(" not in text:
        return text.split(",")
    kept: list[str] = []
    opened: list[int] = []
    quoted = False
    previous = " "
    for character in text:
        kept.append("\n" if character == "," and not quoted else character)
        if character == "`":
            quoted = not quoted
        elif character == "(" and previous.isspace() and not quoted:  # in app/(shop)/page.tsx it belongs to the path
            opened.append(len(kept) - 1)
        elif character == ")" and opened and not quoted:
            del kept[opened.pop() :]
        previous = character
    return "".join(kept).split("\n")


def without_line_numbers(text: str) -> str:
    """Returns a path without line numbers: `a.py:10-20` is a.py."""
    bare = text.strip()
    file, colon, lines = bare.rpartition(":")
    return file if colon and file and lines.replace("-", "", 1).isdigit() else bare


Edit = tuple[int, int, str]  # from, to, the new text; \n stands for the line ending of the file


def not_written(file: str, number: str, reason: str, words: str) -> str:
    """Returns the message about a status that another tool's task list has no place for."""
    return f"{file}: the status of task {number} cannot be written: {reason}; write it by hand: {words}"


class StatusRefusal(Exception):
    """The reason why a status cannot be written."""


def status_word(status: str) -> str:
    """Returns a status as a plan file spells it."""
    return status.replace("_", "-")


MAX_NAMES = 1000  # comparing more of them takes too long
MAX_LENGTH = 60
MAX_EDITS = 3


def nearest(name: str, candidates: Iterable[str]) -> str:
    """Returns the candidate with the fewest different letters, or one that continues or shortens the name."""
    names = list(islice(candidates, MAX_NAMES))
    lowered = name.lower()
    return closest(name, names, MAX_EDITS) or next(
        (candidate for candidate in names if _shares_prefix(lowered, candidate.lower())), ""
    )


def closest(name: str, candidates: Iterable[str], most: int) -> str:
    """Returns the candidate with the fewest different letters, if they are few; numbers never match."""
    lowered = name.lower()
    if len(name) > MAX_LENGTH or not any(character.isalpha() for character in name):
        return ""
    best, fewest = "", min(most, max(len(name) // 3, 1)) + 1
    for candidate in candidates:
        edits = distance(lowered, candidate.lower(), fewest - 1)
        if edits < fewest:
            best, fewest = candidate, edits
    return best


def _shares_prefix(name: str, candidate: str) -> bool:
    return MAX_LENGTH > min(len(name), len(candidate)) > 2 and (
        candidate.startswith(name) or name.startswith(candidate)
    )


def distance(first: str, second: str, limit: int) -> int:
    """Counts letters that are added, left out, changed or swapped; returns limit + 1 if there are more than limit."""
    if abs(len(first) - len(second)) > limit:
        return limit + 1
    two_rows_before: list[int] = []
    row_before: list[int] = []
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, 1):
        two_rows_before, row_before, row = row_before, row, [i]
        for j, second_letter in enumerate(second, 1):
            edits = min(row_before[j] + 1, row[j - 1] + 1, row_before[j - 1] + (letter != second_letter))
            if i > 1 and j > 1 and letter == second[j - 2] and second_letter == first[i - 2]:
                edits = min(edits, two_rows_before[j - 2] + 1)
            row.append(edits)
        if min(row) > limit and min(row_before) > limit:
            return limit + 1
    return min(row[-1], limit + 1)


MAX_REFERENCES = 200_000  # in one plan
MAX_RANGE = 20_000
BETWEEN = ("-", "–", "—", "to", "through", "until")
RANGE_DASHES = ("-", "–", "—", ":")
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
    for part in _dependency_parts(without_remarks(text)):
        new_references, remark = _references(part, line)
        if new_references is None or (after_remark and not any(character.isdigit() for character in part)):
            unreadable.append(part)
            continue
        after_remark = remark
        references += new_references
        if len(references) > MAX_REFERENCES:
            break
    return references, unreadable


def _dependency_parts(text: str) -> list[str]:
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
    if first.endswith(":") or rest[0][0] in RANGE_DASHES:
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
