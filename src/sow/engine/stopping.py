"""Asks the live run of a checkout to stop, as Ctrl-C in its own terminal would, and waits for its end."""

from __future__ import annotations

import os

from sow.errors import Failed
from sow.system.peer import Peer

TYPE_CHECKING = False
if TYPE_CHECKING:
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


def _unsure(found: Holder) -> Failed:
    """Nobody is signalled on a guess."""
    return Failed(
        f"the run is claimed by {found.line}, and that process cannot be told for sure",
        "stop it where it was started (Ctrl-C), or try again in a moment",
    )
