"""Collects the roles of a checkout: built-in ones, and those in Markdown files of the user and of the repository."""

from __future__ import annotations

import os

from sow.domain.inputs import is_role_name
from sow.errors import InvalidFile, SowError, suggestion
from sow.record import Record
from sow.store.files.disk import Disk, read_text, system_error
from sow.store.formats import yaml_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

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


NUMBERED = tuple(f"{number:02d}-" for number in range(1, 11))
FIELDS = ("name", "description", "tools")
MAX_FILE = 1 << 20
MOST_FILES = 1000
YAML_SIGNS = tuple("\"'[{|>&*!")  # a description that begins with one of these is YAML already and is not quoted
INSTALLED_MARK = "sow-version:"  # marks files that `sow install` wrote; they are copies of built-in roles


def read_agents(folder: str, source: str, *, inside: str = "") -> tuple[dict[str, Agent], list[str]]:
    """Returns the agents below a folder, and a warning for each invalid file; a missing folder has no agents.

    A link may not lead out of `inside`: otherwise a file outside of the repository could define a role.
    """
    agents: dict[str, Agent] = {}
    warnings: list[str] = []
    for path in _files(folder, warnings):
        try:
            agent = read_agent(real_path(path, inside), source, path)
        except SowError as error:
            message = error.message.removeprefix(path)
            warnings.append(f"{path}{message}" if message.startswith(":") else f"{path}: {message.strip()}")
            continue
        if agent is None:
            continue
        if agent.name in agents:
            warnings.append(f"{path}: agent {agent.name} is defined in {agents[agent.name].path} already")
        else:
            agents[agent.name] = agent
    return agents, warnings


def _files(folder: str, warnings: list[str]) -> list[str]:
    """Lists Markdown files in the folder and in its numbered folders (01-* to 10-*), except documentation."""
    entries = _entries(folder, warnings)
    paths = [entry.path for entry in entries if _is_definition(entry)]
    seen = {os.path.realpath(folder)}  # folders that were read: a link to one of them adds nothing
    for entry in entries:
        if entry.name.startswith(NUMBERED) and _is_folder(entry) and os.path.realpath(entry.path) not in seen:
            seen.add(os.path.realpath(entry.path))
            paths += [child.path for child in _entries(entry.path, warnings) if _is_definition(child)]
    if len(paths) > MOST_FILES:
        warnings.append(f"{folder}: {len(paths)} files; only the first {MOST_FILES} are read")
    return paths[:MOST_FILES]


def _entries(folder: str, warnings: list[str]) -> list[os.DirEntry[str]]:
    """Returns a folder's entries by name; none if the folder is missing."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        warnings.append(system_error("read", folder, error).message)
        return []


def _is_definition(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    has_agent_name = name.endswith(".md") and name != "README.md" and not name.endswith("-framework.md")
    return has_agent_name and not _is_folder(entry)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads in a circle: reading it as a file gives the warning
        return False


def real_path(path: str, inside: str = "") -> str:
    """Resolves links; refuses a link that is broken or leads out of `inside`."""
    real = os.path.realpath(path)
    if os.path.islink(path) and not os.path.exists(path):
        raise SowError(f"{path}: it is a link that leads nowhere", "put the file itself there, or remove the link")
    if inside and not real.startswith(f"{os.path.realpath(inside)}{os.sep}"):
        raise SowError(f"{path}: it is a link that leads out of the repository", "put the file itself there")
    return real


def read_agent(path: str, source: str, shown: str = "") -> Agent | None:
    """Reads the agent that a file defines; None for a file that `sow install` wrote."""
    shown = shown or path
    try:
        head, body = split(read_text(Disk(), path, MAX_FILE), shown)
    except FileNotFoundError:
        raise SowError(f"{shown}: there is no such file", "give the path of an agent's file") from None
    except InvalidFile as error:
        raise InvalidFile(error.message.replace(path, shown, 1), error.hint) from None
    if any(line.startswith(INSTALLED_MARK) for line in head.split("\n")):
        return None
    fields = _fields(head, shown)
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(name, str) or not is_role_name(name):
        raise SowError(f"{shown}: name: must be lower case with hyphens, not {name!r:.80}", "name: my-agent")
    if not isinstance(description, str) or not description.strip():
        raise SowError(f"{shown}: description is missing", "say in one sentence when to use this agent")
    if not body.strip():
        raise SowError(f"{shown}: there is no prompt below the frontmatter", "write what the agent must know and do")
    return Agent(
        name=name,
        description=" ".join(description.split()),
        tools=_tools(fields.get("tools"), shown),
        source=source,
        path=shown,
        unused_fields=tuple(sorted(str(key) for key in fields if key not in FIELDS)),
    )


def split(text: str, path: str) -> tuple[str, str]:
    """Splits a Markdown file into frontmatter and body."""
    lines = text.replace("\r\n", "\n").split("\n")
    fences = [number for number, line in enumerate(lines) if line.rstrip() == "---"]
    if len(fences) < 2 or fences[0] != 0:
        raise SowError(f"{path}: there is no frontmatter", "begin the file with ---, name, description and ---")
    return "\n".join(lines[1 : fences[1]]), "\n".join(lines[fences[1] + 1 :]).strip("\n")


def _fields(head: str, path: str) -> dict[Any, Any]:
    """Parses the frontmatter; an empty line replaces the fence, so that line numbers in errors are the file's own."""
    try:
        fields = yaml_text.load(f"\n{head}\n", path)
    except InvalidFile:
        quoted = _quoted(head)
        if quoted == head:
            raise
        fields = yaml_text.load(f"\n{quoted}\n", path)
    if not isinstance(fields, dict):
        raise SowError(
            f"{path}: the frontmatter is not a mapping", "write name, description and tools between two --- lines"
        )
    return fields


def _quoted(head: str) -> str:
    """Quotes the description in the frontmatter, because agent CLIs write unquoted text with colons there."""
    field = "description: "
    return "\n".join(
        field + yaml_text.scalar(line.removeprefix(field).strip())
        if line.startswith(field) and line.removeprefix(field).strip()[:1] not in YAML_SIGNS
        else line
        for line in head.split("\n")
    )


def _tools(value: Any, path: str) -> tuple[str, ...]:
    """Parses `tools: [Read, Grep]` or `tools: Read, Grep`; a tool is one word, so that it is never a flag."""
    names = [name.strip() for name in value.split(",")] if isinstance(value, str) else value or []
    if not isinstance(names, list):
        raise SowError(f"{path}: tools: must be a list of names", "tools: [Read, Grep, Edit]")
    for name in names:
        if not isinstance(name, str) or not _is_tool(name):
            raise SowError(f"{path}: tools: {name!r:.80} is not the name of a tool", "tools: [Read, Grep, Edit]")
    return tuple(dict.fromkeys(names))


def _is_tool(name: str) -> bool:
    letters = name.replace("_", "").replace("-", "")
    return len(name) <= 200 and letters.isascii() and letters.isalnum() and not name.startswith("-")


class AgentRegistry:
    """The roles of one checkout by name."""

    __slots__ = ("agents", "judges", "warnings")

    def __init__(
        self,
        *,
        root: str = "",
        user_home: str = "",
        directories: Sequence[str] = DIRECTORIES,
        trusted: bool = False,
        reviewers: Iterable[str] = (),
    ) -> None:
        # The user may make any role a reviewer; a repository may not define those.
        self.judges = JUDGES.union(reviewers)
        self.agents: dict[str, Agent] = {agent.name: agent for agent in STANDARD_AGENTS}
        self.warnings: list[str] = []
        for folder, source in reversed(_folders(root, user_home, directories)):
            inside = root if source == PROJECT else ""
            self._read(*read_agents(folder, source, inside=inside), trusted=trusted or source == USER)

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
        self.register(agent)

    def register(self, agent: Agent) -> None:
        """Adds a role, or replaces the one of that name."""
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


def _folders(root: str, user_home: str, directories: Iterable[str]) -> list[tuple[str, str]]:
    """Returns the folders with roles, each with its source, the most important one first.

    A folder below the repository's root is the repository's, even if the user names it by its full path.
    """
    folders: dict[tuple[str, str], str] = {}  # by real path and source
    real_root = os.path.realpath(root)
    is_home = bool(user_home) and os.path.realpath(user_home) == real_root
    for directory in directories:
        in_home, is_full = directory.startswith("~/"), directory.startswith(("/", "~/"))
        if (in_home and not user_home) or not (root or is_full):
            continue
        path = f"{user_home}{directory[1:]}" if in_home else os.path.join(root, directory)
        real = os.path.realpath(path)
        is_own = is_home or (is_full and not (root and real.startswith(f"{real_root}/")))
        folders.setdefault((real, USER if is_own else PROJECT), path)
    return [(path, source) for (_, source), path in folders.items()]
