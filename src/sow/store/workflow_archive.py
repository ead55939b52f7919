"""Putting a whole workflow away: orchestration/ is emptied into archive/<NAME>, and nothing is written over."""

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
    """Move the workflow into archive/, and say where it is; one that has not ended only with `force`.

    A name that is given must be free; without one it is the workflow's, with a number behind it where that is taken.
    Its runs end first, and the state moves last, so that a call that was cut off can be made again.
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
        # Without its copies nothing that has been moved is taken for lost, and brought back, after a crash.
        for copy in (VIEW_COPY, *(kept.of_notes(each) for each in workflow["members"])):
            kept.forget(home, workflow["id"], copy)
        for each in list_folder(folder.path):
            if each not in (ARCHIVE, STATE):
                _move(home, f"{folder.path}/{each}", f"{aside}/{each}")
        kept.forget(home, workflow["id"], COPY)
        _move(home, folder.state_path, f"{aside}/{STATE}")
        return home.relative(finish(home))


def take_up(home: Home) -> str:
    """Finish a call that was cut off after its last move: where that workflow is now, or nothing."""
    with home.lock():
        done = finish(home)
    return home.relative(done) if done else ""


def finish(home: Home) -> str:
    """Give a workflow that was moved as a whole its name in the archive, and say where it is."""
    folder = WorkflowFolder(home).archive_folder
    done = ""
    for name in list_folder(folder):
        aside = f"{folder}/{name}"
        if name.startswith(".") and name.endswith(".tmp") and os.path.isfile(f"{aside}/{STATE}"):
            done = free_name(f"{folder}/{name[1:-4]}")
            _move(home, aside, done)
    return done


def archived(home: Home) -> list[str]:
    """The names of the workflows that were put away."""
    folder = WorkflowFolder(home).archive_folder
    return [name for name in list_folder(folder) if os.path.isfile(f"{folder}/{name}/{STATE}") and name[0] != "."]


def _move(home: Home, source: str, target: str) -> None:
    try:
        home.disk.replace(source, target)
        sync_folder(home.disk, os.path.dirname(target))
        sync_folder(home.disk, os.path.dirname(source))
    except OSError as error:
        raise failure("move", source, error) from None
