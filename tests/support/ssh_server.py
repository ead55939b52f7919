"""A real sshd whose logins are in the home of a host."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.simulated_workers import wait_for
from support.ssh_hosts import Hosts

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
SEPARATION = Path("/run/sshd")  # an empty folder that sshd wants if it runs as root
SERVER = """\
Port {port}
ListenAddress {address}
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
Host {name}
    HostName {address}
    Port {port}
    User {user}
    IdentityFile {folder}/key
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known_hosts
    StrictHostKeyChecking no
    LogLevel ERROR
"""
LOOPBACK = "127.0.0.1"


def is_missing() -> bool:
    """Whether the programs of openssh lack."""
    return not (SSHD and shutil.which("ssh"))


@contextmanager
def ssh_server(
    hosts: Hosts, folder: Path, name: str = "box-a", *, address: str = LOOPBACK, enter: Sequence[str] = ()
) -> Iterator[Path]:
    """Serve the home of a host, and let the run's ssh log in there; returns the folder with the login's key.

    The words of `enter` start programs in a network namespace that has the address.
    """
    folder.mkdir()
    for key in ("key", "host_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True)
    port = free_port()
    values = {"port": port, "address": address, "folder": folder, "home": hosts[name].home, "name": name}
    (folder / "sshd_config").write_text(SERVER.format(**values))
    (folder / "ssh_config").write_text(CLIENT.format(**values, user=getpass.getuser()))
    limits = "-o ConnectTimeout=10 -o ServerAliveInterval=1"  # so that no test waits for long
    hosts.crew.repo.environment["GIT_SSH_COMMAND"] = f"ssh -F {folder}/ssh_config -o BatchMode=yes {limits}"
    makes_folder = os.geteuid() == 0 and not SEPARATION.exists()
    if makes_folder:
        SEPARATION.mkdir(mode=0o755)
    with (folder / "log").open("wb") as log:
        daemon = subprocess.Popen([*enter, str(SSHD), "-D", "-e", "-f", str(folder / "sshd_config")], stderr=log)
        try:
            wait_for(lambda: answers(address, port) or daemon.poll() is not None, 30)
            assert daemon.poll() is None, (folder / "log").read_text()
            yield folder
        finally:
            daemon.terminate()
            daemon.wait()
            if makes_folder:
                SEPARATION.rmdir()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        port: int = listener.getsockname()[1]
        return port


def answers(address: str, port: int) -> bool:
    with socket.socket() as connection:
        connection.settimeout(1)
        return connection.connect_ex((address, port)) == 0
