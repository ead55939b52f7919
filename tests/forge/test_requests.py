"""Comments of a pull request, and forks, through the real gh."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Repo
from support.forge_server import ForgeServer
from support.quick_cases import all_of

from sow.forge.connect import connect
from sow.forge.forge import Forge, ForgeError


@pytest.fixture
def forge(bare_repo: Repo, server: ForgeServer, tmp_path: Path) -> Forge:
    bare_repo.git("remote", "add", "origin", server.url())
    bare_repo.environment |= server.environment(tmp_path)
    bare_repo.git("push", "-q", "origin", "HEAD:refs/heads/main")
    return connect(str(bare_repo.root), bare_repo.environment)


def test_the_newest_comment_is_seen(server: ForgeServer, forge: Forge):
    """One call reads comments, reviews and threads; of comments the newest hundred."""
    number = server.open_pull("main", "Cranes", "")
    request = forge.request(number)
    server.requests.clear()
    assert forge.comments(request) == []
    assert server.calls() == ["POST /graphql"]
    for count in range(130):
        server.comment(number, f"comment {count}")
    base = {"user": server.person("ada"), "created_at": "2026-01-01T00:00:00Z"}
    server.reviews[number] = [
        {"id": 1, "body": "Fine!", "state": "APPROVED", **base},
        {"id": 2, "body": "Not yet.", "state": "CHANGES_REQUESTED", **base},
        {"id": 3, "body": "", "state": "COMMENTED", **base},
    ]
    texts = [comment.body for comment in forge.comments(request)]
    assert len(texts) == 101
    assert {"comment 129", "Not yet."} <= {*texts}
    assert "Fine!" not in texts


def test_comments_keep_their_numbers_and_places(server: ForgeServer, forge: Forge):
    """The ids are those of REST, the name of a bot has its mark, and a removed line is one of the base."""
    server.bots = {"lint[bot]"}
    number = server.open_pull("main", "Cranes", "")
    said = server.comment(number, "Why?", author="lint[bot]")
    line = server.comment_on_line(number, "f.txt", 3, "Here", side="LEFT")
    written = forge.reply(forge.request(number), "Done")
    comments = {comment.id: comment for comment in forge.comments(forge.request(number))}
    assert comments.keys() == {f"issue-{said}", f"line-{line}", written}
    assert (comments[f"issue-{said}"].author, comments[f"issue-{said}"].is_bot) == ("lint[bot]", True)
    place = comments[f"line-{line}"]
    assert (place.path, place.line, place.is_removed, place.commit) == ("f.txt", 3, True, server.branch_head("main"))


def test_all_threads_are_read_and_resolved_ones_left_out(server: ForgeServer, forge: Forge):
    """Threads have pages, because an old one can get a new answer."""
    number = server.open_pull("main", "Cranes", "")
    idents = [server.comment_on_line(number, "f.txt", 1, "Here") for _ in range(120)]
    for item in server.line_comments[number][::2]:
        item["resolved"] = True
    server.requests.clear()
    assert {comment.id for comment in forge.comments(forge.request(number))} == {f"line-{n}" for n in idents[1::2]}
    assert len(server.calls("graphql")) == 2


def test_a_limit_of_graphql_is_a_limit(server: ForgeServer, forge: Forge):
    """GraphQL says it with status 200."""
    request = forge.request(server.open_pull("main", "Cranes", ""))
    server.fail("graphql", 200, {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]})
    with pytest.raises(ForgeError, match="accepts no calls for 60 seconds") as caught:
        forge.comments(request)
    assert caught.value.seconds == 60


def test_the_own_fork_is_found_by_its_name_or_in_the_list(server: ForgeServer, forge: Forge):
    """A repository of the same name that is no fork, another person's fork and a bad answer do not count."""
    assert forge.find_fork("ada") == ""
    server.add_repository("ada")
    server.add_fork("grace")
    assert forge.find_fork("ada") == ""
    server.add_fork("ada", "my-cranes")
    assert forge.find_fork("ada") == "ada/my-cranes"
    server.forks["ada/cranes"] = "harbour/quays"
    assert forge.find_fork("ada") == "ada/my-cranes"
    server.forks["ada/cranes"] = "harbour/cranes"
    assert forge.find_fork("ada") == "ada/cranes"


BAD = [
    {"full_name": "ada/../../etc", "fork": True},
    {"full_name": "ada/cranes\nx", "fork": True},
    {"full_name": "--upload-pack=x/y", "fork": True},
    {"full_name": 7, "fork": True},
    {"full_name": "mallory/cranes", "fork": True},
    {"full_name": "ada/cranes", "fork": True, "archived": True},
    "ada/cranes",
    None,
]


@all_of("answer", BAD)
def test_a_bad_answer_names_no_fork(server: ForgeServer, forge: Forge, answer: object):
    server.fail("^GET /repos/ada/cranes$", 404)
    server.fail("/forks$", 200, [answer])
    assert forge.find_fork("ada") == ""
    root = {"source": {"full_name": "harbour/cranes"}}
    server.fail("^GET /repos/ada/cranes$", 200, answer | root if isinstance(answer, dict) else [answer])
    assert forge.find_fork("ada") == ""
