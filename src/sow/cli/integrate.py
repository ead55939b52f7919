"""sow integrate: what a run has merged comes to the user's branch, where that could not be done at the run's end."""

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
        done = drive(bring(ship, integration, dry_run=dry_run, is_last=closing.is_over(ship)))
        if done.refused is None and not dry_run:
            closing.settle(ship)
    if json:
        from sow.cli.output import emit

        emit(_document(ship, done, dry_run=dry_run))
        return 0 if done.refused is None else 1 if done.failed else 4
    if done.refused is not None:
        raise (Failed if done.failed else Waiting)(done.refused.reason, done.refused.hint)
    _tell(ship, done, dry_run=dry_run)
    return 0


def _agree(context: Context, ship: Ship, *, yes: bool) -> Agreed:
    """Ask for consent to the checks of stored tasks, which run on the final tree."""
    from sow.engine import final_checks

    again = same_call(context, ship.home, ["integrate", ship.folder.id, "--yes"])
    commands = final_checks.commands(ship)
    return command_consent.agree(ship.home, context.environment, ship.agreed, commands, yes=yes, again=again)


def _document(ship: Ship, done: Integrated, *, dry_run: bool) -> dict[str, Any]:
    return {
        "run": ship.folder.id,
        "branch": ship.folder.run["branch"],
        "source": f"sow/int/{ship.folder.id}",
        "dry_run": dry_run,
        "possible": done.refused is None,
        "commit": done.commit,
        "paths": done.paths,
        "your_commits": done.theirs,
        "reason": done.refused.reason if done.refused else "",
        "hint": done.refused.hint if done.refused else "",
    }


def _tell(ship: Ship, done: Integrated, *, dry_run: bool) -> None:
    branch = ship.folder.run["branch"]
    if not done.paths:
        out(harmless_line(f"{branch} has everything of run {ship.folder.id} already"))
        return
    verb = "would move" if dry_run else "moved"
    out(harmless_line(f"{branch} {verb} to {done.commit[:12]}, with {len(done.paths)} changed files:"))
    for path in done.paths[:MOST_SHOWN]:
        out(f"  {harmless_line(path)}")
    if len(done.paths) > MOST_SHOWN:
        out(f"  and {len(done.paths) - MOST_SHOWN} more")
    if done.theirs:
        were = "was" if done.theirs == 1 else "were"
        checked = "would be merged in and checked first" if dry_run else f"{were} merged in and checked"
        out(f"{done.theirs} new commit{'s' * (done.theirs > 1)} of yours {checked}")


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
