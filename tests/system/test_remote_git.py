"""Git calls to remote repositories: in parallel, with time limits, without prompts, and no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Repo

from sow.errors import SystemFailure
from sow.system import remote_git
from sow.system.remote_git import GitCommand


@pytest.fixture(autouse=True)
def _at_home(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets git see only the test's home."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def test_answers_are_in_the_order_of_the_questions(bare_repo: Repo, tmp_path: Path) -> None:
    """Thirty questions, more than run at once, each get their own answer."""
    asks = [
        GitCommand(["ls-remote", "--", str(bare_repo.root if number % 3 else tmp_path / "no")]) for number in range(30)
    ]
    answers = remote_git.run_all(asks, timeout=300)
    head = bare_repo.git("rev-parse", "HEAD").strip()
    assert [head in answer.out for answer in answers] == [bool(number % 3) for number in range(30)]
    assert [bool(answer.code) for answer in answers] == [not number % 3 for number in range(30)]


def test_calls_run_in_parallel(tmp_path: Path) -> None:
    """Four calls of which each waits for all four to start are completed."""
    meet = f"cd {tmp_path} && touch $$ && until [ $(ls | wc -l) -ge 4 ]; do sleep 0.05; done"
    asks = [GitCommand(["-c", f"alias.meet=!{meet}", "meet"])] * 4
    assert [result.code for result in remote_git.run_all(asks, timeout=300)] == [0] * 4


def test_a_late_call_is_ended(tmp_path: Path) -> None:
    """After its time git and its children are gone, and the others have their answers."""
    mark = tmp_path / "pid"
    late = GitCommand(["-c", f"alias.late=!sh -c 'echo $$ > {mark}; sleep 600'", "late"])
    for seconds in (3, 30, 120):  # a busy machine may need longer for what is not late
        answers = remote_git.run_all([late, GitCommand(["version"])], timeout=seconds)
        if not answers[1].stopped and mark.exists() and mark.read_text():
            break
    assert [answer.stopped for answer in answers] == ["timeout", ""]
    pid = int(mark.read_text())
    for _ in range(2000):
        if not Path(f"/proc/{pid}").exists():
            break
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()


def test_a_background_helper_delays_nothing(tmp_path: Path) -> None:
    """Git that leaves a program with its pipes, as ssh may with a shared connection, has its answer at once."""
    mark = tmp_path / "pid"
    leaving = GitCommand(["-c", f"alias.leave=!setsid sh -c 'echo $$ > {mark}; exec sleep 600' & echo said", "leave"])
    started = time.monotonic()
    answer = remote_git.run(leaving, timeout=300)
    assert (answer.code, answer.out, answer.stopped) == (0, "said\n", "")
    assert time.monotonic() - started < 200
    os.kill(int(mark.read_text()), signal.SIGKILL)


def test_a_watcher_can_end_the_calls() -> None:
    """If the watcher says so, every command is ended with the reason."""
    text = iter(["", "", "enough"])
    answer = remote_git.run(
        GitCommand(["-c", "alias.slow=!sleep 600", "slow"]), timeout=300, watch=lambda: next(text, "enough")
    )
    assert answer.stopped == "enough"


def test_no_password_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git that wants a user name runs no helper, opens no terminal, and fails at once."""
    helper = tmp_path / "helper"
    helper.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\necho secret\n")
    helper.chmod(0o755)
    Path(os.environ["HOME"], ".gitconfig").write_text(f"[core]\n\taskPass = {helper}\n")
    for name in ("GIT_ASKPASS", "SSH_ASKPASS"):
        monkeypatch.setenv(name, str(helper))
    answer = remote_git.run(GitCommand(["credential", "fill"], input="protocol=https\nhost=127.0.0.1\n\n"), timeout=300)
    assert answer.code
    assert "terminal prompts disabled" in answer.err
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize("url", ["ext::sh -c 'touch owned'", "git://127.0.0.1:1/x", "http://127.0.0.1:1/x"])
def test_other_protocols_are_refused(tmp_path: Path, url: str) -> None:
    """Even an unchecked URL reaches no other protocol, whatever the user's settings allow."""
    Path(os.environ["HOME"], ".gitconfig").write_text(
        '[protocol]\n\tallow = always\n[protocol "ext"]\n\tallow = always\n'
    )
    answer = remote_git.run(GitCommand(["ls-remote", "--", url], folder=str(tmp_path)), timeout=300)
    assert answer.code
    assert "not allowed" in answer.err
    assert not (tmp_path / "owned").exists()


def test_much_input_and_output() -> None:
    """A long input is written while a long output is read, and no more of that is kept than the limit."""
    text = "x" * 79 + "\n"
    answer = remote_git.run(GitCommand(["-c", "alias.echo=!cat", "echo"], input=text * 40_000), timeout=300)
    assert answer.code == 0
    assert len(answer.out) == remote_git.MOST


def test_a_missing_folder(tmp_path: Path) -> None:
    """A missing folder is an error with a hint."""
    with pytest.raises(SystemFailure, match="is gone"):
        remote_git.run(GitCommand(["version"], folder=str(tmp_path / "gone")), timeout=300)


def test_without_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A missing git is reported."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemFailure, match="git is not installed"):
        remote_git.run(GitCommand(["version"]), timeout=300)


# With nohup or in the background signals are ignored, and a program inherits that.
INTERRUPTED = """
import os, signal, sys
from sow.system import remote_git as remote
from sow.system.remote_git import GitCommand

def watch():
    if os.path.exists("pid") and os.path.getsize("pid"):
        os.kill(os.getpid(), int(sys.argv[2]))
    return ""

os.chdir(sys.argv[1])
signal.signal(int(sys.argv[2]), signal.default_int_handler if int(sys.argv[2]) == signal.SIGINT else signal.SIG_DFL)
slow = ["-c", "alias.slow=!sh -c 'echo $$ > pid; sleep 600'", "slow"]
remote.run(GitCommand(slow, folder=sys.argv[1]), timeout=300, watch=watch)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_process(tmp_path: Path, environment: dict[str, str], number: int) -> None:
    """Ctrl-C and SIGTERM end git, too, and its children."""
    text = [sys.executable, "-c", INTERRUPTED, str(tmp_path), str(int(number))]
    result = subprocess.run(text, env=environment, capture_output=True, timeout=300)
    assert b"KeyboardInterrupt" in result.stderr
    pid = int((tmp_path / "pid").read_text())
    for _ in range(2000):
        if not Path(f"/proc/{pid}").exists():
            break
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()


def test_ssh_notices_a_silent_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own ssh command ends a silent connection, too; what the user says about that counts."""
    ssh, words = tmp_path / "ssh", tmp_path / "words"
    ssh.write_text(f'#!/bin/sh\necho "$*" > {words}\nexit 1\n')
    ssh.chmod(0o755)
    for command, wanted in (
        (f"{ssh} -i key", "-i key -o ConnectTimeout=30 -o ServerAliveInterval=15 "),
        (f"{ssh} -o ServerAliveInterval=60", "-o ServerAliveInterval=60 -o ConnectTimeout=30 "),
    ):
        monkeypatch.setenv("GIT_SSH_COMMAND", command)
        remote_git.run(GitCommand(["ls-remote", "--", "box:repository"]), timeout=300)
        assert words.read_text().startswith(wanted)
        assert words.read_text().count("ServerAliveInterval=") == 1
    other = tmp_path / "plink"
    ssh.rename(other)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(other))
    remote_git.run(GitCommand(["ls-remote", "--", "box:repository"]), timeout=300)
    assert "ServerAliveInterval" not in words.read_text()
