"""Makes the rows of the task table: tasks of a project and agents of a workflow, with their current work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sow.dashboard.data.runs import RunFollower
from sow.dashboard.data.task_cache import ExecutorCache
from sow.domain.documents.state import WorkflowState
from sow.domain.plans import graph
from sow.domain.plans.graph import GUESS
from sow.domain.task import ENDED_STATUSES, unresolved_notes
from sow.domain.workflows.member import shown_status
from sow.errors import SowError
from sow.reports import run_report
from sow.store.files.checkout_home import Home
from sow.store.files.file_cache import fingerprint
from sow.store.workflows import summary
from sow.store.workflows.folder import WorkflowFolder

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
        "result": task.get("result") or None,
        "check_failed": _only_check_failed(task),
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


def _only_check_failed(task: Mapping[str, Any]) -> bool:
    """Returns whether a result is RED because of a check, and not because of a review."""
    reviews = [review["verdict"] for review in task.get("reviews", ()) if review["iteration"] == task["iteration"]]
    return task.get("result") == "RED" and "RED" not in reviews


def _work(ident: str, run: RunFollower | None, duration: float | None) -> Row:
    """Returns what a run does on the task now, and its time and cost so far."""
    record = run.history.tasks.get(ident) if run else None
    if run is None or record is None:
        return {"running": False, "judge": None, "step": "", "since": None, "seconds": duration or 0, "cost_usd": None}
    running = run.live and ident in run.history.running
    return {
        "running": running,
        "judge": _judge(ident, run) if running else None,
        "step": record.step if running else "",
        "since": record.begun if running else None,
        "seconds": round(record.active, 3),
        "cost_usd": round(record.spend.usd, 6) if record.spend and record.spend.known else None,
    }


def _judge(ident: str, run: RunFollower) -> str | None:
    """Returns the reviewer that reads the task now, with its executor."""
    for turn in run.history.open_turns:
        if turn.task == ident and turn.span and turn.span["kind"] == "review":
            return f"{turn.role} on {turn.shown_executor}"
    return None


class Dependencies:
    """The dependencies between rows; computed again only if they change."""

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


class Crew:
    """The workflow of a checkout as rows; it is read again only if its state, its view or its plan changed."""

    def __init__(self, home: Home) -> None:
        self.folder = WorkflowFolder(home)
        self.loaded: WorkflowState | None = None
        self.summary: dict[str, Any] | None = None
        self.notes: dict[str, int] = {}
        self.executors = ExecutorCache()
        self.marks: Any = (None, None, None)

    def refresh(self) -> bool:
        """Reads the workflow if it changed; returns whether it did."""
        folder = self.folder
        marks = tuple(fingerprint(path) for path in (folder.state_path, folder.view_path, folder.plan_path))
        if marks == self.marks:
            return False
        self.marks = marks
        self.summary = summary.summary(folder.home)
        try:
            self.loaded = folder.load() if folder.exists() else None
        except SowError:  # the summary says what is wrong
            self.loaded = None
        notes_by_agent = folder.notes(self.loaded) if self.loaded else {}
        self.notes = {name: len(unresolved_notes(notes)) for name, notes in notes_by_agent.items()}
        return True

    def rows(self, run: RunFollower | None) -> list[Row]:
        """Returns one row per agent."""
        if self.loaded is None:
            return []
        workflow = self.loaded["workflow"]
        rows = []
        for name, task in run_report.crew_tasks(workflow).items():
            member = workflow["members"][name]
            row_task = {**task, "id": name, "updated_at": member["last_update"]}
            state = {**row_task, "session_id": member.get("session_id")}
            executor = self.executors.executor(self.folder.agent_folder(name, self.loaded), state, run)
            row = task_row(row_task, phase=CREW, notes=self.notes.get(name, 0), executor=executor, run=run)
            rows.append({**row, "own_status": shown_status(member)})
        return rows
