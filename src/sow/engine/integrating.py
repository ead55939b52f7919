"""Integrating: what a run has merged comes to the user's branch, with the user's own new commits checked on the way."""

from __future__ import annotations

from sow.engine.check_list import run_list
from sow.engine.finishing import Finished, fast_forward
from sow.engine.refusal import Refused
from sow.errors import Interrupted
from sow.store import desk as desks
from sow.store import project as projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import Check
    from sow.engine.merging import Integration
    from sow.engine.ship import Ship
    from sow.engine.steps import Steps

LATER = "then 'sow integrate'"


class Integrated:
    """How it went: the user's branch has all of it, or there is a reason why not, and nothing of the user's moved."""

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
        self.commit = commit  # on which the user's branch stands, or would stand
        self.paths = paths or []  # what came with it
        self.theirs = theirs  # how many new commits of the user were merged in
        self.refused = refused
        self.failed = failed  # a check was red: nobody but the code can change that


def integrate(ship: Ship, integration: Integration, *, dry_run: bool = False) -> Steps[Integrated]:
    """Merge the user's new commits in and check the result; save the state; move the user's checkout, if that is safe.

    A dry run tries the merge and looks at the checkout, and changes and checks nothing.
    """
    repository, branch = integration.repository, ship.folder.run["branch"]
    theirs = repository.find(f"refs/heads/{branch}")
    if not theirs:
        again = f"git branch {branch} {integration.branch}, or merge that branch where you want it"
        return Integrated(refused=Refused(f"the branch {branch} is gone", again))
    head, count = integration.head, 0
    if not repository.is_ancestor(theirs, head):
        count = int(repository.git("rev-list", "--count", f"{head}..{theirs}").strip())
        if not repository.are_related(head, theirs):
            return Integrated(theirs=count, refused=_unrelated(integration, branch))
        tried = integration.bring_in(theirs)
        if tried.conflicts:
            return Integrated(theirs=count, refused=_conflict(integration, tried.conflicts))
        if not dry_run:
            try:
                command = yield from _first_red(ship, tried.commit, tried.tree)
            except Interrupted as cut:
                return Integrated(theirs=count, refused=Refused(cut.message, "'sow integrate' begins it again"))
            if command:
                return Integrated(theirs=count, refused=_red(integration, command), failed=True)
            integration.advance(tried.commit, head)
        head = tried.commit
    if not dry_run:
        head = integration.save_state(f"State of run {ship.folder.id}")
    with repository.held():
        ended = fast_forward(repository, branch, head, rehearse=dry_run)
    if isinstance(ended, Finished):
        return Integrated(commit=ended.commit, paths=ended.paths, theirs=count)
    return Integrated(theirs=count, refused=ended)


def _conflict(integration: Integration, paths: tuple[str, ...]) -> Refused:
    shown = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
    return Refused(
        f"your new commits conflict with the run in {shown}",
        f"{_merge_by_hand(integration)}, resolve and commit what conflicts, {LATER}",
    )


def _unrelated(integration: Integration, branch: str) -> Refused:
    way = f"sow project save && git merge --allow-unrelated-histories {integration.branch}"
    return Refused(f"{branch} and the run have no commit in common", f"{way}, {LATER}; or git switch to another branch")


def _red(integration: Integration, command: str) -> Refused:
    return Refused(
        f"with your new commits `{command}` fails",
        f"{_merge_by_hand(integration)}, mend it and commit, {LATER}",
    )


def _merge_by_hand(integration: Integration) -> str:
    """The state is saved on the run's branch too: git does not merge over files that it does not know."""
    return f"sow project save && git merge {integration.branch}"


def needs_checks(ship: Ship, integration: Integration) -> bool:
    """Whether the user's branch has new commits, so that the merge with them is checked."""
    theirs = integration.repository.find(f"refs/heads/{ship.folder.run['branch']}")
    return bool(theirs) and not integration.repository.is_ancestor(theirs, integration.head)


def checks_of(ship: Ship) -> dict[str, Check]:
    """The tests of every completed task, by their commands."""
    project = projects.load(ship.home)
    checks: dict[str, Check] = {}
    for _, task in desks.load_all(ship.home, project)[0]:
        if task["status"] == "completed":
            checks |= {each["command"]: each for each in task.get("checks", ()) if each["kind"] == "test"}
    return checks


def _first_red(ship: Ship, commit: str, tree: str) -> Steps[str]:
    """Run the tests of every completed task on a merged commit; returns the first command that failed."""
    checks = checks_of(ship)
    done = yield from run_list(ship, list(checks.values()), commit=commit, tree=tree, iteration=1, name="integration")
    if done.interrupted:
        raise Interrupted("interrupted: the checks were not ended", "run the same command again")
    return next((each["command"] for each in done.evidence if not each["passed"]), "")
