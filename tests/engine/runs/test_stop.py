"""The end of a run before its time: Ctrl-C, signals, `sow runs stop`, and that the same command goes on."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from conftest import SOW
from support.plan_repo import WORK, Harbour
from support.simulated_workers import wait_for

SLOW = "trap 'exit 3' INT TERM\nsleep 60 &\nwait\n"


def begin(harbour: Harbour, *words: str) -> subprocess.Popen[bytes]:
    """A run whose first worker is at work."""
    run = harbour.start(*words)
    wait_for(lambda: (harbour.folder / "implementer-010-1.cwd").exists())
    return run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_the_turns(harbour: Harbour, number: int) -> None:
    """Each of these signals ends every turn, exit 130, and the same command goes on in the same run and session."""
    harbour.act("implementer-010-1", SLOW)
    harbour.plan("First", "Second < 1")
    run = begin(harbour)
    run.send_signal(number)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)
    assert harbour.alive() == []
    assert harbour.runs()[-1]["status"] == "stopped"
    assert harbour.task("010")["status"] == "in_progress"
    assert "010" in harbour.worktrees()
    assert harbour.repo.ok("status", "--json").json["idle"] == [{"task": "010", "do": "sow run plan.yaml"}]
    result = harbour.run()
    assert result.code == 0, result
    assert "going on from where it was" in result.out
    assert len(harbour.runs()) == 1
    assert (harbour.task("010")["iteration"], harbour.task("010").get("retry_count", 0)) == (1, 0)


def test_a_second_ctrl_c_does_not_wait(harbour: Harbour) -> None:
    """A worker that is deaf to the first signal is killed at the second."""
    harbour.configure(limits={"stop_grace": "60s"})
    deaf = harbour.folder / "deaf"
    harbour.act("implementer-010-1", f"trap '' INT TERM\ntouch {deaf}\nwhile true; do sleep 1; done\n")
    harbour.plan("First")
    run = harbour.start()
    wait_for(deaf.exists)
    run.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        run.wait(timeout=1.5)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)
    assert harbour.alive() == []


def test_an_interrupted_check_is_no_evidence(harbour: Harbour) -> None:
    """A check that Ctrl-C cut off counts for nothing: it is run again, and the worker is not blamed."""
    slow = harbour.folder / "slow"
    slow.write_text(f"#!/bin/sh\nif [ ! -e {harbour.folder}/go ]; then touch {harbour.folder}/begun; sleep 60; fi\n")
    slow.chmod(0o755)
    harbour.plan({"test_commands": [str(slow)]})
    run = harbour.start()
    wait_for(lambda: (harbour.folder / "begun").exists())
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)
    assert "evidence" not in harbour.task("010")
    assert harbour.alive() == []
    (harbour.folder / "go").touch()
    assert harbour.run().code == 0
    assert harbour.turns("010") == 1


def test_an_interrupted_review_is_asked_for_again(harbour: Harbour) -> None:
    """A reviewer that Ctrl-C cut off is asked anew by the next call, at once, and the worker is not."""
    harbour.act("quality-control-010-1", SLOW)
    harbour.plan("First")
    run = harbour.start()
    wait_for(lambda: (harbour.folder / "quality-control-010-1.cwd").exists())
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=300) == 130
    run.communicate()
    assert harbour.run("--max-wait", "1s").code == 0
    assert (harbour.turns("010"), harbour.turns("010", "quality-control")) == (1, 2)


def test_what_is_done_is_kept(harbour: Harbour) -> None:
    """After Ctrl-C the tasks that were merged are on the user's branch, and are not done again."""
    harbour.act("implementer-020-1", SLOW)
    harbour.plan("First", "Second < 1")
    run = harbour.start()
    wait_for(lambda: (harbour.folder / "implementer-020-1.cwd").exists())
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=300) == 130
    run.communicate()
    assert harbour.statuses() == {"010": "completed", "020": "in_progress"}
    assert (harbour.repo.root / "part_010.txt").exists()
    harbour.act("implementer-020-2", WORK)
    assert harbour.run().code == 0
    assert harbour.turns("010") == 1


def test_a_second_run_is_refused(harbour: Harbour) -> None:
    """While a run goes on, another call is refused with who holds it, and disturbs nothing."""
    harbour.act("implementer-010-1", SLOW)
    harbour.plan("First")
    run = begin(harbour)
    second = harbour.run()
    assert second.code == 4, second
    assert str(run.pid) in second.err
    assert len(harbour.runs()) == 1
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=300)


@pytest.mark.parametrize("trouble", ["reviewer", "config", "plan"])
def test_who_holds_the_project_is_said_first(harbour: Harbour, trouble: str) -> None:
    """Where a second terminal lacks the reviewer's program, or has other faults, a live run is still what is said."""
    harbour.act("implementer-010-1", SLOW)
    harbour.plan("First")
    run = begin(harbour)
    if trouble == "reviewer":
        harbour.settings["agents"]["executors"]["judge"]["settings"]["command"] = ["/no/such/judge"]
        harbour.configure()
    elif trouble == "config":
        harbour.configure(run={"retries": "many"})
    second = harbour.run(plan="none.yaml" if trouble == "plan" else "plan.yaml")
    assert second.code == 4, second
    assert f"run is claimed by pid {run.pid} " in second.err
    assert harbour.run("--dry-run").code == (0 if trouble == "plan" else 2)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=300)


def test_a_stopped_run_is_ended(harbour: Harbour) -> None:
    """`sow runs stop` ends a run that Ctrl-Z stopped: it is waked up to end its turns (F86)."""
    harbour.act("implementer-010-1", SLOW)
    harbour.plan("First")
    run = begin(harbour)
    run.send_signal(signal.SIGSTOP)
    try:
        assert "has ended" in harbour.repo.ok("runs", "stop").out
    finally:
        run.send_signal(signal.SIGCONT)
    run.communicate(timeout=300)
    assert run.returncode == 130
    assert harbour.alive() == []


def test_a_run_that_ignores_ctrl_c_is_ended(harbour: Harbour) -> None:
    """`sow runs stop` ends a run that a script started with `&`, which makes it ignore Ctrl-C (C7)."""
    harbour.act("implementer-010-1", SLOW)
    harbour.plan("First")
    script = f"{SOW} run plan.yaml >{harbour.folder}/said 2>&1 &\nwait $!\necho ended $?\n"
    shell = subprocess.Popen(
        ["sh", "-c", script], cwd=harbour.repo.root, env=harbour.repo.environment, stdout=subprocess.PIPE
    )
    wait_for(lambda: (harbour.folder / "implementer-010-1.cwd").exists())
    try:
        assert "has ended" in harbour.repo.ok("runs", "stop").out
    finally:
        for pid in harbour.alive() if shell.poll() is None and not harbour.has_happened("run_ended") else ():
            os.kill(pid, signal.SIGKILL)
    assert shell.communicate(timeout=300)[0] == b"ended 130\n"


def test_sow_runs_stop(harbour: Harbour) -> None:
    """`sow runs stop` ends a run like Ctrl-C, and says how to go on."""
    harbour.act("implementer-010-1", SLOW)
    harbour.plan("First")
    run = begin(harbour)
    stopped = harbour.repo.ok("runs", "stop")
    assert "go on with: sow run plan.yaml" in stopped.out
    run.communicate(timeout=300)
    assert run.returncode == 130
    assert harbour.run().code == 0


def test_status_after_a_kill(harbour: Harbour) -> None:
    """After kill -9 of a run the status tells of its agent that lives on, and when that was ended, how to go on."""
    harbour.act("implementer-010-1", SLOW)
    harbour.plan("First", "Second < 1")
    run = begin(harbour)
    run.kill()
    run.communicate(timeout=300)
    known = harbour.repo.ok("status", "--json").json
    assert (known["left"], known["idle"]) == ([{"task": "010", "do": "sow runs stop"}], [])
    harbour.repo.ok("runs", "stop")
    known = harbour.repo.ok("status", "--json").json
    assert (known["left"], known["idle"]) == ([], [{"task": "010", "do": "sow run plan.yaml"}])


def test_status_with_a_broken_record(harbour: Harbour) -> None:
    """A session's record that cannot be read keeps nobody from the status."""
    harbour.act("implementer-010-1", SLOW)
    harbour.plan("First")
    run = begin(harbour)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=300)
    (harbour.repo.root / ".sow/local/sessions/010/1/record.yaml").write_text("session: [\n")
    assert harbour.repo.ok("status", "--json").json["idle"] == [{"task": "010", "do": "sow run plan.yaml"}]


@pytest.mark.parametrize("named", [False, True])
def test_sow_runs_stop_after_a_kill(harbour: Harbour, named: bool) -> None:
    """After kill -9 of a run `sow runs stop` ends its agents and says so, and the same run goes on later."""
    harbour.act("implementer-010-1", SLOW)
    harbour.plan("First")
    run = begin(harbour)
    run.kill()
    run.communicate(timeout=300)
    assert harbour.alive()
    stopped = harbour.repo.ok("runs", "stop", *([harbour.runs()[-1]["id"]] if named else []))
    assert "an earlier turn on task 010 was cut off; processes of it that had to be ended: " in stopped.out
    assert "is stopped\ngo on with: sow run plan.yaml\n" in stopped.out
    assert harbour.alive() == []
    assert "cut off" not in harbour.repo.ok("runs", "stop").out
    assert harbour.run().code == 0
    assert len(harbour.runs()) == 1


def test_sow_runs_stop_after_a_kill_during_a_check(harbour: Harbour) -> None:
    """A check that a killed run left is ended as well."""
    harbour.plan({"test_commands": ["sleep 600"]})
    run = harbour.start()
    wait_for(lambda: list(harbour.repo.root.glob(".sow/local/runs/*/checks/010/*.mark")))
    wait_for(lambda: set(harbour.alive()) - {run.pid})
    run.kill()
    run.communicate(timeout=300)
    wait_for(harbour.alive)
    assert "an earlier check was cut off; processes of it" in harbour.repo.ok("runs", "stop").out
    assert harbour.alive() == []


def test_sow_runs_stop_leaves_the_living_alone(harbour: Harbour) -> None:
    """A worker whose own sow is alive goes on, although no run does."""
    harbour.plan("First")
    assert harbour.run().code == 0
    harbour.repo.ok("task", "create", "--name", "Another", "--agent", "implementer")
    harbour.act("implementer-020", "touch begun\nuntil [ -e gate ]; do sleep 0.1; done\n")
    words = [SOW, "agent", "spawn", "implementer", "020"]
    call = subprocess.Popen(words, cwd=harbour.repo.root, env=harbour.repo.environment, start_new_session=True)
    harbour.started.append(call)
    wait_for((harbour.repo.root / "begun").exists)
    at_work = set(harbour.alive())
    assert harbour.repo.ok("runs", "stop").out.startswith("nothing runs here")
    assert call.pid in at_work
    assert at_work & set(harbour.alive()) >= {call.pid}
    assert len(at_work & set(harbour.alive())) > 1
    (harbour.repo.root / "gate").touch()
    call.wait(300)


def test_killed_in_the_middle(harbour: Harbour) -> None:
    """After kill -9 the same command ends what was left running and goes on in the same session."""
    harbour.act("implementer-010-1", SLOW)
    harbour.plan("First", "Second < 1")
    run = begin(harbour)
    run.kill()
    run.communicate(timeout=300)
    result = harbour.run()
    assert result.code == 0, result
    assert "was cut off" in result.err
    assert harbour.alive() == []
    assert harbour.statuses() == {"010": "completed", "020": "completed"}
    assert harbour.task("010")["iteration"] == 1
