"""Many connections: other users of the machine cannot use up all of them, and idle ones are closed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from conftest import Repo
from support.ui_client import Dashboard

from sow.dashboard.server.connections import MANY, MOST, MOST_OF_OTHERS, OpenConnections
from sow.system.process import socket_owner

HOLD = """
import encodings.idna, os, socket, sys
os.setuid(65534)
lines = []
for _ in range(int(sys.argv[2])):
    try:
        lines.append(socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=30))
    except OSError:
        pass
print("holding", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def sockets() -> Iterator[list[socket.socket]]:
    """Returns sockets without a peer."""
    made = [socket.socket() for _ in range(MOST + 10)]
    yield made
    for item in made:
        item.close()


def test_others_leave_room_for_the_owner(sockets: list[socket.socket]):
    """However many connections other users open, most places stay free for the owner (F71)."""
    foreign = set(sockets[:-20])
    crowd = OpenConnections(lambda each: each in foreign)
    let_in = [socket for socket in sockets[:-20] if crowd.accept(socket)]
    assert len(let_in) == MANY + MOST_OF_OTHERS
    assert all(crowd.accept(socket) for socket in sockets[-20:])
    crowd.remove(let_in[-1])
    assert crowd.accept(sockets[-21])


def test_the_owner_has_a_limit(sockets: list[socket.socket]):
    """There are never more connections than threads."""
    crowd = OpenConnections(lambda each: False)
    assert sum(crowd.accept(socket) for socket in sockets) == MOST
    assert crowd.is_large


def test_the_owners_connection_is_recognised():
    """The peer of an own connection is the owner; a closed one has no user."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as line:
            assert not socket_owner.is_foreign(line.getsockname(), server.getsockname())
            gone = line.getsockname()
        if os.path.exists("/proc/net/tcp"):
            assert socket_owner.is_foreign((gone[0], 1), server.getsockname())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can play another user")
def test_another_user_does_not_lock_the_owner_out(repo: Repo):
    """While another user holds as many connections as it can get, the owner's page is answered (F71)."""
    with Dashboard(repo) as dashboard:
        text = [sys.executable, "-c", HOLD, str(dashboard.port), "230"]
        with subprocess.Popen(text, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout
            assert other.stdout.readline() == b"holding\n"
            assert dashboard.sign_in().ask("GET", "/").status == 200
            other.communicate(b"")
