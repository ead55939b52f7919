"""Spawns or resumes a worker on a task for one turn and records on the task how the turn ended."""

from __future__ import annotations

import os

from sow.agents import briefing
from sow.domain import task as rules
from sow.domain.actor import ORCHESTRATOR
from sow.engine import settle
from sow.engine.crew import Crew, Result
from sow.engine.own_command import sow_word
from sow.engine.recovery import recover
from sow.engine.referring import refer
from sow.engine.turn import Seat
from sow.errors import SowError
from sow.executors.adapter import ASSIGNED
from sow.executors.executor import no_resumption
from sow.executors.registry import adapter as find_adapter
from sow.store import desk as desks
from sow.store import project as projects
from sow.store import sessions, task_acts
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.agents.agent import Agent
    from sow.config import ExecutorConfig
    from sow.domain.actor import Actor
    from sow.domain.shapes import Refusal, SessionTurn, Task
    from sow.engine.steps import Steps
    from sow.executors.adapter import Outcome
    from sow.store.desk import Desk
    from sow.store.sessions import Record

CUT_OFF = ("interrupted", "timeout", "limited", "overloaded")  # ends of a turn that say nothing about the worker
MOST_LOGGED = 2000
DELEGATING = ("claude",)  # CLIs that find .claude/agents themselves and offer such roles as subagents


class TaskSeat(Seat):
    """The turn of a task's worker."""

    __slots__ = ()
    desk: Desk

    def name_session(self, key: str, name: str) -> None:
        """Record the CLI's own session id in the task's state."""
        self.desk.name_session(key, name)


def spawn(
    crew: Crew,
    task: str,
    agent: Agent,
    executors: list[ExecutorConfig],
    *,
    actor: Actor,
    fresh: bool,
    cwd: str = "",
    text: str = "",
) -> Steps[Result]:
    """Start a new session on a task. If the first executor is limited, the next one in the list takes over.

    `text`, such as feedback on earlier work, comes last in the prompt.
    """
    seats = seats_to_spawn(crew, task, agent, executors, cwd=cwd)
    for seat in seats:
        seat.check()
    with crew.home.claim(f"task-{task}", purpose=f"{agent.name} works on task {task}"):
        remarks = [*recover(seats[0].desk, crew.environment), *_cautions(seats[0])]
        task_before = _begin(seats[0], actor, fresh=fresh)
        remarks += refer(seats[0], task_before, actor)
        reason = "a fresh session was asked for" if task_before.get("session_id") else ""
        for index, seat in enumerate(seats):
            record, outcome = yield from _first_turn(seat, "spawn" if not reason else "recovery", actor, reason, text)
            finished = _settled(seat, record, outcome, remarks)
            if not finished.is_limited or index == len(seats) - 1:
                break
            reason = f"{seat.executor.name} has reached its limit"
            remarks = [*finished.remarks, f"{reason}: {seats[index + 1].executor.name} takes over"]
        return (yield from _finish(seat, finished))


def resume(
    crew: Crew,
    task: str,
    agent: Agent,
    executor: ExecutorConfig,
    text: str,
    *,
    actor: Actor,
    recorded: bool = False,
) -> Steps[Result]:
    """Continue a task's session: `text` is the answer, the feedback (unless `recorded`) and the prompt."""
    seat, _ = seat_to_resume(crew, task, agent, executor)
    seat.check()
    with crew.home.claim(f"task-{task}", purpose=f"{agent.name} works on task {task}"):
        remarks = [*recover(seat.desk, crew.environment), *_cautions(seat)]
        record, reason = _record(seat.desk, executor)
        answered = seat.desk.task() if recorded else _answer(seat, text, actor)
        if record is not None:
            outcome = yield from seat.take(record, "resume", _resume_prompt(answered, text))
            if outcome.kind != "not_found":
                return (yield from _finish(seat, _settled(seat, record, outcome, remarks)))
            finished = _settled(seat, record, outcome, remarks)
            remarks = [*finished.remarks, f"the session is gone ({outcome.reason}): a fresh one starts"]
            reason = "the CLI does not know it any more"
        else:
            remarks.append(f"{reason}: a fresh session starts from what is on disk")
        seat.cwd = _folder(seat.desk)
        remarks += refer(seat, answered, actor)
        record, outcome = yield from _first_turn(seat, "recovery", actor, reason, text)
        return (yield from _finish(seat, _settled(seat, record, outcome, remarks)))


def _folder(desk: Desk) -> str:
    """Return the folder of the task's last session, if it still exists: a new session works there, too."""
    record = sessions.current(desk, desk.task().get("session_id", ""))
    return record.session["cwd"] if record is not None and os.path.isdir(record.session["cwd"]) else ""


def seats_to_spawn(
    crew: Crew, task: str, agent: Agent, executors: list[ExecutorConfig], *, cwd: str = ""
) -> list[TaskSeat]:
    """Return one seat per executor that may take the task, in order. A wanted model applies to the first CLI only."""
    if agent.name == ORCHESTRATOR:
        raise SowError(
            "the orchestrator is no worker: it is the one who spawns them",
            f"put a worker on the task: sow agent spawn implementer {task}\n"
            "or have your own agent CLI play the orchestrator, by what this says: sow prompt templates/orchestrator",
        )
    project = projects.load(crew.home)
    desk = desks.find(crew.home, project, task)
    models = [crew.model if executor.type == executors[0].type else "" for executor in executors]
    pairs = zip(executors, models, strict=True)
    return [TaskSeat(crew, desk, agent, executor, model=model, cwd=cwd) for executor, model in pairs]


def seat_to_resume(crew: Crew, task: str, agent: Agent, executor: ExecutorConfig) -> tuple[TaskSeat, Record | None]:
    """Return the seat of a task whose session can continue, and that session's record, if it is on this machine."""
    project = projects.load(crew.home)
    desk = desks.find(crew.home, project, task)
    rules.refuse_ended(desk.task())
    record, _ = _record(desk, executor)
    seat = TaskSeat(crew, desk, agent, executor, model=crew.model)
    if record is not None and not seat.adapter.capabilities.resumes:
        raise no_resumption(executor.name, task, agent.name)
    return seat, record


def _record(desk: Desk, executor: ExecutorConfig) -> tuple[Record | None, str]:
    """Return the record of the task's session if it can be resumed here, else the reason why not."""
    task = desk.task()
    if "session_id" not in task:
        raise SowError(
            f"no session found for task {desk.id}",
            "Task has not been started or session has expired.\n"
            f"Use `sow agent spawn {task['assigned_agent']} {desk.id}` to start a new session.",
        )
    return resumable(sessions.current(desk, task["session_id"]), executor)


def resumable(record: Record | None, executor: ExecutorConfig) -> tuple[Record | None, str]:
    """Return a session's record if the executor can resume it here, else the reason why not."""
    if record is None:
        return None, "no record of the session is on this machine"
    session = record.session
    if session["type"] != executor.type:
        return None, f"the session is one of {session['executor']}, and {executor.name} cannot go on with it"
    if not os.path.isdir(session["cwd"]):
        return None, f"the folder of the session is gone ({session['cwd']})"
    if find_adapter(session["type"]).capabilities.session == ASSIGNED and "session_id" not in session:
        return None, "the CLI never said which session it is"
    return record, ""


def _cautions(seat: TaskSeat) -> list[str]:
    """Warn, before the turn, about a CLI that can change nothing without yolo_mode."""
    if not seat.adapter.capabilities.needs_yolo or seat.executor.yolo or seat.agent.judges:
        return []
    return [f"{seat.executor.name} can change nothing without yolo_mode: true in its settings; see 'sow config edit'"]


def _begin(seat: TaskSeat, actor: Actor, *, fresh: bool) -> Task:
    """Return the task if work on it may begin; writes nothing."""
    with seat.crew.home.lock():
        task = seat.desk.load()["task"]
        may_begin(seat, task, fresh=fresh)
        task_acts.may_be_put_to_work(seat.crew.home, seat.desk.id, actor=actor)
    return task


def may_begin(seat: TaskSeat, task: Task, *, fresh: bool) -> None:
    """Refuse a new session on a task that has ended, that waits for an answer or that has a session to resume."""
    rules.refuse_ended(task)
    if task["status"] != "paused" and ("session_id" not in task or fresh):
        return
    from sow.engine.go_on import door, is_resumable  # here, because only an error needs it

    if task["status"] == "paused":
        raise SowError(f"task {task['id']} waits for an answer", f"answer it: {door(seat.desk, task)}")
    anew = f"begin a new session: sow agent spawn {seat.agent.name} {task['id']} --fresh"
    goes_on = f"go on with it: {door(seat.desk, task)}\nor " if is_resumable(seat.desk, task) else ""
    raise SowError(f"task {task['id']} has a session already", f"{goes_on}{anew}")


def _first_turn(seat: TaskSeat, kind: str, actor: Actor, reason: str, text: str = "") -> Steps[tuple[Record, Outcome]]:
    """Open a new session: write its record first, then the task's state with its id, then start the process."""
    desk = seat.desk
    record = seat.open_session(kind)
    session_id = record.session.get("session_id") or record.session["key"]
    changed = task_acts.put_to_work(seat.crew.home, desk.id, session_id, seat.agent.name, actor=actor)
    packet = briefing.packet(changed, sow_word(), why=reason) if reason else ""
    if not seat.adapter.capabilities.runs_commands:
        packet = f"{packet}\n\n{briefing.whole_task(desk, changed)}".strip()
    if text:
        packet = f"{packet}\n\n{text}".strip()
    delegates = seat.executor.type in DELEGATING
    prompt = briefing.spawn_prompt(
        seat.agent, desk, changed, sow_word(), delegates=delegates, packet=packet, folder=seat.cwd
    )
    outcome = yield from seat.take(record, kind, prompt)
    return record, outcome


def _answer(seat: TaskSeat, text: str, actor: Actor) -> Task:
    """Record the text of a resume: as feedback, as the answer to open questions and as the next iteration."""
    from sow.store import notes  # lazy, because a new session begins without notes

    crew, desk = seat.crew, seat.desk
    task = desk.task()
    rules.refuse_ended(task)
    if task["status"] == "paused" or any(note["status"] == "escalated" for note in notes.listed(desk)):
        return task_acts.answer(crew.home, desk.id, text, actor=actor).task
    task_acts.give_feedback(crew.home, desk.id, text, actor=actor)
    if task["status"] in ("needs_review", "failed"):
        return task_acts.set_status(crew.home, desk.id, "in_progress", actor=actor).task
    entry = f"task {desk.id} ({task['name']}), iteration {task['iteration']}: {text[:MOST_LOGGED]}"
    task_acts.record(crew.home, actor, action="go_on", text=entry, now=clock.now())
    return task


def _resume_prompt(task: Task, text: str) -> str:
    sow = sow_word()
    return "\n".join(
        [
            text,
            "",
            f"(Task {task['id']}, iteration {task['iteration']}. `{sow} task show {task['id']}` has everything on it.",
            f"End your turn with: {sow} task set --id {task['id']} status needs_review, or paused, or failed.)",
        ]
    )


class Taken:
    """A finished turn and the task after it."""

    __slots__ = ("answered", "outcome", "record", "refusals", "remarks", "task")

    def __init__(
        self,
        record: Record,
        outcome: Outcome,
        task: Task,
        remarks: list[str],
        refusals: list[Refusal],
        *,
        answered: bool,
    ) -> None:
        self.record = record
        self.outcome = outcome
        self.task = task
        self.remarks = remarks
        self.refusals = refusals
        self.answered = answered  # answered while the turn ran: the worker asked, and does not know the answer yet

    @property
    def is_open(self) -> bool:
        """Whether the worker ended its turn without setting a status."""
        return self.task["status"] == "in_progress" and not self.answered

    @property
    def is_limited(self) -> bool:
        """Whether another executor should continue, because this CLI has reached a limit."""
        return self.outcome.kind == "limited" and self.is_open


def _settled(seat: TaskSeat, record: Record, outcome: Outcome, remarks: list[str]) -> Taken:
    """Undo what the worker may not write, and infer the status if the worker set none."""
    desk, turn = seat.desk, record.session["turns"][-1]
    with seat.crew.home.lock():
        if seat.snapshot:
            remarks = [*remarks, *settle.own_moves_only(seat.snapshot, desk)]
        if seat.refusals and not seat.judges:
            settle.refused(desk, seat.refusals)
        task = desk.task()
        answered = task["iteration"] != seat.iteration
        if outcome.kind == "done" and not answered:
            task, turn["inferred"] = settle.infer(desk, worked=_worked(seat, turn))
    turn["status"] = task["status"]
    record.save()
    return Taken(record, outcome, task, remarks, seat.refusals, answered=answered)


def _worked(seat: TaskSeat, turn: SessionTurn) -> bool:
    """Tell whether the worker did something: it used a tool, or changed a folder in which nobody else worked."""
    if turn.get("tools") or seat.executor.settings.get("allow_empty"):
        return True
    return seat.watch is not None and not seat.watch.others() and seat.watch.changed()


def _finish(seat: TaskSeat, finished: Taken) -> Steps[Result]:
    """End a call. A turn that ended well but set no status gets one reminder."""
    if finished.outcome.kind == "done" and finished.is_open and seat.adapter.capabilities.resumes:
        reminded = yield from seat.take(finished.record, "reminder", briefing.reminder(seat.desk.id, sow_word()))
        last = _settled(seat, finished.record, reminded, finished.remarks)
        last.refusals = [*finished.refusals, *last.refusals]
        last.outcome = reminded if reminded.kind in CUT_OFF else finished.outcome
        finished = last
    remarks = finished.remarks
    if finished.outcome.kind == "done" and finished.is_open:
        remarks = [*remarks, _nothing_done(seat, finished.refusals)]
        with seat.crew.home.lock():
            finished.task = settle.fail(seat.desk, remarks[-1])
        finished.record.session["turns"][-1]["status"] = finished.task["status"]
        finished.record.save()
    elif finished.outcome.kind not in ("done", "interrupted") and not finished.is_open:
        failure = f"{finished.outcome.kind}: {finished.outcome.reason}"
        remarks = [*remarks, f"the turn ended badly ({failure}), after its worker had set the status"]
    return Result(
        desk=seat.desk,
        task=finished.task,
        outcome=finished.outcome,
        record=finished.record,
        executor=seat.executor.name,
        remarks=remarks,
        refusals=finished.refusals,
        unchanged=_left_unchanged(seat, finished),
    )


def _left_unchanged(seat: TaskSeat, finished: Taken) -> bool:
    """Tell whether work was handed in from the shared checkout and nothing in it changed.

    This can be told of the first turn only, and only if nobody else worked there. A CLI that reports its tools is not
    watched; then the result is False.
    """
    watch, turn = seat.watch, finished.record.session["turns"][-1]
    if watch is None or finished.task["status"] != "needs_review" or watch.folder != seat.crew.home.root:
        return False
    is_first = turn["number"] == 1 and turn["iteration"] == 1
    return is_first and not watch.others() and not watch.changed()


def _nothing_done(seat: TaskSeat, refused: list[Refusal]) -> str:
    from sow.domain import refusals
    from sow.store import notes

    unresolved = notes.unresolved(seat.desk)
    if unresolved:
        return f"The worker ended its turn with unresolved notes: {', '.join(unresolved)}"
    if refused:
        return f"The worker was denied what it needed: {refusals.sentence(refused)}; {refusals.advice(refused)}"
    other_tasks = seat.watch.others() if seat.watch else []
    if other_tasks:
        shared = f"others worked in the same folder (task {', '.join(other_tasks)})"
        return f"The worker ended its turn without a status, and {shared}, so that nobody can tell what it did"
    return "The worker ended its turn and changed nothing"
