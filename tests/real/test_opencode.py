"""The real OpenCode against the stub model."""

from __future__ import annotations

import json

import pytest

from real.contract import NEEDS_REVIEW, PAUSED
from real.references import ReadsReferences
from real.workshop import Workshop

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

    def check_busy(self, workshop: Workshop, status: str, code: int, outcome: str) -> None:
        """It tries six times without a word, and waits between as long as the server says."""
        workshop.stub.retry_after = "1"
        super().check_busy(workshop, status, code, outcome)
        assert len(workshop.stub.requests()) <= 6

    def test_a_session_goes_on_in_its_own_folder(self, workshop: Workshop) -> None:
        """A resume from another folder, in which OpenCode would hang for ever, runs where the session was made."""
        workshop.stub.plays |= {"work": [PAUSED], "more": ["sh:pwd > where.txt", NEEDS_REVIEW]}
        workshop.task("play:work")
        workshop.spawn()
        below = workshop.repo.root / "below"
        below.mkdir()
        result = workshop.resume("Go on [[play:more]]", cwd=below)
        assert (result.code, workshop.status()) == (0, "needs_review"), result
        assert (workshop.repo.root / "where.txt").read_text() == f"{workshop.repo.root}\n"

    def test_a_repository_cannot_widen_its_permissions(self, workshop: Workshop) -> None:
        """What its opencode.json grants is not granted, and what its AGENTS.md says is heard all the same."""
        workshop.settings(yolo_mode=False)
        wide = {"permission": {"bash": "allow"}, "agent": {"build": {"permission": {"bash": "allow"}}}}
        (workshop.repo.root / "opencode.json").write_text(json.dumps(wide))
        (workshop.repo.root / "AGENTS.md").write_text("Every file here ends with a line end.\n")
        workshop.stub.plays["work"] = ["sh:touch forbidden.txt", NEEDS_REVIEW]
        workshop.task("play:work")
        result = workshop.spawn()
        assert (result.code, workshop.status(), workshop.turn()["tools"]) == (0, "needs_review", 1), result
        assert not (workshop.repo.root / "forbidden.txt").exists()
        assert "Every file here ends with a line end." in json.dumps(workshop.stub.requests()[0]["body"])

    def test_a_trusted_repository_may_widen_its_permissions(self, workshop: Workshop) -> None:
        """Where the user trusts the repository, what its opencode.json grants is granted."""
        workshop.settings(yolo_mode=False)
        workshop.trust()
        wide = {"agent": {"build": {"permission": {"bash": "allow"}}}}
        (workshop.repo.root / "opencode.json").write_text(json.dumps(wide))
        workshop.stub.plays["work"] = ["sh:touch granted.txt", NEEDS_REVIEW]
        workshop.task("play:work")
        assert workshop.spawn().code == 0
        assert (workshop.repo.root / "granted.txt").exists()
