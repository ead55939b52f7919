"""Checks the settings of an executor against its type, and returns the program it runs."""

from __future__ import annotations

import os

from sow.domain.inputs import is_model
from sow.executors.executor_types import adapter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# setting → the only type that has it
TYPE_OF_SETTING = {"command": "command", "allow_empty": "command", "scenario": "simulated"}

SESSION_FLAGS = ("--session-id", "--session", "--resume", "-r", "--continue", "--fork-session", "--chat-history-file")
# Words that choose the session for one type only.
SESSION_WORDS = {"opencode": ("-s",), "codex": ("resume", "fork"), "cursor": ("--chat-id",), "amp": ("threads",)}


def program(kind: str, settings: Mapping[str, object]) -> str:
    """Returns the program that an executor runs: the configured one, else its type's default."""
    command = settings.get("command")
    binary = command[0] if kind == "command" and isinstance(command, list) else settings.get("binary")
    return adapter(kind).capabilities.binary if binary is None else os.path.expanduser(str(binary))


def setting_error(kind: str, settings: Mapping[str, object], custom_args: Sequence[str]) -> str:
    """Returns a message about the first setting that does not fit the type, or ""."""
    for name, owner in TYPE_OF_SETTING.items():
        if name in settings and kind != owner:
            return f"settings.{name}: only type {owner} has this, and the type here is {kind}"
    if kind == "command" and not settings.get("command"):
        return "settings.command: is missing; type command needs the words of its command line"
    if kind == "command" and "binary" in settings:
        return "settings.binary: type command has none; its program is the first word of settings.command"
    if "model" in settings and not is_model(str(settings["model"])):
        return f"settings.model: must be one word that is no flag, not {settings['model']!r:.80}"
    if "model" in settings and not adapter(kind).capabilities.model:
        return f"settings.model: type {kind} takes no model"
    own = [flag for flag in custom_args if kind not in ("command", "simulated") and _is_session_flag(kind, flag)]
    if own:
        return f"custom_args: {own[0]!r:.80} chooses the session, which sow does itself; leave it out"
    return _program_error(kind, settings) or _scenario_or_env_error(settings) or _nul_error(settings, custom_args)


def _is_session_flag(kind: str, argument: str) -> bool:
    name = argument.partition("=")[0]
    if name in SESSION_FLAGS or name in SESSION_WORDS.get(kind, ()):
        return True
    return name == "-c" and kind not in ("codex", "aider")  # those two read a setting there


def _scenario_or_env_error(settings: Mapping[str, object]) -> str:
    """Checks that the scenario is an absolute path and that `env` lists names of variables."""
    scenario, names = settings.get("scenario"), settings.get("env")
    if scenario is not None and not os.path.isabs(os.path.expanduser(str(scenario))):
        return f"settings.scenario: must be an absolute path, not {scenario!r:.80}"
    for index, name in enumerate(names if isinstance(names, list) else ()):
        plain = str(name).replace("_", "a")
        if not (plain.isascii() and plain.isalnum() and not plain[0].isdigit()):
            return f"settings.env[{index}]: must be the name of a variable, not {name!r:.80}"
    return ""


def _program_error(kind: str, settings: Mapping[str, object]) -> str:
    """Checks for a program name or absolute path; a relative path would let a repository decide what runs."""
    binary = program(kind, settings)
    if binary and ("/" not in binary or os.path.isabs(binary)):
        return ""
    field = "settings.command[0]" if kind == "command" else "settings.binary"
    return f"{field}: must be the name of a program or an absolute path, not {binary!r}"


def _nul_error(settings: Mapping[str, object], custom_args: Sequence[str]) -> str:
    """Checks for NUL bytes, which no argument can contain."""
    command = settings.get("command")
    lists = {"settings.command": command if isinstance(command, list) else [], "custom_args": custom_args}
    for field, values in lists.items():
        for index, value in enumerate(values):
            if "\0" in str(value):
                return f"{field}[{index}]: has a NUL byte"
    return ""
