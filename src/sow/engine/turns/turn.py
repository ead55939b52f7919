"""Runs one turn of an agent: opens its session, starts its process and records the result."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext

from sow.agents import briefing
from sow.engine.turns.allowed_commands import commands_text, holds_only_installed_files, sow_path, worker_commands
from sow.engine.turns.runner import StoredCaches, SupervisedRunner, files_of, record_turn, refusals_of
from sow.engine.turns.settle import redact_turn
from sow.errors import SowError
from sow.executors import adapter as adapters
from sow.executors.adapter import Event, Outcome, Request, Role, TurnSummary
from sow.executors.settings import adapter as find_adapter
from sow.record import Record
from sow.store.files.checkout_home import REDACTED_VARIABLES
from sow.store.projects import task_folder
from sow.store.runs import sessions
from sow.store.state_watcher import Snapshot
from sow.system import clock
from sow.system import environment as environments
from sow.system.environment import checkout_environment, own_venv
from sow.system.process.child_process import ProcessLimits
from sow.system.terminal import escape_control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from sow.agents.registry import Agent
    from sow.config import Config, ExecutorConfig
    from sow.domain.documents.state import Refusal, Session, SessionTurn
    from sow.domain.network import Hosts
    from sow.engine.turns.worker_sandbox import OpenBox
    from sow.executors.adapter import Adapter
    from sow.gitwork.repository import FolderWatch
    from sow.store.files.checkout_home import Home
    from sow.store.projects.task_folder import TaskFolder
    from sow.store.runs.sessions import SessionRecord
    from sow.store.state_watcher import StateWatcher
    from sow.store.workflows.folder import AgentFolder
    from sow.system.process.steps import Steps

OPEN_NETWORK = "all"


# Some agent CLIs retry for minutes while the model's server is busy. sow allows a few quick retries. After
# BUSY_SECONDS in which the CLI did nothing but retry, it stops the turn and reports that the server is busy.
BUSY = (*adapters.LIMIT_STATUSES, *adapters.OVERLOAD_STATUSES)
BUSY_SECONDS = 10
STALE_SECONDS = 24 * 3600  # seconds: a limit that ended longer ago is ignored
MAX_LIMIT_SECONDS = 31 * 24 * 3600  # seconds: a later end is not believed, because no plan's limit lasts longer
REVIEW_KIND = "review"  # first turn of a session whose final text sow parses
RESUMING_KINDS = ("resume", "reminder")  # turns that continue an existing session


def refuse_untrusted_files(settings: TurnSettings, executor: ExecutorConfig, adapter: Adapter) -> None:
    """Refuses a CLI that would obey files of a repository that the user does not trust."""
    root = settings.home.root
    steering = [name for name in adapter.capabilities.obeys if os.path.lexists(f"{root}/{name}")]
    if steering:
        steering = [name for name in steering if not holds_only_installed_files(root, name)]
    if steering and not settings.config.trusts(root):
        raise SowError(
            f"{executor.name} would obey {' and '.join(steering)} of this repository",
            f"look at what it says; then add {root} under `trust` (sow config edit), or use another executor",
        )


def clamp_reset_time(reset_at: int) -> int:
    """Returns the end of a limit in seconds since 1970: 0 if it is long past, at most a month from now."""
    now = int(time.time())
    return min(reset_at, now + MAX_LIMIT_SECONDS) if reset_at > now - STALE_SECONDS else 0


class AgentTurn:
    """One agent at work on a task: its task folder, its role and its executor. The caller holds the task's claim."""

    def __init__(
        self,
        settings: TurnSettings,
        folder: TaskFolder | AgentFolder,
        agent: Agent,
        executor: ExecutorConfig,
        *,
        model: str = "",
        cwd: str = "",
        judging: bool = False,
    ) -> None:
        self.settings = settings
        self.read_only = judging or agent.is_judge  # judging turns change no files, whatever the role's name is
        self.cwd = cwd  # folder of a new session; empty: the home checkout
        self.folder = folder
        self.agent = agent
        self.executor = executor
        self.adapter = find_adapter(executor.type)
        self.model = model  # model wanted for this call; it overrides the executor's and the session's model
        self.on_session: Callable[[str, str], None] | None = None  # called with our id and the CLI's own one
        self.on_start: Callable[[], None] | None = None  # called when the agent's process runs
        self.path = ""
        self.snapshot: Snapshot | None = None
        self.watch: FolderWatch | None = None
        self.refusals: list[Refusal] = []  # of the last turn
        self.iteration = 0  # iteration of the task when the turn began
        self.other_session_id = ""
        self.busy_since = 0.0
        self.in_sandbox = False  # decided in check()

    def extra_variables(self) -> list[str]:
        """Returns the names of the variables that the user lets this executor have besides its own."""
        names = self.executor.settings.get("env")
        in_sandbox = self.settings.config.setting("sandbox", "env") if self.in_sandbox else ()
        return [*map(str, names if isinstance(names, list) else ()), *in_sandbox]

    def binary(self) -> str:
        """Returns the path of the CLI's program; raises before anything is written if it is missing."""
        if not self.path:
            config, environment = self.settings.config, self.settings.environment
            self.path = config.require_program(self.executor, self.agent.name, environment)
        return self.path

    def check(self) -> None:
        """Checks, before anything is written, that the program exists and that no file of the repository steers it."""
        self.binary()
        refuse_untrusted_files(self.settings, self.executor, self.adapter)
        self.in_sandbox = self.settings.has_sandbox(self.agent.name, self.executor.name, self.adapter)

    def request(self, record: SessionRecord) -> Request:
        home = self.settings.home
        session = record.session.get("session_id") or record.session["key"]
        readable, linked = self._readable()
        return Request(
            role=Role(
                name=self.agent.name,
                tools=self.agent.tools,
                judges=self.read_only,
                description=self.agent.description,
                subagent_prompt=briefing.load_role_prompt(self.agent) if self.agent.can_be_subagent else "",
            ),
            session=session,
            cwd=record.session["cwd"],
            session_folder=record.folder,
            writable=tuple(dict.fromkeys((self.folder.folder, home.checkout.git, home.checkout.common))),
            readable=tuple(readable),
            external_readable=tuple(linked),
            write_protected=self.folder.write_protected(),
            sow_folder=home.sow,
            commands=tuple(self.allowed_commands(record.session["cwd"])),
            yolo=self.executor.yolo or self.in_sandbox,
            in_sandbox=self.in_sandbox,
            trusted=self.settings.config.trusts(home.root),
            model=self.model or record.session["model"],
            custom_args=self.executor.custom_args,
            extra=self.executor.settings,
        )

    def _readable(self) -> tuple[list[str], list[str]]:
        """Returns the folders of the task's references: those below .sow/ and linked ones. A judge gets none."""
        references = [] if self.read_only else self.folder.references()
        if not any(reference.startswith(".sow/") for reference in references):
            return [], []
        from sow.store.knowledge.index import link_targets  # here, because few tasks have such references

        return task_folder.reference_folders(self.settings.home, references, link_targets(self.settings.environment))

    def allowed_commands(self, folder: str) -> list[str]:
        """Returns the first words of the commands that the agent may run in its folder; a judge may run no tests."""
        if self.read_only:
            return [sow_path(), "sow", "git"]

        return worker_commands(folder, self.folder.commands(), self._is_agreed)

    def _is_agreed(self, command: str) -> bool:
        """Tells whether the user agreed to a command that can be named in the rules of a CLI."""
        from sow.domain.plans.command_line import is_plain
        from sow.engine.consent import load_consents

        settings = self.settings
        consents = load_consents(settings.home, settings.config, settings.environment) if is_plain(command) else None
        return consents is not None and bool(consents.reason(command))

    @property
    def has_command_rules(self) -> bool:
        """Returns whether the CLI is held to a list of commands."""
        is_free = self.executor.yolo or self.in_sandbox
        return self.adapter.capabilities.closes and (self.read_only or not is_free)

    def allowed_text(self, folder: str) -> str:
        """Returns the commands that the agent may run as one sentence; empty if its CLI is not held to a list."""
        if not self.has_command_rules:
            return ""

        return commands_text(self.allowed_commands(folder))

    def open_session(self, kind: str, continued: Session | None = None) -> SessionRecord:
        """Creates a new session with its first turn on disk, before the task's state names it.

        If another task's session is continued, the CLI knows the new one by the same names.
        """
        turn = sessions.new_turn(1, kind, self.folder.iteration, self._secrets())
        session = self.new_session()
        if continued is not None:
            session = {**continued, **{key: session[key] for key in ("project_id", "task", "mark", "started_at")}}  # type: ignore[typeddict-item]
        return sessions.create(self.folder, {**session, "turns": [turn]})

    def _secrets(self) -> list[str]:
        return environments.names_of_secrets(self.settings.environment, self.extra_variables())

    def new_session(self) -> Session:
        """Returns the data of a new session; its number is set when it is created."""
        key = clock.uuid4()
        session: Session = {
            "number": 1,
            "key": key,
            "project_id": self.folder.owner,
            "task": self.folder.id,
            "role": self.agent.name,
            "executor": self.executor.name,
            "type": self.executor.type,
            "model": self.model or self.executor.model,
            "cwd": self.cwd or self.settings.home.root,
            "mark": clock.uuid4().replace("-", ""),
            "started_at": clock.now(),
            "turns": [],
        }
        if self.adapter.capabilities.session in (adapters.GIVEN, adapters.FILE):
            session["session_id"] = key
        return session

    def run(self, record: SessionRecord, kind: str, prompt: str) -> Steps[Outcome]:
        """Runs the first turn of a new session, or one more turn, and records its result."""
        if not record.has_open_turn:
            record.begin_turn(kind, self.folder.iteration, self._secrets())
        turn = record.session["turns"][-1]
        # The start of work may begin a new iteration, so it is read here. It is saved with the turn's outcome.
        self.iteration = turn["iteration"] = self.folder.iteration
        request = self.request(record)
        self._record_state_before(request.cwd)
        runner = self._runner(record, turn)
        summary = TurnSummary()
        self.settings.turns.append(turn)
        self.settings.on_event(Event("start", self._start_text(record.session, kind)))
        try:
            with (
                StoredCaches(self.settings.home, request.cwd, self.adapter.capabilities.leaves),
                self._sandbox(record, request) as runner.sandbox,
            ):
                outcome = yield from self._run(runner, request, prompt, summary, resumes=kind in RESUMING_KINDS)
        except SowError as error:  # such as a program that cannot be started
            record_turn(record, turn, self._redacted(Outcome("failed", reason=error.message)), TurnSummary(), runner)
            raise
        if self.snapshot is not None:
            self.snapshot.ended_at = runner.all_gone_at
        self.refusals = refusals_of(record, turn, summary, self._clean_text)
        if self.other_session_id:
            outcome = Outcome("not_found", reason=f"the CLI answered with another session: {self.other_session_id}")
        outcome = self._redacted(outcome)
        if outcome.text:
            record.write_file(turn["number"], "txt", f"{outcome.text}\n")
        record_turn(record, turn, outcome, summary, runner)
        return outcome

    def _sandbox(self, record: SessionRecord, request: Request) -> AbstractContextManager[OpenBox | None]:
        """Returns the sandbox of the turn, to be opened, or nothing."""
        if not self.in_sandbox and (self.read_only or not self.settings.sends_commands):
            return nullcontext()
        # Here, because it loads much that other turns do not need.
        from sow.engine.turns.worker_sandbox import open_box, open_channel

        return open_box(self, record, request) if self.in_sandbox else open_channel(self, record)

    def _start_text(self, session: Session, kind: str) -> str:
        model = f"model {self.model or session['model']}" if self.model or session["model"] else "default model"
        name = f"session {session['session_id']}" if "session_id" in session else "a new session"
        verb = {"reminder": " reminded", "resume": " resumes"}.get(kind, "")
        return f"{self.agent.name}{verb} on {self.executor.name} ({model}), {name}"

    def _run(
        self, runner: SupervisedRunner, request: Request, prompt: str, summary: TurnSummary, *, resumes: bool
    ) -> Steps[Outcome]:
        adapter = self.adapter
        if resumes and (reason := adapter.lost_session_reason(request)):
            return Outcome("not_found", reason=reason)
        call = adapter.resume_command(request) if resumes else adapter.spawn_command(request)
        text = prompt if resumes else adapter.first_prompt(request, prompt)
        call.arguments.insert(0, self.binary())
        ending = yield from runner.run(call, request, text, summary)
        return adapter.outcome(ending, summary)

    def _record_state_before(self, folder: str) -> None:
        """Records the state before the turn. Watch the folder only if nothing else shows what the worker did."""
        home = self.settings.home
        self.other_session_id, self.busy_since = "", 0.0
        skip_watch = self.adapter.capabilities.structured or self.executor.settings.get("allow_empty")
        self.watch = None
        if not skip_watch:
            from sow.gitwork.repository import FolderWatch  # here, because it loads git

            self.watch = FolderWatch(home, folder, self.folder.id)
        with home.lock():
            self.snapshot = Snapshot(home, seen=self.settings.state_watcher)

    def _runner(self, record: SessionRecord, turn: SessionTurn) -> SupervisedRunner:
        return SupervisedRunner(
            adapter=self.adapter,
            files=files_of(record, turn["number"]),
            limits=self.settings.limits(),
            environment=self.settings.environment_in(record.session["cwd"]),
            extra_variables=self.extra_variables(),
            marks=self.worker_variables(record),
            mark=record.session["mark"],
            shares_thread=self.settings.state_watcher is not None,
            tamper_proof=record.session["turns"][0]["kind"] == REVIEW_KIND,
            on_event=lambda event: self._on_event(event, record),
            on_start=self.on_start,
            redact_files=lambda paths: redact_turn(record, turn, self.settings.environment, paths),
        )

    def _redacted(self, outcome: Outcome) -> Outcome:
        """Returns the outcome as it may be kept and shown: named limits, a plausible reset time and no secrets."""
        if outcome.kind == "timeout":
            outcome.reason = self.settings.limit_text(outcome.reason)
        outcome.reset_at = clamp_reset_time(outcome.reset_at)
        values = environments.secrets(self.settings.environment, self.extra_variables())
        outcome.reason = environments.redact_text(outcome.reason, values)
        outcome.text = environments.redact_text(outcome.text, values)
        return outcome

    def _clean_text(self, text: str) -> str:
        return escape_control(
            environments.redact_text(text, environments.secrets(self.settings.environment, self.extra_variables()))
        )

    def worker_variables(self, record: SessionRecord) -> dict[str, str]:
        """Returns the variables that tell a worker, and every `sow` that it calls, who it is."""
        return {
            "SOW_TASK": self.folder.id,
            "SOW_AGENT": self.agent.name,
            "SOW_ROOT": self.settings.home.root,
            "SOW_DESK": self.folder.folder,
            "SOW_RUN": f"{self.folder.id}/{record.session['number']}",
            REDACTED_VARIABLES: " ".join(self._secrets()),
            **self.folder.worker_environment(),
            **self._identity(),
        }

    def _identity(self) -> dict[str, str]:
        """Returns the user's git identity as variables, for a CLI that hides the user's git settings from its tools."""
        if not self.adapter.capabilities.hides_git_identity:
            return {}
        from sow.system import git

        variables = {}
        for field in ("name", "email"):
            value = git.run(["config", "--get", f"user.{field}"], cwd=self.settings.home.root, check=False).strip()
            for part in ("AUTHOR", "COMMITTER"):
                variable = f"GIT_{part}_{field.upper()}"
                if value and variable not in self.settings.environment:
                    variables[variable] = value
        return variables

    def _is_busy(self, event: Event) -> bool:
        """Tells whether the CLI has only retried for BUSY_SECONDS."""
        if event.kind == "retry" and event.status in BUSY:
            self.busy_since = self.busy_since or time.monotonic()
            return time.monotonic() - self.busy_since >= BUSY_SECONDS
        if event.kind in ("text", "tool"):
            self.busy_since = 0.0
        return False

    def _on_event(self, event: Event, record: SessionRecord) -> str:
        """Passes an event on, and saves the session id when the CLI reports it; returns a reason to stop the child."""
        if event.kind == "refused":
            event.command, event.text = self._clean_text(event.command), self._clean_text(event.text)
        self.settings.on_event(event)
        if self._is_busy(event):
            return "retries"
        session_id = record.session.get("session_id")
        if not event.session or event.session == session_id:
            return ""
        if session_id is not None:
            self.other_session_id = event.session
            return "linger"
        record.session["session_id"] = event.session
        record.save()
        self.name_session(record.session["key"], event.session)
        return ""

    def name_session(self, key: str, name: str) -> None:
        """Records the CLI's own session id with the work; a judge's session belongs to no work."""
        if self.on_session is not None:
            self.on_session(key, name)


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
