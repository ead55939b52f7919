"""Returns sow's own command for workers: an absolute path, because some CLIs replace PATH."""

from __future__ import annotations

import os
import sys

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")


def sow_path() -> str:
    """Return the absolute path of `sow`."""
    installed = os.path.join(os.path.dirname(sys.executable), "sow")
    started = os.path.abspath(sys.argv[0])
    return started if os.path.basename(started) == "sow" and os.access(started, os.X_OK) else installed


def sow_word() -> str:
    """Return the path quoted for a shell; `shlex` would slow down the start of a worker."""
    path = sow_path()
    escaped = path.replace("'", "'\"'\"'")
    return path if PLAIN.issuperset(path) else f"'{escaped}'"
