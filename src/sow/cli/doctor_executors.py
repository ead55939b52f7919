"""The doctor's look at the user's settings, and at every executor that is bound or configured."""

from __future__ import annotations

from typing import Any

from sow import config as configs
from sow.cli.agent_preview import SESSIONS
from sow.cli.agent_view import roles
from sow.cli.config_check import Finding, notify, oddities, problems, read
from sow.cli.context import Context
from sow.config import Config, ExecutorConfig
from sow.errors import SowError
from sow.executors import settings
from sow.executors.adapter import Capabilities
from sow.executors.executor import find_binary
from sow.executors.probe import Facts, Program, probe_all
from sow.executors.registry import adapter


def examine_executors(context: Context) -> tuple[list[Finding], list[dict[str, Any]]]:
    """What there is to say about settings and executors, and the facts on each executor."""
    try:
        config, found = read(context)
        known = list(roles(context, config).agents) if config else []
    except SowError as error:
        return [{"state": "problem", "what": error.message, "hint": error.hint}], []
    if config is None:
        where = configs.path(context.environment)
        return [{**each, "what": f"{where}: {each['what']}"} for each in found if each["state"] == "problem"], []
    wrong = [*problems(config), *oddities(config, known)]
    state = "are valid" if config.exists else "do not exist, so the defaults are in effect"
    findings = wrong or [{"state": "ok", "what": f"your settings at {configs.shown(config.path)} {state}", "hint": ""}]
    executors = _facts(config, known, context)
    return [*findings, *notify(config, context), *(_finding(each) for each in executors)], executors


def _facts(config: Config, known: list[str], context: Context) -> list[dict[str, Any]]:
    """Each executor in use, with what its program says about itself."""
    used = [each for each in map(config.executors.get, config.in_use(known)) if each and not configs.misfit(each)]
    places = {each.name: find_binary(settings.program(each.type, each.settings), context.environment) for each in used}
    programs = {(places[each.name], each.type): adapter(each.type).capabilities for each in used if places[each.name]}
    said = probe_all(programs, context.environment)
    return [_executor(each, places[each.name], said, config, known) for each in used]


def _executor(
    executor: ExecutorConfig, path: str, said: dict[Program, Facts], config: Config, known: list[str]
) -> dict[str, Any]:
    can, facts = adapter(executor.type).capabilities, said.get((path, executor.type))
    missing = None if facts is None else facts.missing
    return {
        "name": executor.name,
        "type": executor.type,
        "binary": settings.program(executor.type, executor.settings),
        "path": path or None,
        "version": facts.version or None if facts else None,
        "flags_known": None if missing is None or not can.known_flags else not missing,
        "missing_flags": list(missing or ()),
        "trouble": facts.trouble or None if facts else None,
        "cached": bool(facts and facts.cached),
        "session": can.session,
        "resumes": can.resumes,
        "takes_model": can.model,
        "reports_cost": can.reports_cost,
        "reports_tokens": can.reports_tokens,
        "read_only": can.read_only,
        "needs_yolo": can.needs_yolo,
        "closes": can.closes,
        "roles": [role for role in config.roles(known) if config.binding(role)[0] == executor.name],
    }


def _finding(facts: dict[str, Any]) -> Finding:
    """One line on one executor, and the next step where something is amiss."""
    can = adapter(facts["type"]).capabilities
    name, binary = facts["name"], facts["binary"]
    if not facts["path"]:
        return {"state": "warning", "what": f"{name}: {binary} is not installed", "hint": f"install: {can.install}"}
    here = f"{name}: {facts['path']}"
    if facts["trouble"]:
        return {
            "state": "warning",
            "what": f"{here}: {facts['trouble']}",
            "hint": f"try it by hand: {binary} --version",
        }
    version = f" {facts['version']}" if facts["version"] else ""
    if facts["missing_flags"]:
        lacks = ", ".join(facts["missing_flags"])
        return {
            "state": "warning",
            "what": f"{here}{version}: its help does not tell of {lacks}; {_abilities(can)}",
            "hint": f"it is older or newer than what sow knows; to update it: {can.install}",
        }
    flags = "its flags are known; " if can.known_flags else ""
    return {"state": "ok", "what": f"{here}{version}: {flags}{_abilities(can)}", "hint": ""}


def _abilities(can: Capabilities) -> str:
    resumes = "can resume" if can.resumes else "cannot resume"
    cost = "reports its cost" if can.reports_cost else "reports no cost"
    return f"{SESSIONS[can.session]}, {resumes}, {cost}"
