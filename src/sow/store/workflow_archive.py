"""Archives a workflow: moves the contents of orchestration/ to archive/<NAME>, and overwrites nothing."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.store import kept, unfinished, workflow_runs
from sow.store.archival import free_name
from sow.store.disk import failure, list_folder, sync_folder
from sow.store.workflow import COPY, VIEW_COPY, WorkflowFolder
from sow.store.workflow_opened import Opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.home import Home

ARCHIVE = "archive"
STATE = "state.yaml"
ENDED = ("completed",)


def put_away(home: Home, name: str = "", *, force: bool = False) -> str:
    """Moves the workflow into archive/ and returns its path; one that has not ended needs `force`.

    A given name must be free. Without one the workflow's name is used, with a number if that is taken. Its runs end
    first and the state moves last, so that an interrupted call can be repeated.
    """
    with home.lock():
        finish(home)
        opened = Opened(home)
        workflow, folder = opened.workflow, opened.folder
        if workflow["status"] not in ENDED and not force:
            raise SowError(
                f"workflow {workflow['name']} is {workflow['status']}",
                "let it end (sow workflow run), or put it away all the same with --yes",
            )
        if name and os.path.lexists(f"{folder.archive_folder}/{name}"):
            raise SowError(f"there is an archive {name} already", "give another name, or none")
        workflow_runs.end(home, workflow)
        unfinished.sweep(folder.path)
        aside = folder.make_folder(ARCHIVE, f".{name or workflow['name']}.tmp")
        # Files without copies are not restored, so that after a crash the moved files stay moved.
        for copy in (VIEW_COPY, *(kept.of_notes(member) for member in workflow["members"])):
            kept.forget(home, workflow["id"], copy)
        for entry in list_folder(folder.path):
            if entry not in (ARCHIVE, STATE):
                _move(home, f"{folder.path}/{entry}", f"{aside}/{entry}")
        kept.forget(home, workflow["id"], COPY)
        _move(home, folder.state_path, f"{aside}/{STATE}")
        return home.relative(finish(home))


def take_up(home: Home) -> str:
    """Finishes a call that was interrupted after its last move; returns the workflow's path, or nothing."""
    with home.lock():
        archived_path = finish(home)
    return home.relative(archived_path) if archived_path else ""


def finish(home: Home) -> str:
    """Renames a completely moved workflow to its name in the archive, and returns its path."""
    folder = WorkflowFolder(home).archive_folder
    target = ""
    for name in list_folder(folder):
        aside = f"{folder}/{name}"
        if name.startswith(".") and name.endswith(".tmp") and os.path.isfile(f"{aside}/{STATE}"):
            target = free_name(f"{folder}/{name[1:-4]}")
            _move(home, aside, target)
    return target


def archived(home: Home) -> list[str]:
    """Returns the names of the archived workflows."""
    folder = WorkflowFolder(home).archive_folder
    return [name for name in list_folder(folder) if os.path.isfile(f"{folder}/{name}/{STATE}") and name[0] != "."]


def _move(home: Home, source: str, target: str) -> None:
    try:
        home.disk.replace(source, target)
        sync_folder(home.disk, os.path.dirname(target))
        sync_folder(home.disk, os.path.dirname(source))
    except OSError as error:
        raise failure("move", source, error) from None
