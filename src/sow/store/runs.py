"""Runs: each a folder on this machine with its state, and its journal, which is history and decides nothing."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.store import state
from sow.store.schema import VERSION
from sow.store.validators.run import validate
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sow.domain.shapes import Run, RunState
    from sow.store.home import Home

MAX_JOURNAL = 256 << 20


class RunFolder:
    """One run: state.yaml is what it goes on from, journal.jsonl what it did."""

    __slots__ = ("folder", "home", "loaded")

    def __init__(self, home: Home, folder: str, loaded: RunState) -> None:
        self.home = home
        self.folder = folder
        self.loaded = loaded

    @property
    def run(self) -> Run:
        return self.loaded["run"]

    @property
    def id(self) -> str:
        return self.run["id"]

    @property
    def journal_path(self) -> str:
        return f"{self.folder}/journal.jsonl"

    def save(self) -> None:
        """Write the state as it is now."""
        state.write(self.home, f"{self.folder}/state.yaml", self.loaded, validate)  # type: ignore[arg-type]

    def write(self, event: str, **facts: Any) -> dict[str, Any]:
        """Add a line to the journal; returns it."""
        import json

        entry = {"at": clock.now(), "event": event, **facts}
        self.home.append(self.journal_path, json.dumps(entry, ensure_ascii=False) + "\n")
        return entry

    def journal(self) -> Iterator[dict[str, Any]]:
        """Every entry, oldest first; a line that a crash tore is left out."""
        import json

        try:
            text = self.home.read(self.journal_path, MAX_JOURNAL, torn=True)
        except FileNotFoundError:
            return
        for line in text.split("\n"):
            try:
                entry = json.loads(line) if line else None
            except ValueError:
                continue
            if isinstance(entry, dict):
                yield entry


def _folder(home: Home) -> str:
    return f"{home.sow}/local/runs"


def new_id() -> str:
    """An id that sorts by time."""
    stamp = clock.stamp().replace("_", "-")
    return f"{stamp}-{os.urandom(2).hex()}"


def create(home: Home, run: Run) -> RunFolder:
    """A new run, its state on disk."""
    folder = home.folder("local", "runs", run["id"])
    made = RunFolder(home, folder, {"schema_version": VERSION, "revision": 0, "run": run})
    made.save()
    return made


def listed(home: Home) -> list[RunFolder]:
    """All runs that can be read, oldest first."""
    try:
        names = sorted(os.listdir(_folder(home)))
    except FileNotFoundError:
        return []
    found = []
    for name in names:
        try:
            found.append(_load(home, name))
        except (FileNotFoundError, SowError):  # half made by a crash, or broken by hand: the others are shown
            continue
    return found


def _load(home: Home, name: str) -> RunFolder:
    folder = f"{_folder(home)}/{name}"
    loaded: RunState = state.read(home, f"{folder}/state.yaml", validate)  # type: ignore[assignment]
    return RunFolder(home, folder, loaded)


def find(home: Home, name: str) -> RunFolder:
    """The run that a person meant: its id, the beginning of it, or `last`."""
    known = listed(home)
    if not known:
        raise SowError("there is no run here", "start one: sow run PLAN")
    fitting = known[-1:] if name in ("", "last") else [each for each in known if each.id.startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    ids = ", ".join(each.id for each in (fitting or known)[-8:])
    if fitting:
        raise SowError(f"the run {name!r:.60} is ambiguous", f"it could be: {ids}")
    raise SowError(f"there is no run {name!r:.60}", f"the last runs are: {ids}")


def unfinished(home: Home, project_id: str) -> RunFolder | None:
    """The run of this project that has not ended yet; a new call goes on with it."""
    open_runs = [
        each for each in listed(home) if each.run["project_id"] == project_id and each.run["status"] != "ended"
    ]
    return open_runs[-1] if open_runs else None
