"""Limits what one task, or one agent of a workflow, may cost before a person is asked."""

from __future__ import annotations

from sow.domain.money import dollars
from sow.store import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.config import Config
    from sow.store.desk import Desk
    from sow.store.member_desk import MemberDesk

ASKED = "Its budget is spent"


def spent(config: Config, desk: Desk | MemberDesk, answers: Iterable[tuple[str, str]]) -> str:
    """Return the question to ask if `budgets.task_usd` is used up; each answer to it allows the same sum again."""
    limit = config.setting("budgets", "task_usd")
    if limit is None:
        return ""
    raised_at = max((at for text, at in answers if text.startswith(ASKED)), default="")
    turns = [turn for record in sessions.records(desk) for turn in record.session["turns"]]
    cost = sum(turn.get("cost_usd") or 0 for turn in turns if turn["started_at"] > raised_at)
    if cost < limit:
        return ""
    since = " since you raised it" if raised_at else ""
    return (
        f"{ASKED}: {desk.title} has cost {dollars(cost)} of {dollars(limit)}{since}. Go on for {dollars(limit)} more?"
    )
