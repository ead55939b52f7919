"""Returns long texts page by page: cut between characters, with secrets removed."""

from __future__ import annotations

import os
import stat
from typing import Any

from sow.dashboard.data.page_errors import PageNotFound
from sow.errors import SowError
from sow.store.files.disk import system_error
from sow.system import environment

USUAL = 64 << 10  # bytes
MOST = 1 << 20


def whole_number(text: str, name: str, otherwise: int) -> int:
    """Parses a whole number from an address."""
    if not text:
        return otherwise
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise SowError(f"{name} must be a whole number, not {text!r:.40}", "leave it out, or give one")
    return int(text)


def parse_offset(offset_text: str) -> int:
    """Parses an offset; a negative offset counts from the end of the file."""
    if offset_text.startswith("-"):
        return -whole_number(offset_text[1:], "from", 0)
    return whole_number(offset_text, "from", 0)


def file_page(path: str, start: str, limit: str, needles: list[bytes]) -> dict[str, Any]:
    """Returns one page of a file of any size."""
    length, begin = _page_size(limit), parse_offset(start)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise PageNotFound("this file does not exist now", "look again in a moment") from None
    except OSError as error:
        raise system_error("read", path, error) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise PageNotFound("this is not a regular file", "look at the folder of the task")
        begin = _begin(begin, status.st_size)
        overlap = min(len(needles[0]) - 1 if needles else 0, begin)  # a secret may lie across the edge of a page
        data = os.pread(descriptor, overlap + length + len(needles[0] if needles else b""), begin - overlap)
    finally:
        os.close(descriptor)
    return page(environment.redact_bytes(data, needles)[overlap : overlap + length], begin, status.st_size)


def text_page(text: str, start: str, limit: str, needles: list[bytes]) -> dict[str, Any]:
    """Returns one page of a text in memory."""
    data = environment.redact_bytes(text.encode("utf-8", "replace"), needles)
    length, begin = _page_size(limit), _begin(parse_offset(start), len(data))
    return page(data[begin : begin + length], begin, len(data))


def _page_size(limit: str) -> int:
    """Returns the page size in bytes; at least one character fits."""
    return max(min(whole_number(limit, "limit", USUAL), MOST), 4)


def _begin(offset: int, size: int) -> int:
    return min(offset if offset >= 0 else max(size + offset, 0), size)


def page(data: bytes, begin: int, size: int) -> dict[str, Any]:
    """Decodes bytes: skips the end of a character that began before them, leaves a cut last one to the next page."""
    head = 0
    while begin and head < min(len(data), 3) and data[head] & 0xC0 == 0x80:
        head += 1
    end = len(data)
    if begin + end < size:
        end -= _incomplete_bytes(data)
    text = data[head:end].decode("utf-8", "replace")
    return {"text": text, "from": begin + head, "next": begin + end, "size": size, "more": begin + end < size}


def _incomplete_bytes(data: bytes) -> int:
    """Returns how many bytes at the end belong to an incomplete character."""
    for back in range(1, min(len(data), 3) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return back if length > back and back < len(data) else 0
    return 0
