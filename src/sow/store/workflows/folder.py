"""Reads and writes orchestration/, the folder of a workflow, with its state, its view and the folders of its agents."""

from __future__ import annotations

import os

from sow.domain.documents.state import MemberState, Note, Workflow, WorkflowState
from sow.domain.inputs import is_member
from sow.errors import InvalidFile, MergeConflict, SowError
from sow.store.files import state_file
from sow.store.files.checkout_home import Home
from sow.store.files.disk import list_folder, make_folders
from sow.store.files.set_aside import set_aside
from sow.store.files.state_file import restore_last_good
from sow.store.projects import notes
from sow.store.projects.task_folder import WorkerFolder, literal, write_protected_for_agent
from sow.store.validators.workflow import validate
from sow.store.workflows import status_view
from sow.system import clock

COPY = "workflow"  # the names of the backup copies
VIEW_COPY = "shared-status"
PLAN = "workflow_coordination_plan.md"


class WorkflowFolder:
    """The workflow of one checkout, and all its paths."""

    def __init__(self, home: Home) -> None:
        self.home = home

    @property
    def path(self) -> str:
        return f"{self.home.root}/{FOLDER}"

    @property
    def state_path(self) -> str:
        return f"{self.path}/state.yaml"

    @property
    def view_path(self) -> str:
        return f"{self.path}/{status_view.NAME}"

    @property
    def plan_path(self) -> str:
        return f"{self.path}/{PLAN}"

    @property
    def report_path(self) -> str:
        return f"{self.path}/verification_report.md"

    @property
    def archive_folder(self) -> str:
        return f"{self.path}/archive"

    def summary_path(self, name: str) -> str:
        """Returns the path of the conversation summary from which the architect designs."""
        return f"{self.path}/conversation_summary_{name}.md"

    def exists(self) -> bool:
        """Returns whether there is a workflow here."""
        return os.path.lexists(self.state_path)

    def make_folder(self, *parts: str) -> str:
        """Makes a folder below orchestration/ if it is missing, and returns it; raises for a link in the path."""
        return make_folders(self.home.disk, self.home.root, (FOLDER, *parts))

    def write(self, path: str, text: str) -> None:
        """Replaces a file of the workflow that is not state: a summary, a report, an agent's instructions."""
        make_folders(self.home.disk, self.home.root, os.path.dirname(self.home.relative(path)).split("/"))
        self.home.replace(path, text)

    def load(self) -> WorkflowState:
        """Loads the state without repairs."""
        try:
            loaded: WorkflowState = state_file.read(self.home, self.state_path, validate, copy=COPY)  # type: ignore[assignment]
        except FileNotFoundError:
            raise SowError(f"there is no workflow in {self.home.root}", "begin one: sow workflow new NAME") from None
        return loaded

    def workflow(self) -> Workflow:
        return self.load()["workflow"]

    def load_or_repair(self) -> tuple[WorkflowState, str]:
        """Loads the state, and returns what was repaired, if anything; for writers, under the lock."""
        if not self.exists() and os.path.isdir(f"{self.path}/agents"):
            return self._repaired(InvalidFile(f"{FOLDER}/state.yaml is missing", "begin anew: sow workflow new NAME"))
        try:
            return self.load(), ""
        except MergeConflict:  # a person resolves the conflict: nothing is moved
            raise
        except InvalidFile as problem:
            return self._repaired(problem)

    def _repaired(self, problem: InvalidFile) -> tuple[WorkflowState, str]:
        owner = state_file.newest_owner(self.home, self.home.checkout.branch(), COPY)
        repaired = restore_last_good(self.home, owner, COPY, self.state_path, validate, problem)
        return self.load(), repaired

    def save(self, loaded: WorkflowState) -> None:
        """Writes the next state, a backup copy and the view."""
        loaded["workflow"]["updated_at"] = clock.now()
        text = state_file.write(self.home, self.state_path, loaded, validate)  # type: ignore[arg-type]
        state_file.save_backup(self.home, loaded["workflow"]["id"], COPY, text)
        self.write_view(loaded)

    def view(self, loaded: WorkflowState) -> str:
        """Returns the view that belongs to the present state and notes."""
        return status_view.text(loaded["workflow"], self.notes(loaded))

    def write_view(self, loaded: WorkflowState) -> None:
        """Writes the view if it differs, and a copy, which shows whether a later view is edited or only old."""
        text = self.view(loaded)
        if self.view_text() != text:
            self.home.replace(self.view_path, text)
        self.keep_view(loaded, text)

    def keep_view(self, loaded: WorkflowState, text: str) -> None:
        """Makes this text the copy of the view, unless it is already."""
        if state_file.load_backup(self.home, loaded["workflow"]["id"], VIEW_COPY) != text:
            state_file.save_backup(self.home, loaded["workflow"]["id"], VIEW_COPY, text)

    def view_text(self) -> str | None:
        """Returns the text of the view file, or an empty text if it cannot be read."""
        return self.home.read_or("", self.view_path)

    def agent_folder(self, name: str, loaded: WorkflowState | None = None) -> AgentFolder:
        """Returns the folder of an agent, a verifier or the architect."""
        return AgentFolder(self.home, (loaded or self.load())["workflow"]["id"], name)

    def agent_folders(self, loaded: WorkflowState) -> list[AgentFolder]:
        """Returns the agent folders of the crew, in the order of the state."""
        return [self.agent_folder(name, loaded) for name in loaded["workflow"]["members"]]

    def notes(self, loaded: WorkflowState) -> dict[str, list[Note]]:
        """Returns the notes of every agent; for a broken file, those of its last good copy."""
        return {folder.id: notes.load_notes_or_backup(folder) for folder in self.agent_folders(loaded)}


def member_of(workflow: Workflow, name: str) -> MemberState:
    """Returns an agent of the crew."""
    member = workflow["members"].get(name)
    if member is None:
        names = ", ".join(workflow["members"]) or "none yet"
        raise SowError(f"the workflow has no agent {name!r:.80}", f"its agents are: {names}")
    return member


FOLDER = "orchestration"
RESERVED = (
    "archival_agent",
    "solution_architect_agent",
    "solution_architect_on_call",
    "solution_verifier",
    "workflow_architect",
)


class AgentFolder(WorkerFolder):
    """Holds the paths of one agent's files. Verifiers and the architect have one too, but no entry in the state."""

    noun = "agent"

    def __init__(self, home: Home, workflow_id: str, name: str) -> None:
        super().__init__(home, f"{home.root}/{FOLDER}/agents/{name}", name)
        self.owner = workflow_id  # the id under which backups are kept

    @property
    def instructions_path(self) -> str:
        return f"{self.folder}/agent_instructions.md"

    @property
    def description_path(self) -> str:
        return self.instructions_path

    @property
    def results_path(self) -> str:
        return f"{self.folder}/verification_results.json"

    def make_folders(self) -> None:
        """Makes the folders in which the agent works."""
        for part in ("completion_drive", "task_output"):
            self.make_folder(part)

    def make_folder(self, *parts: str) -> str:
        """Returns a folder of this agent, and makes it if it is missing."""
        return make_folders(self.home.disk, self.home.root, (FOLDER, "agents", self.id, *parts))

    def member(self) -> MemberState | None:
        """Returns the agent's entry in the workflow's state; None for a verifier or the architect."""

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

    def write_protected(self) -> tuple[str, ...]:
        """Returns patterns of the files that the agent must not write."""
        return write_protected_for_agent(self, self.other_agents())

    def other_agents(self) -> list[str]:
        """Returns the names of all other agent folders: crew, verifiers, reserved names and others in the folder."""

        crew = WorkflowFolder(self.home).workflow()["members"]
        names = {
            *RESERVED,
            *crew,
            *(member["verifier"] for member in crew.values()),
            *list_folder(os.path.dirname(self.folder)),
        }
        return sorted(name for name in names - {self.id} if is_member(name))

    def worker_environment(self) -> dict[str, str]:
        """Returns environment variables for the agent, in addition to its name and its role."""

        return {"SOW_WORKFLOW": WorkflowFolder(self.home).workflow()["name"]}

    def set_aside(self, path: str) -> str:
        """Moves a broken file away, and returns its new path."""
        return set_aside(self.home, self.folder, path)


STATE = ("state.yaml", "shared_status.json", "verification_report.md")


class DesignFolder(AgentFolder):
    """Folder of a designing role, from which the whole design can be written."""

    @property
    def iteration(self) -> int:
        """Returns 1, because a design has no iterations."""
        return 1

    def write_protected(self) -> tuple[str, ...]:
        """Returns patterns for the workflow's state, sessions and notes, all of .sow, and the backups."""
        home = self.home
        orchestration = literal(f"{home.root}/{FOLDER}")
        folders = [literal(home.sow), f"{orchestration}/archive", f"{orchestration}/agents/*/completion_drive"]
        folders += [f"{literal(folder)}/sow" for folder in dict.fromkeys((home.checkout.git, home.checkout.common))]
        return (*(f"{orchestration}/{name}" for name in STATE), *(f"{folder}/**" for folder in folders))
