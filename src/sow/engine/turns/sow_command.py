"""Finds sow's command as an absolute path, because some CLIs replace PATH, and recognizes its installed files."""

from __future__ import annotations

import os
import sys

from sow.errors import SowError
from sow.executors.settings import find_binary
from sow.store.files.disk import Disk, is_folder, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")


def sow_path() -> str:
    """Returns the absolute path of `sow`."""
    installed = os.path.join(os.path.dirname(sys.executable), "sow")
    started = os.path.abspath(sys.argv[0])
    return started if os.path.basename(started) == "sow" and os.access(started, os.X_OK) else installed


def sow_command() -> str:
    """Returns the path quoted for a shell; `shlex` would slow down the start of a worker."""
    path = sow_path()
    escaped = path.replace("'", "'\"'\"'")
    return path if PLAIN.issuperset(path) else f"'{escaped}'"


def session_command(environment: Mapping[str, str]) -> str:
    """Returns `sow` if a shell finds this one by that name, which the rules of `sow install` allow; else the path."""
    program = find_binary("sow", environment)
    return "sow" if program and os.path.realpath(program) == os.path.realpath(sow_path()) else sow_command()


MAX_FILE = 1 << 20


def holds_only_installed_files(root: str, folder: str) -> bool:
    """Tells whether every file below it equals a file of this version's layer exactly; such files steer nobody."""
    if not is_folder(f"{root}/{folder}"):
        return False
    from sow.agents.layer import LAYERS, layer

    ours = {piece.path: piece.text for name in LAYERS for piece in layer(name, user=False).pieces if not piece.block}
    for parent, folders, names in os.walk(f"{root}/{folder}"):
        if any(os.path.islink(f"{parent}/{name}") for name in folders):
            return False
        for name in names:
            path = f"{parent}/{name}"
            expected = ours.get(path.removeprefix(f"{root}/"))
            if expected is None or read_small(path) != expected:
                return False
    return True


def read_small(path: str) -> str:
    """Returns the text of a small file of the repository; empty if it cannot be read or is large."""
    try:
        return read_text(Disk(), path, MAX_FILE)
    except (OSError, SowError):
        return ""
