"""Runs over a Temporal server: the same tree as a local run, and what happens if parts of the cluster fail."""

from __future__ import annotations

from support.temporal_cluster import TemporalCluster


def test_a_run_over_two_hosts(cluster: TemporalCluster):
    """Two hosts take the turns of a run, and its work is merged."""
    for name in ("box-a", "box-b"):
        cluster.add_host(name, most=1)
    cluster.plans.plan("One", "Two", "Three < 1")
    done = cluster.run()
    assert done.code == 0, (done, [host.log.read_text() for host in cluster.hosts])
    print(done, [host.log.read_text() for host in cluster.hosts])
    assert set(cluster.plans.statuses().values()) == {"completed"}
    assert cluster.turn_hosts() == {"box-a", "box-b"}
    assert cluster.refs() == []
