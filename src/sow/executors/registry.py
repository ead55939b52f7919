"""Which file knows which agent CLI. A new one is one entry here and one new file."""

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
# The executors that exist without any configuration; `command` needs one, since it has no program of its own.
DEFAULT_EXECUTORS = {("claude-code" if kind == "claude" else kind): kind for kind in ADAPTERS if kind != "command"}


def adapter(kind: str) -> Adapter:
    """The description of one CLI."""
    if kind not in ADAPTERS:
        raise SowError(f"unknown executor type: {kind}", "the types are: " + ", ".join(ADAPTERS))
    file, name = ADAPTERS[kind]
    found: Adapter = getattr(import_module(f"sow.executors.{file}"), name)()
    return found
