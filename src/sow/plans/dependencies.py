"""Parses dependencies: `Task 1`, `Tasks 1, 2 and 4-6`, `setup.md:2`, `file:F:task:N`, `None`."""

from __future__ import annotations

from sow.domain.plans.plan import DependencyReference
from sow.plans.values import is_id, is_integer, is_none_word, is_range, normalized_id, without_remarks

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
