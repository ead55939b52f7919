"""`command`: any program that follows the state-file protocol, such as shell scripts and Python programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import SOW, Repo, Result

from executors.sample_turn import SESSION, outcome, request, told, words
from sow.executors.clis.command import CommandLine

LINES: list[tuple[dict[str, Any], list[str]]] = [
    ({"extra": {"command": ["agent"]}}, []),
    ({"extra": {"command": ["agent", "--fast", "x y"]}}, ["--fast", "x y"]),
    ({"extra": {"command": ["agent", "a"]}, "custom_args": ("b",)}, ["a", "b"]),
    ({"extra": {"command": ["agent", "a"]}, "resume": True, "yolo": True, "model": "m"}, ["a"]),
]


@pytest.mark.parametrize(("asked", "expected"), LINES)
def test_command_lines(asked: dict[str, Any], expected: list[str]) -> None:
    """The words after the program are the user's, and nothing is added."""
    assert words(CommandLine(), **asked) == expected


def test_a_program_gets_its_session_and_turn() -> None:
    """A program that keeps conversations finds its own by the session's id."""
    spawned = CommandLine().spawn_command(request(extra={"command": ["agent"]}))
    resumed = CommandLine().resume_command(request(extra={"command": ["agent"]}))
    assert spawned.environment == {"SOW_SESSION": SESSION, "SOW_TURN": "spawn"}
    assert resumed.environment == {"SOW_SESSION": SESSION, "SOW_TURN": "resume"}


def test_every_line_is_text() -> None:
    """No output is read as an event; only the exit code counts."""
    line = '{"type":"result","is_error":true}'
    assert told(CommandLine(), line).raw == f"{line}\n"
    assert [outcome(CommandLine(), line, code=code).kind for code in (0, 1, -9)] == ["done", "failed", "failed"]


class WorkerRepo:
    """A repository whose implementer is a program of the test."""

    def __init__(self, repo: Repo, folder: Path) -> None:
        self.repo = repo
        self.folder = folder
        repo.environment["SOW_AGENTS_IMPLEMENTER"] = "script"
        repo.ok("task", "create", "--name", "Work", "--agent", "implementer")

    def program(self, text: str, name: str = "agent.sh", **settings: Any) -> None:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        self.configure({"command": [str(path)], **settings})

    def configure(self, settings: dict[str, Any]) -> None:
        path = Path(self.repo.environment["HOME"], ".config", "sow", "config.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        executors = {"script": {"type": "command", "settings": settings}}
        path.write_text(yaml.safe_dump({"agents": {"executors": executors}}))

    def spawn(self, *more: str) -> Result:
        return self.repo.sow("agent", "spawn", "implementer", "010", *more)

    def turns(self) -> list[dict[str, Any]]:
        path = self.repo.root / ".sow/local/sessions/010/1/record.yaml"
        result: list[dict[str, Any]] = yaml.safe_load(path.read_text())["session"]["turns"]
        return result


@pytest.fixture
def worker(repo: Repo, tmp_path: Path) -> WorkerRepo:
    folder = tmp_path / "programs"
    folder.mkdir()
    return WorkerRepo(repo, folder)


def test_a_shell_script_works_from_pause_to_completion(worker: WorkerRepo) -> None:
    """It gets the prompt on stdin, sets its status by calling sow, and continues after an answer."""
    worker.program(
        "#!/bin/sh\n"
        'cat > "prompt-$SOW_TURN.txt"\n'
        'if [ "$SOW_TURN" = spawn ]; then status=paused; else status=needs_review; fi\n'
        f'"{SOW}" task set --id "$SOW_TASK" status "$status"\n'
    )
    first = worker.spawn()
    assert first.code == 0 and first.out.endswith("task 010: status is paused\n"), first
    assert "Execute task 010." in (worker.repo.root / "prompt-spawn.txt").read_text()
    second = worker.repo.ok("agent", "resume", "010", "Use RS256")
    assert second.out.endswith("task 010: status is needs_review\n")
    assert (worker.repo.root / "prompt-resume.txt").read_text().startswith("Use RS256\n")
    assert worker.repo.task("010")["iteration"] == 2
    worker.repo.ok("task", "set", "--id", "010", "status", "completed")
    assert "session_id" not in worker.repo.task("010")


def test_a_python_program_works(worker: WorkerRepo) -> None:
    """The task is in the environment variables, and the state file is changed through sow."""
    worker.program(
        f"#!{sys.executable}\n"
        "import os, pathlib, subprocess, sys\n"
        "desk = pathlib.Path(os.environ['SOW_DESK'])\n"
        "assert (desk / 'state.yaml').is_file() and 'Execute task' in sys.stdin.read()\n"
        "pathlib.Path('made.txt').write_text('made\\n')\n"
        f"subprocess.run(['{SOW}', 'agent', 'log', 'Made it'], check=True)\n"
        f"subprocess.run(['{SOW}', 'task', 'set', '--id', os.environ['SOW_TASK'], 'status', 'failed'], check=True)\n",
        "agent.py",
    )
    result = worker.spawn()
    assert result.code == 0 and result.out.endswith("task 010: status is failed\n"), result
    assert "Made it" in (worker.repo.task_folder("010") / "log.md").read_text()


@pytest.mark.parametrize("change", ["echo made > made.txt", "git commit -q --allow-empty -m made"])
def test_a_changed_file_is_a_hand_in(worker: WorkerRepo, change: str) -> None:
    """A changed file, or a commit, counts as work if the program sets no status; that is recorded as inferred."""
    worker.program(f"#!/bin/sh\n{change}\n")
    result = worker.spawn()
    assert result.out.endswith("task 010: status is needs_review\n"), result
    assert [turn["inferred"] for turn in worker.turns()] == [True]


def test_earlier_changes_are_no_work(worker: WorkerRepo) -> None:
    """The user's own changes are not taken for the worker's; a file that the worker changes further is."""
    (worker.repo.root / "notes.txt").write_text("mine\n")
    worker.program("#!/bin/sh\nexit 0\n")
    assert worker.spawn().out.endswith("task 010: status is failed\n")
    worker.program("#!/bin/sh\necho theirs >> notes.txt\n")
    assert worker.repo.ok("agent", "resume", "010", "go on").out.endswith("task 010: status is needs_review\n")


def test_an_idle_program_is_reminded_once_and_failed(worker: WorkerRepo) -> None:
    """It gets one more turn with the reminder on stdin; then the task is failed."""
    worker.program('#!/bin/sh\ncat > "$SOW_DESK/../../../../../local/$SOW_TURN.txt"\n')
    result = worker.spawn()
    assert result.code == 0 and result.out.endswith("task 010: status is failed\n"), result
    assert [turn["kind"] for turn in worker.turns()] == ["spawn", "reminder"]
    assert "still in_progress" in (worker.repo.root / ".sow/local/resume.txt").read_text()


def test_allow_empty_accepts_no_changes(worker: WorkerRepo) -> None:
    """A program that may change nothing has handed in with its first turn."""
    worker.program("#!/bin/sh\necho looked at it\n", allow_empty=True)
    result = worker.spawn()
    assert result.out.endswith("task 010: status is needs_review\n") and "looked at it" in result.out
    assert len(worker.turns()) == 1


def test_a_bad_exit_code_fails_the_turn(worker: WorkerRepo) -> None:
    """The last output of the program is the reason, and the task stays in progress."""
    worker.program("#!/bin/sh\necho made > made.txt\necho 'no more paper' >&2\nexit 3\n")
    result = worker.spawn()
    assert result.code == 1 and "failed: no more paper" in result.err, result
    assert (worker.turns()[0]["exit"], worker.repo.task("010")["status"]) == (3, "in_progress")


def test_a_status_survives_a_bad_exit(worker: WorkerRepo) -> None:
    """A status that a worker set counts even if the worker fails afterwards."""
    worker.program(f'#!/bin/sh\n"{SOW}" task set --id "$SOW_TASK" status paused\nexit 1\n')
    result = worker.spawn()
    assert result.code == 0 and result.out.endswith("task 010: status is paused\n"), result


def test_the_environment_has_the_task_and_named_variables(worker: WorkerRepo) -> None:
    """SOW_* has the task, the named variables are passed, and no other key of the user is."""
    worker.repo.environment |= {
        "MY_KEY": "let-through-value",
        "OPENAI_API_KEY": "not-for-you-value",
        "OTHER": "no",
    }
    worker.program("#!/bin/sh\nenv -0 > env.bin\n", env=["MY_KEY"])
    worker.spawn()
    pairs = (worker.repo.root / "env.bin").read_text().rstrip("\0").split("\0")
    result = dict(pair.split("=", 1) for pair in pairs)
    assert (result["SOW_TASK"], result["SOW_AGENT"], result["SOW_TURN"]) == ("010", "implementer", "spawn")
    assert (result["SOW_ROOT"], result["SOW_DESK"]) == (str(worker.repo.root), str(worker.repo.task_folder("010")))
    assert result["SOW_SESSION"] == worker.repo.task("010")["session_id"] and result["SOW_RUN"] and result["SOW_MARK"]
    assert result["MY_KEY"] == "let-through-value"
    assert not {"OPENAI_API_KEY", "OTHER"} & set(result)
    assert {name for name in result if name.startswith("SOW_")} == {
        *("SOW_TASK", "SOW_AGENT", "SOW_ROOT", "SOW_DESK", "SOW_RUN", "SOW_MARK", "SOW_SESSION", "SOW_TURN"),
        "SOW_STRUCK",
    }


def test_a_dry_run_starts_nothing(worker: WorkerRepo) -> None:
    """The command line and the names of the variables are printed, and nothing is written."""
    worker.program("#!/bin/sh\ntouch started\n", env=["MY_KEY"])
    worker.repo.environment["MY_KEY"] = "let-through-value"
    before = worker.repo.snapshot()
    result = worker.spawn("--dry-run")
    assert result.code == 0 and result.out.splitlines()[0] == str(worker.folder / "agent.sh"), result
    assert "MY_KEY" in result.out and "let-through-value" not in result.out
    assert worker.repo.snapshot() == before and not (worker.repo.root / "started").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"command": ["no-such-program-anywhere"]}, "executor binary not found: no-such-program-anywhere"),
        ({"command": ["/no/such/program"]}, "executor binary not found: /no/such/program"),
        ({}, "settings.command: is missing"),
        ({"command": [""]}, "or an absolute path, not ''"),
    ],
)
def test_a_missing_program_is_reported_first(worker: WorkerRepo, settings: dict[str, Any], message: str) -> None:
    """A command that cannot run is refused before anything is written."""
    worker.configure(settings)
    before = worker.repo.snapshot()
    result = worker.spawn()
    assert result.code == 2 and message in result.err, result
    assert worker.repo.snapshot() == before


def test_a_relative_path_is_refused(worker: WorkerRepo) -> None:
    """With a relative path the repository would choose the program, so it is refused."""
    worker.configure({"command": ["./agent.sh"]})
    program = worker.repo.root / "agent.sh"
    program.write_text("#!/bin/sh\ntouch started\n")
    program.chmod(0o755)
    result = worker.spawn()
    assert result.code == 2 and "or an absolute path, not './agent.sh'" in result.err, result
    assert not (worker.repo.root / "started").exists()
