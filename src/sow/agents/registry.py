"""All roles of a checkout: the package's, the user's over them, the repository's over those, as far as it may."""

from __future__ import annotations

import os

from sow.agents.agent import JUDGES, PROJECT, USER, Agent
from sow.agents.built_in import STANDARD_AGENTS
from sow.agents.discovery import discover
from sow.errors import SowError, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = ".claude/agents"


class AgentRegistry:
    """Roles by name."""

    __slots__ = ("agents", "judges", "warnings")

    def __init__(
        self, *, root: str = "", user_home: str = "", trusted: bool = False, reviewers: Iterable[str] = ()
    ) -> None:
        self.judges = JUDGES.union(reviewers)  # the user may let any role review, and then no repository defines it
        self.agents: dict[str, Agent] = {agent.name: agent for agent in STANDARD_AGENTS}
        self.warnings: list[str] = []
        if user_home:
            self._read(*discover(f"{user_home}/{FOLDER}", USER), trusted=True)
        if root and not (user_home and os.path.realpath(root) == os.path.realpath(user_home)):
            self._read(*discover(f"{root}/{FOLDER}", PROJECT, inside=root), trusted=trusted)

    def _read(self, found: dict[str, Agent], warnings: list[str], *, trusted: bool) -> None:
        self.warnings += warnings
        for agent in found.values():
            if agent.name in self.judges and not trusted:
                self.warnings.append(
                    f"{agent.path}: {agent.name} judges, so a repository may not define it;"
                    " name this repository under trust in your config if it may"
                )
            else:
                self._take(agent)

    def _take(self, agent: Agent) -> None:
        """A file gives a role its words; what the role is stays, and a repository's file never widens its tools."""
        known = self.agents.get(agent.name)
        if known is not None:
            agent.capabilities = known.capabilities
            agent.prompt_path = known.prompt_path
            if agent.source == PROJECT and known.tools and agent.tools:
                agent.tools = tuple(each for each in known.tools if each in agent.tools)
                if not agent.tools:  # no list at all would mean every tool
                    self.warnings.append(f"{agent.path}: names no tool that {agent.name} may use, so it does not count")
                    return
            elif agent.source == PROJECT:
                agent.tools = known.tools or agent.tools
        self.agents[agent.name] = agent

    def get(self, name: str) -> Agent:
        """One role."""
        agent = self.agents.get(name)
        if agent is None:
            raise SowError(f"unknown agent: {name}", self._advice(name))
        return agent

    def _advice(self, name: str) -> str:
        """What was meant perhaps: a file of that name that could not be used, or another name."""
        passed = [each for each in self.warnings if f"/{name}.md:" in each]
        return passed[0] if passed else nearest(name, self.agents) or "see 'sow agent list'"

    def names(self) -> list[str]:
        return sorted(self.agents)
