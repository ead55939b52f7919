"""Counts what a run and its tasks may spend and have spent, including the turns before a crash."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from sow import config
from sow.config import Config
from sow.domain.runs.scheduler import Budget
from sow.domain.text.units import dollars
from sow.engine.runs.run_context import RunContext
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import sessions
from sow.store.workflows.folder import AgentFolder


class MeasuredBudget(Budget):
    """A budget with measured time, so that changes of the system clock have no effect."""

    def stop_reason(self, now: float) -> str:
        """Returns the limit that is reached; `now` is ignored."""
        return super().stop_reason(time.monotonic())


def budget_of(context: RunContext, folders: Iterable[TaskFolder | AgentFolder]) -> Budget:
    """Returns the limits of a run, with what its earlier calls used."""
    time_limit = context.config.setting("budgets", "run_time")
    budget = MeasuredBudget(
        max_cost=context.settings.get("max_cost", context.config.setting("budgets", "run_usd")),
        max_tokens=context.config.setting("budgets", "run_tokens"),
        max_seconds=config.seconds(str(time_limit)) if time_limit else None,
        max_spawns=context.config.setting("budgets", "run_spawns"),
        begun=time.monotonic(),
    )
    since = context.folder.run["started_at"]
    for folder in folders:
        for record in sessions.records(folder):
            for turn in record.session["turns"]:
                if turn["started_at"] >= since:
                    budget.count_start()
                    add_cost(budget, turn)
    return budget


def add_cost(budget: Budget, turn: Mapping[str, Any]) -> None:
    """Adds the reported cost of a turn."""
    counts = [turn.get(key) for key in ("input_tokens", "output_tokens")]
    tokens = None if None in counts else sum(count for count in counts if count is not None)
    budget.spend(cost=turn.get("cost_usd"), tokens=tokens)


ASKED = "Its budget is spent"


def budget_question(config: Config, folder: TaskFolder | AgentFolder, answers: Iterable[tuple[str, str]]) -> str:
    """Returns the question to ask if `budgets.task_usd` is used up; each answer to it allows the same sum again."""
    limit = config.setting("budgets", "task_usd")
    if limit is None:
        return ""
    raised_at = max((at for text, at in answers if text.startswith(ASKED)), default="")
    turns = [turn for record in sessions.records(folder) for turn in record.session["turns"]]
    cost = sum(turn.get("cost_usd") or 0 for turn in turns if turn["started_at"] > raised_at)
    if cost < limit:
        return ""
    since = " since you raised it" if raised_at else ""
    spent = f"{folder.label} has cost {dollars(cost)} of {dollars(limit)}{since}"
    return f"{ASKED}: {spent}. Continue for {dollars(limit)} more?"
