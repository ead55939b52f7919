"""Tells a live run which state another process writes, if that process is not an agent's.

The process locks a file that holds the state until the run has read it. The system's table of locks names the process,
so that an agent cannot announce a write in the name of another.
"""

from __future__ import annotations

import os
import time

from sow.errors import Waiting
from sow.store.files.disk import crash_counted, list_folder, make_folders, remove_quietly
from sow.store.files.locks import is_locked, open_lock, try_lock
from sow.system import caller, plain_file
from sow.system.process import other_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.files.checkout_home import Home

PATIENCE = 10.0
MAX_BYTES = 16 << 20
PAUSE = 0.01


class WriteNotice:
    """A file that announces one state of this process until the run has read it."""

    def __init__(self, path: str, name: str, text: str, *, waits: bool) -> None:
        self.path = path
        self.must_wait = waits
        crash_counted(f"create {path}")
        self.descriptor = open_lock(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try_lock(self.descriptor, path)
        data = text.encode()
        with open(os.dup(self.descriptor), "wb") as file:
            file.write(f"{name} {len(data)}\n".encode() + data)

    def close(self) -> None:
        """Waits until the run has read the file; raises if the run does not react in time."""
        if not self.must_wait:
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
    return f"{home.checkout.git}/sow/notices"


def begin(home: Home) -> None:
    """Prepares the folder for notices, and removes those of an earlier run."""
    make_folders(home.disk, home.checkout.git, ("sow", "notices"))
    for name in list_folder(folder(home)):
        remove_quietly(f"{folder(home)}/{name}")


def announce(home: Home, name: str, text: str) -> WriteNotice | None:
    """Announces a state, if a run is live that would reject it otherwise."""
    claimant = home.claim_holder("run")
    if claimant is None or not claimant.run:
        return None
    path = f"{folder(home)}/{os.getpid()}-{os.urandom(6).hex()}"
    return WriteNotice(path, name, text, waits=claimant.pid != os.getpid())


def read_notices(home: Home) -> list[tuple[str, str]]:
    """Returns the names and texts of states that processes outside the agents announced, and removes the notices."""
    states = []
    for file_name in list_folder(folder(home)):
        path = f"{folder(home)}/{file_name}"
        try:
            descriptor = plain_file.open_to_read(path)
        except OSError:
            continue
        with open(descriptor, "rb") as file:
            head, _, data = file.read(MAX_BYTES).partition(b"\n")
            name, _, size = head.decode("ascii", "replace").partition(" ")
            owners = other_process.lock_owners(descriptor)
            if size != str(len(data)) or not (owners if owners is not None else is_locked(descriptor)):
                continue  # incomplete, or left by a process that has ended
            if all(pid == os.getpid() or not caller.is_supervised(pid) for pid in owners or ()):
                states.append((name, data.decode("utf-8", "replace")))
            remove_quietly(path)
    return states
