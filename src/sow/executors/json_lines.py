"""Lines of JSON that a CLI prints, read without trust: any shape may come. And texts, written as JSON has them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def parse(line: str) -> dict[str, Any] | None:
    """The object on this line, or nothing when it is not one."""
    import json  # here, because nothing is read before the agent runs

    stripped = line.strip()
    if not stripped.startswith("{"):
        return None
    try:
        data = json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def whole(value: object) -> int | None:
    """A whole number, if it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(value: object) -> float | None:
    """A number, if it is one that can be added up."""
    fits = (
        isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) != float("inf")
    )
    return float(value) if fits else None  # type: ignore[arg-type]


def mapping(value: object) -> dict[str, Any]:
    """A mapping, empty when it is none."""
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    """The text of a tool's result: a text, or a list of parts of which some have a text."""
    if isinstance(value, str):
        return value
    parts = [each.get("text") for each in value if isinstance(each, dict)] if isinstance(value, list) else []
    return "\n".join(each for each in parts if isinstance(each, str))


def quoted(text: str) -> str:
    """A text as JSON and TOML write it; `json` itself would cost a spawn its start-up time."""
    return '"' + "".join(_escaped(each) for each in text) + '"'


def listed(words: Iterable[str]) -> str:
    """A list of texts."""
    return f"[{', '.join(quoted(each) for each in words)}]"


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return f"\\u{ord(character):04x}" if character < " " or "\x7f" <= character <= "\x9f" else character


def status_in(text: str) -> int:
    """The HTTP status that a CLI names in its words about a failed request, or nothing."""
    import re

    found = re.search(r'(?:status:?|API Error:|"code":|error code:|failed with)\s*(\d{3})\b', text, re.IGNORECASE)
    return int(found[1]) if found else 0
