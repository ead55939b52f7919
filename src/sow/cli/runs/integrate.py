"""Delivers a run to the user's branch if that was not possible at its end (`sow integrate`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.runs import consent_question
from sow.cli.runs.reopened_run import pasteable_command, reopened_run
from sow.errors import SystemFailure, Waiting
from sow.store.runs import run_folder
from sow.system.terminal import escape_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.checks.consent import Consent
    from sow.engine.runs.integrate import Delivery
    from sow.engine.runs.run_context import RunContext

MOST_SHOWN = 12


def integrate(context: Context, *, run: str, dry_run: bool, yes: bool, json: bool) -> int:
    from sow.engine.runs import finish
    from sow.engine.runs.integrate import integrate as bring
    from sow.system.process.generator_steps import run_to_end

    context.require_non_worker("integrate a run")
    folder = run_folder.find(context.project_home(), run)
    with reopened_run(context, folder, "sow integrate") as (run_context, integration):
        if not dry_run:
            run_context.agreed = _ask_consent(context, run_context, yes=yes)
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


def _ask_consent(context: Context, run_context: RunContext, *, yes: bool) -> Consent:
    """Asks for consent to the checks of stored tasks, which run on the final tree."""
    from sow.engine.checks import final_checks

    command = pasteable_command(context, run_context.home, ["integrate", run_context.folder.id, "--yes"])
    commands = final_checks.commands(run_context)
    return consent_question.ask_consent(
        run_context.home, context.environment, run_context.agreed, commands, yes=yes, again=command
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
        out(escape_line(f"{branch} has everything of run {context.folder.id} already"))
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
        out(f"{result.user_commits} new commit{'s' * (result.user_commits > 1)} of yours {checked}")


COMMANDS = (
    Command(
        "integrate",
        integrate,
        "Bring what a run has merged to your branch, where that was not possible at its end",
        arguments=(
            Argument(
                "run", "Its id, the beginning of it, or last; without: the last one", optional=True, completes="runs"
            ),
        ),
        options=(
            Option("--dry-run", help="Say what would happen, and change nothing of yours"),
            Option("--yes", help="Agree to the commands that check the result"),
        ),
        json=True,
        details="Your new commits are merged in and checked on the run's own branch; then your checkout moves forward\n"
        "to it, only where nothing that you have changed or not committed is in the way. Exit: 0 done, 1 a check\n"
        "failed with your commits, 4 something of yours must be done first, or commands need your consent.",
    ),
)
