"""Computes the order, waves, critical path and duration of a plan, and estimates the time and cost of its tasks."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence


def followers(needs: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Returns for each task the tasks that need it."""
    after: dict[str, list[str]] = {task: [] for task in needs}
    for task, before in needs.items():
        for dependency in dict.fromkeys(before):
            after[dependency].append(task)
    return after


def reachable(edges: Mapping[str, Iterable[str]], start: str) -> set[str]:
    """Returns what the edges lead to from a start, directly or indirectly."""
    reached: set[str] = set()
    pending = [start]
    while pending:
        new = set(edges[pending.pop()]) - reached
        reached |= new
        pending += new
    return reached


def waves(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Groups the tasks by level: those that need nothing, then those that need only these. Cycles are left out."""
    remaining = {task: len(set(before)) for task, before in needs.items()}
    order = {task: index for index, task in enumerate(needs)}
    after = followers(needs)
    level = [task for task, count in remaining.items() if not count]
    levels = []
    while level:
        levels.append(level)
        following = []
        for task in level:
            for follower in after[task]:
                remaining[follower] -= 1
                if not remaining[follower]:
                    following.append(follower)
        level = sorted(following, key=order.__getitem__)
    return levels


def cycles(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Returns one closed cycle, such as (2, 5, 2), for each group of tasks that all need each other."""
    done = {task for level in waves(needs) for task in level}
    cyclic = {
        task: [dependency for dependency in before if dependency not in done]
        for task, before in needs.items()
        if task not in done
    }
    order = {task: index for index, task in enumerate(cyclic)}
    starts = {min(component, key=order.__getitem__): set(component) for component in _components(cyclic)}
    candidates = (_shortest_cycle(cyclic, starts[task], task) for task in cyclic if task in starts)
    return [cycle for cycle in candidates if cycle]


def _components(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Returns the strongly connected components: in each, every task is reached from every other one."""
    seen: set[str] = set()
    finished = [task for root in needs for task in _post_order(needs, root, seen)]
    after = followers(needs)
    seen = set()
    return [component for root in reversed(finished) if (component := _post_order(after, root, seen))]


def _post_order(edges: Mapping[str, Sequence[str]], root: str, seen: set[str]) -> list[str]:
    """Returns the tasks that are reached from the root and were not seen before, in post-order."""
    if root in seen:
        return []
    seen.add(root)
    finished = []
    path = [(root, iter(edges[root]))]
    while path:
        task, neighbours = path[-1]
        unseen = next((neighbour for neighbour in neighbours if neighbour not in seen), None)
        if unseen is None:
            finished.append(task)
            path.pop()
        else:
            seen.add(unseen)
            path.append((unseen, iter(edges[unseen])))
    return finished


def _shortest_cycle(needs: Mapping[str, Sequence[str]], component: set[str], start: str) -> list[str]:
    """Returns the shortest path within a component from a task back to itself, or an empty list."""
    came_from: dict[str, str] = {}
    reached = [start]
    for task in reached:
        for dependency in needs[task]:
            if dependency in component and dependency not in came_from:
                came_from[dependency] = task
                reached.append(dependency)
        if start in came_from:
            break
    if start not in came_from:
        return []
    path = [start, came_from[start]]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]


def ancestor_bits(needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Returns for each task all tasks before it, direct and indirect, as a bit set by their positions in the plan."""
    order = {task: index for index, task in enumerate(needs)}
    ancestors: dict[str, int] = {}
    for level in waves(needs):
        for task in level:
            bits = 0
            for dependency in needs[task]:
                bits |= ancestors[dependency] | 1 << order[dependency]
            ancestors[task] = bits
    return ancestors


def chain_lengths(needs: Mapping[str, Sequence[str]], minutes: Mapping[str, float]) -> dict[str, float]:
    """Returns for each task the time from its start to the end of the longest chain after it."""
    after = followers(needs)
    chain: dict[str, float] = {}
    for level in reversed(waves(needs)):
        for task in level:
            chain[task] = minutes[task] + max((chain[follower] for follower in after[task]), default=0.0)
    return chain


def critical_path(needs: Mapping[str, Sequence[str]], minutes: Mapping[str, float]) -> list[str]:
    """Returns the longest chain of tasks. The plan gets shorter only if one of these tasks does."""
    chain_minutes = chain_lengths(needs, minutes)
    after = followers(needs)
    starts = [task for task, before in needs.items() if not before]
    path = [max(starts, key=chain_minutes.__getitem__)] if starts else []
    while path and after[path[-1]]:
        path.append(max(after[path[-1]], key=chain_minutes.__getitem__))
    return path


def ready_order(needs: Mapping[str, Sequence[str]], minutes: Mapping[str, float]) -> list[str]:
    """Returns all tasks in an order in which they can be started, the longest chain first."""
    return [task for _, task, _ in schedule(needs, minutes, workers=1)]


def lower_bound(needs: Mapping[str, Sequence[str]], minutes: Mapping[str, float], workers: int) -> float:
    """Returns the shortest possible duration: the critical path, or all work shared evenly, whichever is longer."""
    path = sum(minutes[task] for task in critical_path(needs, minutes))
    return max(path, sum(minutes[task] for task in needs) / workers)


def schedule(
    needs: Mapping[str, Sequence[str]], minutes: Mapping[str, float], *, workers: int
) -> list[tuple[float, str, float]]:
    """Returns (start, task, end) if so many workers start ready tasks at once, the longest chain first."""
    chain_minutes = chain_lengths(needs, minutes)
    order = {task: index for index, task in enumerate(needs)}
    after = followers(needs)
    remaining = {task: len(set(before)) for task, before in needs.items()}
    ready = [(-chain_minutes[task], order[task], task) for task, count in remaining.items() if not count]
    heapq.heapify(ready)
    running: list[tuple[float, int, str]] = []
    scheduled = []
    now = 0.0
    while ready or running:
        while ready and len(running) < workers:
            _, index, task = heapq.heappop(ready)
            heapq.heappush(running, (now + minutes[task], index, task))
            scheduled.append((now, task, now + minutes[task]))
        now = running[0][0]
        # All tasks that end at this moment free their workers before the next task starts.
        while running and running[0][0] == now:
            for follower in after[heapq.heappop(running)[2]]:
                remaining[follower] -= 1
                if not remaining[follower]:
                    heapq.heappush(ready, (-chain_minutes[follower], order[follower], follower))
    return scheduled


def schedule_in_waves(
    needs: Mapping[str, Sequence[str]], minutes: Mapping[str, float], *, workers: int
) -> list[tuple[float, str, float]]:
    """Returns the same schedule with barriers: a wave begins when the one before it has ended."""
    scheduled: list[tuple[float, str, float]] = []
    begin = 0.0
    for wave in waves(needs):
        independent = dict.fromkeys(wave, ())
        scheduled += [
            (begin + start, task, begin + end) for start, task, end in schedule(independent, minutes, workers=workers)
        ]
        begin = max((end for _, _, end in scheduled), default=0.0)
    return scheduled


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
