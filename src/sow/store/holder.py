"""Who has a claim: read from its file, and proven by the system's own table of locks where there is one."""

from __future__ import annotations

import os

from sow.store.claim import said
from sow.store.disk import failure
from sow.store.lock import is_locked
from sow.system import peer


class Holder:
    """The process that has a claim, and its run; `sure` where the system itself says that it is this one."""

    __slots__ = ("host", "line", "pid", "run", "sure")

    def __init__(self, line: str, run: str, owners: set[int] | None) -> None:
        self.run = run
        self.line = line or "a process that is just starting"
        words = line.split()
        named = words[:1] == ["pid"] and len(words) > 3 and words[1].isascii() and words[1].isdigit()
        self.pid = int(words[1][:9]) if named else 0
        self.host = words[3] if named else ""
        self.sure = named and (self.pid in owners if owners is not None else peer.is_alive(self.pid))


def holder(folder: str, name: str) -> Holder | None:
    """Who has a claim now."""
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
        # Who ended well left the file empty. Trying the lock could be in the way of one who takes it: it is the last
        # resort, where the holder was killed or the table of locks does not show it.
        if not owners and not (line and is_locked(descriptor)):
            return None
        return Holder(line, run, owners)
    finally:
        os.close(descriptor)
