"""Formats the events of a run, and the parts of its report that the page and the terminal share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sow.domain.checks import refusals
from sow.domain.inputs import is_member
from sow.domain.task import answer_command
from sow.domain.text import units
from sow.domain.text.units import counted, dollars, format_minutes, format_seconds, listed, stopwatch
from sow.system import clock
from sow.system.process.exit_code import exit_text
from sow.system.terminal import escape_line

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
    account = entry.text("account")
    pauses = f"{entry.text('executor')} {f'rests on the account {account}' if account else 'pauses'}"
    subject = {"limit": pauses, "waiting": "waiting"}.get(entry.event, "nothing new starts")
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


Facts = dict[str, Any]

SHORT = 5  # seconds


def plural(count: int, noun: str) -> str:
    """Formats a count with its noun: `1 turn`, `3 turns`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def money(facts: Facts) -> str:
    """Formats a cost, as far as it is known."""
    unknown = facts["cost_unknown_turns"]
    if facts["cost_usd"] is None:
        return "unknown" if unknown else "-"
    return dollars(facts["cost_usd"]) + (f" and {plural(unknown, 'turn')} of unknown cost" if unknown else "")


def tokens(facts: Facts) -> str:
    """Formats token counts, as far as they are known."""
    unknown = facts["tokens_unknown_turns"]
    if facts["input_tokens"] is None:
        return "unknown" if unknown else "-"
    suffix = f" and {plural(unknown, 'turn')} without usage" if unknown else ""
    return f"{facts['input_tokens']:,} in, {facts['output_tokens']:,} out{suffix}"


def task_label(row: Facts) -> str:
    """Returns a task's plan number and id."""
    return f"{row['plan_id']} ({row['id']})" if row["plan_id"] else str(row["id"])


def outcome(name: str) -> str:
    """Returns the word for a task's outcome, which is that of its status where it has one."""
    return {"waiting": "paused", "running": "in_progress", "blocked": "pending"}.get(name, name)


def result(row: Facts) -> str:
    """Returns the verdict on a task. RED without a review comes from a failed check."""
    return "check failed" if row["result"] == "RED" and not row["reviews"] else row["result"] or "-"


def run_state(run: Facts) -> str:
    """Returns the word for the state of a run."""
    return "running" if run["live"] else "paused" if run["status"] == "waiting" else str(run["status"])


def waits_for(row: Facts) -> str:
    """Formats a task's open dependencies: `2 (020), failed; 3 (030), paused`."""
    return "; ".join(f"{task_label(need)}, {outcome(need['outcome'])}" for need in row["waits_for"])


def asks(question: Facts) -> str:
    """Returns `asks question 3`; of some questions only the text is known."""
    return f"asks question {question['number']}" if question["number"] else "asks"


def time_of(row: Facts) -> str:
    """Formats how long a task was worked on, with its estimate."""
    estimated = f" (estimated {format_minutes(row['estimated_minutes'])})" if row["estimated_minutes"] else ""
    return f"{format_seconds(row['active_seconds'])}{estimated}" if row["started_at"] or row["active_seconds"] else "-"


def task_notes(row: Facts) -> list[str]:
    """Lists what a person should know about a task's result in this run.

    That is the reviewer's notes, people's comments on lines, concerns and refusals.
    """
    review = row["reviews"][-1] if row["reviews"] and row["outcome"] == "completed" else {}
    notes = [f"{review['verdict']} by {review['by']}: {review['feedback']}"] if review.get("feedback") else []
    notes = notes if review.get("verdict") != "GREEN" else []
    notes += [
        f"{comment['by']} on {comment['file']}:{comment['line']}: {comment['text']}" for comment in row["comments"]
    ]
    notes += [concern["text"] for concern in row["concerns"] if concern["kind"] != refusals.KIND]
    return [*notes, *filter(None, [refusals.summary(row["refusals"])])]


def outcomes(counts: Facts) -> str:
    """Formats counts of outcomes: `6 completed, 1 failed`."""
    by_word: dict[str, int] = {}
    for name, count in counts.items():
        if name != "total":
            by_word[outcome(name)] = by_word.get(outcome(name), 0) + count
    parts = [f"{count} {word}" for word, count in by_word.items() if count]
    return ", ".join(parts) or "no tasks"


def total_rows(document: Facts) -> list[tuple[str, str]]:
    """Returns the totals of a run, each with its name."""
    total = document["totals"]
    rows = [
        ("tasks", outcomes(document["counts"])),
        ("time", _wall(total)),
        ("work", _work(total)),
        ("estimates", _estimate(total["estimate"])),
        ("cost", money(total)),
        ("tokens", tokens(total)),
        ("turns", _turns(total)),
        ("checks", _checks(total["checks"])),
        ("reviews", ", ".join(f"{count} {verdict}" for verdict, count in sorted(total["reviews"].items()))),
        ("continued", continued(document["run"]["calls"])),
    ]
    return [row for row in rows if row[1]]


def continued(calls: int) -> str:
    """Returns how often a run was continued after its first call, or ""."""
    return {0: "", 1: "", 2: "once"}.get(calls, f"{calls - 1} times")


def short_totals(document: Facts) -> str:
    """Returns the outcome, time and cost of a run in one line, with the command that shows more."""
    total, run = document["totals"], document["run"]
    cost = f", cost {money(total)}" if money(total) != "-" else ""
    calls = f" in {run['calls']} calls" if run["calls"] > 1 else ""
    return f"{outcomes(document['counts'])} in {_wall(total)}{calls}{cost} (more: sow runs show {run['id']})"


def _wall(total: Facts) -> str:
    causes = {"waited_for_people_seconds": "people", "waited_for_limits_seconds": "limits"}
    waits = [f"{format_seconds(total[key])} waiting for {cause}" for key, cause in causes.items() if total[key]]
    return format_seconds(total["wall_seconds"]) + (f", of that {' and '.join(waits)}" if waits else "")


def _work(total: Facts) -> str:
    pace = f"; the run was {speed(total)}" if speed(total) else ""
    unknown = f", {plural(total['work_unknown_turns'], 'turn')} without usage" if total["work_unknown_turns"] else ""
    return f"{format_seconds(total['work_seconds'])} in all turns{unknown}{pace}"


def speed(total: Facts) -> str:
    """Compares the run with its turns one after the other. Returns "" if it took only a few seconds."""
    factor = total["speed_up"]
    if not factor or total["busy_seconds"] < SHORT:
        return ""
    if round(factor, 1) > 1:
        return f"{factor:.1f} times as fast as one agent at a time"
    return "not faster than one agent at a time"


def _estimate(estimate: Facts) -> str:
    if not estimate["tasks"]:
        return ""
    actual, expected = format_minutes(estimate["active_minutes"]), format_minutes(estimate["estimated_minutes"])
    return f"{plural(estimate['tasks'], 'task')} took {actual}; estimated {expected}"


def _turns(total: Facts) -> str:
    parts = [plural(total["turns"], "turn")]
    retries = plural(total["retries"], "retry").replace("retrys", "retries")
    parts += [retries] if total["retries"] else []
    nouns = {"questions": "question", "limits": "limit", "merges": "merge", "conflicts": "conflict"}
    parts += [plural(total[key], noun) for key, noun in nouns.items() if total[key]]
    return ", ".join(parts)


def _checks(checks: Facts) -> str:
    return f"{checks['passed']} passed, {checks['failed']} failed" if any(checks.values()) else ""
