"""The loop of a run: decide, start, step, write, tell. One thread of control; children only work."""

from __future__ import annotations

import time

from sow.domain import graph
from sow.domain.budget import Breaker
from sow.domain.decide import Board, Job
from sow.domain.forecast import Forecast
from sow.engine.home_guard import HomeGuard
from sow.engine.job import TaskJob
from sow.engine.plan_watch import PlanWatch
from sow.engine.spending import budget_of, spend
from sow.engine.steps import LONGEST, SHORTEST, Interrupts
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import past, run_acts
from sow.store import project as projects
from sow.store.restoring import Elsewhere

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sow.domain.budget import Budget
    from sow.domain.decide import Decision
    from sow.domain.shapes import Task
    from sow.engine.ended import Ended
    from sow.engine.ship import Ship
    from sow.engine.steps import Steps

# A task's status as the board knows it.
BOARD = {"completed": "completed", "failed": "failed", "paused": "asking", "abandoned": "abandoned"}
LOOK_EVERY = 1.0  # seconds between two looks at what people answered
DONE, FAILED, WAITS, STOPPED = 0, 1, 4, 130


class Loop:
    """One call of `sow run`, from the first decision to the last."""

    __slots__ = (
        "begun",
        "board",
        "breaker",
        "budget",
        "guard",
        "interrupts",
        "looked",
        "plans",
        "running",
        "said",
        "ship",
        "tasks",
        "tick",
        "told",
    )

    def __init__(self, ship: Ship, *, tick: Callable[[float], None]) -> None:
        self.ship = ship
        self.tick = tick
        self.interrupts = 0
        self.told: dict[str, int] = {}
        self.begun: dict[str, float] = {}  # when each job began, by the clock that never jumps
        self.looked = 0.0
        self.said = ""
        self.running: dict[str, Steps[Ended]] = {}
        self.tasks = {task["id"]: task for task in _tasks(ship)}
        self.guard = _guard(ship)
        self.plans = PlanWatch(ship.home, ship.folder.run["plans"])
        run = ship.folder.run
        self.breaker = Breaker(**run["breaker"]) if "breaker" in run else Breaker()
        self.budget = budget_of(ship, self.tasks)
        ship.stop_new = lambda: self.budget.stop_new(time.time())
        ship.listeners.append(self._hear)
        self.board = _board(ship, list(self.tasks.values()), (self.budget, self.breaker))
        for pool in run.get("pools", ()):
            self._rest(pool["executor"], pool["until"])

    def sail(self) -> int:
        """Go on until nothing can be done any more without somebody else; returns the exit code."""
        with Interrupts() as interrupts:
            try:
                pause = SHORTEST
                while not self._is_over():
                    self.interrupts += bool(interrupts.take())
                    self.ship.stopping = bool(self.interrupts)
                    self._guard()
                    moved = self._step() + self._start()
                    self._look_around()
                    self.tick(time.monotonic())
                    pause = SHORTEST if moved else min(pause * 1.5, LONGEST)
                    interrupts.sleep(pause)
                return self._code()
            except Elsewhere as problem:
                self.ship.tell("waiting", reason=f"{problem.message}: {problem.hint}", until=None)
                return WAITS
            finally:  # an error of ours: no child outlives us
                for steps in self.running.values():
                    steps.close()

    def _guard(self) -> None:
        """Nothing is decided from state that the user's git took away or set back."""
        for name in self.guard.check(self.running):
            self.ship.tell("restored", task=name)

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
        for path in self.plans.changed():
            self.ship.tell("plan_changed", path=path)
        for ident, status in self.board.statuses().items():
            if status in ("asking", "failed"):
                self._look_at(ident)

    def _look_at(self, ident: str) -> None:
        task = self._task(ident)
        now = BOARD.get(task["status"], "waiting")
        if now == "waiting":
            last = task["questions"][-1] if task["questions"] else None
            facts = {"number": last["number"], "origin": last["answered_by"]} if last else {}
            self.ship.tell("answered", task=ident, **facts)
            self.board.answered(ident)
        elif now in ("completed", "abandoned") or now != self.board.status(ident):
            self.board.ended(ident, now)

    def _start(self) -> int:
        """Start what the board says."""
        if self.interrupts:
            return 0
        started = 0
        for ident in self.board.decide(time.time()).start:
            self.board.started(ident)
            self.ship.tell("task_started", task=ident, iteration=self._task(ident)["iteration"])
            self.begun[ident] = time.monotonic()
            self.running[ident] = TaskJob(self.ship, ident).steps()
            self._advance(ident, first=True)
            started += 1
        return started

    def _step(self) -> int:
        """One step of every job; returns how many ended."""
        return sum(self._advance(ident) for ident in list(self.running))

    def _advance(self, ident: str, *, first: bool = False) -> bool:
        steps = self.running[ident]
        try:
            if first:
                next(steps)
            else:
                steps.send(self._word(ident))
        except StopIteration as end:
            self._ended(ident, end.value)
            return True
        except SowError as problem:  # of the surroundings, not of the work: a question, and the others go on
            self.guard.check(self.running)  # on another branch nothing is asked, and nothing written
            self._broke(ident, problem)
            return True
        return False

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
        self._tell_end(ident, ended.reason)

    def _tell_end(self, ident: str, reason: str) -> None:
        task = self._task(ident)
        self.ship.tell(
            "task_ended",
            task=ident,
            status=task["status"],
            result=task.get("result"),
            reason=reason,
            seconds=round(time.monotonic() - self.begun[ident], 3),
            retry_count=task.get("retry_count", 0),
        )

    def _broke(self, ident: str, problem: SowError) -> None:
        """Something that is nobody's work went wrong: a person looks at it."""
        del self.running[ident]
        self._count_failure()
        project = projects.load(self.ship.home)
        desk = desks.find(self.ship.home, project, ident)
        task = self._task(ident)
        unheard = run_acts.last_words(desk, task) if task["status"] == "in_progress" else ""  # for its next turn
        number = run_acts.ask(desk, project, f"{problem.message} ({problem.hint})", found=unheard)
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

    def _rest(self, executor: str, until: float) -> None:
        """Nothing starts with an executor until its limit ends; who has another one takes that."""
        self.board.pause(executor, until)
        for ident, status in self.board.statuses().items():
            if status == "waiting":
                free = self.ship.free(self.ship.executors_of(self.ship.role_of(self.tasks[ident]).name))
                if free:
                    self.board.transfer(ident, free[0].name)

    def _too_long(self, until: float | None) -> bool:
        """Whether what the run waits for is farther away than it may wait."""
        most = self.ship.settings.get("max_wait")
        return until is not None and most is not None and until - time.time() > most

    def _task(self, ident: str) -> Task:
        """A task on which nobody works now."""
        mended = self.guard.mend(ident)
        if mended is not None:
            self.ship.tell("restored", task=ident, **mended)
        project = projects.load(self.ship.home)
        return desks.find(self.ship.home, project, ident).task()

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


def _guard(ship: Ship) -> HomeGuard:
    project = projects.load(ship.home)
    wanted = set(ship.folder.run["tasks"])
    return HomeGuard(ship.home, project, [desk for desk in desks.desks(ship.home, project) if desk.id in wanted])


def _tasks(ship: Ship) -> list[Task]:
    project = projects.load(ship.home)
    wanted = set(ship.folder.run["tasks"])
    return [task for _, task in desks.load_all(ship.home, project)[0] if task["id"] in wanted]


def _needs(ship: Ship, tasks: list[Task]) -> dict[str, list[str]]:
    """What each task waits for; a dependency that is not in this run and not completed holds it up for good."""
    here = {task["id"] for task in tasks}
    project = projects.load(ship.home)
    done = {task["id"] for _, task in desks.load_all(ship.home, project)[0] if task["status"] == "completed"}
    return {
        task["id"]: [
            *(each for each in task["depends_on"] if each in here or each not in done),
            *(each for each in task.get("after", ()) if each in here),
        ]
        for task in tasks
    }


def _pool_slots(ship: Ship) -> dict[str, int]:
    """How many tasks each executor may have at once, of those that the user set a limit for."""
    found = {name: each.settings.get("max_concurrency") for name, each in ship.config.executors.items()}
    return {name: int(most) for name, most in found.items() if most}


def _board(ship: Ship, tasks: list[Task], guards: tuple[Budget, Breaker]) -> Board:
    """The tasks as the decision sees them, the longest chain first."""
    needs = _needs(ship, tasks)
    forecast = Forecast(past.finished(ship.home))
    minutes = {
        task["id"]: forecast.expected(task["assigned_agent"], task.get("estimated_minutes")).minutes for task in tasks
    }
    inner = {task: [each for each in before if each in minutes] for task, before in needs.items()}
    rest = graph.lengths(inner, minutes)
    wave = {task: number for number, level in enumerate(graph.waves(inner), 1) for task in level}
    return Board(
        [
            Job(
                task["id"],
                needs=needs[task["id"]],
                rest=rest[task["id"]],
                wave=wave[task["id"]],
                pool=ship.executors_of(ship.role_of(task).name)[0].name,
                files=task.get("files", ()),
                status=BOARD.get(task["status"], "waiting"),
            )
            for task in tasks
        ],
        slots=ship.settings["max_concurrency"],
        pool_slots=_pool_slots(ship),
        schedule=ship.settings["schedule"],
        share="none" if ship.isolation is None else "",
        guards=guards,
    )
