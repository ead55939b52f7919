"""Budgets and the circuit breaker: what stops new work, for how long, and the messages."""

from __future__ import annotations

import pytest
from support.quick_cases import all_of

from sow.domain.runs.scheduler import Breaker, Budget
from sow.errors import SowError

SPENT = {
    "money": ({"max_cost": 2.0}, "the budget of $2.00 is spent ($2.50)"),
    "tokens": ({"max_tokens": 3000}, "the budget of 3,000 tokens is spent (3,500)"),
    "starts": ({"max_spawns": 2}, "the budget of 2 starts is spent"),
    "time": ({"max_seconds": 90.0}, "the budget of 90 seconds is spent"),
    "nothing at all": ({"max_cost": 0.0}, "the budget of $0.00 is spent ($2.50)"),
}


@pytest.mark.parametrize(("limits", "text"), SPENT.values(), ids=SPENT)
def test_each_limit_stops_new_work(limits, text):
    """A limit that is reached stops new work and is named; time does not undo it."""
    budget = Budget(begun=1000.0, **limits)
    budget.count_start()
    budget.spend(cost=1.25, tokens=1750)
    assert budget.stop_reason(1089.0) == ("" if 0.0 not in limits.values() else "the budget of $0.00 is spent ($1.25)")
    budget.count_start()
    budget.spend(cost=1.25, tokens=1750)
    assert budget.stop_reason(1090.0) == text
    assert budget.wake_at(1090.0) is None


def test_without_limits_nothing_stops():
    """A budget without limits only counts, also the turns of unknown cost."""
    budget = Budget()
    budget.spend(cost=None, tokens=None)
    budget.spend(cost=1e9, tokens=10**12)
    assert (budget.stop_reason(1e12), budget.cost, budget.turns_without_cost) == ("", 1e9, 1)


@all_of("name", ["max_cost", "max_tokens", "max_seconds", "max_spawns"])
@all_of("value", [-1, float("nan")])
def test_a_negative_limit_is_refused(name, value):
    """A limit is zero or more."""
    with pytest.raises(SowError):
        Budget(**{name: value})


def test_a_success_ends_a_series_of_failures():
    """A start that works ends the row of failures."""
    breaker = Breaker(limit=3, wait=60.0)
    for _ in range(5):
        breaker.count_failure(0.0)
        breaker.count_failure(0.0)
        breaker.reset()
    assert breaker.stop_reason(0.0) == ""


def test_the_pause_doubles_up_to_the_third():
    """Three failures open it for a minute, each further one for twice as long; after the third pause it stays open."""
    breaker = Breaker(limit=3, wait=60.0)
    now, seen = 0.0, []
    for _ in range(2):
        breaker.count_failure(now)
    while not breaker.is_final:
        breaker.count_failure(now)
        seen.append((breaker.wake_at(now) or now) - now)
        now = breaker.wake_at(now) or now
        assert breaker.is_final or breaker.stop_reason(now) == ""
    assert seen == [60.0, 120.0, 240.0, 0.0]
    assert breaker.stop_reason(now) == "6 starts in a row failed, and waiting did not help"
    assert breaker.stop_reason(1e12)


def test_failures_during_a_pause_do_not_count():
    """Failures while the breaker is open neither lengthen its pause nor use up another."""
    breaker = Breaker(limit=2, wait=60.0)
    for second in range(8):
        breaker.count_failure(float(second))
    assert (breaker.pauses_used, breaker.wake_at(8.0)) == (1, 61.0)
    assert breaker.stop_reason(8.0) == "2 starts in a row failed: the next one waits"


def test_a_success_resets_the_breaker():
    """After a success, or a person's reset, the breaker starts from the beginning."""
    breaker = Breaker(limit=1, wait=60.0, pauses=0)
    breaker.count_failure(0.0)
    assert breaker.is_final
    breaker.reset()
    assert (breaker.stop_reason(0.0), breaker.failures, breaker.pauses_used) == ("", 0, 0)


def test_a_breaker_is_restored_from_its_state():
    """A breaker made from the state of another stops at the same times."""
    first = Breaker(limit=2, wait=30.0)
    first.count_failure(0.0)
    first.count_failure(0.4)
    second = Breaker(limit=2, wait=30.0, **first.state())
    assert first.state() == {"failures": 2, "opened": 1, "until": 31}
    for now in (1.0, 30.0, 31.0, 32.0):
        assert second.stop_reason(now) == first.stop_reason(now)
    first.count_failure(40.0)
    second.count_failure(40.0)
    assert second.wake_at(40.0) == first.wake_at(40.0) == 100.0


@pytest.mark.parametrize("options", [{"limit": 0}, {"wait": -1.0}, {"wait": float("nan")}, {"pauses": -1}])
def test_an_invalid_breaker_is_refused(options):
    """A breaker needs at least one failure to open, and pauses that are not negative."""
    with pytest.raises(SowError):
        Breaker(**options)
