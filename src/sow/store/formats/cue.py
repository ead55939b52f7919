"""Exports a JSON Schema document as CUE."""

from __future__ import annotations

import json
import re
from typing import Any

Schema = dict[str, Any]
KINDS = {"string": "string", "integer": "int", "number": "number", "boolean": "bool", "null": "null"}


def export(schema: Schema) -> str:
    """Returns the CUE text of one schema document."""
    title = schema["title"]
    imports = [name for name in ("list", "strings") if _needs_import(schema, name)]
    lines = [f"// {schema['description']}", f"// Schema {schema['$id'].removeprefix('sow:schema/')}", "package sow", ""]
    if imports:
        lines += ["import (", *(f'\t"{name}"' for name in imports), ")", ""]
    for name, rule in schema.get("$defs", {}).items():
        lines += [*_comment(rule, ""), f"#{_camel(name)}: {_value(rule, '')}", ""]
    return "\n".join([*lines, f"#{title}: {_value(schema, '')}"]) + "\n"


def _needs_import(rule: Any, package: str) -> bool:
    keywords = {"list": ("uniqueItems",), "strings": ("minLength", "maxLength")}[package]
    if isinstance(rule, dict):
        return any(key in rule for key in keywords) or any(_needs_import(value, package) for value in rule.values())
    return isinstance(rule, list) and any(_needs_import(value, package) for value in rule)


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.replace("-", "_").split("_"))


def _comment(rule: Schema, pad: str) -> list[str]:
    return [f"{pad}// {rule['description']}"] if "description" in rule else []


def _value(rule: Schema, pad: str) -> str:
    if "$ref" in rule:
        return f"#{_camel(rule['$ref'].rpartition('/')[2])}"
    if "enum" in rule:
        # A condition may limit the choices to strings; then null is not one of them.
        choices = [choice for choice in rule["enum"] if choice is not None or rule.get("type") != "string"]
        return _with_default(" | ".join(_literal(choice) for choice in choices), rule)
    kinds = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
    return _with_default(" | ".join(_type_text(kind, rule, pad) for kind in kinds), rule)


def _with_default(value: str, rule: Schema) -> str:
    """Marks the default with a star; a default that is not a choice is added as one."""
    if "default" not in rule:
        return value
    if rule["default"] == {}:  # a struct has the defaults of its fields; beside null it needs a star to be the default
        return f"*{value}" if isinstance(rule["type"], list) else value
    default = _literal(rule["default"])
    choices = value.split(" | ")
    if default in choices:
        return " | ".join(f"*{choice}" if choice == default else choice for choice in choices)
    return f"*{default} | {value}"


def _type_text(kind: str, rule: Schema, pad: str) -> str:
    if kind == "object":
        return _struct(rule, pad)
    if kind == "array":
        parts = [f"[...{_value(rule['items'], pad)}]"]
        parts += [f"[{'_, ' * rule['minItems']}...]"] if "minItems" in rule else []
        parts += ["list.UniqueItems()"] if rule.get("uniqueItems") else []
        return " & ".join(parts)
    parts = [KINDS[kind]]
    if kind in ("integer", "number"):
        parts += [f">={rule['minimum']}"] if "minimum" in rule else []
    if kind == "string":
        parts += [f"=~{_literal(_pattern(rule['pattern']))}"] if "pattern" in rule else []
        parts += [f"strings.MinRunes({rule['minLength']})"] if rule.get("minLength") else []
        parts += [f"strings.MaxRunes({rule['maxLength']})"] if "maxLength" in rule else []
        parts += [f"!={_literal(value)}" for value in rule.get("not", {}).get("enum", ())]
    return " & ".join(parts)


def _struct(rule: Schema, pad: str) -> str:
    inner = pad + "\t"
    if isinstance(rule.get("additionalProperties"), dict):
        names = f"=~{_literal(rule['propertyNames']['pattern'])}" if "propertyNames" in rule else "string"
        return f"{{[{names}]: {_value(rule['additionalProperties'], pad)}}}"
    lines = ["{"]
    for name, field in rule.get("properties", {}).items():
        optional = "" if name in rule.get("required", ()) or "default" in field else "?"
        label = f'"{name}"' if name in KINDS.values() else name  # without quotes it would hide the type of that name
        lines += [*_comment(field, inner), f"{inner}{label}{optional}: {_value(field, inner)}"]
    for condition in rule.get("allOf", ()):
        lines += _condition(rule, condition, inner)
    return "\n".join([*lines, f"{pad}}}"])


def _condition(rule: Schema, condition: Schema, pad: str) -> list[str]:
    """Renders `if` of a schema as `if` of CUE: a field that is required then loses its question mark."""
    ((key, test),) = condition["if"]["properties"].items()
    guard = " || ".join(f"{key} == {_literal(value)}" for value in test["enum"])
    narrowed_rules = condition["then"].get("properties", {})
    required_fields = [
        f"{pad}\t{name}: {_value({**rule['properties'][name], **narrowed_rules.get(name, {})}, pad)}"
        for name in condition["then"]["required"]
    ]
    return [f"{pad}if {guard} {{", *(line.replace("\n", "\n\t") for line in required_fields), f"{pad}}}"]


def _pattern(pattern: str) -> str:
    """Returns the regular expression for RE2, which has no \\u escape."""
    return re.sub(r"\\u([0-9a-f]{4})", r"\\x{\1}", pattern)


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
