"""Evidence in a run: sow runs the plan's commands itself, and a worker cannot change their results."""

from __future__ import annotations

import time

import pytest
from support.plan_repo import PlanRepo

APPEND = 'date +%N >> "part_$SOW_TASK.txt"\n'


def test_work_with_a_failed_test_is_not_reviewed(plan_repo: PlanRepo) -> None:
    """Work whose test fails is sent back with the test's output, and no reviewer is asked (C14)."""
    plan_repo.act("implementer-010-2", "echo wanted > wanted.txt\n")
    plan_repo.plan({"test_commands": ["cat wanted.txt"]})
    result = plan_repo.run()
    assert result.code == 0, result
    assert "`cat wanted.txt` failed (exit 1)" in plan_repo.prompt("010", 2)
    assert "No such file" in plan_repo.prompt("010", 2)
    assert [
        (evidence["iteration"], evidence["passed"])
        for evidence in plan_repo.task("010")["evidence"]
        if evidence["kind"] == "test"
    ] == [
        (1, False),
        (2, True),
    ]
    assert plan_repo.turns("010", "quality-control") == 1
    assert [review["iteration"] for review in plan_repo.task("010")["reviews"]] == [2]


@pytest.mark.full
def test_a_question_about_a_failed_test_shows_its_output(plan_repo: PlanRepo) -> None:
    """After the last retry the question has the check's output, and no reviewer was asked (C14)."""
    plan_repo.act("implementer", APPEND)
    plan_repo.plan({"test_commands": ["cat wanted.txt"]})
    result = plan_repo.run("--retries", "1")
    assert result.code == 4, result
    asked = plan_repo.task("010")["question"]["text"]
    assert asked.startswith("`cat wanted.txt` fails, after 1 retry")
    assert "No such file" in asked
    assert plan_repo.turns("010", "quality-control") == 0


@pytest.mark.full
def test_a_test_that_stays_red_is_a_question(plan_repo: PlanRepo) -> None:
    """Without reviews a failing test is sent back equally often, and then a person is asked; it is never GREEN."""
    plan_repo.act("implementer", APPEND)
    plan_repo.plan({"test_commands": ["false"]})
    result = plan_repo.run("--review", "off", "--retries", "1")
    assert result.code == 4, result
    assert plan_repo.turns("010") == 2
    assert plan_repo.task("010")["result"] == "RED"


@pytest.mark.full
def test_every_criterion_keeps_its_evidence(plan_repo: PlanRepo) -> None:
    """The evidence of a criterion has exit code, digest of the output and tree; `expected` names the exit code."""
    criterion = {
        "criterion": "No such text",
        "verification": {"command": "grep -q absent part_010.txt", "expected": "exit 1"},
    }
    plan_repo.plan({"success_criteria": ["It is short", criterion], "test_commands": ["grep by part_010.txt"]})
    result = plan_repo.run()
    assert result.code == 0, result
    kinds = {evidence["kind"]: evidence for evidence in plan_repo.task("010")["evidence"]}
    assert (kinds["criterion"]["exit"], kinds["criterion"]["passed"]) == (1, True)
    assert (kinds["test"]["exit"], kinds["test"]["passed"]) == (0, True)
    assert len(kinds["test"]["output"]) == 64
    assert kinds["test"]["tree"] == plan_repo.task("010")["work"]["tree"]


@pytest.mark.full
def test_checks_see_few_variables(plan_repo: PlanRepo) -> None:
    """The commands of a plan see no SOW_* variable but the mark, and none of the user's secrets."""
    script = plan_repo.folder / "look"
    script.write_text(f"#!/bin/sh\nenv > {plan_repo.folder}/seen\n")
    script.chmod(0o755)
    plan_repo.plan({"test_commands": [str(script)]})
    assert plan_repo.run(MY_API_TOKEN="dummy").code == 0
    seen = (plan_repo.folder / "seen").read_text().splitlines()
    assert {line.partition("=")[0] for line in seen if line.startswith("SOW_")} <= {"SOW_MARK"}
    assert not [line for line in seen if "dummy" in line]


@pytest.mark.full
def test_dependency_checks_run_before_the_first_turn(plan_repo: PlanRepo) -> None:
    """A dependency check sees the merged work of other tasks; one that fails is a question before any turn."""
    plan_repo.plan(
        "First",
        {"depends_on": [1], "runtime_metadata": {"dependency_checks": [{"command": "test -f part_010.txt"}]}},
        {"runtime_metadata": {"dependency_checks": [{"command": "test -f nowhere.txt"}]}},
    )
    result = plan_repo.run()
    assert result.code == 4, result
    assert plan_repo.statuses() == {"010": "completed", "020": "completed", "030": "paused"}
    assert plan_repo.turns("030") == 0
    assert "test -f nowhere.txt" in plan_repo.task("030")["question"]["text"]


@pytest.mark.full
def test_commands_need_consent(plan_repo: PlanRepo) -> None:
    """A plan with a command starts nothing without consent, shows it, and remembers --yes for its text."""
    plan_repo.configure(checks={"allow": []})
    plan_repo.plan({"test_commands": ["cat part_010.txt | grep by"]})
    before = plan_repo.repo.git("for-each-ref")
    refused = plan_repo.run()
    assert refused.code == 4
    assert "cat part_010.txt | grep by" in refused.err
    assert "--yes" in refused.err
    assert not plan_repo.repo.project.exists()
    assert plan_repo.repo.git("for-each-ref") == before
    assert plan_repo.run("--yes").code == 0
    assert plan_repo.task("010")["evidence"][0]["passed"]
    assert plan_repo.run().code == 0


@pytest.mark.full
def test_a_hanging_command_is_ended(plan_repo: PlanRepo) -> None:
    """A check that takes longer than checks.timeout is ended, counts as failed, and leaves no process."""
    plan_repo.configure(checks={"timeout": "1s"})
    plan_repo.plan({"test_commands": ["sleep 300"]})
    began = time.monotonic()
    result = plan_repo.run("--retries", "0")
    assert result.code == 4, result
    assert time.monotonic() - began < 200
    assert plan_repo.task("010")["evidence"][0]["exit"] == 124
    assert plan_repo.alive() == []
