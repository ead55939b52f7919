"""Builds the files that tell an interactive agent CLI about sow (the execution layer)."""

from __future__ import annotations

import json
import os

from sow import __version__
from sow.agents import briefing
from sow.agents.registry import STANDARD_AGENTS, Agent
from sow.domain.install import file_mark
from sow.domain.install.layer import Layer, LayerFile
from sow.errors import SowError, suggestion
from sow.system.caller import ASKS

FOLDER = os.path.join(os.path.dirname(__file__), "layer_text")
CONTRACT = "protocol/agent-contract"
JUDGE_TOOLS = "Read, Grep, Glob, Bash"
ARGUMENTS = "$ARGUMENTS"
PREFIX = "sow/"  # the folder of commands whose short names belong to Claude Code or may do so
HOOKS = {"SessionStart": ("", "session-start"), "PreToolUse": ("Edit|MultiEdit|Write|NotebookEdit", "before-edit")}
# Commands of sow that Claude Code runs without a question, as the text of its rules. Those that run commands of a plan,
# fetch something or write to a path of the caller's choice are not among them.
ALLOWED = (
    "status:*", "inbox:*", "log:*", "note:*", "context:*", "prompt:*", "adr:*", "task:*", "feedback:*", "phase:*",
    "plan:*", "approve:*", "agent list:*", "agent show:*", "agent log:*", "agent spawn:*", "agent resume:*",
    "project show:*", "project remember:*", "runs list:*", "runs show:*", "runs report", "workflow status:*",
    "sinks list:*", "sinks show:*", "sinks update --check:*", "repos list:*", "repos show:*",
    "repos update --check:*", "doctor", "doctor --json", "answers", "answers --json", "salvage", "salvage --json",
    "salvage list:*", "workflow list:*", "schema list:*", "schema show:*", "schema diff:*", "continue --print",
    "validate:*", "check", "version:*", "--version", "--help",
)  # fmt: skip
# Commands that need a person, as patterns: Claude Code asks in every mode, and however sow is called.
ASKED = (
    "phase approve*", "phase add*--yes*", "workflow approve*", "answer*--always*", "approve*--waive*", " revert*",
)  # fmt: skip


class LayerSource:
    """A packaged slash command: its name, its description and its text."""

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
    names = briefing.template_names(os.path.join(FOLDER, "commands"))
    return [LayerSource(name, _read(f"commands/{name}.md")) for name in names]


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
    role_prompt = briefing.load_template(f"templates/{agent.name}").replace(briefing.TASK, "010").strip()
    if agent.name != "orchestrator":
        role_prompt += "\n\n## Who you are to sow\n\n" + _read("subagent.md").replace("{role}", agent.name).strip()
    return _stamped(
        f"---\nname: {agent.name}\ndescription: {json.dumps(agent.description)}\n{tools}---\n{role_prompt}\n"
    )


def _stamped(text: str, style: str = file_mark.FRONTMATTER) -> str:
    return file_mark.add_mark(text, __version__, style)


def hooks(*, asks: bool = False) -> dict[str, object]:
    """Returns the hooks of Claude Code; they do nothing if sow is not installed.

    With `asks`, the session's commands of sow are told that Claude Code asks the person (`SOW_ASKS`).
    """
    groups: dict[str, object] = {}
    for event, (matcher, name) in HOOKS.items():
        command = f"command -v sow >/dev/null 2>&1 || exit 0; sow hook {name}"
        if asks and name == "session-start":
            export = f"""echo 'export {ASKS}=1' >> "${{CLAUDE_ENV_FILE:-/dev/null}}\""""
            command = command.replace("; ", f"; {export}; ")
        entry: dict[str, object] = {"matcher": matcher} if matcher else {}
        groups[event] = [{**entry, "hooks": [{"type": "command", "command": command, "timeout": 20}]}]
    return {"hooks": groups}


def settings() -> dict[str, object]:
    """Returns the part of Claude Code's settings that is sow's: hooks and permission rules."""
    rules = {
        "allow": [f"Bash(sow {command})" for command in ALLOWED],
        "ask": [f"Bash(*sow*{command})" for command in ASKED],
    }
    return {"permissions": rules, **hooks(asks=True)}


def claude_files(*, prefix: str = "") -> dict[str, str]:
    """Returns the agents and commands for Claude Code, by path; the plugin's name is the prefix of its commands."""
    files = {f"agents/{agent.name}.md": claude_agent(agent) for agent in STANDARD_AGENTS}
    return files | {f"commands/{source.name.removeprefix(prefix)}.md": claude_command(source) for source in commands()}


def _claude(user: bool) -> Layer:
    pieces = [LayerFile(f".claude/{path}", text) for path, text in claude_files().items()]
    pieces.append(LayerFile(".claude/settings.json", _stamped(_document(settings()), file_mark.JSON), settings=True))
    if user:
        contract = _stamped(briefing.load_template(CONTRACT), file_mark.PAGE)
        pieces.append(LayerFile(".claude/protocols/orchestration_agent_contract.md", contract))
    return Layer(pieces, (".claude/agents", ".claude/commands", ".claude/protocols"))


def _block() -> str:
    return file_mark.block(guide(), __version__)


def _codex(user: bool) -> Layer:
    """Builds the layer for Codex, which reads AGENTS.md and has skills instead of commands (`$sow-plan GOAL`)."""
    pieces = [LayerFile(".codex/AGENTS.md" if user else "AGENTS.md", _block(), block=True)]
    for source in commands():
        name = f"sow-{_flat(source.name.removeprefix(PREFIX))}"
        head = f"---\nname: {name}\ndescription: {json.dumps(source.description)}\n---\n"
        body = source.body.replace(ARGUMENTS, "what the person wrote after the name of this skill")
        pieces.append(LayerFile(f".agents/skills/{name}/SKILL.md", _stamped(head + body, file_mark.PAGE)))
    return Layer(pieces, (".agents/skills",))


def _gemini(user: bool) -> Layer:
    pieces = [LayerFile(".gemini/GEMINI.md" if user else "GEMINI.md", _block(), block=True)]
    for source in commands():
        body = source.body.replace(ARGUMENTS, "{{args}}")
        text = f"description = {json.dumps(source.description)}\nprompt = '''\n{body}'''\n"
        pieces.append(LayerFile(f".gemini/commands/{source.name}.toml", _stamped(text, file_mark.HASHES)))
    return Layer(pieces, (".gemini/commands",))


def _cursor(user: bool) -> Layer:
    """Builds the layer for Cursor, which has flat commands, adds the user's text to them, and reads rules."""
    pieces = []
    for source in commands():
        body = source.body.replace(ARGUMENTS, "what the person wrote after this command")
        pieces.append(LayerFile(f".cursor/commands/{_flat(source.name)}.md", _stamped(body, file_mark.PAGE)))
    if not user:
        rule = f"---\ndescription: How work is done here\nalwaysApply: true\n---\n{guide()}"
        pieces.append(LayerFile(".cursor/rules/sow.mdc", _stamped(rule)))
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
    return claude_files(prefix=PREFIX) | {
        ".claude-plugin/plugin.json": _document(manifest),
        ".claude-plugin/marketplace.json": marketplace("./"),
        "hooks/hooks.json": _document(hooks()),
    }


def _document(data: dict[str, object]) -> str:
    return json.dumps(data, indent=2) + "\n"
