"""What a run does to a task's state: each act is one decision under the lock, and one write."""

from __future__ import annotations

from itertools import groupby

from sow.domain import task as rules
from sow.domain.actor import ORCHESTRATOR, Actor
from sow.domain.wording import DETAILS, steady
from sow.store import feedback, log, notes, restoring, sessions
from sow.store import project as projects
from sow.store.repair import load_or_repair
from sow.system import clock, plain_file
from sow.system.terminal import harmless_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from sow.domain.shapes import Concern, Evidence, ProjectState, Review, Task, Waiver
    from sow.store.desk import Desk

RUNNER = Actor(kind=ORCHESTRATOR, name="run", task="")
EDITED = "its state was edited by hand, which does not count in a run: the edit is in {aside}"
MOST_FEEDBACK = 20_000
MOST_CONCERN = 2000
MOST_LINES = 8  # of one output, or of other things that were found, in a question
OUTPUT = "    "  # begins each line of a command's output in feedback
LONGEST_LINE = 300
OUTCOME = "Your answer goes to the worker as feedback, with all of this, and the work is tried again."


def _change(desk: Desk, project: ProjectState, change: Callable[[Task], Task]) -> Task:
    """Load, change and write one task under the lock."""
    with desk.home.lock():
        restoring.refuse_elsewhere(desk.home, project["branch"])
        aside, _ = restoring.mend(desk, project["project_id"])
        loaded, _ = load_or_repair(desk, project["project_id"])
        task = change(loaded["task"])
        if task is not loaded["task"]:
            desk.save(loaded, task, project["project_id"])
    if aside:
        _log(desk, "restored", EDITED.format(aside=aside), clock.now())
    return task


def look(desk: Desk, project: ProjectState) -> Task:
    """A task on which nobody works now: what others wrote into its state by hand is set aside, and not believed."""
    return _change(desk, project, lambda task: task)


def set_fields(desk: Desk, project: ProjectState, **fields: Any) -> Task:
    """Write some fields of a task."""
    return _change(desk, project, lambda task: {**task, **fields, "updated_at": clock.now()})  # type: ignore[typeddict-item]


def add_evidence(desk: Desk, project: ProjectState, found: Sequence[Evidence]) -> Task:
    """Write down what a command showed."""
    return _change(
        desk, project, lambda task: {**task, "evidence": [*task.get("evidence", []), *found], "updated_at": clock.now()}
    )


def add_concern(desk: Desk, project: ProjectState, kind: str, text: str) -> Task:
    """Record a fact that keeps this iteration from being GREEN without a reviewer who saw it; the same fact once."""

    def change(task: Task) -> Task:
        concern: Concern = {"iteration": task["iteration"], "kind": kind, "text": harmless_line(text)[:MOST_CONCERN]}
        known = task.get("concerns", [])
        return task if concern in known else {**task, "concerns": [*known, concern], "updated_at": clock.now()}

    return _change(desk, project, change)


def _result(task: Task) -> str:
    """The result of a task that is accepted: with concerns and no review of this iteration it is YELLOW at best.

    A doubt about the environment stays after a review too: the reviewer saw the results of the same checks.
    """
    result = task.get("result") or _last_verdict(task)
    reviewed = any(each["iteration"] == task["iteration"] for each in task.get("reviews", ()))
    doubts = [each for each in rules.concerns(task) if not reviewed or each["kind"] == "environment"]
    return "YELLOW" if result == "GREEN" and doubts else result


def _last_verdict(task: Task) -> str:
    """The strictest verdict of the last iteration that was reviewed; GREEN where nobody reviewed."""
    last = max((each["iteration"] for each in task.get("reviews", ())), default=0)
    now = [each["verdict"] for each in task.get("reviews", ()) if each["iteration"] == last]
    return next((flag for flag in ("RED", "YELLOW", "GREEN") if flag in now), "GREEN")


def add_review(desk: Desk, project: ProjectState, review: Review, words: str) -> Task:
    """Write down a verdict; the task's result is the strictest so far."""

    def change(task: Task) -> Task:
        reviews = [*task.get("reviews", []), review]
        now = [each["verdict"] for each in reviews if each["iteration"] == task["iteration"]]
        result = "RED" if _fails(task) else next(flag for flag in ("RED", "YELLOW", "GREEN") if flag in now)
        changed: Task = {**task, "reviews": reviews, "result": result, "updated_at": clock.now()}
        if words.strip():
            changed["review_feedback"] = words.strip()[:MOST_FEEDBACK]
        return changed

    return _change(desk, project, change)


def _fails(task: Task) -> bool:
    """Whether a command showed that this iteration is not good: no verdict can change that."""
    last = {
        each["command"]: each["passed"]
        for each in task.get("evidence", ())
        if each["iteration"] == task["iteration"] and each["kind"] not in ("dependency", "merge", "final")
    }
    return not all(last.values())


def send_back(desk: Desk, project: ProjectState, text: str, *, counts: bool) -> Task:
    """Give work back to its worker: the text is its feedback, the iteration the next, and a try is used up."""
    now = clock.now()

    def change(task: Task) -> Task:
        feedback.add(desk, text, by=RUNNER.name, iteration=task["iteration"], now=now)
        changed, _ = rules.move(task, "in_progress", actor=RUNNER, now=now)
        if counts:
            changed["retry_count"] = task.get("retry_count", 0) + 1
        return changed

    return _change(desk, project, change)


def reopen(desk: Desk, project: ProjectState, text: str, evidence: Sequence[Evidence]) -> Task:
    """Send a completed task back because its merge broke a check of the final tree; a try is used up."""
    now = clock.now()

    def change(task: Task) -> Task:
        if task["status"] != "completed":
            return task
        feedback.add(desk, text, by=RUNNER.name, iteration=task["iteration"], now=now)
        moved, _ = rules.move(task, "in_progress", actor=RUNNER, now=now, may_reopen=True)
        moved["retry_count"] = task.get("retry_count", 0) + 1
        return _with_evidence(_keep_concerns(moved, task["iteration"]), evidence, task["iteration"])

    return _change(desk, project, change)


def _keep_concerns(task: Task, iteration: int) -> Task:
    """Let the concerns about a merged iteration count for later ones too: its changes stay in the tree."""
    known: list[Concern] = [
        {**each, "merged": True} if each["iteration"] == iteration and each["kind"] != "no_changes" else each
        for each in task.get("concerns", ())
    ]
    return {**task, "concerns": known} if known else task


def _with_evidence(task: Task, found: Sequence[Evidence], iteration: int) -> Task:
    new: list[Evidence] = [{**each, "iteration": iteration} for each in found]
    return {**task, "evidence": [*task.get("evidence", []), *new]}


def add_final(desk: Desk, project: ProjectState, found: Sequence[Evidence]) -> Task:
    """Record that the task's commands passed on the final tree, once for each tree."""

    def change(task: Task) -> Task:
        known = {(each["command"], each.get("tree")) for each in task.get("evidence", ()) if each["kind"] == "final"}
        new = [each for each in found if (each["command"], each.get("tree")) not in known]
        return _with_evidence(task, new, task["iteration"]) if new else task

    return _change(desk, project, change)


def waive(desk: Desk, project: ProjectState, command: str, *, by: str, reason: str) -> Task:
    """Record that a person does without a check of a task: it is not run again."""

    def change(task: Task) -> Task:
        known = task.get("waivers", [])
        if any(each["command"] == command for each in known):
            return task
        waiver: Waiver = {"command": command, "by": by, "at": clock.now()}
        if reason:
            waiver["reason"] = reason[:MOST_CONCERN]
        return {**task, "waivers": [*known, waiver], "updated_at": clock.now()}

    return _change(desk, project, change)


def ask(
    desk: Desk,
    project: ProjectState,
    text: str,
    *,
    found: str = "",
    more: str = "",
    outcome: str = "",
    evidence: Sequence[Evidence] = (),
) -> int:
    """Pause a task with a question; returns its number. What was found reaches the worker with the answer.

    `more` is added for the person who answers, and `outcome` says what an answer leads to. `evidence` is what failed
    on the final tree; it belongs to the iteration in which the question is asked, and only it reopens a completed task.
    Where nothing was found about work that was handed in, the iteration stays: the question is not about the work.
    """
    now = clock.now()
    number = 0

    def change(task: Task) -> Task:
        nonlocal number
        judged = task["status"] in ("needs_review", "completed")
        if task["status"] == "completed":
            task = _keep_concerns(task, task["iteration"])
        if task["status"] != "in_progress" and task["status"] != "paused":
            moved = _at_work(task, now, may_reopen=bool(evidence))
            task = {**moved, "iteration": task["iteration"]} if judged and not found else moved
        if judged and found:
            task = {**task, "result": "RED"}
        if found and task["status"] != "paused":
            feedback.add(desk, found, by=RUNNER.name, iteration=task["iteration"], now=now)
        if task["status"] == "in_progress":
            task, _ = rules.move(task, "paused", actor=RUNNER, now=now)
        if evidence:
            task = _with_evidence(task, evidence, task["iteration"])
        # Every task of a run counts from the file: the project that its job loaded may be older.
        restoring.bring_project_back(desk.home, project["project_id"])
        fresh = projects.load_anywhere(desk.home)
        number = task["question"]["number"] if "question" in task else projects.next_question(desk.home, fresh, now)
        asked = text + _details(desk, task, found, more, outcome or OUTCOME) if judged and found else text
        return rules.ask(task, asked, number=number, now=now)

    _change(desk, project, change)
    _log(desk, "question", text, now)
    return number


def _details(desk: Desk, task: Task, found: str, more: str, outcome: str) -> str:
    """What a person should know who is asked about work: what was found, where the work is, what comes next.

    Of a long output the end is shown, which has the error; of other texts the beginning.
    """
    shown: list[str] = []
    lines = (line for line in found.split("\n")[1:] if line.strip())
    for is_output, group in groupby(lines, key=lambda line: line.startswith(OUTPUT)):
        block = [line.strip()[:LONGEST_LINE] for line in group]
        left_out = [f"… {len(block) - MOST_LINES} lines left out"] if len(block) > MOST_LINES else []
        shown += [*left_out, *block[-MOST_LINES:]] if is_output else [*block[:MOST_LINES], *left_out]
    record = sessions.current(desk, task.get("session_id", ""))
    place = [f"The work is in {record.session['cwd']}"] if record is not None else []
    return DETAILS + "\n".join([*shown, *place, outcome, *filter(None, [more])])


def _at_work(task: Task, now: str, *, may_reopen: bool = False) -> Task:
    """On the way to a question: the table has no move to paused but from work, and no try is counted for it."""
    moved, _ = rules.move(task, "in_progress", actor=RUNNER, now=now, may_reopen=may_reopen)
    return moved


def fail(desk: Desk, project: ProjectState, reason: str) -> Task:
    """A task that cannot go on."""
    now = clock.now()

    def change(task: Task) -> Task:
        if task["status"] == "failed" or task["status"] in rules.ENDED_STATUSES:
            return task
        moved = task if task["status"] == "in_progress" else _at_work(task, now)
        failed, _ = rules.move(moved, "failed", actor=RUNNER, now=now)
        return {**failed, "result": "TIMEOUT" if task.get("result") == "TIMEOUT" else "FAILED"}

    task = _change(desk, project, change)
    _log(desk, "failed", reason or "it failed", now)
    return task


def complete(desk: Desk, project: ProjectState, *, seconds: float) -> Task:
    """Approve what was checked, reviewed and merged."""
    now = clock.now()

    def change(task: Task) -> Task:
        if task["status"] in rules.ENDED_STATUSES:
            return task
        rules.gate(task, notes.unresolved(desk))
        for step in ("in_progress", "needs_review"):  # git knows of a merge that an older state has not heard of
            if (task["status"], step) in (("pending", "in_progress"), ("in_progress", "needs_review")):
                task, _ = rules.move(task, step, actor=RUNNER, now=now)
        moved, _ = rules.move(task, "completed", actor=RUNNER, now=now)
        if rules.is_approved(task):  # a person's word is the one that counts
            moved["approval"] = task["approval"]
        return {**moved, "result": _result(task), "duration": round(task.get("duration", 0) + seconds, 3)}

    return _change(desk, project, change)


def note_timeout(desk: Desk, project: ProjectState) -> Task:
    """A turn ran out of time: what that costs is counted when it is tried again."""
    return set_fields(desk, project, result="TIMEOUT")


def count_timeout(desk: Desk, project: ProjectState) -> Task:
    """A try after a time-out is one of the retries."""

    def change(task: Task) -> Task:
        if task.get("result") != "TIMEOUT":
            return task
        changed: Task = {**task, "retry_count": task.get("retry_count", 0) + 1, "updated_at": clock.now()}
        changed.pop("result", None)
        return changed

    return _change(desk, project, change)


def hand_in(desk: Desk, project: ProjectState) -> Task:
    """Let work that its worker has handed in before go on to where it was."""

    def change(task: Task) -> Task:
        return rules.move(task, "needs_review", actor=RUNNER, now=clock.now())[0]

    return _change(desk, project, change)


def only_answered(desk: Desk, task: Task) -> bool:
    """Whether all that was said about the last iteration is the answer to a question."""
    if not task["questions"]:
        return False
    last = task["iteration"] - 1
    said = sum(each["iteration"] == str(last) for each in feedback.read(desk))
    return said == 1 and feedback.is_about(desk, task["questions"][-1]["answer"], last)


def last_words(desk: Desk, task: Task) -> str:
    """The feedback that the present iteration answers to: what was found, and what a person said about it."""
    given = [each["text"] for each in feedback.read(desk) if each["iteration"] == str(task["iteration"] - 1)]
    return "\n\n".join(dict.fromkeys(reversed(given)))


def keep_output(folder: str, command: str, tail: str) -> None:
    """Keep the end of what a failed command said, for the feedback."""
    plain_file.write(_output_path(folder, command), tail)


def output_of(folder: str, command: str) -> str:
    """The end of what a command said when it failed last."""
    return plain_file.read_text(_output_path(folder, command), MOST_FEEDBACK)


def _output_path(folder: str, command: str) -> str:
    import hashlib

    return f"{folder}/{hashlib.sha256(command.encode()).hexdigest()[:16]}.tail"


def feedback_text(task: Task, folder: str, reason: str) -> str:
    """Everything that was found about the present iteration, for its worker."""
    lines = [f"Your work on task {task['id']} was not accepted: {reason}."]
    for each in task.get("evidence", ()):
        if each["iteration"] == task["iteration"] and not each["passed"]:
            said = output_of(folder, each["command"])
            lines += [
                "",
                f"`{each['command']}` failed (exit {each['exit']}):",
                *(f"{OUTPUT}{line}" for line in said.splitlines()),
            ]
    for review in task.get("reviews", ()):
        if review["iteration"] != task["iteration"]:
            continue
        for found in review["findings"]:
            place = " ".join(found[key] for key in ("file", "symbol") if key in found)
            lines += ["", f"{found['severity']}: {place + ': ' if place else ''}{found['text']}"]
    words = task.get("review_feedback", "")
    if task.get("result") == "RED" and words:
        lines += ["", words]
    return "\n".join(lines)[:MOST_FEEDBACK]


def said_again(desk: Desk, task: Task, folder: str, text: str) -> str:
    """The failed command of this iteration if the feedback on it, after its first line, is that on the last one.

    A command that printed nothing does not count: nobody can tell whether it failed for the same reason.
    """
    now = [each for each in task.get("evidence", ()) if each["iteration"] == task["iteration"] and not each["passed"]]
    failed = next((each["command"] for each in now if output_of(folder, each["command"]).strip()), "")
    if not failed:
        return ""
    before = [each["text"] for each in feedback.read(desk) if each["iteration"] == str(task["iteration"] - 1)]
    return failed if _body(desk.home.struck(text)) in map(_body, before) else ""


def _body(text: str) -> list[str]:
    return steady(text.partition("\n")[2]).split()


def commit_message(task: Task) -> str:
    """The message of the commit that holds a worker's work."""
    return f"{task['name']}\n\nTask {task['id']}, iteration {task['iteration']}"


def _log(desk: Desk, action: str, text: str, now: str) -> None:
    entry = {"timestamp": now, "agent": RUNNER.name, "action": action, "result": "info", "files": [], "text": text}
    log.append(desk.home, desk.log_path, entry)  # type: ignore[arg-type]
