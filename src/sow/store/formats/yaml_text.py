"""Writes state files as YAML that reads the same in YAML 1.1 and 1.2, and reads them within limits.

The fast parser takes the last of two equal keys, expands aliases without a limit and overflows its stack on 50,000
dashes. So a text goes to it only if it cannot contain such things, and its result is trusted only if writing it again
gives the same text. Any other text is scanned event by event.
"""

from __future__ import annotations

from yaml12 import parse_yaml

from sow.errors import InvalidFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
MAX_VALUES = 50_000  # a fifth of a second
MAX_INT = 1 << 63
MAX_MARKERS = 500  # each of these can open a level; fewer cannot overflow the parser's stack
SHORT = 64  # characters
MOST_WRITTEN = 4096
MARKERS = ("-", "?", " :", "\t:", "\n:")

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./ -")
RESERVED = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
ESCAPES |= {ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n", ord("\t"): "\\t"}
ESCAPES |= {code: f"\\u{code:04x}" for code in (0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)}
SCALAR_CACHE: dict[str, str] = {}  # a cache of short strings as they are written


def has_conflict(text: str) -> bool:
    """Returns whether git left a conflict in a file, which a person resolves."""
    return "\n<<<<<<< " in f"\n{text}"


def scalar(value: object) -> str:
    """Returns one value on one line; quotes a string that any YAML version could read as something else."""
    if isinstance(value, str):
        return _text(value)
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        if not -MAX_INT <= value < MAX_INT:  # the parser would read it back as a float
            raise TypeError("a number of more than 64 bits has no place in a state file")
        return str(value)
    if isinstance(value, float):
        return f"{value:.6f}"
    raise TypeError(f"{type(value).__name__} has no place in a state file")


def _text(text: str) -> str:
    """Returns a string on one line; caches short ones, such as keys and statuses, because they repeat."""
    written = SCALAR_CACHE.get(text)
    if written is None:
        written = text if _is_plain(text) else f'"{text.translate(ESCAPES)}"'
        if len(text) <= SHORT:
            if len(SCALAR_CACHE) >= MOST_WRITTEN:
                SCALAR_CACHE.clear()
            SCALAR_CACHE[text] = written
    return written


def _is_plain(text: str) -> bool:
    return bool(
        text and text[0].isalpha() and PLAIN.issuperset(text) and text[-1] != " " and text.lower() not in RESERVED
    )


def dump(data: dict[str, Any]) -> str:
    """Returns the document in block style, one entry a line."""
    lines: list[str] = []
    _mapping(data, "", lines)
    return "".join(lines)


def _mapping(data: dict[str, Any], pad: str, lines: list[str]) -> None:
    if len(pad) > 2 * MAX_DEPTH:
        raise TypeError(f"more than {MAX_DEPTH} levels have no place in a state file")
    cached = SCALAR_CACHE.get  # here too, because thousands of files are checked for one command
    for key, value in data.items():
        name = cached(key) or scalar(key)
        if type(value) is str:  # most values are strings
            lines.append(f"{pad}{name}: {cached(value) or _text(value)}\n")
        elif value and isinstance(value, dict):
            lines.append(f"{pad}{name}:\n")
            _mapping(value, pad + "  ", lines)
        elif value and isinstance(value, list):
            lines.append(f"{pad}{name}:\n")
            _sequence(value, pad + "  ", lines)
        else:
            lines.append(f"{pad}{name}: {_leaf(value)}\n")


def _sequence(items: list[Any], pad: str, lines: list[str]) -> None:
    for item in items:
        if item and isinstance(item, dict):
            first = len(lines)
            _mapping(item, pad + "  ", lines)
            lines[first] = f"{pad}- {lines[first].lstrip(' ')}"
        elif item and isinstance(item, list):
            raise TypeError("a list in a list has no place in a state file")
        else:
            lines.append(f"{pad}- {_leaf(item)}\n")


def _leaf(value: object) -> str:
    return "{}" if value == {} and isinstance(value, dict) else "[]" if isinstance(value, list) else scalar(value)


def load(text: str, path: str) -> Any:
    """Returns the document in the text; raises for a bomb, an alias, a tag or a repeated key, and never crashes."""
    if len(text) > MAX_BYTES:
        raise InvalidFile(f"{path}: larger than {MAX_BYTES >> 10} KiB", "a state file is small: restore it from git")
    is_safe = (
        not any(char in text for char in "&*!\0")
        and sum(text.count(marker) for marker in MARKERS) < MAX_MARKERS
        and "<<<<<<<" not in text
    )
    keys = 0 if is_safe else _scan(text, path)
    try:
        data = parse_yaml(text)
    except ValueError as error:
        if is_safe:
            _scan(text, path)  # it finds the line of most mistakes, and merge conflicts
        raise _syntax(error, path) from None
    if is_safe:
        if _is_ours(data, text):
            return data
        keys = _scan(text, path)
    if _keys(data) != keys:
        raise InvalidFile(f"{path}: two keys are the same", "keep one of the two")
    return data


def _is_ours(data: Any, text: str) -> bool:
    """Returns whether our writer wrote this, which proves that the parser left nothing out."""
    try:
        return isinstance(data, dict) and dump(data) == text
    except TypeError:  # a value that state files do not allow
        return False


def _keys(data: Any) -> int:
    """Returns the number of keys at all levels: the parser can take two that are spelled differently for one."""
    if isinstance(data, dict):
        return len(data) + sum(_keys(value) for value in data.values())
    return sum(_keys(item) for item in data) if isinstance(data, list) else 0


def _syntax(error: ValueError, path: str) -> InvalidFile:
    """Returns the parser's error, with the line in its usual place."""
    message = " ".join(str(error).removeprefix("YAML parse error: ").split())
    problem, _, position = message.rpartition(" at byte ")
    line = position.partition(" line ")[2].partition(" ")[0]
    return InvalidFile(f"{path}:{line or 1}: {(problem or message)[:200]}", "fix the file, or restore it from git")


def _scan(text: str, path: str) -> int:
    """Scans the events and raises for what the fast parser would accept silently; returns the number of keys."""
    from sow.domain.text import yaml_nodes  # here, because it loads a second parser
    from sow.store.formats.validation import CONFLICT_MARKS

    if any(mark in text for mark in CONFLICT_MARKS):
        from sow.store.formats import merge_conflict

        merge_conflict.refuse(text, path, load)
    try:
        return yaml_nodes.parse(text, depth=MAX_DEPTH, nodes=MAX_VALUES).count_keys()
    except yaml_nodes.BadYamlError as error:
        raise InvalidFile(f"{path}:{error.line}: {error.message}", f"{error.hint}, or restore it from git") from None
