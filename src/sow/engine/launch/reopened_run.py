"""Reopens an ended run for commands that work on its branches and start no agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from sow import config as configs
from sow.engine.consent import load_consents
from sow.engine.runs import finish
from sow.engine.runs.run_context import RunContext
from sow.errors import SowError, Waiting
from sow.gitwork.integration_branch import Integration
from sow.store import git_watch
from sow.store.projects import project as projects
from sow.store.runs.run_folder import RunFolder


@contextmanager
def reopened_run(
    folder: RunFolder,
    environment: Mapping[str, str],
    command: str,
    verbs: Callable[..., int] | None,
    *,
    has_journal: bool = False,
) -> Iterator[tuple[RunContext, Integration]]:
    """Opens the run and its integration branch, and claims the checkout meanwhile.

    A command that changes nothing writes no journal, because its entries would count as a call of the run.
    """
    home = folder.home
    _require_branch(folder)
    if folder.run["project_id"] != projects.load(home)["project_id"]:
        raise SowError(f"run {folder.id} belongs to an earlier project of this branch", "see 'sow runs list'")
    if folder.run["settings"]["isolation"] == "none":
        raise SowError(
            f"run {folder.id} worked in your own folder (--isolation none)", "it has no branch: see 'git status'"
        )
    with home.claim("run", purpose=f"{command} of {folder.id}"), git_watch.sealed_repository(home):
        config = configs.load(environment)
        agents = config.agents(home.root, environment)
        agreed = load_consents(home, config, environment)
        run_context = RunContext(home, config, environment, agents, folder, [], agreed, verbs=verbs)
        run_context.has_journal = has_journal
        try:
            if run_context.isolation is not None:
                yield run_context, run_context.isolation.integration
        finally:
            finish.remove_run_branches(run_context)


def _require_branch(folder: RunFolder) -> None:
    """Refuses unless the run's branch is checked out."""
    home, branch = folder.home, folder.run["branch"]
    current = home.checkout.branch()
    if current == branch:
        return
    if not projects.is_branch(home, branch):
        source = f"sow/int/{folder.id}"
        raise Waiting(
            f"the branch {branch} is gone; the work is on {source}",
            f"git switch -c {branch} {source}, or if you renamed the branch to this one: {projects.ADOPT}",
        )
    state = f"on {current}" if current else "on no branch"
    raise Waiting(f"{home.root} is {state}, and the run belongs to {branch}", f"git switch {branch}")
