"""A look that fails: the pages and the terminal are told once, what was shown stays, and the looking goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Repo
from support.dashboard_data import facts_of, told
from support.failing_checkout_view import BUG, Stumbling
from support.journals import home_of
from support.simulated_workers import wait_for

from sow.dashboard.data.dashboard_data import DashboardData
from sow.reports.hint_context import ANY_FOLDER


def stumbling(repo: Repo) -> tuple[DashboardData, Stumbling]:
    facts = facts_of(repo)
    facts.watch.view = picture = Stumbling(home_of(repo), ANY_FOLDER)
    return facts, picture


def troubles(events: list[Any]) -> list[str]:
    return [data["text"] for kind, data in events if kind == "trouble"]


def test_a_bug_does_not_end_the_watching(task_repo: Repo, capfd: pytest.CaptureFixture[str]):
    """While looks fail, the pages hear of it once and see the old; after it they get everything that they missed."""
    facts, picture = stumbling(task_repo)
    assert facts.state()["trouble"] == ""
    with facts.feed("") as feed:
        feed.next(1)
        thread = facts.watch.thread
        picture.broken = True
        task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
        wait_for(lambda: picture.failures >= 2)
        (words,) = troubles(told(feed))
        assert "internal error" in words
        state = facts.state()
        assert (state["trouble"], state["tasks"][0]["id"]) == (words, "010")
        assert capfd.readouterr().err.count(BUG) == 1
        picture.broken = False
        wait_for(lambda: facts.watch.trouble == "")
        events = told(feed)
        assert troubles(events) == [""]
        assert "stale" in [kind for kind, _ in events]
        assert facts.watch.thread is thread
    state = facts.state()
    assert (state["trouble"], state["tasks"][0]["status"]) == ("", "needs_review")


def test_what_was_half_seen_is_read_again(task_repo: Repo):
    """A change whose look broke off after it was read is shown by the next one."""
    facts, picture = stumbling(task_repo)
    facts.state()
    task_repo.ok("task", "set", "--id", "010", "status", "needs_review")
    picture.breaks_off = True
    facts.watch.look(whole=True)
    assert facts.watch.trouble
    picture.breaks_off = False
    wait_for(lambda: facts.state()["trouble"] == "")
    assert facts.state()["tasks"][0]["status"] == "needs_review"


def test_a_failed_look_is_not_repeated_at_once(task_repo: Repo):
    """However many ask, a look that failed has a pause behind it."""
    facts, picture = stumbling(task_repo)
    facts.state()
    picture.broken = True
    for _ in range(20):
        facts.watch.look(whole=True)
    assert picture.failures == 1


def test_files_that_stay_unreadable_are_told(task_repo: Repo, capfd: pytest.CaptureFixture[str]):
    """What is no bug and lasts is told as well, with the file's name, until it can be read."""
    facts = facts_of(task_repo)
    runs = Path(task_repo.root, ".sow/local/runs")
    with facts.feed("") as feed:
        feed.next(1)
        runs.parent.mkdir(exist_ok=True)
        runs.write_text("")
        wait_for(lambda: facts.watch.trouble != "")
        (words,) = troubles(told(feed))
        assert str(runs) in words
        assert capfd.readouterr().err.count("NotADirectoryError") == 1
        runs.unlink()
        wait_for(lambda: facts.watch.trouble == "")
        assert troubles(told(feed)) == [""]
