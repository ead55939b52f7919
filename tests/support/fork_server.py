"""Runs each call of sow in a fork of a process with all imports done, without the start of Python.

The child has its folder, environment, arguments, streams and name as from a shell. This does not test the code before
sow's first line: a call whose environment changes the start of Python runs as a real command, and
`test_fork_server.py` proves that every module can be the first one to be loaded.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from typing import NoReturn

OF_THE_START = ("PYTHON", "LANG", "LC_", "SOW_TEST_")  # what is read when Python starts, or when modules are loaded
SIZE = 8  # bytes of a number
# They bring the SDK of Temporal, with which each fork takes half as long again; the few calls that need it load it.
RARE = (".temporal_client", ".temporal_host")


class ForkServer:
    """The process, for the tests."""

    def __init__(self, program: str, environment: dict[str, str]) -> None:
        self.start = _of_the_start(environment)
        self.owner = os.getpid()
        self.lock = threading.Lock()
        self.socket, theirs = socket.socketpair()
        command = [sys.executable, __file__, str(theirs.fileno()), program]
        with theirs:
            self.process = subprocess.Popen(command, env=environment, pass_fds=(theirs.fileno(),))

    def close(self) -> None:
        self.socket.close()
        self.process.wait(300)

    def call(
        self, words: list[str], *, cwd: str, environment: dict[str, str], stdin: bytes, timeout: float
    ) -> subprocess.CompletedProcess[bytes] | None:
        """Makes one call, like `subprocess.run` of the program; returns None if only a fresh start is right."""
        if (
            _of_the_start(environment) != self.start
            or os.getpid() != self.owner
            or not self.lock.acquire(blocking=False)
        ):
            return None
        try:
            with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
                given.write(stdin)
                given.seek(0)
                request = json.dumps([words, cwd, environment]).encode()
                streams = [item.fileno() for item in (given, out, err)]
                socket.send_fds(self.socket, [len(request).to_bytes(SIZE)], streams)
                self.socket.sendall(request)
                code = self._wait(timeout)
                out.seek(0)
                err.seek(0)
                return subprocess.CompletedProcess(words, code, out.read(), err.read())
        finally:
            self.lock.release()

    def _wait(self, timeout: float) -> int:
        """Returns how the child ended; one that takes too long is killed, and is an error."""
        child = _number(self.socket)
        self.socket.settimeout(timeout)
        try:
            return os.waitstatus_to_exitcode(_number(self.socket))
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            self.socket.settimeout(None)
            _number(self.socket)
            raise
        finally:
            self.socket.settimeout(None)


def _of_the_start(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(OF_THE_START)}


def _exactly(wire: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = wire.recv(size - len(data))
        if not more:
            raise EOFError("the other side is gone")
        data += more
    return data


def _number(wire: socket.socket) -> int:
    return int.from_bytes(_exactly(wire, SIZE))


def serve(wire: socket.socket, program: str) -> None:
    """Forks for every request until all clients are gone."""
    load()
    while True:
        head, streams, _, _ = socket.recv_fds(wire, SIZE, 3)
        if not head:
            return
        request = _exactly(wire, int.from_bytes(head))
        child = os.fork()
        if not child:
            wire.close()
            _play(program, streams, *json.loads(request))
        for stream in streams:
            os.close(stream)
        wire.sendall(child.to_bytes(SIZE))
        wire.sendall(os.waitpid(child, 0)[1].to_bytes(SIZE))


def modules() -> list[str]:
    """Returns every module of sow that is loaded and not run; the SDK of the server of tools would take a second."""
    import pkgutil

    import sow

    names = [walk_package.name for walk_package in pkgutil.walk_packages(sow.__path__, "sow.")]
    return [name for name in names if not name.endswith(("__main__", ".mcp_server"))]


def load() -> None:
    """Loads what most calls may need, so that a child has it from the start."""
    import gc
    from importlib import import_module

    for name in modules():
        if not name.endswith(RARE):
            import_module(name)
    gc.collect()
    gc.freeze()


def _play(program: str, streams: list[int], words: list[str], cwd: str, environment: dict[str, str]) -> NoReturn:
    """Becomes the program."""
    import atexit
    import time
    import traceback

    from sow.cli.main import main

    code = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        _wear(os.path.basename(program))
        sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        sys.argv = [program, *words]
        code = main()
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:  # as Python would end: the trace, and exit 1
        traceback.print_exc()
    finally:
        os._exit(code)


def _wear(name: str) -> None:
    """Takes the name of a program that was started."""
    if os.path.exists("/proc/self/comm"):
        with open("/proc/self/comm", "w", encoding="utf-8") as file:
            file.write(name)


if __name__ == "__main__":
    sys.path.pop(0)  # the program does not know the folder of the tests
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
