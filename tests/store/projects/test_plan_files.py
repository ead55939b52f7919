"""Plan files on disk: all errors are reported at once, and a changed file is not overwritten."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Repo

from sow.domain.plans.plan import PlanFinding, PlanSource
from sow.errors import SowError, SystemFailure
from sow.plans import reader
from sow.store.files.checkout_home import Home, find
from sow.store.files.disk import Disk
from sow.store.projects.plan_files import MAX_BYTES, MAX_FILES, load, replace

TASK = "## Task 1: One\nDo it.\n"


def read(folder: Path, *paths: str) -> tuple[list[PlanSource], list[PlanFinding]]:
    return load(paths, str(folder))


def one_error(folder: Path, *paths: str) -> PlanFinding:
    """Returns the only finding, which is an error; nothing was read."""
    sources, findings = read(folder, *paths)
    assert sources == []
    assert [finding.error for finding in findings] == [True]
    assert findings[0].hint
    return findings[0]


def test_a_file_is_read_unchanged(tmp_path):
    """The name is the given one, and the text has its line endings, without the byte order mark."""
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "a.md").write_bytes(b"\xef\xbb\xbf# P\xc3\xa9\r\n\rx")
    for name in ("plans/a.md", "./plans/../plans/a.md", str(tmp_path / "plans" / "a.md")):
        (source,), findings = read(tmp_path, name)
        assert (source.name, source.text, source.in_folder, findings) == (name, "# Pé\r\n\rx", False, [])


def test_a_folder_means_its_plan_files(tmp_path):
    """Files with the four endings in any case, in order; no hidden, deeper or other files."""
    folder = tmp_path / "plans"
    (folder / "deep.md").mkdir(parents=True)
    (folder / "deep.md" / "z.md").write_text(TASK)
    names = ["10.yml", "2.MD", "a.markdown", "b.yaml"]
    for name in [*names, ".hidden.md", "notes.txt", "md", "a.md~", ".b.md.1.ff.tmp"]:
        (folder / name).write_text(TASK)
    for text in ("plans", "plans/", "./plans", "plans//"):
        sources, findings = read(tmp_path, text)
        assert findings == []
        assert [(source.name, source.in_folder) for source in sources] == [
            (f"{text.rstrip('/')}/{name}", True) for name in names
        ]
    assert [source.name for source in read(folder, ".")[0]] == [f"./{name}" for name in names]


def test_a_readme_without_tasks_is_only_a_warning(tmp_path):
    """In a folder a file without tasks is left out with a warning; given by itself it is an error."""
    (tmp_path / "README.md").write_text("# About\n")
    (tmp_path / "a.md").write_text(TASK)
    for given, error in ((["."], False), (["a.md", "README.md"], True)):
        sources, findings = read(tmp_path, *given)
        plan = reader.read(sources, findings=findings)
        assert [(finding.message, finding.error) for finding in plan.findings] == [
            ("there are no tasks in this file", error)
        ]


def test_a_folder_without_plan_files_is_an_error(tmp_path):
    """The error names the endings of plan files."""
    (tmp_path / "notes.txt").write_text("x")
    result = one_error(tmp_path, ".")
    assert (result.location, result.message) == (".", "there is no plan file in this folder")
    assert ".md, .markdown, .yaml, .yml" in result.hint


def test_every_problem_of_every_file_is_reported(tmp_path):
    """One bad file hides neither the next one nor the good one."""
    (tmp_path / "good.md").write_text(TASK)
    (tmp_path / "empty.md").write_text(" \n\n")
    (tmp_path / "binary.md").write_bytes(b"# a\r\n\r\nb\0c\n")
    (tmp_path / "latin.md").write_bytes(b"# a\rb\r\nc\n\xe9t\xe9\n")
    (tmp_path / "utf16.md").write_bytes(TASK.encode("utf-16"))
    (tmp_path / "none").mkdir()
    (tmp_path / "lost.md").symlink_to("nowhere.md")
    (tmp_path / "loop.md").symlink_to("loop.md")
    texts = ["empty.md", "binary.md", "none", "good.md", "latin.md", "utf16.md", "lost.md", "loop.md"]
    sources, findings = read(tmp_path, "", "gone.md", *texts, "good.md/x", "x" * 300)
    assert [source.name for source in sources] == ["good.md"]
    assert [(finding.location, finding.message) for finding in findings] == [
        ("''", "there is no such file"),
        ("gone.md", "there is no such file"),
        ("empty.md", "this file is empty"),
        ("binary.md:3", "this is binary: there is a NUL byte in it"),
        ("none", "there is no plan file in this folder"),
        ("latin.md:4", "this is not UTF-8"),
        ("utf16.md:1", "this is UTF-16"),
        ("lost.md", "this link leads nowhere"),
        ("loop.md", "this link leads in a circle"),
        ("good.md/x", "cannot read it: a part of the path is not a folder"),
        ("x" * 300, "cannot read it: File name too long"),
    ]
    assert all(finding.error and finding.hint for finding in findings)


def test_unreadable_files_are_reported(tmp_path):
    """A file and a folder without permission are errors with the reason."""
    (tmp_path / "a.md").write_text(TASK)
    (tmp_path / "plans").mkdir()
    for name in ("a.md", "plans"):
        (tmp_path / name).chmod(0)
    code = (
        "import os, sys; from sow.store.projects.plan_files import load; os.chdir(sys.argv[1])\n"
        "if not os.geteuid(): os.setuid(65534)\n"
        "sources, findings = load(['a.md', 'plans'], '.')\n"
        "print(len(sources), *((each.location, each.error, each.message) for each in findings))"
    )
    tmp_path.chmod(0o755)
    result = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert result.stderr == ""
    denied = "cannot read it: permission denied"
    assert result.stdout == f"0 {('a.md', True, denied)} {('plans', True, denied)}\n"


def test_the_same_file_is_read_once(tmp_path):
    """By another path, through a link, through its folder or twice by name: a warning, and one text."""
    (tmp_path / "a.md").write_text(TASK)
    (tmp_path / "link.md").symlink_to("a.md")
    (tmp_path / "hard.md").hardlink_to(tmp_path / "a.md")
    again = ["a.md", "./a.md", "link.md", "hard.md", str(tmp_path / "a.md")]
    sources, findings = read(tmp_path, "a.md", *again)
    assert [source.name for source in sources] == ["a.md"]
    expected = [(name, "this is the same file as a.md", False) for name in again]
    assert [(finding.location, finding.message, finding.error) for finding in findings] == expected
    sources, findings = read(tmp_path, ".")
    assert ([source.name for source in sources], len(findings)) == (["./a.md"], 2)


def test_a_link_is_followed(tmp_path):
    """Links to files and folders belong to the user: their names stay as given."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.md").write_text(TASK)
    (tmp_path / "b.md").symlink_to("real/a.md")
    (tmp_path / "folder").symlink_to("real")
    assert [source.name for source in read(tmp_path, "b.md")[0]] == ["b.md"]
    assert [source.name for source in read(tmp_path, "folder")[0]] == ["folder/a.md"]


def test_special_files_are_refused_at_once(tmp_path):
    """A pipe, a socket and a device are refused without waiting for a writer."""
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "device.md").symlink_to("/dev/zero")
    (tmp_path / "terminal.md").symlink_to("/dev/tty")
    with socket.socket(socket.AF_UNIX) as server:
        with contextlib.chdir(tmp_path):  # a socket takes no long path
            server.bind("socket.md")
        start = time.monotonic()
        for item in (["pipe.md", "device.md", "socket.md", "terminal.md"], ["."]):
            sources, findings = read(tmp_path, *item)
            assert (sources, {finding.message for finding in findings}) == ([], {"this is not a regular file"})
            assert len(findings) == 4
        assert time.monotonic() - start < 60


def test_the_total_size_is_limited(tmp_path):
    """The file that exceeds the limit is named once, and no other is read after it."""
    half = MAX_BYTES // 2
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_bytes(b"x" * half)
    for name in ("c.md", "d.md"):
        (tmp_path / name).write_text("x")
    assert [len(source.text) for source in read(tmp_path, "a.md", "b.md")[0]] == [half, half]
    sources, findings = read(tmp_path, ".", "gone.md")
    assert [source.name for source in sources] == ["./a.md", "./b.md"]
    assert [(finding.location, finding.message) for finding in findings] == [
        ("./c.md", "with this file the plan is larger than 4 MiB"),
        ("gone.md", "there is no such file"),
    ]
    assert read(tmp_path, "a.md", "b.md", "a.md")[1][0].error is False


def test_a_huge_file_is_not_read_completely(tmp_path):
    """A file of a terabyte is refused as soon as the limit is reached."""
    with (tmp_path / "a.md").open("wb") as file:
        file.truncate(1 << 40)
    start = time.process_time()
    assert one_error(tmp_path, "a.md").message == "with this file the plan is larger than 4 MiB"
    assert time.process_time() - start < 2


def test_the_number_of_files_in_a_folder_is_limited(tmp_path):
    """No more than the limit is read, and the error is reported once."""
    for number in range(MAX_FILES + 5):
        (tmp_path / f"{number:04}.md").write_text("x")
    sources, findings = read(tmp_path, ".", "gone.md")
    assert len(sources) == MAX_FILES
    assert [finding.message for finding in findings] == ["there are more than 1,000 plan files"]


def test_names_that_are_not_utf8_are_read(tmp_path):
    """A file whose name is no text is read all the same."""
    (tmp_path / os.fsdecode(b"\xff.md")).write_text(TASK)
    (source,), findings = read(tmp_path, ".")
    assert (os.fsencode(source.name), findings) == (b"./\xff.md", [])


class Refusing(Disk):
    """A disk that is full, or protected, at one of its calls."""

    def __init__(self, call: str, number: int) -> None:
        self.call = call
        self.number = number

    def open(self, path: str, flags: int) -> int:
        self._meet("create" if flags & os.O_CREAT else "open")
        return super().open(path, flags)

    def write(self, descriptor: int, data: bytes) -> int:
        self._meet("write")
        return super().write(descriptor, data)

    def set_mode(self, descriptor: int, mode: int) -> None:
        self._meet("set_mode")
        super().set_mode(descriptor, mode)

    def sync(self, descriptor: int) -> None:
        self._meet("sync")

    def replace(self, source: str, target: str) -> None:
        self._meet("replace")
        super().replace(source, target)

    def _meet(self, call: str) -> None:
        if call == self.call:
            raise OSError(self.number, os.strerror(self.number))


@pytest.fixture
def plan(repo: Repo) -> Path:
    """A plan file with a byte order mark, for its owner and group only."""
    path = repo.root / "plan.md"
    path.write_bytes(b"\xef\xbb\xbfold\r\n")
    path.chmod(0o660)
    return path


def home_of(repo: Repo, disk: Disk | None = None) -> Home:
    return Home(find(option=str(repo.root), environment={}, cwd="/").checkout, disk)


def listing(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_file_is_replaced_completely(repo, plan):
    """The new text has the old byte order mark and mode, with any umask, and nothing is left beside it."""
    names = listing(repo.root)
    (source,), _ = load([str(plan)], "/")
    umask = os.umask(0o077)
    try:
        replace(home_of(repo), str(plan), source.text, "new\r\nné")
    finally:
        os.umask(umask)
    assert plan.read_bytes() == b"\xef\xbb\xbfnew\r\nn\xc3\xa9"
    assert stat.S_IMODE(plan.stat().st_mode) == 0o660
    assert listing(repo.root) == names


@pytest.mark.parametrize(
    ("data", "before", "after", "result"),
    [
        (b"a", "a", "b", b"b"),
        (b"\xef\xbb\xbfa", "\ufeffa", "\ufeffb", b"\xef\xbb\xbfb"),
        (b"\xef\xbb\xbf\xef\xbb\xbfa", "\ufeffa", "\ufeffb", b"\xef\xbb\xbf\xef\xbb\xbfb"),
    ],
)
def test_a_byte_order_mark_is_kept(repo, plan, data, before, after, result):
    """No mark is added, doubled or lost, whether the texts have it or not."""
    plan.write_bytes(data)
    replace(home_of(repo), str(plan), before, after)
    assert plan.read_bytes() == result


def test_a_link_stays_a_link(repo, plan):
    """The target is replaced in its place, and every link on the way stays."""
    other = repo.root / "elsewhere"
    other.mkdir()
    plan.rename(other / "real.md")
    (other / "middle.md").symlink_to("real.md")
    plan.symlink_to("elsewhere/middle.md")
    replace(home_of(repo), str(plan), "old\r\n", "new")
    assert (os.readlink(plan), os.readlink(other / "middle.md")) == ("elsewhere/middle.md", "real.md")
    assert (other / "real.md").read_bytes() == b"\xef\xbb\xbfnew"
    assert listing(other) == ["middle.md", "real.md"]


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(b"\xef\xbb\xbfold\n"),
        lambda path: path.write_bytes(b"old\r\nmore"),
        lambda path: path.write_bytes(b"\xff\0"),
        lambda path: path.write_bytes(b"x" * (MAX_BYTES + 5)),
        lambda path: path.unlink(),
        lambda path: (path.unlink(), os.mkfifo(path)),
        lambda path: (path.unlink(), path.mkdir()),
    ],
    ids=["another line ending", "more", "binary", "large", "gone", "a pipe", "a folder"],
)
def test_a_changed_file_is_left_alone(repo, plan, change):
    """If the file differs from what was read, the error says so and nothing is written."""
    change(plan)
    before = plan.read_bytes() if plan.is_file() else b""
    names = listing(repo.root)
    with pytest.raises(SowError) as excinfo:
        replace(home_of(repo), str(plan), "old\r\n", "new")
    assert excinfo.value.message == f"{plan} was changed meanwhile: nothing is written"
    assert excinfo.value.hint == "run the command again"
    assert (plan.read_bytes() if plan.is_file() else b"", listing(repo.root)) == (before, names)


def test_the_same_text_is_not_written(repo, plan):
    """Without a change the file is not written, but a changed file is still refused."""
    facts = plan.stat()
    replace(home_of(repo), str(plan), "old\r\n", "old\r\n")
    assert (plan.stat().st_ino, plan.stat().st_mtime_ns) == (facts.st_ino, facts.st_mtime_ns)
    with pytest.raises(SowError, match="changed meanwhile"):
        replace(home_of(repo), str(plan), "older", "older")


def test_writers_take_turns(repo, plan):
    """The file is read and replaced under the lock of the checkout."""
    code = (
        "import sys\nfrom sow.store.files.checkout_home import find\n"
        "from sow.store.projects.plan_files import replace\n"
        "home = find(option=sys.argv[1], environment={}, cwd='/')\n"
        "input()\n"
        "replace(home, sys.argv[2], 'old\\r\\n', 'new')"
    )
    command = [sys.executable, "-c", code, str(repo.root), str(plan)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdin is not None
        with home_of(repo).lock():
            child.stdin.write(b"go\n")
            child.stdin.flush()
            time.sleep(0.5)
            assert child.poll() is None
            plan.write_bytes(b"edited")
        _, errors = child.communicate(timeout=300)
    assert b"was changed meanwhile" in errors
    assert plan.read_bytes() == b"edited"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("call", ["open", "create", "set_mode", "write", "sync", "replace"])
def test_errors_of_the_system_are_reported(repo, plan, call, number):
    """No space or no permission is a clear error that names the file, which stays as it was."""
    names = listing(repo.root)
    with pytest.raises(SystemFailure) as excinfo:
        replace(home_of(repo, Refusing(call, number)), str(plan), "old\r\n", "new")
    assert excinfo.value.message.startswith(f"cannot write {plan}: ")
    assert (plan.read_bytes(), listing(repo.root)) == (b"\xef\xbb\xbfold\r\n", names)
