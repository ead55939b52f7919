"""A journal that grows, followed by its bytes: each entry once, as soon as its line is whole."""

from __future__ import annotations

import json
import os
import stat

from sow.store.disk import failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AT_ONCE = 1 << 20  # bytes of one look: a journal that grows fast is read in pieces
LONGEST = 16 << 20  # bytes of one line: a longer one is no entry of ours


class JournalTail:
    """How far a journal was read; `more` says that there is more to read at once."""

    __slots__ = ("_file", "_rest", "_start", "begun", "more", "offset", "path")

    def __init__(self, path: str, start: int = 0) -> None:
        """Read from the first line that begins at this place or behind it; one before zero counts from the end."""
        self.path = path
        self.offset = 0
        self._start = start
        self.more = False
        self.begun = 0  # how often it was read from its beginning
        self._file = (0, 0)
        self._rest = b""

    def take(self) -> list[dict[str, Any]] | None:
        """The entries that came since the last look; None where there is no journal."""
        found = self.take_placed()
        return None if found is None else [entry for _, entry in found]

    def take_placed(self) -> list[tuple[int, dict[str, Any]]] | None:
        """The same, each with the place in the file where its line ends."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise failure("read", self.path, error) from None
        try:
            return self._entries(self._read(descriptor))
        finally:
            os.close(descriptor)

    def _read(self, descriptor: int) -> bytes:
        """What is new; a journal that was cut or replaced is read anew from its beginning."""
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            return b""
        file = (facts.st_dev, facts.st_ino)
        if file != self._file or facts.st_size < self.offset:
            self._file, self.offset, self._rest, self.begun = file, 0, b"", self.begun + 1
            self._skip(descriptor, facts.st_size)
        data = os.pread(descriptor, AT_ONCE, self.offset)
        self.offset += len(data)
        self.more = self.offset < facts.st_size
        return data

    def _skip(self, descriptor: int, size: int) -> None:
        """Begin where we were told to, once: a journal that was replaced is read as a whole."""
        start, self._start = self._start, 0
        place = start if start >= 0 else max(size + start, 0)
        if place:
            head = os.pread(descriptor, LONGEST, place - 1)  # with the end of the line before
            self.offset = place + head.index(b"\n") if b"\n" in head else min(place - 1 + len(head), size)

    @property
    def place(self) -> int:
        """Where the first line begins that was not whole yet."""
        return self.offset - len(self._rest)

    def _entries(self, data: bytes) -> list[tuple[int, dict[str, Any]]]:
        end = self.offset - len(data) - len(self._rest)
        *whole, rest = (self._rest + data).split(b"\n") if data else [self._rest]
        self._rest = rest if len(rest) <= LONGEST else b""
        found = []
        for line in whole:
            end += len(line) + 1
            entry = _entry(line)
            if entry is not None:
                found.append((end, entry))
        return found


def _entry(line: bytes) -> dict[str, Any] | None:
    """One line of a journal; a line that a crash tore, or that was never ours, is none."""
    try:
        found = json.loads(line.decode("utf-8", "replace")) if line else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
