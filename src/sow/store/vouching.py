"""Vouching: a process that is not an agent's tells a live run which state it writes.

It holds a lock on a file that names the state's digest, until the run has seen it. The system's own table of locks
names the process, so that an agent cannot vouch in the name of another.
"""

from __future__ import annotations

import hashlib
import os
import time

from sow.errors import Waiting
from sow.store.disk import counted, list_folder, make_folders, remove_quietly
from sow.store.lock import is_locked, open_lock, try_lock
from sow.system import caller, peer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.home import Home

PATIENCE = 10.0
PAUSE = 0.01


class Voucher:
    """One state that this process writes, until the run has seen it."""

    __slots__ = ("descriptor", "path", "waits")

    def __init__(self, path: str, text: str, *, waits: bool) -> None:
        self.path = path
        self.waits = waits
        counted(f"create {path}")
        self.descriptor = open_lock(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try_lock(self.descriptor, path)
        os.pwrite(self.descriptor, digest(text).encode(), 0)

    def close(self) -> None:
        """Wait until the run has seen it; one that takes no notice may be stopped."""
        if not self.waits:
            return
        give_up = time.monotonic() + PATIENCE
        while os.path.lexists(self.path):
            if time.monotonic() > give_up:
                remove_quietly(self.path)
                os.close(self.descriptor)
                raise Waiting(
                    f"the run took no notice of this change in {PATIENCE:.0f} seconds, and may not believe it",
                    "see whether it hangs or is stopped (sow runs show), then run the command again",
                )
            time.sleep(PAUSE)
        os.close(self.descriptor)


def digest(text: str) -> str:
    """The digest by which a state is named."""
    return hashlib.sha256(text.encode()).hexdigest()


def folder(home: Home) -> str:
    return f"{home.checkout.git}/sow/vouched"


def begin(home: Home) -> None:
    """Let others vouch; what an earlier run left is removed."""
    make_folders(home.disk, home.checkout.git, ("sow", "vouched"))
    for name in list_folder(folder(home)):
        remove_quietly(f"{folder(home)}/{name}")


def vouch(home: Home, text: str) -> Voucher | None:
    """Vouch for a state, where a run lives that would doubt it."""
    found = home.claimant("run")
    if found is None or not found.run:
        return None
    name = f"{os.getpid()}-{os.urandom(6).hex()}"
    return Voucher(f"{folder(home)}/{name}", text, waits=found.pid != os.getpid())


def heard(home: Home) -> set[str]:
    """The digests that processes which are no agents' vouch for now; each is told that it was heard."""
    found = set()
    for name in list_folder(folder(home)):
        path = f"{folder(home)}/{name}"
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            said = os.pread(descriptor, 64, 0).decode("ascii", "replace")
            owners = peer.lock_owners(descriptor)
            if len(said) < 64 or not (owners if owners is not None else is_locked(descriptor)):
                continue  # not written yet, or left by a process that is gone
            if all(pid == os.getpid() or not caller.is_supervised(pid) for pid in owners or ()):
                found.add(said)
            remove_quietly(path)
        finally:
            os.close(descriptor)
    return found
