"""Checks on hosts: a task's list runs there in a clean checkout, and home repeats it before anything is merged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Repo
from support.plan_repo import WORK
from support.quick_cases import all_of
from support.simulated_workers import wait_for
from support.ssh_hosts import Hosts
from support.temporal_cluster import TemporalCluster

from sow.cluster.packet import BadPacket
from sow.cluster.remote_checks import read_list, read_results
from sow.errors import SowError


def evidence(repo: Repo, task: str = "010") -> list[tuple[str, bool, str]]:
    """Kind, result and host of each result of a check, oldest first."""
    entries = yaml.safe_load(repo.state(task))["task"]["evidence"]
    return [(entry["kind"], entry["passed"], entry.get("host", "")) for entry in entries]


def offer(hosts: Hosts, *names: str, **settings: Any) -> None:
    """Let hosts run check lists of others."""
    for name in names:
        hosts.settings[name] = {"host": {"checks": 2}, "checks": {"allow": ["*"]}, **settings}
    hosts.configure()


def note_place(hosts: Hosts, then: str = "true") -> dict[str, Any]:
    """A task whose check writes down the machine on which it runs, and then runs a command."""
    return {"name": "One", "test_commands": [f"""sh -c 'basename "$HOME" >> {hosts.crew.folder}/places; {then}'"""]}


def places(hosts: Hosts) -> list[str]:
    path = hosts.crew.folder / "places"
    return path.read_text().split() if path.exists() else []


def test_checks_over_ssh(hosts: Hosts) -> None:
    """The list of the work runs on a host, with its name in the evidence; after the merge it runs at home."""
    offer(hosts, "box-b")
    hosts.crew.plan(note_place(hosts, "test -e part_010.txt"))
    done = hosts.run("--yes", on="box-a:1,box-b:1")
    assert done.code == 0, done
    assert evidence(hosts.crew.repo)[:2] == [("test", True, "box-b"), ("merge", True, "")]
    at_home = Path(hosts.crew.repo.environment["HOME"]).name
    assert (places(hosts)[0], set(places(hosts)[1:])) == ("box-b", {at_home})
    assert "passed on box-b: sh -c" in hosts.crew.repo.ok("task", "show", "010").out
    assert hosts.crew.journal("check")[0]["host"] == "box-b"
    assert "its checks run on box-b" in hosts.steps()
    assert hosts.crew.repo.git("for-each-ref", "refs/sow/turns") == ""
    for host in hosts.all.values():
        assert host.transfer.git("for-each-ref", "refs/sow/turns") == ""


def test_a_list_that_fails_on_a_host(hosts: Hosts) -> None:
    """The worker gets its output, and the next round passes."""
    offer(hosts, "box-a")
    hosts.crew.act("implementer-010-1", f"echo bad > part.txt\n{WORK}")
    hosts.crew.act("implementer-010-2", f"echo good > part.txt\n{WORK}")
    hosts.crew.plan({"name": "One", "test_commands": ["grep -q good part.txt || { echo bad part; exit 3; }"]})
    done = hosts.run("--yes", on="box-a:1")
    assert done.code == 0, done
    results = [entry for entry in evidence(hosts.crew.repo) if entry[2]]
    assert results == [("test", False, "box-a"), ("test", True, "box-a")]
    assert "bad part" in hosts.crew.prompt("010", 2)
    assert hosts.crew.task("010")["iteration"] == 2


@pytest.mark.full
def test_a_list_that_passes_on_a_host_only(hosts: Hosts) -> None:
    """Home decides: what fails here after the merge is not merged, whatever a host says."""
    offer(hosts, "box-a")
    hosts.crew.plan(note_place(hosts, 'case "$HOME" in */hosts/*) exit 0;; *) exit 1;; esac'))
    done = hosts.run("--yes", "--retries", "0", on="box-a:1")
    assert done.code != 0, done
    assert evidence(hosts.crew.repo)[:2] == [("test", True, "box-a"), ("merge", False, "")]
    assert hosts.merges() == []


@pytest.mark.full
def test_checks_that_the_host_cannot_run(hosts: Hosts) -> None:
    """If a program is missing there, the list runs at home, as without hosts."""
    offer(hosts, "box-a")
    program = hosts.crew.folder / "only-home"
    program.mkdir()
    (program / "lint").write_text("#!/bin/sh\n")
    (program / "lint").chmod(0o755)
    hosts.crew.repo.environment["PATH"] = f"{program}:{hosts.crew.repo.environment['PATH']}"
    hosts.crew.plan({"name": "One", "test_commands": ["lint"]})
    done = hosts.run("--yes", on="box-a:1")
    assert done.code == 0, done
    assert {host for _, _, host in evidence(hosts.crew.repo)} == {""}
    assert "the checks run at home: box-a: `lint` cannot run here" in hosts.steps()


@pytest.mark.full
def test_checks_that_need_the_checkout_of_home(hosts: Hosts) -> None:
    """A list whose checkout gets links to files of home is not sent."""
    offer(hosts, "box-a")
    (hosts.crew.repo.root / ".gitignore").write_text("/data\n")
    (hosts.crew.repo.root / "data").mkdir()
    hosts.crew.repo.git("add", ".gitignore")
    hosts.crew.repo.git("commit", "-q", "-m", "Ignore")
    hosts.crew.configure(worktree={"link": ["data"]})
    hosts.crew.plan({"name": "One", "test_commands": ["test -d data"]})
    done = hosts.run("--yes", on="box-a:1")
    assert done.code == 0, done
    assert {host for _, _, host in evidence(hosts.crew.repo)} == {""}
    assert "checks run" not in hosts.steps()


@pytest.mark.full
def test_checks_on_a_host_that_is_lost(hosts: Hosts) -> None:
    """If the only host that runs checks is out of reach, they run at home, and the task is done."""
    offer(hosts, "box-b")
    hosts.configure(lost_after="1s")
    hosts["box-b"].refuse("git-receive-pack")
    hosts.crew.plan({"name": "One", "test_commands": ["test -e part_010.txt"]})
    done = hosts.run("--yes", on="box-a:1,box-b:1")
    assert done.code == 0, done
    assert {host for _, _, host in evidence(hosts.crew.repo)} == {""}
    assert "the checks run at home: box-b" in hosts.steps()


@pytest.mark.full
def test_stopping_checks_on_a_host(hosts: Hosts) -> None:
    """Ctrl-C ends them there; so does `sow runs stop` after the run was killed, and the next call repeats them."""
    offer(hosts, "box-a")
    gate = hosts.crew.folder / "gate"
    hosts.crew.plan(note_place(hosts, f"touch {gate}.reached; until test -e {gate}; do sleep 0.05; done"))
    run = hosts.start("--yes", on="box-a:1")
    hosts.reached(gate)
    hosts.crew.repo.ok("runs", "stop")
    run.communicate()
    assert run.returncode == 130
    wait_for(lambda: not hosts["box-a"].alive())
    Path(f"{gate}.reached").unlink()
    run = hosts.start("--yes", on="box-a:1")
    hosts.reached(gate)
    run.kill()
    run.communicate()
    assert hosts["box-a"].turns()
    stopped = hosts.crew.repo.ok("runs", "stop")
    assert "stopped the checks of task 010 on box-a" in stopped.out
    wait_for(lambda: not hosts["box-a"].alive())
    assert "checks of" not in hosts.crew.repo.ok("runs", "stop").out
    gate.touch()
    done = hosts.run("--yes", on="box-a:1")
    assert done.code == 0, done
    assert evidence(hosts.crew.repo)[0] == ("test", True, "box-a")
    assert hosts.crew.turns("010") == 1


def test_checks_in_a_cluster(cluster: TemporalCluster) -> None:
    """`sow host serve --checks` offers it; a command outside of the host's own checks.allow runs at home."""
    first = cluster.add_host("box-a", start=False)
    first.start("--checks", "2")
    cluster.plans.plan({"name": "One", "test_commands": ["test -e part_010.txt"]})
    done = cluster.run()
    assert done.code == 0, (done, cluster.logs())
    assert evidence(cluster.repo)[:2] == [("test", True, "box-a"), ("merge", True, "")]
    listed = cluster.repo.ok("host", "list").out
    assert "checks 2, hand 2" in listed
    assert cluster.refs() == []


@pytest.mark.full
def test_a_host_of_the_cluster_that_did_not_agree(cluster: TemporalCluster) -> None:
    """Consent holds per machine: what the host's user did not allow is not run there, and nothing waits for it."""
    host = cluster.add_host("box-a", start=False)
    settings = host.folder / ".config/sow/config.yaml"
    settings.write_text(settings.read_text().replace("- '*'", "- make *"))
    assert "make" in settings.read_text()
    host.start("--checks", "2")
    ran = cluster.folder / "ran"
    cluster.plans.plan({"name": "One", "test_commands": [f"""sh -c 'basename "$HOME" >> {ran}'"""]})
    done = cluster.run()
    assert done.code == 0, (done, cluster.logs())
    assert {host for _, _, host in evidence(cluster.repo)} == {""}
    assert "box-a" not in ran.read_text()
    steps = "\n".join(str(entry["text"]) for entry in cluster.plans.journal("step"))
    assert "the checks run at home: box-a: you have not agreed to this command" in steps


GOOD = {"command": "make", "exit": 0, "seconds": 1.5, "output": "0" * 64, "tail": "ok"}
BAD_RESULTS = [
    "", "{}", "[]", "[1]", "[" * 100_000,
    *(
        json.dumps([{**GOOD, **change}])
        for change in (
            {"command": "true"}, {"exit": True}, {"exit": "0"}, {"seconds": -1}, {"seconds": 1e300}, {"seconds": None},
            {"output": "x"}, {"tail": None},
        )
    ),
    json.dumps([GOOD, GOOD]),
]  # fmt: skip


@all_of("text", BAD_RESULTS)
def test_results_that_are_none(text: str) -> None:
    """Results of another list, or of another form, are refused."""
    with pytest.raises(SowError):
        read_results(text, [{"kind": "test", "command": "make"}], tree="0" * 40, iteration=1, host="box-a")


def test_forged_results() -> None:
    """Home decides by the exit code what passed; counts that cannot be are left out, and control bytes are shown."""
    entry = {**GOOD, "exit": 1, "passed": True, "tail": "\033[31mred", "tests": {"ran": -5}, "environment": "0" * 64}
    checks: Any = [{"kind": "test", "command": "make"}]
    result = read_results(json.dumps([entry]), checks, tree="0" * 40, iteration=3, host="box-a")
    (got,) = result.evidence
    assert (got["passed"], got["iteration"], got["host"]) == (False, 3, "box-a")
    assert not {"tests", "environment", "setup"} & got.keys()
    assert "\033" not in result.tails["make"]


@all_of(
    "text", ["[]", '[{"kind": "final", "command": "make"}]', '[{"kind": "test"}]', '[{"kind": "test", "command": 5}]']
)
def test_lists_that_are_none(text: str) -> None:
    """A request without a check list that a plan could have is refused."""
    with pytest.raises(BadPacket):
        read_list(text)
