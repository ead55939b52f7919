"""Lends the slots of a run to check lists, one list per slot, in the order of the requests."""

from __future__ import annotations

from sow.gitwork.check_processes import end_left_checks
from sow.gitwork.repository import Repository
from sow.gitwork.slot import PREFIX, Slot
from sow.store.files.disk import list_folder
from sow.system.process.steps import Steps


class Slots:
    """The slots that this process uses. Other sow processes may hold other slots of the same folder."""

    def __init__(self, repository: Repository, most: int) -> None:
        self.repository = repository
        self.limit = max(most, 1)
        self.slots_by_number: dict[int, Slot] = {}
        self.busy: set[int] = set()
        self.waiting: list[object] = []

    def acquire(self) -> Steps[Slot | None]:
        """Wait for a free slot. Returns None if a person wants to stop."""
        ticket = object()
        self.waiting.append(ticket)
        try:
            while self.waiting[0] is not ticket or len(self.busy) >= self.limit:
                if (yield):
                    return None
            return self._first_free()
        finally:
            self.waiting.remove(ticket)

    def release(self, slot: Slot) -> None:
        """Give a slot back."""
        slot.release()
        self.busy = {number for number in self.busy if self.slots_by_number[number] is not slot}

    def _first_free(self) -> Slot:
        """Hold the first slot that no process has."""
        if not self.slots_by_number:  # checks of a killed process may still run in a slot
            end_left_checks(f"{self.repository.home.sow}/local/runs")
        number = 1
        while True:
            if number not in self.busy:
                slot = self.slots_by_number.setdefault(number, Slot(self.repository, number))
                if slot.try_hold():
                    self.busy.add(number)
                    return slot
            number += 1


def is_slot(name: str) -> bool:
    """Whether a folder below .sow/local/worktrees is a slot."""
    return name.startswith(PREFIX) and name.removeprefix(PREFIX).isdigit()


def remove_free(repository: Repository, *, dry_run: bool = False) -> tuple[list[str], list[str]]:
    """Remove every slot that no process uses. Returns the names of the removed ones and of the busy ones."""
    removed, busy = [], []
    for name in list_folder(f"{repository.home.sow}/local/worktrees"):
        if not is_slot(name):
            continue
        slot = Slot(repository, int(name.removeprefix(PREFIX)))
        if not slot.try_hold():
            busy.append(name)
            continue
        try:
            if not dry_run:
                slot.remove()
        finally:
            slot.release()
        removed.append(name)
    return removed, busy
