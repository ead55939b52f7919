"""Lists the roles with their executors, the installed sinks and the linked repositories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sow import config as configs
from sow.agents.registry import AgentRegistry
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.knowledge.index import REPOS, SINKS

Document = dict[str, Any]


def document(home: Home, environment: Mapping[str, str]) -> Document:
    """Returns all three lists; an error in one is listed as a problem and does not hide the others."""
    problems: list[str] = []

    def read(load: Callable[[], list[Document]]) -> list[Document]:
        try:
            return load()
        except SowError as error:
            problems.append(error.message)
            return []

    lists = {
        "agents": read(lambda: _agents(home, environment, problems)),
        "sinks": read(lambda: [dict(sink) for sink in SINKS.load(home)]),
        "repos": read(lambda: [dict(repo) for repo in REPOS.load(home)]),
    }
    return {**lists, "problems": problems}


def _agents(home: Home, environment: Mapping[str, str], problems: list[str]) -> list[Document]:
    config = configs.load(environment)
    registry = AgentRegistry(
        root=home.root,
        user_home=environment.get("HOME", ""),
        directories=config.directories[0],
        trusted=config.trusts(home.root),
    )
    problems += registry.warnings
    rows = []
    for name in registry.names():
        agent = registry.get(name)
        description = {"name": name, "description": agent.description, "source": agent.source}
        binding = {"executor": config.binding(name)[0], "fallbacks": list(config.fallbacks.get(name, ()))}
        rows.append({**description, **binding})
    return rows
