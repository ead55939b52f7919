"""The last stage of a task: into the integration branch, one task at a time, after its checks passed on the result."""

from __future__ import annotations

from sow.domain import check_list
from sow.domain.stage import missing_checks
from sow.engine.check_list import reusable, run_list
from sow.store import run_acts
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import Evidence, Task
    from sow.engine.job import TaskJob
    from sow.engine.merging import Integration, Merge
    from sow.engine.steps import Steps


def merge(job: TaskJob, task: Task, integration: Integration) -> Steps[None]:
    """Try, check, advance. A conflict or a red check is evidence of the merge, which sends the task back."""
    queue = job.ship.queue
    if not queue.take(job.id):
        job.ship.step(job.id, "waits for the merge queue")
    while not queue.take(job.id):  # the head must not move between the try and the advance
        if job.ship.stopping:
            return
        yield
    try:
        if (task["id"], task["iteration"]) in integration.merged():
            yield from _check_there(job, task, integration)
        else:
            yield from _merge(job, task, integration)
    finally:
        queue.give(job.id)


def _check_there(job: TaskJob, task: Task, integration: Integration) -> Steps[None]:
    """After a crash between the merge and what was to be written down about it."""
    if missing_checks(task, at_merge=True):
        head = integration.head
        yield from _run(job, task, head, integration.repository.tree_of(head))


def _merge(job: TaskJob, task: Task, integration: Integration) -> Steps[None]:
    head = integration.head
    tried = integration.try_merge(job.id, task["iteration"], task["work"]["commit"], task["name"])
    if tried.conflicts:
        _conflict(job, task, tried, integration.branch)
        return
    passed = yield from _check(job, task, tried)
    if passed:
        integration.advance(tried.commit, head)
        job.ship.tell("merged", task=job.id, iteration=task["iteration"], commit=tried.commit)


def _check(job: TaskJob, task: Task, tried: Merge) -> Steps[bool]:
    """Run the task's list on the merged tree, unless the whole list passed on an equal tree already."""
    known = reusable(job.ship, task.get("evidence", ()), check_list.of_task(task), tried.tree)
    if known:
        here: list[Evidence] = [{**each, "kind": "merge", "iteration": task["iteration"]} for each in known]
        run_acts.add_evidence(job.desk, job.project, here)
        return True
    return (yield from _run(job, task, tried.commit, tried.tree))


def _run(job: TaskJob, task: Task, commit: str, tree: str) -> Steps[bool]:
    done = yield from run_list(
        job.ship,
        check_list.of_task(task),
        commit=commit,
        tree=tree,
        iteration=task["iteration"],
        name=job.id,
        kind="merge",
    )
    if done.interrupted:
        return False
    for each in done.evidence:
        if not each["passed"]:
            run_acts.keep_output(job.ship.checks_folder(job.id), each["command"], done.tails[each["command"]])
    if done.evidence:
        run_acts.add_evidence(job.desk, job.project, done.evidence)
    return done.passed


def _conflict(job: TaskJob, task: Task, tried: Merge, branch: str) -> None:
    """A conflict is written down like a check that failed, with the way out of it."""
    evidence: Evidence = {
        "kind": "merge",
        "command": "git merge",
        "exit": 1,
        "passed": False,
        "seconds": 0,
        "output": "0" * 64,
        "iteration": task["iteration"],
        "at": clock.now(),
    }
    words = "\n".join(tried.messages or tried.conflicts)
    way = f"Merge the branch {branch} (what other tasks did) into yours, resolve what conflicts so that both sides\n"
    way += "keep what they are for, and run the tests of both."
    run_acts.keep_output(job.ship.checks_folder(job.id), "git merge", f"{words}\n{way}")
    run_acts.add_evidence(job.desk, job.project, [evidence])
    job.ship.tell("conflict", task=job.id, paths=list(tried.conflicts))
