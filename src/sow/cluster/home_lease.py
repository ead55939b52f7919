"""Lets only one machine run a project on a cluster: a ref in the transfer repository says which one that is."""

from __future__ import annotations

import os
import time
from typing import Any

from sow.cluster.packet import BadPacket, Packet, pack
from sow.cluster.transfer import Transfer, TransferFailed
from sow.errors import RunTakenOver, Waiting
from sow.gitwork.repository import Repository
from sow.store.files.checkout_home import Home
from sow.system import clock
from sow.system.process.steps import Steps

HOMES = "refs/sow/home"  # below it: one ref per project
RENEW_SECONDS = 60.0


class HomeLease:
    """The right of one checkout to run its project; it never ends by itself, because a turn may be out for days."""

    def __init__(self, home: Home, project_id: str, transfer: Transfer) -> None:
        self.home = home
        self.ref = f"{HOMES}/{project_id}"
        self.transfer = transfer
        self.holder = f"{home.environment.get('USER') or os.getuid()}@{os.uname().nodename}:{home.root}"
        self.since = clock.now()
        self.commit = ""  # of this checkout, at the ref
        self.next_commit = ""  # it is being pushed now
        self.renewed_at = 0.0

    def take(self, *, by_force: bool, command: str) -> Steps[None]:
        """Takes the lease; raises if another checkout has it, unless the user takes over."""
        current = yield from self.transfer.commit_of(self.ref)
        if current:
            holder = yield from self._read()
            if not by_force and holder["holder"] not in (self.holder, ""):
                raise Waiting(
                    f"this project is run by {holder['holder']} since {holder['since']}; its last sign of life was at "
                    f"{holder['seen']}",
                    f"wait for the end of that run; if it is gone for good: {command}",
                )
        if not (yield from self._move(current, self.holder)):
            raise Waiting("another run of this project began at the same moment", "run again")

    def is_due(self) -> bool:
        """Tells whether others should hear that the run lives."""
        return time.monotonic() > self.renewed_at + RENEW_SECONDS

    def renew(self) -> Steps[None]:
        """Says that the run lives. Raises if another checkout has taken over; if nobody answers, it is tried later."""
        self.renewed_at = time.monotonic()
        try:
            is_moved = yield from self._move(self.commit, self.holder)
        except TransferFailed:
            return
        if not is_moved:
            yield from self.verify()

    def verify(self) -> Steps[None]:
        """Raises if another checkout has taken over."""
        current = yield from self.transfer.commit_of(self.ref)
        if current not in (self.commit, self.next_commit):
            holder = (yield from self._read()) if current else {}
            raise RunTakenOver(
                f"{holder.get('holder') or 'another checkout'} runs this project now",
                "look there for what is done; to continue here, run again with --take-over",
            )

    def release(self) -> Steps[None]:
        """Gives the lease back, if this checkout has it still."""
        try:
            yield from self._move(self.commit, "")
        except TransferFailed:  # the next run of this checkout takes it again
            return

    def _move(self, old: str, holder: str) -> Steps[bool]:
        """Moves the ref, if it still has its old commit; returns whether that worked."""
        repository = Repository(self.home)
        new = ""
        if holder:
            facts = {"holder": holder, "since": self.since, "seen": clock.now()}
            new = pack(repository, facts, {}, [], message="Lease of a project")
        self.next_commit = new
        try:
            yield from self.transfer.replace(self.ref, new, old)
        except TransferFailed:
            current = yield from self.transfer.commit_of(self.ref)
            if current == old:
                raise
            if current != new:
                return False
        self.commit = new
        return True

    def _read(self) -> Steps[dict[str, Any]]:
        """Returns who has the lease: the holder, since when, and when it was last seen."""
        commit = yield from self.transfer.fetch(self.ref)
        repository = Repository(self.home)
        with repository.locked():
            repository.drop_ref(self.ref, commit)
        try:
            facts = Packet(self.home.root, commit).facts
        except BadPacket:
            facts = {}
        words = {name: str(facts.get(name, "an unknown time"))[:200] for name in ("since", "seen")}
        return {"holder": str(facts.get("holder", "an unknown checkout"))[:500], **words}
