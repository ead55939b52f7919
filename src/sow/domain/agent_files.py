"""Agent files: what an agent CLI reads from a repository and obeys, wherever in the tree it lies."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# Names of files and folders, in small letters: some disks do not tell Claude.md from CLAUDE.md. A star at the end
# stands for any ending.
NAMES = (
    "claude.md",
    "claude.local.md",
    ".claude",
    ".claudeignore",
    ".mcp.json",
    "agents.md",
    "agents.override.md",
    "agent.md",
    ".agents",
    ".agent",
    ".codex",
    "gemini.md",
    ".gemini",
    ".geminiignore",
    "qwen.md",
    ".qwen",
    ".qwenignore",
    ".cursor",
    ".cursorrules",
    ".cursorignore",
    ".cursorindexingignore",
    ".windsurf*",
    ".codeium*",
    ".devin",
    "opencode.json",
    "opencode.jsonc",
    ".opencode",
    ".aider*",
    ".amp",
    ".copilot",
    ".clinerules",
    ".cline",
    ".roo*",
    ".kilocode*",
    ".kiro",
    ".continue",
    ".junie",
    ".goosehints",
    ".augment*",
    ".trae",
    ".factory",
    ".crush*",
    "crush.md",
    "warp.md",
)
# What counts only in one folder: the rest of that folder is ordinary work.
PATHS = (
    ".github/copilot*",
    ".github/instructions",
    ".github/prompts",
    ".github/agents",
    ".github/chatmodes",
    ".github/skills",
    ".github/hooks",
    ".vscode/mcp.json",
)


def is_agent_file(path: str) -> bool:
    """Whether an agent CLI that works in the repository could obey this file."""
    parts = path.lower().split("/")
    if any(_fits(part, name) for part in parts for name in NAMES):
        return True
    return any(_fits("/".join(parts[:depth]), name) for depth in (2, 3) for name in PATHS)


def _fits(text: str, name: str) -> bool:
    return text.startswith(name[:-1]) if name.endswith("*") else text == name


def touches_agent_files(paths: Iterable[str]) -> list[str]:
    """Those of some paths that are agent files."""
    return [path for path in paths if is_agent_file(path)]
