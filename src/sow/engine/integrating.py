"""Delivers what a run has merged to the user's branch, after the checks of the final tree passed."""

from __future__ import annotations

from sow.domain.wording import answer_command
from sow.engine import final_checks
from sow.engine.finishing import Finished, fast_forward
from sow.engine.merging import Merge
from sow.engine.refusal import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.engine.merging import Integration
    from sow.engine.ship import Ship
    from sow.engine.steps import Steps

LATER = "then 'sow integrate'"


class Integrated:
    """The result of a delivery: the user's branch has all of it, or a reason why not, and then nothing moved."""

    __slots__ = ("commit", "failed", "paths", "refused", "theirs")

    def __init__(
        self,
        *,
        commit: str = "",
        paths: list[str] | None = None,
        theirs: int = 0,
        refused: Refused | None = None,
        failed: bool = False,
    ) -> None:
        self.commit = commit  # commit at which the user's branch is, or would be
        self.paths = paths or []  # paths that came with it
        self.theirs = theirs  # number of new commits of the user that were merged in
        self.refused = refused
        self.failed = failed  # a check failed: only a change of the code can fix that


def integrate(
    ship: Ship, integration: Integration, *, dry_run: bool = False, is_last: bool = True
) -> Steps[Integrated]:
    """Merge the user's new commits in, check the result, and move the user's checkout to it, if that is safe.

    The state is saved with the last integration of a run only. A dry run tries the merge and looks at the checkout,
    and changes and checks nothing.
    """
    repository, branch = integration.repository, ship.folder.run["branch"]
    theirs = repository.find(f"refs/heads/{branch}")
    if not theirs:
        hint = f"git branch {branch} {integration.branch}, or merge that branch where you want it"
        return Integrated(refused=Refused(f"the branch {branch} is gone", hint))
    ship.guard_branch()
    if not dry_run:
        final_checks.drop_given_up(ship)
    head, count = integration.head, 0
    target = Merge(commit=head, tree=repository.tree_of(head), parent=head)
    if not repository.is_ancestor(theirs, head):
        count = int(repository.git("rev-list", "--count", f"{head}..{theirs}").strip())
        if not repository.are_related(head, theirs):
            return Integrated(theirs=count, refused=_unrelated(integration, branch))
        target = integration.bring_in(theirs)
        if target.conflicts:
            return Integrated(theirs=count, refused=_conflict(integration, target.conflicts))
    if dry_run:
        refused = _open_again(ship)
        if refused is not None:
            return Integrated(theirs=count, refused=refused)
    else:
        refused = yield from _check(ship, integration, target, theirs, count)
        if refused is not None:
            return Integrated(theirs=count, refused=refused, failed=refused.failed)
        if count:
            integration.advance(target.commit, head)
    with repository.held():
        ended = fast_forward(repository, branch, target.commit, rehearse=True)
        if isinstance(ended, Finished) and not dry_run:
            saved = integration.save_state(f"State of run {ship.folder.id}") if is_last else target.commit
            ended = fast_forward(repository, branch, saved)
    if isinstance(ended, Finished):
        return Integrated(commit=ended.commit, paths=ended.paths, theirs=count)
    return Integrated(theirs=count, refused=ended)


class _NotGood(Refused):
    """A final check prevents the delivery: it failed, or it did not run to its end."""

    __slots__ = ("failed",)

    def __init__(self, reason: str, hint: str, *, failed: bool) -> None:
        super().__init__(reason, hint)
        self.failed = failed


def _open_again(ship: Ship) -> _NotGood | None:
    """Refuse while a task that a final check sent back is not settled."""
    task = final_checks.open_again(ship)
    if task is None:
        return None
    reason = f"task {task['id']} was merged, a final check sent it back, and it is {task['status']}"
    if "question" in task:
        question = task["question"]
        hint = f"{answer_command(str(question['number']), question['text'])}, then run the plan again"
    else:
        hint = "run the plan again: that goes on with it"
    return _NotGood(reason, hint, failed=False)


def _check(ship: Ship, integration: Integration, target: Merge, theirs: str, count: int) -> Steps[_NotGood | None]:
    """Run the final checks on what would be delivered; the user's new commits are checked in any case."""
    is_wanted = count or ship.settings.get("final_checks", "on") == "on"
    if not is_wanted or integration.repository.is_ancestor(target.commit, theirs):
        return None
    refused = _open_again(ship)
    if refused is not None:
        return refused
    result = yield from final_checks.check(ship, target)
    if result.interrupted:
        return _NotGood("interrupted: the final checks were not ended", "'sow integrate' begins again", failed=False)
    if result.problem is not None:
        reason = f"the final checks could not run: {result.problem.message}"
        return _NotGood(reason, f"{result.problem.hint}; {LATER}", failed=False)
    if result.broken is None:
        return None
    if count and (result.broken.by is None or result.broken.by.merge is None) and not result.broken.unreliable:
        reason = f"with your new commits `{result.broken.command}` fails"
        return _NotGood(reason, f"{_merge_by_hand(integration)}, fix it and commit, {LATER}", failed=True)
    return _NotGood(result.broken.reason, "run the plan again: that sends the task back or asks", failed=True)


def _conflict(integration: Integration, paths: tuple[str, ...]) -> Refused:
    names = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
    return Refused(
        f"your new commits conflict with the run in {names}",
        f"{_merge_by_hand(integration)}, resolve and commit what conflicts, {LATER}",
    )


def _unrelated(integration: Integration, branch: str) -> Refused:
    command = f"sow project save && git merge --allow-unrelated-histories {integration.branch}"
    return Refused(
        f"{branch} and the run have no commit in common", f"{command}, {LATER}; or git switch to another branch"
    )


def _merge_by_hand(integration: Integration) -> str:
    """Return the merge command; it saves the state first, because git does not merge over untracked files."""
    return f"sow project save && git merge {integration.branch}"
