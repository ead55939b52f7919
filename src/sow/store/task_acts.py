"""What is done to a task: each act is one decision under the lock, and the state file is written last."""

from __future__ import annotations

import os

from sow.domain import ids, phase
from sow.domain import task as rules
from sow.domain import text as texts
from sow.domain.actor import ORCHESTRATOR, Actor
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import kept, state
from sow.store import project as projects
from sow.store.desk import Desk
from sow.store.disk import failure, remove_tree_quietly, sync_folder, write_new
from sow.store.repair import load_for
from sow.store.schema import VERSION
from sow.store.validators.task import validate
from sow.system import clock
from sow.system.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.domain.shapes import Chosen, LogEntry, ProjectState, Task, TaskState
    from sow.store.home import Home

MOST_ANSWER = 100_000  # as the schemas of tasks and notes have it


class Changed:
    """The outcome of an act: where, what the task is now, and what there is to say about it."""

    __slots__ = ("desk", "remarks", "task")

    def __init__(self, desk: Desk, task: Task, remarks: list[str]) -> None:
        self.desk = desk
        self.task = task
        self.remarks = remarks


class _Opened:
    """A task under the lock, ready to be changed."""

    __slots__ = ("desk", "loaded", "project", "remarks")

    def __init__(self, home: Home, task: str, actor: Actor) -> None:
        self.project: ProjectState = projects.load(home)
        self.desk = desks.find(home, self.project, task)
        self.loaded: TaskState
        self.loaded, self.remarks = load_for(self.desk, self.project["project_id"], actor)
        if actor.is_worker:
            from sow.store import notes  # here and below, because the start of a worker needs none of what is on a desk

            notes.mend_own(self.desk, actor)

    @property
    def task(self) -> Task:
        return self.loaded["task"]

    def save(self, task: Task) -> Changed:
        self.desk.save(self.loaded, task, self.project["project_id"])
        return Changed(self.desk, task, self.remarks)


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
    allow_empty: bool = False,
) -> Changed:
    """A new pending task; its folder appears complete or not at all."""
    now = clock.now()
    with home.lock():
        project = projects.load(home)
        current = phase.active(project["phases"])
        wanted = phase_name or (current["name"] if current else project["phases"][-1]["name"])
        where = phase.match(wanted, project["phases"])
        phase.may_plan_in(project["phases"], where)
        taken = desks.desks(home, project)
        ident = ids.id_after(after, [each.id for each in taken]) if after else ids.next_id(each.id for each in taken)
        for each in depends_on:
            desks.find(home, project, each)
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
        if allow_empty:
            task["allow_empty"] = True
        desk = Desk(home, where, ident)
        record(home, actor, action="task_create", text=f"task {ident} in {where}: {name}", now=now)
        lay_out(desk, task, describe(name, description, criteria), project["project_id"])
    return Changed(desk, task, [])


def describe(name: str, description: str, criteria: list[str]) -> str:
    """The text of description.md."""
    text = harmless(description).strip()
    if not text.startswith("# "):
        text = f"# {name}\n\n{text or name}"
    if criteria:
        text += "\n\n## Acceptance criteria\n\n" + "\n".join(f"- {each}" for each in criteria)
    return f"{text}\n"


def lay_out(desk: Desk, task: Task, description: str, project_id: str) -> None:
    """Write the desk in a folder aside, then give it its name."""
    home = desk.home
    parent = home.folder("project", "phases", desk.phase, "tasks")
    aside = Desk(home, desk.phase, f".new.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    task = {**task, "name": home.struck(task["name"])}
    loaded: TaskState = {"schema_version": VERSION, "revision": 0, "task": task}
    state.check({**loaded}, f"task {task['id']}", validate)
    text = state.render(home, desk.state_path, {**loaded}, validate)
    try:
        home.disk.make_folder(aside.folder)
        write_new(home.disk, aside.description_path, home.struck(description))
        write_new(home.disk, aside.state_path, text)
        sync_folder(home.disk, aside.folder)
        home.disk.replace(aside.folder, desk.folder)
        sync_folder(home.disk, parent)
    except OSError as error:
        remove_tree_quietly(aside.folder)
        raise failure("make", desk.folder, error) from None
    kept.keep(home, project_id, desk.id, text)


def set_status(home: Home, task: str, to: str, *, actor: Actor, reason: str = "") -> Changed:
    """Move a task, if the tables, the gate, the phase and the dependencies allow it."""
    with home.lock():
        return move(home, task, to, actor=actor, reason=reason)


def move(home: Home, task: str, to: str, *, actor: Actor, reason: str = "") -> Changed:
    """The same for a caller that holds the lock."""
    opened = _Opened(home, task, actor)
    return opened.save(_moved(opened, to, actor, reason))


def put_to_work(home: Home, task: str, session: str, agent: str, *, actor: Actor) -> Task:
    """Give a task to a worker: in progress, with the id of the worker's session, in one write."""
    with home.lock():
        opened = _Opened(home, task, actor)
        started = opened.task
        if started["status"] != "in_progress":
            started = _moved(opened, "in_progress", actor, "")
        changed: Task = {**started, "session_id": session, "assigned_agent": agent, "updated_at": clock.now()}
        return opened.save(changed).task


def may_be_put_to_work(home: Home, task: str, *, actor: Actor) -> None:
    """Refuse what the phase, the dependencies or the tables do not allow; for one who holds the lock."""
    opened = _Opened(home, task, actor)
    if opened.task["status"] != "in_progress":
        _, event = rules.move(opened.task, "in_progress", actor=actor, now=clock.now())
        if event == "start":
            _may_start(opened)


def _may_start(opened: _Opened) -> None:
    phase.may_start_in(opened.project["phases"], opened.desk.phase)
    rules.may_start(opened.task, statuses_of(opened.desk.home, opened.project, opened.task["depends_on"]))


def statuses_of(home: Home, project: ProjectState, tasks: Iterable[str]) -> dict[str, str]:
    """The status of each of these tasks that is there and can be read."""
    found = {}
    for each in tasks:
        try:
            found[each] = desks.find(home, project, each).task()["status"]
        except SowError:  # missing or broken: not completed, as far as anybody can tell
            continue
    return found


def _moved(opened: _Opened, to: str, actor: Actor, reason: str) -> Task:
    """The task after a move that everything allows, with what else belongs to the move written already."""
    home, before, task, now = opened.desk.home, opened.task, opened.task["id"], clock.now()
    changed, event = rules.move(before, to, actor=actor, now=now, reason=reason)
    if event in ("approve", "abandon"):
        home.refuse_claimed(task)
    if event in ("submit", "approve"):
        from sow.store import notes

        rules.gate(before, notes.unresolved(opened.desk))
    if event == "approve" and _lies_apart(home, before):
        changed = rules.approve_apart(before, actor=actor, now=now)
    if event == "start":
        _may_start(opened)
    if event == "ask":
        changed = (
            _ask(opened, changed, reason, now) if not _is_answered(opened, actor, reason) else _go_on(changed, now)
        )
    if event == "answer" and "question" in changed:
        raise SowError(f"task {task} waits for an answer", f'answer it: sow answer {changed["question"]["number"]} "…"')
    if event in ("approve", "abandon", "send_back", "retry"):
        text = f"task {task} ({before['name']}), iteration {before['iteration']}"
        record(home, actor, action=event, text=f"{text}: {reason}" if reason else text, now=now)
    elif reason and event in ("start", "submit", "fail"):
        _log(opened.desk, ids.agent_id(before["assigned_agent"], before["iteration"]), event, reason, now)
    return changed


def _lies_apart(home: Home, task: Task) -> bool:
    """Whether the work is in a worktree or on a branch of a run, from where only a run brings it in."""
    collected = "work" in task and task["work"]["iteration"] == task["iteration"]
    return collected or os.path.lexists(f"{home.sow}/local/worktrees/{task['id']}")


def _log(desk: Desk, agent: str, action: str, text: str, now: str) -> None:
    """Note why a worker moved its task, in the task's own log."""
    from sow.store import log

    entry: LogEntry = {"timestamp": now, "agent": agent, "action": action, "result": "info", "files": [], "text": text}
    log.append(desk.home, desk.log_path, entry)


def _is_answered(opened: _Opened, actor: Actor, reason: str) -> bool:
    """Whether a worker pauses for a question that was answered while it was still on its way to the pause."""
    task = opened.task
    if not actor.is_worker or reason or "question" in task or not task["questions"]:
        return False
    from sow.store import feedback, log, notes

    if any(each["status"] == "escalated" for each in notes.listed(opened.desk)):
        return False
    last = task["questions"][-1]
    said = log.read(opened.desk.home, opened.desk.log_path)[-1:]
    if any(each["timestamp"] > last["answered_at"] for each in said):  # it asks something else by now
        return False
    return feedback.is_about(opened.desk, last["answer"], task["iteration"])


def _go_on(paused: Task, now: str) -> Task:
    """A task whose question is answered already: the next iteration begins with that answer."""
    by = Actor(kind=ORCHESTRATOR, name=paused["questions"][-1]["answered_by"], task="")
    return rules.move(paused, "in_progress", actor=by, now=now)[0]


def _ask(opened: _Opened, changed: Task, reason: str, now: str) -> Task:
    """The paused task with its question: the reason that was given, its escalated notes, or its last words."""
    if "question" in changed:
        return rules.ask(changed, reason, number=0, now=now) if reason else changed
    from sow.store import log, notes

    escalated = [each["description"] for each in notes.listed(opened.desk) if each["status"] == "escalated"]
    said = [entry["text"] for entry in log.read(opened.desk.home, opened.desk.log_path)[-1:]]
    text = reason or "\n".join(escalated) or "\n".join(said) or "The worker paused without a question."
    number = projects.next_question(opened.desk.home, opened.project, now)
    return rules.ask(changed, text, number=number, now=now)


def statuses(home: Home, project: ProjectState) -> dict[str, str]:
    """The status of every readable task."""
    return {task["id"]: task["status"] for _, task in desks.load_all(home, project)[0]}


def set_field(home: Home, task: str, field: str, value: str, *, actor: Actor) -> Changed:
    """Change a field that is not the status."""
    with home.lock():
        opened = _Opened(home, task, actor)
        if actor.is_worker:
            raise SowError(f"a worker may not set {field}", "a worker sets only the status of its own task")
        if opened.task["status"] in rules.ENDED_STATUSES:
            raise SowError(f"task {task} is {opened.task['status']}", "what has ended is not changed any more")
        changed: Task = {**opened.task, "updated_at": clock.now()}
        if field == "depends_on":
            wanted = [ids.task_id(each) for each in value.replace(",", " ").split()]
            known, _ = desks.load_all(home, opened.project)
            rules.check_dependencies(task, wanted, {each["id"]: each["depends_on"] for _, each in known})
            changed["depends_on"] = list(dict.fromkeys(wanted))
        elif field == "name":
            changed["name"] = home.struck(value)
        elif field == "priority":
            changed["priority"] = value
        elif field == "assigned_agent":
            changed["assigned_agent"] = value
        return opened.save(changed)


def refer(home: Home, task: str, chosen: list[Chosen], *, actor: Actor) -> Changed:
    """Point a task's worker to other documents."""
    with home.lock():
        opened = _Opened(home, task, actor)
        if actor.is_worker:
            raise SowError("a worker may not choose its references", "look at what would be chosen: --dry-run")
        rules.refuse_ended(opened.task)
        return opened.save(rules.refer(opened.task, chosen, now=clock.now()))


def give_feedback(home: Home, task: str, text: str, *, actor: Actor) -> tuple[Changed, str]:
    """Write feedback for the next iteration; returns where it is."""
    from sow.store import feedback

    now = clock.now()
    with home.lock():
        opened = _Opened(home, task, actor)
        rules.refuse_ended(opened.task)
        where = feedback.add(opened.desk, text, by=actor.name, iteration=opened.task["iteration"], now=now)
    return Changed(opened.desk, opened.task, opened.remarks), where


def answer(home: Home, task: str, text: str, *, actor: Actor) -> Changed:
    """Answer what a task asked: its escalated notes are resolved, the answer is its feedback, and it goes on."""
    from sow.domain import note
    from sow.store import feedback, notes

    texts.text(text, "the answer", MOST_ANSWER)
    now = clock.now()
    with home.lock():
        opened = _Opened(home, task, actor)
        escalated = [each for each in notes.listed(opened.desk) if each["status"] == "escalated"]
        if opened.task["status"] != "paused" and not escalated and "question" not in opened.task:
            raise SowError(f"task {task} asks nothing: it is {opened.task['status']}", "see 'sow inbox' for what waits")
        changed: Task = {**opened.task, "updated_at": now}
        if opened.task["status"] == "paused":
            changed, _ = rules.move(opened.task, "in_progress", actor=actor, now=now)
        feedback.add(opened.desk, text, by=actor.name, iteration=opened.task["iteration"], now=now)
        resolved = [note.resolve(each, text, actor=actor, epoch=clock.epoch()) for each in escalated]
        notes.replace(opened.desk, resolved, opened.project["project_id"])
        changed = rules.settle(changed, text, actor=actor, now=now)
        record(home, actor, action="answer", text=f"task {task}: {text}", now=now)
        return opened.save(changed)


def record(home: Home, actor: Actor, *, action: str, text: str, now: str) -> None:
    """Note an act of the orchestrator or a person in the project's log."""
    from sow.store import log

    entry = {"timestamp": now, "agent": actor.name, "action": action, "result": "done", "files": [], "text": text}
    log.append(home, f"{home.project}/log.md", entry)  # type: ignore[arg-type]
