"""Spawns or resumes a worker on a task for one turn and records on the task how the turn ended."""

from __future__ import annotations

import os

from sow.agents import briefing
from sow.domain import task as rules
from sow.domain.task import ORCHESTRATOR
from sow.engine.turns import settle
from sow.engine.turns.allowed_commands import sow_command
from sow.engine.turns.settle import recover
from sow.engine.turns.turn import AgentTurn, TurnSettings
from sow.errors import SowError
from sow.executors.adapter import ASSIGNED
from sow.executors.settings import adapter as find_adapter
from sow.executors.settings import no_resumption
from sow.record import Record
from sow.store.files.disk import list_folder
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects import tasks
from sow.store.runs import sessions
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.agents.registry import Agent
    from sow.config import ExecutorConfig
    from sow.domain.documents.state import Refusal, SessionTurn, Task
    from sow.domain.task import Actor
    from sow.engine.turns.state_before_turn import FormerState
    from sow.executors.adapter import Outcome
    from sow.store.files.checkout_home import Home
    from sow.store.projects.task_folder import TaskFolder
    from sow.store.runs.sessions import SessionRecord
    from sow.system.process.steps import Steps

INTERRUPTED_KINDS = ("interrupted", "timeout", "limited", "overloaded")  # ends that say nothing about the worker
MOST_LOGGED = 2000
ALLOWED = "You may run these commands, with any arguments: {commands}. All others are refused."
FOLLOWS = (
    "Your work on task {owner} is completed, merged and shared with others. They found something in it: that is task "
    "{id}, which you begin now in the same folder. Task {owner} stays completed. The folder has all merged work."
)
UNREAD = "Answers and feedback that you have not read yet:"
RESUME_ACTION = "agent_resume"  # in the project's log; the text may be an order or only a question
SUBAGENT_TYPES = ("claude",)  # CLIs that find .claude/agents themselves and offer such roles as subagents


class TaskTurn(AgentTurn):
    """The turn of a task's worker."""

    folder: TaskFolder

    def name_session(self, key: str, name: str) -> None:
        """Records the CLI's own session id in the task's state."""
        self.folder.set_session_id(key, name)


def spawn(
    settings: TurnSettings,
    task: str,
    agent: Agent,
    executors: list[ExecutorConfig],
    *,
    actor: Actor,
    fresh: bool,
    cwd: str = "",
    text: str = "",
) -> Steps[FinishedTurn]:
    """Starts a new session on a task. If the first executor is limited, the next one in the list takes over.

    `text`, such as feedback on earlier work, comes last in the prompt.
    """
    turns = spawn_turns(settings, task, agent, executors, cwd=cwd)
    for turn in turns:
        turn.check()
    with settings.home.claim(f"task-{task}", purpose=f"{agent.name} works on task {task}"):
        remarks = settings.announce(recover(turns[0].folder, settings.environment))
        task_before = begin(turns[0], actor, fresh=fresh)
        remarks += settings.announce(choose_references(turns[0], task_before, actor))
        reason = "a fresh session was asked for" if task_before.get("session_id") else ""
        unread = [] if text or not reason else unread_feedback(turns[0].folder, "")
        text = "\n\n".join([UNREAD, *unread]) if unread else text
        for index, turn in enumerate(turns):
            record, outcome = yield from _first_turn(turn, "spawn" if not reason else "recovery", actor, reason, text)
            finished = _settled(turn, record, outcome, remarks)
            if not finished.is_limited or index == len(turns) - 1:
                break
            reason = f"{turn.executor.name} has reached its limit"
            remarks = [
                *finished.remarks,
                *settings.announce([f"{reason}: {turns[index + 1].executor.name} takes over"]),
            ]
        return (yield from _finish(turn, finished))


def resume(
    settings: TurnSettings,
    task: str,
    agent: Agent,
    executor: ExecutorConfig,
    text: str,
    *,
    actor: Actor,
    recorded: bool = False,
) -> Steps[FinishedTurn]:
    """Continues a task's session: `text` is the answer, the feedback (unless `recorded`) and the prompt."""
    turn, _ = resume_turn(settings, task, agent, executor)
    turn.check()
    with settings.home.claim(f"task-{task}", purpose=f"{agent.name} works on task {task}"):
        remarks = settings.announce(recover(turn.folder, settings.environment))
        record, reason = _record(turn.folder, executor)
        former = None
        if record is not None and not recorded:
            from sow.engine.turns.state_before_turn import (
                FormerState,
            )  # lazy, because a new session has no former state

            former = FormerState(turn.folder, record.session["cwd"])
        if recorded:
            answered = turn.folder.task()
        else:
            unread = unread_feedback(turn.folder, text)
            answered = _answer(turn, text, actor)
            text = "\n\n".join([text, *([UNREAD, *unread] if unread else [])])
        if record is not None:
            outcome = yield from turn.run(record, "resume", _resume_prompt(turn, record, answered, text))
            finished = _settled(turn, record, outcome, remarks)
            if former is not None and outcome.kind == "done":
                _restore_unchanged(finished, former)
            if outcome.kind != "not_found":
                return (yield from _finish(turn, finished))
            gone = f"the session is gone ({outcome.reason}): a fresh one starts"
            remarks = [*finished.remarks, *settings.announce([gone])]
            reason = "the CLI does not know it any more"
        else:
            remarks += settings.announce([f"{reason}: a fresh session starts from what is on disk"])
        turn.cwd = _folder(turn.folder)
        remarks += settings.announce(choose_references(turn, answered, actor))
        record, outcome = yield from _first_turn(turn, "recovery", actor, reason, text)
        return (yield from _finish(turn, _settled(turn, record, outcome, remarks)))


def follow(
    settings: TurnSettings,
    task: str,
    agent: Agent,
    executor: ExecutorConfig,
    text: str,
    owner: SessionRecord,
    *,
    actor: Actor,
) -> Steps[FinishedTurn]:
    """Begins a task in the session of another one, whose worker wrote what the task is about.

    The task gets a record of its own for the session, with its own turns. The other task's record stays as it is.
    """
    turn = spawn_turns(settings, task, agent, [executor], cwd=owner.session["cwd"])[0]
    turn.check()
    with settings.home.claim(f"task-{task}", purpose=f"{agent.name} works on task {task}"):
        remarks = settings.announce(recover(turn.folder, settings.environment))
        task_before = begin(turn, actor, fresh=False)
        remarks += settings.announce(choose_references(turn, task_before, actor))
        record = turn.open_session("resume", owner.session)
        session_id = record.session.get("session_id") or record.session["key"]
        changed = tasks.start_worker(settings.home, task, session_id, agent.name, actor=actor)
        allowed = turn.allowed_text(record.session["cwd"])
        runs_commands = turn.adapter.capabilities.runs_commands
        parts = (
            FOLLOWS.format(owner=owner.session["task"], id=task),
            briefing.task_prompt(turn.folder, changed, sow_command(), turn.cwd),
            ALLOWED.format(commands=allowed) if allowed else "",
            "" if runs_commands else briefing.task_without_commands(turn.folder, changed),
            text,
        )
        outcome = yield from turn.run(record, "resume", "\n\n".join(filter(None, parts)) + "\n")
        finished = _settled(turn, record, outcome, remarks)
        if outcome.kind == "not_found":
            gone = f"the session of task {owner.session['task']} is gone ({outcome.reason}): a fresh one starts"
            remarks = [*finished.remarks, *settings.announce([gone])]
            record, outcome = yield from _first_turn(turn, "spawn", actor, "", text)
            finished = _settled(turn, record, outcome, remarks)
        return (yield from _finish(turn, finished))


def _folder(folder: TaskFolder) -> str:
    """Returns the folder of the task's last session, if it still exists: a new session works there, too."""
    record = sessions.current(folder, folder.task().get("session_id", ""))
    return record.session["cwd"] if record is not None and os.path.isdir(record.session["cwd"]) else ""


def spawn_turns(
    settings: TurnSettings, task: str, agent: Agent, executors: list[ExecutorConfig], *, cwd: str = ""
) -> list[TaskTurn]:
    """Returns one turn per executor that may take the task, in order. A wanted model applies to the first CLI only."""
    if agent.name == ORCHESTRATOR:
        raise SowError(
            "the orchestrator is no worker: it is the one who spawns them",
            f"put a worker on the task: sow agent spawn implementer {task}\n"
            "or have your own agent CLI play the orchestrator, by what this says: sow prompt templates/orchestrator",
        )
    folder = task_folders.find(settings.home, projects.load(settings.home), task)
    models = [settings.model if executor.type == executors[0].type else "" for executor in executors]
    pairs = zip(executors, models, strict=True)
    return [TaskTurn(settings, folder, agent, executor, model=model, cwd=cwd) for executor, model in pairs]


def resume_turn(
    settings: TurnSettings, task: str, agent: Agent, executor: ExecutorConfig
) -> tuple[TaskTurn, SessionRecord | None]:
    """Returns the turn of a task whose session can continue, and that session's record, if it is on this machine."""
    folder = task_folders.find(settings.home, projects.load(settings.home), task)
    rules.refuse_ended(folder.task())
    record, _ = _record(folder, executor)
    turn = TaskTurn(settings, folder, agent, executor, model=settings.model)
    if record is not None and not turn.adapter.capabilities.resumes:
        raise no_resumption(executor.name, task, agent.name)
    return turn, record


def _record(folder: TaskFolder, executor: ExecutorConfig) -> tuple[SessionRecord | None, str]:
    """Returns the record of the task's session if it can be resumed here, else the reason why not."""
    task = folder.task()
    if "session_id" not in task:
        raise SowError(
            f"no session found for task {folder.id}",
            "Task has not been started or session has expired.\n"
            f"Use `sow agent spawn {task['assigned_agent']} {folder.id}` to start a new session.",
        )
    return resumable(sessions.current(folder, task["session_id"]), executor)


def resumable(record: SessionRecord | None, executor: ExecutorConfig) -> tuple[SessionRecord | None, str]:
    """Returns a session's record if the executor can resume it here, else the reason why not."""
    if record is None:
        return None, "no record of the session is on this machine"
    session = record.session
    if session["type"] != executor.type:
        return None, f"the session belongs to {session['executor']}, and {executor.name} cannot continue it"
    if not os.path.isdir(session["cwd"]):
        return None, f"the folder of the session is gone ({session['cwd']})"
    if find_adapter(session["type"]).capabilities.session == ASSIGNED and "session_id" not in session:
        return None, "the CLI never said which session it is"
    return record, ""


def begin(turn: TaskTurn, actor: Actor, *, fresh: bool) -> Task:
    """Returns the task if work on it may begin; writes nothing."""
    with turn.settings.home.lock():
        task = turn.folder.load()["task"]
        refuse_spawn(turn, task, fresh=fresh)
        tasks.check_startable(turn.settings.home, turn.folder.id, actor=actor)
    return task


def refuse_spawn(turn: TaskTurn, task: Task, *, fresh: bool) -> None:
    """Refuses a new session on a task that has ended, that waits for an answer or that has a session to resume."""
    rules.refuse_ended(task)
    if task["status"] != "paused" and ("session_id" not in task or fresh):
        return
    from sow.reports.next_steps import is_resumable, task_resume_command  # here, because only an error needs it

    if task["status"] == "paused":
        raise SowError(f"task {task['id']} waits for an answer", f"answer it: {task_resume_command(turn.folder, task)}")
    anew = f"start a new session: sow agent spawn {turn.agent.name} {task['id']} --fresh"
    continues = f"continue it: {task_resume_command(turn.folder, task)}\nor " if is_resumable(turn.folder, task) else ""
    raise SowError(f"task {task['id']} has a session already", f"{continues}{anew}")


def _first_turn(
    turn: TaskTurn, kind: str, actor: Actor, reason: str, text: str = ""
) -> Steps[tuple[SessionRecord, Outcome]]:
    """Opens a new session: writes its record first, then the task's state with its id, then starts the process."""
    task_folder = turn.folder
    record = turn.open_session(kind)
    session_id = record.session.get("session_id") or record.session["key"]
    changed = tasks.start_worker(turn.settings.home, task_folder.id, session_id, turn.agent.name, actor=actor)
    packet = briefing.handover(changed, sow_command(), why=reason) if reason else ""
    if not turn.adapter.capabilities.runs_commands:
        packet = f"{packet}\n\n{briefing.task_without_commands(task_folder, changed)}".strip()
    allowed = turn.allowed_text(record.session["cwd"]) if not turn.read_only else ""
    if allowed:
        packet = f"{ALLOWED.format(commands=allowed)}\n\n{packet}".strip()
    if text:
        packet = f"{packet}\n\n{text}".strip()
    delegates = turn.executor.type in SUBAGENT_TYPES
    prompt = briefing.first_prompt(
        turn.agent, task_folder, changed, sow_command(), delegates=delegates, packet=packet, folder=turn.cwd
    )
    if actor.name != "run":  # a run has it in its journal
        text = f"{turn.agent.name} on task {task_folder.id} ({changed['name']}), iteration {changed['iteration']}"
        turn.on_start = lambda: tasks.log_act(
            turn.settings.home, actor, action="agent_spawn", text=text, now=clock.now()
        )
    outcome = yield from turn.run(record, kind, prompt)
    return record, outcome


def _answer(turn: TaskTurn, text: str, actor: Actor) -> Task:
    """Records the text of a resume: as feedback, as the answer to open questions and as the next iteration."""
    from sow.store.projects import notes  # lazy, because a new session begins without notes

    settings, folder = turn.settings, turn.folder
    task = folder.task()
    rules.refuse_ended(task)
    if task["status"] == "paused" or any(note["status"] == "escalated" for note in notes.load_notes(folder)):
        return tasks.answer(settings.home, folder.id, text, actor=actor).task
    tasks.give_feedback(settings.home, folder.id, text, actor=actor)
    if task["status"] in ("needs_review", "failed"):
        logged = {"reason": text[:MOST_LOGGED], "action": RESUME_ACTION}
        return tasks.set_status(settings.home, folder.id, "in_progress", actor=actor, **logged).task
    entry = f"task {folder.id} ({task['name']}), iteration {task['iteration']}: {text[:MOST_LOGGED]}"
    tasks.log_act(settings.home, actor, action=RESUME_ACTION, text=entry, now=clock.now())
    return task


def unread_feedback(folder: TaskFolder, text: str) -> list[str]:
    """Lists the answers and the feedback that no turn of the worker has ended well with, except those in the text."""
    from sow.store.projects import log  # lazy, because a new session begins without feedback

    record = sessions.current(folder, folder.task().get("session_id", ""))
    since, iteration = "", 0
    if record is not None:
        turns = record.session["turns"]
        last_done = next((turn for turn in reversed(turns) if turn.get("outcome") == "done"), None)
        since = last_done["started_at"] if last_done else ""
        iteration = last_done.get("iteration", 0) if last_done else turns[0].get("iteration", 0) - 1
    new_entries = [
        entry for entry in log.read_feedback(folder) if entry["at"] >= since and entry["iteration"].isdigit()
    ]
    texts = [entry["text"] for entry in new_entries if int(entry["iteration"]) >= iteration]
    return [unread for unread in dict.fromkeys(texts) if unread not in text]


def _resume_prompt(turn: TaskTurn, record: SessionRecord, task: Task, text: str) -> str:
    sow, turns = sow_command(), record.session["turns"]
    since = turns[-1]["started_at"] if turns else record.session["started_at"]
    decided = briefing.project_part(turn.settings.home, since=since, intro=briefing.DECIDED)
    return "\n".join(
        [
            text,
            "",
            *([decided, ""] if decided else []),
            f"(Task {task['id']}, iteration {task['iteration']}. `{sow} task show {task['id']}` has everything on it.",
            f"End your turn with: {sow} task set --id {task['id']} status needs_review, or paused, or failed.)",
        ]
    )


class FinishedTurn(Record):
    """A finished turn, with its reminder if there was one, and the task after it."""

    turn: TaskTurn
    record: SessionRecord
    outcome: Outcome
    task: Task
    remarks: list[str]
    refusals: list[Refusal]  # tool calls that the CLI refused
    answered_meanwhile: bool  # the worker asked, and does not know the answer yet

    @property
    def status(self) -> str:
        """The status of the task."""
        return self.task["status"]

    @property
    def without_status(self) -> bool:
        """Returns whether the worker ended its turn without setting a status."""
        return self.status == "in_progress" and not self.answered_meanwhile

    @property
    def is_limited(self) -> bool:
        """Returns whether another executor should continue, because this CLI has reached a limit."""
        return self.outcome.kind == "limited" and self.without_status

    def left_unchanged(self) -> bool:
        """Tells whether work was handed in from the shared checkout and nothing in it changed.

        This can be told of the first turn only, and only if nobody else worked there. A CLI that reports its tools is
        not watched; then the result is False.
        """
        watch, turn = self.turn.watch, self.record.session["turns"][-1]
        if watch is None or self.status != "needs_review" or watch.folder != self.turn.settings.home.root:
            return False
        is_first = turn["number"] == 1 and turn["iteration"] == 1
        return is_first and not watch.other_tasks() and not watch.changed()


def _settled(agent_turn: TaskTurn, record: SessionRecord, outcome: Outcome, remarks: list[str]) -> FinishedTurn:
    """Undoes what the worker may not write, and infer the status if the worker set none."""
    folder, turn = agent_turn.folder, record.session["turns"][-1]
    with agent_turn.settings.home.lock():
        if agent_turn.snapshot:
            remarks = [*remarks, *settle.undo_foreign_edits(agent_turn.snapshot, folder)]
        if agent_turn.refusals and not agent_turn.read_only:
            settle.record_refusals(folder, agent_turn.refusals)
        task = folder.task()
        answered = task["iteration"] != agent_turn.iteration
        if outcome.kind == "done" and not answered:
            task, turn["inferred"] = settle.infer_status(folder, worked=has_worked(agent_turn, turn))
    turn["status"] = task["status"]
    record.save()
    return FinishedTurn(agent_turn, record, outcome, task, remarks, agent_turn.refusals, answered)


def _restore_unchanged(finished: FinishedTurn, former: FormerState) -> None:
    """Puts the task back to its former status if the worker only answered and changed nothing."""
    turn = finished.record.session["turns"][-1]
    if former.is_kept(finished.task, inferred=bool(turn.get("inferred"))):
        finished.task = former.restore()
        turn["status"] = finished.task["status"]
        finished.record.save()
        finished.remarks = [*finished.remarks, f"the worker changed nothing: the task is {turn['status']} as before"]


def has_worked(agent_turn: AgentTurn, turn: SessionTurn) -> bool:
    """Tells whether the worker did something: it used a tool, or changed a folder in which nobody else worked."""
    if turn.get("tools") or agent_turn.executor.settings.get("allow_empty"):
        return True
    return agent_turn.watch is not None and not agent_turn.watch.other_tasks() and agent_turn.watch.changed()


def _finish(turn: TaskTurn, finished: FinishedTurn) -> Steps[FinishedTurn]:
    """Ends a call. A turn that ended well but set no status gets one reminder."""
    if finished.outcome.kind == "done" and finished.without_status and turn.adapter.capabilities.resumes:
        reminded = yield from turn.run(finished.record, "reminder", briefing.reminder(turn.folder.id, sow_command()))
        last = _settled(turn, finished.record, reminded, finished.remarks)
        last.refusals = [*finished.refusals, *last.refusals]
        last.outcome = reminded if reminded.kind in INTERRUPTED_KINDS else finished.outcome
        finished = last
    if finished.outcome.kind == "done" and finished.without_status:
        finished.remarks = [*finished.remarks, _nothing_done(turn, finished.refusals)]
        with turn.settings.home.lock():
            finished.task = settle.fail_task(turn.folder, finished.remarks[-1])
        finished.record.session["turns"][-1]["status"] = finished.task["status"]
        finished.record.save()
    elif finished.outcome.kind not in ("done", "interrupted") and not finished.without_status:
        failure = f"{finished.outcome.kind}: {finished.outcome.reason}"
        finished.remarks = [*finished.remarks, f"the turn ended badly ({failure}), after its worker had set the status"]
    return finished


def _nothing_done(turn: TaskTurn, refused: list[Refusal]) -> str:
    from sow.store.projects import notes

    unresolved = notes.unresolved(turn.folder)
    if unresolved:
        command = rules.resolve_command(turn.folder.id, unresolved[0])
        return f"The worker ended its turn with open notes: {', '.join(unresolved)}; you can resolve them: {command}"
    if refused:
        return "The worker was denied what it needed"
    other_tasks = turn.watch.other_tasks() if turn.watch else []
    if other_tasks:
        shared = f"others worked in the same folder (task {', '.join(other_tasks)})"
        return f"The worker ended its turn without a status, and {shared}, so that nobody can tell what it did"
    return "The worker ended its turn and changed nothing"


USUAL = {"": {"adrs", "designs"}, "/adrs": {"README.md"}, "/designs": {"README.md"}}  # files that `sow init` creates


def choose_references(turn: TaskTurn, task: Task, actor: Actor) -> list[str]:
    """Chooses references for a task without any, or with a lost one; returns remarks."""
    config, task_folder = turn.settings.config, turn.folder
    lost = _lost(turn, task)
    if ("context" in task and not lost) or not config.setting("context", "enabled"):
        return []
    if not lost and not _has_library(turn.settings.home, task):
        return []
    from sow.domain.text.units import parse_tokens
    from sow.knowledge.document_choice import choose_for_task

    budget = parse_tokens(str(config.setting("context", "budget")), "context.budget")
    folder, environment = turn.cwd or turn.settings.home.root, turn.settings.environment
    project = projects.load(turn.settings.home)
    choice = choose_for_task(task_folder, project, task, folder=folder, budget=budget, environment=environment)
    if choice.chosen or lost:
        tasks.set_references(turn.settings.home, task_folder.id, choice.chosen, actor=actor)
    return [
        *(f"{path} is gone, so the references of task {task_folder.id} were chosen anew" for path in lost),
        *choice.remarks,
    ]


def _lost(turn: TaskTurn, task: Task) -> list[str]:
    """Returns the first chosen document that no longer exists, as after `sow sinks remove`."""
    folders = [folder for folder in (turn.cwd, turn.settings.home.root) if folder]
    chosen = [reference["path"] for reference in task.get("context", ())]
    return [path for path in chosen if not any(os.path.exists(f"{folder}/{path}") for folder in folders)][:1]


def _has_library(home: Home, task: Task) -> bool:
    """Tells whether there can be anything to choose from, so that a worker's start does not wait for nothing."""
    if task["depends_on"] or any(os.path.exists(f"{home.sow}/{name}/index.json") for name in ("sinks", "repos")):
        return True
    if any(set(list_folder(f"{home.sow}/knowledge{folder}")) - usual for folder, usual in USUAL.items()):
        return True
    try:
        return home.read(f"{home.sow}/config.yaml").count('".sow/knowledge/') < 2  # documents may be elsewhere
    except FileNotFoundError:
        return False
