"""A network of the test's own: a namespace, and a cable to it that can be pulled out."""

from __future__ import annotations

import os
import shutil
import subprocess
from itertools import count

import pytest

NUMBERS = count()


class NetworkNamespace:
    """A namespace with one address, which this machine reaches over a cable with another one."""

    def __init__(self) -> None:
        number = next(NUMBERS)
        self.name = f"sow-{os.getpid()}-{number}"
        self.cable = f"sow{os.getpid() % 1_000_000}{chr(ord('a') + number)}"
        # A block for testing (RFC 2544), in which each process of the tests has a part.
        network = f"198.18.{os.getpid() % 256}.{4 * number}".rpartition(".")
        self.near, self.far = (f"{network[0]}.{int(network[2]) + end}" for end in (1, 2))
        self.enter = ["ip", "netns", "exec", self.name]
        run("netns", "add", self.name)
        try:
            run("link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", self.name)
            run("addr", "add", f"{self.near}/30", "dev", self.cable)
            run("link", "set", self.cable, "up")
            for words in (["addr", "add", f"{self.far}/30", "dev", "eth0"], ["link", "set", "eth0", "up"]):
                run("-n", self.name, *words)
            run("-n", self.name, "link", "set", "lo", "up")
        except subprocess.CalledProcessError:
            self.close()
            raise

    def pull(self) -> None:
        """Pull the cable out: both sides hear nothing of each other, and no connection is ended."""
        run("link", "set", self.cable, "down")

    def plug(self) -> None:
        run("link", "set", self.cable, "up")

    def close(self) -> None:
        subprocess.run(["ip", "link", "del", self.cable], capture_output=True)
        run("netns", "del", self.name)


def run(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def make_namespace() -> NetworkNamespace:
    """Make a namespace; skip the test where that is not allowed."""
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("network namespaces need root and the program ip")
    try:
        return NetworkNamespace()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespace here: {error.stderr.decode().strip()}")
