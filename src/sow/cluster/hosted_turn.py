"""Takes one turn for another host: unpacks the request, runs the turn as any other, and packs its result."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sow.agents.registry import PROJECT, Agent, read_agent
from sow.cluster import remote_checks
from sow.cluster.detached_turn import STOP
from sow.cluster.host_folder import HostFolder, machine_name
from sow.cluster.packet import BadPacket, Packet, files_below, pack, within_limits
from sow.cluster.turn_request import ROLE, STATE, read_request
from sow.config import Config, ExecutorConfig, seconds
from sow.domain.documents.state import Run, SessionTurn
from sow.domain.network import narrower
from sow.domain.reviews import verdict
from sow.engine import consent
from sow.engine.checks.check_list import run_list
from sow.engine.checks.setup_plan import commit_reader, folder_reader
from sow.engine.runs.judge import JudgeQuestion, ask_once
from sow.engine.runs.run_context import LocalTurns, RunContext
from sow.engine.runs.task_job import TaskJob
from sow.engine.turns import settle
from sow.engine.turns.task_turn import FinishedTurn
from sow.errors import Interrupted, SowError
from sow.executors.adapter import Outcome
from sow.executors.settings import adapter as find_adapter
from sow.gitwork.repository import Repository
from sow.gitwork.worktree import Worktree
from sow.store import git_watch, layout
from sow.store.files.checkout_home import Home
from sow.store.files.disk import remove_quietly, remove_tree_quietly
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import run_folder, sessions
from sow.store.runs.sessions import SessionRecord
from sow.store.user import consents
from sow.system import clock, plain_file
from sow.system.git import run as run_git
from sow.system.process.steps import Steps

Verbs = Callable[[list[str], Mapping[str, str]], int]
ENDINGS = ("prompt", "out", "err", "md", "txt")
MOST_SESSION_FILE = 16 << 20
BEGUN = "begun"  # names the last session and the number of its turns before this one
READY = "ready"  # exists if the worktree is that of the request
LOOK_EVERY = 10.0  # seconds between two looks for new commits
MOST_RECORDED = 10_000  # commands of one worker


class RecordedVerbs:
    """Runs the commands of a worker on this machine, and records those that were accepted, for the user's machine."""

    def __init__(self, verbs: Verbs, path: str) -> None:
        self.verbs = verbs
        self.path = path

    def __call__(self, words: list[str], environment: Mapping[str, str]) -> int:
        code = self.verbs(words, environment)
        if words and not code:
            line = json.dumps({"at": clock.now(), "words": words}) + "\n"
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, line.encode("utf-8", "backslashreplace"))
            finally:
                os.close(descriptor)
        return code

    def recorded(self) -> list[dict[str, Any]]:
        """Returns the accepted commands, oldest first."""
        if not os.path.exists(self.path):
            return []
        lines = plain_file.read_text(self.path, MOST_SESSION_FILE).splitlines()[:MOST_RECORDED]
        return [json.loads(line) for line in lines if line.endswith("}")]


class HostedTurn:
    """One turn for another host, in a home of this one."""

    def __init__(
        self,
        host: HostFolder,
        config: Config,
        token: str,
        verbs: Verbs,
        tell: Callable[[dict[str, Any]], None],
        *,
        is_same_user: bool,
    ) -> None:
        """`is_same_user`: the sender logged in as this user, so that the user's consents hold here too."""
        self.host = host
        self.config = config
        self.folder = host.turn_folder(token)
        self.verbs = RecordedVerbs(verbs, f"{self.folder}/verbs.jsonl")
        self.tell = tell
        self.is_same_user = is_same_user
        self.is_left: Callable[[], bool] = lambda: False  # whether the process that started this one is gone
        commit = host.find(f"refs/sow/turns/{token}/request")
        if not commit:
            raise SowError(f"there is no request {token}", "sow sends it before it starts the turn")
        self.packet = Packet(host.repository, commit)
        self.request = read_request(self.packet)
        if self.request.token != token:
            raise BadPacket("the request has the token of another one", "")
        self.home: Home = host.home_of(self.request)

    def run(self) -> Steps[str]:
        """Takes the turn and returns the commit of its result; a turn that was started before is not repeated."""
        finished = self.host.find(self.request.result_ref)
        if finished:
            return finished
        claim = self.home.claim(f"turn-{self.request.task}", purpose=f"a turn on task {self.request.task}")
        with claim:
            self._point_head()
            with git_watch.sealed_repository(self.home):
                return (yield from self._run())

    def _point_head(self) -> None:
        """Lets the home stand on the user's branch, at the base of the request."""
        repository, branch = Repository(self.home), f"refs/heads/{self.request.branch}"
        with repository.locked():
            repository.git("update-ref", branch, self.request.base)
            repository.git("symbolic-ref", "HEAD", branch)
            repository.git("read-tree", "HEAD")

    def _run(self) -> Steps[str]:
        """Takes the turn, for a caller that holds the claim of the task."""
        if os.path.exists(f"{self.folder}/{STOP}"):
            return self._pack_rest(Outcome("interrupted", reason="the turn was stopped"))
        if os.path.exists(f"{self.folder}/{BEGUN}"):
            return self._pack_rest(Outcome("lost", reason="the turn's sow was killed on its host"))
        clock.crash_point(f"begin {self.request.token}")
        last = self._last_record()
        known = [last.session["number"], len(last.session["turns"])] if last is not None else [0, 0]
        plain_file.write(f"{self.folder}/{BEGUN}", json.dumps(known))
        context: RunContext | None = None
        try:
            self._unpack()
            context = self._context()
            if self.request.kind == "check":
                return self._pack(context, None, self._stopped((yield from self._check(context))), [])
            if self.request.kind == "review":
                return self._pack(context, None, self._stopped((yield from self._review(context))), [])
            finished_turn = yield from self._with_checkpoints(context, self._take(context))
        except Interrupted as error:
            return self._pack(context, None, self._stopped(Outcome("interrupted", reason=error.message)), [])
        except SowError as error:
            return self._pack(context, None, Outcome("refused", reason=f"{error.message} ({error.hint})"), [])
        return self._pack(context, finished_turn, self._stopped(finished_turn.outcome), finished_turn.remarks)

    def _stopped(self, outcome: Outcome) -> Outcome:
        """Returns the outcome; a turn that ended with its host is lost, and was not stopped by a person."""
        if outcome.kind == "interrupted" and self.is_left():
            return Outcome("lost", reason="the host stopped in the middle of the turn")
        return outcome

    def _with_checkpoints(self, context: RunContext, steps: Steps[FinishedTurn]) -> Steps[FinishedTurn]:
        """Takes a turn, and packs what it did so far now and then: after a commit, and after some minutes."""
        interval = seconds(str(self.config.setting("host", "checkpoint")))
        packed_at = looked_at = time.monotonic()
        head, signal = "", ""
        try:
            pause = next(steps)
            while True:
                now = time.monotonic()
                is_due = now > packed_at + interval
                if not is_due and now > looked_at + min(LOOK_EVERY, interval):
                    before, head, looked_at = head, self._head(context), now
                    is_due = bool(before) and head != before
                if is_due:
                    self._pack_checkpoint(context)
                    packed_at = time.monotonic()
                signal = yield pause
                pause = steps.send(signal)
        except StopIteration as end:
            finished: FinishedTurn = end.value
            return finished

    def _head(self, context: RunContext) -> str:
        """Returns the commit in the worktree; a worker in the sandbox shows its commits only at the end."""
        isolation = context.isolation
        return Worktree(isolation.repository, self.request.worktree).head() if isolation is not None else ""

    def _pack_checkpoint(self, context: RunContext) -> None:
        """Packs the work so far, without transcripts, whose secrets are removed at the end of the turn only."""
        request, isolation = self.request, context.isolation
        if isolation is None or not os.path.exists(f"{self.folder}/{READY}"):
            return
        head, files_commit = isolation.worktrees.snapshot(request.task, request.base, at_work=True)
        facts = {
            "token": request.token,
            "protocol": request.protocol,
            "outcome": "lost",
            "reason": "the host was lost",
            "verbs": self.verbs.recorded(),
            "head": head,
            "files": files_commit,
        }
        parents = list(dict.fromkeys((head, files_commit)))
        commit = pack(isolation.repository, facts, {}, parents, message=f"Checkpoint of task {request.task}")
        self._publish(commit, request.checkpoint_ref)
        self.tell({"event": "checkpoint"})

    def _publish(self, commit: str, ref: str) -> None:
        """Puts a packet where its reader finds it."""
        clock.crash_point(f"publish {ref}")
        run_git(["push", "--quiet", "--force", "--", self.host.repository, f"{commit}:{ref}"], cwd=self.home.root)

    def _unpack(self) -> None:
        """Writes the state that the turn needs, and nothing of an earlier turn but its sessions and its worktree."""
        home, request = self.home, self.request
        if os.path.isdir(home.project):
            folder = TaskFolder(home, "", request.task)
            for record in sessions.records(folder):
                settle.end_session(record, self.host.environment)
        remove_tree_quietly(home.project)
        remove_tree_quietly(f"{home.checkout.common}/sow/{request.project_id}")
        for name, data in self.packet.files(STATE):
            path = f"{home.sow}/{name}"
            home.folder(*os.path.dirname(name).split("/")) if "/" in name else home.folder()
            plain_file.create_with(path, data)
        layout.create_missing(home)
        self._show_steering_files()

    def _show_steering_files(self) -> None:
        """Puts the files that can steer the agent CLI into the home as the user's commit has them.

        Like everywhere, a CLI is refused if it would obey such files of a repository that the user does not trust.
        """
        if self.request.kind == "check":
            return
        repository = Repository(self.home)
        for name in find_adapter(self.config.executor(self.request.executor).type).capabilities.obeys:
            remove_tree_quietly(f"{self.home.root}/{name}")
            remove_quietly(f"{self.home.root}/{name}")
            if repository.tree_entries(self.request.base, name):
                repository.git("checkout", "--quiet", self.request.base, "--", name)

    def _context(self) -> RunContext:
        """Opens the run as far as this machine needs it: its integration branch and its worktree."""
        home, request, config = self.home, self.request, self.config
        run: Run = {
            "id": request.run,
            "project_id": request.project_id,
            "name": f"task {request.task}",
            "branch": request.branch,
            "base": request.base,
            "head": request.base,
            "status": "running",
            "started_at": clock.now(),
            "plans": [],
            "tasks": [request.task],
            "settings": {
                "max_concurrency": 1,
                "schedule": "ready",
                "isolation": "worktree",
                "review": "off",
                "retries": 0,
                "max_wait": 0,
                "network": narrower(request.network, config.sandbox_network(request.role)),
            },
        }
        if request.sandbox:
            run["settings"]["sandbox"] = request.sandbox
        if request.timeout:
            run["settings"]["timeout"] = request.timeout
        if request.sources:
            run["accepted"] = ["outside_imports"]
        folder = run_folder.create(home, run)
        if self.is_same_user:
            repository = (self.host.environment, home.checkout.common)
            consents.record(*repository, request.agreed)
        if request.is_trusted:
            config.trust.append(home.root)
        agreed = consent.load_consents(home, config, self.host.environment)
        agents = config.agents(home.root, self.host.environment)
        return RunContext(
            home,
            config,
            self.host.environment,
            agents,
            folder,
            [self._beat],
            agreed,
            verbs=self.verbs,
            turns=HostTurns(),
        )

    def _beat(self, entry: dict[str, Any]) -> None:
        if entry["event"] in ("step", "refused"):
            self.tell({key: entry[key] for key in ("event", "text", "tool", "command", "reason") if key in entry})

    def _take(self, context: RunContext) -> Steps[FinishedTurn]:
        """Makes the worktree equal to the user's one, sets it up, and takes the turn."""
        request, isolation = self.request, context.isolation
        if isolation is None:
            raise SowError("the run has no worktrees", "report this: it is a bug")
        isolation.worktrees.names = {request.task: request.worktree}
        job = TaskJob(context, request.task)
        isolation.worktrees.prepare(request.task, request.base, fresh=request.fresh)
        isolation.worktrees.receive(request.task, request.head, request.files)
        plain_file.write(f"{self.folder}/{READY}", "")
        task = job.folder.task()
        missing = context.setups.missing(context.setups.wanted(folder_reader(isolation.worktrees.path(request.task))))
        if missing:
            raise SowError(
                f"the user of this host has not agreed to the set-up: {'; '.join(missing)}",
                "add it to checks.allow there: sow config edit",
            )
        if not (yield from job.set_up(task)):
            raise Interrupted("the turn was stopped during the set-up of its worktree", "run again")
        role, executor = self._role(context), self._executor()
        self.tell({"event": "started", "host": machine_name(self.config)})
        is_here = sessions.current(job.folder, task.get("session_id", "")) is not None
        if request.kind == "resume" and is_here:
            return (yield from context.turns.resume(job, task, role, executor, request.text))
        fresh = request.fresh or request.kind == "resume"  # the host was emptied since the last turn
        return (yield from context.turns.spawn(job, task, role, executor, fresh=fresh, text=request.text))

    def _review(self, context: RunContext) -> Steps[Outcome]:
        """Asks the judge in a clean checkout of the work."""
        request, isolation = self.request, context.isolation
        if isolation is None:
            raise SowError("the run has no worktrees", "report this: it is a bug")
        folder = task_folders.find(self.home, projects.load_anywhere(self.home), request.task)

        @contextmanager
        def checkout() -> Iterator[str]:
            path = isolation.worktrees.make_judge_checkout(request.task, request.head, request.base)
            try:
                yield path
            finally:
                isolation.worktrees.remove_judge_checkout(request.task)

        question = JudgeQuestion(
            request.task,
            folder,
            self._role(context),
            prompt=lambda nonce: request.text,
            form=lambda nonce: request.form,
            parse=verdict.parse,
            checkout=checkout,
        )
        self.tell({"event": "started", "host": machine_name(self.config)})
        _, outcome = yield from ask_once(context, question, self._executor(), request.nonce)
        return outcome

    def _check(self, context: RunContext) -> Steps[Outcome]:
        """Runs the check list in a clean checkout of the work; what cannot run here is left to the sender."""
        request = self.request
        self.tell({"event": "started", "host": machine_name(self.config)})
        try:
            missing = context.setups.missing(context.setups.wanted(commit_reader(self.home.root, request.head)))
            if missing:
                return Outcome("failed", reason=f"the user of this host has not agreed to: {'; '.join(missing)}")
            checks = remote_checks.read_list(request.text)
            tree = run_git(["rev-parse", f"{request.head}^{{tree}}"], cwd=self.home.root).strip()
            result = yield from run_list(
                context, checks, commit=request.head, tree=tree, iteration=1, name=request.task
            )
        except Interrupted:
            raise
        except SowError as error:
            return Outcome("failed", reason=error.message)
        if result.interrupted:
            return Outcome("interrupted", reason="the checks were stopped")
        return Outcome("done", text=remote_checks.write_results(result))

    def _executor(self) -> ExecutorConfig:
        """Returns the executor of this host, with the model that the run wants."""
        executor = self.config.executor(self.request.executor)
        if self.request.model:
            executor.settings["model"] = self.request.model
        return executor

    def _role(self, context: RunContext) -> Agent:
        """Returns the role: the one whose file came with the request, else a built-in one."""
        name = self.request.role
        for file, data in self.packet.files(ROLE):
            path = f"{self.home.folder('local', 'roles')}/{os.path.basename(file)}"
            plain_file.create_with(path, data)
            role = read_agent(path, PROJECT, path)
            if role is not None and role.name == name:
                return role
        return context.agents.get(name)

    def _pack(
        self, context: RunContext | None, finished: FinishedTurn | None, outcome: Outcome, remarks: list[str]
    ) -> str:
        """Makes the commit of the result: the work, the transcripts, the outputs and the accepted commands."""
        request = self.request
        isolation = context.isolation if context is not None else None
        head, files_commit, others = request.head, request.files, []
        if isolation is not None and os.path.exists(f"{self.folder}/{READY}"):
            head, files_commit = isolation.worktrees.snapshot(request.task, request.base)
            others = isolation.worktrees.pinned(request.task)
        record = finished.record if finished is not None else self._last_record()
        turns = self._new_turns(record)
        files: dict[str, str] = {}
        if record is not None:
            for number, turn in enumerate(turns, 1):
                for ending in ENDINGS:
                    path = record.file(turn["number"], ending)
                    if os.path.isfile(path) and os.path.getsize(path) <= MOST_SESSION_FILE:
                        files[f"session/{number}.{ending}"] = path
        status, reason = "", ""
        try:
            folder = task_folders.find(self.home, projects.load_anywhere(self.home), request.task)
            task = folder.task()
            status, reason = task["status"], task.get("question", {}).get("text", "")
            files |= files_below(f"{folder.folder}/task_output", "output")
        except SowError as error:
            remarks = [*remarks, f"the state of the task could not be read: {error.message}"]
        files, left_out = within_limits(files)
        remarks += [f"{len(left_out)} files did not fit into the result: {', '.join(left_out[:5])}"] if left_out else []
        facts = {
            "token": request.token,
            "protocol": request.protocol,
            "host": machine_name(self.config),
            "outcome": outcome.kind,
            "reason": outcome.reason[:2000],
            "text": outcome.text,
            "reset_at": outcome.reset_at,
            "status": status,
            "status_reason": reason,
            "session": {**record.session, "turns": turns} if record is not None and turns else {},
            "refusals": finished.refusals if finished is not None else [],
            "remarks": remarks,
            "verbs": self.verbs.recorded(),
            "head": head,
            "files": files_commit,
        }
        repository = isolation.repository if isolation is not None else Repository(self.home)
        parents = list(dict.fromkeys((head, files_commit, *others)))
        commit = pack(repository, facts, files, parents, message=f"Result of task {request.task}")
        self._publish(commit, request.result_ref)
        return commit

    def _new_turns(self, record: SessionRecord | None) -> list[SessionTurn]:
        """Returns the turns of a session that were taken for this request."""
        if record is None or not os.path.exists(f"{self.folder}/{BEGUN}"):
            return []
        number, count = json.loads(plain_file.read_text(f"{self.folder}/{BEGUN}", 100))
        return record.session["turns"][count if record.session["number"] == number else 0 :]

    def _last_record(self) -> SessionRecord | None:
        records = sessions.records(TaskFolder(self.home, "", self.request.task))
        return records[-1] if records else None

    def _pack_rest(self, outcome: Outcome) -> str:
        """Ends what is left of a turn whose sow ended before it, and packs what it did."""
        folder = TaskFolder(self.home, "", self.request.task)
        for record in sessions.records(folder):
            settle.end_session(record, self.host.environment)
        context: RunContext | None = None
        try:
            context = self._context()
            if context.isolation is not None:
                context.isolation.worktrees.names = {self.request.task: self.request.worktree}
        except SowError:
            pass
        return self._pack(context, None, outcome, [])


class HostTurns(LocalTurns):
    """Turns of this machine whose workers send all their commands, also without a sandbox."""

    sends_commands = True
