"""Runs the main loop of every run in one thread: decides, steps jobs, guards the state, and notifies people."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sow.config import ExecutorConfig
from sow.domain.documents.state import ProjectState
from sow.domain.runs.scheduler import Breaker, Budget, Job, ScheduleDecision, Scheduler
from sow.domain.text.units import cut
from sow.engine.runs.run_context import RunContext, add_cost, budget_of
from sow.engine.runs.run_job import JobEnd
from sow.engine.turns import settle
from sow.errors import DONE, FAILED, INTERRUPTED, WAITS, RunTakenOver, SowError, SystemFailure
from sow.executors.settings import find_binary
from sow.reports import report_text
from sow.reports.run_history import RunHistory
from sow.store.files.checkout_home import Home
from sow.store.files.file_cache import FileCache, fingerprint
from sow.store.files.trusted_state import TrustedState
from sow.store.layout import create_missing
from sow.store.projects import project as projects
from sow.store.projects import restore
from sow.store.projects.project import WrongBranch
from sow.store.projects.task_folder import TaskFolder, backup_if_newer
from sow.store.runs.run_folder import JournalEntry
from sow.store.workflows.folder import AgentFolder
from sow.system.process.child_process import LONGEST, SHORTEST, Interrupts
from sow.system.process.exit_code import ending_text
from sow.system.process.program import BackgroundProgram, ProgramOutput
from sow.system.process.steps import Steps
from sow.system.terminal import escape_line

POLL_SECONDS = 1.0  # seconds between two checks for answers and plan edits


class Loop:
    """One call of a run, from the first decision to the last; subclasses say what a job is."""

    is_workflow = False
    scheduler: Scheduler

    def __init__(
        self, context: RunContext, folders: Iterable[TaskFolder | AgentFolder], *, tick: Callable[[float], None]
    ) -> None:
        self.context = context
        context.home.memory = TrustedState(context.home, context.folder.run["project_id"], workflow=self.is_workflow)
        self.tick = tick
        self.interrupts = 0
        self.delivered_interrupts: dict[str, int] = {}
        self.job_started_at: dict[str, float] = {}  # start of each job on the monotonic clock
        self.last_poll = 0.0
        self.open_questions: dict[tuple[str, int | str], None] = {}  # open questions, of earlier calls, too
        self.waiting_reason = ""
        self.running: dict[str, Steps[JobEnd]] = {}
        self.background: Steps[None] | None = None  # work that belongs to no task and does not keep the run open
        run = context.folder.run
        self.breaker = Breaker(**run["breaker"]) if "breaker" in run else Breaker()
        self.budget: Budget = budget_of(context, folders)
        context.refuse_turn_reason = lambda: self.budget.stop_reason(time.time())
        for entry in context.folder.journal("question", "answered"):
            self._hear_question(entry)
        context.listeners.append(self._hear)
        self.rebuild_scheduler()

    def rebuild_scheduler(self) -> None:
        """Rebuilds the scheduler from the jobs' current state."""
        settings = self.context.settings
        shared = self.context.isolation is None and not self.is_workflow  # the files of a crew are in its design
        self.scheduler = Scheduler(
            self.jobs(),
            slots=settings["max_concurrency"],
            pool_slots=self.context.pool.slots(),
            schedule=settings["schedule"],
            share="none" if shared else "",
            guards=(self.budget, self.breaker),
        )
        for executor in {pool["executor"] for pool in self.context.folder.run.get("pools", ())}:
            self._rest(executor)

    def jobs(self) -> list[Job]:
        """Returns all jobs as the scheduler needs them."""
        raise NotImplementedError

    def job(self, ident: str) -> Steps[JobEnd]:
        """Returns the steps of one job."""
        raise NotImplementedError

    def iteration(self, ident: str) -> int:
        """Returns the number of the iteration that begins now."""
        raise NotImplementedError

    def restore_state(self) -> list[str]:
        """Restores state files that the user's git removed, and returns their names; raises if the branch changed."""
        raise NotImplementedError

    def watch_plan(self) -> None:
        """Reports edits of the plan."""
        raise NotImplementedError

    def job_status(self, ident: str) -> str:
        """Returns the status that a job has for the scheduler, from its state on disk."""
        raise NotImplementedError

    def answered_by(self, ident: str, number: int | str) -> str | None:
        """Returns who answered a question; None if nobody did."""
        raise NotImplementedError

    def end_facts(self, ident: str) -> dict[str, Any]:
        """Returns the fields that the journal keeps of a job's end."""
        raise NotImplementedError

    def end_reason(self, ident: str, ended: JobEnd) -> str:
        """Returns the best known reason why a job ended."""
        return ended.reason

    def ask(self, ident: str, problem: SowError) -> int | str:
        """Asks a person about a problem that is not the task's; returns the number of the question."""
        raise NotImplementedError

    def executors_for(self, ident: str) -> list[ExecutorConfig]:
        """Returns the executors that may play the role of a job."""
        raise NotImplementedError

    def close(self, code: int) -> list[str]:
        """Delivers or archives what is done and records the end of the call; returns remarks."""
        raise NotImplementedError

    def run(self) -> int:
        """Runs until nothing can continue without a person; returns the exit code."""
        with Interrupts() as interrupts:
            try:
                self.journal_answers()
                pause = SHORTEST
                while not self._is_over():
                    self.interrupts += bool(interrupts.take())
                    self.context.stopping = bool(self.interrupts)
                    self._restore_state()
                    progressed = self._step() + self._start() + self._step_background()
                    self._undo_deferred_edits()
                    self._poll()
                    self.tick(time.monotonic())
                    pause = 0.0 if progressed else max(SHORTEST, min(pause * 1.5, LONGEST))
                    if interrupts.sleep(pause):
                        pause = SHORTEST  # short, because an ended turn takes two steps
                return self._code()
            except (WrongBranch, RunTakenOver) as problem:
                if isinstance(problem, RunTakenOver):
                    self.context.taken_over = f"{problem.message} ({problem.hint})"
                self.context.journal("waiting", reason=f"{problem.message}: {problem.hint}", until=None)
                return self._code() or WAITS
            finally:  # also after an internal error: no child stays alive
                for steps in (*self.running.values(), *filter(None, [self.background])):
                    steps.close()

    def _restore_state(self) -> None:
        """Checks the state files before each decision and restores those that git removed or reset."""
        memory = self.context.home.memory
        if memory is not None:
            memory.read_notices()
            while memory.forged:
                name, path = memory.forged.pop()
                text = f"the state of {name} was edited by hand together with its copy; the edit is in {path}"
                self.context.journal("set_aside", task=name if name in self.scheduler.statuses() else "", text=text)
        for name in self.restore_state():
            self.context.journal("restored", task=name)

    def _undo_deferred_edits(self) -> None:
        """Undoes what turns wrote outside their task folders: when the check is due, and before the run ends.

        Running turns may take hours, and until then a command of the user would read the wrong state.
        """
        seen = self.context.seen
        if seen.deferred is None or (self.running and seen.recently_scanned()):
            return
        self._restore_state()
        for name, remark in settle.undo_deferred_edits(seen):
            self.context.journal("restored", task=name, remark=remark)

    def _is_over(self) -> bool:
        """Tells whether nothing runs and nothing can start without a person or within the allowed wait."""
        if self.running:
            return False
        decision = self.scheduler.decide(time.time())
        self._say_why(decision)
        stuck = not decision.start and self._too_long(decision.wake_at)
        if not (decision.finished or self.interrupts or stuck):
            return False
        before = self.scheduler.statuses()
        self._refresh_jobs()  # an answer may have come since the last poll
        return self.scheduler.statuses() == before

    def _say_why(self, decision: ScheduleDecision) -> None:
        """Reports once what the whole run waits for."""
        reason = decision.blocked_by or ("a limit" if decision.wake_at is not None and not decision.start else "")
        if reason == self.waiting_reason:
            return
        self.waiting_reason = reason
        if decision.wake_at is not None:
            self.context.journal("waiting", reason=reason, until=int(decision.wake_at))
        elif reason:
            self.context.journal("budget", reason=reason)

    def _poll(self) -> None:
        """Continues tasks whose question was answered, and reports an edited plan."""
        if time.monotonic() < self.last_poll + POLL_SECONDS:
            return
        self.last_poll = time.monotonic()
        self.watch_plan()
        self._refresh_jobs()

    def _refresh_jobs(self) -> None:
        for ident, status in self.scheduler.statuses().items():
            if status in ("asking", "failed"):
                self.refresh_job(ident)

    def refresh_job(self, ident: str) -> None:
        """Updates the scheduler if a job that asks or failed may continue, or has ended."""
        status = self.job_status(ident)
        if status == "waiting":
            self.journal_answers()
            self.scheduler.answered(ident)
        elif status in ("completed", "abandoned") or status != self.scheduler.status(ident):
            self.scheduler.ended(ident, status)

    def journal_answers(self) -> None:
        """Writes each new answer to the journal once, also those given between two calls.

        An answer may come before its job has ended. It is then reported at the job's end.
        """
        for ident, number in list(self.open_questions):
            origin = self.answered_by(ident, number) if ident not in self.running else None
            if origin is not None:
                self.context.journal("answered", task=ident, number=number, origin=origin)

    def _start(self) -> int:
        if self.interrupts:
            return 0
        started = 0
        for ident in self.scheduler.decide(time.time()).start:
            self.scheduler.started(ident)
            self.context.journal("task_started", task=ident, iteration=self.iteration(ident))
            self.job_started_at[ident] = time.monotonic()
            self.running[ident] = self.job(ident)
            self._advance(ident, first=True)
            started += 1
        return started

    def _step(self) -> int:
        """Steps every job; returns how many ended or wait only for the next step of others."""
        return sum(self._advance(ident) for ident in list(self.running))

    def _step_background(self) -> bool:
        """Steps the background work; returns whether it waits only for the next step of the others."""
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
            return bool(next(steps) if first else steps.send(self._interrupt_for(ident)))
        except StopIteration as end:
            self._ended(ident, end.value)
            return True
        except RunTakenOver:
            raise
        except SowError as problem:  # not a problem of the work: it becomes a question, and the others continue
            self.restore_state()  # on another branch this raises, so that nothing is asked or written
            self._ask_about_problem(ident, problem)
            return True

    def _interrupt_for(self, ident: str) -> str:
        """Returns `interrupt` once per job and Ctrl-C; the second Ctrl-C does not wait."""
        if self.delivered_interrupts.get(ident, 0) >= self.interrupts:
            return ""
        self.delivered_interrupts[ident] = self.delivered_interrupts.get(ident, 0) + 1
        return "interrupt"

    def _ended(self, ident: str, ended: JobEnd) -> None:
        del self.running[ident]
        if ended.did_nothing:
            self._count_failure()
        elif ended.status in ("completed", "asking"):
            self.breaker.reset()
        self.scheduler.ended(ident, "waiting" if ended.status == "stopped" else ended.status)
        if ended.executor:
            self.scheduler.transfer(ident, ended.executor)
        self.journal_answers()
        self._tell_end(ident, self.end_reason(ident, ended))

    def _tell_end(self, ident: str, reason: str) -> None:
        seconds = round(time.monotonic() - self.job_started_at[ident], 3)
        self.context.journal("task_ended", task=ident, **self.end_facts(ident), reason=reason, seconds=seconds)

    def _ask_about_problem(self, ident: str, problem: SowError) -> None:
        """Turns a problem that is not the work's into a question to a person."""
        del self.running[ident]
        self._count_failure()
        self.context.journal("question", task=ident, number=self.ask(ident, problem), text=problem.message)
        self.scheduler.ended(ident, "asking")
        self._tell_end(ident, problem.message)

    def _count_failure(self) -> None:
        """Counts one more start in a row that failed for reasons outside the work."""
        before = self.breaker.pauses_used
        self.breaker.count_failure(time.time())
        self.context.folder.run["breaker"] = self.breaker.state()
        self.context.folder.save()
        if self.breaker.pauses_used > before:
            facts = {"until": self.breaker.state()["until"], "failures": self.breaker.failures}
            self.context.journal("breaker", **facts)

    def _hear(self, entry: dict[str, Any]) -> None:
        """Updates budget, limits and questions from a journal entry of a job."""
        if entry["event"] == "turn_started":
            self.budget.count_start()
        elif entry["event"] == "turn_ended":
            add_cost(self.budget, entry)
        elif entry["event"] == "limit":
            self._rest(entry["executor"])
        else:
            self._hear_question(entry)

    def _hear_question(self, entry: dict[str, Any]) -> None:
        key = (entry.get("task"), entry.get("number"))
        if entry["event"] == "answered":
            self.open_questions = {question: None for question in self.open_questions if question != key}
        elif entry["event"] == "question" and isinstance(key[0], str) and isinstance(key[1], int | str):
            self.open_questions[key[0], key[1]] = None

    def _rest(self, executor: str) -> None:
        """Starts nothing with an executor until its limit ends; moves waiting jobs to a free one."""
        until = self.context.pool.limited_until(executor)
        if not until:  # another account takes over
            return
        self.scheduler.pause(executor, until)
        for ident, status in self.scheduler.statuses().items():
            if status == "waiting":
                free = self.context.pool.free(self.executors_for(ident))
                if free:
                    self.scheduler.transfer(ident, free[0].name)

    def _too_long(self, until: float | None) -> bool:
        max_wait = self.context.settings.get("max_wait")
        return until is not None and max_wait is not None and until - time.time() > max_wait

    def counts(self) -> dict[str, int]:
        """Returns how many tasks have each status. `waiting` includes those that ask."""
        statuses = list(self.scheduler.statuses().values())
        blocked = len(self.scheduler.blocked())
        counts = {name: statuses.count(name) for name in ("completed", "failed")}
        asking = statuses.count("asking")
        return {**counts, "blocked": blocked, "waiting": asking + statuses.count("waiting") - blocked, "asking": asking}

    def _code(self) -> int:
        """Returns the exit code: a failed task counts more than a waiting one."""
        if self.interrupts:
            return INTERRUPTED
        statuses = self.scheduler.statuses()
        if any(status == "failed" for status in statuses.values()):
            return FAILED
        return DONE if all(status in ("completed", "abandoned") for status in statuses.values()) else WAITS


def execute(
    context: RunContext,
    loop_class: Callable[..., Loop],
    *,
    started: Mapping[str, Any],
    tick: Callable[[float], None],
    bell: Callable[[], None] | None,
) -> list[str]:
    """Executes one call of a run, from its first journal entry to its last; returns remarks about its end."""
    with Notifier(context, bell=bell) as notifier:

        def tick_all(now: float) -> None:
            tick(now)
            notifier.tick(now)

        context.journal("run_started", **started)
        loop = loop_class(context, tick=tick_all)
        remarks = loop.close(loop.run())
        run, seconds = context.folder.run, round(time.monotonic() - context.started_at, 3)
        context.journal("run_ended", status=run["status"], exit=run["exit"], seconds=seconds, **loop.counts())
        return remarks + notifier.close()


PATIENCE = 5.0
PAUSE = 0.1
LOOK_EVERY = 1.0  # seconds between two checks of tasks that nobody works on


class StateGuard:
    """The state files of a project as they were seen last."""

    def __init__(self, home: Home, project: ProjectState, folders: Iterable[TaskFolder]) -> None:
        self.home = home
        self.project = project
        self.folders = {folder.id: folder for folder in folders}
        self._backup()
        self.seen: FileCache[None] = FileCache()
        self.looked = 0.0

    def _backup(self) -> None:
        """Backs up the state at the start of a run, also what others wrote; later only changes of sow count."""
        with self.home.lock():
            for folder in self.folders.values():
                restore.keep_description(folder, self.project["project_id"])
                if not self.home.task_holder(folder.id):
                    backup_if_newer(folder, self.project["project_id"])

    def check(self, running: Iterable[str] = ()) -> list[str]:
        """Refuses another branch, and restores what is missing or older; returns the names of what was restored.

        A git command that runs there right now may cause a failure, so the check is repeated for some seconds.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._check(running)
            except SystemFailure:
                if time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE)

    def restore_task(self, ident: str) -> dict[str, str] | None:
        """Checks one task on which nobody works and set hand edits aside; returns what was done, None for nothing."""
        self.check()
        folder = self.folders.get(ident)
        if folder is None:
            return None
        with self.home.lock():
            aside, is_restored = restore.reconcile(folder, self.project["project_id"])
        return {"aside": aside} if aside else {} if is_restored else None

    def _check(self, running: Iterable[str]) -> list[str]:
        restore.check_branch(self.home, self.project["branch"])
        if not os.path.lexists(f"{self.home.sow}/.gitignore"):
            create_missing(self.home)  # without it, git would show files of this machine as the user's new files
        restored = self._project()
        now, at_work = time.monotonic(), set(running)
        if now >= self.looked + LOOK_EVERY:
            self.looked, running = now, self.folders
        return restored + [
            ident for ident in list(running) if self._task(self.folders[ident], idle=ident not in at_work)
        ]

    def _project(self) -> list[str]:
        if not changed_states(self.seen, projects.path(self.home)):
            return []
        with self.home.lock():
            return ["project"] if restore.restore_project(self.home, self.project["project_id"]) else []

    def _task(self, folder: TaskFolder, *, idle: bool) -> bool:
        if not changed_states(self.seen, folder.state_path):
            return False
        with self.home.lock():
            memory = self.home.memory
            edited = memory is not None and idle and bool(memory.restore(folder.id, folder.state_path))
            return restore.restore_task(folder, self.project["project_id"]) or edited


def changed_states(seen: FileCache[None], path: str) -> bool:
    """Tells whether a file is gone or has changed since it was last `seen`, and records its version there."""
    return seen.refresh(path, fingerprint(path) or object(), lambda: None)


NOTIFY_PAUSE = 1.0  # seconds between two notifications; events in between are sent together
NOTIFY_TIMEOUT = 5.0  # seconds that one command may take
MOST_OUTPUT = 4 << 10  # bytes
LONGEST_NOTICE = 500
LAST_NOTICES = "run_ended"


@dataclass(frozen=True)
class Notification:
    """The content of one notification: the last of some events, and their number."""

    entry: JournalEntry
    text: str
    count: int = 1

    def line(self) -> str:
        """Returns one line for a person."""
        more = f" (and {self.count - 1} more: sow inbox)" if self.count > 1 else ""
        return escape_line(cut(self.text, LONGEST_NOTICE) + more)


class Notifier:
    """Listens to a run's entries; waits for its command only at the end and never fails the run."""

    def __init__(self, context: RunContext, *, bell: Callable[[], None] | None) -> None:
        self._context = context
        self._bell = bell if context.config.setting("notify", "bell") else None
        self._problem = ""
        self._arguments = self._command()
        self._history = RunHistory()
        self._news: Notification | None = None
        self._program: BackgroundProgram | None = None
        self._sent = float("-inf")
        self._said = False

    def __enter__(self) -> Notifier:
        self._context.listeners.append(self.tell)
        return self

    def __exit__(self, *_: object) -> None:
        """Ends a running command, whatever happened to the run."""
        if self._program:
            self._program.end()

    def _command(self) -> list[str]:
        try:
            arguments = self._context.config.notify_command()
        except SowError as problem:
            self._problem = problem.message
            return []
        program = find_binary(arguments[0], self._context.environment) if arguments else ""
        if arguments and not program:
            self._problem = f"notify.command: there is no program {arguments[0]}"
        return [program, *arguments[1:]] if program else []

    def tell(self, entry: dict[str, Any]) -> None:
        """Keeps an event that a person should know, for the next tick."""
        parsed = JournalEntry(entry)
        self._history.add(parsed)
        if is_news(parsed):
            before = self._news.count if self._news else 0
            self._news = Notification(parsed, report_text.event_text(parsed, self._history), before + 1)

    def tick(self, now: float) -> None:
        """Reads the result of the last command, and starts the next one if it is time."""
        self._look()
        if self._problem and not self._said:
            self._said = True
            self._context.journal("notify_failed", reason=self._problem)
        if self._news and not self._program and now >= self._sent + NOTIFY_PAUSE:
            self._send(self._news, now)

    def close(self) -> list[str]:
        """Sends what is left, waits for the command and ends it; returns remarks."""
        if self._program:
            self._judge(self._program.wait())
        if self._news:
            self._send(self._news, time.monotonic())
            if self._program:
                self._judge(self._program.wait())
        return [f"nobody was notified: {self._problem}"] if self._problem and not self._said else []

    def _send(self, news: Notification, now: float) -> None:
        self._news, self._sent = None, now
        if self._bell:
            self._bell()
        if not self._arguments:
            return
        facts = notification_fields(news, self._context)
        environment = {**_without_marks(self._context.environment), **variables(facts)}
        text = json.dumps(facts, ensure_ascii=False) + "\n"
        try:
            self._program = BackgroundProgram(
                self._arguments,
                environment=environment,
                timeout=NOTIFY_TIMEOUT,
                given=text,
                most=MOST_OUTPUT,
                keep_end=True,
                process_group=0,  # Ctrl-C must not reach it; in its own session it would look like an orphan
            )
        except (SowError, OSError, ValueError) as error:
            self._problem = self._problem or f"notify.command: {error}"

    def _look(self) -> None:
        answer = self._program.poll() if self._program else None
        if answer:
            self._judge(answer)

    def _judge(self, answer: ProgramOutput) -> None:
        """Keeps the first failure only."""
        self._program = None
        if answer.code == 0 or self._problem:
            return
        failure = f"took longer than {NOTIFY_TIMEOUT:.0f} s" if answer.code is None else ending_text(answer.code)
        output = escape_line(answer.text)[:200]
        self._problem = f"notify.command: {self._arguments[0]} {failure}{': ' if output else ''}{output}"


def is_news(entry: JournalEntry) -> bool:
    """Tells whether an event waits for a person or ends the run."""
    is_stuck = entry.event == "waiting" and entry.number("until") is None
    return is_stuck or entry.event in ("question", "budget", LAST_NOTICES)


def notification_fields(news: Notification, context: RunContext) -> dict[str, Any]:
    """Returns a notification's fields for programs."""
    entry = news.entry
    facts = {
        "event": entry.event,
        "run": context.folder.id,
        "name": context.folder.run["name"],
        "root": context.home.root,
        "task": entry.task or None,
        "number": entry.data.get("number") if entry.event == "question" else None,
        "status": entry.text("status") or None,
        "exit": entry.data.get("exit") if entry.event == LAST_NOTICES else None,
        "text": news.line(),
        "count": news.count,
        "at": entry.at,
    }
    return {key: escape_line(value) if isinstance(value, str) else value for key, value in facts.items()}


def variables(facts: Mapping[str, Any]) -> dict[str, str]:
    """Returns the same as variables for a shell script; SOW_TASK is set only for an event of a task."""
    keys = {"SOW_EVENT": "event", "SOW_RUN": "run", "SOW_TASK": "task", "SOW_TEXT": "text", "SOW_ROOT": "root"}
    return {name: str(facts[key]) for name, key in keys.items() if facts[key] is not None}


def _without_marks(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith("SOW_")}
