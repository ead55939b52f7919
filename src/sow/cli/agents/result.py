"""Reports how a turn ended: remarks, cost, the task's status and the command that continues."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sow.cli.agents.turn_output import TurnOutput
from sow.cli.output import emit
from sow.domain.checks import refusals
from sow.domain.documents.state import SessionTurn
from sow.domain.text.units import dollars, format_seconds
from sow.engine.turns.task_turn import FinishedTurn
from sow.errors import Interrupted, SystemFailure, Waiting
from sow.executors.settings import adapter
from sow.reports.idle_tasks import ProjectRuns, answer_of
from sow.reports.next_steps import task_resume_command
from sow.store.files.checkout_home import Home
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects.task_folder import TaskFolder
from sow.system import clock
from sow.system.terminal import err, escape_control, escape_line, notes, out


def print_result(result: FinishedTurn, runs: ProjectRuns, *, failure: str, json: bool, screen: TurnOutput) -> int:
    """Prints the result of a call, without what the screen has shown; `failure` begins the message of a failed one."""
    turn = result.record.session["turns"][-1]
    if json:
        emit(
            {
                "task": result.task,
                "executor": result.turn.executor.name,
                "outcome": result.outcome.kind,
                "reason": result.outcome.reason,
                "text": result.outcome.text,
                "turn": turn,
                "turns": result.turn.settings.turns,
                "transcript": result.record.folder,
                "remarks": result.remarks,
                "refusals": result.refusals,
            }
        )
    else:
        if not screen.has_shown(result.outcome.text):
            out(escape_control(result.outcome.text))
        notes(remark for remark in result.remarks if remark not in screen.notes)
        summary = refusals.summary(result.refusals)
        if result.refusals and not any(summary in remark for remark in result.remarks):
            err(f"note: {escape_line(summary)}")
        err(_cost(result.turn.settings.turns))
        commands = {"paused": answer_of(result.task), "needs_review": f"sow approve {result.task['id']}"}
        if result.status == "failed":
            commands["failed"] = runs.task_command(result.turn.folder, result.task)
        if result.status in commands:
            err(f"next: {commands[result.status]}")
    _raise_failure(result, failure)
    if not json:
        out(f"task {result.task['id']}: status is {result.status}")
    return 0


def interruption(home: Home, task: str) -> Interrupted:
    """Returns the error for a call that the user interrupted while no turn was running."""
    return _interrupted(task_folders.find(home, projects.load(home), task))


def _interrupted(folder: TaskFolder) -> Interrupted:
    task = folder.task()
    return Interrupted(
        f"interrupted: task {folder.id} is {task['status']}", f"continue it: {task_resume_command(folder, task)}"
    )


def _cost(turns: list[SessionTurn]) -> str:
    """Returns time, cost and tokens of all turns of a call; a sum of which a part is unknown has a plus sign."""
    count = f"turn {turns[-1]['number']}" if len(turns) == 1 else f"{len(turns)} turns"
    seconds = sum(turn.get("seconds") or 0 for turn in turns)
    cost = _sum([turn.get("cost_usd") for turn in turns], dollars)
    tokens_in = _sum([turn.get("input_tokens") for turn in turns], "{:,}".format)
    tokens_out = _sum([turn.get("output_tokens") for turn in turns], "{:,}".format)
    tokens = "unknown" if tokens_in == "unknown" else f"{tokens_in} in, {tokens_out} out"
    return f"{count}: {format_seconds(seconds)}, cost {cost}, tokens {tokens}"


def _sum(values: Sequence[float | None], form: Callable[[float], str]) -> str:
    amounts = [value for value in values if value is not None]
    return form(sum(amounts)) + ("+" if len(amounts) < len(values) else "") if amounts else "unknown"


def _raise_failure(result: FinishedTurn, failure: str) -> None:
    """Raises an error with the next step if the turn failed and the worker had not yet set a status."""
    kind, reason, task = result.outcome.kind, escape_line(result.outcome.reason), result.task["id"]
    if kind == "interrupted":
        raise _interrupted(result.turn.folder)
    if kind == "done" or result.status != "in_progress":
        return
    resume = task_resume_command(result.turn.folder, result.task)
    if kind == "limited":
        when = f"at {clock.local(result.outcome.reset_at)}" if result.outcome.reset_at else "later"
        raise Waiting(
            f"{result.turn.executor.name} has reached its limit: {reason}",
            f"this does not count as an iteration; continue {when}: {resume}",
        )
    if kind == "timeout":
        raise SystemFailure(f"{failure}: the turn was stopped: {reason}", f"continue it: {resume}")
    advice = adapter(result.record.session["type"]).login_advice
    if reason.endswith(advice):
        raise SystemFailure(f"{failure}: {reason.removesuffix(f'; {advice}')}", f"{advice}, then continue: {resume}")
    fresh = f"sow agent spawn {result.task['assigned_agent']} {task} --fresh"
    alternative = "" if resume == fresh else f"\nor start a new session: {fresh}"
    raise SystemFailure(
        f"{failure}: {reason}" if kind == "failed" else f"{failure}: {kind}: {reason}",
        f"its output is in {result.record.folder}; try again: {resume}{alternative}",
    )
