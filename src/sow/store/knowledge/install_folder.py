"""Fills folders of fetched files aside, then moves them into place or away as a whole; never follows links."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from sow.errors import InvalidFile, SowError
from sow.store.files.checkout_home import Home
from sow.store.files.disk import (
    Disk,
    Lock,
    crash_counted,
    list_folder,
    move_quietly,
    remove_tree_quietly,
    report_failure,
    sync_folder,
    sync_tree,
    system_error,
    write_all,
)

CHUNK = 1 << 20
LOCK_GRACE = 60  # seconds in which a process may have made its folder but not yet its lock


class ScratchFolder:
    """`with Scratch(home) as scratch:` makes a private folder below .sow/local and removes it, even after a crash."""

    def __init__(self, home: Home) -> None:
        self.home = home

    def __enter__(self) -> ScratchFolder:
        parent = self.home.folder("local", "fetching")
        self._sweep(parent)
        name = f"{os.getpid()}-{os.urandom(4).hex()}"
        self.folder = f"{parent}/{name}"
        self.lock = Lock(self.folder)
        try:
            self.home.folder("local", "fetching", name)
            self.lock.__enter__()
        except SowError:
            remove_tree_quietly(self.folder)
            raise
        return self

    def _sweep(self, parent: str) -> None:
        """Removes the folders of dead processes: their locks are free."""
        for folder in (f"{parent}/{name}" for name in list_folder(parent)):
            try:
                if os.lstat(folder).st_mtime < time.time() - LOCK_GRACE:
                    with Lock(folder, patience=0):
                        remove_tree_quietly(folder)
            except (OSError, SowError):  # in use, gone, or not a folder
                continue

    def __exit__(self, *_: object) -> None:
        remove_tree_quietly(self.folder)
        self.lock.__exit__()


@dataclass(frozen=True)
class FolderFacts:
    """A digest of the names and contents in a folder, and its bytes and files."""

    digest: str
    size: int
    files: int


def folder_facts(folder: str) -> FolderFacts | None:
    """Returns the facts of a folder without .git, or None if it is missing or a link."""
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
    return FolderFacts(digest=total.hexdigest(), size=size, files=count)


def _files(folder: str) -> list[str]:
    paths: list[str] = []
    for current, folders, names in os.walk(folder):
        if current == folder and ".git" in folders:
            folders.remove(".git")
        linked = [name for name in folders if os.path.islink(f"{current}/{name}")]
        paths += [f"{current}/{name}" for name in (*names, *linked)]
    return sorted(paths)


def _content(path: str) -> Iterator[bytes]:
    """Yields the bytes of a file; a link yields its target, any other kind yields nothing."""
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        yield b"link:" + os.fsencode(os.readlink(path))
    elif stat.S_ISREG(mode):
        with open(path, "rb") as file:
            while data := file.read(CHUNK):
                yield data


def make(disk: Disk, folder: str) -> None:
    """Makes a folder inside a scratch folder."""
    try:
        disk.make_folder(folder)
    except FileExistsError:
        return
    except OSError as error:
        raise system_error("make", folder, error) from None


def write(disk: Disk, path: str, data: bytes) -> None:
    """Writes a new file inside a scratch folder."""
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
        raise system_error("write", path, error) from None


class InstalledFolder:
    """`with Placed(…):` moves a scratch folder to .sow/…; if the block fails, the old folder is restored."""

    def __init__(self, home: Home, scratch: ScratchFolder, made: str, *parts: str) -> None:
        self.stays = False
        self.home = home
        self.made = made
        self.target = f"{home.folder(*parts[:-1])}/{parts[-1]}"
        self.aside = f"{scratch.folder}/gone-{os.urandom(4).hex()}"

    def __enter__(self) -> InstalledFolder:
        try:
            if os.path.lexists(self.target):
                self.home.disk.replace(self.target, self.aside)
            self.home.disk.replace(self.made, self.target)
            sync_folder(self.home.disk, os.path.dirname(self.target))
        except OSError as error:
            self._undo()
            raise system_error("move to", self.target, error) from None
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None and not self.stays:
            self._undo()

    def commit(self) -> None:
        """Keeps the new folder even if the block fails."""
        self.stays = True

    def _undo(self) -> None:
        if not os.path.lexists(self.made):
            move_quietly(self.target, self.made)
        if os.path.lexists(self.aside):
            move_quietly(self.aside, self.target)


def make_durable(disk: Disk, folder: str) -> None:
    """Syncs a scratch folder to disk before it is moved into place."""
    with report_failure("sync", folder):
        sync_tree(disk, folder)


def move_away(home: Home, scratch: ScratchFolder, *parts: str) -> None:
    """Moves whatever is at .sow/… away."""
    target = f"{home.folder(*parts[:-1])}/{parts[-1]}"
    if not os.path.lexists(target):
        return
    with report_failure("move away", target):
        home.disk.replace(target, f"{scratch.folder}/gone-{os.urandom(4).hex()}")
        sync_folder(home.disk, os.path.dirname(target))


def link(home: Home, target: str, *parts: str) -> None:
    """Makes .sow/… a link to a folder elsewhere on this machine."""
    parent = home.folder(*parts[:-1])
    path = f"{parent}/{parts[-1]}"
    crash_counted(f"link {path}")
    with report_failure("link", path):
        os.symlink(target, path)
        sync_folder(home.disk, parent)
