"""Requests for turns: what goes along with one, and what a host refuses."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo
from support.worktree_repo import home_at

from sow.agents.registry import Agent
from sow.cluster.packet import BadPacket, Packet, pack
from sow.cluster.turn_request import PROTOCOL, TurnRequest, new_token, pack_request, read_request
from sow.gitwork.repository import Repository
from sow.store.projects import project as projects
from sow.store.projects import task_folder

PROJECT = "6f0c1c8e-6a5e-4c8e-9d0b-0a5c9b9b7e11"


def request_at(commit: str, **fields: Any) -> TurnRequest:
    """A request for task 010 whose work begins at one commit."""
    values: dict[str, Any] = {
        "token": new_token(), "protocol": PROTOCOL, "project_id": PROJECT, "branch": "feat/auth",
        "run": "20260131-090000-ab12",
        "task": "010", "worktree": "010", "kind": "spawn", "fresh": False, "text": "", "nonce": "", "form": "",
        "role": "implementer", "executor": "simulated", "model": "", "timeout": 0.0, "network": "all", "sandbox": "",
        "is_trusted": False, "sources": False, "agreed": [], "base": commit, "head": commit, "files": commit,
    }  # fmt: skip
    return TurnRequest(**{**values, **fields})


@pytest.fixture
def packed(task_repo: Repo) -> Any:
    """Packs a request for task 010 of the project, and returns its packet and the names that did not fit."""

    def pack_it(agent: Agent | None = None, **fields: Any) -> tuple[Packet, list[str]]:
        home = home_at(task_repo.root)
        project = projects.load_anywhere(home)
        folder = task_folder.find(home, project, "010")
        head = task_repo.git("rev-parse", "HEAD").strip()
        role = agent or Agent(name="implementer", description="Works")
        commit, left_out = pack_request(Repository(home), request_at(head, **fields), folder, project, role)
        return Packet(str(task_repo.root), commit), left_out

    return pack_it


def test_a_request_comes_back_as_it_was_packed(packed: Any) -> None:
    """Every field of a request is read as it was packed."""
    packet, left_out = packed(text="Go on: ü\n", timeout=90.5, agreed=["uv sync"], is_trusted=True)
    request = read_request(packet)
    assert (request.text, request.timeout, request.agreed, request.is_trusted) == (
        "Go on: ü\n",
        90.5,
        ["uv sync"],
        True,
    )
    assert left_out == []


def test_the_state_of_the_task_goes_along(task_repo: Repo, packed: Any) -> None:
    """A host gets the whole folder of the task, and of the other tasks only state and description."""
    task_repo.ok("task", "create", "--name", "Other", "--agent", "implementer")
    folders = task_repo.root / ".sow/project/phases/implementation/tasks"
    for task in ("010", "020"):
        output = folders / task / "task_output"
        output.mkdir(exist_ok=True)
        (output / "result.txt").write_text(task)
    names = {name for name, _ in packed()[0].files("state")}
    own = "project/phases/implementation/tasks/010/"
    assert {"config.yaml", "project/state.yaml", f"{own}state.yaml", f"{own}task_output/result.txt"} <= names
    other = "project/phases/implementation/tasks/020/"
    assert {name.removeprefix(other) for name in names if name.startswith(other)} == {"state.yaml", "description.md"}


def test_outputs_of_dependencies_go_along(task_repo: Repo, packed: Any) -> None:
    """A worker can read the output of the tasks on which its own depends."""
    task_repo.ok("task", "create", "--name", "First", "--agent", "implementer")
    task_repo.ok("task", "set", "--id", "010", "depends_on", "020")
    output = task_repo.root / ".sow/project/phases/implementation/tasks/020/task_output"
    output.mkdir(exist_ok=True)
    (output / "result.txt").write_text("done")
    assert "project/phases/implementation/tasks/020/task_output/result.txt" in {
        name for name, _ in packed()[0].files("state")
    }


def test_the_file_of_a_role_goes_along(packed: Any, tmp_path: Path) -> None:
    """The file that defines a role is in the request; a built-in role has none."""
    path = tmp_path / "gardener.md"
    path.write_text("---\nname: gardener\ndescription: Gardens\n---\nWater it.\n")
    role = Agent(name="gardener", description="Gardens", path=str(path))
    packet, _ = packed(role)
    assert dict(packet.files("role")) == {"gardener.md": path.read_bytes()}
    assert not list(packed()[0].files("role"))


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("protocol", "0.1", "protocol"),
        ("token", "../../etc", "no valid name"),
        ("task", "../010", "no valid name"),
        ("worktree", "/tmp", "no valid name"),
        ("head", "0" * 40, "its commits"),
        ("agreed", "uv sync", "agreed"),
        ("fresh", "yes", "fresh"),
        ("text", "a\0b", "text"),
        ("executor", None, "executor"),
    ],
)
def test_a_bad_request_is_refused(task_repo: Repo, field: str, value: object, problem: str) -> None:
    """A field of another type, a name that leads elsewhere and a commit that is not there are refused."""
    home = home_at(task_repo.root)
    head = task_repo.git("rev-parse", "HEAD").strip()
    facts = json.loads(json.dumps({**asdict(replace(request_at(head))), field: value}))
    commit = pack(Repository(home), facts, {}, [head], message="A request")
    with pytest.raises(BadPacket, match=problem):
        read_request(Packet(str(task_repo.root), commit))
