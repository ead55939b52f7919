"""Ends a call of a run: delivers what is merged to the user's branch after the final checks, and saves the state."""

from __future__ import annotations

from dataclasses import dataclass, field

from sow.domain.task import ENDED_STATUSES, answer_command
from sow.domain.text.units import listed
from sow.engine.checks import final_checks
from sow.engine.runs.run_context import Isolation, RunContext
from sow.errors import DONE, INTERRUPTED, WAITS
from sow.gitwork.integration_branch import Delivered, Integration, Merge, fast_forward
from sow.gitwork.repository import DeliveryRefused
from sow.gitwork.worktrees import Worktrees
from sow.store.projects import project as projects
from sow.store.projects import restore, task_folder
from sow.store.projects.project import WrongBranch
from sow.store.runs import run_folder
from sow.system import clock
from sow.system.process.steps import Steps

STATUS = {0: "ended", 1: "ended", 4: "waiting"}


def close(context: RunContext, code: int) -> Steps[list[str]]:
    """Delivers what is done to the user's branch, as far as that is safe; returns why it is not there.

    The exit code is in the run's state afterwards: work that waits for `sow integrate` waits for a person.
    """
    problems = [context.taken_over] if context.taken_over else _wrong_branch(context)
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
    """Records how a call of a run ended; a run whose work is not on the user's branch yet is not over."""
    run = context.folder.run
    run["exit"] = code if is_delivered or code != DONE else WAITS
    run["status"] = STATUS.get(code, "stopped") if is_delivered or code not in STATUS else "waiting"
    run["ended_at"] = clock.now()
    context.folder.save()


def _wrong_branch(context: RunContext) -> list[str]:
    """Returns why nothing is delivered while another branch is checked out: its files are not the run's state."""
    try:
        restore.check_branch(context.home, context.folder.run["branch"])
    except WrongBranch as problem:
        return [f"{problem.message} ({problem.hint})"]
    return []


def end_if_delivered(context: RunContext) -> None:
    """Ends a run whose tasks have ended and that is on the user's branch, however its last call ended."""
    run = context.folder.run
    if run["status"] != "ended" and is_over(context):
        run["status"], run["exit"] = "ended", DONE
        context.folder.save()


def is_over(context: RunContext) -> bool:
    """Tells whether all tasks of the run have ended."""
    tasks = task_folder.load_readable_or_raise(context.home, projects.load(context.home), context.folder.run["tasks"])
    return all(task["status"] in ENDED_STATUSES for task in tasks)


def remove_run_branches(context: RunContext) -> None:
    """Removes the branches of a run that is over; every commit stays pinned."""
    if context.isolation is not None and context.folder.run["status"] == "ended":
        for folder in run_folder.all_folders(context.home):  # a run that was killed at this point left its branches
            if folder.run["status"] == "ended":
                Worktrees(context.isolation.repository, folder.id).drop_branches()


def _needs_checks(context: RunContext, isolation: Isolation) -> bool:
    """Tells whether checks must run before the user's branch moves; after Ctrl-C nobody waits for them."""
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


LATER = "then 'sow integrate'"


@dataclass(frozen=True)
class Delivery:
    """The result of a delivery: the user's branch has all of it, or a reason why not, and then nothing moved."""

    commit: str = ""  # commit at which the user's branch is, or would be
    paths: list[str] = field(default_factory=list)  # paths that came with it
    user_commits: int = 0  # number of new commits of the user that were merged in
    refused: DeliveryRefused | None = None
    failed: bool = False  # a check failed: only a change of the code can fix that


def integrate(
    context: RunContext, integration: Integration, *, dry_run: bool = False, is_last: bool = True
) -> Steps[Delivery]:
    """Merges the user's new commits in, checks the result, and moves the user's checkout to it, if that is safe.

    The state is saved with the last integration of a run only. A dry run tries the merge and looks at the checkout,
    and changes and checks nothing.
    """
    repository, branch = integration.repository, context.folder.run["branch"]
    theirs = repository.find_commit(f"refs/heads/{branch}")
    if not theirs:
        hint = f"git branch {branch} {integration.branch}, or merge that branch where you want it"
        return Delivery(refused=DeliveryRefused(f"the branch {branch} is gone", hint))
    context.reset_moved_branch()
    if not dry_run:
        final_checks.drop_given_up(context)
    head = integration.head
    count = int(repository.git("rev-list", "--count", f"{head}..{theirs}").strip())
    if not repository.merge_base(head, theirs):
        return Delivery(user_commits=count, refused=_unrelated(integration, branch))
    target = integration.merge_user_commits(theirs)
    if target.conflicts:
        return Delivery(user_commits=count, refused=_conflict(integration, target.conflicts))
    if dry_run:
        refused = _refuse_reopened(context)
        if refused is not None:
            return Delivery(user_commits=count, refused=refused)
    else:
        refused = yield from _check(context, integration, target, theirs, count)
        if refused is not None:
            return Delivery(user_commits=count, refused=refused, failed=refused.failed)
        if count:
            integration.advance(target.commit, head)
    with repository.locked():
        ended = fast_forward(repository, branch, target.commit, rehearse=True)
        if isinstance(ended, Delivered) and not dry_run:
            saved = integration.save_state(f"State of run {context.folder.id}") if is_last else target.commit
            ended = fast_forward(repository, branch, saved)
    if isinstance(ended, Delivered):
        return Delivery(commit=ended.commit, paths=ended.paths, user_commits=count)
    return Delivery(user_commits=count, refused=ended)


@dataclass(frozen=True)
class _CheckRefusal(DeliveryRefused):
    """A final check prevents the delivery: it failed, or it did not run to its end."""

    failed: bool = False


def _refuse_reopened(context: RunContext) -> _CheckRefusal | None:
    """Refuses while a task that a final check sent back is not settled."""
    task = final_checks.open_again(context)
    if task is None:
        return None
    reason = f"task {task['id']} was merged, a final check sent it back, and it is {task['status']}"
    if "question" in task:
        question = task["question"]
        hint = f"{answer_command(str(question['number']), question['text'])}, then run the plan again"
    else:
        hint = "run the plan again to resume it"
    return _CheckRefusal(reason, hint)


def _check(
    context: RunContext, integration: Integration, target: Merge, theirs: str, count: int
) -> Steps[_CheckRefusal | None]:
    """Runs the final checks on what would be delivered; the user's new commits are checked in any case."""
    is_wanted = count or context.settings.get("final_checks", "on") == "on"
    if not is_wanted or integration.repository.is_ancestor(target.commit, theirs):
        return None
    refused = _refuse_reopened(context)
    if refused is not None:
        return refused
    result = yield from final_checks.check(context, target)
    if result.interrupted:
        return _CheckRefusal("interrupted: the final checks were not ended", "'sow integrate' begins again")
    if result.problem is not None:
        reason = f"the final checks could not run: {result.problem.message}"
        return _CheckRefusal(reason, f"{result.problem.hint}; {LATER}")
    if result.broken is None:
        return None
    if count and (result.broken.by is None or result.broken.by.merge is None) and not result.broken.unreliable:
        reason = f"with your new commits `{result.broken.command}` fails"
        return _CheckRefusal(reason, f"{_merge_by_hand(integration)}, fix it and commit, {LATER}", failed=True)
    return _CheckRefusal(result.broken.reason, "run the plan again: that sends the task back or asks", failed=True)


def _conflict(integration: Integration, paths: tuple[str, ...]) -> DeliveryRefused:
    return DeliveryRefused(
        f"your new commits conflict with the run in {listed(paths, 5)}",
        f"{_merge_by_hand(integration)}, resolve and commit what conflicts, {LATER}",
    )


def _unrelated(integration: Integration, branch: str) -> DeliveryRefused:
    command = f"sow project save && git merge --allow-unrelated-histories {integration.branch}"
    return DeliveryRefused(
        f"{branch} and the run have no commit in common", f"{command}, {LATER}; or git switch to another branch"
    )


def _merge_by_hand(integration: Integration) -> str:
    """Returns the merge command; it saves the state first, because git does not merge over untracked files."""
    return f"sow project save && git merge {integration.branch}"
