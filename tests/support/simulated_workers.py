"""A repository whose workers are simulated agents, and the marks of their processes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from conftest import SOW, Repo, Result


class WorkerRepo:
    """One repository with scripted workers."""

    def __init__(self, repo: Repo, folder: Path) -> None:
        self.repo = repo
        self.folder = folder
        repo.environment["SOW_AGENTS_IMPLEMENTER"] = "simulated"

    def scenario(self, *turns: list[dict[str, Any]], task: str = "default") -> None:
        """Sets what the worker does, turn by turn."""
        path = self.folder / "scenario.yaml"
        path.write_text(yaml.safe_dump({"tasks": {task: [list(turn) for turn in turns]}}))
        self.repo.environment["SOW_SIMULATED_SCENARIO"] = str(path)

    def limits(self, **values: str | int) -> None:
        """Sets time-outs and sizes in the user's config."""
        folder = Path(self.repo.environment["HOME"]) / ".config" / "sow"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.yaml").write_text(yaml.safe_dump({"limits": values}))

    def spawn(self, *arguments: str) -> Result:
        return self.repo.sow("agent", "spawn", "implementer", "010", *arguments)

    def resume(self, text: str = "go on", *arguments: str) -> Result:
        return self.repo.sow("agent", "resume", "010", text, *arguments)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts a sow call in the background, in a session of its own."""
        return subprocess.Popen(
            [SOW, *arguments],
            cwd=self.repo.root,
            env=self.repo.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def record(self, number: int = 1) -> dict[str, Any]:
        """Returns the record of a session on disk."""
        path = self.repo.root / f".sow/local/sessions/010/{number}/record.yaml"
        session: dict[str, Any] = yaml.safe_load(path.read_text())["session"]
        return session

    def outcomes(self, number: int = 1) -> list[str]:
        return [turn.get("outcome", "") for turn in self.record(number)["turns"]]

    def transcript(self, turn: int = 1, ending: str = "out", session: int = 1) -> Path:
        return self.repo.root / f".sow/local/sessions/010/{session}/turn-{turn:03d}.{ending}"

    def marks(self) -> set[str]:
        """Returns the marks of every session of the task."""
        result = set()
        for path in (self.repo.root / ".sow/local/sessions").rglob("record.yaml"):
            result.add(yaml.safe_load(path.read_text())["session"]["mark"])
        return result

    def alive(self) -> set[int]:
        """Returns every live process with a mark of sow, or whose command line names this folder."""
        marks = {f"SOW_MARK={mark}".encode() for mark in self.marks()}
        return {pid for pid in processes() if marks & set(environment_of(pid))}


def script(worker: WorkerRepo, text: str, *, limits: dict[str, Any] | None = None, **settings: Any) -> None:
    """Makes a program of the test, as the executor `script`."""
    path = worker.folder / "agent.sh"
    path.write_text(text)
    path.chmod(0o755)
    executors = {"script": {"type": "command", "settings": {"command": [str(path)], **settings}}}
    config = Path(worker.repo.environment["HOME"]) / ".config" / "sow" / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(yaml.safe_dump({"agents": {"executors": executors}, "limits": limits or {}}))


def processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def environment_of(pid: int) -> list[bytes]:
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
        return [] if state == b"Z" else Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def kill_all(pids: list[int]) -> None:
    """Kill processes with -9; some may have ended meanwhile."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def wait_for(condition: Any, seconds: float = 120.0) -> Any:
    """Waits until something is true, and returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


def end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> tuple[int, str, str]:
    """Signals a call of sow and waits for its end."""
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    return process.returncode, out.decode(), err.decode()
