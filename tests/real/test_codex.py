"""The real Codex against the stub model."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import ClassVar

import pytest
from conftest import Repo

from real import install, layer
from real.cli_repo import CliRepo, stop, wait_for
from real.contract import NEEDS_REVIEW
from real.follow_ups import SettlesFindings
from real.hostile_repositories import IgnoresSteering
from real.real_run import real_run

pytestmark = pytest.mark.real


class TestCodex(IgnoresSteering, SettlesFindings):
    name = "codex"
    sessions = ".codex/sessions"
    judge_calls_sow = False
    test_without_configuration_it_runs_the_tests = None  # in its sandbox any command runs, with a PATH of its own
    words_file = "AGENTS.md"
    words = "AGENTS.md"  # which it is told to read
    steering: ClassVar[dict[str, str]] = {
        ".codex/config.toml": 'notify = ["touch", "ROOT/steered-1"]\n'
        '[shell_environment_policy.set]\nSTEERED = "yes"\n'
        '[mcp_servers.x]\ncommand = "touch"\nargs = ["ROOT/steered-2"]\n'
    }
    custom_args = ("--config", "sandbox_workspace_write.exclude_slash_tmp=true")  # tests live there, so close it

    def test_the_launcher_of_npm_leaves_no_process(self, cli_repo: CliRepo) -> None:
        """Most people run Codex through a script of Node: Ctrl-C ends the script, Codex and its tool."""
        folder = install.cache() / f"codex-{install.PINNED['codex'][2]}"
        cli_repo.settings(yolo_mode=True, binary=str(folder / "node_modules/.bin/codex"))
        cli_repo.stub.plays["more"] = [NEEDS_REVIEW]
        self.make_sleeper(cli_repo)
        cli_repo.task("sh:./sleeper")
        process = cli_repo.start()
        wait_for(lambda: any("300.5" in words for words in cli_repo.marked()))
        assert len([words for words in cli_repo.marked() if "codex" in Path(words[0]).name or "node" in words[0]]) >= 2
        assert stop(process, signal.SIGINT)[0] == 130
        assert cli_repo.marked() == []
        result = cli_repo.resume("Go on [[play:more]]")
        assert (result.code, cli_repo.status(), len(cli_repo.session()["turns"])) == (0, "needs_review", 2), result

    @pytest.mark.parametrize("sandbox", ["off", "bwrap"])
    def test_codex_reviews_the_work_of_claude(self, repo: Repo, tmp_path: Path, sandbox: str) -> None:
        """A run whose workers are Claude Code and whose reviewer is Codex sends one task back and merges all three."""
        repo.environment["SOW_SANDBOX"] = sandbox
        with real_run("claude", "codex", repo, tmp_path) as ours:
            ours.crew(claude="sonnet")
            ours.check(0.0004)

    @pytest.mark.parametrize("more", [[], ["--user"]], ids=["repository", "home"])
    def test_the_installed_layer_is_loaded(self, cli_repo: CliRepo, more: list[str]) -> None:
        """Every session gets AGENTS.md about sow, and a named skill loads sow's text."""
        cli_repo.repo.ok("install", "codex", *more)
        text = [install.binary("codex"), "exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "-"]
        result = layer.run(cli_repo.repo, text, "$sow-project-new Add a shop [[text:ok]]")
        assert result.returncode == 0, result
        asked = cli_repo.asked(-1) + json.dumps(cli_repo.stub.requests()[-1]["body"])
        assert "a system of work for coding agents" in asked
        assert "You are the orchestrator from here on" in asked and "Add a shop" in asked
