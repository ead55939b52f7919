"""Defines an agent's role: a name, a description and a prompt. A role never names a program or a flag."""

from __future__ import annotations

BUILT_IN = "built-in"
USER = "user"
PROJECT = "project"

# Roles that judge the work of others. Their prompts come from the package or from the user. A repository may define
# them only if the user trusts it: otherwise a repository could approve its own work.
JUDGES = frozenset({"orchestrator", "reviewer", "quality-control", "verifier", "design-verifier", "integrator"})


class Agent:
    """One role with its description, tools and source."""

    __slots__ = ("capabilities", "description", "name", "path", "prompt_path", "source", "tools", "unused_fields")

    def __init__(
        self,
        *,
        name: str,
        description: str,
        capabilities: str = "",
        prompt_path: str = "",
        tools: tuple[str, ...] = (),
        source: str = BUILT_IN,
        path: str = "",
        ignored: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.description = description
        self.capabilities = capabilities
        self.prompt_path = prompt_path  # of a packaged template; empty for a role that only a file defines
        self.tools = tools  # tools that its CLI may use; empty means all that the CLI offers
        self.source = source
        self.path = path  # the file that defines it; empty for a built-in role
        self.unused_fields = ignored  # other fields of that file's frontmatter; sow does not use them

    @property
    def is_judge(self) -> bool:
        """True if the agent only reads and answers."""
        return self.name in JUDGES and self.name not in ("orchestrator", "integrator")

    @property
    def is_custom(self) -> bool:
        """True if no built-in role has this name."""
        return bool(self.path) and not self.prompt_path

    @property
    def can_be_subagent(self) -> bool:
        """True if a CLI that reads the same file may play the role as its subagent.

        The CLI would also apply other frontmatter fields (model, hooks, servers); if there are any, sow sends the text.
        """
        return self.is_custom and not self.unused_fields
