"""Saved answers are used in runs, for questions only, and their origin is recorded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Repo
from support.plan_repo import WORK, PlanRepo

from sow.domain.text.similar_text import without_details

QUESTION = "Which database shall the shop use?"
ASK = f'sow task set status paused --reason "{QUESTION}"\n'
WORKER = {"SOW_TASK": "010", "SOW_AGENT": "implementer"}


@pytest.fixture
def asking(plan_repo: PlanRepo) -> PlanRepo:
    """Two tasks in sequence whose workers ask the same and work when they have an answer."""
    for task in ("010", "020"):
        plan_repo.act(f"implementer-{task}-1", ASK)
        plan_repo.act(f"implementer-{task}", WORK)
    plan_repo.plan("First", "Second < 1")
    assert plan_repo.run().code == 4
    return plan_repo


@pytest.fixture
def paused(task_repo: Repo) -> Repo:
    """A task with a question."""
    task_repo.ok("task", "set", "--id", "010", "status", "paused", "--reason", QUESTION)
    return task_repo


def file_of(repo: Repo) -> Path:
    return Path(repo.environment["HOME"], ".config", "sow", "answers.yaml")


def test_a_saved_answer_is_used_at_once(asking: PlanRepo):
    """The answer to the first task settles the same question of the second in the same run, and the output says so."""
    out = asking.repo.ok("answer", "1", "Postgres", "--always").out
    assert "saved the answer" in out
    result = asking.run()
    assert result.code == 0, result
    (asked,) = asking.task("020")["questions"]
    assert asked["text"] == QUESTION
    assert asked["answer"].startswith("Postgres\n")
    assert asked["answered_by"] == "standing-answer"
    assert [entry["origin"] for entry in asking.journal("answered") if entry["task"] == "020"] == ["standing"]
    assert "(standing)" in result.out
    assert "Postgres" in asking.prompt("020", 2)
    assert "The user's saved answer of" in asking.prompt("020", 2)


@pytest.mark.full
def test_a_saved_answer_is_used_in_later_runs(asking: PlanRepo):
    """The next run of the repository uses the answer, and its report names it as a saved one."""
    asking.repo.ok("answer", "1", "Postgres", "--always")
    assert asking.run().code == 0
    asking.act("implementer-030-1", ASK)
    asking.act("implementer-030", WORK)
    plan = asking.repo.root / "more.md"
    plan.write_text("# More\n\n## Task 3: Third\n\nMake it.\n")
    result = asking.run(plan="more.md")
    assert result.code == 0, result
    assert len(asking.runs()) == 2
    (messages,) = asking.repo.ok("runs", "show", "--json").json["questions"]
    assert (messages["task"], messages["text"], messages["origin"]) == ("030", QUESTION, "standing")
    assert "answered by standing" in asking.repo.ok("runs", "show", "--format", "md").out


@pytest.mark.full
def test_without_always_an_answer_is_used_once(asking: PlanRepo):
    """An ordinary answer is for its own question."""
    asking.repo.ok("answer", "1", "Postgres")
    assert asking.run().code == 4
    assert asking.statuses() == {"010": "completed", "020": "paused"}
    assert not file_of(asking.repo).exists()


@pytest.mark.full
def test_another_question_is_not_answered(asking: PlanRepo):
    """A question in other words waits for a person."""
    asking.act("implementer-020-1", 'sow task set status paused --reason "Which colour has the button?"\n')
    asking.repo.ok("answer", "1", "Postgres", "--always")
    assert asking.run().code == 4
    assert asking.statuses()["020"] == "paused"


@pytest.mark.full
def test_a_repeated_question_is_a_loop(asking: PlanRepo):
    """A worker that asks the same again gets the saved answer twice, and then a person decides."""
    asking.act("implementer-020", ASK)
    asking.repo.ok("answer", "1", "Postgres", "--always")
    assert asking.run().code == 4
    assert asking.statuses()["020"] == "paused"
    assert len(asking.task("020")["questions"]) == 2


@pytest.mark.full
def test_questions_of_the_run_are_never_answered(plan_repo: PlanRepo):
    """A review that stays RED is a question of the run: no saved answer approves work."""
    plan_repo.act("implementer", "echo more >> part_010.txt\n")
    plan_repo.judge("010", "RED", "RED", "RED", "RED")
    plan_repo.plan("First")
    assert plan_repo.run("--retries", "0").code == 4
    question = without_details(plan_repo.task("010")["question"]["text"])
    plan_repo.repo.ok("answer", "1", "Take it", "--always")
    assert plan_repo.run("--retries", "0").code == 4
    again = without_details(plan_repo.task("010")["question"]["text"])
    assert (question, again) == tuple(f"the review is RED: round {number} of 010" for number in (1, 2))
    (existing,) = plan_repo.repo.ok("answers", "--json").json["answers"]
    assert existing["question"] == question
    assert [entry["origin"] for entry in plan_repo.journal("answered")] == ["ada"]


def test_saved_answers_are_listed_and_forgotten(paused: Repo):
    """The list has the answers of this repository, and a forgotten one is no longer used."""
    assert "no saved answers" in paused.ok("answers").out
    paused.ok("answer", "1", "Postgres", "--always")
    (existing,) = paused.ok("answers", "--json").json["answers"]
    assert (existing["number"], existing["question"], existing["answer"]) == (1, QUESTION, "Postgres")
    assert QUESTION in paused.ok("answers").out
    assert paused.ok("answers", "forget", "1").out == f"deleted: {QUESTION}\n"
    assert paused.ok("answers", "--json").json == {"answers": []}


def test_a_new_answer_replaces_the_old_one(paused: Repo):
    """One question has one answer: the last one that was given."""
    paused.ok("answer", "1", "Postgres", "--always")
    paused.ok("task", "set", "--id", "010", "status", "paused", "--reason", QUESTION.upper())
    paused.ok("answer", "2", "SQLite", "--always")
    assert [answer["answer"] for answer in paused.ok("answers", "--json").json["answers"]] == ["SQLite"]


def test_saved_answers_belong_to_one_repository(paused: Repo, tmp_path: Path):
    """Another repository has none of them; other worktrees of the same one have all."""
    paused.ok("answer", "1", "Postgres", "--always")
    paused.git("worktree", "add", "-q", "--detach", str(tmp_path / "second"))
    (tmp_path / "other").mkdir()
    paused.git("init", "-q", str(tmp_path / "other"))
    assert len(paused.ok("answers", "--json", cwd=tmp_path / "second").json["answers"]) == 1
    assert paused.ok("answers", "--json", cwd=tmp_path / "other").json == {"answers": []}
    assert paused.sow("answers", "forget", "1", cwd=tmp_path / "other").code == 2
    assert len(paused.ok("answers", "--json").json["answers"]) == 1


def test_no_repository_can_bring_answers(paused: Repo):
    """Saved answers are in a private file of the user, outside the repository."""
    paused.ok("answer", "1", "Only-here", "--always")
    assert os.stat(file_of(paused)).st_mode & 0o077 == 0
    assert "Only-here" in file_of(paused).read_text()
    forged = paused.root / ".sow" / "answers.yaml"
    forged.write_text(file_of(paused).read_text())
    paused.ok("answers", "forget", "1")
    assert paused.ok("answers", "--json").json == {"answers": []}


def test_only_a_person_saves_an_answer(paused: Repo):
    """Neither a worker nor the orchestrator may save an answer, and the refused call answers nothing."""
    for caller in (WORKER, {"SOW_AGENT": "orchestrator"}):
        result = paused.sow("answer", "1", "Postgres", "--always", **caller)
        assert result.code == 2, result
    assert paused.task("010")["status"] == "paused"
    assert not file_of(paused).exists()


def test_a_phase_is_decided_each_time(repo: Repo):
    """An answer about a phase is never saved, and the phase stays proposed."""
    repo.ok("phase", "add", "audit", "--reason", "perhaps")
    result = repo.sow("answer", "1", "yes", "--always")
    assert result.code == 2
    assert "an answer about a phase cannot be saved" in result.err
    assert "proposed" in repo.ok("phase", "list").out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("answers: nonsense\n", "no list of answers"),
        ("- a\n", "no list of answers"),
        ("answers:\n  - question: Which?\n", "answer 1 is not as it should be"),
        ("answers:\n  - 3\n", "answer 1 is not as it should be"),
        ("answers: [\n", "answers.yaml"),
    ],
)
def test_a_broken_file_is_not_overwritten(paused: Repo, text: str, said: str):
    """A broken file is an error with its path and form."""
    file_of(paused).parent.mkdir(parents=True)
    file_of(paused).write_text(text)
    for case in (("answers",), ("answers", "forget", "1")):
        result = paused.sow(*case)
        assert result.code == 2, result
        assert said in result.err
        assert str(file_of(paused)) in result.err
    assert file_of(paused).read_text() == text


@pytest.mark.parametrize("number", ["0", "2", "-1", "x", "9" * 30])
def test_an_unknown_number_forgets_nothing(paused: Repo, number: str):
    """A number that no answer has forgets nothing."""
    paused.ok("answer", "1", "Postgres", "--always")
    assert paused.sow("answers", "forget", "--", number).code == 2
    assert len(paused.ok("answers", "--json").json["answers"]) == 1
