"""A repository and a stub model for one real CLI, which `sow agent spawn` and `resume` start."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import yaml
from conftest import SOW, Repo, Result
from support.simulated_workers import environment_of, processes

from real import install
from real.stub import Stub

PATIENCE = 150


class CliRepo:
    """The place of one CLI in one test."""

    def __init__(self, name: str, repo: Repo, stub: Stub) -> None:
        self.name = name
        self.repo = repo
        self.stub = stub
        self.started: list[subprocess.Popen[bytes]] = []
        self.config_path = Path(repo.environment["HOME"], ".config", "sow", "config.yaml")
        repo.environment |= install.environment(name, repo.environment["HOME"], stub.port)
        repo.environment |= {"SOW_AGENTS_IMPLEMENTER": name, "SOW_AGENTS_REVIEWER": name}
        self.settings(yolo_mode=True)

    def settings(self, *custom_args: str, **values: Any) -> None:
        """Writes the user's settings of this executor."""
        settings = {"binary": install.binary(self.name), **values}
        executor = {"type": self.name, "settings": settings, "custom_args": list(custom_args)}
        config = {"agents": {"executors": {self.name: executor}}, "limits": {"turn_timeout": "2m"}}
        self.config_path.parent.mkdir(parents=True, exist_ok=True)
        self.config_path.write_text(yaml.safe_dump(config))

    def sandbox(self, **values: Any) -> None:
        """Writes the user's settings of the sandbox."""
        config = yaml.safe_load(self.config_path.read_text())
        self.config_path.write_text(yaml.safe_dump({**config, "sandbox": values}))

    def trust(self) -> None:
        """Lets the user trust this repository's settings."""
        config = yaml.safe_load(self.config_path.read_text())
        self.config_path.write_text(yaml.safe_dump({**config, "trust": [str(self.repo.root)]}))

    def task(self, directive: str, agent: str = "implementer") -> None:
        """Makes a task whose name tells the stub what the model does."""
        self.repo.ok("task", "create", "--name", f"Do the work [[{directive}]]", "--agent", agent)

    def sow(self, *arguments: str, cwd: Path | None = None) -> Result:
        where = cwd or self.repo.root
        result = subprocess.run(
            [SOW, *arguments], cwd=where, env=self.repo.environment, capture_output=True, timeout=PATIENCE
        )
        return Result(result)

    def spawn(self, *arguments: str, agent: str = "implementer") -> Result:
        return self.sow("agent", "spawn", agent, "010", *arguments)

    def resume(self, text: str, cwd: Path | None = None) -> Result:
        return self.sow("agent", "resume", "010", text, cwd=cwd)

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        """Starts a spawn in the background."""
        text = [SOW, "agent", "spawn", "implementer", "010", *more]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(text, cwd=self.repo.root, env=self.repo.environment, start_new_session=True, **pipes)
        self.started.append(process)
        return process

    def close(self) -> None:
        """Ends the processes that a failed test left."""
        for process in self.started:
            if process.returncode is None:
                stop(process, signal.SIGINT)

    def status(self) -> str:
        return str(self.repo.task("010")["status"])

    def session(self, number: int = 1) -> dict[str, Any]:
        """Returns the session on disk."""
        path = self.repo.root / f".sow/local/sessions/010/{number}/record.yaml"
        result: dict[str, Any] = yaml.safe_load(path.read_text())["session"]
        return result

    def turn(self, number: int = 1, session: int = 1) -> dict[str, Any]:
        turns: dict[str, Any] = self.session(session)["turns"][number - 1]
        return turns

    def output(self, number: int = 1, session: int = 1) -> str:
        """Returns the output of the CLI in a turn."""
        path = self.repo.root / f".sow/local/sessions/010/{session}/turn-{number:03d}.out"
        return path.read_text()

    def readable(self, number: int) -> str:
        """Returns the readable transcript of a turn of the first session."""
        return (self.repo.root / f".sow/local/sessions/010/1/turn-{number:03d}.md").read_text()

    def asked(self, index: int) -> str:
        """Returns all texts of one request to the model, in the order of the conversation."""
        return "\n".join(text for _, _, text in self.stub.conversations()[index])

    def marked(self) -> list[list[str]]:
        """Returns the command lines of every live process with the mark of a session of this repository."""
        marks = [
            f"SOW_MARK={yaml.safe_load(path.read_text())['session']['mark']}".encode()
            for path in (self.repo.root / ".sow/local/sessions").rglob("record.yaml")
        ]
        return [_words(pid) for pid in processes() if set(marks) & set(environment_of(pid))]


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return []


def wait_for(condition: Any, seconds: float = 60.0) -> Any:
    """Waits until something is true, and returns it."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        result = condition()
        if result:
            return result
        time.sleep(0.1)
    raise AssertionError("it did not happen in time")


def stop(process: subprocess.Popen[bytes], number: int) -> tuple[int, str]:
    """Signals a call of sow, and waits for its end."""
    os.kill(process.pid, number)
    _, output = process.communicate(timeout=60)
    return process.returncode, output.decode()
