"""Decides which tasks of a run start now."""

from __future__ import annotations

from bisect import bisect_left, insort

from sow.domain.lifecycle import Lifecycle
from sow.domain.shared_folder import SharedFolder, Writer
from sow.errors import IllegalMove, SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Protocol

    class Guard(Protocol):
        """Stops all new work, such as a budget or the circuit breaker."""

        def stop_new(self, now: float) -> str:
            """Return the reason why nothing may start now, or an empty text."""

        def until(self, now: float) -> float | None:
            """Return when the stop ends by itself, or None if a person has to act."""

    Place = tuple[float, int, str]

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
STANDINGS = {"completed": "completed", "failed": "failed", "paused": "asking", "abandoned": "abandoned"}
DEAD = frozenset({"failed", "asking", "abandoned"})  # a job that needs one of these waits until a person acts


class Job:
    """One task in a run: the jobs it needs, the length of the chain after it, and the pool it runs in."""

    __slots__ = ("files", "id", "needs", "pool", "rest", "status", "wave")

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
        self.rest = rest  # minutes of the longest chain that begins with this job
        self.wave = wave
        self.pool = pool
        self.files = tuple(files)
        self.status = status


class Decision:
    """The jobs to start, the critical path first, and the time and reason when nothing starts."""

    __slots__ = ("over", "start", "until", "why")

    def __init__(self, start: list[str], *, until: float | None = None, over: bool = False, why: str = "") -> None:
        self.start = start
        self.until = until
        self.over = over
        self.why = why

    def __repr__(self) -> str:
        return f"Decision({self.start}, until={self.until}, over={self.over}, why={self.why!r})"


class Board:
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
        self._place: dict[str, Place] = {
            job.id: (-job.rest, index, job.id) for index, job in enumerate(self._jobs.values())
        }
        self._writers = {job.id: Writer(job.files) for job in self._jobs.values()} if share == "none" else {}
        self._queues: dict[str, list[Place]] = {}
        self._running: dict[str, None] = {}
        self._busy: dict[str, int] = {}
        self._pauses: dict[str, float] = {}
        self._wave = {job.id: job.wave if schedule == "waves" else 0 for job in self._jobs.values()}
        self._begun = -NEVER
        self._coming = sorted(set(self._wave.values()), reverse=True)
        self._unsettled = 0  # jobs of the waves that have begun and that can still end without a person
        self._connect()
        self._advance()

    def _connect(self) -> None:
        """Count the jobs that each job waits for, and give each job its initial status."""
        self._after: dict[str, list[str]] = {ident: [] for ident in self._jobs}
        self._left = {job.id: len(job.needs) for job in self._jobs.values()}
        self._stuck = {
            job.id: sum(need not in self._jobs for need in job.needs)  # no job of this run can complete those
            for job in self._jobs.values()
        }
        for job in self._jobs.values():
            for need in job.needs:
                if need in self._jobs:
                    self._after[need].append(job.id)
        for ident in [ident for ident, count in self._stuck.items() if count]:
            self._spread(ident, "open")
        self._members: dict[float, list[str]] = {wave: [] for wave in self._coming}
        for job in self._jobs.values():
            self._members[self._wave[job.id]].append(job.id)
            if job.status != "waiting":
                self._enter(job.id, job.status)

    def started(self, ident: str) -> None:
        """Record that a job was started. Raise IllegalMove if it still waits for others."""
        self._move(ident, "running")

    def ended(self, ident: str, status: str) -> None:
        """Record that a job ended, or that it waits again after a limit or for a retry."""
        if status == "running":
            raise IllegalMove(f"job {ident} cannot end as running", "tell of a start with started()")
        self._move(ident, status)

    def answered(self, ident: str) -> None:
        """Record that a question was answered or that a failed job is retried. The job may start again."""
        if self.status(ident) not in ("asking", "failed"):
            raise IllegalMove(f"job {ident} is {self.status(ident)} and asks nothing", "answer one that asks or failed")
        self._move(ident, "waiting")

    def pause(self, pool: str, until: float = NEVER) -> None:
        """Start nothing in this pool before the given time, or until it is resumed."""
        self._pauses[pool] = until

    def resume(self, pool: str) -> None:
        """End the pause of a pool before its time."""
        self._pauses.pop(pool, None)

    def transfer(self, ident: str, pool: str) -> None:
        """Move a job that does not run to another pool, such as when its own pool has reached a limit."""
        if self.status(ident) == "running":
            raise IllegalMove(f"job {ident} is running in {self._pool[ident]}", "end it first")
        self._unqueue(ident)
        self._pool[ident] = pool
        self._queue(ident)

    def status(self, ident: str) -> str:
        """Return the status of a job."""
        if ident not in self._status:
            raise SowError(f"job {ident} is not in this run", "ask for one of its jobs")
        return self._status[ident]

    def statuses(self) -> dict[str, str]:
        """Return the status of every job."""
        return dict(self._status)

    def decide(self, now: float) -> Decision:
        """Return the jobs that may start now, without changing anything."""
        idle = not self._running
        if not any(self._queues.values()):
            return Decision([], over=idle)
        stops = [(why, guard.until(now)) for guard in self._guards if (why := guard.stop_new(now))]
        if stops:
            ends = [end for _, end in stops if end is not None]
            until = max(ends) if len(ends) == len(stops) else None
            return Decision([], until=until, over=idle and until is None, why="; ".join(why for why, _ in stops))
        start = self._choose(now)
        until = self._pause_ends(now, len(start))
        return Decision(start, until=until, over=idle and not start and until is None)

    def blocked(self) -> dict[str, str]:
        """Return the jobs that cannot start until a person acts, each with the jobs it waits for."""
        return {
            ident: self._waits_for(ident, dead=True)
            for ident, status in self._status.items()
            if status == "waiting" and self._stuck[ident]
        }

    def why(self, now: float) -> dict[str, str]:
        """Return for each job that has not ended why it does not run."""
        stops = "; ".join(filter(None, (guard.stop_new(now) for guard in self._guards)))
        reasons = {}
        for ident, status in self._status.items():
            if status == "asking":
                reasons[ident] = "asks a question"
            elif status == "waiting":
                reasons[ident] = self._waits_for(ident) or self._held(ident, now) or stops or "waits for a free slot"
        return reasons

    def _held(self, ident: str, now: float) -> str:
        if self._wave[ident] > self._begun:
            return f"wave {self._wave[ident]} has not begun"
        pool = self._pool[ident]
        return f"{pool or 'its pool'} is paused" if now < self._pauses.get(pool, -NEVER) else ""

    def _waits_for(self, ident: str, *, dead: bool = False) -> str:
        parts = [
            f"{need} ({self._word(need)})"
            for need in self._jobs[ident].needs
            if self._standing(need) != "completed" and (not dead or self._standing(need) == "dead")
        ]
        return f"waits for {', '.join(parts)}" if parts else ""

    def _word(self, ident: str) -> str:
        if ident not in self._status:
            return "not in this run"
        return "blocked" if self._status[ident] == "waiting" and self._stuck[ident] else self._status[ident]

    def _choose(self, now: float) -> list[str]:
        """Return the jobs to start, the longest chains first, within the free slots and the shared folder."""
        free = self._slots - len(self._running)
        free_slots = {pool: self._room(pool) for pool in self._queues if self._pauses.get(pool, -NEVER) <= now}
        positions = {pool: 0 for pool, slots in free_slots.items() if slots > 0 and self._queues[pool]}
        folder = self._folder()
        start: list[str] = []
        while len(start) < free and positions and not (folder and folder.closed):
            (pool, *other_pools) = positions
            if other_pools:
                pool = min(positions, key=lambda name: self._queues[name][positions[name]])
            ident = self._queues[pool][positions[pool]][2]
            positions[pool] += 1
            if folder is None or folder.take(self._writers[ident]):
                start.append(ident)
                free_slots[pool] -= 1
            if not free_slots[pool] or positions[pool] == len(self._queues[pool]):
                del positions[pool]
        return start

    def _room(self, pool: str) -> int:
        return self._pool_slots.get(pool, self._slots) - self._busy.get(pool, 0)

    def _folder(self) -> SharedFolder | None:
        """Return the shared folder with all running jobs in it, or None if each job has its own checkout."""
        if not self._writers:
            return None
        folder = SharedFolder()
        for ident in self._running:
            folder.join(self._writers[ident])
        return folder

    def _pause_ends(self, now: float, starting: int) -> float | None:
        """Return the first end of a pause that keeps a job from starting."""
        if len(self._running) + starting >= self._slots:
            return None
        ends = [
            until
            for pool, until in self._pauses.items()
            if now < until < NEVER and self._queues.get(pool) and self._room(pool) > 0
        ]
        return min(ends, default=None)

    def _move(self, ident: str, status: str) -> None:
        event = JOB.move(f"job {ident}", self.status(ident), status)
        if event == "start" and self._left[ident]:
            raise IllegalMove(f"job {ident} {self._waits_for(ident)}", "start what decide() names")
        self._enter(ident, status)
        self._advance()

    def _enter(self, ident: str, status: str) -> None:
        """Set the status of a job, and update the jobs that need it."""
        self._unqueue(ident)
        old_standing, old_status = self._standing(ident), self._status[ident]
        self._status[ident] = status
        pool = self._pool[ident]
        if old_status == "running":
            del self._running[ident]
            self._busy[pool] -= 1
        if status == "running":
            self._running[ident] = None
            self._busy[pool] = self._busy.get(pool, 0) + 1
        self._spread(ident, old_standing)
        if status == "completed":
            for dependent in self._after[ident]:
                self._left[dependent] -= 1
                self._queue(dependent)
        self._queue(ident)

    def _standing(self, ident: str) -> str:
        """Return `completed`, `open` if the job can complete without a person, or `dead`."""
        status = self._status.get(ident, "failed")
        if status == "waiting":
            return "dead" if self._stuck[ident] else "open"
        return "dead" if status in DEAD else "completed" if status == "completed" else "open"

    def _spread(self, ident: str, old_standing: str) -> None:
        """Update all jobs that need this one, directly or indirectly, after its standing changed."""
        pending = [(ident, old_standing)]
        while pending:
            current, old = pending.pop()
            new = self._standing(current)
            if self._wave[current] <= self._begun:
                self._unsettled += (new == "open") - (old == "open")
            step = (new == "dead") - (old == "dead")
            for dependent in self._after[current] if step else ():
                previous = self._standing(dependent)
                self._stuck[dependent] += step
                if self._standing(dependent) != previous:
                    pending.append((dependent, previous))

    def _advance(self) -> None:
        """Begin the next wave when no job of the waves before it can end without a person."""
        while self._coming and not self._unsettled:
            self._begun = self._coming.pop()
            for ident in self._members[self._begun]:
                self._unsettled += self._standing(ident) == "open"
                self._queue(ident)

    def _queue(self, ident: str) -> None:
        if self._can_queue(ident):
            insort(self._queues.setdefault(self._pool[ident], []), self._place[ident])

    def _unqueue(self, ident: str) -> None:
        if self._can_queue(ident):
            queue = self._queues[self._pool[ident]]
            del queue[bisect_left(queue, self._place[ident])]

    def _can_queue(self, ident: str) -> bool:
        """Return whether a job waits for nothing but a slot."""
        return self._status[ident] == "waiting" and not self._left[ident] and self._wave[ident] <= self._begun


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
