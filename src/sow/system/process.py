"""The door to agent processes: each in a session of its own, marked, followed through its files, never outliving us."""

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
FIRST_LOOK = 0.1  # seconds after its start: before that a child has hardly begun
CHUNK = 1 << 16
MAX_LINE = 1 << 20
TAIL = 20_000
READ_SECONDS = 0.5
LAST_SECONDS = 5.0


class Limits:
    """How long, how silent and how loud a child may be (zero is no limit), and how long it has to end when asked."""

    __slots__ = ("grace", "linger", "silence", "size", "wall")

    def __init__(self, *, wall: float, silence: float, linger: float, size: int, grace: float) -> None:
        self.grace = grace
        self.wall = wall
        self.silence = silence
        self.linger = linger
        self.size = size


class Lines:
    """The lines of a growing file. A line that is longer than the limit is cut, so that memory stays bounded."""

    __slots__ = ("cut", "descriptor", "left", "seen")

    def __init__(self, source: str | int) -> None:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        self.descriptor = os.open(source, flags) if isinstance(source, str) else os.dup(source)
        self.left = b""
        self.cut = False
        self.seen = 0

    def read(self, most: int = 64) -> list[str]:
        """The lines that came since the last call, up to `most` chunks of them."""
        found: list[str] = []
        for _ in range(most):
            data = os.pread(self.descriptor, CHUNK, self.seen)  # the position of a shared descriptor is its writer's
            if not data:
                break
            self.seen += len(data)
            *whole, self.left = (self.left + data).split(b"\n")
            if self.cut and whole:
                del whole[0]  # the rest of a line whose beginning was given out already
                self.cut = False
            found += [_text(line[:MAX_LINE]) for line in whole]
            if len(self.left) > MAX_LINE:
                if not self.cut:
                    found.append(_text(self.left[:MAX_LINE]))
                self.cut, self.left = True, b""
        return found

    def last(self, seconds: float = LAST_SECONDS) -> Iterator[str]:
        """All that is left now, with a last line that has no end. After so many seconds only the very end is read."""
        size, before = os.fstat(self.descriptor).st_size, -1  # somebody may still write, and is not waited for
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
        """Leave out what lies before, and the rest of the line into which that leads."""
        self.seen = position
        self.left, self.cut = b"", True

    def tail(self, size: int) -> str:
        """The end of the file as it is now."""
        end = os.fstat(self.descriptor).st_size
        return os.pread(self.descriptor, size, max(0, end - size)).decode("utf-8", "replace")

    def close(self) -> None:
        os.close(self.descriptor)


class Log:
    """A file that a program keeps for itself, from where it ends now; it may not be there yet, or never."""

    __slots__ = ("lines", "path", "skip")

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: Lines | None = None
        self.skip = os.path.getsize(path) if path and os.path.isfile(path) else 0

    def read(self) -> list[str]:
        """The lines that came since the last call."""
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
        self.sealed = sealed is not None  # whether its words have no name on disk until it has ended
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
        self.ended = self.gone = float("inf")  # when it was seen to be over, and when all of its family were
        self.outputs = [_create(path, sealed=self.sealed) for path in self.paths]
        self.lines, self.errors = (Lines(each) for each in self.outputs)
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
        """The agent has said its last word: from here on it may only linger."""
        self.told_end = self.told_end or time.monotonic()

    def goes_on(self) -> None:
        """It works after what looked like its last word, so it does not linger."""
        self.told_end = 0.0

    def step(self, on_line: Callable[[str], None], on_error: Callable[[str], None] | None = None) -> bool:
        """Read what is new and keep the limits; False when the child is gone and all is read."""
        alive = not self._has_ended()
        pairs = [(self.lines, on_line)] + ([(self.errors, on_error)] if on_error else [])
        for lines, tell in pairs:
            _read_for_a_while(lines, tell)
        if alive:
            self._keep_limits()
            self._look_around()
            return True
        self.ended = min(self.ended, time.monotonic())
        for lines, tell in pairs:
            for line in lines.last():
                tell(line)
        return False

    def _has_ended(self) -> bool:
        """Whether it is gone. It stays uncollected, so that until close() its number cannot be somebody else's."""
        try:
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return self.process.returncode is not None or os.waitid(os.P_PID, self.process.pid, options) is not None
        except (AttributeError, ChildProcessError):  # an older Python on macOS; somebody lets nobody wait for children
            return self.process.poll() is not None

    def _look_around(self) -> None:
        """Remember whom it started: one that leaves home and takes off its mark is still of this family."""
        if time.monotonic() > self.looked + LOOK_EVERY:
            table = tree.NURSERY.look(self.census, max(self.looked, self.started))
            self.known |= tree.relatives(self.process.pid, table)
            self.looked = tree.NURSERY.looked

    def _keep_limits(self) -> None:
        now = time.monotonic()
        size = sum(os.fstat(each).st_size for each in self.outputs)
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

    def stop(self, why: str) -> None:
        """Ask it to end, in the way that it understands; after the grace, or at a second interrupt, it is killed."""
        if self.kill_at:
            if why == INTERRUPT:
                self.hurry()
            return
        self.stopped = self.stopped or why
        self.kill_at = time.monotonic() + self.limits.grace
        if not self._has_ended():
            tree.signal_one(self.process.pid, self.stop_signal, group=self.stop_group)

    def hurry(self) -> None:
        """Leave it no more time to end by itself."""
        self.kill_at = min(self.kill_at, time.monotonic())

    def _kill(self) -> None:
        """End it for good, with its group and its family."""
        tree.signal_one(self.process.pid, signal.SIGKILL, group=True)
        tree.end(tree.family(self.process.pid, self.mark, self.known, self.census, since=self.born))

    def close(self) -> int:
        """End it if it still runs, sweep what is left of its family, cut its output; returns the exit code."""
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
        except subprocess.TimeoutExpired:  # the system itself holds it, and will let it go dead
            return -signal.SIGKILL

    def _publish(self) -> None:
        """Leave a copy of what it said, for people: what counts was read before, and a full disk changes nothing."""
        for descriptor, path in zip(self.outputs, self.paths, strict=True):
            try:
                plain_file.copy(descriptor, path)
            except OSError:
                continue

    def _sweep(self) -> None:
        """End what is left of its family; nobody is killed by a look that others took before."""
        if self._has_ended() and tree.NURSERY.strangers(self.census) == set():
            self.gone = time.monotonic()
            return
        family = (self.process.pid, self.mark, self.known, self.census)
        table = tree.NURSERY.look(self.census, self.ended)
        self.gone = tree.NURSERY.looked
        if tree.family(*family, since=self.born, table=table):
            tree.sweep(*family, since=self.born)
            self.gone = time.monotonic()

    def _end(self) -> None:
        """One that nobody follows any more has its grace, as after a stop, and no more."""
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
        """The end of what it said on stderr, once it is closed."""
        return self.said


def _read_for_a_while(lines: Lines, tell: Callable[[str], None]) -> None:
    """Pass new lines on; a flood of them does not keep us from looking at the limits."""
    before, until = -1, time.monotonic() + READ_SECONDS
    while before != lines.seen and time.monotonic() < until:
        before = lines.seen
        for line in lines.read(1):
            tell(line)


def _create(path: str, *, sealed: bool) -> int:
    """A new private file that can only grow; a sealed one has no name that others could open."""
    try:
        return (
            plain_file.nameless(os.path.dirname(path)) if sealed else plain_file.create(path, os.O_RDWR | os.O_APPEND)
        )
    except OSError as error:
        raise Failed(f"cannot write {path}: {error.strerror}", "see whether the disk is full or read-only") from None


def _start(
    arguments: list[str], cwd: str, environment: Mapping[str, str], stdin: int, outputs: list[int]
) -> subprocess.Popen[bytes]:
    """The program in a session of its own, or what kept it from starting."""
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
    except ValueError as error:  # a byte in a word or a variable that no program can be given
        raise Failed(f"cannot start {arguments[0]}: {error}", "look at its settings: sow config show") from None
    finally:
        os.close(stdin)


def _refusal(error: OSError, program: str, cwd: str) -> SowError:
    """What kept a program from starting, and whether it was the program at all."""
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
