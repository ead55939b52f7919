"""Appends entries to the log of a task or of the project, and lists them (`sow log`)."""

from __future__ import annotations

import os

from sow.cli.context import Context
from sow.domain import inputs
from sow.errors import InvalidFile, SowError
from sow.store.projects import log as logs
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects.task_folder import TaskFolder, load_or_repair
from sow.system import clock
from sow.system.terminal import err, escape_control, escape_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import LogEntry, ProjectState, Task
    from sow.store.files.checkout_home import Home
    from sow.store.workflows.folder import AgentFolder


def log(
    context: Context, *, log_text: str, file: list[str], action: str, result: str, task: str, list: bool, json: bool
) -> int:
    home = context.project_home()
    folder = _log_folder(context, home, task)
    if list and log_text:
        raise SowError(f"sow log --list takes no text, but {log_text!r} is given", "remove the text or --list")
    if list:
        return _show(home, folder, json=json)
    return _write(context, home, folder, log_text, file, action, result, json=json)


def agent_log(context: Context, *, log_text: str, file: list[str], action: str, result: str, task: str) -> int:
    home = context.project_home()
    folder = _log_folder(context, home, task) or _only_task_in_progress(home, projects.load(home))
    return _write(context, home, folder, log_text, file, action, result)


def _log_folder(context: Context, home: Home, task: str) -> TaskFolder | AgentFolder | None:
    """Returns the folder of the named task or workflow agent; None if none is named."""
    ident = task or context.environment.get("SOW_TASK", "")
    if not inputs.is_member(ident) or not os.path.lexists(f"{home.root}/orchestration/state.yaml"):
        project = projects.load(home)
        return task_folders.find(home, project, inputs.task_id(ident)) if ident else None
    from sow.store.workflows.folder import WorkflowFolder, member_of

    folder = WorkflowFolder(home)
    loaded = folder.load()
    member_of(loaded["workflow"], ident)
    return folder.agent_folder(ident, loaded)


def _only_task_in_progress(home: Home, project: ProjectState) -> TaskFolder:
    working = [
        folder for folder, task in task_folders.load_readable(home, project)[0] if task["status"] == "in_progress"
    ]
    if len(working) == 1:
        return working[0]
    names = ", ".join(folder.id for folder in working) if working else "none"
    raise SowError(f"no task is named; in progress: {names}", "name one with --task 010, or set SOW_TASK")


def _write(
    context: Context,
    home: Home,
    folder: TaskFolder | AgentFolder | None,
    log_text: str,
    file: list[str],
    action: str,
    result: str,
    *,
    json: bool = False,
) -> int:
    if not log_text:
        raise SowError("the text is missing", 'sow log --action A --result R "what was done"')
    actor = context.actor()
    if folder and actor.is_worker and actor.task != folder.id:
        raise SowError(
            f"the worker of {actor.task} may not write the log of {folder.label}", "write to the log of your own task"
        )
    if folder:
        role, iteration = _role_and_iteration(home, folder)
        author = inputs.agent_id(actor.name if actor.is_worker else role, iteration)
    else:
        author = actor.name
    entry: LogEntry = {
        "timestamp": clock.now(),
        "agent": author,
        "action": inputs.checked_word(action, "--action"),
        "result": inputs.checked_word(result, "--result"),
        "files": [inputs.checked_line(path, "--file", 1000) for path in file],
        "text": context.checked_text(log_text, "the text", 200_000),
    }
    path = folder.log_path if folder else f"{home.project}/log.md"
    logs.append(home, path, entry)
    if json:
        from sow.cli.output import emit

        return emit({"task": folder.id if folder else None, "path": home.relative(path), "entry": entry})
    out(f"logged to {home.relative(path)}")
    return 0


def _role_and_iteration(home: Home, folder: TaskFolder | AgentFolder) -> tuple[str, int]:
    """Returns the role and the iteration of a task or of a workflow agent."""
    if isinstance(folder, TaskFolder):
        task = _task(home, folder)
        return task["assigned_agent"], task["iteration"]
    member = folder.member()
    return (member["agent"], member["iteration"]) if member else (folder.id, 1)


def _task(home: Home, folder: TaskFolder) -> Task:
    """Returns the task of a task folder; repairs a broken state file first."""
    try:
        return folder.task()
    except InvalidFile:
        with home.lock():
            loaded, repaired = load_or_repair(folder, projects.load(home)["project_id"])
    if repaired:
        err(f"warning: {escape_line(repaired)}")
    return loaded["task"]


def _show(home: Home, folder: TaskFolder | AgentFolder | None, *, json: bool) -> int:
    entries = logs.read(home, folder.log_path if folder else f"{home.project}/log.md")
    if json:
        from sow.cli.output import emit

        return emit({"task": folder.id if folder else None, "entries": entries})
    for entry in entries:
        files = f"  ({', '.join(entry['files'])})" if entry["files"] else ""
        out(escape_control(f"{entry['timestamp']}  {entry['agent']}  {entry['action']}  {entry['result']}{files}"))
        out(escape_control(f"  {entry['text']}"))
    if not entries:
        out("no entries")
    return 0
