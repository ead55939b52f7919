"""A workflow of three agents, one of which asks a question; a test can start its run."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from conftest import SOW
from support.crew_crash_scene import CrewCrashScene
from support.plan_crash_scene import template


class CrewRun:
    """A designed and approved workflow in a repository of its own."""

    def __init__(self, folder: Path) -> None:
        source = folder / "source"
        source.mkdir(parents=True)
        self.scene = CrewCrashScene(folder / "scene", template(source))
        self.repo = self.scene.repo
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """`sow workflow run` in the background."""
        self.process = subprocess.Popen(
            [SOW, "workflow", "run", "--executor", "script"],
            cwd=self.repo.root,
            env=self.repo.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def close(self) -> None:
        """Ends the processes that a failed test left."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=60)
