"""`sow runs stop` with turns on other hosts: no agent runs on, and what it did comes home with the next call."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Repo
from support.plan_repo import WORK
from support.ssh_hosts import Hosts
from support.temporal_cluster import TemporalCluster, until

SECONDS = 30.0  # until no process of a turn is left; without load it takes 2
DEAF = "trap '' INT TERM\necho half > half.txt\n"


def stop(repo: Repo, processes: Callable[[], list[int]]) -> str:
    """Stop the run; soon no process is left on any host. Returns what the command said."""
    began = time.monotonic()
    output = repo.ok("runs", "stop").out
    until(lambda: not processes(), "no process is left")
    assert time.monotonic() - began < SECONDS
    return output


def has_stopped(run: subprocess.Popen[bytes]) -> None:
    """The run has ended like after Ctrl-C."""
    out, err = run.communicate(timeout=60)
    assert run.returncode == 130, (out, err)


def on_hosts(hosts: Hosts) -> list[int]:
    """The processes of all hosts."""
    return [pid for host in hosts.all.values() for pid in host.alive()]


def test_a_live_run_over_ssh(hosts: Hosts) -> None:
    """The command ends the agents on both hosts, also one that ignores signals, and their work is at home."""
    hosts.crew.configure(limits={"stop_grace": "1s"})
    hosts.configure()
    gates = [hosts.gate("010", before=DEAF), hosts.gate("020", before="echo half > half.txt\n")]
    hosts.crew.plan("One", "Two")
    run = hosts.start(on="box-a:1,box-b:1")
    for gate in gates:
        hosts.reached(gate)
    stop(hosts.crew.repo, lambda: on_hosts(hosts))
    has_stopped(run)
    assert [hosts.outcomes(task) for task in ("010", "020")] == [["interrupted"]] * 2
    for task in ("010", "020"):
        assert (hosts.crew.repo.root / f".sow/local/worktrees/{task}/half.txt").read_text() == "half\n"


def test_a_dead_run_over_ssh(hosts: Hosts) -> None:
    """The agents that a killed run left on two hosts are stopped there, and the next call takes over what they did."""
    hosts.crew.configure(limits={"stop_grace": "1s"})
    hosts.configure()
    gates = [hosts.gate("010", before=DEAF), hosts.gate("020", before="echo half > half.txt\n")]
    hosts.crew.plan("One", "Two")
    on = "box-a:1,box-b:1"
    run = hosts.start(on=on)
    for gate in gates:
        hosts.reached(gate)
    run.kill()
    run.communicate()
    said = stop(hosts.crew.repo, lambda: on_hosts(hosts))
    assert "stopped the turn on task 010 on box-a; the next call takes over what it did" in said
    assert "stopped the turn on task 020 on box-b" in said
    assert f"continue with: sow run plan.yaml --review off --on {on}" in said
    for gate in gates:
        gate.touch()
    done = hosts.run(on=on)
    assert done.code == 0, done
    assert [hosts.outcomes(task) for task in ("010", "020")] == [["interrupted", "done"]] * 2
    assert hosts.merges() == ["010/1", "020/1"]
    assert hosts.crew.repo.git("show", "HEAD:half.txt") == "half\n"
    assert hosts.crew.repo.ok("runs", "stop").out.startswith("no run is active")


@pytest.mark.full
def test_a_review_of_a_dead_run(hosts: Hosts) -> None:
    """A reviewer on a host is stopped like a worker."""
    gate = hosts.crew.folder / "judge"
    hosts.crew.act("quality-control", f"touch {gate}.reached\nuntil test -e {gate}; do sleep 0.05; done\n")
    hosts.crew.plan("One")
    run = hosts.crew.start("--on", "box-a:1")
    hosts.reached(gate)
    run.kill()
    run.communicate()
    assert hosts["box-a"].turns()
    assert "stopped the turn on task 010 on box-a" in stop(hosts.crew.repo, lambda: on_hosts(hosts))


@pytest.mark.full
def test_a_dead_run_whose_host_is_away(hosts: Hosts) -> None:
    """The command says which host it is, and what to type there; that works, and so does the command itself later."""
    gate = hosts.gate("010")
    hosts.crew.plan("One")
    run = hosts.start(on="box-a:1")
    hosts.reached(gate)
    run.kill()
    run.communicate()
    hosts["box-a"].down()
    away = hosts.crew.repo.sow("runs", "stop")
    assert away.code == 4, away
    assert "the turn on task 010 on box-a could not be stopped: ssh: connect to host box-a" in away.err
    command = away.err.partition("stop it there: ssh box-a ")[2].strip()
    assert hosts["box-a"].turns()
    hosts["box-a"].up()
    there = [*hosts.crew.repo.environment["GIT_SSH_COMMAND"].split(), "box-a", f"sh -lc '{command} --wait=30s'"]
    subprocess.run(there, check=True, env=hosts.crew.repo.environment)
    until(lambda: not on_hosts(hosts), "no process is left")
    assert "stopped the turn" in hosts.crew.repo.ok("runs", "stop").out


def working(cluster: TemporalCluster, before: str = "") -> Path:
    """Let workers wait for the file `go`; returns the folder in which each says that it works."""
    wait = f"echo $$ > {cluster.folder}/working-$SOW_TASK\nuntil [ -e {cluster.folder}/go ]; do sleep 0.05; done\n"
    cluster.plans.configure(limits={"stop_grace": "1s"})
    cluster.plans.act("implementer", f"{before}{wait}{WORK}")
    return cluster.folder


def agents(cluster: TemporalCluster) -> list[int]:
    """The processes of all hosts, except the hosts themselves."""
    serving = {host.process.pid for host in cluster.hosts if host.process is not None}
    return [pid for host in cluster.hosts for pid in host.alive() if pid not in serving]


def test_a_live_run_in_a_cluster(cluster: TemporalCluster) -> None:
    """The command ends the agents on both hosts, also those that ignore signals."""
    folder = working(cluster, DEAF)
    cluster.add_hosts("box-a", "box-b", most=1)
    cluster.plans.plan("One", "Two")
    run = cluster.start()
    until(lambda: (folder / "working-010").exists() and (folder / "working-020").exists(), "both work")
    stop(cluster.repo, lambda: agents(cluster))
    has_stopped(run)


def test_a_dead_run_in_a_cluster(cluster: TemporalCluster) -> None:
    """Turns of a killed run are stopped: one that runs, and one that waits for a free host."""
    folder = working(cluster, "echo half > half.txt\n")
    cluster.add_hosts("box-a", most=1)
    cluster.plans.plan("One", "Two")
    run = cluster.start("--max-concurrency", "2")
    until(lambda: (folder / "working-010").exists() or (folder / "working-020").exists(), "one works")
    first = "010" if (folder / "working-010").exists() else "020"
    until(lambda: len([ref for ref in cluster.refs() if ref.endswith("/request")]) == 2, "both are sent")
    run.kill()
    run.communicate()
    said = stop(cluster.repo, lambda: agents(cluster))
    assert f"stopped the turn on task {first} on box-a" in said
    assert "on a host of the cluster; the next call" in said
    (folder / "go").touch()
    done = cluster.run()
    assert done.code == 0, (done, cluster.logs())
    assert set(cluster.plans.statuses().values()) == {"completed"}
    assert len(cluster.plans.journal("merged")) == 2
    assert cluster.tree()["half.txt"] == b"half\n"


@pytest.mark.full
def test_a_dead_run_whose_server_is_away(cluster: TemporalCluster) -> None:
    """The command says so; turns are not taken for stopped."""
    folder = working(cluster)
    cluster.add_hosts("box-a", most=1)
    cluster.plans.plan("One")
    run = cluster.start()
    until(lambda: (folder / "working-010").exists(), "the worker works")
    run.kill()
    run.communicate()
    cluster.plans.configure(cluster={**cluster.settings, "address": "127.0.0.1:1"})
    away = cluster.repo.sow("runs", "stop")
    assert away.code == 4, away
    assert "the turn on task 010 on box-a could not be stopped: the Temporal server at 127.0.0.1:1" in away.err
    cluster.plans.configure(cluster=cluster.settings)
    stop(cluster.repo, lambda: agents(cluster))
