"""Follows the journal of one run, as its current state and as new lines and timeline spans."""

from __future__ import annotations

from sow.domain.runs.journal_entry import JournalEntry
from sow.reports import crew_rows, event_text, expected_time, resume_command, run_report
from sow.reports.live_run import LiveRun
from sow.reports.timeline import Timeline
from sow.store.runs.journal import JournalTail
from sow.system import width
from sow.system.terminal import escape_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.reports.hint_context import HintContext
    from sow.reports.timeline import TimelineDelta
    from sow.store.runs.run_folder import RunFolder

JUDGING = ("review", "reminder")  # turns that do not change a task's executor
MOST_FORECAST = 1000  # tasks; in a larger run only the plan's estimates are used


class FollowedEntry:
    """One journal entry: its end offset, its line (or None), and what it adds to the timeline."""

    __slots__ = ("end", "entry", "gain", "line")

    def __init__(self, end: int, entry: JournalEntry, line: dict[str, Any] | None, gain: TimelineDelta) -> None:
        self.end = end
        self.entry = entry
        self.line = line
        self.gain = gain


class RunFollower:
    """Follows one run; `live` is as of the last look."""

    __slots__ = (
        "executors", "folder", "hint", "hint_context", "last_entry_time", "live", "live_run", "offset", "tail",
        "timeline",
    )  # fmt: skip

    def __init__(self, folder: RunFolder, hint_context: HintContext) -> None:
        self.folder = folder
        self.hint_context = hint_context
        self.hint: tuple[RunFolder, str] | None = None  # the run folder as it was then, and the command to continue it
        self.tail = JournalTail(folder.journal_path)
        self.live_run = LiveRun(
            expected_time.expected_minutes(folder) if len(folder.run["tasks"]) <= MOST_FORECAST else None
        )
        self.timeline = Timeline()
        self.executors: dict[str, str] = {}  # task id -> executor of its last work
        self.last_entry_time = ""  # time of the last entry
        self.offset = 0
        self.live = False

    @property
    def id(self) -> str:
        return self.folder.id

    def look(self) -> list[FollowedEntry] | None:
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
        gain = self.timeline.add(entry)
        self.live_run.add(entry, self.timeline.moment)
        if entry.event == "turn_started" and entry.text("kind") not in JUDGING and entry.text("executor"):
            self.executors[entry.task] = entry.text("executor")
        self.last_entry_time = entry.at or self.last_entry_time
        self.offset = end
        return FollowedEntry(end, entry, entry_line(self.id, entry, self.live_run) if with_lines else None, gain)

    def document(self, now: float) -> dict[str, Any]:
        """Returns the run's overview."""
        run, live_run = self.folder.run, self.live_run
        plans = [plan["path"] for plan in run["plans"]]
        left = live_run.seconds_left(now) if self.live else None
        over = run["status"] == "ended" and crew_rows.is_workflow_missing(self.folder.home, run)
        moment = now if self.live else self.timeline.moment
        return {
            "id": run["id"],
            "name": run["name"],
            "kind": "workflow" if crew_rows.is_workflow_run(plans) else "plan",
            "status": run_report.status_of(self.folder, live=self.live),
            "live": self.live,
            "started_at": run["started_at"],
            "ended_at": run.get("ended_at"),
            "exit": run.get("exit"),
            "elapsed": round(self.timeline.elapsed(moment), 1),
            "cost": live_run.total.text(),
            "cost_usd": round(live_run.total.usd, 6) if live_run.total.known else None,
            "left_seconds": round(left) if left is not None else None,
            "slots": live_run.slots,
            "stops": list(live_run.stops.values()) if self.live else [],
            "pauses": dict(live_run.pauses) if self.live else {},
            "go_on": self._resume_command() if not over else "",
        }

    def _resume_command(self) -> str:
        if self.live:
            return ""
        if self.hint is None or self.hint[0] is not self.folder:
            self.hint = self.folder, resume_command.resume_command(self.folder, self.hint_context)
        return self.hint[1]


def entry_line(run: str, entry: JournalEntry, live_run: LiveRun) -> dict[str, Any] | None:
    """Returns the line about an entry; None for an entry that only programs need."""
    sentence = escape_line(event_text.event_sentence(entry, live_run))
    if not sentence:
        return None
    text = width.cut(sentence, event_text.LONGEST)
    return {"run": run, "at": entry.at, "t": entry.t, "task": entry.task or None, "event": entry.event, "text": text}
