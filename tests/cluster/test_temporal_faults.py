"""Faults of hosts, keys and the transfer repository of a cluster: each turn counts once, and what lacks is named."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from support.plan_repo import WORK
from support.quick_cases import few_of
from support.temporal_cluster import Host, TemporalCluster, until

SLOW = "touch {folder}/working-$SOW_TASK\nuntil [ -e {folder}/go ]; do sleep 0.05; done\n" + WORK
ASK = "sow note add --description 'Which port?' --context x --category requirements\n"
ASK += "sow note escalate 1 --reason 'only a person knows'\nsow task set status paused\n"
ALONE = "mkdir {folder}/busy || touch {folder}/overlap\nsleep 0.5\nrmdir {folder}/busy\n"


def wait_at(cluster: TemporalCluster, before: str = "") -> Path:
    """Let workers wait for the file `go`; returns the folder in which each says that it works."""
    cluster.plans.act("implementer", before + SLOW.format(folder=cluster.folder))
    return cluster.folder


def end(cluster: TemporalCluster, run: subprocess.Popen[bytes]) -> None:
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out.decode(), err.decode(), cluster.logs())


UNTRUSTED = [
    ("eve", "the request is not signed by anybody whom this host knows"),
    ("", "the request has no signature"),
]


@few_of(("signer", "reason"), UNTRUSTED, 1)
def test_a_request_that_its_host_does_not_trust(cluster: TemporalCluster, signer: str, reason: str):
    """With a wrong key or none nobody works, and a question says why; with the right key the task is done."""
    (host,) = cluster.add_hosts("box-a")
    cluster.plans.plan("One")
    right = cluster.settings["sign"]
    cluster.configure(sign=str(cluster.make_key(signer)) if signer else "")
    refused = cluster.run()
    assert refused.code == 4, (refused, cluster.logs())
    assert f"box-a could not take the turn: {reason} (see cluster.sign here and host.signers there)" in refused.out
    assert reason in host.log.read_text()
    assert (cluster.plans.turns("010"), cluster.refs()) == (0, [])
    assert not (host.folder / ".local/state/sow/hosting/homes").exists()
    cluster.configure(sign=right)
    cluster.repo.ok("answer", "010", "try again")
    done = cluster.run()
    assert done.code == 0, (done, cluster.logs())
    assert (cluster.plans.turns("010"), len(cluster.plans.journal("merged"))) == (1, 1)


@pytest.mark.full
def test_a_result_that_the_transfer_repository_refuses(cluster: TemporalCluster):
    """The host tries again and says so; when the repository takes it, the result counts once."""
    cluster.add_hosts("box-a")
    hook = cluster.transfer / "hooks" / "update"
    hook.write_text('#!/bin/sh\ncase "$1" in */result) echo no room >&2; exit 1;; esac\n')
    hook.chmod(0o755)
    cluster.plans.plan("One")
    run = cluster.start()
    until(lambda: any("git push failed" in entry["text"] for entry in cluster.steps()), "the run says why it waits")
    hook.unlink()
    end(cluster, run)
    assert (cluster.plans.turns("010"), len(cluster.plans.journal("merged"))) == (1, 1)
    assert cluster.refs() == []


def asked(cluster: TemporalCluster) -> tuple[Host, Host]:
    """A task whose worker asked a person, and got an answer; returns its host, and another one."""
    cluster.plans.act("implementer-010-1", f"echo half > half.txt\n{ASK}")
    (first,) = cluster.add_hosts("box-a")
    cluster.plans.plan("One")
    assert cluster.run().code == 4, cluster.logs()
    cluster.repo.ok("answer", "1", "Port 80")
    (other,) = cluster.add_hosts("box-b")
    return first, other


def check_answered(cluster: TemporalCluster, kind: str, host: str) -> None:
    """The answer reached a turn of this kind on this host, which had what was done before."""
    last = cluster.plans.journal("sent")[-1]
    assert (last["kind"], last["host"]) == (kind, host)
    assert "Port 80" in cluster.plans.prompt("010", 2)
    assert (cluster.plans.turns("010"), len(cluster.plans.journal("merged"))) == (2, 1)
    assert {"half.txt", "part_010.txt"} < cluster.tree().keys()


@pytest.mark.full
def test_an_answer_while_the_host_of_the_session_is_away(cluster: TemporalCluster):
    """After `cluster.wait_for_host` a new session begins on another host, with what was done and the answer."""
    first, _ = asked(cluster)
    assert first.stop() == 0
    cluster.configure(wait_for_host="2s")
    done = cluster.run()
    assert done.code == 0, (done, cluster.logs())
    check_answered(cluster, "recovery", "box-b")


@pytest.mark.full
def test_an_answer_before_the_host_of_the_session_is_back(cluster: TemporalCluster):
    """The session goes on when its host serves again, though another host is free."""
    first, _ = asked(cluster)
    assert first.stop() == 0
    run = cluster.start()
    until(lambda: cluster.plans.has_happened("turn_started", kind="resume"), "the turn is out")
    first.start()
    end(cluster, run)
    check_answered(cluster, "resume", "box-a")


@pytest.mark.full
def test_an_answer_to_a_session_on_a_host_that_was_emptied(cluster: TemporalCluster):
    """The host begins a new session in the worktree as it is at home."""
    first, _ = asked(cluster)
    shutil.rmtree(first.folder / ".local/state/sow/hosting")
    assert first.stop() == 0
    first.start()
    done = cluster.run()
    assert done.code == 0, (done, cluster.logs())
    check_answered(cluster, "resume", "box-a")


@pytest.mark.full
def test_one_place_for_two_answers_and_a_new_task(cluster: TemporalCluster):
    """A host that takes one turn at once has never two agents, also with turns that only this host can take."""
    alone = ALONE.format(folder=cluster.folder)
    for task in ("010", "020"):
        cluster.plans.act(f"implementer-{task}-1", ASK)
    cluster.plans.act("implementer", f"{alone}{WORK}")
    cluster.add_hosts("box-a", most=1)
    cluster.plans.plan("One", "Two", "Three < 1", "Four")
    assert cluster.run("--task", "1", "--task", "2").code == 4, cluster.logs()
    for number in ("1", "2"):
        cluster.repo.ok("answer", number, "Port 80")
    done = cluster.run("--max-concurrency", "4")
    assert done.code == 0, (done, cluster.logs())
    assert set(cluster.plans.statuses().values()) == {"completed"}
    assert not (cluster.folder / "overlap").exists()


@pytest.mark.full
def test_no_host_is_left_for_the_next_task(cluster: TemporalCluster):
    """The run waits for a host, says how to start one, and asks a person after `cluster.wait_for_host`."""
    cluster.configure(wait_for_host="12s")
    (host,) = cluster.add_hosts("box-a")
    folder = wait_at(cluster)
    cluster.plans.plan("One", "Two < 1")
    run = cluster.start()
    until(lambda: (folder / "working-010").exists(), "the worker works")
    host.process.terminate()
    (folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 4, (out, err, cluster.logs())
    assert "no host offers the executor any more" in out.decode()
    assert any("start one: sow host serve" in entry["text"] for entry in cluster.steps())
    assert cluster.plans.statuses()["010"] == "completed"
    assert cluster.plans.turns("020") == 0


@pytest.mark.full
def test_ctrl_c_twice(cluster: TemporalCluster):
    """The run leaves at once; the next call takes over what the turn did."""
    (host,) = cluster.add_hosts("box-a")
    host.change(limits={"stop_grace": "60s"})
    folder = wait_at(cluster, "trap '' INT TERM\n")
    cluster.plans.plan("One")
    run = cluster.start()
    until(lambda: (folder / "working-010").exists(), "the worker works")
    run.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        run.wait(timeout=2)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err, cluster.logs())
    (folder / "go").touch()
    done = cluster.run()
    assert done.code == 0, (done, cluster.logs())
    assert len(cluster.plans.journal("merged")) == 1
    assert cluster.tree()["part_010.txt"] == b"by 010\n"
    until(lambda: len(host.alive()) == 1, "nothing is left on the host")
