"""Counts what a run may spend and has spent, including the turns before a crash."""

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
    """A budget with measured time, so that changes of the system clock have no effect."""

    __slots__ = ()

    def stop_new(self, now: float) -> str:
        """Return the limit that is reached; `now` is ignored."""
        return super().stop_new(time.monotonic())


def budget_of(ship: Ship, desks: Iterable[Desk | MemberDesk]) -> Budget:
    """Return the limits of a run, with what its earlier calls used."""
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
    """Add the reported cost of a turn."""
    counts = [turn.get(key) for key in ("input_tokens", "output_tokens")]
    tokens = None if None in counts else sum(count for count in counts if count is not None)
    budget.spend(cost=turn.get("cost_usd"), tokens=tokens)
