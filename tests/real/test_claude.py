"""The real Claude Code against the stub model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest
from conftest import Repo

from real.contract import ObedientContract
from real.steering import IgnoresSteering
from real.voyage import voyage
from real.workshop import Workshop

pytestmark = pytest.mark.real


class TestClaude(IgnoresSteering, ObedientContract):
    name = "claude"
    sessions = ".claude/projects"
    write_tool = "Write"
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

    def test_a_plan_is_run_reviewed_and_merged(self, repo: Repo, tmp_path: Path) -> None:
        """Three tasks in worktrees, without yolo_mode: one is RED and comes back GREEN, and all end on the branch."""
        with voyage("claude", "claude", repo, tmp_path) as ours:
            ours.crew(claude=self.model)
            ours.check(self.cost)
