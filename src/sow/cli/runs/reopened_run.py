"""Reopens an ended run for commands that work on its branches and start no agent."""

from __future__ import annotations

from contextlib import contextmanager

from sow.errors import SowError, Waiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sow.cli.context import Context
    from sow.engine.runs.run_context import RunContext
    from sow.gitwork.integration_branch import Integration
    from sow.store.files.checkout_home import Home
    from sow.store.runs.run_folder import RunFolder


@contextmanager
def reopened_run(context: Context, folder: RunFolder, command: str) -> Iterator[tuple[RunContext, Integration]]:
    """Opens the run and its integration branch, and claims the checkout meanwhile."""
    from sow.engine.runs import finish
    from sow.store import git_watch
    from sow.store.projects import project as projects

    home = folder.home
    _require_branch(folder)
    if folder.run["project_id"] != projects.load(home)["project_id"]:
        raise SowError(f"run {folder.id} belongs to an earlier project of this branch", "see 'sow runs list'")
    if folder.run["settings"]["isolation"] == "none":
        raise SowError(
            f"run {folder.id} worked in your own folder (--isolation none)", "it has no branch: see 'git status'"
        )
    with home.claim("run", purpose=f"{command} of {folder.id}"), git_watch.sealed_repository(home):
        run_context = _run_context(context, folder)
        try:
            if run_context.isolation is not None:
                yield run_context, run_context.isolation.integration
        finally:
            finish.remove_run_branches(run_context)


def pasteable_command(context: Context, home: Home, arguments: list[str]) -> str:
    """Returns a call of sow as a command that the user can paste in the current folder."""
    import shlex

    from sow.reports.hint_context import HintContext

    return shlex.join([*HintContext(context.environment, context.cwd).sow_command(home.root), *arguments])


def _require_branch(folder: RunFolder) -> None:
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


def _run_context(context: Context, folder: RunFolder) -> RunContext:
    from sow import config as configs
    from sow.engine.runs import start

    home, config = folder.home, configs.load(context.environment)
    agents = context.agents(home.root, config)
    return start.open_run(home, config, context.environment, agents=agents, folder=folder, listeners=[])
