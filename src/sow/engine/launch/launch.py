"""Runs a plan, from its import to the end of the run (the use case of `sow run`)."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any, Protocol

from sow.domain import task as task_rules
from sow.domain.checks.task_checks import Consent
from sow.domain.documents.state import ProjectState
from sow.domain.plans.plan import Difference
from sow.domain.task import ENDED_STATUSES
from sow.engine import consent
from sow.engine.launch import preflight
from sow.engine.launch.run_request import RunRequest
from sow.engine.runs.loop import execute
from sow.engine.runs.plan_run import PlanLoop
from sow.engine.runs.run_context import RunContext, open_run_folder, recover_project, start_fields
from sow.errors import DONE, Interrupted, InvalidFile, SowError
from sow.reports import run_history
from sow.store import git_watch
from sow.store.files import checkout_home as homes
from sow.store.files.checkout_home import Home
from sow.store.layout import create_missing
from sow.store.projects import plan_import, restore, task_folder, tasks
from sow.store.projects import project as projects
from sow.store.projects.plan_import import PlanImport
from sow.store.runs import run_folder
from sow.store.runs.run_folder import RunFolder
from sow.system.process.child_process import run_to_end
from sow.system.terminal import err, escape_line, out


class LiveView(Protocol):
    """Shows a run in progress."""

    def tell(self, entry: dict[str, Any]) -> None: ...
    def tick(self, now: float) -> None: ...
    def ring_bell(self) -> None: ...
    def load_past(self, entries: Iterable[Mapping[str, Any]]) -> None: ...


class Display(Protocol):
    """What the caller shows and asks during a run."""

    def live(self, expected: Mapping[str, float]) -> AbstractContextManager[LiveView]: ...
    def write_back(self) -> None: ...
    def ask_questions(self, tasks: Collection[str]) -> bool: ...


def run_plan(request: RunRequest, display: Display) -> tuple[int, RunFolder | None]:
    """Runs the plan, and again if the user answers its questions; returns the exit code, and the run if there was one.

    Questions are asked under the claim: a second terminal may answer one that waits, but not continue the run.
    """
    try:
        return _run_until_answered(request, display)
    finally:
        run_to_end(request.turns.end())


def _run_until_answered(request: RunRequest, display: Display) -> tuple[int, RunFolder | None]:
    is_answered = True
    while is_answered:
        with request.home.claim("run", purpose=f"sow run of {request.reading.plan.name[:60]}") as claim:
            if projects.exists(request.home):  # nothing is written if another checkout runs the project
                with suppress(InvalidFile):
                    _begin_turns(request, projects.load_anywhere(request.home))
            project, intake, agreed, accepted = _prepare(request)
            _begin_turns(request, project)
            _print_notes(run_to_end(request.turns.keep_late(request.home)))
            selected = preflight.selected_tasks(request, project, intake.paths.values())
            chosen = [task["id"] for task in selected]
            if request.retry_failed:
                _retry_failed(request, [task["id"] for task in selected if task["status"] == "failed"])
                request.retry_failed = False  # only once, also if the run continues after an answer
            finished = _finished_text(request.home, project, intake, chosen)
            if finished:
                _write_back(display)
                (err if request.json else out)(finished)
                return 0, None
            readable = task_folder.load_readable(request.home, project)[0]
            # Restored state can have commands that the first check did not see.
            commands = consent.commands_of_tasks((task for _, task in readable), chosen)
            agreed = preflight.ask_all(request, agreed, commands)
            folder, is_continued = open_run_folder(
                request.home,
                project["project_id"],
                claim=claim,
                name=request.reading.plan.name[:200] or "plan",
                branch=project["branch"],
                plans=[{"path": path, "digest": intake.digests[name]} for name, path in intake.paths.items()],
                tasks=chosen,
                settings=request.settings,
            )
            preflight.record_setup(folder, accepted)
            remarks = _execute(request, folder, project, agreed, display, is_continued=is_continued)
            _write_back(display)
            _print_notes(remarks)
            preflight.offer_undo(request.home, yes=request.yes or request.json)
            code, is_answered = _ask_questions(request, folder, display)
        if is_answered:  # not the run's own object, which would undo answers of other processes
            cwd = request.reading.cwd
            request.home = homes.locate(option=request.home.root, environment=request.environment, cwd=cwd)
    return code, folder


def _begin_turns(request: RunRequest, project: ProjectState) -> None:
    """Raises if another checkout runs the project on the hosts of this call."""
    steps = request.turns.begin(request.home, project["project_id"], request.command(take_over=""))
    run_to_end(steps)


def _prepare(request: RunRequest) -> tuple[ProjectState, PlanImport, Consent, list[str]]:
    """Asks everything, repairs the state and imports the plan; returns what the user agreed to and accepted, too."""
    home = request.home
    if projects.exists(home):
        with suppress(InvalidFile):  # a broken project may be restored later; one of another version is refused
            projects.load_anywhere(home)
    diffs, agreed = preflight.check_and_ask(request)
    accepted = preflight.ask_about_setup(request)
    agreed = agreed.with_more(consent.load_consents(home, request.config, request.environment).remembered)
    preflight.leave_main(home, preflight.branch_of(request.reading))
    if create_missing(home):
        err(escape_line(f"created {os.path.join(home.root, '.sow')}"))
    _print_notes(_recover_state(request))
    if not request.is_isolated and projects.exists(home):
        preflight.refuse_leftover_worktrees(request, projects.load(home))
    return *_import(request, diffs), agreed, accepted


def _write_back(display: Display) -> None:
    """Writes the statuses into the plan; if that fails, the run still has its report and its exit code."""
    try:
        display.write_back()
    except SowError as error:
        _print_notes([f"the plan could not be updated: {error.message} ({error.hint})"])


def _print_notes(notes: list[str]) -> None:
    for note in notes:
        err(f"note: {escape_line(note)}")


def _recover_state(request: RunRequest) -> list[str]:
    """Repairs state after a crash or a git command of the user; returns remarks about it."""
    home = request.home
    files = restore.restore_run(home)
    notes = [f"state was missing or older, and came back from its last copy: {', '.join(files)}"] if files else []
    if projects.exists(home):
        notes += recover_project(home, projects.load(home), request.environment)
    return notes


def _import(request: RunRequest, agreed: list[Difference]) -> tuple[ProjectState, PlanImport]:
    """Imports the plan's tasks; asks again if the changes differ from those that the user saw."""
    home, reading = request.home, request.reading
    intake = reading.intake(home)
    if not projects.exists(home):
        name, stages = reading.plan.name[:100] or "Plan", [task_rules.DEFAULT_PHASE]
        plan_import.prepare_project(home, name=name, phases=stages, actor=request.actor)()
    diffs = plan_import.propose(home, projects.load(home), intake)
    if plan_import.summary(diffs) != plan_import.summary(agreed):
        preflight.agree_to_changes(diffs, request)
    plan_import.apply(home, intake, diffs, actor=request.actor)
    return projects.load(home), intake


def _retry_failed(request: RunRequest, failed: list[str]) -> None:
    """Puts failed tasks back to work."""
    for ident in failed:
        tasks.set_status(request.home, ident, "in_progress", actor=request.actor)
    err(f"trying again: task {', '.join(failed)}" if failed else "note: no task has failed")


def _finished_text(home: Home, project: ProjectState, intake: PlanImport, chosen: list[str]) -> str:
    """Returns what to say if all tasks have ended and no run has to continue, else an empty text."""
    statuses = list(tasks.statuses_of(home, project, chosen).values())
    unfinished = run_folder.unfinished_run(home, project["project_id"])
    is_continued = unfinished is not None and [plan["path"] for plan in unfinished.run["plans"]] == [
        *intake.paths.values()
    ]
    if is_continued or len(statuses) < len(chosen) or not set(statuses) <= set(ENDED_STATUSES):
        return ""
    counts = [f"{statuses.count(status)} {status}" for status in ENDED_STATUSES if status in statuses]
    return f"nothing to do: {', '.join(counts) or 'the plan has no tasks'}"


def _execute(
    request: RunRequest,
    folder: RunFolder,
    project: ProjectState,
    agreed: Consent,
    display: Display,
    *,
    is_continued: bool,
) -> list[str]:
    """Executes the run, from its first journal entry to its last; returns remarks about its end."""
    home = folder.home
    with git_watch.sealed_repository(home), display.live(run_history.expected_minutes(folder)) as live:
        if is_continued:
            live.load_past(folder.journal())
        run_context = RunContext(
            home,
            request.config,
            request.environment,
            request.agents,
            folder,
            [live.tell],
            agreed,
            judges=request.reviewers,
            verbs=request.verbs,
            turns=request.turns,
        )
        started = {
            **start_facts(folder, project),
            "asked": [*request.typed_options],
            "recovered": is_continued,
            "sandbox": run_context.sandbox_text(),
        }
        return execute(run_context, PlanLoop, started=started, tick=live.tick, bell=live.ring_bell)


def start_facts(folder: RunFolder, project: ProjectState) -> dict[str, object]:
    """Returns the facts about the run and its tasks for the first journal entry."""
    chosen = [
        {
            "id": task["id"],
            "number": task["source"]["id"] if "source" in task else "",
            "name": task["name"],
            "agent": task["assigned_agent"],
            "needs": [*task["depends_on"], *task.get("after", ())],
            "estimated_minutes": task.get("estimated_minutes"),
            "status": task["status"],
        }
        for _, task in task_folder.load_readable(folder.home, project)[0]
        if task["id"] in folder.run["tasks"]
    ]
    return start_fields(folder.run, chosen)


def _ask_questions(request: RunRequest, folder: RunFolder, display: Display) -> tuple[int, bool]:
    """Asks the run's open questions on a terminal; returns the exit code, and whether one has an answer now."""
    code = folder.run["exit"]
    if request.json or code in (DONE, Interrupted.exit_code):
        return code, False
    try:
        return code, display.ask_questions(folder.run["tasks"])
    except KeyboardInterrupt:  # the question stays open, and the report says how to answer it
        err("")
        return Interrupted.exit_code, False
