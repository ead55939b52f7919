"""Runs one agent process: feeds it the prompt, records its output, enforces limits, redacts secrets, kills the rest."""

from __future__ import annotations

import os
import time

from sow.engine.steps import SOON, drive
from sow.executors.adapter import Adapter, Call, Ending, Request
from sow.executors.story import Story
from sow.executors.story import readable as story_text
from sow.system import boundary, plain_file, process
from sow.system.environment import worker_environment
from sow.system.terminal import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sow.engine.steps import Steps
    from sow.executors.story import Event

MAX_REPORT = 1 << 20


class Files:
    """The paths of one turn's files."""

    __slots__ = ("err", "out", "prompt", "readable")

    def __init__(self, *, prompt: str, out: str, err: str, readable: str) -> None:
        self.prompt = prompt
        self.out = out
        self.err = err
        self.readable = readable


class SupervisedRunner:
    """Runs one supervised process per call."""

    __slots__ = (
        "adapter",
        "among_others",
        "code",
        "environment",
        "files",
        "gone",
        "let_through",
        "limits",
        "mark",
        "marks",
        "on_event",
        "sealed",
        "seconds",
        "strike",
    )

    def __init__(
        self,
        *,
        adapter: Adapter,
        files: Files,
        limits: process.Limits,
        environment: Mapping[str, str],
        let_through: Iterable[str],
        marks: Mapping[str, str],
        mark: str,
        on_event: Callable[[Event], str],
        strike: Callable[[Iterable[str]], object],
        among_others: bool = False,
        sealed: bool = False,
    ) -> None:
        self.adapter = adapter
        self.files = files
        self.limits = limits
        self.environment = environment
        self.let_through = tuple(let_through)
        self.marks = marks
        self.mark = mark
        self.on_event = on_event  # called with every event; if it returns a reason, the child is stopped
        self.among_others = among_others  # whether one thread follows several processes
        self.sealed = sealed  # for a judge: other agents can change neither its prompt nor its output
        self.seconds = 0.0
        self.gone = float("inf")  # when the last process of this child was gone
        self.strike = strike  # called with the files outside the session's folder
        self.code: int | None = None

    def run(self, call: Call, request: Request, prompt: str, story: Story) -> Ending:
        """Run the process until it has ended and everything is cleaned up."""
        return drive(self.steps(call, request, prompt, story))

    def steps(self, call: Call, request: Request, prompt: str, story: Story) -> Steps[Ending]:
        """Do the same step by step, so that one thread can follow many processes."""
        plain_file.write(self.files.prompt, prompt)
        for path, text in call.files.items():
            plain_file.write(path, text)
        if call.report and os.path.lexists(call.report):
            boundary.cross(f"remove {call.report}")
            os.unlink(call.report)  # a report of an earlier turn must not count for this one
        try:
            ending = yield from self._supervise(call, request, prompt, story)
        finally:
            self.strike((*call.files, *((call.report,) if call.report else ())))
        for event in self.adapter.read_report(plain_file.read_text(call.report, MAX_REPORT)) if call.report else ():
            story.add(event)
        return ending

    def _supervise(self, call: Call, request: Request, prompt: str, story: Story) -> Steps[Ending]:
        """Run the process from its start until all of its children are gone."""
        allowed = (*self.adapter.capabilities.variables, *self.let_through)
        environment = worker_environment(self.environment, own=allowed, marks=self.marks)
        child = process.Child(
            call.arguments,
            cwd=request.cwd,
            environment={**environment, **call.environment},
            stdin_path=self.files.prompt,
            stdout_path=self.files.out,
            stderr_path=self.files.err,
            mark=self.mark,
            limits=self.limits,
            stop_signal=self.adapter.capabilities.stop_signal,
            stop_group=self.adapter.capabilities.stop_group,
            sealed=prompt.encode("utf-8", "replace") if self.sealed else None,
        )
        started = time.monotonic()
        try:
            yield from self._follow(child, story, process.Log(self.adapter.log_path(request, environment)))
            if self.among_others:
                yield SOON  # other turns may have ended, too: one scan of the process table then serves all
        finally:
            code = self.code = child.close()
            self.gone = child.gone
            self.seconds = time.monotonic() - started
        return Ending(code=code, stderr=child.stderr_tail(), stopped=child.stopped)

    def _follow(self, child: process.Child, story: Story, log: process.Log) -> Steps[None]:
        readable = plain_file.create(self.files.readable, os.O_WRONLY | os.O_APPEND)

        def take(line: str, read: Callable[[str], list[Event]] = self.adapter.read) -> None:
            for event in read(line):
                if not story.add(event):
                    continue
                if event.kind == "result":
                    child.finished()
                elif event.kind in ("text", "tool"):
                    child.goes_on()
                reason = self.on_event(event)
                if reason:
                    child.stop(reason)
                text = story_text(event)
                if text:
                    os.write(readable, harmless(f"{text}\n").encode("utf-8", "replace"))

        try:
            while child.step(take, lambda line: take(line, self.adapter.read_error)):
                for line in log.read():
                    take(line, self.adapter.read_log)
                reason = yield
                if reason:
                    child.stop(reason)
        finally:
            log.close()
            os.close(readable)
