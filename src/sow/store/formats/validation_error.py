"""Raises the errors of the generated validators: the path of the bad field, and the reason."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn

MAX_PLACE = 200  # a key can be as long as the file, a message cannot


class SchemaError(Exception):
    """Reports one field that does not follow the schema."""

    def __init__(self, field_path: str, message: str) -> None:
        field_path = field_path if len(field_path) <= MAX_PLACE else field_path[: MAX_PLACE - 1] + "…"
        super().__init__(f"{field_path}: {message}" if field_path else message)
        self.place = field_path
        self.message = message


def wrong(field_path: str, expected: str, value: object) -> NoReturn:
    """Raises the complaint for a value that does not follow the schema."""
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
