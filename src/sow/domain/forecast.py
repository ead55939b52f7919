"""How long tasks will take and what they will cost: what their plan says, and what such tasks took before."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GUESSED = "guess"
GUESS = 30.0  # minutes, where neither the plan nor the past says anything
ENOUGH = 3  # tasks of the past from which a correction is taken


class Past:
    """One finished task: who worked on it, how long it was thought to take, how long it took, and its cost if known."""

    __slots__ = ("agent", "cost", "estimated", "minutes")

    def __init__(
        self, agent: str, minutes: float, estimated: float | None = None, *, cost: float | None = None
    ) -> None:
        self.agent = agent
        self.minutes = minutes
        self.estimated = estimated
        self.cost = cost


class Expected:
    """Minutes, and where the figure comes from: estimate, history, estimate and history, or guess."""

    __slots__ = ("minutes", "origin")

    def __init__(self, minutes: float, origin: str) -> None:
        self.minutes = minutes
        self.origin = origin


class Forecast:
    """Says how long a task will take, and what it will cost."""

    __slots__ = ("_costs", "_factors", "_times")

    def __init__(self, past: Sequence[Past] = ()) -> None:
        self._times = _by_agent((each.agent, each.minutes) for each in past)
        self._factors = _by_agent((each.agent, each.minutes / each.estimated) for each in past if each.estimated)
        self._costs = _by_agent((each.agent, each.cost) for each in past if each.cost is not None)

    def expected(self, agent: str, estimated: float | None) -> Expected:
        """One task's time: an estimate times how wrong estimates were, else what its agent usually takes."""
        if estimated:
            factors = _enough(self._factors, agent)
            return Expected(estimated * _median(factors), "estimate and history") if factors else _estimate(estimated)
        times = self._times.get(agent) or self._times.get("")
        return Expected(_median(times), "history") if times else Expected(GUESS, GUESSED)

    def cost(self, agent: str) -> float | None:
        """What a task of this agent usually costs; None where nobody knows."""
        costs = self._costs.get(agent) or self._costs.get("")
        return _median(costs) if costs else None


def _estimate(minutes: float) -> Expected:
    return Expected(minutes, "estimate")


def _by_agent(values: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
    """The values of each agent, and under the empty name those of all."""
    found: dict[str, list[float]] = {}
    for agent, value in values:
        for key in (agent, ""):
            found.setdefault(key, []).append(value)
    return found


def _enough(values: dict[str, list[float]], agent: str) -> list[float]:
    """Those of the agent where there are enough, else those of all, else none."""
    return next((found for key in (agent, "") if len(found := values.get(key, [])) >= ENOUGH), [])


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
