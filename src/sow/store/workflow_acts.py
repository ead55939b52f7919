"""Changes the agents of a workflow; each function decides under the lock and replaces one state file."""

from __future__ import annotations

from sow.domain import member as rules
from sow.domain import note
from sow.domain.actor import WORKER, Actor
from sow.domain.crew_plan import ARCHITECT
from sow.domain.crew_stage import ROUNDS, TRIES
from sow.errors import SowError
from sow.store import archival, json_text, notes, state, unfinished
from sow.store.validators.verification_results import validate as validate_results
from sow.store.workflow_opened import Changed, Opened
from sow.store.workflow_questions import ask
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sow.domain.shapes import MemberState, VerificationResults
    from sow.store.home import Home
    from sow.store.member_desk import MemberDesk

MOST_FEEDBACK = 100_000


def mend(home: Home, *, ending: str = "") -> list[str]:
    """Repairs what a crash or an edit by hand left, and returns remarks; `ending` is the agent whose turn ends now."""
    with home.lock():
        return Opened(home, ending=ending).remarks


def begin_session(home: Home, name: str, *, session_id: str = "", needed: Iterable[str] | None = None) -> Changed:
    """Starts or continues an agent and its session of notes: pending and unblocked agents become working.

    `needed` are the agents that must be verified first, if the plan's groups require more than the dependencies.
    """
    with home.lock():
        opened = Opened(home)
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


def _begin_notes(desk: MemberDesk, member: MemberState) -> int:
    """Opens the agent's existing session of notes or a new one; returns when it began."""
    desk.make()
    session = notes.load(desk)
    if session is not None and session["task_id"] != member["task_id"]:
        archival.archive(desk, reason="left_over")
        session = notes.load(desk)
    if session is None:
        session = notes.begin(member["task_id"], clock.epoch())
        notes.save(desk, session, desk.owner)
    return session["session_start"]


def name_session(home: Home, name: str, session_id: str, *, instead_of: str = "") -> None:
    """Stores the id of the session with the agent's CLI; `instead_of` is the id that must be stored now."""
    with home.lock():
        opened = Opened(home)
        member = opened.workflow["members"].get(name)
        if member and (not instead_of or member.get("session_id") == instead_of):
            opened.save(name, {**member, "session_id": session_id})


def set_status(home: Home, name: str, to: str, *, actor: Actor) -> Changed:
    """Moves an agent on command: by itself, or by a person who sends a failed agent back to work."""
    with home.lock():
        opened = Opened(home)
        if actor.is_worker:
            return opened.save(name, opened.moved_by_itself(name, to, actor))
        if to != "working":
            raise SowError(f"only agent {name} itself can be set to {to}", "the run of the workflow does the rest")
        return opened.save(name, rules.retry(name, opened.member(name), now=clock.now()))


def infer(home: Home, name: str, to: str) -> Changed:
    """Moves an agent whose turn ended without a status: to blocked or submitted, as its notes and work show."""
    with home.lock():
        opened = Opened(home)
        itself = Actor(kind=WORKER, name=name, task=name)
        if to == "ready_for_verification" and opened.member(name)["status"] == "working":
            opened.workflow["members"][name] = opened.moved_by_itself(name, "completion_drive_review", itself)
        return opened.save(name, {**opened.moved_by_itself(name, to, itself), "inferred": True})


def add_feedback(home: Home, name: str, text: str) -> Changed:
    """Adds feedback for the agent's next turn."""
    with home.lock():
        opened = Opened(home)
        member = opened.member(name)
        feedback = f"{member['feedback']}\n\n{text}" if "feedback" in member else text
        return opened.save(name, {**member, "feedback": feedback[:MOST_FEEDBACK]})


def ended_well(home: Home, name: str, *, read: Mapping[str, int] | None = None) -> Changed:
    """Records that a turn ended: resets the crash count, clears the feedback, and stores what the turn read."""
    with home.lock():
        opened = Opened(home)
        member = opened.member(name)
        changed: MemberState = {**member, "tries": 0, "read": {**member["read"], **(read or {})}}
        changed.pop("feedback", None)
        return opened.save(name, changed) if changed != member else Changed(opened.desk(name), member, opened.remarks)


def fail_try(home: Home, name: str, reason: str, *, limit: int = TRIES) -> Changed:
    """Counts a turn that crashed or timed out; after the last try the agent fails and a person is asked."""
    with home.lock():
        opened = Opened(home)
        changed = rules.fail_try(name, opened.member(name), now=clock.now(), limit=limit)
        if changed["status"] == "failed":
            text = f"Agent {name} failed {changed['tries']} times in a row: {reason}"
            changed = ask(opened, changed, text, kind="failed")
        return opened.save(name, changed)


def record_outputs(home: Home, name: str, digests: Mapping[str, str]) -> Changed:
    """Records an agent's outputs; a changed or missing output gets the next version."""
    with home.lock():
        opened = Opened(home)
        member = opened.member(name)
        latest = {output["path"]: output for output in member["outputs"]}
        now = clock.now()
        for path, digest in {**dict.fromkeys(latest, rules.GONE), **digests}.items():
            old = latest.get(path)
            if old is None or old["digest"] != digest:
                latest[path] = {"path": path, "version": old["version"] + 1 if old else 1, "digest": digest, "at": now}
        outputs = [latest[path] for path in sorted(latest)]
        if outputs == member["outputs"]:
            return Changed(opened.desk(name), member, opened.remarks)
        return opened.save(name, {**member, "outputs": outputs})


def verified(home: Home, name: str, result: VerificationResults) -> Changed:
    """Records that a verifier passed the work, and removes the last refusal from the agent folder."""
    with home.lock():
        opened = Opened(home)
        changed = rules.judged(name, opened.member(name), result, notes=opened.notes(name), now=clock.now())
        _keep_round(opened.desk(name), result)
        change = opened.save(name, changed)
        _drop_results(opened.desk(name))
        return change


def failed_round(home: Home, name: str, result: VerificationResults, *, feedback: str, limit: int = ROUNDS) -> Changed:
    """Sends refused work back with the findings in the agent folder; after the last round a person is asked."""
    with home.lock():
        opened = Opened(home)
        back = rules.judged(name, opened.member(name), result, notes=opened.notes(name), now=clock.now())
        changed: MemberState = {**back, "feedback": feedback[:MOST_FEEDBACK]}
        desk = opened.desk(name)
        _keep_round(desk, result)
        desk.home.replace(desk.results_path, json_text.dump(result))
        if changed["rounds"] >= limit:
            text = f"The work of agent {name} was refused {changed['rounds']} times. The last findings:\n{feedback}"
            changed = ask(opened, changed, text, kind="rounds")
        return opened.save(name, changed)


def verifier_failed(home: Home, name: str, reason: str, *, limit: int = TRIES) -> Changed:
    """Counts a verifier turn without a result; after the last try a person is asked."""
    with home.lock():
        opened = Opened(home)
        member = opened.member(name)
        changed: MemberState = {**member, "verifier_tries": member.get("verifier_tries", 0) + 1}
        if changed["verifier_tries"] >= limit:
            text = f"Verifier {member['verifier']} gave no result on the work of agent {name}: {reason}"
            changed = ask(opened, changed, text, kind="verifier")
        return opened.save(name, changed)


def send_back(home: Home, name: str, feedback: str) -> Changed:
    """Sends a finished agent back to work, because its part of the plan or an output that it read changed."""
    with home.lock():
        opened = Opened(home)
        back = rules.moved(name, opened.member(name), "working", clock.now())
        return opened.save(name, {**back, "rounds": 0, "tries": 0, "feedback": feedback[:MOST_FEEDBACK]})


def reopen(home: Home, name: str, paths: Iterable[str]) -> Changed:
    """Sends a verified agent whose outputs were changed back to work; this counts as a failed round."""
    changed = ", ".join(paths)
    feedback = (
        f"After your work was verified, these outputs changed: {changed}. Make them right, and hand them in again."
    )
    with home.lock():
        opened = Opened(home)
        member = opened.member(name)
        back = rules.moved(name, member, "working", clock.now())
        return opened.save(
            name, {**back, "rounds": member["rounds"] + 1, "tries": 0, "feedback": feedback[:MOST_FEEDBACK]}
        )


def _keep_round(desk: MemberDesk, result: VerificationResults) -> None:
    """Writes the result of a round to its own file."""
    path = desk.round_path(result["round"])
    state.strike(desk.home, result)
    state.check(result, desk.home.relative(path), validate_results)
    desk.make_folder("verification_history")
    desk.home.replace(path, json_text.dump(result))


def _drop_results(desk: MemberDesk) -> None:
    try:
        desk.home.remove(desk.results_path)
    except FileNotFoundError:
        return


def complete_member(home: Home, name: str) -> Changed:
    """Ends an agent's session: archives its notes; the agent is not started again. Can be repeated."""
    with home.lock():
        opened = Opened(home)
        member = opened.member(name)
        if member["status"] != "session_complete":
            member = rules.complete(name, member, notes=opened.notes(name), now=clock.now())
            opened.save(name, member)
        _drop_results(opened.desk(name))
        archive_remarks = archival.archive(opened.desk(name), reason="session_complete")
        opened.folder.write_view(opened.loaded)
        return Changed(opened.desk(name), member, [*opened.remarks, *archive_remarks])


def archive_left_overs(home: Home) -> list[str]:
    """Archives, at the start of a run, sessions of ended or unstarted agents that a crash left."""
    with home.lock():
        opened = Opened(home)
        remarks = [*opened.remarks]
        unfinished.sweep(opened.folder.path)
        for name, member in opened.workflow["members"].items():
            desk = opened.desk(name)
            if member["status"] == "session_complete" or (
                member["status"] == "pending" and not _may_begin(desk, member)
            ):
                remarks += archival.archive(desk, reason="left_over")
        opened.folder.write_view(opened.loaded)
        return remarks


def _may_begin(desk: MemberDesk, member: MemberState) -> bool:
    """Returns whether the existing session is empty and belongs to this agent, which then continues it."""
    session = notes.load(desk)
    return session is not None and session["task_id"] == member["task_id"] and not session["notes"]


def set_progress(home: Home, status: str) -> None:
    """Sets the workflow's status; the session begins with the first start."""
    with home.lock():
        opened = Opened(home)
        workflow = opened.workflow
        if status == "completed":
            _may_complete(opened)
        begins = status == "in_progress" and "session_start" not in workflow
        if begins:
            workflow["session_start"] = clock.now()
        if begins or workflow["status"] != status:
            workflow["status"] = status
            opened.folder.save(opened.loaded)


def _may_complete(opened: Opened) -> None:
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
