"""Translates JSON Schema documents to Python validators that import only sow's own modules.

A library could generate such code too, but its messages omit the name of a missing field and its module takes
three Python starts to import. A test compares these validators with `jsonschema` on thousands of documents.
An unknown keyword stops the generation, so that no rule of a schema is dropped silently.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

IGNORED_KEYWORDS = {"$schema", "$id", "$defs", "title", "description", "pattern", "x-renamed-from", "default"}
TYPES = {
    "object": ("dict", "a mapping"),
    "array": ("list", "a list"),
    "string": ("str", "a text"),
    "integer": ("int", "a whole number"),
    "boolean": ("bool", "true or false"),
    "number": ("int, float", "a number"),
    "null": ("type(None)", "null"),
}
HEADER = '''"""Written by `make generate` from schemas/{version}/{name}.json: change the schema, not this file."""

from sow.store.formats.validation import missing, unknown, wrong
{formats}

'''


class Writer:
    """Collects the functions of one validator module."""

    def __init__(self, schema: Schema) -> None:
        self.defs: dict[str, Schema] = schema.get("$defs", {})
        self.functions: list[str] = []
        self.formats: set[str] = set()

    def function(self, name: str, schema: Schema) -> str:
        """Writes a function for an object schema and returns its name."""
        position = len(self.functions)
        self.functions.append("")
        body = ["    if type(data) is not dict:", '        return wrong(at, "a mapping", data)']
        if "properties" in schema:
            body += self.properties(name, schema)
        elif isinstance(schema.get("additionalProperties"), dict):
            body += [
                "    for key, value in data.items():",
                "        if type(key) is not str:",
                '            wrong(at, "a mapping with names as keys", key)',
            ]
            if "propertyNames" in schema:
                body += self.bounds("", {"format": schema["propertyNames"]["format"]}, "key", "at", " " * 8)
            body += self.check(f"{name}_value", schema["additionalProperties"], "value", "f'{at}.{key}'", 8)
        for rule in schema.get("allOf", ()):
            body += self.condition(rule)
        self.functions[position] = "\n".join([f"def {name}(data, at):", *body])
        return name

    def properties(self, name: str, schema: Schema) -> list[str]:
        """Returns lines that check and count every known field, and report unknown ones."""
        if schema.get("additionalProperties") is not False:
            raise ValueError(f"{name}: an object with properties must refuse others")
        lines = ["    seen = 0"]
        for key, rule in schema["properties"].items():
            lines += [f"    if {key!r} in data:", "        seen += 1", f"        value = data[{key!r}]"]
            lines += self.check(f"{name}_{key}", rule, "value", f"f'{{at}}.{key}' if at else {key!r}", 8)
            if "default" in rule:
                lines += ["    else:", "        seen += 1", f"        data[{key!r}] = {rule['default']!r}"]
            elif key in schema.get("required", ()):
                lines += ["    else:", f"        missing(at, {key!r})"]
        return [*lines, "    if seen != len(data):", f"        unknown(data, at, {tuple(schema['properties'])!r})"]

    def condition(self, rule: Schema) -> list[str]:
        """Returns lines for: `if` a field has a value, `then` others are required, perhaps with a narrower type."""
        ((key, test),) = rule["if"]["properties"].items()
        lines = [f"    if data.get({key!r}) in {tuple(test['enum'])!r}:"]
        narrowed = rule["then"].get("properties", {})
        for field in rule["then"]["required"]:
            lines += [f"        if {field!r} not in data:", f"            missing(at, {field!r})"]
            if field in narrowed:
                lines += self.check("", narrowed[field], f"data[{field!r}]", f"f'{{at}}.{field}'", 8)
        return lines

    def check(self, name: str, rule: Schema, value: str, at: str, indent: int) -> list[str]:
        """Returns the lines that check one value."""
        if "$ref" in rule:
            rule = {
                **self.defs[rule["$ref"].removeprefix("#/$defs/")],
                **{k: v for k, v in rule.items() if k != "$ref"},
            }
        pad = " " * indent
        keywords = {
            "type",
            "properties",
            "required",
            "additionalProperties",
            "propertyNames",
            "allOf",
            "items",
            "minItems",
            "uniqueItems",
            "enum",
        }
        keywords |= {"format", "minLength", "maxLength", "minimum", "not"}
        if set(rule) - keywords - IGNORED_KEYWORDS:
            raise ValueError(f"{name}: unknown keywords {sorted(set(rule) - keywords - IGNORED_KEYWORDS)}")
        if "enum" in rule:
            wanted = "one of " + ", ".join(str(option) if option is not None else "null" for option in rule["enum"])
            test = f"type({value}) not in (str, type(None)) or {value} not in {tuple(rule['enum'])!r}"
            return [f"{pad}if {test}:", f"{pad}    wrong({at}, {wanted!r}, {value})"]
        types = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
        names = ", ".join(TYPES[kind][0] for kind in types)
        test = f"type({value}) not in ({names})" if "," in names else f"type({value}) is not {names}"
        wanted = " or ".join(TYPES[kind][1] for kind in types)
        if "object" in types:
            inner = [f"{pad}{self.function(name, rule)}({value}, {at})"]
            return inner if len(types) == 1 else [f"{pad}if {value} is not None:", f"    {inner[0]}"]
        lines = [f"{pad}if {test}:", f"{pad}    wrong({at}, {wanted!r}, {value})"]
        if "null" in types:
            lines.append(f"{pad}if {value} is not None:")
            pad += "    "
            if not (bounds := self.bounds(name, rule, value, at, pad)):
                bounds = [f"{pad}pass"]
            return lines + bounds
        return lines + self.bounds(name, rule, value, at, pad)

    def bounds(self, name: str, rule: Schema, value: str, at: str, pad: str) -> list[str]:
        """Returns lines that check lengths, limits, formats and the items of a list."""
        lines: list[str] = []
        if "minLength" in rule or "maxLength" in rule:
            low, high = rule.get("minLength", 0), rule.get("maxLength")
            test = f"len({value}) < {low}" if high is None else f"not {low} <= len({value}) <= {high}"
            wanted = f"at least {low} characters long" if high is None else f"{low} to {high} characters long"
            lines += [f"{pad}if {test}:", f"{pad}    wrong({at}, {wanted!r}, {value})"]
        if "minimum" in rule:
            lines += [
                f"{pad}if {value} < {rule['minimum']}:",
                f"{pad}    wrong({at}, 'at least {rule['minimum']}', {value})",
            ]
        if "format" in rule:
            self.formats.add(rule["format"])
            variable = rule["format"].removeprefix("sow-").replace("-", "_")
            lines += [f"{pad}if not {variable}({value}):", f"{pad}    wrong({at}, {variable}_wanted, {value})"]
        if "not" in rule:
            refused = tuple(rule["not"]["enum"])
            lines += [
                f"{pad}if {value} in {refused!r}:",
                f"{pad}    wrong({at}, 'anything but {' or '.join(refused)}', {value})",
            ]
        if "minItems" in rule:
            lines += [
                f"{pad}if len({value}) < {rule['minItems']}:",
                f"{pad}    wrong({at}, 'a list of at least {rule['minItems']}', {value})",
            ]
        if "items" in rule:
            suffix = "" if value != "item" else "_below"  # a list inside a list needs its own variable names
            lines.append(f"{pad}for index{suffix}, item{suffix} in enumerate({value}):")
            at_item = f"({at}) + f'[{{index{suffix}}}]'"
            lines += self.check(f"{name}_item", rule["items"], f"item{suffix}", at_item, len(pad) + 4)
        if rule.get("uniqueItems"):
            lines += [
                f"{pad}if len(set({value})) != len({value}):",
                f"{pad}    wrong({at}, 'a list without repeats', {value})",
            ]
        return lines


def write(name: str, version: str, schema: Schema) -> str:
    """Returns the text of the module that validates documents of this schema."""
    writer = Writer(schema)
    writer.function("validate", schema)
    variables = sorted(
        (format_name.removeprefix("sow-").replace("-", "_"), format_name) for format_name in writer.formats
    )
    formats = "from sow.store.formats.validation import FORMATS\n" if variables else ""
    formats += "".join(
        f"\n{variable}, {variable}_wanted = FORMATS[{format_name!r}]" for variable, format_name in variables
    )
    return HEADER.format(name=name, version=version, formats=formats) + "\n\n\n".join(writer.functions) + "\n"
