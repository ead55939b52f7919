"""Caches the runs of a checkout; a run's state is read again only if its stamp changed."""

from __future__ import annotations

from sow.dashboard.data.problems import Missing
from sow.dashboard.data.task_cache import stamp
from sow.errors import SowError
from sow.store.runs import run_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.dashboard.data.task_cache import Stamp
    from sow.store.files.checkout_home import Home
    from sow.store.runs.run_folder import RunFolder


class RunCache:
    """The runs of a checkout by id."""

    __slots__ = ("folders", "home", "stamps")

    def __init__(self, home: Home) -> None:
        self.home = home
        self.stamps: dict[str, Stamp | None] = {}
        self.folders: dict[str, RunFolder] = {}

    def look(self) -> set[str]:
        """Reads every run that changed; returns the ids of runs that changed, appeared or disappeared."""
        names = run_folder.names(self.home)
        gone = set(self.stamps) - set(names)
        for name in gone:
            del self.stamps[name]
            self.folders.pop(name, None)
        return gone | {name for name in names if self._refresh_run(name)}

    def _refresh_run(self, name: str) -> bool:
        current = stamp(f"{run_folder.folder_of(self.home, name)}/state.yaml")
        if name in self.stamps and self.stamps[name] == current:
            return False
        self.stamps[name] = current
        try:
            self.folders[name] = run_folder.load(self.home, name)
        except (FileNotFoundError, SowError):  # half written by a crash, or edited by hand: the other runs are shown
            self.folders.pop(name, None)
        return True

    def listed(self) -> list[RunFolder]:
        """Returns all readable runs, the oldest first."""
        return [self.folders[name] for name in sorted(self.folders)]

    def current(self) -> RunFolder | None:
        """Returns the live run, else the newest one."""
        folders = self.listed()
        return next((folder for folder in folders if run_folder.is_live(folder)), folders[-1] if folders else None)

    def get(self, name: str) -> RunFolder:
        """Returns the run with this id."""
        self.look()
        if name not in self.folders:
            raise Missing(f"there is no run {name!r:.60}", "see which there are: sow runs list")
        return self.folders[name]
