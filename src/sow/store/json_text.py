"""JSON files: bounded, with repeated keys and endless numbers refused."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from sow.errors import InvalidFile

MAX_BYTES = 4 << 20


def dump(data: Any) -> str:
    """The document as our files have it."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def load(text: str, path: str) -> Any:
    """The document in the text."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        data = dict(pairs)
        if len(data) != len(pairs):
            names = [key for key, _ in pairs]
            repeated = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"the key {repeated!r} is there twice")
        return data

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    if len(text) > MAX_BYTES:
        raise InvalidFile(f"{path}: larger than {MAX_BYTES >> 20} MiB", "keep the file small, or restore it from git")
    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise InvalidFile(f"{path}:{error.lineno}: {error.msg}", "mend the file, or restore it from git") from None
    except RecursionError:
        raise InvalidFile(f"{path}: nested too deeply", "mend the file, or restore it from git") from None
    except ValueError as error:
        raise InvalidFile(f"{path}: {error}", "mend the file, or restore it from git") from None
