"""Lists the commands about settings, and prints where they are, also on Windows (`sow config`)."""

from __future__ import annotations

import os

from sow import config as configs
from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import emit
from sow.system.terminal import out

BACKUPS = "The old file is kept as config.yaml.backup. An older backup gets its time as a suffix."
KEY = Argument("key", "The setting, such as limits.turn_timeout", completes="settings")
SHORT_KEYS = "Short keys: agents.implementer (a binding of agents.bindings), executors.cursor (of agents.executors)."
KEPT = "Comments and layout stay. The old file is kept as config.yaml.backup."
YES = Option("--yes", help="Do not ask for confirmation")


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
        "Write a settings file with comments",
        YES,
        details=BACKUPS,
    ),
    Command(
        "config path",
        path,
        "Print the path of your settings file",
        Option("--exists", help="Print true or false: whether the file exists"),
        json=True,
    ),
    Command(
        "config validate",
        "setup.config_file:validate",
        "Check your settings and the programs that they name",
        json=True,
        details="Exit code 0: the settings are valid. 2: they are not. A missing program is a warning.",
    ),
    Command(
        "config show",
        "setup.config_file:show",
        "Print all settings and where each value comes from",
        json=True,
        details="Environment variables (SOW_AGENTS_IMPLEMENTER=cursor) override the file, the file the defaults.",
    ),
    Command(
        "config get",
        "setup.config_values:get",
        "Print one setting, or all settings of a section",
        KEY,
        json=True,
        details="A setting without a value is printed as null.\n" + SHORT_KEYS,
    ),
    Command(
        "config set",
        "setup.config_values:set_value",
        "Change one setting in your settings file",
        KEY,
        Argument("value", "The value; a list takes several", repeat=True),
        details=f"{KEPT}\nThe result is checked before it is written. agents.default binds all roles.\n{SHORT_KEYS}",
    ),
    Command(
        "config unset",
        "setup.config_values:unset",
        "Remove one setting or section from your settings file",
        KEY,
        details=f"{KEPT}\n{SHORT_KEYS}",
    ),
    Command(
        "config edit",
        "setup.config_file:edit",
        "Edit your settings in $VISUAL or $EDITOR, then check them",
        details="If there is no file, sow writes the template first.",
    ),
    Command(
        "config reset",
        "setup.config_file:reset",
        "Remove your settings file and use the defaults",
        YES,
        details=BACKUPS,
    ),
)
