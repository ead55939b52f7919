"""What a run may spend, and what it has spent: the sum of what its turns told, also those before a crash."""

from __future__ import annotations

import time

from sow import config
from sow.domain.budget import Budget
from sow.store import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from sow.engine.ship import Ship
    from sow.store.desk import Desk
    from sow.store.member_desk import MemberDesk


class MeasuredBudget(Budget):
    """A budget whose time is measured and not told by the clock: one that jumps neither spends nor gives any."""

    __slots__ = ()

    def stop_new(self, now: float) -> str:
        """Which limit is reached; when it is asked does not matter."""
        return super().stop_new(time.monotonic())


def budget_of(ship: Ship, desks: Iterable[Desk | MemberDesk]) -> Budget:
    """The limits of a run, with what its earlier calls used up."""
    time_limit = ship.config.setting("budgets", "run_time")
    budget = MeasuredBudget(
        max_cost=ship.settings.get("max_cost", ship.config.setting("budgets", "run_usd")),
        max_tokens=ship.config.setting("budgets", "run_tokens"),
        max_seconds=config.seconds(str(time_limit)) if time_limit else None,
        max_spawns=ship.config.setting("budgets", "run_spawns"),
        begun=time.monotonic(),
    )
    since = ship.folder.run["started_at"]
    for desk in desks:
        for record in sessions.records(desk):
            for turn in record.session["turns"]:
                if turn["started_at"] >= since:
                    budget.spawned()
                    spend(budget, turn)
    return budget


def spend(budget: Budget, turn: Mapping[str, Any]) -> None:
    """Add what a turn told of its cost."""
    known = [turn.get(key) for key in ("input_tokens", "output_tokens")]
    tokens = None if None in known else sum(each for each in known if each is not None)
    budget.spend(cost=turn.get("cost_usd"), tokens=tokens)
