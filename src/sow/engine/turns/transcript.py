"""Records a turn: the names of its files, and the fields of its session's record."""

from __future__ import annotations

from sow.engine.turns.runner import TurnFiles
from sow.executors.registry import adapter as find_adapter
from sow.system import clock
from sow.system.terminal import escape_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sow.domain.documents.state import Refusal, SessionTurn
    from sow.engine.turns.runner import SupervisedRunner
    from sow.executors.adapter import Outcome
    from sow.executors.events import TurnSummary
    from sow.store.runs.sessions import SessionRecord

MOST_REASON = 2000


def files_of(record: SessionRecord, number: int) -> TurnFiles:
    """Return the paths of one turn's prompt and output."""
    names = {"prompt": "prompt", "out": "out", "err": "err", "readable": "md"}
    return TurnFiles(**{name: record.file(number, ending) for name, ending in names.items()})


def record_turn(
    record: SessionRecord, turn: SessionTurn, outcome: Outcome, summary: TurnSummary, runner: SupervisedRunner
) -> None:
    """Record a finished turn; if the CLI reports totals of the session, the turn's share is the difference."""
    session, capabilities = record.session, find_adapter(record.session["type"]).capabilities
    cost = _share(session, "total_cost_usd", summary.cost, total=capabilities.cumulative_cost)
    tokens_in = _share(session, "total_input_tokens", summary.input_tokens, total=capabilities.cumulative_tokens)
    tokens_out = _share(session, "total_output_tokens", summary.output_tokens, total=capabilities.cumulative_tokens)
    turn.update(
        {
            "ended_at": clock.now(),
            "exit": runner.code,
            "outcome": outcome.kind,
            "reason": outcome.reason[:MOST_REASON],
            "tools": max(summary.tool_count - summary.refusal_count, 0),
            "cost_usd": None if cost is None else round(cost, 6),
            "input_tokens": None if tokens_in is None else int(tokens_in),
            "output_tokens": None if tokens_out is None else int(tokens_out),
            "agent_turns": summary.turns,
            "seconds": round(runner.seconds, 3),
        }
    )
    record.save()


def refusals_of(
    record: SessionRecord, turn: SessionTurn, summary: TurnSummary, clean: Callable[[str], str]
) -> list[Refusal]:
    """Return the tool calls that the CLI refused in a turn, as the task records them."""
    refusals: list[Refusal] = []
    for refusal in summary.refusals.values():
        entry: Refusal = {
            "iteration": turn.get("iteration", 1),
            "tool": escape_line(refusal.tool) or "tool",
            "reason": clean(refusal.reason),
            "count": refusal.count,
            "executor": record.session["executor"],
            "at": clock.now(),
        }
        if refusal.command.strip():
            entry["command"] = clean(refusal.command)
        refusals.append(entry)
    return refusals


def _share(session: object, key: str, value: float | None, *, total: bool) -> float | None:
    """Return this turn's part of a number and update the session's sum; unknown stays unknown."""
    if value is None or not isinstance(session, dict):
        return None
    total_before = session.get(key) or 0
    share = max(value - total_before, 0) if total else value
    session[key] = round(total_before + share, 6) if isinstance(value, float) else int(total_before + share)
    return share
