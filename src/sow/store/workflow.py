"""Reads and writes a workflow's folder orchestration/: its state is state.yaml, its view shared_status.json."""

from __future__ import annotations

import os

from sow.errors import InvalidFile, MergeConflict, SowError
from sow.store import kept, notes, state, workflow_view
from sow.store.disk import make_folders
from sow.store.member_desk import FOLDER, MemberDesk
from sow.store.repair import last_good, put_back
from sow.store.validators.workflow import validate
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import MemberState, Note, Workflow, WorkflowState
    from sow.store.home import Home

COPY = "workflow"  # the names of the backup copies
VIEW_COPY = "shared-status"
PLAN = "workflow_coordination_plan.md"


class WorkflowFolder:
    """The workflow of one checkout, and all its paths."""

    __slots__ = ("home",)

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
        return f"{self.path}/{workflow_view.NAME}"

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
            loaded: WorkflowState = state.read(self.home, self.state_path, validate, copy=COPY)  # type: ignore[assignment]
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
        owner = kept.owner_on(self.home, self.home.checkout.branch(), COPY)
        text = last_good(self.home, owner, COPY, validate) if owner else None
        if text is None:
            raise problem
        repaired = put_back(self.home, self.state_path, text, problem.message)
        return self.load(), repaired

    def save(self, loaded: WorkflowState) -> None:
        """Writes the next state, a backup copy and the view."""
        loaded["workflow"]["updated_at"] = clock.now()
        text = state.write(self.home, self.state_path, loaded, validate)  # type: ignore[arg-type]
        kept.keep(self.home, loaded["workflow"]["id"], COPY, text)
        self.write_view(loaded)

    def view(self, loaded: WorkflowState) -> str:
        """Returns the view that belongs to the present state and notes."""
        return workflow_view.text(loaded["workflow"], self.notes(loaded))

    def write_view(self, loaded: WorkflowState) -> None:
        """Writes the view if it differs, and a copy, which shows whether a later view is edited or only old."""
        text = self.view(loaded)
        if self.view_text() != text:
            self.home.replace(self.view_path, text)
        self.keep_view(loaded, text)

    def keep_view(self, loaded: WorkflowState, text: str) -> None:
        """Makes this text the copy of the view, unless it is already."""
        if kept.recall(self.home, loaded["workflow"]["id"], VIEW_COPY) != text:
            kept.keep(self.home, loaded["workflow"]["id"], VIEW_COPY, text)

    def view_text(self) -> str | None:
        """Returns the text of the view file, or an empty text if it cannot be read."""
        try:
            return self.home.read(self.view_path)
        except FileNotFoundError:
            return None
        except SowError:
            return ""

    def desk(self, name: str, loaded: WorkflowState | None = None) -> MemberDesk:
        """Returns the folder of an agent, a verifier or the architect."""
        return MemberDesk(self.home, (loaded or self.load())["workflow"]["id"], name)

    def desks(self, loaded: WorkflowState) -> list[MemberDesk]:
        """Returns the agent folders of the crew, in the order of the state."""
        return [self.desk(name, loaded) for name in loaded["workflow"]["members"]]

    def notes(self, loaded: WorkflowState) -> dict[str, list[Note]]:
        """Returns the notes of every agent; for a broken file, those of its last good copy."""
        return {desk.id: notes.listed_or_kept(desk) for desk in self.desks(loaded)}


def member_of(workflow: Workflow, name: str) -> MemberState:
    """Returns an agent of the crew."""
    member = workflow["members"].get(name)
    if member is None:
        names = ", ".join(workflow["members"]) or "none yet"
        raise SowError(f"the workflow has no agent {name!r:.80}", f"its agents are: {names}")
    return member
