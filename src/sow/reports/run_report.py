"""Builds the report of a run from its journal, the states of its tasks and its session records.

The agents of a workflow are shown as tasks.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sow.domain.checks.task_checks import NO_SETUP, REFUSED_SETUP, waived_commands
from sow.domain.documents.state import MemberState, Run, Workflow
from sow.domain.text.units import listed
from sow.domain.workflows.member import is_removed_from_design
from sow.errors import SowError
from sow.reports import markdown, next_steps, task_rows
from sow.reports.next_steps import ANY_FOLDER, HintContext
from sow.reports.run_history import RunHistory, read_history, task_status
from sow.reports.run_records import TaskRecord
from sow.reports.timeline import TimelineBuilder
from sow.store.files import state_file
from sow.store.files.checkout_home import Home
from sow.store.projects import log, task_folder
from sow.store.projects import project as projects
from sow.store.runs import run_folder
from sow.store.runs.run_folder import RunFolder, is_workflow_run
from sow.store.workflows import archive
from sow.store.workflows.folder import WorkflowFolder
from sow.system.clock import epoch_of

Document = dict[str, Any]

# No next step is offered for such a run, because a command would act on the current workflow.
WORKFLOW_MISSING = (
    "the workflow of this run is in the archive or on another branch: its agents are shown from the journal"
)
MOST_FILES = 500
MOST_FAILED = 3  # checks that a remark names
SHARED_VALUES = ("status", "result", "assigned_agent")  # fields with the same few values in all tasks


def report_data(
    home: Home, folder: RunFolder, hint_context: HintContext = ANY_FOLDER, history: RunHistory | None = None
) -> Document:
    """Returns all data about a run. What cannot be read is named in the remarks."""
    run = folder.run
    live = run_folder.is_live(folder)
    history, remarks = (history, []) if history else _history(folder, now=time.time() if live else None)
    if not history.processes and not remarks:
        remarks.append("it has no journal: times, checks and reviews are known only in part")
    states, problems = _states(home, run)
    remarks += problems
    remarks += [f"{change} during the run; sow ignores it" for change in history.git_changes]
    idents = list(dict.fromkeys((*run["tasks"], *history.tasks)))
    turns, problems = task_rows.turns(home, run, history, idents)
    remarks += problems
    rows = task_rows.rows(run, history, states, turns, live=live)
    _add_line_comments(home, run, {row["id"]: row for row in rows if "iteration" in states.get(row["id"], ())})
    summary = {
        **_run(folder, live=live),
        "project_id": run["project_id"],
        "base": run["base"],
        "plans": [plan["path"] for plan in run["plans"]],
        "settings": dict(run["settings"]),
        "calls": len(history.processes),
        "recovered": history.recovered,
    }
    remarks += [*history.remarks, *_about_checks(run, states), *_final_remarks(run, states)]
    return {
        "run": summary,
        "counts": counts(rows),
        "tasks": rows,
        "totals": task_rows.totals(history, rows, turns),
        "by_agent": task_rows.group_totals(turns, lambda turn: turn.role),
        "by_executor": task_rows.group_totals(turns, lambda turn: turn.executor),
        "by_host": task_rows.group_totals([turn for turn in turns if turn.host], lambda turn: turn.host),
        "questions": _questions(home, run, history, states),
        "limits": history.limits,
        "stops": history.stops,
        "final": [dict(check) for check in run.get("final", ())],
        "remarks": remarks,
        "next": _next(folder, hint_context, history, summary, rows) if WORKFLOW_MISSING not in remarks else [],
    }


def _add_line_comments(home: Home, run: Run, rows: dict[str, Document]) -> None:
    """Adds the comments on lines that people made during the run to the rows of the project's tasks."""
    project = projects.load(home) if rows and not run_folder.is_workflow_run(run) else None
    for folder in task_folder.all_folders(home, project) if project else ():
        if folder.id not in rows:
            continue
        with suppress(SowError):  # a feedback file that somebody else wrote
            for entry in log.read_feedback(folder):
                head = {key: entry[key] for key in ("by", "at", "iteration")}
                comments = entry.get("comments", ()) if entry["at"] >= run["started_at"] else ()
                rows[folder.id]["comments"] += [{**head, **comment} for comment in comments]


def _about_baseline(failed: list[str]) -> str:
    """Returns what is the matter first, because a terminal may cut the rest."""
    if len(failed) == 1:
        return f"baseline: {failed[0]} fails before the work (expected for new work)"
    return f"baseline: {len(failed)} checks fail before the work (expected for new work): {listed(failed, MOST_FAILED)}"


def _about_checks(run: Run, states: dict[str, Document]) -> list[str]:
    """Returns remarks on check lists that failed before the work, a refused setup and results without a commit."""
    red = (baseline for baseline in run.get("baselines", ()) if not baseline["passed"])
    failed = list(dict.fromkeys(f"`{baseline.get('command', '')}`" for baseline in red))
    remarks = [_about_baseline(failed)] if failed else []
    remarks += [NO_SETUP] if REFUSED_SETUP in run.get("accepted", ()) else []
    evidence = [
        check for task in states.values() for check in task.get("evidence", ()) if check["at"] >= run["started_at"]
    ]
    if any(check.get("scope") == "folder" for check in evidence):
        remarks.append("checks ran in the shared folder (--isolation none): their results belong to no commit")
    return remarks


def _final_remarks(run: Run, states: dict[str, Document]) -> list[str]:
    """Returns remarks about the final tree: check lists that fail there, dropped merges, waived checks and reasons."""
    checks = list(run.get("final", ()))
    last_tree = checks[-1]["tree"] if checks else ""
    is_off = run["settings"].get("final_checks", "on") == "off"
    remarks = ["the final tree was not checked (--final-checks off)"] if is_off else []
    remarks += [
        f"final tree: `{check.get('command', '')}` of task {', '.join(check.get('tasks', ()))} fails"
        + (", as it did before this run began" if check.get("cause") == "before" else "")
        for check in checks
        if check["tree"] == last_tree and not check["passed"] and not _is_waived(check.get("command", ""), states)
    ]
    for ident in dict.fromkeys(merge["task"] for merge in run.get("dropped", ())):
        remarks.append(f"task {ident}: its merge was taken out, and is not delivered unless a later one is")
    for ident, state in states.items():
        for waiver in state.get("waivers", ()):
            reason = f": {waiver['reason']}" if "reason" in waiver else ""
            remarks.append(f"task {ident}: {_person(waiver['by'])} waived `{waiver['command']}`{reason}; it is not run")
        if "reason" in state.get("approval", {}):
            approval = state["approval"]
            remarks.append(f"task {ident}: {_person(approval['by'])} accepted it: {approval['reason']}")
    return remarks


def _person(name: str) -> str:
    return "you" if name == "person" else name


def _is_waived(command: str, states: dict[str, Document]) -> bool:
    return any(command in waived_commands(state) for state in states.values())


def _questions(home: Home, run: Run, history: RunHistory, states: dict[str, Document]) -> list[Document]:
    """Returns all questions with their answers, also those of a workflow that was archived since."""
    if history.questions and is_workflow_missing(home, run):
        states = archived_crew_tasks(home, run["project_id"])
    return [_question(question, states) for question in history.questions]


def _question(question: Document, states: dict[str, Document]) -> Document:
    """Returns one question. If it was answered while no run was live, the answer is in the task's state."""
    result = {**{key: question[key] for key in question if key != "moment"}, "answer": None}
    for answer in states.get(question["task"], {}).get("questions", ()):
        if answer["number"] != question["number"]:
            continue
        result["answer"] = answer["answer"]
        if question["answered_at"] is None:
            waited = max((epoch_of(answer["answered_at"]) or 0) - (epoch_of(question["asked_at"]) or 0), 0)
            result |= {"answered_at": answer["answered_at"], "origin": answer["answered_by"], "waited_seconds": waited}
    return result


def _next(
    folder: RunFolder, hint_context: HintContext, history: RunHistory, summary: Document, rows: list[Document]
) -> list[Document]:
    if folder.run["status"] != "ended" and folder.home.checkout.branch() != folder.run["branch"]:
        branch = shlex.quote(folder.run["branch"])
        return [{"text": "go back to the run's branch, then continue the run", "command": f"git switch {branch}"}]
    command = next_steps.resume_command(folder, hint_context, history)
    precondition = next_steps.precondition(folder, hint_context, history)
    shown_run = {**folder.run, "status": summary["status"], "live": summary["live"]}
    steps = next_steps.steps(shown_run, rows, command, precondition)
    if folder.run["status"] == "ended" and all(row["outcome"] in ("completed", "abandoned") for row in rows):
        steps += _last_steps(folder)
    return steps


def _last_steps(folder: RunFolder) -> list[Document]:
    """Returns the step after a run that ended, while its project is still on this branch."""
    try:
        is_here = projects.load(folder.home)["project_id"] == folder.run["project_id"]
    except SowError:
        return []
    step = next_steps.last_step(folder.home, [folder], with_review=False) if is_here else None
    return [step] if step else []


def counts(rows: list[Document]) -> dict[str, int]:
    """Counts all tasks, and the tasks of each outcome."""
    outcomes = [row["outcome"] for row in rows]
    return {"total": len(outcomes), **{name: outcomes.count(name) for name in (*task_rows.OUTCOMES, "unknown")}}


def status_of(folder: RunFolder, *, live: bool) -> str:
    """Returns the actual status: a killed run could not record that it stopped."""
    return "stopped" if folder.run["status"] == "running" and not live else folder.run["status"]


def run_summary(folder: RunFolder, history: RunHistory | None = None) -> Document:
    """Summarizes one run for a list, from its journal."""
    run = folder.run
    history = history or _history(folder, "run_started", "task_ended")[0]
    idents = {*run["tasks"], *history.tasks}
    unknown = run["status"] != "ended" or any(ident not in history.tasks for ident in idents)
    states = _states(folder.home, run)[0] if unknown else {}  # reading all states of a project takes time
    ended = [
        task_rows.task_outcome(run, history.tasks.get(ident) or TaskRecord(), states.get(ident, {}), running=False)
        for ident in idents
    ]
    return {
        **_run(folder, live=run_folder.is_live(folder)),
        "tasks": len(idents),
        **{outcome: ended.count(outcome) for outcome in ("completed", "failed", "waiting")},
    }


def _history(folder: RunFolder, *events: str, now: float | None = None) -> tuple[RunHistory, list[str]]:
    try:
        return read_history(folder, *events, now=now), []
    except SowError as error:
        return RunHistory(), [f"its journal cannot be read: {error.message}"]


def _states(home: Home, run: Run) -> tuple[dict[str, Document], list[str]]:
    """Returns the current states of the tasks or the crew, or none if the project or workflow is not here."""
    project_id = run["project_id"]
    try:
        if is_workflow_missing(home, run):
            return {}, [WORKFLOW_MISSING]
        crew = crew_states(home, project_id) if is_workflow_run(run) else None
        if crew is not None:
            return crew, []
        project = projects.load(home)
        if project["project_id"] != project_id:
            return {}, [
                f"the project of this run is not on branch {project['branch']}: its tasks are shown from the journal"
            ]
        return _tasks(task_folder.all_folders(home, project))
    except SowError as error:
        return {}, [f"its tasks are shown from the journal alone: {error.message}"]


def _tasks(folders: list[task_folder.TaskFolder]) -> tuple[dict[str, Document], list[str]]:
    """Returns the needed parts of each task's state, and the errors of those that cannot be read."""
    states: dict[str, Document] = {}
    broken: list[str] = []
    for folder in folders:
        try:
            task: Any = folder.task()
        except SowError as error:
            broken.append(error.message)
        else:  # whole states of ten thousand tasks would need too much memory
            state = {key: task[key] for key in task_rows.STATE_FIELDS if key in task}
            state |= {key: sys.intern(state[key]) for key in SHARED_VALUES if type(state.get(key)) is str}
            if "source" in state:
                state["source"] = {"id": task["source"]["id"]}
            if "reason" not in task.get("approval", ()):  # only an approval with a reason is shown
                state.pop("approval", None)
            states[folder.id] = state
    return states, broken


def _run(folder: RunFolder, *, live: bool) -> Document:
    run = folder.run
    return {
        "id": run["id"],
        "name": run["name"],
        "branch": run["branch"],
        "status": status_of(folder, live=live),
        "live": live,
        "started_at": run["started_at"],
        "ended_at": run.get("ended_at"),
        "exit": run.get("exit"),
    }


def render_markdown(document: Document) -> str:
    """Renders the report as Markdown."""
    return markdown.page(document)


def render_html(document: Document) -> str:
    """Renders the report as one HTML file."""
    from sow.reports import html_page

    return html_page.page(document)


def render_json(document: Document) -> str:
    """Renders the report as JSON."""
    import json

    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace").decode()  # a lone surrogate is escaped as in JSON


# To add a format, add one module, one entry here, and its name to the choices in cli/runs/runs.py.
FORMATS: dict[str, Callable[[Document], str]] = {"md": render_markdown, "json": render_json, "html": render_html}


def render(home: Home, folder: RunFolder, form: str, hint_context: HintContext = ANY_FOLDER) -> str:
    """Renders the report in a format. HTML also shows the timeline and the changed files."""
    if form != "html":
        return FORMATS[form](report_data(home, folder, hint_context))
    changes = _changes(folder)
    builder = TimelineBuilder(RunHistory(is_complete=True))
    try:
        builder.read(folder.journal())
    except SowError:  # the remarks of the report say why
        return render_html({**report_data(home, folder, hint_context), "changes": changes})
    timeline = builder.document(run=folder.id, live=run_folder.is_live(folder), now=time.time())
    builder.history.finish()
    document = report_data(home, folder, hint_context, builder.history)
    return render_html({**document, "timeline": timeline, "changes": changes})


def _changes(folder: RunFolder) -> Document | None:
    """Returns the files that a run changed, without the state of the project; None if its commits are not here."""
    from sow.gitwork import repository as repositories
    from sow.gitwork.repository import Repository

    repository = Repository(folder.home)
    ends = repositories.ends_of_run(repository, folder.run)
    if not ends:
        return None
    files, is_complete = repositories.changed_files(repository, *ends, MOST_FILES, repositories.WITHOUT_STATE)
    return {"files": files, "complete": is_complete}


def crew_states(home: Home, workflow_id: str) -> dict[str, dict[str, Any]] | None:
    """Returns the current states of the crew, or None if the run belongs to another workflow."""
    folder = WorkflowFolder(home)
    if not folder.exists():
        return None
    workflow = folder.workflow()
    if workflow["id"] != workflow_id:
        return None
    return crew_tasks(workflow)


def crew_tasks(workflow: Workflow) -> dict[str, dict[str, Any]]:
    """Returns every agent as a task, by its name, with the questions that were answered."""
    rows = {name: _task(member) for name, member in workflow["members"].items()}
    for name, row in rows.items():
        if is_removed_from_design(name, workflow):
            row["status"] = "abandoned"
    for answer in workflow.get("answers", []):
        if answer["member"] in rows:
            rows[answer["member"]]["questions"].append({**answer, "number": f"w{answer['number']}"})
    return rows


def archived_crew_tasks(home: Home, workflow_id: str) -> dict[str, dict[str, Any]]:
    """Returns the agents of an archived workflow as tasks, or none if it is not in the archive."""
    from sow.store.validators.workflow import validate  # few reports are about an archived workflow

    for name in archive.names(home):
        with suppress(SowError):
            path = f"{WorkflowFolder(home).archive_folder}/{name}/{archive.STATE}"
            workflow: Workflow = state_file.read(home, path, validate)["workflow"]
            if workflow["id"] == workflow_id:
                return crew_tasks(workflow)
    return {}


def _task(member: MemberState) -> dict[str, Any]:
    asks = "question" in member
    status = "paused" if asks and member["status"] != "failed" else task_status(member["status"])
    task: dict[str, Any] = {
        "name": member["task_id"],
        "assigned_agent": member["agent"],
        "status": status,
        "iteration": member["iteration"],
        "depends_on": member["dependencies"],
        "retry_count": member["rounds"],
        "questions": [],
    }
    if asks:
        task["question"] = {"number": f"w{member['question']['number']}", "text": member["question"]["text"]}
    return task


def is_workflow_missing(home: Home, run: Run) -> bool:
    """Returns whether the workflow of a run is not here, because it is archived or on another branch."""
    if not is_workflow_run(run):
        return False
    folder = WorkflowFolder(home)
    try:
        return not folder.exists() or folder.workflow()["id"] != run["project_id"]
    except SowError:  # the workflow is here but broken
        return False
