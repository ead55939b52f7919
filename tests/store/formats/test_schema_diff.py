"""The changes between two versions of the schemas, for a migration and for a person."""

from __future__ import annotations

import pytest

from sow.cli.setup.schema import _advice, _sentence
from sow.store.formats import schema
from sow.store.formats.schema_diff import _compare, changes

SEED = """\
Changes detected:
1. task.assignee → task.assigned_agent (rename)
2. task.priority added (default: medium)

Suggested migration:
  - Rename field: assignee → assigned_agent
  - Add field: priority = "medium"
"""


def rules(required: str = "", **properties) -> dict:
    return {"type": "object", "required": required.split(), "properties": properties}


TEXT = {"type": "string"}


@pytest.mark.parametrize(("older", "newer"), [("v0.9.0", "v1.0.0"), ("0.9.0", "1.0.0")])
def test_the_differences_as_text(bare_repo, older, newer):
    """`sow schema diff` prints the changes and the suggested migration."""
    assert bare_repo.ok("schema", "diff", older, newer).out == SEED


def test_the_differences_as_a_document(bare_repo):
    """`--json` gives kind, schema, path, old name and default of each change."""
    assert bare_repo.ok("schema", "diff", "v0.9.0", "v1.0.0", "--json").json == {
        "changes": [
            {"kind": "rename", "schema": "task", "path": "task.assigned_agent", "old": "assignee", "default": None},
            {"kind": "add", "schema": "task", "path": "task.priority", "old": None, "default": "medium"},
        ]
    }


@pytest.mark.parametrize("version", schema.versions())
def test_a_version_does_not_differ_from_itself(bare_repo, version):
    """Between a version and itself there are no changes."""
    assert changes(version, version) == []
    assert bare_repo.ok("schema", "diff", version, version).out == "No changes.\n"


def test_an_unknown_version_is_refused(bare_repo):
    """The error names the unknown version and the released ones."""
    result = bare_repo.sow("schema", "diff", "v0.9.0", "v7.0.0")
    assert (result.code, result.err) == (
        2,
        "error: there is no schema version 'v7.0.0'\nhint: the versions are: 0.9.0, 1.0.0, 1.1.0, 1.2.0\n",
    )


KINDS = {
    "a field with a default": (
        rules(a=TEXT),
        rules(a=TEXT, b={**TEXT, "default": "x"}),
        [("add", "b", "", "x")],
        "b added (default: x)",
        'Add field: b = "x"',
    ),
    "a required field": (
        rules(a=TEXT),
        rules("b", a=TEXT, b=TEXT),
        [("add required", "b", "", None)],
        "b added (required)",
        "Add field: b, by hand",
    ),
    "an optional field": (
        rules(a=TEXT),
        rules(a=TEXT, b=TEXT),
        [("add optional", "b", "", None)],
        "b added (optional)",
        "Nothing for b",
    ),
    "a field less": (
        rules(a=TEXT, b=TEXT),
        rules(a=TEXT),
        [("remove", "b", "", None)],
        "b removed",
        "Remove field: b",
    ),
    "another name": (
        rules(a=TEXT),
        rules(b={**TEXT, "x-renamed-from": "a"}),
        [("rename", "b", "a", None)],
        "a → b (rename)",
        "Rename field: a → b",
    ),
    "another name deep inside": (
        rules(t=rules(u=rules(a=TEXT))),
        rules(t=rules(u=rules(b={**TEXT, "x-renamed-from": "a"}))),
        [("rename", "t.u.b", "a", None)],
        "t.u.a → t.u.b (rename)",
        "Rename field: a → b",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_change_is_found(kind):
    """Each kind of change is found once, with a sentence for it and a suggestion."""
    older, newer, expected, sentence, advice = KINDS[kind]
    result = _compare("task", older, newer, "")
    assert [(item.kind, item.path, item.old, item.default) for item in result] == expected
    assert [(_sentence(item), _advice(item)) for item in result] == [(sentence, advice)]


def test_an_old_rename_is_no_change():
    """A field that had its new name already in the older version was not renamed again."""
    marked = rules(b={**TEXT, "x-renamed-from": "a"})
    assert _compare("task", marked, marked, "") == []
    assert [item.kind for item in _compare("task", rules(a=TEXT, b=TEXT), marked, "")] == ["remove"]


def test_a_rename_is_neither_an_addition_nor_a_removal():
    """A renamed field is distinguished from a new one and a dropped one."""
    older = rules(a=TEXT, gone=TEXT)
    newer = rules(b={**TEXT, "x-renamed-from": "a"}, new=TEXT)
    assert [item.kind for item in _compare("task", older, newer, "")] == ["rename", "add optional", "remove"]
