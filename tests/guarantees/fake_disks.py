"""Disks that count calls, fail, tear writes or stop, and one that knows the states after a power cut."""

from __future__ import annotations

import errno
import itertools
import math
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sow.store.files.disk import MAX_READ, Disk

Fault = Callable[[str, Callable[..., Any], tuple[Any, ...]], Any]


class Counting(Disk):
    """A disk that counts its calls, has a fault at one of them, and skips the sync of the real disk."""

    def __init__(self, at: int = 0, fault: Fault | None = None) -> None:
        self.calls: list[str] = []
        self.at = at
        self.fault = fault

    def _call(self, name: str, act: Callable[..., Any], *arguments: Any) -> Any:
        self.calls.append(name)
        if self.fault and len(self.calls) == self.at:
            return self.fault(name, act, arguments)
        return act(*arguments)

    def open(self, path: str, flags: int) -> int:
        return self._call("open", super().open, path, flags)

    def write(self, descriptor: int, data: bytes) -> int:
        return self._call("write", super().write, descriptor, data)

    def set_mode(self, descriptor: int, mode: int) -> None:
        self._call("set_mode", super().set_mode, descriptor, mode)

    def sync(self, descriptor: int) -> None:
        self._call("sync", os.fstat, descriptor)

    def close(self, descriptor: int) -> None:
        self._call("close", super().close, descriptor)

    def replace(self, source: str, target: str) -> None:
        self._call("replace", super().replace, source, target)

    def remove(self, path: str) -> None:
        self._call("remove", super().remove, path)

    def make_folder(self, path: str) -> None:
        self._call("make_folder", super().make_folder, path)

    def read(self, path: str, limit: int = MAX_READ) -> bytes:
        return self._call("read", super().read, path, limit)


def refusing(number: int) -> Fault:
    """The call fails with this errno and does nothing; a descriptor is still closed."""

    def fault(name: str, act: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if name == "close":
            act(*arguments)
        raise OSError(number, os.strerror(number))

    return fault


def short(name: str, act: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The call writes half of the data."""
    return _half(act, arguments) if name == "write" else act(*arguments)


def full(name: str, act: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The last free block takes half of the data, and the disk is full."""
    if name == "write":
        _half(act, arguments)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return act(*arguments)


def dead_before(name: str, act: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The process ends before the call."""
    os._exit(9)


def dead_after(name: str, act: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The process ends after the call; a write ends half-way."""
    try:
        _half(act, arguments) if name == "write" else act(*arguments)
    finally:
        os._exit(9)


def _half(act: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    descriptor, data = arguments
    return act(descriptor, data[: max(1, len(data) // 2)])


class Gone(BaseException):
    """The process would be dead now: nothing in the store catches this."""


def gone(name: str, act: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Raises Gone in place of the end of the process."""
    try:
        act(*arguments)
    finally:
        raise Gone


Content = dict[str, int] | bytes
Remains = dict[int, Content]


class Durable(Counting):
    """A disk that knows, for each folder and each file, its possible states after a power cut.

    The state at the start is durable. A sync makes the present content of a file, or the present names in a
    folder, durable. Later changes may be there or not: each folder and each file comes back as it was at any
    moment since its last sync, independently of the others. A rename is one change.
    """

    def __init__(self, root: str, at: int = 0, fault: Fault | None = None) -> None:
        super().__init__(at, fault)
        self.root = root
        self.trace: list[tuple[str, str, str]] = []
        self.paths: dict[int, str] = {}
        self.histories: dict[int, list[Content]] = {}
        self.seen: dict[int, tuple[int, int]] = {}
        self.held: dict[int, str] = {}
        self.moved: set[int] = set()
        self._look(root)
        for history in self.histories.values():
            del history[:-1]

    def _call(self, name: str, act: Callable[..., Any], *arguments: Any) -> Any:
        first = self.paths[arguments[0]] if isinstance(arguments[0], int) else arguments[0]
        self.trace.append((name, first, arguments[1] if name == "replace" else ""))
        if name == "replace" and os.path.dirname(first) != os.path.dirname(arguments[1]):
            self.moved.add(os.stat(first).st_ino)
        try:
            done = super()._call(name, act, *arguments)
        finally:
            if name not in ("read", "close"):
                self._look(self.root)
        if name == "open":
            self.paths[done] = first
        if name == "sync":
            del self.histories[os.fstat(arguments[0]).st_ino][:-1]
        return done

    def _look(self, folder: str) -> None:
        """Adds the present content of every folder and file to its history; a new one begins empty."""
        entries = list(os.scandir(folder))
        self._add(folder, os.stat(folder).st_ino, {}, {entry.name: entry.inode() for entry in entries})
        for entry in entries:
            if entry.is_dir():
                self._look(entry.path)
                continue
            facts = os.stat(entry.path)
            if self.seen.get(facts.st_ino) != (facts.st_size, facts.st_mtime_ns):
                self.seen[facts.st_ino] = (facts.st_size, facts.st_mtime_ns)
                self._add(entry.path, facts.st_ino, b"", Path(entry.path).read_bytes())

    def _add(self, path: str, inode: int, empty: Content, now: Content) -> None:
        if inode not in self.histories:
            self.histories[inode] = [empty]
            self.held[os.open(path, os.O_RDONLY)] = path  # so that the number is not given to another file
        last = self.histories[inode][-1]
        if isinstance(now, bytes) and len(now) > len(last) + 1:
            self.histories[inode].append(now[: (len(last) + len(now)) // 2])
        if now != last:
            self.histories[inode].append(now)

    def let_go(self) -> None:
        for descriptor in self.held:
            os.close(descriptor)

    def oldest(self) -> Remains:
        """Returns the worst state after a power cut: nothing that was not synced."""
        return {inode: history[0] for inode, history in self.histories.items()}

    def possible(self, limit: int = 50) -> Iterator[Remains]:
        """Returns the possible states after a power cut: every combination, or the extremes and a sample."""
        loose = {inode: history for inode, history in self.histories.items() if len(history) > 1}
        chance = random.Random(len(self.trace))
        every: Iterator[tuple[Content, ...]] = itertools.product(*loose.values())
        if math.prod(map(len, loose.values())) > limit:
            every = _sample(list(loose.values()), chance)
        for picked in every:
            yield self.oldest() | dict(zip(loose, picked, strict=True))

    def forbidden(self, remains: Remains) -> bool:
        """Tells whether a moved entry is in neither folder, which no file system does."""
        listings = [content for content in remains.values() if isinstance(content, dict)]
        return not self.moved <= {inode for listing in listings for inode in listing.values()}

    def laid_out(self, remains: Remains) -> dict[str, bytes | None]:
        """Returns the reachable files of such a state by path; None is a folder."""
        result: dict[str, bytes | None] = {}
        waiting = [(os.stat(self.root).st_ino, "")]
        while waiting:
            inode, place = waiting.pop()
            content = remains[inode]
            if isinstance(content, bytes):
                result[place] = content
            else:
                result[place] = None
                waiting += [(child, f"{place}/{name}") for name, child in content.items()]
        return result


def rebuild(files: dict[str, bytes | None], target: str) -> None:
    """Makes a folder with these files."""
    shutil.rmtree(target, ignore_errors=True)
    for path, content in files.items():
        if content is None:
            os.mkdir(f"{target}{path}")
        else:
            Path(f"{target}{path}").write_bytes(content)


def _sample(choices: list[list[Content]], chance: random.Random) -> Iterator[tuple[Content, ...]]:
    """Returns all old, all new, all but one old, all but one new, and a few random choices."""
    old, new = [history[0] for history in choices], [history[-1] for history in choices]
    yield tuple(old)
    yield tuple(new)
    for index in range(len(choices)):
        yield (*old[:index], new[index], *old[index + 1 :])
        yield (*new[:index], old[index], *new[index + 1 :])
    for _ in range(10):
        yield tuple(chance.choice(history) for history in choices)
