"""Describes the folder of a designing role, which writes the plan and all instructions, but no state."""

from __future__ import annotations

from sow.store.bounds import literal
from sow.store.member_desk import FOLDER, MemberDesk

STATE = ("state.yaml", "shared_status.json", "verification_report.md")


class DesignDesk(MemberDesk):
    """Folder of a designing role, from which the whole design can be written."""

    __slots__ = ()

    @property
    def iteration(self) -> int:
        """Returns 1, because a design has no iterations."""
        return 1

    def closed(self) -> tuple[str, ...]:
        """Returns patterns for the workflow's state, sessions and notes, all of .sow, and the backups."""
        home = self.home
        orchestration = literal(f"{home.root}/{FOLDER}")
        folders = [literal(home.sow), f"{orchestration}/archive", f"{orchestration}/agents/*/completion_drive"]
        folders += [f"{literal(folder)}/sow" for folder in dict.fromkeys((home.checkout.git, home.checkout.common))]
        return (*(f"{orchestration}/{name}" for name in STATE), *(f"{folder}/**" for folder in folders))
