"""A run whose workers wait at a gate until the test opens it, so that the test can read a page meanwhile."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from browser.shop_run import until

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

PATIENCE = 60


class Gated:
    """A repository for plans with simulated workers that each wait at a gate of their own."""

    def __init__(self, plan_repo: Any) -> None:
        self.plan_repo = plan_repo
        self.repo = plan_repo.repo
        self.process: subprocess.Popen[bytes] | None = None
        self.work("{task}")

    def gate(self, task: str) -> Path:
        return Path(self.plan_repo.folder) / f"gate-{task}"

    def waiting(self, task: str = "{task}") -> dict[str, Any]:
        """Returns the step of a scenario that stops at a gate."""
        return {"run": ["sh", "-c", f"until [ -e {self.gate(task)} ]; do sleep 0.05; done"]}

    def work(self, task: str, **tasks: Any) -> None:
        """Returns the turns of all tasks: log, wait at the gate, write a file; some tasks have turns of their own."""
        steps = [{"say": "I begin with {task}"}, self.waiting(task), *done()]
        self.plan_repo.simulated("hand", "implementer", steps, **tasks)

    def start(self, *tasks: dict[str, Any] | str, **options: Any) -> None:
        """A run of these tasks in the background."""
        self.plan_repo.plan(*tasks, **options)
        self.process = self.plan_repo.start("--yes")

    def open(self, *tasks: str) -> None:
        """Lets the workers of these tasks continue."""
        for task in tasks:
            self.gate(task).touch()

    def ended(self) -> int:
        """The code with which the run ends."""
        assert self.process
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode

    def says(self, task: str, status: str) -> None:
        """Waits until the task's file has this status."""
        until(lambda: self._status(task) == status, f"{task} did not become {status}")

    def _status(self, task: str) -> str:
        try:
            return str(self.plan_repo.task(task)["status"])
        except OSError:
            return ""


def done(text: str = "by {task}\n") -> list[dict[str, Any]]:
    """Returns the last steps of a good turn."""
    return [{"write": {"path": "part_{task}.txt", "text": text}}, {"status": "needs_review"}]


def card(page: Page, task: str, column: str = "") -> Locator:
    """Returns a task's card, in any column or in a given one."""
    where = page.get_by_test_id(f"column-{column}") if column else page
    return where.get_by_test_id(f"card-{task}")
