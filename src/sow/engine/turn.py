"""One turn of one worker: its session, its command, its process and its record. Spawn, resume and every run use it."""

from __future__ import annotations

import os
import time

from sow.agents import briefing
from sow.engine.own_command import sow_path
from sow.engine.recovery import strike
from sow.engine.runner import SupervisedRunner
from sow.engine.transcript import files_of, refusals_of, write_down
from sow.errors import SowError
from sow.executors import adapter as adapters
from sow.executors.adapter import Outcome, Request, Role
from sow.executors.executor import Executor, find_binary, missing_binary
from sow.executors.registry import adapter as find_adapter
from sow.executors.settings import program
from sow.executors.story import Story
from sow.store import bounds, sessions
from sow.store.home import STRUCK
from sow.store.litter import Litter
from sow.store.snapshot import Snapshot
from sow.system import clock, identity, redaction
from sow.system.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sow.agents.agent import Agent
    from sow.config import ExecutorConfig
    from sow.domain.shapes import Refusal, Session, SessionTurn
    from sow.engine.crew import Crew
    from sow.engine.evidence import Watch
    from sow.engine.steps import Steps
    from sow.executors.adapter import Adapter
    from sow.executors.story import Event
    from sow.store.desk import Desk
    from sow.store.member_desk import MemberDesk
    from sow.store.sessions import Record


# CLIs try again for minutes when the model's server is busy; a busy pool is better said than sat out. A few quick
# tries are theirs, so it is the time of nothing but tries that counts.
BUSY = (*adapters.LIMITED, *adapters.OVERLOADED)
BUSY_SECONDS = 10
LATE = 24 * 3600  # seconds: a limit that ended earlier says nothing about the next try
FARTHEST = 31 * 24 * 3600  # seconds: no limit of a plan lasts longer than a month
JUDGED = "review"  # the first turn of every session whose last words we decide from
GOING_ON = ("resume", "reminder")  # turns of a session that is there


def refuse_steered(crew: Crew, executor: ExecutorConfig, adapter: Adapter) -> None:
    """Refuse a CLI that would obey files of a repository that the user does not trust."""
    root = crew.home.root
    steering = [each for each in adapter.capabilities.obeys if os.path.lexists(f"{root}/{each}")]
    if steering:
        from sow.engine.own_layer import is_only_ours

        steering = [each for each in steering if not is_only_ours(root, each)]
    if steering and not crew.config.trusts(root):
        raise SowError(
            f"{executor.name} would obey {' and '.join(steering)} of this repository",
            f"look at what it says; then add {root} under `trust` (sow config edit), or use another executor",
        )


def plausible(moment: int) -> int:
    """When a limit ends, in seconds since 1970: 0 for a moment that is long past, at most a month from now."""
    now = int(time.time())
    return min(moment, now + FARTHEST) if moment > now - LATE else 0


class Seat:
    """A desk at which a worker works now, its role and its executor, under the claim of its task."""

    __slots__ = (
        "adapter",
        "agent",
        "busy_since",
        "crew",
        "cwd",
        "desk",
        "executor",
        "iteration",
        "judges",
        "model",
        "on_session",
        "path",
        "refusals",
        "reported",
        "snapshot",
        "watch",
    )

    def __init__(
        self,
        crew: Crew,
        desk: Desk | MemberDesk,
        agent: Agent,
        executor: ExecutorConfig,
        *,
        model: str = "",
        cwd: str = "",
        judging: bool = False,
    ) -> None:
        self.crew = crew
        self.judges = judging or agent.judges  # whatever its name is: who reviews changes nothing
        self.cwd = cwd  # where a new session works; without: the home checkout
        self.desk = desk
        self.agent = agent
        self.executor = executor
        self.adapter = find_adapter(executor.type)
        self.model = model  # the one that is wanted for this call, over the executor's and the session's
        self.on_session: Callable[[str, str], None] | None = None  # called with our id and the CLI's own one
        self.path = ""
        self.snapshot: Snapshot | None = None
        self.watch: Watch | None = None
        self.refusals: list[Refusal] = []  # of the last turn
        self.iteration = 0  # of its work when the turn began
        self.reported = ""
        self.busy_since = 0.0

    def let_through(self) -> list[str]:
        """The variables that the user lets this executor have besides its own."""
        named = self.executor.settings.get("env")
        return [str(each) for each in named] if isinstance(named, list) else []

    def binary(self) -> str:
        """The program; a missing one is said before anything is written."""
        if not self.path:
            named = program(self.executor.type, self.executor.settings)
            self.path = find_binary(named, self.crew.environment)
            if not self.path:
                raise missing_binary(self.executor.name, named, self.adapter.capabilities.install)
        return self.path

    def check(self) -> None:
        """Before anything is written: the program must be there, and no file of the repository may steer it."""
        self.binary()
        refuse_steered(self.crew, self.executor, self.adapter)

    def request(self, record: Record) -> Request:
        home = self.crew.home
        session = record.session.get("session_id") or record.session["key"]
        readable, linked = self._readable()
        return Request(
            role=Role(
                name=self.agent.name,
                tools=self.agent.tools,
                judges=self.judges,
                description=self.agent.description,
                words=briefing.words_of(self.agent) if self.agent.delegable else "",
            ),
            session=session,
            cwd=record.session["cwd"],
            folder=record.folder,
            folders=tuple(dict.fromkeys((self.desk.folder, home.checkout.git, home.checkout.common))),
            readable=tuple(readable),
            linked=tuple(linked),
            closed=self.desk.closed(),
            state=home.sow,
            commands=(sow_path(), "git", *self._tests()),
            yolo=self.executor.yolo,
            trusted=self.crew.config.trusts(home.root),
            model=self.model or record.session["model"],
            custom_args=self.executor.custom_args,
            extra=self.executor.settings,
        )

    def _readable(self) -> tuple[list[str], list[str]]:
        """The folders of the task's references that are ours, and linked ones; a judge is shown what it needs."""
        references = [] if self.judges else self.desk.references()
        if not any(each.startswith(".sow/") for each in references):
            return [], []
        from sow.store.repo_index import targets  # here, because few tasks have such references

        return bounds.shelves(self.crew.home, references, targets(self.crew.environment))

    def _tests(self) -> list[str]:
        """The task's own commands that the user agreed to: its worker may run them without a question, a judge not."""
        found = [] if self.agent.judges else self.desk.commands()
        if not found:
            return []
        from sow.domain.command_line import is_plain  # here and below, because the start of a worker should not wait
        from sow.engine.consent import agreed_in

        agreed = agreed_in(self.crew.home, self.crew.config, self.crew.environment)
        return [each for each in dict.fromkeys(found) if is_plain(each) and agreed.why(each)]

    def open_session(self, kind: str) -> Record:
        """A new session with its first turn, on disk before its id is in the task's state."""
        turn = sessions.new_turn(1, kind, self.desk.iteration, self._secrets())
        return sessions.create(self.desk, {**self.new_session(), "turns": [turn]})

    def _secrets(self) -> list[str]:
        """The names of the secrets that may get into the files of a turn."""
        return redaction.names_of_secrets(self.crew.environment, self.let_through())

    def new_session(self) -> Session:
        """A session as it begins, but for its number."""
        key = identity.uuid4()
        session: Session = {
            "number": 1,
            "key": key,
            "project_id": self.desk.owner,
            "task": self.desk.id,
            "role": self.agent.name,
            "executor": self.executor.name,
            "type": self.executor.type,
            "model": self.model or self.executor.model,
            "cwd": self.cwd or self.crew.home.root,
            "mark": identity.uuid4().replace("-", ""),
            "started_at": clock.now(),
            "turns": [],
        }
        if self.adapter.capabilities.session in (adapters.GIVEN, adapters.FILE):
            session["session_id"] = key
        return session

    def take(self, record: Record, kind: str, prompt: str) -> Steps[Outcome]:
        """Run the turn that a new session began with, or one more, and write down what it was."""
        if not record.has_begun:
            record.begin_turn(kind, self.desk.iteration, self._secrets())
        turn = record.session["turns"][-1]
        # Being put to work may be a new iteration; it is on disk with the turn's outcome, and asked for with that only.
        self.iteration = turn["iteration"] = self.desk.iteration
        request = self.request(record)
        self._look_around(request.cwd)
        runner = self._runner(record, turn)
        executor = Executor(self.executor.name, self.adapter, runner, self.binary())
        story = Story()
        try:
            with Litter(self.crew.home, request.cwd, self.adapter.capabilities.leaves):
                outcome = yield from self._run(executor, runner, request, prompt, story, goes_on=kind in GOING_ON)
        except SowError as error:  # such as a program that cannot be started
            write_down(record, turn, self._clean(Outcome("failed", reason=error.message)), Story(), runner)
            raise
        if self.snapshot is not None:
            self.snapshot.over = runner.gone
        self.refusals = refusals_of(record, turn, story, self._clean_text)
        if self.reported:
            outcome = Outcome("not_found", reason=f"the CLI answered with another session: {self.reported}")
        outcome = self._clean(outcome)
        if outcome.text:
            record.keep(turn["number"], "txt", f"{outcome.text}\n")
        write_down(record, turn, outcome, story, runner)
        return outcome

    def _run(
        self,
        executor: Executor,
        runner: SupervisedRunner,
        request: Request,
        prompt: str,
        story: Story,
        *,
        goes_on: bool,
    ) -> Steps[Outcome]:
        """The process of a turn, and what its end means."""
        lost = executor.lost(request) if goes_on else ""
        if lost:
            return Outcome("not_found", reason=lost)
        call, told = executor.resume_call(request, prompt) if goes_on else executor.spawn_call(request, prompt)
        ending = yield from runner.steps(call, request, told, story)
        return self.adapter.outcome(ending, story)

    def _look_around(self, folder: str) -> None:
        """What is there before the turn; the folder only where nothing else tells whether the worker did something."""
        home = self.crew.home
        self.reported, self.busy_since = "", 0.0
        told = self.adapter.capabilities.structured or self.executor.settings.get("allow_empty")
        self.watch = None if told else self._watch(folder)
        with home.lock():
            self.snapshot = Snapshot(home, seen=self.crew.seen)

    def _watch(self, folder: str) -> Watch:
        from sow.engine.evidence import Watch

        return Watch(self.crew.home, folder, self.desk.id)

    def _runner(self, record: Record, turn: SessionTurn) -> SupervisedRunner:
        return SupervisedRunner(
            adapter=self.adapter,
            files=files_of(record, turn["number"]),
            limits=self.crew.limits(),
            environment=self.crew.environment_in(record.session["cwd"]),
            let_through=self.let_through(),
            marks=self.marks(record),
            mark=record.session["mark"],
            among_others=self.crew.seen is not None,
            sealed=record.session["turns"][0]["kind"] == JUDGED,
            on_event=lambda event: self._hear(event, record),
            strike=lambda paths: strike(record, turn, self.crew.environment, paths),
        )

    def _clean(self, outcome: Outcome) -> Outcome:
        """The outcome in words that may be kept and shown: limits by their names and with a sane end, and no secret."""
        if outcome.kind == "timeout":
            outcome.reason = self.crew.stopped_by(outcome.reason)
        outcome.reset_at = plausible(outcome.reset_at)
        values = redaction.secrets(self.crew.environment, self.let_through())
        outcome.reason = redaction.redact_text(outcome.reason, values)
        outcome.text = redaction.redact_text(outcome.text, values)
        return outcome

    def _clean_text(self, text: str) -> str:
        """A text of the CLI without secrets and control characters."""
        return harmless(redaction.redact_text(text, redaction.secrets(self.crew.environment, self.let_through())))

    def marks(self, record: Record) -> dict[str, str]:
        """What tells a worker, and every `sow` that it calls, who it is."""
        return {
            "SOW_TASK": self.desk.id,
            "SOW_AGENT": self.agent.name,
            "SOW_ROOT": self.crew.home.root,
            "SOW_DESK": self.desk.folder,
            "SOW_RUN": f"{self.desk.id}/{record.session['number']}",
            STRUCK: " ".join(self._secrets()),
            **self.desk.marks(),
            **self._identity(),
        }

    def _identity(self) -> dict[str, str]:
        """Who the user is to git, for a CLI that hides the user's git settings from its tools."""
        if not self.adapter.capabilities.hides_git_identity:
            return {}
        from sow.system import git

        found = {}
        for field in ("name", "email"):
            value = git.run(["config", "--get", f"user.{field}"], cwd=self.crew.home.root, check=False).strip()
            for who in ("AUTHOR", "COMMITTER"):
                variable = f"GIT_{who}_{field.upper()}"
                if value and variable not in self.crew.environment:
                    found[variable] = value
        return found

    def _is_busy(self, event: Event) -> bool:
        """Whether the CLI has done nothing but try again for a while."""
        if event.kind == "retry" and event.status in BUSY:
            self.busy_since = self.busy_since or time.monotonic()
            return time.monotonic() - self.busy_since >= BUSY_SECONDS
        if event.kind in ("text", "tool"):
            self.busy_since = 0.0
        return False

    def _hear(self, event: Event, record: Record) -> str:
        """Pass an event on; the id of a session is written down as soon as the CLI says it."""
        if event.kind == "refused":
            event.command, event.text = self._clean_text(event.command), self._clean_text(event.text)
        self.crew.tell(event)
        if self._is_busy(event):
            return "retries"
        known = record.session.get("session_id")
        if not event.session or event.session == known:
            return ""
        if known is not None:
            self.reported = event.session
            return "linger"
        record.session["session_id"] = event.session
        record.save()
        self.name_session(record.session["key"], event.session)
        return ""

    def name_session(self, key: str, name: str) -> None:
        """Record the CLI's own session id with the work; a judge's session belongs to no work."""
        if self.on_session is not None:
            self.on_session(key, name)
