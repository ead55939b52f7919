"""Runs git on repositories of others: it never prompts, runs none of their programs, and has limits for time and size.

Several commands run at once. Each git has its own process group with the programs that it starts for the network, and
the group is killed before we return, even after an error.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import IO

from sow.system import clock, git
from sow.system.git import GitResult
from sow.system.process import process_tree
from sow.system.process.program import unnamed_file

STOPPING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
AT_ONCE = 20
TICK = 0.1
SHORTEST = 0.005  # seconds until a git that has closed its pipes is looked at again
CHUNK = 1 << 16
MOST = 1 << 20  # bytes of output per git; the rest is dropped
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
    "GIT_ASKPASS": "",  # an empty value wins over core.askPass and SSH_ASKPASS, and is not run
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "LC_ALL": "C",
}
# After these, ssh or the server gave the cause before.
NO_CAUSE = ("Could not read from remote repository", "the remote end hung up")
BATCH_SSH = "ssh -o BatchMode=yes"
LIMITS_OF_SSH = ("ConnectTimeout=30", "ServerAliveInterval=15")  # it would wait for ever for a host that is cut off


@dataclass(frozen=True, slots=True)
class GitCommand:
    """One git command: its arguments, options before them, folder and standard input."""

    arguments: Sequence[str]
    folder: str = "/"  # by default not a repository, whose settings git could obey
    options: Sequence[str] = ()
    input: str = ""


class InterruptOnSignal:
    """Treats SIGTERM, SIGHUP and SIGQUIT like Ctrl-C in a `with` block, so that no process of ours stays behind."""

    def __enter__(self) -> None:
        self.before: list[signal.Signals] = []
        if threading.current_thread() is threading.main_thread():
            self.before = [number for number in STOPPING if signal.getsignal(number) is signal.SIG_DFL]
        for number in self.before:
            signal.signal(number, _stop)

    def __exit__(self, *_: object) -> None:
        for number in self.before:
            signal.signal(number, signal.SIG_DFL)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@dataclass(slots=True)
class RunningGit:
    """A running git; its output is kept up to a limit."""

    index: int
    process: subprocess.Popen[bytes]
    deadline: float
    outputs: dict[IO[bytes], bytearray]  # by its open pipes
    out: bytearray
    err: bytearray
    stopped: str = ""

    def read(self) -> bool:
        """Reads what there is; returns whether git has ended, even if a program that it left holds its pipes."""
        has_ended = self.process.poll() is not None
        for pipe, data in list(self.outputs.items()):
            with suppress(BlockingIOError):
                while chunk := os.read(pipe.fileno(), CHUNK):
                    data += chunk[: max(MOST - len(data), 0)]
                del self.outputs[pipe]
        return has_ended

    def close(self) -> RemoteResult:
        """Kills what is left of git and its programs, and returns the result."""
        if self.outputs or self.process.poll() is None:
            process_tree.signal_one(self.process.pid, signal.SIGKILL, group=True)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()
        out, err = (bytes(data).decode("utf-8", "surrogateescape") for data in (self.out, self.err))
        return RemoteResult(code=self.process.wait(), out=out, err=err, stopped=self.stopped)


@dataclass(frozen=True, kw_only=True)
class RemoteResult(GitResult):
    """The result of one git; `stopped` says why we ended it: timeout, or the watcher's reason."""

    stopped: str

    @property
    def message(self) -> str:
        """Returns the cause of the failure: if git only says that the remote did not answer, the line before that."""
        message = super().message
        before, match, _ = self.err.partition(f"fatal: {message}")
        return before.strip().rpartition("\n")[2] or message if match and message.startswith(NO_CAUSE) else message


def run(ask: GitCommand, *, timeout: float, watch: Callable[[], str] | None = None) -> RemoteResult:
    """Runs one git command; `watch` is called regularly, and a reason that it returns ends the command."""
    return run_all([ask], timeout=timeout, watch=watch)[0]


def run_all(
    asks: Sequence[GitCommand], *, timeout: float, watch: Callable[[], str] | None = None
) -> list[RemoteResult]:
    """Runs the commands, several at once; returns the answers in their order, and leaves nothing running."""
    answers: dict[int, RemoteResult] = {}
    running: list[RunningGit] = []
    waiting = list(enumerate(asks))
    environment = sealed_environment() if asks else {}
    with InterruptOnSignal():
        try:
            while waiting or running:
                while waiting and len(running) < AT_ONCE:
                    index, ask = waiting.pop(0)
                    running.append(_start(index, ask, environment, time.monotonic() + timeout))
                pipes = [pipe for command in running for pipe in command.outputs]
                select.select(pipes, [], [], TICK if all(command.outputs for command in running) else SHORTEST)
                _stop_late(running, watch)
                for command in [candidate for candidate in running if candidate.read()]:
                    running.remove(command)
                    answers[command.index] = command.close()
        finally:
            for command in running:
                command.close()
    return [answers[index] for index in range(len(asks))]


def sealed_environment() -> dict[str, str]:
    """Returns the environment for git with a remote: no prompts, few protocols, and the user's own ssh command."""
    environment = {name: value for name, value in os.environ.items() if name not in git.REMOVED_VARIABLES}
    if "GIT_SSH_COMMAND" not in environment and "GIT_SSH" not in environment:
        user_command = git.run(["config", "--get", "core.sshCommand"], cwd="/", check=False).strip()
        environment["GIT_SSH_COMMAND"] = user_command or BATCH_SSH  # neither has a terminal to ask on
    command = environment.get("GIT_SSH_COMMAND", "")
    if os.path.basename(command.partition(" ")[0]) == "ssh" and "GIT_SSH_VARIANT" not in environment:
        limits = [f"-o {limit}" for limit in LIMITS_OF_SSH if limit.partition("=")[0] not in command]
        environment["GIT_SSH_COMMAND"] = " ".join([command, *limits])
    return environment | QUIET


def _start(index: int, ask: GitCommand, environment: dict[str, str], deadline: float) -> RunningGit:
    clock.crash_point(f"git {ask.arguments[0]}")
    stdin = unnamed_file(ask.input, environment) if ask.input else subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            ["git", *git.SETTINGS, *SETTINGS, *ask.options, *ask.arguments],
            cwd=ask.folder,
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise git.start_failure(error, ask.folder) from None
    finally:
        if ask.input:
            os.close(stdin)
    out, err = bytearray(), bytearray()
    outputs = {pipe: data for pipe, data in ((process.stdout, out), (process.stderr, err)) if pipe}
    for pipe in outputs:
        os.set_blocking(pipe.fileno(), False)
    return RunningGit(index, process, deadline, outputs, out, err)


def _stop_late(running: list[RunningGit], watch: Callable[[], str] | None) -> None:
    reason = watch() if watch else ""
    for command in running:
        if not command.stopped and (reason or time.monotonic() > command.deadline):
            command.stopped = reason or "timeout"
            process_tree.signal_one(command.process.pid, signal.SIGKILL, group=True)
