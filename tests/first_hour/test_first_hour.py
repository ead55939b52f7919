"""The first hour of a new user: install sow, run six tasks on a real library with Claude Code, push the branch.

The library is itsdangerous from the package registry. Claude Code is the real program with default permissions and no
sow configuration; the stub model decides what it does. One task fails its test first, two change the same lines, and
one asks a question. `make first-hour` runs this.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from real import install
from real.stub import Stub
from support.paths import ROOT

pytestmark = pytest.mark.real
LIBRARY = ("itsdangerous", "2.2.0")
PATIENCE = 600
PLAN = """\
# Small improvements

## Task 1: Count the bytes of a token [[play:count]]
**Files**: src/itsdangerous/count.py
**Test Commands**:
- python -m pytest -q

Add `byte_count(token)`, which accepts text and bytes.

## Task 2: Name the default digest [[play:digest]]
**Test Commands**:
- python -m pytest -q

Add `digest_name()`, which returns the name of the signer's default digest.

## Task 3: Start the notes for the next release [[play:notes]]
**Test Commands**:
- python -m pytest -q

Add a section for the next version at the top of CHANGES.rst: it drops Python 3.8.

## Task 4: Announce the byte count [[play:announce]]
**Test Commands**:
- python -m pytest -q

Add a line about the byte count to the section for the next version.

## Task 5: Limit the length of a token [[play:limit]]
**Test Commands**:
- python -m pytest -q

Refuse tokens that are too long.

## Task 6: Export the new functions [[play:export]]
**Depends on**: 1, 2, 5
**Test Commands**:
- python -m pytest -q

Make the new functions importable from the package.
"""
COUNT = '''\
from .encoding import want_bytes


def byte_count(token: str | bytes) -> int:
    """Return the number of bytes of a token."""
    return len(want_bytes(token))
'''
COUNT_TEST = """\
from itsdangerous.count import byte_count


def test_byte_count():
    assert byte_count("ä.b") == 4
    assert byte_count(b"ab") == 2
"""
DIGEST = '''\
from .signer import Signer


def digest_name() -> str:
    """Return the name of the default digest."""
    return Signer("").default_digest_method().name{wrong}
'''
DIGEST_TEST = """\
from itsdangerous.digest import digest_name


def test_digest_name():
    assert digest_name() == "sha1"
"""
LIMIT = '''\
from .encoding import want_bytes
from .exc import BadData

LIMIT = {limit}


def check_length(token: str | bytes) -> None:
    """Raise BadData if a token has too many bytes."""
    if len(want_bytes(token)) > LIMIT:
        raise BadData("a token may have {limit} bytes")
'''
LIMIT_TEST = """\
import pytest

from itsdangerous.exc import BadData
from itsdangerous.limit import check_length


def test_check_length():
    check_length("a" * {limit})
    with pytest.raises(BadData):
        check_length("a" * {limit} + "b")
"""
EXPORT_TEST = """\
import itsdangerous


def test_new_functions_are_exported():
    assert itsdangerous.byte_count("abc") == 3
    assert itsdangerous.digest_name() == "sha1"
    itsdangerous.check_length("abc")
"""
TESTED = "sh:python -m pytest -q"
GREEN = ["sh:git log -1 --format=%s", "text:Quality Control: GREEN\n\nFeedback: It does what the task says."]


class FirstHour:
    """A new user's machine: home folder, sow in an environment of its own, Claude Code and a clone of the library."""

    def __init__(self, folder: Path, stub: Stub) -> None:
        self.folder, self.stub = folder, stub
        self.home, self.library = folder / "home", folder / LIBRARY[0]
        self.home.mkdir()
        programs = [folder / "sow/bin", Path(install.binary("claude")).parent]
        self.environment = {
            **install.environment("claude", self.home, stub.port),
            "PATH": os.pathsep.join([*map(str, programs), os.environ["PATH"]]),
            "LANG": "C.UTF-8",
            "GIT_CONFIG_GLOBAL": str(self.home / ".gitconfig"),
        }
        for name in list(self.environment):  # pip fetches the library's tools from the package registry
            if name.lower().endswith("_proxy"):
                del self.environment[name]
        (self.home / ".gitconfig").write_text("[user]\nname = Nora\nemail = nora@example.org\n")

    def run(self, *arguments: str, cwd: Path | None = None, code: int = 0) -> str:
        """Runs a command as the user types it, shows it, and checks its exit code."""
        print("$", *arguments)
        result = subprocess.run(
            arguments,
            cwd=cwd or self.library,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
        )
        print(result.stdout)
        assert result.returncode == code, result.stdout
        return result.stdout

    def install_sow(self) -> None:
        """Installs sow from its checkout without developer tools."""
        self.run(sys.executable, "-m", "venv", str(self.folder / "sow"), cwd=self.folder)
        pip = [str(self.folder / "sow/bin/python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        self.run(*pip, str(ROOT), cwd=self.folder)

    def fetch_library(self) -> None:
        """Unpacks the library's source release, commits it, and installs it as its contributors do."""
        name, version = LIBRARY
        pip = [sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check"]
        self.run(*pip, "download", "--no-deps", "--no-binary", ":all:", f"{name}=={version}", cwd=self.folder)
        with tarfile.open(self.folder / f"{name}-{version}.tar.gz") as archive:
            archive.extractall(self.folder, filter="data")
        (self.folder / f"{name}-{version}").rename(self.library)
        (self.library / ".gitignore").write_text(".venv/\n__pycache__/\n.pytest_cache/\n")
        for text in ("init -q -b main", "add .", "commit -q -m Release"):
            self.run("git", *text.split())
        self.run(sys.executable, "-m", "venv", ".venv")
        self.run(".venv/bin/pip", "install", "-qq", "--disable-pip-version-check", "-e", ".", "pytest", "freezegun")
        self.run(".venv/bin/python", "-m", "pytest", "-q")

    def write(self, task: int, path: str, text: str) -> str:
        """Returns a call of Claude's tool that writes a file in a task's worktree."""
        target = self.library / f".sow/local/worktrees/{task:02d}0" / path
        return f"call:Write {json.dumps({'file_path': str(target), 'content': text})}"

    def read(self, task: int, path: str) -> str:
        """Returns a call of Claude's tool that reads a file, which it needs before it replaces one."""
        target = self.library / f".sow/local/worktrees/{task:02d}0" / path
        return f"call:Read {json.dumps({'file_path': str(target)})}"

    def merge(self, task: int, text: str) -> list[str]:
        """Resolves the conflict in the change log."""
        return [
            "sh:git merge {branch}",
            self.read(task, "CHANGES.rst"),
            self.write(task, "CHANGES.rst", text),
            "sh:git add CHANGES.rst",
            "sh:git commit --no-edit",
        ]

    def hand_in(self, task: int) -> list[str]:
        return [TESTED, f"sh:sow task set --id {task:02d}0 status needs_review", "text:Done. [[play:green]]"]

    def direct(self) -> None:
        """Tells the stub model what each worker and reviewer does."""
        tests, source = "tests/test_itsdangerous", "src/itsdangerous"
        changes = (self.library / "CHANGES.rst").read_text()
        section = "Version 2.3.0\n-------------\n\nUnreleased\n\n"
        init = (self.library / source / "__init__.py").read_text()
        exports = (
            "from .count import byte_count as byte_count\n"
            "from .digest import digest_name as digest_name\n"
            "from .limit import check_length as check_length\n"
        )
        both = f"{section}-   Drop Python 3.8.\n-   Add ``byte_count``.\n\n{changes}"
        limits = [
            self.write(5, f"{source}/limit.py", LIMIT.format(limit=4096)),
            self.write(5, f"{tests}/test_limit.py", LIMIT_TEST.format(limit=4096)),
        ]
        self.stub.phrases = {"was not accepted": "-again"}
        self.stub.patterns = {"branch": r"Merge the branch (\S+)"}
        self.stub.plays |= {
            "green": GREEN,
            "count": [
                self.write(1, f"{source}/count.py", COUNT),
                self.write(1, f"{tests}/test_count.py", COUNT_TEST),
                *self.hand_in(1),
            ],
            "digest": [
                self.write(2, f"{source}/digest.py", DIGEST.format(wrong="[1:]")),
                self.write(2, f"{tests}/test_digest.py", DIGEST_TEST),
                *self.hand_in(2),
            ],
            "digest-again": [
                self.read(2, f"{source}/digest.py"),
                self.write(2, f"{source}/digest.py", DIGEST.format(wrong="")),
                *self.hand_in(2),
            ],
            "notes": [
                self.read(3, "CHANGES.rst"),
                self.write(3, "CHANGES.rst", f"{section}-   Drop Python 3.8.\n\n{changes}"),
                *self.hand_in(3),
            ],
            "notes-again": [*self.merge(3, both), *self.hand_in(3)],
            "announce": [
                self.read(4, "CHANGES.rst"),
                self.write(4, "CHANGES.rst", f"{section}-   Add ``byte_count``.\n\n{changes}"),
                *self.hand_in(4),
            ],
            "announce-again": [*self.merge(4, both), *self.hand_in(4)],
            "limit": [
                'sh:sow note add --description "How long may a token be?" --context "Task 5 names no number"',
                'sh:sow note escalate 1 --reason "Only the maintainer knows"',
                "sh:sow task set --id 050 status paused",
                "text:I need the limit.",
            ],
            "decided": [*limits, *self.hand_in(5)],
            "export": [
                self.read(6, f"{source}/__init__.py"),
                self.write(6, f"{source}/__init__.py", init.rstrip() + "\n" + exports),
                self.write(6, f"{tests}/test_exports.py", EXPORT_TEST),
                *self.hand_in(6),
            ],
        }


@pytest.fixture
def hour(tmp_path: Path) -> Iterator[FirstHour]:
    with Stub(tmp_path / "stub.jsonl") as stub:
        yield FirstHour(tmp_path, stub)


def test_a_new_user_gets_a_branch_to_push(hour: FirstHour) -> None:
    """Six tasks end as six reviewed commits on a clean branch, after a failure, a conflict and a question."""
    hour.install_sow()
    hour.fetch_library()
    hour.direct()
    hour.run("sow", "doctor")
    hour.run("git", "switch", "-q", "-c", "small-improvements")
    (hour.library / "plan.md").write_text(PLAN)
    hour.run("git", "add", "plan.md")
    hour.run("git", "commit", "-q", "-m", "Plan small improvements")
    first = hour.run("sow", "run", "plan.md", "--yes", code=4)
    assert "refused" not in first  # default permissions let the workers test their work
    assert "How long may a token be?" in hour.run("sow", "inbox")
    hour.run("sow", "answer", "1", "4096 bytes [[play:decided]]")
    hour.run("sow", "run", "plan.md", "--yes")
    report = hour.run("sow", "runs", "show")
    assert "refused" not in report
    assert "nothing to do" in hour.run("sow", "run", "plan.md", "--yes")
    hour.run("sow", "cleanup", "--yes")
    hour.run("sow", "check")
    subjects = hour.run("git", "log", "--format=%s", "main..").splitlines()
    assert len(subjects) == 7 and subjects[-1] == "Plan small improvements", subjects
    assert hour.run("git", "status", "--porcelain", "--", ".", ":!.sow") == ""
    assert hour.run("git", "branch", "--format=%(refname:short)").split() == ["main", "small-improvements"]
    colleague = hour.folder / "colleague"
    hour.run("git", "clone", "-q", str(hour.library), str(colleague))
    hour.run("git", "-C", str(colleague), "log", "-3", "--stat")
    assert not (colleague / ".sow").exists()
    environment = {**hour.environment, "PYTHONPATH": str(colleague / "src")}
    result = subprocess.run(
        [str(hour.library / ".venv/bin/python"), "-m", "pytest", "-q"],
        cwd=colleague,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert result.returncode == 0 and "failed" not in result.stdout, result.stdout
    assert "-   Drop Python 3.8.\n-   Add ``byte_count``." in (colleague / "CHANGES.rst").read_text()
