"""sow workflow design: the architect alone, with sub-roles or with a person; and missing agent types."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Repo
from support.workflow_repo import EXAMPLE, PLAN, WorkflowRepo

from sow.agents.registry import read_agent
from sow.domain.workflows import contract_block

COPY = f"cp -R {EXAMPLE}/design/. orchestration/"
FIVE = {"a": [], "b": ["a"], "c": ["a"], "d": ["b"], "e": ["c", "d"]}


@pytest.fixture
def flow(repo: Repo, tmp_path: Path) -> WorkflowRepo:
    """A workflow that waits for its design."""
    return WorkflowRepo(repo, tmp_path).begin()


def design(flow: WorkflowRepo, *arguments: str, **options: Any) -> Any:
    return flow.repo.sow("workflow", "design", "--headless", "--executor", "script", *arguments, **options)


def test_the_architect_works_alone(flow: WorkflowRepo) -> None:
    """Its design is checked, gets the contract, and becomes the crew of shared_status.json."""
    flow.scripted({"workflow_architect": [[{"run": COPY}, {"say": "done"}]]})
    result = design(flow)
    assert result.code == 0, result
    assert result.out.endswith(
        "designed user_management: 4 agents, 3 verifiers\n  database_agent\n  api_agent\n"
        "  frontend_agent + docs_agent\nNext: sow workflow verify --executor script\n"
    )
    assert list(flow.status["agents"]) == ["database_agent", "api_agent", "frontend_agent", "docs_agent"]
    text = (flow.orchestration / "agents/database_agent/agent_instructions.md").read_text()
    assert contract_block.START in text


def test_an_empty_form_is_reported_first(bare_repo: Repo, tmp_path: Path) -> None:
    """An unfilled summary is reported before the architect works."""
    bare_repo.ok("workflow", "new", "user_management")
    flow = WorkflowRepo(bare_repo, tmp_path)
    flow.scripted({"workflow_architect": [[{"run": COPY}, {"say": "done"}]]})
    assert "is still the empty form" in design(flow).err
    path = bare_repo.root / "orchestration/conversation_summary_user_management.md"
    path.write_text(path.read_text().replace("[The goal in plain language]", "Users can sign up."))
    assert "the empty form" not in design(flow, "--yes").err


def test_findings_go_back_to_the_architect(flow: WorkflowRepo) -> None:
    """A design with an error is sent back in the same session, with the line; a fixed one is accepted."""
    flow.scripted(
        {
            "workflow_architect": [
                [{"run": COPY}, {"run": "sed -i s/create_user_table_1727539200/nothing/ " + PLAN}],
                [
                    {
                        "if": {
                            "told": "orchestration/workflow_coordination_plan.md:",
                            "then": [{"run": COPY}, {"say": "fixed"}],
                            "else": [{"say": "I was not told where"}],
                        }
                    }
                ],
            ]
        }
    )
    result = design(flow)
    assert result.code == 0, result
    assert "# 1 finding sent back to workflow-architect (iteration 1 of 3)" in result.err


def test_three_failed_turns_are_a_failure(flow: WorkflowRepo) -> None:
    """An architect that never fixes its plan ends with exit 1, and its files stay for a person."""
    flow.scripted({"workflow_architect": [[{"run": COPY}, {"run": "sed -i s/1727539200/x/ " + PLAN}]]})
    result = design(flow)
    assert result.code == 1 and "after 3 iterations the design still has errors: orchestration/" in result.err
    assert "iteration 3 of 3" in result.err and (flow.repo.root / PLAN).exists()


def test_a_refused_architect_is_named_before_its_next_turn(flow: WorkflowRepo) -> None:
    """Refusals of the CLI are named after each turn and in the final error; a second refused turn is the last (C11)."""
    flow.scripted({"workflow_architect": [[{"refuse": "tee plan.md"}]]})
    result = design(flow)
    messages = "1 command refused: tee plan.md; "
    assert result.code == 1 and "agents.executors.script.settings.yolo_mode: true" in result.err
    assert result.err.index(messages) < result.err.index("(iteration 1 of 3)")
    assert messages in result.err[result.err.index("was refused commands, and the design still has errors") :]
    assert "(iteration 2 of 3)" not in result.err


def test_a_missing_plan_is_a_finding(flow: WorkflowRepo) -> None:
    """No plan at all is a finding like any other."""
    flow.scripted({"workflow_architect": [[{"say": "I think about it"}], [{"run": COPY}, {"say": "here"}]]})
    assert design(flow).code == 0


@pytest.mark.full
def test_the_verifiers_findings_reach_the_architect(flow: WorkflowRepo) -> None:
    """A RED report is in the architect's next prompt, and an unchanged design is called unchanged (C2)."""
    gap = [[{"say": "Quality Control: RED\n\nFeedback: nobody tests the API"}]]
    fix = {"run": f"sed -i 's/^# .*/&, and tests of the API/' {PLAN}"}
    messages = {"if": {"told": "nobody tests the API", "then": [fix, {"say": "fixed"}], "else": [{"say": "as it is"}]}}
    flow.scripted({"workflow_architect": [[{"run": COPY}, {"say": "done"}]], "design_verifier": gap})
    assert design(flow).code == 0
    verified = flow.repo.sow("workflow", "verify", "--executor", "script")
    assert verified.code == 1 and "\nNext: sow workflow design --executor script\n" in verified.out
    assert flow.repo.ok("workflow", "status", "--json").json["next"] == "sow workflow design"
    waits = flow.repo.ok("inbox", "--json").json["items"]
    assert [(item["kind"], item["do"]) for item in waits] == [("failed", "sow workflow design")]
    assert "nobody tests the API" in flow.repo.ok("workflow", "design", "--print").out
    flow.scripted(
        {"workflow_architect": [[messages]], "design_verifier": [[{"say": "Quality Control: GREEN\n\nFeedback: ok"}]]}
    )
    result = design(flow)
    assert result.code == 0 and "\ndesigned user_management" in result.out, result
    assert flow.repo.ok("workflow", "status", "--json").json["next"] == "sow workflow verify"
    flow.repo.ok("workflow", "verify", "--executor", "script")
    again = design(flow)
    assert "the architect changed nothing in user_management" in again.out and "designed" not in again.out


def delegating(flow: WorkflowRepo) -> WorkflowRepo:
    """A crew of five, whose architect and sub-roles write their parts."""
    other = WorkflowRepo(flow.repo, flow.folder).crew(FIVE)
    text = (flow.repo.root / PLAN).read_text()
    (flow.folder / "plan.md").write_text(text)
    other.orchestration.joinpath("workflow_coordination_plan.md").unlink()
    roles = ("file-structure-designer", "checkpoint-designer", "instruction-writer")
    parts = {
        role.replace("-", "_"): [
            [
                {"write": {"path": f"orchestration/design/{role}.md", "text": f"# {role}\n"}},
                {"append": {"path": "order.txt", "text": f"{role}\n"}},
                {"say": f"{role} is done"},
            ]
        ]
        for role in roles
    }
    first = [{"run": f"cp {flow.folder}/plan.md {PLAN}"}, {"say": "the roster"}]
    second = [
        {
            "if": {
                "told": "| instruction-writer is done",
                "then": [{"append": {"path": "order.txt", "text": "integrated\n"}}, {"say": "one design"}],
            }
        }
    ]
    return flow.scripted({"workflow_architect": [first, second], **parts})


def test_five_agents_are_designed_by_sub_roles(flow: WorkflowRepo) -> None:
    """From five agents on, three sub-roles write their parts in turn, and the architect integrates them."""
    result = design(delegating(flow))
    assert result.code == 0, result
    order = (flow.repo.root / "order.txt").read_text().split()
    assert order == ["file-structure-designer", "checkpoint-designer", "instruction-writer", "integrated"]
    for role in order[:3]:
        assert (flow.orchestration / f"design/{role}.md").read_text() == f"# {role}\n"


@pytest.mark.full
def test_delegation_can_be_asked_for(flow: WorkflowRepo) -> None:
    """With --delegate a small crew is designed the same way, and the architect's prompt says so."""
    part = [[{"append": {"path": "order.txt", "text": "{agent}\n"}}]]
    roles = ("file_structure_designer", "checkpoint_designer", "instruction_writer")
    messages = {"if": {"told": "The details are delegated", "then": [{"run": COPY}]}}
    flow.scripted({"workflow_architect": [[messages], [{"say": "integrated"}]], **dict.fromkeys(roles, part)})
    assert design(flow, "--delegate").code == 0
    assert (flow.repo.root / "order.txt").read_text().split() == [role.replace("_", "-") for role in roles]


@pytest.mark.full
def test_the_goal_of_the_project_is_in_every_prompt_of_the_design(flow: WorkflowRepo) -> None:
    """The architect, its sub-roles and the Design Verifier get the goal and the decisions of the project (B3)."""
    repo = flow.repo
    goal = f"| Goal: {repo.ok('project', 'show', '--json').json['name']}\n"
    repo.ok("project", "remember", "Gates open inwards")
    seen = {"append": {"path": "order.txt", "text": "{agent}\n"}}
    messages = {"if": {"told": goal, "then": [{"if": {"told": "Gates open inwards", "then": [seen]}}]}}
    roles = ("file_structure_designer", "checkpoint_designer", "instruction_writer")
    verdicts = {name: [{"say": f"Quality Control: {name}\n\nFeedback: so it is"}] for name in ("GREEN", "RED")}
    judged = [[{"if": {"told": goal, "then": verdicts["GREEN"], "else": verdicts["RED"]}}]]
    architect = [[messages, {"run": COPY}], [{"say": "integrated"}]]
    flow.scripted(
        {"workflow_architect": architect, **{role: [[messages]] for role in roles}, "design_verifier": judged}
    )
    assert design(flow, "--delegate").code == 0
    repo.ok("workflow", "verify", "--executor", "script")
    told_names = [name.replace("_", "-") for name in ("workflow_architect", *roles)]
    assert (repo.root / "order.txt").read_text().split() == told_names


def test_few_agents_are_not_delegated(flow: WorkflowRepo) -> None:
    """Up to four agents are designed by the architect alone."""
    flow.scripted({"workflow_architect": [[{"run": COPY}]], "instruction_writer": [[{"exit": 9}]]})
    assert design(flow).code == 0


def test_a_limit_is_exit_4_and_a_crash_exit_1(flow: WorkflowRepo) -> None:
    """An architect that cannot start leaves only its files behind, and the error has the reason."""
    flow.scripted({"workflow_architect": [[{"limit": 3600}]]})
    assert design(flow).code == 4
    flow.scripted({"workflow_architect": [[{"exit": 3}]]})
    result = design(flow)
    assert result.code == 1 and "workflow-architect" in result.err


def test_a_fallback_takes_over_from_a_limited_architect(flow: WorkflowRepo) -> None:
    """If the bound executor has reached its limit, the role's fallback designs."""
    flow.scripted({"workflow_architect": [[{"run": COPY}, {"say": "done"}]]})
    limited = flow.folder / "limited.yaml"
    limited.write_text("tasks: {default: [[{limit: 3600}]]}\n")
    config = Path(flow.repo.environment["HOME"]) / ".config/sow/config.yaml"
    config.write_text(
        f"""agents:
  executors:
    busy: {{type: simulated, settings: {{scenario: {limited}}}}}
    script: {{type: simulated, settings: {{scenario: {flow.folder}/scenario.yaml}}}}
  bindings: {{workflow-architect: busy}}
  fallbacks: {{workflow-architect: [script]}}
"""
    )
    flow.repo.ok("workflow", "design", "--headless")


def test_a_missing_fallback_does_not_stop_a_design(flow: WorkflowRepo) -> None:
    """A missing fallback of the architect is named, and the architect designs (A18)."""
    flow.scripted({"workflow_architect": [[{"run": COPY}, {"say": "done"}]]})
    config = Path(flow.repo.environment["HOME"]) / ".config/sow/config.yaml"
    settings = yaml.safe_load(config.read_text())
    settings["agents"] |= {"default": "script", "fallbacks": {"workflow-architect": ["codex"]}}
    config.write_text(yaml.safe_dump(settings))
    result = flow.repo.sow("workflow", "design", "--headless")
    assert result.code == 0 and "the fallback codex is left out" in result.err, result


def test_an_architect_cannot_approve_its_own_design(flow: WorkflowRepo) -> None:
    """An edit of state.yaml is undone after its turn."""
    forge = ["sh", "-c", "printf '  approval: {}\\n' >> orchestration/state.yaml"]
    flow.scripted({"workflow_architect": [[{"run": COPY}, {"run": forge}, {"sow": "workflow approve"}]]})
    assert design(flow).code == 0
    assert "approval" not in flow.state


def test_an_approved_design_is_not_replaced_by_accident(flow: WorkflowRepo) -> None:
    """After an approval a new design needs --yes; the crew's state stays."""
    flow.scripted({"workflow_architect": [[{"run": COPY}]]})
    flow.design()
    flow.repo.ok("workflow", "verify", "--executor", "simulated", "--yes")
    refused = design(flow)
    assert refused.code == 2 and "--yes" in refused.err
    assert design(flow, "--yes").code == 0


def test_without_a_terminal_the_options_are_named(flow: WorkflowRepo) -> None:
    """The hint names --headless and --print."""
    result = flow.repo.sow("workflow", "design")
    assert result.code == 2 and "--headless" in result.err and "--print" in result.err


def test_the_prompt_can_be_printed(flow: WorkflowRepo) -> None:
    """--print shows everything that an architect needs, with full paths, and starts nothing."""
    out = flow.repo.ok("workflow", "design", "--print").out
    assert out.startswith("# Workflow architect\n")
    assert str(flow.orchestration / "conversation_summary_user_management.md") in out
    assert "`sow " not in out and "The details are delegated" not in out
    assert "The details are delegated" in flow.repo.ok("workflow", "design", "--print", "--delegate").out


# An agent CLI that a person has opened: it shows its words, runs what it is told to, and leaves a design.
OPENED = """#!{python}
import shlex, subprocess, sys
print("hello, you said:", sys.argv[-1])
told = subprocess.run(shlex.split(sys.argv[-1].split(": ", 1)[1]), capture_output=True, text=True, check=True).stdout
assert told.startswith("# Workflow architect"), told
assert input("which database? ") == "sqlite"
subprocess.run({copy!r}, shell=True, check=True)
checked = subprocess.run(["sow", "workflow", "verify", "--no-agent"], capture_output=True, text=True)
assert checked.returncode == 0 and "PASSED" in checked.stdout, checked
assert subprocess.run(["sow", "workflow", "approve"], capture_output=True).returncode == 2
"""


@pytest.mark.full
def test_a_person_designs_with_the_architect_in_the_terminal(
    flow: WorkflowRepo, tmp_path: Path, on_terminal: Any
) -> None:
    """The CLI is opened with a first prompt, and its design is checked."""
    (tmp_path / "bin").mkdir()
    claude = tmp_path / "bin/claude"
    claude.write_text(OPENED.format(python=sys.executable, copy=COPY))
    claude.chmod(0o755)
    path = f"{tmp_path}/bin:{flow.repo.environment['PATH']}"
    screen = on_terminal(flow.repo, "workflow", "design", PATH=path)
    code, shown = screen.until("which database?").type(b"sqlite\n").end()
    assert code == 0, shown
    assert "Run this command, and do what it prints" in shown
    assert "designed user_management: 4 agents" in shown
    assert "database_agent" in flow.status["agents"]


def test_an_executor_without_an_interactive_form_is_refused(flow: WorkflowRepo, on_terminal: Any) -> None:
    """The error names the other ways."""
    flow.scripted({"workflow_architect": [[{"run": COPY}]]})
    code, shown = on_terminal(flow.repo, "workflow", "design", "--executor", "script").end()
    assert code == 2 and "cannot be opened" in shown and "--print" in shown


def required(flow: WorkflowRepo) -> None:
    flow.design()
    head = flow.head()
    head["agents"][0]["agent"] = "database-specialist"
    head["required_agents"] = [
        {
            "name": "database-specialist",
            "description": "Designs tables: small, normal, audited",
            "capabilities": "Must be able to run sqlite3",
            "prompt": "You design tables.\nYou test them on an empty database.\n",
        }
    ]
    text = (flow.repo.root / PLAN).read_text()
    flow.plan(head, text.split("---\n", 2)[2])


def test_missing_agent_types_are_listed_and_written(flow: WorkflowRepo) -> None:
    """verify lists missing types with their specification; `sow agent new --from-workflow` writes each once."""
    repo = flow.repo
    required(flow)
    result = repo.sow("workflow", "verify", "--executor", "simulated")
    assert "missing agent type database-specialist: Designs tables: small, normal, audited" in result.err
    assert "capabilities: Must be able to run sqlite3" in result.err
    assert "sow agent new --from-workflow" in result.err
    assert repo.sow("workflow", "verify", "--executor", "simulated", "--json").json["missing_agents"][0]["name"] == (
        "database-specialist"
    )
    assert repo.ok("agent", "new", "--from-workflow").out == "created .claude/agents/database-specialist.md\n"
    path = repo.root / ".claude/agents/database-specialist.md"
    agent = read_agent(str(path), "project")
    assert agent is not None and agent.description == "Designs tables: small, normal, audited"
    assert "You test them on an empty database." in path.read_text() and "run sqlite3" in path.read_text()
    repo.ok("workflow", "verify", "--executor", "simulated")
    assert flow.state["members"]["database_agent"]["agent"] == "database-specialist"
    assert "every agent type of the plan exists" in repo.ok("agent", "new", "--from-workflow").out
    assert repo.sow("agent", "new", "ghost", "--from-workflow").code == 2


@pytest.mark.full
def test_a_design_may_need_new_agent_types(flow: WorkflowRepo, on_terminal: Any) -> None:
    """The architect is not asked to fix that; the person gets the command, and on a terminal an offer (C17)."""
    required(flow)
    flow.scripted({"workflow_architect": [[{"say": "it is designed"}]]})
    write_first = "sow agent new --from-workflow && sow workflow verify --executor script"
    result = design(flow)
    assert result.code == 0 and "sent back to" not in result.err, result
    assert result.out.endswith(f"\nNext: {write_first}\n")
    screen = on_terminal(flow.repo, "workflow", "design", "--headless", "--executor", "script")
    code, shown = screen.until("Write the files of these agent types now?").type(b"y\n").end()
    assert code == 0 and "created .claude/agents/database-specialist.md" in shown
    assert "Next: sow workflow verify --executor script" in shown
    assert "database-specialist" in flow.repo.ok("agent", "list").out


def test_a_role_is_written_from_a_text(repo: Repo) -> None:
    """`sow agent new` writes a file that the registry reads; an existing one stays as it is."""
    repo.ok("agent", "new", "db-tuner", "--description", "Tunes: slowly", "--prompt", "You tune.")
    shown = repo.ok("agent", "show", "db-tuner", "--json").json
    assert shown["description"] == "Tunes: slowly" and shown["prompt"] == "You tune."
    refused = repo.sow("agent", "new", "db-tuner", "--description", "again")
    assert refused.code == 2 and "is there already" in refused.err
    repo.ok("agent", "new", "db-form", "--description", "To be filled in")
    assert "## What you do" in repo.ok("agent", "show", "db-form").out


@pytest.mark.parametrize(
    ("words", "mention"),
    [
        ([], "NAME is missing"),
        (["x"], "--description is required"),
        (["Bad Name", "--description", "d"], "not a role name"),
        (["../x", "--description", "d"], "not a role name"),
        (["x", "--description", "a\nb"], "--description has a line break"),
        (["x", "--from-workflow"], "there is no workflow"),
    ],
)
def test_a_bad_role_is_refused(repo: Repo, words: list[str], mention: str) -> None:
    """An invalid role is exit 2 with a hint, and writes nothing."""
    result = repo.sow("agent", "new", *words)
    assert result.code == 2 and mention in result.err and "hint: " in result.err
    assert not (repo.root / ".claude").exists()


def test_a_linked_folder_is_refused(repo: Repo, tmp_path: Path) -> None:
    """A .claude that links out of the repository is refused."""
    (tmp_path / "elsewhere").mkdir()
    (repo.root / ".claude").symlink_to(tmp_path / "elsewhere")
    assert repo.sow("agent", "new", "x", "--description", "d").code != 0
    assert list((tmp_path / "elsewhere").iterdir()) == []
