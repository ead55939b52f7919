"""Finds the schema of a file by its path or content, and validates the file."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from sow.errors import InvalidFile, SowError
from sow.store.files import state_file
from sow.store.files.disk import Disk, read_text
from sow.store.formats import json_text, schema, yaml_text
from sow.store.formats.all_problems import all_problems
from sow.store.projects import log

BY_NAME = {
    "log.md": "log-entry",
    "description.md": "task-description",
    "session_current.json": "notes",
    "shared_status.json": "shared-status",
    "verification_results.json": "verification-results",
    "archive_index.json": "archive-index",
    "cleanup_log.json": "cleanup-log",
    "orchestration/state.yaml": "workflow",
    "sinks/index.json": "sink-index",
    "repos/index.json": "repo-index",
    ".sow/config.yaml": "repo-config",
    "sow/config.yaml": "user-config",
    "project/state.yaml": "project",
}
BY_FIELD = {
    "task": "task",
    "project_id": "project",
    "sinks": "sink-index",
    "repos": "repo-index",
    "notes": "notes",
    "overall_completion_drive_gate": "shared-status",
    "missing_evidence": "verification-results",
    "archives": "archive-index",
    "entries": "cleanup-log",
    "workflow": "workflow",
    "agents": "user-config",
    "run": "run",
    "session": "session",
}


def kind_by_name(path: str) -> str:
    """Returns the kind of a file by its path; empty if the path does not tell."""
    full_path = f"/{path.replace(os.sep, '/')}"
    for ending, kind in BY_NAME.items():
        if full_path.endswith(f"/{ending}"):
            return kind
    name = full_path.rpartition("/")[2]
    if "/completion_drive/session_" in full_path and name.endswith(".json"):
        return "notes"
    if "/verification_history/round_" in full_path and name.endswith(".json"):
        return "verification-results"
    if "/orchestration/archive/" in full_path and name == "state.yaml":
        return "workflow"
    return "task" if "/tasks/" in full_path and name == "state.yaml" else ""


def kind_by_content(data: Any) -> str:
    """Returns the kind of a document by its fields; empty if none is known."""
    fields = data if isinstance(data, dict) else {}
    return next((kind for field, kind in BY_FIELD.items() if field in fields), "")


def validate_file(path: str, shown_path: str, kind: str) -> str:
    """Validates a file, and returns its kind. Raises an error with all problems."""
    try:
        text = read_text(Disk(), path)
    except FileNotFoundError:
        raise SowError(f"there is no file {shown_path}", "give the path of an existing file") from None
    return validate_text(text, shown_path, kind or kind_by_name(path))


def validate_text(text: str, shown_path: str, kind: str = "") -> str:
    """Validates the text of a file, and returns its kind."""
    kind = kind or kind_by_name(shown_path)
    if kind == "log-entry":
        log.validate_text(text, shown_path)
        return kind
    if kind == "task-description":
        state_file.check(_description(text, shown_path), shown_path, _validator(kind))
        return kind
    data = json_text.load(text, shown_path) if shown_path.endswith(".json") else yaml_text.load(text, shown_path)
    kind = kind or kind_by_content(data)
    if not kind:
        raise SowError(
            f"{shown_path}: cannot tell what kind of file this is", "say it with --kind: " + ", ".join(schema.names())
        )
    try:
        if kind in ("task", "project", "workflow"):
            state_file.parse(text, shown_path, _validator(kind))
        else:
            state_file.check(data, shown_path, _validator(kind))
    except InvalidFile as error:
        if not error.field_path:
            raise
        messages = [f"{shown_path}:{line}: {problem}" for line, problem in all_problems(text, data, _validator(kind))]
        raise InvalidFile(messages[0], error.hint, place=error.field_path, messages=messages) from None
    return kind


def _validator(kind: str) -> Any:
    if kind not in schema.names():
        raise SowError(f"there is no schema {kind!r}", "the schemas are: " + ", ".join(schema.names()))
    return import_module(f"sow.store.validators.{kind.replace('-', '_')}").validate


def _description(text: str, shown_path: str) -> dict[str, str]:
    lines = text.lstrip().split("\n")
    if not lines[0].startswith("# "):
        raise InvalidFile(f"{shown_path}:1: no title", "begin it with '# ' and the task's name")
    return {"title": lines[0][2:].strip(), "text": "\n".join(lines[1:]).strip()}
