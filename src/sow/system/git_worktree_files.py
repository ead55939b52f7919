"""Reads and repairs git's files about a linked worktree, because git itself gives up on a damaged one.

A worktree is a folder with a pointer in its file .git, and a record in the shared git folder that points back. Each of
the two can be lost while the other, and the work, is still there.
"""

from __future__ import annotations

import errno
import os

from sow.errors import SystemFailure
from sow.system import crash_points, plain_file

POINTER = "gitdir: "
NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL, errno.ENXIO)  # missing, or not a regular file
INITIALISING = "initializing"  # git's text in the lock of a worktree that it has not finished
# Files that an unfinished operation leaves in a git folder, and its command.
UNDER_WAY = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "sequencer": "cherry-pick",
    "BISECT_LOG": "bisect",
}


def record_of(common: str, folder: str) -> str:
    """Returns git's record of the worktree in this folder, or nothing."""
    root = os.path.realpath(folder)
    usual = f"{common}/worktrees/{os.path.basename(folder)}"
    if (recorded := _folder_of(usual)) and os.path.realpath(recorded) == root:
        return usual
    folders = {record: _folder_of(record) for record in _records(common)}
    for record, recorded in folders.items():
        if recorded and os.path.realpath(recorded) == root:
            return record
    # The repository was moved: the pointer has an old path, but the record's own name is in it.
    name = os.path.basename(pointer(folder))
    moved = f"{common}/worktrees/{name}"
    return moved if name and moved in folders and not os.path.lexists(folders[moved]) else ""


def _records(common: str) -> list[str]:
    try:
        return sorted(f"{common}/worktrees/{name}" for name in os.listdir(f"{common}/worktrees"))
    except FileNotFoundError:
        return []


def _folder_of(record: str) -> str:
    target = first_line(f"{record}/gitdir")
    return os.path.dirname(os.path.join(record, target)) if target else ""


def pointer(folder: str) -> str:
    """Returns the target of the folder's file .git, or nothing if there is no such file."""
    text = first_line(f"{folder}/.git")
    return os.path.normpath(os.path.join(folder, text.removeprefix(POINTER))) if text.startswith(POINTER) else ""


def is_valid(record: str, folder: str) -> bool:
    """Returns whether record and folder point to each other, and git had finished them."""
    return (
        os.path.realpath(pointer(folder)) == os.path.realpath(record)
        and os.path.realpath(_folder_of(record)) == os.path.realpath(folder)
        and bool(first_line(f"{record}/commondir"))
        and _head_is_sane(record)
        and first_line(f"{record}/locked") != INITIALISING
    )


def _head_is_sane(record: str) -> bool:
    head = first_line(f"{record}/HEAD")
    return head.startswith("ref: ") or bool(head.strip("0"))


def repair(common: str, record: str, folder: str, *, head: str) -> None:
    """Makes record and folder point to each other again; an invalid HEAD becomes this one."""
    write(f"{record}/gitdir", f"{os.path.realpath(folder)}/.git\n")
    if not first_line(f"{record}/commondir"):
        write(f"{record}/commondir", f"{os.path.relpath(common, record)}\n")
    if not _head_is_sane(record):
        write(f"{record}/HEAD", f"{head}\n")
    # The temporary file is outside of the folder, where a left-over would be taken for work.
    write(f"{folder}/.git", f"{POINTER}{os.path.realpath(record)}\n", aside=f"{folder}.pointer")
    if first_line(f"{record}/locked") == INITIALISING:
        remove(f"{record}/locked")


def unfinished_operations(git: str) -> dict[str, str]:
    """Returns the unfinished operations in a git folder: the file that shows each, and its command."""
    return {name: command for name, command in UNDER_WAY.items() if os.path.lexists(f"{git}/{name}")}


def write(path: str, text: str, *, aside: str = "") -> None:
    """Replaces one of git's small files as a whole."""
    crash_points.crash_point(f"write {path}")
    aside = aside or f"{path}.sow"
    try:
        with open(plain_file.create(aside, mode=0o666), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.replace(aside, path)
    except OSError as error:
        raise SystemFailure(f"cannot write {path}: {error.strerror}", "fix that and run the command again") from None


def copy(source: str, target: str) -> None:
    """Copies one of git's files with its time, by which git decides which entries of an index it may trust."""
    crash_points.crash_point(f"copy to {target}")
    try:
        with open(source, "rb") as old, open(plain_file.create(f"{target}.sow", mode=0o666), "wb") as new:
            while data := old.read(1 << 20):
                new.write(data)
            facts = os.fstat(old.fileno())
        os.utime(f"{target}.sow", ns=(facts.st_atime_ns, facts.st_mtime_ns))
        os.replace(f"{target}.sow", target)
    except OSError as error:
        raise SystemFailure(f"cannot copy {source}: {error.strerror}", "fix that and run the command again") from None


def remove(path: str) -> bool:
    """Removes one file; returns whether it existed."""
    crash_points.crash_point(f"remove {path}")
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise SystemFailure(f"cannot remove {path}: {error.strerror}", "fix that and run the command again") from None
    return True


def first_line(path: str) -> str:
    """Returns the first line of one of git's small files, or nothing if it is missing."""
    try:
        return plain_file.read(path, 8192).partition(b"\n")[0].decode("utf-8", "surrogateescape")
    except OSError as error:
        if error.errno in NO_FILE:
            return ""
        raise SystemFailure(f"cannot read {path}: {error.strerror}", "fix that and run the command again") from None
