"""Maps each executor type to the module and class of its adapter."""

from __future__ import annotations

from importlib import import_module

from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.executors.adapter import Adapter

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
