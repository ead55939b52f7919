"""The process at the other end of a connection, found in both tables, also if it hides its files."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sow.system.caller import supervisor_name
from sow.system.process import socket_owner

Ends = tuple[tuple[str, int], tuple[str, int]]

# A process that keeps its files from all others of its user: nobody but root sees what it has open.
HIDING = """
import ctypes, encodings.ascii, encodings.idna, json, os, socket, sys
from sow.system import caller; from sow.system.process import socket_owner
caller.set_process_name(sys.argv[1])
if not os.geteuid():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
listener = socket.create_server(("127.0.0.1", 0))
ready, told = os.pipe(), os.pipe()
child = os.fork()
if not child:
    os.close(told[1])  # it ends with its parent at the latest
    line = socket.create_connection(listener.getsockname())
    ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
    os.write(ready[1], b"x")
    os.read(told[0], 1)
    os._exit(0)
served, client = listener.accept()
os.read(ready[0], 1)
row = socket_owner._find_connection(client, served.getsockname())
found = socket_owner._holders(row[1], row[0])
said = socket_owner.refusal(client, served.getsockname())
os.write(told[1], b"x")
os.waitpid(child, 0)
print(json.dumps({"child": child, "found": sorted(found), "said": said}))
"""


@contextmanager
def connection(family: socket.AddressFamily = socket.AF_INET, address: str = "127.0.0.1") -> Iterator[Ends]:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(family) as line:
        line.connect((address, listener.getsockname()[1]))
        served, client = listener.accept()
        with served:
            yield client, served.getsockname()


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_the_peer_is_found(family: socket.AddressFamily):
    """For both forms of an address the peer is found with its user and its process."""
    with connection(family, "127.0.0.1" if family == socket.AF_INET else "::ffff:127.0.0.1") as ends:
        result = socket_owner._find_connection(*ends)
        assert result is not None
        assert result[0] == os.getuid()
        assert os.getpid() in socket_owner._holders(result[1], result[0])
        assert socket_owner.refusal(*ends) == ""
    assert socket_owner._find_connection(*ends) is None
    assert socket_owner.refusal(*ends) == socket_owner.NOBODY_SEEN


def test_every_process_with_the_connection_counts():
    """A connection that an agent shares with its parent is the agent's: one mark is enough."""
    with connection() as ends:
        result = socket_owner._find_connection(*ends)
        assert result is not None
        pipe = os.pipe()
        child = os.fork()
        if not child:
            os.read(pipe[0], 1)
            os._exit(0)
        assert {os.getpid(), child} <= socket_owner._holders(result[1], result[0])
        os.write(pipe[1], b"x")
        os.waitpid(child, 0)
        os.close(pipe[0])
        os.close(pipe[1])


@pytest.mark.parametrize("name", ["python", supervisor_name("010")])
def test_a_process_that_hides_its_files(name: str):
    """A hidden process may be the sender; one below a live turn counts as an agent."""
    environment = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    text = [sys.executable, "-c", HIDING, name]
    result = subprocess.run(text, env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    data = json.loads(result.stdout)
    assert data["child"] in data["found"]
    assert data["said"] == ("" if name == "python" else "an agent sent it")
