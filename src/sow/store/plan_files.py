"""The user's plan files: read whole and bounded, and replaced only where nobody has changed them meanwhile."""

from __future__ import annotations

import errno
import os
import stat

from sow.domain.plan import Finding, Source
from sow.errors import InvalidFile, SowError
from sow.store.disk import REASONS, failure, replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.store.disk import Disk
    from sow.store.home import Home

MAX_BYTES = 4 << 20  # all files of a plan together
MAX_FILES = 1000
ENDINGS = (".md", ".markdown", ".yaml", ".yml")
BOM = "\ufeff"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
GIVE = "give a plan file, or a folder with plan files"


def load(paths: Sequence[str], cwd: str) -> tuple[list[Source], list[Finding]]:
    """The texts of these files, and of the plan files in these folders, with all that is wrong about any of them."""
    reading = _Reading(cwd)
    for path in paths:
        reading.add(path)
    return reading.sources, reading.findings


class _Reading:
    """What was read so far."""

    __slots__ = ("count", "cwd", "findings", "known", "size", "sources")

    def __init__(self, cwd: str) -> None:
        self.cwd = cwd
        self.sources: list[Source] = []
        self.findings: list[Finding] = []
        self.known: dict[tuple[int, int], str] = {}  # a file on the disk → the name under which it came first
        self.count = 0
        self.size = 0

    def add(self, path: str) -> None:
        """One path as the user gave it: a file, or a folder."""
        full = os.path.join(self.cwd, path)
        if not path or not os.path.isdir(full):
            self._add_file(path, in_folder=False)
            return
        try:
            names = sorted(name for name in os.listdir(full) if _is_plan(full, name))
        except OSError as error:
            self.findings.append(_problem(path, full, error))
            return
        if not names:
            hint = f"put one there: its name ends with {', '.join(ENDINGS)}"
            self.findings.append(_error(path, "there is no plan file in this folder", hint))
        for name in names:
            self._add_file(f"{path.rstrip('/')}/{name}", in_folder=True)

    def _add_file(self, name: str, *, in_folder: bool) -> None:
        self.count += 1
        if self.count > MAX_FILES:
            if self.count == MAX_FILES + 1:
                self.findings.append(
                    _error(name, f"there are more than {MAX_FILES:,} plan files", "give fewer of them")
                )
            return
        # No file has such a name, and the system would not even look for it.
        full = os.path.join(self.cwd, name) if name and "\0" not in name else ""
        try:
            data, facts = _contents(full, max(MAX_BYTES - self.size, 0) + 1)
        except (OSError, InvalidFile) as error:
            self.findings.append(_problem(name, full, error))
            return
        place = (facts.st_dev, facts.st_ino)
        if place in self.known:
            what = f"this is the same file as {self.known[place]}"
            self.findings.append(Finding(name, 0, what, hint="it is read once"))
            return
        self.known[place] = name
        if self._fits(name, data):
            self._take(name, data, in_folder=in_folder)

    def _fits(self, name: str, data: bytes) -> bool:
        """Whether there is room for it; the first file for which there is none is named, and none is read after it."""
        had_room = self.size <= MAX_BYTES
        self.size += len(data)
        if had_room and self.size > MAX_BYTES:
            what = f"with this file the plan is larger than {MAX_BYTES >> 20} MiB"
            self.findings.append(_error(name, what, "make it smaller, or split it into several plans"))
        return self.size <= MAX_BYTES

    def _take(self, name: str, data: bytes, *, in_folder: bool) -> None:
        text = _text(name, data)
        if isinstance(text, Finding):
            self.findings.append(text)
        else:
            self.sources.append(Source(name, text, in_folder=in_folder))


def _is_plan(folder: str, name: str) -> bool:
    return name.lower().endswith(ENDINGS) and not name.startswith(".") and not os.path.isdir(f"{folder}/{name}")


def _error(name: str, message: str, hint: str, *, line: int = 0) -> Finding:
    return Finding(name or "''", line, message, hint=hint, error=True)


def _problem(name: str, path: str, error: OSError | InvalidFile) -> Finding:
    """What the system said about a file, and what to do."""
    if isinstance(error, InvalidFile):
        return _error(name, error.message, error.hint)
    if error.errno == errno.ENOENT:
        return _error(name, "this link leads nowhere" if os.path.islink(path) else "there is no such file", GIVE)
    if error.errno == errno.ELOOP:
        return _error(name, "this link leads in a circle", GIVE)
    reason = REASONS.get(error.errno or 0, os.strerror(error.errno or 0))
    return _error(name, f"cannot read it: {reason}", "mend that and run the command again")


def _contents(path: str, limit: int) -> tuple[bytes, os.stat_result]:
    """The bytes of a regular file up to a limit, and the facts about it; nothing else is even opened."""
    _refuse_special(os.stat(path))
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        facts = os.fstat(descriptor)
        _refuse_special(facts)
        data = b""
        while len(data) < limit and (more := os.read(descriptor, limit - len(data))):
            data += more
    finally:
        os.close(descriptor)
    return data, facts


def _refuse_special(facts: os.stat_result) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise InvalidFile("this is not a regular file", GIVE)


def _text(name: str, data: bytes) -> str | Finding:
    """The text without its mark, or why it is none."""
    if data.startswith(UTF16):
        return _error(name, "this is UTF-16", "save it as UTF-8", line=1)
    if b"\0" in data:
        line = _line(data, data.index(b"\0"))
        return _error(name, "this is binary: there is a NUL byte in it", "give a text file", line=line)
    try:
        text = data.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as error:
        return _error(name, "this is not UTF-8", "save it as UTF-8", line=_line(data, error.start))
    if not text.strip():
        return _error(name, "this file is empty", "write a task as: ## Task 1: name")
    return text


def _line(data: bytes, index: int) -> int:
    """The number of the line, however lines end."""
    return data[:index].replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") + 1


def replace(home: Home, path: str, before: str, after: str) -> None:
    """Put a text in the place of the one that was read, unless that is gone; a link stays, and its target changes."""
    real = os.path.realpath(path)
    with home.lock():
        mark, mode = _still(real, path, before)
        if after != before:
            _refuse_protected(home.disk, real, path)
            replace_file(home.disk, real, mark + after, mode=mode)


def _still(real: str, path: str, before: str) -> tuple[str, int]:
    """The mark that was taken off this text when it was read, and the mode, where the file has the text still."""
    changed = SowError(f"{path} was changed meanwhile: nothing is written", "run the command again")
    try:
        data, facts = _contents(real, MAX_BYTES + 1)
    except (FileNotFoundError, InvalidFile):
        raise changed from None
    except OSError as error:
        raise failure("read", path, error) from None
    for mark in ("", BOM):
        if data == (mark + before).encode():
            return mark, stat.S_IMODE(facts.st_mode)
    raise changed


def _refuse_protected(disk: Disk, real: str, path: str) -> None:
    """A rename asks the folder and not the file: what its owner made read-only would be replaced all the same."""
    try:
        disk.close(disk.open(real, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        raise failure("write", path, error) from None
