"""Which settings an executor of a type may have, which it must have, and what program follows from them."""

from __future__ import annotations

import os

from sow.domain.text import is_model
from sow.executors.registry import adapter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# setting → the only type that has it
ONLY_FOR = {"command": "command", "allow_empty": "command", "scenario": "simulated"}


def program(kind: str, settings: Mapping[str, object]) -> str:
    """The program that an executor runs: its own one, else the one of its type."""
    command = settings.get("command")
    named = command[0] if kind == "command" and isinstance(command, list) else settings.get("binary")
    return adapter(kind).capabilities.binary if named is None else os.path.expanduser(str(named))


def misfit(kind: str, settings: Mapping[str, object], custom_args: Sequence[str]) -> str:
    """The first thing that does not fit the type, with its field; empty where all fits."""
    for name, only in ONLY_FOR.items():
        if name in settings and kind != only:
            return f"settings.{name}: only type {only} has this, and the type here is {kind}"
    if kind == "command" and not settings.get("command"):
        return "settings.command: is missing; type command needs the words of its command line"
    if kind == "command" and "binary" in settings:
        return "settings.binary: type command has none; its program is the first word of settings.command"
    if "model" in settings and not is_model(str(settings["model"])):
        return f"settings.model: must be one word that is no flag, not {settings['model']!r:.80}"
    if "model" in settings and not adapter(kind).capabilities.model:
        return f"settings.model: type {kind} takes no model"
    return _unclear_program(kind, settings) or _unclear_rest(settings) or _nul(settings, custom_args)


def _unclear_rest(settings: Mapping[str, object]) -> str:
    """A scenario is found by its own path only, and a variable is let through by its name."""
    scenario, names = settings.get("scenario"), settings.get("env")
    if scenario is not None and not os.path.isabs(os.path.expanduser(str(scenario))):
        return f"settings.scenario: must be an absolute path, not {scenario!r:.80}"
    for index, name in enumerate(names if isinstance(names, list) else ()):
        plain = str(name).replace("_", "a")
        if not (plain.isascii() and plain.isalnum() and not plain[0].isdigit()):
            return f"settings.env[{index}]: must be the name of a variable, not {name!r:.80}"
    return ""


def _unclear_program(kind: str, settings: Mapping[str, object]) -> str:
    """A path from the current folder would let a repository decide what is run."""
    named = program(kind, settings)
    if named and ("/" not in named or os.path.isabs(named)):
        return ""
    place = "settings.command[0]" if kind == "command" else "settings.binary"
    return f"{place}: must be the name of a program or an absolute path, not {named!r}"


def _nul(settings: Mapping[str, object], custom_args: Sequence[str]) -> str:
    """No program can be given a NUL byte as part of an argument."""
    command = settings.get("command")
    places = {"settings.command": command if isinstance(command, list) else [], "custom_args": custom_args}
    for place, words in places.items():
        for index, word in enumerate(words):
            if "\0" in str(word):
                return f"{place}[{index}]: has a NUL byte"
    return ""
