"""One run that people look at: its journal, followed, as the scene of the moment and as what each entry adds."""

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

JUDGING = ("review", "reminder")  # of a worker, who is reminded as well, an earlier turn has told
MOST_FORECAST = 1000  # tasks; of a larger run only what its plan says is counted with


class Heard:
    """One entry: where it ends in the journal, the line that tells of it (or none), and what the timeline gains."""

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
        self.hint: tuple[RunFolder, str] | None = None  # how to go on with the run as it was then
        self.tail = JournalTail(folder.journal_path)
        self.scene = Scene(expected.minutes(folder) if len(folder.run["tasks"]) <= MOST_FORECAST else None)
        self.timeline = Timeline()
        self.executors: dict[str, str] = {}  # who worked on each task last
        self.at = ""  # of the last entry
        self.place = 0
        self.live = False

    @property
    def id(self) -> str:
        return self.folder.id

    def look(self) -> list[Heard] | None:
        """What came since the last look; None where the journal was taken away or replaced: begin anew."""
        begun = self.tail.begun
        found = self.tail.take_placed()
        if found is None:
            return None if begun else []
        if begun and self.tail.begun != begun:
            return None
        telling = not self.tail.more  # of a long past only the end is told line by line
        return [self._hear(end, data, telling=telling) for end, data in found]

    def _hear(self, end: int, data: dict[str, Any], *, telling: bool) -> Heard:
        entry = Entry(data)
        gain = self.timeline.take(entry)
        self.scene.take(entry, self.timeline.moment)
        if entry.event == "turn_started" and entry.text("kind") not in JUDGING and entry.text("executor"):
            self.executors[entry.task] = entry.text("executor")
        self.at = entry.at or self.at
        self.place = end
        return Heard(end, entry, line_of(self.id, entry, self.scene) if telling else None, gain)

    def document(self, now: float) -> dict[str, Any]:
        """The run at a glance."""
        run, scene = self.folder.run, self.scene
        plans = [each["path"] for each in run["plans"]]
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
        """The command that goes on with it; nobody needs one while it is live."""
        if self.live:
            return ""
        if self.hint is None or self.hint[0] is not self.folder:
            self.hint = self.folder, go_on.command(self.folder, self.standpoint)
        return self.hint[1]


def line_of(run: str, entry: Entry, scene: Scene) -> dict[str, Any] | None:
    """The line that tells of an entry; None for one that only a program wants."""
    said = harmless_line(entry_lines.sentence(entry, scene))
    if not said:
        return None
    text = width.cut(said, entry_lines.LONGEST)
    return {"run": run, "at": entry.at, "t": entry.t, "task": entry.task or None, "event": entry.event, "text": text}
