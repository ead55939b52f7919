"""Builds the tools of the MCP server from the command table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sow.cli.command import FILE, GROUPS, JSON, Argument, Command, Option, commands
from sow.cli.output import print_list
from sow.errors import SowError

VERBS = ("status", "task", "feedback", "log", "note", "inbox", "answer", "approve", "phase", "context", "run")
AGENT_VERBS = ("agent spawn", "agent resume", "agent list")
LEFT_OUT = ("task add", "phase approve")  # the same as task create; a person's decision


def tools() -> dict[str, Command]:
    """Returns the commands that are tools, by tool name: `task show` is task_show."""
    selected = [command for group in VERBS if group in GROUPS for command in commands(group)]
    selected += [command for command in commands("agent") if command.name in AGENT_VERBS]
    return {command.name.replace(" ", "_"): command for command in selected if command.name not in LEFT_OUT}


def schema(command: Command) -> dict[str, Any]:
    """Returns the JSON Schema of a tool's input."""
    fields = _fields(command)
    required = [field.name for field in fields if _is_required(field)]
    return {
        "type": "object",
        "properties": {field.name: _type(field) for field in fields},
        "required": required,
        "additionalProperties": False,
    }


def _fields(command: Command) -> list[Argument | Option]:
    """Returns the arguments and options of a command without --json, which is always used."""
    fields: list[Argument | Option] = [*command.arguments]
    return fields + [option for option in command.options if option.flag != JSON.flag]


def _is_required(field: Argument | Option) -> bool:
    return field.required if isinstance(field, Option) else not field.optional


def _type(field: Argument | Option) -> dict[str, Any]:
    if isinstance(field, Option) and not field.metavar:
        return {"type": "boolean", "description": field.help}
    value: dict[str, Any] = {"type": "string", **({"enum": list(field.choices)} if field.choices else {})}
    if field.repeat:
        value = {"type": "array", "items": value}
    return {**value, "description": field.help.replace(f" (TEXT, {FILE} or -)", "")}


def description(command: Command) -> str:
    """Returns the description of a tool, from the command's help."""
    return "\n".join(part for part in (command.summary + ".", command.details) if part)


def command_arguments(command: Command, given: Mapping[str, Any]) -> list[str]:
    """Returns the arguments of sow for a tool call; a value can never become an option."""
    names = {field.name for field in _fields(command)}
    unknown = sorted(set(given) - names)
    if unknown:
        raise SowError(
            f"{command.name}: there is no argument {unknown[0]!r:.60}", f"it has: {', '.join(sorted(names))}"
        )
    arguments = command.name.split()
    for option in command.options:
        arguments += _option_arguments(option, given.get(option.name))
    if any(option.flag == JSON.flag for option in command.options):
        arguments.append("--json")
    positional = [text for argument in command.arguments for text in _texts(argument, given.get(argument.name))]
    return [*arguments, "--", *positional] if positional else arguments


def _option_arguments(option: Option, value: Any) -> list[str]:
    """Returns an option as arguments: `--flag` or `--flag=value`."""
    if option.flag == JSON.flag or value is None:
        return []
    if not option.metavar:
        if not isinstance(value, bool):
            raise SowError(f"{option.name} is true or false", "remove it, or use true or false")
        return [option.flag] if value else []
    return [f"{option.flag}={text}" for text in _texts(option, value)]


def _texts(field: Argument | Option, value: Any) -> list[str]:
    """Returns a value as literal strings: one that begins with @ names no file of this machine.

    Numbers are accepted because models write ids as numbers.
    """
    name = field.name
    values = value if isinstance(value, list) else [] if value is None else [value]
    for item in values:
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            raise SowError(f"{name} must be a text, not {type(item).__name__}", "give a text, or a list of texts")
        if "\0" in str(item):
            raise SowError(f"{name} has a NUL character", "remove it")
    return [f"@{item}" if FILE in field.help and str(item).startswith("@") else str(item) for item in values]


def show(*, json: bool) -> int:
    """Prints the tools."""
    rows = [("TOOL", "WHAT IT DOES"), *((name, command.summary) for name, command in tools().items())]
    facts = [{"name": n, "description": description(c), "input": schema(c)} for n, c in tools().items()]
    return print_list({"tools": facts}, rows, "no tools", json=json)
