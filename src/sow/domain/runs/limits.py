"""The limits that stop new work in a run: a spent budget, and starts that fail one after the other."""

from __future__ import annotations

from sow.domain.documents.state import BreakerState
from sow.domain.text.units import dollars
from sow.errors import SowError


class Budget:
    """The money, tokens, time and starts that a run or a task may use and has used."""

    def __init__(
        self,
        *,
        max_cost: float | None = None,
        max_tokens: int | None = None,
        max_seconds: float | None = None,
        max_spawns: int | None = None,
        begun: float = 0.0,
    ) -> None:
        for name, limit in (
            ("cost", max_cost),
            ("tokens", max_tokens),
            ("seconds", max_seconds),
            ("spawns", max_spawns),
        ):
            if limit is not None and not limit >= 0:
                raise SowError(f"a budget of {limit} {name} is none", "give 0 or more, or leave it out")
        self.max_cost = max_cost
        self.max_tokens = max_tokens
        self.max_seconds = max_seconds
        self.max_spawns = max_spawns
        self.started_at = begun
        self.cost = 0.0
        self.tokens = 0
        self.spawns = 0
        self.turns_without_cost = 0  # turns that reported no cost; `cost` is then too low

    def count_start(self) -> None:
        """Counts the start of an agent."""
        self.spawns += 1

    def spend(self, *, cost: float | None, tokens: int | None) -> None:
        """Adds the cost and tokens of a turn. None counts as unknown."""
        self.turns_without_cost += cost is None
        self.cost += cost or 0.0
        self.tokens += tokens or 0

    def stop_reason(self, now: float) -> str:
        """Returns which limit is reached, and by how much."""
        if self.max_cost is not None and self.cost >= self.max_cost:
            return f"the budget of {dollars(self.max_cost)} is spent ({dollars(self.cost)})"
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            return f"the budget of {self.max_tokens:,} tokens is spent ({self.tokens:,})"
        if self.max_spawns is not None and self.spawns >= self.max_spawns:
            return f"the budget of {self.max_spawns} start{'s' * (self.max_spawns != 1)} is spent"
        if self.max_seconds is not None and now - self.started_at >= self.max_seconds:
            return f"the budget of {self.max_seconds:g} seconds is spent"
        return ""

    def wake_at(self, now: float) -> float | None:
        """Returns None: a spent budget does not recover with time."""
        return None


class Breaker:
    """Stops new starts for a pause that doubles, when several starts in a row failed for reasons outside the work.

    If starts fail again after the last pause, a person has to act.
    """

    def __init__(
        self,
        *,
        limit: int = 3,
        wait: float = 60.0,
        pauses: int = 3,
        failures: int = 0,
        opened: int = 0,
        until: float = 0.0,
    ) -> None:
        if limit < 1 or pauses < 0 or not wait >= 0:
            raise SowError("a circuit breaker needs a limit of at least one failure", "see 'sow config show'")
        self.limit = limit
        self.wait = wait
        self.pauses = pauses
        self.failures = failures  # in a row
        self.pauses_used = opened  # since the last start that worked
        self.paused_until = until

    def count_failure(self, now: float) -> None:
        """Counts a failed start. A start that was under way while the breaker is open does not count."""
        if self.is_final or now < self.paused_until:
            return
        self.failures += 1
        if self.failures >= self.limit:
            self.pauses_used += 1
            self.paused_until = now + self.wait * 2.0 ** (self.pauses_used - 1)

    def reset(self) -> None:
        """Resets the breaker, because a start worked or a person has acted."""
        self.failures = self.pauses_used = 0
        self.paused_until = 0.0

    def state(self) -> BreakerState:
        """Returns the state from which a run can restore the breaker."""
        return {"failures": self.failures, "opened": self.pauses_used, "until": -int(-self.paused_until // 1)}

    @property
    def is_final(self) -> bool:
        """Returns whether starts failed again after the last pause."""
        return self.pauses_used > self.pauses

    def stop_reason(self, now: float) -> str:
        """Returns how many starts failed, if that is why nothing may start."""
        if self.is_final:
            return f"{self.failures} starts in a row failed, and waiting did not help"
        return f"{self.failures} starts in a row failed: the next one waits" if now < self.paused_until else ""

    def wake_at(self, now: float) -> float | None:
        """Returns the end of the pause."""
        return None if self.is_final else self.paused_until
