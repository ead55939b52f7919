"""The long lock: who runs this project, task or session now. It dies with its holder, and names it while it lives."""

from __future__ import annotations

import os
import time

from sow.errors import Waiting
from sow.store.disk import failure
from sow.store.lock import open_lock, try_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


class Claim:
    """`with Claim(folder, "project"):` is refused while another live process has it."""

    __slots__ = ("descriptor", "name", "path", "purpose")

    def __init__(self, folder: str, name: str, *, purpose: str) -> None:
        self.path = f"{folder}/claim-{name}.lock"
        self.name = name
        self.purpose = purpose
        self.descriptor = -1

    def __enter__(self) -> Claim:
        descriptor = open_lock(self.path, os.O_RDWR | os.O_CREAT)
        if not try_lock(descriptor, self.path):
            holder = (
                os.pread(descriptor, 500, 0).decode("utf-8", "replace").strip() or "a process that is just starting"
            )
            os.close(descriptor)
            raise Waiting(
                f"{self.name} is claimed by {holder}", "wait for it to end, or stop it, then run the command again"
            )
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        holder = f"pid {os.getpid()} on {os.uname().nodename} since {started} ({self.purpose})\n"
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, holder.encode(), 0)
        except OSError as error:
            os.close(descriptor)
            raise failure("claim", self.path, error) from None
        self.descriptor = descriptor
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.ftruncate(self.descriptor, 0)
        os.close(self.descriptor)
