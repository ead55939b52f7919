"""Concerns in a run: protected paths, missing tests, and where a person reads about them."""

from __future__ import annotations

import re

import pytest
from support.plan_repo import GREEN, WORK, PlanRepo
from support.quick_cases import few_of


def commit(plan_repo: PlanRepo, **files: str) -> None:
    """Commits files before the run."""
    for name, text in files.items():
        path = plan_repo.repo.root / name.replace("__", "/").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    plan_repo.repo.git("add", "-A")
    plan_repo.repo.git("commit", "-q", "-m", "before")


def test_a_protected_path_sends_the_task_back(plan_repo: PlanRepo) -> None:
    """A change of a protected path is RED before any check or review; undone, the work is merged."""
    commit(plan_repo, tests__test_a_py="one\n")
    plan_repo.act("implementer-010-1", f"{WORK}echo two > tests/test_a.py\n")
    plan_repo.act("implementer-010-2", "echo one > tests/test_a.py\n")
    plan_repo.plan({"protected": ["tests/**"], "test_commands": ["test -f part_010.txt"]})
    result = plan_repo.run()
    assert result.code == 0, result
    assert "tests/test_a.py (modified)" in plan_repo.prompt("010", 2)
    assert "protected: tests/**" in plan_repo.prompt("010", 2)
    assert "Protected paths: do not change them" in (plan_repo.repo.task_folder("010") / "description.md").read_text()
    task = plan_repo.task("010")
    assert (task["iteration"], task["retry_count"], task["result"]) == (2, 1, "GREEN")
    assert [evidence["command"] for evidence in task["evidence"] if evidence["iteration"] == 1] == ["protected paths"]
    assert plan_repo.turns("010", "quality-control") == 1
    assert (plan_repo.repo.root / "tests/test_a.py").read_text() == "one\n"


@pytest.mark.parametrize("review", ["on", "off"])
def test_a_protected_path_becomes_a_question(plan_repo: PlanRepo, review: str) -> None:
    """Neither a GREEN review nor its absence accepts such work; the question names the paths."""
    plan_repo.act("implementer-010", f"{WORK}mkdir -p ci; date +%N > ci/build.yml\n")
    plan_repo.plan("First", inner={"protected": "ci/"})
    result = plan_repo.run("--retries", "1", "--review", review)
    assert result.code == 4, result
    task = plan_repo.task("010")
    assert (task["status"], task["result"], task["iteration"]) == ("paused", "RED", 2)
    assert task["question"]["text"].startswith("it changes protected paths, after 1 retry")
    assert "ci/build.yml (added)" in task["question"]["text"]
    assert not (plan_repo.repo.root / "ci").exists()


@pytest.mark.full
def test_after_the_answer_the_worker_can_undo_the_change(plan_repo: PlanRepo) -> None:
    """The answer and the paths reach the worker, and the work without them is merged."""
    plan_repo.act("implementer-010-1", f"{WORK}mkdir -p ci; echo new > ci/build.yml\n")
    plan_repo.act("implementer-010-2", "rm -r ci\n")
    plan_repo.plan({"protected": "ci/"})
    assert plan_repo.run("--retries", "0").code == 4
    plan_repo.repo.ok("answer", "010", "Leave ci alone")
    result = plan_repo.run("--retries", "0")
    assert result.code == 0, result
    assert "Leave ci alone" in plan_repo.prompt("010", 2)
    assert "ci/build.yml (added)" in plan_repo.prompt("010", 2)
    assert plan_repo.task("010")["status"] == "completed"


def test_without_worktrees_protected_paths_are_a_concern(plan_repo: PlanRepo) -> None:
    """In a shared folder the author of a change is unknown: the result is YELLOW, with the reason."""
    plan_repo.plan({"protected": ["ci/"]})
    result = plan_repo.run("--isolation", "none", "--review", "off")
    assert result.code == 0, result
    task = plan_repo.task("010")
    assert task["result"] == "YELLOW"
    assert task["concerns"][0]["text"] == "protected paths cannot be checked without worktrees: ci/"


@pytest.mark.full
def test_unasked_changes_are_shown_everywhere(plan_repo: PlanRepo) -> None:
    """Without a review the result is YELLOW, and every view says why."""
    commit(plan_repo, tests__test_a_py="def test_a():\n    assert True\n")
    plan_repo.act("implementer-010", f"{WORK}echo > conftest.py; echo >> tests/test_a.py\n")
    plan_repo.plan("First")
    result = plan_repo.run("--review", "off")
    assert result.code == 0, result
    assert plan_repo.task("010")["result"] == "YELLOW"
    run = plan_repo.runs()[0]["id"]
    shown = {
        "live": result.out,
        "task show": plan_repo.repo.ok("task", "show", "010").out,
        "runs show": plan_repo.repo.ok("runs", "show", run).out,
        "report": plan_repo.repo.ok("runs", "report", run).out,
    }
    for where, text in shown.items():
        plain = re.sub(r"\\(.)", r"\1", text)
        assert "conftest.py (added)" in plain, where
        assert "tests/test_a.py (modified)" in plain, where
    document = plan_repo.repo.ok("runs", "show", run, "--json").json
    assert [concern["kind"] for concern in document["tasks"][0]["concerns"]] == ["protected", "protected"]


@pytest.mark.full
def test_a_reviewer_who_saw_the_concerns_can_pass_the_work(plan_repo: PlanRepo) -> None:
    """The reviewer's prompt has the concerns, and GREEN stays GREEN."""
    plan_repo.act("implementer-010", f"{WORK}echo > conftest.py\n")
    plan_repo.act("quality-control", GREEN)
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    assert plan_repo.task("010")["result"] == "GREEN"
    assert "look at this: it changes how tests are run" in plan_repo.prompt("010", 1, "quality-control")


@pytest.mark.full
def test_a_requested_change_is_no_concern(plan_repo: PlanRepo) -> None:
    """The same change, named by the task."""
    plan_repo.act("implementer-010", f"{WORK}echo > conftest.py\n")
    plan_repo.plan({"description": "Add a fixture to conftest.py."})
    assert plan_repo.run("--review", "off").code == 0
    assert plan_repo.task("010")["result"] == "GREEN"
    assert "concerns" not in plan_repo.task("010")


@few_of(
    ("said", "counts", "result"),
    [
        ("3 passed in 0.01s", {"ran": 3, "failed": 0, "skipped": 0}, "GREEN"),
        ("no tests ran in 0.01s", {"ran": 0, "failed": 0, "skipped": 0}, "YELLOW"),
        ("3 skipped in 0.01s", {"ran": 0, "failed": 0, "skipped": 3}, "YELLOW"),
        ("1 failed, 2 passed in 0.01s", {"ran": 3, "failed": 1, "skipped": 0}, "YELLOW"),
        ("All is well", None, "GREEN"),
    ],
    1,
)
def test_the_counts_of_a_check_are_evidence(
    plan_repo: PlanRepo, said: str, counts: dict[str, int] | None, result: str
) -> None:
    """The counts of a runner are stored, and a check in which no test ran is not GREEN."""
    commit(plan_repo, said_txt=f"{said}\n")
    plan_repo.plan({"test_commands": ["cat said_txt"]})
    assert plan_repo.run("--review", "off").code == 0
    task = plan_repo.task("010")
    assert task["evidence"][0].get("tests") == counts
    assert task["result"] == result


@pytest.mark.full
def test_counts_are_read_from_the_end_of_a_long_output(plan_repo: PlanRepo) -> None:
    """The closing line behind megabytes of output."""
    loud = "print(('x' * 79 + chr(10)) * 30000)\n"
    commit(plan_repo, loud_py=f"{loud}print('2 passed in 0.01s')\n")
    plan_repo.plan({"test_commands": ["python loud.py"]})
    assert plan_repo.run("--review", "off").code == 0
    assert plan_repo.task("010")["evidence"][0]["tests"]["ran"] == 2


def test_a_plan_shows_its_protected_paths(plan_repo: PlanRepo) -> None:
    """`plan show` and `task show` list them, those of the whole plan first."""
    plan_repo.plan({"protected": "tests/**, `ci/`"}, inner={"protected": ["*.lock"]})
    assert "protected in task 1: *.lock, tests/**, ci/" in plan_repo.repo.ok("plan", "show", "plan.yaml").out
    shown = plan_repo.repo.ok("plan", "show", "plan.yaml", "--json").json
    assert shown["tasks"][0]["protected"] == ["*.lock", "tests/**", "ci/"]


def test_an_invalid_pattern_is_an_error_of_the_plan(plan_repo: PlanRepo) -> None:
    """Exit 2 with the line, before anything is started."""
    plan_repo.plan({"protected": ["../outside"]}, commit=False)
    result = plan_repo.run()
    assert result.code == 2
    assert "'../outside'" in result.err
    assert "plan.yaml:" in result.err


@pytest.mark.full
def test_fewer_tests_than_on_the_base_commit_are_a_concern(plan_repo: PlanRepo) -> None:
    """Both counts are shown and stored, and the result without a review is YELLOW."""
    commit(plan_repo, said_txt="5 passed in 0.01s\n")
    plan_repo.act("implementer-010", f"{WORK}echo '3 passed, 1 skipped in 0.01s' > said_txt\n")
    plan_repo.plan({"test_commands": ["cat said_txt"]})
    assert plan_repo.run("--review", "off", "--baseline", "on").code == 0
    task = plan_repo.task("010")
    assert task["result"] == "YELLOW"
    assert task["concerns"][0]["text"] == "fewer tests ran: 3 now (1 skipped), 5 on the base commit"
    assert task["evidence"][0]["tests"] == {"ran": 3, "failed": 0, "skipped": 1, "base": 5}


@few_of(("said", "concerns"), [("3 passed", []), ("2 passed", ["fewer tests ran: 2 now, 3 on the base commit"])], 1)
def test_counts_are_compared_with_the_tasks_own_base(plan_repo: PlanRepo, said: str, concerns: list[str]) -> None:
    """Tests that an earlier task removed do not count; only those that this task removed are a concern."""
    commit(plan_repo, said_txt="5 passed in 0.01s\n")
    plan_repo.act("implementer-010", f"{WORK}echo '3 passed in 0.01s' > said_txt\n")
    plan_repo.act("implementer-020", f"{WORK}echo '{said} in 0.01s' > said_txt\n")
    plan_repo.plan({"test_commands": ["cat said_txt"]}, {"test_commands": ["cat said_txt"], "depends_on": [1]})
    result = plan_repo.run("--review", "off", "--baseline", "on")
    assert result.code == 0, result
    first, second = plan_repo.task("010"), plan_repo.task("020")
    assert [concern["text"] for concern in first["concerns"]] == ["fewer tests ran: 3 now, 5 on the base commit"]
    assert [concern["text"] for concern in second.get("concerns", ())] == concerns
    assert second["result"] == ("YELLOW" if concerns else "GREEN")
    assert second["evidence"][0]["tests"]["base"] == 3
