"""Where a state file goes that was edited by hand and does not count: nothing that a person typed is thrown away."""

from __future__ import annotations

import os

from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.home import Home


def keep(home: Home, name: str, text: str) -> str:
    """Keep what a file said, on this machine alone; returns where it is."""
    path = f"{home.folder('local', 'edited')}/{name}-{clock.stamp()}-{os.urandom(2).hex()}.yaml"
    home.replace(path, text)
    return home.relative(path)
