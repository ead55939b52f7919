"""The stage of a task: the records of the current iteration lead to exactly one next step."""

from __future__ import annotations

from copy import deepcopy
from itertools import product
from typing import Any

import pytest
from support.quick_cases import few_of
from support.samples import LATER, LEAD, NOW, task
from support.task_histories import STAGES

from sow.domain import task as rules
from sow.domain.checks import task_checks
from sow.domain.runs.stages import failed_merge_count, missing_checks, needs_integrator, next_stage
from sow.domain.task import TASK

CHECKS = [
    {"kind": "dependency", "command": "test -e lib"},
    {"kind": "test", "command": "make test"},
    {"kind": "criterion", "command": "make lint"},
]
LIST = task_checks.digest(CHECKS[1:])
WORK = {"iteration": 2, "base": "0" * 40, "commit": "1" * 40, "tree": "2" * 40}


def proof(command: str = "make test", *, passed: bool = True, kind: str = "test", **options: Any) -> dict[str, Any]:
    made = {"kind": kind, "command": command, "exit": 0, "seconds": 1.0, "output": "3" * 64, "at": NOW}
    return {**made, "tree": "2" * 40, "iteration": 2, "passed": passed, "list": LIST, "scope": "commit", **options}


def opinion(flag: str = "GREEN", **options: Any) -> dict[str, Any]:
    made = {"iteration": 2, "commit": "1" * 40, "verdict": flag, "by": "quality-control", "at": NOW, "findings": []}
    return {**made, **options}


WAIVED = {"command": "make lint", "by": "ada", "at": NOW}
BOTH = [proof("make test"), proof("make lint", kind="criterion")]
SHARED = [{**{k: v for k, v in item.items() if k != "tree"}, "scope": "folder"} for item in BOTH]
THERE = [proof("make test", kind="merge", tree="4" * 40), proof("make lint", kind="merge", tree="4" * 40)]
BROKE: Any = [([{"kind": "test", "command": "make all"}], ["020"])]
BROKEN = proof("make all", kind="final", list=task_checks.digest(BROKE[0][0]))


def at(status: str = "needs_review", **options: Any) -> Any:
    """A task in its second iteration, with a session and two checks."""
    return task(status=status, iteration=2, **{"session_id": "s", "checks": CHECKS, **options})


def handed_in(*proofs: Any, reviews: Any = (), **options: Any) -> Any:
    return at(work=WORK, evidence=list(proofs), reviews=list(reviews), **options)


def decided(answer: str, iteration: int = 1) -> Any:
    """A task in progress after an answer about a final check."""
    asked = {"number": 1, "text": "final checks: it fails", "asked_at": NOW, "answered_at": NOW, "answered_by": "ada"}
    failed = proof(kind="final", passed=False, iteration=iteration)
    return task(status="in_progress", iteration=2, evidence=[failed], questions=[{**asked, "answer": answer}])


def stage(given: Any, *, merged: bool | str = False, reviewers: int = 1, retries: int = 2, **options: Any) -> str:
    """Returns the next stage; `merged` tells whether the record has the task's work, or names another commit."""
    commit = merged if isinstance(merged, str) else WORK["commit"]
    existing = {("010", 2): commit} if merged else {("010", 9): commit, ("020", 2): commit}
    name, why = next_stage(given, merged=existing, reviewers=reviewers, retries=retries, **options)
    assert why
    return name


TABLE: dict[str, tuple[Any, dict[str, Any], str]] = {
    "a new task": (task(), {}, "start"),
    "killed before its session was there": (task(status="in_progress"), {}, "start"),
    "killed in its turn": (at("in_progress"), {}, "resume"),
    "sent back": (at("in_progress", work={**WORK, "iteration": 1}, reviews=[opinion(iteration=1)]), {}, "resume"),
    "timed out": (at("in_progress", result="TIMEOUT", retry_count=1), {}, "resume"),
    "timed out for the last time": (at("in_progress", result="TIMEOUT", retry_count=2), {}, "failed"),
    "timed out where nothing is retried": (at("in_progress", result="TIMEOUT"), {"retries": 0}, "failed"),
    "timed out without a review": (at("in_progress", result="TIMEOUT"), {"reviewers": 0}, "failed"),
    "timed out before it had a session": (task(status="in_progress", result="TIMEOUT"), {}, "start"),
    "asked by the run about what was handed in": (
        at("in_progress", work={**WORK, "iteration": 1}), {"only_answered": True}, "hand_in",
    ),
    "asked by its worker": (at("in_progress"), {"only_answered": True}, "resume"),
    "asked by the run where all share a folder": (
        at("in_progress", work={**WORK, "iteration": 1}), {"only_answered": True, "isolated": False}, "resume",
    ),
    "resolved by a person": (at("in_progress"), {"resolved": True}, "hand_in"),
    "resolved where all share a folder": (at("in_progress"), {"resolved": True, "isolated": False}, "resume"),
    "handed in": (at(), {}, "collect"),
    "handed in again": (at(work={**WORK, "iteration": 1}), {}, "collect"),
    "handed in without isolation": (at(), {"isolated": False}, "check"),
    "collected": (handed_in(), {}, "check"),
    "collected, without checks": (handed_in(checks=[]), {}, "review"),
    "collected, with a check of dependencies only": (handed_in(checks=CHECKS[:1]), {}, "review"),
    "half checked": (handed_in(BOTH[0]), {}, "check"),
    "half checked, and it failed": (handed_in(proof(passed=False)), {}, "check"),
    "checked in the iteration before": (handed_in(*({**item, "iteration": 1} for item in BOTH)), {}, "check"),
    "checked on another tree": (handed_in(*({**item, "tree": "9" * 40} for item in BOTH)), {}, "check"),
    "checked on no tree": (handed_in(*({k: v for k, v in item.items() if k != "tree"} for item in BOTH)), {}, "check"),
    "checked with another list": (handed_in(*({**item, "list": "9" * 64} for item in BOTH)), {}, "check"),
    "checked in a shared folder": (handed_in(*SHARED), {}, "check"),
    "checked before there were lists": (
        handed_in(*({k: v for k, v in item.items() if k not in ("list", "scope")} for item in BOTH)), {}, "check",
    ),
    "checked without isolation": (at(evidence=SHARED), {"isolated": False}, "review"),
    "checked": (handed_in(*BOTH), {}, "review"),
    "checked, and one failed": (handed_in(BOTH[0], proof("make lint", passed=False)), {}, "send_back"),
    "checked, and one failed for the last time": (
        handed_in(BOTH[0], proof("make lint", passed=False), retry_count=2), {}, "ask",
    ),
    "checked, and the one that failed is waived": (
        handed_in(BOTH[0], proof("make lint", passed=False), waivers=[WAIVED]), {}, "check",
    ),
    "checked without the one that is waived": (
        handed_in({**BOTH[0], "list": task_checks.digest([CHECKS[1]])}, waivers=[WAIVED]), {}, "review",
    ),
    "reviewed in the iteration before": (handed_in(*BOTH, reviews=[opinion(iteration=1)]), {}, "review"),
    "another commit was reviewed": (handed_in(*BOTH, reviews=[opinion(commit="9" * 40)]), {}, "review"),
    "one of two reviews": (handed_in(*BOTH, reviews=[opinion()]), {"reviewers": 2}, "review"),
    "GREEN": (handed_in(*BOTH, reviews=[opinion()]), {}, "merge"),
    "YELLOW": (handed_in(*BOTH, reviews=[opinion("YELLOW")]), {}, "merge"),
    "GREEN and YELLOW": (handed_in(*BOTH, reviews=[opinion(), opinion("YELLOW")]), {"reviewers": 2}, "merge"),
    "GREEN and RED": (handed_in(*BOTH, reviews=[opinion(), opinion("RED")]), {"reviewers": 2}, "send_back"),
    "RED": (handed_in(*BOTH, reviews=[opinion("RED")]), {}, "send_back"),
    "RED for the last time": (handed_in(*BOTH, reviews=[opinion("RED")], retry_count=2), {}, "ask"),
    "RED where nothing is retried": (handed_in(*BOTH, reviews=[opinion("RED")]), {"retries": 0}, "ask"),
    "GREEN with a failed check": (
        handed_in(BOTH[0], proof("make lint", passed=False), reviews=[opinion()]), {}, "send_back",
    ),
    "GREEN with a failed check for the last time": (
        handed_in(BOTH[0], proof("make lint", passed=False), reviews=[opinion()], retry_count=2), {}, "ask",
    ),
    "a failed check that passed when it was repeated": (
        handed_in(proof("make lint", passed=False), *BOTH, reviews=[opinion()]), {}, "merge",
    ),
    "no review wanted": (handed_in(*BOTH), {"reviewers": 0}, "merge"),
    "no review wanted, and a check failed": (
        handed_in(BOTH[0], proof("make lint", passed=False)), {"reviewers": 0}, "send_back",
    ),
    "GREEN without isolation": (at(evidence=SHARED, reviews=[opinion()]), {"isolated": False}, "done"),
    "RED without isolation": (at(evidence=SHARED, reviews=[opinion("RED")]), {"isolated": False}, "send_back"),
    "a conflict": (
        handed_in(*BOTH, proof("git merge", kind="merge", passed=False), reviews=[opinion()]), {}, "send_back",
    ),
    "a conflict where nothing is retried": (
        handed_in(*BOTH, proof("git merge", kind="merge", passed=False), reviews=[opinion()]),
        {"retries": 0},
        "send_back",
    ),
    "a conflict again": (
        handed_in(
            proof("git merge", kind="merge", passed=False, iteration=1),
            *BOTH,
            proof("git merge", kind="merge", passed=False),
            reviews=[opinion()],
        ),
        {},
        "send_back",
    ),
    "a conflict that an integrator left": (
        handed_in(
            *(proof("git merge", kind="merge", passed=False, iteration=number) for number in (0, 1)),
            *BOTH,
            proof("git merge", kind="merge", passed=False),
            reviews=[opinion()],
        ),
        {},
        "ask",
    ),
    "a conflict in the iteration before": (
        handed_in(proof("git merge", kind="merge", passed=False, iteration=1), *BOTH, reviews=[opinion()]), {}, "merge",
    ),
    "a conflict that was solved": (
        handed_in(*BOTH, proof("git merge", kind="merge", passed=False), *THERE, reviews=[opinion()]),
        {"merged": True},
        "done",
    ),
    "merged": (handed_in(*BOTH, *THERE, reviews=[opinion()]), {"merged": True}, "done"),
    "with unread feedback": (handed_in(*BOTH, reviews=[opinion()]), {"unread": True}, "send_back"),
    "with unread feedback, and not collected": (at(), {"unread": True}, "collect"),
    "with unread feedback where nothing is retried": (handed_in(), {"unread": True, "retries": 0}, "send_back"),
    "with unread feedback without isolation": (at(), {"unread": True, "isolated": False}, "send_back"),
    "with unread feedback, and approved": (
        handed_in(approval={"by": "ada", "at": NOW, "iteration": 2}), {"unread": True}, "merge",
    ),
    "merged before the feedback": (
        handed_in(*BOTH, *THERE, reviews=[opinion()]), {"unread": True, "merged": True}, "done",
    ),
    "merged, without checks": (handed_in(checks=[], reviews=[opinion()]), {"merged": True}, "done"),
    "merged, and not reviewed": (handed_in(*BOTH, *THERE), {"merged": True}, "review"),
    "merged, and not checked": (handed_in(reviews=[opinion()]), {"merged": True}, "check"),
    "merged, and not collected": (at(reviews=[opinion()]), {"merged": True}, "collect"),
    "another commit of it was merged": (handed_in(*BOTH, reviews=[opinion()]), {"merged": "9" * 40}, "merge"),
    "a check failed at the merge": (
        handed_in(*BOTH, {**THERE[0], "passed": False}, reviews=[opinion()]), {}, "send_back",
    ),
    "merged, and it has not begun": (task(iteration=2), {"merged": True}, "start"),
    "merged, and at work again": (at("in_progress", work=WORK), {"merged": True}, "resume"),
    "a final check failed on it": (
        handed_in(*BOTH, proof(kind="final", passed=False), reviews=[opinion()]), {}, "merge",
    ),
    "a list that it broke was not run on it": (
        handed_in(*BOTH, proof("make all", kind="final", passed=False, iteration=1)), {"broke": BROKE}, "check",
    ),
    "a list that it broke still fails": (
        handed_in(*BOTH, {**BROKEN, "passed": False}), {"broke": BROKE}, "send_back",
    ),
    "a list that it broke still fails, without retries": (
        handed_in(*BOTH, {**BROKEN, "passed": False}), {"broke": BROKE, "retries": 0}, "ask",
    ),
    "a list that it broke passes": (handed_in(*BOTH, BROKEN), {"broke": BROKE}, "review"),
    "a final check that failed is waived": (decided("Waive it, it is only lint"), {}, "waive"),
    "a final check that failed is sent back": (decided("send back"), {}, "start"),
    "a final check that failed gets advice": (decided("Keep the old name"), {}, "start"),
    "a final check that failed stops it": (decided("stop"), {}, "failed"),
    "a final check was waived two iterations ago": (decided("waive", iteration=0), {}, "start"),
    "merged is nothing without isolation": (at(), {"merged": True, "isolated": False}, "check"),
    "paused with a question": (at("paused", question={"number": 1, "text": "?", "asked_at": NOW}), {}, "wait"),
    "paused without one": (at("paused"), {}, "ask"),
    "failed": (at("failed"), {}, "failed"),
    "failed, with a time-out": (at("failed", result="TIMEOUT"), {}, "failed"),
    "abandoned": (at("abandoned", abandoned_reason="enough"), {}, "failed"),
    "completed": (at("completed", completed_at=NOW, approval={"by": "a", "at": NOW, "iteration": 2}), {}, "done"),
}  # fmt: skip


@pytest.mark.parametrize(("given", "options", "wanted"), TABLE.values(), ids=TABLE)
def test_each_state_has_one_next_stage(given, options, wanted):
    """Each state that a run or a crash can leave has one next stage."""
    assert stage(given, **options) == wanted


def test_the_table_reaches_every_stage():
    """The table above leads to every stage that there is."""
    assert {wanted for _, _, wanted in TABLE.values()} == STAGES


ERROR = {"id": "1", "severity": "error", "text": "No test of an empty name.\nAdd one"}


@pytest.mark.parametrize(
    ("findings", "feedback", "cause"),
    [
        ([], "There is no test.\nAdd one.", ": There is no test"),
        ([ERROR], "There is no test.", ": No test of an empty name"),
        ([], "", ""),
    ],
)
def test_red_has_its_reason(findings: Any, feedback: str, cause: str):
    """The reason of a RED review is the first line of its first error or of its feedback (C16)."""
    red = handed_in(*BOTH, reviews=[opinion("RED", findings=findings)], review_feedback=feedback)
    options: Any = {"merged": {}, "reviewers": 1}
    assert next_stage(red, retries=2, **options) == ("send_back", f"the review is RED{cause}")
    assert next_stage(red, retries=0, **options) == ("ask", f"the review is RED{cause}")


PROOFS = {
    "none": [],
    "old": [{**item, "iteration": 1} for item in BOTH],
    "half": BOTH[:1],
    "passed": BOTH,
    "failed": [BOTH[0], proof("make lint", passed=False)],
}
MERGES = {"none": [], "conflict": [proof("git merge", kind="merge", passed=False)], "half": THERE[:1], "passed": THERE}
OPINIONS = {
    "none": [],
    "old": [opinion("RED", iteration=1)],
    "GREEN": [opinion()],
    "RED": [opinion("RED")],
    "both": [opinion(), opinion("RED")],
}
# Who may do what: a stage that a status can never lead to would be an act that the tables refuse.
POSSIBLE = {
    "pending": {"start"},
    "in_progress": {"start", "resume", "failed"},
    "needs_review": {"collect", "check", "review", "merge", "send_back", "ask", "done"},
    "paused": {"wait", "ask"},
    "failed": {"failed"},
    "abandoned": {"failed"},
    "completed": {"done"},
}


@few_of("status", TASK.statuses, 4)
def test_every_combination_has_one_stage(status):
    """Any combination of records leads to a stage of its status, and the question changes nothing."""
    works = [None, {**WORK, "iteration": 1}, WORK]
    for work, proofs, there, opinions, result, session, used in product(
        works, PROOFS, MERGES, OPINIONS, (None, "TIMEOUT", "RED"), (None, "s"), (0, 2)
    ):
        given = task(status=status, iteration=2, checks=CHECKS, retry_count=used)
        given |= {"evidence": PROOFS[proofs] + MERGES[there], "reviews": OPINIONS[opinions]}
        given |= {key: value for key, value in (("work", work), ("result", result), ("session_id", session)) if value}
        before = deepcopy(given)
        for merged, reviewers, isolated in product((False, True), (0, 1, 2), (True, False)):
            name = stage(given, merged=merged, reviewers=reviewers, isolated=isolated)
            assert name in POSSIBLE[status]
            if name == "merge":
                assert isolated
                assert not merged
                assert work is WORK
            if status == "needs_review" and name in ("merge", "done"):
                assert opinions not in ("RED", "both")
                assert proofs == "passed"
                assert not reviewers or opinions == "GREEN"
            if name == "review":
                assert proofs == "passed"
        assert given == before


def test_a_new_iteration_ignores_an_earlier_result():
    """A time-out of an earlier iteration does not fail the next one."""
    for status, to in (("needs_review", "in_progress"), ("paused", "in_progress"), ("failed", "in_progress")):
        changed, _ = rules.move(at(status, result="TIMEOUT", retry_count=2), to, actor=LEAD, now=LATER)
        assert "result" not in changed
        assert stage(changed) == "resume"


def test_failed_merges_are_counted_by_iteration():
    """Several bad checks of one merge are one failure."""
    failed = [proof(command, kind="merge", passed=False, iteration=number) for command in "ab" for number in (1, 2)]
    assert failed_merge_count(at(evidence=failed)) == 2
    assert failed_merge_count(at(evidence=THERE)) == failed_merge_count(task()) == 0


def test_an_integrator_follows_the_worker():
    """The iteration after the second failed merge is an integrator's."""
    first, second = (proof("git merge", kind="merge", passed=False, iteration=number) for number in (1, 2))
    assert not needs_integrator(task(iteration=2, evidence=[first]))
    assert needs_integrator(task(iteration=3, evidence=[first, second]))
    assert not needs_integrator(task(iteration=4, evidence=[first, second]))
    assert not needs_integrator(task())


def test_a_list_is_run_as_a_whole():
    """A list without all evidence of this iteration, tree and place runs from its beginning."""
    test, lint = CHECKS[1:]
    assert missing_checks(handed_in()) == [test, lint]
    assert missing_checks(handed_in(BOTH[0])) == [test, lint]
    assert missing_checks(handed_in(*BOTH)) == []
    assert missing_checks(handed_in(*THERE)) == [test, lint]
    assert missing_checks(at(evidence=[SHARED[0]]), isolated=False) == [test, lint]
    assert missing_checks(at(evidence=SHARED), isolated=False) == []
    assert missing_checks(at(evidence=BOTH), isolated=False) == [test, lint]
    assert missing_checks(handed_in(BOTH[0], {**BOTH[1], "tree": "9" * 40})) == [test, lint]
    assert missing_checks(handed_in(*reversed(BOTH))) == [test, lint]
    assert missing_checks(task()) == []


def test_a_waived_command_is_left_out():
    """A command that a person waived is not missing, and the rest of the list runs."""
    waiver = {"command": "make test", "by": "human", "at": NOW}
    assert missing_checks(handed_in(*BOTH, waivers=[waiver])) == [CHECKS[2]]
