"""The execution layer contains every role and command for every CLI, from the same sources as the plugin."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
import yaml
from support.docs_commands import commands, parsed
from support.paths import ROOT
from support.quick_cases import all_of

from sow import __version__
from sow.agents import briefing, layer
from sow.agents.registry import JUDGES, STANDARD_AGENTS, read_agent
from sow.cli.command import GROUPS
from sow.cli.command import commands as commands_of
from sow.domain.install import file_mark
from sow.errors import SowError

PLUGIN = ROOT / "plugin"
NAMED = {"project/new", "project/continue", "sow/continue", "cleanup", "sync", "create-adr", "sow/plan", "sow/run"}
CLAUDES_OWN = {"continue", "plan", "run", "resume", "review", "init", "status", "workflows", "agents", "doctor"}
EVERY = [(name, user) for name in layer.LAYERS for user in (False, True)]


def texts(name: str, *, user: bool = False) -> dict[str, str]:
    return {piece.path: piece.text for piece in layer.layer(name, user=user).pieces}


def test_every_expected_slash_command_is_packaged() -> None:
    """Each slash command that the seed and the issue name is packaged."""
    names = {command.name for command in layer.commands()}
    assert names >= NAMED
    assert not names & CLAUDES_OWN  # a command of Claude Code is never replaced (B20)


def test_claude_gets_every_role_and_every_command() -> None:
    """The layer has a file for each role and each command, and the hooks."""
    paths = set(texts("claude"))
    assert paths == {
        *(f".claude/agents/{agent.name}.md" for agent in STANDARD_AGENTS),
        *(f".claude/commands/{command.name}.md" for command in layer.commands()),
        ".claude/settings.json",
    }


@all_of(("name", "user"), EVERY)
def test_every_file_carries_its_version(name: str, user: bool) -> None:
    """Each written file has sow's mark with a version, and its path stays below the target folder."""
    for piece in layer.layer(name, user=user).pieces:
        mark = file_mark.read(piece.text)
        assert mark and mark.version == __version__
        assert mark.intact or piece.block
        assert ".." not in piece.path and not piece.path.startswith("/")


@all_of(("name", "user"), EVERY)
def test_every_file_is_in_the_format_of_its_cli(name: str, user: bool) -> None:
    """Frontmatter is YAML, commands of Gemini are TOML, settings are JSON."""
    for path, text in texts(name, user=user).items():
        if path.endswith(".json"):
            json.loads(text)
        elif path.endswith(".toml"):
            assert set(tomllib.loads(text)) == {"description", "prompt"}
        elif text.startswith("---\n"):
            head = yaml.safe_load(text.split("---\n")[1])
            assert isinstance(head["description"], str)


def test_each_cli_gets_its_own_placeholder_for_arguments() -> None:
    """Each command file uses its CLI's placeholder for the user's text, and no other."""
    assert "$ARGUMENTS" in texts("claude")[".claude/commands/sow/plan.md"]
    gemini, cursor = texts("gemini")[".gemini/commands/sow/plan.toml"], texts("cursor")[".cursor/commands/sow-plan.md"]
    assert "{{args}}" in gemini and "$ARGUMENTS" not in gemini + cursor


@pytest.mark.parametrize("agent", STANDARD_AGENTS, ids=lambda agent: agent.name)
def test_installed_roles_are_not_read_back(agent, tmp_path: Path) -> None:
    """sow ignores its own copies, so that an old copy never replaces the role of a newer sow."""
    path = tmp_path / f"{agent.name}.md"
    path.write_text(layer.claude_agent(agent))
    assert read_agent(str(path), "project") is None


@all_of("agent", STANDARD_AGENTS)
def test_a_subagent_file_has_marks_and_no_placeholder(agent) -> None:
    """Each worker's file has its marks and no placeholder for a task, and judges have no tool that writes."""
    text = layer.claude_agent(agent)
    assert briefing.TASK not in text
    assert (f"export SOW_TASK=010 SOW_AGENT={agent.name}" in text) == (agent.name != "orchestrator")
    assert ("\ntools: " in text) == (agent.name in JUDGES - {"orchestrator", "integrator"})


def test_the_contract_in_the_users_home_is_the_packaged_one() -> None:
    """The contract in the user's home equals the output of `sow prompt protocol/agent-contract` plus a mark."""
    text = texts("claude", user=True)[".claude/protocols/orchestration_agent_contract.md"]
    assert text.startswith(briefing.load_template("protocol/agent-contract"))
    assert ".claude/protocols/orchestration_agent_contract.md" not in texts("claude")


def test_every_hook_is_a_call_that_exists() -> None:
    """The commands of the hooks end with a call of sow that parses."""
    for asks in (False, True):
        groups = layer.hooks(asks=asks)["hooks"].values()  # type: ignore[attr-defined]
        commands = [hook["command"] for group in groups for hook in group[0]["hooks"]]
        assert [parsed(command.rpartition("; ")[2])[1]["event"] for command in commands] == [
            "session-start",
            "before-edit",
        ]


def test_every_rule_names_a_command_that_exists() -> None:
    """Each rule allows or asks for a command of sow; none allows a command that takes any path (B19)."""
    names = [command.name for group in GROUPS for command in commands_of(group)]
    for text in (*layer.ALLOWED, *layer.ASKED):
        texts = text.partition(" --")[0].partition(":")[0].partition("*")[0].strip()
        assert texts.startswith("--") or any(f"{name} ".startswith(f"{texts} ") for name in names), text
    rules = layer.settings()["permissions"]
    assert "Bash(sow status:*)" in rules["allow"] and "Bash(*sow*phase approve*)" in rules["ask"]  # type: ignore[index]
    reading = {"doctor", "answers", "salvage", "workflow list:*", "schema list:*"}
    assert reading <= {*layer.ALLOWED} and "doctor:*" not in layer.ALLOWED  # `sow doctor --yes` changes files
    assert not any(text.split(":")[0] in ("run", "config", "consent", "install") for text in layer.ALLOWED)


def test_the_plugin_is_the_same_layer() -> None:
    """The plugin's agents and commands are, byte for byte, those of `sow install claude`, with the prefix /sow: too."""
    installed = {path.replace("/sow/", "/"): text for path, text in texts("claude").items()}
    inside = {path: text for path, text in layer.plugin_files().items() if path.startswith(("agents/", "commands/"))}
    assert inside == {path.removeprefix(".claude/"): text for path, text in installed.items() if path.endswith(".md")}
    on_disk = {str(path.relative_to(PLUGIN)): path.read_text() for path in PLUGIN.rglob("*") if path.is_file()}
    assert on_disk == layer.plugin_files()
    market = json.loads(on_disk[".claude-plugin/marketplace.json"])
    assert market["plugins"][0]["name"] == json.loads(on_disk[".claude-plugin/plugin.json"])["name"] == "sow"


def test_the_repository_is_a_marketplace_too() -> None:
    """The repository itself is a marketplace of Claude Code that offers the same plugin."""
    inner, root = (
        json.loads((base / ".claude-plugin/marketplace.json").read_text()) for base in (PLUGIN, PLUGIN.parent)
    )
    (result,), (listed,) = root.pop("plugins"), inner.pop("plugins")
    assert root == inner
    assert result == {**listed, "source": "./plugin"}
    assert (PLUGIN.parent / result["source"] / ".claude-plugin/plugin.json").is_file()


def test_prompts_that_commands_load_exist() -> None:
    """Every `sow prompt NAME` in a command file names a packaged prompt."""
    for command in layer.commands():
        for line in commands(command.body):
            if line.startswith("sow prompt "):
                assert briefing.load_template(parsed(line)[1]["name"])


def test_a_cli_without_a_layer_is_refused() -> None:
    """The error for a mistyped CLI suggests the right name."""
    with pytest.raises(SowError, match="no execution layer") as raised:
        layer.layer("claud", user=False)
    assert "claude" in raised.value.hint
