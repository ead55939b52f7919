"""The counts and words of a run agree in its live output, its reports, the inbox and the task."""

from __future__ import annotations

import pytest
from support.dashboard_data import facts_of
from support.plan_repo import PlanRepo

FAILING = """\
for number in range(60):
    print("    line", number)
print("E       AssertionError: the end")
raise SystemExit(1)
"""


def row(plan_repo: PlanRepo) -> dict[str, object]:
    tasks: dict[str, object] = plan_repo.repo.ok("runs", "show", "--format", "json").json["tasks"][0]
    return tasks


def test_three_refused_iterations_count_as_three(plan_repo: PlanRepo) -> None:
    """A task that three reviews refuse has three iterations, and a task that never ran has none (C6)."""
    plan_repo.judge("010", "RED", "RED", "RED")
    plan_repo.act("implementer-010", "date +%N >> part_010.txt\n")
    plan_repo.plan("First", "Second < 1")
    assert plan_repo.run("--retries", "2").code == 4
    tasks = plan_repo.repo.ok("runs", "show", "--format", "json").json["tasks"]
    assert [task["tries"] for task in tasks] == [3, 0]
    assert [review["verdict"] for review in tasks[0]["reviews"]] == ["RED", "RED", "RED"]


@pytest.mark.full
def test_turns_that_time_out_are_counted(plan_repo: PlanRepo) -> None:
    """Three turns that time out are three iterations (C6)."""
    plan_repo.act("implementer-010", "sleep 60\n")
    plan_repo.plan("First")
    assert plan_repo.run("--retries", "2", "--timeout", "1s").code == 1
    assert (row(plan_repo)["tries"], row(plan_repo)["result"]) == (3, "TIMEOUT")


@pytest.mark.full
def test_the_notes_of_a_yellow_review_are_shown_everywhere(plan_repo: PlanRepo) -> None:
    """Accepted work shows its reviewer's notes, and not the reason why an earlier iteration was refused (C5)."""
    plan_repo.judge("010", "RED", "YELLOW")
    plan_repo.act("implementer-010", "date +%N >> part_010.txt\n")
    plan_repo.plan("First")
    result = plan_repo.run()
    assert "RED by quality-control: round 1 of 010" in result.out
    assert "YELLOW by quality-control: round 2 of 010" in result.out
    assert row(plan_repo)["why"] is None
    repo = plan_repo.repo
    for case in (("runs", "show"), ("runs", "report", "--format", "md"), ("runs", "report", "--format", "html")):
        assert "YELLOW by quality-control: round 2 of 010" in repo.ok(*case).out, case
    shown = repo.ok("task", "show", "010").out
    assert "iteration 1: RED by quality-control\niteration 2: YELLOW by quality-control: round 2 of 010\n" in shown


@pytest.mark.full
def test_a_failed_check_keeps_its_indentation(plan_repo: PlanRepo) -> None:
    """The inbox has the end of the output as the program printed it; status has one line (D6)."""
    plan_repo.act("implementer-010", "date +%N >> part_010.txt\n")
    (plan_repo.repo.root / "check.py").write_text(FAILING)
    plan_repo.repo.git("add", "check.py")
    plan_repo.repo.git("commit", "-q", "-m", "Add a check")
    plan_repo.plan({"name": "First", "test_commands": ["python3 check.py"]})
    assert plan_repo.run("--retries", "0").code == 4
    assert "           line 59\n       E       AssertionError: the end\n" in plan_repo.repo.ok("inbox").out
    (line,) = [line for line in plan_repo.repo.ok("status").out.splitlines() if "question 1 of task 010: " in line]
    assert line.startswith("  question 1 of task 010: `python3 check.py` fails") and "What was found" not in line


@pytest.mark.full
def test_the_list_of_runs_counts_like_the_report(plan_repo: PlanRepo) -> None:
    """A task that a person approves after the run asked about it is done in both (C6)."""
    plan_repo.judge("010", "RED")
    plan_repo.plan("First", "Second")
    assert plan_repo.run("--retries", "0").code == 4
    plan_repo.repo.ok("approve", "010", "--reason", "It is fine")
    assert plan_repo.run("--retries", "0").code == 0
    assert plan_repo.repo.ok("runs", "show", "--format", "json").json["counts"]["completed"] == 2
    assert " 2/2 " in plan_repo.repo.ok("runs", "list").out


@pytest.mark.full
def test_turns_of_work_are_counted_around_an_answer(plan_repo: PlanRepo) -> None:
    """Work, a question with an answer, and work after a RED review are three iterations and one retry (C6)."""
    ask = "sow note add --description 'Which colour?' --context 'the form'\n"
    ask += "sow note escalate 1 --reason 'only a person knows'\nsow task set status paused\n"
    plan_repo.act("implementer-010-1", ask)
    plan_repo.act("implementer-010", "date +%N >> part_010.txt\n")
    plan_repo.judge("010", "RED", "GREEN")
    plan_repo.plan("First")
    assert plan_repo.run().code == 4
    plan_repo.repo.ok("answer", "1", "Green")
    assert plan_repo.run().code == 0
    assert plan_repo.turns("010") == 3
    result = row(plan_repo)
    assert (result["tries"], result["retries"], result["iterations"]) == (3, 1, 3)


@pytest.mark.full
def test_an_abandoned_task_that_never_ran_has_no_iterations(plan_repo: PlanRepo) -> None:
    """A task that is abandoned before its first turn has no iterations (C6)."""
    plan_repo.act("implementer-010", "exit 1\n")
    plan_repo.plan("First", "Second < 1")
    assert plan_repo.run("--retries", "0").code == 1
    plan_repo.repo.ok("task", "abandon", "020", "--reason", "not needed")
    tasks = plan_repo.repo.ok("runs", "show", "--format", "json").json["tasks"]
    assert [task["tries"] for task in tasks] == [plan_repo.turns("010"), 0]


@pytest.mark.full
def test_turns_after_an_answer_to_red_work_are_counted(plan_repo: PlanRepo) -> None:
    """Work that was RED twice, then answered and accepted, has three iterations and one retry (C6)."""
    plan_repo.act("implementer-010", "date +%N >> part_010.txt\n")
    plan_repo.judge("010", "RED", "RED", "GREEN")
    plan_repo.plan("First")
    assert plan_repo.run("--retries", "1").code == 4
    plan_repo.repo.ok("answer", "1", "Shorter")
    assert plan_repo.run("--retries", "1").code == 0
    assert plan_repo.turns("010") == 3
    assert (row(plan_repo)["tries"], row(plan_repo)["retries"]) == (3, 1)


@pytest.mark.full
def test_a_question_about_red_work_is_no_iteration(plan_repo: PlanRepo) -> None:
    """RED work stays in its iteration while a person is asked; the answer starts the next one (C6)."""
    plan_repo.act("implementer-010", "date +%N >> part_010.txt\n")
    plan_repo.judge("010", "RED", "RED", "GREEN")
    plan_repo.plan("First")
    for code, iteration in ((4, 1), (4, 2), (0, 3)):
        assert plan_repo.run("--retries", "0").code == code
        assert plan_repo.task("010")["iteration"] == iteration
        assert f"iteration {iteration}\n" in plan_repo.repo.ok("task", "show", "010").out
        result = row(plan_repo)
        assert (result["iterations"], result["tries"]) == (iteration, iteration)
        assert [review["iteration"] for review in result["reviews"]] == list(range(1, iteration + 1))
        assert facts_of(plan_repo.repo).task("010")["iterations"] == iteration
        if code:
            plan_repo.repo.ok("answer", str(iteration), f"Shorter, {iteration}")
    assert plan_repo.journal("task_started")[-1]["iteration"] == 3
    assert "Shorter, 2" in plan_repo.prompt("010", 3) and "round 2 of 010" in plan_repo.prompt("010", 3)


@pytest.mark.full
def test_accepted_red_work_counts_once(plan_repo: PlanRepo) -> None:
    """Work that a person accepts after a RED review is collected as the next iteration, without a turn (C6)."""
    plan_repo.act("implementer-010", "date +%N >> part_010.txt\n")
    plan_repo.judge("010", "RED")
    plan_repo.plan("First")
    assert plan_repo.run("--retries", "0").code == 4
    (plan_repo.repo.root / ".sow/local/worktrees/010/part_010.txt").write_text("by hand\n")
    plan_repo.repo.ok("approve", "010", "--reason", "It is fine")
    assert plan_repo.run("--retries", "0").code == 0
    assert (plan_repo.repo.root / "part_010.txt").read_text() == "by hand\n"
    assert plan_repo.task("010")["iteration"] == 2 and plan_repo.turns("010") == 1


@pytest.mark.full
def test_a_failed_task_has_its_reason_in_the_inbox(plan_repo: PlanRepo) -> None:
    """The inbox shows why a task failed: the worker's reason, or how its turn ended (C16)."""
    plan_repo.act("implementer-010", "sow task set status failed --reason 'there is no such library'\n")
    plan_repo.act("implementer-020", "echo 'no network here' >&2\nexit 3\n")
    plan_repo.plan("First", "Second")
    assert plan_repo.run("--retries", "0").code == 1
    texts = {item["task"]: item["text"] for item in plan_repo.repo.ok("inbox", "--json").json["items"]}
    assert texts["010"] == "First: there is no such library"
    assert texts["020"].startswith("Second: ") and len(texts["020"]) > len("Second: ")
    plan_repo.act("implementer-010", "date +%N >> part_010.txt\n")
    plan_repo.repo.ok("task", "set", "--id", "010", "status", "in_progress")
    assert "failed_reason" not in plan_repo.task("010")


@pytest.mark.full
def test_a_finding_that_the_worker_ignores_is_shown(plan_repo: PlanRepo) -> None:
    """If the worker changes nothing after a RED review, `runs show` still has the finding (C16)."""
    plan_repo.judge("010", "RED", "RED")
    plan_repo.act("implementer-010-2", "true\n")
    plan_repo.plan("First")
    assert plan_repo.run("--retries", "2").code == 1
    assert "changed nothing; the last review is RED: round 1 of 010" in plan_repo.repo.ok("runs", "show").out
    assert "round 1 of 010" in plan_repo.repo.ok("inbox").out
