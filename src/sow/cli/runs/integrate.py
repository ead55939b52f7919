"""Delivers a run to the user's branch, or takes a task out of it (`sow integrate`, `sow revert`)."""

from __future__ import annotations

from typing import Any

from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.progress import Progress
from sow.domain import inputs
from sow.domain.checks.task_checks import Consent
from sow.engine import consent
from sow.engine.checks import final_checks
from sow.engine.checks.setup_plan import commit_reader
from sow.engine.launch.reopened_run import reopened_run
from sow.engine.launch.run_request import pasteable_command
from sow.engine.runs import finish
from sow.engine.runs.finish import Delivery
from sow.engine.runs.finish import integrate as bring
from sow.engine.runs.revert import revert as take_out
from sow.engine.runs.run_context import RunContext
from sow.errors import SystemFailure, Waiting
from sow.gitwork.integration_branch import Integration
from sow.reports.idle_tasks import ProjectRuns
from sow.store import git_watch
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.runs import run_folder
from sow.system.process.child_process import run_to_end
from sow.system.terminal import escape_line, out

MOST_SHOWN = 12


def integrate(context: Context, *, run: str, dry_run: bool, yes: bool, json: bool) -> int:
    context.require_non_worker("integrate a run")
    folder = run_folder.find(context.project_home(), run)
    with reopened_run(folder, context.environment, "sow integrate", context.verbs, has_journal=True) as (
        run_context,
        integration,
    ):
        if not dry_run:
            run_context.agreed = _ask_consent(context, run_context, integration, yes=yes)
        with Progress("Merging and checking"):
            result = run_to_end(bring(run_context, integration, dry_run=dry_run, is_last=finish.is_over(run_context)))
        if result.refused is None and not dry_run:
            finish.end_if_delivered(run_context)
    if json:
        emit(_document(run_context, result, dry_run=dry_run))
        return 0 if result.refused is None else 1 if result.failed else 4
    if result.refused is not None:
        raise (SystemFailure if result.failed else Waiting)(result.refused.reason, result.refused.hint)
    _tell(run_context, result, dry_run=dry_run)
    return 0


def _ask_consent(context: Context, run_context: RunContext, integration: Integration, *, yes: bool) -> Consent:
    """Asks for consent to the checks of stored tasks, which run on the final tree, and to its setup."""
    words = ["integrate", run_context.folder.id, "--yes"]
    command = pasteable_command(run_context.home, context.environment, context.cwd, words)
    commits = [integration.head, f"refs/heads/{run_context.folder.run['branch']}"]
    setup = run_context.setups.missing_at(commit_reader(run_context.home.root, commit) for commit in commits)
    commands = [*final_checks.commands(run_context), *setup]
    return consent.ask_consent(
        run_context.home,
        run_context.config,
        context.environment,
        run_context.agreed,
        commands,
        yes=yes,
        again=command,
        settings=run_context.settings,
    )


def _document(context: RunContext, result: Delivery, *, dry_run: bool) -> dict[str, Any]:
    return {
        "run": context.folder.id,
        "branch": context.folder.run["branch"],
        "source": f"sow/int/{context.folder.id}",
        "dry_run": dry_run,
        "possible": result.refused is None,
        "commit": result.commit,
        "paths": result.paths,
        "your_commits": result.user_commits,
        "reason": result.refused.reason if result.refused else "",
        "hint": result.refused.hint if result.refused else "",
    }


def _tell(context: RunContext, result: Delivery, *, dry_run: bool) -> None:
    branch = context.folder.run["branch"]
    if not result.paths:
        out(escape_line(f"{branch} already has everything of run {context.folder.id}"))
        return
    verb = "would move" if dry_run else "moved"
    out(escape_line(f"{branch} {verb} to {result.commit[:12]}, with {len(result.paths)} changed files:"))
    for path in result.paths[:MOST_SHOWN]:
        out(f"  {escape_line(path)}")
    if len(result.paths) > MOST_SHOWN:
        out(f"  and {len(result.paths) - MOST_SHOWN} more")
    if result.user_commits:
        were = "was" if result.user_commits == 1 else "were"
        checked = "would be merged in and checked first" if dry_run else f"{were} merged in and checked"
        out(f"{result.user_commits} new commit{'s' * (result.user_commits > 1)} on your branch {checked}")


def revert(context: Context, *, task: str, reason: str, json: bool) -> int:
    actor = context.require_person("revert a task", asked=True)
    home, ident = context.project_home(), inputs.task_id(task)
    checked = inputs.checked_line(reason, "--reason", 2000)
    with home.claim("run", purpose=f"sow revert {ident}"), git_watch.sealed_repository(home):
        changed, commit, dependents = take_out(home, ident, checked, actor=actor)
    if json:
        return emit({"task": ident, "status": changed["status"], "commit": commit, "dependents": dependents})
    out(f"reverted the work of task {ident} in {commit[:12]}; the task is open again, iteration {changed['iteration']}")
    if dependents:
        out(f"tasks that depend on it are unchanged: {', '.join(dependents)}")
    runs = ProjectRuns(home, context.hints())
    command = runs.task_command(task_folder.find(home, projects.load(home), ident), changed)
    out(escape_line(f"run it again: {command}"))
    return 0
