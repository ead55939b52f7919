"""Long texts page by page: read where they are wanted, cut between characters, secrets struck out."""

from __future__ import annotations

import os
import stat

from sow.dashboard.missing import Missing
from sow.errors import SowError
from sow.store.disk import failure
from sow.system import redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

USUAL = 64 << 10  # bytes
MOST = 1 << 20


def whole(text: str, name: str, otherwise: int) -> int:
    """A whole number in an address."""
    if not text:
        return otherwise
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise SowError(f"{name} must be a whole number, not {text!r:.40}", "leave it out, or give one")
    return int(text)


def place(text: str) -> int:
    """A place in a file; one before zero counts from its end."""
    return -whole(text[1:], "from", 0) if text.startswith("-") else whole(text, "from", 0)


def of_file(path: str, start: str, limit: str, needles: list[bytes]) -> dict[str, Any]:
    """One page of a file, however large the file is."""
    most, begin = _most(limit), place(start)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Missing("this file is not here any more, or not yet", "look again in a moment") from None
    except OSError as error:
        raise failure("read", path, error) from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise Missing("this is not a regular file", "look at the folder of the task")
        begin = _begin(begin, facts.st_size)
        before = min(len(needles[0]) - 1 if needles else 0, begin)  # a secret may lie across the edge of a page
        data = os.pread(descriptor, before + most + len(needles[0] if needles else b""), begin - before)
    finally:
        os.close(descriptor)
    shown = redaction.struck(data, needles)[before : before + most]
    return page(shown, begin, facts.st_size)


def of_text(text: str, start: str, limit: str, needles: list[bytes]) -> dict[str, Any]:
    """One page of a text that is known as a whole."""
    data = redaction.struck(text.encode("utf-8", "replace"), needles)
    most, begin = _most(limit), _begin(place(start), len(data))
    return page(data[begin : begin + most], begin, len(data))


def _most(limit: str) -> int:
    """How large a page may be; the longest character fits at least."""
    return max(min(whole(limit, "limit", USUAL), MOST), 4)


def _begin(place: int, size: int) -> int:
    return min(place if place >= 0 else max(size + place, 0), size)


def page(data: bytes, begin: int, size: int) -> dict[str, Any]:
    """Some bytes as text: what belongs to a character before them is left out, what begins one behind them waits."""
    head = 0
    while begin and head < min(len(data), 3) and data[head] & 0xC0 == 0x80:
        head += 1
    end = len(data)
    if begin + end < size:
        end -= _half(data)
    text = data[head:end].decode("utf-8", "replace")
    return {"text": text, "from": begin + head, "next": begin + end, "size": size, "more": begin + end < size}


def _half(data: bytes) -> int:
    """How many bytes at the end are the beginning of a character that is not whole."""
    for back in range(1, min(len(data), 3) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return back if length > back and back < len(data) else 0
    return 0
