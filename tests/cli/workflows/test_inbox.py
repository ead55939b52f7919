"""Questions and notes of a workflow's agents, through the real command."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from conftest import SOW, Repo
from support.workflow_store import ADA, StoredWorkflow, begun, result

from sow.domain.workflows.crew_plan import Member, WorkflowPlan
from sow.store.workflows import design_state, members, question_updates

AGENT = {"SOW_TASK": "database_agent", "SOW_AGENT": "implementer"}


@pytest.fixture
def flow(repo: Repo) -> StoredWorkflow:
    """A workflow beside a project, with its database agent in progress."""
    made = begun(repo)
    made.start()
    return made


@pytest.fixture
def alone(bare_repo: Repo) -> StoredWorkflow:
    """The same in a repository with .sow and without a project."""
    bare_repo.ok("init")
    made = begun(bare_repo)
    made.start()
    return made


def ask(flow: StoredWorkflow, text: str = "Should an address be unique?") -> None:
    flow.block()
    question_updates.ask_person(flow.home, "database_agent", text, kind="user")


def test_an_agent_notes_and_escalates_from_its_environment(repo: Repo, flow: StoredWorkflow):
    """SOW_TASK names the agent's folder, and the command says how to end the turn."""
    arguments = ("--description", "Is it unique?", "--context", "creating the table")
    assert repo.ok("note", "add", *arguments, "--category", "requirements", **AGENT).out == "note_001 is open\n"
    assert "sow workflow set status blocked" in repo.ok("note", "escalate", "1", "--reason", "not mine", **AGENT).out
    shown = repo.ok("note", "list", "--task", "database_agent", "--json").json
    assert (shown["task"], shown["unresolved"]) == ("database_agent", 1)
    assert flow.view()["agents"]["database_agent"]["unresolved_notes"] == 1
    refused = repo.sow("note", "resolve", "1", "--resolution", "yes", **AGENT)
    assert (refused.code, "set your status to blocked" in refused.err) == (2, True)


def test_an_agent_writes_in_no_other_folder(repo: Repo, flow: StoredWorkflow):
    """An agent cannot write for another agent or a task, nor a task's worker for an agent."""
    arguments = ("--description", "d", "--context", "c")
    repo.ok("task", "create", "--name", "Add login", "--agent", "implementer")
    for task, environment in (("api_agent", AGENT), ("010", AGENT), ("database_agent", {"SOW_TASK": "010"})):
        refused = repo.sow("note", "add", "--task", task, *arguments, **environment)
        assert (refused.code, "may not write notes of" in refused.err) == (2, True)
    assert flow.view()["agents"]["database_agent"]["completion_drive_notes_count"] == 0


def test_an_unknown_agent_has_no_notes(repo: Repo, flow: StoredWorkflow):
    """A name that is in no crew is refused with the existing names."""
    refused = repo.sow("note", "add", "--task", "nobody", "--description", "d", "--context", "c")
    assert (refused.code, "its agents are: database_agent, api_agent" in refused.err) == (2, True)


def test_a_changed_environment_names_no_other_agent(repo: Repo, flow: StoredWorkflow):
    """Below a sow that supervises one agent, another agent's name is refused."""
    call = (
        "import subprocess, sys; from sow.system.caller import supervisor_name, set_process_name\n"
        "set_process_name(supervisor_name('api_agent'))\n"
        "sys.exit(subprocess.run(sys.argv[1:]).returncode)"
    )
    python = SOW.rpartition("/")[0] + "/python"
    arguments = [SOW, "note", "add", "--description", "d", "--context", "c"]
    result = subprocess.run(
        [python, "-c", call, *arguments],
        cwd=repo.root,
        env={**repo.environment, **AGENT},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 2
    assert "may not write notes of agent database_agent" in result.stderr


@pytest.mark.parametrize("where", ["flow", "alone"])
def test_an_answer_waits_for_the_architect(where: str, request: pytest.FixtureRequest):
    """With and without a project: w1, what it blocks, the command; the answer does not go straight into the note."""
    flow: StoredWorkflow = request.getfixturevalue(where)
    repo: Repo = request.getfixturevalue("repo" if where == "flow" else "bare_repo")
    ask(flow)
    (item,) = repo.ok("inbox", "--json").json["items"]
    assert (item["number"], item["kind"], item["agent"], item["task"], item["blocks"], item["do"]) == (
        "w1", "question", "database_agent", None, 1, 'sow answer w1 "…"',
    )  # fmt: skip
    assert "w1. question agent database_agent, blocks 1 task: Should an address be unique?" in repo.ok("inbox").out
    assert "w1 of agent database_agent is answered" in repo.ok("answer", "w1", "Yes").out
    assert flow.member()["pending_answer"] == "Yes"
    assert json.loads(flow.notes().read_text())["notes"][0]["status"] == "escalated"
    assert repo.ok("inbox", "--json").json["items"] == []


def test_a_question_is_ranked_with_those_of_tasks(repo: Repo, flow: StoredWorkflow):
    """The most blocking item comes first, for tasks and agents together."""
    repo.ok("task", "create", "--name", "Add login", "--agent", "implementer")
    repo.ok("task", "set", "--id", "010", "status", "in_progress")
    repo.ok("task", "set", "--id", "010", "status", "paused", "--reason", "why?")
    ask(flow)
    assert [item["number"] for item in repo.ok("inbox", "--json").json["items"]] == ["w1", 1]
    shown = repo.ok("status").out
    assert "workflow user_management: pending, 0 of 2 agents verified" in shown
    assert "question w1 of agent database_agent: " in shown


@pytest.mark.parametrize("number", ["w2", "w", "w1x", "1"])
def test_an_answer_to_no_question_is_refused(repo: Repo, flow: StoredWorkflow, number: str):
    """The error names the open questions, and nothing changes."""
    ask(flow)
    refused = repo.sow("answer", number, "Yes")
    assert (refused.code, "the open questions are: w1" in refused.err) == (2, True)
    assert "pending_answer" not in flow.member()


def test_an_agent_may_not_answer(repo: Repo, flow: StoredWorkflow):
    """An agent cannot answer its own question, nor save an answer."""
    ask(flow)
    assert "a worker may not answer a question" in repo.sow("answer", "w1", "Yes", **AGENT).err
    assert repo.sow("answer", "w1", "Yes", "--always", **AGENT).code == 2
    assert "question" in flow.member()


def test_a_saved_answer_ignores_the_numbers_of_notes(repo: Repo, flow: StoredWorkflow):
    """--always stores the question's text, so that it matches under another number; the architect still checks it."""
    ask(flow, "note_001: Should an address be unique?")
    assert "saved the answer" in repo.ok("answer", "w1", "Yes", "--always").out
    (kept,) = repo.ok("answers", "--json").json["answers"]
    assert (kept["question"], kept["answer"]) == ("Should an address be unique?", "Yes")
    assert flow.member()["pending_answer"] == "Yes"


def test_answers_about_failures_are_not_saved(repo: Repo, flow: StoredWorkflow):
    """A failure, a loop or a budget is decided each time."""
    for _ in range(3):
        members.fail_try(flow.home, "database_agent", "it crashed")
    refused = repo.sow("answer", "w1", "Again", "--always")
    assert (refused.code, "remove --always" in refused.err) == (2, True)
    assert not repo.ok("answers", "--json").json["answers"]


def test_failures_and_approvals_are_in_the_inbox(repo: Repo, flow: StoredWorkflow):
    """A failed agent is answered or sent back; a design that passed its check waits for approval."""
    for _ in range(3):
        members.fail_try(flow.home, "database_agent", "it crashed")
    design_state.record_check(flow.home, digest="0" * 64, sections={}, passed=True, by="sow")
    kinds = {item["kind"]: item for item in repo.ok("inbox", "--json").json["items"]}
    assert kinds["failed"]["do"] == 'sow answer w1 "…"'
    assert kinds["approval"]["do"] == "sow workflow approve"
    repo.ok("answer", "w1", "Use less memory")
    assert flow.member()["status"] == "working"


def test_a_dropped_failed_agent_is_not_in_the_inbox(repo: Repo, flow: StoredWorkflow):
    """After an approval without it, it is in no inbox, and its question cannot be answered."""
    for _ in range(3):
        members.fail_try(flow.home, "database_agent", "it crashed")
    design: Any = {"digest": "0" * 64, "sections": {"api_agent": "1" * 64}}
    design_state.record_check(flow.home, **design, passed=True, by="sow")
    assert {item["kind"] for item in repo.ok("inbox", "--json").json["items"]} == {"failed", "approval"}
    design_state.approve(flow.home, **design, actor=ADA, how="test")
    assert repo.ok("inbox", "--json").json["items"] == []
    assert "question w1 of agent database_agent cannot be answered any more" in repo.sow("answer", "w1", "Again").err
    plan = WorkflowPlan()
    plan.digest = design["digest"]
    plan.members.append(Member("api_agent", task_id="user_endpoints_1727539284", verifier="api_verifier"))
    design_state.apply_plan(flow.home, plan, [])
    assert "question" not in flow.member() and flow.member()["status"] == "failed"
    assert repo.ok("inbox", "--json").json["items"] == []


def test_status_without_a_project_mentions_the_workflow(bare_repo: Repo, alone: StoredWorkflow):
    """One line for people, a few facts in the document, and the next step."""
    assert "workflow user_management: pending" in bare_repo.ok("status").out
    document = bare_repo.ok("status", "--json").json
    facts = {"name": "user_management", "status": "pending", "agents": 2, "done": 0}
    assert document["workflow"] == {**facts, "next": "sow workflow design"}
    assert document["next"]["command"] == "sow workflow design"


def test_doctor_looks_at_every_file(repo: Repo, flow: StoredWorkflow):
    """A broken file of one agent is a problem with its path; missing instructions and an old view are warnings."""
    healthy = {finding["what"]: finding["state"] for finding in repo.sow("doctor", "--json").json["findings"]}
    assert healthy["workflow user_management is pending, with 2 agents"] == "ok"
    flow.hand_in()
    members.record_verification(flow.home, "database_agent", result("failed"), feedback="no")
    (flow.member_folder() / "verification_results.json").write_text("{}")
    findings = repo.sow("doctor", "--json").json["findings"]
    problems = [
        finding["what"] for finding in findings if finding["state"] == "problem" and "orchestration" in finding["what"]
    ]
    assert problems == ["orchestration/agents/database_agent/verification_results.json:1: result: is missing"]
    assert any("agent_instructions.md is missing" in finding["what"] for finding in findings)
    (flow.root / "orchestration/state.yaml").write_text("x")
    assert any(
        "orchestration/state.yaml" in finding["what"] for finding in repo.sow("doctor", "--json").json["findings"]
    )


def test_saving_a_project_saves_the_workflow(repo: Repo, flow: StoredWorkflow):
    """The workflow's files are in the same commit, and no other file of the user."""
    (repo.root / "mine.txt").write_text("mine")
    repo.ok("project", "save")
    files = repo.git("show", "--name-only", "--format=", "HEAD").split()
    assert "orchestration/state.yaml" in files
    assert "mine.txt" not in files


def test_a_users_folder_of_that_name_is_left_alone(repo: Repo):
    """Without a workflow in it, orchestration/ belongs to the user."""
    (repo.root / "orchestration").mkdir()
    (repo.root / "orchestration/mine.txt").write_text("mine")
    repo.ok("project", "save")
    assert "orchestration/mine.txt" in repo.git("status", "--porcelain", "--untracked-files=all")
    assert not any("orchestration" in finding["what"] for finding in repo.sow("doctor", "--json").json["findings"])


def test_cleanup_keeps_the_workflow(repo: Repo, flow: StoredWorkflow):
    """The project is removed, the workflow stays, and the command that archives it is named."""
    assert "sow workflow archive" in repo.ok("cleanup", "--yes").out
    assert flow.folder.exists()


def test_an_agent_logs_in_its_own_folder(bare_repo: Repo, alone: StoredWorkflow):
    """sow log and sow agent log know the agents of a workflow, with or without a project."""
    assert (
        bare_repo.ok("log", "made the table", **AGENT).out == "logged to orchestration/agents/database_agent/log.md\n"
    )
    bare_repo.ok("agent", "log", "--action", "tried", "an index", **AGENT)
    entries = bare_repo.ok("log", "--list", "--json", "--task", "database_agent").json["entries"]
    assert [(entry["agent"], entry["text"]) for entry in entries] == [
        ("implementer-1", "made the table"),
        ("implementer-1", "an index"),
    ]
    refused = bare_repo.sow("log", "--task", "api_agent", "hello", **AGENT)
    assert (refused.code, "may not write the log of agent api_agent" in refused.err) == (2, True)
    refused = bare_repo.sow("log", "--task", "nobody", "hello")
    assert (refused.code, "its agents are: database_agent, api_agent" in refused.err) == (2, True)


def test_a_workflow_is_saved_without_a_project(bare_repo: Repo, alone: StoredWorkflow):
    """sow project save commits orchestration/ and no file of the user, also if there is only a workflow."""
    (bare_repo.root / "mine.txt").write_text("mine\n")
    assert bare_repo.ok("project", "save").out.startswith("saved as ")
    assert bare_repo.git("log", "-1", "--format=%s").strip() == "sow: save workflow user_management"
    saved = bare_repo.git("ls-files")
    assert "orchestration/state.yaml" in saved and "mine.txt" not in saved
    assert bare_repo.ok("project", "save").out == "nothing to save: the workflow is already committed\n"
