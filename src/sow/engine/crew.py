"""Who takes part in a turn: the crew that every turn belongs to, and what a turn came to."""

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
    """What a turn came to."""

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
        self.unchanged = unchanged  # the worker is known to have changed nothing in the checkout that all tasks share


class Crew:
    """What every turn needs to know: where, with which settings, and whom to tell."""

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
        self.seen = seen  # by the turns before, where one process takes many
        self.sources = sources  # of the code, if the user accepted imports from their own checkout

    def environment_in(self, folder: str) -> dict[str, str]:
        """The variables for a worker in a folder: in a worktree, nothing in them leads to the user's own checkout."""
        own, go_work = own_venv(folder), os.path.isfile(f"{folder}/go.work")
        return inside(self.environment, self.home.root, folder, venv=own, go_work=go_work, sources=self.sources)

    def limits(self) -> Limits:
        return Limits(
            wall=self.timeout or self.config.seconds("turn_timeout"),
            silence=self.config.seconds("silence_timeout"),
            linger=self.config.seconds("linger_timeout"),
            grace=self.config.seconds("stop_grace"),
            size=int(self.config.limits["transcript_mb"][0]) << 20,
        )

    def stopped_by(self, limit: str) -> str:
        """What a turn did that a limit does not allow, with the limit's name and value."""
        named = {"timeout": "turn_timeout", "silence": "silence_timeout", "size": "transcript_mb"}.get(limit, limit)
        value = self.config.limits[named][0] if named in self.config.limits else ""
        if limit == "timeout":
            own = f"--timeout {self.timeout:g}s"
            return f"it took longer than {own if self.timeout else f'limits.{named} ({value})'} allows"
        if limit == "silence":
            return f"its silence was longer than limits.{named} ({value}) allows"
        return f"its output has a larger size than limits.{named} ({value} MB) allows" if limit == "size" else limit
