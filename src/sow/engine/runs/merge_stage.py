"""Merges a task into the integration branch, one task at a time, after its checks passed on the merged tree."""

from __future__ import annotations

from sow.domain.checks import check_list
from sow.domain.text import commit_message
from sow.engine.checks import final_checks, outside_imports
from sow.engine.checks.check_list import is_set_up, reusable_evidence, run_list
from sow.errors import SowError
from sow.gitwork import diffs
from sow.store.projects import task_updates
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import Check, Evidence, Task
    from sow.engine.runs.task_job import TaskJob
    from sow.gitwork.integration_branch import Integration, Merge
    from sow.system.process.generator_steps import Steps


def merge(job: TaskJob, task: Task, integration: Integration) -> Steps[None]:
    """Try the merge, check it and record it. A conflict or a failed check becomes evidence and sends the task back."""
    queue = job.context.merge_queue  # the head must not move between the try and the advance
    if queue.holder:
        job.context.progress(job.id, "waits for the merge queue")
    try:
        if (yield from queue.hold(job.context, job.id)):
            job.context.reset_moved_branch()
            yield from _merge(job, task, integration)
    finally:
        queue.release(job.id)


def _merge(job: TaskJob, task: Task, integration: Integration) -> Steps[None]:
    work = task["work"]["commit"]
    tried = integration.try_merge(job.id, task["iteration"], work, _message(job, task))
    if tried.conflicts:
        _conflict(job, task, tried, integration.branch)
        return
    passed = yield from _check(job, task, tried)
    if passed:
        integration.record_merge(tried, task=job.id, iteration=task["iteration"], work=work)
        empty = not diffs.changed_paths(integration.repository, task["work"]["base"], work)
        facts = {"commit": tried.commit, **({"empty": True} if empty else {})}
        job.context.journal("merged", task=job.id, iteration=task["iteration"], **facts)


def _message(job: TaskJob, task: Task) -> str:
    try:
        description = job.folder.home.read(job.folder.description_path)
    except (FileNotFoundError, SowError):  # the message is for people, so the name alone is enough
        description = ""
    return commit_message.message(task, description)


def _check(job: TaskJob, task: Task, tried: Merge) -> Steps[bool]:
    """Run the task's check list on the merged tree, and the lists that an earlier merge of the task broke."""
    own = check_list.checks_of(task)
    for checks in (own, *(broken for broken, _ in final_checks.broken_by(job.context, task))):
        if checks and not (yield from _check_list(job, task, tried, checks)):
            return False
    if own and not is_set_up(job.context, tried.tree):  # else the final checks repeat it in a fresh environment
        job.context.passed_lists.add((tried.tree, check_list.digest(own)))
    return True


def _check_list(job: TaskJob, task: Task, tried: Merge, checks: list[Check]) -> Steps[bool]:
    """Run a list on the merged tree, unless the whole list passed on an equal tree already."""
    earlier = reusable_evidence(job.context, task.get("evidence", ()), checks, tried.tree)
    if earlier:
        evidence: list[Evidence] = [{**entry, "kind": "merge", "iteration": task["iteration"]} for entry in earlier]
        task_updates.add_evidence(job.folder, job.project, evidence)
    else:
        facts = {"commit": tried.commit, "tree": tried.tree, "iteration": task["iteration"]}
        result = yield from run_list(job.context, checks, **facts, name=job.id, kind="merge")  # type: ignore[arg-type]
        if result.interrupted:
            return False
        job.keep_outputs(result)
        if result.imports_outside:
            outside_imports.record_concern(job.folder, job.project)
        task_updates.add_evidence(job.folder, job.project, result.evidence)
        return result.passed
    return True


def _conflict(job: TaskJob, task: Task, tried: Merge, branch: str) -> None:
    """Record a conflict like a failed check, with advice how to resolve it."""
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
    conflicts = "\n".join(tried.messages or tried.conflicts)
    advice = f"Merge the branch {branch} (what other tasks did) into yours, resolve what conflicts so that both sides\n"
    advice += "keep what they are for, and run the tests of both."
    task_updates.save_output(job.context.checks_folder(job.id), "git merge", f"{conflicts}\n{advice}")
    task_updates.add_evidence(job.folder, job.project, [evidence])
    job.context.journal("conflict", task=job.id, paths=list(tried.conflicts))
