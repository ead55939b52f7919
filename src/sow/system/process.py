"""Starts agent processes, marked and in their own sessions, follows their output files, and kills their trees."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import time

from sow.errors import Failed, SowError
from sow.system import boundary, plain_file, tree
from sow.system import census as censuses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sow.system.census import Census

MARK = tree.MARK
INTERRUPT = "interrupt"
TICK = 0.1
LOOK_EVERY = 1.0
FIRST_LOOK = 0.1  # seconds after the start; earlier a child has hardly begun
CHUNK = 1 << 16
MAX_LINE = 1 << 20
TAIL = 20_000
READ_SECONDS = 0.5
LAST_SECONDS = 5.0


class Limits:
    """The limits of a child's time, silence and output (zero is no limit), and its grace period after a stop."""

    __slots__ = ("grace", "linger", "silence", "size", "wall")

    def __init__(self, *, wall: float, silence: float, linger: float, size: int, grace: float) -> None:
        self.grace = grace
        self.wall = wall
        self.silence = silence
        self.linger = linger
        self.size = size


class Lines:
    """The lines of a growing file; a line longer than the limit is cut, so that memory stays bounded."""

    __slots__ = ("cut", "descriptor", "left", "seen")

    def __init__(self, source: str | int) -> None:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        self.descriptor = os.open(source, flags) if isinstance(source, str) else os.dup(source)
        self.left = b""
        self.cut = False
        self.seen = 0

    def read(self, max_chunks: int = 64) -> list[str]:
        """Returns the lines since the last call, up to `most` chunks."""
        lines: list[str] = []
        for _ in range(max_chunks):
            data = os.pread(self.descriptor, CHUNK, self.seen)  # the writer owns the file position
            if not data:
                break
            self.seen += len(data)
            *complete, self.left = (self.left + data).split(b"\n")
            if self.cut and complete:
                del complete[0]  # the rest of a cut line
                self.cut = False
            lines += [_text(line[:MAX_LINE]) for line in complete]
            if len(self.left) > MAX_LINE:
                if not self.cut:
                    lines.append(_text(self.left[:MAX_LINE]))
                self.cut, self.left = True, b""
        return lines

    def last(self, seconds: float = LAST_SECONDS) -> Iterator[str]:
        """Yields all remaining lines, even an unfinished one. After so many seconds only the last chunk is read."""
        size, before = os.fstat(self.descriptor).st_size, -1  # later output is not waited for
        give_up = time.monotonic() + seconds
        while before != self.seen < size:
            if time.monotonic() > give_up and self.seen < size - CHUNK:
                self._skip_to(size - CHUNK)
            before = self.seen
            yield from self.read(1)
        last, self.left = self.left, b""
        if last and not self.cut:
            yield _text(last)

    def _skip_to(self, position: int) -> None:
        """Skips to a position, and drops the rest of the line there."""
        self.seen = position
        self.left, self.cut = b"", True

    def tail(self, size: int) -> str:
        """Returns the end of the file as it is now."""
        end = os.fstat(self.descriptor).st_size
        return os.pread(self.descriptor, size, max(0, end - size)).decode("utf-8", "replace")

    def close(self) -> None:
        os.close(self.descriptor)


class Log:
    """A program's own log file, read from its present end; it may not exist yet, or never."""

    __slots__ = ("lines", "path", "skip")

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: Lines | None = None
        self.skip = os.path.getsize(path) if path and os.path.isfile(path) else 0

    def read(self) -> list[str]:
        """Returns the lines since the last call."""
        if self.lines is None and self.path and os.path.isfile(self.path) and not os.path.islink(self.path):
            self.lines = Lines(self.path)
            self.lines.seen = self.skip
        return self.lines.read() if self.lines else []

    def close(self) -> None:
        if self.lines:
            self.lines.close()


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r")


class Child:
    """One running agent."""

    __slots__ = (
        "born",
        "census",
        "ended",
        "errors",
        "gone",
        "kill_at",
        "known",
        "limits",
        "lines",
        "looked",
        "mark",
        "outputs",
        "paths",
        "process",
        "quiet_since",
        "said",
        "sealed",
        "silent_size",
        "started",
        "stop_group",
        "stop_signal",
        "stopped",
        "told_end",
    )

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
        limits: Limits,
        stop_signal: int = signal.SIGTERM,
        stop_group: bool = False,
        census: Census | None = None,
        sealed: bytes | None = None,
    ) -> None:
        self.sealed = sealed is not None  # whether its output has no name on disk until it has ended
        self.paths = (stdout_path, stderr_path)
        self.census = census or censuses.here()
        self.mark = mark
        self.limits = limits
        self.stop_signal = stop_signal
        self.stop_group = stop_group
        self.stopped = self.said = ""
        self.kill_at = self.told_end = 0.0
        self.known: dict[int, int] = {}
        self.silent_size = 0
        self.ended = self.gone = float("inf")  # when it had ended, and when its whole process tree had
        self.outputs = [_create(path, sealed=self.sealed) for path in self.paths]
        self.lines, self.errors = (Lines(descriptor) for descriptor in self.outputs)
        if sealed is None:
            stdin = os.open(stdin_path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        else:
            stdin = plain_file.nameless(os.path.dirname(stdin_path), sealed)
        task = environment.get("SOW_TASK", "")
        tree.NURSERY.open(task, self.census)
        try:
            self.process = _start(arguments, cwd, {**environment, MARK: mark}, stdin, self.outputs)
        except SowError:
            tree.NURSERY.close()
            self._close_files()
            raise
        tree.NURSERY.add(self.process.pid, task)
        self.born = self.census.birth(self.process.pid)
        self.started = self.quiet_since = time.monotonic()
        self.looked = self.started - LOOK_EVERY + FIRST_LOOK

    def finished(self) -> None:
        """Records that the agent sent its final event: from now on it may only linger."""
        self.told_end = self.told_end or time.monotonic()

    def goes_on(self) -> None:
        """Records that the agent works after its final event, so it does not linger."""
        self.told_end = 0.0

    def step(self, on_line: Callable[[str], None], on_error: Callable[[str], None] | None = None) -> bool:
        """Reads new output and enforces the limits; returns False when the child has ended and all is read."""
        alive = not self._has_ended()
        pairs = [(self.lines, on_line)] + ([(self.errors, on_error)] if on_error else [])
        for lines, handler in pairs:
            _read_for_a_while(lines, handler)
        if alive:
            self._keep_limits()
            self._look_around()
            return True
        self.ended = min(self.ended, time.monotonic())
        for lines, handler in pairs:
            for line in lines.last():
                handler(line)
        return False

    def _has_ended(self) -> bool:
        """Returns whether it has ended. It is not reaped before close(), so that its pid cannot be reused."""
        try:
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return self.process.returncode is not None or os.waitid(os.P_PID, self.process.pid, options) is not None
        except (AttributeError, ChildProcessError):  # an older Python on macOS, or SIGCHLD is ignored
            return self.process.poll() is not None

    def _look_around(self) -> None:
        """Records its descendants, so that one that leaves the session and removes its mark is still found."""
        if time.monotonic() > self.looked + LOOK_EVERY:
            table = tree.NURSERY.look(self.census, max(self.looked, self.started))
            self.known |= tree.relatives(self.process.pid, table)
            self.looked = tree.NURSERY.looked

    def _keep_limits(self) -> None:
        now = time.monotonic()
        size = sum(os.fstat(descriptor).st_size for descriptor in self.outputs)
        if size != self.silent_size:
            self.silent_size, self.quiet_since = size, now
        limits = self.limits
        if self.kill_at:
            if now > self.kill_at:
                self._kill()
        elif limits.linger and self.told_end and now > self.told_end + limits.linger:
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
                self.hurry()
            return
        self.stopped = self.stopped or reason
        self.kill_at = time.monotonic() + self.limits.grace
        if not self._has_ended():
            tree.signal_one(self.process.pid, self.stop_signal, group=self.stop_group)

    def hurry(self) -> None:
        """Ends its grace period now."""
        self.kill_at = min(self.kill_at, time.monotonic())

    def _kill(self) -> None:
        """Kills it with its group and its process tree."""
        tree.signal_one(self.process.pid, signal.SIGKILL, group=True)
        tree.end(tree.family(self.process.pid, self.mark, self.known, self.census, since=self.born))

    def close(self) -> int:
        """Ends it if it still runs, kills its process tree, truncates its output; returns the exit code."""
        self._end()
        self._sweep()
        tree.NURSERY.close(self.process.pid)
        for descriptor in self.outputs:
            if self.limits.size and os.fstat(descriptor).st_size > self.limits.size:
                boundary.cross("cut")
                os.ftruncate(descriptor, self.limits.size)
        self.said = self.errors.tail(TAIL)
        if self.sealed:
            self._publish()
        self._close_files()
        try:
            return self.process.wait(tree.PATIENCE)
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
        if self._has_ended() and tree.NURSERY.strangers(self.census) == set():
            self.gone = time.monotonic()
            return
        tree_arguments = (self.process.pid, self.mark, self.known, self.census)
        table = tree.NURSERY.look(self.census, self.ended)
        self.gone = tree.NURSERY.looked
        if tree.family(*tree_arguments, since=self.born, table=table):
            tree.sweep(*tree_arguments, since=self.born)
            self.gone = time.monotonic()

    def _end(self) -> None:
        """Ends it after its grace period, as after a stop."""
        while not self._has_ended():
            if not self.kill_at:
                self.stop(INTERRUPT)
            if time.monotonic() > self.kill_at + tree.PATIENCE:
                break
            if time.monotonic() > self.kill_at:
                self._kill()
            time.sleep(tree.PAUSE)

    def _close_files(self) -> None:
        self.lines.close()
        self.errors.close()
        for descriptor in self.outputs:
            os.close(descriptor)

    def stderr_tail(self) -> str:
        """Returns the end of its stderr, once it is closed."""
        return self.said


def _read_for_a_while(lines: Lines, handler: Callable[[str], None]) -> None:
    """Passes new lines on for a limited time, so that a flood does not delay the limits."""
    before, until = -1, time.monotonic() + READ_SECONDS
    while before != lines.seen and time.monotonic() < until:
        before = lines.seen
        for line in lines.read(1):
            handler(line)


def _create(path: str, *, sealed: bool) -> int:
    """Creates a private file that can only grow; a sealed one has no name that others could open."""
    try:
        return (
            plain_file.nameless(os.path.dirname(path)) if sealed else plain_file.create(path, os.O_RDWR | os.O_APPEND)
        )
    except OSError as error:
        raise Failed(f"cannot write {path}: {error.strerror}", "see whether the disk is full or read-only") from None


def _start(
    arguments: list[str], cwd: str, environment: Mapping[str, str], stdin: int, outputs: list[int]
) -> subprocess.Popen[bytes]:
    """Starts the program in its own session, or raises with the cause."""
    boundary.cross(f"start {arguments[0]}")
    try:
        return subprocess.Popen(
            arguments,
            cwd=cwd,
            env=environment,
            stdin=stdin,
            stdout=outputs[0],
            stderr=outputs[1],
            start_new_session=True,
        )
    except OSError as error:
        raise _refusal(error, arguments[0], cwd) from None
    except ValueError as error:  # an argument or a variable with a NUL byte
        raise Failed(f"cannot start {arguments[0]}: {error}", "look at its settings: sow config show") from None
    finally:
        os.close(stdin)


def _refusal(error: OSError, program: str, cwd: str) -> SowError:
    """Returns why a program could not start, and whether the program itself was the cause."""
    if not os.path.isdir(cwd):
        return Failed(f"the working folder is gone: {cwd}", "make it again, or start afresh with --fresh")
    if error.filename == cwd != program:
        return Failed(f"cannot work in {cwd}: {error.strerror}", "look at the permissions of that folder")
    if error.errno == errno.ENOENT and not os.path.exists(program):
        return SowError(f"executor binary not found: {program}", "install it, or put it on PATH; see 'sow doctor'")
    reasons = {
        errno.ENOENT: "the program that its first line (#!) names is missing",
        errno.ENOEXEC: "it is neither a program for this machine nor a script that begins with #!",
        errno.EACCES: "it may not be executed",
    }
    reason = reasons.get(error.errno or 0, error.strerror)
    return Failed(f"cannot start {program}: {reason}", "install it anew, or name another one; see 'sow doctor'")
