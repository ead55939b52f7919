"""Shows schemas and versions, and validates files (`sow schema`, `sow validate`, `sow version`)."""

from __future__ import annotations

import json
import os
from typing import Any

from sow import __version__, version_text
from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import emit, print_findings
from sow.domain.task import ALIASES
from sow.errors import InvalidFile, SowError
from sow.store.file_kinds import validate_file
from sow.store.formats import VERSION, schema
from sow.store.formats.cue import export
from sow.store.formats.schema_diff import SchemaChange, changes
from sow.system.terminal import out

NAMES = tuple(schema.names())


def list_schemas(context: Context, *, json: bool) -> int:
    rows = [
        {"version": version, "current": version == VERSION, "schemas": schema.names(version)}
        for version in schema.versions()
    ]
    if json:
        return emit({"versions": rows})
    for row in rows:
        out(f"{row['version']}{' (current)' if row['current'] else ''}: {', '.join(map(str, row['schemas']))}")  # type: ignore[call-overload]
    return 0


def show(context: Context, *, name: str, format: str, version: str, json: bool) -> int:
    document = schema.document(name, schema.check_version(version) if version else VERSION)
    if format == "cue" and not json:
        out(export(document).rstrip("\n"))
    else:
        emit(document, pretty=not json)
    return 0


def diff(context: Context, *, older: str, newer: str, json: bool) -> int:
    differences = changes(schema.check_version(older), schema.check_version(newer))
    if json:
        return emit(
            {
                "changes": [
                    {
                        "kind": change.kind,
                        "schema": change.schema,
                        "path": change.path,
                        "old": change.old or None,
                        "default": change.default,
                    }
                    for change in differences
                ]
            }
        )
    if not differences:
        out("No changes.")
        return 0
    out("Changes detected:")
    for number, change in enumerate(differences, 1):
        out(f"{number}. {_sentence(change)}")
    out("\nSuggested migration:")
    out("\n".join(f"  - {_advice(change)}" for change in differences))
    return 0


def _sentence(change: SchemaChange) -> str:
    parent = f"{change.parent}." if change.parent else ""
    return {
        "rename": f"{parent}{change.old} → {change.path} (rename)",
        "add": f"{change.path} added (default: {change.default})",
        "add optional": f"{change.path} added (optional)",
        "add required": f"{change.path} added (required)",
        "remove": f"{change.path} removed",
        "schema added": f"schema {change.schema} added",
        "schema removed": f"schema {change.schema} removed",
    }[change.kind]


def _advice(change: SchemaChange) -> str:
    return {
        "rename": f"Rename field: {change.old} → {change.field}",
        "add": f"Add field: {change.field} = {json.dumps(change.default)}",
        "add required": f"Add field: {change.field}, by hand",
        "remove": f"Remove field: {change.field}",
    }.get(change.kind, f"Nothing for {change.path}")


def validate(context: Context, *, file: list[str], kind: str, json: bool) -> int:
    findings = []
    for name in file:
        path = _resolve(context, name)
        try:
            facts: dict[str, Any] = {"kind": validate_file(path, name, kind), "error": None, "errors": [], "hint": None}
        except SowError as problem:
            messages = problem.messages if isinstance(problem, InvalidFile) else [problem.message]
            facts = {"kind": kind or None, "error": problem.message, "errors": messages, "hint": problem.hint}
        findings.append({"file": name, **facts})
    return print_findings(findings, lambda finding: f"{finding['file']}: valid {finding['kind']}", json=json)


def _resolve(context: Context, name: str) -> str:
    """Finds a file from the current folder, the root or .sow/project; `implement` means `implementation`."""
    folders = [context.cwd]
    try:
        home = context.project_home()
        folders += [home.root, home.project]
    except SowError:  # outside of a project, only the current folder is searched
        pass
    expanded = "/".join(ALIASES.get(part, part) for part in name.split("/"))
    for folder in folders:
        for candidate in (name, expanded):
            path = os.path.join(folder, candidate)
            if os.path.isfile(path):
                return path
    return os.path.join(folders[0], name)


def version(context: Context, *, schema: bool, json: bool) -> int:
    if json:
        return emit({"version": __version__, "schema": VERSION})
    out(VERSION if schema else f"sow {version_text()}")
    return 0


COMMANDS = (
    Command("schema list", list_schemas, "List the schemas and their versions", json=True),
    Command(
        "schema show",
        show,
        "Print a schema",
        Argument("name", "The schema", choices=NAMES),
        Option("--format", "FORMAT", "The format", choices=("json", "cue"), default="json"),
        Option("--version", "VERSION", "The version; without it, the current one"),
        json=True,
    ),
    Command(
        "schema diff",
        diff,
        "Compare two versions of the schemas",
        Argument("older", "The older version, such as v1.0.0"),
        Argument("newer", "The newer version, such as v1.1.0"),
        json=True,
    ),
    Command(
        "validate",
        validate,
        "Check files against their schemas",
        Argument("file", "A path, relative to this folder, the root or .sow/project", repeat=True, completes="files"),
        Option("--kind", "SCHEMA", "The schema, if the path does not tell", choices=NAMES),
        json=True,
    ),
    Command(
        "version", version, "Print the version", Option("--schema", help="Print the version of the schemas"), json=True
    ),
)
