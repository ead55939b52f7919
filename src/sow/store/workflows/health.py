"""Examines the files of a workflow without changing them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from sow.domain.text.units import counted
from sow.errors import SowError
from sow.store.file_kinds import kind_by_name, validate_file
from sow.store.files.checkout_home import Home
from sow.store.files.disk import list_folder
from sow.store.files.set_aside import ASIDE
from sow.store.workflows.folder import WorkflowFolder

Finding = dict[str, str]


def examine(home: Home) -> Iterator[Finding]:
    """Yields the findings about orchestration/; nothing if there is no workflow."""
    folder = WorkflowFolder(home)
    if not folder.exists():
        if os.path.isdir(f"{folder.path}/agents"):
            yield _finding("problem", "orchestration/state.yaml is missing", "bring it back: sow workflow run")
        return
    try:
        loaded = folder.load()
    except SowError as error:
        yield _finding("problem", error.message, f"{error.hint}\nthe next command that changes the workflow does so")
        return
    workflow = loaded["workflow"]
    crew = workflow["members"]
    yield _finding("ok", f"workflow {workflow['name']} is {workflow['status']}, with {counted(len(crew), 'agent')}")
    broken = list(_broken(folder))
    yield from broken
    if not broken and folder.view_text() != folder.view(loaded):
        hint = "it is made anew by the next command that changes the workflow"
        yield _finding("warning", "orchestration/shared_status.json is not what the state says", hint)
    for agent_folder in folder.agent_folders(loaded):
        if not os.path.isfile(agent_folder.instructions_path):
            shown = home.relative(agent_folder.instructions_path)
            yield _finding("warning", f"{shown} is missing", "write it, or let the architect: sow workflow design")
    yield from _set_aside(folder)


def _broken(folder: WorkflowFolder) -> Iterator[Finding]:
    """Yields a finding for every file below orchestration/ that does not follow its schema."""
    for parent, folders, names in os.walk(folder.path):
        folders[:] = sorted(name for name in folders if name != ASIDE)
        for name in sorted(names):
            path = f"{parent}/{name}"
            if kind_by_name(path) in ("", "log-entry") or path == folder.state_path:
                continue
            try:
                validate_file(path, folder.home.relative(path), "")
            except SowError as error:
                yield _finding(
                    "problem", error.message, "it is set aside by the next command that changes the workflow"
                )


def _set_aside(folder: WorkflowFolder) -> Iterator[Finding]:
    parents = [folder.path, *(f"{folder.path}/agents/{name}" for name in list_folder(f"{folder.path}/agents"))]
    for parent in parents:
        shown = folder.home.relative(f"{parent}/{ASIDE}")
        count = len(list_folder(f"{parent}/{ASIDE}")) if os.path.isdir(f"{parent}/{ASIDE}") else 0
        if count:
            yield _finding(
                "warning", f"{counted(count, 'edited file')} set aside in {shown}", "look at it, then remove it"
            )
    for name in list_folder(folder.path):
        if name.startswith("state.broken-"):
            message = f"a broken state was set aside: orchestration/{name}"
            yield _finding("warning", message, "look at it, then remove it")


def _finding(state: str, message: str, hint: str = "") -> Finding:
    return {"state": state, "what": message, "hint": hint}
