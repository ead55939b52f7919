"""sow answer: the worker gets the answer, and the command resumes it or names the command that does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import Repo
from support.plan_repo import WORK, PlanRepo
from support.quick_cases import few_of
from support.simulated_workers import WorkerRepo, script, wait_for

ASK = "sow note add --description 'Which port?' --context x --category requirements\n"
ASK += "sow note escalate 1 --reason 'only a person knows'\nsow task set status paused\n"
PAUSE: list[dict[str, Any]] = [{"ask": "Which port?"}]
WRITE: list[dict[str, Any]] = [{"write": {"path": "port.txt", "text": "8080"}}, {"status": "needs_review"}]
LATER = "press Enter to leave it open"


def test_a_script_is_told_which_command_resumes_the_worker(worker: WorkerRepo) -> None:
    """Without a terminal no worker is resumed; the printed command works, and its prompt has the answer (A2)."""
    worker.scenario(PAUSE, WRITE)
    assert worker.spawn().code == 0
    answered = worker.repo.ok("answer", "1", "Use port 8080")
    assert answered.out.splitlines()[-1] == 'resume its worker with the answer: sow agent resume 010 "Continue"'
    assert worker.outcomes() == ["done"]
    assert worker.resume("Continue").out.splitlines()[-1] == "task 010: status is needs_review"
    prompt = worker.transcript(2, "prompt").read_text()
    assert prompt.startswith("Continue\n") and "Use port 8080" in prompt
    assert worker.resume("Shorter, please").code == 0
    assert "Use port 8080" not in worker.transcript(3, "prompt").read_text()


def test_an_answer_is_repeated_until_a_turn_ends_well(worker: WorkerRepo) -> None:
    """If the turn with the answer fails, the next one gets it again; the turn after a good one does not (A2)."""
    worker.scenario(PAUSE, [{"exit": 9}], WRITE, WRITE)
    assert worker.spawn().code == 0
    assert worker.repo.sow("answer", "1", "Use port 8080", "--resume").code == 1
    assert worker.resume("Continue").code == 0
    assert "Use port 8080" in worker.transcript(3, "prompt").read_text()
    assert worker.resume("Shorter, please").code == 0
    assert "Use port 8080" not in worker.transcript(4, "prompt").read_text()


@pytest.mark.full
def test_a_run_repeats_an_answer_until_a_turn_ends_well(plan_repo: PlanRepo) -> None:
    """A run repeats an answer, too; its retry begins another iteration (A2)."""
    plan_repo.act("implementer-010-1", ASK)
    plan_repo.act("implementer-010-2", "exit 9\n")
    plan_repo.plan("First")
    assert plan_repo.run().code == 4
    plan_repo.repo.ok("answer", "1", "Use port 8080")
    assert plan_repo.run().code == 1
    plan_repo.repo.ok("task", "set", "--id", "010", "status", "in_progress")
    assert plan_repo.run().code == 0
    assert "Use port 8080" in plan_repo.prompt("010", 3)


@pytest.mark.full
def test_resume_continues_the_worker_at_once(worker: WorkerRepo) -> None:
    """With --resume the worker continues at once with the answer as its prompt, which is stored once (A2)."""
    worker.scenario(PAUSE, WRITE)
    assert worker.spawn().code == 0
    answered = worker.repo.ok("answer", "010", "Use port 8080", "--resume")
    assert answered.out.splitlines()[-1] == "task 010: status is needs_review"
    assert worker.transcript(2, "prompt").read_text().startswith("Use port 8080\n")
    assert [entry["text"] for entry in worker.repo.task("010")["feedback"]] == ["Use port 8080"]


@pytest.mark.full
def test_an_answer_on_a_terminal_resumes_the_worker(worker: WorkerRepo, on_terminal: Callable[..., Any]) -> None:
    """A person at a terminal needs one command, and is asked there again; --no-resume only records the answer (A2)."""
    worker.scenario(PAUSE, PAUSE, WRITE)
    spawned = worker.spawn()
    assert spawned.code == 0 and 'next: sow answer 1 "…"' in spawned.err
    screen = on_terminal(worker.repo, "answer", "1", "Use port 8080").until("task 010: status is paused")
    code, shown = screen.until(LATER).type(b"\x03").end()
    assert code == 130 and 'sow answer 010 "…"' in shown[shown.index(LATER) :], shown
    code, shown = on_terminal(worker.repo, "answer", "2", "Still 8080", "--no-resume").end()
    assert code == 0 and 'sow agent resume 010 "Continue"' in shown, shown
    assert worker.outcomes() == ["done", "done"]


@pytest.mark.full
def test_a_spawned_worker_asks_on_the_terminal(worker: WorkerRepo, on_terminal: Callable[..., Any]) -> None:
    """One call spawns, asks, and resumes with the answer (C15)."""
    worker.scenario(PAUSE, WRITE)
    screen = on_terminal(worker.repo, "agent", "spawn", "implementer", "010")
    code, shown = screen.until(LATER).type(b"Use port 8080\n").end()
    assert code == 0 and "task 010: status is needs_review" in shown, shown
    assert worker.transcript(2, "prompt").read_text().startswith("Use port 8080\n")


def test_a_worker_that_cannot_be_resumed_starts_anew_with_the_answer(worker: WorkerRepo) -> None:
    """A CLI without sessions gets the answer in the prompt of a new one (A2)."""
    script(
        worker,
        f"#!/bin/sh\ncat > {worker.folder}/prompt\n[ -e asked ] && echo x > port.txt && exit\ntouch asked\n{ASK}",
    )
    worker.repo.environment["SOW_AGENTS_IMPLEMENTER"] = "script"
    assert worker.spawn().code == 0
    answered = worker.repo.ok("answer", "1", "Use port 8080", "--resume")
    assert answered.out.splitlines()[-1] == "task 010: status is needs_review"
    assert "Use port 8080" in (worker.folder / "prompt").read_text()


@pytest.mark.full
def test_an_answer_for_a_run_names_its_command(plan_repo: PlanRepo) -> None:
    """A live run continues by itself after the answer; otherwise the hint is the same call with options (A2, C10)."""
    plan_repo.act("implementer-010-1", ASK)
    plan_repo.act("implementer-020", f"until test -e {plan_repo.folder}/go; do sleep 0.05; done\n{ASK}")
    plan_repo.plan("First", "Second")
    run = plan_repo.start("--retries", "1")
    wait_for(lambda: plan_repo.has_happened("question", task="010"))
    answered = plan_repo.repo.ok("answer", "1", "Use port 8080", "--resume")
    assert answered.out.splitlines()[-1] == "the active run continues it"
    (plan_repo.folder / "go").touch()
    run.communicate(timeout=300)
    assert run.returncode == 4 and plan_repo.statuses() == {"010": "completed", "020": "paused"}
    plan_repo.act("implementer-020", WORK)
    answered = plan_repo.repo.ok("answer", "020", "Use port 8081", "--resume")
    expected = "continue its run: sow run plan.yaml --retries 1"
    assert answered.out.splitlines()[-1] == expected
    assert plan_repo.repo.ok("status", "--json").json["next"]["command"] == "sow run plan.yaml --retries 1"
    assert plan_repo.run("--retries", "1").code == 0
    assert "Use port 8081" in plan_repo.prompt("020", 2)


@pytest.mark.full
def test_a_run_asks_on_its_terminal_and_continues(plan_repo: PlanRepo, on_terminal: Callable[..., Any]) -> None:
    """Both questions are asked when no other work is possible, and the same call ends with exit 0 (C15)."""
    plan_repo.act("implementer-010-1", ASK)
    plan_repo.act("implementer-020-1", ASK.replace("port", "host"))
    plan_repo.plan("First", "Second", "Third < 1")
    screen = on_terminal(plan_repo.repo, "run", "plan.yaml", "--max-concurrency", "1")
    for number, text in ((1, b"Use Port 8080\n"), (2, b"Use @example\n")):
        screen.until(f"Your answer to {number} ({LATER}").type(text)
    code, shown = screen.end()
    assert code == 0, shown
    assert set(plan_repo.statuses().values()) == {"completed"}
    assert len(plan_repo.runs()) == 1
    assert "Use Port 8080" in plan_repo.prompt("010", 2) + plan_repo.prompt("020", 2)


@few_of(("check", "word"), [("true", "accept"), ("false", "waive")], 1)
def test_one_word_accepts_refused_work_on_the_terminal(
    plan_repo: PlanRepo, on_terminal: Callable[..., Any], check: str, word: str
) -> None:
    """The prompt names the word that approves, or waives the failed checks; the run merges the work (D5)."""
    plan_repo.judge("010", "RED", "RED")
    plan_repo.plan({"name": "First", "test_commands": [check]})
    screen = on_terminal(plan_repo.repo, "run", "plan.yaml", "--retries", "0")
    code, shown = screen.until(f"'{word}' accepts the work").type(f"{word}\n".encode()).end()
    assert code == 0, shown
    assert plan_repo.statuses() == {"010": "completed"} and plan_repo.turns("010") == 1
    assert [waiver["command"] for waiver in plan_repo.task("010").get("waivers", [])] == ["false"] * (word == "waive")


@few_of("word", ["waive", "Accept"], 0)
def test_one_word_accepts_refused_work_without_a_terminal(plan_repo: PlanRepo, word: str) -> None:
    """`sow answer` takes the same words as the prompt, and the next run merges the work without another turn."""
    plan_repo.judge("010", "RED", "RED")
    plan_repo.plan({"name": "First", "test_commands": ["false" if word == "waive" else "true"]})
    assert plan_repo.run("--retries", "0", "--yes").code == 4
    assert "is approved" in plan_repo.repo.ok("answer", "1", word).out
    assert plan_repo.run("--retries", "0", "--yes").code == 0
    assert plan_repo.statuses() == {"010": "completed"} and plan_repo.turns("010") == 1


@pytest.mark.full
def test_ctrl_c_at_a_question_leaves_it_open(plan_repo: PlanRepo, on_terminal: Callable[..., Any]) -> None:
    """Ctrl-C and an empty line change nothing; the report names the command for the answer (C15)."""
    plan_repo.act("implementer-010-1", ASK)
    plan_repo.plan("First")
    code, shown = on_terminal(plan_repo.repo, "run", "plan.yaml").until(LATER).type(b"\x03").end()
    assert code == 130 and "Traceback" not in shown, shown
    assert "sow answer 1" in shown[shown.index(LATER) :]
    code, shown = on_terminal(plan_repo.repo, "run", "plan.yaml").until(LATER).type(b"\n").end()
    assert code == 4 and plan_repo.task("010")["question"]["number"] == 1, shown
    assert plan_repo.turns("010") == 1


@pytest.mark.full
def test_an_answer_from_another_terminal_continues_the_run(
    plan_repo: PlanRepo, on_terminal: Callable[..., Any]
) -> None:
    """If a question is answered elsewhere while the prompt waits, the run continues, and no second one starts (C15)."""
    plan_repo.act("implementer-010-1", ASK)
    plan_repo.plan("First")
    screen = on_terminal(plan_repo.repo, "run", "plan.yaml").until(LATER)
    second = plan_repo.run()
    assert (second.code, " is in progress (pid " in second.err) == (4, True), second
    answered = plan_repo.repo.ok("answer", "1", "Use port 8080")
    assert answered.out.splitlines()[-1] == "the active run continues it"
    code, shown = screen.end()
    assert code == 0 and "Use port 8080" in plan_repo.prompt("010", 2), shown


def test_both_options_at_once_are_refused(repo: Repo) -> None:
    """--resume and --no-resume contradict each other."""
    refused = repo.sow("answer", "1", "x", "--resume", "--no-resume")
    assert refused.code == 2 and "--no-resume" in refused.err
