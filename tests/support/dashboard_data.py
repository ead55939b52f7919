"""Reads the dashboard's data of a repository without a server."""

from __future__ import annotations

from typing import Any

from conftest import Repo

from sow.dashboard.data.dashboard_data import DashboardData
from sow.dashboard.data.event_feed import EventFeed
from support.journals import home_of


def facts_of(repo: Repo, **environment: str) -> DashboardData:
    """Returns the data of this repository, with an environment of their own."""
    return DashboardData(home_of(repo), {**repo.environment, **environment}, read_only=False, person="ada")


def fresh(facts: DashboardData) -> dict[str, Any]:
    """Returns the state after a complete refresh, without the usual pause."""
    facts.watch.refresh(whole=True)
    return facts.state()


def sent_events(feed: EventFeed, *kinds: str, seconds: float = 0.3) -> list[Any]:
    """Returns the events of a feed until it is silent for this long, or those of some kinds."""
    result = []
    while events := feed.next(seconds):
        result += [(kind, data) for _, kind, data in events if not kinds or kind in kinds]
    return result
