"""Parses short values in a plan: ids, remarks, durations, statuses and lists of paths."""

from __future__ import annotations

from itertools import groupby

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
