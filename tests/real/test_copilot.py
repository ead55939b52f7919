"""The real GitHub Copilot CLI against the stub model."""

from __future__ import annotations

import json

import pytest

from real.cli_repo import CliRepo
from real.contract import NEEDS_REVIEW
from real.references import ReadsReferences

pytestmark = pytest.mark.real


class TestCopilot(ReadsReferences):
    name = "copilot"
    sessions = ".copilot"
    write_tool = "create"
    read_tool = "view"
    read_word = "path"
    write_words = ("path", "file_text")
    patience = "20s"
    runs_tests = False  # its rules know a command by its name alone

    def test_a_judge_changes_nothing(self, cli_repo: CliRepo) -> None:
        """A reviewer reads and calls sow; git, which Copilot would let write a file, is denied."""
        root = cli_repo.repo.root
        cli_repo.stub.plays["look"] = [
            "sh:ls -a",
            "sh:git log --output=logged.txt",
            "sh:touch touched.txt",
            self.writing(root / "made.txt"),
            NEEDS_REVIEW,
        ]
        cli_repo.task("play:look", agent="reviewer")
        result = cli_repo.spawn(agent="reviewer")
        assert (result.code, cli_repo.status(), cli_repo.turn()["tools"]) == (0, "needs_review", 2), result
        assert not any((root / name).exists() for name in ("logged.txt", "touched.txt", "made.txt"))

    def test_an_untrusted_repository_gives_only_text(self, cli_repo: CliRepo) -> None:
        """The repository's hooks and servers are not started, while its text for agents reaches the model."""
        root = cli_repo.repo.root
        hook = {"type": "command", "bash": f"touch {root}/steered-1", "timeoutSec": 5}
        server = {"type": "local", "command": "touch", "args": [f"{root}/steered-2"], "tools": ["*"]}
        files = {
            ".github/hooks/hooks.json": {"version": 1, "hooks": {"sessionStart": [hook], "preToolUse": [hook]}},
            ".github/mcp.json": {"mcpServers": {"x": server}},
            ".mcp.json": {"mcpServers": {"x": server}},
        }
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(json.dumps(text))
        (root / "AGENTS.md").write_text("Every file here ends with a line end.\n")
        cli_repo.stub.plays["work"] = [NEEDS_REVIEW]
        cli_repo.task("play:work")
        result = cli_repo.spawn()
        assert (result.code, cli_repo.status()) == (0, "needs_review"), result
        assert "Every file here ends with a line end." in json.dumps(cli_repo.stub.requests()[0]["body"])
        assert list(root.glob("steered-*")) == []
