"""A worker's commands run in a process of the supervising sow: as the worker, with its streams, and no more rights."""

from __future__ import annotations

import array
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.channel_supervisor import PATIENCE, Supervisor, has_ended, supervisor
from support.simulated_workers import wait_for

from sow.errors import SowError
from sow.system import channel
from sow.system.process import channel_server

Connect = Callable[[], socket.socket]
CLIENT = "import sys; from sow.system.channel import forward; sys.exit(forward(sys.argv[1], sys.argv[2:]))"

# A supervisor whose child leaves an orphan behind, which it then sweeps up as at the end of a turn.
SWEEP = """
import os, subprocess, sys, time
from pathlib import Path
from support.channel_supervisor import has_ended, run_plain
from sow.domain.task import WORKER, Actor
from sow.system.channel import forward
from sow.system.process.channel_server import Channel
from sow.system.process.process_tree import CHILDREN, kill_tree
from sow.system.caller import process_queries
folder = sys.argv[1]
worker = Actor(kind=WORKER, name="w", task="010")
channel = Channel(f"{folder}/channel", {**os.environ, "SOW_ROOT": folder, "SOW_TASK": "010"}, worker, run_plain)
CHILDREN.open("010", process_queries())
script = f"setsid sh -c 'echo $$ > {folder}/pid; exec sleep 300' & while [ ! -s {folder}/pid ]; do sleep 0.01; done"
child = subprocess.Popen(["sh", "-c", script], env={**os.environ, "SOW_MARK": "m"}, start_new_session=True)
CHILDREN.add(child.pid, "010")
child.wait()
assert forward(f"{folder}/channel/channel", ["exit", "7"]) == 7
kill_tree(child.pid, "m", {})
gone = has_ended(int(Path(f"{folder}/pid").read_text()))
CHILDREN.close(child.pid)
answer = forward(f"{folder}/channel/channel", ["exit", "7"])
print("orphan is gone," if gone else "orphan lives,", "server answers", answer)
channel.close()
"""

# A supervisor with two workers at once, which then reports what each of them gets.
TWO_WORKERS = """
import os, signal, socket, sys, threading, time
from pathlib import Path
from support.channel_supervisor import PATIENCE, has_ended, run_plain
from support.simulated_workers import wait_for
from sow.domain.task import WORKER, Actor
from sow.errors import SowError
from sow.system.channel import encode, forward
from sow.system.process.channel_server import MOST_AT_ONCE, Channel
root = sys.argv[1]
def opened(name, task):
    worker = Actor(kind=WORKER, name=name, task=task)
    return Channel(f"{root}/{task}", {**os.environ, "SOW_ROOT": root, "SOW_TASK": task}, worker, run_plain)
def answer(channel, *words):
    try:
        return forward(f"{channel.folder}/channel", words)
    except SowError:
        return "none"
def sent(channel, *words):
    client = socket.socket(socket.AF_UNIX)
    client.connect(f"{channel.folder}/channel")
    body = encode(words)
    socket.send_fds(client, [len(body).to_bytes(4, "big")], [0, 1, 2])
    client.sendall(body)
    return client
first, second = opened("first", "010"), opened("\\udcff", "020")
"""


def call(path: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Sends a command from a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", CLIENT, path, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE * 2,
    )


@pytest.fixture
def running(tmp_path: Path, environment: dict[str, str]) -> Iterator[Supervisor]:
    """A supervisor whose commands are the plain ones."""
    with supervisor(tmp_path, tmp_path / "channel", environment, plain=True) as started:
        yield started


@pytest.fixture
def connect(running: Supervisor) -> Iterator[Connect]:
    """Connects a client that sends anything."""
    with ExitStack() as clients:

        def connect() -> socket.socket:
            client = clients.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            client.settimeout(PATIENCE)
            client.connect(running.path)
            return client

        yield connect


def send(client: socket.socket, data: bytes, descriptors: tuple[int, ...] = (0, 1, 2)) -> None:
    streams = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    client.sendmsg([data[:4]], streams)
    client.sendall(data[4:])


def is_refused(client: socket.socket, data: bytes = b"", descriptors: tuple[int, ...] = (0, 1, 2)) -> bool:
    """Sends the data if there is any, and tells whether the server closes the connection without an answer.

    The server may close it before the client has sent everything. Then sending fails, too.
    """
    try:
        if data:
            send(client, data, descriptors)
        return client.recv(1) == b""
    except ConnectionError:
        return True


def request(*arguments: str) -> bytes:
    body = channel.encode(arguments)
    return len(body).to_bytes(4, "big") + body


def test_streams_are_passed_on(running: Supervisor):
    """A command reads the client's input and writes to its output; nothing of the supervisor is mixed in."""
    done = call(running.path, "echo", "a", "ü\udcff", "")
    assert (done.returncode, done.stdout, done.stderr) == (0, "a ü\\udcff \n", "on stderr\n")
    assert call(running.path, "cat", stdin="some\ntext").stdout == "some\ntext"


@pytest.mark.parametrize("code", [0, 1, 2, 4, 130])
def test_exit_codes_are_passed_on(running: Supervisor, code: int):
    assert call(running.path, "exit", str(code)).returncode == code


def test_a_closed_stream_is_an_empty_one(running: Supervisor):
    """A client without standard streams can still call."""
    command = f"exec {sys.executable} -c '{CLIENT}' {running.path} cat <&- >&-"
    assert subprocess.run(["sh", "-c", command], timeout=PATIENCE).returncode == 0


def test_the_caller_is_known_by_the_socket(running: Supervisor, tmp_path: Path, environment: dict[str, str]):
    """Two workers have two sockets, and each acts as its own task; the environment of a client does not count."""
    with supervisor(tmp_path, tmp_path / "other", environment, task="020", plain=True) as other:
        assert call(running.path, "who").stdout == f"worker implementer 010 {tmp_path} 010 None\n"
        assert call(other.path, "who").stdout == f"worker implementer 020 {tmp_path} 020 None\n"


def test_a_command_has_no_descriptor_of_the_supervisor(running: Supervisor):
    """Besides the standard streams there are the connection, and the folder that is listed."""
    assert len(call(running.path, "descriptors").stdout.split(",")) == 5


def test_a_long_path_works(tmp_path: Path, environment: dict[str, str]):
    """The folder may be deeper than the kernel allows for the path of a socket."""
    folder = tmp_path / ("deep/" * 40)
    folder.mkdir(parents=True)
    with supervisor(tmp_path, folder / "channel", environment, plain=True) as started:
        assert call(started.path, "exit", "7").returncode == 7


def test_only_the_user_may_connect(running: Supervisor):
    assert (os.stat(running.folder).st_mode & 0o777, os.stat(running.path).st_mode & 0o777) == (0o700, 0o600)


def test_a_folder_of_a_killed_sow_is_used_again(tmp_path: Path, environment: dict[str, str]):
    with supervisor(tmp_path, tmp_path / "channel", environment, plain=True) as first:
        first.kill()
    with supervisor(tmp_path, tmp_path / "channel", environment, plain=True) as second:
        assert call(second.path, "exit", "7").returncode == 7


def test_closing_ends_the_server_and_removes_the_folder(running: Supervisor):
    running.close()
    assert has_ended(running.server)
    assert not running.folder.exists()


def test_a_killed_supervisor_leaves_nothing(running: Supervisor, tmp_path: Path):
    """After kill -9 the server and its commands end, and the client gets an error instead of an exit code."""
    mark = tmp_path / "pid"
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT, running.path, "wait", str(mark)], stderr=subprocess.PIPE
    ) as client:
        wait_for(lambda: mark.exists() and mark.read_text() != "")
        running.kill()
        assert has_ended(running.server)
        assert has_ended(int(mark.read_text()))
        assert b"does not answer: it ended" in client.communicate(timeout=PATIENCE)[1]
    done = call(running.path, "exit", "0")
    assert "SystemFailure: the sow that supervises this worker does not answer" in done.stderr


def test_a_missing_server_is_an_error_with_a_hint(tmp_path: Path):
    """Without the socket the command fails with exit code 1 and a hint."""
    with pytest.raises(SowError) as excinfo:
        channel.forward(str(tmp_path / "channel"), ["exit", "0"])
    assert (excinfo.value.exit_code, excinfo.value.hint) == (1, channel.HINT)


def test_a_killed_command_is_an_error(running: Supervisor):
    """The client of a killed command gets an error; a bug in a command is exit code 3. The next ones work."""
    assert "does not answer" in call(running.path, "die").stderr
    assert call(running.path, "fail").returncode == 3
    assert call(running.path, "exit", "7").returncode == 7


def test_signals_of_the_terminal_do_not_reach_the_server(running: Supervisor):
    """Ctrl-C goes to the group of sow; the server has its own, and continues until sow has ended."""
    assert call(running.path, "exit", "7").returncode == 7  # it has begun
    assert os.getsid(running.server) == running.server
    os.kill(running.server, signal.SIGINT)
    assert call(running.path, "exit", "7").returncode == 7


def test_the_end_of_a_turn_does_not_end_the_server(tmp_path: Path, environment: dict[str, str]):
    """Leftover processes of a turn are killed, also an orphan in a session of its own; the channel's server is not."""
    result = subprocess.run(
        [sys.executable, "-c", SWEEP, str(tmp_path)],
        env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (result.returncode, result.stdout) == (0, "orphan is gone, server answers 7\n"), result.stderr


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0\0\0\0",
        b"\xff\xff\xff\xff" + b"x" * 100,
        (channel.MAX_BYTES + 1).to_bytes(4, "big"),
        (8).to_bytes(4, "big") + (100).to_bytes(4, "big") + b"exit",
        (4).to_bytes(4, "big") + (0).to_bytes(4, "big")[:2] + b"xx",
        (7).to_bytes(4, "big") + (3).to_bytes(4, "big") + b"a\0b",
        (4 * 1001).to_bytes(4, "big") + (0).to_bytes(4, "big") * 1001,
    ],
    ids=["another protocol", "empty", "huge", "too long", "torn", "short", "NUL", "too many arguments"],
)
def test_garbage_is_refused(running: Supervisor, connect: Connect, data: bytes):
    """The server closes the connection on a malformed request, and continues."""
    assert is_refused(connect(), data)
    assert call(running.path, "exit", "7").returncode == 7


@pytest.mark.parametrize("descriptors", [(), (0,), (0, 1), (0, 1, 2, 2), tuple([0] * 200)], ids=len)
def test_a_request_without_three_streams_is_refused(
    running: Supervisor, connect: Connect, descriptors: tuple[int, ...]
):
    assert is_refused(connect(), request("exit", "0"), descriptors)


def test_slow_clients_do_not_delay_others(running: Supervisor, connect: Connect):
    """A hundred clients that never finish their request are dropped; a real one is served at once."""
    clients = [connect() for _ in range(100)]
    for client in clients[:50]:
        try:
            send(client, request("exit", "0")[:5])
        except ConnectionError:
            continue
    started = time.monotonic()
    assert call(running.path, "exit", "7").returncode == 7
    assert time.monotonic() - started < channel_server.READ_SECONDS
    assert is_refused(clients[0])


def test_parallel_commands_are_all_answered(running: Supervisor, connect: Connect):
    """More commands than the limit wait for their turn."""
    clients = [connect() for _ in range(3 * channel_server.MOST_AT_ONCE)]
    for number, client in enumerate(clients):
        send(client, request("exit", str(number)))
    assert [client.recv(1)[0] for client in clients] == list(range(len(clients)))


def test_the_client_refuses_what_the_server_would(tmp_path: Path):
    """Arguments that are too long, or have a NUL, are exit code 2."""
    for item in (["x" * channel.MAX_BYTES], ["x"] * (channel.MAX_ARGUMENTS + 1), ["a\0b"]):
        with pytest.raises(SowError) as excinfo:
            channel.forward(str(tmp_path / "channel"), item)
        assert excinfo.value.exit_code == 2


def two_workers(folder: Path, environment: dict[str, str], script: str) -> list[str]:
    """Run a supervisor of two workers; returns what it prints."""
    result = subprocess.run(
        [sys.executable, "-c", TWO_WORKERS + script, str(folder)],
        env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE * 2,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_one_process_serves_all_workers_of_a_supervisor(tmp_path: Path, environment: dict[str, str]):
    """Each caller is known by its socket; the end of a turn ends its socket only."""
    script = """
print(first.pid == second.pid, flush=True)
answer(first, "who"), answer(second, "who")
first.close(), first.close()
print(os.path.exists(first.folder), answer(first, "exit", "7"), answer(second, "exit", "7"))
print(second.pid, flush=True)
"""
    same, one, other, rest, server = two_workers(tmp_path, environment, script)
    assert (same, rest) == ("True", "False none 7")
    assert one == f"worker first 010 {tmp_path} 010 None"
    assert other == f"worker \\udcff 020 {tmp_path} 020 None"
    assert has_ended(int(server))


def test_the_end_of_a_turn_ends_the_commands_of_its_worker_only(tmp_path: Path, environment: dict[str, str]):
    """A closed channel waits some seconds for its commands, and then kills them."""
    script = """
marks = [Path(root, name) for name in "ab"]
clients = [sent(channel, "wait", str(mark)) for channel, mark in zip((first, second), marks)]
wait_for(lambda: all(mark.exists() and mark.read_text() for mark in marks))
started = time.monotonic()
first.close()
print(1 < time.monotonic() - started < PATIENCE / 2)
pids = [int(mark.read_text()) for mark in marks]
print(has_ended(pids[0]), os.path.exists(f"/proc/{pids[1]}"), clients[0].recv(1), answer(second, "exit", "7"))
"""
    assert two_workers(tmp_path, environment, script) == ["True", "True True b'' 7"]


def test_a_busy_worker_does_not_hold_up_another_one(tmp_path: Path, environment: dict[str, str]):
    """One worker runs as many commands as it may and has more waiting; the other one is served at once."""
    script = """
clients = [sent(first, "wait", f"{root}/{number}") for number in range(MOST_AT_ONCE + 40)]
hanging = [socket.socket(socket.AF_UNIX) for _ in range(100)]
for client in hanging:
    client.connect(f"{first.folder}/channel")
wait_for(lambda: Path(root, str(MOST_AT_ONCE - 1)).exists())
started = time.monotonic()
print(answer(second, "exit", "7"), time.monotonic() - started < 5, os.path.exists(f"{root}/{MOST_AT_ONCE}"))
"""
    assert two_workers(tmp_path, environment, script) == ["7 True False"]


def test_a_killed_server_is_replaced_for_the_next_worker(tmp_path: Path, environment: dict[str, str]):
    """The workers that it served get an error, and their turns end as usual."""
    script = """
os.kill(first.pid, signal.SIGKILL)
print(has_ended(first.pid), answer(first, "exit", "7"))
third = opened("third", "030")
print(third.pid != first.pid, answer(third, "exit", "7"))
first.close(), second.close(), third.close()
"""
    assert two_workers(tmp_path, environment, script) == ["True none", "True 7"]
