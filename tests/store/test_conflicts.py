"""Two people in one project: logs merge, and conflicts in state are explained and resolved."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Repo

from sow.errors import MergeConflict
from sow.store.formats import merge_conflict, yaml_text

TASK = ".sow/project/phases/implementation/tasks/010/state.yaml"


@pytest.fixture
def two_clones(repo: Repo, tmp_path: Path) -> tuple[Repo, Repo]:
    """Two copies of one saved project with three tasks."""
    for name in ("One", "Two", "Three"):
        repo.ok("task", "create", "--name", name)
    repo.ok("project", "save")
    other = tmp_path / "other"
    shutil.copytree(repo.root, other, symlinks=True)
    return repo, Repo(other, repo.environment)


def pull(repo: Repo, other: Repo) -> bool:
    """Merges the other clone's branch, and returns whether git did it without a conflict."""
    repo.git("fetch", "-q", str(other.root), "feat/auth")
    try:
        repo.git("merge", "-q", "--no-edit", "FETCH_HEAD")
    except AssertionError:
        return False
    return True


def test_the_logs_of_two_people_merge(two_clones):
    """Both clones add to the log and to the memories; git pull merges them, and every entry is there (B4)."""
    mine, theirs = two_clones
    mine.ok("log", "--action", "mine", "from me")
    mine.ok("project", "remember", "Use UTC")
    theirs.ok("log", "--action", "theirs", "from them")
    theirs.ok("log", "--action", "theirs", "and more")
    theirs.ok("project", "remember", "Use tabs")
    for clone in two_clones:
        clone.ok("project", "save")
    assert pull(mine, theirs)
    entries = mine.ok("log", "--list", "--json").json["entries"]
    assert sorted(entry["text"] for entry in entries[-3:]) == ["and more", "from me", "from them"]
    assert [entry["timestamp"] for entry in entries] == sorted(entry["timestamp"] for entry in entries)
    assert "\n".join(mine.ok("project", "show", "--json").json["memories"]) == "Use UTC\nUse tabs"
    mine.ok("validate", ".sow/project/log.md")


def test_init_updates_the_attributes_of_an_older_project(repo: Repo):
    """Doctor names the missing file and the command, which adds it."""
    attributes = repo.project / ".gitattributes"
    before = attributes.read_text()
    attributes.unlink()
    finding = next(
        finding for finding in repo.ok("doctor", "--json").json["findings"] if ".gitattributes" in finding["what"]
    )
    assert (finding["state"], finding["hint"]) == ("warning", "add it: sow init")
    assert repo.ok("init").out == "created .sow/project/.gitattributes\n"
    assert attributes.read_text() == before


@pytest.mark.parametrize("name", ["log.md", "context/memories.md", "phases/implementation/tasks/010/log.md"])
def test_doctor_finds_conflict_marks_in_a_log(task_repo: Repo, name: str):
    """A log with the marks of git is a problem, and `sow project resolve` keeps both sides (B4)."""
    path = task_repo.project / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n")
    result = task_repo.sow("doctor", "--json")
    assert result.code == 1
    problems = [finding for finding in result.json["findings"] if finding["state"] == "problem"]
    assert [problem["what"] for problem in problems] == [f".sow/project/{name}:1: git left a merge conflict here"]
    task_repo.ok("project", "resolve", "ours")
    assert path.read_text() == "a\nb\n"


def test_validate_finds_conflict_marks_in_a_log(task_repo: Repo):
    """A log with the marks of git is not valid (B4)."""
    path = task_repo.project / "log.md"
    path.write_text(path.read_text() + "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n")
    result = task_repo.sow("validate", "log.md")
    assert result.code == 2
    assert "git left a merge conflict here" in result.err


def test_conflict_marks_in_a_text_are_escaped(task_repo: Repo):
    """A text with such marks is escaped in the log and in the memories, and reads back unchanged."""
    text = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x"
    task_repo.ok("log", text)
    task_repo.ok("project", "remember", text)
    assert task_repo.ok("log", "--list", "--json").json["entries"][-1]["text"] == text
    assert task_repo.ok("project", "show", "--json").json["memories"] == [text]
    assert task_repo.ok("doctor", "--json").json["healthy"]


@pytest.mark.parametrize(("side", "name"), [("ours", "Mine"), ("theirs", "Theirs")])
def test_a_conflict_in_a_state_is_explained_and_resolved(two_clones, side: str, name: str):
    """The error has the differing field and the command; after it the state is valid and staged (B4)."""
    mine, theirs = two_clones
    mine.ok("task", "set", "--id", "010", "name", "Mine")
    theirs.ok("task", "set", "--id", "010", "name", "Theirs")
    for clone in two_clones:
        clone.ok("project", "save")
    assert not pull(mine, theirs)
    result = mine.sow("task", "show", "010")
    assert result.code == 2
    assert f"{TASK}:5: git left a merge conflict here" in result.err
    assert "task.name: ours is 'Mine', theirs is 'Theirs'" in result.err
    assert f"sow project resolve {side}" in result.err
    assert mine.ok("project", "resolve", side).out == f"kept {side}: {TASK}\ncontinue with: git commit\n"
    mine.git("commit", "-q", "--no-edit")
    assert mine.ok("task", "show", "010", "--json").json["name"] == name
    state = (mine.root / TASK).read_text()
    assert "\nrevision: 3\n" in state
    copies = [path.read_text() for path in mine.root.glob(".git/sow/*/010.yaml")]
    assert copies == [state]


def test_a_conflict_in_the_projects_state_is_resolved(two_clones):
    """Each side adds a phase and changes the same task; one command resolves all of it."""
    mine, theirs = two_clones
    for clone, phase in ((mine, "qa"), (theirs, "docs")):
        clone.ok("phase", "add", phase, "--reason", "needed", "--yes")
        clone.ok("task", "set", "--id", "010", "name", phase)
        clone.ok("project", "save")
    assert not pull(mine, theirs)
    error = mine.sow("status").err
    assert "phases.qa: only ours has it" in error
    assert "phases.docs: only theirs has it" in error
    mine.ok("project", "resolve", "theirs")
    mine.git("commit", "-q", "--no-edit")
    assert [phase["name"] for phase in mine.ok("project", "show", "--json").json["phases"]][-1] == "docs"
    assert mine.ok("project", "resolve", "ours").out == "no conflicts in state files\n"


@pytest.mark.full
def test_in_a_rebase_the_sides_are_gits(two_clones):
    """In a rebase, ours is the branch that is rebased onto."""
    mine, theirs = two_clones
    for clone, name in ((mine, "Mine"), (theirs, "Theirs")):
        clone.ok("task", "set", "--id", "010", "name", name)
        clone.ok("project", "save")
    mine.git("fetch", "-q", str(theirs.root), "feat/auth")
    with pytest.raises(AssertionError):
        mine.git("rebase", "-q", "FETCH_HEAD")
    assert "continue with: git rebase --continue" in mine.ok("project", "resolve", "theirs").out
    mine.git("-c", "core.editor=true", "rebase", "--continue")
    assert mine.ok("task", "show", "010", "--json").json["name"] == "Mine"


def test_a_worker_may_not_resolve_a_conflict(task_repo: Repo):
    """Which side counts is a decision of a person."""
    assert task_repo.sow("project", "resolve", "ours", SOW_TASK="010", SOW_AGENT="implementer").code == 2


def add_task(clone: Repo, name: str, *more: str) -> None:
    clone.ok("task", "create", "--name", name, "--description", f"Do {name}.", *more)


@pytest.mark.parametrize(("side", "other", "kept"), [("ours", "theirs", "Mine"), ("theirs", "ours", "Theirs")])
def test_two_tasks_with_the_same_id_are_both_kept(two_clones, side: str, other: str, kept: str):
    """Doctor names each file, one side's task gets a new id with all its files, and git commits the rest (B4)."""
    mine, theirs = two_clones
    for clone, name in ((mine, "Mine"), (theirs, "Theirs")):
        add_task(clone, name)
        clone.ok("log", "--task", "040", f"from {name}")
        clone.ok("project", "save")
    assert not pull(mine, theirs)
    folder = ".sow/project/phases/implementation/tasks/040"
    findings = mine.sow("doctor", "--json").json["findings"]
    problems = [finding["what"].split(":")[0] for finding in findings if finding["state"] == "problem"]
    assert problems == [f"{folder}/description.md", f"{folder}/state.yaml"]
    result = mine.ok("project", "resolve", side)
    assert f"both sides added task 040: that of {other} is 050 now\n" in result.out
    mine.git("commit", "-q", "--no-edit")
    assert mine.git("status", "--porcelain") == ""
    lost = ({"Mine", "Theirs"} - {kept}).pop()
    for task, name in (("040", kept), ("050", lost)):
        shown = mine.ok("task", "show", task, "--json").json
        assert (shown["id"], shown["name"]) == (task, name)
        files = mine.root / ".sow/project/phases/implementation/tasks" / task
        assert f"Do {name}." in (files / "description.md").read_text()
        assert (files / "log.md").read_text().count("from ") == 1
        assert f"from {name}" in (files / "log.md").read_text()
    assert mine.ok("doctor", "--json").json["healthy"]


def test_the_error_says_that_both_tasks_stay():
    """States with different times of creation are two tasks (B4)."""
    sides = [f"task:\n  id: '040'\n  created_at: '2026-01-0{day}T00:00:00Z'\n" for day in (1, 2)]
    text = f"<<<<<<< HEAD\n{sides[0]}=======\n{sides[1]}>>>>>>> x\n"
    with pytest.raises(MergeConflict) as raised:
        merge_conflict.refuse(text, TASK, yaml_text.load)
    assert raised.value.hint.startswith("two people added this task: both stay")


@pytest.mark.full
def test_a_dependency_follows_the_new_id(two_clones):
    """A task that only one side has depends on that side's task, under its new id (B4)."""
    mine, theirs = two_clones
    add_task(mine, "Mine")
    add_task(theirs, "Theirs")
    add_task(theirs, "Next", "--depends-on", "040")
    for clone in two_clones:
        clone.ok("project", "save")
    assert not pull(mine, theirs)
    assert "that of theirs is 060 now" in mine.ok("project", "resolve", "ours").out
    mine.git("commit", "-q", "--no-edit")
    assert mine.ok("task", "show", "050", "--json").json["depends_on"] == ["060"]
    assert mine.ok("task", "show", "060", "--json").json["name"] == "Theirs"


@pytest.mark.parametrize(("side", "remains"), [("ours", "mine"), ("theirs", "")])
def test_a_conflicting_description_is_resolved(two_clones, side: str, remains: str):
    """A description keeps one side, also if the other side deleted the file (B4)."""
    mine, theirs = two_clones
    changed, deleted = (Path(TASK).parent.parent / task / "description.md" for task in ("010", "020"))
    (mine.root / changed).write_text("# One\n\nmine\n")
    (theirs.root / changed).write_text("# One\n\ntheirs\n")
    (mine.root / deleted).write_text("# Two\n\nmine\n")
    (theirs.root / deleted).unlink()
    for clone in two_clones:
        clone.git("add", "-A")
        clone.git("commit", "-qm", "change")
    assert not pull(mine, theirs)
    mine.ok("project", "resolve", side)
    mine.git("commit", "-q", "--no-edit")
    assert (mine.root / changed).read_text() == ("# One\n\nmine\n" if side == "ours" else "# One\n\ntheirs\n")
    assert (mine.root / deleted).exists() == bool(remains)


@pytest.mark.full
def test_files_of_the_user_are_left_to_the_user(two_clones):
    """A conflict in code is named, because git refuses to commit before it is resolved (B4)."""
    mine, theirs = two_clones
    for clone, name in ((mine, "Mine"), (theirs, "Theirs")):
        clone.ok("task", "set", "--id", "010", "name", name)
        (clone.root / "a.py").write_text(name)
        clone.git("add", "a.py")
        clone.git("commit", "-qm", name)
        clone.ok("project", "save")
    assert not pull(mine, theirs)
    out = mine.ok("project", "resolve", "ours").out
    assert out.endswith("resolve the conflict in a.py, then: git add a.py && git commit\n")
