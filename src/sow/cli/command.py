"""Defines the table of commands, arguments and options, and finds and parses commands in it."""

from __future__ import annotations

from importlib import import_module

from sow.domain.inputs import is_task_id
from sow.errors import SowError, close_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


class Option:
    """An option `--name VALUE`, or a flag if it has no metavar. With `implied` the value may be left out."""

    __slots__ = ("choices", "completes", "default", "flag", "help", "implied", "metavar", "name", "repeat", "required")

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
        implied: str = "",
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
        self.implied = implied


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
        self.metavar = name.rpartition("_")[2].upper()  # `log_text` is shown as TEXT
        self.help = help
        self.optional = optional
        self.repeat = repeat
        self.choices = choices
        self.completes = completes


class Command:
    """A command: its name, its arguments and the function that runs it.

    A forwarded command writes state for a worker: in a sandbox, the supervising sow runs it.
    A text such as "runs.recheck:verify" names a function below sow.cli; its module is loaded when the command runs.
    """

    __slots__ = ("arguments", "details", "forwarded", "name", "options", "run", "summary")

    def __init__(
        self,
        name: str,
        run: Callable[..., int] | str,
        summary: str,
        *parameters: Argument | Option,
        json: bool = False,
        details: str = "",
        forwarded: bool = False,
    ) -> None:
        self.name = name
        self.run = run
        self.summary = summary
        self.arguments = tuple(parameter for parameter in parameters if isinstance(parameter, Argument))
        options = tuple(parameter for parameter in parameters if isinstance(parameter, Option))
        self.options = (*options, JSON) if json else options
        self.details = details
        self.forwarded = forwarded

    def function(self) -> Callable[..., int]:
        """Returns the function that runs the command; loads its module if the command only names it."""
        if not isinstance(self.run, str):
            return self.run
        module, _, name = self.run.partition(":")
        function: Callable[..., int] = getattr(import_module(f"sow.cli.{module}"), name)
        return function


FILE = "@FILE"  # in the help of an argument that may name a file
NAMING = "--id"  # an option whose value may also be the first argument
NAMES_TASK = ("tasks", "questions")  # an argument that completes these takes a task's id
JSON = Option("--json", help="Print the result as JSON")
JSON_EVENTS = Option("--json", help="Print each event as a line of JSON")
# `sow log` and `sow agent log` share these.
LOG_OPTIONS = (
    Option("--file", "PATH", "A file that the entry is about", repeat=True),
    Option("--action", "WORD", "The action, such as modified_file", default="note"),
    Option("--result", "WORD", "The result, such as success", default="info"),
    Option("--task", "ID", "Write to this task's log (default: SOW_TASK)", completes="tasks"),
)
# The commands that read a plan share these.
PLAN_HELP = "A plan file, a folder of them, or a task list of another tool"
PLAN = Argument("plan", PLAN_HELP, repeat=True, completes="files")
PLAN_OR_ISSUES = Argument("plan", PLAN_HELP, repeat=True, optional=True, completes="files")
LIST_OPTIONS = (
    Option("--tag", "NAME", "Which tag of a Task Master list; without: its current one"),
    Option("--parallel-stories", help="Run the user stories of a spec-kit list side by side, not one after the other"),
)
# The commands that put a plan to work also take issues.
ISSUE_OPTIONS = (
    Option("--issue", "N,…", "Instead of a plan: issues of GitHub or GitLab, each as one task"),
    Option("--label", "NAME", "Instead of a plan: all open issues with this label"),
)
GLOBAL = (
    Option("--quiet", help="Print only results, questions and errors"),
    Option("--verbose", help="Also print paths, the choice of executors, and every event"),
    Option("--root", "DIR", "Use the checkout at DIR, not the current one"),
    Option("--debug", help="Show a traceback if the command fails"),
)
SHORT = {"-h": "--help", "-q": "--quiet", "-v": "--verbose", "-y": "--yes"}
MAX_USAGE = 78  # columns


GROUPS = {
    "init": "project.project",
    "start": "setup.start",
    "continue": "setup.start",
    "status": "project.status",
    "project": "project.project",
    "phase": "project.phase",
    "task": "worker_commands",
    "plan": "plans.plan",
    "run": "runs.runs",
    "runs": "runs.runs",
    "watch": "runs.runs",
    "workflow": "workflows.workflow",
    "integrate": "runs.runs",
    "deliver": "runs.runs",
    "salvage": "runs.runs",
    "sinks": "knowledge.sinks",
    "repos": "knowledge.repos",
    "context": "knowledge.references",
    "adr": "project.adr",
    "feedback": "project.feedback",
    "log": "worker_commands",
    "agent": "agents.agent",
    "prompt": "setup.prompt",
    "config": "setup.config",
    "note": "worker_commands",
    "inbox": "tasks.inbox",
    "answer": "agents.answer",
    "answers": "tasks.inbox",
    "consent": "setup.consent",
    "approve": "tasks.inbox",
    "revert": "runs.runs",
    "schema": "setup.schema",
    "validate": "setup.schema",
    "migrate": "project.migrate",
    "version": "setup.schema",
    "cleanup": "project.cleanup",
    "check": "project.cleanup",
    "install": "setup.install",
    "uninstall": "setup.install",
    "hook": "setup.hook",
    "host": "cluster.hosts",
    "cluster": "cluster.hosts",
    "turn": "cluster.hosts",
    "mcp": "serve.serve",
    "ui": "serve.serve",
    "doctor": "setup.doctor",
    "demo": "serve.serve",
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
        raise SowError(f"unknown command: {group}", nearest(group, list(GROUPS)) or "see all commands: sow help")
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
        raise SowError(f"sow {group} needs a command", "it is one of: " + ", ".join(names))
    raise SowError(
        f"unknown command: sow {second}",
        nearest(arguments[1], names, f"{group} ")
        or (f"did you mean 'sow {arguments[1]}'?" if arguments[1] in GROUPS else "")
        or f"sow {group} has: {', '.join(names)}",
    )


def nearest(word: str, candidates: list[str], prefix: str = "") -> str:
    """Returns a suggestion for a mistyped word, or an empty text."""
    near = close_name(word, candidates)
    return f"did you mean 'sow {prefix}{near}'?" if near else ""


class HelpWanted(Exception):
    """Raised if the arguments contain `--help`."""


def parse(command: Command, arguments: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the values of the command's arguments and of the global options."""
    options = {option.flag: option for option in (*GLOBAL, *command.options)}
    task = _task_option(command)
    if task:
        options = dict.fromkeys(("--task", "--id"), task) | options
    values: dict[str, Any] = {}
    positional: list[str] = []
    remaining = list(arguments)
    while remaining:
        word = remaining.pop(0)
        if word == "--":
            positional += remaining
            break
        word = SHORT.get(word, word)
        if word == "--help":
            raise HelpWanted
        flag, equals, attached = word.partition("=")
        if word.startswith("--") and " " not in flag:
            option = _option(command, options, flag)
            _store(command, option, values, equals, attached, remaining)
        elif word[:1] == "-" and word[1:2].isalpha() and " " not in word:
            raise usage(command, f"unknown option {word}; put a text that starts with - after --")
        else:
            positional.append(word)
    if task:
        _place_task(command, task, values, positional)
    own = _option_values(command, values)
    own.update(_parse_positional(command, positional))
    return own, {option.name: values.get(option.name, "" if option.metavar else False) for option in GLOBAL}


def command_line(command: Command, values: Mapping[str, Any]) -> list[str]:
    """Returns a command with the values of its arguments, so that parsing it gives the same values."""
    words = command.name.split()
    for option in command.options:
        value = values[option.name]
        if option.metavar:
            words += [f"{option.flag}={text}" for text in (value if option.repeat else [value]) if text]
        elif value:
            words.append(option.flag)
    positional: list[str] = []
    for argument in command.arguments:
        value = values[argument.name]
        positional += value if isinstance(value, list) else [value]
    return [*words, "--", *positional] if any(positional) else words


def _task_option(command: Command) -> Option | None:
    """Returns the option that names the task, so that --task and --id work wherever a task is named."""
    for option in command.options:
        if option.flag in ("--task", "--id"):
            return None if option.repeat else option
    return Option("--task", "ID") if any(argument.completes in NAMES_TASK for argument in command.arguments) else None


def _place_task(command: Command, task: Option, values: dict[str, Any], positional: list[str]) -> None:
    """Moves the task's id to where the command takes it: from the option to its argument, or the other way round."""
    if task not in command.options:
        if task.name in values:
            index = next(at for at, argument in enumerate(command.arguments) if argument.completes in NAMES_TASK)
            positional.insert(index, values.pop(task.name))
    elif task.name not in values and len(positional) == len(command.arguments) + 1 and is_task_id(positional[0]):
        values[task.name] = positional.pop(0)


def usage(command: Command, problem: str) -> SowError:
    """Returns the error for a wrong call, with the usage as its hint."""

    return SowError(f"sow {command.name}: {problem}", f"usage: {usage_line(command)}")


def _option(command: Command, options: dict[str, Option], flag: str) -> Option:
    if flag in options:
        return options[flag]
    near = close_name(flag.lstrip("-"), [name.lstrip("-") for name in options])
    raise usage(command, f"unknown option {flag}" + (f" (did you mean --{near}?)" if near else ""))


def _store(
    command: Command, option: Option, values: dict[str, Any], equals: str, attached: str, remaining: list[str]
) -> None:
    if not option.metavar:
        if equals:
            raise usage(command, f"{option.flag} takes no value")
        values[option.name] = True
        return
    if not equals and not option.implied and (not remaining or remaining[0].startswith("--")):
        raise usage(command, f"{option.flag} needs a value; write one that starts with -- as {option.flag}=VALUE")
    if option.implied and not equals and remaining and remaining[0] in option.choices:
        raise SowError(f"sow {command.name}: {option.flag} takes its value after =", f"{option.flag}={remaining[0]}")
    value = attached if equals else option.implied or remaining.pop(0)
    if not value:
        raise usage(command, f"{option.flag} is empty")
    if option.choices and value not in option.choices:
        raise SowError(
            f"sow {command.name}: {option.flag} cannot be {value!r}",
            f"{option.flag} is one of: {', '.join(option.choices)}",
        )
    if option.repeat:
        values.setdefault(option.name, []).append(value)
    elif option.name in values:
        raise usage(command, f"{option.flag} is given twice")
    else:
        values[option.name] = value


def _option_values(command: Command, values: dict[str, Any]) -> dict[str, Any]:
    own = {}
    for option in command.options:
        if option.required and option.name not in values:
            raise usage(command, f"{option.flag} is required")
        empty: Any = [] if option.repeat else option.default if option.metavar else False
        own[option.name] = values.get(option.name, empty)
    return own


def _parse_positional(command: Command, positional: list[str]) -> dict[str, Any]:
    own: dict[str, Any] = {}
    for argument in command.arguments:
        if argument.repeat and (positional or argument.optional):
            own[argument.name], positional = positional, []
        elif positional:
            own[argument.name] = positional.pop(0)
        elif argument.optional:
            own[argument.name] = ""
        else:
            raise usage(command, f"{argument.metavar} is missing")
        is_given = own[argument.name] or not argument.optional
        if argument.choices and is_given and own[argument.name] not in argument.choices:
            raise SowError(
                f"sow {command.name}: {argument.metavar} cannot be {own[argument.name]!r}",
                f"it is one of: {', '.join(argument.choices)}",
            )
    if positional:
        raise usage(command, f"unexpected argument {positional[0]!r}; quote a text of several words")
    return own


def usage_line(command: Command) -> str:
    """Returns the usage of a command on one line; if it is too long, without its optional options."""
    named = [f"[{option.metavar}]" for option in command.options if option.flag == NAMING]
    arguments = [f"sow {command.name}", *named, *(_argument_usage(argument) for argument in command.arguments)]
    options = [option for option in command.options if option.flag != NAMING]
    required = [_repeated_usage(option) for option in options if option.required]
    optional = [f"[{_repeated_usage(option)}]" for option in options if not option.required]
    line = " ".join([*arguments, *required, *optional])
    return line if len(line) <= MAX_USAGE else " ".join([*arguments, *required, "[OPTIONS]"])


def _argument_usage(argument: Argument) -> str:
    name = f"{argument.metavar}…" if argument.repeat else argument.metavar
    return f"[{name}]" if argument.optional else name


def _repeated_usage(option: Option) -> str:
    return option_usage(option) + "…" * option.repeat


def option_usage(option: Option) -> str:
    if option.implied:
        return f"{option.flag}[={option.metavar}]"
    return f"{option.flag} {option.metavar}" if option.metavar else option.flag
