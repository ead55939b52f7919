"""Task lists of other tools: recognised, imported, run, and written back."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from conftest import Repo
from support.paths import TESTS
from support.plan_repo import PlanRepo

SAMPLES = TESTS / "fixtures" / "task_lists"
TASKS = ".taskmaster/tasks/tasks.json"
SEARCH = "backlog/tasks/task-2 - Search-the-notes.md"


def put_samples(repo: Repo) -> None:
    shutil.copytree(SAMPLES, repo.root, dirs_exist_ok=True)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "Task lists")


@pytest.fixture
def lists(repo: Repo) -> Repo:
    put_samples(repo)
    return repo


def complete(repo: Repo, *tasks: str) -> None:
    for task in tasks:
        for status in ("in_progress", "needs_review", "completed"):
            repo.ok("task", "set", "--id", task, "status", status)


def lines_that_differ(before: str, after: str) -> list[str]:
    pairs = zip(before.split("\n"), after.split("\n"), strict=True)
    return [new.strip() for old, new in pairs if old != new]


@pytest.mark.parametrize(
    ("given", "said", "tasks"),
    [
        (".specify", "spec-kit: specs/001-photo-albums/tasks.md", 14),
        ("specs/001-photo-albums", "spec-kit: specs/001-photo-albums/tasks.md", 14),
        ("specs/001-photo-albums/tasks.md", "spec-kit: specs/001-photo-albums/tasks.md", 14),
        (".taskmaster", f"Task Master: {TASKS}#auth", 6),
        (TASKS, f"Task Master: {TASKS}#auth", 6),
        (f"{TASKS}#master", f"Task Master: {TASKS}#master", 2),
        ("backlog", f"Backlog.md: {SEARCH} and 2 more", 3),
    ],
)
def test_a_task_list_is_recognised(lists: Repo, given: str, said: str, tasks: int):
    """A file, the tool's folder or the folder of the feature is enough, and sow names the recognised format."""
    shown = lists.ok("plan", "show", given, "--json")
    assert f"note: read as tasks of {said}\n" in shown.err
    assert len(shown.json["tasks"]) == tasks
    assert set(shown.json["formats"].values()) == {said.partition(":")[0]}
    assert lists.ok("plan", "validate", given, "--json").json["valid"]
    assert lists.ok("plan", "simulate", given, "--json").json["minutes"] > 0


def test_the_feature_of_the_environment_counts(lists: Repo):
    """SPECIFY_FEATURE_DIRECTORY goes before .specify/feature.json, and no path leads out of the repository."""
    shutil.copytree(lists.root / "specs/001-photo-albums", lists.root / "specs/002-x")
    shown = lists.ok("plan", "show", ".specify", SPECIFY_FEATURE_DIRECTORY="specs/002-x")
    assert "spec-kit: specs/002-x/tasks.md" in shown.err
    (lists.root / ".specify/feature.json").write_text('{"feature_directory": "../../elsewhere"}')
    assert "there is no plan file in this folder" in lists.sow("plan", "show", ".specify").err


@pytest.mark.parametrize(
    ("planted", "given"),
    [
        (".specify/feature.json", ".specify"),
        (".taskmaster/state.json", ".taskmaster"),
        ("backlog/config.yml", "backlog"),
    ],
)
def test_a_pipe_beside_a_list_is_not_opened(lists: Repo, planted: str, given: str):
    """A planted pipe would make sow wait forever."""
    (lists.root / planted).unlink()
    os.mkfifo(lists.root / planted)
    assert lists.sow("plan", "show", given).code in (0, 2)


def test_a_tag_is_chosen(lists: Repo):
    """--tag chooses a tag, an unknown one lists those that exist, and tags are imported independently."""
    unknown = lists.sow("plan", "show", ".taskmaster", "--tag", "nope")
    assert (unknown.code, "there is no tag 'nope'" in unknown.err) == (2, True)
    assert "choose one with --tag: master, auth" in unknown.err
    assert "6 new" in lists.ok("plan", "import", ".taskmaster").out
    assert "2 new" in lists.ok("plan", "import", ".taskmaster", "--tag", "master").out
    assert "6 unchanged" in lists.ok("plan", "import", ".taskmaster", "--tag", "auth").out


def test_stories_can_run_in_parallel(lists: Repo):
    """The option changes the order of spec-kit's stories."""
    usual = lists.ok("plan", "waves", ".specify", "--json").json["waves"]
    parallel = lists.ok("plan", "waves", ".specify", "--parallel-stories", "--json").json["waves"]
    assert len(parallel) < len(usual)


def test_imported_tasks_say_where_they_come_from(lists: Repo):
    """Ids follow those of the list, a worker sees context, and a second import changes nothing."""
    out = lists.ok("plan", "import", "backlog").out
    assert "020   2          Search the notes" in out
    description = (lists.task_folder("021") / "description.md").read_text()
    assert "## Parent task id\n\nTASK-2" in description
    assert "3 unchanged" in lists.ok("plan", "import", "backlog").out


def test_statuses_of_all_formats_are_written_back(lists: Repo):
    """sow plan update writes each format, names what it wrote, and a second update changes nothing."""
    for item in (".taskmaster", ".specify", "backlog"):
        lists.ok("plan", "import", item)
    names = {task["name"]: task["id"] for task in lists.ok("task", "list", "--json").json["tasks"]}
    before = {path: (lists.root / path).read_text() for path in (TASKS, SEARCH, "specs/001-photo-albums/tasks.md")}
    expected = (
        "Write the form",
        "Search the notes",
        "Initialize the Python project with dependencies in pyproject.toml",
    )
    complete(lists, *(names[name] for name in expected))
    assert "3 changed (dry run" in lists.ok("plan", "update", "--dry-run").out
    assert all((lists.root / path).read_text() == text for path, text in before.items())
    rows = lists.ok("plan", "update", "--json").json["changes"]
    assert [(row["id"], row["before"], row["after"]) for row in rows] == [
        ("2.2", "pending", "done"),
        ("T002", "[ ]", "[X]"),
        ("2", "To Do", "Done"),
    ]
    specs = before["specs/001-photo-albums/tasks.md"]
    after = (lists.root / "specs/001-photo-albums/tasks.md").read_text()
    assert lines_that_differ(specs, after) == [
        "- [X] T002 Initialize the Python project with dependencies in pyproject.toml"
    ]
    assert json.loads((lists.root / TASKS).read_text())["auth"]["tasks"][1]["subtasks"][1]["status"] == "done"
    assert "Completed by sow as task" in (lists.root / SEARCH).read_text()
    assert lists.ok("plan", "update").out == "nothing to change\n"


def test_a_shell_command_of_backlog_is_shown_and_never_run(lists: Repo):
    """sow never runs onStatusChange of a file or of the configuration, in import, update or show."""
    path, config = lists.root / SEARCH, lists.root / "backlog/config.yml"
    path.write_text(path.read_text().replace("'notify-send \"$TASK_ID\"'", "touch ran-file"))
    config.write_text(config.read_text() + "onStatusChange: touch ran-config\n")
    shown = lists.ok("plan", "import", "backlog").err
    assert "sow never runs it: touch ran-file" in shown
    assert "sow never runs it: touch ran-config" in shown
    complete(lists, "020")
    updated = lists.ok("plan", "update", "backlog")
    assert "status: Done" in path.read_text()
    assert "sow never runs it: touch ran-file" in updated.err
    assert not list(lists.root.rglob("ran-*"))


def test_a_run_goes_through_a_task_list(plan_repo: PlanRepo):
    """sow run works on the open tasks of a list, and --update-plan writes their statuses back."""
    repo = plan_repo.repo
    put_samples(repo)
    result = repo.sow("run", ".taskmaster", "--tag", "master", "--update-plan", "--json", "--yes")
    assert result.code == 0, result
    tasks = json.loads((repo.root / TASKS).read_text())["master"]["tasks"]
    assert [task["status"] for task in tasks] == ["done", "done"]
    again = repo.sow("run", f"{TASKS}#master", "--yes")
    assert "nothing to do" in again.out


def test_a_run_warns_once_and_shows_paths_as_they_were_given(plan_repo: PlanRepo):
    """The write-back at the end repeats no warning of the start."""
    put_samples(plan_repo.repo)
    result = plan_repo.repo.sow("run", "backlog", "--update-plan", "--yes")
    assert result.code == 0, result
    assert result.err.count("onStatusChange") == 1
    assert "\nbacklog/tasks/task-2 - Search-the-notes.md  2 " in result.out


def test_a_run_asks_about_doubtful_warnings(plan_repo: PlanRepo):
    """A doubtful dependency stops a run without a terminal, and the hint repeats the options."""
    put_samples(plan_repo.repo)
    result = plan_repo.repo.sow("run", ".taskmaster", "--tag", "auth")
    assert result.code == 4
    assert "sow run .taskmaster --tag auth --yes" in result.err


def test_another_json_file_is_refused(lists: Repo):
    """A package.json is no task list."""
    Path(lists.root / "package.json").write_text('{"name": "x", "version": "1"}')
    result = lists.sow("plan", "show", "package.json")
    assert result.code == 2
    assert "there is no tag 'master'" in result.err


def test_a_renamed_backlog_task_is_recognised(lists: Repo):
    """After a new title or `backlog task complete`, import and update find the task in its new file."""
    lists.ok("plan", "import", "backlog")
    path = lists.root / SEARCH
    moved = path.rename(path.with_name("task-2 - Find-a-note.md"))
    assert "3 unchanged" in lists.ok("plan", "import", "backlog").out
    alone = ("plan", "import", f"backlog/tasks/{moved.name}")
    assert "depends on task 3, which was not given" in lists.sow(*alone).err
    assert "2 unchanged" in lists.ok(*alone, "backlog/tasks/task-3 - Store-notes.md").out
    complete(lists, "020")
    moved = moved.rename(lists.root / "backlog/completed" / moved.name)
    rows = lists.ok("plan", "update", "--json").json["changes"]
    assert [(row["id"], row["after"], Path(row["file"]).name) for row in rows] == [("2", "Done", moved.name)]
    assert "status: Done" in moved.read_text()
    assert not path.exists()


def test_a_list_that_gets_tags_is_recognised(lists: Repo):
    """Task Master turns an old file into one with the tag master: the tasks are the same."""
    path = lists.root / "tasks/tasks.json"
    path.parent.mkdir()
    tasks = {"tasks": [{"id": 1, "title": "One", "status": "pending"}]}
    path.write_text(json.dumps(tasks))
    assert "1 new" in lists.ok("plan", "import", "tasks").out
    path.write_text(json.dumps({"master": tasks, "other": tasks}))
    assert "1 unchanged" in lists.ok("plan", "import", "tasks").out
    assert "this file has no tags" not in lists.ok("plan", "show", "tasks", "--tag", "other").err
    path.write_text(json.dumps(tasks))
    assert "this file has no tags" in lists.sow("plan", "show", "tasks", "--tag", "other").err


def test_another_file_in_the_folder_of_tasks_is_named(lists: Repo):
    """A readme beside the tasks of Backlog.md is left out with a warning."""
    (lists.root / "backlog/tasks/readme.md").write_text("# About\n\nOne file per task.\n")
    shown = lists.ok("plan", "show", "backlog")
    assert "readme.md: there are no tasks in this file (it is left out)" in shown.err
    assert "3 tasks in 3 waves" in shown.out


DRAFT = "---\nid: DRAFT-9\ntitle: Perhaps\nstatus: Draft\n---\n"
ADDED = "---\nid: TASK-9\ntitle: Added\nstatus: To Do\n---\n"


def test_files_without_a_task_do_not_stop_the_others(lists: Repo):
    """A draft and a file added after the import are skipped with a note; the other files are written."""
    lists.ok("plan", "import", "backlog")
    (lists.root / "backlog/tasks/draft-9 - Perhaps.md").write_text(DRAFT)
    (lists.root / "backlog/tasks/task-9 - Added.md").write_text(ADDED)
    complete(lists, "020")
    updated = lists.ok("plan", "update", "backlog")
    for name in ("draft-9 - Perhaps.md", "task-9 - Added.md"):
        assert f"note: backlog/tasks/{name}: no task of this project comes from this file" in updated.err
    assert "status: Done" in (lists.root / SEARCH).read_text()
    alone = lists.sow("plan", "update", "backlog/tasks/task-9 - Added.md")
    assert (alone.code, "no task of this project comes from" in alone.err) == (2, True)


def test_a_status_that_cannot_be_written_is_a_note(lists: Repo):
    """The file stays as it is, the other files are written, and the note says what to do by hand."""
    path = lists.root / SEARCH
    path.write_text(path.read_text().replace("status: To Do", "status: >-\n  To Do"))
    other = lists.root / "backlog/tasks/task-9 - Added.md"
    other.write_text(ADDED)
    lists.ok("plan", "import", "backlog")
    before = path.read_text()
    complete(lists, "020", "090")
    updated = lists.ok("plan", "update", "backlog")
    assert f"note: {SEARCH}: the status of task 2 cannot be written: it is not on one line" in updated.err
    assert path.read_text() == before
    assert "status: Done" in other.read_text()


def test_two_tags_of_one_file_are_written_together(lists: Repo):
    """The second tag is written on top of the first."""
    lists.ok("plan", "import", f"{TASKS}#master")
    lists.ok("plan", "import", f"{TASKS}#auth")
    tasks = {task["name"]: task for task in lists.ok("task", "list", "--json").json["tasks"]}
    data = json.loads((lists.root / TASKS).read_text())
    first = next(task["title"] for task in data["master"]["tasks"] if task["status"] == "pending")
    complete(lists, tasks[first]["id"], tasks["Write the form"]["id"])
    assert "2 changed (dry run" in lists.ok("plan", "update", "--dry-run").out
    rows = lists.ok("plan", "update", "--json").json["changes"]
    assert {row["file"].rpartition("#")[2] for row in rows} == {"master", "auth"}
    data = json.loads((lists.root / TASKS).read_text())
    assert next(task["status"] for task in data["master"]["tasks"] if task["title"] == first) == "done"
    assert data["auth"]["tasks"][1]["subtasks"][1]["status"] == "done"
    assert lists.ok("plan", "update").out == "nothing to change\n"


def small_backlog(repo: Repo) -> Path:
    """Commits a Backlog.md folder with one open task and one draft; returns the file of the task."""
    folder = repo.root / "backlog/tasks"
    folder.mkdir(parents=True)
    path = folder / "task-1 - One.md"
    path.write_text("---\nid: TASK-1\ntitle: One\nstatus: To Do\n---\n")
    (folder / "draft-9 - Perhaps.md").write_text(DRAFT)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "Backlog")
    return path


def test_a_run_with_a_draft_is_written_back(plan_repo: PlanRepo):
    """The draft is left out, the task gets its status, and the run has its report."""
    path = small_backlog(plan_repo.repo)
    result = plan_repo.repo.sow("run", "backlog", "--update-plan", "--json", "--yes")
    assert result.code == 0, result
    assert "status: Done" in path.read_text()
    assert json.loads(result.out.splitlines()[-1])["event"] == "run_ended"


def test_a_failed_write_back_is_a_note_of_the_run(plan_repo: PlanRepo):
    """A word that YAML would read otherwise is not written; the run ends with its report and its own exit code."""
    path = small_backlog(plan_repo.repo)
    (plan_repo.repo.root / "backlog/config.yml").write_text('statuses: [To Do, "Yes: done"]\n')
    result = plan_repo.repo.sow("run", "backlog", "--update-plan", "--json", "--yes")
    assert result.code == 0, result
    assert "note: the plan could not be updated: " in result.err
    assert "status: To Do" in path.read_text()
