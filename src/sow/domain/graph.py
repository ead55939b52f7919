"""The graph of a plan: order, waves, the critical path, and how long it takes with so many at once.

`needs` has for each task those that come first. But for waves() and cycles(), it must have no cycle.
"""

from __future__ import annotations

import heapq

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def followers(needs: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """For each task, those that need it."""
    after: dict[str, list[str]] = {task: [] for task in needs}
    for task, before in needs.items():
        for each in dict.fromkeys(before):
            after[each].append(task)
    return after


def waves(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Tasks by level: those that need nothing, those that need only these, and so on. Tasks on a cycle are in none."""
    left = {task: len(set(before)) for task, before in needs.items()}
    order = {task: index for index, task in enumerate(needs)}
    after = followers(needs)
    level = [task for task, count in left.items() if not count]
    found = []
    while level:
        found.append(level)
        following = []
        for task in level:
            for each in after[task]:
                left[each] -= 1
                if not left[each]:
                    following.append(each)
        level = sorted(following, key=order.__getitem__)
    return found


def cycles(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Circles of tasks, each closed (2, 5, 2): one for each knot of tasks that all need each other."""
    done = {task for level in waves(needs) for task in level}
    tangled = {
        task: [each for each in before if each not in done] for task, before in needs.items() if task not in done
    }
    order = {task: index for index, task in enumerate(tangled)}
    starts = {min(knot, key=order.__getitem__): set(knot) for knot in _knots(tangled)}
    circles = (_circle(tangled, starts[task], task) for task in tangled if task in starts)
    return [circle for circle in circles if circle]


def _knots(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The tasks in groups: in each, every task is reached from every other."""
    seen: set[str] = set()
    ended = [task for root in needs for task in _walk(needs, root, seen)]
    after = followers(needs)
    seen = set()
    return [knot for root in reversed(ended) if (knot := _walk(after, root, seen))]


def _walk(edges: Mapping[str, Sequence[str]], root: str, seen: set[str]) -> list[str]:
    """All that is reached from a task and was not seen before, each behind those that are reached from it."""
    if root in seen:
        return []
    seen.add(root)
    found = []
    path = [(root, iter(edges[root]))]
    while path:
        task, rest = path[-1]
        following = next((each for each in rest if each not in seen), None)
        if following is None:
            found.append(task)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(edges[following])))
    return found


def _circle(needs: Mapping[str, Sequence[str]], knot: set[str], start: str) -> list[str]:
    """The shortest way within a knot from a task back to itself; nothing where there is none."""
    came_from: dict[str, str] = {}
    reached = [start]
    for task in reached:
        for each in needs[task]:
            if each in knot and each not in came_from:
                came_from[each] = task
                reached.append(each)
        if start in came_from:
            break
    if start not in came_from:
        return []
    path = [start, came_from[start]]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]


def all_before(needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """For each task, all that come before it, near and far: a set of bits by their places in the plan."""
    order = {task: index for index, task in enumerate(needs)}
    found: dict[str, int] = {}
    for level in waves(needs):
        for task in level:
            bits = 0
            for each in needs[task]:
                bits |= found[each] | 1 << order[each]
            found[task] = bits
    return found


def lengths(needs: Mapping[str, Sequence[str]], minutes: Mapping[str, float]) -> dict[str, float]:
    """For each task, the time from its start to the end of the longest chain behind it."""
    after = followers(needs)
    found: dict[str, float] = {}
    for level in reversed(waves(needs)):
        for task in level:
            found[task] = minutes[task] + max((found[each] for each in after[task]), default=0.0)
    return found


def critical_path(needs: Mapping[str, Sequence[str]], minutes: Mapping[str, float]) -> list[str]:
    """The longest chain of tasks: nothing makes the whole shorter but making one of these shorter."""
    rest = lengths(needs, minutes)
    after = followers(needs)
    starts = [task for task, before in needs.items() if not before]
    path = [max(starts, key=rest.__getitem__)] if starts else []
    while path and after[path[-1]]:
        path.append(max(after[path[-1]], key=rest.__getitem__))
    return path


def ready_order(needs: Mapping[str, Sequence[str]], minutes: Mapping[str, float]) -> list[str]:
    """All tasks in an order in which they can be started, the longest chain first."""
    return [task for _, task, _ in schedule(needs, minutes, workers=1)]


def lower_bound(needs: Mapping[str, Sequence[str]], minutes: Mapping[str, float], workers: int) -> float:
    """No schedule is shorter: neither than the critical path nor than all work shared evenly."""
    path = sum(minutes[task] for task in critical_path(needs, minutes))
    return max(path, sum(minutes[task] for task in needs) / workers)


def schedule(
    needs: Mapping[str, Sequence[str]], minutes: Mapping[str, float], *, workers: int
) -> list[tuple[float, str, float]]:
    """(start, task, end) for so many at once: what is ready is started, the longest chain first."""
    rest = lengths(needs, minutes)
    order = {task: index for index, task in enumerate(needs)}
    after = followers(needs)
    left = {task: len(set(before)) for task, before in needs.items()}
    ready = [(-rest[task], order[task], task) for task, count in left.items() if not count]
    heapq.heapify(ready)
    running: list[tuple[float, int, str]] = []
    found = []
    now = 0.0
    while ready or running:
        while ready and len(running) < workers:
            _, index, task = heapq.heappop(ready)
            heapq.heappush(running, (now + minutes[task], index, task))
            found.append((now, task, now + minutes[task]))
        now = running[0][0]
        # All that end at this moment make room before anything is started.
        while running and running[0][0] == now:
            for each in after[heapq.heappop(running)[2]]:
                left[each] -= 1
                if not left[each]:
                    heapq.heappush(ready, (-rest[each], order[each], each))
    return found


def schedule_in_waves(
    needs: Mapping[str, Sequence[str]], minutes: Mapping[str, float], *, workers: int
) -> list[tuple[float, str, float]]:
    """The same with barriers: a wave begins when the one before it has ended."""
    found: list[tuple[float, str, float]] = []
    begin = 0.0
    for wave in waves(needs):
        alone = dict.fromkeys(wave, ())
        found += [(begin + start, task, begin + end) for start, task, end in schedule(alone, minutes, workers=workers)]
        begin = max((end for _, _, end in found), default=0.0)
    return found
