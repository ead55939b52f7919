"""Collects the roles of a checkout: built-in, the user's, and the repository's where it may define them."""

from __future__ import annotations

import os

from sow.agents.agent import JUDGES, PROJECT, USER, Agent
from sow.agents.built_in import STANDARD_AGENTS
from sow.agents.discovery import read_agents
from sow.errors import SowError, suggestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = ".claude/agents"


class AgentRegistry:
    """The roles of one checkout by name."""

    __slots__ = ("agents", "judges", "warnings")

    def __init__(
        self, *, root: str = "", user_home: str = "", trusted: bool = False, reviewers: Iterable[str] = ()
    ) -> None:
        self.judges = JUDGES.union(
            reviewers
        )  # the user may make any role a reviewer; a repository may not define those
        self.agents: dict[str, Agent] = {agent.name: agent for agent in STANDARD_AGENTS}
        self.warnings: list[str] = []
        if user_home:
            self._read(*read_agents(f"{user_home}/{FOLDER}", USER), trusted=True)
        if root and not (user_home and os.path.realpath(root) == os.path.realpath(user_home)):
            self._read(*read_agents(f"{root}/{FOLDER}", PROJECT, inside=root), trusted=trusted)

    def _read(self, agents: dict[str, Agent], warnings: list[str], *, trusted: bool) -> None:
        self.warnings += warnings
        for agent in agents.values():
            if agent.name in self.judges and not trusted:
                self.warnings.append(
                    f"{agent.path}: {agent.name} judges, so a repository may not define it;"
                    " name this repository under trust in your config if it may"
                )
            else:
                self._add_agent(agent)

    def _add_agent(self, agent: Agent) -> None:
        """Adds a role from a file. It replaces the prompt only, and a repository's file never adds tools."""
        current = self.agents.get(agent.name)
        if current is not None:
            agent.capabilities = current.capabilities
            agent.prompt_path = current.prompt_path
            if agent.source == PROJECT and current.tools and agent.tools:
                agent.tools = tuple(tool for tool in current.tools if tool in agent.tools)
                if not agent.tools:  # an empty list would mean every tool
                    self.warnings.append(f"{agent.path}: names no tool that {agent.name} may use, so it does not count")
                    return
            elif agent.source == PROJECT:
                agent.tools = current.tools or agent.tools
        self.agents[agent.name] = agent

    def get(self, name: str) -> Agent:
        """Returns one role."""
        agent = self.agents.get(name)
        if agent is None:
            raise SowError(f"unknown agent: {name}", self._advice(name))
        return agent

    def _advice(self, name: str) -> str:
        """Returns the warning about a file of that name, or the nearest name."""
        warnings = [warning for warning in self.warnings if f"/{name}.md:" in warning]
        return warnings[0] if warnings else suggestion(name, self.agents) or "see 'sow agent list'"

    def names(self) -> list[str]:
        return sorted(self.agents)
