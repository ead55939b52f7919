"""Runs the commands that workers in a sandbox send over their socket, in a process of our own.

Each turn has its own socket, so the caller is known by the socket, and not by what it says. One process serves all
sockets, because a process for each turn would take longer to make than a short turn takes.
"""

from __future__ import annotations

import _socket
import _thread
import atexit
import gc
import os
import select
import signal
import sys
import time

from sow.domain.task import Actor
from sow.system import caller, channel, clock
from sow.system.process.forked_server import END_SECONDS, ForkedServer, close_others, kill_group, lead_group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn

    Run = Callable[[list[str], Mapping[str, str]], int]

PROCESS_NAME = "sow-channel"
MOST_AT_ONCE = 16
MOST_WAITING = 48  # requests that wait for their turn, and connections that have not sent all of theirs
BACKLOG = 128
READ_SECONDS = 10.0  # for a client to send its request
RUN_SECONDS = 60.0  # for one command; a lock is waited for half as long
PATIENCE = 5.0  # seconds, with a server that closes a channel
START_SECONDS = 0.1  # in which the worker starts; then the modules for its commands are loaded
PIECE = 1 << 16
INTERNAL_ERROR = 3
OPEN, CLOSE = b"o", b"c"  # what the supervisor says to the server, before the number of a channel and the size of more
HEAD = 1 + 2 * channel.NUMBER  # bytes
NEVER = float("inf")


class Channel:
    """The socket of one worker, from now until `close`. One process serves all sockets of this process."""

    __slots__ = ("_number", "_server", "folder")

    def __init__(self, folder: str, environment: Mapping[str, str], actor: Actor, run: Run) -> None:
        """Makes the folder with the socket. Commands run with this environment, in the folder SOW_ROOT, as the actor.

        `run` without arguments loads the modules of the usual commands.
        """
        self.folder = folder
        listener = _listen(folder)
        try:
            self._server = _server(run)
            self._number = self._server.open(listener, environment, actor)
        finally:
            listener.close()

    @property
    def pid(self) -> int:
        """The process that serves the socket."""
        return self._server.pid

    def close(self) -> None:
        """Takes no more requests, and removes the folder; waits for the commands that run, at most some seconds."""
        if self._number < 0:
            return
        self._server.close_channel(self._number)
        self._number = -1
        for remove, path in ((os.unlink, f"{self.folder}/{channel.NAME}"), (os.rmdir, self.folder)):
            try:
                remove(path)
            except OSError:
                continue


class ChannelServer(ForkedServer):
    """The process that runs the commands of all channels, until this process ends."""

    __slots__ = ("_control", "_count", "_one", "owner", "run")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.owner = os.getpid()
        self._count = 0
        self._one = _thread.allocate_lock()
        self._control, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)

        def serve(lifeline: int) -> None:
            _Server(theirs, lifeline, run).serve()

        try:
            super().__init__(PROCESS_NAME, {theirs.fileno()}, serve)
        finally:
            theirs.close()

    @property
    def is_here(self) -> bool:
        """Returns whether it runs and is a child of this process, which may have been forked from its parent."""
        return self.owner == os.getpid() and not self.has_ended()

    def open(self, listener: _socket.socket, environment: Mapping[str, str], actor: Actor) -> int:
        """Lets it serve a socket for an actor; returns the number of the channel."""
        with self._one:
            self._count += 1
            words = [actor.kind, actor.name, actor.task]
            for name, value in environment.items():
                words += [name, value]
            self._send(OPEN, self._count, "\0".join(words), listener)
            return self._count

    def close_channel(self, number: int) -> None:
        """Lets it serve a socket no longer, and waits until the commands that came there have ended."""
        with self._one:
            try:
                self._send(CLOSE, number)
                poll = select.poll()
                poll.register(self._control.fileno(), select.POLLIN)
                if poll.poll((END_SECONDS + PATIENCE) * 1000):
                    self._control.recv(1)
                    return
            except OSError:  # it was killed, and its commands end with their clients
                return
        self.kill()

    def _send(self, kind: bytes, number: int, text: str = "", listener: _socket.socket | None = None) -> None:
        data = text.encode("utf-8", "surrogateescape")
        head = kind + number.to_bytes(channel.NUMBER, "big") + len(data).to_bytes(channel.NUMBER, "big")
        descriptors = listener.fileno().to_bytes(4, sys.byteorder) if listener else b""
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)] if listener else []
        sent = self._control.sendmsg([head, data], rights)
        self._control.sendall((head + data)[sent:])


_servers: dict[Run, ChannelServer] = {}


def _server(run: Run) -> ChannelServer:
    """Returns the server of this process that runs commands in this way; makes a new one if it was killed."""
    server = _servers.get(run)
    if server is None or not server.is_here:
        server = _servers[run] = ChannelServer(run)
        atexit.register(server.close)
    return server


def _listen(folder: str) -> _socket.socket:
    """Makes the folder, and a socket in it to which only this user can connect."""
    clock.crash_point(f"make {folder}")
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


class _OpenChannel:
    """What the server keeps for one socket: its caller, and the requests and commands that came there."""

    __slots__ = ("actor", "children", "environment", "give_up", "listener", "number", "queue", "reading")

    def __init__(self, number: int, listener: _socket.socket, actor: Actor, environment: Mapping[str, str]) -> None:
        self.number = number
        self.listener = listener
        self.actor = actor
        self.environment = environment
        self.reading: dict[int, _Request] = {}  # by descriptor, oldest first
        self.queue: list[_Request] = []
        self.children: dict[int, float] = {}  # when each has to be killed
        self.give_up = 0.0  # when its commands are killed, once it is closed

    def descriptors(self) -> list[int]:
        """Returns the descriptors on which something may come."""
        accepts = not self.give_up and len(self.queue) < MOST_WAITING
        return [*self.reading, *([self.listener.fileno()] if accepts else [])]

    def deadlines(self) -> list[float]:
        """Returns the times at which a client or a command takes too long."""
        deadlines = [*self.children.values(), *(request.deadline for request in self.reading.values())]
        return [*deadlines, self.give_up] if self.give_up else deadlines

    def receive(self, ready: set[int]) -> None:
        """Reads what came, takes new connections, and hangs up on clients that take too long to send."""
        for descriptor in self.reading.keys() & ready:
            self._read(self.reading[descriptor])
        if self.listener.fileno() in ready:
            self._accept()
        now = time.monotonic()
        for request in [request for request in self.reading.values() if request.deadline < now]:
            self._drop(request)

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

    def kill_late(self) -> None:
        """Kills commands that take too long, with the programs that they started."""
        now = time.monotonic()
        for pid in [pid for pid, deadline in self.children.items() if min(deadline, self.give_up or deadline) < now]:
            kill_group(pid)
            self.children[pid] = now + RUN_SECONDS

    def end(self) -> None:
        """Takes no more requests, and gives the commands that run some time to end."""
        self.listener.close()
        for request in (*self.reading.values(), *self.queue):
            request.close()
        self.reading, self.queue = {}, []
        self.give_up = time.monotonic() + END_SECONDS


class _Server:
    """The loop of the server: reads requests, and runs each in a child."""

    __slots__ = ("channels", "control", "lifeline", "loads_at", "run", "wake")

    def __init__(self, control: _socket.socket, lifeline: int, run: Run) -> None:
        self.control = control
        self.lifeline = lifeline
        self.run = run
        self.channels: dict[int, _OpenChannel] = {}
        self.loads_at = time.monotonic() + START_SECONDS
        self.wake, bell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(bell)
        import resource  # here, because the supervisor does not need it

        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # one worker must not use up what the others need
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def serve(self) -> None:
        """Serves until the supervisor ends."""
        while True:
            ready = self._wait()
            if self.lifeline in ready or (self.control.fileno() in ready and not self._obey()):
                break
            for served in list(self.channels.values()):
                served.receive(ready)
                while served.queue and len(served.children) < MOST_AT_ONCE:
                    self._start(served, served.queue.pop(0))
                served.kill_late()
                self._forget_ended(served)
        self._end()

    def _wait(self) -> set[int]:
        """Waits for something to do; returns the descriptors that are ready, and reaps children that ended."""
        poll = select.poll()
        channels = self.channels.values()
        for descriptor in (self.lifeline, self.wake, self.control.fileno()):
            poll.register(descriptor, select.POLLIN)
        for descriptor in (descriptor for served in channels for descriptor in served.descriptors()):
            poll.register(descriptor, select.POLLIN)
        deadline = min((self.loads_at, *(time for served in channels for time in served.deadlines())))
        wait = None if deadline == NEVER else max(0.0, deadline - time.monotonic()) * 1000 + 1
        ready = {descriptor for descriptor, _ in poll.poll(wait)}
        if not ready and time.monotonic() > self.loads_at:
            self.loads_at = NEVER
            self.run([], {})
            gc.freeze()
        if self.wake in ready:
            os.read(self.wake, PIECE)
            self._reap()
        return ready

    def _reap(self) -> None:
        try:
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                for served in self.channels.values():
                    served.children.pop(pid, None)
        except ChildProcessError:
            for served in self.channels.values():
                served.children.clear()

    def _obey(self) -> bool:
        """Opens or closes a channel, as the supervisor says; returns False if it has ended."""
        head, messages, _, _ = self.control.recvmsg(HEAD, _socket.CMSG_SPACE(4), _socket.MSG_CMSG_CLOEXEC)
        if len(head) < HEAD:
            return False
        number, size = (
            int.from_bytes(head[start : start + channel.NUMBER], "big") for start in (1, 1 + channel.NUMBER)
        )
        if head[:1] == CLOSE:
            self.channels[number].end()
            return True
        data = bytearray()
        while len(data) < size:
            piece = self.control.recv(size - len(data))
            if not piece:
                return False
            data += piece
        kind, name, task, *words = data.decode("utf-8", "surrogateescape").split("\0")
        environment = dict(zip(words[::2], words[1::2], strict=True))
        environment.pop(channel.VARIABLE, None)
        listener = _socket.socket(fileno=int.from_bytes(messages[0][2], sys.byteorder))
        self.channels[number] = _OpenChannel(number, listener, Actor(kind=kind, name=name, task=task), environment)
        return True

    def _start(self, served: _OpenChannel, request: _Request) -> None:
        """Runs a request in a child, which answers the client itself; if it dies, the client sees the end of file."""
        try:
            pid = os.fork()
        except OSError:  # no more processes: the client is told by the end of file
            pid = -1
        if not pid:
            self._run(served, request)
        request.close()
        if pid > 0:
            lead_group(pid)
            served.children[pid] = time.monotonic() + RUN_SECONDS

    def _run(self, served: _OpenChannel, request: _Request) -> NoReturn:
        """Is the whole life of a child: runs the command with the client's streams, and sends its exit code."""
        code = INTERNAL_ERROR
        try:
            lead_group(0)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for stream, descriptor in enumerate(request.streams):
                os.dup2(descriptor, stream)
            close_others({request.connection.fileno()})
            os.environ.clear()
            os.environ.update(served.environment)
            os.chdir(served.environment["SOW_ROOT"])
            _open_streams()
            caller.set_actor(served.actor)
            code = self.run(request.words, served.environment)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            _answer(request.connection, code)
            os._exit(code)

    def _forget_ended(self, served: _OpenChannel) -> None:
        """Tells the supervisor that a closed channel has no command any more."""
        if served.give_up and not served.children:
            del self.channels[served.number]
            _answer(self.control, 0)

    def _end(self) -> None:
        """Ends all channels, because the supervisor has ended."""
        for served in self.channels.values():
            served.end()
        give_up = time.monotonic() + END_SECONDS + 1
        while any(served.children for served in self.channels.values()) and time.monotonic() < give_up:
            if select.select([self.wake], [], [], END_SECONDS)[0]:
                os.read(self.wake, PIECE)
            self._reap()
            for served in self.channels.values():
                served.kill_late()


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
