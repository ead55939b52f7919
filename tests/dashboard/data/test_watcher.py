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


def test_a_feed_greets_and_is_silent(task_repo: Repo):
    """The first word says where we are; then nothing comes while nothing happens."""
    facts = facts_of(task_repo)
    cursor = facts.state()["cursor"]
    with facts.feed(cursor) as feed:
        ((ident, kind, data),) = feed.next(1)
        assert (ident, kind, data) == (cursor, "hello", {"cursor": cursor, "restarted": False})
        assert feed.next(0.2) == []


def test_a_task_that_changes_is_told_with_those_that_wait_for_it(task_repo: Repo):
    """A row comes for the task that moved, and for the one that waits for it no more; the inbox follows."""
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
    """An entry of the journal is a sentence and a part of the timeline within moments of being written."""
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


def test_who_comes_back_misses_nothing(repo: Repo):
    """A page that was cut off gets what happened since, in order and once, and what was sent already not again."""
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


def test_who_comes_back_to_another_server_gets_the_lines_again(repo: Repo):
    """After a restart the journal tells what was missed, and everything else is looked at anew."""
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


def test_an_unknown_position_is_looked_at_anew(repo: Repo):
    """An id that is not ours, or of a run that is gone, is answered with the request to load everything."""
    facts = facts_of(repo)
    for after in ("nonsense", "abcd.1.2.20200101-000000-aaaa", "a" * 5000, "1.2.3"):
        with facts.feed(after) as feed:
            assert [kind for _, kind, _ in feed.next(1)] == ["hello", "stale"]


def test_who_falls_behind_is_told_to_look_anew(repo: Repo):
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


def test_a_torn_line_waits_for_its_end(repo: Repo):
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


def test_a_run_that_is_deleted_is_told(repo: Repo):
    """A page that follows a run is told to look anew when its folder goes, and the state has no run any more."""
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


def test_nobody_looks_when_nobody_listens(task_repo: Repo):
    """The thread that looks begins with the first page and ends with the last."""
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


def test_a_feed_that_cannot_begin_is_no_listener(task_repo: Repo):
    """Where the first look fails nobody listens, and so nobody continues looking."""
    (task_repo.root / ".sow/local/runs").write_text("")
    facts = facts_of(task_repo)
    with pytest.raises(NotADirectoryError):
        facts.feed("")
    assert facts.watch.listeners == 0


def test_closing_lets_everybody_go(task_repo: Repo):
    """Who waits for the next event does not hold up the end of the server."""
    facts = facts_of(task_repo)
    feed = facts.feed("")
    feed.next(1)
    waiting = threading.Thread(target=feed.next, args=(60,))
    waiting.start()
    facts.close()
    waiting.join(60)
    assert not waiting.is_alive()


class Page:
    """Follows a feed as a page does: rows are patched by what comes, and fetched again when it is told to."""

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
        """Whether it shows what the state has, and that the run is over."""
        rows = {row["id"]: row for row in self.facts.state()["tasks"]}
        return self.rows == rows and "run_ended" in self.lines and not self.runs[-1]["live"]


def test_a_real_run_is_followed_to_its_end(plan_repo: PlanRepo):
    """The run comes and goes, its lines come in order, and the rows of a page end as the state has them."""
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
