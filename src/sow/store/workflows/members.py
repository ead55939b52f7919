"""Changes the agents of a workflow; each function decides under the lock and replaces one state file."""

from __future__ import annotations

from sow.domain import note
from sow.domain.actor import WORKER, Actor
from sow.domain.workflows import member as rules
from sow.domain.workflows.crew_plan import ARCHITECT
from sow.domain.workflows.stages import ROUNDS, TRIES
from sow.errors import SowError
from sow.store.files import state_file, temp_files
from sow.store.formats import json_text
from sow.store.projects import notes
from sow.store.validators.verification_results import validate as validate_results
from sow.store.workflows import note_archive
from sow.store.workflows.question_updates import ask
from sow.store.workflows.transaction import MemberChange, WorkflowTransaction
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sow.domain.documents.state import MemberState, VerificationResults
    from sow.store.files.checkout_home import Home
    from sow.store.workflows.folder import AgentFolder

MOST_FEEDBACK = 100_000


def recover(home: Home, *, ending: str = "") -> list[str]:
    """Repairs what a crash or an edit by hand left, and returns remarks; `ending` is the agent whose turn ends now."""
    with home.lock():
        return WorkflowTransaction(home, ending=ending).remarks


def begin_session(home: Home, name: str, *, session_id: str = "", needed: Iterable[str] | None = None) -> MemberChange:
    """Starts or continues an agent and its session of notes: pending and unblocked agents become working.

    `needed` are the agents that must be verified first, if the plan's groups require more than the dependencies.
    """
    with home.lock():
        opened = WorkflowTransaction(home)
        member = opened.member(name)
        if member["status"] == "pending":
            statuses = {agent: state["status"] for agent, state in opened.workflow["members"].items()}
            prerequisites = member["dependencies"] if needed is None else needed
            member = rules.start(name, member, needed=prerequisites, statuses=statuses, now=clock.now())
        elif member["status"] == "blocked":
            member = rules.unblock(name, member, notes=opened.notes(name), now=clock.now())
        changed: MemberState = {**member, "session_start": _begin_notes(opened.desk(name), member)}
        if session_id:
            changed["session_id"] = session_id
        return opened.save(name, changed)


def _begin_notes(folder: AgentFolder, member: MemberState) -> int:
    """Opens the agent's existing session of notes or a new one; returns when it began."""
    folder.make_folders()
    session = notes.load(folder)
    if session is not None and session["task_id"] != member["task_id"]:
        note_archive.archive(folder, reason="left_over")
        session = notes.load(folder)
    if session is None:
        session = notes.new_session(member["task_id"], clock.epoch())
        notes.save(folder, session, folder.owner)
    return session["session_start"]


def set_session_id(home: Home, name: str, session_id: str, *, instead_of: str = "") -> None:
    """Stores the id of the session with the agent's CLI; `instead_of` is the id that must be stored now."""
    with home.lock():
        opened = WorkflowTransaction(home)
        member = opened.workflow["members"].get(name)
        if member and (not instead_of or member.get("session_id") == instead_of):
            opened.save(name, {**member, "session_id": session_id})


def set_status(home: Home, name: str, to: str, *, actor: Actor) -> MemberChange:
    """Moves an agent on command: by itself, or by a person who sends a failed agent back to work."""
    with home.lock():
        opened = WorkflowTransaction(home)
        if actor.is_worker:
            return opened.save(name, opened.own_move(name, to, actor))
        if to != "working":
            raise SowError(f"only agent {name} itself can be set to {to}", "the run of the workflow does the rest")
        return opened.save(name, rules.retry(name, opened.member(name), now=clock.now()))


def infer_status(home: Home, name: str, to: str) -> MemberChange:
    """Moves an agent whose turn ended without a status: to blocked or submitted, as its notes and work show."""
    with home.lock():
        opened = WorkflowTransaction(home)
        itself = Actor(kind=WORKER, name=name, task=name)
        if to == "ready_for_verification" and opened.member(name)["status"] == "working":
            opened.workflow["members"][name] = opened.own_move(name, "completion_drive_review", itself)
        return opened.save(name, {**opened.own_move(name, to, itself), "inferred": True})


def add_feedback(home: Home, name: str, text: str) -> MemberChange:
    """Adds feedback for the agent's next turn."""
    with home.lock():
        opened = WorkflowTransaction(home)
        member = opened.member(name)
        feedback = f"{member['feedback']}\n\n{text}" if "feedback" in member else text
        return opened.save(name, {**member, "feedback": feedback[:MOST_FEEDBACK]})


def record_turn_end(home: Home, name: str, *, read: Mapping[str, int] | None = None) -> MemberChange:
    """Records that a turn ended: resets the crash count, clears the feedback, and stores what the turn read."""
    with home.lock():
        opened = WorkflowTransaction(home)
        member = opened.member(name)
        changed: MemberState = {**member, "tries": 0, "read": {**member["read"], **(read or {})}}
        changed.pop("feedback", None)
        return (
            opened.save(name, changed) if changed != member else MemberChange(opened.desk(name), member, opened.remarks)
        )


def fail_try(home: Home, name: str, reason: str, *, limit: int = TRIES) -> MemberChange:
    """Counts a turn that crashed or timed out; after the last try the agent fails and a person is asked."""
    with home.lock():
        opened = WorkflowTransaction(home)
        changed = rules.record_failed_turn(name, opened.member(name), now=clock.now(), limit=limit)
        if changed["status"] == "failed":
            text = f"Agent {name} failed {changed['tries']} times in a row: {reason}"
            changed = ask(opened, changed, text, kind="failed")
        return opened.save(name, changed)


def record_outputs(home: Home, name: str, digests: Mapping[str, str]) -> MemberChange:
    """Records an agent's outputs; a changed or missing output gets the next version."""
    with home.lock():
        opened = WorkflowTransaction(home)
        member = opened.member(name)
        latest = {output["path"]: output for output in member["outputs"]}
        now = clock.now()
        for path, digest in {**dict.fromkeys(latest, rules.MISSING_DIGEST), **digests}.items():
            old = latest.get(path)
            if old is None or old["digest"] != digest:
                latest[path] = {"path": path, "version": old["version"] + 1 if old else 1, "digest": digest, "at": now}
        outputs = [latest[path] for path in sorted(latest)]
        if outputs == member["outputs"]:
            return MemberChange(opened.desk(name), member, opened.remarks)
        return opened.save(name, {**member, "outputs": outputs})


def record_verified(home: Home, name: str, result: VerificationResults) -> MemberChange:
    """Records that a verifier passed the work, and removes the last refusal from the agent folder."""
    with home.lock():
        opened = WorkflowTransaction(home)
        changed = rules.after_verification(name, opened.member(name), result, notes=opened.notes(name), now=clock.now())
        _keep_round(opened.desk(name), result)
        change = opened.save(name, changed)
        _drop_results(opened.desk(name))
        return change


def record_refused(
    home: Home, name: str, result: VerificationResults, *, feedback: str, limit: int = ROUNDS
) -> MemberChange:
    """Sends refused work back with the findings in the agent folder; after the last round a person is asked."""
    with home.lock():
        opened = WorkflowTransaction(home)
        back = rules.after_verification(name, opened.member(name), result, notes=opened.notes(name), now=clock.now())
        changed: MemberState = {**back, "feedback": feedback[:MOST_FEEDBACK]}
        folder = opened.desk(name)
        _keep_round(folder, result)
        folder.home.replace(folder.results_path, json_text.dump(result))
        if changed["rounds"] >= limit:
            text = f"The work of agent {name} was refused {changed['rounds']} times. The last findings:\n{feedback}"
            changed = ask(opened, changed, text, kind="rounds")
        return opened.save(name, changed)


def record_verifier_failure(home: Home, name: str, reason: str, *, limit: int = TRIES) -> MemberChange:
    """Counts a verifier turn without a result; after the last try a person is asked."""
    with home.lock():
        opened = WorkflowTransaction(home)
        member = opened.member(name)
        changed: MemberState = {**member, "verifier_tries": member.get("verifier_tries", 0) + 1}
        if changed["verifier_tries"] >= limit:
            text = f"Verifier {member['verifier']} gave no result on the work of agent {name}: {reason}"
            changed = ask(opened, changed, text, kind="verifier")
        return opened.save(name, changed)


def send_back(home: Home, name: str, feedback: str) -> MemberChange:
    """Sends a finished agent back to work, because its part of the plan or an output that it read changed."""
    with home.lock():
        opened = WorkflowTransaction(home)
        back = rules.move(name, opened.member(name), "working", clock.now())
        return opened.save(name, {**back, "rounds": 0, "tries": 0, "feedback": feedback[:MOST_FEEDBACK]})


def reopen(home: Home, name: str, paths: Iterable[str]) -> MemberChange:
    """Sends a verified agent whose outputs were changed back to work; this counts as a failed round."""
    changed = ", ".join(paths)
    feedback = (
        f"After your work was verified, these outputs changed: {changed}. Make them right, and hand them in again."
    )
    with home.lock():
        opened = WorkflowTransaction(home)
        member = opened.member(name)
        back = rules.move(name, member, "working", clock.now())
        return opened.save(
            name, {**back, "rounds": member["rounds"] + 1, "tries": 0, "feedback": feedback[:MOST_FEEDBACK]}
        )


def _keep_round(folder: AgentFolder, result: VerificationResults) -> None:
    path = folder.round_path(result["round"])
    state_file.redact(folder.home, result)
    state_file.check(result, folder.home.relative(path), validate_results)
    folder.make_folder("verification_history")
    folder.home.replace(path, json_text.dump(result))


def _drop_results(folder: AgentFolder) -> None:
    try:
        folder.home.remove(folder.results_path)
    except FileNotFoundError:
        return


def complete_member(home: Home, name: str) -> MemberChange:
    """Ends an agent's session: archives its notes; the agent is not started again. Can be repeated."""
    with home.lock():
        opened = WorkflowTransaction(home)
        member = opened.member(name)
        if member["status"] != "session_complete":
            member = rules.complete(name, member, notes=opened.notes(name), now=clock.now())
            opened.save(name, member)
        _drop_results(opened.desk(name))
        archive_remarks = note_archive.archive(opened.desk(name), reason="session_complete")
        opened.folder.write_view(opened.loaded)
        return MemberChange(opened.desk(name), member, [*opened.remarks, *archive_remarks])


def archive_leftover_sessions(home: Home) -> list[str]:
    """Archives, at the start of a run, sessions of ended or unstarted agents that a crash left."""
    with home.lock():
        opened = WorkflowTransaction(home)
        remarks = [*opened.remarks]
        temp_files.remove_temporary_files(opened.folder.path)
        for name, member in opened.workflow["members"].items():
            folder = opened.desk(name)
            if member["status"] == "session_complete" or (
                member["status"] == "pending" and not _is_resumable(folder, member)
            ):
                remarks += note_archive.archive(folder, reason="left_over")
        opened.folder.write_view(opened.loaded)
        return remarks


def _is_resumable(folder: AgentFolder, member: MemberState) -> bool:
    """Returns whether the existing session is empty and belongs to this agent, which then continues it."""
    session = notes.load(folder)
    return session is not None and session["task_id"] == member["task_id"] and not session["notes"]


def set_workflow_status(home: Home, status: str) -> None:
    """Sets the workflow's status; the session begins with the first start."""
    with home.lock():
        opened = WorkflowTransaction(home)
        workflow = opened.workflow
        if status == "completed":
            _check_complete(opened)
        begins = status == "in_progress" and "session_start" not in workflow
        if begins:
            workflow["session_start"] = clock.now()
        if begins or workflow["status"] != status:
            workflow["status"] = status
            opened.folder.save(opened.loaded)


def _check_complete(opened: WorkflowTransaction) -> None:
    """Raises unless every agent's session is complete and no note is unresolved.

    A solution architect that was never asked is ignored.
    """
    waiting = [
        name
        for name, member in opened.workflow["members"].items()
        if member["status"] != "session_complete" and (member["status"], member["kind"]) != ("pending", ARCHITECT)
    ]
    if waiting:
        raise SowError(f"the workflow is not done: {', '.join(waiting)}", "go on: sow workflow run")
    left = [
        f"{name}: {', '.join(ids)}"
        for name, agent_notes in opened.all_notes().items()
        if (ids := note.unresolved(agent_notes))
    ]
    if left:
        raise SowError(f"the workflow has unresolved notes: {'; '.join(left)}", "see 'sow workflow status'")
