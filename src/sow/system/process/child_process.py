"""Starts agent processes and follows them, as generators that yield meanwhile and receive the request to stop.

One thread steps many generators, so that one place decides and writes; `run_to_end` steps a single one.
"""

from __future__ import annotations

import errno
import os
import re
import select
import signal
import subprocess
import time

from sow.errors import SowError, SystemFailure
from sow.record import Record
from sow.system import clock, plain_file
from sow.system.caller import process_queries
from sow.system.process import process_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType
    from typing import Any, TypeVar

    from sow.system.caller import ProcessTable
    from sow.system.process.network_proxy import NetworkProxy
    from sow.system.process.steps import Steps
    from sow.system.sandbox import Box

    T = TypeVar("T")

STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
CONTINUE = True  # yielded by a step that waits only for a step of the others
SHORTEST = 0.005
LONGEST = 0.1
BELL = 4096


class Interrupts:
    """Counts Ctrl-C and similar signals instead of raising; a signal that the caller ignores stays ignored."""

    __slots__ = ("_before", "_bell", "_bell_before", "always_count", "waiting")

    def __init__(self, *, patient: bool = True) -> None:
        self.always_count = patient  # wait for a step even if no child runs
        self.waiting = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        self._bell = os.pipe()
        os.set_blocking(self._bell[1], False)
        self._bell_before = signal.set_wakeup_fd(self._bell[1], warn_on_full_buffer=False)
        for number in (*STOPPING_SIGNALS, signal.SIGCHLD):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, _wake if number == signal.SIGCHLD else self._note)
        return self

    def sleep(self, seconds: float) -> bool:
        """Waits for a time or until a signal comes, such as the end of a child; returns whether one came."""
        got_signal = bool(select.select([self._bell[0]], [], [], seconds)[0])
        if got_signal:
            os.read(self._bell[0], BELL)
        return got_signal

    def _note(self, number: int, frame: FrameType | None) -> None:
        if not self.always_count and not process_tree.CHILDREN.name:  # no child has to be stopped first
            raise KeyboardInterrupt
        self.waiting += 1

    def take(self) -> str:
        """Returns `interrupt` for one signal that came, else an empty text."""
        if not self.waiting:
            return ""
        self.waiting -= 1
        return "interrupt"

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._bell_before)
        for descriptor in self._bell:
            os.close(descriptor)


def _wake(number: int, frame: FrameType | None) -> None:
    """Does nothing: the end of a child only has to wake the loop."""


def run_to_end(steps: Steps[T], tick: Callable[[float], None] | None = None, *, patient: bool = False) -> T:
    """Takes all steps of one generator and returns its result. `tick` is called with the time between the steps.

    With `patient`, Ctrl-C waits for a step also if no child runs.
    """
    with Interrupts(patient=patient) as interrupts:
        pause = SHORTEST
        try:
            soon = next(steps)
            while True:
                interrupts.sleep(0 if soon else pause)
                pause = min(pause * 1.5, LONGEST)
                if tick is not None:
                    tick(time.monotonic())
                soon = steps.send(interrupts.take())
        except StopIteration as end:
            result: T = end.value
            return result


MARK = process_tree.MARK
INTERRUPT = "interrupt"
TICK = 0.1
LOOK_EVERY = 1.0
FIRST_LOOK = 0.1  # seconds after the start; earlier a child has hardly begun
CHUNK = 1 << 16
BOX_PID = re.compile(rb'"child-pid": (\d+)')  # in what bubblewrap writes about its box
BOX_PAUSE = 0.0002
MAX_INPUT = 64 << 20
MAX_LINE = 1 << 20
TAIL = 20_000
READ_SECONDS = 0.5
LAST_SECONDS = 5.0


class ProcessLimits(Record):
    """The limits of a child's time, silence and output (zero is no limit), and its grace period after a stop."""

    wall: float
    silence: float
    linger: float
    size: int
    grace: float


class GrowingLines:
    """The lines of a growing file; a line longer than the limit is cut, so that memory stays bounded."""

    __slots__ = ("cut", "descriptor", "partial", "position")

    def __init__(self, source: str | int) -> None:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        self.descriptor = os.open(source, flags) if isinstance(source, str) else os.dup(source)
        self.partial = b""
        self.cut = False
        self.position = 0

    def read(self, max_chunks: int = 64) -> list[str]:
        """Returns the lines since the last call, up to `max_chunks` chunks."""
        lines: list[str] = []
        for _ in range(max_chunks):
            data = os.pread(self.descriptor, CHUNK, self.position)  # the writer owns the file position
            if not data:
                break
            self.position += len(data)
            *complete, self.partial = (self.partial + data).split(b"\n")
            if self.cut and complete:
                del complete[0]  # the rest of a cut line
                self.cut = False
            lines += [_text(line[:MAX_LINE]) for line in complete]
            if len(self.partial) > MAX_LINE:
                if not self.cut:
                    lines.append(_text(self.partial[:MAX_LINE]))
                self.cut, self.partial = True, b""
        return lines

    def rest(self, seconds: float = LAST_SECONDS) -> Iterator[str]:
        """Yields all remaining lines, even an unfinished one. After so many seconds only the last chunk is read."""
        size, before = os.fstat(self.descriptor).st_size, -1  # later output is not waited for
        give_up = time.monotonic() + seconds
        while before != self.position < size:
            if time.monotonic() > give_up and self.position < size - CHUNK:
                self._skip_to(size - CHUNK)
            before = self.position
            yield from self.read(1)
        last, self.partial = self.partial, b""
        if last and not self.cut:
            yield _text(last)

    def _skip_to(self, position: int) -> None:
        """Skips to a position, and drops the rest of the line there."""
        self.position = position
        self.partial, self.cut = b"", True

    def tail(self, size: int) -> str:
        """Returns the end of the file as it is now."""
        end = os.fstat(self.descriptor).st_size
        return os.pread(self.descriptor, size, max(0, end - size)).decode("utf-8", "replace")

    def close(self) -> None:
        os.close(self.descriptor)


class LogTail:
    """A program's own log file, read from its present end; it may not exist yet, or never."""

    __slots__ = ("lines", "path", "skip")

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: GrowingLines | None = None
        self.skip = os.path.getsize(path) if path and os.path.isfile(path) else 0

    def read(self) -> list[str]:
        """Returns the lines since the last call."""
        if self.lines is None and self.path and os.path.isfile(self.path) and not os.path.islink(self.path):
            self.lines = GrowingLines(self.path)
            self.lines.position = self.skip
        return self.lines.read() if self.lines else []

    def close(self) -> None:
        if self.lines:
            self.lines.close()


def network_log(stdout_path: str) -> str:
    """Returns the file beside a program's output in which the proxy of its box logs connections."""
    return f"{stdout_path.removesuffix('.out')}.network"


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r")


class Child:
    """One running agent."""

    def __init__(
        self,
        arguments: list[str],
        *,
        cwd: str,
        environment: Mapping[str, str],
        stdin_path: str,
        stdout_path: str,
        stderr_path: str,
        mark: str,
        limits: ProcessLimits,
        stop_signal: int = signal.SIGTERM,
        stops_group: bool = False,
        process_table: ProcessTable | None = None,
        sealed: bytes | None = None,
        box: Box | None = None,
    ) -> None:
        self.sealed = sealed is not None  # whether its output has no name on disk until it has ended
        self.paths = (stdout_path, stderr_path)
        self.process_table = process_table or process_queries()
        self.mark = mark
        self.limits = limits
        self.stop_signal = stop_signal
        self.stops_group = stops_group
        self.stopped = self.stderr_text = ""
        self.box_failed = False  # whether bubblewrap could not start the program
        self.kill_at = self.final_event_at = 0.0
        self.relatives: dict[int, int] = {}
        self.silent_size = 0
        self.ended = self.tree_ended = float("inf")  # when it had ended, and when its whole process tree had
        self.outputs = [_create(path, sealed=self.sealed) for path in self.paths]
        self.lines, self.errors = (GrowingLines(descriptor) for descriptor in self.outputs)
        if sealed is None and box is not None and stdin_path != os.devnull:
            sealed = plain_file.read(stdin_path, MAX_INPUT)  # it could open the file again, to write
        if sealed is None:
            stdin = os.open(stdin_path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        elif box is None:
            stdin = plain_file.create_unnamed(os.path.dirname(stdin_path), sealed)
        else:
            stdin = plain_file.in_memory("stdin", sealed)
        task = environment.get("SOW_TASK", "")
        self.box_status = -1 if box is None else plain_file.in_memory("box")  # bubblewrap writes its status there
        process_tree.CHILDREN.open(task, self.process_table)
        self.proxy: NetworkProxy | None = None
        kept = [] if box is None else [self.box_status]
        try:
            if box is not None:
                _require_program(arguments[0], cwd, environment)
                environment = box.environment(environment, box.network)
                self.proxy = box.open_network(network_log(stdout_path))
                if self.proxy is not None:
                    kept.append(self.proxy.handle.fileno())
                    arguments, environment = self.proxy.command(arguments), environment | self.proxy.variables()

            def start(filter: int = -1) -> subprocess.Popen[bytes]:
                command, passed = arguments, kept
                if box is not None:
                    command = box.arguments(arguments, cwd=cwd, status=self.box_status, filter=filter)
                    passed = [*kept, filter] if filter >= 0 else kept
                return _start(command, cwd, {**environment, MARK: mark}, stdin, self.outputs, passed)

            self.process = start() if box is None else box.start(start)
        except SowError:
            process_tree.CHILDREN.close()
            self._close_files()
            raise
        process_tree.CHILDREN.add(self.process.pid, task)
        self.born = self.process_table.start_time(self.process.pid)
        self.started = self.quiet_since = time.monotonic()
        self.scanned = self.started - LOOK_EVERY + FIRST_LOOK

    def final_event_seen(self) -> None:
        """Records that the agent sent its final event: from now on it may only linger."""
        self.final_event_at = self.final_event_at or time.monotonic()

    def resumed_output(self) -> None:
        """Records that the agent works after its final event, so it does not linger."""
        self.final_event_at = 0.0

    def step(self, on_line: Callable[[str], None], on_error: Callable[[str], None] | None = None) -> bool:
        """Reads new output and enforces the limits; returns False when the child has ended and all is read."""
        alive = not self._has_ended()
        pairs = [(self.lines, on_line)] + ([(self.errors, on_error)] if on_error else [])
        for lines, handler in pairs:
            _read_for_a_while(lines, handler)
        if alive:
            self._keep_limits()
            self._scan_descendants()
            return True
        self.ended = min(self.ended, time.monotonic())
        for lines, handler in pairs:
            for line in lines.rest():
                handler(line)
        return False

    def _has_ended(self) -> bool:
        """Returns whether it has ended. It is not reaped before close(), so that its pid cannot be reused."""
        try:
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return self.process.returncode is not None or os.waitid(os.P_PID, self.process.pid, options) is not None
        except (AttributeError, ChildProcessError):  # an older Python on macOS, or SIGCHLD is ignored
            return self.process.poll() is not None

    def _scan_descendants(self) -> None:
        """Records its descendants, so that one that leaves the session and removes its mark is still found."""
        if time.monotonic() > self.scanned + LOOK_EVERY:
            table = process_tree.CHILDREN.process_table(self.process_table, max(self.scanned, self.started))
            self.relatives |= process_tree.descendants_and_group(self.process.pid, table)
            self.scanned = process_tree.CHILDREN.looked

    def _keep_limits(self) -> None:
        now = time.monotonic()
        size = sum(os.fstat(descriptor).st_size for descriptor in self.outputs)
        if size != self.silent_size:
            self.silent_size, self.quiet_since = size, now
        limits = self.limits
        if self.kill_at:
            if now > self.kill_at:
                self._kill()
        elif limits.linger and self.final_event_at and now > self.final_event_at + limits.linger:
            self.stop("linger")
        elif limits.wall and now > self.started + limits.wall:
            self.stop("timeout")
        elif limits.silence and now > self.quiet_since + limits.silence:
            self.stop("silence")
        elif limits.size and size > limits.size:
            self.stop("size")

    def stop(self, reason: str) -> None:
        """Asks it to end with its own signal; after the grace period, or at a second interrupt, it is killed."""
        if self.kill_at:
            if reason == INTERRUPT:
                self.kill_soon()
            return
        self.stopped = self.stopped or reason
        self.kill_at = time.monotonic() + self.limits.grace
        if self._has_ended():
            return
        for pid in self._programs_in_box() or [self.process.pid]:
            process_tree.signal_one(pid, self.stop_signal, group=self.stops_group)

    def _programs_in_box(self) -> list[int]:
        """Returns the program in the box, or the leader of its group: a signal to bubblewrap would kill the box."""
        if self.box_status < 0:
            return []
        table = self.process_table.all_processes()
        leaders = {pid for pid, process in table.items() if process.parent == self.process.pid}
        return [*leaders] if self.stops_group else [pid for pid in table if table[pid].parent in leaders]

    def kill_soon(self) -> None:
        """Ends its grace period now."""
        self.kill_at = min(self.kill_at, time.monotonic())

    def _kill(self) -> None:
        process_tree.signal_one(self.process.pid, signal.SIGKILL, group=True)
        process_tree.kill_all(
            process_tree.process_tree(self.process.pid, self.mark, self.relatives, self.process_table, since=self.born)
        )

    def close(self) -> int:
        """Ends it if it still runs, kills its process tree, truncates its output; returns the exit code."""
        self._end()
        self._sweep()
        process_tree.CHILDREN.close(self.process.pid)
        for descriptor in self.outputs:
            if self.limits.size and os.fstat(descriptor).st_size > self.limits.size:
                clock.crash_point("cut")
                os.ftruncate(descriptor, self.limits.size)
        self.stderr_text = self.errors.tail(TAIL)
        if self.box_status >= 0 and not self.stopped:
            self.box_failed = b'"exit-code"' not in os.pread(self.box_status, CHUNK, 0)
        if self.sealed:
            self._publish()
        self._close_files()
        try:
            return self.process.wait(process_tree.PATIENCE)
        except subprocess.TimeoutExpired:  # the kernel holds it
            return -signal.SIGKILL

    def _publish(self) -> None:
        """Copies its output to files for people; everything needed was read before, so a full disk changes nothing."""
        for descriptor, path in zip(self.outputs, self.paths, strict=True):
            try:
                plain_file.copy(descriptor, path)
            except OSError:
                continue

    def _sweep(self) -> None:
        """Kills the rest of its process tree; a shared process table only shows whether a sweep is needed."""
        if self._box_is_gone():
            self.tree_ended = time.monotonic()
            return
        if self._has_ended() and process_tree.CHILDREN.adopted_children(self.process_table) == set():
            self.tree_ended = time.monotonic()
            return
        tree_arguments = (self.process.pid, self.mark, self.relatives, self.process_table)
        table = process_tree.CHILDREN.process_table(self.process_table, self.ended)
        self.tree_ended = process_tree.CHILDREN.looked
        if process_tree.process_tree(*tree_arguments, since=self.born, table=table):
            process_tree.kill_tree(*tree_arguments, since=self.born)
            self.tree_ended = time.monotonic()

    def _box_is_gone(self) -> bool:
        """Kills the first process of its box and waits for it: the kernel ends all others of the box before that one.

        It became our child when bubblewrap ended. Returns False without a box, or if nobody can tell.
        """
        first_process = BOX_PID.search(os.pread(self.box_status, CHUNK, 0)) if self.box_status >= 0 else None
        if first_process is None or not self._has_ended() or not process_tree.CHILDREN.inherits:
            return False
        pid, give_up = int(first_process[1]), time.monotonic() + process_tree.PATIENCE
        while time.monotonic() < give_up:
            try:
                if os.waitpid(pid, os.WNOHANG)[0] == pid:
                    return True
            except ChildProcessError:  # it is reaped already
                return True
            process_tree.signal_one(pid, signal.SIGKILL)
            time.sleep(BOX_PAUSE)
        return False

    def _end(self) -> None:
        """Ends it after its grace period, as after a stop."""
        while not self._has_ended():
            if not self.kill_at:
                self.stop(INTERRUPT)
            if time.monotonic() > self.kill_at + process_tree.PATIENCE:
                break
            if time.monotonic() > self.kill_at:
                self._kill()
            time.sleep(process_tree.PAUSE)

    def _close_files(self) -> None:
        self.lines.close()
        self.errors.close()
        for descriptor in (*self.outputs, *([self.box_status] if self.box_status >= 0 else [])):
            os.close(descriptor)
        if self.proxy is not None:
            self.proxy.close()

    def stderr_tail(self) -> str:
        """Returns the end of its stderr, once it is closed."""
        return self.stderr_text


def _read_for_a_while(lines: GrowingLines, handler: Callable[[str], None]) -> None:
    """Passes new lines on for a limited time, so that a flood does not delay the limits."""
    before, until = -1, time.monotonic() + READ_SECONDS
    while before != lines.position and time.monotonic() < until:
        before = lines.position
        for line in lines.read(1):
            handler(line)


def _create(path: str, *, sealed: bool) -> int:
    """Creates a private file that can only grow; a sealed one has no name that others could open."""
    try:
        if sealed:
            return plain_file.create_unnamed(os.path.dirname(path))
        return plain_file.create(path, os.O_RDWR | os.O_APPEND)
    except OSError as error:
        raise SystemFailure(
            f"cannot write {path}: {error.strerror}", "see whether the disk is full or read-only"
        ) from None


def _start(
    arguments: list[str],
    cwd: str,
    environment: Mapping[str, str],
    stdin: int,
    outputs: list[int],
    kept: list[int],
) -> subprocess.Popen[bytes]:
    """Starts the program in its own session, or raises with the cause."""
    clock.crash_point(f"start {arguments[0]}")
    try:
        return subprocess.Popen(
            arguments,
            cwd=cwd,
            env=environment,
            stdin=stdin,
            stdout=outputs[0],
            stderr=outputs[1],
            start_new_session=True,
            pass_fds=kept,
        )
    except OSError as error:
        raise _refusal(error, arguments[0], cwd) from None
    except ValueError as error:  # an argument or a variable with a NUL byte
        raise SystemFailure(f"cannot start {arguments[0]}: {error}", "look at its settings: sow config show") from None
    finally:
        os.close(stdin)


def _require_program(program: str, cwd: str, environment: Mapping[str, str]) -> None:
    """Raises if a program cannot be found: bubblewrap would only print it."""
    folders = [""] if "/" in program else environment.get("PATH", os.defpath).split(os.pathsep)
    paths = [os.path.join(cwd, folder, program) for folder in folders]
    if any(os.access(path, os.X_OK) for path in paths):
        return
    number = errno.EACCES if any(map(os.path.exists, paths)) else errno.ENOENT
    raise _refusal(OSError(number, os.strerror(number), program), program, cwd)


def _refusal(error: OSError, program: str, cwd: str) -> SowError:
    """Returns why a program could not start, and whether the program itself was the cause."""
    if not os.path.isdir(cwd):
        return SystemFailure(f"the working folder is gone: {cwd}", "make it again, or start afresh with --fresh")
    if error.filename == cwd != program:
        return SystemFailure(f"cannot work in {cwd}: {error.strerror}", "look at the permissions of that folder")
    if error.errno == errno.ENOENT and not os.path.exists(program):
        return SowError(f"executor binary not found: {program}", "install it, or put it on PATH; see 'sow doctor'")
    reasons = {
        errno.ENOENT: "the program that its first line (#!) names is missing",
        errno.ENOEXEC: "it is neither a program for this machine nor a script that begins with #!",
        errno.EACCES: "it may not be executed",
    }
    reason = reasons.get(error.errno or 0, error.strerror)
    return SystemFailure(f"cannot start {program}: {reason}", "install it again, or name another one; see 'sow doctor'")
