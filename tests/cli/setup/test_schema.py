"""sow schema, validate, migrate and version: the rules of state files, and the migration of old files."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Repo

from sow import version_text
from sow.store.formats import VERSION
from sow.store.formats.schema import names

MIGRATION = [
    "Migrating .sow/project/state.yaml: v0.9.0 → v1.2.0",
    "  - Updating field: schema_version",
    "",
    "Migrating phases/implementation/tasks/010/state.yaml: v0.9.0 → v1.2.0",
    "  - Renaming field: assignee → assigned_agent",
    "  - Adding field: priority (default: medium)",
    "",
]


def test_the_versions_are_printed(bare_repo: Repo):
    """`--version` and `version` print the program's version, `version --schema` that of the schemas, anywhere."""
    assert bare_repo.ok("--version").out == f"sow {version_text()}\n"
    assert bare_repo.ok("version").out == f"sow {version_text()}\n"
    assert bare_repo.ok("version", "--schema", cwd=bare_repo.root.parent).out == f"{VERSION}\n"


def test_schema_list(bare_repo: Repo):
    """Every version is listed with its schemas, and the current one is marked."""
    versions = bare_repo.ok("schema", "list", "--json").json["versions"]
    assert [(version["version"], version["current"]) for version in versions] == [
        ("0.9.0", False),
        ("1.0.0", False),
        ("1.1.0", False),
        (VERSION, True),
    ]
    assert versions[1]["schemas"] == names()
    assert f"{VERSION} (current): " in bare_repo.ok("schema", "list").out


@pytest.mark.parametrize("name", names())
def test_schema_show(bare_repo: Repo, name: str):
    """Every schema can be printed as JSON Schema, and as CUE with a definition of its title."""
    document = bare_repo.ok("schema", "show", name).json
    assert document["$id"] == f"sow:schema/{VERSION}/{name}"
    cue = bare_repo.ok("schema", "show", name, "--format", "cue").out
    assert "package sow" in cue
    assert f"#{document['title']}: " in cue


def test_schema_show_is_readable(bare_repo: Repo):
    """The schema has one field per line, also in a pipe; --json is for programs (B14)."""
    lines = bare_repo.ok("schema", "show", "task").out.splitlines()
    assert len(lines) > 100
    assert max(map(len, lines)) < 200
    assert bare_repo.ok("schema", "show", "task", "--json").out.count("\n") == 1


def test_schema_show_of_an_older_version(bare_repo: Repo):
    """Schemas of released versions stay available."""
    properties = bare_repo.ok("schema", "show", "task", "--version", "v0.9.0").json["properties"]["task"]["properties"]
    assert "assignee" in properties
    assert "priority" not in properties


def test_schema_diff(bare_repo: Repo):
    """The difference of two versions is shown as changes and as a suggested migration."""
    assert bare_repo.ok("schema", "diff", "v0.9.0", "v1.0.0").out.splitlines() == [
        "Changes detected:",
        "1. task.assignee → task.assigned_agent (rename)",
        "2. task.priority added (default: medium)",
        "",
        "Suggested migration:",
        "  - Rename field: assignee → assigned_agent",
        '  - Add field: priority = "medium"',
    ]
    assert bare_repo.ok("schema", "diff", "1.0.0", "v1.0.0").out == "No changes.\n"
    changes = bare_repo.ok("schema", "diff", "v0.9.0", "v1.0.0", "--json").json["changes"]
    assert [(change["kind"], change["path"]) for change in changes] == [
        ("rename", "task.assigned_agent"),
        ("add", "task.priority"),
    ]


@pytest.mark.parametrize(
    "path",
    [
        ".sow/project/state.yaml",
        "state.yaml",
        "phases/implementation/tasks/010/state.yaml",
        "phases/implement/tasks/010/state.yaml",
        "phases/implement/tasks/010/log.md",
        "phases/implement/tasks/010/description.md",
        ".sow/config.yaml",
    ],
)
def test_validate_finds_the_file(task_repo: Repo, path: str):
    """A path is relative to the current folder, the root or the project, and `implement` means `implementation`."""
    task_repo.ok("log", "--task", "010", "x")
    below = task_repo.root / "src"
    below.mkdir()
    for cwd in (task_repo.root, below):
        assert task_repo.ok("validate", path, cwd=cwd).out.startswith(f"{path}: valid ")


def test_validate_names_the_bad_field(task_repo: Repo):
    """An invalid file is refused with the path of the field and the nearest name."""
    path = task_repo.task_folder("010") / "state.yaml"
    path.write_text(path.read_text().replace("  iteration: 1", "  iteratoin: 1"))
    result = task_repo.sow("validate", str(path))
    assert result.code == 2
    assert "task.iteratoin: is not a field; did you mean iteration?" in result.err
    document = task_repo.sow("validate", str(path), ".sow/project/state.yaml", "--json")
    assert document.code == 2
    assert document.json["valid"] is False
    assert [bool(file["error"]) for file in document.json["files"]] == [True, False]


def test_validate_names_every_problem_with_its_line(task_repo: Repo):
    """All wrong fields are named with their lines, a mistyped one once, and the hinted command works (B15)."""
    path = task_repo.task_folder("010") / "state.yaml"
    lines = path.read_text().replace("  name:", "  nam:").replace("priority: medium", "priority: urgent")
    path.write_text(lines.replace("criteria: []", "criteria:\n    - 7"))
    result = task_repo.sow("validate", str(path))
    assert result.code == 2
    *errors, hint = result.err.splitlines()
    assert errors == [
        f"error: {path}:5: task.nam: is not a field; did you mean name?",
        f"error: {path}:9: task.priority: must be one of low, medium, high, not 'urgent'",
        f"error: {path}:12: task.criteria[0]: must be a text, not 7",
    ]
    assert hint.endswith("the rules: sow schema show task")
    task_repo.ok(*hint.partition("sow ")[2].split())
    assert len(task_repo.sow("validate", str(path), "--json").json["files"][0]["errors"]) == 3


def test_validate_names_every_problem_of_an_index(repo: Repo):
    """A JSON file has lines too, and a missing field is named at its entry."""
    (repo.root / "index.json").write_text(
        '{\n"schema_version": "1.2.0",\n"sinks": [\n{"name": "Q", "summary": "", "when_to_use": ""}\n]}\n'
    )
    errors = repo.sow("validate", "index.json").err.splitlines()[:-1]
    assert errors == [
        "error: index.json:4: sinks[0].name: must be a lower-case name such as implementer, not 'Q'",
        "error: index.json:4: sinks[0].source: is missing",
    ]


def test_validate_recognises_a_file_by_its_fields(repo: Repo):
    """A file with another name is recognised by its fields, or by --kind."""
    copy = repo.root / "copy.yaml"
    copy.write_text((repo.project / "state.yaml").read_text())
    assert repo.ok("validate", "copy.yaml").out == "copy.yaml: valid project\n"
    copy.write_text("something: else\n")
    result = repo.sow("validate", "copy.yaml")
    assert (result.code, "--kind" in result.err) == (2, True)
    assert repo.sow("validate", "copy.yaml", "--kind", "task").code == 2


def test_validate_names_the_file_whose_title_is_missing(task_repo: Repo):
    """Of two bad descriptions each error has its own path."""
    for name in ("a", "b"):
        (task_repo.root / name).mkdir()
        (task_repo.root / name / "description.md").write_text("no title\n")
    result = task_repo.sow("validate", "a/description.md", "b/description.md")
    assert result.code == 2
    assert "error: a/description.md:1: no title" in result.err
    assert "error: b/description.md:1: no title" in result.err


def test_an_old_project_is_refused_until_it_is_migrated(old_repo: Repo):
    """Every command refuses an older project and points to migrate."""
    before = old_repo.snapshot()
    for case in (("status",), ("log", "x"), ("task", "set", "--id", "010", "status", "failed"), ("task", "list")):
        result = old_repo.sow(*case)
        assert result.code == 2
        assert result.err.splitlines() == [
            "error: Project state schema v0.9.0 detected (.sow/project/state.yaml)",
            "hint: CLI requires schema v1.2.0",
            "      Run: sow migrate",
        ]
    assert old_repo.snapshot() == before


def test_a_dry_run_changes_nothing(old_repo: Repo):
    """--dry-run shows what would change, and changes nothing."""
    before = old_repo.snapshot()
    result = old_repo.ok("migrate", "--dry-run")
    assert result.out.splitlines() == [*MIGRATION, "Dry run: 2 files would be updated."]
    assert old_repo.snapshot() == before


def test_migrate(old_repo: Repo):
    """The migration is reported, keeps a backup, and leaves a project that works."""
    before = {path: data for path, data in old_repo.snapshot().items() if path.startswith(".sow/project/")}
    result = old_repo.ok("migrate", "--yes")
    lines = result.out.splitlines()
    assert lines[:-1] == [*MIGRATION, "Migration complete! 2 files updated."]
    backup = lines[-1].rpartition(" ")[2]
    after = old_repo.snapshot()
    assert {path.replace(".sow/project", backup): data for path, data in before.items()}.items() <= after.items()
    task = old_repo.task("010")
    assert (task["assigned_agent"], task["priority"]) == ("implementer", "medium")
    assert old_repo.ok("migrate").out == "Already up to date\n"
    old_repo.ok("task", "set", "--id", "010", "status", "needs_review")


def test_the_project_of_another_branch_is_not_migrated(old_repo: Repo):
    """On another branch an old project is left alone, as it is by every other command."""
    old_repo.git("switch", "-q", "-c", "feat/other")
    before = old_repo.snapshot()
    result = old_repo.sow("migrate", "--yes")
    assert result.code == 2
    assert "belongs to branch feat/auth, but feat/other is checked out" in result.err
    assert old_repo.snapshot() == before


def test_migrate_needs_consent(old_repo: Repo):
    """Without a terminal and without --yes nothing is migrated, and the exit code is 4."""
    before = old_repo.snapshot()
    result = old_repo.sow("migrate", stdin=b"y\n")
    assert result.code == 4
    assert "sow migrate --yes" in result.err
    assert old_repo.snapshot() == before


@pytest.mark.parametrize(
    ("keys", "code", "migrated"),
    [(b"y\n", 0, True), (b"yes\n", 0, True), (b"n\n", 4, False), (b"\n", 4, False), (b"\x04", 4, False)],
)
def test_migrate_asks_on_a_terminal(
    old_repo: Repo, on_terminal: Callable[..., Any], keys: bytes, code: int, migrated: bool
):
    """Only a yes migrates."""
    before = old_repo.snapshot()
    terminal = on_terminal(old_repo, "migrate").until("Change 2 files? [y/N]").type(keys)
    assert terminal.end()[0] == code
    assert (old_repo.snapshot() == before) is not migrated


def test_ctrl_c_at_the_question_changes_nothing(old_repo: Repo, on_terminal: Callable[..., Any]):
    """Ctrl-C at the question ends with 130 and without a traceback."""
    before = old_repo.snapshot()
    code, shown = on_terminal(old_repo, "migrate", NO_COLOR="1").until("[y/N]").type(b"\x03").end()
    assert code == 130
    assert "error: interrupted" in shown
    assert "Traceback" not in shown
    assert old_repo.snapshot() == before


def test_a_newer_project_is_refused(task_repo: Repo):
    """A project of a newer sow is neither read nor migrated, and the hint is to upgrade."""
    path = task_repo.project / "state.yaml"
    path.write_text(path.read_text().replace('"1.2.0"', '"9.1.0"'))
    before = task_repo.snapshot()
    for case in (("status",), ("migrate", "--yes")):
        result = task_repo.sow(*case)
        assert result.code == 2
        assert "schema version mismatch: project=9.1.0 cli=1.2.0" in result.err
        assert "upgrade sow" in result.err
    assert task_repo.snapshot() == before


def test_json_in_a_pipe_is_one_line(repo: Repo):
    """A JSON document in a pipe is one line that ends with a line end, and nothing else."""
    out = repo.ok("project", "show", "--json").out
    assert out.count("\n") == 1
    assert json.loads(out)["name"] == "Add authentication"
