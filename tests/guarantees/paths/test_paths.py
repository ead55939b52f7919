"""S3: nothing outside of the repository's root is created, changed, removed or read as state."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from conftest import Repo, fresh_environment
from support.call_server import Answer, Caller
from support.quick_cases import few_of

from guarantees.folder_snapshot import Picture

MARK = "outsidemark"
TASK_FOLDER = ".sow/project/phases/implementation/tasks/010"
FOLDERS = [
    ".sow",
    ".sow/project",
    ".sow/project/context",
    ".sow/project/phases",
    ".sow/project/phases/implementation",
    ".sow/project/phases/implementation/tasks",
    TASK_FOLDER,
    f"{TASK_FOLDER}/feedback",
    f"{TASK_FOLDER}/completion_drive",
    ".sow/local",
    ".sow/local/removed",
    ".sow/local/backups",
    ".sow/knowledge",
    ".sow/knowledge/adrs",
    ".sow/knowledge/designs",
    ".sow/project/phases/qa",
    ".git/sow",
    ".git/sow/PROJECT",
    ".git/sow/claims",
]
FILES = [
    ".sow/.gitignore",
    ".sow/config.yaml",
    ".sow/knowledge/adrs/README.md",
    ".sow/knowledge/designs/README.md",
    ".sow/project/state.yaml",
    ".sow/project/log.md",
    ".sow/project/context/memories.md",
    f"{TASK_FOLDER}/state.yaml",
    f"{TASK_FOLDER}/description.md",
    f"{TASK_FOLDER}/log.md",
    f"{TASK_FOLDER}/feedback/001.md",
    f"{TASK_FOLDER}/feedback/002.md",
    f"{TASK_FOLDER}/completion_drive/session_current.json",
    ".git/sow/claims/claim-project.lock",
    ".git/sow/context.sqlite",
    ".git/sow/PROJECT/010.yaml",
    ".git/sow/PROJECT/project.yaml",
]
TARGETS = ("a copy", "a copy, by a relative path", "something empty", "nothing")
WRITING = [
    "init",
    "log words",
    "log --task 010 words",
    "agent log --task 010 words",
    "project remember words",
    "task create --name New",
    "task set --id 010 name Other",
    "context 010",
    "adr new Words",
    "feedback add 010 words",
    "note add --task 010 --description d --context c",
    "note resolve 1 --task 010 --resolution r",
    "note escalate 2 --task 010 --reason r",
    "task set --id 010 status paused --reason Why?",
    "answer 010 words",
    "task set --id 010 status needs_review",
    "approve 010",
    "task abandon 020 --reason r",
    "phase add qa --reason r",
    "phase approve qa",
    "phase advance",
    "phase back",
    "phase move qa --after implementation",
    "project save",
    "migrate --yes",
    "cleanup",
    "project delete --yes",
    "init --project Again",
    "project new Again",
]
READING = [
    "status",
    "status --json",
    "task list --json",
    "task show 010",
    "task show 010 --json",
    "context 010 --dry-run",
    "adr list",
    "feedback list 010",
    "note list --task 010",
    "log --list",
    "log --list --task 010",
    "project show --json",
    "inbox",
    "phase list",
    "doctor",
    f"validate {TASK_FOLDER}/state.yaml",
]


def call(caller: Caller, root: Path, environment: dict[str, str], words: str, **options: str) -> Answer:
    return caller.call(*words.split(), cwd=root, environment=environment | options)


@pytest.fixture(scope="module")
def template(caller: Caller, _project_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with every kind of file."""
    folder = tmp_path_factory.mktemp("paths")
    environment = fresh_environment(folder / "home")
    root = folder / "repo"
    shutil.copytree(_project_template, root, symlinks=True)
    for text in (
        "task create --name Login",
        "task create --name Logout",
        "task set --id 010 status in_progress",
        "feedback add 010 words",
        "note add --task 010 --description d --context c",
        "log --task 010 words",
        "project remember words",
    ):
        assert call(caller, root, environment, text).code == 0
    for name in ("removed", "backups"):
        (root / ".sow" / "local" / name).mkdir()
    return root


@pytest.fixture
def full_repo(tmp_path: Path, environment: dict[str, str], template: Path) -> Repo:
    shutil.copytree(template, tmp_path / "repo", symlinks=True)
    (tmp_path / "outside").mkdir()
    return Repo(tmp_path / "repo", environment)


@pytest.fixture
def old_repo(full_repo: Repo) -> Repo:
    """The same as sow 0.9 would have left it."""
    for path in full_repo.project.rglob("state.yaml"):
        text = path.read_text().replace('"1.2.0"', '"0.9.0"').replace("assigned_agent", "assignee")
        path.write_text(re.sub(r"  priority: \w+\n", "", text))
    return full_repo


def lead_outside(repo: Repo, place: str, there: str) -> None:
    """Puts a link in place of a file of sow; its target is a marked copy, something empty, or nothing."""
    (project,) = (path for path in (repo.root / ".git" / "sow").iterdir() if path.name != "lock")
    path = repo.root / place.replace("PROJECT", project.name)
    target = repo.root.parent / "outside" / "target"
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.rename(target)
    if "copy" not in there and target.exists():
        shutil.rmtree(target) if target.is_dir() else target.unlink()
    if there != "nothing" and not target.exists():
        target.mkdir() if place in FOLDERS else target.write_text("")
    mark(target)
    path.symlink_to(os.path.relpath(target, path.parent) if there == "a copy, by a relative path" else target)


def mark(target: Path) -> None:
    """Marks every text below the target, to show where it comes from."""
    for path in [path for path in (target, *target.rglob("*")) if path.is_file()]:
        path.write_text(re.sub(r"\b(Login|words|Add authentication|d)\b", MARK, path.read_text()))


TRICKS = [(place, there) for place in (*FOLDERS, *FILES) for there in TARGETS]


@few_of(("place", "there"), TRICKS, 5)
def test_a_link_is_not_followed(caller, full_repo, place, there):
    """With a link in place of any file of sow, no command writes or reads behind it, and none crashes."""
    lead_outside(full_repo, place, there)
    outside = Picture(full_repo.root.parent / "outside", locks=True)
    home = Picture(full_repo.root.parent / "home", locks=True)
    for item in READING:
        answer = call(caller, full_repo.root, full_repo.environment, item)
        assert answer.code in (0, 1, 2), (item, answer)
        assert MARK not in answer.said, item
    for item in WRITING:
        answer = call(caller, full_repo.root, full_repo.environment, item)
        assert answer.code in (0, 1, 2, 4), (item, answer)
        assert outside.changes() == home.changes() == [], item
    assert {path.name for path in full_repo.root.parent.iterdir()} == {"repo", "home", "outside"}


@pytest.mark.parametrize(
    "place", [".sow", ".sow/project", ".sow/project/phases", TASK_FOLDER, f"{TASK_FOLDER}/state.yaml"]
)
def test_a_migration_follows_no_link(caller, old_repo, place):
    """Files behind a link in an old project are neither migrated nor read, and the old version stays."""
    lead_outside(old_repo, place, "a copy")
    outside = Picture(old_repo.root.parent / "outside", locks=True)
    answer = call(caller, old_repo.root, old_repo.environment, "migrate --yes")
    assert answer.code in (0, 1, 2), answer
    assert MARK not in answer.said
    assert outside.changes() == []


def test_an_old_project_without_links_is_migrated(caller, old_repo):
    """The refusals above are because of the links."""
    assert call(caller, old_repo.root, old_repo.environment, "migrate --yes").code == 0


@pytest.mark.parametrize("place", [".sow/local/backups", ".sow/local"])
def test_a_backup_follows_no_link(caller, old_repo, place):
    """A backup is not written through a link either."""
    lead_outside(old_repo, place, "a copy")
    outside = Picture(old_repo.root.parent / "outside", locks=True)
    assert call(caller, old_repo.root, old_repo.environment, "migrate --yes").code == 2
    assert outside.changes() == []


LEAVING = [
    "..",
    "../outside",
    "../../outside",
    "/tmp",
    "~",
    "a/../../outside",
    ".",
    "./",
    "outside/target",
    "\\..\\x",
    "%2e%2e/x",
]
ENTRIES = [
    "task create --name n --phase {}",
    "task create --name n --agent {}",
    "task create --name n --after {}",
    "task create --name n --depends-on {}",
    "task set --id {} priority high",
    "task set --id 010 assigned_agent {}",
    "task set --id 010 depends_on {}",
    "task abandon {} --reason r",
    "context {}",
    "context 010 --budget {}",
    "feedback add {} words",
    "log --task {} words",
    "note add --task {} --description d --context c",
    "note resolve {} --task 010 --resolution r",
    "answer {} words",
    "approve {}",
    "phase add {} --reason r",
    "phase approve {}",
    "phase back {}",
    "init --project p --phase {}",
    "project new p --phase {}",
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_name_is_no_path(caller, full_repo, entry):
    """A path in place of a name or an id is refused, and nothing is made."""
    before = Picture(full_repo.root.parent)
    for value in LEAVING:
        answer = call(caller, full_repo.root, full_repo.environment, entry.replace("{}", value))
        assert answer.code == 2, (value, answer)
    assert before.changes() == []


@pytest.mark.parametrize("value", LEAVING)
def test_a_reference_or_a_mark_stays_below_the_root(caller, full_repo, value):
    """A reference stays below the root, and a mark of a worker is an id."""
    before = Picture(full_repo.root.parent)
    answer = call(caller, full_repo.root, full_repo.environment, f"task create --name n --reference {value}")
    assert (answer.code == 0) is (value in (".", "./", "outside/target", "%2e%2e/x")), answer
    before.bring_back()
    assert call(caller, full_repo.root, full_repo.environment, "log words", SOW_TASK=value).code == 2
    assert before.changes() == []


@pytest.mark.parametrize("there", ["nothing", "a folder", "a link to a folder", "a file", "a bare repository"])
def test_a_root_must_be_a_checkout(caller, full_repo, there):
    """--root and SOW_ROOT take a checkout with a .sow folder; elsewhere nothing is made, not even by init."""
    place = full_repo.root.parent / "outside" / "place"
    if there == "a folder":
        place.mkdir()
    elif there == "a link to a folder":
        place.symlink_to(full_repo.root.parent / "home")
    elif there == "a file":
        place.write_text("")
    elif there == "a bare repository":
        full_repo.git("init", "-q", "--bare", str(place))
    before = Picture(full_repo.root.parent)
    for name in ("init", "log words", "task create --name n", "project remember words", "project save"):
        for value in (str(place), "../outside/place", f"{full_repo.root}/../outside/place"):
            assert call(caller, full_repo.root, full_repo.environment, name, SOW_ROOT=value).code == 2
            assert call(caller, full_repo.root, full_repo.environment, f"--root {value} {name}").code == 2
    assert before.changes() == []


def test_a_named_root_beats_the_current_folder(caller, full_repo, tmp_path):
    """A call with a root writes there, and not in the current folder."""
    elsewhere = tmp_path / "outside"
    before = Picture(elsewhere, locks=True)
    assert call(caller, elsewhere, full_repo.environment, "log words", SOW_ROOT=str(full_repo.root)).code == 0
    assert before.changes() == []


def test_the_table_has_120_cases():
    """Links, names and roots are 120 tricks at least."""
    assert len(TRICKS) + len(LEAVING) + 5 >= 120
