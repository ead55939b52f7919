"""The graph of a plan: order, waves, the critical path, and how long it takes with so many at once."""

from __future__ import annotations

import heapq

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Needs = "Mapping[str, Sequence[str]]"  # task → the tasks that must be done first


def waves(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Tasks by level: those that need nothing, those that need only these, and so on. Tasks on a cycle are in none."""
    left = {task: len(set(before)) for task, before in needs.items()}
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
        order = {task: index for index, task in enumerate(needs)} if len(following) > 1 else {}
        level = sorted(following, key=order.__getitem__) if order else following
    return found


def followers(needs: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """For each task, those that need it."""
    after: dict[str, list[str]] = {task: [] for task in needs}
    for task, before in needs.items():
        for each in dict.fromkeys(before):
            after[each].append(task)
    return after


def cycles(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Circles of tasks, each closed (2, 5, 2): one for each knot, and not every way round it."""
    done = {task for level in waves(needs) for task in level}
    walked: set[str] = set()
    found = []
    for start in needs:
        # Every task that is left needs another one that is left: following those must come round, or meet an old path.
        place: dict[str, int] = {}
        here = start
        while here not in done and here not in walked:
            walked.add(here)
            place[here] = len(place)
            here = next(each for each in needs[here] if each not in done)
        if here in place:
            found.append([*list(place)[place[here] :], here])
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
    return max(path, sum(minutes.values()) / workers) if minutes else 0.0


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
        now, _, ended = heapq.heappop(running)
        for each in after[ended]:
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
