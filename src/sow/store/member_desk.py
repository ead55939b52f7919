"""Describes the folder of a workflow's agent below orchestration/agents, with the interface of a task folder."""

from __future__ import annotations

import os

from sow.domain.ids import is_member
from sow.store.disk import list_folder, make_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import MemberState
    from sow.store.home import Home

FOLDER = "orchestration"
RESERVED = (
    "archival_agent",
    "solution_architect_agent",
    "solution_architect_on_call",
    "solution_verifier",
    "workflow_architect",
)


class MemberDesk:
    """Holds the paths of one agent's files. Verifiers and the architect have one too, but no entry in the state."""

    __slots__ = ("folder", "home", "id", "owner")

    def __init__(self, home: Home, workflow_id: str, name: str) -> None:
        self.home = home
        self.owner = workflow_id  # the id under which backups are kept
        self.id = name
        self.folder = f"{home.root}/{FOLDER}/agents/{name}"

    @property
    def title(self) -> str:
        """Returns the name of the agent in messages."""
        return f"agent {self.id}"

    @property
    def instructions_path(self) -> str:
        return f"{self.folder}/agent_instructions.md"

    @property
    def description_path(self) -> str:
        return self.instructions_path

    @property
    def log_path(self) -> str:
        return f"{self.folder}/log.md"

    @property
    def notes_path(self) -> str:
        return f"{self.folder}/completion_drive/session_current.json"

    @property
    def output_folder(self) -> str:
        return f"{self.folder}/task_output"

    @property
    def results_path(self) -> str:
        return f"{self.folder}/verification_results.json"

    def round_path(self, number: int) -> str:
        """Returns the path of one verification round's file."""
        return f"{self.folder}/verification_history/round_{number:03d}.json"

    def make(self) -> None:
        """Makes the folders in which the agent works."""
        for part in ("completion_drive", "task_output"):
            self.make_folder(part)

    def make_folder(self, *parts: str) -> str:
        """Returns a folder of this agent, and makes it if it is missing."""
        return make_folders(self.home.disk, self.home.root, (FOLDER, "agents", self.id, *parts))

    def member(self) -> MemberState | None:
        """Returns the agent's entry in the workflow's state; None for a verifier or the architect."""
        from sow.store.workflow import WorkflowFolder

        return WorkflowFolder(self.home).load()["workflow"]["members"].get(self.id)

    @property
    def iteration(self) -> int:
        """Returns the number of the agent's current iteration."""
        member = self.member()
        return member["iteration"] if member else 1

    def references(self) -> list[str]:
        """Returns no documents, because the agent's instructions name them."""
        return []

    def commands(self) -> list[str]:
        """Returns no commands, because a workflow's plan has none; its verifiers check the work."""
        return []

    def closed(self) -> tuple[str, ...]:
        """Returns patterns of the files that the agent must not write."""
        from sow.store import bounds

        return bounds.closed_to_member(self, self._others())

    def _others(self) -> list[str]:
        """Returns the names of all other agent folders: crew, verifiers, reserved names and others in the folder."""
        from sow.store.workflow import WorkflowFolder

        crew = WorkflowFolder(self.home).workflow()["members"]
        names = {
            *RESERVED,
            *crew,
            *(member["verifier"] for member in crew.values()),
            *list_folder(os.path.dirname(self.folder)),
        }
        return sorted(name for name in names - {self.id} if is_member(name))

    def marks(self) -> dict[str, str]:
        """Returns environment variables for the agent, in addition to its name and its role."""
        from sow.store.workflow import WorkflowFolder

        return {"SOW_WORKFLOW": WorkflowFolder(self.home).workflow()["name"]}

    def set_aside(self, path: str) -> str:
        """Moves a broken file away, and returns its new path."""
        from sow.store.aside import set_aside

        return set_aside(self.home, self.folder, path)
