"""R9: scheduling is correct and every run ends: seeded runs on a virtual clock, compared with a simple model."""

from __future__ import annotations

import heapq
import random
from typing import Any

import pytest
from conftest import FULL

from sow.domain.plans import graph
from sow.domain.runs.scheduler import Breaker, Budget, Job, Scheduler

SEEDS, STEPS = (5000, 100) if FULL else (300, 50)
BLOCKS = 10
blocks = pytest.mark.parametrize("block", range(BLOCKS))
NEVER = float("inf")
POOLS = ("claude", "codex", "gemini")
FILES = ("a", "b", "src/c", "src/d", "src", "docs/e")
ENDED = ("completed", "failed", "asking", "abandoned")


def seeds(block: int) -> range:
    return range(block, SEEDS, BLOCKS)


def some_needs(rng: random.Random, count: int) -> dict[str, list[str]]:
    """Generates a graph without circles: each task may depend on earlier ones."""
    ids = [f"{number}0" for number in range(1, count + 1)]
    share = rng.choice((0.0, 0.05, 0.2, 0.5))
    return {ident: [other for other in ids[:at] if rng.random() < share] for at, ident in enumerate(ids)}


def some_jobs(rng: random.Random, count: int) -> list[Job]:
    needs = some_needs(rng, count)
    rest = graph.chain_lengths(needs, {need: float(rng.randint(0, 9)) for need in needs})
    wave = {item: at for at, level in enumerate(graph.waves(needs)) for item in level}
    return [
        Job(
            name,
            needs=before,
            rest=rest[name],
            wave=wave[name],
            pool=rng.choice(POOLS),
            files=rng.sample(FILES, rng.randint(0, 2)),
        )
        for name, before in needs.items()
    ]


class Model:
    """The rules written a second time, computed anew for every question."""

    def __init__(self, jobs: list[Job], **options: Any) -> None:
        self.jobs = {job.id: job for job in jobs}
        self.options = options
        self.status = {job.id: "waiting" for job in jobs}
        self.pool = {job.id: job.pool for job in jobs}
        self.paused: dict[str, float] = {}
        self.begun = 0
        self.begin_waves()

    def blocked(self) -> set[str]:
        """Returns the jobs that depend on something that waits for a person, in order."""
        dead = {name for name, status in self.status.items() if status in ("failed", "asking", "abandoned")}
        result: set[str] = set()
        for job in self.jobs.values():
            if self.status[job.id] == "waiting" and (dead | result).intersection(job.needs):
                result.add(job.id)
        return result

    def begin_waves(self) -> None:
        """Begins the next wave when all jobs of the earlier ones have ended or are blocked."""
        over = self.blocked() | {name for name, status in self.status.items() if status in ENDED}
        last = max((job.wave for job in self.jobs.values()), default=0)
        while self.begun < last and all(job.id in over for job in self.jobs.values() if job.wave <= self.begun):
            self.begun += 1

    def ready(self) -> list[str]:
        """Returns the jobs that only need a slot, the longest chain first."""
        order = list(self.jobs)
        ids = [
            job.id
            for job in self.jobs.values()
            if self.status[job.id] == "waiting"
            and all(self.status[need] == "completed" for need in job.needs)
            and (self.options["schedule"] == "ready" or job.wave <= self.begun)
        ]
        return sorted(ids, key=lambda each: (-self.jobs[each].remaining_minutes, order.index(each)))

    def running(self, pool: str = "") -> list[str]:
        return [job for job in self.jobs if self.status[job] == "running" and pool in ("", self.pool[job])]

    def room(self, pool: str, more: list[str]) -> bool:
        limit = self.options["pool_slots"].get(pool, NEVER)
        return len(self.running(pool)) + sum(self.pool[item] == pool for item in more) < limit

    def beside(self, ident: str, others: list[str]) -> bool:
        """Tells whether a job may work in the same folder as these."""
        files = self.jobs[ident].files
        return all(
            files and theirs and not meet(files, theirs) for theirs in (self.jobs[other].files for other in others)
        )

    def starts(self, now: float) -> list[str]:
        chosen: list[str] = []
        for item in self.ready():
            pool = self.pool[item]
            if (
                len(self.running()) + len(chosen) < self.options["slots"]
                and self.paused.get(pool, 0.0) <= now
                and self.room(pool, chosen)
                and (not self.options["share"] or self.beside(item, [*self.running(), *chosen]))
            ):
                chosen.append(item)
        return chosen

    def until(self, now: float, chosen: list[str]) -> float | None:
        if len(self.running()) + len(chosen) >= self.options["slots"]:
            return None
        waiting = {self.pool[item] for item in self.ready()}
        ends = [self.paused.get(pool, 0.0) for pool in waiting if self.room(pool, [])]
        return min((end for end in ends if now < end), default=None)


def meet(mine: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    return any(f"{one}/".startswith(f"{two}/") or f"{two}/".startswith(f"{one}/") for one in mine for two in theirs)


class Run:
    """One run under a virtual clock: a scheduler, its model, and random events."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        options: dict[str, Any] = {
            "slots": self.rng.randint(1, 6),
            "pool_slots": {pool: self.rng.randint(1, 3) for pool in POOLS if self.rng.random() < 0.4},
            "schedule": self.rng.choice(("ready", "waves")),
            "share": self.rng.choice(("", "", "none")),
        }
        jobs = some_jobs(self.rng, self.rng.randint(1, STEPS))
        self.model = Model(jobs, **options)
        self.budget = Budget(max_spawns=self.rng.choice((None, None, None, len(jobs))), max_seconds=500.0)
        self.breaker = Breaker(limit=2, wait=7.0, pauses=2)
        self.board = Scheduler(jobs, guards=[self.budget, self.breaker], **options)
        self.now = 0.0
        self.ends: list[tuple[float, str]] = []
        self.started: list[str] = []

    def step(self, *, calm: bool) -> bool:
        """Asks, checks the answer, starts the named jobs, and makes an event; tells whether the run continues."""
        decision = self.board.decide(self.now)
        assert repr(decision) == repr(self.board.decide(self.now)), "asking twice gives another answer"
        self.check(decision)
        for item in decision.start:
            self.start(item)
        if decision.finished:
            return False
        if not calm and self.rng.random() < 0.4:
            self.surprise()
        elif self.ends and (decision.wake_at is None or self.ends[0][0] <= decision.wake_at):
            self.end()
        else:
            assert decision.wake_at is not None, "nothing runs, nothing starts, and nobody says when to continue"
            assert decision.wake_at > self.now
            self.now = decision.wake_at
        return True

    def check(self, decision: Any) -> None:
        stops = [guard for guard in (self.budget, self.breaker) if guard.stop_reason(self.now)]
        expected = [] if stops else self.model.starts(self.now)
        assert decision.start == expected
        assert bool(decision.blocked_by) == bool(stops and self.model.ready())
        if not stops:
            assert decision.wake_at == self.model.until(self.now, expected)
        idle = not self.model.running()
        assert decision.finished == (idle and not decision.start and decision.wake_at is None)
        assert set(self.board.blocked()) == self.model.blocked()
        assert self.board.statuses() == self.model.status

    def start(self, ident: str) -> None:
        self.board.started(ident)
        self.model.status[ident] = "running"
        self.started.append(ident)
        self.budget.count_start()
        heapq.heappush(self.ends, (self.now + self.rng.randint(0, 9), ident))

    def end(self) -> None:
        self.now, ident = heapq.heappop(self.ends)
        status = self.rng.choice(("completed",) * 6 + ("failed", "asking", "abandoned", "waiting", "limit", "broken"))
        if status == "limit":
            self.pause(self.model.pool[ident])
        if status == "broken":
            self.breaker.count_failure(self.now)
        elif status == "completed":
            self.breaker.reset()
        self.become(ident, status if status in ENDED else "waiting")

    def become(self, ident: str, status: str) -> None:
        self.board.ended(ident, status)
        self.model.status[ident] = status
        self.model.begin_waves()

    def pause(self, pool: str) -> None:
        until = self.now + self.rng.randint(1, 20)
        self.board.pause(pool, until)
        self.model.paused[pool] = until

    def surprise(self) -> None:
        """Makes a random event: an answer, a failure, a pause, or a job in another pool."""
        self.now += self.rng.choice((0.0, 0.0, 0.5))
        if self.breaker.is_final:
            self.breaker.reset()
        ident = self.rng.choice(list(self.model.jobs))
        pool = self.rng.choice(POOLS)
        status = self.model.status[ident]
        if status in ("asking", "failed"):
            self.board.answered(ident)
            self.model.status[ident] = "waiting"
            self.model.begin_waves()
        elif status == "waiting" and self.rng.random() < 0.05:
            self.become(ident, "abandoned")
        elif status == "waiting" and self.rng.random() < 0.5:
            self.board.transfer(ident, pool)
            self.model.pool[ident] = pool
        elif self.rng.random() < 0.3:
            self.pause(pool)
        else:
            self.board.pause(pool, 0.0)
            self.model.paused.pop(pool, None)


@blocks
def test_every_run_follows_the_model_and_ends(block):
    """With limits, failures, questions, answers and pauses each decision is the model's, and the run ends."""
    for seed in seeds(block):
        run = Run(seed)
        for _ in range(STEPS):
            if not run.step(calm=False):
                run.surprise()  # a run that is over continues when somebody acts
        for _ in range(100 * STEPS):
            if not run.step(calm=True):
                break
        else:
            pytest.fail(f"seed {seed}: the run does not end")
        assert run.model.running() == [], seed


def play(jobs: list[Job], minutes: dict[str, float], **options: Any) -> list[tuple[float, str, float]]:
    """Plays a run without failures in which decisions take no time; returns (start, task, end) of each."""
    board = Scheduler(jobs, **options)
    order = {job.id: at for at, job in enumerate(jobs)}
    now, result, running = 0.0, [], []
    while not (decision := board.decide(now)).finished:
        for item in decision.start:
            board.started(item)
            result.append((now, item, now + minutes[item]))
            heapq.heappush(running, (now + minutes[item], order[item], item))
        now = running[0][0]
        while running and running[0][0] == now:  # all that end at this moment are told before anything starts
            board.ended(heapq.heappop(running)[2], "completed")
    return result


def some_plan(rng: random.Random) -> tuple[dict[str, list[str]], dict[str, float], list[Job]]:
    needs = some_needs(rng, rng.randint(1, STEPS))
    minutes = {need: float(rng.randint(1, 9)) for need in needs}
    rest = graph.chain_lengths(needs, minutes)
    wave = {item: at for at, level in enumerate(graph.waves(needs)) for item in level}
    return needs, minutes, [Job(need, needs=needs[need], rest=rest[need], wave=wave[need]) for need in needs]


def length(found: list[tuple[float, str, float]]) -> float:
    return max(end for _, _, end in found)


@blocks
def test_without_overhead_a_run_follows_its_schedule(block):
    """Each task starts and ends as in the list schedule of its graph; with enough slots the run takes the
    critical path.
    """
    for seed in seeds(block):
        rng = random.Random(seed)
        needs, minutes, jobs = some_plan(rng)
        slots = rng.randint(1, 8)
        assert play(jobs, minutes, slots=slots) == graph.schedule(needs, minutes, workers=slots), seed
        longest = sum(minutes[item] for item in graph.critical_path(needs, minutes))
        assert length(play(jobs, minutes, slots=len(jobs))) == longest, seed


@blocks
def test_a_wave_begins_after_the_previous_one(block):
    """With barriers no task starts before the last end of the previous wave, and the run takes the sum of its waves."""
    for seed in seeds(block):
        rng = random.Random(seed)
        _, minutes, jobs = some_plan(rng)
        result = play(jobs, minutes, slots=rng.randint(1, 8), schedule="waves")
        wave = {job.id: job.wave for job in jobs}
        ends: dict[int, float] = {}
        for start, each, end in result:
            assert all(start >= before for number, before in ends.items() if number < wave[each]), seed
            ends[wave[each]] = max(end, ends.get(wave[each], 0.0))
        wide = play(jobs, minutes, slots=len(jobs), schedule="waves")
        slowest = [max(minutes[job.id] for job in jobs if job.wave == number) for number in ends]
        assert length(wide) == sum(slowest), seed


@blocks
def test_ready_order_is_not_longer_than_waves(block):
    """With a slot for each task it never is. With few, a ready task can take the slot that a longer chain needs soon
    after: it is then never longer than Graham's bound, and at most one plan in a hundred is longer at all.
    """
    longer = 0
    for seed in seeds(block):
        rng = random.Random(seed)
        _, minutes, jobs = some_plan(rng)
        wide = {"slots": len(jobs)}
        assert length(play(jobs, minutes, **wide)) <= length(play(jobs, minutes, schedule="waves", **wide)), seed
        slots = rng.randint(1, 8)
        ready = length(play(jobs, minutes, slots=slots))
        waves = length(play(jobs, minutes, slots=slots, schedule="waves"))
        assert ready <= (2 - 1 / slots) * waves, seed
        longer += ready > waves
    assert longer <= len(seeds(block)) / 100 + 1


def test_the_model_notices_faults():
    """A scheduler that forgets a pause, a barrier or a slot differs from the model."""
    noticed = 0
    for seed in range(30):
        for option, value in (("slots", 7), ("schedule", "ready"), ("share", ""), ("pool_slots", {})):
            run = Run(seed)
            if run.model.options[option] == value:
                continue
            jobs = list(run.model.jobs.values())
            run.board = Scheduler(jobs, **{**run.model.options, option: value}, guards=[run.budget, run.breaker])
            try:
                while run.step(calm=True):
                    pass
            except AssertionError:
                noticed += 1
    assert noticed > 20
