"""Checks the user's settings: syntax, schema, executor types, bindings, and things that only deserve a warning."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Any

from sow import config as configs
from sow.cli.agents.show import roles
from sow.cli.context import Context
from sow.config import Config
from sow.domain.health_finding import Finding, new_finding
from sow.errors import InvalidFile, suggestion
from sow.executors.settings import adapter, find_binary, program_advice
from sow.store.formats.all_problems import all_problems, line_of, without_problems
from sow.store.validators.user_config import validate
from sow.system.terminal import escape_control, escape_line, out, paint

MARKS = {"ok": ("✓", "green"), "warning": ("⚠ Warning:", "yellow")}


def check(context: Context, text: str | None = None) -> list[Finding]:
    """Returns all findings about the file, or about a text that may replace it; problems have their line."""
    config, findings = read(context, text)
    if config is None:
        return findings
    role_names = roles(context, config).names()
    findings += [
        *_types(config, role_names),
        *_bindings(config),
        *notify(config, context),
        *suspicious_settings(config, role_names),
    ]
    _add_lines(findings, text or configs.read(config.path) or "")
    return findings + list(_binaries(config, role_names, context))


def read(context: Context, text: str | None = None) -> tuple[Config | None, list[Finding]]:
    """Reads the settings from the file or from a text; returns None for them if they are invalid, and the findings."""
    path = configs.path(context.environment)
    try:
        text = configs.read(path) if text is None else text
        if text is None:
            findings = [new_finding("ok", "No file: sow uses the built-in defaults")]
            return configs.Config(path, None, context.environment), findings
        data = configs.document(text, path)
    except InvalidFile as error:
        return None, [new_finding("problem", error.message.removeprefix(f"{path}: "), error.hint)]
    checked = configs.copy(data)
    mistakes = all_problems(text, checked, validate)
    findings = [new_finding("ok", "YAML syntax valid")]
    if not mistakes:
        return configs.Config(path, data, context.environment), [*findings, new_finding("ok", "CUE schema valid")]
    findings += [{**new_finding("problem", what, configs.FIX_HINT), "line": line} for line, what in mistakes]
    if isinstance(data, dict):
        findings += problems(configs.Config(path, _usable_part(data, checked), context.environment))
        _add_lines(findings, text)
    return None, findings


def _usable_part(data: dict[str, Any], checked: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings without schema problems; keeps the name of each executor, so that bindings find it."""
    part: dict[str, Any] = without_problems(data, checked)
    agents = data.get("agents")
    names = agents.get("executors") if isinstance(agents, dict) else None
    if isinstance(names, dict) and "agents" in part:
        valid = part["agents"].get("executors") or {}
        part["agents"]["executors"] = {
            str(name): valid[name] if "type" in valid.get(name, {}) else {"type": "claude"} for name in names
        }
    return part


def _add_lines(findings: list[Finding], text: str) -> None:
    """Adds its line in the file to each problem that has none."""
    for finding in findings:
        place = str(finding["what"]).partition(": ")[0]
        if finding["state"] == "problem" and not place.startswith(configs.VARIABLE_PREFIX):
            finding.setdefault("line", line_of(text, place))


def located(problem: Finding, path: str) -> str:
    """Returns a problem with the file and its line."""
    if "line" in problem:
        return f"{path}:{problem['line']}: {problem['what']}"
    what = str(problem["what"])
    return what if path in what or what.startswith(configs.VARIABLE_PREFIX) else f"{path}: {what}"


def print_finding(finding: Finding) -> None:
    """Prints a finding that is no problem; a warning with its hint."""
    mark, colour = MARKS[finding["state"]]
    out(f"{paint(mark, colour)} {escape_line(finding['what'])}")
    if finding["state"] == "warning":
        out("\n".join(f"  {line}" for line in escape_control(finding["hint"]).splitlines()))


def problems(config: Config) -> list[Finding]:
    """Returns the findings that make executors or bindings unusable."""
    return [finding for finding in (*_types(config, []), *_bindings(config)) if finding["state"] == "problem"]


def _types(config: Config, role_names: list[str]) -> list[Finding]:
    """Checks the settings of each executor against its type."""
    misfits = [configs.executor_error(executor) for executor in config.executors.values()]
    findings = [new_finding("problem", misfit, configs.FIX_HINT) for misfit in misfits if misfit]
    executors = (config.executors.get(name) for name in config.executors_in_use(role_names))
    types = dict.fromkeys(executor.type for executor in executors if executor is not None)
    return findings or [new_finding("ok", f"Executor types valid ({', '.join(types)})")]


def _bindings(config: Config) -> list[Finding]:
    """Checks that every executor name in bindings, fallbacks and the environment exists."""
    references = [
        *config.overrides.items(),
        *([("agents.default", config.default)] if config.default else []),
        *((f"agents.bindings.{role}", name) for role, name in config.bindings.items()),
    ]
    references += [(f"host.capacity.{name}", name) for name in config.setting("host", "capacity") or {}]
    references += [(f"agents.fallbacks.{role}", name) for role, names in config.fallbacks.items() for name in names]
    available = "the executors are: " + ", ".join(sorted(config.executors))
    findings = [
        new_finding("problem", f"{setting}: unknown executor: {name}", suggestion(name, config.executors) or available)
        for setting, name in references
        if name not in config.executors
    ]
    return findings or [new_finding("ok", "All bindings reference defined executors")]


def notify(config: Config, context: Context) -> list[Finding]:
    """Checks the user's notification command, if there is one."""
    try:
        command = config.notify_command()
    except InvalidFile as error:
        return [new_finding("problem", error.message.removeprefix(f"{config.path}: "), error.hint)]
    if not command or find_binary(command[0], context.environment):
        return [new_finding("ok", "The notification command exists")] if command else []
    suffix = "" if "/" in command[0] else " on PATH"
    advice = "runs continue without it; install it, or fix notify.command"
    return [new_finding("warning", f"notify.command: {command[0]} not found{suffix}", advice)]


def suspicious_settings(config: Config, role_names: list[str]) -> Iterator[Finding]:
    """Warns about settings that are valid but probably mistakes."""
    for role in config.roles(()):
        if role not in role_names:
            advice = suggestion(role, role_names) or "list the roles: sow agent list"
            yield new_finding("warning", f"{_source_of_role(config, role)}: unknown role: {role}", advice)
    for name in config.executors_in_use(role_names):
        executor = config.executors.get(name)
        if executor is None or configs.executor_error(executor):
            continue
        if warning := configs.yolo_warning(executor):
            command = f"sow config set agents.executors.{name}.settings.yolo_mode true"
            yield new_finding("warning", warning, f"if you trust it, run: {command}")
    if os.path.exists(config.path) and os.stat(config.path).st_mode & stat.S_IWOTH:
        yield new_finding("warning", "all users of this machine can change the file", f"run: chmod o-w {config.path}")


def _source_of_role(config: Config, role: str) -> str:
    """Returns the setting or variable that names a role."""
    if role in config.bindings:
        return f"agents.bindings.{role}"
    return f"agents.fallbacks.{role}" if role in config.fallbacks else configs.role_variable(role)


def _binaries(config: Config, role_names: list[str], context: Context) -> Iterator[Finding]:
    """Warns about each missing program and names the executors that need it."""
    missing: dict[str, list[str]] = {}
    advice: dict[str, str] = {}
    for name in config.executors_in_use(role_names):
        executor = config.executors.get(name)
        if executor is None or configs.executor_error(executor):
            continue
        program = executor.program
        if not executor.find_program(context.environment):
            missing.setdefault(program, []).append(f"'{name}'")
            advice[program] = program_advice(name, program, adapter(executor.type).capabilities)
    for program, names in missing.items():
        need = f"{', '.join(names)} executor requires" if len(names) == 1 else f"{', '.join(names)} executors require"
        suffix = "" if "/" in program else " on PATH"
        hint = f"The {need} {program} CLI to be installed.\n{advice[program]}"
        yield new_finding("warning", f"{program} binary not found{suffix}", hint)
