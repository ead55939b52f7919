"""Follows the journal of one run, as its current state and as new lines and timeline spans."""

from __future__ import annotations

from sow.domain.entry import Entry
from sow.engine import entry_lines, expected, go_on, report, report_crew
from sow.engine.scene import Scene
from sow.engine.timeline import Timeline
from sow.store.journal_tail import JournalTail
from sow.system import width
from sow.system.terminal import harmless_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.engine.standpoint import Standpoint
    from sow.engine.timeline import Gain
    from sow.store.runs import RunFolder

JUDGING = ("review", "reminder")  # turns that do not change a task's executor
MOST_FORECAST = 1000  # tasks; in a larger run only the plan's estimates are used


class Heard:
    """One journal entry: its end offset, its line (or None), and what it adds to the timeline."""

    __slots__ = ("end", "entry", "gain", "line")

    def __init__(self, end: int, entry: Entry, line: dict[str, Any] | None, gain: Gain) -> None:
        self.end = end
        self.entry = entry
        self.line = line
        self.gain = gain


class RunScene:
    """Follows one run; `live` is as of the last look."""

    __slots__ = ("at", "executors", "folder", "hint", "live", "place", "scene", "standpoint", "tail", "timeline")

    def __init__(self, folder: RunFolder, standpoint: Standpoint) -> None:
        self.folder = folder
        self.standpoint = standpoint
        self.hint: tuple[RunFolder, str] | None = None  # the run folder as it was then, and the command to continue it
        self.tail = JournalTail(folder.journal_path)
        self.scene = Scene(expected.minutes(folder) if len(folder.run["tasks"]) <= MOST_FORECAST else None)
        self.timeline = Timeline()
        self.executors: dict[str, str] = {}  # task id -> executor of its last work
        self.at = ""  # time of the last entry
        self.place = 0
        self.live = False

    @property
    def id(self) -> str:
        return self.folder.id

    def look(self) -> list[Heard] | None:
        """Reads new entries; None if the journal was deleted or replaced, so that the caller must start again."""
        before = self.tail.begun
        entries = self.tail.take_placed()
        if entries is None:
            return None if before else []
        if before and self.tail.begun != before:
            return None
        with_lines = not self.tail.more  # of a long journal, only the last part gets lines
        return [self._hear(end, data, with_lines=with_lines) for end, data in entries]

    def _hear(self, end: int, data: dict[str, Any], *, with_lines: bool) -> Heard:
        entry = Entry(data)
        gain = self.timeline.take(entry)
        self.scene.take(entry, self.timeline.moment)
        if entry.event == "turn_started" and entry.text("kind") not in JUDGING and entry.text("executor"):
            self.executors[entry.task] = entry.text("executor")
        self.at = entry.at or self.at
        self.place = end
        return Heard(end, entry, line_of(self.id, entry, self.scene) if with_lines else None, gain)

    def document(self, now: float) -> dict[str, Any]:
        """Returns the run's overview."""
        run, scene = self.folder.run, self.scene
        plans = [plan["path"] for plan in run["plans"]]
        left = scene.left(now) if self.live else None
        over = run["status"] == "ended" and report_crew.is_gone(self.folder.home, run)
        moment = now if self.live else self.timeline.moment
        return {
            "id": run["id"],
            "name": run["name"],
            "kind": "workflow" if report_crew.is_crew(plans) else "plan",
            "status": report.status_of(self.folder, live=self.live),
            "live": self.live,
            "started_at": run["started_at"],
            "ended_at": run.get("ended_at"),
            "exit": run.get("exit"),
            "elapsed": round(self.timeline.elapsed(moment), 1),
            "cost": scene.total.words(),
            "cost_usd": round(scene.total.usd, 6) if scene.total.known else None,
            "left_seconds": round(left) if left is not None else None,
            "slots": scene.slots,
            "stops": list(scene.stops.values()) if self.live else [],
            "pauses": dict(scene.pauses) if self.live else {},
            "go_on": self._go_on() if not over else "",
        }

    def _go_on(self) -> str:
        """Returns the command that continues the run; empty while it is live."""
        if self.live:
            return ""
        if self.hint is None or self.hint[0] is not self.folder:
            self.hint = self.folder, go_on.command(self.folder, self.standpoint)
        return self.hint[1]


def line_of(run: str, entry: Entry, scene: Scene) -> dict[str, Any] | None:
    """Returns the line about an entry; None for an entry that only programs need."""
    sentence = harmless_line(entry_lines.sentence(entry, scene))
    if not sentence:
        return None
    text = width.cut(sentence, entry_lines.LONGEST)
    return {"run": run, "at": entry.at, "t": entry.t, "task": entry.task or None, "event": entry.event, "text": text}
