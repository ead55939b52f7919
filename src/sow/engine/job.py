"""One task through a run: worked on, collected, checked, reviewed, merged; each stage is read from what is on disk.

A job is a generator that never ends in the middle of a write: killed anywhere, the next run asks for the stage again.
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
from sow.engine.setup_plan import reader_of
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
MOST_TIMES = 5  # a stage that comes more often in a row, with nothing changed, makes no progress
STILL = "this task makes no progress: the same step was done again and again and changed nothing"
STILL_MORE = f"{STILL}. Look at the run's journal and at git in this repository before you answer."


class TaskJob:
    """The way of one task."""

    __slots__ = ("desk", "id", "project", "refused", "remarks", "seen", "ship", "started", "times")

    def __init__(self, ship: Ship, task: str) -> None:
        self.ship = ship
        self.id = task
        self.project = projects.load(ship.home)
        self.desk = desks.find(ship.home, self.project, task)
        self.remarks: list[str] = []
        self.refused: set[tuple[str, str]] = set()  # tool and command of refused calls that were told
        self.started = time.monotonic()
        self.seen: object = None  # the last stage, with the state that it was read from
        self.times = 0  # how often that came in a row

    def steps(self) -> Steps[Ended]:
        """Stage after stage until the task is done, waits for somebody, or cannot go on."""
        ways = {
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
            if stage in ways:
                ended = yield from ways[stage](task)
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
        """Whether the same stage comes again and again although nothing changed: a loop that only a person ends."""
        head = self.ship.isolation.integration.head if self.ship.isolation is not None else ""
        now = (stage, reason, head, {**task, "updated_at": ""})
        self.times = self.times + 1 if now == self.seen else 1
        self.seen = now
        return self.times > MOST_TIMES

    def seconds(self) -> float:
        """How long this job has been on its way."""
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
        """Whether a person has done what no worker could, in the worktree."""
        isolation = self.ship.isolation
        return isolation is not None and asked.has_changed(isolation.worktrees.repository, self.desk, task)

    def _hand_in(self, reason: str) -> None:
        """Work that no worker has to do any more goes on to be judged."""
        self.ship.step(self.id, reason)
        if self.ship.isolation is not None:
            asked.conclude(self.ship.isolation.worktrees.repository, self.id)
        run_acts.hand_in(self.desk, self.project)

    def _end(self, task: Task, stage: str, reason: str) -> Ended:
        """A stage at which nobody works: the task is done, has failed, or asks."""
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
        """Leave work that was judged to a person, who can also do the merge in its worktree."""
        found = run_acts.feedback_text(task, self.ship.checks_folder(self.id), reason)
        if reason.startswith(stages.FINAL):
            now = [each for each in task["evidence"] if each["iteration"] == task["iteration"]]
            failed = [each for each in now if each["kind"] == "final" and not each["passed"]]
            return self.ask(reason, found=found, outcome=final_checks.CHOICES, evidence=failed)
        if self.ship.isolation is None or not reason.startswith(stages.UNMERGEABLE):
            return self.ask(reason, found=found)
        asked.remember(self.ship.isolation.worktrees.repository, self.desk, task)
        return self.ask(reason, found=found, more=BY_HAND)

    def ask(
        self, text: str, *, found: str = "", more: str = "", outcome: str = "", evidence: Sequence[Evidence] = ()
    ) -> Ended:
        """Leave the rest to a person."""
        facts = {"found": found, "more": more, "outcome": outcome}
        number = run_acts.ask(self.desk, self.project, text, **facts, evidence=evidence)
        self.ship.tell("question", task=self.id, number=number, text=text)
        return Ended("asking", reason=text)

    def _start(self, task: Task) -> Steps[Ended | None]:
        """A new session in a worktree that is ready for it, if what the work builds on is there."""
        if not (yield from self._make_ready(fresh=True)):
            return Ended("stopped")
        ended = yield from self._dependency_checks(task)
        return (yield from work_turn.begin(self, task)) if ended is None else ended

    def _resume(self, task: Task) -> Steps[Ended | None]:
        if not (yield from self._make_ready()):
            return Ended("stopped")
        return (yield from work_turn.go_on(self, task))

    def hear(self, event: Event) -> None:
        """What an agent says is in its transcript; the run shows the last of it."""
        if event.kind in ("tool", "text") and event.text:
            self.ship.step(self.id, event.text.strip().split("\n")[0][:120])

    def hear_worker(self, event: Event) -> None:
        """The same for the worker; each refused command is told once."""
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
        wanted = setup.furniture()
        environment = setup.environment(folder, setting_up=True)
        room = Room(self.ship, folder, environment, self.id, task["iteration"], "")
        try:
            yield from run_setup(room, isolation.worktrees.furnish(self.id, wanted))
        except Interrupted:
            return False
        isolation.worktrees.furnished(self.id, wanted)
        outside_imports.require_none(self.ship, setup, (each["command"] for each in task.get("checks", ())), folder)
        return True

    def _dependency_checks(self, task: Task) -> Steps[Ended | None]:
        """What the plan wants to hold before the work begins, looked at where the work will be done."""
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
        """What the worker left, as one commit that nothing can lose."""
        isolation = self.ship.isolation
        if isolation is None:
            return
        isolation.take_over(self.id)
        base = isolation.base_of(self.id)
        found = isolation.worktrees.collect(self.id, task["iteration"], run_acts.commit_message(task), base)
        self.remarks += found.remarks
        if not found.paths and not task.get("allow_empty"):  # before the work is recorded: a crash repeats this stage
            self.concern("no_changes", NO_CHANGES)
        doubts.about_changes(self, task, found)  # before the work is recorded: a crash repeats this stage
        left = {"iteration": task["iteration"], "base": found.base, "commit": found.commit, "tree": found.tree}
        run_acts.set_fields(self.desk, self.project, work=left)
        facts = {"commit": found.commit, "files": len(found.paths), "remarks": found.remarks}
        self.ship.tell("collected", task=self.id, iteration=task["iteration"], **facts)

    def _check(self, task: Task) -> Steps[Ended | None]:
        """Run the whole list on the collected commit, so that the worker hears of everything at once.

        If it passes, the lists that an earlier merge of this task broke run too.
        """
        checks = check_list.of_task(task)
        yield from self.ship.baselines.wait_for(self.ship, checks)
        if self.ship.stopping:
            return Ended("stopped")
        work = task["work"] if self.ship.isolation is not None else None
        evidence: list[Evidence] = []
        for each, kind in [(checks, ""), *((broken, "final") for broken, _ in final_checks.broken_by(self.ship, task))]:
            try:
                done = yield from run_list(
                    self.ship,
                    each,
                    commit=work["commit"] if work else "",
                    tree=work["tree"] if work else "",
                    iteration=task["iteration"],
                    name=self.id,
                    kind=kind,
                )
            except EnvironmentProblem:
                self.ship.baselines.forget(self.ship, checks)
                raise
            if done.interrupted:
                return Ended("stopped")
            evidence += done.evidence
            self.keep_outputs(done)
            if not done.passed:
                break
        if not (yield from doubts.about_tests(self, run_acts.look(self.desk, self.project), evidence)):
            return Ended("stopped")
        run_acts.add_evidence(self.desk, self.project, evidence)
        outside_imports.note(self.ship, self.desk, self.project)
        return None

    def keep_outputs(self, done: ListRun) -> None:
        """Keep what failed commands said, before their evidence is recorded: a list with evidence is not run again."""
        for each in done.evidence:
            if not each["passed"]:
                run_acts.keep_output(self.ship.checks_folder(self.id), each["command"], done.tails[each["command"]])

    def run_check(self, check: Check, cwd: str, tree: str) -> Steps[Ran]:
        """Run one command of the plan, and tell how it went."""
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
        """Give the work back to its session with everything that was found, or ask if a check says the same again."""
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
