"""Takes one task through a run: work, collect, check, review, merge; each stage is read from disk.

A job is a generator that never ends in the middle of a write. If it is killed, the next run reads the stage again.
"""

from __future__ import annotations

import time

from sow.domain import check_list
from sow.domain import stage as stages
from sow.domain import task as rules
from sow.engine import asked, doubts, final_checks, outside_imports, standing_answer, work_turn
from sow.engine.check_list import Room, run_list, run_setup
from sow.engine.checking import run_check as run_command
from sow.engine.ended import Ended
from sow.engine.merge_turn import merge
from sow.engine.place import EnvironmentProblem
from sow.engine.review_turn import review
from sow.engine.setup_plan import reader_at, reader_of
from sow.errors import Interrupted
from sow.executors.story import MOST_REFUSALS
from sow.store import desk as desks
from sow.store import project as projects
from sow.store import run_acts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.domain.shapes import Check, Evidence, Task
    from sow.engine.check_list import ListRun
    from sow.engine.checking import Ran
    from sow.engine.ship import Ship
    from sow.engine.steps import Steps
    from sow.executors.story import Event

BY_HAND = (
    "Or resolve it there yourself and answer then: what you have changed is checked, reviewed and merged as it is."
)
NO_CHANGES = "no changes: the work is the same as the commit that it began with"
MOST_TIMES = 5  # a stage that repeats more often with nothing changed makes no progress
STILL = "this task makes no progress: the same step was done again and again and changed nothing"
STILL_MORE = f"{STILL}. Look at the run's journal and at git in this repository before you answer."


class TaskJob:
    """The job of one task."""

    __slots__ = ("desk", "id", "project", "refused", "remarks", "seen", "ship", "started", "times")

    def __init__(self, ship: Ship, task: str) -> None:
        self.ship = ship
        self.id = task
        self.project = projects.load(ship.home)
        self.desk = desks.find(ship.home, self.project, task)
        self.remarks: list[str] = []
        self.refused: set[tuple[str, str]] = set()  # tool and command of refused calls that were reported
        self.started = time.monotonic()
        self.seen: object = None  # the last stage, with the state that it was read from
        self.times = 0  # how often that stage came in a row

    def steps(self) -> Steps[Ended]:
        """Run stage after stage until the task is done, waits for somebody, or cannot continue."""
        handlers = {
            "start": self._start,
            "resume": self._resume,
            "check": self._check,
            "review": self._review,
            "merge": self._merge,
        }
        while not self.ship.stopping:
            task = run_acts.look(self.desk, self.project)
            stage, reason = self._stage(task)
            if self._stands_still(task, stage, reason):
                return self.ask(f"{STILL}: {stage} ({reason})", found=STILL_MORE)
            if stage in handlers:
                ended = yield from handlers[stage](task)
                if ended is not None:
                    return ended
            elif stage == "hand_in":
                self._hand_in(reason)
            elif stage == "collect":
                self._collect(task)
            elif stage == "waive":
                final_checks.waive(self, task)
            elif stage == "send_back":
                ended = self._send_back(task, reason)
                if ended is not None:
                    return ended
            elif stage == "wait" and standing_answer.settle(self.ship, self.desk, task):
                continue
            else:
                return self._end(task, stage, reason)
        return Ended("stopped")

    def _stands_still(self, task: Task, stage: str, reason: str) -> bool:
        """Tell whether the same stage repeats although nothing changed; only a person can end such a loop."""
        head = self.ship.isolation.integration.head if self.ship.isolation is not None else ""
        current = (stage, reason, head, {**task, "updated_at": ""})
        self.times = self.times + 1 if current == self.seen else 1
        self.seen = current
        return self.times > MOST_TIMES

    def seconds(self) -> float:
        """Return how long this job has run."""
        return time.monotonic() - self.started

    def _stage(self, task: Task) -> tuple[str, str]:
        ship = self.ship
        return stages.next_stage(
            task,
            merged=ship.isolation.integration.merged() if ship.isolation is not None else {},
            reviewers=len(ship.reviewers()),
            retries=ship.settings["retries"],
            isolated=ship.isolation is not None,
            only_answered=task["status"] == "in_progress" and run_acts.only_answered(self.desk, task),
            resolved=task["status"] == "in_progress" and self._is_resolved(task),
            broke=final_checks.broken_by(ship, task) if task["status"] == "needs_review" else (),
        )

    def _is_resolved(self, task: Task) -> bool:
        """Tell whether a person resolved in the worktree what no worker could."""
        isolation = self.ship.isolation
        return isolation is not None and asked.has_changed(isolation.worktrees.repository, self.desk, task)

    def _hand_in(self, reason: str) -> None:
        """Hand in work that needs no worker any more, so that it is checked and reviewed."""
        self.ship.step(self.id, reason)
        if self.ship.isolation is not None:
            asked.conclude(self.ship.isolation.worktrees.repository, self.id)
        run_acts.hand_in(self.desk, self.project)

    def _end(self, task: Task, stage: str, reason: str) -> Ended:
        """End the job at a stage at which nobody works: the task is done, has failed, or asks."""
        if stage == "done":
            if task["status"] != "completed":
                run_acts.complete(self.desk, self.project, seconds=self.seconds())
            if self.ship.isolation is not None:
                refused = self.ship.isolation.worktrees.remove(self.id)
                if refused is not None:
                    self.ship.step(self.id, f"its worktree stays: {refused.reason}"[:200])
            return Ended("completed")
        if stage == "ask":
            return self._ask_about(task, reason)
        if stage == "wait":
            return Ended("asking", reason=reason)
        if task["status"] == "failed":
            run_acts.set_fields(self.desk, self.project, result=task.get("result", "FAILED"))
        elif task["status"] in rules.OPEN_STATUSES:
            run_acts.fail(self.desk, self.project, reason)
        return Ended("abandoned" if task["status"] == "abandoned" else "failed", reason=reason)

    def _ask_about(self, task: Task, reason: str) -> Ended:
        """Ask a person about checked work; the person can also do the merge in its worktree."""
        feedback = run_acts.feedback_text(task, self.ship.checks_folder(self.id), reason)
        evidence = [entry for entry in task.get("evidence", ()) if entry["iteration"] == task["iteration"]]
        if reason.startswith(stages.FINAL):
            failed = [entry for entry in evidence if entry["kind"] == "final" and not entry["passed"]]
            return self.ask(reason, found=feedback, outcome=final_checks.CHOICES, evidence=failed)
        if self.ship.isolation is None:
            return self.ask(reason, found=feedback)
        if not reason.startswith(stages.UNMERGEABLE):
            fails = "work" in task and not all(entry["passed"] for entry in evidence)
            read = reader_at(self.ship.home.root, task["work"]["tree"]) if fails else None
            return self.ask(reason, found=feedback, more=self.ship.setups.refusal(read) if read else "")
        asked.remember(self.ship.isolation.worktrees.repository, self.desk, task)
        return self.ask(reason, found=feedback, more=BY_HAND)

    def ask(
        self, text: str, *, found: str = "", more: str = "", outcome: str = "", evidence: Sequence[Evidence] = ()
    ) -> Ended:
        """Ask a person and end the job."""
        facts = {"found": found, "more": more, "outcome": outcome}
        number = run_acts.ask(self.desk, self.project, text, **facts, evidence=evidence)
        self.ship.tell("question", task=self.id, number=number, text=text)
        return Ended("asking", reason=text)

    def _start(self, task: Task) -> Steps[Ended | None]:
        """Start a new session in a prepared worktree, if what the work builds on is there."""
        if not (yield from self._make_ready(fresh=True)):
            return Ended("stopped")
        ended = yield from self._dependency_checks(task)
        return (yield from work_turn.begin(self, task)) if ended is None else ended

    def _resume(self, task: Task) -> Steps[Ended | None]:
        if not (yield from self._make_ready()):
            return Ended("stopped")
        return (yield from work_turn.go_on(self, task))

    def hear(self, event: Event) -> None:
        """Show the last line of an agent's output in the run; all of it is in the transcript."""
        if event.kind in ("tool", "text") and event.text:
            self.ship.step(self.id, event.text.strip().split("\n")[0][:120])

    def hear_worker(self, event: Event) -> None:
        """Do the same for the worker, and report each refused command once."""
        if event.kind != "refused":
            self.hear(event)
            return
        key = (event.tool, event.command)
        if key not in self.refused and len(self.refused) < MOST_REFUSALS:
            self.refused.add(key)
            facts = {"tool": event.tool, "command": event.command, "reason": event.text}
            self.ship.tell("refused", task=self.id, **facts)

    def concern(self, kind: str, text: str) -> None:
        """Record a fact that keeps the result from being GREEN without a review, and tell it once."""
        before = run_acts.look(self.desk, self.project)
        after = run_acts.add_concern(self.desk, self.project, kind, text)
        if after.get("concerns") != before.get("concerns"):
            self.ship.tell("concern", task=self.id, iteration=after["iteration"], kind=kind, text=text)

    def _make_ready(self, *, fresh: bool = False) -> Steps[bool]:
        """Prepare the worktree of the task and set it up; with `fresh` nothing of an earlier try stays.

        Returns False if a person stopped it.
        """
        isolation = self.ship.isolation
        task = run_acts.look(self.desk, self.project)
        if isolation is None:
            doubts.without_worktrees(self, task)
            return True
        folder = isolation.worktrees.prepare(self.id, isolation.integration.head, fresh=fresh)
        setup = self.ship.setups.of(reader_of(folder))
        setup_files = setup.furniture()
        environment = setup.environment(folder, setting_up=True)
        room = Room(self.ship, folder, environment, self.id, task["iteration"], "")
        try:
            yield from run_setup(room, isolation.worktrees.furnish(self.id, setup_files))
        except Interrupted:
            return False
        isolation.worktrees.furnished(self.id, setup_files)
        outside_imports.are_accepted(self.ship, setup, (check["command"] for check in task.get("checks", ())), folder)
        return True

    def _dependency_checks(self, task: Task) -> Steps[Ended | None]:
        """Check in the worktree what the plan requires before the work begins."""
        for check in task.get("checks", ()):
            if check["kind"] != "dependency":
                continue
            ran = yield from self.run_check(check, self.ship.folder_of(self.id), "")
            if ran.interrupted:
                return Ended("stopped")
            if not ran.evidence["passed"]:
                reason = f"what the task builds on is not there: {check['command']} (exit {ran.evidence['exit']})"
                return self.ask(f"{reason}\n{ran.tail}".strip())
        return None

    def _collect(self, task: Task) -> None:
        """Collect what the worker left into one commit and pin it."""
        isolation = self.ship.isolation
        if isolation is None:
            return
        isolation.take_over(self.id)
        base = isolation.base_of(self.id)
        collected = isolation.worktrees.collect(self.id, task["iteration"], run_acts.commit_message(task), base)
        self.remarks += collected.remarks
        # Concerns come before the work is recorded, because only then does a crash repeat this stage.
        if not collected.paths and not task.get("allow_empty"):
            self.concern("no_changes", NO_CHANGES)
        doubts.about_changes(self, task, collected)
        work = {
            "iteration": task["iteration"],
            "base": collected.base,
            "commit": collected.commit,
            "tree": collected.tree,
        }
        run_acts.set_fields(self.desk, self.project, work=work)
        facts = {"commit": collected.commit, "files": len(collected.paths), "remarks": collected.remarks}
        self.ship.tell("collected", task=self.id, iteration=task["iteration"], **facts)

    def _check(self, task: Task) -> Steps[Ended | None]:
        """Run the whole list on the collected commit, so that the worker gets all results at once.

        If it passes, the lists that an earlier merge of this task broke run too.
        """
        checks = check_list.of_task(task)
        yield from self.ship.baselines.wait_for(self.ship, checks)
        if self.ship.stopping:
            return Ended("stopped")
        work = task["work"] if self.ship.isolation is not None else None
        evidence: list[Evidence] = []
        imports_outside = False
        broken_lists = [(broken, "final") for broken, _ in final_checks.broken_by(self.ship, task)]
        for current, kind in [(checks, ""), *broken_lists]:
            try:
                result = yield from run_list(
                    self.ship,
                    current,
                    commit=work["commit"] if work else "",
                    tree=work["tree"] if work else "",
                    iteration=task["iteration"],
                    name=self.id,
                    kind=kind,
                )
            except EnvironmentProblem:
                self.ship.baselines.forget(self.ship, checks)
                raise
            if result.interrupted:
                return Ended("stopped")
            evidence += result.evidence
            imports_outside = imports_outside or result.imports_outside
            self.keep_outputs(result)
            if not result.passed:
                break
        if not (yield from doubts.about_tests(self, run_acts.look(self.desk, self.project), evidence)):
            return Ended("stopped")
        run_acts.add_evidence(self.desk, self.project, evidence)
        if imports_outside:
            outside_imports.note(self.desk, self.project)
        return None

    def keep_outputs(self, result: ListRun) -> None:
        """Save the output of failed commands before their evidence, because a list with evidence is not run again."""
        for entry in result.evidence:
            if not entry["passed"]:
                run_acts.keep_output(self.ship.checks_folder(self.id), entry["command"], result.tails[entry["command"]])

    def run_check(self, check: Check, cwd: str, tree: str) -> Steps[Ran]:
        """Run one command of the plan and report its result."""
        ship = self.ship
        ship.step(self.id, f"running {check['command']}"[:120])
        ran = yield from run_command(
            check,
            agreed=ship.agreed,
            iteration=run_acts.look(self.desk, self.project)["iteration"],
            tree=tree,
            cwd=cwd,
            folder=ship.checks_folder(self.id),
            environment=ship.check_environment(cwd),
            limits=ship.check_limits(),
        )
        facts = {key: ran.evidence[key] for key in ("kind", "command", "exit", "seconds", "passed", "iteration")}
        ship.tell("check", task=self.id, **facts)
        return ran

    def _review(self, task: Task) -> Steps[Ended | None]:
        return (yield from review(self, task))

    def _send_back(self, task: Task, reason: str) -> Ended | None:
        """Send the work back to its session with all feedback, or ask if a check fails with the same output again."""
        folder = self.ship.checks_folder(self.id)
        text = run_acts.feedback_text(task, folder, reason)
        by_review = not reason.startswith(stages.UNMERGEABLE)
        same = run_acts.said_again(self.desk, task, folder, text) if by_review else ""
        if same:
            why = reason if reason.startswith(stages.FINAL) else f"{stages.SAME}`{same}` fails"
            return self._ask_about(task, f"{why} with the same output")
        run_acts.send_back(self.desk, self.project, text, counts=by_review)
        self.ship.tell("sent_back", task=self.id, iteration=task["iteration"], reason=reason)
        return None

    def _merge(self, task: Task) -> Steps[Ended | None]:
        """Merge into the integration branch, after the checks passed on the result; one task at a time."""
        if self.ship.isolation is not None:
            yield from merge(self, task, self.ship.isolation.integration)
        return None
