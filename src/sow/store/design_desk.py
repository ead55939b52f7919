"""The desk of a role that designs: it writes the plan and every agent's instructions, and no state."""

from __future__ import annotations

from sow.store.bounds import literal
from sow.store.member_desk import FOLDER, MemberDesk

STATE = ("state.yaml", "shared_status.json", "verification_report.md")


class DesignDesk(MemberDesk):
    """A desk beside the crew's, from which the whole design can be written."""

    __slots__ = ()

    @property
    def iteration(self) -> int:
        """A design is no part of the plan: it has no attempts that anybody counts."""
        return 1

    def closed(self) -> tuple[str, ...]:
        """The state of the workflow, of its sessions and notes, all of .sow, and the copies in the git folder."""
        home = self.home
        flow = literal(f"{home.root}/{FOLDER}")
        folders = [literal(home.sow), f"{flow}/archive", f"{flow}/agents/*/completion_drive"]
        folders += [f"{literal(each)}/sow" for each in dict.fromkeys((home.checkout.git, home.checkout.common))]
        return (*(f"{flow}/{each}" for each in STATE), *(f"{each}/**" for each in folders))
