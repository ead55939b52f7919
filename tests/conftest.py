"""Shared fixtures: real repositories, the real command, and a home folder for each test; nothing is patched."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from support.folder_template import FolderTemplate
from support.fork_server import ForkServer
from support.quick_cases import sample

# A shell that runs us in the background ignores SIGINT and SIGQUIT, nohup ignores SIGHUP, and programs inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

PATIENCE = 300  # seconds for one call: a busy machine is no failure
SOW = str(Path(sys.executable).parent / "sow")
FULL = bool(os.environ.get("SOW_TEST_FULL"))
PYTHONPATH = os.environ.get("PYTHONPATH", "")  # where test_sabotage puts a damaged copy of the package

MEMORY = "/dev/shm"
ENOUGH = 4 << 30  # bytes


def pytest_configure() -> None:
    """Puts temporary folders into memory if there is room: hundreds of repositories are slow on a disk."""
    gc.disable()  # until the tests are collected: they all stay
    if "PYTEST_DEBUG_TEMPROOT" in os.environ or not os.access(MEMORY, os.W_OK):
        return
    room = os.statvfs(MEMORY)
    if room.f_bavail * room.f_frsize >= ENOUGH and not room.f_flag & os.ST_NOEXEC:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = MEMORY


# A busy machine is no failure, and nothing is kept between runs.
settings.register_profile(
    "sow",
    deadline=None,
    database=None,
    max_examples=2000 if FULL else 25,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("sow")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Returns two workers per processor: many tests wait for a time-out or a child process."""
    return 2 * (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


# These have the longest tests: begun last, they would keep one processor busy when the others are done.
LONG = (
    "guarantees/crash_recovery/test_plan_run.py",
    "guarantees/crash_recovery/test_workflow_run.py",
    "guarantees/processes/test_no_orphans.py",
    "guarantees/user_work/test_nothing_lost.py",
    "guarantees/worktrees/test_worktrees.py",
    "guarantees/honest_work/test_honest_work.py",
    "guarantees/evidence/test_own_code.py",
    "cluster/test_temporal_client.py",
    "cluster/test_ssh_carrier.py",
    "cluster/test_real_ssh.py",
    "cli/workflows/test_example.py",
    "engine/delivery/test_goal_to_merge.py",
    "engine/runs/test_notify.py",
    "engine/runs/test_failures.py",
)


SAMPLE = os.environ.get("SOW_TEST_SAMPLE", "")  # a seed: run only some of the tests that are marked as full
SAMPLE_SIZE = 400


def pytest_report_header() -> list[str]:
    return [f"sample: {SAMPLE_SIZE} of the full tests, seed {SAMPLE}"] if SAMPLE else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Starts the long tests first; all others stay in their order."""
    if SAMPLE:
        items[:] = sample(items, SAMPLE, SAMPLE_SIZE)
    items.sort(key=lambda item: not str(item.path).endswith(LONG))


def pytest_collection_finish() -> None:
    """Leaves the collected tests out of every later collection of garbage."""
    gc.enable()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints the measured values of all processes."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == "measured":
                terminalreporter.write_line(f"measured: {value}")


class Result:
    """The result of one call of sow."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.code = done.returncode
        self.out = done.stdout.decode("utf-8", "replace")
        self.err = done.stderr.decode("utf-8", "replace")

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def __repr__(self) -> str:
        return f"exit {self.code}\n{self.out}{self.err}"


class Repo:
    """A git repository in a folder of its own, and the sow command in it."""

    warm: ForkServer | None = None  # while tests are run

    def __init__(self, root: Path, environment: dict[str, str]) -> None:
        self.root = root
        self.environment = environment

    def git(self, *arguments: str) -> str:
        result = subprocess.run(
            ["git", *arguments], cwd=self.root, env=self.environment, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    def sow(self, *arguments: str | bytes, cwd: Path | None = None, stdin: bytes = b"", **environment: str) -> Result:
        """Calls the command in a process of its own; environment variables are keyword arguments."""
        where, variables = str(cwd or self.root), {**self.environment, **environment}
        plain = [word for word in arguments if isinstance(word, str)]
        done = None
        if self.warm and len(plain) == len(arguments):
            done = self.warm.call(plain, cwd=where, environment=variables, stdin=stdin, timeout=PATIENCE)
        return Result(done) if done else self.start(*arguments, cwd=where, stdin=stdin, environment=variables)

    def start(self, *arguments: str | bytes, cwd: str, stdin: bytes, environment: dict[str, str]) -> Result:
        """Starts the real command, including the start of Python."""
        return Result(
            subprocess.run(
                [SOW, *arguments], cwd=cwd, env=environment, input=stdin, capture_output=True, timeout=PATIENCE
            )
        )

    def ok(self, *arguments: str, **options: Any) -> Result:
        """Calls the command, and checks that it succeeded."""
        result = self.sow(*arguments, **options)
        assert result.code == 0, result
        return result

    @property
    def project(self) -> Path:
        return self.root / ".sow" / "project"

    def task_folder(self, task: str, phase: str = "implementation") -> Path:
        return self.project / "phases" / phase / "tasks" / task

    def state(self, task: str, phase: str = "implementation") -> str:
        return (self.task_folder(task, phase) / "state.yaml").read_text()

    def task(self, task: str) -> dict[str, Any]:
        document: dict[str, Any] = self.ok("task", "show", task, "--json").json
        return document

    def snapshot(self) -> dict[str, bytes]:
        """Returns every file below .sow except locks, to prove that nothing changed."""
        files = (path for path in sorted((self.root / ".sow").rglob("*")) if path.is_file() and not path.is_symlink())
        return {str(path.relative_to(self.root)): path.read_bytes() for path in files if "/locks/" not in str(path)}


def fresh_environment(home: Path) -> dict[str, str]:
    """Returns variables with a fresh home, an identity for git, and no mark of another session."""
    home.mkdir()
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "USER": "ada",
        "LANG": "C.UTF-8",
        "PYTHONPATH": PYTHONPATH,
        "SOW_SANDBOX": "off",  # most checks here write outside of their checkout; tests of the sandbox set it
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
    }


@pytest.fixture(scope="session", autouse=True)
def _warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Lets one warm process fork all calls of the tests of this process."""
    Repo.warm = ForkServer(SOW, fresh_environment(tmp_path_factory.mktemp("warm") / "home"))
    yield
    Repo.warm.close()
    Repo.warm = None


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of one test."""
    return fresh_environment(tmp_path / "home")


@pytest.fixture(scope="session")
def _bare_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One repository on main with one commit, copied for each test that asks for one."""
    folder = tmp_path_factory.mktemp("bare")
    root = folder / "repo"
    root.mkdir()
    repo = Repo(root, fresh_environment(folder / "home"))
    repo.git("init", "-q", "-b", "main")
    repo.git("commit", "-q", "--allow-empty", "-m", "first")
    for hook in (root / ".git" / "hooks").iterdir():  # they would only be copied again and again
        hook.unlink()
    return root


@pytest.fixture(scope="session")
def _bare_files(_bare_template: Path) -> FolderTemplate:
    return FolderTemplate(_bare_template)


@pytest.fixture
def bare_repo(tmp_path: Path, environment: dict[str, str], _bare_files: FolderTemplate) -> Repo:
    """A repository on main with one commit and without sow."""
    return Repo(_bare_files.write(tmp_path / "repo"), environment)


@pytest.fixture(scope="session")
def _project_template(_bare_files: FolderTemplate, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a project."""
    folder = tmp_path_factory.mktemp("template")
    repo = Repo(_bare_files.write(folder / "repo"), fresh_environment(folder / "home"))
    repo.git("switch", "-q", "-c", "feat/auth")
    repo.ok("init", "--project", "Add authentication")
    return repo.root


@pytest.fixture(scope="session")
def _project_files(_project_template: Path) -> FolderTemplate:
    return FolderTemplate(_project_template)


@pytest.fixture(scope="session")
def _task_files(_project_files: FolderTemplate, tmp_path_factory: pytest.TempPathFactory) -> FolderTemplate:
    """The same with a task in progress."""
    folder = tmp_path_factory.mktemp("task")
    repo = Repo(_project_files.write(folder / "repo"), fresh_environment(folder / "home"))
    repo.ok("task", "create", "--name", "Add login", "--agent", "implementer")
    repo.ok("task", "set", "--id", "010", "status", "in_progress")
    return FolderTemplate(repo.root)


@pytest.fixture
def repo(tmp_path: Path, environment: dict[str, str], _project_files: FolderTemplate) -> Repo:
    """A repository on branch feat/auth with a project and no tasks."""
    return Repo(_project_files.write(tmp_path / "repo"), environment)


@pytest.fixture
def task_repo(tmp_path: Path, environment: dict[str, str], _task_files: FolderTemplate) -> Repo:
    """The same with one task, 010, in progress."""
    return Repo(_task_files.write(tmp_path / "repo"), environment)


@pytest.fixture
def worktree_repo(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A repository with a few committed files and the worktrees of a run; git sees only the test's home."""
    from support.worktree_repo import prepare_repo

    for name, value in repo.environment.items():
        monkeypatch.setenv(name, value)
    return prepare_repo(repo)


@pytest.fixture
def plan_repo(bare_repo: Repo, tmp_path: Path) -> Any:
    """A repository on branch feat/harbour with scripted workers and reviewers, in which plans can be run."""
    from support.plan_repo import PlanRepo

    bare_repo.git("switch", "-q", "-c", "feat/harbour")
    made = PlanRepo(bare_repo, tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def temporal_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A real Temporal server, for all tests of this process."""
    from support.temporal_cluster import TemporalServer

    server = TemporalServer(tmp_path_factory.mktemp("temporal"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def cluster(temporal_server: Any, plan_repo: Any, tmp_path: Path) -> Iterator[Any]:
    """A cluster with queues of its own on that server; the test adds the hosts."""
    from support.temporal_cluster import TemporalCluster

    made = TemporalCluster(temporal_server, plan_repo, tmp_path)
    yield made
    made.close()


@pytest.fixture
def worker(repo: Repo, tmp_path: Path) -> Any:
    """A repository with a simulated worker and the pending task 010."""
    from support.simulated_workers import WorkerRepo

    repo.ok("task", "create", "--name", "Add login")
    return WorkerRepo(repo, tmp_path)


@pytest.fixture
def server(tmp_path: Path) -> Any:
    """A forge of the test's own, with one repository."""
    from support.forge_server import ForgeServer

    folder = tmp_path / "forge"
    folder.mkdir()
    made = ForgeServer(folder)
    made.add_repository()
    yield made
    made.close()
