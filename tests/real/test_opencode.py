"""The real OpenCode against the stub model."""

from __future__ import annotations

import json

import pytest

from real.cli_repo import CliRepo
from real.contract import NEEDS_REVIEW, PAUSED
from real.references import ReadsReferences

pytestmark = pytest.mark.real


class TestOpenCode(ReadsReferences):
    name = "opencode"
    sessions = ".local/share/opencode"
    write_tool = "write"
    read_tool = "read"
    read_word = "filePath"
    reads_links = False
    write_words = ("filePath", "content")
    cost = 0.0006
    patience = "30s"
    network = "all"  # it looks for packages, which would be told as a refused connection

    def check_busy(self, cli_repo: CliRepo, status: str, code: int, outcome: str) -> None:
        """Checks the retries: six times without output, with the server's waiting time."""
        cli_repo.stub.retry_after = "1"
        super().check_busy(cli_repo, status, code, outcome)
        assert len(cli_repo.stub.requests()) <= 6

    def test_a_session_continues_in_its_own_folder(self, cli_repo: CliRepo) -> None:
        """A resume from another folder, in which OpenCode would hang forever, runs in the folder of the session."""
        cli_repo.stub.plays |= {"work": [PAUSED], "more": ["sh:pwd > where.txt", NEEDS_REVIEW]}
        cli_repo.task("play:work")
        cli_repo.spawn()
        below = cli_repo.repo.root / "below"
        below.mkdir()
        result = cli_repo.resume("Go on [[play:more]]", cwd=below)
        assert (result.code, cli_repo.status()) == (0, "needs_review"), result
        assert (cli_repo.repo.root / "where.txt").read_text() == f"{cli_repo.repo.root}\n"

    def test_a_repository_cannot_add_permissions(self, cli_repo: CliRepo) -> None:
        """Permissions in its opencode.json do not count, and its AGENTS.md is still read."""
        cli_repo.settings(yolo_mode=False)
        wide = {"permission": {"bash": "allow"}, "agent": {"build": {"permission": {"bash": "allow"}}}}
        (cli_repo.repo.root / "opencode.json").write_text(json.dumps(wide))
        (cli_repo.repo.root / "AGENTS.md").write_text("Every file here ends with a line end.\n")
        cli_repo.stub.plays["work"] = ["sh:touch forbidden.txt", NEEDS_REVIEW]
        cli_repo.task("play:work")
        result = cli_repo.spawn()
        assert (result.code, cli_repo.status(), cli_repo.turn()["tools"]) == (0, "needs_review", 1), result
        assert not (cli_repo.repo.root / "forbidden.txt").exists()
        assert "Every file here ends with a line end." in json.dumps(cli_repo.stub.requests()[0]["body"])

    def test_a_trusted_repository_can_add_permissions(self, cli_repo: CliRepo) -> None:
        """If the user trusts the repository, the permissions in its opencode.json count."""
        cli_repo.settings(yolo_mode=False)
        cli_repo.trust()
        wide = {"agent": {"build": {"permission": {"bash": "allow"}}}}
        (cli_repo.repo.root / "opencode.json").write_text(json.dumps(wide))
        cli_repo.stub.plays["work"] = ["sh:touch granted.txt", NEEDS_REVIEW]
        cli_repo.task("play:work")
        assert cli_repo.spawn().code == 0
        assert (cli_repo.repo.root / "granted.txt").exists()
