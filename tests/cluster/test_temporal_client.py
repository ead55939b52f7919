"""Runs over a Temporal server: the same tree as a local run, and what happens if parts of the cluster fail."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import SOW, Repo
from support.plan_repo import WORK, PlanRepo
from support.simulated_workers import kill_all
from support.temporal_cluster import TemporalCluster, TemporalServer, until

SLOW = "echo $$ > {folder}/working-$SOW_TASK\nuntil [ -e {folder}/go ]; do sleep 0.05; done\n" + WORK


def slow_work(cluster: TemporalCluster) -> Path:
    """Let workers wait for the file `go`; returns the folder in which each says that it works."""
    cluster.plans.act("implementer", SLOW.format(folder=cluster.folder))
    return cluster.folder


def test_a_run_over_two_hosts_gives_the_tree_of_a_local_run(cluster: TemporalCluster, tmp_path: Path):
    """Two hosts take the turns of a run, the tree is that of a local run, and no packet stays."""
    cluster.add_hosts("box-a", "box-b", most=1)
    tasks = ("One", "Two", "Three < 1 2")
    cluster.plans.plan(*tasks)
    shutil.copytree(cluster.repo.root, tmp_path / "local" / "repo", symlinks=True)
    done = cluster.run()
    assert done.code == 0, (done, cluster.logs())
    assert "2 at once" in done.out
    assert set(cluster.plans.statuses().values()) == {"completed"}
    assert cluster.turn_hosts() == {"box-a", "box-b"}
    assert cluster.refs() == []
    assert cluster.leases() == []
    tree = cluster.tree()
    local = Repo(tmp_path / "local" / "repo", cluster.repo.environment)
    local.ok("run", "plan.yaml", "--yes")
    cluster.repo.root = local.root
    assert cluster.tree() == tree
    assert {"part_010.txt", "part_020.txt", "part_030.txt"} < tree.keys()


@pytest.mark.full
def test_a_question_is_answered_and_its_session_goes_on_where_it_is(cluster: TemporalCluster):
    """A resumed turn goes to the host that has the session, also if another one is free."""
    first = [{"write": {"path": "first.txt", "text": "1\n"}}, {"ask": "Which colour?"}]
    second = [{"write": {"path": "second.txt", "text": "2\n"}}, {"status": "needs_review"}]
    cluster.plans.simulated("hand", "implementer", first, second)
    cluster.add_hosts("box-a", "box-b")
    cluster.plans.plan("One")
    assert cluster.run().code == 4, cluster.logs()
    cluster.repo.ok("answer", "010", "red")
    done = cluster.run()
    assert done.code == 0, (done, cluster.logs())
    assert [entry["kind"] for entry in cluster.plans.journal("sent")] in (["resume"], ["spawn", "resume"])
    assert len(cluster.turn_hosts()) == 1
    assert {"first.txt", "second.txt"} < cluster.tree().keys()


@pytest.mark.full
def test_a_host_that_is_killed_in_the_middle_of_a_turn(cluster: TemporalCluster):
    """The turn is lost, its processes end, another host does the task, and it is merged once."""
    hosts = cluster.add_hosts("box-a", "box-b", most=1)
    folder = slow_work(cluster)
    cluster.plans.plan("One")
    run = cluster.start()
    until(lambda: (folder / "working-010").exists(), "the worker works")
    killed = next(host for host in hosts if len(host.alive()) > 1)
    killed.kill()
    until(lambda: not killed.alive(), "its processes end")
    (folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err, cluster.logs())
    outcomes = [entry["outcome"] for entry in cluster.plans.journal("turn_ended") if entry["role"] == "implementer"]
    assert outcomes == ["lost", "done"]
    assert cluster.turn_hosts() == {"box-a", "box-b"}
    assert len(cluster.plans.journal("merged")) == 1
    assert cluster.tree()["part_010.txt"] == b"by 010\n"


@pytest.mark.full
def test_a_machine_that_is_gone_with_all_its_processes(cluster: TemporalCluster):
    """The work up to the last checkpoint is there for the next session, which begins on another host."""
    hosts = cluster.add_hosts("box-a", "box-b", most=1, checkpoint="1s")
    script = SLOW.format(folder=cluster.folder)
    cluster.plans.act("implementer", f"[ -e half.txt ] && cp half.txt seen.txt\necho half > half.txt\n{script}")
    cluster.plans.plan("One")
    run = cluster.start()
    until(lambda: any(ref.endswith("/checkpoint") for ref in cluster.refs()), "a checkpoint was sent")
    gone = next(host for host in hosts if len(host.alive()) > 1)
    kill_all(gone.alive())
    (cluster.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err, cluster.logs())
    outcomes = [entry["outcome"] for entry in cluster.plans.journal("turn_ended") if entry["role"] == "implementer"]
    assert outcomes == ["lost", "done"]
    assert cluster.tree()["seen.txt"] == b"half\n"
    assert cluster.refs() == []


@pytest.mark.full
def test_a_machine_that_sleeps_until_its_turn_is_lost(cluster: TemporalCluster):
    """Another host does the task. What the first one sends when it wakes up changes nothing, and it is kept."""
    (host,) = cluster.add_hosts("box-a")
    script = SLOW.format(folder=cluster.folder)
    cluster.plans.act("implementer-010-1", f"echo late > late.txt\n{script}")
    cluster.plans.plan("One")
    run = cluster.start()
    until(lambda: (cluster.folder / "working-010").exists(), "the worker works")
    sleeping = host.alive()
    for pid in sleeping:
        os.kill(pid, signal.SIGSTOP)
    cluster.add_hosts("box-b")
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err, cluster.logs())
    head, state = cluster.repo.git("rev-parse", "HEAD"), cluster.repo.state("010")
    assert cluster.repo.ok("cluster", "status", "--json").json["late"] == {"waiting": 0, "kept": []}
    for pid in sleeping:
        os.kill(pid, signal.SIGCONT)
    until(lambda: any(ref.endswith("/result") for ref in cluster.refs()), "the late result is sent")
    assert "Late results: 1; the next" in cluster.repo.ok("cluster", "status").out
    done = cluster.run()
    assert done.code == 0, (done, cluster.logs())
    assert (cluster.repo.git("rev-parse", "HEAD"), cluster.repo.state("010")) == (head, state)
    (late,) = cluster.repo.ok("cluster", "status", "--json").json["late"]["kept"]
    assert late.endswith("/010/late-1")
    assert cluster.repo.git("show", f"refs/sow/keep/{late}:late.txt") == "late\n"
    assert "late.txt" not in cluster.tree()
    assert cluster.refs() == []


@pytest.mark.full
def test_a_turn_whose_own_process_is_killed(cluster: TemporalCluster):
    """The agent of a killed `sow turn` is ended too, and the task is done by a new session."""
    (host,) = cluster.add_hosts("box-a")
    folder = slow_work(cluster)
    cluster.plans.plan("One")
    run = cluster.start()
    until(lambda: (folder / "working-010").exists(), "the worker works")
    worker = int((folder / "working-010").read_text())
    turn = next(pid for pid in host.alive() if b"turn" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"))
    os.kill(turn, signal.SIGKILL)
    until(lambda: worker not in host.alive(), "the agent is gone")
    (folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err, cluster.logs())
    outcomes = [entry["outcome"] for entry in cluster.plans.journal("turn_ended") if entry["role"] == "implementer"]
    assert outcomes == ["lost", "done"]


@pytest.mark.full
def test_a_server_that_is_killed_and_comes_back(plan_repo: PlanRepo, tmp_path: Path):
    """Nothing is lost and no turn is repeated."""
    server = TemporalServer(tmp_path)
    server.start()
    cluster = TemporalCluster(server, plan_repo, tmp_path)
    try:
        cluster.configure(lost_after="30s")
        cluster.add_hosts("box-a")
        folder = slow_work(cluster)
        plan_repo.plan("One", "Two < 1")
        run = cluster.start()
        until(lambda: (folder / "working-010").exists(), "the worker works")
        server.kill()
        (folder / "go").touch()
        server.start()
        out, err = run.communicate(timeout=300)
        assert run.returncode == 0, (out, err, cluster.logs())
        outcomes = [entry["outcome"] for entry in plan_repo.journal("turn_ended") if entry["role"] == "implementer"]
        assert outcomes == ["done", "done"]
    finally:
        cluster.close()
        server.kill()


@pytest.mark.full
def test_a_run_that_is_killed_takes_over_what_its_hosts_did(cluster: TemporalCluster):
    """The next call waits for the same turn, and nothing is done twice."""
    cluster.add_hosts("box-a")
    folder = slow_work(cluster)
    cluster.plans.plan("One")
    run = cluster.start()
    until(lambda: (folder / "working-010").exists(), "the worker works")
    run.kill()
    run.wait()
    (folder / "go").touch()
    done = cluster.run()
    assert done.code == 0, (done, cluster.logs())
    assert cluster.plans.turns("010") == 1
    assert cluster.tree()["part_010.txt"] == b"by 010\n"


def copy_of(cluster: TemporalCluster) -> Repo:
    """Another checkout of the same project, as a colleague has it."""
    copy = cluster.folder / "copy"
    cluster.repo.git("clone", "-q", str(cluster.repo.root), str(copy))
    shutil.copytree(cluster.repo.root / ".sow", copy / ".sow", ignore=shutil.ignore_patterns("local"))
    return Repo(copy, cluster.repo.environment)


@pytest.mark.full
def test_two_homes_on_one_project(cluster: TemporalCluster):
    """The second is refused with the first's name; if it takes over, the first ends before it settles anything."""
    cluster.add_hosts("box-a", "box-b", most=1)
    folder = slow_work(cluster)
    cluster.plans.plan("One")
    run = cluster.start()
    until(lambda: (folder / "working-010").exists(), "the worker works")
    copy = copy_of(cluster)
    before = copy.snapshot()
    second = copy.sow("run", "plan.yaml", "--cluster", "--yes")
    assert (second.code, f":{cluster.repo.root} since " in second.err) == (4, True), second
    assert "sow run plan.yaml --cluster --yes --take-over" in second.err
    assert (copy.snapshot(), cluster.plans.turns("010")) == (before, 1)
    wrong = copy.sow("run", "plan.yaml", "--take-over")
    assert (wrong.code, "--take-over is for runs on a cluster" in wrong.err) == (2, True), wrong
    head, state = cluster.repo.git("rev-parse", "HEAD"), cluster.repo.state("010")
    (folder / "working-010").unlink()
    words = [SOW, "run", "plan.yaml", "--cluster", "--yes", "--take-over"]
    taking = subprocess.Popen(
        words, cwd=copy.root, env=copy.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    with taking:
        until(lambda: (folder / "working-010").exists() or taking.poll() is not None, "the other worker works")
        assert taking.poll() is None, (taking.communicate(), cluster.logs())
        (folder / "go").touch()
        out, err = run.communicate(timeout=300)
        assert run.returncode == 4, (out, err, cluster.logs())
        assert f":{copy.root} runs this project now" in err.decode()
        assert (cluster.repo.git("rev-parse", "HEAD"), cluster.repo.state("010")) == (head, state)
        said = taking.communicate(timeout=300)[0]
        assert taking.returncode == 0, (said, cluster.logs())
    assert copy.git("show", "HEAD:part_010.txt") == "by 010\n"
    assert cluster.leases() == []


@pytest.mark.full
def test_a_home_that_was_killed_has_its_lease_still(cluster: TemporalCluster):
    """Another checkout is refused, and the same one goes on."""
    cluster.add_hosts("box-a")
    folder = slow_work(cluster)
    cluster.plans.plan("One")
    run = cluster.start()
    until(lambda: (folder / "working-010").exists(), "the worker works")
    run.kill()
    run.wait()
    second = copy_of(cluster).sow("run", "plan.yaml", "--cluster", "--yes")
    assert (second.code, "this project is run by" in second.err) == (4, True), second
    plain = cluster.plans.run("--yes")
    assert "continue with it: sow run plan.yaml --yes --cluster; " in plain.err, plain
    assert "if it is gone for good: sow run plan.yaml --yes --give-up box-a" in plain.err
    (folder / "go").touch()
    done = cluster.run()
    assert done.code == 0, (done, cluster.logs())
    assert (cluster.plans.turns("010"), cluster.leases()) == (1, [])


@pytest.mark.full
def test_ctrl_c_ends_the_turn_and_the_next_call_goes_on(cluster: TemporalCluster):
    """The work up to the interruption comes home, and no agent runs on."""
    (host,) = cluster.add_hosts("box-a")
    folder = slow_work(cluster)
    cluster.plans.plan("One")
    run = cluster.start()
    until(lambda: (folder / "working-010").exists(), "the worker works")
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err, cluster.logs())
    assert len(host.alive()) == 1
    (folder / "go").touch()
    done = cluster.run()
    assert done.code == 0, (done, cluster.logs())
    assert cluster.tree()["part_010.txt"] == b"by 010\n"


def test_a_cluster_without_a_server_or_a_transfer_repository(cluster: TemporalCluster):
    """One error says what lacks, and how to get it; nothing is started."""
    cluster.plans.plan("One")
    cases = (
        ({"address": "127.0.0.1:1"}, "cannot be reached", "sow cluster dev", 4),
        ({"namespace": "nowhere"}, "cannot be used: Namespace nowhere is not found", "cluster.namespace", 4),
        ({"tls_ca": "/nowhere/ca.pem"}, "/nowhere/ca.pem: No such file", "cluster.tls_ca", 2),
        ({"tls_cert": "/nowhere/cert.pem"}, "belong together", "set both", 2),
        ({"address": "nowhere"}, "is no address of a Temporal server", "HOST:PORT", 2),
        ({"transfer": ""}, "cluster.transfer is not set", "sow config set cluster.transfer URL", 2),
        ({}, "no host serves the cluster", "sow host serve --address", 4),
    )
    before = dict(cluster.settings)
    for changes, error, hint, code in cases:
        settings = {name: value for name, value in {**before, **changes}.items() if value}
        cluster.plans.configure(cluster=settings)
        done = cluster.run()
        assert (done.code, error in done.err, hint in done.err) == (code, True, True), (changes, done)
    assert not list((cluster.repo.root / ".sow" / "local").glob("runs/*"))


def test_an_executor_that_nobody_offers_and_a_push_that_is_refused(cluster: TemporalCluster):
    """Both are found before the run starts."""
    cluster.add_hosts("box-a")
    cluster.plans.plan("One")
    nobody = cluster.run("--executor", "judge")
    assert nobody.code == 4
    assert "no host of the cluster offers the executor judge" in nobody.err
    assert "box-a: hand" in nobody.err
    hook = cluster.transfer / "hooks" / "update"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    refused = cluster.run()
    assert refused.code == 4, refused
    assert "git push failed" in refused.err
    assert "check cluster.transfer" in refused.err
    assert not list((cluster.repo.root / ".sow" / "local").glob("runs/*"))


def test_calls_that_cannot_use_a_cluster(cluster: TemporalCluster):
    """A workflow, a run in one folder, and two ways at once are refused with a hint."""
    cluster.plans.plan("One")
    cases = (
        (("workflow", "run", "--cluster"), "share one checkout", "sow run PLAN --cluster"),
        (("run", "plan.yaml", "--cluster", "--isolation", "none"), "--cluster needs a worktree", "--isolation none"),
        (("run", "plan.yaml", "--cluster", "--on", "box-a"), "--on and --cluster", "leave out one"),
    )
    for words, error, hint in cases:
        done = cluster.repo.sow(*words)
        assert (done.code, error in done.err, hint in done.err) == (2, True, True), (words, done)


def test_the_variable_names_a_cluster(cluster: TemporalCluster):
    """SOW_CLUSTER alone makes a run use the cluster at that address."""
    cluster.plans.plan("One")
    done = cluster.repo.sow("run", "plan.yaml", "--yes", SOW_CLUSTER="127.0.0.1:1")
    assert done.code == 4
    assert "the Temporal server at 127.0.0.1:1 cannot be reached" in done.err


def test_without_the_package_temporalio(cluster: TemporalCluster, tmp_path: Path):
    """The error names the command that installs it."""
    code = "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p] + ['{}']\n".format(
        tmp_path / "packages"
    )
    packages = tmp_path / "packages"
    packages.mkdir()
    import yaml12

    (packages / "yaml12").symlink_to(Path(yaml12.__file__).parent)
    import yaml

    for name in ("yaml", "_yaml"):
        (packages / name).symlink_to(Path(yaml.__file__).parent.parent / name)
    import sow

    (packages / "sow").symlink_to(Path(sow.__file__).parent)
    words = ["host", "list"]
    call = f"{code}from sow.cli.main import main; sys.exit(main({words!r}))"
    done = subprocess.run(
        [shutil.which("python", path=cluster.repo.environment["PATH"]) or "python", "-c", call],
        env=cluster.repo.environment,
        cwd=cluster.repo.root,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done
    assert "pip install 'sow[temporal]'" in done.stderr
