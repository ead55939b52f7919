"""What the generated validators raise: the path of the bad field, and what is wrong with it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn

MAX_PLACE = 200  # a key can be as long as the file, a message cannot


class Complaint(Exception):
    """One field that does not follow the schema."""

    def __init__(self, place: str, message: str) -> None:
        place = place if len(place) <= MAX_PLACE else place[: MAX_PLACE - 1] + "…"
        super().__init__(f"{place}: {message}" if place else message)
        self.place = place
        self.message = message


def wrong(place: str, wanted: str, value: object) -> NoReturn:
    """The value is not what the schema wants there."""
    shown = repr(value)
    raise Complaint(place, f"must be {wanted}, not {shown if len(shown) <= 60 else shown[:57] + '…'}")


def missing(place: str, key: str) -> NoReturn:
    """A required field is not there."""
    raise Complaint(f"{place}.{key}" if place else key, "is missing")


def unknown(data: dict[object, object], place: str, known: Iterable[str]) -> NoReturn:
    """A field that the schema does not have."""
    names = sorted(known)
    key = next(key for key in data if key not in names)
    import difflib

    near = difflib.get_close_matches(str(key), names, n=1)
    advice = f"; did you mean {near[0]}?" if near else f"; known are: {', '.join(names)}" if len(names) <= 12 else ""
    raise Complaint(f"{place}.{key}" if place else str(key), f"is not a field{advice}")
