"""State files as YAML: a writer whose every string reads the same in YAML 1.1 and 1.2, and a bounded reader.

The fast parser takes the last of two equal keys, expands aliases without a limit and overflows its stack on
50,000 dashes. So a text goes to it only when it cannot hold such a thing, and a text that is not laid out as
our writer lays it out (a person or an agent edited it) is scanned event by event for repeated keys first.
"""

from __future__ import annotations

from yaml12 import parse_yaml

from sow.errors import InvalidFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
MAX_MARKERS = 500  # dashes and question marks open a level each: fewer than this cannot overflow the parser's stack

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./ -")
SCALARS = (str, int, bool, float, type(None))
RESERVED = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
ESCAPES |= {ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n", ord("\t"): "\\t"}
ESCAPES |= {code: f"\\u{code:04x}" for code in (0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)}


def scalar(value: object) -> str:
    """One value on one line; a string that any YAML could take for something else is quoted."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} has no place in a state file")
    if value and value[0].isalpha() and PLAIN.issuperset(value) and value[-1] != " " and value.lower() not in RESERVED:
        return value
    return f'"{value.translate(ESCAPES)}"'


def dump(data: dict[str, Any]) -> str:
    """The document as our files have it: block style, one entry a line."""
    return "".join(_mapping(data, ""))


def _mapping(data: dict[str, Any], pad: str) -> Iterator[str]:
    for key, value in data.items():
        if value and isinstance(value, dict):
            yield f"{pad}{scalar(key)}:\n"
            yield from _mapping(value, pad + "  ")
        elif value and isinstance(value, list):
            yield f"{pad}{scalar(key)}:\n"
            yield from _sequence(value, pad + "  ")
        else:
            yield f"{pad}{scalar(key)}: {_leaf(value)}\n"


def _sequence(items: list[Any], pad: str) -> Iterator[str]:
    for item in items:
        if item and isinstance(item, dict):
            first, *rest = _mapping(item, pad + "  ")
            yield f"{pad}- {first.lstrip(' ')}"
            yield from rest
        elif item and isinstance(item, list):
            raise TypeError("a list in a list has no place in a state file")
        else:
            yield f"{pad}- {_leaf(item)}\n"


def _leaf(value: object) -> str:
    return "{}" if value == {} and isinstance(value, dict) else "[]" if isinstance(value, list) else scalar(value)


def load(text: str, path: str) -> Any:
    """The document in the text; a bomb, an alias, a tag or a repeated key is our error, never a crash."""
    if len(text) > MAX_BYTES:
        raise InvalidFile(f"{path}: larger than {MAX_BYTES >> 10} KiB", "a state file is small: restore it from git")
    harmless = (
        not any(mark in text for mark in "&*!\0")
        and text.count("-") + text.count("?") < MAX_MARKERS
        and "<<<<<<<" not in text
    )
    if not harmless:
        _scan(text, path)
    try:
        data = parse_yaml(text)
    except ValueError as error:
        raise InvalidFile(f"{path}: {_reason(error)}", "mend the file, or restore it from git") from None
    if harmless and _lines(data) != text.count("\n"):
        _scan(text, path)
    return data


def _lines(data: Any) -> int:
    """How many lines our writer takes for this: a repeated key makes the file longer than that."""
    if data and isinstance(data, dict):
        return sum(1 if not value or type(value) in SCALARS else 1 + _lines(value) for value in data.values())
    if data and isinstance(data, list):
        return sum(1 if not item or type(item) in SCALARS else _lines(item) for item in data)
    return 1


def _reason(error: ValueError) -> str:
    return " ".join(str(error).split())[:200]


def _scan(text: str, path: str) -> None:
    """Walk the events of the text and refuse what the fast parser would take in silence."""
    from sow.store.yaml_scan import scan

    scan(text, path, max_depth=MAX_DEPTH)
