"""Reports how a turn ended: remarks, cost, the task's status and the command that continues."""

from __future__ import annotations

import time

from sow.cli.output import emit
from sow.domain.checks import refusals
from sow.errors import Interrupted, SystemFailure, Waiting
from sow.reports.resume_command import task_resume_command
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.system.terminal import err, escape_control, escape_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.engine.turns.turn_settings import TurnResult
    from sow.store.files.checkout_home import Home
    from sow.store.projects.task_folder import TaskFolder


def print_result(result: TurnResult, *, json: bool, shown: bool) -> int:
    """Prints the result of a turn; the agent's final text is left out if it was just shown."""
    turn = result.record.session["turns"][-1]
    if json:
        emit(
            {
                "task": result.task,
                "executor": result.executor,
                "outcome": result.outcome.kind,
                "reason": result.outcome.reason,
                "text": result.outcome.text,
                "turn": turn,
                "transcript": result.record.folder,
                "remarks": result.remarks,
                "refusals": result.refusals,
            }
        )
    else:
        if not shown:
            out(escape_control(result.outcome.text))
        for remark in result.remarks:
            err(f"note: {escape_line(remark)}")
        if result.refusals:
            summary = f"{refusals.sentence(result.refusals)}; {refusals.advice(result.refusals)}"
            err(f"note: {escape_line(summary)}")
        err(_cost(turn))
    _raise_failure(result)
    if not json:
        out(f"task {result.task['id']}: status is {result.status}")
    return 0


def interruption(home: Home, task: str) -> Interrupted:
    """Returns the error for a call that the user interrupted while no turn was running."""
    return _interrupted(task_folders.find(home, projects.load(home), task))


def _interrupted(folder: TaskFolder) -> Interrupted:
    task = folder.task()
    return Interrupted(
        f"interrupted: task {folder.id} is {task['status']}", f"go on with it: {task_resume_command(folder, task)}"
    )


def _cost(turn: object) -> str:
    facts = turn if isinstance(turn, dict) else {}
    cost = "unknown" if facts.get("cost_usd") is None else f"${facts['cost_usd']:.4f}"
    tokens = (
        "unknown"
        if facts.get("input_tokens") is None
        else f"{facts['input_tokens']} in, {facts.get('output_tokens')} out"
    )
    return f"turn {facts.get('number')}: {facts.get('seconds', 0):.0f} s, cost {cost}, tokens {tokens}"


def _raise_failure(result: TurnResult) -> None:
    """Raises an error with the next step if the turn failed and the worker had not yet set a status."""
    kind, reason, task = result.outcome.kind, escape_line(result.outcome.reason), result.task["id"]
    if kind == "interrupted":
        raise _interrupted(result.folder)
    if kind == "done" or result.status != "in_progress":
        return
    resume = task_resume_command(result.folder, result.task)
    if kind == "limited":
        when = (
            "at " + time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(result.outcome.reset_at))
            if result.outcome.reset_at
            else "later"
        )
        raise Waiting(
            f"{result.executor} has reached its limit: {reason}", f"no attempt was counted; go on {when}: {resume}"
        )
    if kind == "timeout":
        raise SystemFailure(f"the turn on task {task} was stopped: {reason}", f"go on with it: {resume}")
    outcome = "failed" if kind == "failed" else f"did not happen: {kind}"
    fresh = f"sow agent spawn {result.task['assigned_agent']} {task} --fresh"
    alternative = "" if resume == fresh else f"\nor begin a new session: {fresh}"
    raise SystemFailure(
        f"the turn on task {task} {outcome}: {reason}",
        f"its output is in {result.record.folder}; try again: {resume}{alternative}",
    )
