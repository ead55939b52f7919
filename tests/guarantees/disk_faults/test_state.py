"""R12: no space, permission or file handles: a clear error with the path, and the old state stays."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from conftest import SOW, Repo
from support.quick_cases import few_of

from guarantees.fake_disks import Counting, refusing
from guarantees.fresh_process import ended, fork, in_fresh_process
from guarantees.state_tree import Tree, appended, compare, versions_of
from guarantees.store_acts import ACTS, LONG, Act, folder, home_at, project_log
from sow.errors import SowError
from sow.store.files.disk import REASONS
from sow.store.projects import log

ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EMFILE, errno.EIO)
COMMANDS = (
    ("task", "set", "--id", "010", "priority", "high"),
    ("task", "set", "--id", "010", "status", "paused", "--reason", "why?"),
    ("task", "create", "--name", "Add logout"),
    ("note", "add", "--task", "010", "--description", LONG, "--context", "here"),
    ("feedback", "add", "010", LONG),
    ("log", "--task", "010", LONG * 20),
    ("project", "remember", LONG * 5),
    ("phase", "add", "release", "--reason", LONG, "--yes"),
    ("init",),
)


def complaint_about(act: Act, tree: Tree, disk: Counting, reason: str = "") -> str:
    """Runs the act; returns an error unless it succeeded, or named the system's error and the path."""
    try:
        act.run(home_at(tree.root, disk))
    except SowError as error:
        clear = error.hint and reason in error.message and (tree.root in error.message or ".sow/" in error.message)
        return "" if clear else f"not clear: {error.message} ({error.hint})"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if act.done(home_at(tree.root)) else "acknowledged, but not done"


@few_of("name", ACTS, 3)
def test_every_error_at_every_call(repo: Repo, name: str) -> None:
    """Any error of the system at any call is reported with its path, and no file is half changed."""
    act, tree = ACTS[name], Tree(str(repo.root))
    act.before(home_at(tree.root))
    tree.save()
    before = tree.masked()
    calls, versions = versions_of(act, tree)
    for number, call in enumerate(calls, 1):
        for error in ERRORS:
            tree.restore()
            when = f"{errno.errorcode[error]} at call {number} ({call})"
            # Without a copy to repair it from, the broken file itself is the thing to tell.
            reason = REASONS[error] if name != "repair" else ""
            assert complaint_about(act, tree, Counting(number, refusing(error)), reason) == "", when
            assert compare(tree, before, versions, torn=False) == [], when


def within_limits(root: str, kind: str, *limits: str) -> list[str]:
    """Runs every act in children with a limit of a resource; returns what is wrong."""
    start, wrong = Tree(root), []
    start.save()
    for act in ACTS.values():
        start.restore()
        act.before(home_at(root))
        tree = Tree(root)
        tree.save()
        before, (_, versions) = tree.masked(), versions_of(act, tree)
        for limit in limits:
            tree.restore()
            complaints = [limited(act, tree, kind, int(limit)), *compare(tree, before, versions, torn=True)]
            wrong += [f"{act.name} with {kind} {limit}: {complaint}" for complaint in complaints if complaint]
    return wrong


def limited(act: Act, tree: Tree, kind: str, limit: int) -> str:
    """Returns what is wrong with the act under a limit; for handles the limit is how many are left."""
    reader, writer = os.pipe()
    value = limit + (writer if kind == "NOFILE" else 0)

    def run() -> None:
        resource.setrlimit(getattr(resource, f"RLIMIT_{kind}"), (value, value))
        os.write(writer, complaint_about(act, tree, Counting()).encode() or b"-")

    child = fork(run)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        output = pipe.read()
    return "crashed" if ended(child) or not output else output.strip("-")


@few_of(("kind", "limits"), [("NOFILE", range(1, 6)), ("FSIZE", (0, 1, 100, 500))], 1)
def test_real_limits(repo: Repo, kind: str, limits: Sequence[int]) -> None:
    """With too few handles, or with files that cannot grow, the error is clear and no file is half changed."""
    assert in_fresh_process(within_limits, repo.root, kind, *map(str, limits)) == []


@contextlib.contextmanager
def full(place: str) -> Iterator[None]:
    """Fills the disk completely."""
    with contextlib.suppress(OSError), open(f"{place}/filler", "wb", buffering=0) as filler:
        while filler.write(b"x" * 4096):
            pass
    yield
    os.unlink(f"{place}/filler")


@contextlib.contextmanager
def read_only(place: str) -> Iterator[None]:
    """Makes the disk read-only."""
    subprocess.run(["mount", "-o", "remount,ro", place], check=True)
    yield
    subprocess.run(["mount", "-o", "remount,rw", place], check=True)


@contextlib.contextmanager
def small_files(place: str) -> Iterator[None]:
    """Lets no file grow, in this process and its children."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def no_permission(place: str) -> Iterator[None]:
    """Takes the write permission from every folder and file."""
    paths = [place, *(str(path) for path in Path(place).rglob("*"))]
    modes = {path: os.stat(path).st_mode for path in paths}
    for path, mode in modes.items():
        os.chmod(path, mode & ~0o222)
    yield
    for path, mode in modes.items():
        os.chmod(path, mode)


MEANS = {
    "full": (full, REASONS[errno.ENOSPC]),
    "read_only": (read_only, REASONS[errno.EROFS]),
    "no_permission": (no_permission, REASONS[errno.EACCES]),
    "small_files": (small_files, os.strerror(errno.EFBIG)),
}
MOUNTED = ("full", "read_only")
PRIVATE_MOUNTS = (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"])
HUMBLE_ROOT = ["setpriv", "--bounding-set=-dac_override"]


def works(*command: str) -> bool:
    return bool(shutil.which(command[0])) and subprocess.run(command, capture_output=True).returncode == 0


def prefix_for(means: str, folder: Path) -> list[str] | None:
    """Returns a prefix that lets a process mount a disk, or makes permissions count; None if there is none."""
    if means in MOUNTED:
        mounting = ("mount", "-t", "tmpfs", "none", str(folder))
        return next((private_mount for private_mount in PRIVATE_MOUNTS if works(*private_mount, *mounting)), None)
    if means == "no_permission" and os.geteuid() == 0:
        return HUMBLE_ROOT if works(*HUMBLE_ROOT, "true") else None
    return []


def starve(root: str, means: str) -> dict[str, Any]:
    """Calls sow where nothing can be written, and then where it can; returns the output and the changes."""
    place, tree = f"{root}.place", Tree(f"{root}.place")
    os.mkdir(place)
    if means in MOUNTED:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", place], check=True)
    shutil.copytree(root, place, dirs_exist_ok=True)
    os.unlink(f"{place}/.sow/.gitignore")
    before, entries = tree.files(), log.read(home_at(place), project_log(home_at(place)))
    with MEANS[means][0](place):
        starved = [call(place, words) for words in COMMANDS]
    after = tree.files()
    return {
        "starved": starved,
        "changed": [path for path in before | after if before.get(path) != after.get(path) and not appended(path)],
        "entries kept": entries == log.read(home_at(place), project_log(home_at(place)))[: len(entries)],
        "fed": [call(place, words)[0] for words in COMMANDS],
        "last entry": log.read(home_at(place), folder(home_at(place)).log_path)[-1]["text"],
    }


def call(place: str, words: tuple[str, ...]) -> tuple[int, str]:
    result = subprocess.run([SOW, *words], cwd=place, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return result.returncode, result.stderr


@few_of("means", MEANS, 1)
def test_real_disk(task_repo: Repo, tmp_path: Path, means: str) -> None:
    """If nothing can be written every command says so with the path, changes no state, and works again afterwards."""
    prefix = prefix_for(means, tmp_path)
    means = "small_files" if prefix is None else means  # which every machine can do
    seen = in_fresh_process(starve, task_repo.root, means, prefix=prefix or [])
    for code, output in seen["starved"]:
        assert code == 1, output
        assert output.startswith("error: cannot "), output
        assert f"{task_repo.root}.place/.sow" in output
        assert MEANS[means][1] in output
        assert output.splitlines()[1].startswith("hint: ")
    assert seen["changed"] == []
    assert seen["entries kept"]
    assert seen["fed"] == [0] * len(COMMANDS)
    assert seen["last entry"] == LONG * 20
