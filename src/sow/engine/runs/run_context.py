"""Holds what all jobs of a run share: home, settings, roles, git state and the journal's listeners."""

from __future__ import annotations

import time

from sow.domain.task import DEFAULT_AGENT
from sow.engine.checks.baseline import Baselines
from sow.engine.checks.setup_plan import Setups
from sow.engine.consent import load_consents
from sow.engine.turns.turn_settings import TurnSettings
from sow.gitwork.slots import Slots
from sow.store import git_watch
from sow.store.projects.task_updates import RUNNER as RUNNER
from sow.store.state_watcher import StateWatcher
from sow.system.environment import worker_environment
from sow.system.process.child_process import ProcessLimits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    from sow.agents.agent import Agent
    from sow.agents.registry import AgentRegistry
    from sow.config import Config, ExecutorConfig
    from sow.domain.checks.consent import Consent
    from sow.domain.documents.state import RunSettings, Task
    from sow.engine.checks.final_checks import Final
    from sow.executors.events import Event
    from sow.gitwork.integration_branch import Integration
    from sow.gitwork.worktrees import Worktrees
    from sow.store.files.checkout_home import Home
    from sow.store.runs.run_folder import RunFolder
    from sow.system.process.generator_steps import Steps

    Turn = TypeVar("Turn")

NO_LIMIT = 0.0
INTEGRATOR = "integrator"


def _ignore(event: Event) -> None:
    """Ignore an event."""


class MergeQueue:
    """The lock that lets one task merge at a time."""

    __slots__ = ("holder",)

    def __init__(self) -> None:
        self.holder = ""

    def acquire(self, task: str) -> bool:
        self.holder = self.holder or task
        return self.holder == task

    def release(self, task: str) -> None:
        if self.holder == task:
            self.holder = ""


class Isolation:
    """The git side of a run: a worktree for each task and the integration branch."""

    __slots__ = ("integration", "worktrees")

    def __init__(self, worktrees: Worktrees, integration: Integration) -> None:
        self.worktrees = worktrees
        self.integration = integration

    def adopt_earlier_work(self, task: str) -> None:
        """Put work that an earlier run left in a task's worktree on this run's branch."""
        if not self.worktrees.has_branch(task):
            self.worktrees.prepare(task, self.integration.head)

    def pin(self, task: str) -> None:
        """Keep the worker's commits, on any branch or none, if they are not collected now."""
        base = self.base_of(task) if self.worktrees.has_branch(task) else self.integration.head
        self.worktrees.pin(task, base)

    def base_of(self, task: str) -> str:
        """Return the commit from which a task's work differs."""
        return self.integration.base_of(task, self.worktrees.branch(task))


def _slots(isolation: Isolation, config: Config) -> Slots:
    return Slots(isolation.integration.repository, int(config.setting("checks", "parallel")))


class RunContext:
    """The context of one run, without its loop."""

    __slots__ = (
        "agents", "agreed", "baselines", "config", "environment", "final_results", "folder", "home", "isolation",
        "judges", "listeners", "passed_lists", "queue", "refuse_turn_reason", "running_turns", "seen", "settings",
        "setups", "slots", "started_at", "stopping",
    )  # fmt: skip

    def __init__(
        self,
        home: Home,
        config: Config,
        environment: Mapping[str, str],
        *,
        agents: AgentRegistry,
        folder: RunFolder,
        isolation: Isolation | None,
        listeners: list[Callable[[dict[str, Any]], None]],
        judges: Sequence[str] | None = None,
        agreed: Consent | None = None,
    ) -> None:
        self.home = home
        self.config = config
        self.environment = environment
        self.agents = agents
        self.agreed = agreed or load_consents(home, config, environment)
        self.folder = folder
        self.settings: RunSettings = folder.run["settings"]
        self.setups = Setups(home, config, environment, accepted=folder.run.get("accepted", ()))
        self.isolation = isolation  # None if all tasks share one folder
        self.slots = None if isolation is None else _slots(isolation, config)
        self.listeners = listeners
        self.judges = config.setting("review", "agents") if judges is None else judges
        self.queue = MergeQueue()
        self.baselines = Baselines()
        self.final_results: dict[str, Final] = {}  # results of the final checks in this process, by tree
        self.passed_lists: set[tuple[str, str]] = set()  # pairs of tree and check list that passed in this process
        self.running_turns: dict[str, int] = {}  # number of turns per executor
        self.seen = StateWatcher(home, is_shared=True)
        self.started_at = time.monotonic()
        self.stopping = False  # a person wants the run to end
        self.refuse_turn_reason: Callable[[], str] = str  # returns why no turn may begin now

    def journal(self, event: str, **facts: Any) -> None:
        """Write an event to the journal and pass it to the listeners."""
        if event in ("turn_ended", "run_ended"):
            self.report_git_changes()
        self._write(event, facts)
        if event == "run_started":
            self.report_git_changes()

    def report_git_changes(self) -> list[str]:
        """Report new changes to the settings, hooks and lists in the git folder; returns one line for each.

        No task is named: another worker or the user may have made the change.
        """
        changes = git_watch.new_changes(self.home)
        if changes:
            self._write("git_changed", {"changes": changes})
        return changes

    def _write(self, event: str, facts: dict[str, Any]) -> None:
        entry = self.folder.append_event(event, t=round(time.monotonic() - self.started_at, 3), **facts)
        for listener in self.listeners:
            listener(entry)

    def reset_moved_branch(self) -> None:
        """Reset the integration branch if somebody moved it, and report it."""
        if self.isolation is None:
            return
        integration = self.isolation.integration
        integration.restore_branch()
        while integration.undone_moves:
            self.journal("branch_moved", **integration.undone_moves.pop(0))

    def progress(self, task: str, text: str) -> None:
        """Report in a few words what a task does now."""
        self.journal("step", task=task, text=text)

    def turn_settings(self, tell: Callable[[Event], None]) -> TurnSettings:
        timeout = self.settings.get("timeout", NO_LIMIT)
        sources = self.setups.sources
        return TurnSettings(
            self.home, self.config, self.environment, tell=tell, timeout=timeout, seen=self.seen, sources=sources
        )

    def role_of(self, task: Task) -> Agent:
        """Return the role that works on a task; an unknown role is replaced by the default one."""
        name = self.settings.get("agent") or task["assigned_agent"]
        return self.agents.agents.get(name) or self.agents.get(DEFAULT_AGENT)

    def executors_of(self, role: str) -> list[ExecutorConfig]:
        """Return the executor of a role, then its fallbacks."""
        if "executor" in self.settings:
            return [self.config.executor(self.settings["executor"])]
        names = [self._bound(role), *self.config.fallbacks.get(role, [])]
        return [self.config.executor(name) for name in dict.fromkeys(names)]

    def _bound(self, role: str) -> str:
        """Return the executor bound to a role; an integrator without a binding uses the implementer's."""
        from sow import config

        name, origin = self.config.binding(role)
        return self.config.binding(DEFAULT_AGENT)[0] if role == INTEGRATOR and origin == config.DEFAULT else name

    def reviewers(self) -> list[str]:
        """Return the reviewing roles; none if reviews are off."""
        return list(dict.fromkeys(self.judges)) if self.settings["review"] == "on" else []

    def mark_limited(self, executor: str, until: float, reason: str) -> None:
        """Record that an executor has reached a limit: nothing starts there until it ends."""
        run = self.folder.run
        kept_pools = [pool for pool in run.get("pools", []) if pool["executor"] != executor]
        run["pools"] = [*kept_pools, {"executor": executor, "until": int(until), "reason": reason[:2000]}]
        self.folder.save()
        self.journal("limit", executor=executor, until=int(until), reason=reason[:2000])

    def limited_until(self, executor: str) -> float:
        """Return when an executor may be used again; 0 if it may be used now."""
        ends = [pool["until"] for pool in self.folder.run.get("pools", ()) if pool["executor"] == executor]
        return max((end for end in ends if end > time.time()), default=0)

    def free_executors(self, executors: Sequence[ExecutorConfig]) -> list[ExecutorConfig]:
        """Return the executors that have not reached a limit."""
        return [executor for executor in executors if not self.limited_until(executor.name)]

    def first_free(self, executors: Sequence[ExecutorConfig]) -> str:
        """Return the executor that can be used first."""
        return min((executor.name for executor in executors), key=self.limited_until)

    def pool_slots(self) -> dict[str, int]:
        """Return how many jobs each executor may have at once, for those with a limit."""
        limits = {name: executor.settings.get("max_concurrency") for name, executor in self.config.executors.items()}
        return {name: int(limit) for name, limit in limits.items() if limit}

    def has_free_slot(self, executor: ExecutorConfig, task: str) -> Steps[bool]:
        """Wait until an executor may have another turn; False if the run is to end."""
        limit, name = executor.settings.get("max_concurrency", 0), executor.name
        if limit and self.running_turns.get(name, 0) >= limit:
            self.progress(task, f"waits for {name}, which has {limit} at once")
        while limit and self.running_turns.get(name, 0) >= limit:
            if self.stopping:
                return False
            yield
        return True

    def counted_turn(self, executor: str, turn: Steps[Turn]) -> Steps[Turn]:
        """Run a turn and count it among those of its executor."""
        self.running_turns[executor] = self.running_turns.get(executor, 0) + 1
        try:
            return (yield from turn)
        finally:
            self.running_turns[executor] -= 1

    def check_limits(self) -> ProcessLimits:
        """Return the limits of time and output for a command of the plan."""
        from sow import config

        wall = config.seconds(str(self.config.setting("checks", "timeout")))
        return ProcessLimits(wall=wall, silence=0, linger=0, size=16 << 20, grace=self.config.seconds("stop_grace"))

    def check_environment(self, folder: str) -> dict[str, str]:
        """Return the user's variables that a command of the plan may see in a folder; it has no worker's variables."""
        environment = self.turn_settings(_ignore).environment_in(folder)
        return worker_environment(environment, own=self.config.setting("checks", "env"), marks={})

    def checks_folder(self, task: str) -> str:
        """Return the folder for the output of a task's checks."""
        return self.home.folder("local", "runs", self.folder.id, "checks", task)

    def folder_of(self, task: str) -> str:
        """Return the folder in which a task is worked on."""
        return self.isolation.worktrees.path(task) if self.isolation is not None else self.home.root


class JobEnd:
    """The end of a job: its status for the scheduler and, after a limit, the executor that it waits for."""

    __slots__ = ("did_nothing", "executor", "reason", "status")

    def __init__(self, status: str, *, reason: str = "", executor: str = "", idle: bool = False) -> None:
        self.status = status  # completed, failed, asking, abandoned, waiting or stopped
        self.reason = reason
        self.executor = executor
        self.did_nothing = idle  # the agent failed before it did anything: the machine may be at fault
