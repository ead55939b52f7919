"""Defines an agent's role (a name, a description and a prompt), and lists the roles that come with sow."""

from __future__ import annotations

from sow.record import Record

BUILT_IN = "built-in"
USER = "user"
PROJECT = "project"
FOLDER = ".claude/agents"
DIRECTORIES = (FOLDER, f"~/{FOLDER}")  # folders with roles; the first one that has a role counts

# Roles that judge the work of others. Their prompts come from the package or from the user. A repository may define
# them only if the user trusts it: otherwise a repository could approve its own work.
JUDGES = frozenset({"orchestrator", "reviewer", "quality-control", "verifier", "design-verifier", "integrator"})


class Agent(Record):
    """One role with its description, tools and source."""

    name: str
    description: str
    capabilities: str = ""
    prompt_path: str = ""  # of a packaged template; empty for a role that only a file defines
    tools: tuple[str, ...] = ()  # tools that its CLI may use; empty means all that the CLI offers
    source: str = BUILT_IN
    path: str = ""  # the file that defines it; empty for a built-in role
    unused_fields: tuple[str, ...] = ()  # other fields of that file's frontmatter; sow does not use them

    @property
    def is_judge(self) -> bool:
        """Returns whether the agent only reads and answers."""
        return self.name in JUDGES and self.name not in ("orchestrator", "integrator")

    @property
    def is_custom(self) -> bool:
        """Returns whether no built-in role has this name."""
        return bool(self.path) and not self.prompt_path

    @property
    def can_be_subagent(self) -> bool:
        """Returns whether a CLI that reads the same file may play the role as its subagent.

        The CLI would also apply other frontmatter fields (model, hooks, servers); if there are any, sow sends the text.
        """
        return self.is_custom and not self.unused_fields


WRITES = "Must be able to read and write files, execute shell commands, search the codebase"
READS = "Must be able to read files, search the codebase, execute shell commands"
DESIGNS = "Must be able to read and write files, search the codebase"


def _agent(name: str, description: str, capabilities: str) -> Agent:
    return Agent(name=name, description=description, capabilities=capabilities, prompt_path=f"{name}.md")


ORCHESTRATOR = _agent("orchestrator", "Coordinates a project: plans, spawns workers, reviews, asks the person", READS)
IMPLEMENTER = _agent("implementer", "Code implementation using Test-Driven Development", WRITES)
ARCHITECT = _agent("architect", "System design and architecture decisions", DESIGNS)
REVIEWER = _agent("reviewer", "Code review and quality assessment", READS)
PLANNER = _agent("planner", "Turns a goal into a plan of tasks with dependencies and criteria", DESIGNS)
RESEARCHER = _agent("researcher", "Finds facts in code and documents, and reports them with their places", READS)
STANDARD_AGENTS = (
    ORCHESTRATOR,
    IMPLEMENTER,
    ARCHITECT,
    REVIEWER,
    PLANNER,
    RESEARCHER,
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
