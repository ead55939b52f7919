"""The hot verbs stay light: an agent calls them hundreds of times, and most of their time is spent on imports."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import Repo

LIST = "sys.stderr.write(' '.join(sys.modules))"
BARE = f"import sys; {LIST}"
RUN = f"import sys; from sow.cli.main import main; code = main(sys.argv[1:]); {LIST}; sys.exit(code)"

# Each of these costs a hot verb at least a tenth of the time in which bare Python starts.
HEAVY = {
    "argparse", "ast", "asyncio", "contextlib", "copy", "csv", "ctypes", "dataclasses", "datetime", "decimal",
    "difflib", "email", "enum", "functools", "glob", "hashlib", "importlib.metadata", "inspect", "json", "locale",
    "logging", "multiprocessing", "pathlib", "platform", "random", "re", "shlex", "shutil", "signal", "socket",
    "string", "subprocess", "tempfile", "textwrap", "threading", "traceback", "typing", "unittest", "urllib",
    "uuid", "yaml",
}  # fmt: skip

# What is loaded beyond bare Python, a little above today's count: who needs more raises it knowingly.
HOT = {
    ("--version",): 7,
    ("log", "--task", "010", "done"): 47,
    ("agent", "log", "done"): 48,
    ("task", "set", "--id", "010", "status", "needs_review"): 56,
    ("task", "set", "--id", "010", "status", "paused", "--reason", "why?"): 56,
    ("note", "add", "--task", "010", "--description", "d", "--context", "c"): 52,
}
hot = pytest.mark.parametrize("words", HOT, ids=" ".join)


def loaded(repo: Repo, code: str, *words: str) -> set[str]:
    """The modules in a Python that has run this code."""
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=repo.root,
        env=repo.environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@hot
def test_no_heavy_module_is_loaded(task_repo: Repo, words: tuple[str, ...]):
    """No hot verb loads a module that costs more than the work itself."""
    assert loaded(task_repo, RUN, *words) & HEAVY - loaded(task_repo, BARE) == set()


@hot
def test_few_modules_are_loaded(task_repo: Repo, words: tuple[str, ...]):
    """Every hot verb keeps to its count of modules beyond bare Python."""
    more = loaded(task_repo, RUN, *words) - loaded(task_repo, BARE)
    assert HOT[words] - 8 <= len(more) <= HOT[words], sorted(more)


@hot
def test_only_its_own_command_group_is_loaded(task_repo: Repo, words: tuple[str, ...]):
    """A hot verb loads its own file of the command line, and no other group's."""
    groups = {name.removeprefix("sow.cli.") for name in loaded(task_repo, RUN, *words) if name.startswith("sow.cli.")}
    frame = {"main", "context", "parse", "spec", "registry"}
    own = {"agent": {"agent", "log"}, "--version": set()}.get(words[0], {words[0]})
    assert groups - frame == own


def test_the_second_note_is_as_light_as_the_first(task_repo: Repo):
    """A file of notes that we wrote ourselves is read back without the json module."""
    words = ("note", "add", "--task", "010", "--description", "d", "--context", "c")
    task_repo.ok(*words)
    assert "json" not in loaded(task_repo, RUN, *words)


def test_handing_in_with_resolved_notes_is_light(task_repo: Repo):
    """The gate reads the notes without the json module."""
    task_repo.ok("note", "add", "--task", "010", "--description", "d", "--context", "c")
    task_repo.ok("note", "resolve", "1", "--task", "010", "--resolution", "yes")
    assert "json" not in loaded(task_repo, RUN, "task", "set", "--id", "010", "status", "needs_review")
