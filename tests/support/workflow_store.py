"""A workflow with a small crew on disk, the moves of an agent, and a disk that stops, for tests of the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import Repo

from sow.domain.documents.state import MemberState, VerificationResults
from sow.domain.task import PERSON, WORKER, Actor
from sow.domain.workflows.crew_plan import Member, WorkflowPlan
from sow.store import note_updates
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Disk
from sow.store.workflows import design_state, members
from sow.store.workflows.folder import WorkflowFolder
from sow.system import checkout
from support.claim_holder import hold_claim

ADA = Actor(kind=PERSON, name="ada")
TIME = "2026-01-31T09:00:00Z"
CREW = {
    "database_agent": ("create_user_table_1727539200", []),
    "api_agent": ("user_endpoints_1727539284", ["database_agent"]),
}


class DiskStopped(BaseException):
    """Raised where a process is killed."""


class StoppingDisk(Disk):
    """A disk under which the process dies before one of its changes; it counts them."""

    def __init__(self, at: int = 0) -> None:
        self.at = at
        self.changes = 0

    def _change(self) -> None:
        self.changes += 1
        if self.changes == self.at:
            raise DiskStopped

    def write(self, descriptor: int, data: bytes) -> int:
        self._change()
        return super().write(descriptor, data)

    def replace(self, source: str, target: str) -> None:
        self._change()
        super().replace(source, target)

    def remove(self, path: str) -> None:
        self._change()
        super().remove(path)


class StoredWorkflow:
    """One workflow, its files as they are."""

    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self.root = root
        self.repo = Repo(root, {})
        where = checkout.at(str(root))
        assert where is not None
        self.home = Home(where, disk)
        self.folder = WorkflowFolder(self.home)

    def begin(self) -> StoredWorkflow:
        """Makes the workflow with its crew, which has not started."""
        design_state.create(self.home, "user_management", "# Conversation Summary\n")
        plan = WorkflowPlan()
        plan.task_id, plan.digest = "implement_user_management", "0" * 64
        for name, (task_id, needs) in CREW.items():
            verifier = name.replace("agent", "verifier")
            plan.members.append(Member(name, task_id=task_id, verifier=verifier, dependencies=needs))
        design_state.apply_plan(self.home, plan, [])
        return self

    def with_disk(self, disk: Disk) -> Home:
        """Returns the same checkout on another disk."""
        return StoredWorkflow(self.root, disk).home

    def member(self, name: str = "database_agent") -> MemberState:
        return self.folder.workflow()["members"][name]

    def view(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads((self.root / "orchestration/shared_status.json").read_text())
        return data

    def member_folder(self, name: str = "database_agent") -> Path:
        return self.root / "orchestration/agents" / name

    def notes(self, name: str = "database_agent") -> Path:
        return self.member_folder(name) / "completion_drive/session_current.json"

    def set(self, *statuses: str, name: str = "database_agent") -> None:
        """Makes an agent's own moves."""
        for status in statuses:
            members.set_status(self.home, name, status, actor=itself(name))

    def start(self, name: str = "database_agent") -> None:
        members.begin_session(self.home, name, session_id="s-1")

    def note(self, text: str = "Is it unique?", name: str = "database_agent", category: str = "") -> None:
        texts = {"description": text, "context": "creating the table", "category": category}
        note_updates.add(self.home, name, **texts, actor=itself(name))

    def block(self, text: str = "Is it unique?", name: str = "database_agent") -> str:
        """Escalates a note and blocks its agent; returns the note's id."""
        texts = {"description": text, "context": "at work", "category": "requirements"}
        note = note_updates.add(self.home, name, **texts, actor=itself(name))
        note_updates.escalate(self.home, name, note["note_id"], reason="not mine to decide", actor=itself(name))
        self.set("blocked", name=name)
        return note["note_id"]

    def hand_in(self, name: str = "database_agent") -> None:
        self.set("completion_drive_review", "ready_for_verification", name=name)

    @contextmanager
    def turn(self, name: str = "database_agent") -> Iterator[None]:
        """Lets another process hold the agent's turn."""
        with hold_claim(self.repo, f"task-{name}"):
            yield


def itself(name: str) -> Actor:
    return Actor(kind=WORKER, name="implementer", task=name)


def result(word: str, number: int = 1, verifier: str = "database_verifier") -> VerificationResults:
    """Records a verifier's result."""
    return {
        "result": word,
        "missing_evidence": [] if word == "passed" else ["no test was run"],
        "findings": [],
        "round": number,
        "verifier": verifier,
        "at": TIME,
    }


def deaths(flow: StoredWorkflow, act: Callable[[Home], object]) -> Iterator[int]:
    """Repeats an act that dies one change later each time, until it succeeds."""
    at = 1
    while True:
        try:
            act(flow.with_disk(StoppingDisk(at)))
            return
        except DiskStopped:
            yield at
        at += 1


def begun(repo: Repo) -> StoredWorkflow:
    """A workflow in a repository of a test."""
    return StoredWorkflow(repo.root).begin()
