"""Keeps what was delivered of a branch in the state of a run, and every step in that run's journal."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from sow.domain.documents.state import HandledFinding, ProjectState, Run, RunDelivery
from sow.errors import SowError
from sow.store import git_watch
from sow.store.files.checkout_home import Home
from sow.store.projects import project as projects
from sow.store.projects.project import removed
from sow.store.runs import run_folder
from sow.store.runs.run_folder import RunFolder
from sow.system import clock

MERGED = "merged"
FOLLOW_UP, RERUN, IGNORED, ASKED = "follow_up", "rerun", "ignored", "asked"


class DeliveryRecord:
    """The delivery of one branch. It is read again before each change, because runs write the same file."""

    def __init__(self, home: Home, run: str) -> None:
        self.home = home
        self.run_id = run
        self.folder: RunFolder = run_folder.load(home, run)

    @property
    def run(self) -> Run:
        return self.folder.run

    @property
    def data(self) -> RunDelivery:
        """The delivery; without any field before the first one."""
        empty: Any = {}
        return self.run.get("delivery", empty)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keeps runs away while the branch and the record change."""
        with self.home.claim("run", purpose=f"sow deliver {self.run_id}"), git_watch.sealed_repository(self.home):
            self.reload()
            yield

    def reload(self) -> None:
        self.folder = run_folder.load(self.home, self.run_id)

    def update(self, **changes: Any) -> None:
        """Changes some fields of the delivery; None removes a field."""
        self.reload()
        data: dict[str, Any] = {**self.data, **changes}
        self.run["delivery"] = {key: value for key, value in data.items() if value is not None}  # type: ignore[typeddict-item]
        self.folder.save()

    def begin(self, **fields: Any) -> None:
        """Begins the delivery of a new request."""
        self.reload()
        self.run["delivery"] = fields  # type: ignore[typeddict-item]
        self.folder.save()

    def handled(self, *outcomes: str) -> dict[str, HandledFinding]:
        """Returns the findings that were dealt with, by key."""
        entries = self.data.get("handled", [])
        return {entry["key"]: entry for entry in entries if not outcomes or entry["outcome"] in outcomes}

    def handle(self, keys: Collection[str], outcome: str, tasks: Collection[str] = ()) -> None:
        """Records that findings were dealt with, so that no later call does it again."""
        self.reload()
        entries = [entry for entry in self.handled().values() if entry["key"] not in keys]
        now = clock.now()
        for key in keys:
            entry: HandledFinding = {"key": key, "outcome": outcome, "at": now}
            entries.append({**entry, "tasks": list(tasks)} if tasks else entry)
        self.update(handled=entries)

    def journal(self, event: str, **facts: Any) -> None:
        """Writes a step to the run's journal."""
        self.folder.append_event(event, **facts)


def load_project(home: Home) -> ProjectState:
    """Loads the project of the branch; without one, raises with the way to the result of the last run."""
    if projects.exists(home):
        return projects.load(home)
    projects.refuse_pulled_delivery(home)
    branch = home.checkout.branch()
    _refuse_removed(home, branch)
    for folder in reversed(run_folder.all_folders(home)):
        result = folder.run["branch"]
        if not run_folder.is_empty(folder) and projects.is_branch(home, result):
            raise SowError(
                f"{branch or 'a detached HEAD'} has no project; the result of the last run is on {result}",
                f"git switch {shlex.quote(result)}, then run the same command again",
            )
    return projects.load(home)


def _refuse_removed(home: Home, branch: str, first: str = "") -> None:
    """Raises if the project of the branch's last run was removed. `first` is the command that makes room for it."""
    runs = [folder for folder in run_folder.all_folders(home) if folder.run["branch"] == branch]
    last = next((folder.run for folder in reversed(runs) if not run_folder.is_empty(folder)), None)
    if last is None:
        return
    delivery = last.get("delivery")
    if delivery is not None and delivery["state"] == MERGED:
        raise SowError(f"request {delivery.get('number', 0)} of {branch} is merged", "there is nothing to deliver")
    copy = removed(home).get(last["project_id"])
    hint = f"bring it back: {first}mv {copy} .sow/project, then run the same command again"
    if copy is None:
        hint = f"git push -u origin {shlex.quote(branch)}, then open the request by hand"
    raise SowError(f"the project of {branch} was removed by sow cleanup; deliver before you clean up", hint)


def find_record(home: Home, project: ProjectState, wanted: str = "") -> DeliveryRecord:
    """Returns the record of the project's branch: of the run that began its delivery, or else of its last run."""
    branch = project["branch"]
    if wanted:
        folder = run_folder.find(home, wanted)
        if folder.run["project_id"] != project["project_id"]:
            raise SowError(f"run {folder.id} belongs to an earlier project", "see 'sow runs list'")
        return DeliveryRecord(home, folder.id)
    runs = [folder for folder in run_folder.all_folders(home) if folder.run["project_id"] == project["project_id"]]
    if not runs:
        _refuse_removed(home, branch, "sow cleanup && ")
        raise SowError(f"there is no run on {branch} to deliver", "start one: sow run PLAN")
    begun = [folder for folder in runs if "delivery" in folder.run and folder.run["branch"] == branch]
    worked = [folder for folder in runs if not run_folder.is_empty(folder)]
    return DeliveryRecord(home, (begun or worked or runs)[-1].id)
