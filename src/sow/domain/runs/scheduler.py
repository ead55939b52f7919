"""Decides which tasks of a run start now, within the limits of the run and of folders that tasks share."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sow.domain.documents.state import BreakerState
from sow.domain.inputs import folders_above, plain_path
from sow.domain.task import Lifecycle
from sow.domain.text.units import dollars
from sow.errors import IllegalStatusChange, SowError


class Guard(Protocol):
    """Stops all new work, such as a budget or the circuit breaker."""

    def stop_reason(self, now: float) -> str:
        """Returns the reason why nothing may start now, or an empty text."""

    def wake_at(self, now: float) -> float | None:
        """Returns when the stop ends by itself, or None if a person has to act."""


QueueKey = tuple[float, int, str]

SCHEDULES = ("ready", "waves")
NEVER = float("inf")

JOB = Lifecycle(
    "job",
    start="waiting",
    moves={
        ("waiting", "running"): "start",
        ("running", "waiting"): "put back",
        ("asking", "waiting"): "answer",
        ("failed", "waiting"): "retry",
        **{(status, "completed"): "complete" for status in ("waiting", "running", "asking", "failed")},
        **{(status, "failed"): "fail" for status in ("waiting", "running", "asking")},
        **{(status, "asking"): "ask" for status in ("waiting", "running", "failed")},
        **{(status, "abandoned"): "abandon" for status in ("waiting", "running", "asking", "failed")},
    },
)
# Maps the status of a task to the status of its job. A task with any other status is a waiting job.
JOB_STATUS = {"completed": "completed", "failed": "failed", "paused": "asking", "abandoned": "abandoned"}
BLOCKING = frozenset({"failed", "asking", "abandoned"})  # a job that needs one of these waits until a person acts


class Job:
    """One task in a run: the jobs it needs, the length of the chain after it, and the pool it runs in."""

    def __init__(
        self,
        id: str,
        *,
        needs: Iterable[str] = (),
        rest: float = 0.0,
        wave: int = 0,
        pool: str = "",
        files: Iterable[str] = (),
        status: str = "waiting",
    ) -> None:
        self.id = id
        self.needs = tuple(dict.fromkeys(needs))
        self.remaining_minutes = rest  # minutes of the longest chain that begins with this job
        self.wave = wave
        self.pool = pool
        self.files = tuple(files)
        self.status = status


@dataclass(frozen=True)
class ScheduleDecision:
    """The jobs to start, the critical path first, and the time and reason when nothing starts."""

    start: list[str]
    wake_at: float | None = None
    finished: bool = False
    blocked_by: str = ""


class Scheduler:
    """All jobs of a run. An event costs time for the jobs it changes, `decide` for the jobs it starts."""

    def __init__(
        self,
        jobs: Iterable[Job],
        *,
        slots: int,
        pool_slots: Mapping[str, int] | None = None,
        schedule: str = "ready",
        share: str = "",
        guards: Sequence[Guard] = (),
    ) -> None:
        self._jobs = _by_id(jobs)
        self._slots = slots
        self._pool_slots = dict(pool_slots or {})
        self._guards = tuple(guards)
        _check(slots, self._pool_slots, schedule, share)
        self._status = dict.fromkeys(self._jobs, "waiting")
        self._pool = {job.id: job.pool for job in self._jobs.values()}
        self._queue_keys: dict[str, QueueKey] = {
            job.id: (-job.remaining_minutes, index, job.id) for index, job in enumerate(self._jobs.values())
        }
        self._writers = {job.id: Writer(job.files) for job in self._jobs.values()} if share == "none" else {}
        self._queues: dict[str, list[QueueKey]] = {}
        self._running: dict[str, None] = {}
        self._busy: dict[str, int] = {}
        self._pauses: dict[str, float] = {}
        self._wave = {job.id: job.wave if schedule == "waves" else 0 for job in self._jobs.values()}
        self._current_wave = -NEVER
        self._later_waves = sorted(set(self._wave.values()), reverse=True)
        self._unsettled = 0  # jobs of the waves that have begun and that can still end without a person
        self._connect()
        self._begin_waves()

    def _connect(self) -> None:
        """Counts the jobs that each job waits for, and gives each job its initial status."""
        self._dependents: dict[str, list[str]] = {ident: [] for ident in self._jobs}
        self._open_need_counts = {job.id: len(job.needs) for job in self._jobs.values()}
        self._blocker_counts = {
            job.id: sum(need not in self._jobs for need in job.needs)  # no job of this run can complete those
            for job in self._jobs.values()
        }
        for job in self._jobs.values():
            for need in job.needs:
                if need in self._jobs:
                    self._dependents[need].append(job.id)
        for ident in [ident for ident, count in self._blocker_counts.items() if count]:
            self._update_dependents(ident, "open")
        self._members: dict[float, list[str]] = {wave: [] for wave in self._later_waves}
        for job in self._jobs.values():
            self._members[self._wave[job.id]].append(job.id)
            if job.status != "waiting":
                self._set_status(job.id, job.status)

    def started(self, ident: str) -> None:
        """Records that a job was started. Raise IllegalStatusChange if it still waits for others."""
        self._move(ident, "running")

    def ended(self, ident: str, status: str) -> None:
        """Records that a job ended, or that it waits again after a limit or for a retry."""
        if status == "running":
            raise IllegalStatusChange(f"job {ident} cannot end as running", "tell of a start with started()")
        self._move(ident, status)

    def answered(self, ident: str) -> None:
        """Records that a question was answered or that a failed job is retried. The job may start again."""
        if self.status(ident) not in ("asking", "failed"):
            raise IllegalStatusChange(
                f"job {ident} is {self.status(ident)} and asks nothing", "answer one that asks or failed"
            )
        self._move(ident, "waiting")

    def pause(self, pool: str, until: float) -> None:
        """Starts nothing in this pool before the given time."""
        self._pauses[pool] = until

    def transfer(self, ident: str, pool: str) -> None:
        """Moves a job that does not run to another pool, such as when its own pool has reached a limit."""
        if self.status(ident) == "running":
            raise IllegalStatusChange(f"job {ident} is running in {self._pool[ident]}", "end it first")
        self._unqueue(ident)
        self._pool[ident] = pool
        self._queue(ident)

    def status(self, ident: str) -> str:
        """Returns the status of a job."""
        if ident not in self._status:
            raise SowError(f"job {ident} is not in this run", "ask for one of its jobs")
        return self._status[ident]

    def statuses(self) -> dict[str, str]:
        """Returns the status of every job."""
        return dict(self._status)

    def decide(self, now: float) -> ScheduleDecision:
        """Returns the jobs that may start now, without changing anything."""
        idle = not self._running
        if not any(self._queues.values()):
            return ScheduleDecision([], finished=idle)
        stops = [(why, guard.wake_at(now)) for guard in self._guards if (why := guard.stop_reason(now))]
        if stops:
            ends = [end for _, end in stops if end is not None]
            until = max(ends) if len(ends) == len(stops) else None
            return ScheduleDecision(
                [], wake_at=until, finished=idle and until is None, blocked_by="; ".join(why for why, _ in stops)
            )
        start = self._choose(now)
        until = self._pause_ends(now, len(start))
        return ScheduleDecision(start, wake_at=until, finished=idle and not start and until is None)

    def blocked(self) -> dict[str, str]:
        """Returns the jobs that cannot start until a person acts, each with the jobs it waits for."""
        return {
            ident: self._waits_for(ident, dead=True)
            for ident, status in self._status.items()
            if status == "waiting" and self._blocker_counts[ident]
        }

    def _waits_for(self, ident: str, *, dead: bool = False) -> str:
        parts = [
            f"{need} ({self._status_label(need)})"
            for need in self._jobs[ident].needs
            if self._prospect(need) != "completed" and (not dead or self._prospect(need) == "dead")
        ]
        return f"waits for {', '.join(parts)}" if parts else ""

    def _status_label(self, ident: str) -> str:
        if ident not in self._status:
            return "not in this run"
        return "waits too" if self._status[ident] == "waiting" and self._blocker_counts[ident] else self._status[ident]

    def _choose(self, now: float) -> list[str]:
        """Returns the jobs to start, the longest chains first, within the free slots and the shared folder."""
        free = self._slots - len(self._running)
        free_slots = {pool: self._free_slots(pool) for pool in self._queues if self._pauses.get(pool, -NEVER) <= now}
        positions = {pool: 0 for pool, slots in free_slots.items() if slots > 0 and self._queues[pool]}
        folder = self._folder()
        start: list[str] = []
        while len(start) < free and positions and not (folder and folder.has_unknown_writer):
            (pool, *other_pools) = positions
            if other_pools:
                pool = min(positions, key=lambda name: self._queues[name][positions[name]])
            ident = self._queues[pool][positions[pool]][2]
            positions[pool] += 1
            if folder is None or folder.try_add(self._writers[ident]):
                start.append(ident)
                free_slots[pool] -= 1
            if not free_slots[pool] or positions[pool] == len(self._queues[pool]):
                del positions[pool]
        return start

    def _free_slots(self, pool: str) -> int:
        return self._pool_slots.get(pool, self._slots) - self._busy.get(pool, 0)

    def _folder(self) -> SharedFolder | None:
        """Returns the shared folder with all running jobs in it, or None if each job has its own checkout."""
        if not self._writers:
            return None
        folder = SharedFolder()
        for ident in self._running:
            folder.add(self._writers[ident])
        return folder

    def _pause_ends(self, now: float, starting: int) -> float | None:
        """Returns the first end of a pause that keeps a job from starting."""
        if len(self._running) + starting >= self._slots:
            return None
        ends = [
            until
            for pool, until in self._pauses.items()
            if now < until < NEVER and self._queues.get(pool) and self._free_slots(pool) > 0
        ]
        return min(ends, default=None)

    def _move(self, ident: str, status: str) -> None:
        if JOB.move(f"job {ident}", self.status(ident), status) == "start" and self._open_need_counts[ident]:
            raise IllegalStatusChange(f"job {ident} {self._waits_for(ident)}", "start what decide() names")
        self._set_status(ident, status)
        self._begin_waves()

    def _set_status(self, ident: str, status: str) -> None:
        """Sets the status of a job, and updates the jobs that need it."""
        self._unqueue(ident)
        old_prospect, old_status = self._prospect(ident), self._status[ident]
        self._status[ident] = status
        pool = self._pool[ident]
        if old_status == "running":
            del self._running[ident]
            self._busy[pool] -= 1
        if status == "running":
            self._running[ident] = None
            self._busy[pool] = self._busy.get(pool, 0) + 1
        self._update_dependents(ident, old_prospect)
        if status == "completed":
            for dependent in self._dependents[ident]:
                self._open_need_counts[dependent] -= 1
                self._queue(dependent)
        self._queue(ident)

    def _prospect(self, ident: str) -> str:
        """Returns `completed`, `open` if the job can complete without a person, or `dead`."""
        status = self._status.get(ident, "failed")
        if status == "waiting":
            return "dead" if self._blocker_counts[ident] else "open"
        return "dead" if status in BLOCKING else "completed" if status == "completed" else "open"

    def _update_dependents(self, ident: str, old_prospect: str) -> None:
        """Updates all jobs that need this one, directly or indirectly, after its prospect changed."""
        pending = [(ident, old_prospect)]
        while pending:
            current, old = pending.pop()
            new = self._prospect(current)
            if self._wave[current] <= self._current_wave:
                self._unsettled += (new == "open") - (old == "open")
            step = (new == "dead") - (old == "dead")
            for dependent in self._dependents[current] if step else ():
                previous = self._prospect(dependent)
                self._blocker_counts[dependent] += step
                if self._prospect(dependent) != previous:
                    pending.append((dependent, previous))

    def _begin_waves(self) -> None:
        """Begins the next wave when no job of the waves before it can end without a person."""
        while self._later_waves and not self._unsettled:
            self._current_wave = self._later_waves.pop()
            for ident in self._members[self._current_wave]:
                self._unsettled += self._prospect(ident) == "open"
                self._queue(ident)

    def _queue(self, ident: str) -> None:
        if self._can_queue(ident):
            insort(self._queues.setdefault(self._pool[ident], []), self._queue_keys[ident])

    def _unqueue(self, ident: str) -> None:
        if self._can_queue(ident):
            queue = self._queues[self._pool[ident]]
            del queue[bisect_left(queue, self._queue_keys[ident])]

    def _can_queue(self, ident: str) -> bool:
        """Returns whether a job waits for nothing but a slot."""
        return (
            self._status[ident] == "waiting"
            and not self._open_need_counts[ident]
            and self._wave[ident] <= self._current_wave
        )


def _by_id(jobs: Iterable[Job]) -> dict[str, Job]:
    by_id: dict[str, Job] = {}
    for job in jobs:
        if job.id in by_id:
            raise SowError(f"job {job.id} is there twice", "give each job an id of its own")
        if job.status not in JOB.statuses:
            raise SowError(f"job {job.id}: unknown status {job.status!r}", f"use one of: {', '.join(JOB.statuses)}")
        by_id[job.id] = job
    return by_id


def _check(slots: int, pool_slots: Mapping[str, int], schedule: str, share: str) -> None:
    for owner, count in {"the run": slots, **pool_slots}.items():
        if count < 1:
            raise SowError(f"{owner} has {count} slots", "give it at least one")
    if schedule not in SCHEDULES:
        raise SowError(f"unknown schedule {schedule!r}", f"use one of: {', '.join(SCHEDULES)}")
    if share not in ("", "none"):
        raise SowError(f"unknown isolation {share!r}", "leave it empty, or use: none")


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


WILD = frozenset("*?[")


class Writer:
    """The files that one task writes, the folders above them, and whether the list is complete."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = frozenset(plain_path(path.replace("\\", "/")) for path in files)
        self.parent_folders = frozenset(folder for path in self.files for folder in folders_above(path))
        self.is_exact = bool(self.files) and all(map(_is_exact, self.files))


class SharedFolder:
    """The writers that are active in the folder."""

    def __init__(self) -> None:
        self.has_unknown_writer = False  # some writer may write anywhere
        self._used = False
        self._files: set[str] = set()
        self._above: set[str] = set()

    def try_add(self, writer: Writer) -> bool:
        """Adds a writer if it overlaps with no other, and returns whether it was added."""
        if self._used and (self.has_unknown_writer or not writer.is_exact or self._overlaps(writer)):
            return False
        self.add(writer)
        return True

    def add(self, writer: Writer) -> None:
        """Adds a writer that already works."""
        self._used = True
        self.has_unknown_writer = self.has_unknown_writer or not writer.is_exact
        self._files |= writer.files
        self._above |= writer.parent_folders

    def _overlaps(self, writer: Writer) -> bool:
        """Returns whether a file, a folder that contains it, or a file below it is already written."""
        return not (
            self._files.isdisjoint(writer.files)
            and self._above.isdisjoint(writer.files)
            and self._files.isdisjoint(writer.parent_folders)
        )


def _is_exact(path: str) -> bool:
    """Returns whether a path names exactly what is written. A pattern, the root and `..` do not."""
    return bool(path) and not WILD & set(path) and ".." not in path.split("/")
