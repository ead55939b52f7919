"""Translates JSON Schema documents to Python validators that import only sow's own modules.

A library could generate such code too, but its messages omit the name of a missing field and its module takes
three Python starts to import. A test compares these validators with `jsonschema` on thousands of documents.
An unknown keyword stops the generation, so that no rule of a schema is dropped silently.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

IGNORED_KEYWORDS = {"$schema", "$id", "$defs", "title", "description", "pattern", "x-renamed-from", "default"}
KEYWORDS = {
    "array": {"items", "minItems", "uniqueItems"},
    "boolean": set(),
    "integer": {"minimum"},
    "number": {"minimum"},
    "object": {"properties", "required", "additionalProperties", "propertyNames", "allOf"},
    "string": {"format", "minLength", "maxLength", "not"},
}
MODULE = '''"""Written by `make generate` from schemas/{version}/{name}.json: change the schema, not this file."""

from sow.store.formats.validation import {names}

{definitions}

def validate(data):
    DOCUMENT(data)
'''


class Writer:
    """Collects the checks of one validator module."""

    def __init__(self, schema: Schema) -> None:
        self.defs: dict[str, Schema] = schema.get("$defs", {})
        self.definitions: dict[str, str] = {}  # the shared checks, each before the first that uses it
        self.names: set[str] = set()

    def call(self, name: str, *arguments: str) -> str:
        """Returns a call of a function of the validation module."""
        self.names.add(name)
        return f"{name}({', '.join(arguments)})"

    def check(self, rule: Schema, pad: str) -> str:
        """Returns the expression that makes the check of a value."""
        if "$ref" in rule:
            if set(rule) - IGNORED_KEYWORDS != {"$ref"}:
                raise ValueError(f"unknown keywords beside a reference: {sorted(rule)}")
            name: str = rule["$ref"].removeprefix("#/$defs/")
            constant = name.upper().replace("-", "_")
            if constant not in self.definitions:
                self.definitions[constant] = self.check(self.defs[name], "")
            return constant
        if "enum" in rule:
            self.refuse_unknown(rule, {"enum", "type"})
            return self.call("choice", *map(repr, rule["enum"]))
        kind, *others = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
        known = set().union(*(KEYWORDS[name] for name in (kind, *others) if name != "null"))
        self.refuse_unknown(rule, {"type", *known})
        null = ["null=True"] if others == ["null"] else []
        if others and not null and (kind, others) not in (("array", ["string"]), ("integer", ["string"])):
            raise ValueError(f"unknown types {rule['type']}")
        if kind == "object":
            return self.object(rule, pad, null)
        if kind == "array":
            instead = {"null": "type(None)", "string": "str"}[others[0]] if others else ""
            options = [f"least={rule['minItems']}"] if "minItems" in rule else []
            options += ["unique=True"] if rule.get("uniqueItems") else []
            options += [f"instead={instead}"] if instead else []
            return self.call("array", self.check(rule["items"], pad), *options)
        if kind == "string":
            return self.text(rule, null)
        if kind == "boolean":
            self.names.add("flag")
            return "flag"
        least = [str(rule["minimum"])] if "minimum" in rule else []
        text = [f"instead={self.text(rule, [])}"] if others and not null else []
        return self.call("number", *least, *(["whole=True"] if kind == "integer" else []), *null, *text)

    def refuse_unknown(self, rule: Schema, known: set[str]) -> None:
        if set(rule) - known - IGNORED_KEYWORDS:
            raise ValueError(f"unknown keywords {sorted(set(rule) - known - IGNORED_KEYWORDS)}")

    def text(self, rule: Schema, options: list[str]) -> str:
        """Returns the check of a text."""
        bounds = (("", "minLength"), ("", "maxLength")) if "maxLength" in rule else (("low=", "minLength"),)
        values = [prefix + str(rule.get(key, 0)) for prefix, key in bounds if key in rule or not prefix]
        values += [f"form={rule['format']!r}"] if "format" in rule else []
        values += [f"refused={tuple(rule['not']['enum'])!r}"] if "not" in rule else []
        return self.call("text", *values, *options)

    def object(self, rule: Schema, pad: str, options: list[str]) -> str:
        """Returns the check of an object with known fields, or of a mapping with any names."""
        if "properties" not in rule:
            names = [self.call("text", f"form={rule['propertyNames']['format']!r}")] if "propertyNames" in rule else []
            return self.call("mapping", self.check(rule["additionalProperties"], pad), *names, *options)
        if rule.get("additionalProperties") is not False:
            raise ValueError("an object with properties must refuse others")
        inner = pad + "    "
        lines = [
            f"{inner}{key!r}: ({self.check(field, inner)}, {self.default(field, key in rule.get('required', ()))}),\n"
            for key, field in rule["properties"].items()
        ]
        conditions = [self.condition(condition) for condition in rule.get("allOf", ())]
        return self.call("record", "{\n" + "".join(lines) + pad + "}", *conditions, *options)

    def default(self, rule: Schema, required: bool) -> str:
        """Returns the default of a field, or the name of the constant that is in its place."""
        if "default" in rule:
            return repr(rule["default"])
        name = "REQUIRED" if required else "OPTIONAL"
        self.names.add(name)
        return name

    def condition(self, rule: Schema) -> str:
        """Returns a condition: `if` a field has a value, `then` others are required, perhaps with a narrower type."""
        ((subject, test),) = rule["if"]["properties"].items()
        narrowed = rule["then"].get("properties", {})
        required = rule["then"]["required"]
        self.names |= {"anything" for field in required if field not in narrowed}
        needed = (f"{key!r}: {self.check(narrowed[key], '') if key in narrowed else 'anything'}" for key in required)
        return f"({subject!r}, {tuple(test['enum'])!r}, {{{', '.join(needed)}}})"


def write(name: str, version: str, schema: Schema) -> str:
    """Returns the text of the module that validates documents of this schema."""
    writer = Writer(schema)
    document = writer.check(schema, "")
    checks = {**writer.definitions, "DOCUMENT": document}
    definitions = "".join(f"{constant} = {check}\n" for constant, check in checks.items())
    return MODULE.format(name=name, version=version, names=", ".join(sorted(writer.names)), definitions=definitions)
