"""Migrates an older project to the current schema: a preview, a backup, then one file after the other."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from glob import glob
from importlib import import_module
from itertools import pairwise
from typing import Any

from sow.errors import SowError, SystemFailure, Waiting
from sow.store.files import state_file
from sow.store.files.checkout_home import Home
from sow.store.files.disk import crash_counted, sync_tree, system_error
from sow.store.formats import VERSION, schema, yaml_text
from sow.store.formats.schema_diff import SchemaChange, changes
from sow.store.formats.validation import is_version, parts
from sow.store.projects import project as projects
from sow.store.runs import run_folder
from sow.store.workflows import folder
from sow.system import clock


@dataclass(frozen=True)
class MigrationStep:
    """Describes one file with the changes that it needs."""

    path: str
    name: str
    version: str
    data: dict[str, Any]
    lines: list[str]


def plan(home: Home) -> list[MigrationStep]:
    """Returns the files that are older than this sow, each with its new content. Writes nothing."""
    return _scan(home)[0]


def unreadable(home: Home) -> list[str]:
    """Returns one message for each task that cannot be migrated. Such a task stays as it is."""
    return _scan(home)[1]


def _scan(home: Home) -> tuple[list[MigrationStep], list[str]]:
    steps, problems = [], []
    for path, name in _state_files(home):
        try:
            step = _step(home, path, name)
        except SowError as error:
            if name == "project" or isinstance(
                error, SystemFailure
            ):  # a failure of the disk is not an error in the file
                raise
            problems.append(error.message)
            continue
        if step is not None:
            steps.append(step)
    return steps, problems


def _step(home: Home, path: str, name: str) -> MigrationStep | None:
    shown_path = home.relative(path)
    data = yaml_text.load(home.read(path), shown_path)
    version = data.get("schema_version") if isinstance(data, dict) else None
    if not isinstance(version, str) or not is_version(version) or version not in schema.versions():
        _refuse(version, shown_path)
    if version == VERSION:
        return None
    lines = _migrate(data, name, str(version))
    state_file.check(data, f"{shown_path}, migrated", _validator(name))
    if name == "project":
        projects.check_branch(home, data)
    return MigrationStep(path=path, name=name, version=str(version), data=data, lines=lines)


def _refuse(version: object, shown_path: str) -> None:
    if isinstance(version, str) and is_version(version) and parts(version) > parts(VERSION):
        raise SowError(
            f"schema version mismatch: project={version} cli={VERSION} ({shown_path})",
            "a newer sow wrote this: upgrade sow and try again",
        )
    raise SowError(
        f"{shown_path}: schema_version: no migration starts from {version!r}",
        "the versions are: " + ", ".join(schema.versions()),
    )


def apply(home: Home, steps: list[MigrationStep]) -> str:
    """Writes the migrated files after a backup of the whole project, and returns the path of the backup."""
    with home.claim("project", purpose="migrating"), home.lock():
        if [(step.path, step.data) for step in plan(home)] != [(step.path, step.data) for step in steps]:
            raise Waiting("the project was changed meanwhile", "look at what there is to do now: sow migrate")
        owner = _project_id(home, steps)
        backup = f"{home.folder('local', 'backups')}/{clock.stamp()}-{os.urandom(2).hex()}"
        try:
            _copy(home, steps, backup)
            sync_tree(home.disk, backup)
        except OSError as error:
            crash_counted(f"remove {backup}")
            shutil.rmtree(backup, ignore_errors=True)
            raise _copy_error(home.project, error) from None
        # Tasks come first: while the project's own file is old, all other commands refuse the partly migrated project.
        for step in sorted(steps, key=lambda item: item.name == "project"):
            text = state_file.write(home, step.path, step.data, _validator(step.name))
            name, copy_owner = _backup_key(step, owner)
            if name:
                state_file.save_backup(home, copy_owner, name, text)
    return home.relative(backup)


def _copy(home: Home, steps: list[MigrationStep], backup: str) -> None:
    """Copies the project, and the migrated files outside of it."""
    crash_counted(f"copy to {backup}")
    if os.path.isdir(home.project):
        shutil.copytree(home.project, backup, symlinks=True)
    for step in steps:
        if not step.path.startswith(f"{home.project}/"):
            target = f"{backup}/outside/{home.relative(step.path)}"
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(step.path, target)


def _project_id(home: Home, steps: list[MigrationStep]) -> str:
    """Returns the id of the migrated project; empty for a workflow without a project."""
    project_ids = [step.data["project_id"] for step in steps if step.name == "project"]
    if project_ids or not any(step.name == "task" for step in steps):
        return next(iter(project_ids), "")
    return projects.load_anywhere(home)["project_id"]


def _backup_key(step: MigrationStep, project_id: str) -> tuple[str, str]:
    """Returns the name and the owner of a migrated file's backup; both empty for archived workflows and sessions."""
    if step.name == "project":
        return "project", project_id
    if step.name == "task":
        return step.data["task"]["id"], project_id
    if step.name == "run":  # sorted by time, so the backup is the last run
        return run_folder.COPY, step.data["run"]["project_id"]
    if step.name == "workflow" and "/archive/" not in step.path:
        return folder.COPY, step.data["workflow"]["id"]
    return "", ""


def _copy_error(project: str, error: OSError) -> SystemFailure:
    """Builds the error for a failed copy. `shutil` lists every file that it could not copy; the first is enough."""
    if not isinstance(error, shutil.Error):
        return system_error("copy", project, error)
    source, _, reason = error.args[0][0]
    return SystemFailure(
        f"cannot copy {source}: {reason}", "nothing was changed; make room and run 'sow migrate' again"
    )


def _validator(name: str) -> state_file.Validate:
    validate: state_file.Validate = import_module(f"sow.store.validators.{name}").validate
    return validate


def _state_files(home: Home) -> list[tuple[str, str]]:
    """Returns every state file of the project, its workflow and this machine's runs and sessions, with its kind."""
    local = f"{home.sow}/local"
    files = [(f"{home.project}/state.yaml", "project"), (f"{home.root}/orchestration/state.yaml", "workflow")]
    files = [(path, kind) for path, kind in files if os.path.isfile(path)]
    if not files:
        raise SowError(f"{home.root} has no project", "there is nothing to migrate")
    for pattern, kind in (
        (f"{home.project}/phases/*/tasks/*/state.yaml", "task"),
        (f"{home.root}/orchestration/archive/*/state.yaml", "workflow"),
        (f"{local}/runs/*/state.yaml", "run"),
        (f"{local}/sessions/**/record.yaml", "session"),
    ):
        folder, _, rest = pattern.partition("/*")
        files += [(path, kind) for path in sorted(_matches(folder, f"*{rest}")) if os.path.isfile(path)]
    return files


def _matches(folder: str, pattern: str) -> Iterator[str]:
    """Yields the paths below a folder that match a pattern, without names that start with a dot."""
    for path in glob(pattern, root_dir=folder, recursive=True):
        yield f"{folder}/{path}"


def _migrate(data: dict[str, Any], name: str, version: str) -> list[str]:
    """Changes the data in place, version by version, and returns one line for each change."""
    lines: list[str] = []
    upgrade_versions = [candidate for candidate in schema.versions() if parts(candidate) >= parts(version)]
    for older, newer in pairwise(upgrade_versions):
        for change in changes(older, newer):
            if change.schema == name:
                lines += _apply(data, change)
        data["schema_version"] = newer
    return lines or ["Updating field: schema_version"]


def _apply(data: dict[str, Any], change: SchemaChange) -> list[str]:
    container: Any = data
    for key in change.parent.split(".") if change.parent else ():
        container = container.get(key) if isinstance(container, dict) else None
    if not isinstance(container, dict):
        return []
    if change.kind == "rename" and change.old in container:
        items = [(change.field if key == change.old else key, value) for key, value in container.items()]
        container.clear()
        container.update(items)
        return [f"Renaming field: {change.old} → {change.field}"]
    if change.kind == "add" and change.field not in container:
        container[change.field] = change.default
        return [f"Adding field: {change.field} (default: {change.default})"]
    if change.kind == "remove" and change.field in container:
        del container[change.field]
        return [f"Removing field: {change.field}"]
    return []
