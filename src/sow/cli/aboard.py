"""Reopens an ended run for commands that work on its branches and start no agent."""

from __future__ import annotations

from contextlib import contextmanager

from sow.errors import SowError, Waiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sow.cli.context import Context
    from sow.engine.merging import Integration
    from sow.engine.ship import Ship
    from sow.store.home import Home
    from sow.store.runs import RunFolder


@contextmanager
def aboard(context: Context, folder: RunFolder, command: str) -> Iterator[tuple[Ship, Integration]]:
    """Opens the run and its integration branch, and claims the checkout meanwhile."""
    from sow.engine import closing
    from sow.store import git_watch
    from sow.store import project as projects

    home = folder.home
    _refuse_elsewhere(folder)
    if folder.run["project_id"] != projects.load(home)["project_id"]:
        raise SowError(f"run {folder.id} belongs to an earlier project of this branch", "see 'sow runs list'")
    if folder.run["settings"]["isolation"] == "none":
        raise SowError(
            f"run {folder.id} worked in your own folder (--isolation none)", "it has no branch: see 'git status'"
        )
    with home.claim("run", purpose=f"{command} of {folder.id}"), git_watch.guarded(home):
        ship = _ship(context, folder)
        try:
            if ship.isolation is not None:
                yield ship, ship.isolation.integration
        finally:
            closing.leave(ship)


def same_call(context: Context, home: Home, arguments: list[str]) -> str:
    """Returns a call of sow as a command that the user can paste in the current folder."""
    import shlex

    from sow.engine.standpoint import Standpoint

    return shlex.join([*Standpoint(context.environment, context.cwd).sow(home.root), *arguments])


def _refuse_elsewhere(folder: RunFolder) -> None:
    """Refuses to go on unless the run's branch is checked out."""
    from sow.system import git

    home, branch = folder.home, folder.run["branch"]
    current = home.checkout.branch()
    if current == branch:
        return
    args = ["rev-parse", "--verify", "--quiet", f"refs/heads/{branch}"]
    if not git.run(args, cwd=home.root, check=False).strip():
        source = f"sow/int/{folder.id}"
        raise Waiting(f"the branch {branch} is gone; the work is on {source}", f"git switch -c {branch} {source}")
    state = f"on {current}" if current else "on no branch"
    raise Waiting(f"{home.root} is {state}, and the run belongs to {branch}", f"git switch {branch}")


def _ship(context: Context, folder: RunFolder) -> Ship:
    from sow import config as configs
    from sow.agents.registry import AgentRegistry
    from sow.engine import opening

    home, config = folder.home, configs.load(context.environment)
    user_home = context.environment.get("HOME", "")
    agents = AgentRegistry(root=home.root, user_home=user_home, trusted=config.trusts(home.root))
    return opening.board_ship(home, config, context.environment, agents=agents, folder=folder, listeners=[])
