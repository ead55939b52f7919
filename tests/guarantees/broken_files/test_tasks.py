"""R11: a state file that a worker breaks affects only its task, and the next change of the task repairs it."""

from __future__ import annotations

import os
import random
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import FULL, Repo, fresh_environment
from support.call_server import Answer, Caller
from support.quick_cases import few_of

Damage = Callable[[Path], None]


def text(change: Callable[[str], str]) -> Damage:
    """Returns damage that changes the text of the file."""

    def damage(path: Path) -> None:
        before = path.read_text()
        after = change(before)
        assert after != before
        path.write_text(after)

    return damage


def content(data: bytes | str) -> Damage:
    """Returns damage that replaces the content."""
    return lambda path: void(path.write_bytes(data.encode() if isinstance(data, str) else data))


def swap(old: str, new: str) -> Damage:
    return text(lambda good: good.replace(old, new, 1))


def cut(share: float) -> Damage:
    return text(lambda good: good[: int(len(good) * share)])


def instead(make: Callable[[Path], object]) -> Damage:
    """Returns damage that replaces the file by something else."""

    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


def void(_: object) -> None:
    return None


def full_folder(path: Path) -> None:
    path.mkdir()
    (path / "state.yaml").write_text("a: 1\n")


def listening(path: Path) -> None:
    """Makes a socket; its path may be longer than a system allows, so it is made from inside the folder."""
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


BOMB = "a: &a [x, x]\n" + "".join(f"{c}: &{c} [*{p}, *{p}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True))
BROKEN: dict[str, Damage] = {
    "empty": content(""),
    "only white space": content(" \n\n"),
    "only a comment": content("# gone\n"),
    "null": content("null\n"),
    "cut after the version": text(lambda good: good[: good.index("revision")]),
    "cut at a quarter": cut(0.25),
    "cut in the middle": cut(0.5),
    "cut at three quarters": cut(0.75),
    "the last line cut": text(lambda good: good[:-8]),
    "the last field gone": text(lambda good: good[: good.rindex("    ") if "    " in good else -30]),
    "zeros": content(b"\0" * 700),
    "binary": content(bytes(range(256)) * 4),
    "Latin-1": content("name: é\n".encode("latin-1")),
    "UTF-16": text(lambda good: good.encode("utf-16").decode("latin-1")),
    "a control character": swap("Login", "Log\x1bin"),
    "a list": content("- a\n- b\n"),
    "a text": content("done!\n"),
    "JSON of another kind": content('["task"]'),
    "task is a list": content('schema_version: "1.2.0"\nrevision: 1\ntask:\n  - a\n'),
    "task is null": content('schema_version: "1.2.0"\nrevision: 1\ntask: null\n'),
    "a number as a name": swap("name: Login", "name: 1"),
    "a text as iteration": swap("iteration: 1", 'iteration: "1"'),
    "iteration zero": swap("iteration: 1", "iteration: 0"),
    "a fraction": swap("iteration: 1", "iteration: 1.5"),
    "a negative revision": text(lambda good: good.replace("revision: ", "revision: -")),
    "an endless revision": text(lambda good: good.replace("revision: ", "revision: " + "9" * 5000)),
    "a text as a list": swap("criteria: []", 'criteria: "[]"'),
    "an unknown status": swap("status: in_progress", "status: finished"),
    "a status of Git": swap("status: in_progress", "status: merge conflict"),
    "completed by itself": swap("status: in_progress", "status: completed"),
    "an unknown key": text(lambda good: good + "owner: me\n"),
    "an unknown field": swap("  name:", "  nome: x\n  name:"),
    "a field twice": swap("  status: in_progress", "  status: in_progress\n  status: needs_review"),
    "a field twice, the line end cut": text(lambda good: good.rstrip("\n") + "\nrevision: 7"),
    "the id of another": swap('id: "010"', 'id: "020"'),
    "an id without quotes": swap('id: "010"', "id: 010"),
    "a path as an id": swap('id: "010"', 'id: "../010"'),
    "no version": swap('schema_version: "1.2.0"\n', ""),
    "a number as a version": swap('"1.2.0"', "1.0"),
    "an anchor": swap("name: Login", "name: &a Login"),
    "a tag": swap("name: Login", "name: !!python/object/apply:os.system [id]"),
    "an alias bomb": content(BOMB),
    "50,000 brackets": content("[" * 50_000),
    "50,000 dashes": content("- " * 50_000),
    "50,000 colons": content(": " * 50_000),
    "50,000 question marks": content("? " * 50_000),
    "deep indentation": content("".join(" " * n + "a:\n" for n in range(1000))),
    "20,000 keys": content("".join(f"k{n}: 1\n" for n in range(20_000))),
    "5 MB": content("a: " + "x" * 5_000_000),
    "two documents": text(lambda good: good + "---\na: 1\n"),
    "a tab": swap("  name", "\tname"),
    "a folder": instead(Path.mkdir),
    "a full folder": instead(full_folder),
    "a link to another task": instead(lambda path: path.symlink_to("../020/state.yaml")),
    "a link to nothing": instead(lambda path: path.symlink_to("nowhere")),
    "a link to itself": instead(lambda path: path.symlink_to(path.name)),
    "a link to endless zeros": instead(lambda path: path.symlink_to("/dev/zero")),
    "a pipe": instead(os.mkfifo),
    "a socket": instead(listening),
    "nothing": instead(lambda path: None),
}
# A person, or another sow, is at work on these: nothing is moved under their hands.
UNTOUCHED: dict[str, Damage] = {
    "a merge conflict": swap("  name: Login\n", "<<<<<<< HEAD\n  name: A\n=======\n  name: B\n>>>>>>> b\n"),
    "half a merge conflict": swap("  name: Login\n", "  name: A\n=======\n  name: B\n>>>>>>> b\n"),
    "a newer version": swap('"1.2.0"', '"2.0.0"'),
    "a version from far away": swap('"1.2.0"', f'"{"9" * 5000}.0.0"'),
    "an older version": swap('"1.2.0"', '"0.9.0"'),
}
READING = {
    "status": 0,
    "task list": 0,
    "task show 020": 0,
    "inbox": 0,
    "phase list": 0,
    "project show": 0,
    "log --list": 0,
    "doctor": 1,
}


@pytest.fixture(scope="module")
def template(caller: Caller, _project_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with task 010 in progress and 020 pending."""
    folder = tmp_path_factory.mktemp("broken")
    environment = fresh_environment(folder / "home")
    shutil.copytree(_project_template, folder / "repo", symlinks=True)
    for text in ("task create --name Login", "task create --name Logout", "task set --id 010 status in_progress"):
        assert caller.call(*text.split(), cwd=folder / "repo", environment=environment).code == 0
    return folder / "repo"


@pytest.fixture
def two_tasks(tmp_path: Path, environment: dict[str, str], template: Path) -> Repo:
    shutil.copytree(template, tmp_path / "repo", symlinks=True)
    return Repo(tmp_path / "repo", environment)


def call(caller: Caller, repo: Repo, words: str) -> Answer:
    return caller.call(*words.split(), cwd=repo.root, environment=repo.environment)


def others_go_on(caller: Caller, repo: Repo) -> None:
    """Checks that every view works and names the broken task, and that another task can be changed."""
    for text, code in READING.items():
        for form in ("", " --json"):
            answer = call(caller, repo, text + form)
            assert answer.code == code, (text, answer)
    assert "010" in call(caller, repo, "status").out
    assert "broken" in call(caller, repo, "task list").out
    for text in ("task set --id 020 priority low", "log --task 020 words", "task create --name Another"):
        assert call(caller, repo, text).code == 0


def asides(repo: Repo) -> list[Path]:
    return sorted(repo.task_folder("010").glob("state.broken-*"))


@few_of("damage", BROKEN.values(), 6, ids=BROKEN)
def test_a_broken_state_is_set_aside(caller, two_tasks, damage):
    """Everything else continues, and the next change of the task restores the last good state and keeps the file."""
    path = two_tasks.task_folder("010") / "state.yaml"
    good = path.read_text()
    damage(path)
    bad = path.read_bytes() if path.is_file() and not path.is_symlink() else None
    others_go_on(caller, two_tasks)
    answer = call(caller, two_tasks, "task set --id 010 priority high")
    assert answer.code == 0, answer
    assert answer.err.startswith("warning: ")
    assert "the last good state is back" in answer.err
    assert len(answer.err) < 1000
    fixed = path.read_text()
    same = [line for line in good.split("\n") if not line.strip().startswith(("revision", "priority", "updated_at"))]
    assert set(same) <= set(fixed.split("\n"))
    assert "priority: high" in fixed
    if damage is not BROKEN["nothing"]:
        (aside,) = asides(two_tasks)
        assert str(aside.relative_to(two_tasks.root)) in answer.err
        assert bad is None or aside.read_bytes() == bad
    assert call(caller, two_tasks, "task set --id 010 priority low").err == ""


@pytest.mark.parametrize("damage", UNTOUCHED.values(), ids=UNTOUCHED)
def test_a_file_in_use_is_not_touched(caller, two_tasks, damage):
    """A merge conflict, or a file of another version, stays as it is: the change is refused with the reason."""
    path = two_tasks.task_folder("010") / "state.yaml"
    damage(path)
    bad = path.read_bytes()
    others_go_on(caller, two_tasks)
    answer = call(caller, two_tasks, "task set --id 010 priority high")
    assert answer.code == 2
    assert len(answer.err) < 1000
    assert path.read_bytes() == bad
    assert asides(two_tasks) == []


@pytest.mark.parametrize(
    "name", ["a pipe", "a link to endless zeros", "50,000 dashes", "50,000 colons", "an alias bomb"]
)
def test_the_real_command_neither_hangs_nor_crashes(two_tasks, name):
    """Through the real command, too, the worst damages are errors with a hint."""
    BROKEN[name](two_tasks.task_folder("010") / "state.yaml")
    two_tasks.ok("status")
    assert two_tasks.sow("task", "show", "010").code == 2
    assert "the last good state is back" in two_tasks.ok("task", "set", "--id", "010", "priority", "high").err


def test_two_files_of_one_second_are_both_kept(caller, two_tasks):
    """A second broken file does not replace the first, however soon it comes."""
    for data in ("first", "second"):
        (two_tasks.task_folder("010") / "state.yaml").write_text(data)
        assert call(caller, two_tasks, "task set --id 010 priority high").code == 0
    assert {path.read_text() for path in asides(two_tasks)} == {"first", "second"}


@pytest.mark.parametrize("kept", ["", "torn: [", 'schema_version: "0.9.0"\n', None])
def test_without_a_good_copy_the_file_stays(caller, two_tasks, kept):
    """If the copy is torn, too old or gone, the broken file stays, and the error is about that file."""
    path = two_tasks.task_folder("010") / "state.yaml"
    path.write_text("broken: [")
    (copy,) = (two_tasks.root / ".git" / "sow").glob("*/010.yaml")
    copy.unlink()
    if kept is not None:
        copy.write_text(kept)
    answer = call(caller, two_tasks, "task set --id 010 priority high")
    assert answer.code == 2
    assert "tasks/010/state.yaml:1: " in answer.err
    assert path.read_text() == "broken: ["
    assert asides(two_tasks) == []


def test_the_table_has_forty_damages():
    """The table is as long as promised."""
    assert len(BROKEN) + len(UNTOUCHED) >= 40


def test_random_damage_is_repaired_or_harmless(caller, two_tasks):
    """For any changed bytes every view works, and the task can be changed, or the error names its file."""
    path = two_tasks.task_folder("010") / "state.yaml"
    chance = random.Random(11)
    for _ in range(5000 if FULL else 40):
        data = bytearray(path.read_bytes())
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(data))
            data[place : place + chance.randint(0, 3)] = bytes(chance.choices(b'\0\n\t "&*!-?:[]{}#x0\xc3\xff', k=2))
        path.write_bytes(data)
        assert call(caller, two_tasks, "status").code == 0
        assert call(caller, two_tasks, f"task set --id 010 priority {chance.choice(['low', 'high'])}").code in (0, 2)
        (copy,) = (two_tasks.root / ".git" / "sow").glob("*/010.yaml")
        path.write_bytes(copy.read_bytes())
