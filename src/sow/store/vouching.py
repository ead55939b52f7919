"""Vouching: a process that is not an agent's tells a live run which state it writes.

It holds a lock on a file that holds the state, until the run has seen it. The system's own table of locks
names the process, so that an agent cannot vouch in the name of another.
"""

from __future__ import annotations

import os
import time

from sow.errors import Waiting
from sow.store.disk import counted, list_folder, make_folders, remove_quietly
from sow.store.lock import is_locked, open_lock, try_lock
from sow.system import caller, peer, plain_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.home import Home

PATIENCE = 10.0
MAX_BYTES = 16 << 20
PAUSE = 0.01


class Voucher:
    """One state that this process writes, until the run has seen it."""

    __slots__ = ("descriptor", "path", "waits")

    def __init__(self, path: str, name: str, text: str, *, waits: bool) -> None:
        self.path = path
        self.waits = waits
        counted(f"create {path}")
        self.descriptor = open_lock(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try_lock(self.descriptor, path)
        data = text.encode()
        with open(os.dup(self.descriptor), "wb") as file:
            file.write(f"{name} {len(data)}\n".encode() + data)

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
                    f"the running sow did not confirm this change within {PATIENCE:.0f} s",
                    "see whether it hangs or is stopped (sow runs show), then run the command again",
                )
            time.sleep(PAUSE)
        os.close(self.descriptor)


def folder(home: Home) -> str:
    return f"{home.checkout.git}/sow/vouched"


def begin(home: Home) -> None:
    """Let others vouch; what an earlier run left is removed."""
    make_folders(home.disk, home.checkout.git, ("sow", "vouched"))
    for name in list_folder(folder(home)):
        remove_quietly(f"{folder(home)}/{name}")


def vouch(home: Home, name: str, text: str) -> Voucher | None:
    """Vouch for a state, where a run lives that would doubt it."""
    found = home.claimant("run")
    if found is None or not found.run:
        return None
    path = f"{folder(home)}/{os.getpid()}-{os.urandom(6).hex()}"
    return Voucher(path, name, text, waits=found.pid != os.getpid())


def heard(home: Home) -> list[tuple[str, str]]:
    """The states, by name, that processes which are no agents' vouch for now; each is told that it was heard."""
    found = []
    for each in list_folder(folder(home)):
        path = f"{folder(home)}/{each}"
        try:
            descriptor = plain_file.open_to_read(path)
        except OSError:
            continue
        with open(descriptor, "rb") as file:
            head, _, data = file.read(MAX_BYTES).partition(b"\n")
            name, _, size = head.decode("ascii", "replace").partition(" ")
            owners = peer.lock_owners(descriptor)
            if size != str(len(data)) or not (owners if owners is not None else is_locked(descriptor)):
                continue  # not written yet, or left by a process that is gone
            if all(pid == os.getpid() or not caller.is_supervised(pid) for pid in owners or ()):
                found.append((name, data.decode("utf-8", "replace")))
            remove_quietly(path)
    return found
