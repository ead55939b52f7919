"""Checks the user's settings and every executor in use, for `sow doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sow import config as configs
from sow.cli.agents.dry_run import SESSIONS
from sow.cli.agents.show import roles
from sow.cli.context import Context
from sow.cli.setup.config_check import located, notify, problems, read, suspicious_settings
from sow.config import Config, ExecutorConfig
from sow.domain.health_finding import Finding, new_finding, of_error
from sow.errors import SowError
from sow.executors.adapter import Capabilities
from sow.executors.plugins import find_plugins
from sow.executors.probe import Program, ProgramFacts, probe_all
from sow.executors.settings import ADAPTERS, adapter, program_advice

MOST_LISTED = 3  # roles in one line


def examine_executors(context: Context) -> tuple[list[Finding], list[dict[str, Any]]]:
    """Returns the findings about settings and executors, and the details of each executor."""
    try:
        config, read_findings = read(context)
        role_names = list(roles(context, config).agents) if config else []
    except SowError as error:
        return [of_error("problem", error)], []
    if config is None:
        path = configs.path(context.environment)
        mistakes = [finding for finding in read_findings if finding["state"] == "problem"]
        return [{**finding, "what": located(finding, path)} for finding in mistakes], []
    issues = [*problems(config), *suspicious_settings(config, role_names)]
    state = "are valid" if config.exists else "do not exist, so sow uses the defaults"
    findings = issues or [new_finding("ok", f"your settings at {configs.abbreviated_path(config.path)} {state}")]
    executors = _facts(config, role_names, context)
    findings += [*notify(config, context), *(_executor_finding(executor) for executor in executors), *_plugins()]
    return findings, executors


def _plugins() -> Iterator[Finding]:
    """Loads each executor type of another package, and says which are used."""
    used = dict.fromkeys(ADAPTERS, "sow itself")
    for plugin in find_plugins():
        what = f"executor type {plugin.type}: from {plugin.package}"
        if plugin.type in used:
            what += f"; not used, because {used[plugin.type]} has the same type"
            yield new_finding("warning", what, "uninstall one of them")
            continue
        try:
            plugin.load()
            used[plugin.type] = plugin.package
            yield new_finding("ok", what)
        except SowError as error:
            yield of_error("warning", error)


def _facts(config: Config, role_names: list[str], context: Context) -> list[dict[str, Any]]:
    """Returns the details of each executor in use, as its program reports them."""
    executors = [
        e for e in map(config.executors.get, config.executors_in_use(role_names)) if e and not configs.executor_error(e)
    ]
    paths = {e.name: e.find_program(context.environment) for e in executors}
    programs = {(paths[e.name], e.type): adapter(e.type).capabilities for e in executors if paths[e.name]}
    probes = probe_all(programs, context.environment)
    return [_executor(e, paths[e.name], probes, config, role_names) for e in executors]


def _executor(
    executor: ExecutorConfig, path: str, probes: dict[Program, ProgramFacts], config: Config, role_names: list[str]
) -> dict[str, Any]:
    features, facts = adapter(executor.type).capabilities, probes.get((path, executor.type))
    missing = None if facts is None else facts.missing
    return {
        "name": executor.name,
        "type": executor.type,
        "binary": executor.program,
        "path": path or None,
        "version": facts.version or None if facts else None,
        "flags_known": None if missing is None or not features.required_flags else not missing,
        "missing_flags": list(missing or ()),
        "trouble": facts.trouble or None if facts else None,
        "cached": bool(facts and facts.cached),
        "session": features.session,
        "resumes": features.resumes,
        "takes_model": features.model,
        "reports_cost": features.reports_cost,
        "reports_tokens": features.reports_tokens,
        "read_only": features.read_only,
        "needs_yolo": features.needs_yolo,
        "closes": features.closes,
        "roles": [role for role in config.roles(role_names) if config.binding(role)[0] == executor.name],
    }


def _executor_finding(facts: dict[str, Any]) -> Finding:
    """Returns the finding about one executor."""
    features = adapter(facts["type"]).capabilities
    name, binary = facts["name"], facts["binary"]
    if not facts["path"]:
        roles, advice = facts["roles"], program_advice(name, binary, features)
        more = f" and {len(roles) - MOST_LISTED} more" if len(roles) > MOST_LISTED else ""
        users = f"; needed by: {', '.join(roles[:MOST_LISTED])}{more}" if roles else ""
        if roles:
            advice += "\nor use another executor for all roles: sow config set agents.default NAME"
            advice += "\nor for one run: sow run plan.md --executor NAME"
            advice += "\nor to try sow without an account: sow run plan.md --executor simulated"
        stops = ", and a run that needs it does not start" if roles else ""
        return new_finding("warning", f"{name}: {binary} is not installed{stops}{users}", advice)
    prefix = f"{name}: {facts['path']}"
    if facts["trouble"]:
        return new_finding("warning", f"{prefix}: {facts['trouble']}", f"run it yourself: {binary} --version")
    version = f" {facts['version']}" if facts["version"] else ""
    if facts["missing_flags"]:
        missing = ", ".join(facts["missing_flags"])
        what = f"{prefix}{version}: this version does not support {missing}; {_abilities(features)}"
        return new_finding("warning", what, f"install a supported version: {features.install}")
    flags = "supports all needed flags; " if features.required_flags else ""
    return new_finding("ok", f"{prefix}{version}: {flags}{_abilities(features)}")


def _abilities(features: Capabilities) -> str:
    resumes = "can resume" if features.resumes else "cannot resume"
    cost = "reports its cost" if features.reports_cost else "reports no cost"
    return f"{SESSIONS[features.session]}, {resumes}, {cost}"
