"""Defines commands, arguments and options; parsing, help, completion and the reference use these tables."""

from __future__ import annotations

from importlib import import_module

from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Option:
    """An option `--name VALUE`, or a flag if it has no metavar."""

    __slots__ = ("choices", "completes", "default", "flag", "help", "metavar", "name", "repeat", "required")

    def __init__(
        self,
        flag: str,
        metavar: str = "",
        help: str = "",
        *,
        required: bool = False,
        repeat: bool = False,
        choices: tuple[str, ...] = (),
        default: str = "",
        completes: str = "",
    ) -> None:
        self.flag = flag
        self.name = flag.lstrip("-").replace("-", "_")
        self.metavar = metavar
        self.help = help
        self.required = required
        self.repeat = repeat
        self.choices = choices
        self.default = default
        self.completes = completes


class Argument:
    """A positional argument."""

    __slots__ = ("choices", "completes", "help", "metavar", "name", "optional", "repeat")

    def __init__(
        self,
        name: str,
        help: str = "",
        *,
        optional: bool = False,
        repeat: bool = False,
        choices: tuple[str, ...] = (),
        completes: str = "",
    ) -> None:
        self.name = name
        self.metavar = name.upper()
        self.help = help
        self.optional = optional
        self.repeat = repeat
        self.choices = choices
        self.completes = completes


class Command:
    """A command: its name, its arguments and the function that runs it.

    A text such as "runs.recheck:verify" names a function below sow.cli; its module is loaded when the command runs.
    """

    __slots__ = ("arguments", "details", "name", "options", "run", "summary")

    def __init__(
        self,
        name: str,
        run: Callable[..., int] | str,
        summary: str,
        *,
        arguments: tuple[Argument, ...] = (),
        options: tuple[Option, ...] = (),
        json: bool = False,
        details: str = "",
    ) -> None:
        self.name = name
        self.run = run
        self.summary = summary
        self.arguments = arguments
        self.options = (*options, JSON) if json else options
        self.details = details

    def function(self) -> Callable[..., int]:
        """Returns the function that runs the command; loads its module if the command only names it."""
        if not isinstance(self.run, str):
            return self.run
        module, _, name = self.run.partition(":")
        function: Callable[..., int] = getattr(import_module(f"sow.cli.{module}"), name)
        return function


JSON = Option("--json", help="Print a JSON document and nothing else")
GLOBAL = (
    Option("--root", "DIR", "Work in the checkout at DIR instead of the one around the current folder"),
    Option("--debug", help="Show a traceback when something goes wrong"),
)


GROUPS = {
    "init": "project.init",
    "start": "setup.start",
    "continue": "setup.start",
    "status": "project.status",
    "project": "project.project",
    "phase": "project.phase",
    "task": "tasks.task",
    "plan": "plans.plan",
    "run": "runs.run",
    "runs": "runs.runs",
    "watch": "runs.watch",
    "workflow": "workflows.workflow",
    "integrate": "runs.integrate",
    "salvage": "runs.salvage",
    "sinks": "knowledge.sinks",
    "repos": "knowledge.repos",
    "context": "tasks.references",
    "adr": "project.adr",
    "feedback": "project.feedback",
    "log": "project.log",
    "agent": "agents.agent",
    "prompt": "setup.prompt",
    "config": "setup.config",
    "note": "tasks.note",
    "inbox": "tasks.inbox",
    "answer": "tasks.inbox",
    "answers": "tasks.answers",
    "consent": "setup.consent",
    "approve": "tasks.inbox",
    "schema": "setup.schema",
    "validate": "setup.schema",
    "migrate": "project.migrate",
    "version": "setup.version",
    "cleanup": "project.cleanup",
    "check": "project.cleanup",
    "install": "setup.install",
    "uninstall": "setup.install",
    "hook": "setup.hook",
    "mcp": "serve.mcp",
    "ui": "serve.ui",
    "doctor": "setup.doctor",
    "demo": "serve.demo",
    "completion": "completion",
}


def commands(group: str) -> list[Command]:
    """Returns the commands of a group."""
    table: tuple[Command, ...] = import_module(f"sow.cli.{GROUPS[group]}").COMMANDS
    return [command for command in table if command.name.split()[0] == group]


def find(arguments: list[str]) -> tuple[Command, list[str]]:
    """Returns the command that the arguments name, and the remaining arguments."""
    group = arguments[0]
    if group not in GROUPS:
        raise SowError(f"unknown command: {group}", nearest(group, list(GROUPS)) or "see 'sow --help' for the commands")
    table = commands(group)
    second = f"{group} {arguments[1]}" if len(arguments) > 1 else ""
    for command in table:
        if command.name == second:
            return command, arguments[2:]
    for command in table:
        if command.name == group:
            return command, arguments[1:]
    names = [command.name.split()[1] for command in table]
    if not second:
        raise SowError(f"sow {group}: which command?", "one of: " + ", ".join(names))
    raise SowError(
        f"unknown command: sow {second}",
        nearest(arguments[1], names, f"{group} ") or f"sow {group} has: {', '.join(names)}",
    )


def nearest(word: str, candidates: list[str], prefix: str = "") -> str:
    """Returns a suggestion for a mistyped word, or an empty text."""
    from difflib import get_close_matches

    near = get_close_matches(word, candidates, n=1)
    return f"did you mean 'sow {prefix}{near[0]}'?" if near else ""
