"""Questions in a run: they are in the inbox, an answer continues the task, and open notes block it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.plan_repo import WORK, PlanRepo
from support.simulated_workers import wait_for

ASK = "sow note add --description 'Which port?' --context x --category requirements\n"
ASK += "sow note escalate 1 --reason 'only a person knows'\nsow task set status paused\n"


@contextmanager
def slow_reader(path: Path) -> Iterator[tuple[int, Callable[[], None], Callable[[], None]]]:
    """Returns a pipe to write to, and functions that fill it, so that its writer waits, and empty it."""
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    writer, filler = os.open(path, os.O_WRONLY), os.open(path, os.O_WRONLY | os.O_NONBLOCK)

    def fill() -> None:
        for size in (4096, 1):
            with suppress(BlockingIOError):
                while True:
                    os.write(filler, b"\n" * size)

    def empty() -> None:
        with suppress(BlockingIOError):
            while True:
                os.read(reader, 4096)

    try:
        yield writer, fill, empty
    finally:
        for item in (reader, writer, filler):
            os.close(item)


def test_a_workers_question_is_in_the_inbox(plan_repo: PlanRepo) -> None:
    """A paused task's question is ranked by the work that waits for it, and the exit code is 4."""
    plan_repo.act("implementer-010", ASK)
    plan_repo.act("implementer-020", ASK)
    plan_repo.plan("First", "Second", "Third < 2", "Fourth < 3", "Fifth")
    result = plan_repo.run()
    assert result.code == 4, result
    assert "asks question 1: Which port?" in result.out
    assert plan_repo.statuses()["050"] == "completed"
    items = plan_repo.repo.ok("inbox", "--json").json["items"]
    assert [(item["task"], item["blocks"]) for item in items] == [("020", 2), ("010", 0)]
    assert {entry["number"] for entry in plan_repo.journal("question")} == {1, 2}


@pytest.mark.full
def test_an_answer_during_the_run_is_used(plan_repo: PlanRepo) -> None:
    """While other tasks run, `sow answer` continues the task in its session within seconds."""
    plan_repo.act("implementer-010-1", ASK)
    plan_repo.act(
        "implementer-020", f"until test -e {plan_repo.folder}/implementer-010-2.prompt; do sleep 0.05; done\n{WORK}"
    )
    plan_repo.plan("First", "Second")
    run = plan_repo.start("--timeout", "120s")
    wait_for(lambda: plan_repo.has_happened("question", task="010"))
    plan_repo.repo.ok("answer", "1", "Port 8080")
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err)
    assert "Port 8080" in plan_repo.prompt("010", 2)
    assert plan_repo.journal("answered")[0]["number"] == 1
    assert plan_repo.task("010")["iteration"] == 2


@pytest.mark.full
def test_an_answer_before_the_end_of_the_turn_is_reported(plan_repo: PlanRepo) -> None:
    """If the answer comes before the worker's turn has ended, its end in the journal has question and answer."""
    plan_repo.act("implementer-010-1", f"{ASK}until test -e {plan_repo.folder}/go; do sleep 0.05; done\n")
    plan_repo.plan("First")
    run = plan_repo.start()
    wait_for(lambda: plan_repo.turns("010") == 1 and plan_repo.task("010")["status"] == "paused")
    plan_repo.repo.ok("answer", "1", "Port 8080")
    (plan_repo.folder / "go").touch()
    out, err = run.communicate(timeout=60)
    assert run.returncode == 0, (out, err)
    assert [entry["number"] for entry in plan_repo.journal("question")] == [1]
    assert [(entry["number"], entry["origin"]) for entry in plan_repo.journal("answered")] == [(1, "ada")]
    events = [entry["event"] for entry in plan_repo.journal("question", "answered", "turn_started")]
    assert events[:4] == ["turn_started", "question", "answered", "turn_started"]


@pytest.mark.full
def test_an_answer_right_after_the_turn_is_reported(plan_repo: PlanRepo) -> None:
    """An answer between the end of the turn and the run's next read continues the job, and its end has the answer.

    The run waits at that moment because its output is not read.
    """
    wait = f"until test -e {plan_repo.folder}/%s; do sleep 0.05; done\n"
    plan_repo.act("implementer-010-1", f"exec > /dev/null 2>&1\n{ASK}{wait % 'go'}")
    plan_repo.act("implementer-010-2", f"{wait % 'end'}{WORK}")
    plan_repo.act("implementer-020", f"{wait % 'implementer-010-2.prompt'}{WORK}")
    plan_repo.plan("First", "Second")
    with slow_reader(plan_repo.folder / "printed") as (writer, fill, empty):
        run = plan_repo.start("--json", stdout=writer)
        wait_for(lambda: plan_repo.turns("020") == 1 and plan_repo.task("010")["status"] == "paused")
        assert len(plan_repo.journal("turn_started")) == 2  # and no more is told before a turn ends
        fill()
        (plan_repo.folder / "go").touch()
        wait_for(lambda: plan_repo.has_happened("turn_ended", task="010"))
        plan_repo.repo.ok("answer", "1", "Port 8080")
        empty()
        wait_for(lambda: plan_repo.has_happened("task_ended", task="020"))
        (plan_repo.folder / "end").touch()
        assert run.wait(timeout=300) == 0
    assert "Port 8080" in plan_repo.prompt("010", 2)
    entries = [(entry["event"], entry["task"]) for entry in plan_repo.journal("question", "answered", "task_ended")]
    assert entries == [("question", "010"), ("task_ended", "020"), ("answered", "010"), ("task_ended", "010")]
    assert plan_repo.journal("answered")[0]["origin"] == "ada"


@pytest.mark.full
def test_an_answer_after_the_run_is_used_by_the_next(plan_repo: PlanRepo) -> None:
    """The same command continues with the answer, in the same run and the same session."""
    plan_repo.act("implementer-010-1", ASK)
    plan_repo.plan("First", "Second < 1")
    assert plan_repo.run().code == 4
    assert plan_repo.run().code == 4
    assert plan_repo.turns("010") == 1
    plan_repo.repo.ok("answer", "1", "Port 8080")
    result = plan_repo.run()
    assert result.code == 0, result
    assert "Port 8080" in plan_repo.prompt("010", 2)
    assert len(plan_repo.runs()) == 1
    assert [(entry["number"], entry["origin"]) for entry in plan_repo.journal("answered")] == [(1, "ada")]
    assert plan_repo.statuses() == {"010": "completed", "020": "completed"}
    assert len(list((plan_repo.repo.root / ".sow/local/sessions/010").iterdir())) == 2  # the worker's, and a review


@pytest.mark.full
def test_an_open_note_blocks_the_hand_in(plan_repo: PlanRepo) -> None:
    """A worker with an open note cannot hand in: it is reminded, and its work counts when the note is resolved."""
    plan_repo.act("implementer-010-1", f"{WORK}sow note add --description 'Port 80?' --context x --category detail\n")
    plan_repo.act("implementer-010-2", "sow note resolve 1 --resolution yes\nsow task set status needs_review\n")
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 0, result
    assert (plan_repo.turns("010"), plan_repo.turns("010", "quality-control")) == (2, 1)
    assert "Resolve or escalate every open note first" in plan_repo.prompt("010", 2)


@pytest.mark.full
def test_work_with_an_open_note_is_not_done(plan_repo: PlanRepo) -> None:
    """Work with an unresolved note is never reviewed or merged."""
    plan_repo.act("implementer-010", f"{WORK}sow note add --description 'Port 80?' --context x --category detail\n")
    plan_repo.plan("First")
    assert plan_repo.run().code == 1
    assert plan_repo.turns("010", "quality-control") == 0
    assert not (plan_repo.repo.root / "part_010.txt").exists()


@pytest.mark.full
def test_the_report_has_answers_between_two_calls(plan_repo: PlanRepo) -> None:
    """A question that was answered between two calls is answered in the report, with the person's name."""
    plan_repo.act("implementer-010-1", ASK)
    plan_repo.plan("First")
    assert plan_repo.run().code == 4
    assert "Which port?" in plan_repo.repo.ok("runs", "report").out
    plan_repo.repo.ok("answer", "1", "8080")
    (asked,) = plan_repo.repo.ok("runs", "report", "--format", "json").json["questions"]
    assert (asked["number"], asked["origin"]) == (1, "ada")
    assert asked["answered_at"]
    assert asked["waited_seconds"] >= 0


@pytest.mark.full
def test_a_hand_edit_is_reported_and_kept(plan_repo: PlanRepo) -> None:
    """A person's edit in the state of an idle task does not count, is reported, and is kept aside."""
    plan_repo.act("implementer-010", f"until test -e {plan_repo.folder}/go; do sleep 0.05; done\n{WORK}")
    plan_repo.plan("First", "Second < 1")
    run = plan_repo.start()
    wait_for(lambda: plan_repo.turns("010") == 1)
    path = plan_repo.repo.task_folder("020") / "state.yaml"
    path.write_text(path.read_text().replace("priority: medium", "priority: high"))
    (plan_repo.folder / "go").touch()
    out, _ = run.communicate(timeout=300)
    assert run.returncode == 0, out
    (aside,) = plan_repo.repo.root.glob(".sow/local/edited/020-*.yaml")
    assert "priority: high" in aside.read_text()
    assert "priority: medium" in path.read_text()
    assert f"the edit is in {aside.relative_to(plan_repo.repo.root)}" in out.decode()
