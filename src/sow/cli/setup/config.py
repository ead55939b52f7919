"""Lists the commands about settings, and prints where they are, also on Windows (`sow config`)."""

from __future__ import annotations

import os

from sow import config as configs
from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import emit
from sow.system.terminal import out

BACKUPS = "An earlier backup gets the time when it was made in its name: config.yaml.backup-20260131-090000."
KEY = Argument("key", "Such as limits.turn_timeout", completes="settings")
SHORT_KEYS = (
    "agents.implementer is short for agents.bindings.implementer, executors.cursor for agents.executors.cursor."
)
YES = Option("--yes", help="Do not ask")


def path(context: Context, *, exists: bool, json: bool) -> int:
    file = configs.path(context.environment)
    file_exists = os.path.exists(file)
    if json:
        emit({"path": file, "exists": file_exists})
    else:
        out(("true" if file_exists else "false") if exists else file)
    return 0


COMMANDS = (
    Command(
        "config init",
        "setup.config_file:init",
        "Write a settings file with everything explained",
        YES,
        details="A file that exists is overwritten only after a yes; it is kept as config.yaml.backup.\n" + BACKUPS,
    ),
    Command(
        "config path",
        path,
        "Print where your settings file is",
        Option("--exists", help="Print whether it exists instead: true or false"),
        json=True,
    ),
    Command(
        "config validate",
        "setup.config_file:validate",
        "Check your settings: syntax, schema, executors, bindings, programs",
        json=True,
        details="Exit 0 when the settings can be used, 2 when they cannot. A missing program is a warning.",
    ),
    Command(
        "config show",
        "setup.config_file:show",
        "Print the settings in effect, and where each value comes from",
        json=True,
        details="Environment variables (SOW_AGENTS_IMPLEMENTER=cursor) go over the file, the file over the defaults.",
    ),
    Command(
        "config get",
        "setup.config_values:get",
        "Print one setting in effect, or all settings of a section",
        KEY,
        json=True,
        details="A setting that has no value is printed as null.\n" + SHORT_KEYS,
    ),
    Command(
        "config set",
        "setup.config_values:set_value",
        "Change one setting in your settings file",
        KEY,
        Argument("value", "The value; a list takes several", repeat=True),
        details="Comments and layout of the file stay. The result is checked before it is written.\n"
        "The file as it was is kept as config.yaml.backup.\n"
        f"{SHORT_KEYS}\n"
        "Examples:\n"
        "  sow config set agents.implementer cursor\n"
        "  sow config set executors.claude-code.settings.model opus\n"
        "  sow config set agents.fallbacks.implementer codex gemini\n"
        "  sow config set executors.cursor.custom_args -- --fast",
    ),
    Command(
        "config unset",
        "setup.config_values:unset",
        "Take one setting or section out of your settings file, so that its default is in effect",
        KEY,
        details="Comments and layout of the rest stay. The file as it was is kept as config.yaml.backup.\n"
        + SHORT_KEYS,
    ),
    Command(
        "config edit",
        "setup.config_file:edit",
        "Open your settings file in $VISUAL or $EDITOR, and check it afterwards",
        details="A missing file is made from the template first.",
    ),
    Command(
        "config reset",
        "setup.config_file:reset",
        "Remove your settings file, so that the defaults are in effect",
        YES,
        details="The file is kept as config.yaml.backup.\n" + BACKUPS,
    ),
)
