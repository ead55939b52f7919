"""Makes the rows of the task table: tasks of a project and agents of a workflow, with their current work."""

from __future__ import annotations

from sow.domain.plans import graph
from sow.domain.runs.forecast import GUESS
from sow.domain.task import ENDED_STATUSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from sow.dashboard.data.run_follower import RunFollower

    Row = dict[str, Any]

CREW = "workflow"  # shown in place of a phase


def task_row(task: Mapping[str, Any], *, phase: str, notes: int, executor: str | None, run: RunFollower | None) -> Row:
    """Returns the row of one task; `wave` and `waits_for` depend on other tasks and are filled in later."""
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


def _work(ident: str, run: RunFollower | None, duration: float | None) -> Row:
    """Returns what a run does on the task now, and its time and cost so far."""
    if run is None or ident not in run.timeline.lanes:
        return {"running": False, "step": "", "since": None, "seconds": duration or 0, "cost_usd": None}
    lane, spend = run.timeline.lanes[ident], run.live_run.spend.get(ident)
    work = run.live_run.running.get(ident) if run.live else None
    return {
        "running": work is not None,
        "step": work.step if work else "",
        "since": lane.begun if work else None,
        "seconds": round(lane.active, 3),
        "cost_usd": round(spend.usd, 6) if spend and spend.known else None,
    }


class Dependencies:
    """The dependencies between rows; computed again only if they change."""

    __slots__ = ("dependents", "needs", "wave")

    def __init__(self) -> None:
        self.dependents: dict[str, list[str]] = {}
        self.needs: dict[str, tuple[str, ...]] = {}
        self.wave: dict[str, int] = {}

    def update(self, rows: Sequence[Row]) -> bool:
        """Takes the dependencies of all rows; returns whether they changed."""
        idents = {row["id"] for row in rows}
        needs = {row["id"]: tuple(need for need in row["needs"] if need in idents) for row in rows}
        if needs == self.needs:
            return False
        self.needs, self.dependents = needs, graph.followers(needs)
        self.wave = {ident: index for index, level in enumerate(graph.waves(needs)) for ident in level}
        return True

    def with_dependents(self, idents: set[str]) -> set[str]:
        """Returns these ids and those of tasks that need one of them, because what they wait for may have changed."""
        return idents.union(*(self.dependents.get(ident, ()) for ident in idents))

    def fill_row(self, row: Row, statuses: Mapping[str, str]) -> Row:
        """Fills in a row's wave and the tasks that it still waits for."""
        row["wave"] = self.wave.get(row["id"], 0)
        row["waits_for"] = []
        if row["status"] not in ENDED_STATUSES:
            row["waits_for"] = [need for need in row["needs"] if statuses.get(need) != "completed"]
        return row

    def critical(self, rows: Sequence[Row]) -> list[str]:
        """Returns the critical path of the unfinished tasks; of all tasks if none is unfinished."""
        acyclic = [row for row in rows if row["id"] in self.wave]  # a task in a dependency cycle is on no path
        remaining = [row for row in acyclic if row["status"] not in ENDED_STATUSES] or acyclic
        minutes = {row["id"]: row["estimated_minutes"] or GUESS for row in remaining}
        needs = {ident: [need for need in self.needs[ident] if need in minutes] for ident in minutes}
        return graph.critical_path(needs, minutes)
