"""S11: acts of a hostile worker that the kernel refuses in the sandbox and that succeed outside of it."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.plan_repo import PlanRepo

from sow.system.sandbox import sandbox_state

OFF = ("--review", "off", "--retries", "0", "--yes")
PROBLEM = sandbox_state("bwrap", os.environ).problem
TASKS = ".sow/project/phases/implementation/tasks"
# Files of the user, with the word that no act may read.
SECRETS = (
    ".netrc", ".git-credentials", ".aws/credentials", ".config/gh/hosts.yml", ".docker/config.json", ".kube/config",
    ".gnupg/private.key", ".bash_history", ".config/sow/ui/1.json", ".local/state/sow/consents/1.json",
)  # fmt: skip
READING = {f"reads {name}": f"cat {{home}}/{name}" for name in SECRETS}
# {root} is the user's checkout, {home} the user's home and {crew} a folder beside it.
FILES = {
    **READING,
    "reads a key through a link": "ln -s {home}/.netrc link && cat link",
    "reads a key through the root of its process": "cat /proc/self/root{home}/.netrc",
    "lists the user's home": "ls {home}/.aws",
    "copies the user's home": "cp -r {home}/.gnupg .",
    "writes through the root of its process": "echo evil > /proc/self/root{crew}/planted",
    "writes through a link": "ln -s {root} link && echo evil > link/README.md",
    "writes through a hard link": "ln {root}/README.md hard && echo evil > hard",
    "empties a file of the user": ": > {root}/README.md",
    "changes a mode": "chmod 777 {root}/README.md",
    "changes a time": "touch -d 2001-01-01 {root}/README.md",
    "empties the state": ": > {root}/.sow/project/project.yaml",
    "moves the state": "mv {root}/.sow {root}/.moved",
    "puts a link in place of the state": "mv {root}/.sow/project {root}/.sow/old && ln -s {crew} {root}/.sow/project",
    "makes a run": "mkdir {root}/.sow/local/runs/evil",
    "writes a log of the project": "echo evil >> {root}/.sow/project/log.md",
    "plants a note for another task": "echo evil > {root}/" + TASKS + "/020/notes.yaml",
    "moves another task": "mv {root}/" + TASKS + "/020 {root}/" + TASKS + "/030",
    "removes a worktree": "rm -r {root}/.sow/local/worktrees/020",
    "writes alternates": "echo {crew} > {root}/.git/objects/info/alternates",
    "plants attributes": "echo '* filter=evil' > {root}/.git/info/attributes",
    "plants settings of a worktree": "echo '[core]' > {root}/.git/config.worktree",
    "plants a submodule": "mkdir -p {root}/.git/modules/evil",
    "plants a graft": "echo evil > {root}/.git/shallow",
    "moves the user's HEAD": "echo 'ref: refs/heads/evil' > {root}/.git/HEAD",
    "switches the user's branch": "git -C {root} switch -q -c evil",
    "makes a branch of the user": "git -C {root} branch evil",
    "makes a tag": "git -C {root} tag evil",
    "removes history": "git -C {root} reflog expire --expire=now --all && rm -r {root}/.git/logs",
    "collects garbage": "git -C {root} gc -q --prune=now",
    "commits for the user": "git -C {root} commit -q --allow-empty -m evil",
    "reads a login in git's settings": "grep word {root}/.git/config",
    "reads a login in a submodule's settings": "grep word {root}/.git/modules/inner/config",
    "asks git for a login": "git -C {root} config --get-regexp extraheader",
    "reads a backup of the state": "ls -A {root}/.git/sow | grep .",
    "locks the state": "flock -n {root}/.git/sow/lock true",
    "locks the repository": "flock -n {root}/.git/sow/git true",
    "locks a task": "flock -n {root}/.git/sow/claims/claim-task-020.lock true",
    "leaves a rebase to be continued": "mkdir {root}/.git/rebase-merge",
}
# Python programs, because no common tool does it; {root} and {pid} as above. They are tried in the sandbox only.
CALLS = {
    "reads a key of the kernel": "assert call(250, 10, -3, b'user', b'sow-test', 0) >= 0",
    "adds a key to the kernel": "assert call(248, b'user', b'sow-evil', b'evil', 4, -3) >= 0",
    "asks the kernel for a key": "assert call(249, b'user', b'sow-test', 0, -3) >= 0",
    "reads a key by other numbers": "assert call(250 | 0x40000000, 10, -3, b'user', b'sow-test', 0) >= 0",
    "reaches a server without a file": "connect('\\0sow-test-{pid}')",
    "reaches a server's socket": "connect('{root}/.git/server')",
    "reaches a server's socket through a link": "os.symlink('{root}/.git/server', 'link'); connect('link')",
    "reaches a server's socket by its process": "connect('/proc/self/root{root}/.git/server')",
    "types into the terminal": "fcntl.ioctl(os.open('/dev/tty', os.O_RDWR), 0x5412, b'x')",
    "takes a terminal": "fcntl.ioctl(0, 0x540E, 1)",
    "signals by a descriptor": "os.pidfd_open({pid})",
    "traces a process of the user": "assert call(101, 16, {pid}, 0, 0) == 0",
    "reads another process's memory": "open('/proc/{pid}/mem', 'rb')",
    "opens a file by its number": "assert call(304, os.open('/', 0), struct.pack('IIQ', 8, 1, 2), 0) >= 0",
    "loads a program into the kernel": "assert call(321, 5, struct.pack('IIQQ', 1, 0, 0, 0), 24) >= 0",
    "loads a module": "assert call(313, 0, b'', 0) == 0",
    "reads the kernel's log": "assert call(103, 3, ctypes.create_string_buffer(99), 99) >= 0",
    "changes a device": "os.open('/proc/bus/pci/' + os.listdir('/proc/bus/pci')[0], os.O_RDWR)",
    "moves an interrupt": "open('/proc/irq/default_smp_affinity', 'r+')",
    "opens the memory of the machine": "open('/dev/mem', 'rb')",
    "opens a disk": "os.open('/dev/vda', os.O_RDONLY)",
    "opens git's index to write": "os.open('{root}/.git/index', os.O_RDWR)",
    "exchanges a file": "assert call(316, -100, b'own', -100, b'{root}/README.md', 2) == 0",
}
PROGRAM = """import ctypes, fcntl, os, socket, struct
library = ctypes.CDLL(None, use_errno=True)
def call(*words):
    done = library.syscall(*words)
    if done == -1: print(os.strerror(ctypes.get_errno()))
    return done
def connect(path): socket.socket(socket.AF_UNIX).connect(path)
"""
# These would harm this machine, so they are tried in the sandbox only.
POWERS = {
    "reads a key through the first process": "cat /proc/1/root{home}/.netrc",
    "names a program for the kernel": "cd /proc/sys/kernel; cp core_pattern /tmp; cat /tmp/core_pattern > core_pattern",
    "changes the kernel's memory": "cat /proc/sys/vm/swappiness > own; cat own > /proc/sys/vm/swappiness",
    "sees a process of the user": "test -d /proc/{pid}",
    "stops a process of the user": "kill -STOP {pid}",
    "signals every process": "kill -STOP $(ls /proc | grep -x '[0-9]*' | grep -x {pid})",
    "changes root": "chroot / true",
    "sets the host's name": "echo evil > /proc/sys/kernel/hostname",
    "sets the clock": "date -s 2001-01-01",
    "raises its priority": "renice -n -20 -p $$",
    "makes a control group": "mkdir /sys/fs/cgroup/evil",
    "changes the owner": "touch own && chown 12345 own",
    "listens to the network": "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)'",
    "reads the kernel's memory": "dd if=/proc/kcore of=/dev/null count=1",
    "mounts processes of the machine": "unshare -Urm mount -t proc proc /mnt",
    "removes a mount of its box": "unshare -Urm umount {root}",
    "looks below a mount": "unshare -Urm sh -c 'mount --bind / /mnt && cat /mnt{home}/.netrc'",
    "looks below a mount of its own": "unshare -Urm sh -c 'mount --rbind / /mnt && umount -l /mnt{home}'",
    "puts a mount over the state": "mount --bind . {root}/.sow",
    "enters the network of the first process": "nsenter -t 1 -n -m true",
    "reads the variables of the first process": "tr '\\0' '\\n' < /proc/1/environ | grep SSH_AUTH_SOCK",
    "changes its prompt": "echo evil > /proc/1/fd/0; grep evil {root}/.sow/local/sessions/010/1/turn-001.prompt",
}
CALLS_OF = "x86_64"  # the numbers above


def prepare(plan_repo: PlanRepo, home: Path) -> None:
    root = plan_repo.repo.root
    plan_repo.repo.git("config", "http.https://example.org/.extraheader", "a private word")
    (root / ".git/modules/inner").mkdir(parents=True)
    (root / ".git/modules/inner/config").write_text("[remote]\n\turl = https://word@example.org\n")
    for name in SECRETS:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("a private word")


@pytest.fixture
def server(plan_repo: PlanRepo) -> Iterator[None]:
    """Servers of the user with and without a file, and a key of the login session, which this process can reach."""
    with socket.socket(socket.AF_UNIX) as first, socket.socket(socket.AF_UNIX) as second:
        for listener, path in (
            (first, str(plan_repo.repo.root / ".git/server")),
            (second, f"\0sow-test-{os.getpid()}"),
        ):
            listener.bind(path)
            listener.listen()
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
        if os.uname().machine == CALLS_OF:
            library = ctypes.CDLL(None)
            library.syscall(250, 1, None)
            library.syscall(248, b"user", b"sow-test", b"a private word", 14, -3)
        yield


@pytest.mark.skipif(bool(PROBLEM), reason=f"no sandbox here: {PROBLEM}")
def test_the_kernel_refuses_more_acts(plan_repo: PlanRepo, server: None) -> None:
    """Each act fails, and the user's home, checkout, git folder and the other task stay as they were."""
    home, root = Path(plan_repo.repo.environment["HOME"]), plan_repo.repo.root
    plan_repo.repo.environment["SOW_SANDBOX"] = "bwrap"
    plan_repo.configure(sandbox={"read": [str(plan_repo.folder)]})
    prepare(plan_repo, home)
    acts = plan_repo.folder / "acts"
    acts.mkdir()
    every = {**FILES, **POWERS}
    if os.uname().machine == CALLS_OF:
        for number, (name, act) in enumerate(CALLS.items()):
            program = acts / f"{number}.py"
            program.write_text(PROGRAM + act.format(root=root, pid=os.getpid()))
            every[name] = f"touch own; {sys.executable} {program}"
    for number, act in enumerate(every.values()):
        text = act.format(home=home, root=root, crew=plan_repo.folder, pid=os.getpid())
        (acts / f"{number:02}.sh").write_text(f"set -e\nmkdir {number:02}; cd {number:02}\n{text}\n")
    script = f"mkdir done; for act in {acts}/*.sh; do sh $act >> said.txt 2>&1; echo $? > done/$(basename $act); done"
    ending: dict[str, Any] = {"status": "needs_review"}
    plan_repo.simulated(
        "hand", "implementer", [{"run": ["touch", "x"]}, ending], t010=[[{"run": ["sh", "-c", script]}, ending]]
    )
    plan_repo.plan("First", "Second < 1")
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    heads = plan_repo.repo.git("for-each-ref", "refs/heads", "refs/tags")
    result = plan_repo.run(*OFF)
    codes = {name: plan_repo.repo.git("show", f"HEAD:done/{n:02}.sh").strip() for n, name in enumerate(every)}
    assert {name for name, code in codes.items() if code == "0"} == set(), result
    assert plan_repo.statuses() == {"010": "completed", "020": "completed"}
    assert {path: path.read_bytes() for path in before} == before
    assert "a private word" not in plan_repo.repo.git("show", "HEAD:said.txt")
    assert {line.split()[2] for line in heads.splitlines()} | {"refs/heads/harbour"} >= {
        line.split()[2] for line in plan_repo.repo.git("for-each-ref", "refs/heads", "refs/tags").splitlines()
    }
    assert not (root / ".git/info/attributes").exists()
    assert not list(plan_repo.folder.glob("planted"))


def test_the_acts_succeed_outside(plan_repo: PlanRepo, tmp_path: Path) -> None:
    """Without the sandbox each act on files succeeds, so the refusals above come from the kernel."""
    template = tmp_path / "template"
    root, home, crew = template / "root", template / "home", template / "crew"
    prepare(plan_repo, home)
    shutil.copytree(plan_repo.repo.root, root, symlinks=True)
    crew.mkdir()
    for folder in (".sow/local/runs", ".sow/local/worktrees/020", ".sow/local/worktrees/010", ".git/sow/lock"):
        (root / folder).mkdir(parents=True)
    for folder in (".git/sow/git", ".git/sow/claims"):
        (root / folder).mkdir()
    (root / TASKS / "020").mkdir(parents=True)
    (root / "README.md").write_text("read me\n")
    for name in ("project.yaml", "log.md"):
        (root / ".sow/project" / name).write_text("state\n")
    failed = {}
    for number, (name, act) in enumerate(FILES.items()):
        copy = tmp_path / str(number)
        shutil.copytree(template, copy, symlinks=True)
        text = act.format(home=copy / "home", root=copy / "root", crew=copy / "crew", pid=0)
        result = subprocess.run(
            ["sh", "-c", f"set -e\n{text}"],
            cwd=copy / "root/.sow/local/worktrees/010",
            env=plan_repo.repo.environment,
            capture_output=True,
            text=True,
        )
        if result.returncode:
            failed[name] = result.stderr
        shutil.rmtree(copy)
    assert failed == {}
