"""A call through the fork server behaves like a call from the shell."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SOW, Repo, fresh_environment
from support.fork_server import ForkServer
from support.paths import TESTS

CALLS: dict[str, tuple[str, ...]] = {
    "text": ("status",),
    "JSON": ("task", "show", "010", "--json"),
    "an error": ("task", "show", "990"),
    "unknown words": ("nonsense",),
    "no words": (),
    "letters": ("task", "list", "--phase", "träne\udcff"),
    "a trace": ("task", "show", "990", "--debug"),
    "what is typed": ("note", "add", "--task", "010", "--context", "c", "--description", "-"),
}
# Each module in a fork of a Python that knows none of ours; what others brought is there already, to be quick.
ONE_BY_ONE = """
import argparse, ctypes, datetime, hashlib, json, os, re, shutil, subprocess, sys, tempfile, typing, uuid, yaml, yaml12
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        try:
            __import__(name)
        except BaseException as error:
            print(f"{name}: {error!r}", flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""
MODULES = """
import sys
sys.path.insert(0, sys.argv[1])
from support import fork_server
print(*fork_server.modules())
"""


def told(done: subprocess.CompletedProcess[bytes] | None) -> tuple[int, bytes, bytes]:
    assert done is not None
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", CALLS.values(), ids=CALLS)
def test_a_call_equals_a_fresh_start(task_repo: Repo, words: tuple[str, ...]) -> None:
    """Exit code and both streams are those of the real command, to the byte."""
    assert Repo.warm
    where, variables = str(task_repo.root), {**task_repo.environment, "USER": "grace"}
    before = task_repo.snapshot()
    fresh = subprocess.run([SOW, *words], cwd=where, env=variables, input=b"-", capture_output=True, timeout=300)
    for path in {*task_repo.snapshot()} - {*before}:
        (task_repo.root / path).unlink()
    for path, data in before.items():
        (task_repo.root / path).write_bytes(data)
    warm = Repo.warm.call(list(words), cwd=where, environment=variables, stdin=b"-", timeout=300)
    assert told(warm) == told(fresh)


def test_calls_are_independent(task_repo: Repo) -> None:
    """Each call is a process of its own, with the given variables and folder."""
    usual = task_repo.ok("config", "show").out
    assert task_repo.ok("config", "show", SOW_AGENTS_IMPLEMENTER="simulated").out != usual
    assert task_repo.sow("status", cwd=Path("/")).code == 2
    assert task_repo.ok("config", "show").out == usual


@pytest.mark.parametrize("name", ["PYTHONUTF8", "LANG", "LC_ALL", "SOW_TEST_KILL_AT"])
def test_variables_of_the_start_need_a_real_start(task_repo: Repo, name: str) -> None:
    """If a variable changes how Python or sow's modules start, the warm process does not answer."""
    assert Repo.warm
    variables = {**task_repo.environment, name: "1"}
    assert Repo.warm.call([], cwd=str(task_repo.root), environment=variables, stdin=b"", timeout=300) is None


def test_a_signal_is_reported(task_repo: Repo) -> None:
    """A call that is killed at its first step ends by that signal, as the shell would see it."""
    assert task_repo.sow("task", "create", "--name", "x", SOW_TEST_KILL_AT="1").code == -signal.SIGKILL


def test_a_call_has_a_time_limit(tmp_path: Path, task_repo: Repo) -> None:
    """A call that takes too long is killed, and the next one is answered."""
    warm = ForkServer(SOW, fresh_environment(tmp_path / "other"))
    lock = os.open(task_repo.root / ".git/sow/lock", os.O_RDONLY)

    def call(*arguments: str, timeout: float) -> subprocess.CompletedProcess[bytes] | None:
        return warm.call(
            list(arguments), cwd=str(task_repo.root), environment=task_repo.environment, stdin=b"", timeout=timeout
        )

    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(TimeoutError):
            call("task", "set", "--id", "010", "priority", "high", timeout=0.5)
        assert told(call("--version", timeout=300))[0] == 0
    finally:
        os.close(lock)
        warm.close()
    assert task_repo.task("010")["priority"] == "medium"


@pytest.mark.full
def test_every_module_can_be_loaded_first(environment: dict[str, str]) -> None:
    """No module needs another one to be loaded before it: any command may be the first."""
    tests = str(TESTS)
    listed = subprocess.run(
        [sys.executable, "-c", MODULES, tests], env=environment, capture_output=True, text=True, check=True
    )
    names = listed.stdout.split()
    assert len(names) > 200
    result = subprocess.run(
        [sys.executable, "-c", ONE_BY_ONE, *names], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines() == []
