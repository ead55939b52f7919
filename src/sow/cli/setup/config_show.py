"""Shows the effective settings, with the origin of every value."""

from __future__ import annotations

from sow.config import DEFAULT, FROM_FILE
from sow.store.formats.yaml_text import ESCAPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.config import Config, ExecutorConfig

Row = tuple[str, str]


def text(config: Config, role_names: list[str]) -> str:
    """Returns the settings as YAML that could serve as the user's file."""
    state = "exists" if config.exists else "not found, using defaults"
    overrides = ", ".join(f"{name}={value}" for name, value in config.overrides.items()) or "none"
    head = [
        "# Effective configuration (merged from defaults + file + environment)",
        f"# Config file: {config.path} ({state})",
        f"# Environment overrides: {overrides}",
        "",
    ]
    used = config.executors_in_use(role_names)
    rows: list[Row] = [("agents:", ""), ("  executors:", "")]
    for name in used:
        if name in config.executors:
            rows += _executor(config.executors[name])
    rest = ", ".join(name for name in config.executors if name not in used)
    rows += [(f"    # Also there, with default settings: {rest}", "")] if rest else []
    rows.append(("  bindings:", ""))
    bindings = ((role, config.binding(role)) for role in config.roles(role_names))
    rows += [(f"    {_key(role)}: {_value(name)}", origin) for role, (name, origin) in bindings]
    if config.fallbacks:
        rows.append(("  fallbacks:", ""))
        rows += [(f"    {_key(role)}: {_value(names)}", FROM_FILE) for role, names in config.fallbacks.items()]
    rows.append(("limits:", ""))
    rows += [(f"  {name}: {_value(value)}", origin) for name, (value, origin) in config.limits.items()]
    for section, values in config.sections.items():
        rows.append((f"{section}:", ""))
        rows += [(f"  {name}: {_value(value)}", origin) for name, (value, origin) in values.items()]
    rows.append((f"trust: {_value(config.trust)}", FROM_FILE if config.trust else DEFAULT))
    return "\n".join([*head, *_aligned(rows)])


def _executor(executor: ExecutorConfig) -> list[Row]:
    rows = [(f"    {_key(executor.name)}:", ""), (f"      type: {_value(executor.type)}", executor.origin)]
    rows += [("      settings:", "")]
    for name, value in {"yolo_mode": executor.yolo, **executor.settings}.items():
        rows.append((f"        {name}: {_value(value)}", executor.origin_of(name)))
    if executor.custom_args:
        rows.append((f"      custom_args: {_value(list(executor.custom_args))}", executor.origin))
    return rows


def _key(name: str) -> str:
    """Quotes a key if it needs quotes in YAML."""
    plain = name.replace("-", "").replace("_", "")
    return name if plain.isascii() and plain.isalpha() and name[0].isalpha() else _value(name)


def _value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(_value(item) for item in value)}]"
    return f'"{str(value).translate(ESCAPES)}"'


def _aligned(rows: list[Row]) -> list[str]:
    """Aligns the comments of adjacent lines."""
    lines: list[str] = []
    for index, (line, origin) in enumerate(rows):
        if not origin:
            lines.append(line)
            continue
        start = end = index
        while start and rows[start - 1][1]:
            start -= 1
        while end < len(rows) and rows[end][1]:
            end += 1
        width = max(len(cell) for cell, _ in rows[start:end])
        lines.append(f"{line:<{width}}  # ({origin})")
    return lines


def document(config: Config, role_names: list[str]) -> dict[str, Any]:
    """Returns the settings as JSON, with all executors."""
    return {
        "path": config.path,
        "exists": config.exists,
        "environment": dict(config.overrides),
        "agents": {
            "executors": {name: _executor_document(executor) for name, executor in config.executors.items()},
            "bindings": {
                role: {"value": name, "origin": origin}
                for role, (name, origin) in ((role, config.binding(role)) for role in config.roles(role_names))
            },
            "fallbacks": {role: {"value": names, "origin": FROM_FILE} for role, names in config.fallbacks.items()},
        },
        "limits": {name: {"value": value, "origin": origin} for name, (value, origin) in config.limits.items()},
        **{
            section: {name: {"value": value, "origin": origin} for name, (value, origin) in values.items()}
            for section, values in config.sections.items()
        },
        "trust": {"value": config.trust, "origin": FROM_FILE if config.trust else DEFAULT},
    }


def _executor_document(executor: ExecutorConfig) -> dict[str, Any]:
    settings = {"yolo_mode": executor.yolo, **executor.settings}
    return {
        "type": {"value": executor.type, "origin": executor.origin},
        "settings": {name: {"value": value, "origin": executor.origin_of(name)} for name, value in settings.items()},
        "custom_args": {
            "value": list(executor.custom_args),
            "origin": executor.origin if executor.custom_args else DEFAULT,
        },
    }
