"""The door to repositories of others: git that never asks, runs nothing of theirs, and ends in time and within a size.

Several are asked at once. Each git has a process group of its own, with the programs that it starts for the network,
and the group is gone when we return, however that comes about.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time

from sow.errors import Failed
from sow.system import boundary, git, tree
from sow.system.git import Done

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType, TracebackType

STOPPING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
AT_ONCE = 20
TICK = 0.1
LINGER = 1.0  # how long the pipes of a git that has ended are still read
CHUNK = 1 << 16
MOST = 1 << 20  # of what one git may say; the rest is thrown away
ALLOWED = "https:ssh:file"
SETTINGS = (
    *("-c", "transfer.fsckObjects=true", "-c", "fetch.recurseSubmodules=false", "-c", "credential.interactive=false"),
    *("-c", "http.lowSpeedLimit=100", "-c", "http.lowSpeedTime=30", "-c", "protocol.version=2"),
    *("-c", "fetch.unpackLimit=1", "-c", "core.bigFileThreshold=8m"),  # a file of gigabytes never fills the memory
    *("-c", "core.protectHFS=true", "-c", "core.protectNTFS=true", "-c", "advice.detachedHead=false"),
)
QUIET = {
    "GIT_ALLOW_PROTOCOL": ALLOWED,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # an empty one wins over core.askPass and SSH_ASKPASS, and is not run
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "LC_ALL": "C",
}
BATCH_SSH = "ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15"


class Ask:
    """One git command: its words, what stands before them, where it works, and what it is told on standard input."""

    __slots__ = ("arguments", "folder", "input", "options")

    def __init__(
        self, arguments: Sequence[str], *, folder: str = "/", options: Sequence[str] = (), input: str = ""
    ) -> None:
        self.arguments = list(arguments)
        self.folder = folder  # by default nobody's repository, whose settings git could obey
        self.options = list(options)
        self.input = input


class Stops:
    """`with Stops():` a polite signal to end is like Ctrl-C, so that nothing of ours goes on behind us."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before: list[signal.Signals] = []
        if threading.current_thread() is threading.main_thread():
            self.before = [each for each in STOPPING if signal.getsignal(each) is signal.SIG_DFL]
        for each in self.before:
            signal.signal(each, _stop)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self.before:
            signal.signal(each, signal.SIG_DFL)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


class Running:
    """A git that runs; what it says is kept up to a limit."""

    __slots__ = ("deadline", "ended", "err", "index", "open", "out", "process", "stopped")

    def __init__(self, index: int, process: subprocess.Popen[bytes], deadline: float) -> None:
        self.index = index
        self.process = process
        self.deadline = deadline
        self.out = bytearray()
        self.err = bytearray()
        self.open = 2
        self.stopped = ""
        self.ended = 0.0

    def is_over(self) -> bool:
        """Whether it has ended and said all; what it left in the background, such as ssh, may hold its pipes."""
        if self.process.poll() is None:
            return False
        self.ended = self.ended or time.monotonic()
        return not self.open or time.monotonic() - self.ended > LINGER

    def done(self) -> Answer:
        """What it came to, when it has ended."""
        out, err = (bytes(each).decode("utf-8", "surrogateescape") for each in (self.out, self.err))
        return Answer(code=self.process.wait(), out=out, err=err, stopped=self.stopped)


class Answer(Done):
    """What one git came to; `stopped` says why we ended it: timeout, or the watcher's word."""

    __slots__ = ("stopped",)

    def __init__(self, *, code: int, out: str, err: str, stopped: str) -> None:
        super().__init__(code=code, out=out, err=err)
        self.stopped = stopped


def run(ask: Ask, *, timeout: float, watch: Callable[[], str] | None = None) -> Answer:
    """One git command; `watch` is called now and then, and a word of it ends the command."""
    return run_all([ask], timeout=timeout, watch=watch)[0]


def run_all(asks: Sequence[Ask], *, timeout: float, watch: Callable[[], str] | None = None) -> list[Answer]:
    """The commands, several at once; the answers are in their order, and nothing of any is left running."""
    answers: dict[int, Answer] = {}
    running: list[Running] = []
    waiting = list(enumerate(asks))
    environment = _environment() if asks else {}
    with Stops(), selectors.DefaultSelector() as pipes:
        try:
            while waiting or running:
                while waiting and len(running) < AT_ONCE:
                    index, ask = waiting.pop(0)
                    running.append(_start(index, ask, environment, time.monotonic() + timeout, pipes))
                _listen(pipes)
                _stop_late(running, watch)
                for each in [one for one in running if one.is_over()]:
                    running.remove(each)
                    if each.open:
                        _kill(each, pipes)
                    answers[each.index] = each.done()
        finally:
            for each in running:
                _kill(each, pipes)
    return [answers[index] for index in range(len(asks))]


def _environment() -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in git.HIDDEN}
    if "GIT_SSH_COMMAND" not in environment and "GIT_SSH" not in environment:
        own = git.run(["config", "--get", "core.sshCommand"], cwd="/", check=False).strip()
        environment["GIT_SSH_COMMAND"] = own or BATCH_SSH  # one's own has no terminal to ask on either
    return environment | QUIET


def _start(
    index: int, ask: Ask, environment: dict[str, str], deadline: float, pipes: selectors.BaseSelector
) -> Running:
    boundary.cross(f"git {ask.arguments[0]}")
    try:
        process = subprocess.Popen(
            ["git", *git.SETTINGS, *SETTINGS, *ask.options, *ask.arguments],
            cwd=ask.folder,
            env=environment,
            stdin=subprocess.PIPE if ask.input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        if error.filename == ask.folder:
            raise Failed(f"{ask.folder} is gone", "run the command again") from None
        raise Failed("git is not installed", "install git 2.38 or newer and put it on PATH") from None
    except OSError as error:
        raise Failed(f"cannot start git: {error.strerror}", "mend that and run the command again") from None
    running = Running(index, process, deadline)
    for pipe, into in ((process.stdout, running.out), (process.stderr, running.err)):
        if pipe:
            os.set_blocking(pipe.fileno(), False)
            pipes.register(pipe, selectors.EVENT_READ, (running, into))
    if process.stdin:
        os.set_blocking(process.stdin.fileno(), False)
        pipes.register(process.stdin, selectors.EVENT_WRITE, (running, bytearray(ask.input.encode())))
    return running


def _listen(pipes: selectors.BaseSelector) -> None:
    """Take what there is to read, and give what can be given."""
    for key, _ in pipes.select(TICK):
        running, data = key.data
        if key.events == selectors.EVENT_WRITE:
            _feed(key.fileobj, data, pipes)
            continue
        read = os.read(key.fd, CHUNK)
        if read:
            data += read[: max(MOST - len(data), 0)]
        else:
            running.open -= 1
            _close(key.fileobj, pipes)


def _feed(pipe: object, data: bytearray, pipes: selectors.BaseSelector) -> None:
    try:
        del data[: os.write(pipe.fileno(), data[:CHUNK])]  # type: ignore[attr-defined]
    except BlockingIOError:
        return
    except BrokenPipeError:  # it wants no more, and says why elsewhere
        data.clear()
    if not data:
        _close(pipe, pipes)


def _close(pipe: object, pipes: selectors.BaseSelector) -> None:
    pipes.unregister(pipe)  # type: ignore[arg-type]
    pipe.close()  # type: ignore[attr-defined]


def _stop_late(running: list[Running], watch: Callable[[], str] | None) -> None:
    word = watch() if watch else ""
    for each in running:
        if not each.stopped and not each.ended and (word or time.monotonic() > each.deadline):
            each.stopped = word or "timeout"
            tree.signal_one(each.process.pid, signal.SIGKILL, group=True)


def _kill(running: Running, pipes: selectors.BaseSelector) -> None:
    """End a git with all that it started, and let its pipes go."""
    tree.signal_one(running.process.pid, signal.SIGKILL, group=True)
    for pipe in (running.process.stdin, running.process.stdout, running.process.stderr):
        if pipe and not pipe.closed:
            if pipe in pipes.get_map():
                pipes.unregister(pipe)
            pipe.close()
    running.process.wait()
