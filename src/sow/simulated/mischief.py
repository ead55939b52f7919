"""What a bad agent does: floods, garbage, silence, and processes that try to outlive it."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

BLOCK = 1 << 16


def do_raw(text: Any) -> None:
    """A line that is not in the stream's format."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def do_stderr(text: Any) -> None:
    """A line beside the stream."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def do_bytes(text: Any) -> None:
    """Bytes, given in hex, such as half a character."""
    sys.stdout.flush()
    os.write(1, bytes.fromhex(str(text)))


def do_flood(size: Any) -> None:
    """So many bytes of output on many lines."""
    _flood(int(size), one_line=False)


def do_long_line(size: Any) -> None:
    """So many bytes of output on one line."""
    _flood(int(size), one_line=True)


def do_sleep(seconds: Any) -> None:
    """Work in silence."""
    time.sleep(float(seconds))


def do_ignore(names: Any) -> None:
    """Turn deaf to signals."""
    for each in names:
        signal.signal(getattr(signal, str(each)), signal.SIG_IGN)


def do_kill(value: Any) -> None:
    """Die without a word."""
    os.kill(os.getpid(), signal.SIGKILL)


def _flood(size: int, *, one_line: bool) -> None:
    sys.stdout.flush()
    block = b"x" * BLOCK if one_line else (b"x" * 99 + b"\n") * (BLOCK // 100)
    for _ in range(size // len(block)):
        os.write(1, block)
    if one_line:
        os.write(1, b"\n")


def do_close_output(value: Any) -> None:
    """Close stdout and stderr, and live on."""
    sys.stdout.flush()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)


def do_hang(value: Any) -> None:
    """Do nothing until somebody ends it."""
    while True:
        time.sleep(3600)


def do_orphan(options: Any) -> None:
    """Leave a process behind: forked twice, in a session of its own, deaf to polite signals, without its marks."""
    value: dict[str, Any] = options if isinstance(options, dict) else {}
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    if value.get("deaf", True):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    script = f"import os, signal, time\n{_deaf(value)}time.sleep({float(value.get('seconds', 300))})\n"
    environment = {"PATH": os.environ.get("PATH", "")} if value.get("unmarked") else dict(os.environ)
    os.execve(sys.executable, [sys.executable, "-c", script], environment)  # noqa: S606


def _deaf(value: dict[str, Any]) -> str:
    names = "signal.SIGTERM, signal.SIGINT, signal.SIGHUP"
    return f"[signal.signal(each, signal.SIG_IGN) for each in ({names})]\n" if value.get("deaf", True) else ""
