"""Random histories of one task in a run: every stage writes step by step, and the run may be killed at each.

Each event is random by its place, so that a history with a crash has the same events as one without.
"""

from __future__ import annotations

import random
from typing import Any

from sow.domain import task as rules
from sow.domain.checks import task_checks
from sow.domain.reviews.finding import read
from sow.domain.runs.stages import next_stage
from sow.store.validators.task import validate
from support.samples import ADA, LEAD, NOW, OWN_WORKER, task

STAGES = {
    *("start", "resume", "hand_in", "collect", "check", "review", "merge", "send_back", "ask", "waive", "wait", "done"),
    "failed",
}
CHECKS = [
    {"kind": "dependency", "command": "test -e lib"},
    {"kind": "test", "command": "make test"},
    {"kind": "criterion", "command": "make lint"},
]
MOST_ANSWERS = 4
MOST_STEPS = 400


class RunKilled(Exception):
    """Raised where the run is killed."""


class History:
    """One task, its state file, the record of its merges, and everybody who acts on it."""

    def __init__(self, seed: int, *, die_at: int = 0) -> None:
        self.seed = seed
        plan = random.Random(seed)
        self.reviewers = plan.choice((0, 1, 1, 2))
        self.retries = plan.choice((0, 1, 2))
        self.isolated = plan.random() < 0.8
        self.luck = plan.choice((0.2, 0.5, 0.8))
        checks = plan.sample(CHECKS, plan.randint(0, 3))
        self.disk: Any = task(**({"checks": checks} if checks else {}))
        self.merged: dict[tuple[str, int], str] = {}  # the run's record
        self.die_at = die_at
        self.doors = 0
        self.merges: list[int] = []
        self.stages: list[str] = []
        self.over = False

    @property
    def answers(self) -> int:
        """Returns how many questions a person has answered."""
        return len(self.disk["questions"])

    def thrown(self, *occasion: Any) -> float:
        """Returns a random number that is always the same for the same place."""
        return random.Random(f"{self.seed} {occasion}").random()

    def goes_well(self, *occasion: Any) -> bool:
        return self.thrown(*occasion) < self.luck

    def door(self) -> None:
        """A place at which the run can be killed."""
        self.doors += 1
        if self.doors == self.die_at:
            raise RunKilled

    def write(self, changed: Any) -> None:
        """Replaces the state file."""
        self.door()
        validate({"schema_version": "1.2.0", "revision": 0, "task": changed})
        self.disk = changed
        self.door()

    def play(self) -> str:
        """Goes through all stages to the end; returns the final status."""
        for _ in range(MOST_STEPS):
            try:
                self.step()
            except RunKilled:
                continue
            if self.over:
                return str(self.disk["status"])
        raise AssertionError(f"seed {self.seed}: no end after {self.stages[-12:]}")

    def step(self) -> None:
        options: Any = {
            "merged": dict(self.merged),
            "reviewers": self.reviewers,
            "retries": self.retries,
            "isolated": self.isolated,
        }
        before = repr(self.disk)
        stage, why = next_stage(self.disk, **options)
        assert next_stage(self.disk, **options) == (stage, why)
        assert (stage in STAGES, bool(why), repr(self.disk)) == (True, True, before)
        self.stages.append(stage)
        getattr(self, f"on_{stage}")()

    def on_start(self) -> None:
        assert "session_id" not in self.disk, "a second session for one task"
        if self.disk["status"] == "pending":
            self.write(rules.move(self.disk, "in_progress", actor=LEAD, now=NOW)[0])
        self.write({**self.disk, "session_id": "s-1"})
        self.turn()

    def on_resume(self) -> None:
        assert self.disk["session_id"] == "s-1"
        if self.disk.get("result") == "TIMEOUT":
            rest = {key: value for key, value in self.disk.items() if key != "result"}
            self.write({**rest, "retry_count": rest.get("retry_count", 0) + 1})
        self.turn()

    def turn(self) -> None:
        """The worker hands in, asks, fails or takes too long; it writes its own status, without a kill."""
        self.door()
        thrown = self.thrown("turn", self.disk["iteration"], self.disk.get("retry_count", 0))
        if thrown < 0.7:
            self.disk = rules.move(self.disk, "needs_review", actor=OWN_WORKER, now=NOW)[0]
        elif thrown < 0.8:
            asked = rules.move(self.disk, "paused", actor=OWN_WORKER, now=NOW)[0]
            self.disk = rules.ask(asked, "Which one?", number=self.answers + 1, now=NOW)
        elif thrown < 0.85:
            self.disk = rules.move(self.disk, "failed", actor=OWN_WORKER, now=NOW)[0]
        else:
            self.write({**self.disk, "result": "TIMEOUT"})
        self.door()

    def on_collect(self) -> None:
        iteration = self.disk["iteration"]
        commit = f"{iteration:040x}"
        self.write({**self.disk, "work": {"iteration": iteration, "base": "0" * 40, "commit": commit, "tree": commit}})

    def evidence(self, kind: str, command: str, *, passed: bool) -> None:
        self.record(self.proof(kind, command, passed=passed))

    def record(self, *found: Any) -> None:
        self.write({**self.disk, "evidence": [*self.disk.get("evidence", []), *found]})

    def proof(self, kind: str, command: str, *, passed: bool) -> Any:
        return {
            "kind": kind,
            "command": command,
            "exit": 0 if passed else 1,
            "seconds": 0.5,
            "output": "0" * 64,
            "at": NOW,
            "iteration": self.disk["iteration"],
            "passed": passed,
            "list": task_checks.digest(task_checks.checks_of(self.disk)),
            "scope": "commit" if self.isolated else "folder",
            **({"tree": self.disk["work"]["tree"]} if self.isolated else {}),
        }

    def commands(self, *kinds: str) -> list[tuple[str, str]]:
        """Returns the checks without evidence of these kinds in this iteration."""
        existing = {
            evidence["command"]
            for evidence in self.disk.get("evidence", [])
            if evidence["iteration"] == self.disk["iteration"] and evidence["kind"] in kinds
        }
        checks = [(check["kind"], check["command"]) for check in self.disk.get("checks", [])]
        return [(kind, command) for kind, command in checks if kind != "dependency" and command not in existing]

    def on_check(self) -> None:
        checks = task_checks.checks_of(self.disk)
        luck = [self.goes_well("check", check["command"], self.disk["iteration"]) for check in checks]
        self.record(
            *(
                self.proof(entry["kind"], entry["command"], passed=passed)
                for entry, passed in zip(checks, luck, strict=True)
            )
        )

    def on_review(self) -> None:
        assert self.commands("test", "criterion") == [], "a review before the evidence is there"
        iteration = self.disk["iteration"]
        there = [review["by"] for review in self.disk.get("reviews", []) if review["iteration"] == iteration]
        for number in range(self.reviewers):
            if f"judge-{number}" not in there:
                self.review(iteration, number)

    def review(self, iteration: int, number: int) -> None:
        flag = "RED" if not self.goes_well("review", iteration, number) else ("GREEN", "YELLOW")[iteration % 2]
        rule = f"rule {int(self.thrown('rule', iteration, number) * 4)}"
        result = [read({"severity": "error", "text": "No", "rule": rule})] if flag == "RED" else []
        one = {"iteration": iteration, "verdict": flag, "by": f"judge-{number}", "at": NOW, "findings": result}
        if self.isolated:
            one["commit"] = self.disk["work"]["commit"]
        self.write({**self.disk, "reviews": [*self.disk.get("reviews", []), one]})

    def passing(self) -> bool:
        """Tells whether all records of this iteration let the work pass."""
        iteration = self.disk["iteration"]
        checks = [evidence for evidence in self.disk.get("evidence", []) if evidence["iteration"] == iteration]
        fine = all(check["passed"] for check in checks if check["kind"] != "merge")
        reviews = [review["verdict"] for review in self.disk.get("reviews", []) if review["iteration"] == iteration]
        return (
            fine and not self.commands("test", "criterion") and len(reviews) == self.reviewers and "RED" not in reviews
        )

    def on_merge(self) -> None:
        assert self.isolated
        assert self.passing(), "a merge of what did not pass"
        iteration = self.disk["iteration"]
        assert iteration not in self.merges, "one iteration merged twice"
        if not self.goes_well("merge", iteration) and self.thrown("conflict", iteration) < 0.5:
            self.evidence("merge", "git merge", passed=False)
            return
        result = []
        for _, command in self.commands("none"):
            fine = self.goes_well("there", command, iteration) or self.thrown("there too", command, iteration) < 0.7
            result.append(self.proof("merge", command, passed=fine))
        # After a crash before the record, the list runs again with the same results: they are counted once here.
        new = [item for item in result if item not in self.disk.get("evidence", [])]
        if new:
            self.record(*new)
        if all(evidence["passed"] for evidence in result):
            self.merges.append(iteration)
            self.merged["010", iteration] = self.disk["work"]["commit"]
            self.door()

    def on_send_back(self) -> None:
        assert self.disk["status"] == "needs_review"
        changed = rules.move(self.disk, "in_progress", actor=LEAD, now=NOW)[0]
        if not self.passing():
            changed = {**changed, "retry_count": self.disk.get("retry_count", 0) + 1}
        self.write(changed)

    def on_ask(self) -> None:
        changed = self.disk
        if changed["status"] == "needs_review":
            changed = rules.move(changed, "in_progress", actor=LEAD, now=NOW)[0]
            changed = rules.move(changed, "paused", actor=LEAD, now=NOW)[0]
        self.write(rules.ask(changed, "What now?", number=self.answers + 1, now=NOW))

    def on_wait(self) -> None:
        """A person answers, up to a limit."""
        assert self.disk["status"] == "paused"
        if self.answers == MOST_ANSWERS:
            self.over = True
            return
        changed = rules.move(self.disk, "in_progress", actor=ADA, now=NOW)[0]
        self.write(rules.answer_question(changed, "That one.", actor=ADA, now=NOW))

    def on_failed(self) -> None:
        if self.disk["status"] == "in_progress":
            self.write(rules.move(self.disk, "failed", actor=LEAD, now=NOW)[0])
        self.over = True

    def on_done(self) -> None:
        if self.disk["status"] != "completed":
            assert self.passing(), "done without having passed"
            assert not self.isolated or ("010", self.disk["iteration"]) in self.merged, "done without a merge"
            assert not self.isolated or self.commands("merge") == [], "done without the checks after the merge"
            self.write(rules.move(self.disk, "completed", actor=LEAD, now=NOW)[0])
        self.over = True
