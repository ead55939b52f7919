"""The runner that starts real processes for users of executors."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sow.errors import Interrupted, SowError
from sow.executors import DefaultCommandRunner


def alive(path: Path) -> bool:
    """Tells whether the process whose id is in the file still runs; on a slow machine the file may be missing."""
    if not path.exists():
        return False
    result = subprocess.run(["ps", "-o", "stat=", "-p", path.read_text().strip()], capture_output=True, text=True)
    return result.stdout.strip()[:1] not in ("", "Z")


def test_input_and_output_are_connected(capfd: pytest.CaptureFixture[str]) -> None:
    """The prompt is the program's stdin, and its stdout and stderr are the caller's (A4)."""
    DefaultCommandRunner().run("sh", ["-c", "cat; echo problem >&2"], "the prompt\n")
    assert capfd.readouterr() == ("the prompt\n", "problem\n")


def test_a_large_prompt_does_not_block(tmp_path: Path) -> None:
    """A program that never reads its stdin does not block."""
    DefaultCommandRunner().run("true", [], "x" * (1 << 20))


def test_lines_can_be_read(capfd: pytest.CaptureFixture[str]) -> None:
    """`on_line` gets each line once, also a last one without a line end, and nothing is printed."""
    lines: list[str] = []
    script = "import sys; print('x' * 300_000); print('é'); sys.stdout.write('last')"
    DefaultCommandRunner(on_line=lines.append).run(sys.executable, ["-c", script], "")
    assert lines == ["x" * 300_000, "é", "last"]
    assert capfd.readouterr().out == ""


def test_variables_are_added() -> None:
    """The program sees the caller's variables and the added ones."""
    lines: list[str] = []
    runner = DefaultCommandRunner(environment={"EXTRA": "more"}, on_line=lines.append)
    runner.run("sh", ["-c", 'echo "$EXTRA $PATH"'], "")
    assert lines == [f"more {os.environ['PATH']}"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sh", "-c", "exit 3"], "sh ended with exit code 3"),
        (["no-such-program"], "cannot start no-such-program: No such file"),
    ],
)
def test_a_failure_is_an_error(words: list[str], message: str) -> None:
    """The exit code or the reason is in the message."""
    with pytest.raises(SowError, match=message):
        DefaultCommandRunner().run(words[0], words[1:], "")


def test_a_program_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    """After the time-out the program and its children are gone (A6)."""
    script = f"sleep 600 & echo $! > {tmp_path}/child; echo $$ > {tmp_path}/self; sleep 600"
    with pytest.raises(SowError, match=r"sh did not end within 1 seconds"):
        DefaultCommandRunner().run("sh", ["-c", script], "", timeout=1)
    assert not alive(tmp_path / "self") and not alive(tmp_path / "child")


def test_a_program_can_be_cancelled(tmp_path: Path) -> None:
    """Another thread sets the event, and the program is gone when the error is raised (A6)."""
    cancel, started = threading.Event(), tmp_path / "self"

    def stop() -> None:
        while not started.exists() or not started.read_text():
            time.sleep(0.01)
        cancel.set()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(Interrupted, match="sh was cancelled"):
        DefaultCommandRunner().run("sh", ["-c", f"echo $$ > {started}; exec sleep 600"], "", cancel=cancel)
    thread.join()
    assert not alive(started)


def test_a_cancelled_turn_does_not_start() -> None:
    """An event that is set before the turn ends it at once."""
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Interrupted):
        DefaultCommandRunner().run("sleep", ["600"], "", cancel=cancel)
