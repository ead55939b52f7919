"""Machines that a run reaches over ssh: each has its own home, and a stand-in for ssh starts programs there."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from conftest import PYTHONPATH, SOW, Repo, Result

from support.plan_repo import WORK, PlanRepo
from support.simulated_workers import environment_of, kill_all, processes, wait_for

# It becomes the program of the other machine, so that its process is the connection.
SSH = """\
#!/bin/sh
while [ "$1" = -o ]; do shift 2; done
host=$1
shift
echo "$*" >> "{folder}/commands-$host"
if [ ! -d "{folder}/$host" ]; then
    echo "ssh: Could not resolve hostname $host: Name or service not known" >&2
    exit 255
fi
if [ -e "{folder}/down-$host" ] || echo "$*" | grep -q -s -f "{folder}/refuse-$host"
then
    echo "ssh: connect to host $host port 22: Connection refused" >&2
    exit 255
fi
echo $$ >> "{folder}/connections-$host"
cd "{folder}/$host" || exit 255
exec env -i HOME="{folder}/$host" PATH=/usr/bin:/bin SHELL=/bin/sh GIT_PROTOCOL="$GIT_PROTOCOL" sh -c "$*"
"""
PROFILE = """\
export PATH="{bin}:$PATH" LANG=C.UTF-8 PYTHONPATH="{pythonpath}" SOW_SANDBOX={sandbox}
"""


class Host:
    """One machine: its home, and what sow keeps in it."""

    def __init__(self, hosts: Hosts, name: str) -> None:
        self.hosts = hosts
        self.name = name
        self.home = hosts.folder / name
        self.home.mkdir(parents=True)
        self.environment = {"HOME": str(self.home), "PATH": f"{Path(SOW).parent}:{os.environ['PATH']}"}
        self.environment |= {"GIT_CONFIG_NOSYSTEM": "1", "LANG": "C.UTF-8", "PYTHONPATH": PYTHONPATH}
        self.profile()
        for key, value in (("user.name", name.title()), ("user.email", f"{name}@example.org")):
            subprocess.run(["git", "config", "--global", key, value], env=self.environment, check=True, cwd=self.home)

    @property
    def folder(self) -> Path:
        return self.home / ".local/state/sow/hosting"

    @property
    def transfer(self) -> Repo:
        """The repository for packets."""
        return Repo(self.folder / "transfer.git", self.environment)

    def profile(self, *, sandbox: str = "off", path: Path | None = None) -> None:
        """Write what a login shell reads."""
        text = PROFILE.format(bin=path or Path(SOW).parent, pythonpath=PYTHONPATH, sandbox=sandbox)
        (self.home / ".profile").write_text(text)

    def configure(self, settings: dict[str, Any]) -> None:
        """Write the settings of this machine's user."""
        path = self.home / ".config/sow/config.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(settings))

    def down(self) -> None:
        """Let no connection be made any more, and end those that there are."""
        (self.hosts.folder / f"down-{self.name}").touch()
        self.cut()

    def up(self) -> None:
        (self.hosts.folder / f"down-{self.name}").unlink()

    def refuse(self, word: str) -> None:
        """Let every connection fail whose command has this word."""
        (self.hosts.folder / f"refuse-{self.name}").write_text(f"{word}\n")

    def cut(self) -> int:
        """End all connections to this machine; returns their number."""
        path, count = self.hosts.folder / f"connections-{self.name}", 0
        for pid in map(int, path.read_text().split() if path.exists() else ()):
            if f"HOME={self.home}".encode() in environment_of(pid):
                os.kill(pid, signal.SIGKILL)
                count += 1
        return count

    def alive(self) -> list[int]:
        """The processes of this machine."""
        own = f"HOME={self.home}".encode()
        return [pid for pid in processes() if own in environment_of(pid)]

    def turns(self) -> list[int]:
        """The processes that take a turn here now: `sow turn run`, without the servers that it forked."""
        pids = {int(path.read_text() or 0) for path in self.folder.glob("turns/*/pid")}
        return [pid for pid in self.alive() if pid in pids]

    def followers(self) -> list[int]:
        """The processes that follow a turn for a connection: `sow turn start`."""
        return [pid for pid in self.alive() if b"\0turn\0start\0" in words_of(pid)]

    def homes(self) -> list[Path]:
        """The homes of tasks that were here."""
        return sorted((self.folder / "homes").iterdir()) if (self.folder / "homes").is_dir() else []

    def commands(self) -> list[str]:
        """Every command that was sent over ssh."""
        path = self.hosts.folder / f"commands-{self.name}"
        return path.read_text().splitlines() if path.exists() else []


def words_of(pid: int) -> bytes:
    """The command line of a process, or nothing if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


class Hosts:
    """The machines of one test, and a repository at home in which plans are run on them."""

    def __init__(self, crew: PlanRepo, folder: Path, names: Sequence[str] = ("box-a", "box-b")) -> None:
        self.crew = crew
        self.folder = folder / "hosts"
        self.folder.mkdir()
        ssh = folder / "bin" / "ssh"
        ssh.parent.mkdir()
        ssh.write_text(SSH.format(folder=self.folder))
        ssh.chmod(0o755)
        crew.repo.environment["GIT_SSH_COMMAND"] = f"{ssh} -o BatchMode=yes"
        self.all = {name: Host(self, name) for name in names}
        self.settings: dict[str, dict[str, Any]] = {}
        crew.settings["cluster"] = {"lost_after": "60s"}
        self.configure()

    def __getitem__(self, name: str) -> Host:
        return self.all[name]

    def configure(self, **cluster: Any) -> None:
        """Give all machines the executors of home; a machine can have settings of its own."""
        self.crew.settings["cluster"] = {**self.crew.settings["cluster"], **cluster}
        self.crew.configure()
        for name, host in self.all.items():
            settings = {key: value for key, value in self.crew.settings.items() if key != "cluster"}
            host.configure({**settings, **self.settings.get(name, {})})

    def run(self, *arguments: str, on: str = "box-a:2,box-b:2", **options: Any) -> Result:
        return self.crew.run("--on", on, "--review", "off", *arguments, **options)

    def start(self, *arguments: str, on: str = "box-a:2,box-b:2") -> subprocess.Popen[bytes]:
        """The same in the background."""
        return self.crew.start("--on", on, "--review", "off", *arguments)

    def records(self, task: str = "010") -> list[dict[str, Any]]:
        """The sessions of a task as home knows them, oldest first."""
        paths = (self.crew.repo.root / f".sow/local/sessions/{task}").glob("*/record.yaml")
        return [
            yaml.safe_load(path.read_text())["session"] for path in sorted(paths, key=lambda path: int(path.parts[-2]))
        ]

    def outcomes(self, task: str = "010") -> list[str]:
        return [turn.get("outcome", "") for record in self.records(task) for turn in record["turns"]]

    def hosts_of(self, task: str = "010") -> list[str]:
        return [record.get("host", "") for record in self.records(task)]

    def merges(self) -> list[str]:
        """The merged work of tasks, with the iteration."""
        return sorted(self.crew.repo.git("log", "--format=%(trailers:key=Sow-Task,valueonly)").split())

    def merges_of_run(self) -> list[str]:
        """The same of the run that has not ended."""
        return sorted(
            self.crew.repo.git("log", "--format=%(trailers:key=Sow-Task,valueonly)", "--branches=sow/int/*").split()
        )

    def gate(self, task: str, turn: int = 1, before: str = "", after: str = WORK) -> Path:
        """Let a worker's turn wait until somebody makes the file that is returned."""
        gate = self.crew.folder / f"gate-{task}-{turn}"
        wait = f"touch {gate}.reached\nuntil test -e {gate}; do sleep 0.05; done\n"
        self.crew.act(f"implementer-{task}-{turn}", f"{before}\n{wait}{after}")
        return gate

    def reached(self, gate: Path) -> None:
        """Wait until the worker is at its gate."""
        wait_for(Path(f"{gate}.reached").exists)

    def steps(self) -> str:
        """What the run said about its tasks."""
        try:
            return "\n".join(str(entry["text"]) for entry in self.crew.journal("step"))
        except (ValueError, OSError):  # not there yet, or half written
            return ""

    def close(self) -> None:
        """End what a failed test left running on the machines."""
        for host in self.all.values():
            kill_all(host.alive())
