"""The export to CUE. tests/full/test_cue_oracle.py proves that a CUE engine agrees with sow."""

from __future__ import annotations

import re

import pytest
from support.paths import FIXTURES
from support.quick_cases import all_of

from sow.store.formats import schema
from sow.store.formats.cue import export

GOLDEN = FIXTURES / "cue"
HEAD = "// A thing\n// Schema 1.0.0/thing\npackage sow\n\n"
STRINGS = 'import (\n\t"strings"\n)\n\n'
LISTS = 'import (\n\t"list"\n)\n\n'
TEXT = {"type": "string"}


@pytest.mark.parametrize("name", ["task", "project"])
def test_the_export_does_not_change(bare_repo, name):
    """The CUE of a task and of a project equals a reviewed text, letter by letter."""
    assert bare_repo.ok("schema", "show", name, "--format", "cue").out == (GOLDEN / f"{name}.cue").read_text()


@pytest.mark.parametrize("version", schema.versions())
def test_every_schema_can_be_exported(version):
    """Each schema of each version has its definition in the export, and braces that match."""
    for name in schema.names(version):
        document = schema.document(name, version)
        text = export(document)
        assert f"\n#{document['title']}: {{\n" in text
        assert text.count("{") == text.count("}")


def test_an_old_version_can_be_exported(bare_repo):
    """`--version` exports the schema of that version."""
    text = bare_repo.ok("schema", "show", "task", "--format", "cue", "--version", "v0.9.0").out
    assert "\t\tassignee: string" in text
    assert "assigned_agent" not in text
    assert "// Schema 0.9.0/task" in text


def thing(rule: dict, required: bool = True) -> dict:
    """Returns a schema with one field."""
    return {
        "$id": "sow:schema/1.0.0/thing",
        "title": "Thing",
        "description": "A thing",
        "type": "object",
        "additionalProperties": False,
        "required": ["x"] if required else [],
        "properties": {"x": rule},
    }


FIELDS = {
    "a text": (TEXT, "", "x: string"),
    "a bounded text": (
        {**TEXT, "minLength": 1, "maxLength": 9},
        STRINGS,
        "x: string & strings.MinRunes(1) & strings.MaxRunes(9)",
    ),
    "a pattern, in the words of RE2": (
        {**TEXT, "pattern": "^[^\\u0000-\\u001f\\u2028]*\\.$"},
        "",
        'x: string & =~"^[^\\\\x{0000}-\\\\x{001f}\\\\x{2028}]*\\\\.$"',
    ),
    "a text that is none of these": (
        {**TEXT, "not": {"enum": ["main", "master"]}},
        "",
        'x: string & !="main" & !="master"',
    ),
    "a number with a default": ({"type": "integer", "minimum": 1, "default": 1}, "", "x: *1 | int & >=1"),
    "a truth value": ({"type": "boolean", "default": False}, "", "x: *false | bool"),
    "a text or nothing": ({"type": ["string", "null"]}, "", "x: string | null"),
    "a choice": ({"enum": ["a", "b", None]}, "", 'x: "a" | "b" | null'),
    "a choice with a default": ({"enum": ["a", "b"], "default": "b"}, "", 'x: "a" | *"b"'),
    "a list": ({"type": "array", "items": TEXT, "default": []}, "", "x: *[] | [...string]"),
    "a list of at least two": ({"type": "array", "items": TEXT, "minItems": 2}, "", "x: [...string] & [_, _, ...]"),
    "a list without repetitions": (
        {"type": "array", "items": TEXT, "uniqueItems": True},
        LISTS,
        "x: [...string] & list.UniqueItems()",
    ),
    "a table": ({"type": "object", "additionalProperties": TEXT}, "", "x: {[string]: string}"),
    "a struct or nothing, with a default": (
        {
            "type": ["object", "null"],
            "additionalProperties": False,
            "properties": {"on": {"type": "boolean", "default": True}},
            "default": {},
        },
        "",
        "x: *{\n\t\ton: *true | bool\n\t} | null",
    ),
    "a struct whose fields have their own defaults": (
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {"on": {"type": "boolean", "default": True}},
            "default": {},
        },
        "",
        "x: {\n\t\ton: *true | bool\n\t}",
    ),
}


@all_of("kind", FIELDS)
def test_each_rule_has_its_form(kind):
    """Every keyword of the schemas has its form in CUE, and only what is used is imported."""
    rule, imports, field = FIELDS[kind]
    assert export(thing(rule)) == f"{HEAD}{imports}#Thing: {{\n\t{field}\n}}\n"


def test_a_field_with_the_name_of_a_type():
    """Quotes keep such a field from hiding the type, which other fields use."""
    document = thing(TEXT)
    document["properties"] = {"number": {"type": "integer"}, "cost": {"type": "number"}}
    assert export(document) == f'{HEAD}#Thing: {{\n\t"number"?: int\n\tcost?: number\n}}\n'


def test_settings_may_omit_everything_but_the_type(bare_repo):
    """In the CUE of the user's settings each field has a question mark or a default, except an executor's type (A9)."""
    text = bare_repo.ok("schema", "show", "user-config", "--format", "cue").out
    assert re.findall(r"^\t+(\w+): (?!\*)", text, re.M) == ["type"]


def test_an_optional_field_has_a_question_mark():
    """Optional is what is neither required nor has a default."""
    assert "\tx?: string\n" in export(thing(TEXT, required=False))
    assert '\tx: *"y" | string\n' in export(thing({**TEXT, "default": "y"}, required=False))


def test_a_condition_restricts_its_fields():
    """The requirement of a condition is a field inside `if`, and null is no text there."""
    document = thing({"enum": ["open", "done"]})
    document["properties"]["by"] = {"enum": ["ada", None]}
    document["allOf"] = [
        {
            "if": {"properties": {"x": {"enum": ["done"]}}, "required": ["x"]},
            "then": {"required": ["by"], "properties": {"by": {"type": "string"}}},
        }
    ]
    assert export(document) == (
        f'{HEAD}#Thing: {{\n\tx: "open" | "done"\n\tby?: "ada" | null\n\tif x == "done" {{\n\t\tby: "ada"\n\t}}\n}}\n'
    )


def test_a_shared_definition_is_written_once():
    """A definition for several fields has a name, and the fields refer to it."""
    document = thing({"$ref": "#/$defs/task_id"}) | {"$defs": {"task_id": {**TEXT, "description": "Three digits"}}}
    assert export(document) == f"{HEAD}// Three digits\n#TaskId: string\n\n#Thing: {{\n\tx: #TaskId\n}}\n"
