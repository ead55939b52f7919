"""The small languages inside a plan: ids, dependencies, durations, statuses and lists of paths."""

from __future__ import annotations

from sow.domain.plan import Reference

NOTHING = ("", "none", "n/a", "na", "-", "—", "nothing", "no", "null", "[]")
MAX_RANGE = 10_000
MAX_DURATION = 100  # characters
STATUS_WORDS = {
    "pending": "pending",
    "todo": "pending",
    "not started": "pending",
    "in progress": "in_progress",
    "in_progress": "in_progress",
    "in-progress": "in_progress",
    "running": "in_progress",
    "completed": "completed",
    "complete": "completed",
    "done": "completed",
    "failed": "failed",
    "skipped": "skipped",
}
UNITS = {"s": 1 / 60, "sec": 1 / 60, "m": 1, "min": 1, "h": 60, "hr": 60, "d": 1440, "w": 10080}
UNITS |= {"second": 1 / 60, "minute": 1, "hour": 60, "day": 1440, "week": 10080}


def plain_id(text: str) -> str:
    """An id as it is compared: 01 is 1."""
    text = text.strip()
    return str(int(text)) if text.isascii() and text.isdigit() and len(text) < 10 else text


def is_id(text: str) -> bool:
    """`1`, `2.5`, `integration-1`: letters, digits, dots, dashes and underscores, no spaces."""
    bare = text.replace(".", "").replace("-", "").replace("_", "")
    return bool(bare) and bare.isascii() and bare.isalnum() and len(text) <= 60 and text[0].isalnum()


def dependencies(text: str, line: int) -> tuple[list[Reference], list[str]]:
    """What a dependency field says, and the words in it that say nothing."""
    found: list[Reference] = []
    strange: list[str] = []
    if _without_remarks(text).strip().strip("`*_.").lower() in NOTHING:
        return [], []
    for part in _parts(_without_remarks(text)):
        references = _reference(part, line)
        if references:
            found += references
        else:
            strange.append(part)
    return found, strange


def _without_remarks(text: str) -> str:
    """`Task 3 (models)` is task 3: what stands in parentheses is a remark."""
    kept = []
    depth = 0
    for letter in text:
        if letter == "(":
            depth += 1
        elif letter == ")" and depth:
            depth -= 1
        elif not depth:
            kept.append(letter)
    return "".join(kept)


def _parts(text: str) -> list[str]:
    """The single dependencies: between commas, semicolons, ampersands and `and`."""
    for mark in (";", "&", " and ", " AND ", " And ", " + "):
        text = text.replace(mark, ",")
    return [part.strip().strip("`*[]\"'").strip() for part in text.split(",") if part.strip().strip("`*[]\"'")]


def _reference(part: str, line: int) -> list[Reference]:
    if part.lower().startswith("file:"):
        return _of_file(part[5:], line)
    words = part.split()
    if words[0].lower() in ("task", "tasks") and len(words) > 1:
        words = words[1:]
    bare = words[0].removeprefix("#").rstrip(":.")
    if len(words) > 1 and not _only_prose(words[1:], bare):
        return []
    file, colon, task = bare.rpartition(":")
    if colon and "." in file and is_id(task):
        return [Reference(plain_id(task), file=file, line=line)]
    first, dash, last = bare.partition("-")
    if dash and first.isdigit() and last.isdigit() and 0 <= int(last) - int(first) < MAX_RANGE:
        return [Reference(str(number), line=line) for number in range(int(first), int(last) + 1)]
    return [Reference(plain_id(bare), line=line)] if is_id(bare) else []


def _only_prose(words: list[str], bare: str) -> bool:
    """Whether what follows an id is a remark such as `- the models`; a bare word may not be followed by others."""
    return words[0] in ("-", "–", "—", ":") or (bare[0].isdigit() and words[0][0] in "-–—:")


def _of_file(text: str, line: int) -> list[Reference]:
    """`F/task:N` and `F:task:N`."""
    for mark in ("/task:", ":task:"):
        file, found, task = text.rpartition(mark)
        if found and file and is_id(task.strip()):
            return [Reference(plain_id(task), file=file.strip(), line=line)]
    return []


def minutes(text: str) -> float | None:
    """`30m`, `1h 15m`, `1.5h`, `15 minutes`, `2h30m`, `2 days` in minutes; None when it is no duration."""
    if len(text) > MAX_DURATION:
        return None
    total = 0.0
    rest = text.strip().lower().lstrip("~≈").replace(" and ", " ").replace(",", " ").strip()
    if not rest:
        return None
    while rest:
        number = ""
        while rest and (rest[0].isdigit() or rest[0] == "."):
            number, rest = number + rest[0], rest[1:]
        rest = rest.lstrip()
        unit = ""
        while rest and rest[0].isalpha():
            unit, rest = unit + rest[0], rest[1:]
        rest = rest.lstrip(" .")
        scale = UNITS.get(unit) or UNITS.get(unit.removesuffix("s")) or UNITS.get(unit.removesuffix("."))
        if not number.replace(".", "", 1).isdigit() or len(number) > 9 or scale is None:
            return None
        total += float(number) * scale
    return round(total, 2)


def status(text: str) -> str | None:
    """The status that a word stands for; `✅ COMPLETE` is completed."""
    bare = "".join(letter for letter in text.lower() if letter.isalpha() or letter in " _-").strip()
    return STATUS_WORDS.get(bare)


def paths(text: str) -> list[str]:
    """The files of a `Files` field: in backticks, or between commas."""
    if "`" in text:
        return [part.strip() for part in text.split("`")[1::2] if part.strip()]
    if text.strip().lower() in NOTHING:
        return []
    return [part.strip() for part in text.split(",") if part.strip()]
