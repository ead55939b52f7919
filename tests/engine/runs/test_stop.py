"""Stopping a run: Ctrl-C, signals and `sow runs stop`; the same command continues it."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from conftest import SOW
from support.plan_repo import WORK, PlanRepo
from support.quick_cases import few_of
from support.simulated_workers import wait_for

SLOW = "trap 'exit 3' INT TERM\nsleep 60 &\nwait\n"


def begin(plan_repo: PlanRepo, *arguments: str) -> subprocess.Popen[bytes]:
    """A run whose first worker is in its turn."""
    run = plan_repo.start(*arguments)
    wait_for(lambda: (plan_repo.folder / "implementer-010-1.cwd").exists())
    return run


@few_of("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], 1)
def test_a_signal_ends_the_turns(plan_repo: PlanRepo, number: int) -> None:
    """Each signal ends every turn with exit 130, and the same command continues in the same run and session."""
    plan_repo.act("implementer-010-1", SLOW)
    plan_repo.plan("First", "Second < 1")
    run = begin(plan_repo)
    run.send_signal(number)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)
    assert plan_repo.alive() == []
    assert plan_repo.runs()[-1]["status"] == "stopped"
    assert plan_repo.task("010")["status"] == "in_progress"
    assert "010" in plan_repo.worktrees()
    assert plan_repo.repo.ok("status", "--json").json["idle"] == [{"task": "010", "do": "sow run plan.yaml"}]
    result = plan_repo.run()
    assert result.code == 0, result
    assert ", continued" in result.out
    assert len(plan_repo.runs()) == 1
    assert (plan_repo.task("010")["iteration"], plan_repo.task("010").get("retry_count", 0)) == (1, 0)


@pytest.mark.full
def test_a_second_ctrl_c_does_not_wait(plan_repo: PlanRepo) -> None:
    """A worker that ignores the first signal is killed at the second."""
    plan_repo.configure(limits={"stop_grace": "60s"})
    deaf = plan_repo.folder / "deaf"
    plan_repo.act("implementer-010-1", f"trap '' INT TERM\ntouch {deaf}\nwhile true; do sleep 1; done\n")
    plan_repo.plan("First")
    run = plan_repo.start()
    wait_for(deaf.exists)
    run.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        run.wait(timeout=1.5)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)
    assert plan_repo.alive() == []


@pytest.mark.full
def test_an_interrupted_check_is_no_evidence(plan_repo: PlanRepo) -> None:
    """A check that Ctrl-C interrupted is run again, and the task is not sent back."""
    slow = plan_repo.folder / "slow"
    slow.write_text(
        f"#!/bin/sh\nif [ ! -e {plan_repo.folder}/go ]; then touch {plan_repo.folder}/begun; sleep 60; fi\n"
    )
    slow.chmod(0o755)
    plan_repo.plan({"test_commands": [str(slow)]})
    run = plan_repo.start()
    wait_for(lambda: (plan_repo.folder / "begun").exists())
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)
    assert "evidence" not in plan_repo.task("010")
    assert plan_repo.alive() == []
    (plan_repo.folder / "go").touch()
    assert plan_repo.run().code == 0
    assert plan_repo.turns("010") == 1


@pytest.mark.full
def test_an_interrupted_review_is_repeated(plan_repo: PlanRepo) -> None:
    """The next call asks the interrupted reviewer again at once, and not the worker."""
    plan_repo.act("quality-control-010-1", SLOW)
    plan_repo.plan("First")
    run = plan_repo.start()
    wait_for(lambda: (plan_repo.folder / "quality-control-010-1.cwd").exists())
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=300) == 130
    run.communicate()
    assert plan_repo.run("--max-wait", "1s").code == 0
    assert (plan_repo.turns("010"), plan_repo.turns("010", "quality-control")) == (1, 2)


@pytest.mark.full
def test_merged_work_is_kept(plan_repo: PlanRepo) -> None:
    """After Ctrl-C the merged tasks are on the user's branch, and are not repeated."""
    plan_repo.act("implementer-020-1", SLOW)
    plan_repo.plan("First", "Second < 1")
    run = plan_repo.start()
    wait_for(lambda: (plan_repo.folder / "implementer-020-1.cwd").exists())
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=300) == 130
    run.communicate()
    assert plan_repo.statuses() == {"010": "completed", "020": "in_progress"}
    assert (plan_repo.repo.root / "part_010.txt").exists()
    plan_repo.act("implementer-020-2", WORK)
    assert plan_repo.run().code == 0
    assert plan_repo.turns("010") == 1


@pytest.mark.full
def test_a_second_run_is_refused(plan_repo: PlanRepo) -> None:
    """During a run another call is refused with the holder's name, and changes nothing."""
    plan_repo.act("implementer-010-1", SLOW)
    plan_repo.plan("First")
    run = begin(plan_repo)
    second = plan_repo.run()
    assert second.code == 4, second
    assert str(run.pid) in second.err
    assert len(plan_repo.runs()) == 1
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=300)


@few_of("trouble", ["reviewer", "config", "plan"], 1)
def test_a_live_run_is_reported_first(plan_repo: PlanRepo, trouble: str) -> None:
    """During a run a second call names the run first, also if it lacks the reviewer's program or has other faults."""
    plan_repo.act("implementer-010-1", SLOW)
    plan_repo.plan("First")
    run = begin(plan_repo)
    if trouble == "reviewer":
        plan_repo.settings["agents"]["executors"]["judge"]["settings"]["command"] = ["/no/such/judge"]
        plan_repo.configure()
    elif trouble == "config":
        plan_repo.configure(run={"retries": "many"})
    second = plan_repo.run(plan="none.yaml" if trouble == "plan" else "plan.yaml")
    assert second.code == 4, second
    assert f" is in progress (pid {run.pid} " in second.err
    assert plan_repo.run("--dry-run").code == (0 if trouble == "plan" else 2)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=300)


@pytest.mark.full
def test_a_suspended_run_is_ended(plan_repo: PlanRepo) -> None:
    """`sow runs stop` wakes a run that Ctrl-Z suspended, so that it ends its turns (F86)."""
    plan_repo.act("implementer-010-1", SLOW)
    plan_repo.plan("First")
    run = begin(plan_repo)
    run.send_signal(signal.SIGSTOP)
    try:
        assert "has stopped" in plan_repo.repo.ok("runs", "stop").out
    finally:
        run.send_signal(signal.SIGCONT)
    run.communicate(timeout=300)
    assert run.returncode == 130
    assert plan_repo.alive() == []


@pytest.mark.full
def test_a_run_that_ignores_ctrl_c_is_ended(plan_repo: PlanRepo) -> None:
    """`sow runs stop` ends a run that a script started with `&`, which makes it ignore Ctrl-C (C7)."""
    plan_repo.act("implementer-010-1", SLOW)
    plan_repo.plan("First")
    script = f"{SOW} run plan.yaml >{plan_repo.folder}/said 2>&1 &\nwait $!\necho ended $?\n"
    shell = subprocess.Popen(
        ["sh", "-c", script], cwd=plan_repo.repo.root, env=plan_repo.repo.environment, stdout=subprocess.PIPE
    )
    wait_for(lambda: (plan_repo.folder / "implementer-010-1.cwd").exists())
    try:
        assert "has stopped" in plan_repo.repo.ok("runs", "stop").out
    finally:
        for pid in plan_repo.alive() if shell.poll() is None and not plan_repo.has_happened("run_ended") else ():
            os.kill(pid, signal.SIGKILL)
    assert shell.communicate(timeout=300)[0] == b"ended 130\n"


def test_runs_stop_ends_a_run(plan_repo: PlanRepo) -> None:
    """`sow runs stop` ends a run like Ctrl-C, and says how to continue."""
    plan_repo.act("implementer-010-1", SLOW)
    plan_repo.plan("First")
    run = begin(plan_repo)
    stopped = plan_repo.repo.ok("runs", "stop")
    assert "continue with: sow run plan.yaml" in stopped.out
    run.communicate(timeout=300)
    assert run.returncode == 130
    assert plan_repo.run().code == 0


@pytest.mark.full
def test_status_after_a_kill(plan_repo: PlanRepo) -> None:
    """After kill -9 of a run status names the live agent, and once that was ended, how to continue."""
    plan_repo.act("implementer-010-1", SLOW)
    plan_repo.plan("First", "Second < 1")
    run = begin(plan_repo)
    run.kill()
    run.communicate(timeout=300)
    document = plan_repo.repo.ok("status", "--json").json
    assert (document["left"], document["idle"]) == ([{"task": "010", "do": "sow runs stop"}], [])
    plan_repo.repo.ok("runs", "stop")
    document = plan_repo.repo.ok("status", "--json").json
    assert (document["left"], document["idle"]) == ([], [{"task": "010", "do": "sow run plan.yaml"}])


@pytest.mark.full
def test_status_with_a_broken_record(plan_repo: PlanRepo) -> None:
    """An unreadable record of a session does not stop the status."""
    plan_repo.act("implementer-010-1", SLOW)
    plan_repo.plan("First")
    run = begin(plan_repo)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=300)
    (plan_repo.repo.root / ".sow/local/sessions/010/1/record.yaml").write_text("session: [\n")
    assert plan_repo.repo.ok("status", "--json").json["idle"] == [{"task": "010", "do": "sow run plan.yaml"}]


@few_of("named", [False, True], 0)
def test_runs_stop_after_a_kill(plan_repo: PlanRepo, named: bool) -> None:
    """After kill -9 of a run `sow runs stop` ends its agents and says so, and the same run can continue."""
    plan_repo.act("implementer-010-1", SLOW)
    plan_repo.plan("First")
    run = begin(plan_repo)
    run.kill()
    run.communicate(timeout=300)
    assert plan_repo.alive()
    stopped = plan_repo.repo.ok("runs", "stop", *([plan_repo.runs()[-1]["id"]] if named else []))
    assert "an earlier turn on task 010 was cut off; processes of it that had to be ended: " in stopped.out
    assert "is stopped\ncontinue with: sow run plan.yaml\n" in stopped.out
    assert plan_repo.alive() == []
    assert "cut off" not in plan_repo.repo.ok("runs", "stop").out
    assert plan_repo.run().code == 0
    assert len(plan_repo.runs()) == 1


@pytest.mark.full
def test_runs_stop_after_a_kill_during_a_check(plan_repo: PlanRepo) -> None:
    """A check of a killed run is ended as well."""
    plan_repo.plan({"test_commands": ["sleep 600"]})
    run = plan_repo.start()
    wait_for(lambda: list(plan_repo.repo.root.glob(".sow/local/runs/*/checks/010/*.mark")))
    wait_for(lambda: set(plan_repo.alive()) - {run.pid})
    run.kill()
    run.communicate(timeout=300)
    wait_for(plan_repo.alive)
    assert "an earlier check was cut off; processes of it" in plan_repo.repo.ok("runs", "stop").out
    assert plan_repo.alive() == []


@pytest.mark.full
def test_runs_stop_leaves_other_workers_alone(plan_repo: PlanRepo) -> None:
    """A worker whose own sow is alive continues, although no run does."""
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    plan_repo.repo.ok("task", "create", "--name", "Another", "--agent", "implementer")
    plan_repo.act("implementer-020", "touch begun\nuntil [ -e gate ]; do sleep 0.1; done\n")
    text = [SOW, "agent", "spawn", "implementer", "020"]
    call = subprocess.Popen(text, cwd=plan_repo.repo.root, env=plan_repo.repo.environment, start_new_session=True)
    plan_repo.started.append(call)
    wait_for((plan_repo.repo.root / "begun").exists)
    at_work = set(plan_repo.alive())
    assert plan_repo.repo.ok("runs", "stop").out.startswith("no run is active")
    assert call.pid in at_work
    assert at_work & set(plan_repo.alive()) >= {call.pid}
    assert len(at_work & set(plan_repo.alive())) > 1
    (plan_repo.repo.root / "gate").touch()
    call.wait(300)


@pytest.mark.full
def test_killed_during_a_turn(plan_repo: PlanRepo) -> None:
    """After kill -9 the same command ends leftover processes and continues in the same session."""
    plan_repo.act("implementer-010-1", SLOW)
    plan_repo.plan("First", "Second < 1")
    run = begin(plan_repo)
    run.kill()
    run.communicate(timeout=300)
    result = plan_repo.run()
    assert result.code == 0, result
    assert "was cut off" in result.err
    assert plan_repo.alive() == []
    assert plan_repo.statuses() == {"010": "completed", "020": "completed"}
    assert plan_repo.task("010")["iteration"] == 1
