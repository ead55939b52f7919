"""Checks string formats and raises errors for the generated validators.

The formats do without `re`, whose import would double the time of a frequent command. Each schema also has the pattern,
and a test checks that both agree.
"""

from __future__ import annotations

from sow.domain.ids import is_member, is_task_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn

HEX = frozenset("0123456789abcdef")
LOWER = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-")
BREAKS = "\u2028\u2029"
CONFLICT_MARKS = ("<<<<<<< ", ">>>>>>> ")  # git begins such lines where it left a conflict


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def is_timestamp(text: str) -> bool:
    """2026-01-31T09:00:00Z"""
    return (
        len(text) == 20
        and text[4] == text[7] == "-"
        and text[10] == "T"
        and text[13] == text[16] == ":"
        and text[19] == "Z"
        and _digits(text[:4] + text[5:7] + text[8:10] + text[11:13] + text[14:16] + text[17:19])
    )


def is_version(text: str) -> bool:
    """1.0.0"""
    parts = text.split(".")
    return len(parts) == 3 and all(_digits(part) for part in parts)


def is_uuid4(text: str) -> bool:
    """A random UUID in lower case."""
    parts = text.split("-")
    return (
        [len(part) for part in parts] == [8, 4, 4, 4, 12]
        and all(HEX.issuperset(part) for part in parts)
        and parts[2][0] == "4"
        and parts[3][0] in "89ab"
    )


def _lower_name(text: str, limit: int) -> bool:
    return 0 < len(text) <= limit and LOWER.issuperset(text) and text[0] not in "_-"


def is_phase(text: str) -> bool:
    """The name of a phase, usable as a folder name."""
    return _lower_name(text, 40)


def is_agent(text: str) -> bool:
    """The name of a role."""
    return _lower_name(text, 64)


def is_worker(text: str) -> bool:
    """The agent of a session: a task id, or an agent of a workflow."""
    return is_task_id(text) or is_member(text)


def is_line(text: str) -> bool:
    """One line without control characters."""
    return text.isprintable() or not any(
        letter < " " or "\x7f" <= letter <= "\x9f" or letter in BREAKS for letter in text
    )


def is_word(text: str) -> bool:
    """One word, for an action or a result."""
    return 0 < len(text) <= 64 and WORD.issuperset(text) and text[0] not in "_.:-"


def is_note_id(text: str) -> bool:
    """note_001"""
    return text.startswith("note_") and 3 <= len(text) - 5 <= 6 and _digits(text[5:])


def is_session_task(text: str) -> bool:
    """{slug}_{unix_epoch_timestamp}"""
    slug, _, epoch = text.rpartition("_")
    return bool(slug) and LOWER.issuperset(slug) and "-" not in slug and 6 <= len(epoch) <= 12 and _digits(epoch)


def is_digest(text: str) -> bool:
    """A git object id, or another digest in hexadecimal."""
    return 40 <= len(text) <= 64 and HEX.issuperset(text)


def is_duration(text: str) -> bool:
    """90s, 45m, 2h"""
    number = text.rstrip("dhms")
    return 0 < len(number) <= 6 and _digits(number) and text[len(number) :] in ("ms", "s", "m", "h", "d")


def is_tokens(text: str) -> bool:
    """12000, 8k"""
    digits = text.removesuffix("k")
    return 0 < len(digits) <= 7 and _digits(digits) and digits[0] != "0"


# format → (test, description of a valid value)
FORMATS = {
    "sow-agent": (is_agent, "a lower-case name such as implementer"),
    "sow-digest": (is_digest, "a digest in hexadecimal"),
    "sow-duration": (is_duration, "a duration such as 90s, 45m or 2h"),
    "sow-line": (is_line, "one line without control characters"),
    "sow-member": (is_member, "a lower-case name such as database_agent"),
    "sow-note-id": (is_note_id, "a note id such as note_001"),
    "sow-phase": (is_phase, "a phase such as implementation"),
    "sow-session-task": (is_session_task, "an id such as add_login_1727539200"),
    "sow-task-id": (is_task_id, "a task id such as 010, quoted"),
    "sow-timestamp": (is_timestamp, "a UTC time such as 2026-01-31T09:00:00Z"),
    "sow-tokens": (is_tokens, "a number of tokens such as 8k"),
    "sow-uuid4": (is_uuid4, "a UUID v4 in lower case"),
    "sow-version": (is_version, "a version such as 1.0.0"),
    "sow-word": (is_word, "one word of letters, digits and _ . : -"),
    "sow-worker": (is_worker, "a task id such as 010, or an agent such as database_agent"),
}


MAX_PLACE = 200  # a key can be as long as the file, a message cannot


class SchemaError(Exception):
    """Reports one field that does not follow the schema."""

    def __init__(self, field_path: str, message: str) -> None:
        field_path = field_path if len(field_path) <= MAX_PLACE else field_path[: MAX_PLACE - 1] + "…"
        super().__init__(f"{field_path}: {message}" if field_path else message)
        self.place = field_path
        self.message = message


class Skipped(str):
    """Replaces a field whose problem is known already, so that a validator finds the problems behind it."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return False


def wrong(field_path: str, expected: str, value: object) -> None:
    """Raises the complaint for a value that does not follow the schema."""
    if type(value) is Skipped:
        return
    value_text = repr(value)
    raise SchemaError(
        field_path, f"must be {expected}, not {value_text if len(value_text) <= 60 else value_text[:57] + '…'}"
    )


def missing(field_path: str, key: str) -> NoReturn:
    """Raises the complaint for a missing required field."""
    raise SchemaError(f"{field_path}.{key}" if field_path else key, "is missing")


def unknown(data: dict[object, object], field_path: str, allowed: Iterable[str]) -> NoReturn:
    """Raises the complaint for a field that the schema does not have."""
    names = sorted(allowed)
    key = next(key for key in data if key not in names)
    import difflib

    near = difflib.get_close_matches(str(key), names, n=1)
    advice = f"; did you mean {near[0]}?" if near else f"; known are: {', '.join(names)}" if len(names) <= 12 else ""
    raise SchemaError(f"{field_path}.{key}" if field_path else str(key), f"is not a field{advice}")
