"""Prints the versions of sow and of its schemas (`sow version`)."""

from __future__ import annotations

from sow import __version__
from sow.cli.command import Command, Option
from sow.cli.context import Context
from sow.cli.output import emit
from sow.store.formats import VERSION
from sow.system.terminal import out


def version(context: Context, *, schema: bool, json: bool) -> int:
    if json:
        return emit({"version": __version__, "schema": VERSION})
    out(VERSION if schema else f"sow {__version__}")
    return 0


COMMANDS = (
    Command(
        "version",
        version,
        "Print the version",
        options=(Option("--schema", help="The version of the schemas"),),
        json=True,
    ),
)
