"""Archives a workflow: ends its runs and moves the contents of orchestration/ to archive/<NAME>; overwrites nothing."""

from __future__ import annotations

import os
from typing import Any

from sow.domain.documents.state import Workflow
from sow.domain.workflows.lifecycle import DONE_STATUSES
from sow.errors import SowError
from sow.store.files import state_file, temp_files
from sow.store.files.checkout_home import Home
from sow.store.files.disk import free_path, list_folder, move, report_failure
from sow.store.runs import run_folder
from sow.store.runs.run_folder import RunFolder
from sow.store.workflows.folder import COPY, VIEW_COPY, WorkflowFolder
from sow.store.workflows.transaction import WorkflowTransaction
from sow.system import clock

ARCHIVE = "archive"
STATE = "state.yaml"
ENDED = ("completed",)


def archive(home: Home, name: str = "", *, force: bool = False) -> str:
    """Moves the workflow into archive/ and returns its path; one that has not ended needs `force`.

    A given name must be free. Without one the workflow's name is used, with a number if that is taken. Its runs end
    first and the state moves last, so that an interrupted call can be repeated.
    """
    with home.lock():
        finish(home)
        opened = WorkflowTransaction(home)
        workflow, folder = opened.workflow, opened.folder
        if workflow["status"] not in ENDED and not force:
            raise SowError(
                f"workflow {workflow['name']} is {workflow['status']}",
                "let it end (sow workflow run), or archive it with --yes",
            )
        if name and os.path.lexists(f"{folder.archive_folder}/{name}"):
            raise SowError(f"there is an archive {name} already", "give another name, or none")
        end(home, workflow)
        temp_files.remove_temporary_files(folder.path)
        aside = folder.make_folder(ARCHIVE, f".{name or workflow['name']}.tmp")
        # Files without copies are not restored, so that after a crash the moved files stay moved.
        for copy in (VIEW_COPY, *(state_file.notes_key(member) for member in workflow["members"])):
            state_file.delete_backups(home, workflow["id"], copy)
        for entry in list_folder(folder.path):
            if entry not in (ARCHIVE, STATE):
                _move(home, f"{folder.path}/{entry}", f"{aside}/{entry}")
        state_file.delete_backups(home, workflow["id"], COPY)
        _move(home, folder.state_path, f"{aside}/{STATE}")
        return home.relative(finish(home))


def finish_interrupted(home: Home) -> str:
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
            target = free_path(f"{folder}/{name[1:-4]}")
            _move(home, aside, target)
    return target


def names(home: Home) -> list[str]:
    """Returns the names of the archived workflows."""
    folder = WorkflowFolder(home).archive_folder
    return [name for name in list_folder(folder) if os.path.isfile(f"{folder}/{name}/{STATE}") and name[0] != "."]


def _move(home: Home, source: str, target: str) -> None:
    with report_failure("move", source):
        move(home.disk, source, target)


SETTLED = (*DONE_STATUSES, "failed")
ABANDONED: dict[str, Any] = {"status": "abandoned", "result": None, "reason": "its workflow was archived"}


def end(home: Home, workflow: Workflow) -> None:
    """Ends all runs of a workflow and abandons their unfinished agents; can be repeated after a crash."""
    for folder in run_folder.all_folders(home):
        run = folder.run
        if run["project_id"] != workflow["id"] or (run["status"], run.get("exit")) == ("ended", 0):
            continue
        _abandon_unfinished(folder, workflow)
        if run["status"] != "ended":
            run["status"] = "ended"
            run.setdefault("ended_at", clock.now())
            folder.save()


def _abandon_unfinished(folder: RunFolder, workflow: Workflow) -> None:
    """Records once in the journal that the unfinished agents are abandoned.

    The entries get the time of the last one before them, because nobody worked since.
    """
    status_by_task: dict[str, str] = dict.fromkeys(folder.run["tasks"], "")
    moment: dict[str, Any] = {}
    for entry in folder.journal():
        moment = {"t": entry["t"]} if "t" in entry else moment
        if entry.get("event") == "task_ended":
            status_by_task[str(entry.get("task"))] = str(entry.get("status"))
    for name, member in workflow["members"].items():
        if member["status"] not in SETTLED and status_by_task.get(name, ABANDONED["status"]) != ABANDONED["status"]:
            folder.append_event("task_ended", **moment, task=name, **ABANDONED)
