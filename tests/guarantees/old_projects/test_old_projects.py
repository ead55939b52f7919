"""R13: sow opens projects of older versions, and refuses those of newer versions with a hint."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest
from conftest import FULL
from jsonschema import Draft7Validator
from support.old_projects import KEPT, digest, put, released
from support.paths import ROOT
from support.quick_cases import few_of

from guarantees.fake_disks import Counting, dead_before
from guarantees.fresh_process import ended, fork, in_fresh_process
from sow.cli.command import GROUPS, commands
from sow.store import migration
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Disk
from sow.store.formats import VERSION, schema, yaml_text
from sow.system import checkout
from sow.system.checkout import Checkout

# A released schema is never changed: files follow it. The current version is still in development and has no entry
# here; when it is released, it gets one, and a kept project of its own.
EXAMPLE = ROOT / "examples" / "user-accounts.md"
FROZEN_SCHEMAS = {
    "0.9.0": "fc280bf7ad79cedf31477ed96db180b55e60de54d54697a8c9cda1e3fc147bc3",
    "1.0.0": "e5be91d8f5895ed14f2b0f6553a9dc48e22c9ec88600e53a3434a112af697a66",
    "1.1.0": "787f41543f091f5dad97176ab0fe8a80c7f8fae111114a974ae76bf9311a244f",
}
FROZEN_PROJECTS = {
    "0.9.0": "191ca07f5cd8015db47eae149bb7b36ac736ba817c0860b22718f4d0c3c36c18",
    "1.0.0": "ce3922c717659196dc85cc6f2527438045c8d055dba5a37754a4b233f7f3835f",
    "1.1.0": "81be4c1b63b9cd44adaa9a5c944b9b9437a2fe8b5c475e8e59c3ce5988f7fc77",
}

# What every command is called with here; those without words do not ask for a project.
CALLS = {
    "status": [],
    "continue": ["--print"],
    "project show": [],
    "project save": [],
    "project adopt": [],
    "project remember": ["Redis"],
    "project delete": [],
    "phase add": ["discovery", "--reason", "a race"],
    "phase list": [],
    "phase advance": [],
    "phase back": [],
    "phase move": ["implementation", "--now"],
    "phase approve": ["implementation"],
    "task create": ["--name", "More"],
    "task add": ["--name", "More"],
    "task list": [],
    "task show": ["020"],
    "task set": ["--id", "020", "status", "needs_review"],
    "task abandon": ["020", "--reason", "enough"],
    "context": ["020"],
    "feedback add": ["020", "Add a test."],
    "feedback list": ["020"],
    "log": ["--action", "a", "--result", "r", "text"],
    "agent spawn": ["implementer", "020", "--executor", "simulated"],
    "agent resume": ["020", "go on"],
    "agent log": ["--task", "020", "--action", "a", "--result", "r", "text"],
    "note add": ["--task", "020", "--description", "d", "--context", "c"],
    "note resolve": ["1", "--task", "020", "--resolution", "r"],
    "note escalate": ["1", "--task", "020", "--reason", "r"],
    "note list": ["--task", "020"],
    "inbox": [],
    "answer": ["1", "yes"],
    "approve": ["020"],
    "revert": ["020", "--reason", "wrong"],
    "cleanup": [],
    "validate": [".sow/project/state.yaml"],
    "plan new": ["Add a crane", "--executor", "simulated"],
    "plan import": [str(EXAMPLE)],
    "plan update": [],
    "run": [str(EXAMPLE), "--executor", "simulated"],
    "deliver": [],
    "deliver watch": [],
    "salvage prune": ["--older-than", "0s", "--yes"],
}
ASK_NO_PROJECT = {
    "init",
    "turn offers",  # this and the next serve other hosts
    "turn start",
    "turn stop",
    "turn run",
    "host serve",
    "host list",
    "cluster dev",
    "cluster status",
    "cluster prune",
    "start",  # says that there is one already
    "install",
    "uninstall",
    "hook",  # tells what is wrong, and is no error
    "mcp",
    "project new",  # says that there is one already
    "project resolve",
    "schema list",
    "schema show",
    "schema diff",
    "migrate",
    "version",
    "check",
    "doctor",
    "completion",
    "agent list",
    "agent show",
    "agent validate",
    "prompt",
    "config init",
    "config path",
    "config validate",
    "config show",
    "config get",
    "config set",
    "config unset",
    "config edit",
    "config reset",
    "plan show",
    "plan validate",
    "plan waves",
    "plan simulate",
    "runs list",  # a run is told by its journal where its project cannot be read
    "runs show",
    "runs report",
    "runs stop",
    "runs verify",  # there is no run here
    "watch",
    "ui",  # a page says what cannot be read
    "integrate",
    "salvage",  # what is in git is listed and brought back whatever the project is
    "salvage list",
    "salvage restore",
    "answers",
    "answers forget",
    "consent list",  # consents belong to the repository
    "consent forget",
    "adr new",  # decisions outlive a project
    "adr list",
    "context describe",
    "sinks install",  # knowledge belongs to the checkout
    "sinks update",
    "sinks list",
    "sinks show",
    "sinks remove",
    "sinks describe",
    "repos add",
    "repos update",
    "repos list",
    "repos show",
    "repos remove",
    "repos describe",
    "demo",
    "agent new",
    "workflow new",  # a workflow needs no project, and a project no workflow
    "workflow design",
    "workflow verify",
    "workflow approve",
    "workflow run",
    "workflow status",
    "workflow set",
    "workflow archive",
    "workflow list",
}

OLD = """\
error: Project state schema v0.9.0 detected (.sow/project/state.yaml)
hint: CLI requires schema v1.2.0
      Run: sow migrate
"""
NEWER = """\
error: schema version mismatch: project=9.0.0 cli=1.2.0 (.sow/project/state.yaml)
hint: a newer sow wrote this: upgrade sow and try again
"""
PLAN = """\
Migrating .sow/project/state.yaml: v0.9.0 → v1.2.0
  - Updating field: schema_version

Migrating phases/design/tasks/010/state.yaml: v0.9.0 → v1.2.0
  - Renaming field: assignee → assigned_agent
  - Adding field: priority (default: medium)

Migrating phases/implementation/tasks/020/state.yaml: v0.9.0 → v1.2.0
  - Renaming field: assignee → assigned_agent
  - Adding field: priority (default: medium)

Migrating phases/implementation/tasks/021/state.yaml: v0.9.0 → v1.2.0
  - Renaming field: assignee → assigned_agent
  - Adding field: priority (default: medium)

Migrating phases/implementation/tasks/030/state.yaml: v0.9.0 → v1.2.0
  - Renaming field: assignee → assigned_agent
  - Adding field: priority (default: medium)

"""


@pytest.fixture
def old(bare_repo):
    """A project of schema 0.9.0."""
    return put(bare_repo, "0.9.0")


@pytest.fixture
def newer(bare_repo):
    """The same as a newer sow would write it."""
    repo = put(bare_repo, "0.9.0")
    for path in repo.project.rglob("state.yaml"):
        path.write_text(path.read_text().replace("0.9.0", "9.0.0"))
    return repo


def test_no_released_schema_was_changed():
    """The schemas of every released version equal the released ones byte for byte."""
    frozen = [version for version in schema.versions() if version != VERSION]
    assert {version: digest(Path(schema.FOLDER) / f"v{version}") for version in frozen} == FROZEN_SCHEMAS


def test_every_released_schema_has_a_kept_project():
    """For every released version there is a project as its sow wrote it, unchanged."""
    assert released() == sorted(FROZEN_SCHEMAS)
    assert {version: digest(KEPT / f"v{version}") for version in released()} == FROZEN_PROJECTS


@pytest.mark.parametrize("version", released())
def test_a_kept_project_follows_its_schemas(version):
    """The kept files are valid by that version's own schemas, judged by another validator than sow's."""
    for path in (KEPT / f"v{version}" / "project").rglob("*"):
        name = {"session_current.json": "notes"}.get(path.name, "task" if "tasks" in path.parts else "project")
        if path.name in ("state.yaml", "session_current.json"):
            data = yaml_text.load(path.read_text(), str(path))
            Draft7Validator(schema.document(name, version)).validate(data)


@pytest.mark.parametrize("version", released())
def test_every_kept_project_opens_after_migrate(version, bare_repo):
    """After `sow migrate` a project of any version is valid and complete."""
    repo = put(bare_repo, version)
    assert repo.sow("status").code == 2
    repo.ok("migrate", "--yes")
    document = repo.ok("status", "--json").json
    assert document["broken"] == {}
    assert [(task["id"], task["status"]) for task in document["tasks"]] == [
        ("010", "completed"),
        ("020", "in_progress"),
        ("021", "abandoned"),
        ("030", "pending"),
    ]
    for name in state_texts(str(repo.root)):
        repo.ok("validate", f".sow/project/{name}")


def test_every_command_is_in_the_table():
    """Each command needs a project and is called below, or needs none."""
    names = {command.name for group in GROUPS for command in commands(group)}
    assert names == CALLS.keys() | ASK_NO_PROJECT


@pytest.mark.parametrize("name", CALLS)
def test_an_old_project_is_refused_until_it_is_migrated(old, name):
    """Every command refuses an older project with a hint, and changes nothing."""
    before = old.snapshot()
    result = old.sow(*name.split(), *CALLS[name])
    assert (result.code, result.out, result.err) == (2, "", OLD)
    assert old.snapshot() == before


@few_of("name", CALLS, 10)
def test_a_newer_project_is_refused(newer, name):
    """Every command refuses a newer project with the reason and a hint, and changes nothing."""
    before = newer.snapshot()
    result = newer.sow(*name.split(), *CALLS[name])
    assert (result.code, result.out, result.err) == (2, "", NEWER)
    assert newer.snapshot() == before


def test_a_newer_project_is_not_migrated(newer):
    """`sow migrate` has no way back from the future."""
    before = newer.snapshot()
    result = newer.sow("migrate", "--yes")
    assert (result.code, result.out, result.err) == (2, "", NEWER)
    assert newer.snapshot() == before


@pytest.mark.parametrize(
    ("which", "words"), [("old", ["Project state schema v0.9.0 detected", "sow migrate"]), ("newer", ["upgrade sow"])]
)
def test_doctor_names_the_version(request, which, words):
    """`sow doctor` reports a project of another version, and changes nothing."""
    repo = request.getfixturevalue(which)
    before = repo.snapshot()
    result = repo.sow("doctor")
    assert result.code == 1
    assert all(word in result.out + result.err for word in words)
    assert repo.snapshot() == before


def test_a_dry_run_shows_everything_and_changes_nothing(old):
    """`--dry-run` prints each change of each file, and writes nothing."""
    before = old.snapshot()
    result = old.ok("migrate", "--dry-run")
    assert result.out == f"{PLAN}Dry run: 5 files would be updated.\n"
    assert old.snapshot() == before


def test_the_migration_prints_its_changes(old):
    """`sow migrate` lists the changes, makes them, counts the files and names the backup."""
    lines = old.ok("migrate", "--yes").out
    assert lines.startswith(f"{PLAN}Migration complete! 5 files updated.\nBackup: .sow/local/backups/")


def test_a_backup_has_the_old_project(old):
    """The copy of the migration has every byte of the old project."""
    before = digest(old.project)
    place = old.ok("migrate", "--yes").out.rpartition("Backup: ")[2].strip()
    assert digest(old.root / place) == before
    assert digest(old.project) != before


def test_only_the_state_files_are_changed(old):
    """Logs, feedback, notes, descriptions, memories and knowledge stay as they are."""
    before = old.snapshot()
    old.ok("migrate", "--yes")
    after = old.snapshot()
    changed = {name for name in before if before[name] != after[name]}
    assert changed - {".sow/.gitignore"} == {f".sow/project/{name}" for name in state_texts(str(old.root))}


def test_a_second_migration_does_nothing(old):
    """A second `sow migrate` makes no backup and changes nothing."""
    old.ok("migrate", "--yes")
    before = old.snapshot()
    assert old.ok("migrate").out == "Already up to date\n"
    assert old.ok("migrate", "--yes").out == "Already up to date\n"
    assert old.snapshot() == before


def test_migrate_without_a_terminal_needs_yes(old):
    """Without a terminal the changes are listed, the exit code is 4, and nothing is changed."""
    before = old.snapshot()
    result = old.sow("migrate")
    assert (result.code, result.out) == (4, PLAN)
    assert result.err == (
        "error: the migration needs confirmation\nhint: check the changes above, then run: sow migrate --yes\n"
    )
    assert old.snapshot() == before


def test_a_migrated_task_is_complete(old):
    """Name, role, iteration, session, questions, approval, log, feedback and notes are there after the migration."""
    old.ok("migrate", "--yes")
    task = old.task("020")
    assert (task["assigned_agent"], task["priority"], task["iteration"]) == ("implementer", "medium", 3)
    assert task["session_id"] == "6a1c02d4-8a3e-4e53-bb0c-0f3f7a6f5d21"
    assert task["questions"][0]["answer"] == "Yes, unique, and case does not matter."
    assert [len(task[name]) for name in ("log", "feedback", "notes", "criteria", "references")] == [2, 2, 2, 2, 1]
    assert "assignee" not in task
    assert old.task("010")["approval"] == {"by": "ada", "at": "2025-10-12T09:30:00Z", "iteration": 1}


def test_a_migrated_project_works(old):
    """Work continues after the migration: submit, approve, start the next task, read the history."""
    old.ok("migrate", "--yes")
    old.ok("task", "set", "--id", "020", "status", "needs_review")
    old.ok("approve", "020")
    old.ok("task", "set", "--id", "030", "priority", "high")
    old.ok("task", "set", "--id", "030", "status", "in_progress")
    old.ok("log", "--task", "030", "--action", "began", "--result", "ok", "reading the ADR")
    assert old.task("030")["log"][-1]["agent"] == "implementer-1"
    assert "Sessions live in Redis" in old.ok("status").out
    assert old.ok("task", "create", "--name", "More").out.startswith("created task 040 in phase implementation")
    assert old.sow("doctor").code == 0


def _at(root: str) -> Checkout:
    where = checkout.at(root)
    assert where
    return where


def migrate_with(root: str, disk: Disk) -> None:
    home = Home(_at(root), disk)
    migration.apply(home, migration.plan(home))


def state_texts(root: str) -> dict[str, str]:
    """Returns the state files of the project in that checkout."""
    project = Path(root) / ".sow" / "project"
    return {str(path.relative_to(project)): path.read_text() for path in sorted(project.rglob("state.yaml"))}


def die_at_every_call(old: str, folder: str) -> tuple[int, list[str]]:
    """Kills one migration at each call that changes the disk, and repeats it; returns the count and the errors."""
    whole = Counting()
    needless = shutil.ignore_patterns("hooks", "objects", "refs", "info", "logs", "knowledge", "feedback", "*.md")
    copy = partial(shutil.copytree, ignore=needless)
    copy(old, f"{folder}/whole")
    migrate_with(f"{folder}/whole", whole)
    wrong = []
    for at, name in enumerate(whole.calls, 1):
        if not FULL and name not in ("write", "replace", "make_folder"):
            continue
        root = f"{folder}/{at}"
        copy(old, root)
        if ended(fork(partial(migrate_with, root, Counting(at, dead_before)))) != 9:
            wrong.append(f"{at}: it did not die")
        left = state_texts(root)
        if "0.9.0" not in left["state.yaml"] and any("0.9.0" in text for text in left.values()):
            wrong.append(f"{at}: the project opens although a task is not migrated")
        if migration.plan(Home(_at(root))):
            migrate_with(root, Counting())
        if state_texts(root) != state_texts(f"{folder}/whole"):
            wrong.append(f"{at}: it did not end as an undisturbed migration")
    return len(whole.calls), wrong


def test_a_killed_migration_can_be_repeated(old, tmp_path):
    """Killed at any write, it leaves a tree that is refused or complete, and a second one succeeds."""
    calls, wrong = in_fresh_process(die_at_every_call, old.root, tmp_path / "killed")
    assert wrong == []
    assert calls > 5 * len(state_texts(str(old.root)))
