"""Appends entries to the log of a task or of the project, and lists them (`sow log`)."""

from __future__ import annotations

import os

from sow.cli.context import Context
from sow.cli.entry import ENTRY
from sow.cli.spec import Argument, Command, Option
from sow.domain import ids, text
from sow.errors import InvalidFile, SowError
from sow.store import desk as desks
from sow.store import log as logs
from sow.store import project as projects
from sow.store.desk import Desk
from sow.store.repair import load_or_repair
from sow.system import clock
from sow.system.terminal import err, harmless, harmless_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import LogEntry, ProjectState, Task
    from sow.store.home import Home
    from sow.store.member_desk import MemberDesk


def log(
    context: Context, *, log_text: str, file: list[str], action: str, result: str, task: str, list: bool, json: bool
) -> int:
    home = context.home()
    desk = _desk(context, home, task)
    if list and log_text:
        raise SowError(f"sow log --list takes no text, but {log_text!r} is given", "leave out one of the two")
    if list:
        return _show(home, desk, json=json)
    return _write(context, home, desk, log_text, file, action, result, json=json)


def agent_log(context: Context, *, log_text: str, file: list[str], action: str, result: str, task: str) -> int:
    home = context.home()
    desk = _desk(context, home, task) or _only_task_in_progress(home, projects.load(home))
    return _write(context, home, desk, log_text, file, action, result)


def _desk(context: Context, home: Home, task: str) -> Desk | MemberDesk | None:
    """Returns the folder of the named task or workflow agent; None if none is named."""
    ident = task or context.environment.get("SOW_TASK", "")
    if not ids.is_member(ident) or not os.path.lexists(f"{home.root}/orchestration/state.yaml"):
        project = projects.load(home)
        return desks.find(home, project, ids.task_id(ident)) if ident else None
    from sow.store.workflow import WorkflowFolder, member_of

    folder = WorkflowFolder(home)
    loaded = folder.load()
    member_of(loaded["workflow"], ident)
    return folder.desk(ident, loaded)


def _only_task_in_progress(home: Home, project: ProjectState) -> Desk:
    working = [desk for desk, task in desks.load_all(home, project)[0] if task["status"] == "in_progress"]
    if len(working) == 1:
        return working[0]
    names = ", ".join(desk.id for desk in working) if working else "none"
    raise SowError(f"which task is this about? In progress: {names}", "name it with --task 010, or set SOW_TASK")


def _write(
    context: Context,
    home: Home,
    desk: Desk | MemberDesk | None,
    log_text: str,
    file: list[str],
    action: str,
    result: str,
    *,
    json: bool = False,
) -> int:
    if not log_text:
        raise SowError("there is nothing to log", 'sow log --action A --result R "what was done"')
    actor = context.actor()
    if desk and actor.is_worker and actor.task != desk.id:
        raise SowError(f"the worker of {actor.task} may not write the log of {desk.title}", "log on your own desk")
    if desk:
        role, iteration = _at_work(home, desk)
        author = ids.agent_id(actor.name if actor.is_worker else role, iteration)
    else:
        author = "orchestrator"
    entry: LogEntry = {
        "timestamp": clock.now(),
        "agent": author,
        "action": text.word(action, "--action"),
        "result": text.word(result, "--result"),
        "files": [text.line(path, "--file", 1000) for path in file],
        "text": text.text(context.text(log_text, "the text"), "the text", 200_000),
    }
    path = desk.log_path if desk else f"{home.project}/log.md"
    logs.append(home, path, entry)
    if json:
        from sow.cli.output import emit

        emit({"task": desk.id if desk else None, "path": home.relative(path), "entry": entry})
        return 0
    out(f"logged to {home.relative(path)}")
    return 0


def _at_work(home: Home, desk: Desk | MemberDesk) -> tuple[str, int]:
    """Returns the role and the iteration of a task or of a workflow agent."""
    if isinstance(desk, Desk):
        task = _task(home, desk)
        return task["assigned_agent"], task["iteration"]
    member = desk.member()
    return (member["agent"], member["iteration"]) if member else (desk.id, 1)


def _task(home: Home, desk: Desk) -> Task:
    """Returns the task of a task folder; repairs a broken state file first."""
    try:
        return desk.task()
    except InvalidFile:
        with home.lock():
            loaded, repaired = load_or_repair(desk, projects.load(home)["project_id"])
    if repaired:
        err(f"warning: {harmless_line(repaired)}")
    return loaded["task"]


def _show(home: Home, desk: Desk | MemberDesk | None, *, json: bool) -> int:
    entries = logs.read(home, desk.log_path if desk else f"{home.project}/log.md")
    if json:
        from sow.cli.output import emit

        emit({"task": desk.id if desk else None, "entries": entries})
        return 0
    for entry in entries:
        files = f"  ({', '.join(entry['files'])})" if entry["files"] else ""
        out(harmless(f"{entry['timestamp']}  {entry['agent']}  {entry['action']}  {entry['result']}{files}"))
        out(harmless(f"  {entry['text']}"))
    if not entries:
        out("no entries")
    return 0


COMMANDS = (
    Command(
        "log",
        log,
        "Append an entry to the log of a task, or of the project",
        arguments=(Argument("log_text", "What was done (TEXT, @FILE or -)", optional=True),),
        options=(*ENTRY, Option("--list", help="Read the entries back")),
        json=True,
        details="Without --task and SOW_TASK the entry goes to the project's log, signed by the orchestrator.",
    ),
)
