"""Recognizes agent files: files that an agent CLI reads from a repository and follows, in any folder."""

from __future__ import annotations

# Names of files and folders, in lowercase, because some file systems do not distinguish Claude.md from CLAUDE.md.
# A star at the end matches any ending.
NAMES = (
    "claude.md", "claude.local.md", ".claude", ".claudeignore", ".mcp.json", "agents.md", "agents.override.md",
    "agent.md", ".agents", ".agent", ".codex", "gemini.md", ".gemini", ".geminiignore", "qwen.md", ".qwen",
    ".qwenignore", ".cursor", ".cursorrules", ".cursorignore", ".cursorindexingignore", ".windsurf*", ".codeium*",
    ".devin", "opencode.json", "opencode.jsonc", ".opencode", ".aider*", ".amp", ".copilot", ".clinerules", ".cline",
    ".roo*", ".kilocode*", ".kiro", ".continue", ".junie", ".goosehints", ".augment*", ".trae", ".factory",
    ".crush*", "crush.md", "warp.md",
)  # fmt: skip
# Paths that count only in one folder. The rest of that folder is ordinary work.
PATHS = (
    ".github/copilot*", ".github/instructions", ".github/prompts", ".github/agents", ".github/chatmodes",
    ".github/skills", ".github/hooks", ".vscode/mcp.json",
)  # fmt: skip


def is_agent_file(path: str) -> bool:
    """Returns whether an agent CLI that works in the repository could follow this file."""
    parts = path.lower().split("/")
    if any(_fits(part, name) for part in parts for name in NAMES):
        return True
    return any(_fits("/".join(parts[:depth]), name) for depth in (2, 3) for name in PATHS)


def _fits(text: str, name: str) -> bool:
    return text.startswith(name[:-1]) if name.endswith("*") else text == name
