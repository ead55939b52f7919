"""The event feed: each event is sent once, in order, and continues where a page was disconnected."""

from __future__ import annotations

import shutil
import threading
from typing import Any

import pytest
from conftest import Repo
from support.dashboard_data import facts_of, sent_events
from support.journals import MadeUpRun
from support.plan_repo import WORK, PlanRepo
from support.simulated_workers import wait_for

from sow.dashboard.data.dashboard_data import DashboardData
from sow.dashboard.data.watcher import MOST_KEPT


def kinds(events: list[Any]) -> list[str]:
    return [kind for kind, _ in events]


def refresh(facts: DashboardData) -> None:
    facts.watch.refresh(whole=True)


def test_a_feed_starts_with_a_greeting(task_repo: Repo):
    """The first event has the position; without changes no other follows."""
    facts = facts_of(task_repo)
    cursor = facts.state()["cursor"]
    with facts.feed(cursor) as feed:
        ((ident, kind, data),) = feed.next(1)
        assert (ident, kind, data) == (cursor, "hello", {"cursor": cursor, "restarted": False})
        assert feed.next(0.2) == []


def test_a_changed_task_is_sent_with_its_dependents(task_repo: Repo):
    """Rows are sent for the changed task and for the one that it unblocks; the inbox follows."""
    task_repo.ok("task", "create", "--name", "Two", "--depends-on", "010")
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    facts = facts_of(task_repo)
    with facts.feed("") as feed:
        feed.next(1)
        task_repo.ok("approve", "010")
        refresh(facts)
        rows = {row["id"]: row for row in (data for _, data in sent_events(feed, "task"))}
        assert (rows["010"]["status"], rows["020"]["waits_for"]) == ("completed", [])
        wait_for(lambda: facts.watch.inbox == [])


def test_entries_become_lines_and_spans(repo: Repo):
    """An entry of the journal becomes a sentence and a part of the timeline at once."""
    repo.ok("task", "create", "--name", "One")
    journal = MadeUpRun(repo, ["010"])
    journal.begin()
    facts = facts_of(repo)
    with facts.feed("") as feed:
        feed.next(1)
        journal.turn(1, 3, "010")
        events = sent_events(feed, "line", "spans", seconds=1)
    lines = [data["text"] for kind, data in events if kind == "line"]
    assert lines == ["started, implementer on claude-code"]
    added = [span for kind, data in events if kind == "spans" for span in data["add"]]
    assert [(span["id"], span["to"] is None) for span in added] == [(1, True), (1, False)]


def test_a_returning_page_misses_nothing(repo: Repo):
    """A page that was disconnected gets the missed events in order and once, and no earlier ones."""
    repo.ok("task", "create", "--name", "One")
    journal = MadeUpRun(repo, ["010"])
    journal.begin()
    facts = facts_of(repo)
    with facts.feed("") as feed:
        feed.next(1)
        journal.add(1, "conflict", task="010", paths=["a"])
        refresh(facts)
        (last, _, _) = feed.next(1)[0]
    journal.add(2, "conflict", task="010", paths=["b"])
    journal.add(3, "conflict", task="010", paths=["c"])
    refresh(facts)
    with facts.feed(last) as feed:
        assert feed.next(1)[0][2]["restarted"] is False
        texts = [data["text"] for _, data in sent_events(feed, "line")]
    assert texts == ["merge conflict in b", "merge conflict in c"]


def test_a_page_of_a_restarted_server_gets_the_missed_lines(repo: Repo):
    """After a restart the journal gives the missed lines, and everything else is loaded again."""
    repo.ok("task", "create", "--name", "One")
    journal = MadeUpRun(repo, ["010"])
    journal.begin()
    journal.add(1, "conflict", task="010", paths=["a"])
    cursor = facts_of(repo).state()["cursor"]
    journal.add(2, "conflict", task="010", paths=["b"])
    with facts_of(repo).feed(cursor) as feed:
        events = feed.next(1)
    assert events[0][2]["restarted"] is True
    assert [data["text"] for _, kind, data in events if kind == "line"] == ["merge conflict in b"]
    assert events[-1][1] == "stale"


def test_an_unknown_position_reloads_everything(repo: Repo):
    """An unknown id, or one of a deleted run, is answered with the request to load everything."""
    facts = facts_of(repo)
    for after in ("nonsense", "abcd.1.2.20200101-000000-aaaa", "a" * 5000, "1.2.3"):
        with facts.feed(after) as feed:
            assert [kind for _, kind, _ in feed.next(1)] == ["hello", "stale"]


def test_a_page_that_falls_behind_reloads_everything(repo: Repo):
    """More events than are kept are not repeated one by one."""
    repo.ok("task", "create", "--name", "One")
    journal = MadeUpRun(repo, ["010"])
    journal.begin()
    facts = facts_of(repo)
    with facts.feed("") as feed:
        feed.next(1)
        with facts.watch.condition:
            for number in range(MOST_KEPT + 1):
                journal.add(number + 1, "conflict", task="010", paths=["a"])
            facts.watch.refresh()
        assert [kind for _, kind, _ in feed.next(1)] == ["stale"]


def test_a_torn_line_is_sent_when_complete(repo: Repo):
    """Half an entry is told when it is whole."""
    repo.ok("task", "create", "--name", "One")
    journal = MadeUpRun(repo, ["010"])
    journal.begin()
    facts = facts_of(repo)
    with facts.feed("") as feed:
        feed.next(1)
        with open(journal.folder.journal_path, "a") as file:
            file.write('{"at": "2026-09-21T14:33:21Z", "event": "conflict", "t": 1, ')
            file.flush()
            assert sent_events(feed, "line") == []
            file.write('"task": "010", "paths": ["a"]}\n')
        assert [data["text"] for _, data in sent_events(feed, "line", seconds=1)] == ["merge conflict in a"]


def test_a_deleted_run_is_reported(repo: Repo):
    """A page that follows a run is told to reload when its folder is deleted, and the state has no run."""
    repo.ok("task", "create", "--name", "One")
    journal = MadeUpRun(repo, ["010"])
    journal.begin()
    facts = facts_of(repo)
    assert facts.state()["run"]["id"] == journal.folder.id
    with facts.feed("") as feed:
        feed.next(1)
        shutil.rmtree(journal.folder.folder)
        refresh(facts)
        assert "stale" in kinds(sent_events(feed))
        assert facts.state()["run"] is None
    MadeUpRun(repo, ["010"]).begin()
    refresh(facts)
    assert facts.state()["run"]["id"] == journal.folder.id


def test_reading_stops_without_pages(task_repo: Repo):
    """The thread that reads starts with the first page and ends with the last."""
    others = set(threading.enumerate())  # a page of a test before this one may just be closing
    facts = facts_of(task_repo)
    facts.state()
    assert facts.watch.thread is None
    feeds = [facts.feed("") for _ in range(3)]
    thread = facts.watch.thread
    assert thread is not None
    for feed in feeds:
        feed.close()
    thread.join(60)
    assert not thread.is_alive()
    assert facts.watch.thread is None
    assert not set(threading.enumerate()) - others


def test_a_feed_that_cannot_begin_has_no_reader(task_repo: Repo):
    """If the first read fails there is no listener, and the thread ends."""
    (task_repo.root / ".sow/local/runs").write_text("")
    facts = facts_of(task_repo)
    with pytest.raises(NotADirectoryError):
        facts.feed("")
    assert facts.watch.listeners == 0


def test_closing_ends_waiting_pages(task_repo: Repo):
    """A page that waits for an event does not delay the end of the server."""
    facts = facts_of(task_repo)
    feed = facts.feed("")
    feed.next(1)
    waiting = threading.Thread(target=feed.next, args=(60,))
    waiting.start()
    facts.close()
    waiting.join(60)
    assert not waiting.is_alive()


class Page:
    """Follows a feed as a page does: events patch its rows, and it reloads when told to."""

    def __init__(self, facts: DashboardData) -> None:
        self.facts = facts
        self.rows: dict[str, Any] = {}
        self.lines: list[str] = []
        self.runs: list[Any] = []

    def take(self, events: list[Any]) -> None:
        for _, kind, data in events:
            if kind == "task":
                self.rows[data["id"]] = data
            elif kind == "stale":
                self.rows = {row["id"]: row for row in self.facts.state()["tasks"]}
            elif kind == "line":
                self.lines.append(data["event"])
            elif kind == "run":
                self.runs.append(data)

    def knows_all(self) -> bool:
        """Tells whether it shows the same as the state, and that the run is over."""
        rows = {row["id"]: row for row in self.facts.state()["tasks"]}
        return self.rows == rows and "run_ended" in self.lines and not self.runs[-1]["live"]


def test_a_real_run_is_followed_to_its_end(plan_repo: PlanRepo):
    """Lines come in order, and at the end the rows of the page equal the state."""
    plan_repo.repo.ok("init")
    plan_repo.plan("First", "Second < 1")
    seen = plan_repo.folder / "seen"
    plan_repo.act("implementer-020", f"until [ -e {seen} ]; do sleep 0.05; done\n{WORK}")
    facts = facts_of(plan_repo.repo)
    page = Page(facts)
    with facts.feed("") as feed:
        run = plan_repo.start()
        wait_for(lambda: page.take(feed.next(0.2)) or page.runs, 60)
        seen.touch()
        wait_for(lambda: page.take(feed.next(0.2)) or (page.runs and page.runs[-1]["status"] == "ended"), 60)
        assert run.wait(60) == 0
        wait_for(lambda: page.take(feed.next(0.2)) or page.knows_all(), 60)
        assert page.knows_all()
    assert (page.lines[0], page.lines.count("merged"), page.lines[-1]) == ("run_started", 2, "run_ended")
    assert (page.runs[0]["live"], page.runs[-1]["live"], page.runs[-1]["status"]) == (True, False, "ended")
