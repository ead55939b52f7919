"""Asks questions of a workflow and handles answers; an answer passes the architect before it goes into a note."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sow.domain import inputs as texts
from sow.domain import task
from sow.domain.documents.state import AnsweredMember, Escalation, MemberState, Note, Workflow
from sow.domain.task import ORCHESTRATOR, PERSON, Actor
from sow.domain.workflows import escalation
from sow.domain.workflows import member as rules
from sow.domain.workflows.escalation import EscalationDecision
from sow.domain.workflows.lifecycle import ARCHITECT
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.projects import log, notes
from sow.store.workflows import note_archive
from sow.store.workflows.transaction import MemberChange, WorkflowLock, WorkflowTransaction
from sow.system import clock

MOST_ANSWER = 100_000
WITHDRAWN = "Withdrawn: nobody waits for this work any more."
DROPPED = "Withdrawn: the agent is not in the design any more."
EXECUTOR = "workflow_executor"
ACTORS = {"user": Actor(kind=PERSON, name="user"), EXECUTOR: Actor(kind=ORCHESTRATOR, name=EXECUTOR)}


def ask(opened: WorkflowTransaction, member: MemberState, text: str, *, kind: str) -> MemberState:
    """Adds a numbered question to the agent; an agent that asks already keeps its number."""
    if "question" not in member:
        opened.workflow["question_number"] += 1
    question = texts.checked_text(text[:MOST_ANSWER], "the question", MOST_ANSWER)
    return rules.ask(member, question, number=opened.workflow["question_number"], kind=kind, now=clock.now())


def ask_person(home: Home, name: str, text: str, *, kind: str) -> MemberChange:
    """Puts an agent's question into the user's inbox."""
    with WorkflowLock(home) as opened:
        asking = ask(opened, opened.member(name), text, kind=kind)
        asking.pop("pending_answer", None)  # a new question needs a new answer
        return opened.save(name, asking)


def record_routes(home: Home, name: str, decisions: Iterable[EscalationDecision]) -> MemberChange:
    """Records the architect's route for each escalated note, and its question, if any."""
    with WorkflowLock(home) as opened:
        opened.remember_escalations(name)
        for decision in decisions:
            entry = _entry(opened, name, decision.note)
            entry["route"] = decision.route
            if decision.question:
                entry["question"] = decision.question
        return opened.save(name, opened.member(name))


def _entry(opened: WorkflowTransaction, name: str, note_id: str) -> Escalation:
    entry = escalation.find_record(opened.workflow["escalations"], opened.member(name)["task_id"], note_id)
    if entry is None:
        raise SowError(f"agent {name} has not escalated {note_id}", f"see 'sow note list --task {name}'")
    return entry


def resolve_notes(home: Home, name: str, resolutions: Mapping[str, tuple[str, str]]) -> MemberChange:
    """Writes validated answers into escalated notes: {note: (resolution, user or workflow_executor)}.

    The answers go into the history first, so that none is asked for twice, then into the notes. A blocked agent goes
    back to work when its last note is resolved. The call can be repeated after a crash: resolved notes stay.
    """
    with WorkflowLock(home) as opened:
        _record_resolutions(opened, name, resolutions)
        folder = opened.agent_folder(name)
        changed = [
            _resolved(note, *resolutions[note["note_id"]])
            for note in opened.notes(name)
            if note["note_id"] in resolutions and note["status"] != "resolved"
        ]
        if changed:
            notes.replace(folder, changed)
        member = opened.member(name)
        if member["status"] == "blocked" and not escalation.escalated(opened.notes(name)):
            return opened.save(name, rules.unblock(name, member, notes=opened.notes(name), now=clock.now()))
        opened.folder.write_view(opened.loaded)
        return MemberChange(folder, member, opened.remarks)


def _resolved(note: Note, resolution: str, by: str) -> Note:
    return task.resolve_note(note, resolution, actor=ACTORS[by], epoch=clock.epoch())


def _record_resolutions(opened: WorkflowTransaction, name: str, resolutions: Mapping[str, tuple[str, str]]) -> None:
    """Adds the answers to the history, unless they are there."""
    changed = False
    for note_id, (resolution, _) in resolutions.items():
        entry = _entry(opened, name, note_id)
        if "resolved_at" not in entry:
            entry["resolution"] = texts.checked_text(resolution, "the resolution", MOST_ANSWER)
            entry["resolved_at"] = clock.now()
            changed = True
    if changed:
        _clear_requests(opened, name)
        opened.save(name, opened.member(name))


def _clear_requests(opened: WorkflowTransaction, name: str) -> None:
    """Removes the agent from `requested_by` once it has no open note for the solution architect."""
    members = opened.workflow["members"]
    unresolved = (
        entry for entry in opened.workflow["escalations"] if entry["member"] == name and "resolved_at" not in entry
    )
    if any(entry.get("route") == escalation.ARCHITECT for entry in unresolved):
        return
    for agent, member in members.items():
        if name in member.get("requested_by", []):
            members[agent] = {**member, "requested_by": [asker for asker in member["requested_by"] if asker != name]}


def answer(home: Home, number: int, text: str, *, actor: Actor) -> MemberChange:
    """Records a person's answer to w1, w2, …; the architect sees it first, or the agent gets it as feedback."""
    answer_text = texts.checked_text(text, "the answer", MOST_ANSWER)
    with WorkflowLock(home) as opened:
        name = _agent_of_question(opened, number)
        member = opened.member(name)
        answered: AnsweredMember = {
            **member["question"],
            "member": name,
            "answer": answer_text,
            "answered_at": clock.now(),
            "answered_by": actor.name,
        }
        changed = rules.after_answer(name, member, answer_text, now=clock.now())
        opened.workflow["answers"] = [*opened.workflow.get("answers", []), answered]
        return opened.save(name, changed)


def _agent_of_question(opened: WorkflowTransaction, number: int) -> str:
    workflow = opened.workflow
    crew = workflow["members"]
    waiting = {
        member["question"]["number"]: name
        for name, member in crew.items()
        if "question" in member and not rules.is_removed_from_design(name, workflow)
    }
    if number in waiting:
        return waiting[number]
    open_questions = ", ".join(f"w{n}" for n in sorted(waiting)) or "none"
    reason = closed_reason(workflow, number) or f"there is no open question w{number}"
    raise SowError(reason, f"the open questions are: {open_questions}; see 'sow inbox'")


def closed_reason(workflow: Workflow, number: int) -> str:
    """Says why a question can no longer be answered; empty for one that was never asked."""
    for answered in workflow.get("answers", []):
        if answered["number"] == number and answered["answered_by"] == EXECUTOR:
            return f"question w{number} of agent {answered['member']} cannot be answered any more. {answered['answer']}"
        if answered["number"] == number:
            return f"question w{number} of agent {answered['member']} is answered already, by {answered['answered_by']}"
    for name, member in workflow["members"].items():
        if (
            "question" in member
            and member["question"]["number"] == number
            and rules.is_removed_from_design(name, workflow)
        ):
            return f"question w{number} of agent {name} cannot be answered any more. {DROPPED}"
    return ""


def withdraw(opened: WorkflowTransaction, name: str, reason: str) -> None:
    """Withdraws an agent's question that needs no answer any more; the caller saves.

    The history and the agent's log record it, so that a late answer gets the reason.
    """
    member: MemberState = {**opened.member(name)}
    question = member.pop("question", None)
    if question is None:
        return
    now = clock.now()
    closed: AnsweredMember = {**question, "member": name, "answer": reason, "answered_at": now, "answered_by": EXECUTOR}
    opened.workflow["answers"] = [*opened.workflow.get("answers", []), closed]
    opened.workflow["members"][name] = member
    entry = {"timestamp": now, "agent": EXECUTOR, "action": "withdraw", "result": "info", "files": []}
    text = f"question w{question['number']}: {question['text']}\n{reason}"
    log.append(opened.home, opened.agent_folder(name).log_path, {**entry, "text": text})  # type: ignore[typeddict-item]


def assign_architect(
    home: Home, name: str, *, task_id: str, agent: str, verifier: str, requested_by: Sequence[str]
) -> MemberChange:
    """Gives the solution architect a new task: archives its earlier session and starts a new one."""
    with WorkflowLock(home) as opened:
        current = opened.workflow["members"].get(name)
        if current is not None and current["task_id"] == task_id:
            return MemberChange(opened.agent_folder(name), current, opened.remarks)
        if current is not None:
            _close_session(opened, name, reason="new_task")
        member = rules.new_without_plan(task_id, kind=ARCHITECT, agent=agent, verifier=verifier)
        member["requested_by"] = list(requested_by)
        member["outputs"] = current["outputs"] if current else []
        return opened.save(name, member)


def dismiss(home: Home, name: str) -> list[str]:
    """Dismisses an agent whose work nobody waits for: one of an earlier plan, or an architect that nobody asked.

    A solution architect can be asked again. Any other agent leaves the crew, and the files in its folder stay.
    """
    with WorkflowLock(home) as opened:
        member = opened.member(name)
        _close_session(opened, name, reason="left_over")
        if member["kind"] == ARCHITECT:
            fresh = rules.new_without_plan(
                member["task_id"], kind=ARCHITECT, agent=member["agent"], verifier=member["verifier"]
            )
            opened.workflow["members"][name] = {**fresh, "outputs": member["outputs"]}
        else:
            del opened.workflow["members"][name]
        opened.folder.save(opened.loaded)
        return [*opened.remarks, f"agent {name}: nobody needs its work any more; it is dismissed"]


def _close_session(opened: WorkflowTransaction, name: str, *, reason: str) -> None:
    """Resolves an agent's open notes and archives its session, so that they do not keep the workflow from ending."""
    withdraw(opened, name, WITHDRAWN)
    folder = opened.agent_folder(name)
    unresolved = [note for note in opened.notes(name) if note["status"] != "resolved"]
    if unresolved:
        notes.replace(folder, [_resolved(note, WITHDRAWN, EXECUTOR) for note in unresolved])
    opened.remarks += note_archive.archive(folder, reason=reason)
