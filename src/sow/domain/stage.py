"""The next stage of a task in a run, read from what is on disk: after a crash the same question has the same answer.

The run does what the stage says, writes it down, and asks again. Only what is recorded for the present iteration
counts: evidence of the tree that was collected, reviews of that commit, and the run's record of its merge. The checks
come before the reviews: work with a failed check is sent back without a review.
"""

from __future__ import annotations

from sow.domain import check_list, verdict, wording
from sow.domain.finding import same_again
from sow.domain.task import is_approved
from sow.domain.wording import similar, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sow.domain.shapes import Check, Evidence, Finding, Review, Task, Work

STAGES = (
    "start",
    "resume",
    "hand_in",
    "collect",
    "check",
    "review",
    "merge",
    "send_back",
    "ask",
    "waive",
    "wait",
    "done",
    "failed",
)
TRIES_TO_MERGE = 2  # one by the worker, one by an integrator
LOOP = 3  # the same question so often is a loop: only a person ends it
PROTECTED = "protected paths"  # the command of the evidence that such a path was changed
UNMERGEABLE = "it could not be merged"  # so begins why
FINAL = wording.FINAL
SAME = "the same finding again: "
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
    broke: Sequence[tuple[list[Check], list[str]]] = (),
) -> Stage:
    """The stage that a task is at, and why; `merged` is the run's record, and without isolation nothing is merged.

    With `only_answered` the last iteration brought nothing but the answer to a question, and no finding; with
    `resolved` a person has changed the work since the run asked how to merge it. `broke` has the lists of other tasks
    that an earlier merge of this one broke, with those tasks.
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
        return _handed_in(task, reviewers, retries, isolated=isolated, merged=merged, broke=broke)
    if status != "in_progress":
        return "start", "it has not begun"
    decided = final_answer(task)
    if decided == "waive":
        return "waive", "a person waived the final check that failed"
    if decided == "stop":
        return "failed", "a person stopped it: a final check fails"
    if resolved and isolated:
        return "hand_in", "a person has changed the work since the run asked"
    if only_answered and isolated and task.get("work", {}).get("iteration") == task["iteration"] - 1:
        return "hand_in", "its worker was done, and only the run had a question"
    return _at_work(task, reviewers, retries)


def final_answer(task: Task) -> str:
    """The decision of a person about a final check that failed: waive or stop; every other answer sends it back."""
    failed = failed_finally(task)
    asked = task["questions"][-1:]
    if failed is None or failed["iteration"] != task["iteration"] - 1 or not asked:
        return ""
    decided = words(asked[0]["answer"])[:1] if asked[0]["text"].startswith(FINAL) else []
    return decided[0] if decided in (["waive"], ["stop"]) else ""


def failed_finally(task: Task) -> Evidence | None:
    """The last final check that failed because of this task."""
    failed = [each for each in task.get("evidence", ()) if each["kind"] == "final" and not each["passed"]]
    return failed[-1] if failed else None


def times_asked(task: Task) -> int:
    """How often the question that a task waits with was asked on it, this time included."""
    question = task.get("question")
    if question is None:
        return 0
    return 1 + sum(similar(each["text"], question["text"]) for each in task["questions"])


def merge_failures(task: Task) -> int:
    """In how many iterations the work could not be merged: the first goes to its worker, the next to an integrator."""
    failed = (each for each in task.get("evidence", ()) if each["kind"] == "merge" and not each["passed"])
    return len({each["iteration"] for each in failed})


def needs_integrator(task: Task) -> bool:
    """Whether its worker has tried to make the work fit, and the last iteration did not fit again."""
    failed = {each["iteration"] for each in task.get("evidence", ()) if each["kind"] == "merge" and not each["passed"]}
    return len(failed) >= TRIES_TO_MERGE and max(failed) == task["iteration"] - 1


def missing_checks(task: Task, *, isolated: bool = True) -> list[Check]:
    """The checks that are still to run on what was collected; a list that is incomplete runs as a whole."""
    checks = check_list.of_task(task)
    return [] if _latest(task, _collected(task) if isolated else None) else checks


def _paused(task: Task) -> Stage:
    if "question" not in task:
        return "ask", "it is paused and asks nothing yet"
    times = times_asked(task)
    return "wait", f"it asks the same for the {times}. time" if times >= LOOP else "it waits for an answer"


def _at_work(task: Task, reviewers: int, retries: int) -> Stage:
    """A turn is to be started or gone on with; one that timed out costs a try, and without reviews there is none."""
    timed_out = task.get("result") == "TIMEOUT"
    if timed_out and not reviewers:
        return "failed", "it timed out, and without reviews it is not tried again"
    if timed_out and task.get("retry_count", 0) >= retries:
        return "failed", f"it timed out after {_retries(retries)}"
    if "session_id" not in task:
        return "start", "it has no session yet"
    return "resume", "it timed out and has a try left" if timed_out else "its turn is not done"


def _handed_in(
    task: Task,
    reviewers: int,
    retries: int,
    *,
    isolated: bool,
    merged: Mapping[tuple[str, int], str],
    broke: Sequence[tuple[list[Check], list[str]]],
) -> Stage:
    work = _collected(task) if isolated else None
    if isolated and work is None:
        return "collect", "what the worker left is not in git yet"
    is_merged = work is not None and merged.get((task["id"], task["iteration"])) == work["commit"]
    if is_approved(task):
        return _accepted(task, "a person has approved it", isolated=isolated, is_merged=is_merged)
    if _changes_protected(task, work):
        return _rejected(task, [], retries, why="it changes protected paths")
    missing = missing_checks(task, isolated=isolated)
    if missing:
        return "check", f"not run yet: {missing[0]['command']}"
    reviews = _reviews(task, work)
    failed = [each["command"] for each in _latest(task, work) if not each["passed"]]
    if failed:
        return _rejected(task, reviews, retries, why=f"failed: {failed[0]}")
    for checks, owners in broke:
        results = _checked_again(task, work, checks)
        if not results:
            return "check", f"not run yet: {checks[0]['command']} of task {owners[0]}"
        failed = [each["command"] for each in results if not each["passed"]]
        if failed:
            return _rejected(task, [], retries, why=f"{FINAL}`{failed[0]}` of task {owners[0]} still fails")
    if len(reviews) < reviewers:
        return "review", f"{len(reviews)} of {reviewers} reviews are there"
    if reviews and not verdict.strictest(verdict.Verdict(each["verdict"]) for each in reviews).passes:
        return _rejected(task, reviews, retries, why="the review is RED")
    return _accepted(task, "it is checked and reviewed", isolated=isolated, is_merged=is_merged)


def _accepted(task: Task, why: str, *, isolated: bool, is_merged: bool) -> Stage:
    """The merge of work that passed; only after that, the run's record of exactly this commit makes it done."""
    if not isolated:
        return "done", why
    if is_merged:
        return "done", "it is checked, reviewed and merged"
    return ("merge", why) if all(_at_merge(task).values()) else _unmergeable(task)


def _rejected(task: Task, reviews: list[Review], retries: int, *, why: str) -> Stage:
    """Back to its worker while tries are left, unless the last try changed nothing about a finding."""
    again = same_again(_findings_before(task), [found for each in reviews for found in each["findings"]])
    if again:
        return "ask", f"{SAME}{again[0]['text'][:200]}"
    used = task.get("retry_count", 0)
    if verdict.may_retry(verdict.RED, used, retries):
        return "send_back", why
    return "ask", f"{why}, after {_retries(used)}"


def _retries(count: int) -> str:
    return f"{count} {'retry' if count == 1 else 'retries'}"


def _unmergeable(task: Task) -> Stage:
    if merge_failures(task) > TRIES_TO_MERGE:
        return "ask", f"{UNMERGEABLE}, and an integrator did not help"
    return "send_back", UNMERGEABLE


def _collected(task: Task) -> Work | None:
    """What this iteration left in git."""
    work = task.get("work")
    return work if work is not None and work["iteration"] == task["iteration"] else None


def _latest(task: Task, work: Work | None) -> list[Evidence]:
    """The last whole run of the task's list in this iteration, on the collected tree where there is one."""
    now = [
        each
        for each in task.get("evidence", ())
        if each["iteration"] == task["iteration"] and each["kind"] not in ("dependency", "merge", "final")
    ]
    return check_list.last_run(now, check_list.of_task(task), tree=work["tree"] if work is not None else "")


def _checked_again(task: Task, work: Work | None, checks: list[Check]) -> list[Evidence]:
    """The last whole run in this iteration of a list that the task broke."""
    now = [each for each in task.get("evidence", ()) if each["iteration"] == task["iteration"]]
    finals = [each for each in now if each["kind"] == "final"]
    return check_list.last_run(finals, checks, tree=work["tree"] if work is not None else "")


def _changes_protected(task: Task, work: Work | None) -> bool:
    """Whether the collected work changes a path that the plan protects."""
    return work is not None and any(
        each["command"] == PROTECTED and each["iteration"] == task["iteration"] and each.get("tree") == work["tree"]
        for each in task.get("evidence", ())
    )


def _at_merge(task: Task) -> dict[str, bool]:
    """Of each command at this iteration's merge, whether it passed last."""
    return {
        each["command"]: each["passed"]
        for each in task.get("evidence", ())
        if each["iteration"] == task["iteration"] and each["kind"] == "merge"
    }


def _reviews(task: Task, work: Work | None) -> list[Review]:
    """The reviews of this iteration, and of the collected commit where there is one."""
    return [
        each
        for each in task.get("reviews", ())
        if each["iteration"] == task["iteration"] and (work is None or each.get("commit") == work["commit"])
    ]


def _findings_before(task: Task) -> list[Finding]:
    """What the last review before this iteration found."""
    earlier = [each for each in task.get("reviews", ()) if each["iteration"] < task["iteration"]]
    last = max((each["iteration"] for each in earlier), default=0)
    return [found for each in earlier if each["iteration"] == last for found in each["findings"]]
