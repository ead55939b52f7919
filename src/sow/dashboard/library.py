"""What the crew has to work with: roles and who plays them, installed sinks, linked repositories."""

from __future__ import annotations

from sow import config as configs
from sow.agents.registry import AgentRegistry
from sow.errors import SowError
from sow.store import repo_index, sink_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from sow.store.home import Home

    Document = dict[str, Any]


def document(home: Home, environment: Mapping[str, str]) -> Document:
    """All three; what cannot be read is said among the problems, and hides nothing else."""
    problems: list[str] = []

    def read(look: Callable[[], list[Document]]) -> list[Document]:
        try:
            return look()
        except SowError as error:
            problems.append(error.message)
            return []

    found = {
        "agents": read(lambda: _agents(home, environment, problems)),
        "sinks": read(lambda: [dict(each) for each in sink_index.load(home)]),
        "repos": read(lambda: [dict(each) for each in repo_index.load(home)]),
    }
    return {**found, "problems": problems}


def _agents(home: Home, environment: Mapping[str, str], problems: list[str]) -> list[Document]:
    config = configs.load(environment)
    user_home = environment.get("HOME", "")
    registry = AgentRegistry(root=home.root, user_home=user_home, trusted=config.trusts(home.root))
    problems += registry.warnings
    found = []
    for name in registry.names():
        agent = registry.get(name)
        words = {"name": name, "description": agent.description, "source": agent.source}
        player = {"executor": config.binding(name)[0], "fallbacks": list(config.fallbacks.get(name, ()))}
        found.append({**words, **player})
    return found
