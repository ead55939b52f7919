"""The real Claude Code against the stub model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from conftest import SOW, Repo
from support.paths import ROOT

from real import install, layer
from real.contract import NEEDS_REVIEW, ObedientContract
from real.references import ReadsReferences
from real.steering import IgnoresSteering
from real.stub import Stub
from real.voyage import voyage
from real.workshop import Workshop

pytestmark = pytest.mark.real


class TestClaude(IgnoresSteering, ReadsReferences, ObedientContract):
    name = "claude"
    sessions = ".claude/projects"
    write_tool = "Write"
    read_tool = "Read"
    model = "sonnet"
    cost = 0.0004
    overload = "529"
    words_file = "CLAUDE.md"
    steering: ClassVar[dict[str, str]] = {
        ".claude/settings.json": json.dumps(
            {
                "env": {"STEERED": "yes"},
                "apiKeyHelper": "touch ROOT/steered-1; echo x",
                "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch ROOT/steered-2"}]}]},
            }
        ),
        ".mcp.json": json.dumps({"mcpServers": {"x": {"command": "touch", "args": ["ROOT/steered-3"]}}}),
    }

    def test_a_role_of_the_repository_is_a_subagent(self, workshop: Workshop) -> None:
        """A role in the repository's own file is given to Claude, which can hand the task to it with its tools only."""
        role = workshop.repo.root / ".claude/agents/painter.md"
        role.parent.mkdir(parents=True)
        role.write_text("---\nname: painter\ndescription: Paints.\ntools: [Read]\n---\nYou paint with oil.\n")
        call = {"description": "paint", "prompt": "Paint it [[text:painted]]", "subagent_type": "painter"}
        workshop.stub.plays["work"] = [f"call:Agent {json.dumps(call)}"]
        workshop.task("play:work", agent="painter")
        result = workshop.sow("agent", "spawn", "painter", "010", "--executor", "claude")
        assert result.code == 0, result
        assert "use the painter subagent to: " in workshop.asked(0)
        offered = [set(each["tools"]) for each in workshop.stub.requests() if each["decision"] == "text:painted"]
        assert offered == [{"Read"}]

    def test_refused_commands_are_named(self, workshop: Workshop) -> None:
        """Without yolo_mode every command that Claude refuses is told once, and is on the task with its reason."""
        self.configure(workshop, yolo_mode=False)
        push = {"file_path": "/etc/sow-test", "content": "x"}
        workshop.stub.plays["work"] = [
            "sh:npm install left-pad",
            "sh:npm install left-pad --save",
            "sh:ls /root/elsewhere",
            f"call:Write {json.dumps(push)}",
            "sh:git log -1",
            NEEDS_REVIEW,
        ]
        workshop.task("play:work")
        result = workshop.spawn()
        assert (result.code, workshop.status()) == (0, "needs_review"), result
        found = [(each["tool"], each.get("command"), each["count"]) for each in workshop.repo.task("010")["refusals"]]
        assert found == [
            ("Bash", "npm install left-pad", 1),
            ("Bash", "npm install left-pad --save", 1),
            ("Bash", "ls /root/elsewhere", 1),
            ("Write", "/etc/sow-test", 1),
        ]
        assert "4 commands refused: npm install left-pad, " in result.err
        assert all(each["reason"] for each in workshop.repo.task("010")["refusals"])
        text = workshop.readable(1)
        assert text.count("[refused] ") == 4 and "[output] commit " in text

    def test_a_plan_is_run_reviewed_and_merged(self, repo: Repo, tmp_path: Path) -> None:
        """Three tasks in worktrees, without yolo_mode: one is RED and comes back GREEN, and all end on the branch."""
        with voyage("claude", "claude", repo, tmp_path) as ours:
            ours.crew(claude=self.model)
            ours.check(self.cost)


class TestLayer:
    """The execution layer, as the real program loads it in a person's session."""

    @pytest.fixture
    def stub(self, tmp_path: Path) -> Iterator[Stub]:
        with Stub(tmp_path / "stub.jsonl") as stub:
            yield stub

    def test_the_installed_layer_is_loaded(self, task_repo: Repo, stub: Stub) -> None:
        """Claude Code lists our commands and agents, and at its start it hears where the work stands."""
        task_repo.ok("install", "claude")
        opening = layer.claude(task_repo, stub, "[[text:ok]]").opening
        assert {"project:new", "project:continue", "continue", "cleanup", "sync", "create-adr", "plan", "run"} <= set(
            opening["slash_commands"]
        )
        assert {"orchestrator", "implementer", "reviewer", "workflow-architect"} <= set(opening["agents"])
        assert "This branch has a sow project: Add authentication (feat/auth)." in layer.asked(stub)
        task_repo.ok("uninstall", "claude")
        opening = layer.claude(task_repo, stub, "[[text:ok]]").opening
        assert not {"project:new", "sync"} & set(opening["slash_commands"]) and "implementer" not in opening["agents"]

    @pytest.mark.parametrize(
        ("typed", "told"),
        [
            ("/continue", "sow continue --print"),
            ("/project:continue", "sow continue --print"),
            ("/project:new Add a shop", "Start a project for this goal:\n\nAdd a shop"),
            ("/plan Add a shop", "Write a plan for this goal:\n\nAdd a shop"),
        ],
    )
    def test_a_command_says_what_it_should(self, task_repo: Repo, stub: Stub, typed: str, told: str) -> None:
        """A typed command reaches the model as our words, with what the person wrote behind it."""
        task_repo.ok("install", "claude")
        layer.claude(task_repo, stub, f"{typed} [[text:ok]]")
        assert told in layer.asked(stub)

    def test_the_hook_keeps_state_from_being_edited(self, task_repo: Repo, stub: Stub) -> None:
        """A write to a state file is refused with our hint, even where all permissions are given; others go on."""
        task_repo.ok("install", "claude")
        before = task_repo.state("010")
        state, other = task_repo.desk("010") / "state.yaml", task_repo.root / "other.txt"
        for path in (state, other):
            call = {"file_path": str(path), "content": "mine"}
            answer = layer.claude(task_repo, stub, f"[[call:Write {json.dumps(call)}]]").answer
            assert ("is state that only sow writes" in answer) == (path == state), answer
        assert task_repo.state("010") == before and other.read_text() == "mine"

    @pytest.mark.parametrize("market", ["", "plugin"])
    def test_the_plugin_is_valid_and_brings_the_same(self, market: str, task_repo: Repo, stub: Stub) -> None:
        """From the repository or its own folder the plugin is installed: commands, agents and hooks by its name."""
        place = str(ROOT / market)
        claude = install.binary("claude")
        layer.claude(task_repo, stub, "[[text:ok]]")
        for words in (["validate", place], ["marketplace", "add", place], ["install", "sow@sow"]):
            done = layer.run(task_repo, [claude, "plugin", *words])
            assert done.returncode == 0, done
        opening = layer.claude(task_repo, stub, "/sow:project:new Add a shop [[text:ok]]").opening
        assert {"sow:continue", "sow:project:new", "sow:run"} <= set(opening["slash_commands"])
        assert {"sow:implementer", "sow:verifier"} <= set(opening["agents"])
        asked = layer.asked(stub)
        assert "Start a project for this goal:\n\nAdd a shop" in asked and "This branch has a sow project" in asked

    def test_a_tool_of_the_mcp_server_is_called(self, task_repo: Repo, stub: Stub) -> None:
        """Claude Code connects to `sow mcp`, offers its tools, and a call of one is done and answered."""
        servers = json.dumps({"mcpServers": {"sow": {"command": SOW, "args": ["mcp"]}}})
        task_repo.environment["ENABLE_TOOL_SEARCH"] = "false"
        call = {"description": "Unique?", "context": "Writing the store", "task": "010"}
        prompt = f"[[call:mcp__sow__note_add {json.dumps(call)}]]"
        session = layer.claude(task_repo, stub, prompt, "--mcp-config", servers)
        assert [(each["name"], each["status"]) for each in session.opening["mcp_servers"]] == [("sow", "connected")]
        assert "note_001" in session.answer
        assert task_repo.task("010")["notes"][0]["description"] == "Unique?"
