"""Opens a workflow under the lock: repairs what a crash or an edit by hand left, then allows changes."""

from __future__ import annotations

from dataclasses import dataclass

from sow.domain.documents.state import Escalation, MemberState, Note, Workflow, WorkflowState
from sow.domain.task import WORKER, Actor
from sow.domain.workflows import escalation
from sow.domain.workflows import member as rules
from sow.domain.workflows.lifecycle import NOTE_STATUSES
from sow.errors import IllegalStatusChange, SowError
from sow.store.files import set_aside, state_file
from sow.store.files.checkout_home import Home, HomeLock
from sow.store.projects import notes, restore
from sow.store.workflows import status_view
from sow.store.workflows.folder import COPY, VIEW_COPY, AgentFolder, WorkflowFolder, member_of
from sow.system import clock


@dataclass(frozen=True)
class MemberChange:
    """The result of a change: the agent's folder, its state now, and remarks for the user."""

    folder: AgentFolder
    member: MemberState
    remarks: list[str]


class WorkflowTransaction:
    """A workflow opened under the lock; `remarks` says what was repaired."""

    def __init__(self, home: Home, *, ending: str = "") -> None:
        self.home = home
        self.ending = ending  # the agent whose turn ends now, if any
        self.folder = WorkflowFolder(home)
        self.loaded: WorkflowState
        edited = home.memory.restore(COPY, self.folder.state_path) if home.memory is not None else ""
        self.loaded, repaired = self.folder.load_or_repair()
        self.remarks = [repaired] if repaired else []
        if edited:
            self.remarks.append(f"orchestration/state.yaml was edited by hand with its copy; the edit is in {edited}")
        self._restore_state()
        for name in self.workflow["members"]:
            remark = notes.reconcile_member_notes(self.agent_folder(name), self._answers(name))
            self.remarks += [remark] if remark else []
        self._check_view()

    @property
    def workflow(self) -> Workflow:
        return self.loaded["workflow"]

    def agent_folder(self, name: str) -> AgentFolder:
        return self.folder.agent_folder(name, self.loaded)

    def member(self, name: str) -> MemberState:
        return member_of(self.workflow, name)

    def notes(self, name: str) -> list[Note]:
        return notes.load_notes(self.agent_folder(name))

    def own_move(self, name: str, to: str, actor: Actor) -> MemberState:
        """Returns an agent's state after a move of its own; its escalated notes are added to the history."""
        if actor.task != name:
            raise IllegalStatusChange(
                f"{actor.task or 'a worker'} may not move agent {name}", "set only your own status"
            )
        moved = rules.own_move(name, self.member(name), to, notes=self.notes(name), now=clock.now())
        if to == "blocked":
            self.remember_escalations(name)
        return moved

    def remember_escalations(self, name: str) -> None:
        """Adds the agent's escalated notes to the history, which is used to detect loops."""
        history, task_id = self.workflow["escalations"], self.member(name)["task_id"]
        for note in escalation.escalated(self.notes(name)):
            if escalation.find_record(history, task_id, note["note_id"]) is None:
                entry: Escalation = {
                    "member": name,
                    "task_id": task_id,
                    "note_id": note["note_id"],
                    "description": note["description"],
                    "at": clock.now(),
                }
                history.append(entry)

    def save(self, name: str, member: MemberState) -> MemberChange:
        """Writes an agent's next state."""
        self.workflow["members"][name] = member
        self.folder.save(self.loaded)
        return MemberChange(self.agent_folder(name), member, self.remarks)

    def _answers(self, name: str) -> dict[str, str]:
        """Returns the answers to an agent's escalated notes on its task, by note id; the notes may lack them."""
        task_id = self.member(name)["task_id"]
        return {
            entry["note_id"]: entry["resolution"]
            for entry in self.workflow["escalations"]
            if entry["task_id"] == task_id and "resolution" in entry
        }

    def _restore_state(self) -> None:
        """Restores a state that differs from its copy without being newer: it was edited by hand or reset by git.

        While an agent works, a newer state is restored too: the agent could write any revision, and its next call would
        keep it.
        """
        has_turn = any(self.home.has_turn(name) for name in self.workflow["members"])
        edited, restored = restore.restore_file(
            self.home, self.workflow["id"], COPY, self.folder.state_path, edits=True, newer=has_turn
        )
        if edited or restored:
            self.loaded = self.folder.load()
            aside = f", the edited file is {edited}" if edited else ""
            self.remarks.append(f"orchestration/state.yaml was edited by hand; the last good state is back{aside}")

    def _check_view(self) -> None:
        """Writes the view again if it is missing or old; sets an edited one aside and accepts legal moves in it."""
        current, expected = self.folder.view_text(), self.folder.view(self.loaded)
        if current == expected:
            self.folder.keep_view(self.loaded, expected)  # a crash may have left only one of the two
            return
        copy = state_file.load_backup(self.home, self.workflow["id"], VIEW_COPY)
        if current is None and copy is not None:
            self.remarks.append("orchestration/shared_status.json was taken away; it is made anew")
        if current is not None and current != copy:
            self._apply_view_edit(current)
        self.folder.write_view(self.loaded)

    def _apply_view_edit(self, edited: str) -> None:
        claims = status_view.claims(edited, self.workflow)
        folder = self.agent_folder(next(iter(claims))).folder if len(claims) == 1 else self.folder.path
        aside_path = set_aside.set_aside(self.home, folder, self.folder.view_path)
        self.remarks.append(f"orchestration/shared_status.json was edited by hand; the edited file is {aside_path}")
        for name, status in claims.items():
            self.remarks.append(self._apply_claim(name, status))

    def _apply_claim(self, name: str, status: str) -> str:
        """Accepts a status from an edit only if the agent's turn is in progress and it may make that move itself."""
        if name != self.ending and not self.home.has_turn(name):
            return f"agent {name}: {status} was not taken from it: no turn of this agent is in progress"
        before = self.member(name)
        skips = before["status"] == "working" and status == "ready_for_verification"
        try:
            for step in ("completion_drive_review", status) if skips else (status,):
                moved = self.own_move(name, step, Actor(kind=WORKER, name=name, task=name))
                self.workflow["members"][name] = moved
        except SowError as error:
            self.workflow["members"][name] = before
            return f"agent {name}: {status} was not taken from it: {error.message}"
        self.save(name, self.member(name))
        return f"agent {name}: only the status {status} was taken from it"


class MemberNotes:
    """The notes of an agent, opened under the lock; refused after it handed in its work, because they are final."""

    def __init__(self, home: Home, name: str) -> None:
        self.opened = WorkflowTransaction(home)
        self.member = self.opened.member(name)
        self.folder = self.opened.agent_folder(name)
        status = self.member["status"]
        if status not in NOTE_STATUSES:
            raise SowError(f"agent {name} is {status}: its notes are not changed now", "they are while it is at work")

    def new_session_id(self, epoch: int) -> str:
        return self.member["task_id"]

    def require_open(self) -> None:
        """Refuses nothing more."""

    def ask(self, note: Note) -> None:
        """Asks nobody yet: the question goes to the workflow architect once the agent is blocked."""

    def finish(self, resolution: str, actor: Actor) -> None:
        """Writes the view again."""
        self.opened.folder.write_view(self.opened.loaded)


class WorkflowLock(HomeLock):
    """Locks a home and opens its workflow."""

    def __init__(self, home: Home, *, ending: str = "") -> None:
        super().__init__(home)
        self.ending = ending  # the agent whose turn ends now, if any

    def __enter__(self) -> WorkflowTransaction:  # type: ignore[override]
        super().__enter__()
        opened = None
        try:
            opened = WorkflowTransaction(self.home, ending=self.ending)
            return opened
        finally:
            if opened is None:  # it cannot be opened, so the caller will not release the lock
                self.__exit__()
