"""Comments of a pull request through the real gh."""

from __future__ import annotations

from pathlib import Path

from conftest import Repo
from support.forge_server import ForgeServer

from sow.forge.connect import connect


def test_the_newest_comment_of_many_is_seen_and_an_approval_asks_for_nothing(
    bare_repo: Repo, server: ForgeServer, tmp_path: Path
):
    """GitHub lists the comments of a request oldest first; a short list needs three calls."""
    bare_repo.git("remote", "add", "origin", server.url())
    bare_repo.environment |= server.environment(tmp_path)
    bare_repo.git("push", "-q", "origin", "HEAD:refs/heads/main")
    number = server.open_pull("main", "Cranes", "")
    forge = connect(str(bare_repo.root), bare_repo.environment)
    request = forge.request(number)
    server.requests.clear()
    assert forge.comments(request) == []
    assert len(server.calls()) == 3
    for count in range(130):
        server.comment(number, f"comment {count}")
    base = {"user": server.person("ada"), "submitted_at": "2026-01-01T00:00:00Z"}
    server.reviews[number] = [
        {"id": 1, "body": "Fine!", "state": "APPROVED", **base},
        {"id": 2, "body": "Not yet.", "state": "CHANGES_REQUESTED", **base},
    ]
    texts = [comment.body for comment in forge.comments(request)]
    assert len(texts) == 131
    assert {"comment 129", "Not yet."} <= {*texts}
    assert "Fine!" not in texts
