"""Checks the user's settings: syntax, schema, executor types, bindings, and things that only deserve a warning."""

from __future__ import annotations

import os
import stat

from sow import config as configs
from sow.cli.agents.show import roles
from sow.cli.context import Context
from sow.errors import InvalidFile, suggestion
from sow.executors import settings
from sow.executors.executor import find_binary
from sow.executors.registry import adapter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sow.config import Config

Finding = dict[str, str]


def _finding(state: str, text: str, hint: str = "") -> Finding:
    return {"state": state, "what": text, "hint": hint}


def check(context: Context) -> list[Finding]:
    """Returns all findings; stops at the first one if the file cannot be read."""
    config, findings = read(context)
    if config is None:
        return findings
    role_names = roles(context, config).names()
    findings += [
        *_types(config, role_names),
        *_bindings(config),
        *notify(config, context),
        *suspicious_settings(config, role_names),
    ]
    return findings + list(_binaries(config, role_names, context))


def read(context: Context) -> tuple[Config | None, list[Finding]]:
    """Reads the settings; returns None for them if the file is invalid, and the findings."""
    path = configs.path(context.environment)
    findings: list[Finding] = []
    try:
        text = configs.read(path)
        if text is None:
            findings.append(_finding("ok", "No file there: the built-in defaults are in effect"))
            return configs.Config(path, None, context.environment), findings
        configs.document(text, path)
        findings.append(_finding("ok", "YAML syntax valid"))
        data = configs.parse(text, path)
        findings.append(_finding("ok", "CUE schema valid"))
    except InvalidFile as error:
        return None, [*findings, _finding("problem", error.message.removeprefix(f"{path}: "), error.hint)]
    return configs.Config(path, data, context.environment), findings


def problems(config: Config) -> list[Finding]:
    """Returns the findings that make executors or bindings unusable."""
    return [finding for finding in (*_types(config, []), *_bindings(config)) if finding["state"] == "problem"]


def _types(config: Config, role_names: list[str]) -> list[Finding]:
    """Checks the settings of each executor against its type."""
    misfits = [configs.executor_error(executor) for executor in config.executors.values()]
    findings = [_finding("problem", misfit, configs.FIX_HINT) for misfit in misfits if misfit]
    executors = (config.executors.get(name) for name in config.executors_in_use(role_names))
    types = dict.fromkeys(executor.type for executor in executors if executor is not None)
    return findings or [_finding("ok", f"Executor types valid ({', '.join(types)})")]


def _bindings(config: Config) -> list[Finding]:
    """Checks that every executor name in bindings, fallbacks and the environment exists."""
    references = [
        *config.overrides.items(),
        *((f"agents.bindings.{role}", name) for role, name in config.bindings.items()),
    ]
    references += [(f"agents.fallbacks.{role}", name) for role, names in config.fallbacks.items() for name in names]
    available = "the executors are: " + ", ".join(sorted(config.executors))
    findings = [
        _finding("problem", f"{setting}: unknown executor: {name}", suggestion(name, config.executors) or available)
        for setting, name in references
        if name not in config.executors
    ]
    return findings or [_finding("ok", "All bindings reference defined executors")]


def notify(config: Config, context: Context) -> list[Finding]:
    """Checks the user's notification command, if there is one."""
    try:
        command = config.notify_command()
    except InvalidFile as error:
        return [_finding("problem", error.message.removeprefix(f"{config.path}: "), error.hint)]
    if not command or find_binary(command[0], context.environment):
        return [_finding("ok", "The command for notifications is there")] if command else []
    suffix = "" if "/" in command[0] else " on PATH"
    advice = "a run goes on without it; install it, or fix notify.command"
    return [_finding("warning", f"notify.command: {command[0]} not found{suffix}", advice)]


def suspicious_settings(config: Config, role_names: list[str]) -> Iterator[Finding]:
    """Warns about settings that are valid but probably mistakes."""
    for role in config.roles(()):
        if role not in role_names:
            advice = suggestion(role, role_names) or "see 'sow agent list'"
            yield _finding("warning", f"{_source_of_role(config, role)}: no role {role} is known here", advice)
    for name in config.executors_in_use(role_names):
        executor = config.executors.get(name)
        if executor is not None and adapter(executor.type).capabilities.needs_yolo and not executor.yolo:
            advice = f"set yolo_mode: true in agents.executors.{name}.settings, if you trust it that far"
            yield _finding("warning", f"{name} cannot work without yolo_mode", advice)
    if config.exists and os.stat(config.path).st_mode & stat.S_IWOTH:
        yield _finding("warning", "every user of this machine can change the file", f"run: chmod o-w {config.path}")


def _source_of_role(config: Config, role: str) -> str:
    """Returns the setting or variable that names a role."""
    if role in config.bindings:
        return f"agents.bindings.{role}"
    return f"agents.fallbacks.{role}" if role in config.fallbacks else configs.role_variable(role)


def _binaries(config: Config, role_names: list[str], context: Context) -> Iterator[Finding]:
    """Warns about each missing program and names the executors that need it."""
    missing: dict[str, list[str]] = {}
    installs: dict[str, str] = {}
    for name in config.executors_in_use(role_names):
        executor = config.executors.get(name)
        if executor is None or configs.executor_error(executor):
            continue
        program = settings.program(executor.type, executor.settings)
        if not find_binary(program, context.environment):
            missing.setdefault(program, []).append(f"'{name}'")
            installs[program] = adapter(executor.type).capabilities.install
    for program, names in missing.items():
        need = f"{', '.join(names)} executor requires" if len(names) == 1 else f"{', '.join(names)} executors require"
        suffix = "" if "/" in program else " on PATH"
        advice = f"The {need} {program} CLI to be installed.\nInstall: {installs[program]}"
        yield _finding("warning", f"{program} binary not found{suffix}", advice)
