"""Which paths an agent CLI reads as instructions."""

from __future__ import annotations

from support.quick_cases import all_of

from sow.domain.text.agent_files import NAMES, PATHS, is_agent_file

OBEYED = [
    "CLAUDE.md",
    "claude.md",
    "docs/CLAUDE.md",
    "CLAUDE.local.md",
    ".claude/settings.json",
    "packages/x/.claude/agents/a.md",
    ".Claude/settings.json",
    "AGENTS.md",
    "AGENTS.override.md",
    "GEMINI.md",
    ".gemini/settings.json",
    ".codex/config.toml",
    ".cursor/rules/a.mdc",
    ".cursorrules",
    ".mcp.json",
    ".github/copilot-instructions.md",
    ".github/instructions/a.instructions.md",
    ".aider.conf.yml",
    "QWEN.md",
    "opencode.json",
    ".opencode/agent/a.md",
    ".windsurfrules",
    ".windsurf/rules/a.md",
    ".amp/settings.json",
    ".devin/x",
    ".vscode/mcp.json",
]
ORDINARY = [
    "README.md",
    "src/claude.py",
    "docs/agents.md.txt",
    ".github/workflows/ci.yml",
    ".github/CODEOWNERS",
    "github/copilot.md",
    "src/.github/copilot.md",
    ".vscode/settings.json",
    "gemini/x.py",
    "aider.txt",
    "myCLAUDE.md",
    "opencode.jsonl",
    "",
]


@all_of("path", OBEYED)
def test_instruction_files_are_recognised(path: str) -> None:
    """A file that a CLI obeys is found in any folder and spelling."""
    assert is_agent_file(path)


@all_of("path", ORDINARY)
def test_ordinary_files_are_not_instructions(path: str) -> None:
    """A similar name is ordinary work."""
    assert not is_agent_file(path)


def test_the_table_is_in_small_letters() -> None:
    """Names are compared in small letters, so the table has no others, and no duplicates."""
    assert [name for name in (*NAMES, *PATHS) if name != name.lower()] == []
    assert len(set(NAMES)) == len(NAMES)
