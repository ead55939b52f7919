"""Asks the live run of a checkout to stop, as Ctrl-C in its terminal would, and ends what a dead run left."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sow.domain.inputs import is_member, is_task_id
from sow.engine.turns.settle import end_left_turns
from sow.errors import SystemFailure
from sow.gitwork.check_processes import remarks_on_left_checks
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Holder, list_folder
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import run_folder, sessions
from sow.store.workflows.folder import AgentFolder
from sow.system import plain_file
from sow.system.process.other_process import OtherProcess


def stop(home: Home, patience: float) -> tuple[Holder | None, bool]:
    """Asks the live run to stop; returns its holder, if there is one, and whether it ended in time."""
    holder = home.claim_holder("run")
    if holder is None:
        return None, True
    if holder.host and holder.host != os.uname().nodename:
        raise SystemFailure(f"the run is on another machine: {holder.line}", f"stop it on {holder.host}: sow runs stop")
    try:
        with OtherProcess(holder.pid) as other:
            # Asked again now that the process is held: its number cannot belong to another process any more.
            current = home.claim_holder("run")
            if current is None:
                return holder, True
            if not current.confirmed or current.pid != holder.pid:
                raise _unsure(current)
            other.interrupt()
            return holder, other.wait(patience)
    except ProcessLookupError:
        if home.claim_holder("run") is None:
            return holder, True
        raise _unsure(holder) from None
    except PermissionError:
        raise SystemFailure(f"the run is somebody else's: {holder.line}", "ask them, or stop it as that user") from None


def end_left_processes(home: Home, environment: Mapping[str, str]) -> list[str]:
    """Ends what checks and turns of dead runs left running, if nobody runs or works now; returns remarks."""
    folder, folders = f"{home.sow}/local/runs", _folders(home)
    if home.claim_holder("run") is not None or not (folders or list_folder(folder)):
        return []
    with home.claim("run", purpose="sow runs stop"):
        remarks = remarks_on_left_checks(folder)
        return remarks + [remark for folder in folders for remark in end_left_turns(folder, environment)]


CHECKS_ELSEWHERE = "elsewhere.json"  # in the folder of a task's checks, while a host runs them
MOST_FACTS = 10_000


@dataclass(frozen=True, eq=False)
class TurnElsewhere:
    """A turn on another host that a dead run left."""

    task: str
    host: str  # "" if none was chosen yet
    token: str
    settings: Mapping[str, Any]  # of the run
    path: str = ""  # of checks: the file that says that they are out

    @property
    def label(self) -> str:
        work = "the checks of" if self.path else "the turn on"
        return f"{work} task {self.task} on {self.host or 'a host of the cluster'}"


def turns_elsewhere(home: Home) -> list[TurnElsewhere]:
    """Returns the turns on other hosts that nobody follows; none while a run is active."""
    if home.claim_holder("run") is not None:
        return []
    turns = []
    for folder in _folders(home):
        for record in sessions.records(folder):
            turn = record.session["turns"][-1] if record.has_open_turn else None
            if turn is not None and "remote" in turn:
                host, token = record.session.get("host", ""), turn["remote"]["token"]
                turns.append(TurnElsewhere(folder.id, host, token, _settings_of_run(home, folder.id)))
    for run in run_folder.all_folders(home):
        for task in list_folder(f"{run.folder}/checks"):
            path = f"{run.folder}/checks/{task}/{CHECKS_ELSEWHERE}"
            if os.path.isfile(path):
                facts = json.loads(plain_file.read_text(path, MOST_FACTS))
                turns.append(TurnElsewhere(task, facts["host"], facts["token"], run.run["settings"], path))
    return turns


def _settings_of_run(home: Home, task: str) -> Mapping[str, Any]:
    """Returns the settings of the last run with a task."""
    runs = reversed(run_folder.all_folders(home))
    return next((folder.run["settings"] for folder in runs if task in folder.run["tasks"]), {})


def _folders(home: Home) -> list[TaskFolder | AgentFolder]:
    """Returns the folder of every task and every agent of a workflow that ever had a session here."""
    names = list_folder(f"{home.sow}/local/sessions")
    tasks: list[TaskFolder | AgentFolder] = [TaskFolder(home, "", name) for name in names if is_task_id(name)]
    return tasks + [AgentFolder(home, "", name) for name in names if is_member(name)]


def _unsure(holder: Holder) -> SystemFailure:
    """Returns the error for a holder that is uncertain: sow signals no process on a guess."""
    return SystemFailure(
        f"the run is claimed by {holder.line}, and that process cannot be identified for certain",
        "stop it where it was started (Ctrl-C), or try again in a moment",
    )
