"""S11: a worker in the sandbox changes only its worktree and its task folder, and its work arrives as without one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import follow_up_call
from support.plan_repo import PlanRepo
from support.simulated_workers import wait_for

from sow.system.sandbox import sandbox_state

OFF = ("--review", "off", "--retries", "0", "--yes")
PROBLEM = sandbox_state("bwrap", os.environ).problem

pytestmark = pytest.mark.skipif(bool(PROBLEM), reason=f"no sandbox here: {PROBLEM}")


@pytest.fixture(autouse=True)
def _sandbox(plan_repo: PlanRepo) -> None:
    plan_repo.repo.environment["SOW_SANDBOX"] = "bwrap"
    plan_repo.configure(sandbox={"read": [str(plan_repo.folder)]})


def shell(script: str) -> dict[str, Any]:
    """Returns the step of a simulated worker that runs a shell script."""
    return {"run": ["sh", "-c", script]}


def work(plan_repo: PlanRepo, *turns: list[dict[str, Any]]) -> None:
    plan_repo.simulated("hand", "implementer", *turns)


def test_a_worker_hands_in_its_work(plan_repo: PlanRepo) -> None:
    """Files, commits, a log entry, a note and the status of a worker in the sandbox arrive."""
    script = (
        "set -e; echo one > one.txt; git add one.txt; git commit -q -m One; echo two > two.txt; "
        "sow log 'I did it'; sow task show 010 > /dev/null; sow task set --id 010 status needs_review"
    )
    work(plan_repo, [shell(script)])
    plan_repo.plan("First")
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    assert "agents and checks run in a sandbox" in result.out
    assert plan_repo.task("010")["status"] == "completed"
    assert plan_repo.repo.git("show", "HEAD:one.txt") == "one\n"
    assert plan_repo.repo.git("show", "HEAD:two.txt") == "two\n"
    log = (plan_repo.repo.project / "phases/implementation/tasks/010/log.md").read_text()
    assert "I did it" in log
    assert plan_repo.alive() == []
    assert not (plan_repo.repo.root / ".sow/local/sandbox/010").exists()


@pytest.mark.full
def test_variables_of_the_settings(plan_repo: PlanRepo) -> None:
    """sandbox.env passes variables to agents, setup and checks; others are not there."""
    plan_repo.configure(sandbox={"env": ["DATABASE_URL"], "read": [str(plan_repo.folder)]})
    plan_repo.repo.environment |= {"DATABASE_URL": "postgres://db", "OTHER_KEY": "a key"}
    script = 'set -e; test "$DATABASE_URL" = postgres://db; test -z "$OTHER_KEY"; echo yes > seen.txt'
    work(plan_repo, [shell(script), {"status": "needs_review"}])
    test = 'sh -c \'test "$DATABASE_URL" = postgres://db && test -z "$OTHER_KEY"\''
    plan_repo.plan({"name": "First", "test_commands": [test]})
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    assert plan_repo.repo.git("show", "HEAD:seen.txt") == "yes\n"


@pytest.mark.full
def test_a_worker_commits_as_the_user(plan_repo: PlanRepo) -> None:
    """The user's name is known, also if the global settings include it for this repository only."""
    environment = plan_repo.repo.environment
    home = Path(environment["HOME"])
    for name in [name for name in environment if name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_"))]:
        del environment[name]
    work_settings = home / "work.gitconfig"
    work_settings.write_text("[user]\nname = Nora\nemail = nora@example.org\n")
    settings = home / "dotfiles" / "gitconfig"
    settings.parent.mkdir()
    settings.write_text(f'[includeIf "gitdir:{plan_repo.repo.root}/"]\npath = {work_settings}\n')
    environment["GIT_CONFIG_GLOBAL"] = str(settings)
    script = (
        "set -e; echo one > one.txt; git add one.txt; git commit -q -m One; git log -1 --format='%an %ae' > author.txt"
    )
    work(plan_repo, [shell(f"{script}; sow task set --id 010 status needs_review")])
    plan_repo.plan("First")
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    assert plan_repo.repo.git("show", "HEAD:author.txt") == "Nora nora@example.org\n"


# Every act must fail in the kernel. {root} is the user's checkout, {home} the user's home, {crew} a folder beside it.
REFUSED = {
    "reads a key": "cat {home}/.ssh/id_ed25519",
    "reads a key by its real path": "cat $(readlink -f {home})/.ssh/id_ed25519",
    "reads the settings of sow": "cat {home}/.config/sow/config.yaml",
    "writes beside the repository": "echo evil > {crew}/planted.txt",
    "writes the user's checkout": "echo evil > {root}/planted.txt",
    "removes a file of the user": "rm {root}/README.md",
    "moves the user's checkout": "mv {root} {root}-moved",
    "writes the project's state": "echo evil >> {root}/.sow/project/state.yaml",
    "replaces the project's state": "mv {root}/.sow/project {root}/.sow/moved",
    "writes another task": "echo evil > {root}/.sow/project/phases/implementation/tasks/020/state.yaml",
    "removes another task": "rm -r {root}/.sow/project/phases/implementation/tasks/020",
    "writes another worktree": "mkdir -p {root}/.sow/local/worktrees/020",
    "writes a transcript": "echo evil >> $(ls {root}/.sow/local/sessions/010/1/* | head -1)",
    "writes the run's journal": "echo evil >> $(ls {root}/.sow/local/runs/*/journal.jsonl)",
    "writes a backup of the state": "echo evil > {root}/.git/sow/planted",
    "writes another task's channel": "echo evil > {root}/.sow/local/sandbox/planted",
    "sees another task's channel": "ls {root}/.sow/local/sandbox/020 {root}/.sow/local/sandbox/*/channel",
    "replaces its own marker": "rm {root}/.sow/local/sandbox/010/sow-open",
    "plants a hook": "echo evil > {root}/.git/hooks/post-commit",
    "plants a hook by a move": "mv {root}/.git {root}/.old && cp -r {root}/.old {root}/.git",
    "sets a filter": "git -C {root} config filter.evil.clean evil",
    "sets a monitor": "git -C {root} config core.fsmonitor evil",
    "writes git's list of excludes": "echo '*' >> {root}/.git/info/exclude",
    "replaces refs": "git -C {root} update-ref refs/heads/main HEAD~1",
    "writes a replacement": "git -C {root} replace HEAD HEAD~1",
    "destroys objects": "chmod -R u+w {root}/.git/objects && rm -rf {root}/.git/objects",
    "writes an object of the repository": "echo x | git -C {root} hash-object -w --stdin",
    "moves its own pointer": "mv .git moved",
    "removes its own pointer": "rm -f .git",
    "writes its own pointer": "echo 'gitdir: /nowhere' > .git",
    "makes a repository of its own": "rm -rf .git && git init -q .",
    "moves its own folder": "mv {root}/.sow/local/worktrees/010 {root}/.sow/local/worktrees/011",
    "approves its task": "sow approve 010",
    "approves its task without marks": "env -u SOW_TASK -u SOW_AGENT sow approve 010",
    "completes its task": "sow task set --id 010 status completed",
    "completes its task without marks": 'env -i PATH="$PATH" HOME="$HOME" sow task set --id 010 status completed',
    "sets another task": "sow task set --id 020 status failed",
    "approves another task": "sow approve 020",
    "answers a question": "sow answer 1 yes",
    "starts a worker": "sow agent spawn implementer 020",
    "changes the user's settings": "sow config set agents.default evil && test -s {home}/.config/sow/config.yaml.bak",
    "kills its supervisor": "kill -9 {pid}",
    "kills a process of the user": "kill -9 $(cat {crew}/victim)",
    "reads the variables of a process": "cat /proc/{pid}/environ",
    "traces the first process": "cat /proc/1/mem",
    "remounts": "mount -o remount,rw /",
    "mounts over": "mount -t tmpfs none /mnt",
    "unmounts": "umount {root}",
    "enters another namespace": "nsenter -t 1 -m true",
    "mounts in a namespace of its own": "unshare -Urm sh -c 'mount -o remount,rw,bind {root} && touch {root}/x'",
    "writes the system": "echo evil > /etc/planted",
    "makes a device": "mknod /tmp/disk b 8 0",
    "finds a socket of the session": 'test -n "$SSH_AUTH_SOCK$XDG_RUNTIME_DIR"',
    "finds a socket in /run": 'test -n "$(find /run -type s -not -path "/run/sow/*")"',
    "writes sow itself": "echo evil >> $(python3 -c 'import sow; print(sow.__file__)')",
}


def test_the_kernel_refuses_every_act(plan_repo: PlanRepo) -> None:
    """A worker that reaches for the user's files, git, other tasks, state or processes changes nothing."""
    home, root = Path(plan_repo.repo.environment["HOME"]), plan_repo.repo.root
    (home / ".ssh").mkdir()
    (home / ".ssh/id_ed25519").write_text("a private key")
    (plan_repo.folder / "victim").write_text(str(os.getpid()))
    plan_repo.repo.environment["SSH_AUTH_SOCK"] = "/run/agent"
    acts = plan_repo.folder / "acts"
    acts.mkdir()
    for number, act in enumerate(REFUSED.values()):
        text = act.format(home=home, root=root, crew=plan_repo.folder, pid=os.getpid())
        (acts / f"{number:02}.sh").write_text(f"set -e\n{text}\n")
    script = f"mkdir done; for act in {acts}/*.sh; do sh $act > /dev/null 2>&1; echo $? > done/$(basename $act); done"
    ending: dict[str, Any] = {"status": "needs_review"}
    plan_repo.simulated("hand", "implementer", [shell("touch x"), ending], t010=[[shell(script), ending]])
    plan_repo.plan("First", "Second < 1")
    before = outside(plan_repo)
    result = plan_repo.run(*OFF)
    codes = {name: plan_repo.repo.git("show", f"HEAD:done/{n:02}.sh").strip() for n, name in enumerate(REFUSED)}
    assert {name for name, code in codes.items() if code == "0"} == set(), result
    assert {path: text for path, text in outside(plan_repo).items() if path in before} == before
    assert plan_repo.statuses() == {"010": "completed", "020": "completed"}
    assert not (root / "planted.txt").exists()
    assert "a private key" not in result.out + result.err


def outside(plan_repo: PlanRepo) -> dict[str, bytes]:
    """Returns the files of the user's home, of the crew, and git's settings and hooks."""
    folders = [Path(plan_repo.repo.environment["HOME"]), plan_repo.repo.root / ".git/hooks"]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and "/.local/" not in str(path)]
    files += [plan_repo.repo.root / ".git/config", plan_repo.repo.root / ".git/info/exclude"]
    return {str(path): path.read_bytes() for path in files if path.exists()}


@pytest.mark.full
def test_a_question_is_answered_and_the_session_resumed(plan_repo: PlanRepo) -> None:
    """A worker asks in the sandbox, and its next turn has its private home and its own git folder."""
    first = "echo kept > ~/kept.txt; git commit -q --allow-empty -m Before"
    second = "set -e; test -s ~/kept.txt; git log --format=%s | grep -q Before; echo done > done.txt"
    work(plan_repo, [shell(first), {"ask": "Which color?"}], [shell(second), {"status": "needs_review"}])
    plan_repo.plan("First")
    assert plan_repo.run(*OFF).code == 4
    plan_repo.repo.ok("answer", "010", "Green")
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    assert plan_repo.repo.git("show", "HEAD:done.txt") == "done\n"
    assert not (Path(plan_repo.repo.environment["HOME"]) / "kept.txt").exists()


@pytest.mark.full
def test_a_follow_up_has_the_home_of_its_owner(plan_repo: PlanRepo) -> None:
    """A worker's private home, where a CLI keeps its sessions, is there in the follow-up's turn."""
    hand_in = {"status": "needs_review"}
    own = [shell("echo kept > ~/kept.txt; echo one > one.txt"), hand_in]
    later = [shell("set -e; test -s ~/kept.txt; echo two > one.txt; git commit -q -a -m Two"), hand_in]
    plan_repo.simulated("hand", "implementer", t010=[own], t020=[later])
    plan_repo.plan("First")
    assert plan_repo.run(*OFF).code == 0
    finding = {"key": "1", "kind": "comment", "title": "Comment", "text": "Two", "path": "one.txt", "line": 1}
    head = plan_repo.repo.git("rev-parse", "HEAD").strip()
    given = plan_repo.folder / "findings.json"
    given.write_text(json.dumps({"findings": [finding], "head": head, "run": plan_repo.runs()[0]["id"]}))
    call = [sys.executable, follow_up_call.__file__, str(given)]
    result = subprocess.run(
        call, cwd=plan_repo.repo.root, env=plan_repo.repo.environment, capture_output=True, text=True
    )
    assert result.returncode == 0 and json.loads(result.stdout)[0]["outcome"] == "fixed", result
    assert plan_repo.repo.git("show", "HEAD:one.txt") == "two\n"
    assert plan_repo.task("010")["status"] == "completed"


def test_a_reviewer_can_write_nothing(plan_repo: PlanRepo) -> None:
    """A reviewer in the sandbox reads the work and cannot change it or its home; its verdict counts."""
    act = "git diff HEAD~1 --stat; echo evil > planted.txt; sow task set --id 010 status completed; true"
    plan_repo.simulated("judge", "quality-control", [shell(act), {"say": "Quality Control: GREEN\n\nFeedback: fine"}])
    work(plan_repo, [shell("echo one > one.txt"), {"status": "needs_review"}])
    plan_repo.plan("First")
    result = plan_repo.run("--retries", "0", "--yes")
    assert result.code == 0, result
    assert plan_repo.task("010")["reviews"][-1]["verdict"] == "GREEN"
    assert "planted.txt" not in plan_repo.repo.git("ls-tree", "--name-only", "HEAD")


def test_kill_9_leaves_no_process_and_loses_no_commit(plan_repo: PlanRepo) -> None:
    """After kill -9 of sow, no process of the sandbox lives, and the next run takes over the worker's commits."""
    first = "echo one > one.txt; git add .; git commit -q -m One; touch ready; sleep 600"
    work(plan_repo, [shell(first)], [shell("echo two > two.txt"), {"status": "needs_review"}])
    plan_repo.plan("First")
    run = plan_repo.start(*OFF)
    wait_for(lambda: (plan_repo.repo.root / ".sow/local/worktrees/010/ready").exists())
    run.send_signal(signal.SIGKILL)
    run.communicate(timeout=60)
    wait_for(lambda: plan_repo.alive() == [])
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    assert plan_repo.repo.git("show", "HEAD:one.txt") == "one\n"
    assert plan_repo.repo.git("show", "HEAD:two.txt") == "two\n"
    assert "One" in plan_repo.repo.git("log", "--format=%s", "--glob=refs/sow/keep/*")


def test_an_executor_without_a_sandbox_is_an_error(plan_repo: PlanRepo) -> None:
    """sandbox.mode bwrap with a CLI that cannot run in it is refused; a role can be excluded."""
    plan_repo.plan("First")
    result = plan_repo.run(*OFF)
    assert result.code == 2, result
    assert "hand cannot run in the sandbox yet" in result.err
    del plan_repo.repo.environment["SOW_SANDBOX"]
    plan_repo.configure(sandbox={"mode": "bwrap", "roles": {"implementer": "off"}})
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    assert "agents and checks run in a sandbox, except hand" in result.out


def test_a_worker_in_the_checkout(plan_repo: PlanRepo) -> None:
    """`sow agent spawn` in the checkout: the worker commits, and cannot change hooks, settings or state."""
    root = plan_repo.repo.root
    plan_repo.repo.ok("init")
    plan_repo.repo.ok("project", "new", "Harbour")
    plan_repo.repo.ok("task", "create", "--name", "First")
    script = (
        "echo one > one.txt && git add one.txt && git commit -q -m One; "
        "for act in 'echo evil > .git/hooks/post-commit' 'git config core.fsmonitor evil' 'mv .git old' "
        "'echo evil > .sow/project/state.yaml' 'mv .sow old' 'echo x > .git/info/attributes' 'mv .git/hooks old'; "
        'do sh -c "$act" && echo "$act" >> succeeded.txt; done; mkdir evil; echo ../evil > .git/commondir; true'
    )
    work(plan_repo, [shell(script), {"status": "needs_review"}])
    result = plan_repo.repo.sow("agent", "spawn", "implementer", "010")
    assert result.code == 0, result
    assert plan_repo.repo.git("log", "-1", "--format=%s").strip() == "One"
    assert not (root / "succeeded.txt").exists(), (root / "succeeded.txt").read_text()
    assert not (root / ".git/commondir").exists()
    assert "the agent made" in result.out + result.err
    assert plan_repo.task("010")["status"] == "needs_review"
