"""Spawn and resume: a worker is put on a task, works for a turn, and the task says how that ended."""

from __future__ import annotations

import os

from sow.agents import briefing
from sow.domain import task as rules
from sow.engine import evidence, settle
from sow.engine.turn import Crew, Result, Seat, recover, sow_path
from sow.errors import SowError
from sow.executors.executor import no_resumption
from sow.store import desk as desks
from sow.store import notes, sessions, task_acts
from sow.store import project as projects
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.agents.agent import Agent
    from sow.config import ExecutorConfig
    from sow.domain.actor import Actor
    from sow.domain.shapes import Task
    from sow.executors.adapter import Outcome
    from sow.store.desk import Desk
    from sow.store.sessions import Record

DELEGATING = ("claude",)  # CLIs that find .claude/agents themselves and have such roles as subagents


def spawn(crew: Crew, task: str, agent: Agent, executors: list[ExecutorConfig], *, actor: Actor, fresh: bool) -> Result:
    """Start a new session on a task; where the first executor is limited, the next of the list takes over."""
    project = projects.load(crew.home)
    desk = desks.find(crew.home, project, task)
    seats = [Seat(crew, desk, project, agent, each) for each in executors]
    for seat in seats:
        seat.check()
    with crew.home.claim(f"task-{task}", purpose=f"{agent.name} works on task {task}"):
        remarks = [*recover(desk, crew.environment), *_cautions(seats[0])]
        before = _begin(seats[0], actor, fresh=fresh)
        why = "a fresh session was asked for" if before.get("session_id") else ""
        for index, seat in enumerate(seats):
            record, result = _first_turn(seat, "spawn" if not why else "recovery", why)
            if result.kind != "limited" or index == len(seats) - 1:
                break
            why = f"{seat.executor.name} has reached its limit"
            remarks.append(f"{why}: {seats[index + 1].executor.name} takes over")
        return _finish(seat, record, result, remarks)


def resume(crew: Crew, task: str, agent: Agent, executor: ExecutorConfig, text: str, *, actor: Actor) -> Result:
    """Go on with a task's session: the text is the answer, the feedback, and the prompt."""
    project = projects.load(crew.home)
    desk = desks.find(crew.home, project, task)
    record = _record(desk, crew, executor)
    seat = Seat(crew, desk, project, agent, executor)
    if record is not None and not seat.adapter.capabilities.resumes:
        raise no_resumption(executor.name, task)
    seat.check()
    with crew.home.claim(f"task-{task}", purpose=f"{agent.name} works on task {task}"):
        remarks = [*recover(desk, crew.environment), *_cautions(seat)]
        record = _record(desk, crew, executor)
        answered = _answer(seat, text, actor)
        if record is None:
            remarks.append("no record of the session is on this machine: a fresh one starts from what is on disk")
            record, outcome = _first_turn(seat, "recovery", "its record is on another machine", text)
            return _finish(seat, record, outcome, remarks)
        outcome, _ = seat.take(record, "resume", _resume_prompt(answered, text))
        if outcome.kind == "not_found":
            remarks.append(f"the session is gone ({outcome.reason}): a fresh one starts from what is on disk")
            record, outcome = _first_turn(seat, "recovery", "the CLI does not know it any more", text)
        return _finish(seat, record, outcome, remarks)


def _record(desk: Desk, crew: Crew, executor: ExecutorConfig) -> Record | None:
    """The record of the task's session, if it is here, of this kind of CLI, and its folder still exists."""
    current = desk.task().get("session_id")
    if not current:
        agent = desk.task()["assigned_agent"]
        raise SowError(
            f"no session found for task {desk.id}",
            "Task has not been started or session has expired.\n"
            f"Use `sow agent spawn {agent} {desk.id}` to start a new session.",
        )
    found = sessions.current(desk, current)
    fits = found is not None and found.session["type"] == executor.type and os.path.isdir(found.session["cwd"])
    return found if fits else None


def _cautions(seat: Seat) -> list[str]:
    """What a person should know before the turn: some CLIs do nothing useful without yolo_mode."""
    if not seat.adapter.capabilities.needs_yolo or seat.executor.yolo or seat.agent.judges:
        return []
    return [f"{seat.executor.name} can change nothing without yolo_mode: true in its settings; see 'sow config edit'"]


def _begin(seat: Seat, actor: Actor, *, fresh: bool) -> Task:
    """Move the task to in_progress, if it may start; returns it as it was."""
    crew, desk = seat.crew, seat.desk
    with crew.home.lock():
        before = desk.load()["task"]
    if before["status"] in rules.ENDED_STATUSES:
        raise SowError(
            f"task {desk.id} is {before['status']}", "create a new task for more work on it: sow task create …"
        )
    if before.get("session_id") and not fresh:
        raise SowError(
            f"task {desk.id} has a session already",
            f'go on with it: sow agent resume {desk.id} "…"\n'
            f"or start over: sow agent spawn {seat.agent.name} {desk.id} --fresh",
        )
    if before["status"] == "paused":
        raise SowError(f"task {desk.id} waits for an answer", f'answer it: sow agent resume {desk.id} "…"')
    if before["status"] != "in_progress":
        task_acts.set_status(crew.home, desk.id, "in_progress", actor=actor)
    return before


def _first_turn(seat: Seat, kind: str, why: str, text: str = "") -> tuple[Record, Outcome]:
    """A new session: its record first, then its id in the task's state, then the process."""
    crew, desk = seat.crew, seat.desk
    record = seat.open_session()
    with crew.home.lock():
        loaded = desk.load()
        task = loaded["task"]
        named = record.session.get("session_id") or record.session["key"]
        changed: Task = {**task, "session_id": named, "assigned_agent": seat.agent.name, "updated_at": clock.now()}
        desk.save(loaded, changed, seat.project["project_id"])
    packet = briefing.packet(changed, sow_path(), why=why) if why else ""
    if not seat.adapter.capabilities.runs_commands:
        packet = f"{packet}\n\n{briefing.whole_task(desk)}".strip()
    if text:
        packet = f"{packet}\n\n{text}".strip()
    delegates = seat.executor.type in DELEGATING
    prompt = briefing.spawn_prompt(seat.agent, desk, changed, sow_path(), delegates=delegates, packet=packet)
    outcome, _ = seat.take(record, kind, prompt)
    return record, outcome


def _answer(seat: Seat, text: str, actor: Actor) -> Task:
    """What a resume says becomes feedback, the answer to open questions, and the next iteration."""
    crew, desk = seat.crew, seat.desk
    task = desk.task()
    if task["status"] in rules.ENDED_STATUSES:
        raise SowError(
            f"task {desk.id} is {task['status']}", "create a new task for more work on it: sow task create …"
        )
    if task["status"] == "paused" or any(each["status"] == "escalated" for each in notes.listed(desk)):
        return task_acts.answer(crew.home, desk.id, text, actor=actor).task
    if task["status"] in ("needs_review", "failed"):
        task_acts.give_feedback(crew.home, desk.id, text, actor=actor)
        return task_acts.set_status(crew.home, desk.id, "in_progress", actor=actor).task
    return task


def _resume_prompt(task: Task, text: str) -> str:
    sow = sow_path()
    return "\n".join(
        [
            text,
            "",
            f"(Task {task['id']}, iteration {task['iteration']}. `{sow} task show {task['id']}` has everything on it.",
            f"End your turn with: {sow} task set --id {task['id']} status needs_review, or paused, or failed.)",
        ]
    )


def _finish(seat: Seat, record: Record, outcome: Outcome, remarks: list[str]) -> Result:
    """Settle a turn; one that ended well but said nothing gets one reminder."""
    crew, desk = seat.crew, seat.desk
    task, remarks = _settle(seat, record, outcome, remarks)
    if outcome.kind == "done" and task["status"] == "in_progress":
        if seat.adapter.capabilities.resumes:
            reminded, _ = seat.take(record, "reminder", briefing.reminder(desk.id, sow_path()))
            task, remarks = _settle(seat, record, reminded, remarks)
        if task["status"] == "in_progress":
            remarks = [*remarks, _nothing_done(seat)]
            with crew.home.lock():
                task = settle.fail(desk, seat.project, remarks[-1])
    turn = record.session["turns"][-1]
    turn["status"] = task["status"]
    record.save()
    return Result(task=task, outcome=outcome, record=record, executor=seat.executor.name, remarks=remarks)


def _settle(seat: Seat, record: Record, outcome: Outcome, remarks: list[str]) -> tuple[Task, list[str]]:
    crew, desk = seat.crew, seat.desk
    turn = record.session["turns"][-1]
    with crew.home.lock():
        remarks = [*remarks, *settle.own_moves_only(crew.home, seat.project, desk)]
        if outcome.kind != "done":
            return desk.task(), remarks
        worked = bool(turn.get("tools")) or bool(seat.executor.settings.get("allow_empty")) or _changed(seat, record)
        task, turn["inferred"] = settle.infer(desk, seat.project, worked=worked)
    return task, remarks


def _changed(seat: Seat, record: Record) -> bool:
    """Whether the turn changed the working folder; only CLIs that tell of no tools are asked this way."""
    return seat.before is not None and evidence.look(record.session["cwd"]) != seat.before


def _nothing_done(seat: Seat) -> str:
    unresolved = notes.unresolved(seat.desk)
    if unresolved:
        return f"The worker ended its turn with unresolved notes: {', '.join(unresolved)}"
    if seat.denied:
        return "The worker was denied what it needed; yolo_mode: true in its executor's settings would allow it"
    return "The worker ended its turn and changed nothing"
