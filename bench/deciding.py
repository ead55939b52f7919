"""How long it takes to decide what starts next, in a run of a thousand tasks."""

from __future__ import annotations

import random
import time

from sow.domain import graph
from sow.domain.decide import Board, Job

TASKS = 1000
SLOTS = 8
LIMIT = 0.001  # seconds


def slowest_decision(rounds: int) -> float:
    """The slowest decision of a whole run, with the end that leads to it, each at its best of some rounds; seconds."""
    times = [_play(_jobs()) for _ in range(max(rounds // 5, 3))]
    best: list[float] = [min(each) for each in zip(*times, strict=True)]
    return max(best)


def _jobs() -> list[Job]:
    """A wide plan in four pools: most tasks are ready early, which is the most that a decision can have before it."""
    dice = random.Random(1)
    ids = [f"{number}0" for number in range(1, TASKS + 1)]
    needs = {each: dice.sample(ids[:at], min(at, dice.choice((0, 0, 1, 3)))) for at, each in enumerate(ids)}
    rest = graph.lengths(needs, {each: float(dice.randint(1, 60)) for each in ids})
    return [Job(each, needs=needs[each], rest=rest[each], pool=f"pool{int(each) % 4}") for each in ids]


def _play(jobs: list[Job]) -> list[float]:
    """Run all of them, one end at a time; the time from each end to the decision that follows."""
    board = Board(jobs, slots=SLOTS, pool_slots={"pool0": 1})
    running: list[str] = []
    times: list[float] = []
    over = False
    while not over:
        start = time.perf_counter()
        if running:
            board.ended(running.pop(0), "completed")
        decision = board.decide(0.0)
        times.append(time.perf_counter() - start)
        for each in decision.start:
            board.started(each)
        running += decision.start
        over = decision.over
    assert set(board.statuses().values()) == {"completed"}
    return times
