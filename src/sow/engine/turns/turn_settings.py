"""Holds what every turn needs (home, settings, environment) and the result of a turn."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.executors.events import Event
from sow.system.environment import checkout_environment, own_venv
from sow.system.process.child_process import ProcessLimits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sow.config import Config
    from sow.domain.documents.state import Refusal, SessionTurn, Task
    from sow.domain.network import Hosts
    from sow.executors.adapter import Adapter, Outcome
    from sow.store.files.checkout_home import Home
    from sow.store.projects.task_folder import TaskFolder
    from sow.store.runs.sessions import SessionRecord
    from sow.store.state_watcher import StateWatcher


OPEN_NETWORK = "all"


class TurnResult:
    """The result of a turn."""

    __slots__ = (
        "executor", "folder", "outcome", "record", "refusals", "remarks", "status", "task", "turns", "unchanged",
    )  # fmt: skip

    def __init__(
        self,
        *,
        folder: TaskFolder,
        task: Task,
        outcome: Outcome,
        record: SessionRecord,
        executor: str,
        remarks: list[str],
        refusals: list[Refusal],
        turns: list[SessionTurn],
        unchanged: bool = False,
    ) -> None:
        self.folder = folder
        self.task = task
        self.status = task["status"]
        self.outcome = outcome
        self.record = record
        self.executor = executor
        self.remarks = remarks
        self.refusals = refusals  # tool calls that the CLI refused in this call
        self.turns = turns  # all turns of this call, also those of other executors and reminders
        self.unchanged = unchanged  # True if the worker certainly changed nothing in the checkout that all tasks share


class TurnSettings:
    """The home, settings and event listener that every turn needs."""

    __slots__ = (
        "config", "environment", "home", "model", "network_limit", "on_event", "source_folders", "state_watcher",
        "timeout", "timeout_name", "turns", "verbs",
    )  # fmt: skip

    def __init__(
        self,
        home: Home,
        config: Config,
        environment: Mapping[str, str],
        *,
        tell: Callable[[Event], None],
        model: str = "",
        timeout: float = 0,
        timeout_name: str = "--timeout",
        seen: StateWatcher | None = None,
        sources: Sequence[str] | None = None,
        verbs: Callable[[list[str], Mapping[str, str]], int] | None = None,
        network: str = OPEN_NETWORK,
    ) -> None:
        self.network_limit = network  # of the plan
        self.home = home
        self.config = config
        self.environment = environment
        self.on_event = tell
        self.turns: list[SessionTurn] = []  # turns that were taken with these settings
        self.model = model
        self.timeout = timeout
        self.timeout_name = timeout_name  # where the user can change it
        self.state_watcher = seen  # state files as the earlier turns of this process left them
        self.verbs = verbs  # runs the commands that a worker sends from its sandbox
        self.source_folders = sources  # folders of source code, if the user accepted imports from their own checkout

    def announce(self, remarks: list[str]) -> list[str]:
        """Tell the listener remarks when they arise; returns them."""
        for remark in remarks:
            self.on_event(Event("note", remark))
        return remarks

    def environment_in(self, folder: str) -> dict[str, str]:
        """Return the variables for a worker in a folder; in a worktree, none of them points to the user's checkout."""
        venv, go_work = own_venv(folder), os.path.isfile(f"{folder}/go.work")
        return checkout_environment(
            self.environment, self.home.root, folder, venv=venv, go_work=go_work, sources=self.source_folders
        )

    def has_sandbox(self, role: str, executor: str, adapter: Adapter) -> bool:
        """Tell whether a turn runs in the sandbox; raises if the user wants one that is not available."""
        mode = self.config.sandbox_mode(role)
        if mode == "off":
            self.require_open_network(role, f"the sandbox of {role} is off")
            return False
        from sow.system.sandbox import BWRAP, sandbox_state  # here, because it looks for bubblewrap

        state = sandbox_state(mode, self.environment)
        state.require()
        if not state.is_on:
            self.require_open_network(role, state.problem, state.hint)
            return False
        if adapter.capabilities.private_home is None and mode == BWRAP:
            raise SowError(
                f"{executor} cannot run in the sandbox yet, and the sandbox of {role} is {BWRAP}",
                f"use another executor (docs/security.md), or run it without: sow config set sandbox.roles.{role} off",
            )
        if adapter.capabilities.private_home is None or self.verbs is None:
            self.require_open_network(role, f"{executor} does not run in the sandbox")
            return False
        return True

    def network_of(self, role: str) -> str:
        """Return what an agent of this role may reach."""
        wanted = self.config.sandbox_network(role)
        if OPEN_NETWORK in (wanted, self.network_limit):
            return wanted if self.network_limit == OPEN_NETWORK else self.network_limit
        from sow.domain.network import narrower  # here, because few users limit the network

        return narrower(wanted, self.network_limit)

    def hosts_of(self, adapter: Adapter) -> Hosts:
        """Return the hosts of `network: model`: those of the CLI, of the user's variables and of the user's config."""
        from sow.domain.network import Hosts, host_of_url

        known = adapter.capabilities
        named = (host_of_url(self.environment.get(name, "")) for name in known.url_variables)
        hosts = (*known.model_hosts, *filter(None, named), *self.config.sandbox_hosts())
        return Hosts(hosts, silent=known.silent_hosts)

    def require_open_network(self, role: str, problem: str, hint: str = "") -> None:
        """Raise if a turn that runs outside of the sandbox should have a limited network."""
        network = self.network_of(role)
        if network != OPEN_NETWORK:
            raise SowError(
                f"the network of {role} is limited ({network}), but {problem}",
                hint or f"let it run in the sandbox, or run: sow config set sandbox.network_roles.{role} all",
            )

    def limits(self) -> ProcessLimits:
        return ProcessLimits(
            wall=self.timeout or self.config.seconds("turn_timeout"),
            silence=self.config.seconds("silence_timeout"),
            linger=self.config.seconds("linger_timeout"),
            grace=self.config.seconds("stop_grace"),
            size=int(self.config.limits["transcript_mb"][0]) << 20,
        )

    def limit_text(self, limit: str) -> str:
        """Describe which limit stopped a turn, with the limit's name and value."""
        name = {"timeout": "turn_timeout", "silence": "silence_timeout", "size": "transcript_mb"}.get(limit, limit)
        value = self.config.limits[name][0] if name in self.config.limits else ""
        if limit == "timeout":
            from sow.domain.text.units import format_seconds  # few turns take too long

            given = f"{self.timeout_name} ({format_seconds(self.timeout)})"
            return f"it took longer than {given if self.timeout else f'limits.{name} ({value})'} allows"
        if limit == "silence":
            return f"its silence was longer than limits.{name} ({value}) allows"
        return f"its output has a larger size than limits.{name} ({value} MB) allows" if limit == "size" else limit
