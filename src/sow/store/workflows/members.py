"""Changes the agents of a workflow; each function decides under the lock and replaces one state file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sow.domain import task
from sow.domain.documents.state import MemberState, VerificationResults
from sow.domain.task import WORKER, Actor
from sow.domain.workflows import member as rules
from sow.domain.workflows.lifecycle import ARCHITECT
from sow.domain.workflows.member_stages import MAX_FAILED_TURNS, MAX_VERIFICATIONS
from sow.errors import SowError
from sow.store.files import state_file, temp_files
from sow.store.files.checkout_home import Home
from sow.store.formats import json_text
from sow.store.projects import notes
from sow.store.validators.verification_results import validate as validate_results
from sow.store.workflows import note_archive
from sow.store.workflows.folder import AgentFolder
from sow.store.workflows.question_updates import ask
from sow.store.workflows.transaction import MemberChange, WorkflowLock, WorkflowTransaction
from sow.system import clock

MOST_FEEDBACK = 100_000


def recover(home: Home, *, ending: str = "") -> list[str]:
    """Repairs what a crash or an edit by hand left, and returns remarks; `ending` is the agent whose turn ends now."""
    with WorkflowLock(home, ending=ending) as opened:
        return opened.remarks


def begin_session(home: Home, name: str, *, session_id: str = "", needed: Iterable[str] | None = None) -> MemberChange:
    """Starts or continues an agent and its session of notes: pending and unblocked agents become working.

    `needed` are the agents that must be verified first, if the plan's groups require more than the dependencies.
    """
    with WorkflowLock(home) as opened:
        member = opened.member(name)
        if member["status"] == "pending":
            statuses = {agent: state["status"] for agent, state in opened.workflow["members"].items()}
            prerequisites = member["dependencies"] if needed is None else needed
            member = rules.start(name, member, needed=prerequisites, statuses=statuses, now=clock.now())
        elif member["status"] == "blocked":
            member = rules.unblock(name, member, notes=opened.notes(name), now=clock.now())
        changed: MemberState = {**member, "session_start": _begin_notes(opened.agent_folder(name), member)}
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
        notes.save(folder, session)
    return session["session_start"]


def set_session_id(home: Home, name: str, session_id: str, *, instead_of: str = "") -> None:
    """Stores the id of the session with the agent's CLI; `instead_of` is the id that must be stored now."""
    with WorkflowLock(home) as opened:
        member = opened.workflow["members"].get(name)
        if member and (not instead_of or member.get("session_id") == instead_of):
            opened.save(name, {**member, "session_id": session_id})


def set_status(home: Home, name: str, to: str, *, actor: Actor) -> MemberChange:
    """Moves an agent on command: by itself, or by a person who sends a failed agent back to work."""
    with WorkflowLock(home) as opened:
        if actor.is_worker:
            return opened.save(name, opened.own_move(name, to, actor))
        if to != "working":
            raise SowError(f"only agent {name} itself can be set to {to}", "the run of the workflow does the rest")
        return opened.save(name, rules.retry(name, opened.member(name), now=clock.now()))


def infer_status(home: Home, name: str, to: str) -> MemberChange:
    """Moves an agent whose turn ended without a status: to blocked or submitted, as its notes and work show."""
    with WorkflowLock(home) as opened:
        itself = Actor(kind=WORKER, name=name, task=name)
        if to == "ready_for_verification" and opened.member(name)["status"] == "working":
            opened.workflow["members"][name] = opened.own_move(name, "completion_drive_review", itself)
        return opened.save(name, {**opened.own_move(name, to, itself), "inferred": True})


def add_feedback(home: Home, name: str, text: str) -> MemberChange:
    """Adds feedback for the agent's next turn."""
    with WorkflowLock(home) as opened:
        member = opened.member(name)
        feedback = f"{member['feedback']}\n\n{text}" if "feedback" in member else text
        return opened.save(name, {**member, "feedback": feedback[:MOST_FEEDBACK]})


def record_turn_end(home: Home, name: str, *, read: Mapping[str, int] | None = None) -> MemberChange:
    """Records that a turn ended: resets the crash count, clears the feedback, and stores what the turn read."""
    with WorkflowLock(home) as opened:
        member = opened.member(name)
        changed: MemberState = {**member, "tries": 0, "read": {**member["read"], **(read or {})}}
        changed.pop("feedback", None)
        return (
            opened.save(name, changed)
            if changed != member
            else MemberChange(opened.agent_folder(name), member, opened.remarks)
        )


def fail_try(home: Home, name: str, reason: str) -> MemberChange:
    """Counts a turn that crashed or timed out; after the last allowed turn the agent fails and a person is asked."""
    with WorkflowLock(home) as opened:
        changed = rules.record_failed_turn(name, opened.member(name), now=clock.now(), limit=MAX_FAILED_TURNS)
        if changed["status"] == "failed":
            text = f"Agent {name} failed {changed['tries']} times in a row: {reason}"
            changed = ask(opened, changed, text, kind="failed")
        return opened.save(name, changed)


def record_outputs(home: Home, name: str, digests: Mapping[str, str]) -> MemberChange:
    """Records an agent's outputs; a changed or missing output gets the next version."""
    with WorkflowLock(home) as opened:
        member = opened.member(name)
        latest = {output["path"]: output for output in member["outputs"]}
        now = clock.now()
        for path, digest in {**dict.fromkeys(latest, rules.MISSING_DIGEST), **digests}.items():
            old = latest.get(path)
            if old is None or old["digest"] != digest:
                latest[path] = {"path": path, "version": old["version"] + 1 if old else 1, "digest": digest, "at": now}
        outputs = [latest[path] for path in sorted(latest)]
        if outputs == member["outputs"]:
            return MemberChange(opened.agent_folder(name), member, opened.remarks)
        return opened.save(name, {**member, "outputs": outputs})


def record_verification(home: Home, name: str, result: VerificationResults, *, feedback: str = "") -> MemberChange:
    """Records a verification: the work is verified, or goes back with the findings in the agent folder.

    After the last refusal a person is asked.
    """
    with WorkflowLock(home) as opened:
        changed = rules.after_verification(name, opened.member(name), result, notes=opened.notes(name), now=clock.now())
        folder = opened.agent_folder(name)
        _keep_verification(folder, result)
        if result["result"] == "passed":
            change = opened.save(name, changed)
            _drop_results(folder)
            return change
        changed["feedback"] = feedback[:MOST_FEEDBACK]
        folder.home.replace(folder.results_path, json_text.dump(result))
        if changed["rounds"] >= MAX_VERIFICATIONS:
            text = f"The work of agent {name} was refused {changed['rounds']} times. The last findings:\n{feedback}"
            changed = ask(opened, changed, text, kind="rounds")
        return opened.save(name, changed)


def record_verifier_failure(home: Home, name: str, reason: str) -> MemberChange:
    """Counts a verifier turn without a result; after the last allowed turn a person is asked."""
    with WorkflowLock(home) as opened:
        member = opened.member(name)
        changed: MemberState = {**member, "verifier_tries": member.get("verifier_tries", 0) + 1}
        if changed["verifier_tries"] >= MAX_FAILED_TURNS:
            text = f"Verifier {member['verifier']} gave no result on the work of agent {name}: {reason}"
            changed = ask(opened, changed, text, kind="verifier")
        return opened.save(name, changed)


def send_back(home: Home, name: str, feedback: str, *, refused: bool = False) -> MemberChange:
    """Sends an agent back to work, because the plan, an input or one of its outputs changed after it was done.

    With `refused` this counts as a failed verification.
    """
    with WorkflowLock(home) as opened:
        back = rules.move(name, opened.member(name), "working", clock.now())
        rounds = back["rounds"] + 1 if refused else 0
        return opened.save(name, {**back, "rounds": rounds, "tries": 0, "feedback": feedback[:MOST_FEEDBACK]})


def _keep_verification(folder: AgentFolder, result: VerificationResults) -> None:
    path = f"{folder.folder}/verification_history/round_{result['round']:03d}.json"
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
    with WorkflowLock(home) as opened:
        member = opened.member(name)
        if member["status"] != "session_complete":
            member = rules.complete(name, member, notes=opened.notes(name), now=clock.now())
            opened.save(name, member)
        _drop_results(opened.agent_folder(name))
        archive_remarks = note_archive.archive(opened.agent_folder(name), reason="session_complete")
        opened.folder.write_view(opened.loaded)
        return MemberChange(opened.agent_folder(name), member, [*opened.remarks, *archive_remarks])


def archive_leftover_sessions(home: Home) -> list[str]:
    """Archives, at the start of a run, sessions of ended or unstarted agents that a crash left."""
    with WorkflowLock(home) as opened:
        remarks = [*opened.remarks]
        temp_files.remove_temporary_files(opened.folder.path)
        for name, member in opened.workflow["members"].items():
            folder = opened.agent_folder(name)
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
    with WorkflowLock(home) as opened:
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
        raise SowError(f"the workflow is not done: {', '.join(waiting)}", "to continue: sow workflow run")
    left = [
        f"{name}: {', '.join(ids)}"
        for name, agent_notes in opened.folder.notes(opened.loaded).items()
        if (ids := task.unresolved_notes(agent_notes))
    ]
    if left:
        raise SowError(f"the workflow has open notes: {'; '.join(left)}", "see 'sow workflow status'")
