"""A run over the real ssh, with a real sshd on this machine."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.simulated_workers import wait_for
from support.ssh_hosts import Hosts

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
SEPARATION = Path("/run/sshd")  # an empty folder that sshd wants if it runs as root
SERVER = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
StrictModes no
UsePAM no
PidFile none
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
SetEnv HOME={home}
"""
CLIENT = """\
Host box-a
    HostName 127.0.0.1
    Port {port}
    User {user}
    IdentityFile {folder}/key
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known_hosts
    StrictHostKeyChecking no
    LogLevel ERROR
"""

pytestmark = pytest.mark.skipif(not (SSHD and shutil.which("ssh")), reason="openssh-server is not installed")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture
def server(hosts: Hosts, tmp_path: Path) -> Iterator[None]:
    """An sshd that this user may log in to, with the home of box-a."""
    folder = tmp_path / "sshd"
    folder.mkdir()
    for name in ("key", "host_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    values = {"port": free_port(), "folder": folder, "home": hosts["box-a"].home, "user": getpass.getuser()}
    (folder / "sshd_config").write_text(SERVER.format(**values))
    (folder / "ssh_config").write_text(CLIENT.format(**values))
    hosts.crew.repo.environment["GIT_SSH_COMMAND"] = f"ssh -F {folder}/ssh_config -o BatchMode=yes"
    makes_folder = os.geteuid() == 0 and not SEPARATION.exists()
    if makes_folder:
        SEPARATION.mkdir(mode=0o755)
    with (folder / "log").open("wb") as log:
        daemon = subprocess.Popen([str(SSHD), "-D", "-e", "-f", str(folder / "sshd_config")], stderr=log)
        try:
            wait_for(lambda: answers(values["port"]) or daemon.poll() is not None, 30)
            assert daemon.poll() is None, (folder / "log").read_text()
            yield
        finally:
            daemon.terminate()
            daemon.wait()
            if makes_folder:
                SEPARATION.rmdir()


def answers(port: object) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


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
