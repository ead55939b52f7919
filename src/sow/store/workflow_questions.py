"""What a workflow asks, and what becomes of an answer: it goes through the architect before it is in a note."""

from __future__ import annotations

from sow.domain import escalation
from sow.domain import member as rules
from sow.domain import note as note_rules
from sow.domain import text as texts
from sow.domain.actor import ORCHESTRATOR, PERSON, Actor
from sow.domain.crew_plan import ARCHITECT
from sow.errors import SowError
from sow.store import archival, log, notes
from sow.store.workflow_opened import Changed, Opened
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sow.domain.escalation import Decision
    from sow.domain.shapes import AnsweredMember, Escalation, MemberState, Note, Workflow
    from sow.store.home import Home

MOST_ANSWER = 100_000
WITHDRAWN = "Withdrawn: nobody waits for this work any more."
DROPPED = "Withdrawn: the agent is not in the design any more."
EXECUTOR = "workflow_executor"
ACTORS = {
    "user": Actor(kind=PERSON, name="user"),
    EXECUTOR: Actor(kind=ORCHESTRATOR, name=EXECUTOR),
}


def ask(opened: Opened, member: MemberState, text: str, *, kind: str) -> MemberState:
    """The agent with a question that has a number of its own; one that asks already keeps its number."""
    if "question" not in member:
        opened.workflow["question_number"] += 1
    words = texts.text(text[:MOST_ANSWER], "the question", MOST_ANSWER)
    return rules.ask(member, words, number=opened.workflow["question_number"], kind=kind, now=clock.now())


def ask_person(home: Home, name: str, text: str, *, kind: str) -> Changed:
    """Put a question of an agent into the person's inbox."""
    with home.lock():
        opened = Opened(home)
        asking = ask(opened, opened.member(name), text, kind=kind)
        asking.pop("pending_answer", None)  # who asks again wants another answer
        return opened.save(name, asking)


def remember(home: Home, name: str) -> Changed:
    """Put the escalated notes of a blocked agent into the history, those too that it wrote after it was blocked."""
    with home.lock():
        opened = Opened(home)
        opened.remember_escalations(name)
        return opened.save(name, opened.member(name))


def route(home: Home, name: str, decisions: Iterable[Decision]) -> Changed:
    """Write down where the architect sends each escalated note, and what it would ask."""
    with home.lock():
        opened = Opened(home)
        opened.remember_escalations(name)
        for decision in decisions:
            entry = _entry(opened, name, decision.note)
            entry["route"] = decision.route
            if decision.question:
                entry["question"] = decision.question
        return opened.save(name, opened.member(name))


def _entry(opened: Opened, name: str, note_id: str) -> Escalation:
    """What the history has of a note."""
    entry = escalation.entry(opened.workflow["escalations"], opened.member(name)["task_id"], note_id)
    if entry is None:
        raise SowError(f"agent {name} has not escalated {note_id}", f"see 'sow note list --task {name}'")
    return entry


def resolve_notes(home: Home, name: str, resolutions: Mapping[str, tuple[str, str]]) -> Changed:
    """Write validated answers into escalated notes: {note: (resolution, user or workflow_executor)}.

    The answers are in the history first, so that none is asked for twice; then in the notes; and with its last note
    resolved a blocked agent goes back to work. It can be repeated after a crash: what is resolved stays.
    """
    with home.lock():
        opened = Opened(home)
        _write_down(opened, name, resolutions)
        desk = opened.desk(name)
        changed = [
            _resolved(each, *resolutions[each["note_id"]])
            for each in opened.notes(name)
            if each["note_id"] in resolutions and each["status"] != "resolved"
        ]
        if changed:
            notes.replace(desk, changed, desk.owner)
        member = opened.member(name)
        if member["status"] == "blocked" and not escalation.escalated(opened.notes(name)):
            return opened.save(name, rules.unblock(name, member, notes=opened.notes(name), now=clock.now()))
        opened.folder.write_view(opened.loaded)
        return Changed(desk, member, opened.remarks)


def _resolved(note: Note, resolution: str, by: str) -> Note:
    return note_rules.resolve(note, resolution, actor=ACTORS[by], epoch=clock.epoch())


def _write_down(opened: Opened, name: str, resolutions: Mapping[str, tuple[str, str]]) -> None:
    """Put the answers into the history, unless they are there."""
    written = False
    for note_id, (resolution, _) in resolutions.items():
        entry = _entry(opened, name, note_id)
        if "resolved_at" not in entry:
            entry["resolution"] = texts.text(resolution, "the resolution", MOST_ANSWER)
            entry["resolved_at"] = clock.now()
            written = True
    if written:
        _release(opened, name)
        opened.save(name, opened.member(name))


def _release(opened: Opened, name: str) -> None:
    """An answer of the solution architect that was taken is no answer to the agent's next question."""
    members = opened.workflow["members"]
    owed = (each for each in opened.workflow["escalations"] if each["member"] == name and "resolved_at" not in each)
    if any(each.get("route") == escalation.ARCHITECT for each in owed):
        return
    for other, member in members.items():
        if name in member.get("requested_by", []):
            members[other] = {**member, "requested_by": [each for each in member["requested_by"] if each != name]}


def answer(home: Home, number: int, text: str, *, actor: Actor) -> Changed:
    """A person's answer to w1, w2, …: the architect sees it first, or the agent goes on with it as feedback."""
    words = texts.text(text, "the answer", MOST_ANSWER)
    with home.lock():
        opened = Opened(home)
        name = _asking(opened, number)
        member = opened.member(name)
        answered: AnsweredMember = {
            **member["question"],
            "member": name,
            "answer": words,
            "answered_at": clock.now(),
            "answered_by": actor.name,
        }
        changed = rules.answered(name, member, words, now=clock.now())
        opened.workflow["answers"] = [*opened.workflow.get("answers", []), answered]
        return opened.save(name, changed)


def _asking(opened: Opened, number: int) -> str:
    """The agent that asks the question of this number."""
    workflow = opened.workflow
    crew = workflow["members"]
    waiting = {
        member["question"]["number"]: name
        for name, member in crew.items()
        if "question" in member and not rules.is_dropped(name, workflow)
    }
    if number in waiting:
        return waiting[number]
    known = ", ".join(f"w{each}" for each in sorted(waiting)) or "none"
    why = why_closed(workflow, number) or f"there is no open question w{number}"
    raise SowError(why, f"the open questions are: {known}; see 'sow inbox'")


def why_closed(workflow: Workflow, number: int) -> str:
    """Why a question that was asked once cannot be answered any more; nothing for one that nobody ever asked."""
    for each in workflow.get("answers", []):
        if each["number"] == number and each["answered_by"] == EXECUTOR:
            return f"question w{number} of agent {each['member']} cannot be answered any more. {each['answer']}"
        if each["number"] == number:
            return f"question w{number} of agent {each['member']} is answered already, by {each['answered_by']}"
    for name, member in workflow["members"].items():
        if "question" in member and member["question"]["number"] == number and rules.is_dropped(name, workflow):
            return f"question w{number} of agent {name} cannot be answered any more. {DROPPED}"
    return ""


def withdraw(opened: Opened, name: str, why: str) -> None:
    """Take back what an agent asks and nobody needs to know any more; the caller saves.

    The history has it, by which a late answer is told why it comes too late, and so has the log on the agent's desk.
    """
    member: MemberState = {**opened.member(name)}
    question = member.pop("question", None)
    if question is None:
        return
    now = clock.now()
    closed: AnsweredMember = {
        **question,
        "member": name,
        "answer": why,
        "answered_at": now,
        "answered_by": EXECUTOR,
    }
    opened.workflow["answers"] = [*opened.workflow.get("answers", []), closed]
    opened.workflow["members"][name] = member
    entry = {"timestamp": now, "agent": EXECUTOR, "action": "withdraw", "result": "info", "files": []}
    text = f"question w{question['number']}: {question['text']}\n{why}"
    log.append(opened.home, opened.desk(name).log_path, {**entry, "text": text})  # type: ignore[typeddict-item]


def assign(
    home: Home, name: str, *, task_id: str, agent: str, verifier: str, requested_by: Sequence[str], feedback: str = ""
) -> Changed:
    """Give the solution architect a new task: its earlier session is archived, and it begins anew."""
    with home.lock():
        opened = Opened(home)
        known = opened.workflow["members"].get(name)
        if known is not None and known["task_id"] == task_id:
            return Changed(opened.desk(name), known, opened.remarks)
        if known is not None:
            _let_go(opened, name, reason="new_task")
        member = rules.fresh(task_id, kind=ARCHITECT, agent=agent, verifier=verifier)
        member["requested_by"] = list(requested_by)
        member["outputs"] = known["outputs"] if known else []
        if feedback:
            member["feedback"] = feedback
        return opened.save(name, member)


def dismiss(home: Home, name: str) -> list[str]:
    """Let an agent go for whose work nobody waits any more: one of an earlier plan, or an architect with no asker.

    A solution architect can be asked again; anybody else leaves the crew, and the files of the desk stay.
    """
    with home.lock():
        opened = Opened(home)
        member = opened.member(name)
        _let_go(opened, name, reason="left_over")
        if member["kind"] == ARCHITECT:
            again = rules.fresh(member["task_id"], kind=ARCHITECT, agent=member["agent"], verifier=member["verifier"])
            opened.workflow["members"][name] = {**again, "outputs": member["outputs"]}
        else:
            del opened.workflow["members"][name]
        opened.folder.save(opened.loaded)
        return [*opened.remarks, f"agent {name}: nobody waits for its work any more; it is let go"]


def _let_go(opened: Opened, name: str, *, reason: str) -> None:
    """Close what an agent left open, and archive its session: no note of it keeps the workflow from its end."""
    withdraw(opened, name, WITHDRAWN)
    desk = opened.desk(name)
    left = [each for each in opened.notes(name) if each["status"] != "resolved"]
    if left:
        notes.replace(desk, [_resolved(each, WITHDRAWN, EXECUTOR) for each in left], desk.owner)
    opened.remarks += archival.archive(desk, reason=reason)
