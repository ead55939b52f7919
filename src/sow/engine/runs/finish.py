"""Ends a call of `sow run`: saves the state, merges the user's new commits and moves the user's branch."""

from __future__ import annotations

from sow.domain.task import ENDED_STATUSES
from sow.engine.checks import final_checks
from sow.engine.runs.integrate import Delivery, integrate
from sow.engine.runs.run_context import Isolation, RunContext
from sow.gitwork.worktrees import Worktrees
from sow.store.projects import project as projects
from sow.store.projects import restore, task_folder
from sow.store.projects.project import WrongBranch
from sow.store.runs import run_folder
from sow.system import clock
from sow.system.process.steps import Steps

DONE, WAITS, INTERRUPTED = 0, 4, 130
STATUS = {0: "ended", 1: "ended", 4: "waiting"}


def close(context: RunContext, code: int) -> Steps[list[str]]:
    """Deliver what is done to the user's branch, as far as that is safe; returns why it is not there.

    The exit code is in the run's state afterwards: work that waits for `sow integrate` waits for a person.
    """
    problems = _wrong_branch(context)
    if (
        not problems
        and context.isolation is not None
        and not (code == INTERRUPTED and _needs_checks(context, context.isolation))
    ):
        is_last = STATUS.get(code) == "ended"
        problems = _refusal_text(
            context, (yield from integrate(context, context.isolation.integration, is_last=is_last))
        )
    record_end(context, code, is_delivered=not problems)
    remove_run_branches(context)
    return problems


def record_end(context: RunContext, code: int, *, is_delivered: bool = True) -> None:
    """Record how a call of a run ended; a run whose work is not on the user's branch yet is not over."""
    run = context.folder.run
    run["exit"] = code if is_delivered or code != DONE else WAITS
    run["status"] = STATUS.get(code, "stopped") if is_delivered or code not in STATUS else "waiting"
    run["ended_at"] = clock.now()
    context.folder.save()


def _wrong_branch(context: RunContext) -> list[str]:
    """Return why nothing is delivered while another branch is checked out: its files are not the run's state."""
    try:
        restore.check_branch(context.home, context.folder.run["branch"])
    except WrongBranch as problem:
        return [f"{problem.message} ({problem.hint})"]
    return []


def end_if_delivered(context: RunContext) -> None:
    """End a run whose tasks have ended and that is on the user's branch, however its last call ended."""
    run = context.folder.run
    if run["status"] != "ended" and is_over(context):
        run["status"], run["exit"] = "ended", DONE
        context.folder.save()


def is_over(context: RunContext) -> bool:
    """Tell whether all tasks of the run have ended."""
    tasks = task_folder.load_readable_or_raise(context.home, projects.load(context.home), context.folder.run["tasks"])
    return all(task["status"] in ENDED_STATUSES for task in tasks)


def remove_run_branches(context: RunContext) -> None:
    """Remove the branches of a run that is over; every commit stays pinned."""
    if context.isolation is not None and context.folder.run["status"] == "ended":
        for folder in run_folder.listed(context.home):  # a run that was killed at this point left its branches
            if folder.run["status"] == "ended":
                Worktrees(context.isolation.repository, folder.id).drop_branches()


def _needs_checks(context: RunContext, isolation: Isolation) -> bool:
    """Tell whether checks must run before the user's branch moves; after Ctrl-C nobody waits for them."""
    integration = isolation.integration
    repository = integration.repository
    theirs = repository.find_commit(f"refs/heads/{context.folder.run['branch']}")
    if not theirs or not repository.is_ancestor(theirs, integration.head):
        return bool(theirs)
    if theirs == integration.head or context.settings.get("final_checks", "on") == "off":
        return False
    return bool(final_checks.missing(context, repository.tree_of(integration.head)))


def _refusal_text(context: RunContext, result: Delivery) -> list[str]:
    if result.refused is None:
        return []
    return [f"{result.refused.reason}; the work is on sow/int/{context.folder.id} ({result.refused.hint})"]
