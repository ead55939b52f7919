"""A CUE engine accepts and refuses the same documents by the exported CUE as sow's validators.

The engine is CUE 0.4.3 as WebAssembly, from npm; this is the one test that fetches something from the network.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from importlib import import_module
from typing import Any

import pytest
from yaml12 import parse_yaml

from sow.cli.setup.config_file import template
from sow.store.formats import schema
from sow.store.formats.cue import export
from sow.store.formats.validation import SchemaError

pytestmark = pytest.mark.full

PACKAGE = "cue-wasm@1.0.0"
ENGINE = """
import { init } from 'cue-wasm';
import { readFileSync } from 'node:fs';
const cue = await init();
const judged = JSON.parse(readFileSync(0, 'utf8')).map((text) => {
  try { return { value: JSON.parse(cue.toJSON(text)).value, error: null }; }
  catch (error) { return { value: null, error: String(error.message ?? error) }; }
});
process.stdout.write(JSON.stringify(judged), () => process.exit(0));
"""

TIME = "2026-01-31T09:00:00Z"
NOTE = {"note_id": "note_001", "timestamp": 1, "description": "d", "context": "c"}
ENTRY = {
    "name": "n",
    "source": {"url": "u", "ref": ""},
    "pin": "b" * 40,
    "digest": "a" * 64,
    "size": 1,
    "files": 1,
    "described_by": "files",
    "installed_at": TIME,
    "updated_at": TIME,
}
FOLDER = {"url": "u", "path": "", "ref": ""}
DOCUMENTS: dict[str, Any] = {
    "task": {
        "schema_version": "1.2.0",
        "revision": 3,
        "task": {
            "id": "010",
            "name": "Add login",
            "status": "completed",
            "assigned_agent": "implementer",
            "iteration": 2,
            "priority": "high",
            "depends_on": ["020"],
            "criteria": ["it works"],
            "references": ["docs/api.md"],
            "context": [{"path": "docs/api.md", "kind": "knowledge", "reason": "about tokens", "size": 90}],
            "session_id": "s",
            "question": {"number": 1, "text": "q", "asked_at": TIME},
            "questions": [
                {
                    "number": 1,
                    "text": "q",
                    "asked_at": TIME,
                    "answer": "a",
                    "answered_at": TIME,
                    "answered_by": "ada",
                }
            ],
            "approval": {"by": "ada", "at": TIME, "iteration": 2},
            "abandoned_reason": "r",
            "created_at": TIME,
            "updated_at": TIME,
            "started_at": TIME,
            "completed_at": TIME,
        },
    },
    "project": {
        "schema_version": "1.2.0",
        "revision": 1,
        "project_id": "8f14e45f-ceea-467a-9575-0a1b2c3d4e5f",
        "name": "Add authentication",
        "description": "",
        "branch": "feat/auth",
        "phases": [
            {"name": "implementation", "status": "active", "created_at": TIME, "reason": "r", "question": 1},
        ],
        "questions": 0,
        "created_at": TIME,
        "updated_at": TIME,
    },
    "notes": {
        "task_id": "create_user_table_1727539200",
        "session_start": 1727539800,
        "notes": [
            {
                **NOTE,
                "status": "resolved",
                "category": "bug",
                "resolution": "r",
                "resolved_by": "user",
                "resolution_timestamp": 2,
                "escalation_reason": None,
            },
            {**NOTE, "status": "escalated", "escalation_reason": "e", "resolution": None, "resolved_by": None},
        ],
    },
    "log-entry": {"timestamp": TIME, "agent": "a-1", "action": "a", "result": "r", "files": ["f"], "text": "t"},
    "task-description": {"title": "t", "text": ""},
    "repo-config": {"schema_version": "1.2.0", "artifacts": {"adrs": "a", "designs": "d"}},
    "sink-index": {
        "schema_version": "1.2.0",
        "sinks": [{**ENTRY, "source": FOLDER, "summary": "", "when_to_use": "", "tags": ["x", "y"]}],
    },
    "repo-index": {
        "schema_version": "1.2.0",
        "repos": [{**ENTRY, "purpose": "", "mode": "clone", "hints": [{"path": "p", "about": ""}], "tags": ["x"]}],
    },
    "user-config": {
        "agents": {
            "executors": {
                "c": {"type": "claude", "settings": {"yolo_mode": True, "model": "m"}, "custom_args": ["x"]},
            },
            "bindings": {"implementer": "c"},
        }
    },
}
# A value of each format, for the documents that are made from their schema.
OF_FORMAT = {
    "sow-agent": "implementer",
    "sow-digest": "a" * 40,
    "sow-duration": "5m",
    "sow-member": "database_agent",
    "sow-note-id": "note_001",
    "sow-session-task": "add_login_1727539200",
    "sow-task-id": "010",
    "sow-timestamp": TIME,
    "sow-uuid4": "8f14e45f-ceea-467a-9575-0a1b2c3d4e5f",
    "sow-version": "1.2.0",
    "sow-worker": "010",
}


def example(rule: dict[str, Any], definitions: dict[str, Any]) -> Any:
    """Returns a value that follows a rule, with every field."""
    if "$ref" in rule:
        return example(definitions[rule["$ref"].rpartition("/")[2]], definitions)
    if "enum" in rule:
        return rule["enum"][0]
    kind = rule["type"][0] if isinstance(rule["type"], list) else rule["type"]
    if kind == "object":
        names = rule.get("additionalProperties") or {}
        fields = {"a": names} if names else rule.get("properties", {})
        return {name: example(field, definitions) for name, field in fields.items()}
    if kind == "array":
        return [example(rule["items"], definitions)]
    text = "x" * max(1, rule.get("minLength", 1))
    return {"string": OF_FORMAT.get(rule.get("format", ""), text), "boolean": True, "null": None}.get(kind, 1)


for _name in schema.names():
    _rules = schema.document(_name)
    DOCUMENTS.setdefault(_name, example(_rules, _rules.get("$defs", {})))
VALUES = [None, True, 0, -1, 7, "", "x", "a\nb", "a\u2028b", "A-B", "main", "ééé", "0010", "1000", [], ["x", "x"], {}]
VALUES += ["completed", "resolved", "escalated", "abandoned", {"odd": 1}]
Case = tuple[str, Any]


def places(data: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Returns the path of every value inside a document."""
    for key in data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield (*here, key)
        yield from places(data[key], (*here, key))


def at(data: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        data = data[key]
    return data


def damaged(document: Any) -> Iterator[Case]:
    """Returns the document unchanged, and with one value missing, added, doubled, or replaced."""
    yield "as it is", document
    for place in places(document):
        *before, last = place
        result = at(document, place)
        for value in VALUES:
            copy = deepcopy(document)
            at(copy, tuple(before))[last] = value
            if not (isinstance(value, list) and isinstance(result, dict)):  # CUE 0.4.3 panics on such a note
                yield f"{place} is {value!r}", copy
        copy = deepcopy(document)
        if isinstance(result, dict):
            at(copy, place)["odd"] = 1
            yield f"{place} has a field too much", copy
        if isinstance(result, list):
            at(copy, place).append(deepcopy(result[0]))
            yield f"{place} has its first item twice", copy
        if isinstance(last, str):
            copy = deepcopy(document)
            del at(copy, tuple(before))[last]
            yield f"{place} is missing", copy


def taken_for_empty(complaint: Any, value: Any) -> bool:
    """Tells whether a list or table is missing: CUE 0.4.3 has no required fields, and reads it as an empty one."""
    if not str(complaint).endswith(": is missing") or not value:
        return False
    place = str(complaint).partition(": ")[0].replace("]", "").replace("[", ".").split(".")
    return at(value, tuple(int(step) if step.isdigit() else step for step in place)) in ([], {})


def ours(name: str, document: Any) -> Any:
    """Returns the document with its defaults, or its error."""
    validate = import_module(f"sow.store.validators.{name.replace('-', '_')}").validate
    filled = deepcopy(document)
    try:
        validate(filled)
        validate(filled)  # a default that is a mapping has defaults of its own
    except SchemaError as complaint:
        return str(complaint)
    return filled


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """Asks a CUE engine about texts: the value of the field `value` in each, or the error."""
    folder = tmp_path_factory.mktemp("cue")
    assert shutil.which("npm"), "this test needs node and npm"
    subprocess.run(["npm", "install", "--no-save", "--silent", PACKAGE], cwd=folder, check=True, timeout=300)
    (folder / "engine.mjs").write_text(ENGINE)

    def judge(texts: list[str]) -> list[dict[str, Any]]:
        result = subprocess.run(
            ["node", "engine.mjs"], cwd=folder, input=json.dumps(texts), capture_output=True, text=True, timeout=300
        )
        assert result.stdout.startswith("["), result.stdout[:500] + result.stderr[:500]
        judged: list[dict[str, Any]] = json.loads(result.stdout)
        return judged

    return judge


@pytest.mark.parametrize("name", schema.names())
def test_the_engine_agrees_with_sow(engine, name):
    """On a valid document and on each damaged one, CUE and sow's validator agree, also about the defaults."""
    document = schema.document(name)
    cases = list(damaged(DOCUMENTS[name]))
    texts = [f"{export(document)}\nvalue: #{document['title']} & {json.dumps(value)}" for _, value in cases]
    different = []
    for (label, each), judged in zip(cases, engine(texts), strict=True):
        mine = ours(name, each)
        differs = isinstance(mine, str) != bool(judged["error"]) or (not judged["error"] and judged["value"] != mine)
        if differs and not taken_for_empty(mine, judged["value"]):
            different.append((label, mine, judged))
    assert different == []
    assert not isinstance(ours(name, DOCUMENTS[name]), str)


ROLES = ("orchestrator", "implementer", "architect", "reviewer", "planner", "researcher")
WORKING = {"settings": {"yolo_mode": True}}
SETTINGS: dict[str, Any] = {
    "three agent CLIs": {
        "executors": {
            "claude-code": {
                "type": "claude",
                "settings": {"yolo_mode": True, "model": "sonnet"},
                "custom_args": [],
            },
            "cursor": {"type": "cursor", **WORKING, "custom_args": []},
            "windsurf": {"type": "windsurf", **WORKING, "custom_args": ["--cascade"]},
        },
        "bindings": dict.fromkeys(ROLES, "claude-code") | {"implementer": "cursor"},
    },
    "the defaults": {
        "executors": {"claude-code": {"type": "claude", "settings": {"yolo_mode": False}}},
        "bindings": dict.fromkeys(ROLES, "claude-code"),
    },
    "two agent CLIs": {
        "executors": {
            "claude-code": {"type": "claude", "settings": {"yolo_mode": True, "model": "sonnet"}},
            "cursor": {"type": "cursor", **WORKING},
        },
        "bindings": dict.fromkeys(ROLES, "claude-code") | {"implementer": "cursor"},
    },
    "two models of one CLI": {
        "executors": {
            "claude-opus": {"type": "claude", "settings": {"yolo_mode": True, "model": "opus"}},
            "claude-sonnet": {"type": "claude", "settings": {"yolo_mode": True, "model": "sonnet"}},
            "cursor": {"type": "cursor", **WORKING},
        },
        "bindings": dict.fromkeys(ROLES, "claude-sonnet") | {"orchestrator": "claude-opus", "implementer": "cursor"},
    },
}


def test_the_engine_accepts_usual_settings(engine):
    """Usual settings, the template and an empty file follow #UserConfig (A9)."""
    files = [{"agents": agents} for agents in SETTINGS.values()]
    files += [parse_yaml(template("here")), {}, {"agents": None, "limits": None}]
    rules = export(schema.document("user-config"))
    texts = [f"{rules}\nvalue: #UserConfig & {json.dumps(file)}" for file in files]
    assert [judged["error"] for judged in engine(texts)] == [None] * len(texts)


@pytest.mark.parametrize("version", schema.versions())
def test_the_engine_reads_every_version(engine, version):
    """CUE compiles every schema of every version."""
    texts = [f"{export(schema.document(name, version))}\nvalue: 1\n" for name in schema.names(version)]
    assert [judged["error"] for judged in engine(texts)] == [None] * len(texts)
