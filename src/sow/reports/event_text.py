"""Writes one plain line for each event of a run that a person wants to read."""

from __future__ import annotations

from sow.domain.checks import refusals
from sow.domain.inputs import is_member
from sow.domain.task import answer_command
from sow.domain.text import units
from sow.domain.text.units import counted, format_seconds, listed, stopwatch
from sow.system import clock
from sow.system.process.exit_code import exit_text
from sow.system.terminal import escape_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sow.reports.run_history import RunHistory
    from sow.store.runs.run_folder import JournalEntry

    Words = Callable[[JournalEntry, RunHistory], str]

LONGEST = 240
LONGEST_ASIDE = 600  # a path ends the line
LONGEST_FEEDBACK = 160
MOST_CHANGES = 3
LONGEST_REASON = 80
ENDS = {"ended": "has ended", "stopped": "was stopped", "waiting": "is paused"}  # of a run, by its status
# Events whose lines stay on the terminal after the live view has moved on.
LASTING_EVENTS = frozenset(
    {
        "run_started", "task_ended", "question", "sent_back", "conflict", "limit", "breaker", "budget", "run_ended",
        "escalated", "resolved", "verification", "approved", "plan_changed", "set_aside", "restored", "notify_failed",
        "git_changed", "refused", "concern", "branch_moved", "waived", "late",
    }
)  # fmt: skip


def timed_line(entry: JournalEntry, history: RunHistory, elapsed: float) -> str:
    """Returns the event as text after the time since the run's start, or "" if it is only for programs."""
    text = event_text(entry, history)
    return f"{stopwatch(elapsed):>5}  {text}" if text else ""


def event_text(entry: JournalEntry, history: RunHistory) -> str:
    """Returns what happened, with the task or agent."""
    text = event_sentence(entry, history)
    if not text:
        return ""
    noun = "agent" if is_member(entry.task) else "task"
    about = f"{noun} {history.task_label(entry.task)}: " if entry.task else ""
    about = "the project: " if entry.task == "project" else about
    return units.cut(escape_line(about + text), LONGEST_ASIDE if entry.event == "set_aside" else LONGEST)


def event_sentence(entry: JournalEntry, history: RunHistory) -> str:
    """Returns what happened, without the task or agent."""
    describe = FORMATTERS.get(entry.event)
    return describe(entry, history) if describe else ""


def _run_started(entry: JournalEntry, history: RunHistory) -> str:
    slots = entry.entry("settings").count("max_concurrency")
    at_once = f", at most {slots} at once" if slots else ""
    recovered = ", continued" if entry.data.get("recovered") is True else ""
    tasks = entry.entries("tasks")
    noun = "agent" if tasks and all(is_member(task.text("id")) for task in tasks) else "task"
    count = counted(len(tasks), noun)
    sandbox = f", {entry.text('sandbox')}" if entry.text("sandbox") else ""
    return f"run {entry.text('run')}: {entry.text('name')}, {count}{at_once}{recovered}{sandbox}"


def merge_text(entry: JournalEntry) -> str:
    """Returns how the work of a task was merged."""
    return "nothing to merge" if entry.data.get("empty") is True else f"merged as {entry.text('commit')[:10]}"


def conflict_text(entry: JournalEntry) -> str:
    """Returns where the work of a task conflicts."""
    return f"merge conflict in {', '.join(entry.texts('paths')) or 'its files'}"


def late_text(entry: JournalEntry) -> str:
    """Returns what a late result of a lost turn left."""
    names = [ref.removeprefix("refs/sow/keep/") for ref in entry.texts("refs")]
    kept = f"its commits are kept as {', '.join(names)}" if names else "it has nothing new"
    return f"a late result of {entry.text('host') or 'another host'} changed nothing; {kept}"


def stop_reason(entry: JournalEntry) -> str:
    """Returns what does not continue, why and until when: `claude-code pauses until 14:30: usage limit`."""
    subject = {"limit": f"{entry.text('executor')} pauses", "waiting": "waiting"}.get(entry.event, "nothing new starts")
    reason = entry.text("reason")
    if entry.event == "breaker":
        reason = f"{entry.count('failures')} starts failed in a row"
    until = entry.number("until")
    return subject + (f" until {clock.local(until)}" if until else "") + (f": {reason}" if reason else "")


def _turn_started(entry: JournalEntry, history: RunHistory) -> str:
    agent = " on ".join(filter(None, (entry.text("role"), entry.text("executor"))))
    iteration = f", iteration {entry.count('iteration')}" if entry.count("iteration") > 1 else ""
    verb = {
        "resume": "resumed",
        "recovery": "resumed after a stop",
        "reminder": "is reminded to end its turn",
        "review": "review by",
    }.get(entry.text("kind"), "started")
    return f"{verb} {agent}" if entry.text("kind") == "review" else ", ".join(filter(None, (verb, agent))) + iteration


def _turn_ended(entry: JournalEntry, history: RunHistory) -> str:
    outcome = entry.text("outcome")
    ending = "" if outcome in ("", "done") else f"the turn of {entry.text('role') or 'its agent'} ended: {outcome}"
    ending += _reason(entry) if ending and entry.text("reason") != outcome else ""
    refused = f"{counted(entry.count('refused'), 'command')} refused" if entry.count("refused") else ""
    return "; ".join(filter(None, (ending, refused, *entry.texts("remarks"))))


def _reason(entry: JournalEntry) -> str:
    """The first line of an event's reason, after a colon."""
    first = entry.text("reason").strip().partition("\n")[0]
    return f": {units.cut(escape_line(first), LONGEST_FEEDBACK)}" if first else ""


def _refused(entry: JournalEntry, history: RunHistory) -> str:
    reason = f" ({units.cut(escape_line(entry.text('reason')), LONGEST_REASON)})" if entry.text("reason") else ""
    return f"refused: {refusals.call_text(entry.text('tool'), entry.text('command'))}{reason}"


def _check(entry: JournalEntry, history: RunHistory) -> str:
    if entry.data.get("passed") is not False:
        return ""
    place = f" on {entry.text('host')}" if entry.text("host") else ""
    return f"check failed{place} ({exit_text(entry.data.get('exit'))}): {entry.text('command')}"


def _baseline(entry: JournalEntry, history: RunHistory) -> str:
    """A list that cannot run on this machine; one that fails before the work is in the report."""
    return f"baseline: {entry.text('problem')}" if entry.text("problem") else ""


def _reviewed(entry: JournalEntry, history: RunHistory) -> str:
    by = f" by {entry.text('by')}" if entry.text("by") else ""
    count = entry.count("findings")
    findings = f", {counted(count, 'finding')}" if count else ""
    feedback = units.cut(escape_line(entry.text("feedback")), LONGEST_FEEDBACK)
    feedback = feedback if count or entry.text("verdict") != "GREEN" else ""
    return f"{entry.text('verdict') or 'no verdict'}{by}{findings}{': ' if feedback else ''}{feedback}"


def _question(entry: JournalEntry, history: RunHistory) -> str:
    text = units.cut(escape_line(entry.text("text")), LONGEST_FEEDBACK)
    number = entry.name_or_number("number")
    return f"asks{f' question {number}' if number else ''}: {text} → {answer_command(number or entry.task, text)}"


def _answered(entry: JournalEntry, history: RunHistory) -> str:
    if entry.data.get("withdrawn") is True:
        return f"question {entry.name_or_number('number')} is withdrawn"
    origin = f" ({entry.text('origin')})" if entry.text("origin") else ""
    return f"question {entry.name_or_number('number')} is answered{origin}"


def _restored(entry: JournalEntry, history: RunHistory) -> str:
    copy_path, remark = entry.text("aside"), entry.text("remark")
    if remark:
        return remark
    if copy_path:
        return f"its state was edited by hand, which does not count in a run: the edit is in {copy_path} (sow task set)"
    return "its state was gone or older, and came back from its last copy"


def _final_check(entry: JournalEntry, history: RunHistory) -> str:
    owners = ", ".join(history.task_label(ident) for ident in entry.texts("tasks")[:5])
    outcome = "pass" if entry.data.get("passed") is True else f"fail: {entry.text('command')}"
    return f"final tree: the checks of task {owners} {outcome}"


def _waived(entry: JournalEntry, history: RunHistory) -> str:
    person = "you" if entry.text("by") == "person" else entry.text("by")
    return f"{person} waived `{entry.text('command')}`; it is not run any more"


def _branch_moved(entry: JournalEntry, history: RunHistory) -> str:
    pinned = f"; the foreign commit is kept as {entry.text('pin')}" if entry.text("pin") else ""
    move = f"{entry.text('branch')} was moved to {entry.text('found')[:10]} by somebody else"
    return f"{move}: it is back at {entry.text('restored')[:10]}{pinned}"


def _plan_changed(entry: JournalEntry, history: RunHistory) -> str:
    if "sections" in entry.data:
        sections = ", ".join(entry.texts("sections")) or "nobody's part"
        return f"{entry.text('path') or 'the plan'} has changed: {sections}; it is verified and approved again"
    return f"{entry.text('path')} was edited: this run keeps the plan it started with; the next run reads the change"


def _verification(entry: JournalEntry, history: RunHistory) -> str:
    by = f" by {entry.text('by')}" if entry.text("by") else ""
    return f"verification {entry.count('round')} {entry.text('result')}{by}{_reason(entry)}"


def _archived(entry: JournalEntry, history: RunHistory) -> str:
    return f"its session is archived: {entry.text('file').rpartition('/')[2]}" if entry.text("file") else ""


def _git_changed(entry: JournalEntry, history: RunHistory) -> str:
    changes = entry.texts("changes")
    if len(changes) == 1:
        return f"{changes[0]} during the run; sow ignores it"
    return f"sow ignores these changes during the run: {listed(changes, MOST_CHANGES)}"


def _task_ended(entry: JournalEntry, history: RunHistory) -> str:
    status, result = entry.text("status"), entry.text("result")
    if entry.task in history.open_questions:
        return ""  # its question was reported already
    ending = {
        "paused": "waits for an answer",
        "asking": "waits for an answer",
        "waiting": "is reset",
        "pending": "is reset",
        "in_progress": "is reset",
    }.get(status, status or "ended")
    record, seconds = history.tasks.get(entry.task), entry.number("seconds")
    worked = max(seconds or 0.0, record.active) if record else seconds  # in all parts, as in the report
    after = f" after {format_seconds(worked)}" if seconds is not None and worked is not None else ""
    verdict = (
        f" {result}" if result.isupper() and result != status.upper() and status in ("completed", "failed") else ""
    )
    spent = record.spend if record else None
    cost = f", {spent.text()}" if spent and spent.known else ""
    reason = f": {entry.text('reason')}" if entry.text("reason") and status != "completed" else ""
    return f"{ending}{verdict}{after}{cost}{reason}"


def _run_ended(entry: JournalEntry, history: RunHistory) -> str:
    paused = entry.count("asking" if "asking" in entry.data else "waiting")  # older journals do not tell them apart
    kinds = {kind: entry.count(kind) for kind in ("completed", "failed")}
    kinds |= {"paused": paused, "pending": entry.count("blocked") + entry.count("waiting") - paused}
    counts = [f"{count} {kind}" for kind, count in kinds.items() if count]
    seconds = entry.number("seconds")
    call = " in this call" if len(history.processes) > 1 else ""
    after = f" after {format_seconds(seconds)}{call}" if seconds is not None else ""
    ending = ENDS.get(entry.text("status"), "is over")
    return f"the run {ending}{after}: {', '.join(counts) or 'no task was completed'}"


def _request_findings(entry: JournalEntry, history: RunHistory) -> str:
    return f"the request needs work: {listed(entry.texts('findings'), MOST_CHANGES)}"


FORMATTERS: dict[str, Words] = {
    "run_started": _run_started,
    "turn_started": _turn_started,
    "sent": lambda entry, history: f"{entry.text('role')} works on {entry.text('host')}",
    "turn_ended": _turn_ended,
    "refused": _refused,
    "concern": lambda entry, _: entry.text("text"),
    "setup": lambda entry, _: f"setting up a checkout: {entry.text('text')}",
    "check": _check,
    "baseline": _baseline,
    "reviewed": _reviewed,
    "sent_back": lambda entry, _: f"sent back: {entry.text('reason')}",
    "merged": lambda entry, _: merge_text(entry),
    "conflict": lambda entry, _: conflict_text(entry),
    "question": _question,
    "answered": _answered,
    "plan_changed": _plan_changed,
    "escalated": lambda entry, _: f"escalates {', '.join(entry.texts('notes'))} to the workflow architect",
    "resolved": lambda entry, _: f"{entry.text('note')} is resolved by {entry.text('by')}",
    "verification": _verification,
    "approved": lambda entry, _: f"the design {entry.text('digest')[:12]} is approved ({entry.text('how')})",
    "archived": _archived,
    "set_aside": lambda entry, _: entry.text("text") or "a file could not be read, and is set aside",
    "restored": _restored,
    "git_changed": _git_changed,
    "notify_failed": lambda entry, _: f"nobody is notified: {entry.text('reason')}",
    "branch_moved": _branch_moved,
    "late": lambda entry, _: late_text(entry),
    "final_check": _final_check,
    "waived": _waived,
    "limit": lambda entry, _: stop_reason(entry),
    "breaker": lambda entry, _: stop_reason(entry),
    "budget": lambda entry, _: stop_reason(entry),
    "waiting": lambda entry, _: stop_reason(entry),
    "task_ended": _task_ended,
    "request_pushed": lambda entry, _: f"pushed {entry.text('branch')} at {entry.text('commit')[:12]}",
    "request_opened": lambda entry, _: f"opened a request: {entry.text('url')}",
    "request_taken_in": lambda entry, _: f"took in {entry.text('commit')[:12]}, which others pushed",
    "request_rerun": lambda entry, _: f"check {entry.text('check')} runs again, because its command passes here",
    "request_findings": _request_findings,
    "request_merged": lambda entry, _: f"the request is merged as {entry.text('commit')[:12]}",
    "run_ended": _run_ended,
}
