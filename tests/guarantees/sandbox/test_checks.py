"""B1: a check in the sandbox changes nothing but its own checkout, and reads no secret of the user."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from support.plan_repo import PlanRepo
from support.quick_cases import few_of
from support.simulated_workers import wait_for

from sow.system.sandbox import sandbox_state

OFF = ("--review", "off", "--retries", "0", "--yes")
PROBLEM = sandbox_state("bwrap", os.environ).problem

pytestmark = pytest.mark.skipif(bool(PROBLEM), reason=f"no sandbox here: {PROBLEM}")


@pytest.fixture(autouse=True)
def _sandbox(plan_repo: PlanRepo) -> None:
    plan_repo.repo.environment["SOW_SANDBOX"] = "auto"  # the workers here are programs that run outside


def run_script(plan_repo: PlanRepo, script: str, *arguments: str) -> Any:
    """Runs a plan whose check is this script; returns the result."""
    home, root = plan_repo.repo.environment["HOME"], plan_repo.repo.root
    text = script.format(home=home, root=root, crew=plan_repo.folder, pid=os.getpid())
    (root / "check.sh").write_text(f"set -e\n{text}\n")
    plan_repo.repo.git("add", "--all")
    plan_repo.repo.git("commit", "-q", "-m", "A check")
    plan_repo.plan({"test_commands": ["sh check.sh"]})
    return plan_repo.run(*OFF, *arguments)


def passed(plan_repo: PlanRepo) -> list[bool]:
    return [evidence["passed"] for evidence in plan_repo.task("010")["evidence"] if evidence["kind"] == "test"]


def outside(plan_repo: PlanRepo) -> dict[str, bytes]:
    """Returns every file of the user's home, of the crew and of git's settings and hooks."""
    folders = [Path(plan_repo.repo.environment["HOME"]), plan_repo.folder, plan_repo.repo.root / ".git/hooks"]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    files += [plan_repo.repo.root / ".git/config", plan_repo.repo.root / "README.md"]
    skipped = (".count", ".prompt", ".cwd")
    return {str(path): path.read_bytes() for path in files if path.exists() and path.suffix not in skipped}


# What each command tries must fail in the kernel: the check is red.
REFUSED = {
    "reads a key": "cat {home}/.ssh/id_ed25519",
    "reads a key by its real path": "cat $(readlink -f {home})/.ssh/id_ed25519",
    "reads the settings of sow": "cat {home}/.config/sow/config.yaml",
    "reads a file beside the repository": "cat {crew}/secret.txt",
    "writes beside the repository": "echo evil > {crew}/planted.txt",
    "writes the user's checkout": "echo evil > {root}/planted.txt",
    "removes the user's checkout": "rm {root}/README.md",
    "writes the state": "echo evil > {root}/.sow/project/planted.txt",
    "writes another checkout": "echo evil > {root}/.sow/local/worktrees/planted.txt",
    "plants a hook": "echo evil > {root}/.git/hooks/post-commit",
    "sets a filter": "git config filter.evil.clean 'touch {crew}/planted.txt'",
    "sets a filter in the user's checkout": "git -C {root} config core.fsmonitor evil",
    "moves the git folder": "mv {root}/.git {root}/.moved",
    "moves its own pointer": "mv .git moved",
    "replaces its own pointer": "rm -f .git && echo 'gitdir: /nowhere' > .git",
    "destroys objects": "chmod -R u+w {root}/.git/objects && rm -rf {root}/.git/objects",
    "moves a branch": "git update-ref refs/heads/main HEAD~1",
    "commits": "git -c user.name=x -c user.email=x@example.org commit --allow-empty -m evil",
    "adds a worktree": "git worktree add /tmp/other",
    "kills a process of the user": "kill -9 {pid}",
    "reads the variables of a process": "cat /proc/{pid}/environ",
    "remounts": "mount -o remount,rw /",
    "mounts": "mount -t tmpfs none /mnt",
    "writes the system": "echo evil > /etc/planted",
    "makes a device": "mknod /tmp/disk b 8 0",
    "finds a socket of the session": 'test -n "$SSH_AUTH_SOCK$XDG_RUNTIME_DIR"',
    "finds something in /run": 'test -n "$(find /run -type s)"',
    "finds a file in /tmp": 'test -n "$(find /tmp -maxdepth 1 -type f)"',
}


@few_of("script", REFUSED.values(), 2, ids=REFUSED)
def test_the_kernel_refuses_every_act(plan_repo: PlanRepo, script: str) -> None:
    """A check that reaches for the user's files, git, state or processes fails, and nothing has changed."""
    keys = Path(plan_repo.repo.environment["HOME"], ".ssh")
    keys.mkdir()
    (keys / "id_ed25519").write_text("a private key")
    (plan_repo.folder / "secret.txt").write_text("a secret")
    plan_repo.repo.environment["SSH_AUTH_SOCK"] = "/run/agent"
    before = outside(plan_repo)
    with tempfile.NamedTemporaryFile(dir="/tmp"):
        result = run_script(plan_repo, script)
    assert passed(plan_repo) == [False], result
    after = outside(plan_repo)
    assert {path: text for path, text in after.items() if "/.local/" not in path and "/.cache/" not in path} == before
    assert not (plan_repo.repo.root / "planted.txt").exists()
    assert "a private key" not in result.out + result.err


@pytest.mark.full
def test_a_home_is_private_and_empty(plan_repo: PlanRepo) -> None:
    """A check may write to its home and to /tmp; the next check and the user do not see that."""
    home = Path(plan_repo.repo.environment["HOME"])
    plan_repo.plan(
        {
            "test_commands": [
                "sh -c 'touch ~/left /tmp/left /var/tmp/left'",
                "sh -c 'test -z \"$(ls ~/left /tmp/left)\"'",
            ]
        }
    )
    assert plan_repo.run(*OFF).code == 0
    assert not (home / "left").exists()


@pytest.mark.full
def test_ordinary_checks_pass(plan_repo: PlanRepo) -> None:
    """A check reads its checkout, the history and the user's programs, and builds in its checkout."""
    script = """
    git log -1 --format=%H
    git status --porcelain
    git diff --exit-code HEAD
    python3 -c 'import tempfile, os; tempfile.mkdtemp(); os.mkdir("build")'
    test -f part_010.txt
    test -d {root}/.git
    test "$SOW_BOX" = bwrap
    echo data > /dev/null
    test -w /dev/shm
    """
    result = run_script(plan_repo, script)
    assert result.code == 0, result
    assert "checks run in a sandbox" in result.out
    assert passed(plan_repo) == [True]


@pytest.mark.full
def test_the_folders_of_the_settings_are_open(plan_repo: PlanRepo) -> None:
    """sandbox.read and sandbox.write open folders outside of the checkout."""
    shared, cache = plan_repo.folder / "shared", plan_repo.folder / "cache"
    for folder in (shared, cache):
        folder.mkdir()
        (folder / "there").write_text("yes")
    plan_repo.configure(sandbox={"read": [str(shared)], "write": [str(cache)]})
    script = "cat {crew}/shared/there {crew}/cache/there; ! touch {crew}/shared/new; touch {crew}/cache/new"
    result = run_script(plan_repo, script)
    assert result.code == 0, result
    assert (cache / "new").exists()
    assert not (shared / "new").exists()


@pytest.mark.full
def test_a_bubblewrap_of_the_repository_is_not_used(plan_repo: PlanRepo) -> None:
    """A bwrap in the checkout's virtual environment, which is first on PATH, never runs outside of the sandbox."""
    programs = plan_repo.repo.root / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs.parent / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (programs / "bwrap").write_text(f"#!/bin/sh\ntouch {plan_repo.folder}/escaped\nexit 0\n")
    (programs / "bwrap").chmod(0o755)
    plan_repo.repo.git("add", "--force", ".venv")
    result = run_script(plan_repo, 'test "$SOW_BOX" = bwrap; command -v bwrap | grep .venv/bin')
    assert result.code == 0, result
    assert not (plan_repo.folder / "escaped").exists()


SHARED = {"git": "echo evil > .git/hooks/post-commit", "state": "echo evil > .sow/planted", "move": "mv .git moved"}


@pytest.mark.parametrize("script", SHARED.values(), ids=SHARED)
def test_one_folder_for_all_protects_git_and_state(plan_repo: PlanRepo, script: str) -> None:
    """With `--isolation none` a check writes the user's checkout, but neither git nor the state."""
    result = run_script(plan_repo, f"touch made; {script}", "--isolation", "none")
    assert passed(plan_repo) == [False], result
    assert (plan_repo.repo.root / "made").exists()
    assert not list(plan_repo.repo.root.glob(".git/hooks/post-commit")) + list(plan_repo.repo.root.glob(".sow/planted"))


def test_an_unknown_mode_is_refused(plan_repo: PlanRepo) -> None:
    """A value of SOW_SANDBOX that does not exist is bad input."""
    plan_repo.repo.environment["SOW_SANDBOX"] = "strict"
    plan_repo.plan("Part")
    result = plan_repo.run(*OFF)
    assert (result.code, "use one of auto, off, bwrap" in result.err) == (2, True), result


WRONG = {
    "~/nowhere": "does not exist",
    "relative": "must begin with / or ~/",
    "~/": "would open your whole home folder",
    "/": "would open your whole home folder",
}


@pytest.mark.parametrize(("path", "words"), WRONG.items(), ids=WRONG)
def test_a_wrong_folder_is_refused(plan_repo: PlanRepo, path: str, words: str) -> None:
    """A missing folder, or one that contains the home, ends the call with exit 2 before anything starts."""
    plan_repo.configure(sandbox={"write": [path]})
    plan_repo.plan("Part")
    before = plan_repo.repo.git("for-each-ref")
    result = plan_repo.run(*OFF)
    assert (result.code, words in result.err) == (2, True), result
    assert plan_repo.repo.git("for-each-ref") == before


def fake_bubblewrap(plan_repo: PlanRepo, text: str) -> None:
    """Puts a script in place of bubblewrap on the user's PATH."""
    program = plan_repo.folder / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text(text)
    program.chmod(0o755)
    plan_repo.repo.environment["PATH"] = f"{program.parent}:{plan_repo.repo.environment['PATH']}"


def open_traces(plan_repo: PlanRepo) -> Path:
    """Returns a folder that checks in the sandbox may write."""
    traces = plan_repo.folder / "traces"
    traces.mkdir()
    plan_repo.configure(sandbox={"write": [str(traces)]})
    return traces


def started(plan_repo: PlanRepo, script: str) -> subprocess.Popen[bytes]:
    """Starts a run whose check is this script, and waits until the check has made `traces/begun`."""
    (plan_repo.repo.root / "check.sh").write_text(script)
    plan_repo.repo.git("add", "--all")
    plan_repo.plan({"test_commands": ["sh check.sh"]})
    run = plan_repo.start(*OFF)
    wait_for((plan_repo.folder / "traces" / "begun").exists)
    return run


@pytest.mark.full
def test_a_sandbox_that_does_not_start_is_a_question(plan_repo: PlanRepo) -> None:
    """If bubblewrap fails before a check has begun, no task is sent back: the run asks."""
    fake_bubblewrap(
        plan_repo,
        '#!/bin/sh\nfor last; do :; done\n[ "$last" = true ] && exit 0\necho "bwrap: no room" >&2\nexit 1\n',
    )
    result = run_script(plan_repo, "exit 0")
    assert result.code == 4, result
    assert "did not start: bwrap: no room" in result.out
    assert "evidence" not in plan_repo.task("010") or passed(plan_repo) == []


def test_a_required_sandbox_that_is_missing_is_an_error(plan_repo: PlanRepo) -> None:
    """`bwrap` without bubblewrap ends with exit 2; `auto` runs without it and says so."""
    fake_bubblewrap(plan_repo, "#!/bin/sh\necho 'bwrap: Creating new namespace failed' >&2\nexit 1\n")
    plan_repo.plan("Part")
    plan_repo.repo.environment["SOW_SANDBOX"] = "bwrap"
    result = plan_repo.run(*OFF)
    assert (result.code, "sandbox.mode is bwrap, but " in result.err) == (2, True), result
    plan_repo.repo.environment["SOW_SANDBOX"] = "auto"
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    assert "no sandbox: bubblewrap does not work here: bwrap: Creating new namespace failed" in result.out
    assert "checks run without a sandbox: " in plan_repo.repo.sow("doctor").out


@pytest.mark.full
def test_ctrl_c_lets_a_check_clean_up(plan_repo: PlanRepo) -> None:
    """The program in the sandbox gets the signal, and the sandbox ends with it."""
    traces = open_traces(plan_repo)
    plan_repo.configure(limits={"stop_grace": "20s"})
    script = f"trap 'touch {traces}/cleaned; exit 1' TERM\ntouch {traces}/begun\nsleep 300 & wait\n"
    run = started(plan_repo, script)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=120)
    assert run.returncode == 130
    assert (traces / "cleaned").exists()


def test_no_process_of_a_sandbox_survives(plan_repo: PlanRepo) -> None:
    """A daemon without marks ends with its check, and after kill -9 of sow."""
    traces = open_traces(plan_repo)
    name = f"31{os.getpid()}"
    script = f"env -i setsid sleep {name} &\ntouch {traces}/begun\nsleep {name}\n"
    run = started(plan_repo, script)
    run.kill()
    run.communicate(timeout=120)
    wait_for(lambda: not sleepers(name))


def sleepers(name: str) -> list[str]:
    listed = subprocess.run(["ps", "-e", "-o", "args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if line == f"sleep {name}"]


# A set-up that downloads a package once, and runs a program of the commit.
SETUP = """
set -e
test -e ~/.cache/package || echo downloaded >> "$TRACES/downloads"
test -e ~/.cache/package || { mkdir -p ~/.cache; echo package > ~/.cache/package; }
chmod 500 ~/.cache
test ! -e ~/planted || echo planted >> "$TRACES/found"
sh install.sh
"""


def test_a_setup_of_a_worker_affects_no_other(plan_repo: PlanRepo) -> None:
    """Packages of the user's commit are kept; files that the setup of a worker's commit leaves in its home are not."""
    traces = plan_repo.folder / "traces"
    traces.mkdir()
    plan_repo.configure(
        run={"baseline": "on"},
        sandbox={"write": [str(traces)], "env": ["TRACES"]},
        worktree={"setup": [["sh", "setup.sh"]]},
    )
    plan_repo.repo.environment["TRACES"] = str(traces)
    (plan_repo.repo.root / "setup.sh").write_text(SETUP)
    (plan_repo.repo.root / "install.sh").write_text("")
    plan_repo.repo.git("add", "--all")
    plan_repo.repo.git("commit", "-q", "-m", "A set-up")
    plan_repo.act("implementer-010", "echo work > part_010.txt\necho 'touch ~/planted ~/.cache/../also' > install.sh\n")
    plan_repo.plan(
        {"name": "First", "test_commands": ["true"]}, {"name": "Second", "test_commands": ["true"], "depends_on": [1]}
    )
    result = plan_repo.run(*OFF)
    assert result.code == 0, result
    assert not (traces / "found").exists(), (traces / "found").read_text()
    kept = plan_repo.repo.root / ".sow/local/sandbox"
    assert (kept / "setup/.cache/package").exists()
    assert not list(kept.glob("setup-*")) + list(kept.glob("setup/planted"))
    assert (traces / "downloads").read_text().count("downloaded") <= 2
