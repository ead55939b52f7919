"""The room for checks outside of a task's own turn: the integration worktree on some commit, furnished as all are."""

from __future__ import annotations

import shlex

from sow.engine.checking import run_check
from sow.engine.place import EnvironmentProblem
from sow.errors import Interrupted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import Check
    from sow.engine.checking import Ran
    from sow.engine.merging import Integration
    from sow.engine.ship import Ship
    from sow.engine.steps import Steps


class CheckRoom:
    """One run's integration worktree, used while the run's claim is held."""

    __slots__ = ("integration", "name", "ship")

    def __init__(self, ship: Ship, integration: Integration, name: str) -> None:
        self.ship = ship
        self.integration = integration
        self.name = name  # of the folder that keeps what the checks said

    def show(self, commit: str) -> Steps[None]:
        """Put a commit there, and what the user wants in every worktree."""
        self.integration.show(commit)
        wanted = self.ship.furniture()
        for command in self.integration.furnish(wanted):
            shown = shlex.join(command)
            ran = yield from self.run({"kind": "dependency", "command": shown}, "")
            if not ran.evidence["passed"]:
                raise EnvironmentProblem(
                    f"the set-up of the worktree failed: {shown}", "see worktree.setup: sow config edit"
                )
        self.integration.furnished(wanted)

    def run(self, check: Check, tree: str, iteration: int = 1) -> Steps[Ran]:
        """Run one command on what is there."""
        ran = yield from run_check(
            check,
            iteration=iteration,
            tree=tree,
            cwd=self.integration.path,
            folder=self.ship.checks_folder(self.name),
            environment=self.ship.check_environment(),
            limits=self.ship.check_limits(),
        )
        if ran.interrupted:
            raise Interrupted(f"interrupted: `{check['command']}` was not ended", "run the same command again")
        return ran
