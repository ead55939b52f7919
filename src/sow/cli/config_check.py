"""The check list of the user's settings: syntax, schema, types, bindings, and what only warns."""

from __future__ import annotations

import os
import stat

from sow import config as configs
from sow.cli.agent_view import roles
from sow.cli.context import Context
from sow.errors import InvalidFile, nearest
from sow.executors import settings
from sow.executors.executor import find_binary
from sow.executors.registry import adapter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sow.config import Config

Finding = dict[str, str]


def _finding(state: str, what: str, hint: str = "") -> Finding:
    return {"state": state, "what": what, "hint": hint}


def check(context: Context) -> list[Finding]:
    """Every finding, in the order of the list; what cannot be read stops it."""
    config, findings = read(context)
    if config is None:
        return findings
    known = roles(context, config).names()
    findings += [*_types(config, known), *_bindings(config), *notify(config, context), *oddities(config, known)]
    return findings + list(_binaries(config, known, context))


def read(context: Context) -> tuple[Config | None, list[Finding]]:
    """The settings, where they can be read, and what was found on the way."""
    where = configs.path(context.environment)
    found: list[Finding] = []
    try:
        text = configs.read(where)
        if text is None:
            found.append(_finding("ok", "No file there: the built-in defaults are in effect"))
            return configs.Config(where, None, context.environment), found
        configs.document(text, where)
        found.append(_finding("ok", "YAML syntax valid"))
        data = configs.parse(text, where)
        found.append(_finding("ok", "CUE schema valid"))
    except InvalidFile as error:
        return None, [*found, _finding("problem", error.message.removeprefix(f"{where}: "), error.hint)]
    return configs.Config(where, data, context.environment), found


def problems(config: Config) -> list[Finding]:
    """What keeps executors and bindings from being used."""
    return [each for each in (*_types(config, []), *_bindings(config)) if each["state"] == "problem"]


def _types(config: Config, known: list[str]) -> list[Finding]:
    """Each executor that the user defined, held against its type."""
    wrong = [configs.misfit(each) for each in config.executors.values()]
    found = [_finding("problem", each, configs.MEND) for each in wrong if each]
    used = (config.executors.get(name) for name in config.in_use(known))
    types = dict.fromkeys(each.type for each in used if each is not None)
    return found or [_finding("ok", f"Executor types valid ({', '.join(types)})")]


def _bindings(config: Config) -> list[Finding]:
    """Each name of an executor that somebody wrote, held against those that exist."""
    said = [*config.overrides.items(), *((f"agents.bindings.{role}", name) for role, name in config.bindings.items())]
    said += [(f"agents.fallbacks.{role}", name) for role, names in config.fallbacks.items() for name in names]
    available = "the executors are: " + ", ".join(sorted(config.executors))
    found = [
        _finding("problem", f"{place}: unknown executor: {name}", nearest(name, config.executors) or available)
        for place, name in said
        if name not in config.executors
    ]
    return found or [_finding("ok", "All bindings reference defined executors")]


def notify(config: Config, context: Context) -> list[Finding]:
    """The command of the user's own that tells what happens, where there is one."""
    try:
        words = config.notify_command()
    except InvalidFile as error:
        return [_finding("problem", error.message.removeprefix(f"{config.path}: "), error.hint)]
    if not words or find_binary(words[0], context.environment):
        return [_finding("ok", "The command for notifications is there")] if words else []
    place = "" if "/" in words[0] else " on PATH"
    advice = "a run goes on without it; install it, or mend notify.command"
    return [_finding("warning", f"notify.command: {words[0]} not found{place}", advice)]


def oddities(config: Config, known: list[str]) -> Iterator[Finding]:
    """What is allowed and yet hardly meant."""
    for role in config.roles(()):
        if role not in known:
            advice = nearest(role, known) or "see 'sow agent list'"
            yield _finding("warning", f"{_place(config, role)}: no role {role} is known here", advice)
    for name in config.in_use(known):
        each = config.executors.get(name)
        if each is not None and adapter(each.type).capabilities.needs_yolo and not each.yolo:
            advice = f"set yolo_mode: true in agents.executors.{name}.settings, if you trust it that far"
            yield _finding("warning", f"{name} cannot work without yolo_mode", advice)
    if config.exists and os.stat(config.path).st_mode & stat.S_IWOTH:
        yield _finding("warning", "every user of this machine can change the file", f"run: chmod o-w {config.path}")


def _place(config: Config, role: str) -> str:
    """Where a role was named."""
    if role in config.bindings:
        return f"agents.bindings.{role}"
    return f"agents.fallbacks.{role}" if role in config.fallbacks else configs.variable_of(role)


def _binaries(config: Config, known: list[str], context: Context) -> Iterator[Finding]:
    """One warning for each program that is missing, with the executors that need it."""
    missing: dict[str, list[str]] = {}
    installs: dict[str, str] = {}
    for name in config.in_use(known):
        each = config.executors.get(name)
        if each is None or configs.misfit(each):
            continue
        program = settings.program(each.type, each.settings)
        if not find_binary(program, context.environment):
            missing.setdefault(program, []).append(f"'{name}'")
            installs[program] = adapter(each.type).capabilities.install
    for program, names in missing.items():
        need = f"{', '.join(names)} executor requires" if len(names) == 1 else f"{', '.join(names)} executors require"
        place = "" if "/" in program else " on PATH"
        advice = f"The {need} {program} CLI to be installed.\nInstall: {installs[program]}"
        yield _finding("warning", f"{program} binary not found{place}", advice)
