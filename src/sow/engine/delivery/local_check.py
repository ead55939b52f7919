"""Runs the command of a check that failed on the forge once here, on the same commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sow.domain.checks import task_checks
from sow.domain.documents.state import Check
from sow.engine.checks.check_list import run_list
from sow.engine.checks.setup_plan import commit_reader
from sow.engine.launch.reopened_run import reopened_run
from sow.engine.runs.run_context import RunContext
from sow.errors import SowError
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.runs.run_folder import RunFolder
from sow.system.process.child_process import run_to_end


def passes_here(
    folder: RunFolder, environment: Mapping[str, str], command: str, commit: str, verbs: Callable[..., int] | None
) -> bool:
    """Tells whether a command passes in a clean checkout of a commit.

    The command comes from a log that others wrote. It is only run if it is a check of the project's tasks and the user
    agreed to it; otherwise the answer is no.
    """
    if not command or folder.run["settings"]["isolation"] == "none":
        return False
    try:
        with reopened_run(folder, environment, "sow deliver", verbs) as (context, integration):
            check = _known(context, command)
            if check is None or _needs_consent(context, check, commit):
                return False
            tree = integration.repository.tree_of(commit)
            done = run_to_end(run_list(context, [check], commit=commit, tree=tree, iteration=1, name="deliver"))
            return done.passed and not done.interrupted
    except SowError:  # this machine cannot run it, so nothing is known
        return False


def _known(context: RunContext, command: str) -> Check | None:
    """Returns the check of a task that has this command."""
    words = command.split()
    for _, task in task_folder.load_readable(context.home, projects.load(context.home))[0]:
        for check in task_checks.checks_of(task):
            if check["command"].split() == words:
                return check
    return None


def _needs_consent(context: RunContext, check: Check, commit: str) -> bool:
    setup = context.setups.missing_at([commit_reader(context.home.root, commit)])
    return bool(context.agreed.missing([check["command"], *setup]))
