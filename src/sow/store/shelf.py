"""Folders of fetched things: filled aside, put in their place whole, taken away whole; a link is never followed."""

from __future__ import annotations

import os
import stat
import time

from sow.errors import InvalidFile, SowError
from sow.store.disk import counted, failure, list_folder, remove_tree_quietly, sync_folder, sync_tree, write_all
from sow.store.lock import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from sow.store.disk import Disk
    from sow.store.home import Home

CHUNK = 1 << 20
YOUNG = 60  # seconds in which one may have made its folder and not yet its lock


class Scratch:
    """`with Scratch(home) as scratch:` is a folder of our own below .sow/local, gone at the end, also after a crash."""

    __slots__ = ("folder", "home", "lock")

    def __init__(self, home: Home) -> None:
        self.home = home

    def __enter__(self) -> Scratch:
        place = self.home.folder("local", "fetching")
        self._sweep(place)
        name = f"{os.getpid()}-{os.urandom(4).hex()}"
        self.folder = f"{place}/{name}"
        self.lock = Lock(self.folder)
        try:
            self.home.folder("local", "fetching", name)
            self.lock.__enter__()
        except SowError:
            remove_tree_quietly(self.folder)
            raise
        return self

    def _sweep(self, place: str) -> None:
        """Remove what one left that died: nobody has its lock."""
        for folder in (f"{place}/{name}" for name in list_folder(place)):
            try:
                if os.lstat(folder).st_mtime < time.time() - YOUNG:
                    with Lock(folder, patience=0):
                        remove_tree_quietly(folder)
            except (OSError, SowError):  # somebody is at work there, or it is gone, or no folder
                continue

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        remove_tree_quietly(self.folder)
        self.lock.__exit__(kind, error, trace)


class Facts:
    """What there is in a folder: a digest of names and contents, bytes and files."""

    __slots__ = ("digest", "files", "size")

    def __init__(self, *, digest: str, size: int, files: int) -> None:
        self.digest = digest
        self.size = size
        self.files = files


def facts(folder: str) -> Facts | None:
    """The facts of a folder, without git's own; nothing where there is no folder, or a link in its place."""
    from hashlib import sha256

    if os.path.islink(folder) or not os.path.isdir(folder):
        return None
    total, size, count = sha256(), 0, 0
    for path in _files(folder):
        total.update(os.fsencode(path.removeprefix(f"{folder}/")) + b"\0")
        for data in _content(path):
            total.update(data)
            size += len(data)
        total.update(b"\0%d\0" % size)
        count += 1
    return Facts(digest=total.hexdigest(), size=size, files=count)


def _files(folder: str) -> list[str]:
    found: list[str] = []
    for place, folders, names in os.walk(folder):
        if place == folder and ".git" in folders:
            folders.remove(".git")
        linked = [name for name in folders if os.path.islink(f"{place}/{name}")]
        found += [f"{place}/{name}" for name in (*names, *linked)]
    return sorted(found)


def _content(path: str) -> Iterator[bytes]:
    """The bytes of a file; a link is what it says, and everything else is nothing."""
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        yield b"link:" + os.fsencode(os.readlink(path))
    elif stat.S_ISREG(mode):
        with open(path, "rb") as file:
            while data := file.read(CHUNK):
                yield data


def make(disk: Disk, folder: str) -> None:
    """Make a folder inside a scratch folder."""
    try:
        disk.make_folder(folder)
    except FileExistsError:
        return
    except OSError as error:
        raise failure("make", folder, error) from None


def write(disk: Disk, path: str, data: bytes) -> None:
    """Write a new file inside a scratch folder."""
    try:
        descriptor = disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            write_all(disk, descriptor, data)
        finally:
            disk.close(descriptor)
    except FileExistsError:
        raise InvalidFile(
            f"{os.path.basename(path)!r} is there twice for this disk, in large and small letters",
            "fetch it on a disk that tells them apart",
        ) from None
    except OSError as error:
        raise failure("write", path, error) from None


class Placed:
    """`with Placed(…):` a folder of the scratch folder is at .sow/…; what was there comes back if the rest fails."""

    __slots__ = ("aside", "home", "made", "stays", "target")

    def __init__(self, home: Home, scratch: Scratch, made: str, *parts: str) -> None:
        self.stays = False
        self.home = home
        self.made = made
        self.target = f"{home.folder(*parts[:-1])}/{parts[-1]}"
        self.aside = f"{scratch.folder}/gone-{os.urandom(4).hex()}"

    def __enter__(self) -> Placed:
        try:
            if os.path.lexists(self.target):
                self.home.disk.replace(self.target, self.aside)
            self.home.disk.replace(self.made, self.target)
            sync_folder(self.home.disk, os.path.dirname(self.target))
        except OSError as error:
            self._undo()
            raise failure("move to", self.target, error) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and not self.stays:
            self._undo()

    def stay(self) -> None:
        """Leave it there, whatever comes."""
        self.stays = True

    def _undo(self) -> None:
        if not os.path.lexists(self.made):
            _move_back(self.target, self.made)
        if os.path.lexists(self.aside):
            _move_back(self.aside, self.target)


def _move_back(source: str, target: str) -> None:
    """Undo a move; where even that fails, the error that is on its way says why."""
    counted(f"move {target}")
    try:
        os.rename(source, target)
    except OSError:
        return


def make_durable(disk: Disk, folder: str) -> None:
    """Let a folder of the scratch folder survive a power cut, before it is put in its place."""
    try:
        sync_tree(disk, folder)
    except OSError as error:
        raise failure("sync", folder, error) from None


def take(home: Home, scratch: Scratch, *parts: str) -> None:
    """Take what lies at .sow/… away, whatever it is."""
    target = f"{home.folder(*parts[:-1])}/{parts[-1]}"
    if not os.path.lexists(target):
        return
    try:
        home.disk.replace(target, f"{scratch.folder}/gone-{os.urandom(4).hex()}")
        sync_folder(home.disk, os.path.dirname(target))
    except OSError as error:
        raise failure("move away", target, error) from None


def link(home: Home, target: str, *parts: str) -> None:
    """Let .sow/… be a link to a folder elsewhere on this machine."""
    parent = home.folder(*parts[:-1])
    counted(f"link {parent}/{parts[-1]}")
    try:
        os.symlink(target, f"{parent}/{parts[-1]}")
        sync_folder(home.disk, parent)
    except OSError as error:
        raise failure("link", f"{parent}/{parts[-1]}", error) from None
