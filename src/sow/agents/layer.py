"""The execution layer: the files through which an agent CLI that a person opens knows sow, made from packaged texts."""

from __future__ import annotations

import json
import os

from sow import __version__
from sow.agents import prompts
from sow.agents.agent import Agent
from sow.agents.built_in import STANDARD_AGENTS
from sow.domain import layer_mark
from sow.domain.layer_piece import Layer, Piece
from sow.errors import SowError, nearest

FOLDER = os.path.join(os.path.dirname(__file__), "layer_text")
CONTRACT = "protocol/agent-contract"
JUDGE_TOOLS = "Read, Grep, Glob, Bash"
ARGUMENTS = "$ARGUMENTS"
HOOKS = {
    "SessionStart": ("", "session-start"),
    "PreToolUse": ("Edit|MultiEdit|Write|NotebookEdit", "before-edit"),
}


class Source:
    """A slash command as it is packaged: its name, what it is for, and what it tells the agent."""

    __slots__ = ("body", "description", "hint", "name")

    def __init__(self, name: str, text: str) -> None:
        _, head, body = text.split("---\n", 2)
        fields = dict(line.split(": ", 1) for line in head.splitlines())
        self.name = name
        self.description = fields["description"]
        self.hint = fields.get("argument-hint", "")
        self.body = body.strip() + "\n"


def layer(name: str, *, user: bool) -> Layer:
    """The layer for one CLI, in a repository or in the user's home."""
    if name not in LAYERS:
        known = ", ".join(LAYERS)
        raise SowError(f"there is no execution layer for {name!r:.60}", nearest(name, LAYERS) or f"there is: {known}")
    return LAYERS[name](user)


def commands() -> list[Source]:
    """Every packaged slash command."""
    place = os.path.join(FOLDER, "commands")
    found = []
    for folder, _, files in os.walk(place):
        inside = os.path.relpath(folder, place)
        found += [os.path.normpath(f"{inside}/{file.removesuffix('.md')}") for file in files if file.endswith(".md")]
    return [Source(name, _read(f"commands/{name}.md")) for name in sorted(found)]


def _read(name: str) -> str:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def guide() -> str:
    """What every agent in a repository with sow should know, on less than a page."""
    return _read("guide.md")


def claude_command(source: Source) -> str:
    """A slash command in the form of Claude Code."""
    hint = f"argument-hint: {json.dumps(source.hint)}\n" if source.hint else ""
    return _stamped(f"---\ndescription: {json.dumps(source.description)}\n{hint}---\n{source.body}")


def claude_agent(agent: Agent) -> str:
    """A role as a subagent of Claude Code; the task is told by who calls it."""
    tools = f"tools: {JUDGE_TOOLS}\n" if agent.judges else ""
    words = prompts.load(f"templates/{agent.name}").replace(prompts.TASK, "010").strip()
    if agent.name != "orchestrator":
        words += "\n\n## Who you are to sow\n\n" + _read("subagent.md").replace("{role}", agent.name).strip()
    return _stamped(f"---\nname: {agent.name}\ndescription: {json.dumps(agent.description)}\n{tools}---\n{words}\n")


def _stamped(text: str, style: str = layer_mark.FRONTMATTER) -> str:
    return layer_mark.stamp(text, __version__, style)


def hooks() -> dict[str, object]:
    """The hooks of Claude Code; where sow is not installed they do nothing."""
    found: dict[str, object] = {}
    for event, (matcher, word) in HOOKS.items():
        command = f"command -v sow >/dev/null 2>&1 || exit 0; sow hook {word}"
        entry: dict[str, object] = {"matcher": matcher} if matcher else {}
        found[event] = [{**entry, "hooks": [{"type": "command", "command": command, "timeout": 20}]}]
    return {"hooks": found}


def claude_files() -> dict[str, str]:
    """The agents and commands for Claude Code, by their paths below .claude or in the plugin."""
    files = {f"agents/{agent.name}.md": claude_agent(agent) for agent in STANDARD_AGENTS}
    return files | {f"commands/{each.name}.md": claude_command(each) for each in commands()}


def _claude(user: bool) -> Layer:
    pieces = [Piece(f".claude/{path}", text) for path, text in claude_files().items()]
    settings = _stamped(_document(hooks()), layer_mark.JSON)
    pieces.append(Piece(".claude/settings.json", settings, settings=True))
    if user:
        contract = _stamped(prompts.load(CONTRACT), layer_mark.PAGE)
        pieces.append(Piece(".claude/protocols/orchestration_agent_contract.md", contract))
    return Layer(pieces, (".claude/agents", ".claude/commands", ".claude/protocols"))


def _block() -> str:
    return layer_mark.block(guide(), __version__)


def _codex(user: bool) -> Layer:
    """Codex reads AGENTS.md, and has skills in the place of commands: `$sow-plan` and the goal behind it."""
    pieces = [Piece(".codex/AGENTS.md" if user else "AGENTS.md", _block(), block=True)]
    for each in commands():
        name = f"sow-{_flat(each.name)}"
        head = f"---\nname: {name}\ndescription: {json.dumps(each.description)}\n---\n"
        body = each.body.replace(ARGUMENTS, "what the person wrote after the name of this skill")
        pieces.append(Piece(f".agents/skills/{name}/SKILL.md", _stamped(head + body, layer_mark.PAGE)))
    return Layer(pieces, (".agents/skills",))


def _gemini(user: bool) -> Layer:
    pieces = [Piece(".gemini/GEMINI.md" if user else "GEMINI.md", _block(), block=True)]
    for each in commands():
        body = each.body.replace(ARGUMENTS, "{{args}}")
        text = f"description = {json.dumps(each.description)}\nprompt = '''\n{body}'''\n"
        pieces.append(Piece(f".gemini/commands/{each.name}.toml", _stamped(text, layer_mark.HASHES)))
    return Layer(pieces, (".gemini/commands",))


def _cursor(user: bool) -> Layer:
    """Cursor has flat commands, to which it adds what the person wrote behind them, and rules of a repository."""
    pieces = []
    for each in commands():
        body = each.body.replace(ARGUMENTS, "what the person wrote after this command")
        pieces.append(Piece(f".cursor/commands/{_flat(each.name)}.md", _stamped(body, layer_mark.PAGE)))
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
    """The file by which Claude Code finds the plugin: in the plugin's own folder, and at the root of the repository."""
    document: dict[str, object] = {
        "name": "sow",
        "owner": OWNER,
        "metadata": {"description": "The execution layer of sow"},
        "plugins": [{**PLUGIN, "source": source, "version": __version__}],
    }
    return _document(document)


def plugin_files() -> dict[str, str]:
    """The same layer as a plugin of Claude Code with its marketplace, by their paths in the plugin's folder."""
    manifest: dict[str, object] = {**PLUGIN, "version": __version__, "author": OWNER, "license": "MIT"}
    return claude_files() | {
        ".claude-plugin/plugin.json": _document(manifest),
        ".claude-plugin/marketplace.json": marketplace("./"),
        "hooks/hooks.json": _document(hooks()),
    }


def _document(data: dict[str, object]) -> str:
    return json.dumps(data, indent=2) + "\n"
