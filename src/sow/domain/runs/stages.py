"""Computes the next stage of a task in a run from the recorded state, so that a run can continue after a crash.

The run does the work of the stage, records the result, and asks again. Only records of the current iteration count:
evidence of the collected tree, reviews of the collected commit, and the run's record of the merge. Checks come before
reviews: work with a failed check is sent back without a review.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sow.domain.checks import task_checks
from sow.domain.documents.state import Check, Evidence, Finding, Review, Task, Work
from sow.domain.reviews import verdict
from sow.domain.reviews.finding import repeated_errors
from sow.domain.task import FINAL_CHECKS_PREFIX, is_approved
from sow.domain.text import similar_text
from sow.domain.text.similar_text import similar, words

TRIES_TO_MERGE = 2  # one by the worker, one by an integrator
LOOP = 3  # If the same question is asked this often, only a person can end the loop.
PROTECTED = "protected paths"  # the command in the evidence for a change of a protected path
UNMERGEABLE = similar_text.UNMERGEABLE_PREFIX
FINAL = FINAL_CHECKS_PREFIX
FEEDBACK = "a person gave feedback on it"
SAME = "the same finding again: "
MOST_CAUSE = 200
Stage = tuple[str, str]


def next_stage(
    task: Task,
    *,
    merged: Mapping[tuple[str, int], str],
    reviewers: int,
    retries: int,
    isolated: bool = True,
    only_answered: bool = False,
    resolved: bool = False,
    unread: bool = False,
    broke: Sequence[tuple[list[Check], list[str]]] = (),
) -> Stage:
    """Returns the stage of a task, and the reason. `merged` is the run's record; without isolation nothing is merged.

    With `only_answered` the last iteration brought nothing but the answer to a question, and no finding; with
    `resolved` a person has changed the work since the run asked how to merge it. With `unread` a person gave feedback
    that the worker has not read. `broke` has the lists of other tasks that an earlier merge of this one broke, with
    those tasks.
    """
    status = task["status"]
    if status == "completed":
        return "done", "it is completed"
    if status == "abandoned":
        return "failed", f"it was abandoned: {task.get('abandoned_reason', '')}"
    if status == "failed":
        return "failed", "it failed"
    if status == "paused":
        return _paused(task)
    if status == "needs_review":
        return _handed_in(task, reviewers, retries, isolated=isolated, merged=merged, unread=unread, broke=broke)
    if status != "in_progress":
        return "start", "it has not begun"
    decision = final_check_decision(task)
    if decision == "waive":
        return "waive", "a person waived the final check that failed"
    if decision == "stop":
        return "failed", "a person stopped it: a final check fails"
    if resolved and isolated:
        return "hand_in", "a person has changed the work since the run asked"
    if only_answered and isolated and task.get("work", {}).get("iteration") == task["iteration"] - 1:
        return "hand_in", "its worker was done, and only the run had a question"
    return _next_turn(task, reviewers, retries)


def final_check_decision(task: Task) -> str:
    """Returns the answer of a person to a failed final check: waive or stop. Any other answer sends the task back."""
    failed = last_failed_final_check(task)
    latest = task["questions"][-1:]
    if failed is None or failed["iteration"] != task["iteration"] - 1 or not latest:
        return ""
    decision = words(latest[0]["answer"])[:1] if latest[0]["text"].startswith(FINAL) else []
    return decision[0] if decision in (["waive"], ["stop"]) else ""


def last_failed_final_check(task: Task) -> Evidence | None:
    """Returns the last final check that failed because of this task."""
    failed = [
        evidence for evidence in task.get("evidence", ()) if evidence["kind"] == "final" and not evidence["passed"]
    ]
    return failed[-1] if failed else None


def times_asked(task: Task) -> int:
    """Returns how often the task has asked its current question, this time included."""
    question = task.get("question")
    if question is None:
        return 0
    return 1 + sum(similar(earlier["text"], question["text"]) for earlier in task["questions"])


def failed_merge_count(task: Task) -> int:
    """Returns in how many iterations the merge failed. The worker gets the first failure, an integrator the next."""
    failed = (
        evidence for evidence in task.get("evidence", ()) if evidence["kind"] == "merge" and not evidence["passed"]
    )
    return len({evidence["iteration"] for evidence in failed})


def needs_integrator(task: Task) -> bool:
    """Returns whether the worker has already tried to fix the merge, and it failed again in the last iteration."""
    failed = {
        evidence["iteration"]
        for evidence in task.get("evidence", ())
        if evidence["kind"] == "merge" and not evidence["passed"]
    }
    return len(failed) == TRIES_TO_MERGE and max(failed) == task["iteration"] - 1


def missing_checks(task: Task, *, isolated: bool = True) -> list[Check]:
    """Returns the checks that still have to run on the collected work. An incomplete check list runs as a whole."""
    return [] if _last_check_run(task, _collected(task) if isolated else None) else task_checks.checks_of(task)


def _paused(task: Task) -> Stage:
    if "question" not in task:
        return "ask", "it is paused and asks nothing yet"
    times = times_asked(task)
    return "wait", f"it asks the same for the {times}. time" if times >= LOOP else "it waits for an answer"


def _next_turn(task: Task, reviewers: int, retries: int) -> Stage:
    """Starts or resumes a turn. A timeout costs a retry, and without reviews there are no retries."""
    timed_out = task.get("result") == "TIMEOUT"
    if timed_out and not reviewers:
        return "failed", "it timed out, and without reviews it is not retried"
    if timed_out and task.get("retry_count", 0) >= retries:
        return "failed", f"it timed out{_after_retries(retries)}"
    if "session_id" not in task:
        return "start", "it has no session yet"
    return "resume", "it timed out and can be retried" if timed_out else "its turn is not done"


def _handed_in(
    task: Task,
    reviewers: int,
    retries: int,
    *,
    isolated: bool,
    merged: Mapping[tuple[str, int], str],
    unread: bool,
    broke: Sequence[tuple[list[Check], list[str]]],
) -> Stage:
    work = _collected(task) if isolated else None
    if isolated and work is None:
        return "collect", "what the worker left is not in git yet"
    is_merged = work is not None and merged.get((task["id"], task["iteration"])) == work["commit"]
    if is_approved(task):
        return _accepted(task, "a person has approved it", isolated=isolated, is_merged=is_merged)
    if unread and not is_merged:  # a person decides this, so it needs no retry
        return "send_back", FEEDBACK
    if _changes_protected(task, work):
        return _rejected(task, [], retries, why="it changes protected paths")
    missing = missing_checks(task, isolated=isolated)
    if missing:
        return "check", f"not run yet: {missing[0]['command']}"
    reviews = _reviews(task, work)
    failed = [evidence["command"] for evidence in _last_check_run(task, work) if not evidence["passed"]]
    if failed:
        return _rejected(task, reviews, retries, why=f"`{failed[0]}` fails")
    for checks, owners in broke:
        results = _checked_again(task, work, checks)
        if not results:
            return "check", f"not run yet: {checks[0]['command']} of task {owners[0]}"
        failed = [result["command"] for result in results if not result["passed"]]
        if failed:
            return _rejected(task, [], retries, why=f"{FINAL}`{failed[0]}` of task {owners[0]} still fails")
    if len(reviews) < reviewers:
        return "review", f"{len(reviews)} of {reviewers} reviews are there"
    if reviews and not verdict.combined(verdict.Verdict(review["verdict"]) for review in reviews).passes:
        return _rejected(task, reviews, retries, why="the review is RED", cause=_red_cause(task, reviews))
    return _accepted(task, "it is checked and reviewed", isolated=isolated, is_merged=is_merged)


def _accepted(task: Task, why: str, *, isolated: bool, is_merged: bool) -> Stage:
    """Merges work that passed. It is done when the run has recorded the merge of exactly this commit."""
    if not isolated:
        return "done", why
    if is_merged:
        return "done", "it is checked, reviewed and merged"
    return ("merge", why) if all(_merge_results(task).values()) else _unmergeable(task)


def _red_cause(task: Task, reviews: list[Review]) -> str:
    """Returns the first line of what is wrong: of the first error that a reviewer found, or else of the feedback."""
    findings = [finding for review in reviews if review["verdict"] == verdict.RED for finding in review["findings"]]
    first = next((finding["text"] for finding in findings if finding["severity"] == "error"), "")
    line = (first or task.get("review_feedback", "")).strip().partition("\n")[0]
    return f": {line[:MOST_CAUSE].rstrip(' .,;:')}" if line else ""


def _rejected(task: Task, reviews: list[Review], retries: int, *, why: str, cause: str = "") -> Stage:
    """Sends the work back while retries are left, or asks if the last iteration left a finding unchanged."""
    again = repeated_errors(_findings_before(task), [finding for review in reviews for finding in review["findings"]])
    if again:
        return "ask", f"{SAME}{again[0]['text'][:MOST_CAUSE]}"
    used = task.get("retry_count", 0)
    if verdict.may_retry(verdict.RED, used, retries):
        return "send_back", f"{why}{cause}"
    return "ask", f"{why}{_after_retries(used)}{cause}"


def _after_retries(count: int) -> str:
    return f", after {count} {'retry' if count == 1 else 'retries'}" if count else ""


def _unmergeable(task: Task) -> Stage:
    if failed_merge_count(task) > TRIES_TO_MERGE:
        return "ask", f"{UNMERGEABLE}, and an integrator did not help"
    return "send_back", UNMERGEABLE


def _collected(task: Task) -> Work | None:
    work = task.get("work")
    return work if work is not None and work["iteration"] == task["iteration"] else None


def _last_check_run(task: Task, work: Work | None) -> list[Evidence]:
    """Returns the last complete run of the check list in this iteration, on the collected tree if there is one."""
    current = [
        evidence
        for evidence in task.get("evidence", ())
        if evidence["iteration"] == task["iteration"] and evidence["kind"] not in ("dependency", "merge", "final")
    ]
    return task_checks.last_complete_run(
        current, task_checks.checks_of(task), tree=work["tree"] if work is not None else ""
    )


def _checked_again(task: Task, work: Work | None, checks: list[Check]) -> list[Evidence]:
    """The last whole run in this iteration of a list that the task broke."""
    now = [evidence for evidence in task.get("evidence", ()) if evidence["iteration"] == task["iteration"]]
    finals = [evidence for evidence in now if evidence["kind"] == "final"]
    return task_checks.last_complete_run(finals, checks, tree=work["tree"] if work is not None else "")


def _changes_protected(task: Task, work: Work | None) -> bool:
    """Returns whether the collected work changes a path that the plan protects."""
    return work is not None and any(
        evidence["command"] == PROTECTED
        and evidence["iteration"] == task["iteration"]
        and evidence.get("tree") == work["tree"]
        for evidence in task.get("evidence", ())
    )


def _merge_results(task: Task) -> dict[str, bool]:
    """Returns for each command at this iteration's merge whether its last run passed."""
    return {
        evidence["command"]: evidence["passed"]
        for evidence in task.get("evidence", ())
        if evidence["iteration"] == task["iteration"] and evidence["kind"] == "merge"
    }


def _reviews(task: Task, work: Work | None) -> list[Review]:
    """Returns the reviews of this iteration, and of the collected commit if there is one."""
    return [
        review
        for review in task.get("reviews", ())
        if review["iteration"] == task["iteration"] and (work is None or review.get("commit") == work["commit"])
    ]


def _findings_before(task: Task) -> list[Finding]:
    earlier = [review for review in task.get("reviews", ()) if review["iteration"] < task["iteration"]]
    last = max((review["iteration"] for review in earlier), default=0)
    return [finding for review in earlier if review["iteration"] == last for finding in review["findings"]]
