"""Runs small programs: in the foreground, such as an editor, or to read their output."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any

from sow.errors import Interrupted, SystemFailure
from sow.system import caller, clock, plain_file
from sow.system.process import process_tree
from sow.system.process.process_tree import CHILDREN, MARK

MOST = 256 << 10
LARGE = 8 << 20
TICK = 0.05
POLL_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class ProgramOutput:
    """The output of a program; `code` is None if we ended it because it was too slow or too loud."""

    code: int | None
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramResult:
    """The output of a program on each of its streams, and its exit code."""

    code: int
    out: str
    err: str


def run_in_front(
    arguments: list[str],
    *,
    cwd: str | None = None,
    environment: Mapping[str, str] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> int:
    """Gives the terminal to a program until it ends, and calls `meanwhile` regularly.

    Ctrl-C goes to the program and not to us; SIGTERM is passed on to it.
    """
    process = _start(arguments, cwd=cwd, env=environment)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        while True:
            try:
                return process.wait(None if meanwhile is None else POLL_SECONDS)
            except subprocess.TimeoutExpired:
                if meanwhile is not None:
                    meanwhile()
    finally:
        if process.poll() is None:  # `meanwhile` raised an error
            process.terminate()
            process.wait()
        for number, handler in before.items():
            signal.signal(number, handler)


class BackgroundProgram:
    """A program that is started at once; `poll` says whether it has ended, and `end` kills all that it started."""

    def __init__(
        self,
        arguments: list[str],
        *,
        environment: Mapping[str, str],
        timeout: float,
        given: str = "",
        most: int = MOST,
        keep_end: bool = False,
        **options: Any,
    ) -> None:
        """`given` is its standard input. After `most` bytes of output it is ended; `keep_end` keeps the last ones."""
        self._mark = clock.uuid4()
        self._deadline = time.monotonic() + timeout
        self._most = most
        self._keep_end = keep_end
        self._received = b""
        stdin = unnamed_file(given, environment) if given else subprocess.DEVNULL
        try:
            self._process = _start(
                arguments,
                cwd="/",  # not a repository, whose settings the program could obey
                env={**environment, MARK: self._mark},
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                **options,
            )
        finally:
            if given:
                os.close(stdin)

    def poll(self, seconds: float = 0) -> ProgramOutput | None:
        """Returns the result, or None while it runs and has time left; waits so long for output."""
        data = _read(self._process, seconds)
        self._received += data or b""
        if self._keep_end:
            self._received = self._received[-self._most :]
        is_loud = len(self._received) >= self._most and not self._keep_end
        if data is not None and time.monotonic() < self._deadline and not is_loud:
            return None
        self.end()
        return ProgramOutput(self._process.returncode if data is None else None, _text(self._received, self._most))

    def wait(self) -> ProgramOutput:
        """Waits until it has ended or its time is up; returns the result."""
        while (answer := self.poll(TICK)) is None:
            continue
        return answer

    def end(self) -> None:
        """Kills it and all that it started."""
        if self._mark:
            kill_with_tree(self._process, self._mark)
            self._mark = ""


def start_detached(arguments: list[str], *, out: str, err: str) -> subprocess.Popen[bytes]:
    """Starts a program in a session of its own, which goes on when we end; its output is appended to two files."""
    streams = [plain_file.create(path, os.O_WRONLY | os.O_APPEND) for path in (out, err)]
    try:
        return _start(
            arguments, cwd="/", stdin=subprocess.DEVNULL, stdout=streams[0], stderr=streams[1], start_new_session=True
        )
    finally:
        for stream in streams:
            os.close(stream)


class SteppedProgram:
    """A program in a session of its own that a loop follows step by step, by the lines of its output.

    With `lifeline` its standard input is a pipe that ends when we do, or when `leave` is called.
    """

    def __init__(self, arguments: list[str], *, environment: Mapping[str, str], lifeline: bool = False) -> None:
        self._errors = unnamed_file("", environment)
        self._partial = b""
        self._process = _start(
            arguments,
            cwd="/",  # not a repository, whose settings the program could obey
            env=dict(environment),
            stdin=subprocess.PIPE if lifeline else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        CHILDREN.own_sessions.add(self._process.pid)  # otherwise the end of an agent ends it, too

    def lines(self) -> list[str] | None:
        """Returns the new lines of its output, or None if it has ended; a line that is too long is cut."""
        data = _read(self._process, 0)
        if data is None:
            last, self._partial = self._partial, b""
            return [_text(last)] if last else None
        *lines, partial = (self._partial + data).split(b"\n")
        self._partial = partial[:MOST]
        return [_text(line) for line in lines]

    @property
    def code(self) -> int:
        """Returns its exit code, after its end."""
        return self._process.wait()

    def errors(self) -> str:
        """Returns the end of its error output."""
        size = os.fstat(self._errors).st_size
        return _text(os.pread(self._errors, MOST, max(0, size - MOST))).strip()

    def interrupt(self) -> None:
        """Sends it SIGINT, like Ctrl-C, unless it has ended."""
        if self._process.poll() is None:
            process_tree.signal_one(self._process.pid, signal.SIGINT)

    def leave(self) -> None:
        """Closes its lifeline, as our end does."""
        if self._process.stdin:
            self._process.stdin.close()

    def end(self) -> None:
        """Kills it and its group."""
        if self._process.poll() is None:
            process_tree.signal_one(self._process.pid, signal.SIGKILL, group=True)
            self._process.wait()
        CHILDREN.own_sessions.discard(self._process.pid)
        self.leave()
        if self._process.stdout:
            self._process.stdout.close()
        if self._errors >= 0:
            os.close(self._errors)
            self._errors = -1


def capture(arguments: list[str], **options: Any) -> ProgramOutput:
    """Runs a program like BackgroundProgram and returns its output; when we return, all its processes are gone."""
    program = BackgroundProgram(arguments, start_new_session=True, **options)
    try:
        return program.wait()
    finally:
        program.end()


def run_until_stopped(
    arguments: list[str], *, cwd: str, environment: Mapping[str, str], stop: Event, given: str | None = None
) -> ProgramResult:
    """Runs a program without a time limit and returns its output; when `stop` is set, it is interrupted.

    It gets SIGINT like after Ctrl-C, so that a sow can finish its work in order. `given` is its standard input.
    """
    data = None if given is None else given.encode("utf-8", "surrogateescape")
    process = _start(
        arguments,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    interrupted = False
    while True:
        try:
            out, err = process.communicate(data, timeout=POLL_SECONDS)
            return ProgramResult(code=process.returncode, out=_text(out, LARGE), err=_text(err, LARGE))
        except subprocess.TimeoutExpired:
            data = None  # communicate() has it already
            if stop.is_set() and not interrupted:
                process.send_signal(signal.SIGINT)
                interrupted = True


def run_with_input(
    arguments: list[str],
    *,
    environment: Mapping[str, str],
    given: str,
    timeout: float | None = None,
    cancel: Event | None = None,
    on_line: Callable[[str], None] | None = None,
) -> int:
    """Runs a program with this standard input and returns its exit code; its output goes to ours or to `on_line`.

    After `timeout` seconds, or when `cancel` is set, this is an error. When we return, all its processes are gone.
    """
    mark, deadline = clock.uuid4(), time.monotonic() + (float("inf") if timeout is None else timeout)
    stdin = unnamed_file(given, environment)
    output = subprocess.PIPE if on_line else None
    try:
        process = _start(arguments, env={**environment, MARK: mark}, stdin=stdin, stdout=output, start_new_session=True)
    finally:
        os.close(stdin)
    rest = b""
    try:
        while (data := _read(process, TICK)) is not None:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if on_line:
                    on_line(line.decode("utf-8", "replace"))
            if cancel is not None and cancel.is_set():
                raise Interrupted(f"{arguments[0]} was cancelled", "start it again when you need it")
            if time.monotonic() > deadline:
                raise SystemFailure(f"{arguments[0]} did not end within {timeout:g} seconds", "give it more time")
        if on_line and rest:
            on_line(rest.decode("utf-8", "replace"))
        return process.wait()
    finally:
        kill_with_tree(process, mark)


def unnamed_file(text: str, environment: Mapping[str, str]) -> int:
    """Returns a file that holds a text and has no name, to be read by a program."""
    folder = environment.get("TMPDIR") or "/tmp"  # noqa: S108 (the file has no name there)
    return plain_file.create_unnamed(folder, text.encode("utf-8", "surrogateescape"))


def _start(arguments: list[str], **options: Any) -> subprocess.Popen[bytes]:
    clock.crash_point(f"start {arguments[0]}")
    try:
        return subprocess.Popen(arguments, **options)
    except OSError as error:
        raise SystemFailure(f"cannot start {arguments[0]}: {error.strerror}", "see whether it is installed") from None


def kill_with_tree(process: subprocess.Popen[bytes], mark: str) -> None:
    """Kills a program and every process that it started."""
    relatives = process_tree.descendants_and_group(process.pid, caller.process_queries().all_processes())
    if process.poll() is None:
        process_tree.signal_one(process.pid, signal.SIGKILL, group=True)
    process_tree.kill_tree(process.pid, mark, relatives)
    process.wait()
    if process.stdout:
        process.stdout.close()


def _read(process: subprocess.Popen[bytes], seconds: float) -> bytes | None:
    """Returns new output of a program, waiting so long for it; None if it has ended, even if others hold its pipe."""
    ended, pipe = process.poll() is not None, process.stdout
    ready = select.select([pipe] if pipe else [], [], [], 0 if ended else seconds)[0]
    data = os.read(pipe.fileno(), MOST) if ready and pipe else b""
    if ready and not data and pipe:  # the program closed its output and may still run
        pipe.close()
        process.stdout = None
    return None if ended and not data else data


def _text(data: bytes, limit: int = MOST) -> str:
    return data[:limit].decode("utf-8", "replace")
