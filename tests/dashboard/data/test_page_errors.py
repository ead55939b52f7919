"""A refresh that fails: pages and terminal are told once, the page keeps its contents, and refreshing continues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Repo
from support.dashboard_data import facts_of, sent_events
from support.failing_checkout_view import BUG, FailingView
from support.journals import home_of
from support.simulated_workers import wait_for

from sow.dashboard.data.dashboard_data import DashboardData
from sow.reports.next_steps import ANY_FOLDER


def stumbling(repo: Repo) -> tuple[DashboardData, FailingView]:
    facts = facts_of(repo)
    facts.watch.view = picture = FailingView(home_of(repo), ANY_FOLDER)
    return facts, picture


def troubles(events: list[Any]) -> list[str]:
    return [data["text"] for kind, data in events if kind == "trouble"]


def test_a_bug_does_not_end_the_refreshing(task_repo: Repo, capfd: pytest.CaptureFixture[str]):
    """While refreshes fail, pages are told once and keep their contents; afterwards they get what they missed."""
    facts, picture = stumbling(task_repo)
    assert facts.state()["trouble"] == ""
    with facts.feed("") as feed:
        feed.next(1)
        thread = facts.watch.thread
        picture.broken = True
        task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
        wait_for(lambda: picture.failures >= 2)
        (text,) = troubles(sent_events(feed))
        assert "internal error" in text
        state = facts.state()
        assert (state["trouble"], state["tasks"][0]["id"]) == (text, "010")
        assert capfd.readouterr().err.count(BUG) == 1
        picture.broken = False
        wait_for(lambda: facts.watch.trouble == "")
        events = sent_events(feed)
        assert troubles(events) == [""]
        assert "stale" in [kind for kind, _ in events]
        assert facts.watch.thread is thread
    state = facts.state()
    assert (state["trouble"], state["tasks"][0]["status"]) == ("", "needs_review")


def test_a_change_of_a_failed_refresh_is_shown_later(task_repo: Repo):
    """A change whose refresh failed after the read is shown by the next one."""
    facts, picture = stumbling(task_repo)
    facts.state()
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    picture.breaks_off = True
    facts.watch.refresh(whole=True)
    assert facts.watch.trouble
    picture.breaks_off = False
    wait_for(lambda: facts.state()["trouble"] == "")
    assert facts.state()["tasks"][0]["status"] == "needs_review"


def test_a_failed_refresh_is_followed_by_a_pause(task_repo: Repo):
    """However many pages ask, a failed refresh is not repeated at once."""
    facts, picture = stumbling(task_repo)
    facts.state()
    picture.broken = True
    for _ in range(20):
        facts.watch.refresh(whole=True)
    assert picture.failures == 1


def test_files_that_stay_unreadable_are_reported(task_repo: Repo, capfd: pytest.CaptureFixture[str]):
    """A lasting read error is reported with the file's name, until the file can be read."""
    facts = facts_of(task_repo)
    runs = Path(task_repo.root, ".sow/local/runs")
    with facts.feed("") as feed:
        feed.next(1)
        runs.parent.mkdir(exist_ok=True)
        runs.write_text("")
        wait_for(lambda: facts.watch.trouble != "")
        (text,) = troubles(sent_events(feed))
        assert str(runs) in text
        assert capfd.readouterr().err.count("NotADirectoryError") == 1
        runs.unlink()
        wait_for(lambda: facts.watch.trouble == "")
        assert troubles(sent_events(feed)) == [""]
