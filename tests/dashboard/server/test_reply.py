"""Cached replies: equal for equal data, and limited in number."""

from __future__ import annotations

import pytest
from conftest import Repo
from support.journals import MadeUpRun, home_of

from sow.dashboard.server import reply, single_flight
from sow.dashboard.server.reply import Reply
from sow.dashboard.server.server import Server
from sow.dashboard.server.single_flight import ReplyCache


def of(size: int) -> Reply:
    return Reply(200, b"x" * size, reply.JSON, ())


def test_a_reply_is_valid_for_its_facts():
    """The same facts give the cached reply; other facts, or another name, give none."""
    kept = ReplyCache()
    first, second = of(1), of(2)
    kept.keep("a", (1, None), first)
    assert kept.get("a", (1, None)) is first
    assert kept.get("a", (2, None)) is None
    assert kept.get("b", (1, None)) is None
    kept.keep("a", (2, None), second)
    assert kept.get("a", (1, None)) is None
    assert kept.get("a", (2, None)) is second


@pytest.mark.parametrize(
    "size", [1, single_flight.MOST_BYTES // 3, single_flight.MOST_BYTES, single_flight.MOST_BYTES + 1]
)
def test_the_cache_is_limited(size: int):
    """Neither the bytes nor the names exceed their limit, and the latest replies stay."""
    kept, body = ReplyCache(), of(size)
    for number in range(100):
        kept.keep(str(number % 60), number, body)
        assert kept.size == sum(len(value.body) for _, value in kept.kept.values()) <= single_flight.MOST_BYTES
        assert len(kept.kept) <= single_flight.MOST
    assert (kept.get("39", 99) is body) == (size <= single_flight.MOST_BYTES)


def test_the_second_page_gets_the_cached_report(repo: Repo):
    """A server makes the report of a run once for all requests while nothing changes."""
    repo.ok("task", "create", "--name", "First")
    journal = MadeUpRun(repo, ["010"])
    journal.begin()
    journal.end(5)
    server = Server(home_of(repo), repo.environment, person="ada", port=0)
    facts = server.listener.facts
    try:
        assert facts.run_mark(journal.folder.id) == facts.run_mark(journal.folder.id)
        assert facts.timeline_mark(journal.folder.id) == facts.timeline_mark(journal.folder.id)
        before = facts.run_mark(journal.folder.id), facts.timeline_mark(journal.folder.id)
        journal.add(6, "step", task="010", text="x")
        assert not set(before) & {facts.run_mark(journal.folder.id), facts.timeline_mark(journal.folder.id)}
    finally:
        server.stop()
