"""A process with all imports done that calls sow thousands of times in a short time.

It is a separate process because each call has its own folder and environment, and because a bomb may end it.
"""

from __future__ import annotations

import io
import os
import pickle
import resource
import select
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass, field
from typing import Any, BinaryIO

PATIENCE = 120
MEMORY = 1 << 30
CPU_SECONDS = 60
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn")


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of sow, as the shell would make it."""

    words: list[str]
    cwd: str
    environment: dict[str, str]
    stdin: bytes = b""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The result of a call; `started` has the command line of every process that it started."""

    code: int
    out: str
    err: str
    started: list[list[str]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def said(self) -> str:
        return self.out + self.err


class Caller:
    """The process; `with Caller() as caller:` ends it."""

    def __enter__(self) -> Caller:
        self.process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def call(self, *arguments: str, cwd: object, environment: dict[str, str], stdin: bytes = b"") -> Answer:
        """Makes one call in the warm process itself."""
        call = Call(words=list(arguments), cwd=str(cwd), environment=environment, stdin=stdin)
        return self._ask([call], bounded=False)[0]

    def bounded(self, calls: list[Call]) -> list[Answer]:
        """Makes the calls, one after the other, in a child with little memory; the last answer may be a signal."""
        return self._ask(calls, bounded=True)

    def _ask(self, calls: list[Call], *, bounded: bool) -> list[Answer]:
        assert self.process.stdin and self.process.stdout
        pickle.dump((calls, bounded), self.process.stdin)
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        assert ready, f"no answer within {PATIENCE} seconds to {calls!r:.500}"
        answers: list[Answer] = pickle.load(self.process.stdout)  # noqa: S301
        return answers


def serve() -> None:
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    _load_all()
    started: list[list[str]] = []
    sys.addaudithook(lambda event, details: started.append(_command(details)) if event in STARTS else None)
    while True:
        try:
            calls, bounded = pickle.load(requests)  # noqa: S301
        except EOFError:
            return
        done = _in_child(calls, started) if bounded else [_run(call, started) for call in calls]
        pickle.dump(done, answers)
        answers.flush()


def _load_all() -> None:
    from importlib import import_module

    from sow.cli.command import GROUPS

    for module in (*GROUPS.values(), "main", "tasks.show"):
        import_module(f"sow.cli.{module}")
    for module in ("domain.text.yaml_nodes", "store.projects.log", "store.projects.project", "store.formats.cue"):
        import_module(f"sow.{module}")


def _command(details: tuple[Any, ...]) -> list[str]:
    text = details[1] if len(details) > 1 else details[0]
    return [os.fsdecode(word) for word in text] if isinstance(text, (list, tuple)) else [os.fsdecode(text)]


def _run(call: Call, started: list[list[str]]) -> Answer:
    from sow.cli.main import main

    os.chdir(call.cwd)
    os.environ.clear()
    os.environ.update(call.environment)
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(call.stdin), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", write_through=True)
    started.clear()
    before = time.process_time()
    try:
        code = main(call.words)
    except BaseException:  # as Python would end: the trace, and exit 1
        traceback.print_exc()
        code = 1
    seconds = time.process_time() - before
    output = [item.getvalue().decode("utf-8", "surrogateescape") for item in (out, err)]
    return Answer(code=code, out=output[0], err=output[1], started=list(started), seconds=seconds)


def _in_child(calls: list[Call], started: list[list[str]]) -> list[Answer]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        with os.fdopen(writing, "wb") as pipe:
            for call in calls:
                pickle.dump(_run(call, started), pipe)
                pipe.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answers = list(_answers(pipe))
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        answers.append(Answer(code=-os.WTERMSIG(status), out="", err="killed by a signal"))
    return answers


def _answers(pipe: BinaryIO) -> Any:
    while True:
        try:
            yield pickle.load(pipe)  # noqa: S301
        except (EOFError, pickle.UnpicklingError):
            return


if __name__ == "__main__":
    # Both processes pickle with the same module name. Its package is found in the folder of the tests.
    sys.path[0] = os.path.dirname(sys.path[0])
    sys.modules["support.call_server"] = sys.modules["__main__"]
    for each in (Call, Answer):
        each.__module__ = "support.call_server"
    serve()
