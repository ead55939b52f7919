"""Delivers a run to the user's branch if that was not possible at its end (`sow integrate`)."""

from __future__ import annotations

from sow.cli import command_consent
from sow.cli.aboard import aboard, same_call
from sow.cli.context import Context
from sow.cli.spec import Argument, Command, Option
from sow.errors import Failed, Waiting
from sow.store import runs
from sow.system.terminal import harmless_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.agreed import Agreed
    from sow.engine.integrating import Integrated
    from sow.engine.ship import Ship

MOST_SHOWN = 12


def integrate(context: Context, *, run: str, dry_run: bool, yes: bool, json: bool) -> int:
    from sow.engine import closing
    from sow.engine.integrating import integrate as bring
    from sow.engine.steps import drive

    context.judge("integrate a run")
    folder = runs.find(context.home(), run)
    with aboard(context, folder, "sow integrate") as (ship, integration):
        if not dry_run:
            ship.agreed = _agree(context, ship, yes=yes)
        result = drive(bring(ship, integration, dry_run=dry_run, is_last=closing.is_over(ship)))
        if result.refused is None and not dry_run:
            closing.settle(ship)
    if json:
        from sow.cli.output import emit

        emit(_document(ship, result, dry_run=dry_run))
        return 0 if result.refused is None else 1 if result.failed else 4
    if result.refused is not None:
        raise (Failed if result.failed else Waiting)(result.refused.reason, result.refused.hint)
    _tell(ship, result, dry_run=dry_run)
    return 0


def _agree(context: Context, ship: Ship, *, yes: bool) -> Agreed:
    """Asks for consent to the checks of stored tasks, which run on the final tree."""
    from sow.engine import final_checks

    command = same_call(context, ship.home, ["integrate", ship.folder.id, "--yes"])
    commands = final_checks.commands(ship)
    return command_consent.agree(ship.home, context.environment, ship.agreed, commands, yes=yes, again=command)


def _document(ship: Ship, result: Integrated, *, dry_run: bool) -> dict[str, Any]:
    return {
        "run": ship.folder.id,
        "branch": ship.folder.run["branch"],
        "source": f"sow/int/{ship.folder.id}",
        "dry_run": dry_run,
        "possible": result.refused is None,
        "commit": result.commit,
        "paths": result.paths,
        "your_commits": result.theirs,
        "reason": result.refused.reason if result.refused else "",
        "hint": result.refused.hint if result.refused else "",
    }


def _tell(ship: Ship, result: Integrated, *, dry_run: bool) -> None:
    branch = ship.folder.run["branch"]
    if not result.paths:
        out(harmless_line(f"{branch} has everything of run {ship.folder.id} already"))
        return
    verb = "would move" if dry_run else "moved"
    out(harmless_line(f"{branch} {verb} to {result.commit[:12]}, with {len(result.paths)} changed files:"))
    for path in result.paths[:MOST_SHOWN]:
        out(f"  {harmless_line(path)}")
    if len(result.paths) > MOST_SHOWN:
        out(f"  and {len(result.paths) - MOST_SHOWN} more")
    if result.theirs:
        were = "was" if result.theirs == 1 else "were"
        checked = "would be merged in and checked first" if dry_run else f"{were} merged in and checked"
        out(f"{result.theirs} new commit{'s' * (result.theirs > 1)} of yours {checked}")


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
