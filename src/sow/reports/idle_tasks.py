"""Describes a task in one document, with the command that continues it, and finds tasks that nobody continues.

A task of a run continues with the command of that run, any other task with its worker. After a crash an agent may still
run, and its turn must end first.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from sow.domain import task as task_rules
from sow.domain.documents.state import ProjectState, Task
from sow.domain.inbox import SHOW_RUN, Item, Step
from sow.domain.inputs import agent_id
from sow.domain.task import answer_command, is_approved, require_dependencies_done
from sow.errors import SowError
from sow.reports.next_steps import HintContext, task_resume_command
from sow.reports.run_history import RunHistory
from sow.store.files.checkout_home import Home
from sow.store.projects import log, notes
from sow.store.projects import project as projects
from sow.store.projects.task_folder import TaskFolder
from sow.store.projects.tasks import statuses_of
from sow.store.runs.run_folder import RunFolder


def _obstacle(folder: TaskFolder, project: ProjectState, task: Task) -> str:
    """Says what keeps a pending task from starting."""
    if task["status"] != "pending":
        return ""
    try:
        task_rules.require_begun(project["phases"], folder.phase)
        if task["depends_on"]:
            require_dependencies_done(task, statuses_of(folder.home, project, task["depends_on"]))
    except SowError as error:
        return f"{error.message}: {error.hint}"
    return ""


def task_document(folder: TaskFolder, project: ProjectState, task: Task, continues: str = "") -> dict[str, Any]:
    """Returns everything about a task; `continues` says to everybody but its worker who continues it."""
    home = folder.home
    try:
        description = home.read(folder.description_path)
    except FileNotFoundError:
        description = ""
    return {
        **task,
        "phase": folder.phase,
        "agent_id": agent_id(task["assigned_agent"], task["iteration"]),
        "path": folder.folder,
        "description": description,
        "project": {"name": project["name"], "description": project["description"]},
        "memories": projects.read_memories(home),
        "feedback": log.read_feedback(folder),
        "notes": notes.load_notes(folder),
        "log": log.read(home, folder.log_path),
        "next": task_next_step(task, bool(notes.unresolved(folder)), _obstacle(folder, project, task), continues),
    }


def answer_of(task: Task) -> str:
    """Returns the command that answers a task."""
    question = task.get("question")
    return answer_command(str(question["number"]), question["text"]) if question else answer_command(task["id"], "")


def task_next_step(task: Task, gated: bool, obstacle: str = "", continues: str = "") -> str:
    """Returns the next step in one sentence, for the worker or the person in charge."""
    ident = task["id"]
    if obstacle:
        return obstacle
    if task["status"] == "in_progress" and gated:
        return f"resolve or escalate the open notes: sow note list --task {ident}"
    move = f"sow task set {ident} status"
    if task["status"] == "needs_review" and is_approved(task):
        return "it is approved: let a run merge it (sow run)"
    if continues and task["status"] in ("pending", "in_progress", "failed"):
        return continues
    if continues and task["status"] == "needs_review":
        return f"review it: sow approve {ident}, or {continues}"
    return {
        "pending": f"start: {move} in_progress",
        "in_progress": f"do the work, log it (sow log --task {ident} …), then: {move} needs_review",
        "needs_review": f'review it: sow approve {ident}, or sow feedback add {ident} "…" and {move} in_progress',
        "paused": f"answer: {answer_of(task)}",
        "failed": f"read the log, then retry: {move} in_progress",
        "completed": "nothing: it is completed",
        "abandoned": "nothing: it is abandoned",
    }[task["status"]]


class ProjectRuns:
    """The runs of a project or workflow, and the commands that continue them.

    They are read when they are needed; a caller that has read all runs gives them as `listed`, oldest first.
    """

    def __init__(
        self,
        home: Home,
        hint_context: HintContext,
        owner: str = "",
        *,
        listed: list[RunFolder] | None = None,
        histories: Mapping[str, RunHistory] | None = None,
    ) -> None:
        self.home = home
        self.hint_context = hint_context
        self.owner = owner  # "" for the project of the checkout
        self._listed = listed
        self.histories = histories or {}  # of runs whose journal is read already
        self._runs: list[RunFolder] | None = None
        self._commands: dict[str, str] = {}

    def _newest_first(self) -> list[RunFolder]:
        if self._runs is None:
            from sow.store.projects import project as projects  # seldom needed
            from sow.store.runs import run_folder

            owner = self.owner or projects.load(self.home)["project_id"]
            try:
                listed = run_folder.all_folders(self.home) if self._listed is None else self._listed
            except NotADirectoryError:  # a broken folder of runs; `sow doctor` names it
                listed = []
            self._runs = [run for run in reversed(listed) if run.run["project_id"] == owner]
        return self._runs

    def unfinished(self) -> RunFolder | None:
        """Returns the run that has not ended."""
        return next((run for run in self._newest_first() if run.run["status"] != "ended"), None)

    def live_tasks(self) -> list[str]:
        """Returns the tasks of the run in progress."""
        from sow.store.runs import run_folder

        run = self.unfinished()
        return run.run["tasks"] if run is not None and run_folder.has_process(run) else []

    @cached_property
    def last_step(self) -> Step | None:
        """The step after the last run of the project, if that run has ended."""
        from sow.reports import next_steps  # seldom needed

        return next_steps.last_step(self.home, self._newest_first())

    def run_of(self, task: str) -> RunFolder | None:
        """Returns the last run that has this task."""
        return next((run for run in self._newest_first() if task in run.run["tasks"]), None)

    def command(self, run: RunFolder | None) -> str:
        """Returns the command that continues a run, or "" without a run."""
        if run is None:
            return ""
        if run.id not in self._commands:
            from sow.reports.next_steps import resume_command  # seldom needed

            history = self.histories.get(run.id)
            self._commands[run.id] = resume_command(run, self.hint_context, history)
        return self._commands[run.id]

    def task_command(self, folder: TaskFolder, task: Task) -> str:
        """Returns the command that continues a task: that of its run, or the one that starts or resumes its worker."""
        run = self.run_of(task["id"])
        if run is not None:
            if task["status"] != "failed":
                return self.command(run)
            if task["id"] in self.live_tasks():  # no second run can start
                return f"sow task set {task['id']} status in_progress"
            return f"{self.command(run)} --retry-failed"
        if is_approved(task) and "source" in task:  # the run was in another clone
            return self.plan_command(task)

        return task_resume_command(folder, task)

    def plan_command(self, task: Task) -> str:
        """Returns the command that runs the plan of an imported task."""
        sow = self.hint_context.sow_command(self.home.root)
        return shlex.join([*sow, "run", self.hint_context.plan_path(self.home.root, task["source"]["plan"])])


def idle_tasks(tasks: Iterable[tuple[TaskFolder, Task]], runs: ProjectRuns) -> tuple[list[str], dict[str, str]]:
    """Returns the idle tasks whose earlier turn still runs, and the command for each of the others.

    The run in progress continues its tasks. A task without a run and a session was started by hand.
    """
    idle = [
        (folder, task) for folder, task in tasks if _is_idle(folder, task, runs) and task["id"] not in runs.live_tasks()
    ]
    running = _still_running(idle)
    return running, {task["id"]: runs.task_command(folder, task) for folder, task in idle if task["id"] not in running}


def continuation(folder: TaskFolder, task: Task, runs: ProjectRuns) -> tuple[str, str]:
    """Returns the run or the worker that will continue a task ("" if none will), and the command to call."""
    if task["id"] in runs.live_tasks() and task["status"] != "failed":
        return "the active run continues it", ""
    command = runs.task_command(folder, task)
    if runs.run_of(task["id"]):
        return "try it again" if task["status"] == "failed" else "continue its run", command
    return "its worker is still in its turn; resume it then" if folder.home.task_holder(task["id"]) else "", command


def continuation_text(folder: TaskFolder, task: Task, runs: ProjectRuns) -> str:
    """Tells a person who continues a task and how to watch it, or the command that starts or resumes its worker."""
    text, command = continuation(folder, task, runs)
    if task["status"] == "needs_review" and (text or "session_id" not in task):
        return ""  # the work is sent back by other commands
    is_live = task["id"] in runs.live_tasks()
    if task["status"] == "in_progress" and (is_live or folder.home.task_holder(task["id"])):
        return f"an agent works on it; to watch it: sow watch{'' if is_live else ' ' + task['id']}"
    text = text or ("resume its worker" if "session_id" in task else "start a worker on it")
    return f"{text}: {command}" if command else text


def _still_running(idle: Iterable[tuple[TaskFolder, Task]]) -> list[str]:
    """Lists the tasks whose last turn never ended and still has processes."""
    marks = {
        task["id"]: mark
        for folder, task in idle
        if task["status"] == "in_progress" and "session_id" in task and (mark := _mark(folder, task))
    }
    if not marks:
        return []
    from sow.system.process import process_tree  # needed only after a crash

    living = process_tree.live_marks(marks.values())
    return [ident for ident, mark in marks.items() if mark in living]


def _mark(folder: TaskFolder, task: Task) -> str:
    """Returns the mark of a session whose last turn has no end, or "" if there is none or it cannot be read."""
    from sow.store.runs import sessions  # needed only after a crash

    try:
        record = sessions.current(folder, task["session_id"])
    except SowError:
        return ""
    return record.session["mark"] if record is not None and record.has_open_turn else ""


def name_commands(items: Iterable[Item], runs: ProjectRuns) -> None:
    """Puts the command that continues the unfinished run, or a failed task, into its inbox item."""
    for item in items:
        if item["do"] == SHOW_RUN:
            item["do"] = runs.command(runs.unfinished()) or SHOW_RUN
        elif item["kind"] == "failed" and item["task"]:
            from sow.store.projects import project as projects
            from sow.store.projects import task_folder

            folder = task_folder.find(runs.home, projects.load(runs.home), item["task"])
            item["do"] = runs.task_command(folder, folder.task())


def _is_idle(folder: TaskFolder, task: Task, runs: ProjectRuns) -> bool:
    begun = task["status"] == "in_progress" or (task["status"] == "needs_review" and is_approved(task))
    return begun and ("session_id" in task or bool(runs.run_of(task["id"]))) and not folder.home.task_holder(task["id"])
