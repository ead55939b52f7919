"""Defines the request for one turn on another host, and packs the state of the task that the turn needs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from sow.agents.registry import Agent
from sow.cluster.packet import BadPacket, Packet, files_below, pack, within_limits
from sow.domain.documents.state import ProjectState
from sow.domain.inputs import is_task_id
from sow.gitwork.repository import TURN_REFS, Repository
from sow.store.files.disk import list_folder
from sow.store.formats import VERSION
from sow.store.formats.validation import is_uuid4
from sow.store.projects import task_folder as task_folders
from sow.store.projects.task_folder import TaskFolder
from sow.system import clock

PROTOCOL = f"{VERSION}-1"  # machines with another one do not understand each other's packets
STATE, ROLE = "state", "role"  # folders of the packet: what is below .sow/, and the file of the role
CHECKS = ":checks"  # the name under which hosts offer to run check lists; no executor can have it
REFS = TURN_REFS
PROJECT_FILES = ("state.yaml", "context/memories.md", "log.md", ".gitattributes")
OTHER_TASK = ("state.yaml", "description.md")  # what a worker sees of the tasks on which it does not work
TOKEN_LETTERS = frozenset("0123456789abcdef")


@dataclass(frozen=True, kw_only=True)
class TurnRequest:
    """One turn: its task, its role, its executor by name, and the limits of the run. It names no program."""

    token: str
    protocol: str
    project_id: str
    branch: str  # the user's branch
    run: str
    task: str
    worktree: str  # the name of the task's worktree
    kind: str  # spawn, resume, review or check
    fresh: bool
    text: str  # of a check: the list as JSON
    nonce: str  # of a review
    form: str  # how a judge answers
    role: str
    executor: str
    model: str
    timeout: float
    network: str
    sandbox: str
    is_trusted: bool  # the user trusts the repository
    sources: bool  # the user accepted imports from their own checkout
    agreed: list[str]  # the set-up commands that the user agreed to
    base: str  # the integration branch's commit
    head: str  # the worktree's commit
    files: str  # a commit with the worktree's files

    @property
    def request_ref(self) -> str:
        return f"{REFS}/{self.token}/request"

    @property
    def checkpoint_ref(self) -> str:
        return f"{REFS}/{self.token}/checkpoint"

    @property
    def result_ref(self) -> str:
        return f"{REFS}/{self.token}/result"


def new_token() -> str:
    """Returns the name of one request, which no two requests share."""
    return clock.uuid4().replace("-", "")


def is_token(text: str) -> bool:
    """Tells whether a text can be a token."""
    return len(text) == 32 and set(text) <= TOKEN_LETTERS


def pack_request(
    repository: Repository,
    request: TurnRequest,
    folder: TaskFolder,
    project: ProjectState,
    agent: Agent,
    *,
    sign: str = "",
) -> tuple[str, list[str]]:
    """Makes the commit of a request, and returns its id and the names of files that did not fit into it."""
    files = _state(folder, project)
    if agent.path:
        files[f"{ROLE}/{agent.name}.md"] = agent.path
    files, left_out = within_limits(files)
    parents = list(dict.fromkeys((request.head, request.files, request.base)))
    message = f"Turn of {agent.name} on task {request.task}"
    return pack(repository, asdict(request), files, parents, message=message, sign=sign), left_out


def _state(folder: TaskFolder, project: ProjectState) -> dict[str, str]:
    """Returns the files that the worker and its commands read: the own task first, because limits cut the end."""
    home = folder.home
    task = folder.task()
    own = f"{STATE}{folder.folder.removeprefix(home.sow)}"
    files = files_below(folder.folder, own)
    project_folder = f"{STATE}{home.project.removeprefix(home.sow)}"
    files |= _existing(home.project, project_folder, PROJECT_FILES)
    files |= _existing(home.sow, STATE, ("config.yaml", ".gitignore"))
    for phase in project["phases"]:
        path = f"{home.project}/phases/{phase['name']}"
        files |= _existing(path, f"{project_folder}/phases/{phase['name']}", list_folder(path))
    for other in task_folders.all_folders(home, project):
        if other.id != folder.id:
            name = f"{STATE}{other.folder.removeprefix(home.sow)}"
            files |= _existing(other.folder, name, OTHER_TASK)
            if other.id in task["depends_on"]:
                files |= files_below(f"{other.folder}/task_output", f"{name}/task_output")
    for reference in task["references"]:
        path = os.path.normpath(f"{home.root}/{reference}")
        if path.startswith(f"{home.sow}/") and os.path.realpath(path) == path:
            name = f"{STATE}{path.removeprefix(home.sow)}"
            files |= files_below(path, name) if os.path.isdir(path) else _existing(path, name, ("",))
    return files


def _existing(folder: str, name: str, entries: Sequence[str]) -> dict[str, str]:
    """Returns those of the named plain files that a folder has."""
    paths = {f"{name}/{entry}".rstrip("/"): f"{folder}/{entry}".rstrip("/") for entry in entries}
    return {inner: path for inner, path in paths.items() if os.path.isfile(path) and not os.path.islink(path)}


def read_request(packet: Packet) -> TurnRequest:
    """Returns the request in a packet. Raises BadPacket if a field is missing or has another type."""
    protocol = packet.facts.get("protocol")
    if protocol != PROTOCOL:
        raise BadPacket(f"it has the protocol {protocol!r:.40}, and this machine has {PROTOCOL}", "")
    values: dict[str, Any] = {}
    for field in fields(TurnRequest):
        kind = {"bool": bool, "float": (int, float), "list[str]": list}.get(str(field.type), str)
        value = packet.facts.get(field.name)
        if not isinstance(value, kind) or (isinstance(value, str) and "\0" in value):  # type: ignore[arg-type]
            raise BadPacket(f"{field.name} is missing, or not of the right type", "")
        values[field.name] = value
    request = TurnRequest(**values)
    names = (request.task, request.worktree)
    if not (is_token(request.token) and is_uuid4(request.project_id) and all(map(is_task_id, names))):
        raise BadPacket("its token, project or task is no valid name", "")
    if not {request.head, request.files, request.base} <= set(packet.parents):
        raise BadPacket("its commits are not in it", "")
    return request
