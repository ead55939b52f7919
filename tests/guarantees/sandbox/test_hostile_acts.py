"""S11: more acts of a hostile worker. The kernel refuses each in the sandbox, and outside it would succeed."""

from __future__ import annotations

import os
import shutil
import subprocess
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
}
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
}


def prepare(plan_repo: PlanRepo, home: Path) -> None:
    for name in SECRETS:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("a private word")


@pytest.mark.skipif(bool(PROBLEM), reason=f"no sandbox here: {PROBLEM}")
def test_the_kernel_refuses_more_acts(plan_repo: PlanRepo) -> None:
    """Each act fails, and the user's home, checkout, git folder and the other task are what they were."""
    home, root = Path(plan_repo.repo.environment["HOME"]), plan_repo.repo.root
    plan_repo.repo.environment["SOW_SANDBOX"] = "bwrap"
    plan_repo.configure(sandbox={"read": [str(plan_repo.folder)]})
    prepare(plan_repo, home)
    acts = plan_repo.folder / "acts"
    acts.mkdir()
    every = {**FILES, **POWERS}
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


def test_the_acts_would_succeed_outside(plan_repo: PlanRepo, tmp_path: Path) -> None:
    """Without the sandbox each act on files succeeds, so that its failure above shows what the kernel does."""
    template = tmp_path / "template"
    root, home, crew = template / "root", template / "home", template / "crew"
    shutil.copytree(plan_repo.repo.root, root, symlinks=True)
    crew.mkdir()
    prepare(plan_repo, home)
    for folder in ("runs", "worktrees/020", "worktrees/010"):
        (root / ".sow/local" / folder).mkdir(parents=True)
    (root / TASKS / "020").mkdir(parents=True)
    (root / "README.md").write_text("read me\n")
    for name in ("project.yaml", "log.md"):
        (root / ".sow/project" / name).write_text("state\n")
    failed = {}
    for number, (name, act) in enumerate(FILES.items()):
        copy = tmp_path / str(number)
        shutil.copytree(template, copy, symlinks=True)
        text = act.format(home=copy / "home", root=copy / "root", crew=copy / "crew", pid=0)
        done = subprocess.run(
            ["sh", "-c", f"set -e\n{text}"],
            cwd=copy / "root/.sow/local/worktrees/010",
            env=plan_repo.repo.environment,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            failed[name] = done.stderr
        shutil.rmtree(copy)
    assert failed == {}
