"""Settles a turn that ended well and was recorded, if sow stopped before the task was updated."""

from __future__ import annotations

from sow.engine import evidence, settle
from sow.executors.registry import adapter as find_adapter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import SessionTurn
    from sow.store.desk import Desk
    from sow.store.sessions import Record


def settle_last(desk: Desk, record: Record, *, allow_empty: bool) -> bool:
    """Hand in the work of a session's last turn; returns whether there was such a turn and it did something."""
    turns = record.session["turns"]
    if not turns or turns[-1].get("outcome") != "done" or "status" in turns[-1]:
        return False
    turn = turns[-1]
    with desk.home.lock():
        iteration = desk.iteration
        if turn.get("iteration", iteration) != iteration:  # it was handed in and sent back since
            return False
        task, inferred = settle.infer(desk, worked=allow_empty or _worked(record, turn))
    if task["status"] == "in_progress":
        return False
    turn.update({"status": task["status"], "inferred": inferred})
    record.save()
    return True


def _worked(record: Record, turn: SessionTurn) -> bool:
    """Tell whether the turn used a tool; if its CLI does not report tools, whether there is work in its folder."""
    if turn.get("tools"):
        return True
    structured = find_adapter(record.session["type"]).capabilities.structured
    return not structured and bool(evidence.files(record.session["cwd"]))
