"""Runs the check list of a task on one commit."""

from __future__ import annotations

from sow.domain import check_list
from sow.engine.check_room import CheckRoom
from sow.errors import Interrupted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.domain.shapes import Check, Evidence
    from sow.engine.ship import Ship
    from sow.engine.steps import Steps


class ListRun:
    """The results of one check list on one commit."""

    __slots__ = ("evidence", "interrupted", "tails")

    def __init__(self) -> None:
        self.evidence: list[Evidence] = []
        self.tails: dict[str, str] = {}  # command: the end of its output
        self.interrupted = False  # a person stopped it, so the results are incomplete

    @property
    def passed(self) -> bool:
        return not self.interrupted and all(each["passed"] for each in self.evidence)


def run_list(
    ship: Ship, checks: Sequence[Check], *, commit: str, tree: str, iteration: int, name: str, kind: str = ""
) -> Steps[ListRun]:
    """Run all commands of a list in a checkout of a commit, in order; `name` is the folder that keeps their output.

    `kind` replaces the kind of each check in the evidence, such as `merge` or `final`.
    """
    done = ListRun()
    if ship.isolation is None or not checks:
        return done
    room = CheckRoom(ship, ship.isolation.integration, name)
    digest = check_list.digest(checks)
    try:
        yield from room.show(commit)
        for check in checks:
            ran = yield from room.run({**check, "kind": kind} if kind else check, tree, iteration)
            done.evidence.append({**ran.evidence, "list": digest})
            done.tails[check["command"]] = ran.tail
    except Interrupted:
        done.interrupted = True
    return done
