"""A cluster on this machine: a real Temporal server, hosts with homes of their own, and a repository with plans."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from conftest import SOW, Repo, Result, fresh_environment

from support.plan_repo import PlanRepo
from support.simulated_workers import environment_of, kill_all, processes

PATIENCE = 120


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait until something holds, and return it."""
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError(f"in vain: {what}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class TemporalServer:
    """One server with its data in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        program = str(Path(sys.executable).parent / "temporal")
        words = [program, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(self.port)]
        words += ["--db-filename", str(self.folder / "temporal.db"), "--log-level", "never"]
        words += ["--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=1"]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self.answers, "the Temporal server answers")

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class Line:
    """A connection to the server that can be cut: a proxy on another port."""

    def __init__(self, port: int, address: str = "127.0.0.1") -> None:
        self.target = port
        self.is_cut = False
        self.pairs: list[socket.socket] = []
        self.listener = socket.create_server((address, 0))
        self.port = int(self.listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                if self.is_cut:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self.target))
                self.pairs += [near, far]
                for source, drain in ((near, far), (far, near)):
                    threading.Thread(target=self._copy, args=(source, drain), daemon=True).start()

    def _copy(self, source: socket.socket, drain: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                drain.sendall(data)
            drain.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        self.is_cut = True
        for end in self.pairs:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self.pairs = []

    def heal(self) -> None:
        self.is_cut = False

    def close(self) -> None:
        self.cut()
        self.listener.close()


class Host:
    """A machine of the cluster: a home folder, settings, and `sow host serve` in it."""

    def __init__(self, name: str, folder: Path, settings: dict[str, Any]) -> None:
        self.name = name
        self.folder = folder
        self.environment = fresh_environment(folder)
        self.environment |= {"GIT_AUTHOR_NAME": name, "GIT_COMMITTER_NAME": name}
        self.environment["XDG_RUNTIME_DIR"] = str(folder)
        self.log = folder / "serve.log"
        self.enter: list[str] = []  # starts programs in a network namespace
        self.process: subprocess.Popen[bytes] | None = None
        self.configure(settings)

    def change(self, **sections: dict[str, Any]) -> None:
        """Change sections of the settings of this machine's user."""
        path = self.folder / ".config" / "sow" / "config.yaml"
        self.configure({**yaml.safe_load(path.read_text()), **sections})

    def configure(self, settings: dict[str, Any]) -> None:
        path = self.folder / ".config" / "sow" / "config.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(settings))

    def start(self, *arguments: str) -> None:
        self.launch(*arguments)
        self.wait()

    def launch(self, *arguments: str) -> None:
        """Begin to serve, without waiting until others see it."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.enter, SOW, "host", "serve", *arguments],
                cwd="/",
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self) -> None:
        assert self.process is not None
        until(lambda: self.has_logged("serves the cluster") or self.process.poll() is not None, f"{self.name} serves")
        assert self.process.poll() is None, self.log.read_text()

    def has_logged(self, text: str) -> bool:
        return text in self.log.read_text()

    def kill(self) -> None:
        """Ends it like a power cut would end this one process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> int:
        """Ends it in order, and returns its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(timeout=PATIENCE)

    def alive(self) -> list[int]:
        """The processes of this machine."""
        home = f"HOME={self.folder}".encode()
        return [pid for pid in processes() if home in environment_of(pid)]


class TemporalCluster:
    """A server, a transfer repository, hosts, and a repository whose runs use them."""

    def __init__(self, server: TemporalServer, plan_repo: PlanRepo, folder: Path) -> None:
        self.server = server
        self.plans = plan_repo
        self.repo: Repo = plan_repo.repo
        self.folder = folder / "cluster"
        self.folder.mkdir()
        self.name = f"c{os.getpid()}-{time.time_ns()}"
        self.transfer = self.folder / "transfer.git"
        self.hosts: list[Host] = []
        subprocess.run(["git", "init", "-q", "--bare", str(self.transfer)], check=True)
        self.key = self.make_key("ada")
        self.signers = self.folder / "signers"
        self.signers.write_text(f"ada {Path(f'{self.key}.pub').read_text()}")
        self.settings = {
            "address": server.address,
            "name": self.name,
            "transfer": str(self.transfer),
            "sign": str(self.key),
            "lost_after": "10s",
        }
        plan_repo.configure(cluster=self.settings)

    def make_key(self, name: str) -> Path:
        path = self.folder / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)], check=True)
        return path

    def configure(self, **cluster: Any) -> None:
        """Change settings of the user's cluster section."""
        self.settings |= cluster
        self.plans.configure(cluster=self.settings)

    def add_host(self, name: str, *, start: bool = True, most: int = 2, **host: Any) -> Host:
        """A host that offers the executors of the repository's user."""
        settings = {
            "agents": {"executors": dict(self.plans.settings["agents"]["executors"])},
            "limits": {"stop_grace": "1s"},
            "checks": {"allow": ["*"]},
            "cluster": {key: value for key, value in self.settings.items() if key not in ("sign", "lost_after")},
            "host": {"name": name, "capacity": {"hand": most}, "signers": str(self.signers), **host},
        }
        settings["host"] = {key: value for key, value in settings["host"].items() if value}
        added = Host(name, self.folder / name, settings)
        self.hosts.append(added)
        if start:
            added.start()
        return added

    def add_hosts(self, *names: str, **host: Any) -> list[Host]:
        """Several hosts, which start at the same time."""
        added = [self.add_host(name, start=False, **host) for name in names]
        for one in added:
            one.launch()
        for one in added:
            one.wait()
        return added

    def run(self, *arguments: str) -> Result:
        return self.plans.run("--cluster", "--yes", *arguments)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return self.plans.start("--cluster", "--yes", *arguments)

    def refs(self) -> list[str]:
        """The packets in the transfer repository."""
        return self._refs("refs/sow/turns")

    def leases(self) -> list[str]:
        """The projects that a checkout runs."""
        return self._refs("refs/sow/home")

    def _refs(self, prefix: str) -> list[str]:
        words = ["git", "-C", str(self.transfer), "for-each-ref", "--format=%(refname)", prefix]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()

    def turn_hosts(self) -> set[str]:
        """The hosts that took turns in the last run."""
        return {entry["host"] for entry in self.plans.journal("sent")}

    def steps(self) -> list[dict[str, Any]]:
        """What the run said about its tasks."""
        try:
            return self.plans.journal("step")
        except (ValueError, OSError):  # not there yet, or half written
            return []

    def logs(self) -> str:
        return "\n".join(host.log.read_text() for host in self.hosts if host.log.exists())

    def tree(self) -> dict[str, bytes]:
        """The files of the user's branch without the state of sow."""
        names = self.repo.git("ls-tree", "-r", "--name-only", "HEAD").split()
        own = [name for name in names if not name.startswith((".sow/", "orchestration/"))]
        return {name: self.repo.git("show", f"HEAD:{name}").encode() for name in own}

    def close(self) -> None:
        """End all hosts, and what a failed test left of them."""
        for host in self.hosts:
            host.kill()
        for host in self.hosts:
            give_up = time.monotonic() + 20
            while host.alive() and time.monotonic() < give_up:
                time.sleep(0.05)
            kill_all(host.alive())
