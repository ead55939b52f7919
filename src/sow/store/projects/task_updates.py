"""Changes a task's state for a run; each function decides under the lock and writes once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from sow.domain import inputs
from sow.domain import task as rules
from sow.domain.checks.task_checks import waived_commands
from sow.domain.documents.state import Check, Concern, Evidence, Follows, ProjectState, Review, Task, Waiver
from sow.domain.task import ORCHESTRATOR, Actor
from sow.domain.text.similar_text import DETAILS, without_changing_parts
from sow.domain.text.units import counted
from sow.store.files.checkout_home import Home
from sow.store.projects import log, restore, task_folder, tasks
from sow.store.projects import project as projects
from sow.store.projects.task_folder import TaskFolder, load_or_repair
from sow.store.runs import sessions
from sow.system import clock, plain_file
from sow.system.process.exit_code import exit_text
from sow.system.terminal import escape_line

RUNNER = Actor(kind=ORCHESTRATOR, name="run", task="")
EDITED = "its state was edited by hand, which does not count in a run: the edit is in {aside}"
MOST_FEEDBACK = 20_000
MOST_CONCERN = 2000
MOST_LINES = 8  # of one output, or of other findings, in a question
OUTPUT = "    "  # begins each line of a command's output in feedback
LONGEST_LINE = 300
OUTCOME = "Your answer goes to the worker as feedback, with all of this, and the work is tried again."


def _change(folder: TaskFolder, project: ProjectState, change: Callable[[Task], Task]) -> Task:
    """Loads, changes and writes one task under the lock."""
    with folder.home.lock():
        restore.check_branch(folder.home, project["branch"])
        aside, _ = restore.reconcile(folder, project["project_id"])
        loaded, _ = load_or_repair(folder, project["project_id"])
        task = change(loaded["task"])
        if task is not loaded["task"]:
            folder.save(loaded, task, project["project_id"])
    if aside:
        _log(folder, "restored", EDITED.format(aside=aside), clock.now())
    return task


def load_trusted(folder: TaskFolder, project: ProjectState) -> Task:
    """Loads a task on which nobody works now; edits by hand are moved aside and ignored."""
    return _change(folder, project, lambda task: task)


def set_fields(folder: TaskFolder, project: ProjectState, **fields: Any) -> Task:
    """Sets some fields of a task."""
    return _change(folder, project, lambda task: {**task, **fields, "updated_at": clock.now()})  # type: ignore[typeddict-item]


def add_evidence(folder: TaskFolder, project: ProjectState, results: Sequence[Evidence]) -> Task:
    """Adds the results of checks to a task."""
    return _change(
        folder,
        project,
        lambda task: {**task, "evidence": [*task.get("evidence", []), *results], "updated_at": clock.now()},
    )


def add_concern(folder: TaskFolder, project: ProjectState, kind: str, text: str) -> Task:
    """Records a concern once; it keeps this iteration from GREEN until a reviewer has seen it."""

    def change(task: Task) -> Task:
        concern: Concern = {"iteration": task["iteration"], "kind": kind, "text": escape_line(text)[:MOST_CONCERN]}
        concerns = task.get("concerns", [])
        return task if concern in concerns else {**task, "concerns": [*concerns, concern], "updated_at": clock.now()}

    return _change(folder, project, change)


def _accepted_result(task: Task) -> str:
    """Returns the result of an accepted task: with concerns and no review of this iteration, at best YELLOW.

    A concern about the environment stays after a review too, because the reviewer saw the results of the same checks.
    """
    result = task.get("result") or _last_verdict(task)
    reviewed = any(review["iteration"] == task["iteration"] for review in task.get("reviews", ()))
    doubts = [concern for concern in rules.current_concerns(task) if not reviewed or concern["kind"] == "environment"]
    return "YELLOW" if result == "GREEN" and doubts else result


def _last_verdict(task: Task) -> str:
    """Returns the strictest verdict of the last reviewed iteration, or GREEN if there was no review."""
    last = max((review["iteration"] for review in task.get("reviews", ())), default=0)
    verdicts = [review["verdict"] for review in task.get("reviews", ()) if review["iteration"] == last]
    return next((flag for flag in ("RED", "YELLOW", "GREEN") if flag in verdicts), "GREEN")


def add_review(folder: TaskFolder, project: ProjectState, review: Review, review_text: str) -> Task:
    """Records a review; the task's result is the strictest verdict of its iteration."""

    def change(task: Task) -> Task:
        reviews = [*task.get("reviews", []), review]
        verdicts = [entry["verdict"] for entry in reviews if entry["iteration"] == task["iteration"]]
        result = (
            "RED" if _has_failed_check(task) else next(flag for flag in ("RED", "YELLOW", "GREEN") if flag in verdicts)
        )
        changed: Task = {**task, "reviews": reviews, "result": result, "updated_at": clock.now()}
        if review_text.strip():
            changed["review_feedback"] = review_text.strip()[:MOST_FEEDBACK]
        return changed

    return _change(folder, project, change)


def _has_failed_check(task: Task) -> bool:
    """Returns whether a check of this iteration failed; no verdict can change that."""
    passed_by_command = {
        evidence["command"]: evidence["passed"]
        for evidence in task.get("evidence", ())
        if evidence["iteration"] == task["iteration"] and evidence["kind"] not in ("dependency", "merge", "final")
    }
    return not all(passed_by_command.values())


def send_back(folder: TaskFolder, project: ProjectState, text: str, *, counts: bool) -> Task:
    """Sends work back to its worker with the text as feedback; the next iteration begins. `counts` uses up a retry."""
    now = clock.now()

    def change(task: Task) -> Task:
        log.add_feedback(folder, text, by=RUNNER.name, iteration=task["iteration"], now=now)
        changed, _ = rules.move(task, "in_progress", actor=RUNNER, now=now)
        if counts:
            changed["retry_count"] = task.get("retry_count", 0) + 1
        return changed

    return _change(folder, project, change)


def reopen(folder: TaskFolder, project: ProjectState, text: str, evidence: Sequence[Evidence]) -> Task:
    """Sends a completed task back because its merge broke a check on the final tree; this uses up a retry."""
    now = clock.now()

    def change(task: Task) -> Task:
        if task["status"] != "completed":
            return task
        log.add_feedback(folder, text, by=RUNNER.name, iteration=task["iteration"], now=now)
        moved, _ = rules.move(task, "in_progress", actor=RUNNER, now=now, may_reopen=True)
        moved["retry_count"] = task.get("retry_count", 0) + 1
        return _with_evidence(_keep_concerns(moved, task["iteration"]), evidence, task["iteration"])

    return _change(folder, project, change)


def _keep_concerns(task: Task, iteration: int) -> Task:
    """Marks the concerns of a merged iteration so that they count for later ones too: its changes stay in the tree."""
    concerns: list[Concern] = [
        {**concern, "merged": True}
        if concern["iteration"] == iteration and concern["kind"] != "no_changes"
        else concern
        for concern in task.get("concerns", ())
    ]
    return {**task, "concerns": concerns} if concerns else task


def _with_evidence(task: Task, results: Sequence[Evidence], iteration: int) -> Task:
    new: list[Evidence] = [{**result, "iteration": iteration} for result in results]
    return {**task, "evidence": [*task.get("evidence", []), *new]}


def add_final_evidence(folder: TaskFolder, project: ProjectState, results: Sequence[Evidence]) -> Task:
    """Records that the task's checks passed on the final tree, once per tree."""

    def change(task: Task) -> Task:
        recorded = {
            (evidence["command"], evidence.get("tree"))
            for evidence in task.get("evidence", ())
            if evidence["kind"] == "final"
        }
        new = [result for result in results if (result["command"], result.get("tree")) not in recorded]
        return _with_evidence(task, new, task["iteration"]) if new else task

    return _change(folder, project, change)


def waive(home: Home, project: ProjectState, commands: Sequence[str], *, by: str, reason: str) -> None:
    """Records that a person waives checks, in every task that has them: they are not run again."""

    def change(task: Task) -> Task:
        own_commands = {check["command"] for check in task.get("checks", ())}
        done = waived_commands(task)
        new: list[Waiver] = [
            {"command": command, "by": by, "at": clock.now(), **({"reason": reason[:MOST_CONCERN]} if reason else {})}  # type: ignore[typeddict-item]
            for command in commands
            if command in own_commands - done
        ]
        return {**task, "waivers": [*task.get("waivers", []), *new], "updated_at": clock.now()} if new else task

    for folder, task in task_folder.load_readable(home, project)[0]:
        if change(task) is not task:
            _change(folder, project, change)


def ask(
    folder: TaskFolder,
    project: ProjectState,
    text: str,
    *,
    findings: str = "",
    more: str = "",
    outcome: str = "",
    evidence: Sequence[Evidence] = (),
) -> int:
    """Pauses a task with a question; returns its number. The worker gets the findings with the answer.

    `more` is added for the person who answers, and `outcome` says what an answer leads to. `evidence` holds the
    failures on the final tree; it belongs to the iteration in which the question is asked, and only it reopens a
    completed task. The iteration stays: the answer starts the next one.
    """
    now = clock.now()
    number = 0

    def change(task: Task) -> Task:
        nonlocal number
        submitted = task["status"] in ("needs_review", "completed")
        if task["status"] == "completed":
            task = _keep_concerns(task, task["iteration"])
        if task["status"] != "in_progress" and task["status"] != "paused":
            task = _to_in_progress(task, now, may_reopen=bool(evidence))
        if submitted and findings:
            task = {**task, "result": "RED"}
        if findings and task["status"] != "paused":
            log.add_feedback(folder, findings, by=RUNNER.name, iteration=task["iteration"], now=now)
        if task["status"] == "in_progress":
            task, _ = rules.move(task, "paused", actor=RUNNER, now=now)
        if evidence:
            task = _with_evidence(task, evidence, task["iteration"])
        # All tasks of a run take numbers from the file, because the project that this job loaded may be older.
        restore.restore_project(folder.home, project["project_id"])
        fresh = projects.load_anywhere(folder.home)
        number = task["question"]["number"] if "question" in task else projects.next_question(folder.home, fresh, now)
        question = text + _details(folder, task, findings, more, outcome or OUTCOME) if submitted and findings else text
        return rules.ask(task, question, number=number, now=now)

    _change(folder, project, change)
    _log(folder, "question", text, now)
    return number


def _details(folder: TaskFolder, task: Task, findings: str, more: str, outcome: str) -> str:
    """Returns the facts for a person who is asked about work: the findings, the folder and the next step.

    Of a long output the end is shown, which has the error; of other texts the beginning.
    """
    shown: list[str] = []
    lines = (line for line in findings.split("\n")[1:] if line.strip())
    for is_output, group in groupby(lines, key=lambda line: line.startswith(OUTPUT)):
        block = [(line.rstrip() if is_output else line.strip())[:LONGEST_LINE] for line in group]
        left_out = [f"… {len(block) - MOST_LINES} lines left out"] if len(block) > MOST_LINES else []
        shown += [*left_out, *block[-MOST_LINES:]] if is_output else [*block[:MOST_LINES], *left_out]
    record = sessions.current(folder, task.get("session_id", ""))
    folder_line = [f"The work is in {record.session['cwd']}"] if record is not None else []
    return DETAILS + "\n".join([*shown, *folder_line, outcome, *filter(None, [more])])


def _to_in_progress(task: Task, now: str, *, may_reopen: bool = False) -> Task:
    """Moves a task to in_progress, from which alone it can pause or fail; this starts no iteration."""
    moved, _ = rules.move(task, "in_progress", actor=RUNNER, now=now, may_reopen=may_reopen)
    return {**moved, "iteration": task["iteration"]}


def fail(folder: TaskFolder, project: ProjectState, reason: str) -> Task:
    """Marks a task as failed, unless it has ended."""
    now = clock.now()

    def change(task: Task) -> Task:
        if task["status"] == "failed" or task["status"] in rules.ENDED_STATUSES:
            return task
        moved = task if task["status"] == "in_progress" else _to_in_progress(task, now)
        failed, _ = rules.move(moved, "failed", actor=RUNNER, now=now, reason=reason)
        return {**failed, "result": "TIMEOUT" if task.get("result") == "TIMEOUT" else "FAILED"}

    task = _change(folder, project, change)
    _log(folder, "failed", reason or "it failed", now)
    return task


def complete(folder: TaskFolder, project: ProjectState, *, seconds: float) -> Task:
    """Approves work that was checked, reviewed and merged."""
    now = clock.now()

    def change(task: Task) -> Task:
        if task["status"] in rules.ENDED_STATUSES:
            return task
        for step in ("in_progress", "needs_review"):  # a merge in git may be newer than the state
            if (task["status"], step) in (("pending", "in_progress"), ("in_progress", "needs_review")):
                task, _ = rules.move(task, step, actor=RUNNER, now=now)
        moved, _ = rules.move(task, "completed", actor=RUNNER, now=now, open_notes=folder.open_notes)
        if rules.is_approved(task):  # a person's approval replaces the run's
            moved["approval"] = task["approval"]
        return {**moved, "result": _accepted_result(task), "duration": round(task.get("duration", 0) + seconds, 3)}

    return _change(folder, project, change)


def count_timeout(folder: TaskFolder, project: ProjectState) -> Task:
    """Counts a retry after a timeout."""

    def change(task: Task) -> Task:
        if task.get("result") != "TIMEOUT":
            return task
        changed: Task = {**task, "retry_count": task.get("retry_count", 0) + 1, "updated_at": clock.now()}
        changed.pop("result", None)
        return changed

    return _change(folder, project, change)


def resubmit(folder: TaskFolder, project: ProjectState) -> Task:
    """Submits work again that its worker had submitted before."""

    def change(task: Task) -> Task:
        return rules.move(task, "needs_review", actor=RUNNER, now=clock.now())[0]

    return _change(folder, project, change)


def has_only_answer(folder: TaskFolder, task: Task) -> bool:
    """Returns whether the only feedback on the last iteration is the answer to a question."""
    if not task["questions"]:
        return False
    last = task["iteration"] - 1
    count = sum(entry["iteration"] == str(last) for entry in log.read_feedback(folder))
    return count == 1 and log.is_repeated_feedback(folder, task["questions"][-1]["answer"], last)


def has_unread_feedback(folder: TaskFolder, task: Task) -> bool:
    """Returns whether a person gave feedback on the present iteration after its worker's last turn began.

    Times have whole seconds, so feedback in the second in which the turn began counts if the turn also ended in it.
    """
    by_people = [
        entry
        for entry in log.read_feedback(folder)
        if entry["iteration"] == str(task["iteration"]) and entry["by"] != RUNNER.name
    ]
    if not by_people or rules.is_approved(task):
        return False
    record = sessions.current(folder, task.get("session_id", ""))
    turns = record.session["turns"] if record is not None else []
    began, ended = (turns[-1]["started_at"], turns[-1].get("ended_at", "~")) if turns else ("", "")
    answers = {answered["answer"].strip() for answered in task["questions"]}
    return any((entry["at"] > began or entry["at"] >= ended) and entry["text"] not in answers for entry in by_people)


def latest_feedback(folder: TaskFolder, task: Task) -> str:
    """Returns the feedback for the present iteration: the findings, and a person's answers to them."""
    texts = [entry["text"] for entry in log.read_feedback(folder) if entry["iteration"] == str(task["iteration"] - 1)]
    return "\n\n".join(dict.fromkeys(reversed(texts)))


def save_output(folder: str, command: str, tail: str) -> None:
    """Saves the end of a failed command's output for the feedback."""
    plain_file.write(_output_path(folder, command), tail)


def output_of(folder: str, command: str) -> str:
    """Returns the end of a command's output at its last failure."""
    return plain_file.read_text(_output_path(folder, command), MOST_FEEDBACK)


def _output_path(folder: str, command: str) -> str:
    return f"{folder}/{hashlib.sha256(command.encode()).hexdigest()[:16]}.tail"


def failed_check_lines(evidence: Evidence, output: str) -> list[str]:
    """Returns the command and the exit code of a failed check, then its output."""
    failed = f"`{evidence['command']}` failed ({exit_text(evidence['exit'])})"
    lines = output.splitlines()
    return [f"{failed}:", *(f"{OUTPUT}{line}" for line in lines)] if lines else [f"{failed}, without output"]


def feedback_text(task: Task, folder: str, reason: str) -> str:
    """Returns all findings about the present iteration, for its worker."""
    lines = [f"Your work on task {task['id']} was not accepted: {reason}."]
    for evidence in task.get("evidence", ()):
        if evidence["iteration"] == task["iteration"] and not evidence["passed"]:
            output = output_of(folder, evidence["command"])
            lines += ["", *failed_check_lines(evidence, output)]
    for review in task.get("reviews", ()):
        if review["iteration"] != task["iteration"]:
            continue
        for finding in review["findings"]:
            location = " ".join(finding[key] for key in ("file", "symbol") if key in finding)
            lines += ["", f"{finding['severity']}: {location + ': ' if location else ''}{finding['text']}"]
    review_feedback = task.get("review_feedback", "")
    if task.get("result") == "RED" and review_feedback:
        lines += ["", review_feedback]
    return "\n".join(lines)[:MOST_FEEDBACK]


def said_again(task_folder: TaskFolder, task: Task, folder: str, text: str) -> str:
    """The failed command of this iteration if the feedback on it, after its first line, is that on the last one.

    A command that printed nothing does not count: nobody can tell whether it failed for the same reason.
    """
    current = [evidence for evidence in task.get("evidence", ()) if evidence["iteration"] == task["iteration"]]
    failing = [evidence["command"] for evidence in current if not evidence["passed"]]
    failed = next((command for command in failing if output_of(folder, command).strip()), "")
    if not failed:
        return ""
    before = [
        entry["text"] for entry in log.read_feedback(task_folder) if entry["iteration"] == str(task["iteration"] - 1)
    ]
    return failed if _body(task_folder.home.redact(text)) in map(_body, before) else ""


def _body(text: str) -> list[str]:
    return without_changing_parts(text.partition("\n")[2]).split()


def create_follow_up(
    home: Home,
    owner: Task | None,
    follows: Follows,
    *,
    role: str,
    depends_on: list[str],
    checks: list[Check],
    description: str,
) -> Task:
    """Creates the task that settles what others found in delivered work, of one owner or of several tasks."""
    now = clock.now()
    with home.lock():
        project = projects.load(home)
        ident = inputs.next_id(folder.id for folder in task_folder.all_folders(home, project))
        about = f"task {owner['id']}" if owner is not None else "the request"
        task: Task = {
            "id": ident,
            "name": f"Follow-up on {about}: {counted(len(follows['findings']), 'finding')}",
            "status": "pending",
            "assigned_agent": role,
            "iteration": 1,
            "priority": "high",
            "depends_on": depends_on,
            "criteria": [],
            "references": [],
            "questions": [],
            "checks": checks,
            "follows": follows,
            "created_at": now,
            "updated_at": now,
        }
        if owner is not None and "protected" in owner:
            task["protected"] = owner["protected"]
        tasks.log_act(home, RUNNER, action="task_create", text=f"task {ident}: {task['name']}", now=now)
        folder = TaskFolder(home, rules.default_phase(project["phases"]), ident)
        text = tasks.description_text(task["name"], description, [])
        tasks.write_task_folder(folder, task, text, project["project_id"])
    return task


def collected_message(task: Task) -> str:
    """Returns the message of the commit that holds a worker's work."""
    return f"{task['name']}\n\nTask {task['id']}, iteration {task['iteration']}"


def _log(folder: TaskFolder, action: str, text: str, now: str) -> None:
    entry = {"timestamp": now, "agent": RUNNER.name, "action": action, "result": "info", "files": [], "text": text}
    log.append(folder.home, folder.log_path, entry)  # type: ignore[arg-type]
