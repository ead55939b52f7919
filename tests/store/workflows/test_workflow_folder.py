"""A workflow on disk: one state, a view that follows it, conditions for moves, and hand edits that break nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import Repo
from support.workflow_store import ADA, CREW, StoredWorkflow, begun, itself, result

from sow.domain.task import ORCHESTRATOR, Actor
from sow.domain.workflows.escalation import EscalationDecision
from sow.errors import SowError
from sow.store import note_updates
from sow.store.file_kinds import validate_file
from sow.store.projects import notes
from sow.store.workflows import design_state, members, question_updates


@pytest.fixture
def flow(repo: Repo) -> StoredWorkflow:
    """A workflow with a database agent, and an API agent that depends on it."""
    return begun(repo)


def resolve(flow: StoredWorkflow, note: str, words: str = "Yes", by: str = "user") -> None:
    question_updates.resolve_notes(flow.home, "database_agent", {note: (words, by)})


def edit_view(flow: StoredWorkflow, **statuses: str) -> None:
    shown = flow.view()
    for name, status in statuses.items():
        shown["agents"][name]["status"] = status
    (flow.root / "orchestration/shared_status.json").write_text(json.dumps(shown))


def test_a_new_workflow_has_the_documented_layout(flow: StoredWorkflow):
    """The folder, the agent folders and the fields of the view are those of the protocol, in order."""
    shown = flow.view()
    assert list(shown) == ["task_id", "status", "agents", "verification", "overall_completion_drive_gate"]
    assert list(shown["agents"]["api_agent"]) == [
        "status", "completion_drive_notes_count", "dependencies", "last_update",
    ]  # fmt: skip
    assert shown["agents"]["database_agent"]["last_update"] is None
    assert shown["verification"]["api_verifier"] == {"status": "pending", "assigned_agents": ["api_agent"]}
    assert shown["overall_completion_drive_gate"] == "clear"
    assert (flow.member_folder() / "task_output").is_dir()
    assert (flow.root / "orchestration/conversation_summary_user_management.md").is_file()


def test_one_workflow_at_a_time(flow: StoredWorkflow):
    """A second one is refused with the commands for the first."""
    with pytest.raises(SowError, match="there is a workflow already: user_management"):
        design_state.create(flow.home, "other", "")


@pytest.mark.parametrize("name", ["", "Users", "../x", "a b", "1a", "x" * 64])
def test_a_workflow_name_is_fit_for_a_folder(repo: Repo, name: str):
    """Any other name is refused, and nothing is made."""
    with pytest.raises(SowError, match="is not the name of a workflow"):
        design_state.create(StoredWorkflow(repo.root).home, name, "")
    assert not (repo.root / "orchestration").exists()


def test_no_agent_starts_before_its_dependencies_are_verified(flow: StoredWorkflow):
    """The store refuses every caller."""
    with pytest.raises(SowError, match=r"api_agent waits for database_agent \(pending\)"):
        flow.start("api_agent")
    flow.start()
    flow.hand_in()
    with pytest.raises(SowError, match="waits for"):
        flow.start("api_agent")
    members.record_verification(flow.home, "database_agent", result("passed"))
    flow.start("api_agent")
    assert flow.member("api_agent")["status"] == "working"


def test_an_agent_begins_with_a_session_of_notes(flow: StoredWorkflow):
    """It has the plan's task id and the time of the start, and follows its schema."""
    flow.start()
    session = json.loads(flow.notes().read_text())
    assert session == {
        "task_id": CREW["database_agent"][0],
        "session_start": flow.member()["session_start"],
        "notes": [],
    }
    assert flow.member()["session_id"] == "s-1"
    flow.note()
    flow.start()
    assert len(json.loads(flow.notes().read_text())["notes"]) == 1


@pytest.mark.parametrize("escalated", [False, True])
def test_unresolved_notes_block_the_hand_in(flow: StoredWorkflow, escalated: bool):
    """With an open or an escalated note no agent is ready for verification, and the view says blocked."""
    flow.start()
    flow.note()
    if escalated:
        note_updates.escalate(flow.home, "database_agent", "1", reason="not mine", actor=itself("database_agent"))
    flow.set("completion_drive_review")
    with pytest.raises(SowError, match="open notes: note_001"):
        flow.set("ready_for_verification")
    shown = flow.view()
    assert shown["overall_completion_drive_gate"] == "blocked"
    assert shown["agents"]["database_agent"]["unresolved_notes"] == 1
    with pytest.raises(SowError, match="open notes"):
        members.infer_status(flow.home, "database_agent", "ready_for_verification")


def test_an_agent_is_blocked_only_with_a_question(flow: StoredWorkflow):
    """Blocked needs an escalated note; then the question is in the history."""
    flow.start()
    flow.note()
    with pytest.raises(SowError, match="no escalated note"):
        flow.set("blocked")
    note_updates.escalate(flow.home, "database_agent", "1", reason="not mine", actor=itself("database_agent"))
    flow.set("blocked")
    (entry,) = flow.folder.workflow()["escalations"]
    assert (entry["member"], entry["note_id"], entry["description"]) == ("database_agent", "note_001", "Is it unique?")


@pytest.mark.parametrize("status", ["verified", "session_complete", "failed", "pending", "nonsense"])
def test_an_agent_never_verifies_ends_or_fails_itself(flow: StoredWorkflow, status: str):
    """Such a status is refused from every folder of an agent, and changes nothing."""
    flow.start()
    for before in ("working", "completion_drive_review", "ready_for_verification"):
        if before != "working":
            flow.set(before)
        with pytest.raises(SowError):
            flow.set(status)
        assert flow.member()["status"] == before


def test_only_the_agent_itself_moves(flow: StoredWorkflow):
    """An agent moves only itself, and neither the orchestrator nor a person moves it."""
    flow.start()
    for actor in (itself("api_agent"), Actor(kind=ORCHESTRATOR, name="orchestrator"), ADA):
        with pytest.raises(SowError):
            members.set_status(flow.home, "database_agent", "completion_drive_review", actor=actor)
    assert flow.member()["status"] == "working"


def test_three_bad_turns_are_a_failure_and_a_question(flow: StoredWorkflow):
    """Failed turns count in a row; after the third the agent has failed and asks, and the answer sends it back."""
    flow.start()
    for _ in range(2):
        members.fail_try(flow.home, "database_agent", "it crashed")
    assert (flow.member()["status"], flow.member()["tries"]) == ("working", 2)
    members.record_turn_end(flow.home, "database_agent")
    assert flow.member()["tries"] == 0
    for _ in range(3):
        members.fail_try(flow.home, "database_agent", "it crashed")
    question = flow.member()["question"]
    assert (flow.member()["status"], question["number"], question["kind"]) == ("failed", 1, "failed")
    question_updates.answer(flow.home, 1, "Use less memory", actor=ADA)
    assert (flow.member()["status"], flow.member()["tries"], flow.member()["feedback"]) == (
        "working", 0, "Use less memory",
    )  # fmt: skip
    assert "question" not in flow.member()
    assert flow.folder.workflow()["answers"][0]["answer"] == "Use less memory"


def test_refused_work_goes_back_with_its_findings(flow: StoredWorkflow):
    """All verifications are kept, the current findings are in the folder, and the next turn gets the feedback."""
    flow.start()
    flow.hand_in()
    members.record_verification(flow.home, "database_agent", result("failed"), feedback="run the tests")
    member = flow.member()
    assert (member["status"], member["rounds"], member["iteration"], member["feedback"]) == (
        "working", 1, 2, "run the tests",
    )  # fmt: skip
    assert json.loads((flow.member_folder() / "verification_results.json").read_text())["missing_evidence"]
    assert flow.view()["verification"]["database_verifier"]["status"] == "failed"
    flow.hand_in()
    members.record_verification(flow.home, "database_agent", result("passed", 2))
    assert not (flow.member_folder() / "verification_results.json").exists()
    assert sorted(os.listdir(flow.member_folder() / "verification_history")) == ["round_001.json", "round_002.json"]
    assert flow.view()["verification"]["database_verifier"]["status"] == "verified"
    assert "feedback" not in flow.member()


def test_five_refusals_are_a_question(flow: StoredWorkflow):
    """The fifth asks a person and blocks the agent (C17); the answer is the feedback, and the count starts again."""
    flow.start()
    for number in range(1, 6):
        flow.hand_in()
        members.record_verification(flow.home, "database_agent", result("failed", number), feedback="no")
        assert ("question" in flow.member()) is (number == 5)
    assert flow.member()["question"]["kind"] == "rounds"
    assert flow.view()["agents"]["database_agent"]["status"] == "blocked"
    question_updates.answer(flow.home, 1, "Leave the index out", actor=ADA)
    assert flow.view()["agents"]["database_agent"]["status"] == "working"
    assert (flow.member()["rounds"], flow.member()["feedback"]) == (0, "Leave the index out")


def test_a_verifier_without_a_result_verifies_nothing(flow: StoredWorkflow):
    """After three such turns a person is asked, and the agent is still ready."""
    flow.start()
    flow.hand_in()
    for _ in range(3):
        members.record_verifier_failure(flow.home, "database_agent", "it said nothing")
    assert flow.member()["question"]["kind"] == "verifier"
    view = flow.view()
    assert (view["agents"]["database_agent"]["status"], view["verification"]["database_verifier"]["status"]) == (
        "blocked",
        "pending",
    )
    question_updates.answer(flow.home, 1, "Try again", actor=ADA)
    assert flow.member()["status"] == "ready_for_verification"
    assert "verifier_tries" not in flow.member()


def test_no_agent_verifies_its_own_work(flow: StoredWorkflow):
    """A result that names the agent itself as its verifier is refused."""
    flow.start()
    flow.hand_in()
    with pytest.raises(SowError, match="cannot verify itself"):
        members.record_verification(flow.home, "database_agent", result("passed", verifier="database_agent"))


def test_an_answer_goes_through_the_architect(flow: StoredWorkflow):
    """A person's answer waits for the architect, and is in the note only after that."""
    flow.start()
    note = flow.block()
    question_updates.record_routes(flow.home, "database_agent", [EscalationDecision(note, "user", question="Unique?")])
    question_updates.ask_person(flow.home, "database_agent", "Unique?", kind="user")
    question_updates.answer(flow.home, 1, "Yes, always", actor=ADA)
    assert flow.member()["pending_answer"] == "Yes, always"
    assert notes.load_notes(flow.folder.agent_folder("database_agent"))[0]["status"] == "escalated"
    resolve(flow, note, "Yes, also for guests")
    (now,) = notes.load_notes(flow.folder.agent_folder("database_agent"))
    assert (now["resolution"], now["resolved_by"]) == ("Yes, also for guests", "user")
    assert (flow.member()["status"], flow.member()["iteration"]) == ("working", 2)
    assert "pending_answer" not in flow.member()
    entry = flow.folder.workflow()["escalations"][0]
    assert (entry["route"], entry["question"], entry["resolution"]) == ("user", "Unique?", "Yes, also for guests")


def test_a_person_does_not_resolve_an_escalated_note(flow: StoredWorkflow):
    """`sow note resolve` of a person is for open notes; escalated ones go through the architect."""
    flow.start()
    flow.note("a detail")
    note_updates.resolve(flow.home, "database_agent", "1", resolution="fine", actor=ADA)
    flow.block()
    with pytest.raises(SowError, match="through the workflow architect"):
        note_updates.resolve(flow.home, "database_agent", "2", resolution="yes", actor=ADA)


@pytest.mark.parametrize("category", ["technology", "architecture", "security", "requirements", "conflict"])
def test_notes_beyond_an_agent_must_be_escalated(flow: StoredWorkflow, category: str):
    """An agent can resolve a detail only."""
    flow.start()
    flow.note(category=category)
    flow.note(category="detail")
    with pytest.raises(SowError, match="its own agent may not resolve it"):
        note_updates.resolve(flow.home, "database_agent", "1", resolution="ok", actor=itself("database_agent"))
    done = note_updates.resolve(flow.home, "database_agent", "2", resolution="ok", actor=itself("database_agent"))
    assert done["resolved_by"] == "agent_self"


def test_handed_in_work_takes_no_notes(flow: StoredWorkflow):
    """Before the start and after the hand-in notes are refused."""
    with pytest.raises(SowError, match="is pending"):
        flow.note()
    flow.start()
    flow.hand_in()
    with pytest.raises(SowError, match="is ready_for_verification"):
        flow.note()


def test_outputs_get_a_version_when_they_change(flow: StoredWorkflow):
    """A dependent reads from the view which inputs are newer than those it read."""
    flow.start()
    members.record_outputs(flow.home, "database_agent", {"task_output/a.sql": "0" * 64})
    members.record_outputs(flow.home, "database_agent", {"task_output/a.sql": "0" * 64})
    members.record_outputs(flow.home, "database_agent", {"task_output/a.sql": "1" * 64})
    (output,) = flow.view()["agents"]["database_agent"]["outputs"]
    assert (output["version"], output["digest"]) == (2, "1" * 64)


def test_a_workflow_ends_only_when_all_of_it_is_done(flow: StoredWorkflow):
    """It ends neither with an agent that is not complete, nor with an unresolved note."""
    flow.start()
    with pytest.raises(SowError, match="not done: database_agent, api_agent"):
        members.set_workflow_status(flow.home, "completed")
    for name in CREW:
        flow.start(name) if name != "database_agent" else None
        flow.hand_in(name)
        members.record_verification(flow.home, name, result("passed", verifier="someone"))
        members.complete_member(flow.home, name)
    members.set_workflow_status(flow.home, "completed")
    assert flow.view()["status"] == "completed"


def test_a_new_plan_keeps_work_in_progress(flow: StoredWorkflow):
    """A new agent is pending, one in progress keeps its state with the new fields, a pending one may be removed."""
    from sow.domain.workflows.crew_plan import Member, WorkflowPlan

    flow.start()
    plan = WorkflowPlan()
    plan.digest = "1" * 64
    plan.members = [
        Member("database_agent", task_id="other_1727539999", verifier="new_verifier"),
        Member("frontend_agent", task_id="pages_1727539300", verifier="v", dependencies=["database_agent"]),
    ]
    design_state.apply_plan(flow.home, plan, ["frontend_agent"])
    members = flow.folder.workflow()["members"]
    assert list(members) == ["database_agent", "frontend_agent"]
    assert members["database_agent"]["status"] == "working"
    assert members["database_agent"]["task_id"] == CREW["database_agent"][0]
    assert members["database_agent"]["verifier"] == "new_verifier"
    assert members["frontend_agent"]["agent"] == "frontend_agent"


def test_only_the_checked_design_can_be_approved(flow: StoredWorkflow):
    """A design that was not checked, did not pass, or has changed since cannot be approved."""
    facts = {"sections": {"database_agent": "1" * 64}}
    for digest, passed in (("", False), ("0" * 64, False), ("1" * 64, True)):
        if digest:
            design_state.record_check(flow.home, digest=digest, passed=passed, by="sow", **facts)
        with pytest.raises(SowError, match="was not checked"):
            design_state.approve(flow.home, digest="0" * 64, actor=ADA, how="x", **facts)
    design_state.record_check(flow.home, digest="0" * 64, passed=True, by="sow", **facts)
    design_state.approve(flow.home, digest="0" * 64, actor=ADA, how="sow workflow approve", **facts)
    assert flow.folder.workflow()["approval"]["by"] == "ada"


@pytest.mark.parametrize("damage", ["gone", "", "{", '{"a": 1}', "\xff", "[[[["])
def test_a_missing_or_torn_view_is_written_again(flow: StoredWorkflow, damage: str):
    """The state counts: with any damage of the view, the next act writes it again and says so."""
    flow.start()
    good = flow.view()
    path = flow.root / "orchestration/shared_status.json"
    path.unlink() if damage == "gone" else path.write_bytes(damage.encode("latin-1"))
    output = members.recover(flow.home)
    assert flow.view() == good
    assert "shared_status.json was" in output[0]
    kept = list(flow.root.rglob("set_aside/*_shared_status.json"))
    assert [path.read_bytes() for path in kept] == ([] if damage == "gone" else [damage.encode("latin-1")])
    assert members.recover(flow.home) == []


@pytest.mark.parametrize("status", ["verified", "session_complete", "failed", "pending", "ready_for_verification"])
def test_a_forbidden_edit_of_the_view_is_set_aside(flow: StoredWorkflow, status: str):
    """A status that the agent may not set, or that its notes forbid, does not count; the edit is kept."""
    flow.start()
    flow.note()
    edit_view(flow, database_agent=status)
    with flow.turn():
        output = members.recover(flow.home)
    assert flow.member()["status"] == "working"
    assert flow.view()["agents"]["database_agent"]["status"] == "working"
    assert any("was not taken from it" in text for text in output)
    assert len(list((flow.member_folder() / "set_aside").iterdir())) == 1


def test_a_legal_edit_of_the_view_counts(flow: StoredWorkflow):
    """An agent without sow may write its status into the view, up to its hand-in."""
    flow.start()
    edit_view(flow, database_agent="ready_for_verification")
    assert any("no turn of this agent is in progress" in text for text in members.recover(flow.home))
    assert flow.member()["status"] == "working"
    edit_view(flow, database_agent="ready_for_verification")
    with flow.turn():
        members.recover(flow.home)
    assert flow.member()["status"] == "ready_for_verification"


@pytest.mark.parametrize("more", [0, 900], ids=["as old as the last one", "newer than the last one"])
def test_a_forged_state_does_not_survive_the_next_call(flow: StoredWorkflow, more: int):
    """With any revision, a state without a copy during a turn is not kept by a call of sow."""
    flow.start()
    path = flow.home.root + "/orchestration/state.yaml"
    text = Path(path).read_text()
    revision = int(text.partition("\nrevision: ")[2].partition("\n")[0])
    forged = text.replace("status: working", "status: verified")
    forged = forged.replace(f"\nrevision: {revision}\n", f"\nrevision: {revision + more}\n")
    Path(path).write_text(forged)
    with flow.turn():
        (output,) = members.recover(flow.home)
    remark, _, edited = output.rpartition(", the edited file is ")
    assert remark == "orchestration/state.yaml was edited by hand; the last good state is back"
    assert Path(flow.home.root, edited).read_text() == forged
    assert (flow.member()["status"], Path(path).read_text()) == ("working", text)


def test_the_edit_of_one_agent_moves_no_other(flow: StoredWorkflow):
    """Entries of other agents in the same edit do not count, though the agent's own does."""
    flow.start()
    edit_view(flow, database_agent="completion_drive_review", api_agent="working")
    members.recover(flow.home, ending="database_agent")
    assert flow.member()["status"] == "completion_drive_review"
    assert flow.member("api_agent")["status"] == "pending"


BROKEN = {
    "torn": '{"task_id": "create_',
    "no JSON": "hello",
    "a list": "[]",
    "empty": "",
    "another task": '{"task_id": "other_1727539200", "session_start": 1, "notes": []}',
    "the note is gone": '{"task_id": "create_user_table_1727539200", "session_start": 1, "notes": []}',
    "unknown field": '{"task_id": "create_user_table_1727539200", "session_start": 1, "notes": [], "x": 1}',
}


@pytest.mark.parametrize("way", BROKEN)
def test_broken_notes_affect_one_agent_only(flow: StoredWorkflow, way: str):
    """They are set aside, the last good ones are restored, and other agents continue."""
    flow.start()
    flow.note()
    good = flow.notes().read_text()
    flow.notes().write_text(BROKEN[way])
    assert flow.folder.notes(flow.folder.load())["api_agent"] == []
    output = members.recover(flow.home)
    assert flow.notes().read_text() == good
    assert "the last good notes are back" in output[0]
    (aside,) = (flow.member_folder() / "set_aside").iterdir()
    assert aside.read_text() == BROKEN[way]
    assert flow.view()["agents"]["database_agent"]["unresolved_notes"] == 1


def test_an_agent_cannot_answer_its_own_question_by_hand(flow: StoredWorkflow):
    """A note that was escalated and says resolved in the file is escalated again, and still blocks."""
    flow.start()
    flow.note()
    note_updates.escalate(flow.home, "database_agent", "1", reason="not mine", actor=itself("database_agent"))
    session = json.loads(flow.notes().read_text())
    session["notes"][0] |= {"status": "resolved", "resolution": "x", "resolved_by": "user", "resolution_timestamp": 1}
    flow.notes().write_text(json.dumps(session))
    flow.set("completion_drive_review")
    with pytest.raises(SowError, match="open notes"):
        flow.set("ready_for_verification")


def test_a_note_written_by_hand_counts(flow: StoredWorkflow):
    """The file is in the agent's own folder: a legal note in it counts like one through sow."""
    flow.start()
    session = json.loads(flow.notes().read_text())
    new = {"note_id": "note_001", "timestamp": 1, "description": "d", "context": "c", "status": "open"}
    session["notes"].append(new)
    flow.notes().write_text(json.dumps(session))
    assert any("its notes count" in text for text in members.recover(flow.home))
    assert flow.view()["agents"]["database_agent"]["unresolved_notes"] == 1


@pytest.mark.parametrize("way", ["edited", "torn", "gone", "older"])
def test_the_state_is_restored_from_its_copy(flow: StoredWorkflow, way: str):
    """A state that was changed, broken or removed by hand or git is restored at the next act."""
    flow.start()
    path = flow.root / "orchestration/state.yaml"
    older = path.read_text()
    flow.note()
    flow.set("completion_drive_review")
    good = path.read_text()
    if way == "gone":
        path.unlink()
    else:
        path.write_text(
            {"edited": good.replace("completion_drive_review", "verified"), "torn": good[:90]}.get(way, older)
        )
    output = members.recover(flow.home)
    assert path.read_text() == good
    assert output


def test_no_link_is_written_through(flow: StoredWorkflow, tmp_path):
    """A folder that is a link is refused, and nothing is written behind it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (flow.member_folder() / "completion_drive").rmdir()
    (flow.member_folder() / "completion_drive").symlink_to(outside)
    with pytest.raises(SowError, match="symbolic link"):
        flow.start()
    assert list(outside.iterdir()) == []


def test_every_file_of_a_workflow_is_known_by_its_name(flow: StoredWorkflow):
    """`sow validate` names the kind of each file of the store, and each follows its schema."""
    flow.start()
    flow.hand_in()
    members.record_verification(flow.home, "database_agent", result("failed"), feedback="no")
    flow.hand_in()
    members.record_verification(flow.home, "database_agent", result("passed", 2))
    members.complete_member(flow.home, "database_agent")
    files = [path for path in (flow.root / "orchestration").rglob("*") if path.suffix in (".json", ".yaml")]
    kinds = {validate_file(str(path), path.name, "") for path in files}
    assert kinds == {"workflow", "shared-status", "notes", "verification-results", "archive-index", "cleanup-log"}


SEED_STATUS = """{"task_id": "implement_user_management", "status": "in_progress",
 "session_start": "2025-09-28T14:30:00Z",
 "agents": {
  "database_agent": {"status": "completion_drive_review", "completion_drive_notes_count": 3, "unresolved_notes": 1,
                     "last_update": "2025-09-28T10:45:00Z"},
  "api_agent": {"status": "working", "completion_drive_notes_count": 0, "last_update": "2025-09-28T10:30:00Z"},
  "frontend_agent": {"status": "pending", "completion_drive_notes_count": 0,
                     "dependencies": ["database_agent", "api_agent"], "last_update": null}},
 "verification": {"database_verifier": {"status": "pending", "assigned_agents": ["database_agent"]}},
 "overall_completion_drive_gate": "blocked"}"""
SEED_NOTES = """{"task_id": "create_user_table_1727539200", "session_start": 1727539800, "notes": [
 {"note_id": "note_001", "timestamp": 1727540700, "description": "Assuming email field should be unique",
  "context": "Creating users table without explicit uniqueness requirements", "status": "resolved",
  "resolution": "Confirmed with user - email uniqueness required", "resolved_by": "workflow_executor",
  "resolution_timestamp": 1727541600, "escalation_reason": null}]}"""


@pytest.mark.parametrize(("name", "text"), [("shared_status.json", SEED_STATUS), ("session_current.json", SEED_NOTES)])
def test_the_documents_of_the_protocol_are_valid(bare_repo: Repo, name: str, text: str):
    """The documented examples are valid by the name of their file alone."""
    (bare_repo.root / name).write_text(text)
    assert "valid" in bare_repo.ok("validate", name).out


REQUIRED = [
    ("session_current.json", SEED_NOTES, "", ("task_id", "session_start", "notes")),
    (
        "session_current.json", SEED_NOTES, "notes.0",
        ("note_id", "timestamp", "description", "context", "status", "resolution", "resolved_by",
         "resolution_timestamp"),
    ),
    (
        "shared_status.json", SEED_STATUS, "",
        ("task_id", "status", "agents", "verification", "overall_completion_drive_gate"),
    ),
    (
        "shared_status.json", SEED_STATUS, "agents.database_agent",
        ("status", "completion_drive_notes_count", "last_update"),
    ),
    ("shared_status.json", SEED_STATUS, "verification.database_verifier", ("status", "assigned_agents")),
]  # fmt: skip
CASES = [(name, text, path, field) for name, text, path, fields in REQUIRED for field in fields]


@pytest.mark.parametrize(("name", "text", "path", "field"), CASES, ids=[f"{c[2]}.{c[3]}".strip(".") for c in CASES])
def test_a_document_without_a_required_field_is_refused(tmp_path: Path, name: str, text: str, path: str, field: str):
    """Each required field of the protocol is missed by name, and one of another type is refused, too."""
    for change in ("without", "of another type"):
        document = json.loads(text)
        place = document
        for step in filter(None, path.split(".")):
            place = place[int(step)] if isinstance(place, list) else place[step]
        if change == "without":
            del place[field]
        else:
            place[field] = [["x"]]
        file = tmp_path / name
        file.write_text(json.dumps(document))
        with pytest.raises(SowError, match=field):
            validate_file(str(file), name, "")
