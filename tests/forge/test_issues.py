"""Issues through the real gh: one with its comments, and the open ones with a label."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Repo
from support.forge_server import TOKEN, ForgeServer

from sow.errors import SowError
from sow.forge.connect import connect
from sow.forge.forge import Forge, ForgeError


@pytest.fixture
def forge(bare_repo: Repo, server: ForgeServer, tmp_path: Path) -> Forge:
    bare_repo.git("remote", "add", "origin", server.url())
    bare_repo.environment |= server.environment(tmp_path)
    return connect(str(bare_repo.root), bare_repo.environment)


def test_an_issue_has_its_texts_and_comments(server: ForgeServer, forge: Forge):
    number = server.add_issue("Add a crane", "It lifts.\r\nA lot.", labels=("sow", "big"))
    server.comment(number, "Blue, please.", author="eve")
    issue = forge.issue(number)
    assert (issue.number, issue.title, issue.body, issue.state) == (number, "Add a crane", "It lifts.\nA lot.", "open")
    assert (issue.labels, issue.author) == (("sow", "big"), "ada")
    assert [(comment.author, comment.body) for comment in issue.comments] == [("eve", "Blue, please.")]
    assert server.tokens == {TOKEN}


def test_issues_with_a_label_are_read_to_the_last_page(server: ForgeServer, forge: Forge):
    for name in ("One", "Two", "Three"):
        server.add_issue(name, labels=("sow",))
    server.add_issue("Other")
    server.pulls[99] = {"state": "open"}
    assert [issue.title for issue in forge.issues("sow")] == ["One", "Two", "Three"]
    assert len(server.calls("GET .*/issues")) == 2


def test_only_a_person_with_write_access_can_write(server: ForgeServer, forge: Forge):
    server.access |= {"grace": "write", "mallory": "triage"}
    assert [forge.can_write(name) for name in ("ada", "grace", "mallory", "nobody")] == [True, True, False, False]


def test_a_missing_issue_is_an_error_of_the_caller(server: ForgeServer, forge: Forge):
    with pytest.raises(ForgeError, match="404") as excinfo:
        forge.issue(7)
    assert (excinfo.value.status, excinfo.value.exit_code) == (404, 2)


def test_a_limit_says_when_it_ends(server: ForgeServer, forge: Forge):
    server.fail("GET .*/issues/1", 403, {"message": "secondary rate limit"}, Retry_After="7")
    with pytest.raises(ForgeError, match="7 seconds") as excinfo:
        forge.issue(1)
    assert (excinfo.value.seconds, excinfo.value.exit_code) == (7, 4)


def test_texts_of_strangers_are_cleaned(server: ForgeServer, forge: Forge):
    number = server.add_issue("\x1b[2J", f"see {TOKEN} and https://joe:hunter2@example.org/")
    issue = forge.issue(number)
    assert "\x1b" not in issue.title
    assert TOKEN not in issue.body
    assert "hunter2" not in issue.body


def test_without_a_login_no_request_is_sent(bare_repo: Repo, server: ForgeServer, tmp_path: Path):
    bare_repo.git("remote", "add", "origin", server.url())
    environment = bare_repo.environment | server.environment(tmp_path)
    del environment["GH_ENTERPRISE_TOKEN"]
    with pytest.raises(SowError) as excinfo:
        connect(str(bare_repo.root), environment)
    assert excinfo.value.exit_code == 4
    assert f"gh auth login --hostname {server.host};" in excinfo.value.hint


def test_without_gh_the_error_says_how_to_get_it(bare_repo: Repo, tmp_path: Path):
    bare_repo.git("remote", "add", "origin", "https://github.com/harbour/cranes")
    with pytest.raises(SowError, match="gh is not installed") as excinfo:
        connect(str(bare_repo.root), {"PATH": str(tmp_path)})
    assert "https://cli.github.com" in excinfo.value.hint


def test_without_a_remote_the_error_lists_the_remotes(bare_repo: Repo):
    bare_repo.git("remote", "add", "upstream", "https://github.com/harbour/cranes")
    with pytest.raises(SowError, match="no remote 'origin'; there is upstream"):
        connect(str(bare_repo.root), bare_repo.environment)
