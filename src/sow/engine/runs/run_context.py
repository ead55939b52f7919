"""Holds what all jobs of a run share: settings, roles, executors, git state and journal."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sow import config
from sow.agents.registry import Agent, AgentRegistry
from sow.config import Config, ExecutorConfig
from sow.domain.checks.task_checks import Consent
from sow.domain.documents.state import RunSettings, SessionTurn, Task
from sow.domain.network import ALL, MODEL, NONE, Hosts
from sow.domain.task import DEFAULT_AGENT, worktree_name
from sow.engine.checks.baseline import Baselines
from sow.engine.checks.check_network import network_of_checks
from sow.engine.checks.final_checks import FinalResult
from sow.engine.checks.setup_plan import Setups
from sow.engine.runs.executor_pool import ExecutorPool
from sow.engine.runs.local_turns import LocalTurns
from sow.engine.runs.run_job import JobQueue
from sow.engine.turns import settle
from sow.engine.turns.turn import AgentTurn
from sow.engine.turns.turn_settings import TurnSettings
from sow.errors import SowError
from sow.executors.adapter import Event, Outcome
from sow.executors.settings import adapter as find_adapter
from sow.gitwork.integration_branch import Integration
from sow.gitwork.private_git import protect_repository
from sow.gitwork.repository import Repository
from sow.gitwork.slots import Slots
from sow.gitwork.worktrees import Worktrees
from sow.store import git_watch
from sow.store.files.checkout_home import Home
from sow.store.files.disk import list_folder, remove_tree_quietly
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.projects.task_updates import RUNNER as RUNNER
from sow.store.runs.run_folder import RunFolder
from sow.store.state_watcher import StateWatcher
from sow.system.environment import worker_environment
from sow.system.process.child_process import ProcessLimits
from sow.system.process.steps import Steps
from sow.system.sandbox import Box, SandboxState, sandbox_state

Result = TypeVar("Result")

NO_LIMIT = 0.0
INTEGRATOR = "integrator"
ABANDONED = 86400  # seconds after which the home of a set-up is one of a killed sow


def _ignore(event: Event) -> None:
    """Ignores an event."""


@dataclass(frozen=True)
class Isolation:
    """The git side of a run: a worktree for each task and the integration branch."""

    worktrees: Worktrees
    integration: Integration

    @property
    def repository(self) -> Repository:
        return self.integration.repository

    def adopt_earlier_work(self, task: str) -> None:
        """Puts work that an earlier run left in a task's worktree on this run's branch."""
        if not self.worktrees.has_branch(task):
            self.worktrees.prepare(task, self.integration.head)

    def pin(self, task: str) -> None:
        """Keeps the worker's commits, on any branch or none, if they are not collected now."""
        base = self.base_of(task) if self.worktrees.has_branch(task) else self.integration.head
        self.worktrees.pin(task, base)

    def base_of(self, task: str) -> str:
        """Returns the commit from which a task's work differs."""
        return self.integration.base_of(task, self.worktrees.branch(task))


def require_sandbox(config: Config, environment: Mapping[str, str], *, afresh: bool = False) -> SandboxState:
    """Tells whether there is a sandbox; raises if it does not work here, or its settings are wrong."""
    state = sandbox_state(str(config.setting("sandbox", "mode")), environment, afresh=afresh)
    state.require()
    config.sandbox_paths("read"), config.sandbox_paths("write"), config.sandbox_hosts()
    for name, network in (("network", config.sandbox_network()), ("network_roles.checks", config.checks_network())):
        if network not in ("", ALL) and not state.is_on:
            problem = state.problem or "sandbox.mode is off"
            raise SowError(f"sandbox.{name} is {network}, but {problem}", state.hint or "set sandbox.mode to auto")
    return state


def _open_isolation(home: Home, folder: RunFolder) -> Isolation | None:
    if folder.run["settings"]["isolation"] != "worktree":
        return None
    repository = Repository(home)
    integration = Integration(repository, folder)
    integration.begin(folder.run["base"])
    return Isolation(Worktrees(repository, folder.id, _worktree_names(home, folder)), integration)


def _worktree_names(home: Home, folder: RunFolder) -> dict[str, str]:
    """Returns the worktree of each follow-up of the run; only a run without a plan has follow-ups."""
    if folder.run["plans"]:
        return {}
    tasks = task_folder.load_readable_or_raise(home, projects.load(home), folder.run["tasks"])
    return {task["id"]: worktree_name(task) for task in tasks}


@dataclass
class RunContext:
    """The context of one run, without its loop."""

    home: Home
    config: Config
    environment: Mapping[str, str]
    agents: AgentRegistry
    folder: RunFolder
    listeners: list[Callable[[dict[str, Any]], None]]
    agreed: Consent  # the commands that may run
    judges: Sequence[str] | None = None  # the reviewing roles; None: those of the config
    verbs: Callable[[list[str], Mapping[str, str]], int] | None = None  # runs what workers send from their sandbox
    turns: LocalTurns = field(default_factory=LocalTurns)  # takes the turns of workers
    turn_class: type[AgentTurn] = AgentTurn  # takes the turns of judges and of agents of a workflow

    def __post_init__(self) -> None:
        home, folder = self.home, self.folder
        self.settings: RunSettings = folder.run["settings"]
        if "sandbox" in self.settings:
            self.config.narrow_sandbox(self.settings["sandbox"])
        self.setups = Setups(home, self.config, self.environment, accepted=folder.run.get("accepted", ()))
        self.isolation = _open_isolation(home, folder)  # None if all tasks share one folder
        most = int(self.config.setting("checks", "parallel"))
        self.slots = Slots(self.isolation.repository, most) if self.isolation is not None else None
        self.merge_queue = JobQueue()
        self.baselines = Baselines()
        self.final_results: dict[str, FinalResult] = {}  # results of the final checks in this process, by tree
        self.passed_lists: set[tuple[str, str]] = set()  # pairs of tree and check list that passed in this process
        self.pool = ExecutorPool(self)
        self.seen = StateWatcher(home, is_shared=True)
        self.started_at = time.monotonic()
        self.stopping = False  # a person wants the run to end
        self.taken_over = ""  # why this call may settle and deliver nothing more
        self.refuse_turn_reason: Callable[[], str] = str  # returns why no turn may begin now

    @property
    def sandbox(self) -> SandboxState:
        """Returns whether checks run in a sandbox, and agents unless their role or CLI does not."""
        return require_sandbox(self.config, self.environment)

    def sandbox_roles(self) -> list[str]:
        """Returns the roles that decide what the start line says."""
        return [self.settings.get("agent") or DEFAULT_AGENT, *self.reviewers()]

    def sandbox_text(self) -> str:
        """Says what protects the user in this run, in a few words."""
        state = self.sandbox
        if not state.is_on:
            return state.text
        roles = self.sandbox_roles()
        bound = [(role, executor) for role in roles for executor in self.executors_of(role)]
        settings = self.turn_settings(_ignore)
        outside = {
            executor.name
            for role, executor in bound
            if not settings.has_sandbox(role, executor.name, find_adapter(executor.type))
        }
        text = "agents and checks run in a sandbox" + (f", except {', '.join(sorted(outside))}" if outside else "")
        networks = {**{role: settings.network_of(role) for role in roles}, "checks": network_of_checks(self)}
        offline = sorted(name for name, network in networks.items() if network == NONE)
        limited = sorted(name for name, network in networks.items() if network == MODEL)
        text += f"; {', '.join(offline)} without network" if offline else ""
        return text + (f"; {', '.join(limited)} with named hosts only" if limited else "")

    def journal(self, event: str, **facts: Any) -> None:
        """Writes an event to the journal and passes it to the listeners."""
        if event in ("turn_ended", "run_ended"):
            self.report_git_changes()
        self._write(event, facts)
        if event == "run_started":
            self.report_git_changes()

    def report_git_changes(self) -> list[str]:
        """Reports new changes to the settings, hooks and lists in the git folder; returns one line for each.

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
        """Resets the integration branch if somebody moved it, and reports it."""
        if self.isolation is None:
            return
        integration = self.isolation.integration
        integration.restore_branch()
        while integration.undone_moves:
            self.journal("branch_moved", **integration.undone_moves.pop(0))

    def progress(self, task: str, text: str) -> None:
        """Reports in a few words what a task does now."""
        self.journal("step", task=task, text=text)

    def turn(self, facts: dict[str, Any], turn: Steps[Result], **failed: str) -> Steps[Result]:
        """Journals the start of a turn and runs it; if it cannot be run, journals its end too."""
        self.journal("turn_started", **facts)
        try:
            return (yield from turn)
        except SowError as problem:
            self.journal("turn_ended", **facts, outcome="failed", **failed, reason=problem.message)
            raise

    def undo_edits(self, turn: AgentTurn) -> list[str]:
        """Undoes hand edits of state files during a judge's turn; returns remarks."""
        if turn.snapshot is None:
            return []
        with self.home.lock():
            return settle.undo_foreign_edits(turn.snapshot, turn.folder, judging=True)  # type: ignore[arg-type]

    def listener(self, job: str) -> Callable[[Event], None]:
        """Returns a listener that shows the last line of an agent's output in the run; all is in the transcript."""

        def listener(event: Event) -> None:
            if event.kind in ("tool", "text") and event.text:
                self.progress(job, event.text.strip().split("\n")[0][:120])

        return listener

    def turn_settings(self, tell: Callable[[Event], None]) -> TurnSettings:
        timeout = self.settings.get("timeout", NO_LIMIT)
        sources = self.setups.sources
        return TurnSettings(
            self.home,
            self.config,
            self.environment,
            on_event=tell,
            timeout=timeout,
            state_watcher=self.seen,
            source_folders=sources,
            verbs=self.verbs,
            network_limit=self.settings.get("network", ALL),
            sends_commands=self.turns.sends_commands,
        )

    def role_of(self, task: Task) -> Agent:
        """Returns the role that works on a task; an unknown role is replaced by the default one."""
        name = self.settings.get("agent") or task["assigned_agent"]
        return self.agents.agents.get(name) or self.agents.get(DEFAULT_AGENT)

    def executors_of(self, role: str) -> list[ExecutorConfig]:
        """Returns the executor of a role, then its installed fallbacks."""
        return self.config.executors_of(role, self.environment, self.settings.get("executor", ""))[0]

    def reviewers(self) -> list[str]:
        """Returns the reviewing roles; none if reviews are off."""
        roles = self.config.setting("review", "agents") if self.judges is None else self.judges
        return list(dict.fromkeys(roles)) if self.settings["review"] == "on" else []

    def check_limits(self) -> ProcessLimits:
        """Returns the limits of time and output for a command of the plan."""
        wall = config.seconds(str(self.config.setting("checks", "timeout")))
        return ProcessLimits(wall=wall, silence=0, linger=0, size=16 << 20, grace=self.config.seconds("stop_grace"))

    def check_environment(self, folder: str) -> dict[str, str]:
        """Returns the user's variables that a command of the plan may see in a folder; it has no worker's variables."""
        environment = self.turn_settings(_ignore).environment_in(folder)
        return worker_environment(environment, own=self.config.check_variables(), marks={})

    @contextmanager
    def setup_home(self, *, is_base: bool) -> Iterator[str]:
        """Gives set-up commands a home; it is kept, with the downloaded packages, on the user's own commit only.

        The set-up of a worker's commit runs code of the worker. In a home that is kept it could leave files that
        change the set-up of other tasks, so it gets a copy that is thrown away.
        """
        kept = self.home.folder("local", "sandbox", "setup")
        if is_base or not self.sandbox.is_on:
            yield kept
            return
        parent = os.path.dirname(kept)
        for name in list_folder(parent):
            if name.startswith("setup-") and os.stat(f"{parent}/{name}").st_mtime < time.time() - ABANDONED:
                remove_tree_quietly(f"{parent}/{name}")
        folder = self.home.folder("local", "sandbox", f"setup-{os.urandom(6).hex()}")
        try:
            yield folder
        finally:
            remove_tree_quietly(folder)

    def check_box(self, folder: str, *, setup_home: str = "", network: str = ALL) -> Box | None:
        """Returns the sandbox for commands in a checkout, or None without a sandbox.

        They can write that folder and nothing else of the repository. Checks have an empty home: one could leave files
        there that make a later check pass.
        """
        if not self.sandbox.is_on:
            return None
        home = self.home
        box = Box(self.environment, home=setup_home)
        if setup_home:
            kept = home.folder("local", "sandbox", "setup")
            box.fill_home(kept) if setup_home != kept else None
        box.limit_network(network, Hosts(self.config.sandbox_hosts()))
        box.show(home.root, home.checkout.common, home.checkout.git)
        box.allow(folder)
        box.show(f"{folder}/.git", *([home.sow, f"{folder}/orchestration"] if folder == home.root else []))
        protect_repository(box, home)
        box.open(read=self.config.sandbox_paths("read"), write=self.config.sandbox_paths("write"))
        return box

    def checks_folder(self, task: str) -> str:
        """Returns the folder for the output of a task's checks."""
        return self.home.folder("local", "runs", self.folder.id, "checks", task)

    def folder_of(self, task: str) -> str:
        """Returns the folder in which a task is worked on."""
        return self.isolation.worktrees.path(task) if self.isolation is not None else self.home.root


def turn_fields(outcome: Outcome, turn: SessionTurn) -> dict[str, object]:
    """Returns the fields of a turn that the journal keeps."""
    keys = ("seconds", "cost_usd", "input_tokens", "output_tokens", "tools", "status")
    reason = {"reason": outcome.reason} if outcome.kind != "done" and outcome.reason else {}
    return {"outcome": outcome.kind, **reason, **{key: turn.get(key) for key in keys}}
