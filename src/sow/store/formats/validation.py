"""Checks values by the rules of the schemas; the generated validators consist of these checks.

The formats do without `re`, whose import would double the time of a frequent command. Each schema also has the pattern,
and a test checks that both agree.
"""

from __future__ import annotations

from sow.domain.inputs import (
    is_line,
    is_member,
    is_phase_name,
    is_role_name,
    is_session_id,
    is_task_id,
    is_tokens,
    is_word,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    Check: TypeAlias = Callable[[Any], None]

HEX = frozenset("0123456789abcdef")
ACCOUNT_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@")
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


def parts(version: str) -> tuple[tuple[int, str], ...]:
    """Returns a version as a sort key; numbers are compared by length first, because int() refuses very long ones."""
    numbers = (part.lstrip("0") for part in version.split("."))
    return tuple((len(number), number) for number in numbers)


def is_uuid4(text: str) -> bool:
    """A random UUID in lower case."""
    parts = text.split("-")
    return (
        [len(part) for part in parts] == [8, 4, 4, 4, 12]
        and all(HEX.issuperset(part) for part in parts)
        and parts[2][0] == "4"
        and parts[3][0] in "89ab"
    )


def is_worker(text: str) -> bool:
    """The agent of a session: a task id, or an agent of a workflow."""
    return is_task_id(text) or is_member(text)


def is_note_id(text: str) -> bool:
    """note_001"""
    return text.startswith("note_") and 3 <= len(text) - 5 <= 6 and _digits(text[5:])


def is_digest(text: str) -> bool:
    """A git object id, or another digest in hexadecimal."""
    return 40 <= len(text) <= 64 and HEX.issuperset(text)


def is_duration(text: str) -> bool:
    """90s, 45m, 2h"""
    number = text.rstrip("dhms")
    return 0 < len(number) <= 6 and _digits(number) and text[len(number) :] in ("ms", "s", "m", "h", "d")


def is_capacity(text: str) -> bool:
    """2@team"""
    number, _, account = text.partition("@")
    return 0 < len(number) <= 4 and _digits(number) and number[0] != "0" and is_account(account)


def is_account(text: str) -> bool:
    """Tells whether a text can name an account, such as team or ada@example.org."""
    return 0 < len(text) <= 64 and text.isascii() and not set(text) - ACCOUNT_LETTERS


# format → (test, description of a valid value)
FORMATS = {
    "sow-agent": (is_role_name, "a lower-case name such as implementer"),
    "sow-capacity": (is_capacity, "a number such as 2, or with an account such as 2@team"),
    "sow-digest": (is_digest, "a digest in hexadecimal"),
    "sow-duration": (is_duration, "a duration such as 90s, 45m or 2h"),
    "sow-line": (is_line, "one line without control characters"),
    "sow-member": (is_member, "a lower-case name such as database_agent"),
    "sow-note-id": (is_note_id, "a note id such as note_001"),
    "sow-phase": (is_phase_name, "a phase such as implementation"),
    "sow-session-task": (is_session_id, "an id such as add_login_1727539200"),
    "sow-task-id": (is_task_id, "a task id such as 010, quoted"),
    "sow-timestamp": (is_timestamp, "a UTC time such as 2026-01-31T09:00:00Z"),
    "sow-tokens": (is_tokens, "a number of tokens such as 8k"),
    "sow-uuid4": (is_uuid4, "a UUID v4 in lower case"),
    "sow-version": (is_version, "a version such as 1.0.0"),
    "sow-word": (is_word, "one word of letters, digits and _ . : -"),
    "sow-worker": (is_worker, "a task id such as 010, or an agent such as database_agent"),
}


MAX_PLACE = 200  # a key can be as long as the file, a message cannot
REQUIRED, OPTIONAL = object(), object()  # in place of the default of a field
UNLIMITED = float("inf")


class SchemaError(Exception):
    """Reports one field that does not follow the schema. `steps` lead to it, such as `.checks` and `[0]`."""

    def __init__(self, message: str, *steps: str) -> None:
        super().__init__(message)
        self.message = message
        self.steps = list(steps)

    @property
    def place(self) -> str:
        """Returns the path of the field, such as task.checks[0].command; empty for the whole document."""
        path = "".join(self.steps)[1:]
        return path if len(path) <= MAX_PLACE else path[: MAX_PLACE - 1] + "…"

    def inside(self, step: str) -> SchemaError:
        """Returns the complaint with one more step, which leads to the value from the one around it."""
        self.steps.insert(0, step)
        return self

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.steps else self.message


def anything(value: Any) -> None:
    """Accepts every value."""


class Skipped(str):
    """Replaces a field whose problem is known already, so that a validator finds the problems behind it."""

    __slots__ = ()


def _refuse(expected: str, value: object) -> None:
    """Raises the complaint for a value that does not follow the schema."""
    if type(value) is not Skipped:
        text = repr(value)
        raise SchemaError(f"must be {expected}, not {text if len(text) <= 60 else text[:57] + '…'}")


# Each of the following functions returns the check of one kind of value. The generated modules consist of them.


def text(
    low: int = 0, high: float = UNLIMITED, *, form: str = "", refused: Sequence[str] = (), null: bool = False
) -> Check:
    """Returns the check of a text by its length and its format."""
    has_format, wanted = FORMATS[form] if form else (None, "")

    def check(value: Any) -> None:
        if type(value) is not str:
            if value is not None or not null:
                _refuse("a text or null" if null else "a text", value)
        elif not low <= len(value) <= high:
            _refuse(f"{f'at least {low}' if high == UNLIMITED else f'{low} to {high}'} characters long", value)
        elif has_format is not None and not has_format(value):
            _refuse(wanted, value)
        elif value in refused:
            _refuse(f"anything but {' or '.join(refused)}", value)

    return check


def number(
    least: float = -UNLIMITED, *, whole: bool = False, null: bool = False, instead: Check | None = None
) -> Check:
    """Returns the check of a number by its least value; `instead` checks a text in its place."""
    kinds = (int,) if whole else (int, float)
    expected = ("a whole number" if whole else "a number") + (" or null" if null else "")

    def check(value: Any) -> None:
        if type(value) is str and instead is not None:
            instead(value)
        elif type(value) not in kinds:
            if value is not None or not null:
                _refuse(expected, value)
        elif value < least:
            _refuse(f"at least {least}", value)

    return check


def flag(value: Any) -> None:
    """Checks a value that is true or false."""
    if type(value) is not bool:
        _refuse("true or false", value)


def choice(*options: str | None) -> Check:
    """Returns the check of a value that is one of some words, or null."""

    def check(value: Any) -> None:
        if type(value) not in (str, type(None)) or value not in options:
            _refuse("one of " + ", ".join(option if option is not None else "null" for option in options), value)

    return check


def array(entry: Check, *, least: int = 0, unique: bool = False, instead: type = list) -> Check:
    """Returns the check of a list by its length and its entries. A value of the type `instead` is valid too."""
    expected = "a list" + {str: " or a text", type(None): " or null"}.get(instead, "")

    def check(value: Any) -> None:
        if type(value) is not list:
            if type(value) is not instead:
                _refuse(expected, value)
            return
        if len(value) < least:
            _refuse(f"a list of at least {least}", value)
        for index, item in enumerate(value):
            try:
                entry(item)
            except SchemaError as error:
                raise error.inside(f"[{index}]") from None
        if unique and len(set(value)) != len(value):
            _refuse("a list without repeats", value)

    return check


def mapping(entry: Check, name: Check | None = None, *, null: bool = False) -> Check:
    """Returns the check of a mapping whose keys are names, by its values and by the form of the names."""

    def check(data: Any) -> None:
        if type(data) is not dict:
            if data is not None or not null:
                _refuse("a mapping", data)
            return
        for key, value in data.items():
            if type(key) is not str:
                _refuse("a mapping with names as keys", key)
            if name is not None:
                name(key)
            try:
                entry(value)
            except SchemaError as error:
                raise error.inside(f".{key}") from None

    return check


def record(
    fields: Mapping[str, tuple[Check, Any]],
    *conditions: tuple[str, tuple[str, ...], Mapping[str, Check]],
    null: bool = False,
) -> Check:
    """Returns the check of an object by its fields, each with a default, `REQUIRED` or `OPTIONAL`; fills in defaults.

    A condition is a field, its values, and the fields that must be there then, each with a check that is added.
    """

    def check(data: Any) -> None:
        if type(data) is not dict:
            if data is not None or not null:
                _refuse("a mapping", data)
            return
        seen = 0
        for name, (check_value, default) in fields.items():
            if name in data:
                seen += 1
                try:
                    check_value(data[name])
                except SchemaError as error:
                    raise error.inside(f".{name}") from None
            elif default is REQUIRED:
                raise SchemaError("is missing", f".{name}")
            elif default is not OPTIONAL:
                seen += 1
                data[name] = default.copy() if type(default) in (list, dict) else default
        if seen != len(data):
            raise _unknown(data, sorted(fields))
        for field, values, needed in conditions:
            for name, narrowed in needed.items() if data.get(field) in values else ():
                if name not in data:
                    raise SchemaError("is missing", f".{name}")
                try:
                    narrowed(data[name])
                except SchemaError as error:
                    raise error.inside(f".{name}") from None

    return check


def _unknown(data: Mapping[object, object], names: list[str]) -> SchemaError:
    """Returns the complaint for a field that the schema does not have."""
    key = next(key for key in data if key not in names)
    import difflib

    near = difflib.get_close_matches(str(key), names, n=1)
    advice = f"; did you mean {near[0]}?" if near else f"; known are: {', '.join(names)}" if len(names) <= 12 else ""
    return SchemaError(f"is not a field{advice}", f".{key}")
