"""The door to agent processes: each in a session of its own, marked, followed through its files, never outliving us."""

from __future__ import annotations

import os
import signal
import subprocess
import time

from sow.errors import Failed, SowError
from sow.system import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MARK = "SOW_MARK"
TICK = 0.1
LOOK_EVERY = 1.0
CHUNK = 1 << 16
MAX_LINE = 1 << 20


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

    def __init__(self, path: str) -> None:
        self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        self.left = b""
        self.cut = False
        self.seen = 0

    def read(self, most: int = 64) -> list[str]:
        """The lines that came since the last call, up to `most` chunks of them."""
        found: list[str] = []
        for _ in range(most):
            data = os.read(self.descriptor, CHUNK)
            if not data:
                break
            self.seen += len(data)
            *whole, self.left = (self.left + data).split(b"\n")
            for line in whole:
                found.append(_text(line[:MAX_LINE]))
            if self.cut and whole:
                found.pop(0)  # the rest of a line whose beginning was given out already
                self.cut = False
            if len(self.left) > MAX_LINE:
                if not self.cut:
                    found.append(_text(self.left[:MAX_LINE]))
                self.cut, self.left = True, b""
        return found

    def last(self) -> Iterator[str]:
        """All that is left, with a last line that has no end."""
        before = -1
        while before != self.seen:
            before = self.seen
            yield from self.read()
        last, self.left = self.left, b""
        if last and not self.cut:
            yield _text(last)

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
            os.lseek(self.lines.descriptor, self.skip, os.SEEK_SET)
        return self.lines.read() if self.lines else []

    def close(self) -> None:
        if self.lines:
            self.lines.close()


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r")


class Child:
    """One running agent."""

    __slots__ = (
        "errors",
        "known",
        "limits",
        "lines",
        "looked",
        "mark",
        "process",
        "quiet_since",
        "silent_size",
        "started",
        "stderr_path",
        "stdout_path",
        "stop_group",
        "stop_signal",
        "stopped",
        "stopping",
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
    ) -> None:
        self.mark = mark
        self.limits = limits
        self.stop_signal = stop_signal
        self.stop_group = stop_group
        self.stdout_path = stdout_path
        self.stderr_path = stderr_path
        self.stopped = ""
        self.stopping = 0.0
        self.told_end = 0.0
        self.known: dict[int, str] = {}
        self.looked = 0.0
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        handles = [os.open(stdin_path, os.O_RDONLY | os.O_CLOEXEC)]
        try:
            handles += [os.open(path, flags, 0o600) for path in (stdout_path, stderr_path)]
            self.process = subprocess.Popen(
                arguments,
                cwd=cwd,
                env={**environment, MARK: mark},
                stdin=handles[0],
                stdout=handles[1],
                stderr=handles[2],
                start_new_session=True,
            )
        except FileNotFoundError as error:
            missing = error.filename if error.filename != arguments[0] else arguments[0]
            raise SowError(
                f"executor binary not found: {missing}", "install it, or put it on PATH; see 'sow doctor'"
            ) from None
        except OSError as error:
            raise Failed(f"cannot start {arguments[0]}: {error.strerror}", "see 'sow doctor'") from None
        finally:
            for handle in handles:
                os.close(handle)
        tree.become_subreaper()
        tree.STARTED.add(self.process.pid)
        self.started = self.quiet_since = time.monotonic()
        self.silent_size = 0
        self.lines = Lines(stdout_path)
        self.errors = Lines(stderr_path)

    def finished(self) -> None:
        """The agent has said its last word: from here on it may only linger."""
        self.told_end = self.told_end or time.monotonic()

    def goes_on(self) -> None:
        """It works after what looked like its last word, so it does not linger."""
        self.told_end = 0.0

    def step(self, on_line: Callable[[str], None], on_error: Callable[[str], None] | None = None) -> bool:
        """Read what is new and keep the limits; False when the child is gone and all is read."""
        alive = self.process.poll() is None
        pairs = [(self.lines, on_line)] + ([(self.errors, on_error)] if on_error else [])
        for lines, tell in pairs:
            for line in lines.read():
                tell(line)
        self._keep_limits()
        self._look_around()
        if alive:
            return True
        for lines, tell in pairs:
            for line in lines.last():
                tell(line)
        return False

    def _look_around(self) -> None:
        """Remember whom it started: one that leaves home and takes off its mark is still of this family."""
        now = time.monotonic()
        if now > self.looked + LOOK_EVERY:
            self.looked = now
            self.known |= tree.births(tree.descendants(self.process.pid))

    def _keep_limits(self) -> None:
        now = time.monotonic()
        size = os.fstat(self.lines.descriptor).st_size + os.fstat(self.errors.descriptor).st_size
        if size != self.silent_size:
            self.silent_size, self.quiet_since = size, now
        limits = self.limits
        if self.stopping:
            if now > self.stopping + limits.grace:
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
        """Ask it to end, in the way that it understands; after the grace it is killed."""
        if self.stopping:
            return
        self.stopped = self.stopped or why
        self.stopping = time.monotonic()
        tree.signal_one(self.process.pid, self.stop_signal, group=self.stop_group)

    def _kill(self) -> None:
        tree.end({self.process.pid} | tree.family(self.process.pid, self.mark, self.known))

    def close(self) -> int:
        """Sweep what is left of its family, cut its output to the limit, and return the exit code."""
        tree.sweep(self.process.pid, self.mark, self.known)
        code = self.process.wait()
        tree.STARTED.discard(self.process.pid)
        for path in (self.stdout_path, self.stderr_path):
            if self.limits.size and os.path.getsize(path) > self.limits.size:
                os.truncate(path, self.limits.size)
        self.lines.close()
        self.errors.close()
        return code

    def stderr_tail(self, size: int = 20_000) -> str:
        """The end of what it said on stderr."""
        with open(self.stderr_path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - size))
            return file.read().decode("utf-8", "replace")
