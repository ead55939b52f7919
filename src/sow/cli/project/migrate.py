"""Migrates the files of an older project to the current schemas (`sow migrate`)."""

from __future__ import annotations

from sow.cli.command import Command, Option
from sow.cli.context import Context
from sow.domain.text.units import counted
from sow.errors import Waiting
from sow.store.formats import VERSION
from sow.store.layout import create_missing
from sow.store.migration import apply, plan, unreadable
from sow.system.terminal import escape_line, notes, out, require_yes


def migrate(context: Context, *, dry_run: bool, yes: bool) -> int:
    context.require_non_worker("migrate the project")
    home = context.project_home()
    steps = plan(home)
    notes((f"skipped: {problem}" for problem in unreadable(home)), "warning")
    if not steps:
        out("Already up to date")
        return 0
    local = [step for step in steps if step.name in ("run", "session")]
    for step in steps:
        if step in local:
            continue
        path = (
            home.relative(step.path).removeprefix(".sow/project/") if step.name == "task" else home.relative(step.path)
        )
        out(f"Migrating {escape_line(path)}: v{step.version} → v{VERSION}")
        out("".join(f"  - {line}\n" for line in step.lines))
    if local:
        out(f"Migrating {counted(len(local), 'file')} of runs and sessions on this machine")
    if dry_run:
        out(f"Dry run: {counted(len(steps), 'file')} would be updated.")
        return 0
    if not yes:
        require_yes(
            f"Change {counted(len(steps), 'file')}?",
            Waiting("the migration needs confirmation", "check the changes above, then run: sow migrate --yes"),
            Waiting("nothing was migrated", "to migrate later, run: sow migrate"),
        )
    backup = apply(home, steps)
    create_missing(home)
    out(f"Migration complete! {counted(len(steps), 'file')} updated.")
    out(f"Backup: {backup}")
    return 0


COMMANDS = (
    Command(
        "migrate",
        migrate,
        "Update the files of an older project, after a backup",
        Option("--dry-run", help="Show the changes without making them"),
        Option("--yes", help="Do not ask for confirmation"),
    ),
)
