"""Holds what every turn needs (home, settings, environment) and the result of a turn."""

from __future__ import annotations

import os

from sow.system.environment import inside, own_venv
from sow.system.process import Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sow.config import Config
    from sow.domain.shapes import Refusal, Task
    from sow.executors.adapter import Outcome
    from sow.executors.story import Event
    from sow.store.desk import Desk
    from sow.store.home import Home
    from sow.store.seen import Seen
    from sow.store.sessions import Record


class Result:
    """The result of a turn."""

    __slots__ = ("desk", "executor", "outcome", "record", "refusals", "remarks", "status", "task", "unchanged")

    def __init__(
        self,
        *,
        desk: Desk,
        task: Task,
        outcome: Outcome,
        record: Record,
        executor: str,
        remarks: list[str],
        refusals: list[Refusal],
        unchanged: bool = False,
    ) -> None:
        self.desk = desk
        self.task = task
        self.status = task["status"]
        self.outcome = outcome
        self.record = record
        self.executor = executor
        self.remarks = remarks
        self.refusals = refusals  # tool calls that the CLI refused in this call
        self.unchanged = unchanged  # True if the worker certainly changed nothing in the checkout that all tasks share


class Crew:
    """The home, settings and event listener that every turn needs."""

    __slots__ = ("config", "environment", "home", "model", "seen", "sources", "tell", "timeout")

    def __init__(
        self,
        home: Home,
        config: Config,
        environment: Mapping[str, str],
        *,
        tell: Callable[[Event], None],
        model: str = "",
        timeout: float = 0,
        seen: Seen | None = None,
        sources: Sequence[str] | None = None,
    ) -> None:
        self.home = home
        self.config = config
        self.environment = environment
        self.tell = tell
        self.model = model
        self.timeout = timeout
        self.seen = seen  # state files as the earlier turns of this process left them
        self.sources = sources  # folders of source code, if the user accepted imports from their own checkout

    def environment_in(self, folder: str) -> dict[str, str]:
        """Return the variables for a worker in a folder; in a worktree, none of them points to the user's checkout."""
        venv, go_work = own_venv(folder), os.path.isfile(f"{folder}/go.work")
        return inside(self.environment, self.home.root, folder, venv=venv, go_work=go_work, sources=self.sources)

    def limits(self) -> Limits:
        return Limits(
            wall=self.timeout or self.config.seconds("turn_timeout"),
            silence=self.config.seconds("silence_timeout"),
            linger=self.config.seconds("linger_timeout"),
            grace=self.config.seconds("stop_grace"),
            size=int(self.config.limits["transcript_mb"][0]) << 20,
        )

    def stopped_by(self, limit: str) -> str:
        """Describe which limit stopped a turn, with the limit's name and value."""
        name = {"timeout": "turn_timeout", "silence": "silence_timeout", "size": "transcript_mb"}.get(limit, limit)
        value = self.config.limits[name][0] if name in self.config.limits else ""
        if limit == "timeout":
            option = f"--timeout {self.timeout:g}s"
            return f"it took longer than {option if self.timeout else f'limits.{name} ({value})'} allows"
        if limit == "silence":
            return f"its silence was longer than limits.{name} ({value}) allows"
        return f"its output has a larger size than limits.{name} ({value} MB) allows" if limit == "size" else limit
