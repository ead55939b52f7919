"""Hosts of a cluster: what they offer, what they refuse, and how they end."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from conftest import Repo
from support.plan_repo import WORK
from support.temporal_cluster import PATIENCE, Host, Line, TemporalCluster, until

SLOW = "echo $$ > {folder}/working-$SOW_TASK\nuntil [ -e {folder}/go ]; do sleep 0.05; done\n" + WORK
# A host of another version of sow: it polls a queue whose name has another protocol.
OLD_HOST = """
import asyncio, sys
from datetime import timedelta
from temporalio import activity
from temporalio.client import Client
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.worker import Worker

@activity.defn(name="sow-about")
async def about() -> dict:
    return {}

async def main(address, queue):
    runtime = Runtime(telemetry=TelemetryConfig(logging=None), worker_heartbeat_interval=timedelta(seconds=1))
    client = await Client.connect(address, runtime=runtime)
    await Worker(client, task_queue=queue, activities=[about]).run()

asyncio.run(main(*sys.argv[1:]))
"""


def sow_of(host: Host) -> Repo:
    """The command as the host's user types it."""
    return Repo(host.folder, host.environment)


def test_hosts_are_listed_and_one_name_serves_once(cluster: TemporalCluster):
    """The list shows what each host offers; a second host of the same name and an older sow are told apart."""
    (host,) = cluster.add_hosts("box-a", most=3)
    queue = f"sow.{cluster.name}.0.9.0-1.host.old"
    old = subprocess.Popen([sys.executable, "-c", OLD_HOST, cluster.server.address, queue])
    try:
        twin = sow_of(host).sow("host", "serve")
        assert (twin.code, "a host named box-a serves the cluster already" in twin.err) == (4, True), twin

        def both() -> list[dict[str, object]]:
            listed: list[dict[str, object]] = cluster.repo.ok("host", "list", "--json").json
            return listed if len(listed) == 2 else []

        first, second = until(both, "both hosts are listed")
        offer = {"type": "command", "most": 3, "used": 0, "account": "box-a", "rests_until": 0}
        assert (first["name"], first["executors"]) == ("box-a", {"hand": offer})
        assert (second["name"], second["protocol"], second["executors"]) == ("old", "0.9.0-1", {})
        assert second["note"] == "another version of sow: takes nothing from here"
        shown = cluster.repo.ok("host", "list").out
        assert "hand 3" in shown
    finally:
        old.kill()
        old.wait()
    assert host.stop() == 0


def test_only_hosts_of_another_version(cluster: TemporalCluster):
    """The run does not start; it says that there are hosts, and of which version."""
    queue = f"sow.{cluster.name}.99.0.0-1.host.new"
    new = subprocess.Popen([sys.executable, "-c", OLD_HOST, cluster.server.address, queue])
    try:
        until(lambda: cluster.repo.ok("host", "list", "--json").json, "the host is listed")
        cluster.plans.plan("One")
        done = cluster.run()
        assert (done.code, "; hosts with another version of sow: new (99.0.0-1)" in done.err) == (4, True), done
    finally:
        new.kill()
        new.wait()


def test_a_capacity_that_cannot_be(cluster: TemporalCluster):
    """Wrong numbers and unknown executors are refused before anything is served."""
    host = cluster.add_host("box-a", start=False)
    cases = (
        ("hand", "is no capacity", "--capacity claude-code=2,codex=1"),
        ("hand=0", "is no capacity", "--capacity claude-code=2"),
        ("hand=1@", "is no capacity", "or with an account: claude-code=2@team"),
        ("hand=1@two words", "is no capacity", "or with an account: claude-code=2@team"),
        ("hand=1,hand=2", "is no capacity", "--capacity claude-code=2"),
        ("nobody=1", "unknown executor: nobody", ""),
        ("codex=1", "executor binary not found: codex", "Install codex: npm install"),
    )
    for capacity, error, hint in cases:
        done = sow_of(host).sow("host", "serve", "--capacity", capacity)
        assert (done.code, error in done.err, hint in done.err) == (2, True, True), (capacity, done)
        assert "role" not in done.err.lower()


def test_a_host_that_could_take_no_request(cluster: TemporalCluster):
    """A missing file of signers is an error at the start, and so are no signers for a shared repository."""
    host = cluster.add_host("box-a", start=False)
    cases = (
        ({"signers": "/nowhere/signers"}, {}, "host.signers names no file: /nowhere/signers"),
        ({}, {"transfer": "ssh://box.invalid/sow.git"}, "host.signers is not set"),
        ({"transfers": ["ssh://box.invalid/sow.git"]}, {}, "host.signers is not set"),
    )
    for settings, others, error in cases:
        host.change(host={"name": "box-a", **settings}, cluster={**cluster.settings, "sign": "", **others})
        done = sow_of(host).sow("host", "serve")
        assert (done.code, error in done.err, "NAME ssh-ed25519 AAAA" in done.err) == (2, True, True), done


@pytest.mark.full
def test_sigterm_waits_for_the_turns_that_run(cluster: TemporalCluster):
    """The host takes nothing new, and ends when its turn has."""
    (host,) = cluster.add_hosts("box-a")
    cluster.plans.act("implementer", SLOW.format(folder=cluster.folder))
    cluster.plans.plan("One")
    run = cluster.start()
    until(lambda: (cluster.folder / "working-010").exists(), "the worker works")
    host.process.terminate()
    until(lambda: host.has_logged("takes nothing new, and waits for the end of 1 turns"), "the host drains")
    (listed,) = cluster.repo.ok("host", "list", "--json").json
    assert listed["note"] in ("stops when its turns have ended", "does not answer")
    (cluster.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err, cluster.logs())
    assert host.process.wait(timeout=PATIENCE) == 0


@pytest.mark.full
def test_a_second_sigterm_hands_over_what_was_done(cluster: TemporalCluster):
    """The turn ends as lost, and another host goes on with the files that it left."""
    hosts = cluster.add_hosts("box-a", "box-b", most=1)
    cluster.plans.act("implementer", "echo half > half.txt\n" + SLOW.format(folder=cluster.folder))
    cluster.plans.plan("One")
    run = cluster.start()
    until(lambda: (cluster.folder / "working-010").exists(), "the worker works")
    host = next(host for host in hosts if len(host.alive()) > 1)
    host.process.send_signal(signal.SIGTERM)
    until(lambda: host.has_logged("takes nothing new"), "the host drains")
    host.process.send_signal(signal.SIGTERM)
    assert host.process.wait(timeout=PATIENCE) == 0
    cluster.plans.act("implementer", "cat half.txt > seen.txt\n" + WORK)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err, cluster.logs())
    outcomes = [entry["outcome"] for entry in cluster.plans.journal("turn_ended") if entry["role"] == "implementer"]
    assert outcomes == ["lost", "done"]
    assert cluster.tree()["seen.txt"] == b"half\n"


@pytest.mark.full
def test_a_host_that_fails_three_times_in_a_row_takes_nothing_new(cluster: TemporalCluster):
    """The list says why; the run asks a person, and another host does the work."""
    (host,) = cluster.add_hosts("box-a", most=1)
    homes = host.folder / ".local/state/sow/hosting/homes"
    homes.parent.mkdir(parents=True, exist_ok=True)
    homes.write_text("no folder can be made here")
    cluster.plans.plan("One", "Two", "Three")
    done = cluster.run()
    assert done.code == 4, (done, cluster.logs())
    assert "box-a could not take the turn" in done.out
    (listed,) = cluster.repo.ok("host", "list", "--json").json
    assert "takes nothing new for 5 minutes: 3 turns in a row failed here" in listed["note"], cluster.logs()
    cluster.add_hosts("box-b")
    for task in ("010", "020", "030"):
        cluster.repo.ok("answer", task, "try again")
    again = cluster.run()
    assert again.code == 0, (again, cluster.logs())
    assert set(cluster.plans.statuses().values()) == {"completed"}


@pytest.fixture
def line(cluster: TemporalCluster) -> Iterator[Line]:
    line = Line(cluster.server.port)
    yield line
    line.close()


def add_host_on(line: Line, cluster: TemporalCluster) -> Host:
    """A host that reaches the server over a line."""
    host = cluster.add_host("box-a", start=False)
    host.start("--address", f"127.0.0.1:{line.port}")
    cluster.plans.act("implementer", SLOW.format(folder=cluster.folder))
    cluster.plans.plan("One")
    return host


@pytest.mark.full
def test_a_short_cut_of_the_line_to_a_host(cluster: TemporalCluster, line: Line):
    """Within the time for lost hosts nothing happens: the turn goes on, and its result counts."""
    cluster.configure(lost_after="60s")
    add_host_on(line, cluster)
    run = cluster.start()
    until(lambda: (cluster.folder / "working-010").exists(), "the worker works")
    line.cut()
    time.sleep(3)
    line.heal()
    (cluster.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err, cluster.logs())
    outcomes = [entry["outcome"] for entry in cluster.plans.journal("turn_ended") if entry["role"] == "implementer"]
    assert outcomes == ["done"]


@pytest.mark.full
def test_a_long_cut_of_the_line_to_a_host(cluster: TemporalCluster, line: Line):
    """The turn is lost and another host does the task; the host that was cut off ends its agent by itself."""
    host = add_host_on(line, cluster)
    run = cluster.start()
    until(lambda: (cluster.folder / "working-010").exists(), "the worker works")
    worker = int((cluster.folder / "working-010").read_text())
    line.cut()
    cluster.add_hosts("box-b")
    until(lambda: worker not in host.alive(), "the agent on the host without a line ends")
    (cluster.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err, cluster.logs())
    outcomes = [entry["outcome"] for entry in cluster.plans.journal("turn_ended") if entry["role"] == "implementer"]
    assert outcomes == ["lost", "done"]
    assert len(cluster.plans.journal("merged")) == 1


@pytest.mark.full
def test_another_host_takes_what_one_fails_at(cluster: TemporalCluster):
    """A turn that a host cannot begin goes to the next one, without a question."""
    hosts = cluster.add_hosts("box-a", "box-b", most=1)
    homes = hosts[0].folder / ".local/state/sow/hosting/homes"
    homes.parent.mkdir(parents=True, exist_ok=True)
    homes.write_text("no folder can be made here")
    cluster.plans.plan("One", "Two")
    done = cluster.run()
    assert done.code == 0, (done, cluster.logs())
    assert "failed" in hosts[0].log.read_text()


@pytest.mark.full
def test_a_turn_is_never_taken_twice(cluster: TemporalCluster):
    """A request that is sent again is refused by the host that took it."""
    (host,) = cluster.add_hosts("box-a")
    cluster.plans.plan("One")
    assert cluster.run().code == 0, cluster.logs()
    kept = str(host.folder / ".local/state/sow/hosting/transfer.git")
    words = ["git", "-C", kept, "for-each-ref", "--format=%(refname)", "refs/sow/turns"]
    request = next(ref for ref in subprocess.check_output(words, text=True).split() if ref.endswith("/request"))
    subprocess.run(["git", "-C", kept, "push", "-q", str(cluster.transfer), f"{request}:{request}"], check=True)
    token = request.split("/")[3]
    turn = subprocess.Popen(
        [str(Path(sys.executable).parent / "sow"), "turn", "run", token, f"--transfer={cluster.transfer}"],
        env=host.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with turn:
        event = json.loads(turn.stdout.read().splitlines()[-1])
    assert (event["event"], "was taken here before" in event["reason"]) == ("refused", True)
    assert cluster.plans.turns("010") == 1
    assert cluster.refs() == [request]


@pytest.mark.full
def test_a_host_runs_only_commands_that_its_own_user_agreed_to(cluster: TemporalCluster):
    """The sender's consent to a set-up does not hold on a host of another user; checks.allow there does."""
    (cluster.repo.root / "package.json").write_text('{"name": "harbour", "version": "1.0.0"}')
    packages = {"": {"name": "harbour"}, "node_modules/sail": {"version": "1.0.0"}}
    lock = {"name": "harbour", "lockfileVersion": 3, "packages": packages}
    (cluster.repo.root / "package-lock.json").write_text(json.dumps(lock))
    cluster.repo.git("add", "-A")
    cluster.repo.git("commit", "-q", "-m", "Packages")
    host = cluster.add_host("box-a", start=False)
    for environment, log in ((host.environment, "npm.log"), (cluster.repo.environment, "home.log")):
        program = cluster.folder / f"bin-{log}" / "npm"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\nmkdir -p node_modules\necho ran >> {cluster.folder}/{log}\n")
        program.chmod(0o755)
        environment["PATH"] = f"{program.parent}:{environment['PATH']}"
    allowed = yaml.safe_load((host.folder / ".config/sow/config.yaml").read_text())
    host.configure({**allowed, "checks": {"allow": []}})
    host.start()
    cluster.plans.plan("One")
    done = cluster.run()
    assert done.code == 4, (done, cluster.logs())
    assert "box-a could not take the turn: the user of this host has not agreed to the set-up: npm ci" in done.out
    assert not (cluster.folder / "npm.log").exists()
    assert cluster.plans.turns("010") == 0
    host.configure(allowed)
    cluster.repo.ok("answer", "010", "try again")
    again = cluster.run()
    assert again.code == 0, (again, cluster.logs())
    assert (cluster.folder / "npm.log").read_text() == "ran\n"


@pytest.mark.full
def test_a_request_that_is_larger_than_the_limit_of_the_host(cluster: TemporalCluster):
    """The host fetches no more than its limit and says so; with a higher limit the same task is done there."""
    host = cluster.add_host("box-a", start=False)
    settings = yaml.safe_load((host.folder / ".config/sow/config.yaml").read_text())
    host.configure({**settings, "cluster": {**settings["cluster"], "fetch_mb": 1}})
    host.start()
    (cluster.repo.root / "large.bin").write_bytes(random.Random(5).randbytes(3 << 20))
    cluster.repo.git("add", "large.bin")
    cluster.repo.git("commit", "-q", "-m", "Large")
    cluster.plans.plan("One")
    done = cluster.run()
    assert done.code == 4, (done, cluster.logs())
    assert "box-a could not take the turn: it brings more than 1 MB (cluster.fetch_mb)" in done.out
    kept = host.folder / ".local/state/sow/hosting/transfer.git"
    assert [path for path in kept.rglob("*") if path.is_file() and path.stat().st_size > 1 << 19] == []
    host.configure(settings)
    cluster.repo.ok("answer", "010", "try again")
    again = cluster.run()
    assert again.code == 0, (again, cluster.logs())


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_host_of_the_cluster_with_a_full_disk(cluster: TemporalCluster):
    """The turn fails there at once with the cause, and another host takes it."""
    first = cluster.add_host("box-a", start=False, most=1)
    state = first.folder / ".local/state/sow"
    state.mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(state)], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        first.start()
        (state / "filler").write_bytes(b"x" * (os.statvfs(state).f_bavail * os.statvfs(state).f_bsize))
        cluster.plans.plan("One")
        alone = cluster.run()
        assert alone.code == 4, (alone, cluster.logs())
        assert "box-a could not take the turn: no space left on device" in alone.out.lower()
        cluster.add_hosts("box-b")
        cluster.repo.ok("answer", "010", "try again")
        began = time.monotonic()
        done = cluster.run()
        assert done.code == 0, (done, cluster.logs())
        assert time.monotonic() - began < 45
        outcomes = [entry["outcome"] for entry in cluster.plans.journal("turn_ended")]
        assert "lost" not in outcomes
    finally:
        subprocess.run(["umount", "-l", str(state)], check=True)
