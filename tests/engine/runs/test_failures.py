"""Failures in a run: time-outs, errors of agents, limits and budgets; other tasks continue."""

from __future__ import annotations

import os
import signal
import time

import pytest
from support.plan_repo import GREEN, WORK, PlanRepo
from support.quick_cases import few_of
from support.simulated_workers import wait_for
from support.worktree_repo import home_at

from sow.store.runs import run_folder
from sow.store.runs.run_folder import RunFolder

DONE = [{"write": {"path": "part_{task}.txt", "text": "done\n"}}, {"status": "needs_review"}]


def the_run(plan_repo: PlanRepo) -> RunFolder:
    """Returns the only run in the store."""
    (folder,) = run_folder.all_folders(home_at(plan_repo.repo.root))
    return folder


@pytest.mark.full
def test_a_time_out_is_retried_in_the_same_session(plan_repo: PlanRepo) -> None:
    """A turn that takes too long uses up a retry and continues in its session."""
    plan_repo.act("implementer-010-1", "sleep 60\n")
    plan_repo.plan("First")
    result = plan_repo.run("--timeout", "5s")  # all other turns must be quicker than that
    assert result.code == 0, result
    task = plan_repo.task("010")
    assert (task["retry_count"], task["iteration"], task["result"]) == (1, 1, "GREEN")
    assert [entry["kind"] for entry in plan_repo.journal("turn_started")][:2] == ["spawn", "resume"]
    assert plan_repo.alive() == []


@pytest.mark.full
def test_the_last_time_out_fails_the_task(plan_repo: PlanRepo) -> None:
    """After the last retry the result is TIMEOUT, the task is failed, and the exit code is 1."""
    plan_repo.act("implementer-010", "sleep 60\n")
    plan_repo.plan("First", "Second < 1", "Third")
    result = plan_repo.run("--timeout", "5s", "--retries", "1")
    assert result.code == 1, result
    assert plan_repo.task("010")["result"] == "TIMEOUT"
    assert plan_repo.statuses() == {"010": "failed", "020": "pending", "030": "completed"}
    assert plan_repo.turns("010") == 2


@pytest.mark.full
def test_a_failure_beats_another_branch(plan_repo: PlanRepo) -> None:
    """A failed task gives exit 1 also if the run ends because another branch is checked out; it can continue later."""
    plan_repo.act("implementer-010", "exit 3\n")
    plan_repo.act("implementer-020-1", "sleep 600\n")
    plan_repo.plan("First", "Second")
    run = plan_repo.start()
    wait_for(lambda: plan_repo.has_happened("task_ended", task="010", status="failed"))
    wait_for(lambda: plan_repo.turns("020"))
    plan_repo.repo.git("switch", "-q", "-c", "elsewhere")
    assert run.wait(300) == 1
    assert (plan_repo.runs()[-1]["status"], plan_repo.runs()[-1]["exit"]) == ("waiting", 1)
    plan_repo.repo.git("switch", "-q", "feat/harbour")
    assert plan_repo.run().code == 1
    assert plan_repo.statuses() == {"010": "failed", "020": "completed"}
    assert len(plan_repo.runs()) == 1


@pytest.mark.full
def test_an_error_of_the_agent_is_not_retried(plan_repo: PlanRepo) -> None:
    """An agent that fails leaves FAILED, is not asked again, blocks only its dependents, and exit 1 beats 4."""
    plan_repo.act("implementer-010", "exit 7\n")
    plan_repo.judge("040", "RED")
    plan_repo.plan("First", "Second < 1", "Third", "Fourth < 3")
    result = plan_repo.run("--retries", "0")
    assert result.code == 1, result
    assert plan_repo.statuses() == {"010": "failed", "020": "pending", "030": "completed", "040": "paused"}
    assert plan_repo.task("010")["result"] == "FAILED"
    assert plan_repo.turns("010") == 1


@pytest.mark.full
def test_a_worker_that_does_nothing_fails(plan_repo: PlanRepo) -> None:
    """A turn without a change and without a status gets one reminder, and then the task fails."""
    plan_repo.act("implementer-010", "true\n")
    plan_repo.plan("First")
    assert plan_repo.run().code == 1
    assert plan_repo.turns("010") == 2
    assert plan_repo.task("010")["result"] == "FAILED"


@pytest.mark.full
def test_the_reason_of_a_failed_worker_is_shown(plan_repo: PlanRepo) -> None:
    """The worker's last log entry of its failed turn is the reason in every view; an older entry is not."""
    give_up = "sow task set --id 010 status failed"
    plan_repo.act("implementer-010-1", f"{give_up} --reason 'no compiler here'\n")
    plan_repo.act("implementer-010-2", f"{give_up}\n")
    plan_repo.plan("First")
    assert "failed: no compiler here\n" in plan_repo.run().out
    assert plan_repo.journal("task_ended")[-1]["reason"] == "no compiler here"
    plan_repo.repo.ok("task", "set", "--id", "010", "status", "in_progress")
    result = plan_repo.run()
    assert result.code == 1
    assert "no compiler here" not in result.out


@pytest.mark.full
def test_a_failed_task_can_continue(plan_repo: PlanRepo) -> None:
    """After `sow task set … in_progress` the same command continues it, and its dependents."""
    plan_repo.act("implementer-010-1", "exit 7\n")
    plan_repo.plan("First", "Second < 1")
    assert plan_repo.run().code == 1
    plan_repo.repo.ok("task", "set", "--id", "010", "status", "in_progress")
    result = plan_repo.run()
    assert result.code == 0, result
    assert plan_repo.statuses() == {"010": "completed", "020": "completed"}


@pytest.mark.full
def test_an_unknown_agent_becomes_the_default_one(plan_repo: PlanRepo) -> None:
    """A task with an unknown agent goes to the implementer, if the user accepts the plan's warnings."""
    plan_repo.plan({"agent": "swift-wizard"})
    result = plan_repo.run("--yes")
    assert result.code == 0, result
    assert plan_repo.turns("010") == 1


def test_a_limit_pauses_only_its_executor(plan_repo: PlanRepo) -> None:
    """A rate limit is waited for and costs no retry, while tasks of other executors continue."""
    plan_repo.simulated("busy", "researcher", [{"limit": 6}], DONE)
    journal = plan_repo.repo.root / ".sow/local/runs/*/journal.jsonl"
    plan_repo.act("implementer-020", f"until grep -q '\"limit\"' {journal}; do sleep 0.05; done\n{WORK}")
    plan_repo.plan({"agent": "researcher"}, "Second")
    result = plan_repo.run()
    assert result.code == 0, result
    task = plan_repo.task("010")
    assert (task["iteration"], task.get("retry_count", 0)) == (1, 0)
    assert plan_repo.journal("limit")[0]["executor"] == "busy"
    spawn, resume = (entry for entry in plan_repo.journal("turn_started") if entry["executor"] == "busy")
    assert (spawn["kind"], resume["kind"]) == ("spawn", "resume")
    (other,) = (entry for entry in plan_repo.journal("turn_ended") if entry["executor"] == "hand")
    assert plan_repo.journal("limit")[0]["t"] < other["t"] < resume["t"]


@few_of("seconds", [-4_000_000_000, -90_000, 10**15], 0)
def test_an_absurd_reset_time_ends_no_run(plan_repo: PlanRepo, seconds: int) -> None:
    """A reset time before 1970, long ago or far in the future is waited for like any other (F79)."""
    plan_repo.simulated("busy", "researcher", [{"limit": seconds}], DONE)
    plan_repo.plan({"agent": "researcher"}, "Second")
    result = plan_repo.run("--max-wait", "10s")
    assert result.code == 4, result
    assert plan_repo.task("020")["status"] == "completed"
    (limit,) = plan_repo.journal("limit")
    assert 0 < limit["until"] - time.time() < 32 * 24 * 3600
    assert plan_repo.repo.sow("agent", "resume", "010", "Continue").code == 0


@pytest.mark.full
def test_a_pause_holds_for_every_task_of_its_executor(plan_repo: PlanRepo) -> None:
    """No other task starts with an executor that has reached its limit."""
    plan_repo.simulated("busy", "implementer", [{"limit": 600}])
    plan_repo.plan("First", "Second", "Third")
    result = plan_repo.run("--max-wait", "2s", "--max-concurrency", "1")
    assert result.code == 4, result
    assert len(plan_repo.journal("turn_started")) == 1


@few_of("step", [{"limit": 600}, {"error": 529}], 1, ids=["limit", "overload"])
def test_max_wait_limits_the_pause(plan_repo: PlanRepo, step: dict[str, int]) -> None:
    """A reset beyond --max-wait ends the run at once with exit 4, and the next call does not ask too early."""
    plan_repo.simulated("busy", "implementer", [step])
    plan_repo.plan("First")
    began = time.monotonic()
    assert plan_repo.run("--max-wait", "5s").code == 4
    assert time.monotonic() - began < 300
    assert plan_repo.task("010")["status"] == "in_progress"
    assert plan_repo.run("--max-wait", "5s").code == 4
    assert len(plan_repo.journal("turn_started")) == 1
    assert plan_repo.runs()[-1]["pools"][0]["executor"] == "busy"


@pytest.mark.full
def test_a_fallback_takes_over(plan_repo: PlanRepo) -> None:
    """At an executor's limit the role's fallback continues from the state on disk, and takes the other tasks too."""
    plan_repo.simulated("busy", "implementer", [{"write": {"path": "begun.txt", "text": "half\n"}}, {"limit": 600}])
    plan_repo.settings["agents"]["fallbacks"] = {"implementer": ["hand"]}
    plan_repo.configure()
    plan_repo.plan("First", "Second < 1")
    result = plan_repo.run()
    assert result.code == 0, result
    assert "An earlier session worked on this task" in plan_repo.prompt("010", 1)
    assert (plan_repo.repo.root / "begun.txt").read_text() == "half\n"
    assert len([entry for entry in plan_repo.journal("turn_started") if entry["executor"] == "busy"]) == 1
    assert plan_repo.task("010")["iteration"] == 1


@pytest.mark.full
def test_the_earlier_of_two_resets_is_waited_for(plan_repo: PlanRepo) -> None:
    """If the fallback is limited too, the executor with the earlier reset continues, and no retry is counted."""
    plan_repo.simulated("near", "implementer", [{"limit": 600}], DONE)
    plan_repo.simulated("far", "", [{"limit": 900}])
    plan_repo.settings["agents"]["fallbacks"] = {"implementer": ["far"]}
    plan_repo.configure()
    plan_repo.plan("First")
    assert plan_repo.run("--max-wait", "10s").code == 4
    assert [entry["executor"] for entry in plan_repo.journal("limit")] == ["near", "far"]
    assert plan_repo.journal("waiting")[-1]["until"] == plan_repo.journal("limit")[0]["until"]
    folder = the_run(plan_repo)
    folder.run["pools"][0]["until"] = 0  # as after ten minutes
    folder.save()
    plan_repo.simulated("near", "implementer", DONE)
    result = plan_repo.run("--max-wait", "10s")
    assert result.code == 0, result
    workers = [entry["executor"] for entry in plan_repo.journal("turn_started") if entry["role"] == "implementer"]
    assert workers == ["near", "far", "near"]
    task = plan_repo.task("010")
    assert (task["iteration"], task.get("retry_count", 0)) == (1, 0)


@few_of("where", ["option", "config"], 1)
def test_a_spent_budget_stops_new_work(plan_repo: PlanRepo, where: str) -> None:
    """Completed tasks stay, nothing new starts, the exit code is 4, and a larger budget continues the run."""
    plan_repo.simulated("paid", "implementer", DONE)
    plan_repo.plan("First", "Second < 1")
    arguments = ["--max-cost", "0.000001"]
    if where == "config":
        plan_repo.configure(budgets={"run_usd": 0.000001})
        arguments = []
    result = plan_repo.run("--review", "off", *arguments)
    assert result.code == 4, result
    assert plan_repo.statuses() == {"010": "completed", "020": "pending"}
    assert "the budget of less than $0.0001 is spent (" in plan_repo.journal("budget")[0]["reason"]
    assert plan_repo.run("--review", "off", *arguments).code == 4
    plan_repo.configure(budgets={})
    assert plan_repo.run("--review", "off", "--max-cost", "100").code == 0


@pytest.mark.full
def test_the_number_of_turns_is_limited(plan_repo: PlanRepo) -> None:
    """budgets.run_spawns counts every turn, reviews included, across calls of one run."""
    plan_repo.configure(budgets={"run_spawns": 2})
    plan_repo.plan("First", "Second < 1")
    assert plan_repo.run().code == 4
    assert plan_repo.statuses() == {"010": "completed", "020": "pending"}
    assert plan_repo.run().code == 4
    assert plan_repo.turns("020") == 0


@pytest.mark.full
def test_the_budget_of_a_task_is_a_question(plan_repo: PlanRepo) -> None:
    """A task that has used its budget asks before its next turn; any answer allows the same amount again."""
    turns = [[{"write": {"path": "part_010.txt", "text": f"{turn}\n"}}, {"status": "needs_review"}] for turn in "123"]
    plan_repo.simulated("paid", "implementer", *turns)
    plan_repo.configure(budgets={"task_usd": 0.000001})
    plan_repo.judge("010", "RED", "RED", "GREEN")
    plan_repo.plan("First")
    for number in (1, 2):
        result = plan_repo.run()
        assert result.code == 4, result
        (asked,) = plan_repo.repo.ok("inbox", "--json").json["items"]
        assert (asked["task"], asked["number"]) == ("010", number)
        plan_repo.repo.ok("answer", str(number), "Yes, go on")
        time.sleep(1.1)  # state knows whole seconds: a turn counts from the next one on
    first, second = (question["text"] for question in plan_repo.task("010")["questions"])
    assert first.startswith("Its budget is spent: task 010 has cost $")
    assert "since you raised it" in second
    result = plan_repo.run()
    assert result.code == 0, result
    kinds = [entry["kind"] for entry in plan_repo.journal("turn_started") if entry["executor"] == "paid"]
    assert kinds == ["spawn", "resume", "resume"]
    text = sorted(plan_repo.repo.root.glob(".sow/local/sessions/010/*/turn-002.prompt"))[0].read_text()
    assert "round 1 of 010" in text  # what the review found before the question


def test_three_failed_starts_open_the_breaker(plan_repo: PlanRepo) -> None:
    """After three failed starts in a row the rest waits, and beyond --max-wait the run ends with 1."""
    plan_repo.simulated("broken", "implementer", [{"exit": 1}])
    plan_repo.plan(*(f"Part {number}" for number in range(6)))
    result = plan_repo.run("--max-concurrency", "1", "--max-wait", "1s")
    assert result.code == 1, result
    assert len(plan_repo.journal("turn_started")) == 3
    assert plan_repo.journal("breaker")[0]["failures"] == 3
    assert list(plan_repo.statuses().values()).count("pending") == 3


@pytest.mark.full
def test_a_failed_start_after_the_last_pause_ends_the_run(plan_repo: PlanRepo) -> None:
    """Nothing more starts, and the report has the reason."""
    plan_repo.simulated("broken", "implementer", [{"exit": 1}])
    plan_repo.plan(*(f"Part {number}" for number in range(5)))
    run = plan_repo.start("--max-concurrency", "1")
    wait_for(lambda: plan_repo.has_happened("breaker"))
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate(timeout=300)
    folder = the_run(plan_repo)
    folder.run["breaker"] = {"failures": 5, "opened": 3, "until": 0}  # as after a minute, two, and four
    folder.save()
    result = plan_repo.run("--max-concurrency", "1")
    assert result.code == 1, result
    assert list(plan_repo.statuses().values()) == ["failed"] * 4 + ["pending"]
    assert plan_repo.journal("budget")[0]["reason"] == "6 starts in a row failed, and waiting did not help"
    assert "waiting did not help" in plan_repo.repo.ok("runs", "show").out
    assert plan_repo.alive() == []


@pytest.mark.full
def test_failed_work_does_not_open_the_breaker(plan_repo: PlanRepo) -> None:
    """Tasks that fail after they worked do not stop others from starting."""
    plan_repo.act("implementer", f"{WORK}exit 5\n")
    plan_repo.plan(*(f"Part {number}" for number in range(5)))
    assert plan_repo.run("--max-wait", "1s").code == 1
    assert set(plan_repo.statuses().values()) == {"failed"}


@pytest.mark.full
def test_max_concurrency_limits_an_executor(plan_repo: PlanRepo) -> None:
    """max_concurrency of an executor limits its parallel turns, reviews included; other executors continue."""
    busy = plan_repo.folder / "busy"
    alone = f"mkdir {busy} || exit 9\nsleep 0.1\nrmdir {busy}\n"
    plan_repo.act("implementer", f"{alone}{WORK}")
    plan_repo.act("quality-control", f"{alone}{GREEN}")
    for name in ("hand", "judge"):
        plan_repo.settings["agents"]["executors"][name]["settings"]["max_concurrency"] = 1
    plan_repo.settings["agents"]["bindings"]["quality-control"] = "hand"
    plan_repo.configure()
    plan_repo.plan("First", "Second", "Third")
    result = plan_repo.run("--max-concurrency", "3")
    assert result.code == 0, result
    assert set(plan_repo.statuses().values()) == {"completed"}
    assert {plan_repo.turns(task) for task in ("010", "020", "030")} == {1}


@pytest.mark.full
def test_a_task_waits_for_a_busy_reviewer(plan_repo: PlanRepo) -> None:
    """A task whose reviewer is busy waits, and is reviewed afterwards."""
    plan_repo.act(
        "quality-control", f"mkdir {plan_repo.folder}/one || exit 9\nsleep 0.3\nrmdir {plan_repo.folder}/one\n{GREEN}"
    )
    plan_repo.settings["agents"]["executors"]["judge"]["settings"]["max_concurrency"] = 1
    plan_repo.configure()
    plan_repo.plan("First", "Second", "Third")
    result = plan_repo.run()
    assert result.code == 0, result
    assert any("waits for judge" in entry["text"] for entry in plan_repo.journal("step"))


COMMIT = (
    "git switch -q {where} && echo x > beside.txt && git add beside.txt && git commit -q -m 'Part beside' && {next}"
)
LEFT = {
    "on no branch, and failed": ("--detach", "exit 3"),
    "on a branch that is gone, and failed": ("-c side", "git switch -q --detach && git branch -q -D side && exit 3"),
    "on no branch, and asked": ("--detach", "sow task set status paused --reason 'And now?'"),
    "on no branch, and went back": ("--detach", "git switch -q - && exit 3"),
}


@few_of("name", LEFT, 1)
def test_uncollected_commits_are_pinned(plan_repo: PlanRepo, name: str) -> None:
    """A commit of a failed or asking worker is reachable by a ref of sow although it was not collected."""
    where, after = LEFT[name]
    plan_repo.act("implementer-010", COMMIT.format(where=where, next=after) + "\n")
    plan_repo.plan("First")
    assert plan_repo.run().code in (1, 4)
    lines = plan_repo.repo.git("log", "--all", "--reflog", "--format=%H %s").splitlines()
    (commit,) = {line.split()[0] for line in lines if line.endswith("Part beside")}
    kept = plan_repo.repo.git("for-each-ref", "--format=%(refname)", "--contains", commit).split()
    assert any(ref.startswith("refs/sow/keep/") for ref in kept), kept
