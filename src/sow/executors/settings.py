"""Finds the type of an executor and its program, and checks its settings."""

from __future__ import annotations

import os
from importlib import import_module

from sow.domain.inputs import is_model
from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sow.executors.adapter import Adapter, Capabilities

# type → (file, class)
ADAPTERS = {
    "claude": ("claude", "Claude"),
    "cursor": ("cursor", "Cursor"),
    "windsurf": ("windsurf", "Windsurf"),
    "codex": ("codex", "Codex"),
    "gemini": ("gemini", "Gemini"),
    "opencode": ("opencode", "OpenCode"),
    "copilot": ("copilot", "Copilot"),
    "qwen": ("qwen", "Qwen"),
    "amp": ("amp", "Amp"),
    "aider": ("aider", "Aider"),
    "command": ("command", "CommandLine"),
    "simulated": ("simulated", "Simulated"),
}
# The executors that exist without configuration. `command` has no default program, so it needs a setting.
DEFAULT_EXECUTORS = {("claude-code" if kind == "claude" else kind): kind for kind in ADAPTERS if kind != "command"}


LOADED: dict[str, Adapter] = {}  # adapters of other packages, which take long to find


def adapter(kind: str) -> Adapter:
    """Returns the adapter of one executor type, built in or of another package."""
    if kind in ADAPTERS:
        module, name = ADAPTERS[kind]
        instance: Adapter = getattr(import_module(f"sow.executors.clis.{module}"), name)()
        return instance
    if kind not in LOADED:
        from sow.executors.plugins import load_plugin

        LOADED[kind] = load_plugin(kind, ADAPTERS)
    return LOADED[kind]


def recorded_adapter(kind: str) -> Adapter:
    """Returns the adapter of an earlier session; if its package is gone, one that reads plain text."""
    try:
        return adapter(kind)
    except SowError:
        return adapter("command")


def find_binary(binary: str, environment: Mapping[str, str]) -> str:
    """Returns the path of a program, or "" if it is not found."""
    if os.path.isabs(binary):
        return binary if os.access(binary, os.X_OK) and os.path.isfile(binary) else ""
    # shutil.which adds a quarter of Python's start time to every spawn. It also accepts a relative path and empty or
    # relative PATH entries, so a repository could decide which program runs.
    if "/" in binary:
        return ""
    for folder in environment.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, binary)
        if os.path.isabs(path) and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return ""


def missing_binary(name: str, binary: str, capabilities: Capabilities) -> SowError:
    """Returns the error for a CLI that is not installed."""
    need = f"requires the {binary} CLI to be installed and available on PATH"
    if os.path.isabs(binary):
        need = f"runs {binary}, which is not an executable file"
    advice = program_advice(name, binary, capabilities).replace("Install:", f"Install {binary}:")
    return SowError(f"executor binary not found: {binary}", f'Executor "{name}" {need}.\n\n{advice}')


def program_advice(name: str, binary: str, capabilities: Capabilities) -> str:
    """Returns how to install a missing program; one that the user's settings name is corrected there."""
    if binary == capabilities.binary:
        return f"Install: {capabilities.install}"
    return f"Correct agents.executors.{name}.settings.{'binary' if capabilities.binary else 'command'}: sow config edit"


def no_resumption(name: str, task: str, agent: str) -> SowError:
    """Returns the error for a CLI that cannot resume a session."""
    lines = [f"Cannot resume task {task}. Consider:" if task else "Consider:"]
    command = f": sow agent spawn {agent} {task} --fresh" if task else ""
    lines += [f"  - Spawning a new worker instance{command}"]
    lines += ["  - Switching to an executor with session support (claude-code, cursor)"]
    return SowError(f'executor "{name}" does not support session resumption', "\n".join(lines))


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
