"""Holds what every turn needs: home, settings, environment and network."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.executors.adapter import Event
from sow.record import Record
from sow.system.environment import checkout_environment, own_venv
from sow.system.process.child_process import ProcessLimits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sow.config import Config
    from sow.domain.documents.state import SessionTurn
    from sow.domain.network import Hosts
    from sow.executors.adapter import Adapter
    from sow.store.files.checkout_home import Home
    from sow.store.state_watcher import StateWatcher


OPEN_NETWORK = "all"


class TurnSettings(Record):
    """The home, settings and event listener that every turn needs."""

    home: Home
    config: Config
    environment: Mapping[str, str]
    on_event: Callable[[Event], None]
    model: str = ""
    timeout: float = 0
    timeout_name: str = "--timeout"  # where the user can change it
    state_watcher: StateWatcher | None = None  # state files as the earlier turns of this process left them
    source_folders: Sequence[str] | None = None  # of code, if the user accepted imports from their own checkout
    verbs: Callable[[list[str], Mapping[str, str]], int] | None = None  # runs what a worker sends from its sandbox
    network_limit: str = OPEN_NETWORK  # of the plan
    sends_commands: bool = False  # workers send their commands to this process even without a sandbox

    def __post_init__(self) -> None:
        self.turns: list[SessionTurn] = []  # turns that were taken with these settings

    def announce(self, remarks: list[str]) -> list[str]:
        """Tells the listener remarks when they arise; returns them."""
        for remark in remarks:
            self.on_event(Event("note", remark))
        return remarks

    def environment_in(self, folder: str) -> dict[str, str]:
        """Returns the variables for a worker in a folder; in a worktree, none of them points to the user's checkout."""
        venv, go_work = own_venv(folder), os.path.isfile(f"{folder}/go.work")
        return checkout_environment(
            self.environment, self.home.root, folder, venv=venv, go_work=go_work, sources=self.source_folders
        )

    def has_sandbox(self, role: str, executor: str, adapter: Adapter) -> bool:
        """Tells whether a turn runs in the sandbox; raises if the user wants one that is not available."""
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
                f"use another executor, or run it without: sow config set sandbox.roles.{role} off",
            )
        if adapter.capabilities.private_home is None or self.verbs is None:
            self.require_open_network(role, f"{executor} does not run in the sandbox")
            return False
        self.config.sandbox_paths("read"), self.config.sandbox_paths("write"), self.config.sandbox_hosts()
        return True

    def network_of(self, role: str) -> str:
        """Returns what an agent of this role may reach."""
        wanted = self.config.sandbox_network(role)
        if OPEN_NETWORK in (wanted, self.network_limit):
            return wanted if self.network_limit == OPEN_NETWORK else self.network_limit
        from sow.domain.network import narrower  # here, because few users limit the network

        return narrower(wanted, self.network_limit)

    def hosts_of(self, adapter: Adapter) -> Hosts:
        """Returns the hosts of `network: model`: those of the CLI, of the user's variables and of the user's config."""
        from sow.domain.network import Hosts, host_of_url

        capabilities = adapter.capabilities
        named = (host_of_url(self.environment.get(name, "")) for name in capabilities.url_variables)
        hosts = (*capabilities.model_hosts, *filter(None, named), *self.config.sandbox_hosts())
        return Hosts(hosts, silent=capabilities.silent_hosts)

    def require_open_network(self, role: str, problem: str, hint: str = "") -> None:
        """Raises if a turn that runs outside of the sandbox should have a limited network."""
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
        """Describes which limit stopped a turn, with the limit's name and value."""
        name = {"timeout": "turn_timeout", "silence": "silence_timeout", "size": "transcript_mb"}.get(limit, limit)
        value = self.config.limits[name][0] if name in self.config.limits else ""
        if limit == "timeout":
            from sow.domain.text.units import format_seconds  # few turns take too long

            given = f"{self.timeout_name} ({format_seconds(self.timeout)})"
            return f"it took longer than {given if self.timeout else f'limits.{name} ({value})'} allows"
        if limit == "silence":
            return f"its silence was longer than limits.{name} ({value}) allows"
        return f"its output has a larger size than limits.{name} ({value} MB) allows" if limit == "size" else limit
