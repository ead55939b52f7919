"""The last stage of a task: into the integration branch, one task at a time, after its checks passed on the result."""

from __future__ import annotations

from sow.domain.stage import missing_checks
from sow.engine.setup_plan import reader_of, setup_of
from sow.store import run_acts
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.domain.shapes import Check, Evidence, Task
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
    wanted = missing_checks(task, at_merge=True)
    if wanted:
        head = integration.head
        yield from _run(job, wanted, (yield from _folder(job, integration, head)), integration.repository.tree_of(head))


def _merge(job: TaskJob, task: Task, integration: Integration) -> Steps[None]:
    head = integration.head
    tried = integration.try_merge(job.id, task["iteration"], task["work"]["commit"], task["name"])
    if tried.conflicts:
        _conflict(job, task, tried, integration.branch)
        return
    passed = yield from _check(job, task, tried, integration)
    if passed:
        integration.advance(tried.commit, head)
        job.ship.tell("merged", task=job.id, iteration=task["iteration"], commit=tried.commit)


def _check(job: TaskJob, task: Task, tried: Merge, integration: Integration) -> Steps[bool]:
    """Run the task's checks on the merged tree; what passed on an equal tree already is not run again."""
    known = {each["command"]: each for each in task.get("evidence", ()) if _holds(each, tried.tree)}
    here: list[Evidence] = [{**each, "kind": "merge", "iteration": task["iteration"]} for each in known.values()]
    if here:
        run_acts.add_evidence(job.desk, job.project, here)
    wanted = [each for each in task.get("checks", ()) if each["kind"] != "dependency" and each["command"] not in known]
    if not wanted:
        return True
    folder = yield from _folder(job, integration, tried.commit)
    return (yield from _run(job, wanted, folder, tried.tree))


def _holds(evidence: Evidence, tree: str) -> bool:
    return evidence["passed"] and evidence.get("tree") == tree and evidence["kind"] != "dependency"


def _folder(job: TaskJob, integration: Integration, commit: str) -> Steps[str]:
    """The integration worktree on a commit, with what the user wants in every worktree."""
    folder = integration.show(commit)
    setup = setup_of(job.ship, reader_of(folder))
    wanted = setup.furniture()
    yield from job.set_up(setup, integration.furnish(wanted), folder)
    integration.furnished(wanted)
    return folder


def _run(job: TaskJob, checks: Sequence[Check], folder: str, tree: str) -> Steps[bool]:
    passed = True
    for check in checks:
        ran = yield from job.run_check({**check, "kind": "merge"}, folder, tree)
        if ran.interrupted:
            return False
        if not ran.evidence["passed"]:
            run_acts.keep_output(job.ship.checks_folder(job.id), check["command"], ran.tail)
            passed = False
        run_acts.add_evidence(job.desk, job.project, [ran.evidence])
    return passed


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
