"""The door to small programs: one in front of the person, such as an editor, and one that is asked something."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time

from sow.errors import Failed
from sow.system import boundary, census, identity, tree
from sow.system.tree import MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from threading import Event

MOST = 256 << 10
LARGE = 8 << 20
TICK = 0.05
NOW_AND_THEN = 0.3


class Answer:
    """What a program said before it ended, was too slow, or was too loud; `code` is None where we had to end it."""

    __slots__ = ("code", "text")

    def __init__(self, *, code: int | None, text: str) -> None:
        self.code = code
        self.text = text


class Said:
    """What a program said on each of its streams, and its exit code."""

    __slots__ = ("code", "err", "out")

    def __init__(self, *, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


def run_in_front(
    arguments: list[str],
    *,
    cwd: str | None = None,
    environment: Mapping[str, str] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> int:
    """Give the terminal to a program until it ends, and do something `meanwhile`, now and then.

    Ctrl-C is for the program and not for us; it is told when somebody asks us to end.
    """
    boundary.cross(f"start {arguments[0]}")
    try:
        process = subprocess.Popen(arguments, cwd=cwd, env=environment)
    except OSError as error:
        raise Failed(f"cannot start {arguments[0]}: {error.strerror}", "see whether it is installed") from None
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        while True:
            try:
                return process.wait(None if meanwhile is None else NOW_AND_THEN)
            except subprocess.TimeoutExpired:
                if meanwhile is not None:
                    meanwhile()
    finally:
        if process.poll() is None:  # what was done meanwhile failed
            process.terminate()
            process.wait()
        for number, handler in before.items():
            signal.signal(number, handler)


def ask(arguments: list[str], *, environment: Mapping[str, str], timeout: float) -> Answer:
    """Run a program and take what it prints; when we return, nothing of it is left."""
    mark = identity.uuid4()
    boundary.cross(f"start {arguments[0]}")
    try:
        process = subprocess.Popen(
            arguments,
            cwd="/",  # nobody's repository, whose settings the program could obey
            env={**environment, MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise Failed(f"cannot start {arguments[0]}: {error.strerror}", "install it anew") from None
    try:
        return _listen(process, time.monotonic() + timeout)
    finally:
        _end(process, mark)


def listen_to(
    arguments: list[str], *, cwd: str, environment: Mapping[str, str], stop: Event, given: str | None = None
) -> Said:
    """Run a program for as long as it takes, and take what it prints; when `stop` is set, it is asked to end.

    It is asked as Ctrl-C would, so that one of our own puts its work in order first. It reads what it is `given`.
    """
    boundary.cross(f"start {arguments[0]}")
    data = None if given is None else given.encode("utf-8", "surrogateescape")
    try:
        process = subprocess.Popen(
            arguments,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise Failed(f"cannot start {arguments[0]}: {error.strerror}", "install it anew") from None
    asked = False
    while True:
        try:
            out, err = process.communicate(data, timeout=NOW_AND_THEN)
            return Said(code=process.returncode, out=_text(out, LARGE), err=_text(err, LARGE))
        except subprocess.TimeoutExpired:
            data = None  # it is on its way
            if stop.is_set() and not asked:
                process.send_signal(signal.SIGINT)
                asked = True


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    """End the program and all that it started."""
    below = tree.relatives(process.pid, census.here().everybody())
    if process.poll() is None:
        tree.signal_one(process.pid, signal.SIGKILL, group=True)
    tree.sweep(process.pid, mark, below)
    process.wait()
    if process.stdout:
        process.stdout.close()


def _listen(process: subprocess.Popen[bytes], until: float) -> Answer:
    """Read until it has ended; one that lives on behind an ended program is not waited for."""
    pipe = process.stdout.fileno() if process.stdout else -1
    said = b""
    while time.monotonic() < until and len(said) < MOST:
        ended = process.poll() is not None
        ready, _, _ = select.select([pipe], [], [], 0 if ended else TICK)
        data = os.read(pipe, MOST) if ready else b""
        said += data
        if not data and (ended or ready):
            code = _wait(process, until)
            return Answer(code=code, text=_text(said))
    return Answer(code=None, text=_text(said))


def _wait(process: subprocess.Popen[bytes], until: float) -> int | None:
    """The exit code of a program that has closed its output; it may be slow to go."""
    try:
        return process.wait(max(until - time.monotonic(), 0))
    except subprocess.TimeoutExpired:
        return None


def _text(said: bytes, most: int = MOST) -> str:
    return said[:most].decode("utf-8", "replace")
