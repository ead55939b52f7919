"""Roles: their definitions and prompts, and the first prompt of a worker."""

from sow.agents.briefing import load_prompt
from sow.agents.registry import (
    ARCHITECT,
    IMPLEMENTER,
    ORCHESTRATOR,
    PLANNER,
    RESEARCHER,
    REVIEWER,
    STANDARD_AGENTS,
    Agent,
    AgentRegistry,
)

__all__ = [
    "ARCHITECT", "IMPLEMENTER", "ORCHESTRATOR", "PLANNER", "RESEARCHER", "REVIEWER", "STANDARD_AGENTS", "Agent",
    "AgentRegistry", "load_prompt",
]  # fmt: skip
