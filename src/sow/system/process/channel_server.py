"""Runs the commands that workers in a sandbox send over their socket, in a process of our own.

Each turn has its own socket, so the caller is known by the socket, and not by what it says.
"""

from __future__ import annotations

import _socket
import gc
import os
import select
import signal
import sys
import time

from sow.system import caller, channel, crash_points
from sow.system.process.forked_server import END_SECONDS, ForkedServer, close_others

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn

    from sow.domain.actor import Actor

    Run = Callable[[list[str], Mapping[str, str]], int]

PROCESS_NAME = "sow-channel"
MOST_AT_ONCE = 16
MOST_WAITING = 48  # requests that wait for their turn, and connections that have not sent all of theirs
BACKLOG = 128
READ_SECONDS = 10.0  # for a client to send its request
RUN_SECONDS = 60.0  # for one command; a lock is waited for half as long
START_SECONDS = 0.1  # in which the worker starts; then the modules for its commands are loaded
PIECE = 1 << 16
INTERNAL_ERROR = 3


class Channel(ForkedServer):
    """The socket of one worker, and the process that serves it until `close`, or until this process ends."""

    __slots__ = ("folder",)

    def __init__(self, folder: str, environment: Mapping[str, str], actor: Actor, run: Run) -> None:
        """Makes the folder with the socket. Commands run with this environment, in the folder SOW_ROOT, as the actor.

        `run` without arguments loads the modules of the usual commands.
        """
        self.folder = folder
        listener = _listen(folder)

        def serve(lifeline: int) -> None:
            server = _Server(listener, lifeline, environment, actor, run)
            if lifeline not in select.select([listener.fileno(), lifeline], [], [], START_SECONDS)[0]:
                run([], environment)
                gc.freeze()
            server.serve()

        try:
            super().__init__(PROCESS_NAME, {listener.fileno()}, serve)
        finally:
            listener.close()

    def close(self) -> bool:
        """Ends the server and removes the folder; waits for the commands that run, at most some seconds."""
        if not super().close():
            return False
        for remove, path in ((os.unlink, f"{self.folder}/{channel.NAME}"), (os.rmdir, self.folder)):
            try:
                remove(path)
            except OSError:
                continue
        return True


def _listen(folder: str) -> _socket.socket:
    """Makes the folder, and a socket in it to which only this user can connect."""
    crash_points.crash_point(f"make {folder}")
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:  # a killed sow left it
        os.chmod(folder, 0o700)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.path.lexists(f"{folder}/{channel.NAME}"):
            os.unlink(channel.NAME, dir_fd=descriptor)
        listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        listener.bind(channel.address(descriptor))
        os.chmod(channel.NAME, 0o600, dir_fd=descriptor)
        listener.listen(BACKLOG)
        listener.setblocking(False)
        return listener
    finally:
        os.close(descriptor)


class _Request:
    """A connection, what it has sent so far, and the standard streams that came with it."""

    __slots__ = ("connection", "data", "deadline", "streams", "words")

    def __init__(self, connection: _socket.socket) -> None:
        self.connection = connection
        self.deadline = time.monotonic() + READ_SECONDS
        self.streams: list[int] = []
        self.data = bytearray()
        self.words: list[str] = []

    def receive(self) -> bool:
        """Reads what there is; returns whether the request is complete. Raises ValueError if it is malformed."""
        try:
            if not self.streams:
                self._receive_streams()
            size = channel.NUMBER + int.from_bytes(self.data[: channel.NUMBER], "big")
            if size > channel.NUMBER + channel.MAX_BYTES:
                raise ValueError("the request is too long")
            while len(self.data) < size:
                piece = self.connection.recv(min(PIECE, size - len(self.data)))
                if not piece:
                    raise ValueError("the client hung up")
                self.data += piece
        except BlockingIOError:
            return False
        self.words = channel.decode(bytes(self.data[channel.NUMBER :]))
        return True

    def _receive_streams(self) -> None:
        """Reads the length, which comes with the three standard streams."""
        space = _socket.CMSG_SPACE(channel.DESCRIPTORS * 4)
        data, messages, flags, _ = self.connection.recvmsg(channel.NUMBER, space, _socket.MSG_CMSG_CLOEXEC)
        for level, kind, content in messages:
            if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS):
                numbers = (content[start : start + 4] for start in range(0, len(content) - 3, 4))
                self.streams += [int.from_bytes(number, sys.byteorder) for number in numbers]
        if len(self.streams) != channel.DESCRIPTORS or flags & _socket.MSG_CTRUNC or len(data) != channel.NUMBER:
            raise ValueError("the standard streams are missing")
        self.data += data

    def close(self) -> None:
        self.connection.close()
        for stream in self.streams:
            os.close(stream)
        self.streams = []


class _Server:
    """The loop of the server: reads requests, and runs each in a child."""

    __slots__ = ("actor", "children", "environment", "lifeline", "listener", "queue", "reading", "run", "wake")

    def __init__(
        self, listener: _socket.socket, lifeline: int, environment: Mapping[str, str], actor: Actor, run: Run
    ) -> None:
        self.listener = listener
        self.lifeline = lifeline
        self.environment = {name: value for name, value in environment.items() if name != channel.VARIABLE}
        self.actor = actor
        self.run = run
        self.reading: dict[int, _Request] = {}  # by descriptor, oldest first
        self.queue: list[_Request] = []
        self.children: dict[int, float] = {}  # when each has to be killed
        self.wake, bell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(bell)

    def serve(self) -> None:
        """Serves until the supervisor closes the channel or ends."""
        while True:
            while self.queue and len(self.children) < MOST_AT_ONCE:
                self._start(self.queue.pop(0))
            ready = self._wait(accepts=len(self.queue) < MOST_WAITING)
            if self.lifeline in ready:
                break
            for descriptor in ready:
                if descriptor in self.reading:
                    self._read(self.reading[descriptor])
            if self.listener.fileno() in ready:
                self._accept()
            self._drop_late()
        self._end()

    def _wait(self, *, accepts: bool) -> set[int]:
        """Waits for something to do; returns the descriptors that are ready, and reaps children that ended."""
        poll = select.poll()
        for descriptor in (self.lifeline, self.wake, *self.reading):
            poll.register(descriptor, select.POLLIN)
        if accepts:
            poll.register(self.listener.fileno(), select.POLLIN)
        deadlines = [*self.children.values(), *(request.deadline for request in self.reading.values())]
        wait = max(0.0, min(deadlines) - time.monotonic()) * 1000 + 1 if deadlines else None
        ready = {descriptor for descriptor, _ in poll.poll(wait)}
        if self.wake in ready:
            os.read(self.wake, PIECE)
            self._reap()
        return ready

    def _reap(self) -> None:
        try:
            while self.children and (pid := os.waitpid(-1, os.WNOHANG)[0]):
                self.children.pop(pid, None)
        except ChildProcessError:
            self.children.clear()

    def _accept(self) -> None:
        """Takes new connections; one more than fit pushes out the one that has been sending for longest."""
        while True:
            try:
                descriptor, _ = self.listener._accept()  # type: ignore[attr-defined]
            except OSError:  # there are no more, or there is no free descriptor
                return
            connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, descriptor)
            connection.setblocking(False)
            self.reading[descriptor] = request = _Request(connection)
            self._read(request)
            if len(self.reading) > MOST_WAITING:
                self._drop(next(iter(self.reading.values())))

    def _read(self, request: _Request) -> None:
        try:
            if request.receive():
                self.queue.append(self.reading.pop(request.connection.fileno()))
        except (OSError, ValueError):
            self._drop(request)

    def _drop(self, request: _Request) -> None:
        del self.reading[request.connection.fileno()]
        request.close()

    def _drop_late(self) -> None:
        """Hangs up on clients that take too long to send, and kills commands that take too long."""
        now = time.monotonic()
        for request in [request for request in self.reading.values() if request.deadline < now]:
            self._drop(request)
        for pid in [pid for pid, deadline in self.children.items() if deadline < now]:
            os.kill(pid, signal.SIGKILL)
            self.children[pid] = now + RUN_SECONDS

    def _start(self, request: _Request) -> None:
        """Runs a request in a child, which answers the client itself; if it dies, the client sees the end of file."""
        try:
            pid = os.fork()
        except OSError:  # no more processes: the client is told by the end of file
            pid = -1
        if not pid:
            self._run(request)
        request.close()
        if pid > 0:
            self.children[pid] = time.monotonic() + RUN_SECONDS

    def _run(self, request: _Request) -> NoReturn:
        """Is the whole life of a child: runs the command with the client's streams, and sends its exit code."""
        code = INTERNAL_ERROR
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for stream, descriptor in enumerate(request.streams):
                os.dup2(descriptor, stream)
            close_others({request.connection.fileno()})
            os.environ.clear()
            os.environ.update(self.environment)
            os.chdir(self.environment["SOW_ROOT"])
            _open_streams()
            caller.set_actor(self.actor)
            code = self.run(request.words, self.environment)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            _answer(request.connection, code)
            os._exit(code)

    def _end(self) -> None:
        """Takes no more requests, and gives the commands that run some time to end."""
        self.listener.close()
        for request in (*self.reading.values(), *self.queue):
            request.close()
        self.reading, self.queue = {}, []
        give_up = time.monotonic() + END_SECONDS
        self._reap()
        while self.children and (left := give_up - time.monotonic()) > 0:
            if select.select([self.wake], [], [], left)[0]:
                os.read(self.wake, PIECE)
            self._reap()


def _answer(connection: _socket.socket, code: int) -> None:
    try:
        connection.send(bytes([code]))
    except (OSError, ValueError):  # the client is gone
        return


def _open_streams() -> None:
    """Makes new standard streams; the old ones may hold text of the supervisor that is not written yet."""
    stdin, stdout, stderr = range(channel.DESCRIPTORS)
    sys.stdin = open(stdin, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(stdout, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(stderr, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
