"""Writes the reference pages of the docs from the parser, the adapters and the schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from sow.cli.command import GLOBAL, Option, commands
from sow.cli.help import TOPICS, command_help
from sow.executors.adapter import ASSIGNED, FILE, GIVEN, NONE
from sow.executors.settings import ADAPTERS, adapter

Schema = dict[str, Any]


def reference() -> str:
    """Returns every command with its help text."""
    parts = [
        "# Commands\n\n"
        "Every command with its help. `make generate` writes this page from the table that parses the command line.\n\n"
        "If the help says (TEXT, @FILE or -), the value can come from a file: `@` and one word name a file, `-` is\n"
        'standard input, and anything else is the text itself. So `"@ada approved"` is a text. If a text of one word\n'
        "starts with `@`, begin it with `@@`. For a file with a space in its name, use standard input: `sow log -`.\n"
        "Over MCP no value names a file.\n"
        "\nEvery command that names a task accepts `010`, `--task 010` and `--id 010`. `-y` is short for `--yes`.\n",
        _options(),
    ]
    for topic, groups in TOPICS.items():
        parts.append(f"## {topic} commands\n")
        for group in groups:
            for command in commands(group):
                text = command_help(command, for_docs=True)
                details = f"\n{command.details}\n" if command.details else ""
                parts.append(f"### `sow {command.name}`\n\n```text\n{text}```\n{details}")
    return "\n".join(parts)


def _options() -> str:
    """Returns the options that every command has, and what --quiet and --verbose mean for each kind of command."""
    rows = [f"| `{_flag(option)}` | {option.help} |" for option in GLOBAL]
    rows.insert(0, "| `-h`, `--help` | Show the help of the command |")
    return (
        "## Options of every command\n\n| option | |\n|---|---|\n" + "\n".join(rows) + "\n\n"
        "| commands | `--quiet` | `--verbose` |\n|---|---|---|\n"
        "| that start or follow agents (`run`, `watch`, `agent spawn`, `workflow run`, …) "
        "| no live output: the result, questions and errors | every event, and how each executor was chosen |\n"
        "| all others | no notes and no progress: the result and errors | the checkout and the settings file |\n\n"
        "With both, `--quiet` wins. Without a command, `-V` and `--version` print the version.\n"
    )


def _flag(option: Option) -> str:
    short = {"quiet": "-q`, `", "verbose": "-v`, `"}.get(option.name, "")
    return f"{short}{option.flag} {option.metavar}".strip()


CAPABILITIES = re.compile(r"(?<=<!-- capabilities: written by make generate -->\n\n).*?(?=\n\n)", re.DOTALL)
SESSIONS = {GIVEN: "ours", ASSIGNED: "its own", FILE: "a file of ours", NONE: "none"}


def executors(page: str) -> str:
    """Returns the page about executors with a current table of what each CLI can do."""
    rows = [
        "| type | program | session id | resumes | model | cost | tokens | read-only | without yolo_mode | closes |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in ADAPTERS:
        if name != "simulated":
            capabilities = adapter(name).capabilities
            facts = (
                capabilities.resumes,
                capabilities.model,
                capabilities.reports_cost,
                capabilities.reports_tokens,
                capabilities.read_only,
            )
            answers = [*facts, not capabilities.needs_yolo, capabilities.closes]
            text = [
                name,
                capabilities.binary,
                SESSIONS[capabilities.session],
                *("yes" if answer else "no" for answer in answers),
            ]
            rows.append(f"| {' | '.join(text)} |")
    return CAPABILITIES.sub(lambda _: "\n".join(rows), page)


def fields(schemas: dict[str, Schema]) -> str:
    """Returns a page with every field of every kind of file."""
    parts = [
        "# Fields\n\n"
        "Each section lists the fields of one kind of file. `make generate` writes this page from the schemas. "
        "`sow schema show NAME` prints the whole schema, and `sow validate FILE` checks a file against it.\n\n"
        "`[]` stands for each entry of a list, and `*` for any name. A field without a default is optional,\n"
        'unless its type says "required".\n'
    ]
    for name, schema in schemas.items():
        rows = "".join(
            f"| `{path}` | {kind} | {default} | {meaning} |\n"
            for path, kind, default, meaning in _rows(schema, schema, "")
        )
        parts.append(
            f"## {name}\n\nFile: `{schema.get('description', '')}`\n\n"
            f"| field | type | default | meaning |\n|---|---|---|---|\n{rows}"
        )
    return "\n".join(parts)


def _rows(schema: Schema, rule: Schema, path: str) -> Iterator[tuple[str, str, str, str]]:
    """Yields path, type, default and meaning of every field below a rule."""
    rule = _resolved(schema, rule)
    for name, below in rule.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        yield from _row(schema, below, place, required=name in rule.get("required", ()))
    if isinstance(rule.get("additionalProperties"), dict):
        yield from _row(schema, rule["additionalProperties"], f"{path}.*" if path else "*", required=False)


def _row(schema: Schema, given: Schema, place: str, *, required: bool) -> Iterator[tuple[str, str, str, str]]:
    rule = _resolved(schema, given)
    meaning = str(given.get("description") or rule.get("description") or "").replace("|", "\\|")
    default = f"`{json.dumps(rule['default'])}`" if "default" in rule else ""
    yield place, _type(schema, rule) + (", required" if required else ""), default, meaning
    yield from _rows(schema, rule, place)
    if "items" in rule:
        yield from _rows(schema, rule["items"], f"{place}[]")


def _resolved(schema: Schema, rule: Schema) -> Schema:
    if "$ref" not in rule:
        return rule
    name = rule["$ref"].rpartition("/")[2]
    return {**schema["$defs"][name], **{key: value for key, value in rule.items() if key != "$ref"}}


def _type(schema: Schema, rule: Schema) -> str:
    if "enum" in rule:
        return ", ".join(f"`{value}`" for value in rule["enum"])
    if "const" in rule:
        return f"`{rule['const']}`"
    if "items" in rule:
        return f"list of {_type(schema, _resolved(schema, rule['items']))}"
    kinds = rule.get("type", "any")
    return " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
