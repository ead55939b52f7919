"""Our own command, as a worker calls it: by its absolute path, since some CLIs replace PATH."""

from __future__ import annotations

import os
import sys

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")


def sow_path() -> str:
    """The absolute path of `sow`."""
    beside = os.path.join(os.path.dirname(sys.executable), "sow")
    started = os.path.abspath(sys.argv[0])
    return started if os.path.basename(started) == "sow" and os.access(started, os.X_OK) else beside


def sow_word() -> str:
    """The same as a word of a shell's command line; `shlex` would cost a spawn its start-up time."""
    path = sow_path()
    escaped = path.replace("'", "'\"'\"'")
    return path if PLAIN.issuperset(path) else f"'{escaped}'"
