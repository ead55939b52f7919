"""Migration: the preview, what is refused before anything is written, and the result."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import SOW
from support.claim_holder import hold_claim
from support.old_projects import put

from sow.errors import InvalidFile, SowError, SystemFailure, Waiting
from sow.store import migration
from sow.store.files.checkout_home import Home, find

# A process of its own makes the terminal: a fork in a test runner with threads would be unsafe.
ON_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"


@pytest.fixture
def old(bare_repo):
    """A project of schema 0.9.0."""
    return put(bare_repo, "0.9.0")


def home_of(repo) -> Home:
    return find(option=str(repo.root), environment={}, cwd="/")


def rewrite(path, *changes: tuple[str, str]) -> None:
    text = path.read_text()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path.write_text(text)


def test_the_plan_names_every_file_and_writes_nothing(old):
    """Each older file is a step with its version, its kind and its changes."""
    before = old.snapshot()
    home = home_of(old)
    steps = migration.plan(home)
    assert [(home.relative(step.path).rpartition("/project/")[2], step.name, step.version) for step in steps] == [
        ("state.yaml", "project", "0.9.0"),
        ("phases/design/tasks/010/state.yaml", "task", "0.9.0"),
        ("phases/implementation/tasks/020/state.yaml", "task", "0.9.0"),
        ("phases/implementation/tasks/021/state.yaml", "task", "0.9.0"),
        ("phases/implementation/tasks/030/state.yaml", "task", "0.9.0"),
    ]
    assert steps[1].lines == ["Renaming field: assignee → assigned_agent", "Adding field: priority (default: medium)"]
    assert old.snapshot() == before


def test_a_renamed_field_keeps_its_place(old):
    """The new name is in the old one's place, and the revision is incremented."""
    old.ok("migrate", "--yes")
    lines = old.state("020").splitlines()
    assert lines[:8] == [
        'schema_version: "1.2.0"',
        "revision: 8",
        "task:",
        '  id: "020"',
        "  name: Add the users table",
        "  status: in_progress",
        "  assigned_agent: implementer",
        "  iteration: 3",
    ]


def test_an_existing_field_is_kept(old):
    """A default is added only if the field is missing, and a missing field is not renamed."""
    path = old.task_folder("030") / "state.yaml"
    rewrite(path, ("  assignee: implementer\n", "  assigned_agent: implementer\n  priority: high\n"))
    step = migration.plan(home_of(old))[-1]
    assert step.lines == ["Updating field: schema_version"]
    assert (step.data["task"]["assigned_agent"], step.data["task"]["priority"]) == ("implementer", "high")


def test_one_old_task_is_migrated_alone(task_repo):
    """A task that came from an old branch is migrated, and nothing else changes."""
    task_repo.ok("task", "create", "--name", "Other")
    path = task_repo.task_folder("010") / "state.yaml"
    rewrite(path, ('"1.2.0"', '"0.9.0"'), ("assigned_agent", "assignee"), ("  priority: medium\n", ""))
    before = task_repo.snapshot()
    assert task_repo.ok("status", "--json").json["broken"].keys() == {"010"}
    assert "Migration complete! 1 file updated." in task_repo.ok("migrate", "--yes").out
    after = task_repo.snapshot()
    assert [name for name in before if before[name] != after[name]] == [
        ".sow/project/phases/implementation/tasks/010/state.yaml"
    ]
    assert task_repo.task("010")["assigned_agent"] == "implementer"


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ('"0.8.0"', ".sow/project/state.yaml: schema_version: no migration starts from '0.8.0'"),
        ('"0.9"', ".sow/project/state.yaml: schema_version: no migration starts from '0.9'"),
        ("0.9", ".sow/project/state.yaml: schema_version: no migration starts from 0.9"),
        ("[]", ".sow/project/state.yaml: schema_version: no migration starts from []"),
        ('"1.2.1"', "schema version mismatch: project=1.2.1 cli=1.2.0 (.sow/project/state.yaml)"),
    ],
)
def test_an_unknown_version_is_refused(old, version, message):
    """An unreleased or newer version cannot be migrated."""
    rewrite(old.project / "state.yaml", ('"0.9.0"', version))
    before = old.snapshot()
    with pytest.raises(SowError) as refused:
        migration.plan(home_of(old))
    assert refused.value.message == message
    assert old.snapshot() == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([("  assignee: implementer\n", "")], "state.yaml, migrated: task.assigned_agent: is missing"),
        ([("iteration: 3", "iteration: 0")], "state.yaml, migrated: task.iteration: must be at least 1, not 0"),
        (
            [("  status: in_progress\n", "  status: in_progress\n  odd: 1\n")],
            "state.yaml, migrated: task.odd: is not a field",
        ),
        ([("iteration: 3", "iteration: 3\n  iteration: 4")], "state.yaml:9: the key 'iteration' is here a second time"),
    ],
)
def test_a_broken_old_task_is_left_alone(old, changes, message):
    """A task that would be invalid afterwards is named with its path and stays; the others are migrated."""
    path = old.task_folder("020") / "state.yaml"
    rewrite(path, *changes)
    before = path.read_bytes()
    assert message in migration.unreadable(home_of(old))[0]
    result = old.ok("migrate", "--yes")
    assert f"warning: skipped: {path.relative_to(old.root)}" in result.err
    assert path.read_bytes() == before
    assert list(old.ok("task", "list", "--json").json["broken"]) == ["020"]


def test_without_a_project_there_is_nothing_to_migrate(bare_repo):
    """Without a project the command says so."""
    bare_repo.ok("init")
    result = bare_repo.sow("migrate")
    assert (result.code, result.err) == (
        2,
        f"error: {bare_repo.root} has no project\nhint: there is nothing to migrate\n",
    )


def test_changes_since_the_question_are_not_overwritten(old):
    """If another process migrates while a person reads the plan, the first answer changes nothing."""
    home = home_of(old)
    steps = migration.plan(home)
    old.ok("migrate", "--yes")
    old.ok("task", "set", "--id", "020", "status", "needs_review")
    before = old.snapshot()
    with pytest.raises(Waiting, match="the project was changed meanwhile"):
        migration.apply(home, steps)
    assert old.snapshot() == before


def test_the_last_good_copies_are_migrated_too(old):
    """A state file that breaks after the migration is restored in the new version."""
    old.ok("migrate", "--yes")
    (old.task_folder("020") / "state.yaml").write_text("task: [\n")
    result = old.ok("task", "set", "--id", "020", "status", "needs_review")
    assert "the last good state is back" in result.err
    assert (old.task("020")["status"], old.task("020")["priority"]) == ("needs_review", "medium")


def test_a_project_in_use_is_not_migrated(old):
    """While another process has the project, the migration is refused with its name, and changes nothing."""
    before = old.snapshot()
    with hold_claim(old) as pid:
        result = old.sow("migrate", "--yes")
        assert result.code == 4
        assert f"error: project is claimed by pid {pid} on " in result.err
        assert old.snapshot() == before
    old.ok("migrate", "--yes")


def test_without_a_backup_nothing_is_migrated(old):
    """If the copy cannot be made, no file is changed."""
    home = home_of(old)
    steps = migration.plan(home)
    home.folder("local")
    (old.root / ".sow" / "local" / "backups").write_text("in the way")
    before = old.snapshot()
    with pytest.raises((SystemFailure, InvalidFile), match="backups"):
        migration.apply(home, steps)
    assert old.snapshot() == before


def test_a_worker_may_not_migrate(old):
    """A migration is a person's decision."""
    before = old.snapshot()
    result = old.sow("migrate", "--yes", SOW_TASK="020", SOW_AGENT="implementer")
    assert (result.code, result.err.splitlines()[0]) == (2, "error: a worker may not migrate the project")
    assert old.snapshot() == before


@pytest.mark.parametrize(
    ("typed", "code", "last"),
    [
        (b"y\n", 0, "Migration complete! 5 files updated."),
        (b"yes\n", 0, "Migration complete! 5 files updated."),
        (b"n\n", 4, "nothing was migrated"),
        (b"\n", 4, "nothing was migrated"),
        (b"\x04", 4, "nothing was migrated"),
    ],
)
def test_migrate_asks_on_a_terminal(old, typed, code, last):
    """The changes are shown, and only a yes makes them."""
    before = old.snapshot()
    result = subprocess.run(
        [sys.executable, "-c", ON_TERMINAL, SOW, "migrate"],
        cwd=old.root,
        env={**old.environment, "TERM": "xterm"},
        input=typed,
        capture_output=True,
        timeout=300,
    )
    shown = result.stdout.decode()
    assert result.returncode == code, shown
    assert "  - Renaming field: assignee → assigned_agent" in shown
    assert "Change 5 files? [y/N] " in shown
    assert last in shown
    assert (old.snapshot() == before) is bool(code)
