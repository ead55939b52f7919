"""Reads JSON lines of any shape that a CLI prints, and writes text as JSON."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def parse(line: str) -> dict[str, Any] | None:
    """Returns the JSON object on this line, or None."""
    import json  # here, because nothing is read before the agent runs

    stripped = line.strip()
    if not stripped.startswith("{"):
        return None
    try:
        data = json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def as_integer(value: object) -> int | None:
    """Returns the value if it is an integer, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_number(value: object) -> float | None:
    """Returns the value as a float if it is a finite number, else None."""
    finite = (
        isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) != float("inf")
    )
    return float(value) if finite else None  # type: ignore[arg-type]


def as_mapping(value: object) -> dict[str, Any]:
    """Returns the value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    """Returns the text of a tool's result: a string, or a list of parts of which some have text."""
    if isinstance(value, str):
        return value
    parts = [part.get("text") for part in value if isinstance(part, dict)] if isinstance(value, list) else []
    return "\n".join(part for part in parts if isinstance(part, str))


def json_string(text: str) -> str:
    """Returns a text as a JSON and TOML string; importing `json` would slow down every spawn."""
    return '"' + "".join(_escaped(character) for character in text) + '"'


def json_list(texts: Iterable[str]) -> str:
    """Returns a list of texts in JSON."""
    return f"[{', '.join(json_string(text) for text in texts)}]"


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return f"\\u{ord(character):04x}" if character < " " or "\x7f" <= character <= "\x9f" else character


def http_status(text: str) -> int:
    """Returns the HTTP status in a CLI's message about a failed request, or 0."""
    import re

    match = re.search(r'(?:status:?|API Error:|"code":|error code:|failed with)\s*(\d{3})\b', text, re.IGNORECASE)
    return int(match[1]) if match else 0
