"""Builds the files that tell an interactive agent CLI about sow (the execution layer)."""

from __future__ import annotations

import json
import os

from sow import __version__
from sow.agents import prompts
from sow.agents.agent import Agent
from sow.agents.built_in import STANDARD_AGENTS
from sow.domain.install import file_mark
from sow.domain.install.layer import Layer, Piece
from sow.errors import SowError, suggestion

FOLDER = os.path.join(os.path.dirname(__file__), "layer_text")
CONTRACT = "protocol/agent-contract"
JUDGE_TOOLS = "Read, Grep, Glob, Bash"
ARGUMENTS = "$ARGUMENTS"
HOOKS = {"SessionStart": ("", "session-start"), "PreToolUse": ("Edit|MultiEdit|Write|NotebookEdit", "before-edit")}


class LayerSource:
    """A packaged slash command: its name, its description and its text."""

    __slots__ = ("body", "description", "hint", "name")

    def __init__(self, name: str, text: str) -> None:
        _, head, body = text.split("---\n", 2)
        fields = dict(line.split(": ", 1) for line in head.splitlines())
        self.name = name
        self.description = fields["description"]
        self.hint = fields.get("argument-hint", "")
        self.body = body.strip() + "\n"


def layer(name: str, *, user: bool) -> Layer:
    """Returns the layer for one CLI, for a repository or for the user's home."""
    if name not in LAYERS:
        names = ", ".join(LAYERS)
        raise SowError(
            f"there is no execution layer for {name!r:.60}", suggestion(name, LAYERS) or f"there is: {names}"
        )
    return LAYERS[name](user)


def commands() -> list[LayerSource]:
    """Every packaged slash command."""
    root = os.path.join(FOLDER, "commands")
    names = []
    for folder, _, files in os.walk(root):
        inside = os.path.relpath(folder, root)
        names += [os.path.normpath(f"{inside}/{name.removesuffix('.md')}") for name in files if name.endswith(".md")]
    return [LayerSource(name, _read(f"commands/{name}.md")) for name in sorted(names)]


def _read(name: str) -> str:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def guide() -> str:
    """Returns the short guide to sow that every agent gets."""
    return _read("guide.md")


def claude_command(source: LayerSource) -> str:
    """Formats a slash command for Claude Code."""
    hint = f"argument-hint: {json.dumps(source.hint)}\n" if source.hint else ""
    return _stamped(f"---\ndescription: {json.dumps(source.description)}\n{hint}---\n{source.body}")


def claude_agent(agent: Agent) -> str:
    """Formats a role as a subagent of Claude Code; its caller names the task."""
    tools = f"tools: {JUDGE_TOOLS}\n" if agent.is_judge else ""
    role_prompt = prompts.load(f"templates/{agent.name}").replace(prompts.TASK, "010").strip()
    if agent.name != "orchestrator":
        role_prompt += "\n\n## Who you are to sow\n\n" + _read("subagent.md").replace("{role}", agent.name).strip()
    return _stamped(
        f"---\nname: {agent.name}\ndescription: {json.dumps(agent.description)}\n{tools}---\n{role_prompt}\n"
    )


def _stamped(text: str, style: str = file_mark.FRONTMATTER) -> str:
    return file_mark.add_mark(text, __version__, style)


def hooks() -> dict[str, object]:
    """Returns the hooks of Claude Code; they do nothing if sow is not installed."""
    groups: dict[str, object] = {}
    for event, (matcher, name) in HOOKS.items():
        command = f"command -v sow >/dev/null 2>&1 || exit 0; sow hook {name}"
        entry: dict[str, object] = {"matcher": matcher} if matcher else {}
        groups[event] = [{**entry, "hooks": [{"type": "command", "command": command, "timeout": 20}]}]
    return {"hooks": groups}


def claude_files() -> dict[str, str]:
    """Returns the agents and commands for Claude Code, by path below .claude or in the plugin."""
    files = {f"agents/{agent.name}.md": claude_agent(agent) for agent in STANDARD_AGENTS}
    return files | {f"commands/{source.name}.md": claude_command(source) for source in commands()}


def _claude(user: bool) -> Layer:
    pieces = [Piece(f".claude/{path}", text) for path, text in claude_files().items()]
    pieces.append(Piece(".claude/settings.json", _stamped(_document(hooks()), file_mark.JSON), settings=True))
    if user:
        contract = _stamped(prompts.load(CONTRACT), file_mark.PAGE)
        pieces.append(Piece(".claude/protocols/orchestration_agent_contract.md", contract))
    return Layer(pieces, (".claude/agents", ".claude/commands", ".claude/protocols"))


def _block() -> str:
    return file_mark.block(guide(), __version__)


def _codex(user: bool) -> Layer:
    """Builds the layer for Codex, which reads AGENTS.md and has skills instead of commands (`$sow-plan GOAL`)."""
    pieces = [Piece(".codex/AGENTS.md" if user else "AGENTS.md", _block(), block=True)]
    for source in commands():
        name = f"sow-{_flat(source.name)}"
        head = f"---\nname: {name}\ndescription: {json.dumps(source.description)}\n---\n"
        body = source.body.replace(ARGUMENTS, "what the person wrote after the name of this skill")
        pieces.append(Piece(f".agents/skills/{name}/SKILL.md", _stamped(head + body, file_mark.PAGE)))
    return Layer(pieces, (".agents/skills",))


def _gemini(user: bool) -> Layer:
    pieces = [Piece(".gemini/GEMINI.md" if user else "GEMINI.md", _block(), block=True)]
    for source in commands():
        body = source.body.replace(ARGUMENTS, "{{args}}")
        text = f"description = {json.dumps(source.description)}\nprompt = '''\n{body}'''\n"
        pieces.append(Piece(f".gemini/commands/{source.name}.toml", _stamped(text, file_mark.HASHES)))
    return Layer(pieces, (".gemini/commands",))


def _cursor(user: bool) -> Layer:
    """Builds the layer for Cursor, which has flat commands, adds the user's text to them, and reads rules."""
    pieces = []
    for source in commands():
        body = source.body.replace(ARGUMENTS, "what the person wrote after this command")
        pieces.append(Piece(f".cursor/commands/{_flat(source.name)}.md", _stamped(body, file_mark.PAGE)))
    if not user:
        rule = f"---\ndescription: How work is done here\nalwaysApply: true\n---\n{guide()}"
        pieces.append(Piece(".cursor/rules/sow.mdc", _stamped(rule)))
    return Layer(pieces, (".cursor/commands", ".cursor/rules"))


def _flat(name: str) -> str:
    return name.replace("/", "-")


LAYERS = {"claude": _claude, "codex": _codex, "gemini": _gemini, "cursor": _cursor}
PLUGIN = {
    "name": "sow",
    "description": "A system of work for coding agents: projects, tasks, plans, reviews and workflows in plain files",
}
OWNER = {"name": "The sow authors"}


def marketplace(source: str) -> str:
    """Returns the file by which Claude Code finds the plugin: in the plugin's folder and at the repository's root."""
    document: dict[str, object] = {
        "name": "sow",
        "owner": OWNER,
        "metadata": {"description": "The execution layer of sow"},
        "plugins": [{**PLUGIN, "source": source, "version": __version__}],
    }
    return _document(document)


def plugin_files() -> dict[str, str]:
    """Returns the layer as a Claude Code plugin with its marketplace, by path in the plugin's folder."""
    manifest: dict[str, object] = {**PLUGIN, "version": __version__, "author": OWNER, "license": "MIT"}
    return claude_files() | {
        ".claude-plugin/plugin.json": _document(manifest),
        ".claude-plugin/marketplace.json": marketplace("./"),
        "hooks/hooks.json": _document(hooks()),
    }


def _document(data: dict[str, object]) -> str:
    return json.dumps(data, indent=2) + "\n"
