"""Reduces the journal of a run to its tasks, turns, questions, waits, costs and times, and estimates how long it takes.

This is the only reducer of the journal. The report, the live view, the timeline and the hints are projections of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from sow.domain.inputs import is_member, is_task_id
from sow.domain.plans import graph
from sow.domain.plans.graph import GUESSED, Forecast
from sow.errors import SowError
from sow.reports.report_text import conflict_text, late_text, merge_text, stop_reason
from sow.reports.run_records import (
    LONGEST,
    Cost,
    RunProcess,
    Span,
    TaskRecord,
    TimelineDelta,
    TimelineRecorder,
    TurnRecord,
)
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.projects.past_tasks import finished_tasks
from sow.store.runs.run_folder import JournalEntry, RunFolder
from sow.system.clock import epoch_of
from sow.system.terminal import escape_line

CUT_OFF = "cut off"
DELIVERY = "request_"  # begins the events of `sow deliver`, which may follow a request for days after the run
SHORTEST_GAP = 1.0  # seconds; the start of a process is known only to the second
INTEGRATOR = "integrator"
# The outcome of a task in a live view, by its status or that of its job.
ENDINGS = {
    "completed": "completed",
    "failed": "failed",
    "abandoned": "abandoned",
    "paused": "asking",
    "asking": "asking",
}
# Statuses of a job, or of an agent of a workflow, that have another name for a task.
TASK_STATUS = {
    "asking": "paused",
    "waiting": "pending",
    "verified": "completed",
    "session_complete": "completed",
    "ready_for_verification": "needs_review",
    "working": "in_progress",
    "completion_drive_review": "in_progress",
    "blocked": "in_progress",
}


def task_status(word: str) -> str:
    """Returns the status of a task, a job or an agent as a task status."""
    return TASK_STATUS.get(word, word)


class RunHistory:
    """Takes every entry of one journal in order.

    It keeps what is open and one record for each task. With `is_complete` it also keeps all turns and reviews, which
    a report needs. A program that follows a long run leaves them out.
    """

    def __init__(self, *, is_complete: bool = False) -> None:
        self.is_complete = is_complete
        self.processes: list[RunProcess] = []
        self.tasks: dict[str, TaskRecord] = {}
        self.running: dict[str, TaskRecord] = {}
        self.turns: list[TurnRecord] = []
        self.open_turns: list[TurnRecord] = []
        self.questions: list[dict[str, Any]] = []
        self.open_questions: dict[str, tuple[str, str]] = {}  # number and text by task
        self.limits: list[dict[str, Any]] = []
        self.stops: list[str] = []
        self.pauses: dict[str, str] = {}  # by executor
        self.blocks: dict[str, str] = {}  # why nothing new begins now
        self.final = ""  # what the final checks do
        self.git_changes: list[str] = []  # to settings, hooks and lists in the git folder
        self.remarks: list[str] = []  # foreign changes that the run undid or ignored
        self.budget_reason = ""  # the reason why the last process could start nothing more
        self.recovered = 0
        self.used_options: list[Any] = []  # names of the options of the last process
        self.slots = 1
        self.total = Cost()
        self.check_seconds = 0.0
        self.final_checks = {"passed": 0, "failed": 0}  # check lists that ran on the final tree
        self.waited = {"people": 0.0, "limits": 0.0}
        self.started: float | None = None
        self.schedules = 0  # how often the tasks that are left changed as a whole
        self.unfinished: set[str] = set()  # tasks that were worked on at the end of the journal
        self.timeline = TimelineRecorder()
        self._wait: tuple[str, float] | None = None
        self._wait_span: Span | None = None

    @property
    def moment(self) -> float:
        """The time of the last entry."""
        return self.timeline.moment

    @property
    def wall(self) -> float:
        """Seconds in which a process of the run was alive, according to the journal."""
        return sum(process.seconds for process in self.processes)

    @property
    def seconds(self) -> float:
        """Seconds from the start of the last process to the last entry."""
        return self.processes[-1].seconds if self.processes else 0.0

    def elapsed(self, now: float) -> float:
        """Returns the seconds since the first entry."""
        return max(now - self.started, 0.0) if self.started is not None else 0.0

    def alive_seconds(self, now: float) -> float:
        """Returns the seconds in which a process was alive, the current one until now."""
        if not self.processes:
            return 0.0
        started = self.processes[-1].started
        return self.wall - self.seconds + max(now - (now if started is None else started), 0.0)

    def advance(self, now: float) -> None:
        """Counts the time of the last process, which is alive, until now."""
        process = self.processes[-1] if self.processes else None
        if process is not None and process.started is not None and now > self.moment:
            process.seconds += now - self.moment
            self.timeline.moment = now

    def finish(self) -> None:
        """Ends what is still open after the last entry of the journal."""
        self.unfinished = {ident for ident, task in self.tasks.items() if task.started is not None}
        self._end_process(self.moment)

    def add(self, entry: JournalEntry, now: float | None = None) -> TimelineDelta:
        """Updates the state with an entry, and returns its additions. `now` replaces the time of the entry."""
        self.timeline.delta = TimelineDelta()
        if (entry.event.startswith(DELIVERY) or entry.event == "late") and self.processes:
            self._handle(entry)
            return self.timeline.delta
        before, is_first = self.moment, not self.processes
        is_new = is_first or self.processes[-1].is_older_than(entry)
        if is_new:
            self._end_process(before)
            self.processes.append(RunProcess())
        at = self.processes[-1].add(entry)
        self.timeline.moment = now if now is not None else round(max(before, at or 0.0), 3)
        if self.started is None:
            self.started = self.moment
        if is_new and not is_first and self.moment - before >= SHORTEST_GAP:
            self.timeline.delta.gaps.append({"from": before, "to": self.moment})
        self.final = ""
        if entry.event != "waiting":
            self._end_wait()
        self._handle(entry)
        return self.timeline.delta

    def _handle(self, entry: JournalEntry) -> None:
        handle_run = RUN_EVENTS.get(entry.event)
        if handle_run:
            handle_run(self, entry)
        task = self.tasks.get(entry.task)
        handle_task = TASK_EVENTS.get(entry.event)
        if handle_task and task is None and _is_worker(entry.task):
            task = self.tasks[entry.task] = TaskRecord()
        if task is None:
            return
        if task.waits:
            self._end_task_waits(task, "", "queue")
        task.iteration = max(task.iteration, entry.count("iteration"))
        if entry.event in WORK_EVENTS:
            self._mark_running(entry.task, task)
        if handle_task:
            handle_task(self, entry, task)
        task.last = self.moment

    def task_label(self, ident: str) -> str:
        """Returns a task's plan number, id and name, or the name of a workflow's agent."""
        if is_member(ident):
            return ident
        task = self.tasks.get(ident) or TaskRecord()
        is_numbered = task.number and task.number != ident
        return escape_line(f"{task.number} ({ident}) {task.name}" if is_numbered else f"{ident} {task.name}")

    def count(self, ending: str) -> int:
        """Counts the tasks with this outcome."""
        return sum(task.ending == ending for task in self.tasks.values())

    def waiting(self) -> list[str]:
        """Lists the tasks that have not started or must start again, without those that ask a question."""
        return [ident for ident, task in self.tasks.items() if ident not in self.running and not task.ending]

    def waits_for(self, ident: str) -> list[str]:
        """Lists the unfinished dependencies of a task."""
        needs = self.tasks[ident].start_entry.texts("needs")
        return [need for need in needs if need not in self.tasks or self.tasks[need].ending != "completed"]

    def unfinished_spans(self) -> list[Span]:
        """Returns the ends of open spans for a run without a live process. Questions stay open."""
        spans = [turn.span for turn in self.open_turns if turn.span is not None]
        return [{**span, "to": max(self.moment, span["from"]), "outcome": CUT_OFF} for span in spans]

    def _end_process(self, moment: float) -> None:
        """Ends everything that was open in the previous process, at the time of its last entry."""
        for turn in self.open_turns:
            turn.end_unrecorded(self.seconds)
            self._cut_off(turn, moment)
        self.open_turns, self._wait = [], None
        for task in self.tasks.values():
            task.stop(self.seconds)
        if self._wait_span is not None:
            self.timeline.close_span(self._wait_span, moment, "")
            self._wait_span = None

    def _end_wait(self) -> None:
        """Ends the time in which everything waited."""
        self.blocks.pop("waiting", None)
        if self._wait:
            kind, begun = self._wait
            self.waited[kind] += self.seconds - begun
            self._wait = None
        if self._wait_span is not None:
            self.timeline.close_span(self._wait_span, self.moment, "")
            self._wait_span = None

    def _cut_off(self, turn: TurnRecord, moment: float) -> None:
        """Closes the span of a turn whose end is not in the journal."""
        if turn.span is not None:
            self.timeline.close_span(turn.span, moment, CUT_OFF)
            turn.span = None

    def _add_task_wait(self, entry: JournalEntry, task: TaskRecord, role: str) -> None:
        span = self.timeline.open_span("wait", entry.task, self.moment, role=role, text=entry.text("text"))
        task.waits = [*task.waits, span]

    def _end_task_waits(self, task: TaskRecord, outcome: str, *roles: str) -> None:
        """Ends the waits of a task: all, or those for these roles."""
        for span in task.waits:
            if not roles or span["role"] in roles:
                self.timeline.close_span(span, self.moment, outcome)
        task.waits = [span for span in task.waits if roles and span["role"] not in roles]

    def _seconds_ago(self, seconds: float | None) -> float:
        """Returns the time so many seconds ago, but not before the run started."""
        return round(max(self.moment - (seconds or 0.0), self.started or 0.0), 3)

    def _change(self, ident: str, task: TaskRecord, status: str, step: str = "") -> None:
        task.shown_status = sys.intern(status) or task.shown_status
        self.timeline.change(ident, task.shown_status, step)

    def _mark_running(self, ident: str, task: TaskRecord) -> None:
        """Marks a task as running, even if its start was not seen."""
        if ident not in self.running:
            task.since, task.step = self.moment, ""
            self.running[ident] = task
        task.ending = ""

    def _run_started(self, entry: JournalEntry) -> None:
        self.slots = max(entry.entry("settings").count("max_concurrency"), 1)
        self.schedules += 1
        self.running.clear()
        self.budget_reason = ""
        options = entry.data.get("asked")
        self.used_options = options if isinstance(options, list) else []
        if entry.data.get("recovered") is True:
            self.recovered += 1
            self.timeline.mark("recovered", None, "the run is resumed")
        for part in entry.entries("tasks"):
            ident, status = part.text("id"), part.text("status")
            if not _is_worker(ident):
                continue
            task = self.tasks.setdefault(ident, TaskRecord())
            task.start_entry = part
            if status:  # a task without an end was answered or sent on between two processes
                task.ending = ENDINGS.get(status, "")
            if status and not task.ending:
                self.open_questions.pop(ident, None)
            shown = status or task.shown_status or "pending"
            if shown != "paused":  # answered between two processes
                self._end_task_waits(task, "answered")
            self._change(ident, task, shown)

    def _final_step(self, entry: JournalEntry) -> None:
        self.final = entry.text("text")
        self.schedules += 1  # no task is open any more

    def _final_check(self, entry: JournalEntry) -> None:
        self.final_checks["passed" if entry.data.get("passed") is True else "failed"] += 1
        self.check_seconds += entry.number("seconds") or 0.0

    def _git_changed(self, entry: JournalEntry) -> None:
        self.git_changes += entry.texts("changes")

    def _branch_moved(self, entry: JournalEntry) -> None:
        remark = f"{entry.text('branch')} was moved to {entry.text('found')[:12]} by somebody else and set back"
        self.remarks.append(f"{remark}; that commit is kept as {entry.text('pin')}" if entry.text("pin") else remark)

    def _late(self, entry: JournalEntry) -> None:
        self.remarks.append(f"task {entry.task}: {late_text(entry)}")

    def _limit(self, entry: JournalEntry) -> None:
        executor, until, text = entry.text("executor"), entry.number("until"), stop_reason(entry)
        self.pauses[executor] = text
        self.limits.append({"executor": executor, "at": entry.at, "until": until, "reason": entry.text("reason")})
        span = self.timeline.open_span("limit", None, self.moment, executor=executor, text=text)
        self.timeline.close_span(span, until if until is not None else self.moment, "")
        self.timeline.mark("limit", None, text)

    def _breaker(self, entry: JournalEntry) -> None:
        self._stop(entry, f"{entry.count('failures')} starts failed in a row")

    def _budget(self, entry: JournalEntry) -> None:
        self.budget_reason = entry.text("reason") or "a budget is spent"
        self._stop(entry, self.budget_reason)

    def _stop(self, entry: JournalEntry, reason: str) -> None:
        self.stops.append(reason)
        self.blocks[entry.event] = stop_reason(entry)
        self.timeline.mark("budget", None, stop_reason(entry))

    def _waiting(self, entry: JournalEntry) -> None:
        self.blocks[entry.event] = stop_reason(entry)
        if not self.open_turns and not self._wait:
            self._wait = ("people" if entry.number("until") is None else "limits", self.seconds)
        if self._wait_span is None:
            self._wait_span = self.timeline.open_span("wait", None, self.moment, text=stop_reason(entry))

    def _run_ended(self, entry: JournalEntry) -> None:
        self.timeline.mark("ended", None, f"the run is {entry.text('status') or 'over'}")

    def _task_started(self, entry: JournalEntry, task: TaskRecord) -> None:
        task.stop(self.seconds)
        task.started, task.begun = self.seconds, self.moment
        if self.is_complete:
            task.started_at, task.ended_at = task.started_at or entry.at, ""
        self._end_task_waits(task, "answered")
        self._change(entry.task, task, "in_progress")

    def _task_ended(self, entry: JournalEntry, task: TaskRecord) -> None:
        if task.started is None:
            task.active += entry.number("seconds") or 0.0
        task.stop(self.seconds)
        task.ended_at = entry.at if self.is_complete else ""
        task.status = sys.intern(entry.text("status"))  # few texts for many tasks
        task.result = sys.intern(entry.text("result")) or task.result
        task.step = ""
        task.reason = entry.text("reason") or task.reason
        task.retries = entry.count("retry_count") if entry.number("retry_count") is not None else task.retries
        task.ending = ENDINGS.get(task.status, task.ending)
        is_running = self.running.pop(entry.task, None) is not None
        if task.ending == "completed" and is_running:
            task.minutes = (self.moment - task.since) / 60
        if ENDINGS.get(task.status) != "asking":
            self.open_questions.pop(entry.task, None)
        for turn in self.open_turns:
            if turn.task == entry.task:
                self._cut_off(turn, self.moment)
        if task_status(task.status) != "paused":
            self._end_task_waits(task, "")
        self._change(entry.task, task, task_status(task.status))

    def _turn_started(self, entry: JournalEntry, task: TaskRecord) -> None:
        role, executor = entry.text("role"), entry.text("executor")
        task.step = " on ".join(filter(None, (role, executor)))
        self.pauses.pop(executor, None)
        self.blocks.pop("breaker", None)
        open_turn = self._find_open_turn(entry, exactly=True)
        if open_turn:
            open_turn.end_unrecorded(self.seconds)
            self._cut_off(open_turn, self.moment)
            self.open_turns.remove(open_turn)
        turn = TurnRecord(entry, self.seconds)
        turn.span = self.timeline.open_span(_span_kind(entry), entry.task, self.moment, role=role, executor=executor)
        self.open_turns.append(turn)
        if self.is_complete:
            self.turns.append(turn)
        status = task.shown_status if turn.span["kind"] == "review" else "in_progress"
        self._change(entry.task, task, status or "in_progress", task.step)

    def _sent(self, entry: JournalEntry, task: TaskRecord) -> None:
        turn = self._find_open_turn(entry)
        if turn:
            turn.host = sys.intern(entry.text("host"))
            task.step = " on ".join(filter(None, (turn.role, turn.shown_executor)))
            if turn.span:
                turn.span["executor"] = turn.shown_executor
                self.timeline.update_span(turn.span)
            self._change(entry.task, task, task.shown_status or "in_progress", task.step)

    def _turn_ended(self, entry: JournalEntry, task: TaskRecord) -> None:
        turn = self._find_open_turn(entry)
        if turn:
            self.open_turns.remove(turn)
        else:
            turn = TurnRecord(entry, None)
            if self.is_complete:
                self.turns.append(turn)
        turn.end(entry, self.seconds)
        if turn.outcome not in ("", "done"):
            task.reason = f"{turn.role or 'its agent'} ended with: {turn.outcome}"
        task.spend = task.spend or Cost()
        for cost in (task.spend, self.total):
            cost.add(turn.cost)
        begin = self._seconds_ago(entry.number("seconds"))  # of a turn whose start is not in the journal
        span = turn.span or self.timeline.open_span(_span_kind(entry), entry.task, begin, role=turn.role)
        text = "; ".join(filter(None, (entry.text("reason"), *entry.texts("remarks"))))
        span |= {"executor": turn.shown_executor or span["executor"], "text": text[:LONGEST]}
        self.timeline.close_span(span, self.moment, turn.outcome or "ended")
        turn.span = None
        task.last_review = span if span["kind"] == "review" else task.last_review
        self._change(entry.task, task, task_status(entry.text("status")))

    def _find_open_turn(self, entry: JournalEntry, *, exactly: bool = False) -> TurnRecord | None:
        """Finds the open turn of an entry. If another executor took over, the turn ends under that executor's name."""
        candidates = [turn for turn in self.open_turns if (turn.task, turn.role) == (entry.task, entry.text("role"))]
        exact = [turn for turn in candidates if turn.executor == entry.text("executor")]
        return next(iter(exact if exactly else exact + candidates), None)

    def _step(self, entry: JournalEntry, task: TaskRecord) -> None:
        task.step = entry.text("text")
        if task.step.startswith("waits for "):
            self._add_task_wait(entry, task, "queue")
        self._change(entry.task, task, task.shown_status or "in_progress", task.step)

    def _check(self, entry: JournalEntry, task: TaskRecord) -> None:
        passed, command, seconds = entry.data.get("passed") is True, entry.text("command"), entry.number("seconds")
        if entry.text("kind") != "setup":
            task.passed_checks += passed
            task.failed_checks += not passed
        place = f" on {entry.text('host')}" if entry.text("host") else ""
        if not passed:
            task.reason = f"this check failed{place}: {command}"
        self.check_seconds += seconds or 0.0
        task.step = f"checked{place}: {command}"
        span = self.timeline.open_span("check", entry.task, self._seconds_ago(seconds), text=f"{command}{place}")
        self.timeline.close_span(span, self.moment, "passed" if passed else "failed")
        self._change(entry.task, task, task.shown_status or "in_progress", task.step)

    def _reviewed(self, entry: JournalEntry, task: TaskRecord) -> None:
        verdict, feedback = entry.text("verdict"), entry.text("feedback")
        if self.is_complete:
            facts = {"iteration": entry.count("iteration"), "verdict": verdict, "by": entry.text("by")}
            review = {**facts, "findings": entry.count("findings"), "feedback": feedback}
            task.reviews = [*task.reviews, review]
        task.reason = feedback or task.reason if verdict == "RED" else task.reason
        if task.last_review is not None and task.last_review["role"] == entry.text("by"):
            self._add_verdict(entry, task.last_review)
        task.last_review = None

    def _verification(self, entry: JournalEntry, task: TaskRecord) -> None:
        if task.last_review is not None:
            self._add_verdict(entry, task.last_review)
        task.last_review = None

    def _add_verdict(self, entry: JournalEntry, review: Span) -> None:
        """Adds the verdict of a judge whose turn has ended."""
        verdict = entry.text("verdict") or entry.text("result")
        review |= {"outcome": verdict or review["outcome"], "text": entry.text("feedback")[:LONGEST]}
        self.timeline.delta.spans.append(dict(review))

    def _sent_back(self, entry: JournalEntry, task: TaskRecord) -> None:
        task.sent_back += 1
        task.result = ""  # a result from before is out of date
        task.reason = entry.text("reason") or task.reason
        self.timeline.mark("sent_back", entry.task, entry.text("reason"))
        self._change(entry.task, task, "in_progress", "sent back")

    def _merged(self, entry: JournalEntry, task: TaskRecord) -> None:
        task.merges += 1
        self._add_merge(entry, task, merge_text(entry), "merged")

    def _conflict(self, entry: JournalEntry, task: TaskRecord) -> None:
        task.conflicts += 1
        task.reason = f"a merge conflict in {', '.join(entry.texts('paths')[:5]) or 'its files'}"
        self._add_merge(entry, task, conflict_text(entry), "conflict")
        self.timeline.mark("conflict", entry.task, conflict_text(entry))

    def _add_merge(self, entry: JournalEntry, task: TaskRecord, text: str, outcome: str) -> None:
        span = self.timeline.open_span("merge", entry.task, task.last or self.moment, text=text)
        self.timeline.close_span(span, self.moment, outcome)

    def _question(self, entry: JournalEntry, task: TaskRecord) -> None:
        task.result = ""
        if task.ending == "completed":  # a final check reopened it
            task.ending = "asking"
        self.open_questions[entry.task] = (entry.name_or_number("number"), entry.text("text"))
        self.questions.append(
            {
                "task": entry.task,
                "number": _question_number(entry),
                "text": entry.text("text"),
                "asked_at": entry.at,
                "answered_at": None,
                "origin": None,
                "waited_seconds": None,
                "moment": (len(self.processes), self.seconds),
            }
        )
        self._end_task_waits(task, "answered")
        self._add_task_wait(entry, task, "person")
        self.timeline.mark("question", entry.task, entry.text("text"))
        self._change(entry.task, task, "paused")

    def _answered(self, entry: JournalEntry, task: TaskRecord) -> None:
        self.open_questions.pop(entry.task, None)
        task.ending = "" if task.ending == "asking" else task.ending
        number = _question_number(entry)
        for question in self.questions:
            if question["task"] == entry.task and question["number"] == number and question["answered_at"] is None:
                question |= {"answered_at": entry.at, "origin": entry.text("origin") or None}
                process, asked = question["moment"]
                difference = max((epoch_of(entry.at) or 0) - (epoch_of(question["asked_at"]) or 0), 0)
                is_same = process == len(self.processes)
                question["waited_seconds"] = self.seconds - asked if is_same else difference
        self._end_task_waits(task, "answered")
        origin = f" by {entry.text('origin')}" if entry.text("origin") else ""
        self.timeline.mark("answered", entry.task, f"question {entry.name_or_number('number')} is answered{origin}")
        self._change(entry.task, task, "in_progress")


def read_history(folder: RunFolder, *events: str, now: float | None = None) -> RunHistory:
    """Reads the whole journal of a run, or only these events, and ends what is open: at `now` if the run is live."""
    history = RunHistory(is_complete=True)
    for data in folder.journal(*events):
        history.add(JournalEntry(data))
    if now is not None:
        history.advance(now)
    history.finish()
    return history


def _is_worker(text: str) -> bool:
    return is_task_id(text) or is_member(text)


def _question_number(entry: JournalEntry) -> int | str | None:
    """Returns a question's number: 3 in a project, w1 in a workflow."""
    return entry.count("number") or entry.text("number") or None


def _span_kind(entry: JournalEntry) -> str:
    if entry.text("role") == INTEGRATOR:
        return "merge"
    return "review" if entry.text("kind") == "review" else "work"


RUN_EVENTS: dict[str, Callable[[RunHistory, JournalEntry], None]] = {
    "run_started": RunHistory._run_started,
    "final_step": RunHistory._final_step,
    "final_check": RunHistory._final_check,
    "git_changed": RunHistory._git_changed,
    "branch_moved": RunHistory._branch_moved,
    "late": RunHistory._late,
    "limit": RunHistory._limit,
    "breaker": RunHistory._breaker,
    "budget": RunHistory._budget,
    "waiting": RunHistory._waiting,
    "run_ended": RunHistory._run_ended,
}
TASK_EVENTS: dict[str, Callable[[RunHistory, JournalEntry, TaskRecord], None]] = {
    "task_started": RunHistory._task_started,
    "task_ended": RunHistory._task_ended,
    "turn_started": RunHistory._turn_started,
    "sent": RunHistory._sent,
    "turn_ended": RunHistory._turn_ended,
    "step": RunHistory._step,
    "check": RunHistory._check,
    "reviewed": RunHistory._reviewed,
    "verification": RunHistory._verification,
    "sent_back": RunHistory._sent_back,
    "merged": RunHistory._merged,
    "conflict": RunHistory._conflict,
    "question": RunHistory._question,
    "answered": RunHistory._answered,
}
# Events that happen only while a task is worked on.
WORK_EVENTS = frozenset(
    {
        "task_started", "turn_started", "sent", "turn_ended", "step", "collected", "check", "reviewed", "sent_back",
        "merged", "escalated", "resolved", "verification",
    }
)  # fmt: skip


FORECAST_EVERY = 5.0  # seconds
AT_LEAST = 0.1  # minimum remaining share of a task that takes longer than expected
ENOUGH = 2  # completed tasks needed to correct the estimates


def expected_minutes(folder: RunFolder) -> dict[str, float]:
    """Returns minutes by task, from the tasks before the run. Guesses and tasks that cannot be read are left out.

    The run's own tasks count in `RemainingTime`, so that a view that begins later shows the same time.
    """
    home = folder.home
    try:
        tasks = task_folder.load_readable_or_raise(home, projects.load(home), folder.run["tasks"])
    except SowError:
        return {}
    forecast = Forecast(finished_tasks(home, without=folder.run["tasks"]))
    forecasts = {task["id"]: forecast.expected(task["assigned_agent"], task.get("estimated_minutes")) for task in tasks}
    return {task_id: expectation.minutes for task_id, expectation in forecasts.items() if expectation.origin != GUESSED}


class RemainingTime:
    """The forecast for one run, which is made again every few seconds."""

    def __init__(self, history: RunHistory, expected: Mapping[str, float] | None = None) -> None:
        self.history = history
        self.expected = expected or {}
        self._made_for = -1  # the tasks as a whole for which the forecast was made
        self._made_at = 0.0
        self._forecast: float | None = None

    def seconds_left(self, now: float) -> float | None:
        """Returns the expected seconds until the end, or None if the time of a task is unknown."""
        if self._made_for != self.history.schedules or now - self._made_at >= FORECAST_EVERY:
            self._made_for, self._made_at, self._forecast = self.history.schedules, now, self._seconds(now)
        return None if self._forecast is None else max(self._forecast - (now - self._made_at), 0.0)

    def _seconds(self, now: float) -> float | None:
        factor = self._estimate_factor()
        minutes = {ident: self._minutes(ident, task, factor, now) for ident, task in self._open().items()}
        durations = {ident: value for ident, value in minutes.items() if value is not None}
        if not durations or len(durations) != len(minutes):
            return None
        needs = {ident: needs for ident, needs in self._needs(durations).items() if ident in durations}
        return max(end for _, _, end in graph.schedule(needs, durations, workers=self.history.slots)) * 60

    def _needs(self, idents: Mapping[str, object]) -> dict[str, list[str]]:
        """Returns the known dependencies of each task."""
        tasks = self.history.tasks.items()
        return {ident: [need for need in task.start_entry.texts("needs") if need in idents] for ident, task in tasks}

    def _open(self) -> dict[str, TaskRecord]:
        """Returns the tasks that can still be completed without help."""
        tasks = self.history.tasks
        stuck = {ident for ident, task in tasks.items() if task.ending not in ("", "completed")}
        open_tasks = {}
        for ident in (ident for wave in graph.waves(self._needs(tasks)) for ident in wave):
            if stuck.intersection(tasks[ident].start_entry.texts("needs")):
                stuck.add(ident)
            elif not tasks[ident].ending:
                open_tasks[ident] = tasks[ident]
        return open_tasks

    def _minutes(self, ident: str, task: TaskRecord, factor: float, now: float) -> float | None:
        expected = (self._estimate(ident, task) or 0.0) * factor
        if not expected or ident not in self.history.running:
            return expected or None
        return max(expected - (now - task.since) / 60, expected * AT_LEAST)

    def _estimate(self, ident: str, task: TaskRecord) -> float | None:
        return self.expected.get(ident) or task.start_entry.number("estimated_minutes")

    def _estimate_factor(self) -> float:
        """Returns how much longer this run's tasks take than expected, once enough are completed."""
        durations = [
            (task.minutes, estimate)
            for ident, task in self.history.tasks.items()
            if task.minutes is not None and (estimate := self._estimate(ident, task))
        ]
        if len(durations) < ENOUGH:
            return 1.0
        return sum(actual for actual, _ in durations) / sum(estimate for _, estimate in durations)
