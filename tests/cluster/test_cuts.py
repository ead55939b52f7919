"""Cuts between a run, its Temporal server and its hosts: short ones change nothing, and nothing counts twice."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.network_namespace import NetworkNamespace, make_namespace
from support.plan_repo import WORK, PlanRepo
from support.temporal_cluster import Host, Line, TemporalCluster, TemporalServer, until

pytestmark = pytest.mark.full
SLOW = "echo $$ > {folder}/working-$SOW_TASK\nuntil [ -e {folder}/go ]; do sleep 0.05; done\n" + WORK


@pytest.fixture
def line(cluster: TemporalCluster) -> Iterator[Line]:
    """The run's own connection to the server; hosts have another one."""
    made = Line(cluster.server.port)
    yield made
    made.close()


def begin(cluster: TemporalCluster) -> tuple[subprocess.Popen[bytes], int]:
    """Start a run of one task; returns it and the worker, which waits for the file `go`."""
    cluster.plans.act("implementer", SLOW.format(folder=cluster.folder))
    cluster.plans.plan("One")
    run = cluster.start()
    return run, works(cluster, run)


def works(cluster: TemporalCluster, run: subprocess.Popen[bytes]) -> int:
    """Wait until a worker works, and return its process."""
    path = cluster.folder / "working-010"
    until(lambda: run.poll() is not None or (path.exists() and path.read_text().strip()), "the worker works")
    assert run.poll() is None, (run.communicate(), cluster.logs())
    worker = int(path.read_text())
    path.unlink()
    return worker


def end(cluster: TemporalCluster, run: subprocess.Popen[bytes]) -> list[str]:
    """Let the workers go on, wait for the end of the run, and return the outcomes of their turns."""
    (cluster.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out.decode(), err.decode(), cluster.logs())
    assert len(cluster.plans.journal("merged")) == 1
    assert cluster.tree()["part_010.txt"] == b"by 010\n"
    return [entry["outcome"] for entry in cluster.plans.journal("turn_ended") if entry["role"] == "implementer"]


def is_idle(host: Host) -> bool:
    """Whether nothing but `sow host serve` runs on a host."""
    return len(host.alive()) == 1


def test_a_short_cut_of_the_run_late_in_a_turn(cluster: TemporalCluster, line: Line):
    """The time for lost hosts begins with the cut, and not with the turn: the run attaches to the same turn."""
    cluster.add_hosts("box-a")
    cluster.configure(lost_after="6s", address=f"127.0.0.1:{line.port}")
    run, _ = begin(cluster)
    time.sleep(7)
    line.cut()
    time.sleep(2)
    line.heal()
    assert end(cluster, run) == ["done"]
    assert cluster.plans.turns("010") == 1


def test_a_long_cut_of_the_run(cluster: TemporalCluster, line: Line):
    """The run gives the turn up; when it can, it stops the agent of that turn, and another session does the task."""
    hosts = cluster.add_hosts("box-a", "box-b", most=1)
    cluster.configure(lost_after="8s", address=f"127.0.0.1:{line.port}")
    run, worker = begin(cluster)
    first = next(host for host in hosts if worker in host.alive())
    line.cut()
    until(lambda: cluster.plans.has_happened("turn_ended", outcome="lost"), "the turn is lost")
    line.heal()
    until(lambda: worker not in first.alive(), "the agent of the lost turn ends")
    works(cluster, run)
    assert end(cluster, run) == ["lost", "done"]
    until(lambda: all(map(is_idle, hosts)), "nothing is left on the hosts")


def test_a_server_that_is_away_for_too_long(plan_repo: PlanRepo, tmp_path: Path):
    """The host ends its agent by itself; when the server is back, the same run does the task in another session."""
    server = TemporalServer(tmp_path)
    server.start()
    cluster = TemporalCluster(server, plan_repo, tmp_path)
    try:
        cluster.configure(lost_after="8s")
        (host,) = cluster.add_hosts("box-a")
        run, worker = begin(cluster)
        server.kill()
        until(lambda: worker not in host.alive(), "the agent without a server ends")
        until(lambda: plan_repo.has_happened("turn_ended", outcome="lost"), "the turn is lost")
        server.start()
        works(cluster, run)
        outcomes = end(cluster, run)
        assert (outcomes[-1], set(outcomes[:-1])) == ("done", {"lost"})
        until(lambda: is_idle(host), "nothing is left on the host")
    finally:
        cluster.close()
        server.kill()


@pytest.fixture
def network() -> Iterator[NetworkNamespace]:
    """The network of a host, whose cable can be pulled out."""
    made = make_namespace()
    yield made
    made.close()


def add_host_behind(network: NetworkNamespace, cluster: TemporalCluster) -> tuple[Host, Line]:
    """A host in a namespace, and its way to the server."""
    line = Line(cluster.server.port, network.near)
    host = cluster.add_host("box-a", start=False)
    host.enter = network.enter
    host.start("--address", f"{network.near}:{line.port}")
    return host, line


def test_a_cable_that_is_pulled_for_a_moment(cluster: TemporalCluster, network: NetworkNamespace):
    """The turn goes on, and its result counts."""
    cluster.configure(lost_after="60s")
    host, line = add_host_behind(network, cluster)
    run, _ = begin(cluster)
    network.pull()
    time.sleep(3)
    network.plug()
    assert end(cluster, run) == ["done"]
    assert cluster.plans.turns("010") == 1
    assert host.stop() == 0
    line.close()


def test_a_cable_that_is_pulled_for_too_long(cluster: TemporalCluster, network: NetworkNamespace):
    """The host ends its agent by itself, another one does the task; with the cable the host serves again."""
    host, line = add_host_behind(network, cluster)
    run, worker = begin(cluster)
    network.pull()
    cluster.add_hosts("box-b")
    until(lambda: worker not in host.alive(), "the agent on the host without a cable ends")
    works(cluster, run)
    outcomes = end(cluster, run)  # the server may give one more turn to the host that it cannot see is gone
    assert (outcomes[-1], set(outcomes[:-1])) == ("done", {"lost"})
    network.plug()

    def is_listed() -> bool:
        listed = cluster.repo.ok("host", "list", "--json").json
        return any(entry["name"] == "box-a" and entry["executors"] for entry in listed)

    until(is_listed, "the host serves again")
    until(lambda: is_idle(host), "nothing is left on the host")
    assert host.stop() == 0
    line.close()
