"""Takes the turns of a run's workers on other hosts: sends the task, waits, and takes the result over."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from sow.agents.registry import Agent
from sow.cluster import remote_checks, settling
from sow.cluster.carrier import Carrier, TurnDelivery, TurnOrder
from sow.cluster.home_lease import HomeLease
from sow.cluster.late_results import keep_late
from sow.cluster.packet import BadPacket, Packet
from sow.cluster.transfer import drop_refs
from sow.cluster.turn_request import CHECKS, PROTOCOL, REFS, TurnRequest, new_token, pack_request
from sow.config import Config, ExecutorConfig, seconds
from sow.domain.checks import task_checks
from sow.domain.documents.state import Check, Task
from sow.engine import consent
from sow.engine.checks.check_list import CheckListResult
from sow.engine.checks.setup_plan import commit_reader, folder_reader
from sow.engine.runs.judge import Answer, JudgeQuestion
from sow.engine.runs.run_context import LocalTurns, RunContext, turn_fields
from sow.engine.runs.stop import CHECKS_ELSEWHERE
from sow.engine.runs.task_job import TaskJob
from sow.engine.turns import task_turn
from sow.engine.turns.settle import recover
from sow.engine.turns.task_turn import FinishedTurn, TaskTurn
from sow.engine.turns.turn import AgentTurn
from sow.errors import SowError
from sow.executors.adapter import Outcome
from sow.gitwork.repository import Repository
from sow.gitwork.worktree import EnvironmentProblem
from sow.store.files.checkout_home import Home
from sow.store.files.disk import remove_quietly
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.projects import tasks
from sow.store.projects.task_folder import TaskFolder
from sow.store.projects.task_updates import RUNNER
from sow.store.runs import sessions
from sow.store.runs.sessions import SessionRecord
from sow.system import clock, plain_file
from sow.system.process.steps import Steps
from sow.system.terminal import escape_control

OUTCOMES = {  # of deliveries of which nothing can be taken over
    "result": "failed",
    "lost": "lost",
    "refused": "refused",
    "no_host": "not_found",
    "interrupted": "interrupted",
    "rests": "limited",
}
DONE = object()
CHECK_FACTS = ("kind", "command", "exit", "seconds", "passed", "iteration", "host")
FIX_HINT = "fix that on the host, or leave the host out, and run again"


class RemoteTurns(LocalTurns):
    """The turns of one run on other hosts."""

    is_remote = True

    def __init__(self, carrier: Carrier, config: Config, *, take_over: bool = False) -> None:
        self.carrier = carrier
        self.config = config
        self.home_lists: set[str] = set()  # digests of check lists that no host could run
        self.has_dropped = False  # the packets that a killed run left
        self.take_over = take_over  # run the project, although another checkout does
        self.lease: HomeLease | None = None

    def begin(self, home: Home, project_id: str, command: str) -> Steps[None]:
        """Takes the lease of the project. Raises if another checkout runs it; `command` would take it over."""
        transfer = self.carrier.shared_transfer(home.root)
        if transfer is not None and self.lease is None:
            lease = HomeLease(home, project_id, transfer)
            yield from lease.take(by_force=self.take_over, command=command)
            self.lease = lease

    def end(self) -> Steps[None]:
        """Gives the lease back."""
        if self.lease is not None:
            yield from self.lease.release()
            self.lease = None

    def capacity(self) -> int:
        """Returns how many turns all hosts take at once."""
        return self.carrier.capacity()

    def keep_late(self, home: Home) -> Steps[list[str]]:
        """Keeps the work of lost turns whose results came late."""
        return keep_late(home, lambda host: self.carrier.transfer(home.root, host))

    def require(self, executor: ExecutorConfig) -> None:
        """Raises if no host offers an executor."""
        self.carrier.require(executor)

    def offers(self, executor: ExecutorConfig) -> bool:
        """Tells whether a host offers an executor."""
        return self.carrier.offers(executor.name)

    def accounts(self, executor: str) -> set[str]:
        """Returns the accounts with which hosts offer an executor."""
        return set(self.carrier.accounts(executor).values())

    def executors_of(self, context: RunContext, role: str) -> list[ExecutorConfig]:
        """Returns the executor of a role, then its fallbacks that a host offers."""
        config, only = context.config, context.settings.get("executor", "")
        names = [only] if only else dict.fromkeys((config.binding(role)[0], *config.fallbacks.get(role, ())))
        first, *fallbacks = map(config.executor, names)
        return [first, *(fallback for fallback in fallbacks if self.carrier.offers(fallback.name))]

    def judge(
        self, context: RunContext, question: JudgeQuestion[Answer], executor: ExecutorConfig, nonce: str
    ) -> Steps[tuple[Answer | None, Outcome]] | None:
        """Asks a reviewer on a host that offers its executor."""
        if not (question.commit and self.offers(executor) and isinstance(question.folder, TaskFolder)):
            return None
        return self._judge(context, question, question.folder, executor, nonce)

    def _judge(
        self,
        context: RunContext,
        question: JudgeQuestion[Answer],
        folder: TaskFolder,
        executor: ExecutorConfig,
        nonce: str,
    ) -> Steps[tuple[Answer | None, Outcome]]:
        settings = context.turn_settings(context.listener(question.job))
        with context.home.claim(f"task-{question.job}", purpose=f"{question.agent.name} reviews task {question.job}"):
            turn = AgentTurn(settings, folder, question.agent, executor, judging=True)
            record = turn.open_session("review")
            facts = {"task": question.job, "role": turn.agent.name, "executor": executor.name, "kind": "review"}
            order = self._order(
                context,
                turn,
                record,
                kind="review",
                text=question.prompt(nonce),
                nonce=nonce,
                form=question.form(nonce),
                base=question.base,
                head=question.commit,
                files=question.commit,
            )
            outcome = yield from context.turn(facts, self._take_review(context, record, order))
            end_facts = turn_fields(outcome, record.session["turns"][-1])
            context.journal("turn_ended", **facts, **end_facts, remarks=[])
        return (question.parse(outcome.text, nonce) if outcome.kind == "done" else None), outcome

    def _take_review(self, context: RunContext, record: SessionRecord, order: TurnOrder) -> Steps[Outcome]:
        """Waits for a review and takes its transcripts and its answer over."""
        delivery = yield from self._delivery(context.home.root, order)
        order.host = delivery.host or order.host
        if delivery.kind == "result" and delivery.commit:
            outcome = settling.settle_review(record, Packet(context.home.root, delivery.commit))
            outcome.account = delivery.account
        else:
            kind = {"left": "interrupted", "interrupted": "interrupted", "rests": "limited"}.get(
                delivery.kind, "failed"
            )
            outcome = Outcome(kind, reason=delivery.reason, reset_at=_first_reset(order, delivery))
            settling.end_turn(record, outcome, "reviewed")
        if context.isolation is not None:
            drop_refs(context.isolation.repository, order.refs)
        yield from self.carrier.settled(context.home.root, order)
        return outcome

    def check(
        self, job: TaskJob, checks: Sequence[Check], commit: str, tree: str, iteration: int
    ) -> Steps[CheckListResult | None]:
        """Runs a check list on a host that offers this; returns None if it has to run at home."""
        context, isolation = job.context, job.context.isolation
        if isolation is None or not checks or not self.carrier.offers(CHECKS):
            return None
        if task_checks.digest(checks) in self.home_lists:
            return None
        setup = context.setups.setup_for(commit_reader(context.home.root, tree))
        if setup.links or setup.copies or setup.sources is not None:  # these files are on this machine only
            return None
        order = self._check_order(job, checks, commit, setup.texts)
        delivery = yield from self._delivery(context.home.root, order)
        if delivery.kind == "left":  # it runs on, and sow runs stop ends it
            return CheckListResult(interrupted=True)
        order.host = delivery.host or order.host
        result, reason = None, delivery.reason
        if delivery.kind == "interrupted":
            result = CheckListResult(interrupted=True)
        elif delivery.commit:
            try:
                packet = Packet(context.home.root, delivery.commit)
                outcome = settling.outcome_of(packet, order.token)
                reason = outcome.reason
                if outcome.kind == "interrupted":
                    result = CheckListResult(interrupted=True)
                elif outcome.kind == "done":
                    result = remote_checks.read_results(
                        outcome.text, checks, tree=tree, iteration=iteration, host=order.host
                    )
            except BadPacket as error:
                reason = error.message
        drop_refs(isolation.repository, order.refs)
        yield from self.carrier.settled(context.home.root, order)
        remove_quietly(_place(context, job.id))
        if result is None:
            self.home_lists.add(task_checks.digest(checks))
            reason = escape_control(reason)
            context.progress(job.id, f"the checks run at home: {order.host or 'the hosts'}: {reason}"[:300])
            return None
        for entry in result.evidence:
            context.journal("check", task=job.id, **{key: entry[key] for key in CHECK_FACTS})  # type: ignore[literal-required]
        return result

    def _check_order(self, job: TaskJob, checks: Sequence[Check], commit: str, setup: Sequence[str]) -> TurnOrder:
        """Packs the request for a check list, and notes that it is out."""
        context, isolation = job.context, job.context.isolation
        if isolation is None:
            raise SowError("a run without worktrees stays on one host", "leave out --isolation none")
        commands = [check["command"] for check in checks]
        for command in commands:
            consent.require(context.agreed, command)
        token = new_token()
        commits = self._pack_request(
            context,
            job.folder,
            context.role_of(job.folder.task()),
            token,
            executor=CHECKS,
            model="",
            kind="check",
            text=remote_checks.write_list(checks),
            agreed=[*setup, *commands],
            base=isolation.integration.head,
            head=commit,
            files=commit,
        )

        def chosen(host: str) -> None:
            plain_file.write(_place(context, job.id), json.dumps({"token": token, "host": host}))
            context.progress(job.id, f"its checks run on {host}")

        plain_file.write(_place(context, job.id), json.dumps({"token": token, "host": ""}))
        return TurnOrder(
            token=token,
            title=f"task {job.id}: checks",
            executor=CHECKS,
            request_ref=f"{REFS}/{token}/request",
            checkpoint_ref=f"{REFS}/{token}/checkpoint",
            result_ref=f"{REFS}/{token}/result",
            commits=commits,
            chosen=chosen,
            wait_for_host=0.0,  # else they run at home
        )

    def can_resume(self, job: TaskJob, record: SessionRecord) -> bool:
        """Tells whether a session is on another host whose account does not rest, and was not refused or lost there."""
        outcomes = [turn.get("outcome", "") for turn in record.session["turns"]]
        if "host" not in record.session or outcomes == ["refused"] or outcomes[-1:] in (["lost"], ["not_found"]):
            return False
        executor, host = record.session["executor"], record.session["host"]
        account = self.carrier.accounts(executor).get(host, host)
        return account not in job.context.pool.rests(executor)

    def spawn(
        self, job: TaskJob, task: Task, role: Agent, executor: ExecutorConfig, *, fresh: bool, text: str
    ) -> Steps[FinishedTurn]:
        """Starts a new session on a machine that offers the executor."""
        context = job.context
        turn = self._turn(job, role, executor)
        with context.home.claim(f"task-{job.id}", purpose=f"{role.name} works on task {job.id}"):
            remarks = turn.settings.announce(recover(turn.folder, turn.settings.environment))
            for left in filter(lambda record: record.is_out, sessions.records(turn.folder)):
                settling.end_turn(left, Outcome("interrupted", reason="the run was killed before it was sent"))
            before = task_turn.begin(turn, RUNNER, fresh=fresh)
            remarks += turn.settings.announce(task_turn.choose_references(turn, before, RUNNER))
            if fresh and not text:
                text = "\n\n".join(task_turn.unread_feedback(turn.folder, ""))
            record = turn.open_session("recovery" if "session_id" in before else "spawn")
            order = self._work_order(job, turn, record, "spawn", fresh=fresh, text=text)
            session_id = record.session.get("session_id") or record.session["key"]
            tasks.start_worker(context.home, job.id, session_id, role.name, actor=RUNNER)
            return (yield from self._take(job, turn, record, order, remarks))

    def resume(self, job: TaskJob, task: Task, role: Agent, executor: ExecutorConfig, text: str) -> Steps[FinishedTurn]:
        """Continues a session on its own machine."""
        turn = self._turn(job, role, executor)
        with job.context.home.claim(f"task-{job.id}", purpose=f"{role.name} works on task {job.id}"):
            remarks = turn.settings.announce(recover(turn.folder, turn.settings.environment))
            record = sessions.current(turn.folder, task["session_id"])
            if record is None:
                raise SowError(f"task {job.id} has no session", "run again")
            record.begin_turn("resume", task["iteration"], [])
            order = self._work_order(job, turn, record, "resume", fresh=False, text=text)
            order.host = record.session.get("host", "")
            return (yield from self._take(job, turn, record, order, remarks))

    def follow(
        self, job: TaskJob, role: Agent, executor: ExecutorConfig, text: str, owner: SessionRecord
    ) -> Steps[FinishedTurn]:
        """Begins a task in a new session: one that continues another task's session stays on one host."""
        task = job.folder.task()
        return self.spawn(job, task, role, executor, fresh=False, text=text)

    def attach(self, job: TaskJob, role: Agent, executor: ExecutorConfig, record: SessionRecord) -> Steps[FinishedTurn]:
        """Waits for a turn that an earlier call of the run sent, or takes its result over."""
        turn = self._turn(job, role, executor)
        with job.context.home.claim(f"task-{job.id}", purpose=f"{role.name} works on task {job.id}"):
            token = record.session["turns"][-1]["remote"]["token"]
            request = f"{REFS}/{token}/request"
            commit = job.context.isolation.repository.find_commit(request) if job.context.isolation else ""
            order = self._new_order(job.context, turn, record, token, {request: commit} if commit else {})
            order.host, order.was_sent = record.session.get("host", ""), True
            return (yield from self._take(job, turn, record, order, []))

    def _turn(self, job: TaskJob, role: Agent, executor: ExecutorConfig) -> TaskTurn:
        settings = job.context.turn_settings(job.on_worker_event)
        return task_turn.spawn_turns(settings, job.id, role, [executor], cwd=job.context.folder_of(job.id))[0]

    def _work_order(
        self, job: TaskJob, turn: TaskTurn, record: SessionRecord, kind: str, *, fresh: bool, text: str
    ) -> TurnOrder:
        """Packs the request for a turn of work, with the worktree as it is."""
        context, isolation = job.context, job.context.isolation
        if isolation is None:
            raise SowError("a run without worktrees stays on one host", "leave out --isolation none")
        head, files = isolation.worktrees.snapshot(job.id, isolation.integration.head)
        setup = context.setups.wanted(folder_reader(isolation.worktrees.path(job.id)))
        missing = context.setups.missing(setup)
        if missing:
            raise EnvironmentProblem(f"you have not agreed to the set-up: {'; '.join(missing)}", "run the plan again")
        record.session["cwd"] = isolation.worktrees.path(job.id)
        return self._order(
            context,
            turn,
            record,
            kind=kind,
            fresh=fresh,
            text=text,
            agreed=setup.texts,
            base=isolation.integration.head,
            head=head,
            files=files,
        )

    def _order(self, context: RunContext, turn: AgentTurn, record: SessionRecord, **fields: Any) -> TurnOrder:
        """Packs the request from the state as it is, and records the turn as one on another host."""
        if not isinstance(turn.folder, TaskFolder):
            raise SowError("a run without worktrees stays on one host", "leave out --isolation none")
        token = new_token()
        names = {"executor": turn.executor.name, "model": turn.executor.model}
        commits = self._pack_request(context, turn.folder, turn.agent, token, **names, **fields)
        record.session["turns"][-1]["remote"] = {"token": token, "sent_at": clock.now(), "applied": 0}
        record.save()
        return self._new_order(context, turn, record, token, commits)

    def _pack_request(
        self, context: RunContext, folder: TaskFolder, agent: Agent, token: str, **fields: Any
    ) -> dict[str, str]:
        """Packs a request from the state as it is; returns the commits to send, by ref."""
        if context.isolation is None:
            raise SowError("a run without worktrees stays on one host", "leave out --isolation none")
        repository, project = context.isolation.repository, projects.load(context.home)
        request = TurnRequest(
            token=token,
            protocol=PROTOCOL,
            project_id=project["project_id"],
            branch=project["branch"],
            run=context.folder.id,
            task=folder.id,
            worktree=os.path.basename(context.isolation.worktrees.path(folder.id)),
            role=agent.name,
            timeout=float(context.settings.get("timeout", 0)),
            network=context.settings.get("network", "all"),
            sandbox=context.settings.get("sandbox", ""),
            is_trusted=context.config.trusts(context.home.root),
            sources=context.setups.sources is not None,
            **{"fresh": False, "nonce": "", "form": "", "agreed": [], **fields},
        )
        sign = str(self.config.setting("cluster", "sign"))
        commit, left_out = pack_request(repository, request, folder, project, agent, sign=sign)
        if left_out:
            context.progress(folder.id, f"{len(left_out)} files do not fit into the request: {', '.join(left_out[:3])}")
        if not self.has_dropped:
            _drop_unknown(context, repository)
            self.has_dropped = True
        with repository.locked():
            repository.set_ref(request.request_ref, commit, "", why="request")
        # The second ref keeps what most requests share, so that git need not send it again.
        return {request.request_ref: commit, f"refs/sow/bases/{request.project_id}": context.isolation.integration.head}

    def _new_order(
        self, context: RunContext, turn: AgentTurn, record: SessionRecord, token: str, commits: dict[str, str]
    ) -> TurnOrder:
        return TurnOrder(
            token=token,
            title=f"task {turn.folder.id}: {turn.agent.name} on {turn.executor.name}",
            executor=turn.executor.name,
            request_ref=f"{REFS}/{token}/request",
            checkpoint_ref=f"{REFS}/{token}/checkpoint",
            result_ref=f"{REFS}/{token}/result",
            commits=commits,
            chosen=lambda host: self._chosen(context, turn, record, host),
            tell=lambda text: context.progress(turn.folder.id, text),
            wait_for_host=seconds(str(self.config.setting("cluster", "wait_for_host"))),
            rests=lambda: context.pool.rests(turn.executor.name),
        )

    def _chosen(self, context: RunContext, turn: AgentTurn, record: SessionRecord, host: str) -> None:
        """Records the host before the turn starts there, so that a later call asks the same one."""
        if record.session.get("host") != host:
            record.session["host"] = host
            record.save()
        facts = {"role": turn.agent.name, "executor": turn.executor.name, "kind": record.session["turns"][-1]["kind"]}
        context.journal("sent", task=turn.folder.id, **facts, host=host)

    def _delivery(self, root: str, order: TurnOrder) -> Steps[TurnDelivery]:
        """Waits for the end of an order; raises if another checkout has taken over the project meanwhile."""
        steps, renewing = self.carrier.take(root, order), None
        try:
            pause = next(steps)
            while True:
                if self.lease is not None and renewing is None and self.lease.is_due():
                    renewing = self.lease.renew()
                if renewing is not None and next(renewing, DONE) is DONE:
                    renewing = None
                pause = steps.send((yield pause))
        except StopIteration as end:
            delivery: TurnDelivery = end.value
        finally:
            steps.close()
            if renewing is not None:
                renewing.close()
        if self.lease is not None and delivery.kind != "left":
            yield from self.lease.verify()
        return delivery

    def _take(
        self, job: TaskJob, turn: TaskTurn, record: SessionRecord, order: TurnOrder, remarks: list[str]
    ) -> Steps[FinishedTurn]:
        """Waits for the turn and takes its result over; everything in it can be repeated after a crash."""
        context, isolation = job.context, job.context.isolation
        if isolation is None:
            raise SowError("a run without worktrees stays on one host", "leave out --isolation none")
        delivery = yield from self._delivery(context.home.root, order)
        order.host = delivery.host or order.host
        if delivery.kind == "left":
            return _without_result(turn, record, Outcome("interrupted"), remarks)
        reason = f"{order.host}: {delivery.reason}" if delivery.kind == "result" else delivery.reason
        reset_at = _first_reset(order, delivery)
        commit, outcome = delivery.commit, Outcome(OUTCOMES[delivery.kind], reason=reason, reset_at=reset_at)
        if delivery.kind == "lost":  # with its host, but perhaps not all of its work
            commit = isolation.repository.find_commit(order.checkpoint_ref)
            kept = "the work up to its last checkpoint is here" if commit else "its work is not here"
            remarks += turn.settings.announce([f"{delivery.reason}; {kept}"])
        finished = _without_result(turn, record, outcome, remarks)
        if commit:
            try:
                packet = Packet(context.home.root, commit)
                finished = yield from settling.settle(turn, record, packet, isolation.worktrees, context.verbs, remarks)
                finished.outcome.account = delivery.account
            except BadPacket as error:
                reason = f"the result of {order.host} cannot be taken over: {error.message}"
                finished = _without_result(turn, record, Outcome(outcome.kind, reason=reason), remarks)
        drop_refs(isolation.repository, order.refs)
        settling.end_turn(record, finished.outcome, finished.status)  # last, because a crash before it repeats all
        yield from self.carrier.settled(context.home.root, order)
        if finished.outcome.kind == "refused":
            raise EnvironmentProblem(f"{order.host} could not take the turn: {finished.outcome.reason}", FIX_HINT)
        return finished


def _place(context: RunContext, task: str) -> str:
    """Returns the file that says which checks of a task are on another host."""
    return f"{context.checks_folder(task)}/{CHECKS_ELSEWHERE}"


def _first_reset(order: TurnOrder, delivery: TurnDelivery) -> int:
    """Returns when the first account can be used again, if a turn was not sent because all of them rest."""
    return min(order.rests().values(), default=1) if delivery.kind == "rests" else 0


def _without_result(turn: TaskTurn, record: SessionRecord, outcome: Outcome, remarks: list[str]) -> FinishedTurn:
    """Returns a turn of which nothing can be taken over."""
    return FinishedTurn(turn, record, outcome, turn.folder.task(), remarks, [], False)


def _drop_unknown(context: RunContext, repository: Repository) -> None:
    """Removes the packets that a killed run left, which no turn needs."""
    refs = repository.refs(f"{REFS}/")
    if not refs:
        return
    folders = task_folders.all_folders(context.home, projects.load(context.home))
    open_turns = [record.session["turns"][-1] for folder in folders for record in sessions.records(folder)
                  if record.has_open_turn]  # fmt: skip
    known = {turn["remote"]["token"] for turn in open_turns if "remote" in turn}
    drop_refs(repository, [ref for ref in refs if ref.split("/")[3] not in known])
