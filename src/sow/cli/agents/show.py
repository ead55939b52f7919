"""Lists, shows and checks roles."""

from __future__ import annotations

import os
from typing import Any

from sow.agents.briefing import load_role_prompt
from sow.agents.registry import Agent, AgentRegistry, read_agent, real_path
from sow.cli.context import Context
from sow.cli.output import emit, print_findings, table
from sow.config import Config
from sow.domain.text.units import counted
from sow.errors import SowError
from sow.store.files.checkout_home import enclosing
from sow.system.terminal import escape_control, escape_line, notes, out


def roles(context: Context, config: Config) -> AgentRegistry:
    """Returns the roles available here; works without a .sow folder and outside of a repository."""
    if context.root or context.environment.get("SOW_ROOT"):
        root = context.project_home().root
    else:
        try:
            root = enclosing(context.cwd).root
        except SowError:
            root = ""
    return config.agents(root, context.environment)


def _facts(agent: Agent, config: Config) -> dict[str, Any]:
    executor, origin = config.binding(agent.name)
    return {
        "name": agent.name,
        "description": agent.description,
        "capabilities": agent.capabilities,
        "tools": list(agent.tools),
        "source": agent.source,
        "path": agent.path or None,
        "ignored": list(agent.unused_fields),
        "executor": executor,
        "executor_origin": origin,
    }


def list_agents(context: Context, *, json: bool) -> int:
    config = context.config()
    registry = roles(context, config)
    facts = [_facts(registry.get(name), config) for name in registry.names()]
    if json:
        return emit({"agents": facts, "warnings": registry.warnings})
    rows = [(agent["name"], agent["executor"], agent["source"], agent["description"]) for agent in facts]
    out(table([("ROLE", "EXECUTOR", "FROM", "DESCRIPTION"), *rows]))
    notes(registry.warnings, "warning")
    return 0


def show_agent(context: Context, *, agent: str, json: bool) -> int:
    config = context.config()
    role = roles(context, config).get(agent)
    facts = _facts(role, config)
    if json:
        return emit({**facts, "prompt": load_role_prompt(role)})
    facts["executor"] = f"{facts['executor']} ({facts.pop('executor_origin')})"
    rows = [(key, ", ".join(value) if isinstance(value, list) else str(value)) for key, value in facts.items() if value]
    out(table(rows))
    out(f"\n{escape_control(load_role_prompt(role)).strip()}")
    return 0


def validate_agents(context: Context, *, file: list[str], json: bool) -> int:
    """Checks the given files, or all that exist; an invalid file gives exit code 2 only if it was named."""
    return _validate_named(context, file, json=json) if file else _validate_all(context, json=json)


def _validate_all(context: Context, *, json: bool) -> int:
    registry = roles(context, context.config())
    remarks = [_remark(agent, agent.path) for agent in registry.agents.values() if agent.unused_fields]
    if json:
        return emit({"valid": not registry.warnings, "warnings": registry.warnings, "remarks": remarks})
    notes(registry.warnings, "warning")
    for remark in remarks:
        out(escape_line(remark))
    out(f"{counted(len(registry.agents), 'agent')}, {counted(len(registry.warnings), 'warning')}")
    return 0


def _remark(agent: Agent, shown_path: str) -> str:
    return f"{shown_path}: agent {agent.name}; fields without effect: {', '.join(agent.unused_fields)}"


def _validate_named(context: Context, files: list[str], *, json: bool) -> int:
    warnings = roles(context, context.config()).warnings
    findings = [_check(os.path.abspath(os.path.join(context.cwd, name)), name, warnings) for name in files]
    return print_findings(findings, lambda finding: str(finding["remark"]), json=json)


def _check(path: str, shown_path: str, warnings: list[str]) -> dict[str, str | None]:
    """Checks one file; a valid file may still be ignored because of its name or another file."""
    try:
        if os.path.isdir(path):
            raise SowError(f"{shown_path} is a folder", "name files, or none to check all of them")
        agent = read_agent(real_path(path), "file", shown_path)
    except SowError as error:
        message = error.message.replace(path, shown_path, 1)
        return {"file": shown_path, "agent": None, "remark": None, "error": message, "hint": error.hint}
    remark = f"{shown_path}: written by sow install; it defines no role"
    if agent is not None:
        remark = _remark(agent, shown_path) if agent.unused_fields else f"{shown_path}: agent {agent.name}"
        own_warnings = [warning.removeprefix(f"{path}: ") for warning in warnings if warning.startswith(f"{path}: ")]
        remark += f"; it is not used: {own_warnings[0]}" if own_warnings else ""
    return {"file": shown_path, "agent": agent.name if agent else None, "remark": remark, "error": None, "hint": None}
