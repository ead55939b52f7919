"""Runs one agent process with its prompt, limits and secrets, records the turn, and keeps the caches of its CLI."""

from __future__ import annotations

import os
import time

from sow.executors.adapter import NETWORK, Adapter, AgentCommand, Event, ProcessEnd, Request, TurnSummary
from sow.executors.adapter import transcript_line as story_text
from sow.executors.settings import adapter as find_adapter
from sow.record import Record
from sow.store.files.disk import move_quietly, remove_tree_quietly
from sow.system import clock, plain_file
from sow.system.environment import worker_environment
from sow.system.process import child_process
from sow.system.process.child_process import CONTINUE
from sow.system.terminal import escape_control, escape_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sow.domain.documents.state import Refusal, SessionTurn
    from sow.engine.turns.worker_sandbox import OpenBox
    from sow.executors.adapter import Outcome
    from sow.store.files.checkout_home import Home
    from sow.store.runs.sessions import SessionRecord
    from sow.system.process.steps import Steps

MAX_REPORT = 1 << 20
NO_CONNECTION = "the sandbox lets this agent reach its model and the hosts of your settings only"


class TurnFiles(Record):
    """The paths of one turn's files."""

    prompt: str
    out: str
    err: str
    readable: str


class SupervisedRunner(Record):
    """Runs the supervised process of one turn."""

    adapter: Adapter
    files: TurnFiles
    limits: child_process.ProcessLimits
    environment: Mapping[str, str]
    extra_variables: Sequence[str]
    marks: Mapping[str, str]
    mark: str
    on_event: Callable[[Event], str]  # called with every event; if it returns a reason, the child is stopped
    redact_files: Callable[[Iterable[str]], object]  # called with the files outside the session's folder
    on_start: Callable[[], None] | None = None  # called when the process runs, for work that must not delay it
    shares_thread: bool = False  # whether one thread follows several processes
    tamper_proof: bool = False  # for a judge: other agents can change neither its prompt nor its output
    sandbox: OpenBox | None = None
    seconds: float = 0.0
    all_gone_at: float = float("inf")  # when the last process of this child was gone
    code: int | None = None

    def run(self, call: AgentCommand, request: Request, prompt: str, summary: TurnSummary) -> Steps[ProcessEnd]:
        """Runs the process until it has ended and everything is cleaned up."""
        plain_file.write(self.files.prompt, prompt)
        for path, text in call.files.items():
            plain_file.write(path, text)
        if call.report and os.path.lexists(call.report):
            clock.crash_point(f"remove {call.report}")
            os.unlink(call.report)  # a report of an earlier turn must not count for this one
        try:
            ending = yield from self._supervise(call, request, prompt, summary)
        finally:
            self.redact_files((*call.files, *((call.report,) if call.report else ())))
        for event in self.adapter.read_report(plain_file.read_text(call.report, MAX_REPORT)) if call.report else ():
            summary.add(event)
        return ending

    def _supervise(self, call: AgentCommand, request: Request, prompt: str, summary: TurnSummary) -> Steps[ProcessEnd]:
        """Runs the process from its start until all of its children are gone."""
        allowed = (*self.adapter.capabilities.variables, *self.extra_variables)
        environment = worker_environment(self.environment, own=allowed, marks=self.marks)
        if self.sandbox is not None:
            environment |= self.sandbox.variables
        connections = child_process.LogTail(child_process.network_log(self.files.out))
        child = child_process.Child(
            call.arguments,
            cwd=request.cwd,
            environment={**environment, **call.environment},
            stdin_path=self.files.prompt,
            stdout_path=self.files.out,
            stderr_path=self.files.err,
            mark=self.mark,
            limits=self.limits,
            stop_signal=self.adapter.capabilities.stop_signal,
            stops_group=self.adapter.capabilities.stops_group,
            sealed=prompt.encode("utf-8", "replace") if self.tamper_proof else None,
            box=self.sandbox.box if self.sandbox is not None else None,
        )
        started = time.monotonic()
        try:
            if self.on_start is not None:
                self.on_start()
            log = child_process.LogTail(self._log_path(request, environment))
            yield from self._follow(child, summary, log, connections)
            if self.shares_thread:
                yield CONTINUE  # other turns may have ended, too: one scan of the process table then serves all
        finally:
            code = self.code = child.close()
            self.all_gone_at = child.tree_ended
            self.seconds = time.monotonic() - started
        if child.box_failed and code:
            from sow.gitwork.worktree import EnvironmentProblem

            reason = child.stderr_tail().strip().partition("\n")[0][:300] or "it gave no reason"
            raise EnvironmentProblem(
                f"the sandbox of {os.path.basename(call.arguments[0])} did not start: {reason}",
                "see what sow doctor says about the sandbox",
            )
        return ProcessEnd(code, child.stderr_tail(), child.stopped)

    def _log_path(self, request: Request, environment: Mapping[str, str]) -> str:
        """Returns the path of the CLI's own log, which is in the private home if there is one."""
        path, home = self.adapter.log_path(request, environment), environment.get("HOME", "")
        if self.sandbox is None or not path.startswith(f"{home}/"):
            return path
        return f"{self.sandbox.home}{path.removeprefix(home)}"

    def _follow(
        self,
        child: child_process.Child,
        summary: TurnSummary,
        log: child_process.LogTail,
        connections: child_process.LogTail,
    ) -> Steps[None]:
        readable = plain_file.create(self.files.readable, os.O_WRONLY | os.O_APPEND)

        def take(line: str, read: Callable[[str], list[Event]] = self.adapter.read) -> None:
            for event in read(line):
                if not summary.add(event):
                    continue
                if event.kind == "result":
                    child.final_event_seen()
                elif event.kind in ("text", "tool"):
                    child.resumed_output()
                reason = self.on_event(event)
                if reason:
                    child.stop(reason)
                text = story_text(event)
                if text:
                    os.write(readable, escape_control(f"{text}\n").encode("utf-8", "replace"))

        try:
            while child.step(take, lambda line: take(line, self.adapter.read_error)):
                for line in log.read():
                    take(line, self.adapter.read_log)
                for line in connections.read():
                    take(line, read_connection)
                reason = yield
                if reason:
                    child.stop(reason)
            for line in connections.read():
                take(line, read_connection)
        finally:
            log.close()
            connections.close()
            os.close(readable)


def read_connection(line: str) -> list[Event]:
    """Parses a line of the log of a box's connections; a refused one is told like a refused command."""
    _, kind, host = [*line.split(" ", 2), "", ""][:3]
    return [Event("refused", NO_CONNECTION, tool=NETWORK, command=host)] if kind == "refused" else []


class StoredCaches:
    """Keeps a CLI's cache folders outside of the task's folder between turns; folders that the user has there stay."""

    __slots__ = ("folder", "home", "names")

    def __init__(self, home: Home, folder: str, names: Iterable[str]) -> None:
        self.home = home
        self.folder = folder
        self.names = [name for name in names if not os.path.lexists(f"{folder}/{name}")]

    def __enter__(self) -> StoredCaches:
        for name in self.names:
            stored = f"{self.home.sow}/local/litter/{name}"
            if os.path.isdir(stored) and not os.path.islink(stored):
                move_quietly(stored, f"{self.folder}/{name}")
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.names:
            path = f"{self.folder}/{name}"
            if os.path.isdir(path) and not os.path.islink(path):
                move_quietly(path, f"{self.home.folder('local', 'litter')}/{name}")
                remove_tree_quietly(path)  # still there if another turn stored its own before


MOST_REASON = 2000


def files_of(record: SessionRecord, number: int) -> TurnFiles:
    """Returns the paths of one turn's prompt and output."""
    names = {"prompt": "prompt", "out": "out", "err": "err", "readable": "md"}
    return TurnFiles(**{name: record.file(number, ending) for name, ending in names.items()})


def record_turn(
    record: SessionRecord, turn: SessionTurn, outcome: Outcome, summary: TurnSummary, runner: SupervisedRunner
) -> None:
    """Records a finished turn; if the CLI reports totals of the session, the turn's share is the difference."""
    session, capabilities = record.session, find_adapter(record.session["type"]).capabilities
    cost = _share(session, "total_cost_usd", summary.cost, total=capabilities.cumulative_cost)
    tokens_in = _share(session, "total_input_tokens", summary.input_tokens, total=capabilities.cumulative_tokens)
    tokens_out = _share(session, "total_output_tokens", summary.output_tokens, total=capabilities.cumulative_tokens)
    turn.update(
        {
            "ended_at": clock.now(),
            "exit": runner.code,
            "outcome": outcome.kind,
            "reason": outcome.reason[:MOST_REASON],
            "tools": max(summary.tool_count - summary.refusal_count, 0),
            "cost_usd": None if cost is None else round(cost, 6),
            "input_tokens": None if tokens_in is None else int(tokens_in),
            "output_tokens": None if tokens_out is None else int(tokens_out),
            "agent_turns": summary.turns,
            "seconds": round(runner.seconds, 3),
        }
    )
    record.save()


def refusals_of(
    record: SessionRecord, turn: SessionTurn, summary: TurnSummary, clean: Callable[[str], str]
) -> list[Refusal]:
    """Returns the tool calls that the CLI refused in a turn, as the task records them."""
    refusals: list[Refusal] = []
    for refusal in summary.refusals.values():
        entry: Refusal = {
            "iteration": turn.get("iteration", 1),
            "tool": escape_line(refusal.tool) or "tool",
            "reason": clean(refusal.reason),
            "count": refusal.count,
            "executor": record.session["executor"],
            "at": clock.now(),
        }
        if refusal.command.strip():
            entry["command"] = clean(refusal.command)
        refusals.append(entry)
    return refusals


def _share(session: object, key: str, value: float | None, *, total: bool) -> float | None:
    """Returns this turn's part of a number and updates the session's sum; unknown stays unknown."""
    if value is None or not isinstance(session, dict):
        return None
    total_before = session.get(key) or 0
    share = max(value - total_before, 0) if total else value
    session[key] = round(total_before + share, 6) if isinstance(value, float) else int(total_before + share)
    return share
