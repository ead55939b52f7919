"""Simulates a bad agent: floods, garbage, silence, and processes that try to outlive it."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

BLOCK = 1 << 16


def do_raw(text: Any) -> None:
    """Prints a line that is not JSON."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def do_stderr(text: Any) -> None:
    """Prints a line on stderr."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def do_bytes(text: Any) -> None:
    """Prints bytes given in hex, such as half a character."""
    sys.stdout.flush()
    os.write(1, bytes.fromhex(str(text)))


def do_flood(size: Any) -> None:
    """Prints so many bytes on many lines."""
    _flood(int(size), one_line=False)


def do_long_line(size: Any) -> None:
    """Prints so many bytes on one line."""
    _flood(int(size), one_line=True)


def do_sleep(seconds: Any) -> None:
    """Does nothing for some seconds."""
    time.sleep(float(seconds))


def do_ignore(names: Any) -> None:
    """Ignores signals."""
    for name in names:
        signal.signal(getattr(signal, str(name)), signal.SIG_IGN)


def do_kill(value: Any) -> None:
    """Kills itself."""
    os.kill(os.getpid(), signal.SIGKILL)


def _flood(size: int, *, one_line: bool) -> None:
    sys.stdout.flush()
    block = b"x" * BLOCK if one_line else (b"x" * 99 + b"\n") * (BLOCK // 100)
    for _ in range(size // len(block)):
        os.write(1, block)
    if one_line:
        os.write(1, b"\n")


def do_close_output(value: Any) -> None:
    """Closes stdout and stderr, and continues."""
    sys.stdout.flush()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)


def do_hang(value: Any) -> None:
    """Does nothing until it is killed."""
    while True:
        time.sleep(3600)


def do_orphan(options: Any) -> None:
    """Leaves a process behind: forked twice, in its own session, ignoring signals, or without sow's variables."""
    settings: dict[str, Any] = options if isinstance(options, dict) else {}
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    if settings.get("deaf", True):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    script = f"import os, signal, time\n{_deaf(settings)}time.sleep({float(settings.get('seconds', 300))})\n"
    environment = {"PATH": os.environ.get("PATH", "")} if settings.get("unmarked") else dict(os.environ)
    os.execve(sys.executable, [sys.executable, "-c", script], environment)  # noqa: S606


def _deaf(settings: dict[str, Any]) -> str:
    names = "signal.SIGTERM, signal.SIGINT, signal.SIGHUP"
    return f"[signal.signal(number, signal.SIG_IGN) for number in ({names})]\n" if settings.get("deaf", True) else ""
