"""Measures how long it takes to decide what starts next in a run of a thousand tasks."""

from __future__ import annotations

import random
import time

from sow.domain.plans import graph
from sow.domain.runs.scheduler import Job, Scheduler

TASKS = 1000
SLOTS = 8
LIMIT = 0.001  # seconds


def slowest_decision(rounds: int) -> float:
    """Returns the slowest decision of a run in seconds, each decision at its best of several runs."""
    times = [_simulate_run(_jobs()) for _ in range(max(rounds // 5, 3))]
    best: list[float] = [min(durations) for durations in zip(*times, strict=True)]
    return max(best)


def _jobs() -> list[Job]:
    """Makes a wide plan in four pools in which most tasks are ready early: the worst case for a decision."""
    generator = random.Random(1)
    ids = [f"{number}0" for number in range(1, TASKS + 1)]
    needs = {
        task: generator.sample(ids[:index], min(index, generator.choice((0, 0, 1, 3))))
        for index, task in enumerate(ids)
    }
    rest = graph.chain_lengths(needs, {task: float(generator.randint(1, 60)) for task in ids})
    return [Job(task, needs=needs[task], rest=rest[task], pool=f"pool{int(task) % 4}") for task in ids]


def _simulate_run(jobs: list[Job]) -> list[float]:
    """Runs all jobs one end at a time; returns the time from each end to the next decision."""
    board = Scheduler(jobs, slots=SLOTS, pool_slots={"pool0": 1})
    running: list[str] = []
    times: list[float] = []
    over = False
    while not over:
        start = time.perf_counter()
        if running:
            board.ended(running.pop(0), "completed")
        decision = board.decide(0.0)
        times.append(time.perf_counter() - start)
        for task in decision.start:
            board.started(task)
        running += decision.start
        over = decision.finished
    assert set(board.statuses().values()) == {"completed"}
    return times
