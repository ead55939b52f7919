"""Asks the live run of a checkout to stop, as Ctrl-C in its terminal would, and ends what a dead run left."""

from __future__ import annotations

import os

from sow.domain.ids import is_member, is_task_id
from sow.engine.check_mark import sweep_left
from sow.engine.recovery import end_turns
from sow.errors import Failed
from sow.store.desk import Desk
from sow.store.disk import list_folder
from sow.store.member_desk import MemberDesk
from sow.system.peer import Peer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.store.holder import Holder
    from sow.store.home import Home


def stop(home: Home, patience: float) -> tuple[Holder | None, bool]:
    """Ask the live run to stop; returns its holder, if there is one, and whether it ended in time."""
    holder = home.claimant("run")
    if holder is None:
        return None, True
    if holder.host and holder.host != os.uname().nodename:
        raise Failed(f"the run is on another machine: {holder.line}", f"stop it on {holder.host}: sow runs stop")
    try:
        with Peer(holder.pid) as peer:
            # Asked again now that the process is held: its number cannot belong to another process any more.
            current = home.claimant("run")
            if current is None:
                return holder, True
            if not current.sure or current.pid != holder.pid:
                raise _unsure(current)
            peer.interrupt()
            return holder, peer.ended(patience)
    except ProcessLookupError:
        if home.claimant("run") is None:
            return holder, True
        raise _unsure(holder) from None
    except PermissionError:
        raise Failed(f"the run is somebody else's: {holder.line}", "ask them, or stop it as that user") from None


def end_left(home: Home, environment: Mapping[str, str]) -> list[str]:
    """End what checks and turns of dead runs left running, if nobody runs or works now; returns remarks."""
    folder, desks = f"{home.sow}/local/runs", _desks(home)
    if home.claimant("run") is not None or not (desks or list_folder(folder)):
        return []
    with home.claim("run", purpose="sow runs stop"):
        process_count = sweep_left(folder)
        remarks = (
            [f"an earlier check was cut off; processes of it that had to be ended: {process_count}"]
            if process_count
            else []
        )
        return remarks + [remark for desk in desks for remark in end_turns(desk, environment)]


def _desks(home: Home) -> list[Desk | MemberDesk]:
    """Return the folder of every task and every agent of a workflow that ever had a session here."""
    names = list_folder(f"{home.sow}/local/sessions")
    tasks: list[Desk | MemberDesk] = [Desk(home, "", name) for name in names if is_task_id(name)]
    return tasks + [MemberDesk(home, "", name) for name in names if is_member(name)]


def _unsure(holder: Holder) -> Failed:
    """Return the error for a holder that is uncertain: sow signals no process on a guess."""
    return Failed(
        f"the run is claimed by {holder.line}, and that process cannot be told for sure",
        "stop it where it was started (Ctrl-C), or try again in a moment",
    )
