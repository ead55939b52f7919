"""Shows the effective settings, with the origin of every value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sow.config import DEFAULT, DEFAULT_EXECUTOR, FROM_FILE, Config, ExecutorConfig
from sow.store.formats.yaml_text import ESCAPES

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
    settings = document(config, role_names)
    agents, used = settings["agents"], config.executors_in_use(role_names)
    executors = {name: agents["executors"][name] for name in used if name in config.executors}
    for executor in executors.values():
        if not executor["custom_args"]["value"]:
            del executor["custom_args"]
    rest = ", ".join(name for name in config.executors if name not in used)
    rows = [("agents:", ""), *_rows({"directories": agents["directories"], "executors": executors}, "  ")]
    rows += [(f"    # Also there, with default settings: {rest}", "")] if rest else []
    rows += _rows({name: agents[name] for name in ("default", "bindings", "fallbacks") if agents.get(name)}, "  ")
    rows += _rows({name: settings[name] for name in ("limits", *config.sections, "trust")}, "")
    return "\n".join([*head, *_aligned(rows)])


def _rows(tree: Mapping[str, Any], indent: str) -> Iterator[Row]:
    """Yields a line for each key, with the origin of its value."""
    for name, entry in tree.items():
        if entry.keys() == {"value", "origin"}:
            yield f"{indent}{_key(name)}: {value_text(entry['value'])}", entry["origin"]
        else:
            yield f"{indent}{_key(name)}:", ""
            yield from _rows(entry, f"{indent}  ")


def _key(name: str) -> str:
    """Quotes a key if it needs quotes in YAML."""
    plain = name.replace("-", "").replace("_", "")
    return name if plain.isascii() and plain.isalpha() and name[0].isalpha() else value_text(name)


def value_text(value: Any) -> str:
    """Returns a value as YAML on one line."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(value_text(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(name)}: {value_text(item)}' for name, item in value.items())}}}"
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
            "default": {
                "value": config.default or DEFAULT_EXECUTOR,
                "origin": FROM_FILE if config.default else DEFAULT,
            },
            "fallbacks": {role: {"value": names, "origin": FROM_FILE} for role, names in config.fallbacks.items()},
            "directories": {"value": config.directories[0], "origin": config.directories[1]},
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
