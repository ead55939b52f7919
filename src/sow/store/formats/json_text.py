"""Reads and writes JSON files with limits on size and depth, and refuses repeated keys and infinite numbers.

JSON is YAML, so the fast YAML parser reads files that sow wrote. If dumping the result gives the same text, nothing
was lost. Only other files need the `json` module, which is slow to load.
"""

from __future__ import annotations

from yaml12 import parse_yaml

from sow.errors import InvalidFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

MAX_BYTES = 4 << 20
MAX_DEPTH = 64
FAST_LIMIT = 1 << 18  # for a larger file the strict reader is faster
INFINITE = (float("inf"), float("-inf"))
ESCAPES = {
    code: f"\\u{code:04x}" for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)
}
ESCAPES |= {ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n", ord("\t"): "\\t"}


def dump(data: Any) -> str:
    """Renders the document in the format of our files."""
    return f"{_value(data, '')}\n"


def _value(value: Any, pad: str) -> str:
    if isinstance(value, str):
        return f'"{value.translate(ESCAPES)}"'
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    inner_pad = f"{pad}  "
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("a key of a JSON file is a text")
        items = [f"{inner_pad}{_value(key, '')}: {_value(item, inner_pad)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + f"\n{pad}}}" if items else "{}"
    if isinstance(value, list):
        items = [f"{inner_pad}{_value(item, inner_pad)}" for item in value]
        return "[\n" + ",\n".join(items) + f"\n{pad}]" if items else "[]"
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def load(text: str, path: str) -> Any:
    """Parses a JSON text."""
    if len(text) > MAX_BYTES:
        raise InvalidFile(f"{path}: larger than {MAX_BYTES >> 20} MiB", "keep the file small, or restore it from git")
    if len(text) < FAST_LIMIT and text.startswith("{\n") and not any(mark in text for mark in "&*!"):
        try:
            data = parse_yaml(text)
            if dump(data) == text:
                return data
        except (ValueError, TypeError, RecursionError):  # sow did not write it: the strict reader names the error
            pass
    return _strict(text, path)


def _strict(text: str, path: str) -> Any:
    import json

    from sow.store.formats import merge_conflict

    merge_conflict.refuse(text, path, load)
    hint = "fix the file, or restore it from git"
    try:
        data = json.loads(text, object_pairs_hook=_refuse_repeated_keys, parse_constant=_refuse)
        _check(data, 0)
    except json.JSONDecodeError as error:
        raise InvalidFile(f"{path}:{error.lineno}: {error.msg}", hint) from None
    except RecursionError:
        raise InvalidFile(f"{path}: nested too deeply", hint) from None
    except ValueError as error:
        raise InvalidFile(f"{path}: {error}", hint) from None
    return data


def _check(value: Any, depth: int) -> None:
    """Refuses values that could not be written or shown again."""
    if depth > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        for key in value:
            _check(key, depth)
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            _check(item, depth + 1)
    elif isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValueError("half a character: an escape such as \\ud83d has no second half")
    elif isinstance(value, float) and value in INFINITE:
        raise ValueError("a number without an end")


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {repeated!r:.60} is there twice")
    return data


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
