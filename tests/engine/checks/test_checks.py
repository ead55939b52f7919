"""Evidence in a run: the plan's commands are run by the runner, and what they show cannot be talked away."""

from __future__ import annotations

import time

from support.plan_repo import Harbour

APPEND = 'date +%N >> "part_$SOW_TASK.txt"\n'


def test_work_with_a_failed_test_is_not_reviewed(harbour: Harbour) -> None:
    """Work whose test fails goes back with what the test printed, and no review is bought for it (C14)."""
    harbour.act("implementer-010-2", "echo wanted > wanted.txt\n")
    harbour.plan({"test_commands": ["cat wanted.txt"]})
    result = harbour.run()
    assert result.code == 0, result
    assert "`cat wanted.txt` failed (exit 1)" in harbour.prompt("010", 2)
    assert "No such file" in harbour.prompt("010", 2)
    assert [
        (each["iteration"], each["passed"]) for each in harbour.task("010")["evidence"] if each["kind"] == "test"
    ] == [
        (1, False),
        (2, True),
    ]
    assert harbour.turns("010", "quality-control") == 1
    assert [each["iteration"] for each in harbour.task("010")["reviews"]] == [2]


def test_a_question_about_a_failed_test_shows_its_output(harbour: Harbour) -> None:
    """After the last retry the question has the check's output, and no reviewer was asked (C14)."""
    harbour.act("implementer", APPEND)
    harbour.plan({"test_commands": ["cat wanted.txt"]})
    result = harbour.run("--retries", "1")
    assert result.code == 4, result
    asked = harbour.task("010")["question"]["text"]
    assert asked.startswith("failed: cat wanted.txt, after 1 retry")
    assert "No such file" in asked
    assert harbour.turns("010", "quality-control") == 0


def test_a_test_that_stays_red_is_a_question(harbour: Harbour) -> None:
    """Without reviews a failing test is sent back as often, and then asked about; the result is never GREEN."""
    harbour.act("implementer", APPEND)
    harbour.plan({"test_commands": ["false"]})
    result = harbour.run("--review", "off", "--retries", "1")
    assert result.code == 4, result
    assert harbour.turns("010") == 2
    assert harbour.task("010")["result"] == "RED"


def test_every_criterion_keeps_its_evidence(harbour: Harbour) -> None:
    """A criterion's command leaves its exit, the digest of its output and the tree; `expected` names its exit."""
    criterion = {
        "criterion": "No such text",
        "verification": {"command": "grep -q absent part_010.txt", "expected": "exit 1"},
    }
    harbour.plan({"success_criteria": ["It is short", criterion], "test_commands": ["grep by part_010.txt"]})
    result = harbour.run()
    assert result.code == 0, result
    kinds = {each["kind"]: each for each in harbour.task("010")["evidence"]}
    assert (kinds["criterion"]["exit"], kinds["criterion"]["passed"]) == (1, True)
    assert (kinds["test"]["exit"], kinds["test"]["passed"]) == (0, True)
    assert len(kinds["test"]["output"]) == 64
    assert kinds["test"]["tree"] == harbour.task("010")["work"]["tree"]


def test_checks_are_no_workers(harbour: Harbour) -> None:
    """The commands of a plan see no SOW_* variable but the mark, and none of the user's secrets."""
    script = harbour.folder / "look"
    script.write_text(f"#!/bin/sh\nenv > {harbour.folder}/seen\n")
    script.chmod(0o755)
    harbour.plan({"test_commands": [str(script)]})
    assert harbour.run(MY_API_TOKEN="dummy").code == 0
    seen = (harbour.folder / "seen").read_text().splitlines()
    assert {line.partition("=")[0] for line in seen if line.startswith("SOW_")} <= {"SOW_MARK"}
    assert not [line for line in seen if "dummy" in line]


def test_what_a_task_builds_on_is_looked_at_first(harbour: Harbour) -> None:
    """A dependency check sees the merged work of other tasks; one that fails is a question before any turn."""
    harbour.plan(
        "First",
        {"depends_on": [1], "runtime_metadata": {"dependency_checks": [{"command": "test -f part_010.txt"}]}},
        {"runtime_metadata": {"dependency_checks": [{"command": "test -f nowhere.txt"}]}},
    )
    result = harbour.run()
    assert result.code == 4, result
    assert harbour.statuses() == {"010": "completed", "020": "completed", "030": "paused"}
    assert harbour.turns("030") == 0
    assert "test -f nowhere.txt" in harbour.task("030")["question"]["text"]


def test_commands_need_consent(harbour: Harbour) -> None:
    """A plan with a command starts nothing without consent, shows it, and remembers --yes for its text."""
    harbour.configure(checks={"allow": []})
    harbour.plan({"test_commands": ["cat part_010.txt | grep by"]})
    before = harbour.repo.git("for-each-ref")
    refused = harbour.run()
    assert refused.code == 4
    assert "cat part_010.txt | grep by" in refused.err
    assert "--yes" in refused.err
    assert not harbour.repo.project.exists()
    assert harbour.repo.git("for-each-ref") == before
    assert harbour.run("--yes").code == 0
    assert harbour.task("010")["evidence"][0]["passed"]
    assert harbour.run().code == 0


def test_a_command_that_hangs_is_stopped(harbour: Harbour) -> None:
    """A check that takes longer than checks.timeout is ended, counts as failed, and leaves no process."""
    harbour.configure(checks={"timeout": "1s"})
    harbour.plan({"test_commands": ["sleep 300"]})
    began = time.monotonic()
    result = harbour.run("--retries", "0")
    assert result.code == 4, result
    assert time.monotonic() - began < 200
    assert harbour.task("010")["evidence"][0]["exit"] == 124
    assert harbour.alive() == []
