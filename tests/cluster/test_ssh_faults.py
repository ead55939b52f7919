"""Faults on the way to other hosts: nothing is done twice, nothing is lost, and nothing runs on unseen."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.plan_repo import GREEN, WORK
from support.simulated_workers import wait_for
from support.ssh_hosts import Host, Hosts

ONE_EACH = "box-a:1,box-b:1"
ASK = "sow note add --description 'Which port?' --context x --category requirements\n"
ASK += "sow note escalate 1 --reason 'only a person knows'\nsow task set status paused\n"


def end(run: subprocess.Popen[bytes]) -> tuple[int, str]:
    out, err = run.communicate(timeout=300)
    return run.returncode, f"{out.decode()}{err.decode()}"


def kill_turn(host: Host) -> None:
    """Kill sow on a host, in the middle of a turn."""
    for pid in wait_for(host.turns):
        os.kill(pid, signal.SIGKILL)


def settled(hosts: Hosts) -> None:
    """Nothing of a turn is left at home or on a host."""
    assert hosts.crew.repo.git("for-each-ref", "refs/sow/turns") == ""
    for host in hosts.all.values():
        assert host.alive() == []
    assert not any(turn.get("ended_at") is None for record in hosts.records() for turn in record["turns"])


def test_a_killed_sow_on_the_host(hosts: Hosts) -> None:
    """Its agent is ended, what it did is kept, and another session does the task; the work is merged once."""
    hosts.gate("010", before="echo half > half.txt\nsow log 'half done'")
    hosts.crew.plan("One")
    run = hosts.start(on=ONE_EACH)
    hosts.reached(hosts.crew.folder / "gate-010-1")
    kill_turn(hosts["box-a"])
    code, said = end(run)
    assert code == 0, said
    assert hosts.outcomes() == ["lost", "done"]
    assert hosts.merges() == ["010/1"]
    assert hosts.crew.repo.git("show", "HEAD:half.txt") == "half\n"
    assert (hosts.crew.repo.task_folder("010") / "log.md").read_text().count("half done") == 1
    assert hosts.crew.turns("010") == 2
    settled(hosts)


def test_a_connection_that_comes_back(hosts: Hosts) -> None:
    """The turn goes on while nobody is connected, and its result is taken over; the worker works once."""
    gate = hosts.gate("010")
    hosts.crew.plan("One")
    run = hosts.start(on="box-a:1")
    hosts.reached(gate)
    hosts["box-a"].down()
    wait_for(lambda: "box-a: trying again: ssh: connect to host" in hosts.steps())
    gate.touch()
    wait_for(lambda: not hosts["box-a"].turns())
    hosts["box-a"].up()
    code, said = end(run)
    assert code == 0, said
    assert (hosts.outcomes(), hosts.crew.turns("010"), hosts.merges()) == (["done"], 1, ["010/1"])
    settled(hosts)


@pytest.mark.full
def test_a_connection_that_is_cut_in_mid_turn(hosts: Hosts) -> None:
    """The run connects again and follows the same turn."""
    hosts.configure(lost_after="1s")
    gate = hosts.gate("010")
    hosts.crew.plan("One")
    run = hosts.start(on=ONE_EACH)
    hosts.reached(gate)
    time.sleep(1.2)  # longer than a host may be away
    assert hosts["box-a"].cut() == 1
    wait_for(lambda: sum("turn start" in command for command in hosts["box-a"].commands()) == 2)
    gate.touch()
    code, said = end(run)
    assert code == 0, said
    assert (hosts.outcomes(), hosts.crew.turns("010"), hosts.merges()) == (["done"], 1, ["010/1"])
    settled(hosts)


@pytest.mark.full
def test_a_host_that_is_gone_for_too_long(hosts: Hosts) -> None:
    """Another host takes the task; the late result of the first one changes nothing, and the next call keeps it."""
    hosts.configure(lost_after="2s")
    gate = hosts.gate("010", after="echo late > late.txt\n")
    hosts.crew.plan("One", "Two < 1")
    run = hosts.start(on=ONE_EACH)
    hosts.reached(gate)
    hosts["box-a"].down()
    code, said = end(run)
    assert code == 0, said
    assert (hosts.outcomes(), hosts.hosts_of()) == (["lost", "done"], ["box-a", "box-b"])
    assert hosts.hosts_of("020") == ["box-b"]  # the lost host is not asked first
    before = hosts.crew.repo.git("rev-parse", "HEAD")
    state = hosts.crew.repo.state("010")
    gate.touch()
    hosts["box-a"].up()
    wait_for(lambda: not hosts["box-a"].turns())
    again = hosts.run(on=ONE_EACH)
    assert again.code == 0, again
    assert (hosts.crew.repo.git("rev-parse", "HEAD"), hosts.crew.repo.state("010")) == (before, state)
    assert "note: task 010: a late result of box-a changed nothing; see its work: sow salvage restore" in again.err
    (late,) = (entry for entry in hosts.crew.repo.ok("salvage", "--json").json["kept"] if entry["name"] == "late-1")
    assert (late["task"], late["merged"]) == ("010", [])
    assert "late.txt" in hosts.crew.repo.git("ls-tree", "--name-only", late["commit"])
    (entry,) = hosts.crew.journal("late")
    assert (entry["task"], entry["host"], entry["refs"]) == ("010", "box-a", [late["ref"]])
    assert "a late result of box-a changed nothing" in hosts.crew.repo.ok("runs", "show").out
    hosts.crew.repo.ok("salvage", "restore", late["called"], "--branch", "late")
    assert hosts.crew.repo.git("show", "late:late.txt") == "late\n"
    assert hosts["box-a"].transfer.git("for-each-ref", "refs/sow/turns") == ""
    third = hosts.run(on=ONE_EACH)
    assert (third.code, "late" in third.err) == (0, False), third


@pytest.mark.full
def test_a_host_that_goes_down_before_the_request_is_there(hosts: Hosts) -> None:
    """Another host takes the task, and no worker started on the first one."""
    hosts.configure(lost_after="1s")
    hosts["box-a"].refuse("git-receive-pack")
    hosts.crew.plan("One")
    result = hosts.run(on=ONE_EACH)
    assert result.code == 0, result
    assert (hosts.outcomes(), hosts.hosts_of()) == (["lost", "done"], ["box-a", "box-b"])
    assert hosts.crew.turns("010") == 1
    assert hosts["box-a"].homes() == []


@pytest.mark.full
def test_all_hosts_are_gone(hosts: Hosts) -> None:
    """After three lost turns the run asks a person, instead of trying for ever."""
    hosts.configure(lost_after="0s", wait_for_host="1s")
    hosts["box-a"].refuse("git-receive-pack")
    hosts["box-b"].refuse("git-receive-pack")
    hosts.crew.plan("One")
    result = hosts.run(on=ONE_EACH)
    assert result.code == 4, result
    assert "3 turns were lost with their" in result.out
    assert hosts.outcomes() == ["lost"] * 3


def test_ctrl_c(hosts: Hosts) -> None:
    """The worker is interrupted, what it did comes home, nothing runs on, and the next call continues."""
    gate = hosts.gate("010", before="trap 'exit 3' INT TERM\necho half > half.txt\nsow log 'half done'")
    hosts.crew.plan("One")
    run = hosts.start(on=ONE_EACH)
    hosts.reached(gate)
    run.send_signal(signal.SIGINT)
    code, said = end(run)
    assert code == 130, said
    assert hosts.outcomes() == ["interrupted"]
    assert hosts.crew.task("010")["status"] == "in_progress"
    assert (hosts.crew.repo.root / ".sow/local/worktrees/010/half.txt").read_text() == "half\n"
    assert "half done" in (hosts.crew.repo.task_folder("010") / "log.md").read_text()
    settled(hosts)
    result = hosts.run(on=ONE_EACH)
    assert result.code == 0, result
    assert hosts.crew.repo.git("show", "HEAD:half.txt") == "half\n"
    assert hosts.crew.task("010")["iteration"] == 1


@pytest.mark.full
def test_ctrl_c_before_the_worker_begins(hosts: Hosts) -> None:
    """A request to stop that comes before the turn has begun ends it, too, and no worker is left."""
    hosts["box-a"].refuse("turn start")
    gate = hosts.gate("010")
    hosts.crew.plan("One")
    run = hosts.start(on="box-a:1")
    wait_for(lambda: "box-a: trying again: ssh: connect to host" in hosts.steps())
    run.send_signal(signal.SIGINT)
    time.sleep(0.3)
    (hosts.folder / "refuse-box-a").unlink()
    code, said = end(run)
    assert code == 130, said
    assert hosts.outcomes() == ["interrupted"]
    settled(hosts)
    gate.touch()
    result = hosts.run(on="box-a:1")
    assert (result.code, hosts.merges()) == (0, ["010/1"]), result


@pytest.mark.full
def test_ctrl_c_twice(hosts: Hosts) -> None:
    """The run leaves at once; a run at home says how to go on, and the next call takes the result over."""
    gate = hosts.gate("010", before="trap '' INT TERM")
    hosts.crew.configure(limits={"stop_grace": "60s"})
    hosts.configure()
    hosts.crew.plan("One")
    run = hosts.start(on=ONE_EACH)
    hosts.reached(gate)
    run.send_signal(signal.SIGINT)
    wait_for(lambda: any("turn stop" in command for command in hosts["box-a"].commands()))
    run.send_signal(signal.SIGINT)
    code, said = end(run)
    assert code == 130, said
    assert hosts["box-a"].turns()
    plain = hosts.crew.run("--review", "off")
    assert (plain.code, plain.out) == (4, ""), plain
    assert "task 010 is out on box-a" in plain.err
    assert "--on box-a" in plain.err
    assert hosts.crew.turns("010") == 1
    gate.touch()
    result = hosts.run(on=ONE_EACH)
    assert hosts.crew.turns("010") == 1
    assert (result.code, hosts.merges()) == (0, ["010/1"]), result
    settled(hosts)


@pytest.mark.full
def test_ctrl_c_while_a_host_is_away(hosts: Hosts) -> None:
    """The first one waits for the host, the second one leaves, and the next call takes the result over."""
    gate = hosts.gate("010")
    hosts.crew.plan("One")
    run = hosts.start(on=ONE_EACH)
    hosts.reached(gate)
    hosts["box-a"].down()
    wait_for(lambda: "box-a: trying again: ssh: connect to host" in hosts.steps())
    run.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        run.wait(timeout=2)
    run.send_signal(signal.SIGINT)
    code, said = end(run)
    assert code == 130, said
    gate.touch()
    hosts["box-a"].up()
    result = hosts.run(on=ONE_EACH)
    assert (result.code, hosts.merges(), hosts.crew.turns("010")) == (0, ["010/1"], 1), result


@pytest.mark.full
def test_a_killed_home(hosts: Hosts) -> None:
    """The turn goes on; the next call takes its result over, also when the turn has ended meanwhile."""
    gate = hosts.gate("010", before="sow log 'half done'")
    second = hosts.gate("020")
    hosts.crew.plan("One", "Two")
    run = hosts.start(on="box-a:2")
    hosts.reached(gate)
    hosts.reached(second)
    run.kill()
    run.communicate()
    gate.touch()
    wait_for(lambda: len(hosts["box-a"].turns()) == 1)
    again = hosts.start(on="box-a:2")
    wait_for(lambda: hosts.merges_of_run() == ["010/1"])
    second.touch()
    code, said = end(again)
    assert code == 0, said
    assert (hosts.outcomes(), hosts.outcomes("020")) == (["done"], ["done"])
    assert (hosts.crew.turns("010"), hosts.crew.turns("020"), hosts.merges()) == (1, 1, ["010/1", "020/1"])
    assert (hosts.crew.repo.task_folder("010") / "log.md").read_text().count("half done") == 1
    settled(hosts)


@pytest.mark.full
def test_a_host_that_was_emptied(hosts: Hosts) -> None:
    """An answer reaches a new session on the host that lost the old one, in the worktree as it is at home."""
    hosts.crew.act("implementer-010-1", f"echo half > half.txt\n{ASK}")
    hosts.crew.plan("One")
    assert hosts.run(on="box-a:1").code == 4
    shutil.rmtree(hosts["box-a"].folder)
    hosts.crew.repo.ok("answer", "1", "Port 80")
    result = hosts.run(on="box-a:1")
    assert result.code == 0, result
    assert "Port 80" in hosts.crew.prompt("010", 2)
    assert hosts.merges() == ["010/2"]
    listed = hosts.crew.repo.git("ls-tree", "--name-only", "HEAD").split()
    assert {"half.txt", "part_010.txt"} <= set(listed)


@pytest.mark.full
def test_a_session_whose_host_is_not_named_any_more(hosts: Hosts) -> None:
    """An answer to a question of box-a begins a new session on box-b, with what was done."""
    hosts.crew.act("implementer-010-1", f"echo half > half.txt\n{ASK}")
    hosts.crew.plan("One")
    assert hosts.run(on="box-a:1").code == 4
    hosts.crew.repo.ok("answer", "1", "Port 80")
    result = hosts.run(on="box-b:1")
    assert result.code == 0, result
    assert hosts.hosts_of() == ["box-a", "box-b"]
    assert "Port 80" in hosts.crew.prompt("010", 2)
    assert hosts.crew.repo.git("show", "HEAD:half.txt") == "half\n"


@pytest.mark.full
def test_a_turn_whose_host_is_not_named_any_more(hosts: Hosts) -> None:
    """A turn that is out on a host without which the run is continued counts as lost."""
    gate = hosts.gate("010")
    hosts.crew.plan("One")
    run = hosts.start(on="box-a:1")
    hosts.reached(gate)
    run.kill()
    run.communicate()
    result = hosts.run(on="box-b:1")
    assert result.code == 0, result
    assert (hosts.hosts_of(), hosts.outcomes()[1:]) == (["box-a", "box-b"], ["done"])
    gate.touch()


def test_a_review_on_a_host_that_is_continued_without_hosts(hosts: Hosts) -> None:
    """A killed run leaves no packet of its review behind: the next call asks a reviewer at home."""
    gate = hosts.folder / "gate-review"
    hosts.crew.act("quality-control-010-1", f"touch {gate}.reached\nuntil test -e {gate}; do sleep 0.05; done\n{GREEN}")
    hosts.crew.plan("One")
    run = hosts.crew.start("--on", "box-a:1")
    hosts.reached(gate)
    run.kill()
    run.communicate()
    assert hosts.crew.repo.git("for-each-ref", "refs/sow/turns")
    result = hosts.crew.run()
    assert (result.code, hosts.merges()) == (0, ["010/1"]), result
    assert hosts.crew.turns("010", "quality-control") == 2
    assert hosts.crew.repo.git("for-each-ref", "refs/sow/turns") == ""
    gate.touch()


def test_a_host_that_is_gone_for_good(hosts: Hosts) -> None:
    """Each error names the next step; with the last one, the work goes on without the host that has the turn."""
    gate = hosts.gate("010")
    hosts.crew.plan("One")
    run = hosts.start(on="box-a:1")
    hosts.reached(gate)
    run.kill()
    run.communicate()
    hosts["box-a"].down()
    gone = hosts.run(on="box-a:1")
    assert (gone.code, "if it is gone for good, run again without --on" in gone.err) == (4, True), gone
    both = hosts.run(on="box-a:1,box-b:2")
    assert "run again with --on box-b:2" in both.err
    plain = hosts.crew.run("--review", "off")
    assert plain.code == 4, plain
    assert "continue with it: sow run plan.yaml --review off --on box-a; " in plain.err
    assert "if it is gone for good: sow run plan.yaml --review off --give-up box-a" in plain.err
    result = hosts.crew.run("--review", "off", "--give-up", "box-a")
    assert (result.code, hosts.merges(), hosts.outcomes()) == (0, ["010/1"], ["lost", "done"]), result
    assert hosts.crew.repo.git("for-each-ref", "refs/sow/turns") == ""
    gate.touch()


@pytest.mark.full
def test_a_second_home(hosts: Hosts, tmp_path: Path) -> None:
    """A copy of the project that runs the same task on the same host meanwhile is refused, and disturbs nothing."""
    hosts.crew.act("implementer-010", WORK)
    gate = hosts.gate("010")
    hosts.crew.plan("One")
    copy = tmp_path / "copy"
    run = hosts.start(on="box-a:2")
    hosts.reached(gate)
    subprocess.run(["cp", "-a", str(hosts.crew.repo.root), str(copy)], check=True)
    subprocess.run(["rm", "-r", str(copy / ".sow/local")], check=True)
    second = hosts.crew.repo.sow("run", "plan.yaml", "--on", "box-a:2", "--review", "off", cwd=copy)
    assert second.code == 4, second
    gate.touch()
    code, said = end(run)
    assert code == 0, said
    assert (hosts.outcomes(), hosts.merges()) == (["done"], ["010/1"])
