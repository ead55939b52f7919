"""Changes tasks; each function decides under the lock and writes the state file last."""

from __future__ import annotations

import os

from sow.domain import inputs as texts
from sow.domain import task as rules
from sow.domain.task import ORCHESTRATOR, Actor
from sow.errors import SowError
from sow.store.files import state_file
from sow.store.files.disk import remove_tree_quietly, sync_folder, system_error, write_new
from sow.store.formats import VERSION
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects.task_folder import TaskChange, TaskFolder, TaskTransaction
from sow.store.validators.task import validate
from sow.system import clock
from sow.system.terminal import escape_control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.domain.documents.state import Chosen, LogEntry, ProjectState, Task, TaskState
    from sow.store.files.checkout_home import Home

CRITERIA = "## Acceptance criteria"
MOST_ANSWER = 100_000  # the same limit as in the schemas of tasks and notes


def create(
    home: Home,
    *,
    name: str,
    agent: str,
    phase_name: str,
    description: str,
    criteria: list[str],
    references: list[str],
    depends_on: list[str],
    after: str,
    priority: str,
    actor: Actor,
    tests: Iterable[str] = (),
    allow_empty: bool = False,
) -> TaskChange:
    """Creates a pending task; its folder appears complete or not at all."""
    now = clock.now()
    with home.lock():
        project = projects.load(home)
        current = rules.active(project["phases"])
        requested = phase_name or (current["name"] if current else project["phases"][-1]["name"])
        matched_phase = rules.find_name(requested, project["phases"])
        rules.require_approved(project["phases"], matched_phase)
        folders = task_folders.all_folders(home, project)
        ident = texts.id_after(after, [f.id for f in folders]) if after else texts.next_id(f.id for f in folders)
        for dependency in depends_on:
            task_folders.find(home, project, dependency)
        task: Task = {
            "id": ident,
            "name": name,
            "status": "pending",
            "assigned_agent": agent,
            "iteration": 1,
            "priority": priority,
            "depends_on": depends_on,
            "criteria": criteria,
            "references": references,
            "questions": [],
            "created_at": now,
            "updated_at": now,
        }
        if tests:
            task["checks"] = [{"kind": "test", "command": command} for command in dict.fromkeys(tests)]
        if allow_empty:
            task["allow_empty"] = True
        folder = TaskFolder(home, matched_phase, ident)
        log_act(home, actor, action="task_create", text=f"task {ident} in {matched_phase}: {name}", now=now)
        write_task_folder(folder, task, description_text(name, description, criteria), project["project_id"])
    return TaskChange(folder, task, [])


def description_text(name: str, description: str, criteria: list[str]) -> str:
    """Returns the text of description.md."""
    text = escape_control(description).strip()
    if not text.startswith("# "):
        text = f"# {name}\n\n{text or name}"
    if criteria:
        text += f"\n\n{CRITERIA}\n\n" + "\n".join(f"- {criterion}" for criterion in criteria)
    return f"{text}\n"


def write_task_folder(folder: TaskFolder, task: Task, description: str, project_id: str) -> None:
    """Writes the task folder under a temporary name, then renames it."""
    home = folder.home
    parent = home.folder("project", "phases", folder.phase, "tasks")
    aside = TaskFolder(home, folder.phase, f".new.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    task = {**task, "name": home.redact(task["name"])}
    loaded: TaskState = {"schema_version": VERSION, "revision": 0, "task": task}
    state_file.check({**loaded}, f"task {task['id']}", validate)
    text = state_file.render(home, folder.state_path, {**loaded}, validate)
    try:
        home.disk.make_folder(aside.folder)
        write_new(home.disk, aside.description_path, home.redact(description))
        write_new(home.disk, aside.state_path, text)
        sync_folder(home.disk, aside.folder)
        if not folder.exists():
            remove_tree_quietly(folder.folder)  # empty folders that a switch of branches left behind
        home.disk.replace(aside.folder, folder.folder)
        sync_folder(home.disk, parent)
    except OSError as error:
        remove_tree_quietly(aside.folder)
        raise system_error("make", folder.folder, error) from None
    state_file.save_backup(home, project_id, folder.id, text)


def set_status(home: Home, task: str, to: str, *, actor: Actor, reason: str = "", action: str = "") -> TaskChange:
    """Moves a task, if the transition tables, the gate, the phase and its dependencies allow it.

    The project's log names the `action`, or else the move.
    """
    with home.lock():
        return move(home, task, to, actor=actor, reason=reason, action=action)


def move(home: Home, task: str, to: str, *, actor: Actor, reason: str = "", action: str = "") -> TaskChange:
    """Moves a task for a caller that holds the lock."""
    opened = TaskTransaction(home, task, actor)
    return opened.save(_moved(opened, to, actor, reason, action))


def start_worker(home: Home, task: str, session: str, agent: str, *, actor: Actor) -> Task:
    """Gives a task to a worker: sets it in progress and stores the session id in one write."""
    with home.lock():
        opened = TaskTransaction(home, task, actor)
        started = opened.task
        if started["status"] != "in_progress":
            started = _moved(opened, "in_progress", actor, "")
        changed: Task = {**started, "session_id": session, "assigned_agent": agent, "updated_at": clock.now()}
        return opened.save(changed).task


def check_startable(home: Home, task: str, *, actor: Actor) -> None:
    """Raises if the phase, the dependencies or the tables forbid a start; the caller holds the lock."""
    opened = TaskTransaction(home, task, actor)
    if opened.task["status"] != "in_progress":
        _, event = rules.move(opened.task, "in_progress", actor=actor, now=clock.now())
        if event == "start":
            _check_startable(opened)


def _check_startable(opened: TaskTransaction) -> None:
    rules.require_begun(opened.project["phases"], opened.folder.phase)
    rules.require_dependencies_done(
        opened.task, statuses_of(opened.folder.home, opened.project, opened.task["depends_on"])
    )


def statuses_of(home: Home, project: ProjectState, tasks: Iterable[str]) -> dict[str, str]:
    """Returns the status of each of these tasks that exists and can be read."""
    statuses_by_id = {}
    for task in tasks:
        try:
            statuses_by_id[task] = task_folders.find(home, project, task).task()["status"]
        except SowError:  # missing or broken: cannot count as completed
            continue
    return statuses_by_id


def _moved(opened: TaskTransaction, to: str, actor: Actor, reason: str, action: str = "") -> Task:
    """Returns the task after an allowed move; the log entries and questions of the move are already written."""
    home, before, task, now = opened.folder.home, opened.task, opened.task["id"], clock.now()
    changed, event = rules.move(before, to, actor=actor, now=now, reason=reason, open_notes=opened.folder.open_notes)
    if event in ("approve", "abandon"):
        home.refuse_claimed(task)
    if event == "approve" and _is_unmerged(home, before):
        changed = rules.approve(before, actor=actor, now=now, reason=reason)
    if event == "start":
        _check_startable(opened)
    if event == "ask":
        changed = (
            _with_question(opened, changed, reason, now)
            if not _was_just_answered(opened, actor, reason)
            else _resume_answered(changed, now)
        )
    if event == "answer" and "question" in changed:
        raise SowError(f"task {task} waits for an answer", f'answer it: sow answer {changed["question"]["number"]} "…"')
    if event in ("approve", "abandon", "send_back", "retry"):
        text = f"task {task} ({before['name']}), iteration {before['iteration']}"
        log_act(home, actor, action=action or event, text=f"{text}: {reason}" if reason else text, now=now)
    elif reason and event in ("start", "submit", "fail"):
        _log(opened.folder, texts.agent_id(before["assigned_agent"], before["iteration"]), event, reason, now)
    return changed


def _is_unmerged(home: Home, task: Task) -> bool:
    """Returns whether the work is in a worktree or on a run's branch, from which only a run merges it."""
    collected = "work" in task and task["work"]["iteration"] >= task["iteration"] - (task["status"] == "paused")
    return collected or os.path.lexists(f"{home.sow}/local/worktrees/{rules.worktree_name(task)}")


def _log(folder: TaskFolder, agent: str, action: str, text: str, now: str) -> None:
    """Records why a worker moved its task in the task's own log."""
    from sow.store.projects import log

    entry: LogEntry = {"timestamp": now, "agent": agent, "action": action, "result": "info", "files": [], "text": text}
    log.append(folder.home, folder.log_path, entry)


def _was_just_answered(opened: TaskTransaction, actor: Actor, reason: str) -> bool:
    """Returns whether a worker pauses for a question that was answered before the pause arrived."""
    task = opened.task
    if not actor.is_worker or reason or "question" in task or not task["questions"]:
        return False
    from sow.store.projects import log, notes

    if any(note["status"] == "escalated" for note in notes.load_notes(opened.folder)):
        return False
    last = task["questions"][-1]
    last_entries = log.read(opened.folder.home, opened.folder.log_path)[-1:]
    if any(entry["timestamp"] > last["answered_at"] for entry in last_entries):  # the worker asks something else by now
        return False
    return log.is_repeated_feedback(opened.folder, last["answer"], task["iteration"])


def _resume_answered(paused: Task, now: str) -> Task:
    """Starts the next iteration of a task whose question is already answered."""
    by = Actor(kind=ORCHESTRATOR, name=paused["questions"][-1]["answered_by"], task="")
    return rules.move(paused, "in_progress", actor=by, now=now)[0]


def _with_question(opened: TaskTransaction, changed: Task, reason: str, now: str) -> Task:
    """Adds a question to the paused task: the given reason, its escalated notes, or its last log entry."""
    if "question" in changed:
        return rules.ask(changed, reason, number=0, now=now) if reason else changed
    from sow.store.projects import log, notes

    escalated = [note["description"] for note in notes.load_notes(opened.folder) if note["status"] == "escalated"]
    last_entries = [entry["text"] for entry in log.read(opened.folder.home, opened.folder.log_path)[-1:]]
    text = reason or "\n".join(escalated) or "\n".join(last_entries) or "The worker paused without a question."
    number = projects.next_question(opened.folder.home, opened.project, now)
    return rules.ask(changed, text, number=number, now=now)


def statuses(home: Home, project: ProjectState) -> dict[str, str]:
    """Returns the status of every readable task."""
    return {task["id"]: task["status"] for _, task in task_folders.load_readable(home, project)[0]}


def set_field(home: Home, task: str, field: str, value: str, *, actor: Actor) -> TaskChange:
    """Changes a field other than the status."""
    with home.lock():
        opened = TaskTransaction(home, task, actor)
        if actor.is_worker:
            raise SowError(f"a worker may not set {field}", "a worker sets only the status of its own task")
        if opened.task["status"] in rules.ENDED_STATUSES:
            raise SowError(f"task {task} is {opened.task['status']}", "what has ended is not changed any more")
        changed: Task = {**opened.task, "updated_at": clock.now()}
        if field == "depends_on":
            dependencies = [texts.task_id(word) for word in value.replace(",", " ").split()]
            tasks, _ = task_folders.load_readable(home, opened.project)
            rules.check_dependencies(task, dependencies, {entry["id"]: entry["depends_on"] for _, entry in tasks})
            changed["depends_on"] = list(dict.fromkeys(dependencies))
        elif field == "name":
            changed["name"] = home.redact(value)
        elif field == "priority":
            changed["priority"] = value
        elif field == "assigned_agent":
            changed["assigned_agent"] = value
        elif field == "references":
            changed["references"] = list(dict.fromkeys([*changed["references"], value]))
            if "context" in changed:  # a document that sow chose is the person's from now on
                changed["context"] = [chosen for chosen in changed["context"] if chosen["path"] != value]
        elif field == "checks":
            changed["checks"] = [*changed.get("checks", []), {"kind": "test", "command": value}]
        elif field == "criteria" and value not in changed["criteria"]:
            changed["criteria"] = [*changed["criteria"], value]
            _describe_criterion(opened.folder, value)
        return opened.save(changed)


def _describe_criterion(folder: TaskFolder, criterion: str) -> None:
    """Adds a criterion to the end of description.md, below a heading."""
    path = folder.description_path
    text = folder.home.read(path).rstrip() if os.path.isfile(path) else ""
    last_heading = [line for line in text.splitlines() if line.startswith("#")][-1:]
    separator = "\n" if last_heading == [CRITERIA] else f"\n\n{CRITERIA}\n\n"
    folder.home.replace(path, folder.home.redact(f"{text}{separator}- {criterion}\n".lstrip()))


def set_references(home: Home, task: str, chosen: list[Chosen], *, actor: Actor) -> TaskChange:
    """Sets the references of a task's worker."""
    with home.lock():
        opened = TaskTransaction(home, task, actor)
        if actor.is_worker:
            raise SowError("a worker may not choose its references", "look at what would be chosen: --dry-run")
        rules.refuse_ended(opened.task)
        return opened.save(rules.set_chosen_references(opened.task, chosen, now=clock.now()))


def give_feedback(
    home: Home, task: str, text: str, *, actor: Actor, comments: int = 0, tree: str = ""
) -> tuple[TaskChange, str]:
    """Writes feedback for the next iteration; returns its path. The text can have comments on lines of a tree."""
    from sow.store.projects import log as logs

    now = clock.now()
    with home.lock():
        opened = TaskTransaction(home, task, actor)
        rules.refuse_ended(opened.task)
        iteration = opened.task["iteration"]
        feedback_path = logs.add_feedback(
            opened.folder, text, by=actor.name, iteration=iteration, now=now, comments=comments, tree=tree
        )
    return TaskChange(opened.folder, opened.task, opened.remarks), feedback_path


def answer(home: Home, task: str, text: str, *, actor: Actor) -> TaskChange:
    """Answers a task's question: resolves its escalated notes, stores the answer as feedback, and resumes it."""
    from sow.store.projects import log as logs
    from sow.store.projects import notes

    texts.checked_text(text, "the answer", MOST_ANSWER)
    now = clock.now()
    with home.lock():
        opened = TaskTransaction(home, task, actor)
        escalated = [entry for entry in notes.load_notes(opened.folder) if entry["status"] == "escalated"]
        if opened.task["status"] != "paused" and not escalated and "question" not in opened.task:
            raise SowError(f"task {task} asks nothing: it is {opened.task['status']}", "see 'sow inbox' for what waits")
        changed: Task = {**opened.task, "updated_at": now}
        if opened.task["status"] == "paused":
            changed, _ = rules.move(opened.task, "in_progress", actor=actor, now=now)
        logs.add_feedback(opened.folder, text, by=actor.name, iteration=opened.task["iteration"], now=now)
        resolved = [rules.resolve_note(entry, text, actor=actor, epoch=clock.epoch()) for entry in escalated]
        notes.replace(opened.folder, resolved)
        changed = rules.answer_question(changed, text, actor=actor, now=now)
        log_act(home, actor, action="answer", text=f"task {task}: {text}", now=now)
        return opened.save(changed)


def log_act(home: Home, actor: Actor, *, action: str, text: str, now: str) -> None:
    """Logs an act of the orchestrator or a person in the project's log."""
    from sow.store.projects import log

    entry = {"timestamp": now, "agent": actor.name, "action": action, "result": "done", "files": [], "text": text}
    log.append(home, f"{home.project}/log.md", entry)  # type: ignore[arg-type]
