"""The rows of a board: each task of a project, or agent of a workflow, with what its run is doing on it."""

from __future__ import annotations

from sow.domain import graph
from sow.domain.forecast import GUESS
from sow.domain.task import ENDED_STATUSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from sow.dashboard.run_scene import RunScene

    Row = dict[str, Any]

CREW = "workflow"  # stands where a task's phase stands


def of_task(task: Mapping[str, Any], *, phase: str, notes: int, executor: str | None, run: RunScene | None) -> Row:
    """One task; `wave` and `waits_for` are told by the tasks around it."""
    ident = task["id"]
    needs = list(dict.fromkeys((*task["depends_on"], *task.get("after", ()))))
    question = task.get("question")
    return {
        "id": ident,
        "plan_id": task["source"]["id"] if "source" in task else None,
        "name": task["name"],
        "agent": task["assigned_agent"],
        "executor": executor,
        "phase": phase,
        "status": task["status"],
        "result": task.get("result"),
        "iteration": task["iteration"],
        "needs": needs,
        "wave": 0,
        "priority": task.get("priority", "medium"),
        "estimated_minutes": task.get("estimated_minutes"),
        **_work(ident, run, task.get("duration")),
        "question": {"number": question["number"], "text": question["text"]} if question else None,
        "open_notes": notes,
        "waits_for": [],
        "updated_at": task.get("updated_at"),
    }


def _work(ident: str, run: RunScene | None, duration: float | None) -> Row:
    """What a run does on it now, and what that took so far."""
    if run is None or ident not in run.timeline.lanes:
        return {"running": False, "step": "", "since": None, "seconds": duration or 0, "cost_usd": None}
    lane, spend = run.timeline.lanes[ident], run.scene.spend.get(ident)
    work = run.scene.running.get(ident) if run.live else None
    return {
        "running": work is not None,
        "step": work.step if work else "",
        "since": lane.begun if work else None,
        "seconds": round(lane.active, 3),
        "cost_usd": round(spend.usd, 6) if spend and spend.known else None,
    }


class Web:
    """Who needs whom; made again only when that changes."""

    __slots__ = ("after", "needs", "wave")

    def __init__(self) -> None:
        self.after: dict[str, list[str]] = {}
        self.needs: dict[str, tuple[str, ...]] = {}
        self.wave: dict[str, int] = {}

    def learn(self, rows: Sequence[Row]) -> bool:
        """Take the needs of all rows; whether they are others than before."""
        known = {row["id"] for row in rows}
        needs = {row["id"]: tuple(each for each in row["needs"] if each in known) for row in rows}
        if needs == self.needs:
            return False
        self.needs, self.after = needs, graph.followers(needs)
        self.wave = {ident: index for index, level in enumerate(graph.waves(needs)) for ident in level}
        return True

    def around(self, idents: set[str]) -> set[str]:
        """These, and those that need one of them: what they wait for may be another now."""
        return idents.union(*(self.after.get(each, ()) for each in idents))

    def tell(self, row: Row, statuses: Mapping[str, str]) -> Row:
        """The row with its wave and what it still waits for."""
        row["wave"] = self.wave.get(row["id"], 0)
        row["waits_for"] = []
        if row["status"] not in ENDED_STATUSES:
            row["waits_for"] = [each for each in row["needs"] if statuses.get(each) != "completed"]
        return row

    def critical(self, rows: Sequence[Row]) -> list[str]:
        """The critical path of what is left; of all, when nothing is left."""
        sound = [row for row in rows if row["id"] in self.wave]  # who is on a circle is on no path
        left = [row for row in sound if row["status"] not in ENDED_STATUSES] or sound
        minutes = {row["id"]: row["estimated_minutes"] or GUESS for row in left}
        needs = {ident: [each for each in self.needs[ident] if each in minutes] for ident in minutes}
        return graph.critical_path(needs, minutes)
