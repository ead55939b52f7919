"""Follows a growing journal, and returns each entry once, as soon as its line is complete."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Sequence
from typing import Any

from sow.store.files.disk import system_error

READ_SIZE = 1 << 20  # bytes per read: a journal that grows fast is read in pieces
MAX_LINE = 16 << 20  # bytes of one line: a longer line is not an entry of ours


class JournalTail:
    """Holds the read position in a journal. `has_more` is True if more can be read at once."""

    def __init__(self, path: str, start: int = 0, events: Sequence[str] = ()) -> None:
        """Starts at the first line at or after this byte offset; a negative offset counts from the end.

        If events are given, only their entries are returned.
        """
        self.path = path
        self.events = events
        self._markers = [f'"{event}"'.encode() for event in events]  # searched first, because parsing is slow
        self.offset = 0
        self._start = start
        self.has_more = False
        self.restarts = 0  # how many times it was read from its beginning
        self._file = (0, 0)
        self._rest = b""

    def read_new(self) -> list[dict[str, Any]] | None:
        """Returns the entries since the last call; None if there is no journal."""
        entries = self.read_new_with_offsets()
        return None if entries is None else [entry for _, entry in entries]

    def read_to_end(self) -> Iterator[dict[str, Any]]:
        """Yields the entries since the last call, until the present end of the journal."""
        while True:
            yield from self.read_new() or ()
            if not self.has_more:
                return

    def read_new_with_offsets(self) -> list[tuple[int, dict[str, Any]]] | None:
        """Returns the entries since the last call, each with the byte offset where its line ends."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise system_error("read", self.path, error) from None
        try:
            return self._entries(self._read(descriptor))
        finally:
            os.close(descriptor)

    def _read(self, descriptor: int) -> bytes:
        """Reads the new bytes. If the journal was truncated or replaced, reading starts again at its beginning."""
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            return b""
        file_id = (info.st_dev, info.st_ino)
        if file_id != self._file or info.st_size < self.offset:
            self._file, self.offset, self._rest, self.restarts = file_id, 0, b"", self.restarts + 1
            self._skip(descriptor, info.st_size)
        data = os.pread(descriptor, READ_SIZE, self.offset)
        self.offset += len(data)
        self.has_more = self.offset < info.st_size
        return data

    def _skip(self, descriptor: int, size: int) -> None:
        """Moves to the start offset on the first read only; a journal that was replaced later is read as a whole."""
        start, self._start = self._start, 0
        position = start if start >= 0 else max(size + start, 0)
        if position:
            head = os.pread(descriptor, MAX_LINE, position - 1)  # includes the end of the line before
            self.offset = position + head.index(b"\n") if b"\n" in head else min(position - 1 + len(head), size)

    @property
    def line_start(self) -> int:
        """Returns the byte offset of the first incomplete line."""
        return self.offset - len(self._rest)

    def _entries(self, data: bytes) -> list[tuple[int, dict[str, Any]]]:
        end = self.offset - len(data) - len(self._rest)
        *whole_lines, rest = (self._rest + data).split(b"\n") if data else [self._rest]
        self._rest = rest if len(rest) <= MAX_LINE else b""
        entries = []
        for line in whole_lines:
            end += len(line) + 1
            entry = self._entry(line)
            if entry is not None:
                entries.append((end, entry))
        return entries

    def _entry(self, line: bytes) -> dict[str, Any] | None:
        """Parses one line of a journal; None for a torn line, a line that is not ours, and other events."""
        if not line or (self.events and not any(marker in line for marker in self._markers)):
            return None
        try:
            entry = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):  # torn, or not written by sow, such as 50,000 brackets
            return None
        return entry if isinstance(entry, dict) and (not self.events or entry.get("event") in self.events) else None
