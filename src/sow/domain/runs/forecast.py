"""Estimates the time and cost of tasks from their plan and from earlier tasks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GUESSED = "guess"
GUESS = 30.0  # minutes, if neither the plan nor earlier tasks give a figure
ENOUGH = 3  # earlier tasks that are needed to correct an estimate


class FinishedTask:
    """A finished task: its agent, its estimated and real minutes, and its cost if known."""

    def __init__(
        self, agent: str, minutes: float, estimated: float | None = None, *, cost: float | None = None
    ) -> None:
        self.agent = agent
        self.minutes = minutes
        self.estimated = estimated
        self.cost = cost


class Estimate:
    """Minutes, and the origin of the figure: estimate, history, estimate and history, or guess."""

    def __init__(self, minutes: float, origin: str) -> None:
        self.minutes = minutes
        self.origin = origin


class Forecast:
    """Estimates the time and cost of a task."""

    def __init__(self, past: Sequence[FinishedTask] = ()) -> None:
        self._times = _by_agent((task.agent, task.minutes) for task in past)
        self._factors = _by_agent((task.agent, task.minutes / task.estimated) for task in past if task.estimated)
        self._costs = _by_agent((task.agent, task.cost) for task in past if task.cost is not None)

    def expected(self, agent: str, estimated: float | None) -> Estimate:
        """Returns a task's time: its corrected estimate, or else the usual time of its agent."""
        if estimated:
            factors = _enough(self._factors, agent)
            if not factors:
                return Estimate(estimated, "estimate")
            return Estimate(estimated * _median(factors), "estimate and history")
        times = self._times.get(agent) or self._times.get("")
        return Estimate(_median(times), "history") if times else Estimate(GUESS, GUESSED)

    def cost(self, agent: str) -> float | None:
        """Returns the usual cost of a task of this agent, or None if it is unknown."""
        costs = self._costs.get(agent) or self._costs.get("")
        return _median(costs) if costs else None


def _by_agent(values: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
    """Groups the values by agent. The empty name has the values of all."""
    grouped: dict[str, list[float]] = {}
    for agent, value in values:
        for key in (agent, ""):
            grouped.setdefault(key, []).append(value)
    return grouped


def _enough(values: dict[str, list[float]], agent: str) -> list[float]:
    """Returns the agent's values if there are enough, else those of all, else none."""
    return next((candidates for key in (agent, "") if len(candidates := values.get(key, [])) >= ENOUGH), [])


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
