"""The real Gemini CLI against the stub model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest
from conftest import Repo

from real import install, layer
from real.cli_repo import CliRepo
from real.contract import ObedientContract
from real.hostile_repositories import RefusesSteering
from real.real_run import real_run
from real.references import ReadsReferences

pytestmark = pytest.mark.real


class TestGemini(RefusesSteering, ReadsReferences, ObedientContract):
    name = "gemini"
    sessions = ".gemini/tmp"
    write_tool = "write_file"
    read_tool = "read_file"
    reads_links = False
    model = "gemini-2.5-pro"
    words_file = "GEMINI.md"
    steering: ClassVar[dict[str, str]] = {
        ".env": "STEERED=yes\n",
        ".gemini/settings.json": json.dumps(
            {
                "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch ROOT/steered-1"}]}]},
                "mcpServers": {"x": {"command": "touch", "args": ["ROOT/steered-2"]}},
            }
        ),
    }
    patience = "20s"

    def test_it_commits_as_the_user(self, cli_repo: CliRepo) -> None:
        """Gemini hides the user's git settings from its tools; a commit still has the user's name."""
        environment = cli_repo.repo.environment
        for name in [name for name in environment if name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_"))]:
            del environment[name]
        Path(environment["HOME"], ".gitconfig").write_text("[user]\n\tname = Grace\n\temail = grace@example.org\n")
        cli_repo.stub.plays["work"] = ["sh:echo made > made.txt && git add made.txt && git commit -q -m made"]
        cli_repo.task("play:work")
        result = cli_repo.spawn()
        assert cli_repo.repo.git("log", "-1", "--format=%an %ce").strip() == "Grace grace@example.org", result

    def test_the_installed_layer_is_loaded(self, cli_repo: CliRepo) -> None:
        """A typed command reaches the model as sow's text, and every session gets GEMINI.md about sow."""
        cli_repo.repo.ok("install", "gemini")
        cli_repo.repo.environment |= {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true"}
        arguments = [install.binary("gemini"), "-m", self.model, "--yolo", "-o", "json"]
        result = layer.run(cli_repo.repo, [*arguments, "-p", "/project:new Add a shop [[text:ok]]"])
        assert result.returncode == 0, result
        asked = cli_repo.asked(-1) + json.dumps(cli_repo.stub.requests()[-1]["body"])
        assert "Start a project for this goal:\n\nAdd a shop" in asked
        assert "a system of work for coding agents" in asked

    def test_it_reviews_in_the_sandbox(self, repo: Repo, tmp_path: Path) -> None:
        """A run in the sandbox whose reviewer is Gemini sends one task back and merges all three."""
        repo.environment["SOW_SANDBOX"] = "bwrap"
        with real_run("claude", "gemini", repo, tmp_path) as ours:
            ours.crew(claude="sonnet", gemini=self.model)
            ours.check(0.0004)
