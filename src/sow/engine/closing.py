"""The end of a call of `sow run`: the state is saved, the user's new commits come in, their checkout moves on."""

from __future__ import annotations

from sow.domain.task import ENDED_STATUSES
from sow.engine.integrating import integrate
from sow.store import desk as desks
from sow.store import project as projects
from sow.store import restoring
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
    """Bring what is done to the user's branch, as far as that is safe; returns why it is not there.

    The exit code is in the run's state afterwards: work that waits for `sow integrate` waits for a person.
    """
    said = _elsewhere(ship)
    if not said and ship.isolation is not None and not (code == INTERRUPTED and _has_news(ship, ship.isolation)):
        said = _words(ship, (yield from integrate(ship, ship.isolation.integration)))
    run = ship.folder.run
    run["exit"] = WAITS if said and code == DONE else code
    # What is not on the user's branch yet is needed by the next call: the run is not over.
    run["status"] = "waiting" if said and code in STATUS else STATUS.get(code, "stopped")
    run["ended_at"] = clock.now()
    ship.folder.save()
    leave(ship)
    return said


def _elsewhere(ship: Ship) -> list[str]:
    """Why nothing is brought home while another branch is checked out there: its files are not the run's state."""
    try:
        restoring.refuse_elsewhere(ship.home, ship.folder.run["branch"])
    except Elsewhere as problem:
        return [f"{problem.message} ({problem.hint})"]
    return []


def settle(ship: Ship) -> None:
    """A run that only waited to come to the user's branch is over once it is there."""
    run = ship.folder.run
    project = projects.load(ship.home)
    tasks = desks.load_some(ship.home, project, run["tasks"])
    if run["status"] == "waiting" and all(task["status"] in ENDED_STATUSES for task in tasks):
        run["status"], run["exit"] = "ended", DONE
        ship.folder.save()


def leave(ship: Ship) -> None:
    """Remove the integration worktree of a run that is over; its branch stays."""
    if ship.isolation is not None and ship.folder.run["status"] == "ended":
        ship.isolation.integration.remove()


def _has_news(ship: Ship, isolation: Isolation) -> bool:
    """Whether the user has committed meanwhile: that needs checks, and nobody waits for those after Ctrl-C."""
    repository = isolation.integration.repository
    theirs = repository.find(f"refs/heads/{ship.folder.run['branch']}")
    return bool(theirs) and not repository.is_ancestor(theirs, isolation.integration.head)


def _words(ship: Ship, done: Integrated) -> list[str]:
    """Why the user's branch did not move, and where the work is."""
    if done.refused is None:
        return []
    return [f"{done.refused.reason}; the work is on sow/int/{ship.folder.id} ({done.refused.hint})"]
