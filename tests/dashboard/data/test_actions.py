"""The acts of a person on the page: each runs the command, with its rules, messages and errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Repo
from support.dashboard_data import facts_of, fresh
from support.plan_repo import PlanRepo
from support.quick_cases import few_of
from support.simulated_workers import wait_for
from support.workflow_repo import WorkflowRepo

from sow.dashboard.data.actions import ACTS
from sow.dashboard.data.dashboard_data import DashboardData
from sow.store.files.checkout_home import find

HOSTILE = ("--help", "-h", "010 020", "../010", "@/etc/passwd", "010\n", "", "\x00", 7.5, None, ["010"], {"a": 1}, True)
NEXT = "no worker is on it; start one: sow agent spawn implementer 010"


def test_a_question_is_answered(task_repo: Repo):
    """The answer reaches the task unchanged, also if it looks like a file or an option."""
    facts = facts_of(task_repo)
    task_repo.ok("task", "set", "--id", "010", "status", "paused", "--reason", "Which file?")
    for text in ("@/etc/passwd", "--always", "-", "ä\n€"):
        number = fresh(facts)["inbox"][0]["number"]
        assert facts.act("answer", {"question": number, "text": text}) == (
            200, {"ok": True, "text": f"task 010: status is in_progress\n{NEXT}"},
        )  # fmt: skip
        assert task_repo.task("010")["questions"][-1]["answer"] == text
        assert facts.state()["inbox"] == []
        task_repo.ok("task", "set", "--id", "010", "status", "paused", "--reason", "Which file?")


def test_the_question_of_a_planner_is_answered(bare_repo: Repo, tmp_path: Path):
    """The question is in the inbox without a project, and the page says how to continue."""
    scenario = tmp_path / "planner.yaml"
    scenario.write_text("tasks: {default: [[{say: 'QUESTION {nonce}: Which colour?'}]]}\n")
    arguments = ("plan", "new", "Add a crane", "--executor", "simulated")
    assert bare_repo.sow(*arguments, SOW_SIMULATED_SCENARIO=str(scenario)).code == 4
    facts = facts_of(bare_repo)
    state = fresh(facts)
    assert [(item["number"], item["text"]) for item in state["inbox"]] == [("p1", "Which colour?")]
    assert state["next"] == {"text": "answer the planner: Which colour?", "command": 'sow answer p1 "…"'}
    status, answer = facts.act("answer", {"question": "p1", "text": "Blue"})
    assert (status, "continue with: sow plan new 'Add a crane'" in answer["text"]) == (200, True)
    assert fresh(facts)["inbox"] == []


def test_work_is_sent_back_and_approved(task_repo: Repo):
    """Sending back stores the text as feedback and begins an iteration; approval completes."""
    facts = facts_of(task_repo)
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    assert facts.act("send-back", {"task": "010", "text": "Not yet"})[0] == 200
    task = task_repo.task("010")
    assert (task["status"], task["iteration"], task["feedback"][0]["text"]) == ("in_progress", 2, "Not yet")
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    assert facts.act("approve", {"task": "010"})[0] == 200
    assert task_repo.task("010")["approval"]["by"] == "ada"
    assert facts.act("send-back", {"task": "010", "text": "Too late"})[0] == 409
    assert len(task_repo.task("010")["feedback"]) == 1


def test_an_act_on_an_agents_page_is_a_persons(task_repo: Repo):
    """An act on the page of a server in an agent's session is recorded under the person's name (B2)."""
    task_repo.environment["CLAUDECODE"] = "1"
    facts = facts_of(task_repo)
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    assert facts.act("approve", {"task": "010"})[0] == 200
    assert task_repo.task("010")["approval"]["by"] == "ada"


def test_a_task_is_retried_and_abandoned(task_repo: Repo):
    """A failed task continues, and a task is abandoned with its reason."""
    facts = facts_of(task_repo)
    task_repo.ok("task", "set", "--id", "010", "status", "failed")
    assert facts.act("retry", {"task": "010"})[0] == 200
    assert facts.act("abandon", {"task": "010", "reason": "--yes, we do not need it"})[0] == 200
    assert task_repo.task("010")["abandoned_reason"] == "--yes, we do not need it"


def test_a_refusal_has_its_hint(task_repo: Repo):
    """The command's error and hint are returned, and nothing changes."""
    facts = facts_of(task_repo)
    before = task_repo.snapshot()
    status, output = facts.act("approve", {"task": "010"})
    assert (status, set(output)) == (422, {"error", "hint"})
    shown = task_repo.sow("approve", "010")
    assert f"error: {output['error']}" in shown.err
    assert f"hint: {output['hint']}" in shown.err
    assert task_repo.snapshot() == before


@few_of("name", ACTS, 6)
@few_of("value", HOSTILE, 6, ids=repr)
def test_a_hostile_value_is_refused(task_repo: Repo, name: str, value: object):
    """Any value for a task, a run or a question is one value of the command, and never an option."""
    if name == "approve-workflow":
        value = None
    before = task_repo.snapshot()
    facts = facts_of(task_repo)
    status, output = facts.act(name, {"task": value, "run": value, "question": value, "text": "x", "reason": "x"})
    assert status in (404, 409, 422), output
    assert output["error"]
    assert task_repo.snapshot() == before


@pytest.mark.parametrize("text", ["\ud800", "x" * 100_001, "a\0b", " "], ids=["half", "long", "zero", "blank"])
def test_an_invalid_text_is_refused(task_repo: Repo, text: str):
    """Half a character, a NUL, an empty or a too long text is an error of the request, not of the server."""
    before = task_repo.snapshot()
    facts = facts_of(task_repo)
    for name in ("answer", "abandon"):
        status, output = facts.act(name, {"task": "010", "question": "1", "text": text, "reason": text})
        assert (status, "must be a text of 1 to" in output["error"]) == (422, True)
    assert task_repo.snapshot() == before


def test_a_reason_fits_into_a_command_line(task_repo: Repo):
    """The longest accepted reason reaches the command, however many bytes its characters have."""
    facts = facts_of(task_repo)
    assert facts.act("abandon", {"task": "010", "reason": "😀" * 2001})[0] == 422
    assert facts.act("abandon", {"task": "010", "reason": "😀" * 2000})[0] == 200


def test_an_act_succeeds_although_the_next_read_fails(task_repo: Repo):
    """If the state cannot be read after an act, the reply still says that the act was done."""
    (task_repo.root / ".sow/local/runs").write_text("")
    assert facts_of(task_repo).act("abandon", {"task": "010", "reason": "x"})[0] == 200
    assert task_repo.task("010")["status"] == "abandoned"


def test_a_read_only_page_refuses_every_act(task_repo: Repo):
    """A read-only page refuses every act; an unknown act is reported as such."""
    home = find(option=str(task_repo.root), environment={}, cwd="/")
    facts = DashboardData(home, task_repo.environment, read_only=True, person="ada")
    before = task_repo.snapshot()
    assert {facts.act(name, {"task": "010", "reason": "x"})[0] for name in ACTS} == {403}
    assert facts_of(task_repo).act("delete", {})[0] == 404
    assert task_repo.snapshot() == before


def test_a_design_is_approved(repo: Repo, tmp_path: Path):
    """The approval of a workflow follows the rules of the command, and is refused before the design was verified."""
    WorkflowRepo(repo, tmp_path).begin().crew({"first": []})
    facts = facts_of(repo)
    assert facts.act("approve-workflow", {})[0] != 200
    repo.ok("workflow", "verify", "--executor", "simulated")
    assert facts.act("approve-workflow", {})[0] == 200
    assert facts.workflow()["approval"]["by"] == "ada"
    assert facts.workflow()["next"] == "sow workflow run"


@pytest.mark.full
def test_a_run_continues_after_an_answer_and_is_stopped(plan_repo: PlanRepo):
    """An answer on the page continues a waiting task of a live run; then the page stops the run."""
    plan_repo.repo.ok("init")
    plan_repo.act("implementer-010-1", "sow task set status paused --reason 'Which port?'\n")
    plan_repo.act("implementer-020", "sleep 300\n")
    plan_repo.plan("First", "Second")
    run = plan_repo.start()
    facts = facts_of(plan_repo.repo)
    wait_for(lambda: plan_repo.has_happened("question", task="010"))
    (item,) = fresh(facts)["inbox"]
    assert facts.act("answer", {"question": item["number"], "text": "8080"})[0] == 200
    wait_for(lambda: plan_repo.has_happened("task_ended", task="010", status="completed"), 60)
    assert "8080" in plan_repo.prompt("010", 2)
    state = fresh(facts)
    assert (state["run"]["live"], state["tasks"][1]["running"]) == (True, True)
    assert facts.act("stop", {"run": state["run"]["id"]})[0] == 200
    assert run.wait(60) == 130
    assert fresh(facts)["run"]["live"] is False
