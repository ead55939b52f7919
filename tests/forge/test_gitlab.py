"""Issues and merge requests of GitLab through a stand-in for glab."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Repo
from support.gitlab_server import GitLabServer

from sow.forge.connect import connect
from sow.forge.forge import FAILED, MERGED, NEEDS_PERSON, PASSED, PENDING, Forge, ForgeError

SECRET = "glpat-" + "abcdefghij0123456789"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitLabServer]:
    folder = tmp_path / "forge"
    folder.mkdir()
    made = GitLabServer(folder)
    made.add_repository()
    yield made
    made.close()


@pytest.fixture
def forge(bare_repo: Repo, server: GitLabServer, tmp_path: Path) -> Forge:
    """A repository on GitLab, whose branch feat/cranes has one commit."""
    bare_repo.environment |= server.environment(tmp_path)
    bare_repo.git("remote", "add", "origin", server.url())
    bare_repo.git("push", "-q", "origin", "HEAD:refs/heads/main")
    bare_repo.git("commit", "-q", "--allow-empty", "-m", "Add cranes")
    bare_repo.git("push", "-q", "origin", "HEAD:refs/heads/feat/cranes")
    return connect(str(bare_repo.root), bare_repo.environment)


def test_the_program_that_is_logged_in_shows_the_kind_of_the_host(forge: Forge):
    assert (forge.noun, forge.remote.path) == ("merge request", "harbour/cranes")
    facts = forge.facts()
    assert (facts.default_branch, facts.can_push, facts.user) == ("main", True, "ada")


def test_a_merge_request_is_opened_changed_and_merged(server: GitLabServer, forge: Forge):
    """A draft is the prefix of the title; the merge sends the sha that was verified."""
    assert forge.find_request("feat/cranes", "harbour/cranes") is None
    made = forge.create_request(
        branch="feat/cranes", source="harbour/cranes", base="main", title="Cranes", body="Text", draft=True
    )
    assert (made.title, made.is_draft, made.merge_state) == ("Cranes", True, "draft")
    assert forge.find_request("feat/cranes", "harbour/cranes") == made
    forge.update_request(made, title="Cranes", body="More")
    assert (server.pulls[made.number]["title"], server.pulls[made.number]["body"]) == ("Draft: Cranes", "More")
    forge.set_draft(made, draft=False)
    ready = forge.request(made.number)
    assert (ready.title, ready.is_draft, ready.merge_state) == ("Cranes", False, "clean")
    with pytest.raises(ForgeError, match="rebases by a setting"):
        forge.merge(made, sha=made.head_sha, method="rebase")
    with pytest.raises(ForgeError, match="SHA does not match") as caught:
        forge.merge(made, sha="1" * 40, method="squash")
    assert caught.value.status == 409
    commit = forge.merge(made, sha=made.head_sha, method="squash")
    assert commit == server.branch_head("main")
    assert forge.request(made.number).state == MERGED
    assert server.sent[-2][1] == {"sha": made.head_sha, "squash": True}


def test_a_second_request_of_a_branch_is_refused_with_its_reason(forge: Forge):
    """GitLab gives reasons as a list."""
    fields = {"branch": "feat/cranes", "source": "harbour/cranes", "base": "main", "title": "Cranes", "body": ""}
    forge.create_request(**fields, draft=False)  # type: ignore[arg-type]
    with pytest.raises(ForgeError, match="Another open merge request already exists"):
        forge.create_request(**fields, draft=False)  # type: ignore[arg-type]


def test_jobs_and_notes_of_a_merge_request(server: GitLabServer, forge: Forge):
    """Jobs are checks with a log, except those that may fail; a note of the system is no comment."""
    number = server.open_pull("feat/cranes", "Cranes", "")
    head = server.branch_head("feat/cranes")
    ends = [("unit", "success"), ("lint", "failure"), ("deploy", "manual"), ("docs", "")]
    server.checks[head] = [server.check_run(name, end, log=f"first\nkey={SECRET}\nlast\n") for name, end in ends]
    server.checks[head].append(server.check_run("style", "failure") | {"allow_failure": True})
    server.access["grace"] = "write"
    said = [
        server.comment(number, "lint", author="group_5_bot"),
        server.comment_on_line(number, "crane.py", 3, "Why?", author="grace"),
        server.comment_on_line(number, "crane.py", 4, "Where is it?", author="grace", side="LEFT"),
    ]
    request = forge.request(number)
    checks = forge.checks(head, request)
    assert [check.state for check in checks] == [PASSED, FAILED, NEEDS_PERSON, PENDING]
    assert forge.job_log(checks[1], 1000) == "first\nkey=***\nlast\n"
    server.logs.clear()
    assert forge.job_log(checks[1], 1000) == ""
    forge.rerun(checks[1])
    assert [check.state for check in forge.checks(head, request)] == [PASSED, PASSED, NEEDS_PERSON, PENDING]
    comments = {comment.id: comment for comment in forge.comments(request)}
    assert list(comments) == [str(ident) for ident in said]
    bot, line, removed = comments.values()
    assert (bot.is_bot, bot.path, bot.url) == (True, "", f"{request.url}#note_{bot.id}")
    assert (line.is_bot, line.path, line.line, line.commit, line.is_removed) == (False, "crane.py", 3, head, False)
    assert (removed.path, removed.line, removed.commit, removed.is_removed) == ("crane.py", 4, head, True)
    written = forge.reply(request, "done")
    assert written in {comment.id for comment in forge.comments(request)}


def test_only_a_developer_can_write(server: GitLabServer, forge: Forge):
    server.access |= {"grace": "write", "mallory": "read"}
    assert forge.can_write("grace")
    assert not forge.can_write("mallory")
    assert not forge.can_write("grac")
    assert not forge.can_write("nobody")


def test_issues_are_read_with_their_notes(server: GitLabServer, forge: Forge):
    """A note of the system is no comment, and a list has several pages."""
    number = server.add_issue("Add a crane", "Big.", author="grace", labels=("sow",))
    server.comment(number, "How big?", author="mallory")
    issue = forge.issue(number)
    assert (issue.title, issue.body, issue.state, issue.author) == ("Add a crane", "Big.", "open", "grace")
    assert [(comment.author, comment.body) for comment in issue.comments] == [("mallory", "How big?")]
    for count in range(4):
        server.add_issue(f"Number {count}", labels=("sow",))
    server.add_issue("Another")
    assert len(forge.issues("sow")) == 5
