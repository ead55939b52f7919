"""Asks the live run of a checkout to stop, as Ctrl-C in its own terminal would; what a dead one left is ended."""

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
    """Who was asked, if anybody runs here, and whether it ended in time."""
    found = home.claimant("run")
    if found is None:
        return None, True
    if found.host and found.host != os.uname().nodename:
        raise Failed(f"the run is on another machine: {found.line}", f"stop it on {found.host}: sow runs stop")
    try:
        with Peer(found.pid) as peer:
            # Asked again now that the process is held: its number cannot have become another's in between.
            again = home.claimant("run")
            if again is None:
                return found, True
            if not again.sure or again.pid != found.pid:
                raise _unsure(again)
            peer.interrupt()
            return found, peer.ended(patience)
    except ProcessLookupError:
        if home.claimant("run") is None:
            return found, True
        raise _unsure(found) from None
    except PermissionError:
        raise Failed(f"the run is somebody else's: {found.line}", "ask them, or stop it as that user") from None


def end_left(home: Home, environment: Mapping[str, str]) -> list[str]:
    """End what checks and turns of dead runs left running, where nobody runs or works now; returns what there was."""
    folder, desks = f"{home.sow}/local/runs", _desks(home)
    if home.claimant("run") is not None or not (desks or list_folder(folder)):
        return []
    with home.claim("run", purpose="sow runs stop"):
        left = sweep_left(folder)
        said = [f"an earlier check was cut off; processes of it that had to be ended: {left}"] if left else []
        return said + [each for desk in desks for each in end_turns(desk, environment)]


def _desks(home: Home) -> list[Desk | MemberDesk]:
    """The desk of every task and every agent of a workflow that ever had a session here."""
    names = list_folder(f"{home.sow}/local/sessions")
    tasks: list[Desk | MemberDesk] = [Desk(home, "", name) for name in names if is_task_id(name)]
    return tasks + [MemberDesk(home, "", name) for name in names if is_member(name)]


def _unsure(found: Holder) -> Failed:
    """Nobody is signalled on a guess."""
    return Failed(
        f"the run is claimed by {found.line}, and that process cannot be told for sure",
        "stop it where it was started (Ctrl-C), or try again in a moment",
    )
