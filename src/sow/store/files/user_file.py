"""Writes a private file in the user's own folders as a whole, and never removes it without a copy."""

from __future__ import annotations

import os
import time

from sow.errors import InvalidFile
from sow.store.files.disk import (
    PrivateDisk,
    free_path,
    remove_file,
    remove_quietly,
    replace_file,
    report_failure,
    sync_folder,
    system_error,
    write_all,
)

CHUNK = 1 << 20


def write(path: str, text: str) -> None:
    """Creates or replaces the file; a link stays a link, and its target is replaced."""
    disk = PrivateDisk()
    _make_folders(disk, os.path.dirname(path))
    replace_file(disk, os.path.realpath(path), text)


def make_folders(folder: str) -> None:
    """Makes a private folder of the user, if it is missing."""
    _make_folders(PrivateDisk(), folder)


def _make_folders(disk: PrivateDisk, folder: str) -> None:
    if os.path.isdir(folder):
        return
    _make_folders(disk, os.path.dirname(folder))
    with report_failure("make", folder):
        try:
            disk.make_folder(folder)
        except FileExistsError:
            if not os.path.isdir(folder):  # another process made it first
                raise
        sync_folder(disk, os.path.dirname(folder))


def keep_copy(path: str) -> str:
    """Copies the file, whatever it contains, to its backup and returns that path; renames an earlier backup."""
    if not os.path.isfile(path):
        raise InvalidFile(f"{path} is not a regular file", "move it away, then try again")
    disk, backup, aside = PrivateDisk(), f"{path}.backup", f"{path}.{os.urandom(4).hex()}.tmp"
    try:
        _copy(disk, path, aside)
        if os.path.lexists(backup):
            made_at = time.strftime("%Y%m%d-%H%M%S", time.gmtime(os.lstat(backup).st_mtime))
            disk.replace(backup, free_path(f"{backup}-{made_at}"))
        disk.replace(aside, backup)
        sync_folder(disk, os.path.dirname(path))
    except OSError as error:
        remove_quietly(aside)
        raise system_error("copy", path, error) from None
    return backup


def _copy(disk: PrivateDisk, source: str, target: str) -> None:
    descriptor = disk.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with open(source, "rb") as file:
            while data := file.read(CHUNK):
                write_all(disk, descriptor, data)
        disk.sync(descriptor)
    finally:
        disk.close(descriptor)


def remove(path: str) -> str:
    """Removes the file after copying it; returns the copy's path."""
    backup = keep_copy(path)
    with report_failure("remove", path):
        remove_file(PrivateDisk(), path)
    return backup
