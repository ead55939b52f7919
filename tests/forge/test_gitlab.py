"""Merge requests of GitLab through a stand-in for glab, which answers as its manual says."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo
from support.paths import ROOT

from sow.forge.connect import connect
from sow.forge.forge import FAILED, NEEDS_PERSON, PASSED, PENDING, Forge, ForgeError

PROJECT = "projects/group%2Fteam%2Fcranes"
REQUEST = {
    "iid": 7, "id": 70, "web_url": "https://gitlab.example.org/group/team/cranes/-/merge_requests/7", "state": "opened",
    "draft": True, "title": "Draft: Cranes", "description": "Text", "sha": "1" * 40, "target_branch": "main",
    "detailed_merge_status": "mergeable",
}  # fmt: skip
Answers = Callable[[dict[str, Any]], None]


@pytest.fixture
def gitlab(bare_repo: Repo, tmp_path: Path) -> tuple[Forge, Answers, Path]:
    """A repository on GitLab, a function that sets the answers, and the log of the calls."""
    glab = tmp_path / "programs" / "glab"
    glab.parent.mkdir()
    glab.write_text(f"#!{sys.executable}\n{(ROOT / 'tests/fakes/glab.py').read_text()}")
    glab.chmod(0o755)
    answers = tmp_path / "answers.json"
    bare_repo.environment |= {"GLAB_STAND_IN": str(answers)}
    bare_repo.environment["PATH"] = f"{glab.parent}:{bare_repo.environment['PATH']}"
    bare_repo.git("remote", "add", "origin", "git@gitlab.example.org:group/team/cranes.git")
    forge = connect(str(bare_repo.root), bare_repo.environment)
    return forge, lambda data: answers.write_text(json.dumps(data)) and None, Path(f"{answers}.log")


def test_a_merge_request_is_opened_changed_and_merged(gitlab: tuple[Forge, Answers, Path]):
    """A draft is the prefix of the title; the merge sends the sha that was verified."""
    forge, answer, log = gitlab
    merged = REQUEST | {"state": "merged", "merge_commit_sha": "2" * 40}
    answer({
        f"POST {PROJECT}/merge_requests": REQUEST,
        f"PUT {PROJECT}/merge_requests/7": REQUEST,
        f"PUT {PROJECT}/merge_requests/7/merge": merged,
        f"GET {PROJECT}/merge_requests?source_branch=feat%2Fcranes&state=opened": [REQUEST],
        f"POST {PROJECT}/merge_requests/7/notes": {"id": 5},
    })  # fmt: skip
    made = forge.create_request(
        branch="feat/cranes", owner="group/team", base="main", title="Cranes", body="Text", draft=True
    )
    assert (made.number, made.title, made.is_draft, made.merge_state) == (7, "Cranes", True, "clean")
    assert forge.find_request("feat/cranes", "group/team") == made
    forge.update_request(made, title="Cranes", body="More")
    forge.set_draft(made, draft=False)
    assert forge.reply(made, "done") == "5"
    assert forge.merge(made, sha="1" * 40, method="squash") == "2" * 40
    sent = [body for _, body in map(json.loads, log.read_text().splitlines()) if body]
    assert [body.get("title") for body in sent] == ["Draft: Cranes", "Draft: Cranes", "Cranes", None, None]
    assert sent[-1] == {"sha": "1" * 40, "squash": True}
    with pytest.raises(ForgeError, match="rebases by a setting"):
        forge.merge(made, sha="1" * 40, method="rebase")


def test_jobs_and_notes_of_a_merge_request(gitlab: tuple[Forge, Answers, Path]):
    """Jobs are checks with a log, except those that may fail; a note of the system is no comment."""
    forge, answer, _ = gitlab
    statuses = [("unit", "success"), ("lint", "failed"), ("deploy", "manual"), ("docs", "running")]
    statuses_path = f"GET {PROJECT}/repository/commits/{'1' * 40}/statuses?per_page=100"
    jobs = [{"id": number, "name": name, "status": status} for number, (name, status) in enumerate(statuses)]
    place = {"new_path": "crane.py", "new_line": 3, "head_sha": "1" * 40}
    notes = [
        {"id": 1, "body": "Why?", "author": {"username": "grace"}, "created_at": "2026-01-02", "position": place},
        {"id": 2, "body": "approved this", "author": {"username": "grace"}, "system": True},
        {"id": 3, "body": "lint", "author": {"username": "lint", "bot": True}, "created_at": "2026-01-01"},
    ]
    answer({
        f"GET {PROJECT}/merge_requests/7": REQUEST,
        statuses_path: [*jobs, jobs[1] | {"allow_failure": True}],
        f"GET {PROJECT}/merge_requests/7/notes?per_page=100&sort=desc&order_by=updated_at": notes,
        f"GET {PROJECT}/jobs/1/trace": "first\nkey=glpat-abcdefghij0123456789\nlast\n",
        f"POST {PROJECT}/jobs/1/retry": {},
        f"GET {PROJECT}/members/all?query=grace&per_page=100": [{"username": "grace", "access_level": 30}],
    })  # fmt: skip
    request = forge.request(7)
    checks = forge.checks("1" * 40, request)
    assert [check.state for check in checks] == [PASSED, FAILED, NEEDS_PERSON, PENDING]
    assert forge.job_log(checks[1], 1000) == "first\nkey=***\nlast\n"
    forge.rerun(checks[1])
    comments = forge.comments(request)
    assert [(comment.id, comment.is_bot, comment.path, comment.line) for comment in comments] == [
        ("3", True, "", 0),
        ("1", False, "crane.py", 3),
    ]
    assert forge.can_write("grace")
