"""The report of a run: its journal, the states of its tasks and the records of its sessions as one plain document."""

from __future__ import annotations

from sow.domain.advice import broken_by_user
from sow.engine import go_on, recorded_turns, report_crew, report_next, report_page, report_tasks, report_totals
from sow.engine.call import epoch
from sow.engine.history import History
from sow.engine.standpoint import NOWHERE, Standpoint
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import project as projects
from sow.store import runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sow.domain.shapes import Run
    from sow.store.home import Home
    from sow.store.runs import RunFolder

    Document = dict[str, Any]

# Nothing can be done about such a run: a command would meet the workflow that is here now.
GONE = (
    "the workflow of this run is not here, but in the archive or on another branch: its agents are told by the journal"
)


def facts(home: Home, folder: RunFolder, standpoint: Standpoint = NOWHERE) -> Document:
    """All that is known of a run; what cannot be read is said among its remarks, and is no obstacle."""
    run = folder.run
    history, remarks = _history(folder)
    states, more = _states(home, run)
    remarks += more
    remarks += [f"{each} during the run; sow ignores it" for each in history.git_changes]
    live = runs.is_live(folder)
    idents = list(dict.fromkeys((*run["tasks"], *history.tasks)))
    turns, more = recorded_turns.turns(home, run, history, idents)
    remarks += more
    rows = report_tasks.rows(run, history, states, turns, live=live)
    known = _run(folder, history, live=live)
    remarks += [*history.remarks, *_about_checks(run, states), *_final_words(run, states)]
    return {
        "run": known,
        "counts": counts(rows),
        "tasks": rows,
        "totals": report_totals.totals(history, rows, turns),
        "by_agent": report_totals.groups(turns, lambda turn: turn.role),
        "by_executor": report_totals.groups(turns, lambda turn: turn.executor),
        "questions": [_question(each, states) for each in history.questions],
        "limits": history.limits,
        "stops": history.stops,
        "final": [dict(each) for each in run.get("final", ())],
        "remarks": remarks,
        "next": _next(folder, standpoint, history, known, rows) if GONE not in remarks else [],
    }


def _about_checks(run: Run, states: dict[str, Document]) -> list[str]:
    """Which check lists failed before any work was done, and whether results belong to no commit."""
    failed = (each for each in run.get("baselines", ()) if not each["passed"])
    red = list(dict.fromkeys(f"`{each.get('command', '')}`" for each in failed))
    verb = "fails" if len(red) == 1 else "fail"
    said = [f"baseline: {', '.join(red)} {verb} before the work (expected for new work)"] if red else []
    evidence = [
        each for task in states.values() for each in task.get("evidence", ()) if each["at"] >= run["started_at"]
    ]
    if any(each.get("scope") == "folder" for each in evidence):
        said.append("checks ran in the shared folder (--isolation none): their results belong to no commit")
    return said


def _final_words(run: Run, states: dict[str, Document]) -> list[str]:
    """What there is to say about the final tree: lists that fail there, and checks that a person waived."""
    found = list(run.get("final", ()))
    last = found[-1]["tree"] if found else ""
    off = run["settings"].get("final_checks", "on") == "off"
    said = ["the final tree was not checked (--final-checks off)"] if off else []
    said += [
        f"final tree: `{each.get('command', '')}` of task {', '.join(each.get('tasks', ()))} fails"
        + (", as it did before this run began" if each.get("cause") == "before" else "")
        for each in found
        if each["tree"] == last and not each["passed"] and not _is_waived(each.get("command", ""), states)
    ]
    for ident in dict.fromkeys(each["task"] for each in run.get("dropped", ())):
        said.append(f"task {ident}: its merge was taken out, and is not delivered unless a later one is")
    for ident, state in states.items():
        for each in state.get("waivers", ()):
            who = "you" if each["by"] == "person" else each["by"]
            said.append(f"task {ident}: {who} waived `{each['command']}`; it is not run")
    return said


def _is_waived(command: str, states: dict[str, Document]) -> bool:
    return any(each["command"] == command for state in states.values() for each in state.get("waivers", ()))


def _question(asked: Document, states: dict[str, Document]) -> Document:
    """One question; an answer that came while no run looked is in the task's own state."""
    found = {**{key: asked[key] for key in asked if key != "moment"}, "answer": None}
    for each in states.get(asked["task"], {}).get("questions", ()):
        if each["number"] != asked["number"]:
            continue
        found["answer"] = each["answer"]
        if asked["answered_at"] is None:
            waited = max((epoch(each["answered_at"]) or 0) - (epoch(asked["asked_at"]) or 0), 0)
            found |= {"answered_at": each["answered_at"], "origin": each["answered_by"], "waited_seconds": waited}
    return found


def _next(
    folder: RunFolder, standpoint: Standpoint, history: History, known: Document, rows: list[Document]
) -> list[Document]:
    """What a person can do now."""
    way, first = go_on.command(folder, standpoint, history), go_on.before(folder, standpoint, history)
    return report_next.steps(known, rows, way, first, broken=broken_by_user(folder.run))


def counts(rows: list[Document]) -> dict[str, int]:
    """How many tasks there are, and how many of each outcome."""
    words = [row["outcome"] for row in rows]
    return {"total": len(words), **{word: words.count(word) for word in (*report_tasks.OUTCOMES, "unknown")}}


def status_of(folder: RunFolder, *, live: bool) -> str:
    """Its status as it is: who was killed could not say that it stopped."""
    return "stopped" if folder.run["status"] == "running" and not live else folder.run["status"]


def glance(folder: RunFolder) -> Document:
    """One run in a list: how far it is, by its journal."""
    run = folder.run
    history, _ = _history(folder, "run_started", "task_ended")
    ended = [report_tasks.SETTLED.get(each.status, "pending") for each in history.tasks.values()]
    live = runs.is_live(folder)
    return {
        "id": run["id"],
        "name": run["name"],
        "branch": run["branch"],
        "status": status_of(folder, live=live),
        "live": live,
        "started_at": run["started_at"],
        "ended_at": run.get("ended_at"),
        "exit": run.get("exit"),
        "tasks": len({*run["tasks"], *history.tasks}),
        **{word: ended.count(word) for word in ("completed", "failed", "waiting")},
    }


def _history(folder: RunFolder, *events: str) -> tuple[History, list[str]]:
    try:
        history = History(folder.journal(*events))
    except SowError as error:
        return History(()), [f"its journal cannot be read: {error.message}"]
    return history, [] if history.calls else ["it has no journal: times, checks and reviews are known only in part"]


def _states(home: Home, run: Run) -> tuple[dict[str, Document], list[str]]:
    """The present states of the tasks, or of the crew; none where the project is gone, or another is there."""
    project_id = run["project_id"]
    try:
        if report_crew.is_gone(home, run):
            return {}, [GONE]
        crew = report_crew.states(home, project_id)
        if crew is not None:
            return crew, []
        project = projects.load(home)
        if project["project_id"] != project_id:
            return {}, [
                f"the project of this run is not on branch {project['branch']}: its tasks are told by the journal"
            ]
        return _tasks(desks.desks(home, project))
    except SowError as error:
        return {}, [f"its tasks are told by the journal alone: {error.message}"]


def _tasks(found: list[desks.Desk]) -> tuple[dict[str, Document], list[str]]:
    """What a report needs of each task, and what is wrong with those that cannot be read."""
    known: dict[str, Document] = {}
    broken: list[str] = []
    for desk in found:
        try:
            task: Any = desk.task()
        except SowError as error:
            broken.append(error.message)
        else:  # ten thousand whole states would take more than all the rest
            known[desk.id] = {key: task[key] for key in report_tasks.OF_STATE if key in task}
    return known, broken


def _run(folder: RunFolder, history: History, *, live: bool) -> Document:
    run = folder.run
    return {
        "id": run["id"],
        "name": run["name"],
        "project_id": run["project_id"],
        "branch": run["branch"],
        "base": run["base"],
        "status": status_of(folder, live=live),
        "live": live,
        "started_at": run["started_at"],
        "ended_at": run.get("ended_at"),
        "exit": run.get("exit"),
        "plans": [each["path"] for each in run["plans"]],
        "settings": dict(run["settings"]),
        "calls": len(history.calls),
        "recovered": history.recovered,
    }


def render_markdown(document: Document) -> str:
    """The report as a page."""
    return report_page.page(document)


def render_html(document: Document) -> str:
    """The report as one file to send to somebody."""
    from sow.engine import report_html

    return report_html.page(document)


def render_json(document: Document) -> str:
    """The report for programs."""
    import json

    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace").decode()  # half a character stays one, as JSON writes it


# A new form of the report is one entry here and one file.
FORMATS: dict[str, Callable[[Document], str]] = {"md": render_markdown, "json": render_json, "html": render_html}


def written(home: Home, folder: RunFolder, form: str, standpoint: Standpoint = NOWHERE) -> str:
    """The report in one of its forms; a page to look at has the timeline besides."""
    document = facts(home, folder, standpoint)
    if form == "html":
        document["timeline"] = _timeline(folder, live=document["run"]["live"])
    return FORMATS[form](document)


def _timeline(folder: RunFolder, *, live: bool) -> Document | None:
    """Who worked when; None where the journal cannot be read, which is said among the remarks."""
    import time

    from sow.engine import timeline

    try:
        return timeline.document(folder.journal(), run=folder.id, live=live, now=time.time())
    except SowError:
        return None
