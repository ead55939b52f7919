"""The small languages inside a plan: ids, remarks, durations, statuses and lists of paths."""

from __future__ import annotations

from itertools import groupby

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
# Without signs and spaces: other names for what a task waits for, or for its place in the order.
DEPENDENCY_WORDS = frozenset(
    {
        *("after", "blockedby", "blocker", "blockers", "blocks", "dep", "deps", "follows", "need", "needs", "order"),
        *("precededby", "predecessor", "predecessors", "prereq", "prereqs", "prerequisite", "prerequisites"),
        *("require", "required", "requires", "runafter", "sequence", "startafter", "upstream", "waitfor", "waitsfor"),
        *("waitson", "wave"),
    }
)


def shown(text: str) -> str:
    """A text as a message may have it: printable, and cut short."""
    cut = text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
    return cut if cut.isprintable() else "".join(letter if letter.isprintable() else "\ufffd" for letter in cut)


def is_whole(text: str) -> bool:
    """Whether these are a few plain digits, which int() takes; it takes no superscripts and no million of them."""
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


def is_number(text: str) -> bool:
    """Digits with at most one dot among them."""
    return text.isascii() and text.replace(".", "", 1).isdigit()


def is_range(text: str) -> bool:
    """`1-3`, which as a dependency is three tasks."""
    first, dash, last = text.partition("-")
    return bool(dash) and first.isdigit() and last.isdigit()


def plain_id(text: str) -> str:
    """An id as it is compared: 01 is 1."""
    text = text.strip()
    return text.lstrip("0") or "0" if text.isascii() and text.isdigit() else text


def looks_like_dependency(name: str) -> bool:
    """Whether a key or a label that nobody knows says, in other words, what comes first."""
    bare = "".join(letter for letter in name.lower() if letter.isalnum())
    return bare in DEPENDENCY_WORDS or bare.startswith("depend")


def is_id(text: str) -> bool:
    """`1`, `2.5`, `integration-1`: letters, digits, dots, dashes and underscores; no range, and no word for nothing."""
    if len(text) > MAX_ID or text.lower() in NOTHING or is_range(text):
        return False
    bare = text.replace(".", "").replace("-", "").replace("_", "")
    return bare.isascii() and bare.isalnum() and text[0].isalnum() and text[-1].isalnum()


def is_nothing(text: str) -> bool:
    """`None`, `N/A`, `—`: a field that says that there is nothing."""
    return text.strip().strip("`*_.").lower() in NOTHING


def without_remarks(text: str) -> str:
    """`Task 3 (models)` is task 3: what stands in parentheses is a remark, unless it never ends."""
    if "(" not in text:
        return text
    kept: list[str] = []
    opened: list[int] = []
    for letter in text:
        kept.append(letter)
        if letter == "(":
            opened.append(len(kept) - 1)
        elif letter == ")" and opened:
            del kept[opened.pop() :]
    return "".join(kept)


def minutes(text: str) -> float | None:
    """`30m`, `1h 15m`, `1.5h`, `15 minutes`, `2h30m`, `2 days` in minutes; None when it is no duration."""
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


def _kind(letter: str) -> str:
    return "gap" if letter in " ,\t" else "number" if letter in "0123456789." else "unit"


def status(text: str) -> str | None:
    """The status that a word stands for; `✅ COMPLETE` is completed."""
    lowered = without_remarks(text).lower().replace("[x]", "")
    letters = "".join(letter if letter.isalpha() else " " for letter in lowered)
    return STATUS_WORDS.get(" ".join(letters.split()))


def paths(text: str) -> tuple[list[str], list[str]]:
    """The files of a `Files` field, in backticks or between commas, and the words in it that are no file."""
    found: list[str] = []
    strange: list[str] = []
    for part in [] if is_nothing(text) else _parts(text):
        quoted = part.split("`")[1::2]
        bare = part.strip(" \t*\"'")
        for mark in DASHES:
            bare = bare.partition(mark)[0]
        bare = bare.rpartition(": ")[2].strip().removeprefix("and ")
        if quoted:
            found += [path(each) for each in quoted if each.strip()]
            continue
        for each in filter(None, (each.strip() for each in bare.split(" and "))):
            if any(letter.isspace() for letter in each):
                strange.append(each)
            else:
                found.append(path(each))
    return found, strange


def _parts(text: str) -> list[str]:
    """What stands between commas; neither a comma in backticks nor one in a remark counts."""
    if "`" not in text and "(" not in text:
        return text.split(",")
    kept: list[str] = []
    opened: list[int] = []
    quoted = False
    before = " "
    for letter in text:
        kept.append("\n" if letter == "," and not quoted else letter)
        if letter == "`":
            quoted = not quoted
        elif letter == "(" and before.isspace() and not quoted:  # in app/(shop)/page.tsx it belongs to the path
            opened.append(len(kept) - 1)
        elif letter == ")" and opened and not quoted:
            del kept[opened.pop() :]
        before = letter
    return "".join(kept).split("\n")


def path(text: str) -> str:
    """A path without its lines: `a.py:10-20` is a.py."""
    bare = text.strip()
    file, colon, lines = bare.rpartition(":")
    return file if colon and file and lines.replace("-", "", 1).isdigit() else bare
