"""Rate limits of accounts: hosts on another account take over, and the run waits only if all accounts rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Repo
from support.plan_repo import PlanRepo
from support.ssh_hosts import Hosts
from support.temporal_cluster import Host as TemporalHost
from support.temporal_cluster import TemporalCluster, until

DONE = [{"write": {"path": "part_{task}.txt", "text": "done\n"}}, {"status": "needs_review"}]
LONG = 600  # seconds, after which no test waits


@pytest.fixture
def boxes(plan_repo: PlanRepo, tmp_path: Path) -> Iterator[Hosts]:
    """Three machines, which are reached over ssh."""
    made = Hosts(plan_repo, tmp_path, ("box-a", "box-b", "box-c"))
    yield made
    plan_repo.close()
    made.close()


def offer(
    hosts: Hosts, name: str, capacity: int | str, *turns: list[dict[str, Any]], role: str = "implementer"
) -> None:
    """Let a machine offer the executor of a role with a capacity, and do this in its turns."""
    scenario = hosts.folder / f"{name}.yaml"
    scenario.write_text(yaml.safe_dump({"tasks": {"default": list(turns or [DONE])}}))
    executor = {"type": "simulated", "settings": {"scenario": str(scenario)}}
    home = hosts.crew.settings["agents"]
    agents = {"executors": {**home["executors"], "busy": executor}}
    hosts.settings[name] = {"agents": agents, "host": {"capacity": {"busy": capacity, "hand": 1}}}
    home["executors"]["busy"], home["bindings"][role] = executor, "busy"
    hosts.configure()


def attempts(hosts: Hosts, task: str = "010") -> tuple[int, int]:
    """The iteration and the retries that were counted."""
    state = hosts.crew.task(task)
    return state["iteration"], state.get("retry_count", 0)


def test_a_host_on_another_account_takes_over(hosts: Hosts):
    """A limit of one host counts as no attempt and pauses nothing: a fresh session on the other account works."""
    offer(hosts, "box-a", 2, [{"limit": LONG}])
    offer(hosts, "box-b", "1@alice")
    hosts.crew.plan("First")
    done = hosts.run("--max-wait", "5s", on="box-a:2,box-b:1")
    assert done.code == 0, done
    assert (hosts.hosts_of(), hosts.outcomes()) == (["box-a", "box-b"], ["limited", "done"])
    assert attempts(hosts) == (1, 0)
    (limit,) = hosts.crew.journal("limit")
    assert (limit["executor"], limit["account"]) == ("busy", "box-a")
    box = hosts["box-b"]
    offered = json.loads(Repo(box.home, box.environment).ok("turn", "offers").out)["executors"]["busy"]
    assert (offered["most"], offered["account"]) == (1, "alice")


def test_hosts_of_one_account_rest_together(boxes: Hosts):
    """The second host of the account gets no turn, although it said nothing about a limit."""
    offer(boxes, "box-a", "3@team", [{"limit": LONG}])
    offer(boxes, "box-b", "2@team")
    offer(boxes, "box-c", "1@alice")
    boxes.crew.plan("First", "Second < 1")
    done = boxes.run("--max-wait", "5s", on="box-a:3,box-b:2,box-c:1")
    assert done.code == 0, done
    assert (boxes.hosts_of("010"), boxes.hosts_of("020")) == (["box-a", "box-c"], ["box-c"])
    assert (attempts(boxes, "010"), attempts(boxes, "020")) == ((1, 0), (1, 0))


def test_the_run_goes_on_when_the_first_account_does(hosts: Hosts):
    """All accounts rest: the executor pauses until the earliest reset, and the session there continues."""
    offer(hosts, "box-a", "1@alice", [{"limit": LONG}])
    offer(hosts, "box-b", "1@team", [{"limit": 3}], DONE)
    hosts.crew.plan("First")
    done = hosts.run("--max-wait", "60s", on="box-a:2,box-b:1")
    assert done.code == 0, done
    assert (hosts.hosts_of(), hosts.outcomes()) == (["box-a", "box-b"], ["limited", "limited", "done"])
    assert attempts(hosts) == (1, 0)
    first, second = hosts.crew.journal("limit")
    assert second["until"] < first["until"] - LONG / 2
    resumed = [entry for entry in hosts.crew.journal("turn_started") if entry["kind"] == "resume"]
    waits = [entry["until"] for entry in hosts.crew.journal("waiting")]
    assert (len(resumed), waits) == (1, [second["until"]])


@pytest.mark.full
def test_a_reviewer_on_another_account(hosts: Hosts):
    """A limit of a reviewer on a host pauses only its account; the other host gives the verdict."""
    green = [{"say": "Quality Control: GREEN\n\nFeedback: fine"}]
    offer(hosts, "box-a", "2@team", [{"limit": LONG}], role="quality-control")
    offer(hosts, "box-b", "1@alice", green, role="quality-control")
    hosts.crew.plan("First")
    done = hosts.crew.run("--on", "box-a:2,box-b:1", "--max-wait", "5s")
    assert done.code == 0, done
    reviews = [entry["host"] for entry in hosts.crew.journal("sent") if entry["kind"] == "review"]
    assert reviews == ["box-a", "box-b"]
    (limit,) = hosts.crew.journal("limit")
    assert (limit["account"], attempts(hosts)) == ("team", (1, 0))


@pytest.mark.full
def test_a_turn_that_waits_for_a_place_is_not_sent_to_an_account_that_rests(hosts: Hosts):
    """It ends like a limited turn, without a host and without an attempt, and begins after the reset."""
    offer(hosts, "box-a", 1, [{"limit": 4}], DONE)
    hosts.crew.plan("First", "Second", "Third")
    done = hosts.run("--max-concurrency", "3", on="box-a:1")
    assert done.code == 0, done
    tasks = ("010", "020", "030")
    (waited, *_) = (task for task in tasks if hosts.hosts_of(task)[0] == "")
    assert (hosts.outcomes(waited)[0], hosts.hosts_of(waited)[-1]) == ("limited", "box-a")
    assert [attempts(hosts, task) for task in tasks] == [(1, 0)] * 3
    assert hosts.crew.journal("waiting")


def serve(cluster: TemporalCluster, name: str, capacity: int | str, *turns: list[dict[str, Any]]) -> TemporalHost:
    """A host of the cluster that offers the executor of the implementer, and does this in its turns."""
    scenario = cluster.folder / f"{name}.yaml"
    scenario.write_text(yaml.safe_dump({"tasks": {"default": list(turns or [DONE])}}))
    executor = {"type": "simulated", "settings": {"scenario": str(scenario)}}
    home = cluster.plans.settings["agents"]
    home["executors"]["busy"], home["bindings"]["implementer"] = executor, "busy"
    cluster.plans.configure()
    return cluster.add_host(name, start=False, capacity={"busy": capacity})


@pytest.mark.full
def test_accounts_on_a_cluster(cluster: TemporalCluster):
    """The limited host asks for no turn, another one of its account refuses them, and a third one does the work."""
    go = cluster.folder / "go"
    wait = {"run": ["sh", "-c", f"touch {go}.reached; until test -e {go}; do sleep 0.05; done"]}
    limited = serve(cluster, "box-a", "2@team", [{"limit": LONG}])
    shared = serve(cluster, "box-b", "2@team")
    other = serve(cluster, "box-c", 1, [wait, *DONE])
    other.start()
    cluster.plans.plan("First", "Second")
    run = cluster.start("--max-wait", "5s", "--review", "off", "--max-concurrency", "2")
    until(Path(f"{go}.reached").exists, "the third host has its turn")
    limited.start()
    until(lambda: limited.has_logged("busy rests until"), "the first host has reached its limit")
    shared.start()

    def notes() -> dict[str, str]:
        return {host["name"]: host["note"] for host in cluster.repo.ok("host", "list", "--json").json}

    until(lambda: notes()["box-b"].startswith("busy rests until"), "the second host knows that its account rests")
    assert notes()["box-a"].startswith("busy rests until")
    shown = cluster.repo.ok("host", "list").out
    assert ("busy 2 (team)" in shown, "busy 1 " in shown) == (True, True), shown
    go.touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err, cluster.logs())
    assert [entry["host"] for entry in cluster.plans.journal("sent")] == ["box-c", "box-a", "box-c"]
    (limit,) = cluster.plans.journal("limit")
    assert (limit["executor"], limit["account"]) == ("busy", "team")
    states = [cluster.plans.task(task) for task in ("010", "020")]
    assert [(state["iteration"], state.get("retry_count", 0)) for state in states] == [(1, 0), (1, 0)]


@pytest.mark.full
def test_the_only_account_of_a_cluster(cluster: TemporalCluster):
    """The run waits for the reset, also with a turn that no host took yet, and then continues the session."""
    serve(cluster, "box-a", "1@team", [{"limit": 8}], DONE).start()
    cluster.plans.plan("First", "Second")
    done = cluster.run("--review", "off", "--max-concurrency", "2")
    assert done.code == 0, (done, cluster.logs())
    states = [cluster.plans.task(task) for task in ("010", "020")]
    assert [(state["iteration"], state.get("retry_count", 0)) for state in states] == [(1, 0), (1, 0)]
    assert cluster.turn_hosts() == {"box-a"}
    assert cluster.plans.journal("waiting")  # so nothing runs meanwhile
    sent = [entry["t"] for entry in cluster.plans.journal("sent")]
    for limit in cluster.plans.journal("limit"):
        assert not [moment for moment in sent if limit["t"] < moment < limit["t"] + 3]
