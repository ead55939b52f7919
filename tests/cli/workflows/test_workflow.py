"""sow workflow new, verify, approve, status, set, list and archive, called by a person and by an agent."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Repo
from support.workflow_repo import EXAMPLE, PLAN, WorkflowRepo

from sow.agents import briefing
from sow.domain.workflows import contract_block


@pytest.fixture
def flow(repo: Repo, tmp_path: Path) -> WorkflowRepo:
    """A workflow without a design."""
    return WorkflowRepo(repo, tmp_path).begin()


@pytest.fixture
def designed(flow: WorkflowRepo) -> WorkflowRepo:
    """The example's design."""
    return flow.design()


AGENT = {"SOW_AGENT": "implementer"}


def test_new_makes_the_folder_and_the_form(bare_repo: Repo) -> None:
    """Without a summary the empty form is written, with the workflow's name; no project is needed."""
    out = bare_repo.ok("workflow", "new", "user_management").out
    assert "fill in orchestration/conversation_summary_user_management.md, then: sow workflow design" in out
    text = (bare_repo.root / "orchestration/conversation_summary_user_management.md").read_text()
    form = briefing.load_template("protocol/conversation-summary")
    assert text == form.replace("[Task Name]", "user_management")
    for heading in (
        "## What We're Trying to Accomplish", "## Key Decisions Made", "## Constraints & Assumptions",
        "## Questions Resolved", "## Open Items", "## Dependencies & Integration Points",
    ):  # fmt: skip
        assert heading in text
    assert (bare_repo.root / "orchestration/agents").is_dir()


def test_new_takes_a_summary_from_a_file_or_from_stdin(repo: Repo) -> None:
    """The given text is written unchanged, whatever its file is called."""
    (repo.root / "@odd.md").write_text("# Conversation Summary: odd\n")
    document = repo.ok("workflow", "new", "odd", "--summary", "@odd.md", "--json").json
    assert document["workflow"] == "odd"
    assert (repo.root / document["summary"]).read_text() == "# Conversation Summary: odd\n"
    repo.ok("workflow", "archive", "--yes")
    repo.ok("workflow", "new", "typed", "--summary", "-", stdin=b"# typed\n")
    assert (repo.root / "orchestration/conversation_summary_typed.md").read_text() == "# typed\n"


def test_a_second_workflow_is_refused(flow: WorkflowRepo) -> None:
    """A checkout has one workflow; the hint names both next steps."""
    result = flow.repo.sow("workflow", "new", "another")
    assert result.code == 2 and "user_management" in result.err and "sow workflow archive" in result.err


def test_status_starts_with_the_next_step(flow: WorkflowRepo) -> None:
    """From new to run, status names the next command."""
    repo = flow.repo
    assert "Next: sow workflow design" in repo.ok("workflow", "status").out
    flow.design()
    assert "Next: sow workflow verify" in repo.ok("workflow", "status").out
    repo.ok("workflow", "verify", "--executor", "simulated")
    assert "Next: sow workflow approve" in repo.ok("workflow", "status").out
    repo.ok("workflow", "approve")
    document = repo.ok("workflow", "status", "--json").json
    assert document["next"] == "sow workflow run" and document["questions"] == []
    assert {key: document[key] for key in flow.status} == flow.status


def test_verify_fills_the_view_and_writes_a_report(designed: WorkflowRepo) -> None:
    """After a passed check shared_status.json has the crew, all pending, and the report has the findings."""
    out = designed.repo.ok("workflow", "verify", "--executor", "simulated").out
    assert "PASSED: user_management, 4 agents, 3 verifiers, 0 errors" in out
    agents = designed.status["agents"]
    assert list(agents) == ["database_agent", "api_agent", "frontend_agent", "docs_agent"]
    assert {agent["status"] for agent in agents.values()} == {"pending"}
    assert agents["frontend_agent"]["dependencies"] == ["database_agent", "api_agent"]
    assert designed.status["verification"]["frontend_verifier"] == {
        "status": "pending",
        "assigned_agents": ["frontend_agent", "docs_agent"],
    }
    report = (designed.orchestration / "verification_report.md").read_text()
    assert "- Result: PASSED" in report and designed.state["verified"]["digest"] in report
    assert designed.state["verified"]["by"] == "design-verifier" and designed.state["verified"]["passed"] is True


def test_no_design_passes_without_the_design_verifier(designed: WorkflowRepo) -> None:
    """--no-agent shows the findings of the code; the design stays unverified, and is neither approved nor run (C17)."""
    repo = designed.repo
    before = designed.state
    out = repo.ok("workflow", "verify", "--no-agent").out
    assert "PASSED by code: user_management" in out and "Next: sow workflow verify (" in out
    assert designed.state == before
    refused = repo.sow("workflow", "verify", "--no-agent", "--yes")
    assert refused.code == 2 and "--yes cannot approve it" in refused.err
    assert "is not verified" in repo.sow("workflow", "approve").err
    assert repo.sow("workflow", "run", "--executor", "simulated", "--yes").code == 4
    assert designed.state == before


def test_verify_puts_the_contract_into_every_agents_instructions(designed: WorkflowRepo) -> None:
    """The contract is at the end of each file once, and replaces an old one."""
    repo = designed.repo
    path = designed.orchestration / "agents/api_agent/agent_instructions.md"
    before = path.read_text()
    path.write_text(contract_block.set_contract(before, "an old contract"))
    repo.ok("workflow", "verify", "--executor", "simulated")
    for place in (designed.orchestration / "agents").glob("*/agent_instructions.md"):
        text = place.read_text()
        assert text.count(contract_block.START) == 1 and "an old contract" not in text
        assert briefing.load_template("protocol/agent-contract").strip() in text
    assert contract_block.remove_blocks(path.read_text()) == before
    repo.ok("workflow", "verify", "--executor", "simulated")
    assert path.read_text() == contract_block.set_contract(before, briefing.load_template("protocol/agent-contract"))


BROKEN = {
    "a cycle": (lambda head: head["agents"][0].update(dependencies=["frontend_agent"]), "frontend_agent"),
    "no verifier": (lambda head: head["agents"][0].pop("verifier"), "database_agent"),
    "an unknown verifier": (lambda head: head["agents"][0].update(verifier="nobody"), "nobody"),
    "an unknown dependency": (lambda head: head["agents"][1].update(dependencies=["ghost"]), "ghost"),
    "a task id twice": (
        lambda head: head["agents"][1].update(task_id=head["agents"][0]["task_id"]), "create_user_table_1727539200",
    ),
    "a task id without an epoch": (lambda head: head["agents"][1].update(task_id="user_endpoints"), "user_endpoints"),
    "an input that nobody writes": (lambda head: head["agents"][1].update(inputs=["nowhere/x.sql"]), "nowhere/x.sql"),
    "no criteria": (lambda head: head["agents"][2].pop("criteria"), "frontend_agent"),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_plan_is_refused(designed: WorkflowRepo, what: str) -> None:
    """Each fault of a plan is one error with file, line and hint; the exit code is 2, and nothing can be approved."""
    change, mention = BROKEN[what]
    head = designed.head()
    change(head)
    designed.plan(head)
    result = designed.repo.sow("workflow", "verify", "--executor", "simulated")
    assert result.code == 2
    errors = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert errors and all(line.startswith("error: orchestration/") for line in errors)
    assert any(mention in line and PLAN in line for line in errors), result.err
    assert result.err.count("\nhint: ") == len(errors)
    assert (
        "FAILED" in result.out and "- Result: FAILED" in (designed.orchestration / "verification_report.md").read_text()
    )
    assert designed.repo.sow("workflow", "approve").code == 2


@pytest.mark.parametrize("section", ["Success Criteria", "Output Requirements", "Completion Drive"])
def test_instructions_without_a_section_are_refused(designed: WorkflowRepo, section: str) -> None:
    """Instructions without criteria, outputs or guidance on notes are an error with their path."""
    path = designed.orchestration / "agents/docs_agent/agent_instructions.md"
    path.write_text(path.read_text().replace(f"## {section}", "Also:"))
    result = designed.repo.sow("workflow", "verify", "--executor", "simulated")
    assert result.code == 2 and "orchestration/agents/docs_agent/agent_instructions.md" in result.err


def test_findings_as_json(designed: WorkflowRepo) -> None:
    """--json has every finding with rule, file, line, text and hint, and stdout has nothing else."""
    head = designed.head()
    head["agents"][1]["dependencies"] = ["ghost"]
    designed.plan(head)
    result = designed.repo.sow("workflow", "verify", "--executor", "simulated", "--json")
    assert result.code == 2 and result.json["valid"] is False and result.json["verifier"] is None
    assert all(
        {"rule", "severity", "file", "line", "text", "hint"} == finding.keys() for finding in result.json["findings"]
    )


def test_a_name_with_a_path_is_refused(designed: WorkflowRepo) -> None:
    """An agent called ../../x is an error, and no file of that name is read or made."""
    outside = designed.repo.root / "x"
    outside.mkdir()
    (outside / "agent_instructions.md").write_text("mine\n")
    head = designed.head()
    head["agents"][0]["name"] = "../../x"
    designed.plan(head)
    assert designed.repo.sow("workflow", "verify", "--executor", "simulated").code == 2
    assert (outside / "agent_instructions.md").read_text() == "mine\n"


def test_an_approval_is_bound_to_the_verified_plan(designed: WorkflowRepo) -> None:
    """A plan that changed after its check is not approved."""
    repo = designed.repo
    assert "is not verified" in repo.sow("workflow", "approve").err
    repo.ok("workflow", "verify", "--executor", "simulated")
    head = designed.head()
    head["agents"][0]["criteria"].append("one more")
    designed.plan(head)
    refused = repo.sow("workflow", "approve")
    assert refused.code == 2 and "sow workflow verify" in refused.err
    repo.ok("workflow", "verify", "--executor", "simulated", "--yes")
    assert designed.state["approval"]["digest"] == designed.state["verified"]["digest"]
    assert designed.state["approval"]["how"] == "--yes" and designed.state["approval"]["by"] == "ada"


def test_verify_asks_for_approval_on_a_terminal(designed: WorkflowRepo, on_terminal) -> None:
    """After a passed check the question is asked once, and yes approves."""
    screen = on_terminal(designed.repo, "workflow", "verify", "--executor", "simulated")
    code, shown = screen.until("Approve this design").type(b"y\n").end()
    assert code == 0 and "approved: " in shown
    assert designed.state["approval"]["by"] == "ada"


def test_an_agent_may_not_record_or_approve(designed: WorkflowRepo) -> None:
    """An agent's verify prints findings and writes nothing; approve, new, archive, design and run are refused."""
    repo, mark = designed.repo, {"SOW_TASK": "workflow_architect", **AGENT}
    before = designed.orchestration / "state.yaml"
    state = before.read_text()
    assert "PASSED" in repo.ok("workflow", "verify", "--executor", "simulated", **mark).out
    assert before.read_text() == state and not (designed.orchestration / "verification_report.md").exists()
    for item in (["approve"], ["new", "x"], ["archive"], ["design", "--headless"], ["run"]):
        result = repo.sow("workflow", *item, **mark)
        assert result.code == 2 and "a worker may not" in result.err, item


def test_the_design_verifier_decides(designed: WorkflowRepo) -> None:
    """GREEN passes and is in the report; RED is exit 1 with the findings, and nothing can be approved."""
    good = [[{"say": "Quality Control: GREEN\n\nFeedback: it fits"}]]
    designed.scripted({"design_verifier": good})
    out = designed.repo.ok("workflow", "verify", "--executor", "script").out
    assert "Design Verifier: GREEN" in out
    assert out.endswith("\nNext: sow workflow approve && sow workflow run --executor script\n")
    assert designed.state["verified"]["by"] == "design-verifier"
    gap = (
        '{"nonce": "{nonce}", "verdict": "RED", "feedback": "no", "findings": [{"severity": "error", "rule": "gap",'
        ' "file": "workflow_coordination_plan.md", "symbol": "api_agent", "text": "nobody tests the API"}]}'
    )
    designed.scripted({"design_verifier": [[{"say": gap}]]})
    result = designed.repo.sow("workflow", "verify", "--executor", "script", "--json")
    assert result.code == 1 and result.json["verifier"]["verdict"] == "RED"
    assert result.json["verifier"]["findings"][0]["text"] == "nobody tests the API"
    report = (designed.orchestration / "verification_report.md").read_text()
    assert "nobody tests the API" in report and "- Result: FAILED" in report
    assert "did not pass" in designed.repo.sow("workflow", "approve").err


def test_an_unclear_design_verifier_is_asked_once_more(designed: WorkflowRepo) -> None:
    """Without a verdict there is one more turn in the same session; a clear answer counts, otherwise it is RED."""
    designed.scripted({"design_verifier": [[{"say": "nice"}], [{"say": "Quality Control: YELLOW\n\nFeedback: fine"}]]})
    assert "YELLOW" in designed.repo.ok("workflow", "verify", "--executor", "script").out
    designed.scripted({"design_verifier": [[{"say": "nice"}]]})
    result = designed.repo.sow("workflow", "verify", "--executor", "script")
    assert result.code == 1 and "counts as RED" in result.out


def test_a_failing_design_verifier_is_no_pass(designed: WorkflowRepo) -> None:
    """A turn that crashes is exit 1 with the reason, and records no check."""
    designed.scripted({"design_verifier": [[{"exit": 3}]]})
    result = designed.repo.sow("workflow", "verify", "--executor", "script")
    assert result.code == 1 and "design-verifier" in result.err
    assert "verified" not in designed.state


def test_a_judge_that_edits_state_by_hand_changes_nothing(designed: WorkflowRepo) -> None:
    """The verifier's edits of the state are undone after its turn."""
    spoiled = [
        {"run": ["sh", "-c", "echo broken > orchestration/state.yaml"]},
        {"say": "Quality Control: GREEN\n\nFeedback: ok"},
    ]
    designed.scripted({"design_verifier": [spoiled]})
    designed.repo.ok("workflow", "verify", "--executor", "script")
    assert designed.state["verified"]["passed"] is True


def test_list_shows_the_workflow_and_the_archive(flow: WorkflowRepo) -> None:
    """The present workflow comes first; two archived ones of the same name are both kept."""
    repo = flow.repo
    assert "user_management" in repo.ok("workflow", "list").out
    refused = repo.sow("workflow", "archive")
    assert refused.code == 2 and "--yes" in refused.err
    assert "orchestration/archive/user_management/" in repo.ok("workflow", "archive", "--yes").out
    flow.begin()
    repo.ok("workflow", "archive", "user_management", "--yes")
    workflows = repo.ok("workflow", "list", "--json").json["workflows"]
    assert [workflow["path"] for workflow in workflows] == [
        "orchestration/archive/user_management",
        "orchestration/archive/user_management-2",
    ]
    summary = (EXAMPLE / "summary.md").read_text()
    for file in workflows:
        assert (repo.root / file["path"] / "conversation_summary_user_management.md").read_text() == summary


def test_an_empty_list_says_how_to_begin(repo: Repo) -> None:
    """Nothing there is no error."""
    assert "sow workflow new NAME" in repo.ok("workflow", "list").out
    assert repo.ok("workflow", "list", "--json").json == {"workflows": []}


def test_archive_needs_the_right_name(flow: WorkflowRepo) -> None:
    """A name that is not the workflow's is refused."""
    result = flow.repo.sow("workflow", "archive", "other", "--yes")
    assert result.code == 2 and "user_management" in result.err


def test_a_person_can_only_send_back_a_failed_agent(designed: WorkflowRepo) -> None:
    """Only `working` for a failed agent is allowed, and the agent must be named."""
    repo = designed.repo
    repo.ok("workflow", "verify", "--executor", "simulated", "--yes")
    assert "no agent is named" in repo.sow("workflow", "set", "status", "working").err
    refused = repo.sow("workflow", "set", "status", "blocked", "--agent", "api_agent")
    assert refused.code == 2 and "only the agent api_agent itself can set" in refused.err
    assert repo.sow("workflow", "set", "status", "working", "--agent", "api_agent").code == 2  # it is pending
    assert repo.sow("workflow", "set", "status", "working", "--agent", "ghost").code == 2


def test_an_agent_sets_only_its_own_status_and_never_verified(designed: WorkflowRepo) -> None:
    """Another folder, a task of a project, and statuses that an agent may not set are refused."""
    repo = designed.repo
    repo.ok("workflow", "verify", "--executor", "simulated", "--yes")
    mark = {"SOW_TASK": "api_agent", **AGENT}
    other = repo.sow("workflow", "set", "status", "blocked", "--agent", "database_agent", **mark)
    assert other.code == 2 and "may not set the status of database_agent" in other.err
    for status in ("verified", "session_complete", "failed", "pending"):
        result = repo.sow("workflow", "set", "status", status, **mark)
        assert result.code == 2 and "cannot be" in result.err, status
    result = repo.sow("workflow", "set", "status", "blocked", SOW_TASK="010", **AGENT)
    assert result.code == 2 and "sow task set --id 010" in result.err


def test_without_a_workflow_every_command_says_how_to_begin(repo: Repo) -> None:
    """Without a workflow each command is exit 2 with the command that makes one."""
    for item in (
        ["status"], ["verify", "--no-agent"], ["approve"], ["archive"], ["design", "--print"], ["run"],
        ["set", "status", "working", "--agent", "a"],
    ):  # fmt: skip
        result = repo.sow("workflow", *item)
        assert result.code == 2 and "sow workflow new NAME" in result.err, (item, result)


def test_verify_without_a_plan_names_the_file(flow: WorkflowRepo) -> None:
    """Verify before design names the missing file and the command."""
    result = flow.repo.sow("workflow", "verify", "--executor", "simulated")
    assert result.code == 2 and PLAN in result.err and "sow workflow design" in result.err


def test_a_change_after_approval_is_shown(designed: WorkflowRepo) -> None:
    """If instructions were edited after the approval, status names their agent, and verify comes next."""
    repo = designed.repo
    repo.ok("workflow", "verify", "--executor", "simulated", "--yes")
    path = repo.root / "orchestration/agents/api_agent/agent_instructions.md"
    path.write_text(path.read_text().replace("\n", "\nDo it well.\n", 1))
    shown = repo.ok("workflow", "status", "--json").json
    assert (shown["changed"], shown["next"]) == (["api_agent"], "sow workflow verify")
    assert "the design has changed since its approval for api_agent" in repo.ok("workflow", "status").out
    assert "is not verified" in repo.sow("workflow", "approve").err


def test_findings_about_instructions_have_a_path(designed: WorkflowRepo) -> None:
    """The path of the finding exists, relative to the root."""
    path = designed.repo.root / "orchestration/agents/api_agent/agent_instructions.md"
    path.write_text("# Instructions\n\nDo it.\n")
    findings = designed.repo.sow("workflow", "verify", "--executor", "simulated", "--json").json["findings"]
    assert findings and {finding["file"] for finding in findings} == {
        "orchestration/agents/api_agent/agent_instructions.md"
    }


def test_a_missing_summary_is_refused(repo: Repo) -> None:
    """The option takes a file, as the hint says, and nothing is made."""
    refused = repo.sow("workflow", "new", "user_management", "--summary", "nope.md")
    assert refused.code == 2 and "there is no file 'nope.md'" in refused.err and "- for standard input" in refused.err
    assert not (repo.root / "orchestration").exists()
