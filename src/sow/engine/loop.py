"""The loop of every run: decide, start, step, write, tell. One thread of control; children only work."""

from __future__ import annotations

import time

from sow.domain.budget import Breaker
from sow.engine import settle
from sow.engine.spending import budget_of, spend
from sow.engine.steps import LONGEST, SHORTEST, Interrupts
from sow.errors import SowError
from sow.store.restoring import Elsewhere
from sow.store.run_memory import RunMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from sow.config import ExecutorConfig
    from sow.domain.budget import Budget
    from sow.domain.decide import Board, Decision
    from sow.engine.ended import Ended
    from sow.engine.ship import Ship
    from sow.engine.steps import Steps
    from sow.store.desk import Desk
    from sow.store.member_desk import MemberDesk

LOOK_EVERY = 1.0  # seconds between two looks at what people answered
DONE, FAILED, WAITS, STOPPED = 0, 1, 4, 130


class Loop:
    """One call of a run, from the first decision to the last; what is run is a child's matter."""

    is_workflow = False
    __slots__ = (
        "asked",
        "background",
        "begun",
        "board",
        "breaker",
        "budget",
        "interrupts",
        "looked",
        "running",
        "said",
        "ship",
        "tick",
        "told",
    )

    def __init__(self, ship: Ship, desks: Iterable[Desk | MemberDesk], *, tick: Callable[[float], None]) -> None:
        self.ship = ship
        ship.home.memory = RunMemory(ship.home, ship.folder.run["project_id"], workflow=self.is_workflow)
        self.tick = tick
        self.interrupts = 0
        self.told: dict[str, int] = {}
        self.begun: dict[str, float] = {}  # when each job began, by the clock that never jumps
        self.looked = 0.0
        self.asked: dict[tuple[str, int | str], None] = {}  # and no answer told of, earlier calls included
        self.said = ""
        self.running: dict[str, Steps[Ended]] = {}
        self.background: Steps[None] | None = None  # work that is nobody's task and does not keep the run open
        run = ship.folder.run
        self.breaker = Breaker(**run["breaker"]) if "breaker" in run else Breaker()
        self.budget: Budget = budget_of(ship, desks)
        ship.stop_new = lambda: self.budget.stop_new(time.time())
        for entry in ship.folder.journal("question", "answered"):
            self._hear_question(entry)
        ship.listeners.append(self._hear)
        self.renew_board()

    def renew_board(self) -> None:
        """Put all jobs on the board as they are now; nothing may be running."""
        self.board = self.make_board()
        for pool in self.ship.folder.run.get("pools", ()):
            self._rest(pool["executor"], pool["until"])

    def make_board(self) -> Board:
        """All jobs, as the decision sees them."""
        raise NotImplementedError

    def job(self, ident: str) -> Steps[Ended]:
        """The way of one job."""
        raise NotImplementedError

    def iteration(self, ident: str) -> int:
        """Which attempt at a job begins now."""
        raise NotImplementedError

    def watch_home(self) -> list[str]:
        """Refuse to go on where the user's git took the state away; returns what was brought back."""
        raise NotImplementedError

    def watch_plan(self) -> None:
        """See whether somebody edited what is run."""
        raise NotImplementedError

    def look_at(self, ident: str) -> None:
        """See whether a job that asks or failed may go on."""
        raise NotImplementedError

    def who_answered(self, ident: str, number: int | str) -> str | None:
        """Who answered a question; nobody yet: None."""
        raise NotImplementedError

    def end_facts(self, ident: str) -> dict[str, Any]:
        """What the journal keeps of a job that has ended."""
        raise NotImplementedError

    def why(self, ident: str, ended: Ended) -> str:
        """The reason why a job ended, as well as it is known."""
        return ended.reason

    def ask(self, ident: str, problem: SowError) -> int | str:
        """Ask a person about something that is nobody's work; returns the number of the question."""
        raise NotImplementedError

    def executors_for(self, ident: str) -> list[ExecutorConfig]:
        """Who may play the role of a job."""
        raise NotImplementedError

    def sail(self) -> int:
        """Go on until nothing can be done any more without somebody else; returns the exit code."""
        with Interrupts() as interrupts:
            try:
                self.tell_answers()
                pause = SHORTEST
                while not self._is_over():
                    self.interrupts += bool(interrupts.take())
                    self.ship.stopping = bool(self.interrupts)
                    self._guard()
                    moved = self._step() + self._start() + self._step_background()
                    self._settle()
                    self._look_around()
                    self.tick(time.monotonic())
                    pause = 0.0 if moved else max(SHORTEST, min(pause * 1.5, LONGEST))
                    if interrupts.sleep(pause):
                        pause = SHORTEST  # a turn that is over takes two steps
                return self._code()
            except Elsewhere as problem:
                self.ship.tell("waiting", reason=f"{problem.message}: {problem.hint}", until=None)
                return self._code() or WAITS
            finally:  # an error of ours: no child outlives us
                for steps in (*self.running.values(), *filter(None, [self.background])):
                    steps.close()

    def _guard(self) -> None:
        """Nothing is decided from state that the user's git took away or set back."""
        memory = self.ship.home.memory
        if memory is not None:
            memory.hear()
            while memory.forged:
                name, where = memory.forged.pop()
                text = f"the state of {name} was edited by hand together with its copy; the edit is in {where}"
                self.ship.tell("set_aside", task=name if name in self.board.statuses() else "", text=text)
        for name in self.watch_home():
            self.ship.tell("restored", task=name)

    def _settle(self) -> None:
        """Undo what turns wrote beyond their desks and nobody has looked at yet: when it is due, and before the end.

        Those who go on may do so for hours, and a command of the user's would believe what is written there.
        """
        seen = self.ship.seen
        if seen.owed is None or (self.running and seen.rests()):
            return
        self._guard()
        for name, remark in settle.owed(seen):
            self.ship.tell("restored", task=name, remark=remark)

    def _is_over(self) -> bool:
        """Whether nothing runs, and nothing can start before somebody acts, or within the time that we may wait."""
        if self.running:
            return False
        decision = self.board.decide(time.time())
        self._say_why(decision)
        return decision.over or bool(self.interrupts) or (not decision.start and self._too_long(decision.until))

    def _say_why(self, decision: Decision) -> None:
        """What the whole run waits for, said once."""
        why = decision.why or ("a limit" if decision.until is not None and not decision.start else "")
        if why == self.said:
            return
        self.said = why
        if decision.until is not None:
            self.ship.tell("waiting", reason=why, until=int(decision.until))
        elif why:
            self.ship.tell("budget", reason=why)

    def _look_around(self) -> None:
        """A question that was answered meanwhile lets its task go on; a plan that was edited is told of."""
        if time.monotonic() < self.looked + LOOK_EVERY:
            return
        self.looked = time.monotonic()
        self.watch_plan()
        for ident, status in self.board.statuses().items():
            if status in ("asking", "failed"):
                self.look_at(ident)

    def tell_answers(self) -> None:
        """What was answered since the last look, or between two calls, is in the journal, once.

        An answer that was quicker than the end of the job lets it go on at once; that is told when it has ended.
        """
        for ident, number in list(self.asked):
            origin = self.who_answered(ident, number) if ident not in self.running else None
            if origin is not None:
                self.ship.tell("answered", task=ident, number=number, origin=origin)

    def _start(self) -> int:
        """Start what the board says."""
        if self.interrupts:
            return 0
        started = 0
        for ident in self.board.decide(time.time()).start:
            self.board.started(ident)
            self.ship.tell("task_started", task=ident, iteration=self.iteration(ident))
            self.begun[ident] = time.monotonic()
            self.running[ident] = self.job(ident)
            self._advance(ident, first=True)
            started += 1
        return started

    def _step(self) -> int:
        """One step of every job; returns how many ended, or wait for the others' next one only."""
        return sum(self._advance(ident) for ident in list(self.running))

    def _step_background(self) -> bool:
        """One step of the work in the background; returns whether it waits only for the next step of the others."""
        if self.background is None:
            return False
        if self.interrupts:
            self.background.close()
        try:
            return bool(next(self.background))
        except StopIteration:
            self.background = None
            return False

    def _advance(self, ident: str, *, first: bool = False) -> bool:
        steps = self.running[ident]
        try:
            return bool(next(steps) if first else steps.send(self._word(ident)))
        except StopIteration as end:
            self._ended(ident, end.value)
            return True
        except SowError as problem:  # of the surroundings, not of the work: a question, and the others go on
            self.watch_home()  # on another branch nothing is asked, and nothing written
            self._broke(ident, problem)
            return True

    def _word(self, ident: str) -> str:
        """`interrupt` to each job once for every Ctrl-C; the second one does not wait."""
        if self.told.get(ident, 0) >= self.interrupts:
            return ""
        self.told[ident] = self.told.get(ident, 0) + 1
        return "interrupt"

    def _ended(self, ident: str, ended: Ended) -> None:
        del self.running[ident]
        if ended.idle:
            self._count_failure()
        elif ended.status in ("completed", "asking"):
            self.breaker.worked()
        self.board.ended(ident, "waiting" if ended.status == "stopped" else ended.status)
        if ended.executor:
            self.board.transfer(ident, ended.executor)
        self.tell_answers()
        self._tell_end(ident, self.why(ident, ended))

    def _tell_end(self, ident: str, reason: str) -> None:
        seconds = round(time.monotonic() - self.begun[ident], 3)
        self.ship.tell("task_ended", task=ident, **self.end_facts(ident), reason=reason, seconds=seconds)

    def _broke(self, ident: str, problem: SowError) -> None:
        """Something that is nobody's work went wrong: a person looks at it."""
        del self.running[ident]
        self._count_failure()
        number = self.ask(ident, problem)
        self.ship.tell("question", task=ident, number=number, text=problem.message)
        self.board.ended(ident, "asking")
        self._tell_end(ident, problem.message)

    def _count_failure(self) -> None:
        """One more start in a row that came to nothing for reasons that are not the work's."""
        before = self.breaker.opened
        self.breaker.failed(time.time())
        self.ship.folder.run["breaker"] = self.breaker.state()
        self.ship.folder.save()
        if self.breaker.opened > before:
            facts = {"until": self.breaker.state()["until"], "failures": self.breaker.failures}
            self.ship.tell("breaker", **facts)

    def _hear(self, entry: dict[str, Any]) -> None:
        """What happens in the jobs that all others must know: what turns cost, and limits."""
        if entry["event"] == "turn_started":
            self.budget.spawned()
        elif entry["event"] == "turn_ended":
            spend(self.budget, entry)
        elif entry["event"] == "limit":
            self._rest(entry["executor"], entry["until"])
        else:
            self._hear_question(entry)

    def _hear_question(self, entry: dict[str, Any]) -> None:
        key = (entry.get("task"), entry.get("number"))
        if entry["event"] == "answered":
            self.asked = {each: None for each in self.asked if each != key}
        elif entry["event"] == "question" and isinstance(key[0], str) and isinstance(key[1], int | str):
            self.asked[key[0], key[1]] = None

    def _rest(self, executor: str, until: float) -> None:
        """Nothing starts with an executor until its limit ends; who has another one takes that."""
        self.board.pause(executor, until)
        for ident, status in self.board.statuses().items():
            if status == "waiting":
                free = self.ship.free(self.executors_for(ident))
                if free:
                    self.board.transfer(ident, free[0].name)

    def _too_long(self, until: float | None) -> bool:
        """Whether what the run waits for is farther away than it may wait."""
        most = self.ship.settings.get("max_wait")
        return until is not None and most is not None and until - time.time() > most

    def counts(self) -> dict[str, int]:
        """How many tasks stand how."""
        statuses = list(self.board.statuses().values())
        blocked = len(self.board.blocked())
        found = {name: statuses.count(name) for name in ("completed", "failed")}
        waiting = statuses.count("asking") + statuses.count("waiting") - blocked
        return {**found, "blocked": blocked, "waiting": waiting}

    def _code(self) -> int:
        """The exit code: a failure beats a wait."""
        if self.interrupts:
            return STOPPED
        statuses = self.board.statuses()
        if any(each == "failed" for each in statuses.values()):
            return FAILED
        return DONE if all(each in ("completed", "abandoned") for each in statuses.values()) else WAITS
