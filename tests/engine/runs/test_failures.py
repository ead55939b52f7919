"""What goes wrong in a run: time-outs, errors of agents, limits, budgets, and what goes on all the same."""

from __future__ import annotations

import os
import signal
import time

import pytest
from support.plan_repo import GREEN, WORK, Harbour
from support.simulated_workers import wait_for
from support.worktree_repo import home_at

from sow.store.runs import run_folder
from sow.store.runs.run_folder import RunFolder

DONE = [{"write": {"path": "part_{task}.txt", "text": "done\n"}}, {"status": "needs_review"}]


def the_run(harbour: Harbour) -> RunFolder:
    """The only run, as the store has it."""
    (folder,) = run_folder.listed(home_at(harbour.repo.root))
    return folder


def test_a_time_out_is_tried_again_in_the_same_session(harbour: Harbour) -> None:
    """A turn that takes too long uses up a try and goes on in its session."""
    harbour.act("implementer-010-1", "sleep 60\n")
    harbour.plan("First")
    result = harbour.run("--timeout", "5s")  # all other turns must be quicker than that
    assert result.code == 0, result
    task = harbour.task("010")
    assert (task["retry_count"], task["iteration"], task["result"]) == (1, 1, "GREEN")
    assert [each["kind"] for each in harbour.journal("turn_started")][:2] == ["spawn", "resume"]
    assert harbour.alive() == []


def test_after_the_last_time_out_the_task_has_failed(harbour: Harbour) -> None:
    """Time-outs beyond the retries are the result TIMEOUT, the task is failed, and the exit code is 1."""
    harbour.act("implementer-010", "sleep 60\n")
    harbour.plan("First", "Second < 1", "Third")
    result = harbour.run("--timeout", "5s", "--retries", "1")
    assert result.code == 1, result
    assert harbour.task("010")["result"] == "TIMEOUT"
    assert harbour.statuses() == {"010": "failed", "020": "pending", "030": "completed"}
    assert harbour.turns("010") == 2


def test_a_failure_beats_another_branch(harbour: Harbour) -> None:
    """A failed task is exit 1 also where the run ends because another branch was checked out; it can go on later."""
    harbour.act("implementer-010", "exit 3\n")
    harbour.act("implementer-020-1", "sleep 600\n")
    harbour.plan("First", "Second")
    run = harbour.start()
    wait_for(lambda: harbour.has_happened("task_ended", task="010", status="failed"))
    wait_for(lambda: harbour.turns("020"))
    harbour.repo.git("switch", "-q", "-c", "elsewhere")
    assert run.wait(300) == 1
    assert (harbour.runs()[-1]["status"], harbour.runs()[-1]["exit"]) == ("waiting", 1)
    harbour.repo.git("switch", "-q", "feat/harbour")
    assert harbour.run().code == 1
    assert harbour.statuses() == {"010": "failed", "020": "completed"}
    assert len(harbour.runs()) == 1


def test_an_error_of_the_agent_is_not_tried_again(harbour: Harbour) -> None:
    """An agent that ends badly leaves FAILED, is not asked again, blocks only its dependents, and 1 beats 4."""
    harbour.act("implementer-010", "exit 7\n")
    harbour.judge("040", "RED")
    harbour.plan("First", "Second < 1", "Third", "Fourth < 3")
    result = harbour.run("--retries", "0")
    assert result.code == 1, result
    assert harbour.statuses() == {"010": "failed", "020": "pending", "030": "completed", "040": "paused"}
    assert harbour.task("010")["result"] == "FAILED"
    assert harbour.turns("010") == 1


def test_a_worker_that_does_nothing_has_failed(harbour: Harbour) -> None:
    """A turn without a change and without a status gets one reminder, and then the task has failed."""
    harbour.act("implementer-010", "true\n")
    harbour.plan("First")
    assert harbour.run().code == 1
    assert harbour.turns("010") == 2
    assert harbour.task("010")["result"] == "FAILED"


def test_who_gives_up_says_why(harbour: Harbour) -> None:
    """The last word in the log of a task whose worker gave it up is the reason in every place; an old word is none."""
    give_up = "sow task set --id 010 status failed"
    harbour.act("implementer-010-1", f"{give_up} --reason 'no compiler here'\n")
    harbour.act("implementer-010-2", f"{give_up}\n")
    harbour.plan("First")
    assert "failed: no compiler here\n" in harbour.run().out
    assert harbour.journal("task_ended")[-1]["reason"] == "no compiler here"
    harbour.repo.ok("task", "set", "--id", "010", "status", "in_progress")
    result = harbour.run()
    assert result.code == 1
    assert "no compiler here" not in result.out


def test_a_failed_task_can_be_sent_on(harbour: Harbour) -> None:
    """After `sow task set … in_progress` the same command goes on with it, and with what waited for it."""
    harbour.act("implementer-010-1", "exit 7\n")
    harbour.plan("First", "Second < 1")
    assert harbour.run().code == 1
    harbour.repo.ok("task", "set", "--id", "010", "status", "in_progress")
    result = harbour.run()
    assert result.code == 0, result
    assert harbour.statuses() == {"010": "completed", "020": "completed"}


def test_an_unknown_agent_is_played_by_the_default_one(harbour: Harbour) -> None:
    """A task whose agent does not exist is worked on by the implementer, if the user accepts the plan's warnings."""
    harbour.plan({"agent": "swift-wizard"})
    result = harbour.run("--yes")
    assert result.code == 0, result
    assert harbour.turns("010") == 1


def test_a_limit_pauses_its_executor_only(harbour: Harbour) -> None:
    """A rate limit is waited for without an attempt, while tasks of other executors go on."""
    harbour.simulated("busy", "researcher", [{"limit": 6}], DONE)
    journal = harbour.repo.root / ".sow/local/runs/*/journal.jsonl"
    harbour.act("implementer-020", f"until grep -q '\"limit\"' {journal}; do sleep 0.05; done\n{WORK}")
    harbour.plan({"agent": "researcher"}, "Second")
    result = harbour.run()
    assert result.code == 0, result
    task = harbour.task("010")
    assert (task["iteration"], task.get("retry_count", 0)) == (1, 0)
    assert harbour.journal("limit")[0]["executor"] == "busy"
    spawn, resume = (each for each in harbour.journal("turn_started") if each["executor"] == "busy")
    assert (spawn["kind"], resume["kind"]) == ("spawn", "resume")
    (other,) = (each for each in harbour.journal("turn_ended") if each["executor"] == "hand")
    assert harbour.journal("limit")[0]["t"] < other["t"] < resume["t"]


@pytest.mark.parametrize("seconds", [-4_000_000_000, -90_000, 10**15])
def test_an_absurd_end_of_a_limit_ends_no_run(harbour: Harbour, seconds: int) -> None:
    """A limit that ends before 1970, long ago or in another age is waited for like any other (F79)."""
    harbour.simulated("busy", "researcher", [{"limit": seconds}], DONE)
    harbour.plan({"agent": "researcher"}, "Second")
    result = harbour.run("--max-wait", "10s")
    assert result.code == 4, result
    assert harbour.task("020")["status"] == "completed"
    (limit,) = harbour.journal("limit")
    assert 0 < limit["until"] - time.time() < 32 * 24 * 3600
    assert harbour.repo.sow("agent", "resume", "010", "Go on").code == 0


def test_a_pause_holds_for_every_task_of_its_executor(harbour: Harbour) -> None:
    """Nothing else starts with an executor that has reached its limit."""
    harbour.simulated("busy", "implementer", [{"limit": 600}])
    harbour.plan("First", "Second", "Third")
    result = harbour.run("--max-wait", "2s", "--max-concurrency", "1")
    assert result.code == 4, result
    assert len(harbour.journal("turn_started")) == 1


@pytest.mark.parametrize("step", [{"limit": 600}, {"error": 529}], ids=["limit", "overload"])
def test_a_limit_is_waited_for_only_so_long(harbour: Harbour, step: dict[str, int]) -> None:
    """A reset beyond --max-wait ends the run at once with exit 4, and the next call does not ask too early."""
    harbour.simulated("busy", "implementer", [step])
    harbour.plan("First")
    began = time.monotonic()
    assert harbour.run("--max-wait", "5s").code == 4
    assert time.monotonic() - began < 300
    assert harbour.task("010")["status"] == "in_progress"
    assert harbour.run("--max-wait", "5s").code == 4
    assert len(harbour.journal("turn_started")) == 1
    assert harbour.runs()[-1]["pools"][0]["executor"] == "busy"


def test_a_fallback_takes_over_with_the_packet(harbour: Harbour) -> None:
    """At an executor's limit the role's fallback goes on from what is on disk, and takes the other tasks too."""
    harbour.simulated("busy", "implementer", [{"write": {"path": "begun.txt", "text": "half\n"}}, {"limit": 600}])
    harbour.settings["agents"]["fallbacks"] = {"implementer": ["hand"]}
    harbour.configure()
    harbour.plan("First", "Second < 1")
    result = harbour.run()
    assert result.code == 0, result
    assert "An earlier session worked on this task" in harbour.prompt("010", 1)
    assert (harbour.repo.root / "begun.txt").read_text() == "half\n"
    assert len([each for each in harbour.journal("turn_started") if each["executor"] == "busy"]) == 1
    assert harbour.task("010")["iteration"] == 1


def test_of_two_limits_the_nearer_one_is_waited_for(harbour: Harbour) -> None:
    """Where the fallback is limited too, the executor whose reset comes first goes on, and no try is counted."""
    harbour.simulated("near", "implementer", [{"limit": 600}], DONE)
    harbour.simulated("far", "", [{"limit": 900}])
    harbour.settings["agents"]["fallbacks"] = {"implementer": ["far"]}
    harbour.configure()
    harbour.plan("First")
    assert harbour.run("--max-wait", "10s").code == 4
    assert [each["executor"] for each in harbour.journal("limit")] == ["near", "far"]
    assert harbour.journal("waiting")[-1]["until"] == harbour.journal("limit")[0]["until"]
    folder = the_run(harbour)
    folder.run["pools"][0]["until"] = 0  # as after ten minutes
    folder.save()
    harbour.simulated("near", "implementer", DONE)
    result = harbour.run("--max-wait", "10s")
    assert result.code == 0, result
    workers = [each["executor"] for each in harbour.journal("turn_started") if each["role"] == "implementer"]
    assert workers == ["near", "far", "near"]
    task = harbour.task("010")
    assert (task["iteration"], task.get("retry_count", 0)) == (1, 0)


@pytest.mark.parametrize("where", ["option", "config"])
def test_a_spent_budget_stops_new_work(harbour: Harbour, where: str) -> None:
    """What is done stays done, nothing new starts, the exit code is 4, and a larger budget lets it go on."""
    harbour.simulated("paid", "implementer", DONE)
    harbour.plan("First", "Second < 1")
    words = ["--max-cost", "0.000001"]
    if where == "config":
        harbour.configure(budgets={"run_usd": 0.000001})
        words = []
    result = harbour.run("--review", "off", *words)
    assert result.code == 4, result
    assert harbour.statuses() == {"010": "completed", "020": "pending"}
    assert "the budget of less than $0.0001 is spent (" in harbour.journal("budget")[0]["reason"]
    assert harbour.run("--review", "off", *words).code == 4
    harbour.configure(budgets={})
    assert harbour.run("--review", "off", "--max-cost", "100").code == 0


def test_so_many_starts_and_no_more(harbour: Harbour) -> None:
    """budgets.run_spawns counts every turn, reviews included, across calls of one run."""
    harbour.configure(budgets={"run_spawns": 2})
    harbour.plan("First", "Second < 1")
    assert harbour.run().code == 4
    assert harbour.statuses() == {"010": "completed", "020": "pending"}
    assert harbour.run().code == 4
    assert harbour.turns("020") == 0


def test_the_budget_of_a_task_is_a_question(harbour: Harbour) -> None:
    """A task that has cost its budget asks before its next turn; an answer allows as much again, whatever it was."""
    turns = [[{"write": {"path": "part_010.txt", "text": f"{turn}\n"}}, {"status": "needs_review"}] for turn in "123"]
    harbour.simulated("paid", "implementer", *turns)
    harbour.configure(budgets={"task_usd": 0.000001})
    harbour.judge("010", "RED", "RED", "GREEN")
    harbour.plan("First")
    for number in (1, 2):
        result = harbour.run()
        assert result.code == 4, result
        (asked,) = harbour.repo.ok("inbox", "--json").json["items"]
        assert (asked["task"], asked["number"]) == ("010", number)
        harbour.repo.ok("answer", str(number), "Yes, go on")
        time.sleep(1.1)  # state knows whole seconds: a turn counts from the next one on
    first, second = (each["text"] for each in harbour.task("010")["questions"])
    assert first.startswith("Its budget is spent: task 010 has cost $")
    assert "since you raised it" in second
    result = harbour.run()
    assert result.code == 0, result
    kinds = [each["kind"] for each in harbour.journal("turn_started") if each["executor"] == "paid"]
    assert kinds == ["spawn", "resume", "resume"]
    told = sorted(harbour.repo.root.glob(".sow/local/sessions/010/*/turn-002.prompt"))[0].read_text()
    assert "round 1 of 010" in told  # what the review found before the question


def test_starts_that_fail_in_a_row_open_the_breaker(harbour: Harbour) -> None:
    """After three starts that came to nothing in a row the rest waits, and beyond --max-wait the run ends with 1."""
    harbour.simulated("broken", "implementer", [{"exit": 1}])
    harbour.plan(*(f"Part {number}" for number in range(6)))
    result = harbour.run("--max-concurrency", "1", "--max-wait", "1s")
    assert result.code == 1, result
    assert len(harbour.journal("turn_started")) == 3
    assert harbour.journal("breaker")[0]["failures"] == 3
    assert list(harbour.statuses().values()).count("pending") == 3


def test_after_the_last_pause_somebody_has_to_look(harbour: Harbour) -> None:
    """A start that fails after the last pause ends the run: nothing more starts, and the report says why."""
    harbour.simulated("broken", "implementer", [{"exit": 1}])
    harbour.plan(*(f"Part {number}" for number in range(5)))
    run = harbour.start("--max-concurrency", "1")
    wait_for(lambda: harbour.has_happened("breaker"))
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate(timeout=300)
    folder = the_run(harbour)
    folder.run["breaker"] = {"failures": 5, "opened": 3, "until": 0}  # as after a minute, two, and four
    folder.save()
    result = harbour.run("--max-concurrency", "1")
    assert result.code == 1, result
    assert list(harbour.statuses().values()) == ["failed"] * 4 + ["pending"]
    assert harbour.journal("budget")[0]["reason"] == "6 starts in a row failed, and waiting did not help"
    assert "waiting did not help" in harbour.repo.ok("runs", "show").out
    assert harbour.alive() == []


def test_work_that_fails_does_not_open_the_breaker(harbour: Harbour) -> None:
    """Tasks that fail after they did something do not keep others from starting."""
    harbour.act("implementer", f"{WORK}exit 5\n")
    harbour.plan(*(f"Part {number}" for number in range(5)))
    assert harbour.run("--max-wait", "1s").code == 1
    assert set(harbour.statuses().values()) == {"failed"}


def test_an_executor_has_no_more_turns_than_it_may(harbour: Harbour) -> None:
    """max_concurrency of an executor bounds its turns at once, those of reviewers included; others go on beside it."""
    busy = harbour.folder / "busy"
    alone = f"mkdir {busy} || exit 9\nsleep 0.1\nrmdir {busy}\n"
    harbour.act("implementer", f"{alone}{WORK}")
    harbour.act("quality-control", f"{alone}{GREEN}")
    for name in ("hand", "judge"):
        harbour.settings["agents"]["executors"][name]["settings"]["max_concurrency"] = 1
    harbour.settings["agents"]["bindings"]["quality-control"] = "hand"
    harbour.configure()
    harbour.plan("First", "Second", "Third")
    result = harbour.run("--max-concurrency", "3")
    assert result.code == 0, result
    assert set(harbour.statuses().values()) == {"completed"}
    assert {harbour.turns(task) for task in ("010", "020", "030")} == {1}


def test_a_task_waits_for_a_place_and_ends_with_the_run(harbour: Harbour) -> None:
    """A job whose reviewer is busy with another task waits its turn, and its review is held afterwards."""
    harbour.act(
        "quality-control", f"mkdir {harbour.folder}/one || exit 9\nsleep 0.3\nrmdir {harbour.folder}/one\n{GREEN}"
    )
    harbour.settings["agents"]["executors"]["judge"]["settings"]["max_concurrency"] = 1
    harbour.configure()
    harbour.plan("First", "Second", "Third")
    result = harbour.run()
    assert result.code == 0, result
    assert any("waits for judge" in each["text"] for each in harbour.journal("step"))


COMMIT = (
    "git switch -q {where} && echo x > beside.txt && git add beside.txt && git commit -q -m 'Part beside' && {next}"
)
LEFT = {
    "on no branch, and failed": ("--detach", "exit 3"),
    "on a branch that is gone, and failed": ("-c side", "git switch -q --detach && git branch -q -D side && exit 3"),
    "on no branch, and asked": ("--detach", "sow task set status paused --reason 'And now?'"),
    "on no branch, and went back": ("--detach", "git switch -q - && exit 3"),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_a_worker_committed_is_pinned_though_nobody_collects_it(harbour: Harbour, name: str) -> None:
    """A commit is reachable by a ref of ours also where its worker failed or asks, and so never collected."""
    where, after = LEFT[name]
    harbour.act("implementer-010", COMMIT.format(where=where, next=after) + "\n")
    harbour.plan("First")
    assert harbour.run().code in (1, 4)
    found = harbour.repo.git("log", "--all", "--reflog", "--format=%H %s").splitlines()
    (commit,) = {line.split()[0] for line in found if line.endswith("Part beside")}
    kept = harbour.repo.git("for-each-ref", "--format=%(refname)", "--contains", commit).split()
    assert any(ref.startswith("refs/sow/keep/") for ref in kept), kept
