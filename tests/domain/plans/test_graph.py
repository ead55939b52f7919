"""The graph of a plan, compared with slow and simple definitions."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.domain.plans import graph

Needs = dict[str, list[str]]


@st.composite
def acyclic(draw: st.DrawFn) -> Needs:
    """Generates tasks that depend on earlier ones, in any order of names."""
    size = draw(st.integers(0, 14))
    names = [str(number) for number in draw(st.permutations(range(size)))]
    before = [draw(st.lists(st.sampled_from(names[:place]), max_size=4)) if place else [] for place in range(size)]
    pairs = list(zip(names, before, strict=True))
    return dict(sorted(pairs, key=lambda pair: int(pair[0])))


@st.composite
def tangled(draw: st.DrawFn) -> Needs:
    """Generates tasks that depend on any tasks, also on themselves."""
    names = [str(number) for number in range(draw(st.integers(1, 12)))]
    return {name: draw(st.lists(st.sampled_from(names), max_size=3)) for name in names}


def with_minutes(needs: Needs, draw: st.DrawFn) -> dict[str, float]:
    return {task: float(draw(st.integers(0, 90))) for task in needs}


@st.composite
def timed(draw: st.DrawFn) -> tuple[Needs, dict[str, float]]:
    needs = draw(acyclic())
    return needs, with_minutes(needs, draw)


def reached(needs: Needs, start: str) -> set[str]:
    """Returns all direct and indirect dependencies of a task."""
    result: set[str] = set()
    open_ones = list(needs[start])
    while open_ones:
        task = open_ones.pop()
        if task not in result:
            result.add(task)
            open_ones += needs[task]
    return result


def longest(needs: Needs, minutes: dict[str, float]) -> float:
    """Returns the longest chain by its definition."""

    @cache
    def until(task: str) -> float:
        return minutes[task] + max((until(need) for need in needs[task]), default=0.0)

    return max((until(task) for task in needs), default=0.0)


@given(acyclic())
def test_a_wave_follows_the_last_dependency(needs: Needs):
    """Every task is in one wave: the first without dependencies, else the one after its last dependency's."""
    waves = graph.waves(needs)
    level = {task: number for number, wave in enumerate(waves) for task in wave}
    assert sorted(task for wave in waves for task in wave) == sorted(needs)
    assert all(level[task] == max((level[need] + 1 for need in needs[task]), default=0) for task in needs)


@given(acyclic())
def test_a_wave_keeps_the_order_of_the_plan(needs: Needs):
    """Within a wave tasks stand as in the plan."""
    order = list(needs)
    assert all(wave == sorted(wave, key=order.index) for wave in graph.waves(needs))


@given(tangled())
def test_circles_are_in_no_wave(needs: Needs):
    """A task on a circle, or after one, is in no wave; every other is."""
    circular = {task for task in needs if task in reached(needs, task)}
    free = {task for task in needs if task not in circular and not reached(needs, task) & circular}
    assert {task for wave in graph.waves(needs) for task in wave} == free


@given(tangled())
def test_each_knot_has_one_circle(needs: Needs):
    """Each set of tasks that depend on each other has one circle, which is real, closed, and without repetition."""
    behind = {task: reached(needs, task) for task in needs}
    knots = {frozenset(item for item in behind[task] if task in behind[item]) for task in needs if task in behind[task]}
    circles = graph.cycles(needs)
    assert len(circles) == len(knots)
    for circle in circles:
        assert circle[0] == circle[-1]
        assert len(set(circle)) == len(circle) - 1
        assert all(after in needs[before] for before, after in pairwise(circle))
    assert {next(knot for knot in knots if circle[0] in knot) for circle in circles} == knots


@given(tangled())
def test_a_circle_begins_with_its_first_task(needs: Needs):
    """Circles are in the order of the plan, and no way round from their first task is shorter."""
    order = list(needs)
    circles = graph.cycles(needs)
    assert [circle[0] for circle in circles] == sorted((circle[0] for circle in circles), key=order.index)
    for circle in circles:
        knot = [task for task in needs if task in reached(needs, circle[0]) and circle[0] in reached(needs, task)]
        assert circle[0] == min(knot, key=order.index)
        ways: list[set[str]] = [set(needs[circle[0]])]
        while circle[0] not in ways[-1]:
            ways.append({need for task in ways[-1] for need in needs[task]})
        assert len(circle) - 1 == len(ways)


@given(acyclic())
def test_a_plan_without_circles_has_none(needs: Needs):
    """A plan without circles has none."""
    assert graph.cycles(needs) == []


@given(acyclic())
def test_all_dependencies_as_bits(needs: Needs):
    """The bits of a task are the places of all its direct and indirect dependencies."""
    order = list(needs)
    for task, bits in graph.ancestor_bits(needs).items():
        assert {value for place, value in enumerate(order) if bits >> place & 1} == reached(needs, task)


@given(timed())
def test_the_critical_path_is_the_longest_chain(plan: tuple[Needs, dict[str, float]]):
    """It is a chain from a start to an end, and no chain is longer."""
    needs, minutes = plan
    path = graph.critical_path(needs, minutes)
    assert bool(path) == bool(needs)
    assert all(before in needs[after] for before, after in pairwise(path))
    assert sum(minutes[task] for task in path) == longest(needs, minutes)
    if path:
        assert needs[path[0]] == []
        assert not any(path[-1] in before for before in needs.values())


@given(timed(), st.integers(1, 5))
def test_a_schedule_is_possible(plan: tuple[Needs, dict[str, float]], workers: int):
    """Each task runs once, for its time, after its dependencies, and never more in parallel than there are workers."""
    needs, minutes = plan
    times = {task: (start, end) for start, task, end in graph.schedule(needs, minutes, workers=workers)}
    assert sorted(times) == sorted(needs)
    assert all(end == start + minutes[task] for task, (start, end) in times.items())
    assert all(times[need][1] <= times[task][0] for task in needs for need in needs[task])
    for moment, _ in times.values():
        assert sum(start <= moment < end for start, end in times.values()) <= workers


@given(timed(), st.integers(1, 5))
def test_a_schedule_is_within_its_bounds(plan: tuple[Needs, dict[str, float]], workers: int):
    """No schedule ends before the lower bound, and none takes twice as long."""
    needs, minutes = plan
    end = max((end for _, _, end in graph.schedule(needs, minutes, workers=workers)), default=0.0)
    bound = graph.lower_bound(needs, minutes, workers)
    assert bound <= end <= 2 * bound


@given(timed(), st.integers(1, 5))
def test_no_worker_is_idle_while_a_task_is_ready(plan: tuple[Needs, dict[str, float]], workers: int):
    """A task that starts later than it could has all workers busy until then."""
    needs, minutes = plan
    times = {task: (start, end) for start, task, end in graph.schedule(needs, minutes, workers=workers)}
    for task, (start, _) in times.items():
        could = max((times[need][1] for need in needs[task]), default=0.0)
        moments = (
            {could, *(at for pair in times.values() for at in pair if could <= at < start)} if could < start else set()
        )
        for moment in moments:
            assert sum(begun <= moment < ended for begun, ended in times.values()) == workers


@given(st.lists(st.integers(0, 90), max_size=10), st.integers(1, 5))
def test_a_chain_takes_the_sum_of_its_tasks(lengths: list[int], workers: int):
    """For a chain the bound is exact, with any number of workers."""
    needs = {str(n): [str(n - 1)] if n else [] for n in range(len(lengths))}
    minutes = {str(n): float(length) for n, length in enumerate(lengths)}
    end = max((end for _, _, end in graph.schedule(needs, minutes, workers=workers)), default=0.0)
    assert end == graph.lower_bound(needs, minutes, workers) == sum(lengths)


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 90))
def test_equal_tasks_fill_their_workers(rounds: int, workers: int, length: int):
    """Equal independent tasks take exactly the bound if they fill all workers each time, else one task more."""
    for tasks, expected in ((rounds * workers, rounds), (rounds * workers + 1, rounds + 1)):
        needs: Needs = {str(n): [] for n in range(tasks)}
        minutes = dict.fromkeys(needs, float(length))
        end = max(end for _, _, end in graph.schedule(needs, minutes, workers=workers))
        assert end == expected * length
        if tasks % workers == 0:
            assert end == graph.lower_bound(needs, minutes, workers)


@given(timed())
def test_the_longest_chain_is_started_first(plan: tuple[Needs, dict[str, float]]):
    """The ready order is valid, and of ready tasks the one with the longest chain behind it comes first."""
    needs, minutes = plan
    order = graph.ready_order(needs, minutes)
    rest = graph.chain_lengths(needs, minutes)
    assert sorted(order) == sorted(needs)
    for place, task in enumerate(order):
        done = set(order[:place])
        ready = [item for item in order[place:] if done.issuperset(needs[item])]
        assert rest[task] == max(rest[item] for item in ready)


def test_tasks_that_end_together_free_their_places_together():
    """Tasks that become ready at one moment are compared before any is started."""
    needs: Needs = {"a": [], "b": [], "low": ["a"], "high": ["b"], "higher": ["b"]}
    minutes = {"a": 5.0, "b": 5.0, "low": 1.0, "high": 7.0, "higher": 9.0}
    started = [(start, task) for start, task, _ in graph.schedule(needs, minutes, workers=2)]
    assert started[2:] == [(5.0, "higher"), (5.0, "high"), (12.0, "low")]


@pytest.mark.parametrize("workers", [1, 3])
def test_an_empty_plan(workers: int):
    """A plan without tasks has no waves, no path and no length."""
    assert graph.waves({}) == graph.cycles({}) == graph.critical_path({}, {}) == []
    assert graph.schedule({}, {}, workers=workers) == []
    assert graph.lower_bound({}, {}, workers) == 0.0


def test_a_circle_behind_another_is_found():
    """A circle that leads into another one is found as well."""
    needs = {"1": ["3", "2"], "2": ["1"], "3": ["4"], "4": ["3"], "5": ["5"]}
    assert graph.cycles(needs) == [["1", "2", "1"], ["3", "4", "3"], ["5", "5"]]
