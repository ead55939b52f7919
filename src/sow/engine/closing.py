"""Ends a call of `sow run`: saves the state, merges the user's new commits and moves the user's branch."""

from __future__ import annotations

from sow.domain.task import ENDED_STATUSES
from sow.engine import final_checks
from sow.engine.integrating import integrate
from sow.engine.worktrees import Worktrees
from sow.store import desk as desks
from sow.store import project as projects
from sow.store import restoring, runs
from sow.store.restoring import Elsewhere
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.engine.integrating import Integrated
    from sow.engine.ship import Isolation, Ship
    from sow.engine.steps import Steps

DONE, WAITS, INTERRUPTED = 0, 4, 130
STATUS = {0: "ended", 1: "ended", 4: "waiting"}


def close(ship: Ship, code: int) -> Steps[list[str]]:
    """Deliver what is done to the user's branch, as far as that is safe; returns why it is not there.

    The exit code is in the run's state afterwards: work that waits for `sow integrate` waits for a person.
    """
    problems = _elsewhere(ship)
    if (
        not problems
        and ship.isolation is not None
        and not (code == INTERRUPTED and _needs_checks(ship, ship.isolation))
    ):
        is_last = STATUS.get(code) == "ended"
        problems = _words(ship, (yield from integrate(ship, ship.isolation.integration, is_last=is_last)))
    run = ship.folder.run
    run["exit"] = WAITS if problems and code == DONE else code
    # The next call needs work that is not on the user's branch yet, so the run is not over.
    run["status"] = "waiting" if problems and code in STATUS else STATUS.get(code, "stopped")
    run["ended_at"] = clock.now()
    ship.folder.save()
    leave(ship)
    return problems


def _elsewhere(ship: Ship) -> list[str]:
    """Return why nothing is delivered while another branch is checked out: its files are not the run's state."""
    try:
        restoring.refuse_elsewhere(ship.home, ship.folder.run["branch"])
    except Elsewhere as problem:
        return [f"{problem.message} ({problem.hint})"]
    return []


def settle(ship: Ship) -> None:
    """End a run whose tasks have ended and that is on the user's branch, however its last call ended."""
    run = ship.folder.run
    if run["status"] != "ended" and is_over(ship):
        run["status"], run["exit"] = "ended", DONE
        ship.folder.save()


def is_over(ship: Ship) -> bool:
    """Tell whether all tasks of the run have ended."""
    tasks = desks.load_some(ship.home, projects.load(ship.home), ship.folder.run["tasks"])
    return all(task["status"] in ENDED_STATUSES for task in tasks)


def leave(ship: Ship) -> None:
    """Remove the integration worktree and the branches of a run that is over; every commit stays pinned."""
    if ship.isolation is not None and ship.folder.run["status"] == "ended":
        ship.isolation.integration.remove()
        for folder in runs.listed(ship.home):  # a run that was killed at this point left its branches
            if folder.run["status"] == "ended":
                Worktrees(ship.home, folder.id, repository=ship.isolation.worktrees.repository).drop_branches()


def _needs_checks(ship: Ship, isolation: Isolation) -> bool:
    """Tell whether checks must run before the user's branch moves; after Ctrl-C nobody waits for them."""
    integration = isolation.integration
    repository = integration.repository
    theirs = repository.find(f"refs/heads/{ship.folder.run['branch']}")
    if not theirs or not repository.is_ancestor(theirs, integration.head):
        return bool(theirs)
    if theirs == integration.head or ship.settings.get("final_checks", "on") == "off":
        return False
    return bool(final_checks.missing(ship, repository.tree_of(integration.head)))


def _words(ship: Ship, result: Integrated) -> list[str]:
    """Return why the user's branch did not move, and where the work is."""
    if result.refused is None:
        return []
    return [f"{result.refused.reason}; the work is on sow/int/{ship.folder.id} ({result.refused.hint})"]
