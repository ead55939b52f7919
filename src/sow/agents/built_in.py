"""Lists the roles that come with sow."""

from __future__ import annotations

from sow.agents.agent import Agent

WRITES = "Must be able to read and write files, execute shell commands, search the codebase"
READS = "Must be able to read files, search the codebase, execute shell commands"
DESIGNS = "Must be able to read and write files, search the codebase"


def _agent(name: str, description: str, capabilities: str) -> Agent:
    return Agent(name=name, description=description, capabilities=capabilities, prompt_path=f"{name}.md")


STANDARD_AGENTS = (
    _agent("orchestrator", "Coordinates a project: plans, spawns workers, reviews, asks the person", READS),
    _agent("implementer", "Code implementation using Test-Driven Development", WRITES),
    _agent("architect", "System design and architecture decisions", DESIGNS),
    _agent("reviewer", "Code review and quality assessment", READS),
    _agent("planner", "Turns a goal into a plan of tasks with dependencies and criteria", DESIGNS),
    _agent("researcher", "Finds facts in code and documents, and reports them with their places", READS),
    _agent("integration-tester", "Integration and end-to-end tests across components", WRITES),
    _agent("documenter", "Documentation that is true of the code", DESIGNS),
    _agent("decomposer", "Splits a large task into small ones that can be done and checked on their own", DESIGNS),
    _agent("quality-control", "Judges finished work against its task: GREEN, YELLOW or RED", READS),
    _agent("verifier", "Verifies a doer's output and the resolution of its notes", READS),
    _agent("integrator", "Resolves merge conflicts between finished tasks", WRITES),
    _agent("workflow-architect", "Designs a workflow of agents with validation at every handoff", DESIGNS),
    _agent("instruction-writer", "Writes the instructions of each agent of a workflow", DESIGNS),
    _agent("file-structure-designer", "Plans the files through which the agents of a workflow talk", DESIGNS),
    _agent("checkpoint-designer", "Says what is checked between the agents of a workflow", DESIGNS),
    _agent("design-verifier", "Reviews a workflow's design for gaps before it runs", READS),
    _agent("solution-architect", "Decides technical questions that workers escalate", DESIGNS),
    _agent("archivist", "Archives finished sessions and keeps the index of them", DESIGNS),
)
