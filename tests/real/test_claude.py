"""The real Claude Code against the stub model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from conftest import SOW, Repo
from support.paths import ROOT
from support.plan_repo import PlanRepo
from support.ssh_hosts import Hosts

from real import install, layer
from real.cli_repo import CliRepo
from real.contract import NEEDS_REVIEW, ObedientContract
from real.follow_ups import SettlesFindings
from real.hostile_repositories import IgnoresSteering
from real.real_run import real_run
from real.references import ReadsReferences
from real.session import ClaudeSession
from real.stub import Stub

pytestmark = pytest.mark.real


def phases(repo: Repo) -> dict[str, str]:
    return {phase["name"]: phase["status"] for phase in repo.ok("phase", "list", "--json").json["phases"]}


class TestClaude(IgnoresSteering, ReadsReferences, SettlesFindings, ObedientContract):
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

    def test_a_role_of_the_repository_is_a_subagent(self, cli_repo: CliRepo) -> None:
        """A role in the repository's own file is given to Claude, which can pass the task to it with its tools only."""
        role = cli_repo.repo.root / ".claude/agents/painter.md"
        role.parent.mkdir(parents=True)
        role.write_text("---\nname: painter\ndescription: Paints.\ntools: [Read]\n---\nYou paint with oil.\n")
        call = {"description": "paint", "prompt": "Paint it [[text:painted]]", "subagent_type": "painter"}
        cli_repo.stub.plays["work"] = [f"call:Agent {json.dumps(call)}"]
        cli_repo.task("play:work", agent="painter")
        result = cli_repo.sow("agent", "spawn", "painter", "010", "--executor", "claude")
        assert result.code == 0, result
        assert "use the painter subagent to: " in cli_repo.asked(0)
        offered = [
            set(request["tools"]) for request in cli_repo.stub.requests() if request["decision"] == "text:painted"
        ]
        assert offered == [{"Read"}]

    def test_refused_commands_are_named(self, cli_repo: CliRepo) -> None:
        """Without yolo_mode every command that Claude refuses is reported once, and is on the task with its reason."""
        self.configure(cli_repo, yolo_mode=False)
        push = {"file_path": "/etc/sow-test", "content": "x"}
        cli_repo.stub.plays["work"] = [
            "sh:npm install left-pad",
            "sh:npm install left-pad --save",
            "sh:ls /root/elsewhere",
            f"call:Write {json.dumps(push)}",
            "sh:git log -1",
            NEEDS_REVIEW,
        ]
        cli_repo.task("play:work")
        result = cli_repo.spawn()
        assert (result.code, cli_repo.status()) == (0, "needs_review"), result
        refusals = [
            (refusal["tool"], refusal.get("command"), refusal["count"])
            for refusal in cli_repo.repo.task("010")["refusals"]
        ]
        assert refusals == [
            ("Bash", "npm install left-pad", 1),
            ("Bash", "npm install left-pad --save", 1),
            ("Bash", "ls /root/elsewhere", 1),
            ("Write", "/etc/sow-test", 1),
        ]
        assert "4 commands refused: npm install left-pad, " in result.err
        assert all(refusal["reason"] for refusal in cli_repo.repo.task("010")["refusals"])
        text = cli_repo.readable(1)
        assert text.count("[refused] ") == 4 and "[output] commit " in text

    @pytest.mark.parametrize("sandbox", ["off", "bwrap"])
    def test_a_plan_is_run_reviewed_and_merged(self, repo: Repo, tmp_path: Path, sandbox: str) -> None:
        """Three tasks in worktrees, without yolo_mode: one is RED and comes back GREEN, and all end on the branch."""
        repo.environment["SOW_SANDBOX"] = sandbox
        with real_run("claude", "claude", repo, tmp_path) as ours:
            ours.crew(claude=self.model)
            ours.check(self.cost)


class TestLayer:
    """The execution layer, as the real program loads it in a person's session."""

    @pytest.fixture
    def stub(self, tmp_path: Path) -> Iterator[Stub]:
        with Stub(tmp_path / "stub.jsonl") as stub:
            yield stub

    def test_the_installed_layer_is_loaded(self, task_repo: Repo, stub: Stub) -> None:
        """Claude Code lists sow's commands and agents, and its session starts with the state of the project."""
        task_repo.ok("install", "claude")
        before = set(
            layer.claude(task_repo, stub, "[[text:ok]]", "--setting-sources", "user").opening["slash_commands"]
        )
        opening = layer.claude(task_repo, stub, "[[text:ok]]").opening
        ours = {"project:new", "project:continue", "cleanup", "sync", "create-adr"}
        ours |= {f"sow:{name}" for name in ("continue", "plan", "run", "inbox", "workflow")}
        assert set(opening["slash_commands"]) - before == ours and before <= set(opening["slash_commands"])
        assert {"orchestrator", "implementer", "reviewer", "workflow-architect"} <= set(opening["agents"])
        assert "This branch has a sow project: Add authentication (feat/auth)." in layer.asked(stub)
        task_repo.ok("uninstall", "claude")
        opening = layer.claude(task_repo, stub, "[[text:ok]]").opening
        assert not {"project:new", "sync"} & set(opening["slash_commands"]) and "implementer" not in opening["agents"]

    @pytest.mark.parametrize(
        ("typed", "told"),
        [
            ("/sow:continue", "sow continue --print"),
            ("/project:continue", "sow continue --print"),
            ("/project:new Add a shop", "Start a project for this goal:\n\nAdd a shop"),
            ("/sow:plan Add a shop", "Write a plan for this goal:\n\nAdd a shop"),
        ],
    )
    def test_a_command_reaches_the_model(self, task_repo: Repo, stub: Stub, typed: str, told: str) -> None:
        """A typed command reaches the model as sow's text, with the person's words after it."""
        task_repo.ok("install", "claude")
        layer.claude(task_repo, stub, f"{typed} [[text:ok]]")
        assert told in layer.asked(stub)

    def test_the_hook_protects_state_files(self, task_repo: Repo, stub: Stub) -> None:
        """A write to a state file is refused with sow's hint, even with all permissions; other writes work."""
        task_repo.ok("install", "claude")
        before = task_repo.state("010")
        state, other = task_repo.task_folder("010") / "state.yaml", task_repo.root / "other.txt"
        for path in (state, other):
            call = {"file_path": str(path), "content": "mine"}
            answer = layer.claude(task_repo, stub, f"[[call:Write {json.dumps(call)}]]").answer
            assert ("is a state file that only sow writes" in answer) == (path == state), answer
        assert task_repo.state("010") == before and other.read_text() == "mine"

    def test_a_phase_is_proposed_and_approved_in_the_session(self, task_repo: Repo, stub: Stub) -> None:
        """Inside `sow continue` sow's commands run at once, and the person decides on a phase (B1, B2, B11, B19)."""
        settings = task_repo.root / ".claude/settings.json"
        settings.parent.mkdir()
        settings.write_text('{"permissions": {"defaultMode": "default"}}')
        task_repo.ok("install", "claude")
        task_repo.environment["USER"] = "ada"
        with ClaudeSession(task_repo, stub) as session:
            session.told("Run this command, and do what it prints: sow continue --print")
            session.say("[[sh:sow continue --print && sow status && sow log 'a race' && sow inbox]]")
            session.told("nothing needs your answer")
            session.say("[[sh:sow phase add discovery --reason 'a race' --now]]")
            session.told("phase discovery is proposed as question 1")
            session.say("[[sh:sow phase approve discovery]]")
            session.until("requires confirmation for this command")
            assert phases(task_repo)["discovery"] == "proposed"
            session.told("active phase: discovery", keys=b"\r")
            session.say("[[sh:sow phase add docs --reason r --yes]]")
            session.until("requires confirmation for this command")
            session.until("Interrupted", keys=b"\x1b")
            session.say("! sow phase add review --reason eyes --yes")
            session.told("phase review is pending")
        assert phases(task_repo) == {"discovery": "active", "review": "pending", "implementation": "pending"}
        entries = task_repo.ok("log", "--list", "--json").json["entries"]
        assert [(entry["agent"], entry["action"]) for entry in entries][-4:] == [
            ("orchestrator", "note"),
            ("orchestrator", "phase_add"),
            ("ada", "phase_approve"),
            ("ada", "phase_add"),
        ]

    @pytest.mark.parametrize("installed", [False, True])
    def test_an_agent_alone_adds_no_phase(self, task_repo: Repo, stub: Stub, installed: bool) -> None:
        """Without a person no phase is added, although all permissions are given (B2)."""
        if installed:
            task_repo.ok("install", "claude")
        answer = layer.claude(task_repo, stub, "[[sh:sow phase add qa --reason r --yes]]").answer
        assert ("the orchestrator may not add a phase at once" in answer) != installed
        assert phases(task_repo) == {"implementation": "active"}
        layer.claude(task_repo, stub, "[[sh:sow log seen]]")
        assert task_repo.ok("log", "--list", "--json").json["entries"][-1]["agent"] == "orchestrator"

    @pytest.mark.parametrize("market", ["", "plugin"])
    def test_the_plugin_is_valid_and_the_same(self, market: str, task_repo: Repo, stub: Stub) -> None:
        """From the repository or its own folder the plugin is installed: commands, agents and hooks by its name."""
        place = str(ROOT / market)
        claude = install.binary("claude")
        layer.claude(task_repo, stub, "[[text:ok]]")
        for item in (["validate", place], ["marketplace", "add", place], ["install", "sow@sow"]):
            result = layer.run(task_repo, [claude, "plugin", *item])
            assert result.returncode == 0, result
        opening = layer.claude(task_repo, stub, "/sow:project:new Add a shop [[text:ok]]").opening
        assert {"sow:continue", "sow:project:new", "sow:run"} <= set(opening["slash_commands"])
        assert {"sow:implementer", "sow:verifier"} <= set(opening["agents"])
        asked = layer.asked(stub)
        assert "Start a project for this goal:\n\nAdd a shop" in asked and "This branch has a sow project" in asked

    def test_a_tool_of_the_mcp_server_is_called(self, task_repo: Repo, stub: Stub) -> None:
        """Claude Code connects to `sow mcp`, offers its tools, and gets the result of a call."""
        servers = json.dumps({"mcpServers": {"sow": {"command": SOW, "args": ["mcp"]}}})
        task_repo.environment["ENABLE_TOOL_SEARCH"] = "false"
        call = {"description": "Unique?", "context": "Writing the store", "task": "010"}
        prompt = f"[[call:mcp__sow__note_add {json.dumps(call)}]]"
        session = layer.claude(task_repo, stub, prompt, "--mcp-config", servers)
        assert [(mcp_server["name"], mcp_server["status"]) for mcp_server in session.opening["mcp_servers"]] == [
            ("sow", "connected")
        ]
        assert "note_001" in session.answer
        assert task_repo.task("010")["notes"][0]["description"] == "Unique?"


def test_a_question_on_another_host(plan_repo: PlanRepo, tmp_path: Path) -> None:
    """Claude works with the login of another host; its question is answered here, and its session goes on there."""
    ask = "sow note add --description 'Which port?' --context x --category requirements; "
    ask += "sow note escalate 1 --reason 'only a person knows'; sow task set status paused"
    with Stub(tmp_path / "stub.jsonl") as stub:
        stub.plays["work"] = ["sh:echo half > half.txt", f"sh:{ask}"]
        stub.plays["more"] = ["sh:echo 80 > port.txt", "sh:sow task set status needs_review"]
        agents = plan_repo.settings["agents"]
        agents["executors"]["claude"] = {"type": "claude", "settings": {"binary": "/nowhere/claude"}}
        agents["bindings"]["implementer"] = "claude"
        hosts = Hosts(plan_repo, tmp_path)
        settings = {"binary": install.binary("claude"), "model": "sonnet", "yolo_mode": True}
        for name, host in hosts.all.items():
            hosts.settings[name] = {"agents": {"executors": {"claude": {"type": "claude", "settings": settings}}}}
            variables = install.environment("claude", host.home, stub.port)
            profile = host.home / ".profile"
            lines = [f"export {key}='{value}'\n" for key, value in variables.items()]
            profile.write_text("".join([profile.read_text(), *lines]))
        hosts.configure()
        plan_repo.plan("Do the work [[play:work]]")
        try:
            first = hosts.run(on="box-a:1,box-b:1")
            assert first.code == 4, first
            assert "Which port?" in first.out
            plan_repo.repo.ok("answer", "1", "Take 80 [[play:more]]")
            second = hosts.run(on="box-a:1,box-b:1")
            assert second.code == 0, second
            assert [line.partition("\t")[2] for line in plan_repo.tree()] == ["half.txt", "plan.yaml", "port.txt"]
            (record,) = hosts.records()
            assert [turn["kind"] for turn in record["turns"]] == ["spawn", "resume"]
            conversation = "\n".join(text for _, _, text in stub.conversations()[-1])
            assert "[[play:work]]" in conversation and "Take 80" in conversation
            assert record["total_cost_usd"] == pytest.approx(len(stub.requests()) * TestClaude.cost)
            own = hosts[record["host"]]
            (other,) = (host for host in hosts.all.values() if host is not own)
            assert list(own.home.glob(f".claude/projects/*/{record['session_id']}.jsonl"))
            for home in (other.home, Path(plan_repo.repo.environment["HOME"])):
                assert not (home / ".claude/projects").exists()
            assert (own.alive(), other.alive()) == ([], [])
        finally:
            hosts.close()
