"""An agent is a role: a name, a description and the words that it starts with. It never names a program or a flag."""

from __future__ import annotations

BUILT_IN = "built-in"
USER = "user"
PROJECT = "project"

# Who judges the work of others. Their words come from the package or from the user, never from the repository,
# unless the user trusts it: otherwise a repository could vote on its own work.
JUDGES = frozenset({"orchestrator", "reviewer", "quality-control", "verifier", "design-verifier", "integrator"})


class Agent:
    """One role."""

    __slots__ = ("capabilities", "description", "ignored", "name", "path", "prompt_path", "source", "tools")

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
        self.prompt_path = prompt_path  # of a packaged template
        self.tools = tools  # what its CLI may use; none given means inherited
        self.source = source
        self.path = path  # of the file that defines it, where it is not built in
        self.ignored = ignored  # what else stands in that file's frontmatter: it has no effect

    @property
    def judges(self) -> bool:
        """Whether it reads and decides, and changes nothing."""
        return self.name in JUDGES and self.name not in ("orchestrator", "integrator")

    @property
    def only_in_files(self) -> bool:
        """Whether no built-in role has this name."""
        return bool(self.path) and not self.prompt_path

    @property
    def delegable(self) -> bool:
        """Whether a CLI that reads the same file may play the role as its subagent.

        It would obey the rest of the frontmatter too (a model, hooks, servers): such a file's words are told instead.
        """
        return self.only_in_files and not self.ignored
