"""A program in the foreground: what sow does meanwhile, and that it does not outlive sow."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from conftest import PYTHONPATH
from support.simulated_workers import wait_for

BEGIN = "import os, sys; from sow.system.process.program import run_in_front\n"


def start(folder: Path, code: str) -> subprocess.Popen[bytes]:
    """Starts a Python that runs this code, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", BEGIN + code],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": PYTHONPATH},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_work_during_a_program(tmp_path: Path):
    """While the program waits for a file, sow can make it; its folder, environment and exit code are right."""
    code = """
words = ["sh", "-c", "while [ ! -e go ]; do sleep 0.02; done; echo $MARK; exit 7"]
place, marks = os.getcwd() + "/below", {"PATH": os.environ["PATH"], "MARK": "mine"}
os.mkdir(place)
sys.exit(run_in_front(words, cwd=place, environment=marks, meanwhile=lambda: open("below/go", "w").close()))
"""
    out, err = (process := start(tmp_path, code)).communicate(timeout=300)
    assert (process.returncode, out) == (7, b"mine\n"), err


def test_an_error_meanwhile_ends_the_program(tmp_path: Path):
    """If sow fails meanwhile, the program is ended first."""
    code = """
words = ["sh", "-c", "echo $$ > pid; exec sleep 600"]
run_in_front(words, meanwhile=lambda: 1 // (not os.path.exists("pid") or os.path.getsize("pid") == 0))
"""
    _, err = (process := start(tmp_path, code)).communicate(timeout=300)
    assert process.returncode == 1
    assert b"ZeroDivisionError" in err
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_a_signal_to_sow_ends_the_program(tmp_path: Path):
    """SIGTERM is passed on to the program, and sow ends with it."""
    code = """
words = ["sh", "-c", "trap 'exit 9' TERM; echo $$ > pid; while true; do sleep 0.02; done"]
sys.exit(run_in_front(words))
"""
    process = start(tmp_path, code)
    pid = int(wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text()))
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 9, err
    assert not is_alive(pid)
