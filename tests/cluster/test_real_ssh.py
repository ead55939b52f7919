"""A run over the real ssh, with a real sshd on this machine."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.network_namespace import make_namespace
from support.simulated_workers import wait_for
from support.ssh_hosts import Hosts
from support.ssh_server import is_missing, ssh_server

pytestmark = pytest.mark.skipif(is_missing(), reason="openssh-server is not installed")


@pytest.fixture
def server(hosts: Hosts, tmp_path: Path) -> Iterator[Path]:
    """An sshd that this user may log in to, with the home of box-a."""
    with ssh_server(hosts, tmp_path / "sshd") as folder:
        yield folder


@pytest.mark.usefixtures("server")
def test_a_run_over_the_real_ssh(hosts: Hosts) -> None:
    """Two tasks, and a question that is answered: the work arrives, and nothing is left running."""
    ask = "sow note add --description 'Which port?' --context x --category requirements\n"
    ask += "sow note escalate 1 --reason 'only a person knows'\nsow task set status paused\n"
    hosts.crew.act("implementer-010-1", f"echo half > half.txt\nsow log 'half done'\n{ask}")
    hosts.crew.plan("One", "Two < 1")
    first = hosts.run(on="box-a:2")
    assert first.code == 4, first
    hosts.crew.repo.ok("answer", "1", "Port 80")
    result = hosts.run(on="box-a:2")
    assert result.code == 0, result
    assert hosts.merges() == ["010/2", "020/1"]
    assert hosts.crew.repo.git("show", "HEAD:half.txt") == "half\n"
    assert "half done" in (hosts.crew.repo.task_folder("010") / "log.md").read_text()
    assert (hosts.hosts_of(), hosts.hosts_of("020")) == (["box-a"], ["box-a"])
    assert len(hosts["box-a"].homes()) == 2
    wait_for(lambda: not hosts["box-a"].alive(), 30)


@pytest.mark.full
@pytest.mark.usefixtures("server")
def test_a_connection_that_sshd_drops(hosts: Hosts) -> None:
    """The turn outlives the session of sshd, and the run attaches to it again."""
    gate = hosts.gate("010")
    hosts.crew.plan("One")
    run = hosts.start(on="box-a:1")
    hosts.reached(gate)
    time.sleep(0.5)
    for pid in hosts["box-a"].followers():
        os.kill(pid, 9)
    wait_for(lambda: "trying again" in hosts.steps())
    gate.touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err)
    assert (hosts.outcomes(), hosts.crew.turns("010"), hosts.merges()) == (["done"], 1, ["010/1"])


@pytest.mark.full
def test_a_pulled_cable(hosts: Hosts, tmp_path: Path) -> None:
    """Nobody ends the connection, but the run notices the silence, and attaches to the turn when the cable is back."""
    network = make_namespace()
    try:
        with ssh_server(hosts, tmp_path / "sshd", address=network.far, enter=network.enter):
            gate = hosts.gate("010")
            hosts.crew.plan("One")
            run = hosts.start(on="box-a:1")
            hosts.reached(gate)
            network.pull()
            wait_for(lambda: "box-a: trying again" in hosts.steps())
            gate.touch()
            network.plug()
            out, err = run.communicate(timeout=300)
            assert run.returncode == 0, (out, err)
            assert (hosts.outcomes(), hosts.crew.turns("010"), hosts.merges()) == (["done"], 1, ["010/1"])
            wait_for(lambda: not hosts["box-a"].alive(), 30)
    finally:
        network.close()


def test_a_wrong_key(hosts: Hosts, server: Path) -> None:
    """A host that does not know the login's key is named, with the command that shows the problem; nothing starts."""
    for path in (server / "key", server / "key.pub"):
        path.unlink()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(server / "other")], check=True)
    (server / "other").rename(server / "key")
    hosts.crew.plan("One")
    before = hosts.crew.repo.snapshot()
    result = hosts.run(on="box-a")
    assert result.code == 4, result
    assert "box-a cannot be reached: " in result.err
    assert "Permission denied (publickey)" in result.err
    assert "try: ssh box-a true" in result.err
    assert hosts.crew.repo.snapshot() == before
