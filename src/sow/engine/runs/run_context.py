"""Opens a run, and holds what all its jobs share: settings, roles, executors, budget, git state and journal.

An interrupted run is continued, and what a crash left is recovered.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sow import config
from sow.agents.registry import Agent, AgentRegistry
from sow.config import Config, ExecutorConfig
from sow.domain.checks.task_checks import Consent
from sow.domain.documents.state import ProjectState, Run, RunPlan, RunSettings, SessionTurn, Task
from sow.domain.network import ALL, MODEL, NONE, Hosts
from sow.domain.runs.scheduler import Budget
from sow.domain.task import DEFAULT_AGENT, unused_worktrees, worktree_name
from sow.domain.text.units import dollars
from sow.engine.checks.check_list import network_of_checks
from sow.engine.checks.concerns import Baselines
from sow.engine.checks.final_checks import FinalResult
from sow.engine.checks.setup_plan import Setups
from sow.engine.runs.run_job import ExecutorPool, JobQueue
from sow.engine.turns import settle, task_turn
from sow.engine.turns.settle import is_needed, recover
from sow.engine.turns.task_turn import FinishedTurn
from sow.engine.turns.turn import AgentTurn, TurnSettings
from sow.errors import SowError, Waiting
from sow.executors.adapter import Event, Outcome
from sow.executors.settings import adapter as find_adapter
from sow.gitwork.check_processes import remarks_on_left_checks
from sow.gitwork.integration_branch import Integration
from sow.gitwork.private_git import protect_repository
from sow.gitwork.prune import leftover_worktrees, remove_leftovers
from sow.gitwork.repository import Repository
from sow.gitwork.slots import Slots
from sow.gitwork.worktrees import Worktrees
from sow.store import git_watch
from sow.store.files import temp_files
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Claim, list_folder, remove_tree_quietly
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.projects import task_folder as task_folders
from sow.store.projects.task_folder import TaskFolder, load_or_repair
from sow.store.projects.task_updates import RUNNER
from sow.store.runs import run_folder, sessions
from sow.store.runs.run_folder import RunFolder
from sow.store.runs.sessions import SessionRecord
from sow.store.state_watcher import StateWatcher
from sow.store.workflows.folder import AgentFolder
from sow.system import clock, git
from sow.system.environment import worker_environment
from sow.system.process.child_process import ProcessLimits
from sow.system.process.steps import Steps
from sow.system.sandbox import Box, SandboxState, sandbox_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import Check
    from sow.engine.checks.check_list import CheckListResult
    from sow.engine.runs.judge import Answer, JudgeQuestion
    from sow.engine.runs.task_job import TaskJob


class LocalTurns:
    """Takes each turn in a process of this machine."""

    is_remote = False
    sends_commands = False  # whether workers send their commands to this process even without a sandbox

    def capacity(self) -> int:
        """Returns how many turns all hosts take at once; 0 is no limit of theirs."""
        return 0

    def begin(self, home: Home, project_id: str, command: str) -> Steps[None]:
        """Raises if another checkout runs the project on other hosts; `command` would take it over."""
        yield from ()

    def end(self) -> Steps[None]:
        """Lets other checkouts run the project."""
        yield from ()

    def keep_late(self, home: Home) -> Steps[list[str]]:
        """Keeps the work of turns on other hosts that counted as lost and ended later; returns remarks."""
        yield from ()
        return []

    def require(self, executor: ExecutorConfig) -> None:
        """Raises if no machine of the run offers an executor; the programs of this machine are checked elsewhere."""

    def offers(self, executor: ExecutorConfig) -> bool:
        """Tells whether another host offers an executor."""
        return False

    def accounts(self, executor: str) -> set[str]:
        """Returns the accounts with which other hosts offer an executor."""
        return set()

    def executors_of(self, context: RunContext, role: str) -> list[ExecutorConfig]:
        """Returns the executor of a role, then its fallbacks that can take turns."""
        return context.executors_of(role)

    def spawn(
        self, job: TaskJob, task: Task, role: Agent, executor: ExecutorConfig, *, fresh: bool, text: str
    ) -> Steps[FinishedTurn]:
        """Starts a new session on a task."""
        context = job.context
        settings, cwd = context.turn_settings(job.on_worker_event), context.folder_of(job.id)
        return task_turn.spawn(settings, job.id, role, [executor], actor=RUNNER, fresh=fresh, cwd=cwd, text=text)

    def resume(self, job: TaskJob, task: Task, role: Agent, executor: ExecutorConfig, text: str) -> Steps[FinishedTurn]:
        """Continues the task's session."""
        settings = job.context.turn_settings(job.on_worker_event)
        return task_turn.resume(settings, job.id, role, executor, text, actor=RUNNER, recorded=True)

    def follow(
        self, job: TaskJob, role: Agent, executor: ExecutorConfig, text: str, owner: SessionRecord
    ) -> Steps[FinishedTurn]:
        """Begins a task in the session of another one."""
        settings = job.context.turn_settings(job.on_worker_event)
        return task_turn.follow(settings, job.id, role, executor, text, owner, actor=RUNNER)

    def judge(
        self, context: RunContext, question: JudgeQuestion[Answer], executor: ExecutorConfig, nonce: str
    ) -> Steps[tuple[Answer | None, Outcome]] | None:
        """Asks a judge on another host; None if it has to be asked on this one."""
        return None

    def check(
        self, job: TaskJob, checks: Sequence[Check], commit: str, tree: str, iteration: int
    ) -> Steps[CheckListResult | None]:
        """Runs a check list on another host; returns None if it has to run on this one."""
        yield from ()
        return None

    def can_resume(self, job: TaskJob, record: SessionRecord) -> bool:
        """Tells whether a session is on this machine, in the folder that this run has for the task."""
        folder = os.path.realpath(job.context.folder_of(job.id))
        return "host" not in record.session and os.path.realpath(record.session["cwd"]) == folder

    def attach(self, job: TaskJob, role: Agent, executor: ExecutorConfig, record: SessionRecord) -> Steps[FinishedTurn]:
        """Continues with a turn that an earlier call of the run started on another host."""
        raise Waiting(
            f"the last turn on task {job.id} is on {record.session.get('host') or 'another host'}",
            "repeat the call with the same --on or --cluster",
        )


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
    has_journal: bool = True  # whether this process writes events to the run's journal

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
        if not self.has_journal:
            return
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


def open_run_folder(
    home: Home,
    owner: str,
    *,
    claim: Claim,
    name: str,
    branch: str,
    plans: list[RunPlan],
    tasks: list[str],
    settings: RunSettings,
) -> tuple[RunFolder, bool]:
    """Returns the unfinished run of a project or workflow, or a new one, and whether it continues."""
    unfinished_run = run_folder.unfinished_run(home, owner)
    if unfinished_run is not None and [plan["path"] for plan in unfinished_run.run["plans"]] == [
        plan["path"] for plan in plans
    ]:
        unfinished_run.run.update({"settings": settings, "tasks": tasks, "plans": plans, "status": "running"})
        unfinished_run.run.pop("ended_at", None)
        claim.record_run(unfinished_run.id)
        unfinished_run.save()
        return unfinished_run, True
    run: Run = {
        "id": run_folder.new_id(),
        "project_id": owner,
        "name": name,
        "branch": branch,
        "base": git.run(["rev-parse", "HEAD"], cwd=home.root).strip(),
        "status": "running",
        "started_at": clock.now(),
        "plans": plans,
        "tasks": tasks,
        "settings": settings,
    }
    claim.record_run(run["id"])
    return run_folder.create(home, run), False


def require_commit(home: Home, noun: str = "a run") -> str:
    """Returns the current branch; refuses a detached HEAD and a repository without a commit."""
    branch = home.checkout.branch()
    if not branch:
        raise SowError(f"HEAD is detached in {home.root}: {noun} works for a branch", "git switch -c feature/NAME")
    if not git.run(["rev-parse", "--verify", "--quiet", "HEAD"], cwd=home.root, check=False).strip():
        raise SowError(f"{home.root} has no commit yet", "make a first one: git commit --allow-empty -m first")
    return branch


def start_fields(run: Run, tasks: list[dict[str, Any]]) -> dict[str, object]:
    """Returns the fields of a run and its tasks or agents that the journal keeps when a call begins."""
    return {"run": run["id"], "name": run["name"], "plans": run["plans"], "tasks": tasks, "settings": run["settings"]}


def recover_project(home: Home, project: ProjectState, environment: Mapping[str, str]) -> list[str]:
    """Ends what earlier checks and turns left running, on every task that nobody works on; returns remarks."""
    with home.lock():
        for path in (home.project, f"{home.sow}/local/sessions", f"{home.sow}/local/runs"):
            temp_files.remove_temporary_files(path)
    remarks = remarks_on_left_checks(f"{home.sow}/local/runs")
    for folder in task_folders.all_folders(home, project):
        remarks += recover_turn(folder, environment)
        remarks += _repaired(folder, project["project_id"])
    return remarks + _swept(home, project)


def recover_turn(folder: TaskFolder | AgentFolder, environment: Mapping[str, str]) -> list[str]:
    """Ends what a turn of a task or agent left running, unless somebody works there now; returns remarks."""
    if not is_needed(folder) or folder.home.task_holder(folder.id):
        return []
    with folder.home.claim(f"task-{folder.id}", purpose="recovery"):
        return recover(folder, environment)


def _swept(home: Home, project: ProjectState) -> list[str]:
    """Removes worktrees that a run left when it was killed between the end of a task and their removal."""
    loaded = task_folders.load_readable(home, project)[0]
    ended = {name for name in unused_worktrees(task for _, task in loaded) if not home.task_holder(name)}
    if not leftover_worktrees(home, ended):
        return []
    swept = remove_leftovers(home, ended)
    remarks = [f"removed worktree {name}, which an earlier run left" for name in swept.removed]
    return remarks + [f"worktree {name} of an earlier run stays: {reason}" for name, reason in swept.kept.items()]


def _repaired(folder: TaskFolder, project_id: str) -> list[str]:
    """Repairs a broken state file, because an unreadable task would look like a new task of the plan."""
    with folder.home.lock():
        _, remark = load_or_repair(folder, project_id)
    return [f"task {folder.id}: {remark}"] if remark else []


class MeasuredBudget(Budget):
    """A budget with measured time, so that changes of the system clock have no effect."""

    def stop_reason(self, now: float) -> str:
        """Returns the limit that is reached; `now` is ignored."""
        return super().stop_reason(time.monotonic())


def budget_of(context: RunContext, folders: Iterable[TaskFolder | AgentFolder]) -> Budget:
    """Returns the limits of a run, with what its earlier calls used."""
    time_limit = context.config.setting("budgets", "run_time")
    budget = MeasuredBudget(
        max_cost=context.settings.get("max_cost", context.config.setting("budgets", "run_usd")),
        max_tokens=context.config.setting("budgets", "run_tokens"),
        max_seconds=config.seconds(str(time_limit)) if time_limit else None,
        max_spawns=context.config.setting("budgets", "run_spawns"),
        begun=time.monotonic(),
    )
    since = context.folder.run["started_at"]
    for folder in folders:
        for record in sessions.records(folder):
            for turn in record.session["turns"]:
                if turn["started_at"] >= since:
                    budget.count_start()
                    add_cost(budget, turn)
    return budget


def add_cost(budget: Budget, turn: Mapping[str, Any]) -> None:
    """Adds the reported cost of a turn."""
    counts = [turn.get(key) for key in ("input_tokens", "output_tokens")]
    tokens = None if None in counts else sum(count for count in counts if count is not None)
    budget.spend(cost=turn.get("cost_usd"), tokens=tokens)


ASKED = "Its budget is spent"


def budget_question(config: Config, folder: TaskFolder | AgentFolder, answers: Iterable[tuple[str, str]]) -> str:
    """Returns the question to ask if `budgets.task_usd` is used up; each answer to it allows the same sum again."""
    limit = config.setting("budgets", "task_usd")
    if limit is None:
        return ""
    raised_at = max((at for text, at in answers if text.startswith(ASKED)), default="")
    turns = [turn for record in sessions.records(folder) for turn in record.session["turns"]]
    cost = sum(turn.get("cost_usd") or 0 for turn in turns if turn["started_at"] > raised_at)
    if cost < limit:
        return ""
    since = " since you raised it" if raised_at else ""
    spent = f"{folder.label} has cost {dollars(cost)} of {dollars(limit)}{since}"
    return f"{ASKED}: {spent}. Continue for {dollars(limit)} more?"
