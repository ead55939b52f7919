"""The desk of an agent in a workflow: its folder below orchestration/agents, with the face of a task's desk."""

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
    """Where the files of one agent are; verifiers and the architect have one too, without an entry in the state."""

    __slots__ = ("folder", "home", "id", "owner")

    def __init__(self, home: Home, workflow_id: str, name: str) -> None:
        self.home = home
        self.owner = workflow_id  # the id under which copies are kept
        self.id = name
        self.folder = f"{home.root}/{FOLDER}/agents/{name}"

    @property
    def title(self) -> str:
        """How messages name whoever works here."""
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
        """The file that keeps one verification round."""
        return f"{self.folder}/verification_history/round_{number:03d}.json"

    def make(self) -> None:
        """Let the folders be there in which its agent works."""
        for part in ("completion_drive", "task_output"):
            self.make_folder(part)

    def make_folder(self, *parts: str) -> str:
        """A folder on this desk, made where it is missing."""
        return make_folders(self.home.disk, self.home.root, (FOLDER, "agents", self.id, *parts))

    def member(self) -> MemberState | None:
        """The agent's entry in the workflow's state; none for a verifier or the architect."""
        from sow.store.workflow import WorkflowFolder

        return WorkflowFolder(self.home).load()["workflow"]["members"].get(self.id)

    @property
    def iteration(self) -> int:
        """Which attempt of the agent this is."""
        member = self.member()
        return member["iteration"] if member else 1

    def references(self) -> list[str]:
        """The documents that it is pointed to: its instructions name them."""
        return []

    def commands(self) -> list[str]:
        """What its plan wants to be run on it: a workflow's plan has no commands, its verifiers look."""
        return []

    def closed(self) -> tuple[str, ...]:
        """What its agent has no business to write, as patterns."""
        from sow.store import bounds

        return bounds.closed_to_member(self, self._others())

    def _others(self) -> list[str]:
        """The names of all other desks: those of the crew, of its verifiers, and whatever else is there."""
        from sow.store.workflow import WorkflowFolder

        crew = WorkflowFolder(self.home).workflow()["members"]
        names = {
            *RESERVED,
            *crew,
            *(each["verifier"] for each in crew.values()),
            *list_folder(os.path.dirname(self.folder)),
        }
        return sorted(name for name in names - {self.id} if is_member(name))

    def marks(self) -> dict[str, str]:
        """What tells an agent here more than its name and its role."""
        from sow.store.workflow import WorkflowFolder

        return {"SOW_WORKFLOW": WorkflowFolder(self.home).workflow()["name"]}

    def set_aside(self, path: str) -> str:
        """Move a broken file out of the way, and say where it is."""
        from sow.store.aside import set_aside

        return set_aside(self.home, self.folder, path)
