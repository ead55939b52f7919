"""Holds the runs of a checkout, and follows the journal of one: its current state, new lines and timeline spans."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from sow.dashboard.data.page_errors import PageNotFound
from sow.domain.text import units
from sow.errors import SowError
from sow.reports import next_steps, report_text, run_report
from sow.reports.next_steps import HintContext
from sow.reports.run_history import RemainingTime, RunHistory, expected_minutes
from sow.reports.run_records import TimelineDelta
from sow.store.files.checkout_home import Home
from sow.store.files.file_cache import FileCache, fingerprint
from sow.store.runs import run_folder
from sow.store.runs.run_folder import JournalEntry, JournalTail, RunFolder
from sow.system.terminal import escape_line

JUDGING = ("review", "reminder")  # turns that do not change a task's executor
MOST_FORECAST = 1000  # tasks; in a larger run only the plan's estimates are used


class RunCache:
    """The runs of a checkout by id; a run that cannot be read is None."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.folders: FileCache[RunFolder | None] = FileCache()
        self._empty: dict[str, bool] = {}

    def refresh(self) -> None:
        """Reads every run that changed."""
        names = run_folder.names(self.home)
        self.folders.keep_only(names)
        for name in names:
            path = f"{run_folder.folder_of(self.home, name)}/state.yaml"
            self.folders.refresh(name, fingerprint(path), partial(self._load, name))

    def _load(self, name: str) -> RunFolder | None:
        try:
            return run_folder.load(self.home, name)
        except (FileNotFoundError, SowError):  # half written by a crash, or edited by hand: the other runs are shown
            return None

    def all_folders(self) -> list[RunFolder]:
        """Returns all readable runs, the oldest first."""
        return [folder for _, folder in sorted(self.folders.items()) if folder is not None]

    def current(self) -> RunFolder | None:
        """Returns the live run, else the newest one that did something."""
        folders = self.all_folders()
        newest = next((folder for folder in reversed(folders) if not self._is_empty(folder)), None)
        live = (folder for folder in folders if run_folder.is_live(folder))
        return next(live, newest or (folders[-1] if folders else None))

    def _is_empty(self, folder: RunFolder) -> bool:
        """Tells whether a run did nothing; the journal is read once, after the end of its process."""
        if folder.id not in self._empty and not run_folder.has_process(folder):
            self._empty[folder.id] = run_folder.is_empty(folder)
        return self._empty.get(folder.id, False)

    def get(self, name: str) -> RunFolder:
        """Returns the run with this id."""
        self.refresh()
        folder = self.folders.get(name)
        if folder is None:
            raise PageNotFound(f"there is no run {name!r:.60}", "list all runs: sow runs list")
        return folder


class FollowedEntry(NamedTuple):
    """One journal entry: its end offset, its line (or None), and what it adds to the timeline."""

    end: int
    entry: JournalEntry
    line: dict[str, Any] | None
    gain: TimelineDelta


class RunFollower:
    """Follows one run; `live` is as of the last refresh."""

    def __init__(self, folder: RunFolder, hint_context: HintContext) -> None:
        self.folder = folder
        self.hint_context = hint_context
        self.hint: tuple[RunFolder, str] | None = None  # the run folder as it was then, and the command to continue it
        self.tail = JournalTail(folder.journal_path)
        self.history = RunHistory()
        expected = expected_minutes(folder) if len(folder.run["tasks"]) <= MOST_FORECAST else None
        self.remaining = RemainingTime(self.history, expected)
        self.executors: dict[str, str] = {}  # task id -> executor of its last work
        self.last_entry_time = ""  # time of the last entry
        self.offset = 0
        self.live = False

    @property
    def id(self) -> str:
        return self.folder.id

    def refresh(self) -> list[FollowedEntry] | None:
        """Reads new entries; None if the journal was deleted or replaced, so that the caller must start again."""
        before = self.tail.restarts
        entries = self.tail.read_new_with_offsets()
        if entries is None:
            return None if before else []
        if before and self.tail.restarts != before:
            return None
        with_lines = not self.tail.has_more  # of a long journal, only the last part gets lines
        return [self._add_entry(end, data, with_lines=with_lines) for end, data in entries]

    def _add_entry(self, end: int, data: dict[str, Any], *, with_lines: bool) -> FollowedEntry:
        entry = JournalEntry(data)
        gain = self.history.add(entry)
        if entry.event == "turn_started" and entry.text("kind") not in JUDGING and entry.text("executor"):
            self.executors[entry.task] = entry.text("executor")
        elif entry.event == "sent" and entry.text("kind") not in JUDGING and entry.text("executor"):
            self.executors[entry.task] = f"{entry.text('executor')}@{entry.text('host')}"
        self.last_entry_time = entry.at or self.last_entry_time
        self.offset = end
        return FollowedEntry(end, entry, entry_line(self.id, entry, self.history) if with_lines else None, gain)

    def document(self, now: float) -> dict[str, Any]:
        """Returns the run's overview."""
        run, history = self.folder.run, self.history
        left = self.remaining.seconds_left(now) if self.live else None
        over = run["status"] == "ended" and run_report.is_workflow_missing(self.folder.home, run)
        return {
            "id": run["id"],
            "name": run["name"],
            "kind": "workflow" if run_folder.is_workflow_run(run) else "plan",
            "status": run_report.status_of(self.folder, live=self.live),
            "live": self.live,
            "started_at": run["started_at"],
            "ended_at": run.get("ended_at"),
            "exit": run.get("exit"),
            "elapsed": round(history.alive_seconds(now) if self.live else history.wall, 1),
            "cost": history.total.text(),
            "cost_usd": round(history.total.usd, 6) if history.total.known else None,
            "left_seconds": round(left) if left is not None else None,
            "slots": history.slots,
            "stops": list(history.blocks.values()) if self.live else [],
            "pauses": dict(history.pauses) if self.live else {},
            "go_on": self._resume_command() if not over else "",
        }

    def _resume_command(self) -> str:
        if self.live:
            return ""
        if self.hint is None or self.hint[0] is not self.folder:
            self.hint = self.folder, next_steps.resume_command(self.folder, self.hint_context, self.history)
        return self.hint[1]


def entry_line(run: str, entry: JournalEntry, history: RunHistory) -> dict[str, Any] | None:
    """Returns the line about an entry; None for an entry that only programs need."""
    sentence = escape_line(report_text.event_sentence(entry, history))
    if not sentence:
        return None
    text = units.cut(sentence, report_text.LONGEST)
    return {"run": run, "at": entry.at, "t": entry.t, "task": entry.task or None, "event": entry.event, "text": text}
