"""Finds the holder of a claim from its file, and checks it against the system's table of locks if there is one."""

from __future__ import annotations

import os

from sow.store.claim import said
from sow.store.disk import failure
from sow.store.lock import is_locked
from sow.system import peer


class Holder:
    """Describes the process that holds a claim, and its run. `sure` is True if the system confirms the holder."""

    __slots__ = ("host", "line", "pid", "run", "sure")

    def __init__(self, line: str, run: str, owners: set[int] | None) -> None:
        self.run = run
        self.line = line or "a process that is just starting"
        fields = line.split()
        has_pid = fields[:1] == ["pid"] and len(fields) > 3 and fields[1].isascii() and fields[1].isdigit()
        self.pid = int(fields[1][:9]) if has_pid else 0
        self.host = fields[3] if has_pid else ""
        self.sure = has_pid and (self.pid in owners if owners is not None else peer.is_alive(self.pid))


def holder(folder: str, name: str) -> Holder | None:
    """Returns the current holder of a claim."""
    path = f"{folder}/claim-{name}.lock"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise failure("read", path, error) from None
    try:
        line, run = said(descriptor)
        owners = peer.lock_owners(descriptor)
        # A holder that ends normally empties the file. Trying the lock could block a process that takes the claim, so
        # it is the last resort, for a holder that was killed or that the table of locks does not show.
        if not owners and not (line and is_locked(descriptor)):
            return None
        return Holder(line, run, owners)
    finally:
        os.close(descriptor)
