"""Creates the .sow folder of a repository and overwrites nothing (`sow init`)."""

from __future__ import annotations

import os

from sow.cli.command import Command, Option
from sow.cli.context import Context
from sow.cli.project.project import prepare_project
from sow.errors import SowError
from sow.store.layout import create_missing
from sow.system.terminal import escape_line, out


def init(context: Context, *, project: str, description: str, phase: list[str]) -> int:
    if not project and (description or phase):
        raise SowError("--description and --phase describe a project", 'name it: sow init --project "NAME"')
    home = context.checkout()
    make = prepare_project(context, home, name=project, description=description, phases=phase) if project else None
    paths = create_missing(home)
    for path in paths:
        out(f"made {path}")
    if not paths:
        out(escape_line(f"{os.path.join(home.root, '.sow')} is complete already"))
    if make:
        created = make()
        out(escape_line(f"project {created['name']} on branch {created['branch']}"))
    return 0


COMMANDS = (
    Command(
        "init",
        init,
        "Make the .sow folder of this repository, and a project with --project",
        options=(
            Option("--project", "NAME", "Also start a project on this branch"),
            Option("--description", "TEXT", "What the project is for (TEXT, @FILE or -)"),
            Option("--phase", "PHASE", "A phase of the project, in order", repeat=True, completes="phases"),
        ),
        details="It can be repeated: what exists is kept as it is.\n"
        "A project lives on a feature branch: main and master are refused.",
    ),
)
