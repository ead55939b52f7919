"""Runs over ssh: the work, the words and the cost of workers on other hosts arrive as if they had worked at home."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo
from support.plan_repo import PlanRepo
from support.quick_cases import all_of, few_of
from support.ssh_hosts import Hosts

from sow.cluster.ssh_carrier import parse_hosts
from sow.errors import SowError
from sow.system.sandbox import sandbox_state

NO_SANDBOX = sandbox_state("bwrap", os.environ).problem
DONE = {"status": "needs_review"}


def shell(script: str) -> dict[str, Any]:
    """The step of a simulated worker that runs a shell script, whose failure ends the turn without a status."""
    return {"run": ["sh", "-ec", script]}


def local_twin(hosts: Hosts, folder: Path) -> PlanRepo:
    """The same repository, in which the same workers work at home."""
    shutil.copytree(hosts.crew.repo.root, folder / "repo", symlinks=True)
    twin = PlanRepo(Repo(folder / "repo", {**hosts.crew.repo.environment, "HOME": str(folder / "home")}), folder)
    twin.settings |= {"agents": hosts.crew.settings["agents"]}
    twin.configure()
    return twin


def test_a_run_on_two_hosts(hosts: Hosts, tmp_path: Path) -> None:
    """The branch has the files of a run at home; log, notes, outputs, transcripts and a question come home.

    The answer goes to the host that asked, into the same session of its CLI.
    """
    part = shell(
        'echo "$SOW_TASK" > part_$SOW_TASK.txt; git add .; git commit -q -m Half; echo more >> part_$SOW_TASK.txt; '
        'chmod +x part_$SOW_TASK.txt; mkdir -p "$SOW_DESK/task_output"; basename "$HOME" > "$SOW_DESK/task_output/host"'
    )
    note = {"note": {"description": "It is small", "category": "detail"}}
    hosts.crew.simulated(
        "hand",
        "implementer",
        t010=[
            [part, {"log": "half"}, {"ask": "Which port?"}],
            [{"append": {"path": "port.txt", "text": "80\n"}}, DONE],
        ],
        t020=[[part, note, {"resolve": "it is"}, {"log": "all"}, DONE]],
        t030=[[shell("cat part_010.txt part_020.txt > all.txt"), DONE]],
    )
    hosts.crew.plan("One", "Two", "Three < 1 2")
    twin = local_twin(hosts, tmp_path / "twin")
    hosts.configure()
    on = "box-a:1,box-b:1"

    first = hosts.run(on=on)
    assert first.code == 4, first
    assert f"sow run plan.yaml --review off --on {on}\n" in first.out
    paused, session = hosts.crew.task("010"), hosts.records("010")[0]
    assert paused["question"]["text"] == "Which port?"
    assert paused["session_id"] == session["session_id"]
    assert (hosts["box-a"].home / f".local/state/sow-simulated/{session['session_id']}.json").exists()
    hosts.crew.repo.ok("answer", "1", "Port 80")
    second = hosts.run(on=on)
    assert second.code == 0, second

    assert twin.run("--review", "off").code == 4
    twin.repo.ok("answer", "1", "Port 80")
    assert twin.run("--review", "off").code == 0
    assert hosts.crew.tree() == twin.tree()
    assert (hosts.hosts_of("010"), hosts.hosts_of("020")) == (["box-a"], ["box-b"])
    assert hosts.outcomes("010") == ["done", "done"]

    task = hosts.crew.repo.task_folder("010")
    assert (task / "task_output/host").read_text() == "box-a\n"
    assert "half" in (task / "log.md").read_text()
    assert "all" in (hosts.crew.repo.task_folder("020") / "log.md").read_text()
    notes = hosts.crew.repo.ok("note", "list", "--task", "020", "--json").json["notes"]
    assert [(entry["description"], entry["status"]) for entry in notes] == [("It is small", "resolved")]
    session = hosts.records("010")[0]
    assert session["total_cost_usd"] is not None
    assert len([turn for turn in session["turns"] if turn["cost_usd"] is not None]) == 2
    transcripts = hosts.crew.repo.root / ".sow/local/sessions/010/1"
    for turn in (1, 2):
        for ending in ("prompt", "out", "md"):
            assert (transcripts / f"turn-{turn:03d}.{ending}").stat().st_size
    assert "Port 80" in (transcripts / "turn-002.prompt").read_text()
    for host in hosts.all.values():
        assert host.alive() == []
        assert host.transfer.git("for-each-ref", "refs/sow/turns") == ""
    assert hosts.crew.repo.git("for-each-ref", "refs/sow/turns") == ""


BAD_HOSTS = [
    "", ",", "box a:1", "-oProxyCommand=x", "box-a:0", "box-a:", "box-a:1001", "box-a:²", f"box-a:{'9' * 5000}",
    "box-a,box-a:2", "box-a:1:2", "ssh://box-a", "box\na", "a/b", "$(id)",
]  # fmt: skip


@all_of("text", BAD_HOSTS)
def test_bad_names_of_hosts(text: str) -> None:
    """--on takes names of hosts, each once, with a number of turns."""
    with pytest.raises(SowError):
        parse_hosts(text)


def test_names_of_hosts() -> None:
    """A host takes one turn at once if nothing else is said; a name can have a user and a domain."""
    hosts = parse_hosts("box-a:2, ada@box-b.example.org")
    assert [(host.name, host.slots) for host in hosts] == [("box-a", 2), ("ada@box-b.example.org", 1)]


def test_nothing_is_started_if_a_host_cannot_take_turns(hosts: Hosts) -> None:
    """Bad options are exit 2, a host that takes no turns is exit 4 with its name; nothing is written."""
    hosts.crew.plan("One")
    before = hosts.crew.repo.snapshot()
    for arguments, code, words in [
        (["--on", "box-a:0"], 2, "box-a:0"),
        (["--on", "box-a", "--isolation", "none"], 2, "worktree"),
        (["--on", "box-x"], 4, "box-x cannot be reached: ssh: Could not resolve hostname"),
    ]:
        result = hosts.crew.run(*arguments)
        assert (result.code, words in result.err) == (code, True), result
        assert "hint: " in result.err
    hosts.settings["box-a"] = {"agents": {"executors": {"other": {"type": "simulated"}}}}
    hosts.configure()
    result = hosts.run(on="box-a")
    assert (result.code, "no host of --on offers the executor hand" in result.err) == (4, True), result
    assert hosts.crew.repo.snapshot() == before
    assert hosts["box-a"].homes() == []


@pytest.mark.full
def test_a_host_that_is_not_ready(hosts: Hosts, tmp_path: Path) -> None:
    """A host without sow, one with another version and one whose shell prints something else are named."""
    hosts.crew.plan("One")
    before = hosts.crew.repo.snapshot()
    programs = {
        "has no sow for a command over ssh": "",
        "has another version of sow (0.1)": 'echo \'{"protocol": "0-0", "version": "0.1"}\'',
        "gave no answer that sow can read": "echo Welcome",
        "gave no answer that sow can read: broken": "echo broken >&2; exit 1",
    }
    for number, (words, script) in enumerate(programs.items()):
        folder = tmp_path / f"program-{number}"
        folder.mkdir()
        if script:
            (folder / "sow").write_text(f"#!/bin/sh\n{script}\n")
            (folder / "sow").chmod(0o755)
        hosts["box-b"].profile(path=folder)
        result = hosts.run()
        assert (result.code, f"box-b {words}" in result.err) == (4, True), result
    assert hosts.crew.repo.snapshot() == before


@pytest.mark.full
def test_a_login_shell_that_prints(hosts: Hosts) -> None:
    """What the profile of a host prints to its output does not matter."""
    profile = hosts["box-a"].home / ".profile"
    profile.write_text(f"echo Welcome; echo '{{}}' ; echo '[1]'\n{profile.read_text()}")
    hosts.crew.plan("One")
    result = hosts.run(on="box-a")
    assert result.code == 0, result


@pytest.mark.full
def test_an_edit_between_two_turns(hosts: Hosts) -> None:
    """The worker's next turn sees what a person changed in the worktree at home, also a removed and an ignored file."""
    look = "ls > seen.txt; cat edited.txt >> seen.txt"
    first = [shell("echo one > edited.txt; echo gone > gone.txt; echo '*.log' > .gitignore"), {"ask": "Which port?"}]
    hosts.crew.simulated("hand", "implementer", first, [shell(look), DONE])
    hosts.configure()
    hosts.crew.plan("One")
    assert hosts.run(on="box-a").code == 4
    worktree = hosts.crew.repo.root / ".sow/local/worktrees/010"
    (worktree / "edited.txt").write_text("by a person\n")
    (worktree / "new.txt").write_text("new\n")
    (worktree / "gone.txt").unlink()
    hosts.crew.repo.ok("answer", "1", "Port 80")
    result = hosts.run(on="box-a")
    assert result.code == 0, result
    assert hosts.crew.repo.git("show", "HEAD:seen.txt").split() == [
        "edited.txt", "new.txt", "plan.yaml", "seen.txt", "by", "a", "person",
    ]  # fmt: skip


@pytest.mark.full
def test_work_that_is_sent_back(hosts: Hosts) -> None:
    """A failed check goes to the host that has the session, which continues with the feedback."""
    first, second = [shell("echo bad > part.txt"), DONE], [shell("echo good > part.txt"), DONE]
    hosts.crew.simulated("hand", "implementer", first, second)
    hosts.configure()
    hosts.crew.plan({"test_commands": ["grep -q good part.txt"]})
    result = hosts.run(on="box-a:1,box-b:1")
    assert result.code == 0, result
    assert (hosts.hosts_of(), hosts.outcomes()) == (["box-a"], ["done", "done"])
    prompt = hosts.crew.repo.root / ".sow/local/sessions/010/1/turn-002.prompt"
    assert "grep -q good part.txt" in prompt.read_text()
    assert hosts.crew.task("010")["iteration"] == 2


@pytest.mark.full
def test_what_goes_along(hosts: Hosts) -> None:
    """A role of the project, documents below .sow, the project's memories and the outputs of dependencies go along."""
    hosts.crew.repo.ok("agent", "new", "poet", "--description", "Writes verse", "--prompt", "You write only in verse.")
    hosts.crew.plan("One", {"agent": "poet", "depends_on": [1]})
    hosts.crew.repo.ok("init")
    knowledge = hosts.crew.repo.root / ".sow/knowledge/rhymes.md"
    knowledge.parent.mkdir(parents=True, exist_ok=True)
    knowledge.write_text("moon rhymes with June\n")
    see = (
        'cat "$SOW_ROOT/.sow/knowledge/rhymes.md" > seen.txt; sow task show >> seen.txt; '
        'cat "$SOW_ROOT"/.sow/project/phases/*/tasks/010/task_output/a.txt >> seen.txt'
    )
    output = 'mkdir -p "$SOW_DESK/task_output"; echo of the first > "$SOW_DESK/task_output/a.txt"; echo x > x.txt'
    hosts.crew.simulated("hand", "implementer", t010=[[shell(output), DONE]], t020=[[shell(see), DONE]])
    hosts.crew.settings["agents"]["bindings"]["poet"] = "hand"
    hosts.configure()
    first = hosts.run("--task", "1", on="box-a")
    assert first.code == 0, first
    hosts.crew.repo.ok("project", "remember", "Use tabs")
    hosts.crew.repo.ok("task", "set", "--id", "020", "references", ".sow/knowledge/rhymes.md")
    result = hosts.run(on="box-b")
    assert result.code == 0, result
    seen = hosts.crew.repo.git("show", "HEAD:seen.txt")
    assert "moon rhymes with June" in seen
    assert "Use tabs" in seen
    assert "of the first" in seen
    prompt = (hosts.crew.repo.root / ".sow/local/sessions/020/1/turn-001.prompt").read_text()
    assert "You write only in verse." in prompt


@pytest.mark.full
@pytest.mark.skipif(bool(NO_SANDBOX), reason=f"no sandbox here: {NO_SANDBOX}")
def test_the_sandbox_of_the_host(hosts: Hosts) -> None:
    """A worker on a host is in that host's sandbox: the home there is closed, and the work arrives."""
    secret = hosts["box-a"].home / "secret.txt"
    secret.write_text("a secret\n")
    script = f"if cat {secret}; then echo open > open.txt; fi; echo one > one.txt; sow log 'from the sandbox'"
    hosts.crew.simulated("hand", "implementer", [shell(script), DONE])
    hosts.configure()
    hosts["box-a"].profile(sandbox="bwrap")
    hosts.settings["box-a"] = {"sandbox": {"read": [str(hosts.crew.folder)]}}
    hosts.configure()
    hosts.crew.plan("One")
    result = hosts.run(on="box-a")
    assert result.code == 0, result
    assert [line.partition("\t")[2] for line in hosts.crew.tree()] == ["one.txt", "plan.yaml"]
    assert "from the sandbox" in (hosts.crew.repo.task_folder("010") / "log.md").read_text()
    assert hosts["box-a"].alive() == []


@pytest.mark.full
def test_a_setup_that_fails_on_the_host(hosts: Hosts) -> None:
    """A person is asked, with the host and the cause; when it is fixed there, the same call goes on."""
    hosts.crew.configure(worktree={"setup": [["sh", "-c", 'test -e "$HOME/fixed"']]})
    hosts.configure()
    hosts.crew.plan("One")
    result = hosts.run("--yes", on="box-a")
    assert result.code == 4, result
    assert "box-a could not take the turn" in result.out
    (hosts["box-a"].home / "fixed").touch()
    hosts.crew.repo.ok("answer", "1", "It is fixed")
    again = hosts.run("--yes", on="box-a")
    assert again.code == 0, again


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
@few_of("left", [0, 60_000, 150_000], 1)
def test_a_host_with_a_full_disk(hosts: Hosts, left: int) -> None:
    """Another host takes the task at once, and the run names the host and the cause; alone, it asks a person."""
    state = hosts["box-a"].home / ".local/state/sow"
    state.mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(state)], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        hosts.crew.plan("One", "Two")
        assert hosts.run("--task", "1", on="box-a:1").code == 0
        (hosts.crew.repo.root / "large.bin").write_bytes(os.urandom(200_000))
        hosts.crew.repo.git("add", "large.bin")
        hosts.crew.repo.git("commit", "-q", "-m", "Large")
        free = os.statvfs(state).f_bavail * os.statvfs(state).f_bsize
        (state / "filler").write_bytes(b"x" * (free - left))
        alone = hosts.run("--task", "2", on="box-a:1")
        assert alone.code == 4, alone
        assert "box-a could not take the turn: no space left on device" in alone.out
        hosts.crew.repo.ok("answer", "020", "try again")
        began = time.monotonic()
        result = hosts.run(on="box-a:1,box-b:1")
        assert result.code == 0, result
        assert time.monotonic() - began < 45  # and not cluster.lost_after, which is a minute here
        assert hosts.hosts_of("020")[-1] == "box-b"
        assert "lost" not in hosts.outcomes("020")
        assert "box-a did not take the turn: no space left on device" in hosts.steps()
    finally:
        subprocess.run(["umount", "-l", str(state)], check=True)
