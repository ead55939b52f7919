"""The runs of a checkout as they were seen last: a run's state is read again only when its stamps are others."""

from __future__ import annotations

from sow.dashboard.missing import Missing
from sow.dashboard.stamps import stamp
from sow.errors import SowError
from sow.store import runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.dashboard.stamps import Stamp
    from sow.store.home import Home
    from sow.store.runs import RunFolder


class RunShelf:
    """All runs, by id."""

    __slots__ = ("folders", "home", "stamps")

    def __init__(self, home: Home) -> None:
        self.home = home
        self.stamps: dict[str, Stamp | None] = {}
        self.folders: dict[str, RunFolder] = {}

    def look(self) -> set[str]:
        """Look at every run; returns those that changed, came or went."""
        names = runs.names(self.home)
        gone = set(self.stamps) - set(names)
        for name in gone:
            del self.stamps[name]
            self.folders.pop(name, None)
        return gone | {name for name in names if self._see(name)}

    def _see(self, name: str) -> bool:
        now = stamp(f"{runs.folder_of(self.home, name)}/state.yaml")
        if name in self.stamps and self.stamps[name] == now:
            return False
        self.stamps[name] = now
        try:
            self.folders[name] = runs.load(self.home, name)
        except (FileNotFoundError, SowError):  # half made by a crash, or broken by hand: the others are shown
            self.folders.pop(name, None)
        return True

    def listed(self) -> list[RunFolder]:
        """All that can be read, oldest first."""
        return [self.folders[name] for name in sorted(self.folders)]

    def current(self) -> RunFolder | None:
        """The run that goes on; else the newest one."""
        known = self.listed()
        return next((each for each in known if runs.is_live(each)), known[-1] if known else None)

    def get(self, name: str) -> RunFolder:
        """The run with this id."""
        self.look()
        if name not in self.folders:
            raise Missing(f"there is no run {name!r:.60}", "see which there are: sow runs list")
        return self.folders[name]
