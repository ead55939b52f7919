"""The run of the demo at a chosen speed: eight tasks, a question, a task sent back and a conflict."""

from __future__ import annotations

import copy
import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import yaml
from conftest import SOW, Repo, fresh_environment

import sow

SHIPPED = Path(sow.__file__).parent / "demo"
BEGINNING = {
    "README.md": "# A shop\n",
    ".gitignore": "__pycache__/\n",
    "shop/__init__.py": '"""A small shop."""\n',
    "tests/__init__.py": "",
}
ANSWER = "Up: half a cent is the shop's"
PATIENCE = 60  # seconds
WAITS = 4  # the exit code of a run that waits for a person


class ShopRun:
    """One repository with the demo's plan and crew, and its run."""

    def __init__(self, folder: Path, *, pace: float = 0.0) -> None:
        folder.mkdir(exist_ok=True)
        self.repo = Repo(folder / "shop", {**fresh_environment(folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"})
        self.process: subprocess.Popen[bytes] | None = None
        for name in ("worker", "judge"):
            text = (SHIPPED / f"{name}.yaml").read_text().replace("sleep: 1.5", f"sleep: {pace}")
            _write(folder / "scenarios" / f"{name}.yaml", text)
        _write(folder / "home/.config/sow/config.yaml", yaml.safe_dump(settings(folder / "scenarios")))
        for name, text in {**BEGINNING, "plan.md": (SHIPPED / "plan.md").read_text()}.items():
            _write(self.repo.root / name, text)
        for item in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "An empty shop, and a plan"]):
            self.repo.git(*item)

    def copied(self, folder: Path) -> ShopRun:
        """Returns a copy of the repository and home in another place."""
        other = copy.copy(self)
        shutil.copytree(self.repo.root.parent, folder, symlinks=True)
        other.repo = Repo(folder / "shop", {**self.repo.environment, "HOME": str(folder / "home")})
        return other

    def start(self) -> None:
        """`sow run` in the background."""
        self.process = subprocess.Popen(
            [SOW, "run", "plan.md", "--yes"],
            cwd=self.repo.root,
            env=self.repo.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def answer(self) -> None:
        """Answers the question as soon as the run reports it."""
        until(lambda: self.has("question"), "nobody asks")
        self.repo.ok("answer", "1", ANSWER)

    def waiting(self) -> list[str]:
        """Returns the kinds of the items in the inbox."""
        result = self.repo.sow("inbox", "--json")
        return [item["kind"] for item in result.json["items"]] if result.code == 0 else []

    def has(self, event: str, **facts: object) -> bool:
        """Tells whether the journal has such an entry."""
        return has_entry(self.repo.root, event, facts)

    def ended(self) -> int:
        """The code with which the run ends."""
        assert self.process
        return self.process.wait(timeout=PATIENCE)

    def to_the_end(self) -> int:
        """Returns the exit code of the run, and calls it again if it ended with an open question."""
        code = self.ended()
        if code == WAITS:
            self.start()
            code = self.ended()
        return code

    def finish(self) -> ShopRun:
        """The whole run, from its start to its end."""
        self.start()
        self.answer()
        assert self.to_the_end() == 0
        return self

    @property
    def folder(self) -> Path:
        """The folder of the newest run."""
        return max((self.repo.root / ".sow/local/runs").iterdir())

    @property
    def id(self) -> str:
        return self.folder.name

    def close(self) -> None:
        """End what a failed test left running."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=PATIENCE)


def settings(scenarios: Path) -> dict[str, object]:
    """A user's config that binds the roles to the scripts."""
    executors = {
        name: {"type": "simulated", "settings": {"scenario": str(scenarios / f"{name}.yaml")}}
        for name in ("worker", "judge")
    }
    bindings = {"implementer": "worker", "quality-control": "judge", "integrator": "worker"}
    return {"agents": {"executors": executors, "bindings": bindings}, "limits": {"stop_grace": "1s"}}


def until(holds: Callable[[], bool], otherwise: str, patience: float = PATIENCE) -> None:
    """Wait until something holds."""
    end = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < end, otherwise
        time.sleep(0.05)


def has_entry(root: Path, event: str, facts: dict[str, object]) -> bool:
    """Tells whether the journal of the newest run has an entry with these facts."""
    try:
        folder = max((root / ".sow/local/runs").iterdir())
        lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    except (OSError, ValueError):  # no run yet
        return False
    entries = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return any(entry["event"] == event and facts.items() <= entry.items() for entry in entries)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
