"""A workflow under the lock: what a crash or a hand left is mended first, then it may be changed."""

from __future__ import annotations

from sow.domain import escalation
from sow.domain import member as rules
from sow.domain.actor import WORKER, Actor
from sow.errors import IllegalMove, SowError
from sow.store import aside, at_work, kept, notes, restoring, workflow_view
from sow.store.workflow import COPY, VIEW_COPY, WorkflowFolder, member_of
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import Escalation, MemberState, Note, Workflow, WorkflowState
    from sow.store.home import Home
    from sow.store.member_desk import MemberDesk


class Changed:
    """The outcome of an act: the agent's desk, what it is now, and what there is to say about it."""

    __slots__ = ("desk", "member", "remarks")

    def __init__(self, desk: MemberDesk, member: MemberState, remarks: list[str]) -> None:
        self.desk = desk
        self.member = member
        self.remarks = remarks


class Opened:
    """To be made under the lock; `remarks` says what was mended."""

    __slots__ = ("ending", "folder", "home", "loaded", "remarks")

    def __init__(self, home: Home, *, ending: str = "") -> None:
        self.home = home
        self.ending = ending  # the agent whose turn ends now, if any
        self.folder = WorkflowFolder(home)
        self.loaded: WorkflowState
        edited = home.memory.put_back(COPY, self.folder.state_path) if home.memory is not None else ""
        self.loaded, repaired = self.folder.load_or_repair()
        self.remarks = [repaired] if repaired else []
        if edited:
            self.remarks.append(f"orchestration/state.yaml was edited by hand with its copy; the edit is in {edited}")
        self._put_state_back()
        for name in self.workflow["members"]:
            said = notes.mend(self.desk(name), self._answers(name))
            self.remarks += [said] if said else []
        self._look_at_view()

    @property
    def workflow(self) -> Workflow:
        return self.loaded["workflow"]

    def desk(self, name: str) -> MemberDesk:
        return self.folder.desk(name, self.loaded)

    def member(self, name: str) -> MemberState:
        return member_of(self.workflow, name)

    def notes(self, name: str) -> list[Note]:
        return notes.listed(self.desk(name))

    def all_notes(self) -> dict[str, list[Note]]:
        return self.folder.notes(self.loaded)

    def moved_by_itself(self, name: str, to: str, actor: Actor) -> MemberState:
        """An agent after a move of its own; what it escalated goes into the history with it."""
        if actor.task != name:
            raise IllegalMove(f"{actor.task or 'a worker'} may not move agent {name}", "set only your own status")
        moved = rules.doer_move(name, self.member(name), to, notes=self.notes(name), now=clock.now())
        if to == "blocked":
            self.remember_escalations(name)
        return moved

    def remember_escalations(self, name: str) -> None:
        """Put the agent's escalated notes into the history, by which loops are seen."""
        known, task_id = self.workflow["escalations"], self.member(name)["task_id"]
        for each in escalation.escalated(self.notes(name)):
            if escalation.entry(known, task_id, each["note_id"]) is None:
                new: Escalation = {
                    "member": name,
                    "task_id": task_id,
                    "note_id": each["note_id"],
                    "description": each["description"],
                    "at": clock.now(),
                }
                known.append(new)

    def save(self, name: str, member: MemberState) -> Changed:
        """Write an agent's next state."""
        self.workflow["members"][name] = member
        self.folder.save(self.loaded)
        return Changed(self.desk(name), member, self.remarks)

    def _answers(self, name: str) -> dict[str, str]:
        """The answers to what an agent escalated on its task, by note; they are here before they are in the notes."""
        task_id = self.member(name)["task_id"]
        return {
            each["note_id"]: each["resolution"]
            for each in self.workflow["escalations"]
            if each["task_id"] == task_id and "resolution" in each
        }

    def _put_state_back(self) -> None:
        """A state that is no newer than its copy and differs was edited by hand, or taken back by git.

        So was a newer one while an agent is at work: it could write any revision, and its next call would keep that.
        """
        owner = self.workflow["id"]
        newest = not kept.is_behind(self.home, owner, COPY)
        newer = newest and any(at_work.is_at_work(self.home, name) for name in self.workflow["members"])
        if restoring.bring_back(self.home, owner, COPY, self.folder.state_path, edited=True, newer=newer):
            self.loaded = self.folder.load()
            self.remarks.append("orchestration/state.yaml was edited by hand; the last good state is back")

    def _look_at_view(self) -> None:
        """Make a view anew that is gone or older; one that was edited is set aside, and lawful moves in it count."""
        now, wanted = self.folder.view_text(), self.folder.view(self.loaded)
        if now == wanted:
            self.folder.keep_view(self.loaded, wanted)  # a crash may have come between the two
            return
        good = kept.recall(self.home, self.workflow["id"], VIEW_COPY)
        if now is None and good is not None:
            self.remarks.append("orchestration/shared_status.json was taken away; it is made anew")
        if now is not None and now != good:
            self._take_edit(now)
        self.folder.write_view(self.loaded)

    def _take_edit(self, edited: str) -> None:
        claims = workflow_view.readable_claims(edited, self.workflow)
        place = self.desk(next(iter(claims))).folder if len(claims) == 1 else self.folder.path
        where = aside.set_aside(self.home, place, self.folder.view_path)
        self.remarks.append(f"orchestration/shared_status.json was edited by hand; the edited file is {where}")
        for name, status in claims.items():
            self.remarks.append(self._take_claim(name, status))

    def _take_claim(self, name: str, status: str) -> str:
        """An edit counts for an agent whose turn is in progress, and only as far as the agent may go by itself."""
        if name != self.ending and not at_work.is_at_work(self.home, name):
            return f"agent {name}: {status} was not taken from it: no turn of this agent is in progress"
        before = self.member(name)
        skips = before["status"] == "working" and status == "ready_for_verification"
        try:
            for step in ("completion_drive_review", status) if skips else (status,):
                moved = self.moved_by_itself(name, step, Actor(kind=WORKER, name=name, task=name))
                self.workflow["members"][name] = moved
        except SowError as error:
            self.workflow["members"][name] = before
            return f"agent {name}: {status} was not taken from it: {error.message}"
        self.save(name, self.member(name))
        return f"agent {name}: only the status {status} was taken from it"
