"""Takes one task through a run: work, collect, check, review, and merge after the checks passed on the merged tree."""

from __future__ import annotations

import time
from collections.abc import Sequence

from sow.domain import task as rules
from sow.domain.checks import task_checks
from sow.domain.documents.state import Check, Evidence, Task
from sow.domain.runs import stages
from sow.engine.checks import check_list, concerns, final_checks, setup_plan
from sow.engine.checks.check_list import (
    CheckFolder,
    CheckListResult,
    failed_evidence,
    is_set_up,
    reusable_evidence,
    run_list,
    run_setup,
)
from sow.engine.checks.setup_plan import commit_reader, folder_reader
from sow.engine.runs import work_stage
from sow.engine.runs.run_context import RunContext
from sow.engine.runs.run_job import JobEnd, RunJob
from sow.engine.runs.work_stage import review
from sow.errors import Interrupted, SowError
from sow.executors.adapter import MOST_REFUSALS, Event
from sow.gitwork import collect, repository
from sow.gitwork.integration_branch import Integration, Merge
from sow.gitwork.worktree import EnvironmentProblem
from sow.store.projects import notes, task_folder, task_updates, tasks
from sow.store.projects import project as projects
from sow.store.runs import sessions
from sow.system.process.exit_code import exit_text
from sow.system.process.steps import Steps

BY_HAND = (
    "Or resolve it there yourself and answer then: what you have changed is checked, reviewed and merged as it is."
)
NO_CHANGES = "no changes: the work is the same as the commit that it began with"
OUT = "its last turn is on another host"
MOST_TIMES = 5  # a stage that repeats more often with nothing changed makes no progress
NO_PROGRESS = "this task makes no progress: the same step was done again and again and changed nothing"
NO_PROGRESS_HINT = f"{NO_PROGRESS}. Look at the run's journal and at git in this repository before you answer."


class TaskJob(RunJob):
    """The job of one task."""

    def __init__(self, context: RunContext, task: str) -> None:
        super().__init__(context, task)
        self.project = projects.load(context.home)
        self.folder = task_folder.find(context.home, self.project, task)
        self.remarks: list[str] = []
        self.refused: set[tuple[str, str]] = set()  # tool and command of refused calls that were reported
        self.started = time.monotonic()
        self.last_stage: object = None  # the last stage, with the state that it was read from
        self.repeats = 0  # how often that stage came in a row

    def take_stage(self) -> Steps[JobEnd | None]:
        """Does the work of the task's next stage."""
        task = task_updates.load_trusted(self.folder, self.project)
        stage, reason = ("resume", OUT) if self._is_out(task) else self._stage(task)
        if self._makes_no_progress(task, stage, reason):
            return self.ask(f"{NO_PROGRESS}: {stage} ({reason})", findings=NO_PROGRESS_HINT)
        handlers = {
            "start": self._start,
            "resume": self._resume,
            "check": self._check_collected,
            "review": lambda task: review(self, task),
            "merge": self._merge,
        }
        if stage in handlers:
            return (yield from handlers[stage](task))
        if stage == "hand_in":
            self._hand_in(task, reason)
        elif stage == "collect":
            self._collect(task)
        elif stage == "waive":
            final_checks.waive(self, task)
        elif stage == "send_back":
            return self._send_back(task, reason)
        elif stage != "wait" or not self._is_answered(task):
            return self._end(task, stage, reason)
        return None

    def _is_out(self, task: Task) -> bool:
        """Tells whether the last turn is on another host, or a killed run did not take all of its result over."""
        record = sessions.current(self.folder, task.get("session_id", "")) if self.context.turns.is_remote else None
        return record is not None and record.is_out

    def _is_answered(self, task: Task) -> bool:
        """Answers the worker's question from a saved answer, unless it repeats or two people's wishes conflict."""
        question = task.get("question")
        if question is None or stages.times_asked(task) >= stages.LOOP:
            return False
        own_notes = notes.load_notes(self.folder)
        if any(note["status"] == "escalated" and note.get("category") == "conflict" for note in own_notes):
            return False
        return self.answer_from_saved(
            question["text"],
            question["number"],
            lambda answer, actor: tasks.answer(self.context.home, self.id, answer, actor=actor),
        )

    def _makes_no_progress(self, task: Task, stage: str, reason: str) -> bool:
        """Tells whether the same stage repeats although nothing changed; only a person can end such a loop."""
        head = self.context.isolation.integration.head if self.context.isolation is not None else ""
        current = (stage, reason, head, {**task, "updated_at": ""})
        self.repeats = self.repeats + 1 if current == self.last_stage else 1
        self.last_stage = current
        return self.repeats > MOST_TIMES

    def seconds(self) -> float:
        """Returns how long this job has run."""
        return time.monotonic() - self.started

    def _stage(self, task: Task) -> tuple[str, str]:
        context = self.context
        return stages.next_stage(
            task,
            merged=context.isolation.integration.merged_work() if context.isolation is not None else {},
            reviewers=len(context.reviewers()),
            retries=context.settings["retries"],
            isolated=context.isolation is not None,
            only_answered=task["status"] == "in_progress" and task_updates.has_only_answer(self.folder, task),
            resolved=task["status"] == "in_progress" and self._is_resolved(task),
            unread=task["status"] == "needs_review" and task_updates.has_unread_feedback(self.folder, task),
            broke=final_checks.broken_by(context, task) if task["status"] == "needs_review" else (),
        )

    def _is_resolved(self, task: Task) -> bool:
        """Tells whether a person resolved in the worktree what no worker could."""
        isolation = self.context.isolation
        return isolation is not None and collect.changed_by_person(isolation.repository, self.folder, task)

    def _hand_in(self, task: Task, reason: str) -> None:
        """Hands in work that needs no worker any more, so that it is checked and reviewed."""
        self.context.progress(self.id, reason)
        if self.context.isolation is not None:
            collect.commit_resolved_merge(self.context.isolation.repository, task)
        task_updates.resubmit(self.folder, self.project)

    def _end(self, task: Task, stage: str, reason: str) -> JobEnd:
        """Ends the job at a stage at which nobody works: the task is done, has failed, or asks."""
        if stage == "done":
            if task["status"] != "completed":
                task_updates.complete(self.folder, self.project, seconds=self.seconds())
            if self.context.isolation is not None:
                refused = self.context.isolation.worktrees.remove(self.id)
                if refused is not None:
                    self.context.progress(self.id, f"its worktree stays: {refused.reason}"[:200])
            return JobEnd("completed")
        if stage == "ask":
            return self._ask_about(task, reason)
        if stage == "wait":
            return JobEnd("asking", reason=reason)
        if task["status"] == "failed":
            task_updates.set_fields(self.folder, self.project, result=task.get("result", "FAILED"))
        elif task["status"] in rules.OPEN_STATUSES:
            task_updates.fail(self.folder, self.project, reason)
        return JobEnd("abandoned" if task["status"] == "abandoned" else "failed", reason=reason)

    def _ask_about(self, task: Task, reason: str) -> JobEnd:
        """Asks a person about checked work; the person can also do the merge in its worktree."""
        feedback = task_updates.feedback_text(task, self.context.checks_folder(self.id), reason)
        evidence = [entry for entry in task.get("evidence", ()) if entry["iteration"] == task["iteration"]]
        if reason.startswith(stages.FINAL):
            return self.ask(reason, findings=feedback, outcome=final_checks.CHOICES)
        if self.context.isolation is None:
            return self.ask(reason, findings=feedback)
        if not reason.startswith(stages.UNMERGEABLE):
            fails = "work" in task and not all(entry["passed"] for entry in evidence)
            read = commit_reader(self.context.home.root, task["work"]["tree"]) if fails else None
            return self.ask(reason, findings=feedback, more=self.context.setups.refusal(read) if read else "")
        collect.record_worktree(self.context.isolation.repository, self.folder, task)
        return self.ask(reason, findings=feedback, more=BY_HAND)

    def ask(
        self, text: str, *, findings: str = "", more: str = "", outcome: str = "", evidence: Sequence[Evidence] = ()
    ) -> JobEnd:
        """Asks a person and ends the job."""
        facts = {"findings": findings, "more": more, "outcome": outcome}
        number = task_updates.ask(self.folder, self.project, text, **facts, evidence=evidence)
        self.context.journal("question", task=self.id, number=number, text=text)
        return JobEnd("asking", reason=text)

    def _start(self, task: Task) -> Steps[JobEnd | None]:
        """Starts a new session in a prepared worktree, if what the work builds on is there."""
        if not (yield from self._make_ready(fresh=True)):
            return JobEnd("stopped")
        ended = yield from self._dependency_checks(task)
        return (yield from work_stage.spawn_worker(self, task)) if ended is None else ended

    def _resume(self, task: Task) -> Steps[JobEnd | None]:
        if not (yield from self._make_ready()):
            return JobEnd("stopped")
        return (yield from work_stage.resume_worker(self, task))

    def on_worker_event(self, event: Event) -> None:
        """Shows the last line of the worker's output, and reports each refused command once."""
        if event.kind != "refused":
            self.context.listener(self.id)(event)
            return
        key = (event.tool, event.command)
        if key not in self.refused and len(self.refused) < MOST_REFUSALS:
            self.refused.add(key)
            facts = {"tool": event.tool, "command": event.command, "reason": event.text}
            self.context.journal("refused", task=self.id, **facts)

    def concern(self, kind: str, text: str) -> None:
        """Records a fact that keeps the result from being GREEN without a review, and tells it once."""
        before = task_updates.load_trusted(self.folder, self.project)
        after = task_updates.add_concern(self.folder, self.project, kind, text)
        if after.get("concerns") != before.get("concerns"):
            self.context.journal("concern", task=self.id, iteration=after["iteration"], kind=kind, text=text)

    def _make_ready(self, *, fresh: bool = False) -> Steps[bool]:
        """Prepares the worktree of the task and sets it up; with `fresh` nothing of earlier work stays.

        Another machine sets up its own one. Returns False if a person stopped it.
        """
        isolation = self.context.isolation
        task = task_updates.load_trusted(self.folder, self.project)
        if isolation is None:
            concerns.record_unchecked_paths(self, task)
            return True
        isolation.worktrees.prepare(self.id, isolation.integration.head, fresh=fresh)
        return self.context.turns.is_remote or (yield from self.set_up(task))

    def set_up(self, task: Task) -> Steps[bool]:
        """Runs the set-up of the prepared worktree; returns False if a person stopped it."""
        isolation, folder = self.context.isolation, self.context.folder_of(self.id)
        if isolation is None:
            return True
        setup = self.context.setups.setup_for(folder_reader(folder))
        setup_files = setup.as_settings()
        environment = setup.environment(folder, setting_up=True)
        check_folder = CheckFolder(self.context, folder, environment, self.id, task["iteration"], "")
        try:
            yield from run_setup(check_folder, isolation.worktrees.install_setup_files(self.id, setup_files))
        except Interrupted:
            return False
        isolation.worktrees.record_setup(self.id, setup_files)
        setup_plan.are_imports_accepted(
            self.context, setup, (check["command"] for check in task.get("checks", ())), folder
        )
        return True

    def _dependency_checks(self, task: Task) -> Steps[JobEnd | None]:
        """Checks in the worktree what the plan requires before the work begins."""
        cwd = self.context.folder_of(self.id)
        environment = self.context.check_environment(cwd)
        check_folder = CheckFolder(self.context, cwd, environment, self.id, task["iteration"], "")
        for check in task.get("checks", ()):
            if check["kind"] != "dependency":
                continue
            try:
                ran = yield from check_folder.run(check)
            except Interrupted:
                return JobEnd("stopped")
            if not ran.evidence["passed"]:
                reason = f"what the task builds on is not there: {check['command']} ({exit_text(ran.evidence['exit'])})"
                return self.ask(f"{reason}\n{ran.tail}".strip())
        return None

    def _collect(self, task: Task) -> None:
        """Collects what the worker left into one commit and pins it."""
        isolation = self.context.isolation
        if isolation is None:
            return
        isolation.adopt_earlier_work(self.id)
        if rules.is_approved(task):  # the person may have resolved a conflict there
            collect.commit_resolved_merge(isolation.repository, task)
        base = isolation.base_of(self.id)
        collected = isolation.worktrees.collect(self.id, task["iteration"], task_updates.collected_message(task), base)
        self.remarks += collected.remarks
        # Concerns come before the work is recorded, because only then does a crash repeat this stage.
        if not collected.paths and not task.get("allow_empty"):
            self.concern("no_changes", NO_CHANGES)
        concerns.record_change_concerns(self, task, collected)
        work = {
            "iteration": task["iteration"],
            "base": collected.base,
            "commit": collected.commit,
            "tree": collected.tree,
        }
        task_updates.set_fields(self.folder, self.project, work=work)
        facts = {"commit": collected.commit, "files": len(collected.paths), "remarks": collected.remarks}
        self.context.journal("collected", task=self.id, iteration=task["iteration"], **facts)

    def _check_collected(self, task: Task) -> Steps[JobEnd | None]:
        """Runs the whole list on the collected commit, so that the worker gets all results at once.

        If it passes, the lists that an earlier merge of this task broke run too.
        """
        checks = task_checks.checks_of(task)
        check_list.settle_network(self.context, task)
        yield from self.context.baselines.wait_for(self.context, checks)
        if self.context.stopping:
            return JobEnd("stopped")
        work = task["work"] if self.context.isolation is not None else None
        commit, tree = (work["commit"], work["tree"]) if work else ("", "")
        evidence: list[Evidence] = []
        broken_lists = [(broken, "final") for broken, _ in final_checks.broken_by(self.context, task)]
        for current, kind in [(checks, ""), *broken_lists]:
            try:
                result = yield from self.run_list(task, current, commit, tree, kind)
            except EnvironmentProblem:
                self.context.baselines.forget(self.context, checks)
                raise
            if result.interrupted:
                return JobEnd("stopped")
            evidence += result.evidence
            if not result.passed:
                break
        task = task_updates.load_trusted(self.folder, self.project)
        if not (yield from concerns.record_test_concerns(self, task, evidence)):
            return JobEnd("stopped")
        task_updates.add_evidence(self.folder, self.project, evidence)
        return None

    def run_list(
        self, task: Task, checks: Sequence[Check], commit: str, tree: str, kind: str
    ) -> Steps[CheckListResult]:
        """Runs a list, and saves the output of what failed before its evidence, with which no list runs again."""
        context, iteration = self.context, task["iteration"]
        # After a merge this machine repeats them, because it decides what is merged.
        result = None if kind or not commit else (yield from context.turns.check(self, checks, commit, tree, iteration))
        if result is None:
            result = yield from run_list(
                context, checks, commit=commit, tree=tree, iteration=iteration, name=self.id, kind=kind
            )
        if not result.interrupted:
            for command in (entry["command"] for entry in result.evidence if not entry["passed"]):
                task_updates.save_output(context.checks_folder(self.id), command, result.tails[command])
            if result.imports_outside:
                setup_plan.record_import_concern(self.folder, self.project)
        return result

    def _send_back(self, task: Task, reason: str) -> JobEnd | None:
        """Sends the work back to its session with all feedback, or asks if a check fails with the same output again."""
        folder = self.context.checks_folder(self.id)
        text = task_updates.feedback_text(task, folder, reason)
        by_review = not reason.startswith((stages.UNMERGEABLE, stages.FEEDBACK))
        same = task_updates.said_again(self.folder, task, folder, text) if by_review else ""
        if same:
            why = reason if reason.startswith(stages.FINAL) else f"{stages.SAME}`{same}` fails"
            return self._ask_about(task, f"{why} with the same output")
        task_updates.send_back(self.folder, self.project, text, counts=by_review)
        self.context.journal("sent_back", task=self.id, iteration=task["iteration"], reason=reason)
        return None

    def _merge(self, task: Task) -> Steps[JobEnd | None]:
        """Merges into the integration branch, one task at a time, after the checks passed on the result.

        A conflict or a failed check becomes evidence and sends the task back.
        """
        if self.context.isolation is None:
            return None
        queue = self.context.merge_queue  # the head must not move between the try and the advance
        if queue.holder:
            self.context.progress(self.id, "waits for the merge queue")
        try:
            if (yield from queue.hold(self.context, self.id)):
                self.context.reset_moved_branch()
                yield from _merge(self, task, self.context.isolation.integration)
        finally:
            queue.release(self.id)
        return None


def _merge(job: TaskJob, task: Task, integration: Integration) -> Steps[None]:
    """Tries the merge, check it and record it."""
    work = task["work"]["commit"]
    tried = integration.try_merge(job.id, task["iteration"], work, _message(job, task))
    if tried.conflicts:
        _conflict(job, task, tried, integration.branch)
    elif (yield from _check_merged(job, task, tried)) and not task_updates.has_unread_feedback(job.folder, task):
        integration.record_merge(tried, task=job.id, iteration=task["iteration"], work=work)
        empty = not repository.changed_paths(integration.repository, task["work"]["base"], work)
        facts = {"commit": tried.commit, **({"empty": True} if empty else {})}
        job.context.journal("merged", task=job.id, iteration=task["iteration"], **facts)


def _message(job: TaskJob, task: Task) -> str:
    try:
        description = job.folder.home.read(job.folder.description_path)
    except (FileNotFoundError, SowError):  # the message is for people, so the name alone is enough
        description = ""
    return delivered_message(task, description)


def _check_merged(job: TaskJob, task: Task, tried: Merge) -> Steps[bool]:
    """Runs the task's check list on the merged tree, and the lists that an earlier merge of the task broke."""
    own = task_checks.checks_of(task)
    for checks in (own, *(broken for broken, _ in final_checks.broken_by(job.context, task))):
        if checks and not (yield from _check_merged_list(job, task, tried, checks)):
            return False
    if own and not is_set_up(job.context, tried.tree):  # else the final checks repeat it in a fresh environment
        job.context.passed_lists.add((tried.tree, task_checks.digest(own)))
    return True


def _check_merged_list(job: TaskJob, task: Task, tried: Merge, checks: list[Check]) -> Steps[bool]:
    """Runs a list on the merged tree, unless the whole list passed on an equal tree already."""
    earlier = reusable_evidence(job.context, task.get("evidence", ()), checks, tried.tree)
    if earlier:
        evidence: list[Evidence] = [{**entry, "kind": "merge", "iteration": task["iteration"]} for entry in earlier]
        task_updates.add_evidence(job.folder, job.project, evidence)
        return True
    result = yield from job.run_list(task, checks, tried.commit, tried.tree, "merge")
    if result.interrupted:
        return False
    task_updates.add_evidence(job.folder, job.project, result.evidence)
    return result.passed


def _conflict(job: TaskJob, task: Task, tried: Merge, branch: str) -> None:
    """Records a conflict like a failed check, with advice how to resolve it."""
    evidence = failed_evidence("merge", "git merge", task["iteration"])
    conflicts = "\n".join(tried.messages or tried.conflicts)
    advice = f"Merge the branch {branch} (what other tasks did) into yours, resolve what conflicts so that both sides\n"
    advice += "keep what they are for, and run the tests of both."
    task_updates.save_output(job.context.checks_folder(job.id), "git merge", f"{conflicts}\n{advice}")
    task_updates.add_evidence(job.folder, job.project, [evidence])
    job.context.journal("conflict", task=job.id, paths=list(tried.conflicts))


LONGEST = 72
MOST_ASKED = 600


def commit_subject(name: str) -> str:
    """Returns the task's name as a subject line of at most 72 characters, cut at a word."""
    line = " ".join(name.split())
    if len(line) <= LONGEST:
        return line
    cut = line[: LONGEST - 1].rpartition(" ")[0] or line[: LONGEST - 1]
    return f"{cut.rstrip(' ,;:.-')}…"


def delivered_message(task: Task, description: str) -> str:
    """Returns a message of the subject, a short description, and the task's id and iteration."""
    body = _wrapped(_first_paragraph(description, task["name"]))
    parts = [commit_subject(task["name"]), body, f"Task {task['id']}, iteration {task['iteration']}"]
    return "\n\n".join(part for part in parts if part)


def _first_paragraph(description: str, name: str) -> str:
    """Returns the first paragraph of a description that is not a heading, list or block, and is not just the name."""
    for block in description.split("\n\n"):
        text = " ".join(block.split())
        if text and text != name and not block.lstrip().startswith(("#", "-", "*", "`", ">", "|", "1.")):
            return text if len(text) <= MOST_ASKED else f"{text[:MOST_ASKED].rpartition(' ')[0]} …"
    return ""


def _wrapped(text: str) -> str:
    """Wraps a text at 72 characters. A longer word has a line of its own."""
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= LONGEST:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)
