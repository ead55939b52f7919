"""T3: missing work is never GREEN by default: no changes, refused commands."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import SOW
from support.plan_repo import PlanRepo
from support.quick_cases import few_of

DONE = {"status": "needs_review"}
WRITE = {"write": {"path": "part_{task}.txt", "text": "by {task}\n"}}
NO_CHANGES = "no changes: the work is the same as the commit that it began with"
REFUSED = "2 commands refused: npm install (2 times)"
TWICE = [{"refuse": "npm install"}, {"refuse": "npm install"}]
REVERTED = [WRITE, {"commit": "work"}, {"run": "git revert --no-edit HEAD"}, DONE]
IDLE: dict[str, list[dict[str, Any]]] = {
    "only its status": [DONE],
    "only words": [{"say": "All done, every test passes."}, {"run": "true"}],
    "an ignored file": [{"run": "sh -c 'echo *.tmp > .git/info/exclude || true'"}, DONE],
    "its own state": [{"log": "worked hard"}, DONE],
    "an empty commit": [{"run": "git commit -q --allow-empty -m work"}, DONE],
    "work that it took back": REVERTED,
    "everything refused": [*TWICE, DONE],
}


def concerns(plan_repo: PlanRepo, task: str = "010") -> list[str]:
    return [concern["kind"] for concern in plan_repo.task(task).get("concerns", ())]


@few_of("case", IDLE, 1, always=["only its status"])
def test_no_changes_without_a_review_are_yellow(plan_repo: PlanRepo, case: str) -> None:
    """A worker without changes gets YELLOW at best, and the live view and the reports say why."""
    plan_repo.simulated("idle", "implementer", IDLE[case])
    plan_repo.plan("First")
    result = plan_repo.run("--review", "off")
    assert result.code == 0, result
    assert (plan_repo.task("010")["result"], "no_changes" in concerns(plan_repo)) == ("YELLOW", True)
    assert NO_CHANGES in result.out + result.err
    assert NO_CHANGES in plan_repo.repo.ok("runs", "show").out
    for form in ("md", "html", "json"):
        assert NO_CHANGES in plan_repo.repo.ok("runs", "report", "--format", form).out
    assert NO_CHANGES in plan_repo.repo.ok("task", "show", "010").out


@pytest.mark.full
def test_the_reviewer_is_told_of_no_changes(plan_repo: PlanRepo) -> None:
    """The reviewer's prompt says that there are no changes, and its verdict counts."""
    plan_repo.simulated("idle", "implementer", [DONE])
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    assert f"look at this: {NO_CHANGES}" in plan_repo.prompt("010", role="quality-control")
    assert plan_repo.task("010")["result"] == "GREEN"


@pytest.mark.full
def test_allow_empty_makes_no_changes_green(plan_repo: PlanRepo) -> None:
    """With allow_empty in its plan a task without changes is GREEN and has no remark."""
    plan_repo.simulated("idle", "implementer", [DONE])
    plan_repo.plan({"allow_empty": True, "name": "Look around"}, "Second")
    result = plan_repo.run("--review", "off")
    assert result.code == 0, result
    assert (plan_repo.task("010")["result"], concerns(plan_repo)) == ("GREEN", [])
    assert plan_repo.task("020")["result"] == "YELLOW"


@pytest.mark.full
def test_real_work_is_green(plan_repo: PlanRepo) -> None:
    """Changed files without refusals: no concern, and GREEN without a review."""
    plan_repo.simulated("busy", "implementer", [WRITE, DONE])
    plan_repo.plan("First")
    assert plan_repo.run("--review", "off").code == 0
    assert (plan_repo.task("010")["result"], concerns(plan_repo)) == ("GREEN", [])
    assert not plan_repo.journal("concern", "refused")


def test_work_after_a_refusal_is_yellow(plan_repo: PlanRepo) -> None:
    """The refused command is named live, in the journal and in every report."""
    plan_repo.simulated("barred", "implementer", [*TWICE, WRITE, DONE])
    plan_repo.plan("First")
    result = plan_repo.run("--review", "off")
    assert result.code == 0, result
    assert (plan_repo.task("010")["result"], concerns(plan_repo)) == ("YELLOW", ["refused"])
    output = result.out + result.err
    assert output.count("First: refused: npm install") == 1 and "2 commands refused" in output
    (entry,) = plan_repo.journal("refused")
    assert (entry["task"], entry["tool"], entry["command"]) == ("010", "Bash", "npm install")
    for item in (["show"], *(["report", "--format", form] for form in ("md", "html"))):
        shown = plan_repo.repo.ok("runs", *item).out.replace("\\", "")
        assert REFUSED in shown and "agents.executors.barred.settings.yolo_mode: true" in shown
    (row,) = plan_repo.repo.ok("runs", "report", "--format", "json").json["tasks"]
    assert [(refusal["command"], refusal["count"]) for refusal in row["refusals"]] == [("npm install", 2)]


@pytest.mark.full
def test_the_reviewer_is_told_of_refused_commands(plan_repo: PlanRepo) -> None:
    """The reviewer's prompt names the worker's refusals, and a reviewer's own refusals do not count."""
    plan_repo.simulated("barred", "implementer", [*TWICE, WRITE, DONE])
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    assert f"look at this: {REFUSED}" in plan_repo.prompt("010", role="quality-control")
    green = {"say": "Quality Control: GREEN\n\nFeedback: fine"}
    plan_repo.simulated("judge2", "quality-control", [{"refuse": "rm -rf /"}, green])
    plan_repo.simulated("busy", "implementer", [WRITE, DONE])
    plan_repo.plan("First", "Second")
    assert plan_repo.run().code == 0
    assert (plan_repo.task("020")["result"], concerns(plan_repo, "020")) == ("GREEN", [])


@pytest.mark.full
def test_the_next_iteration_starts_without_refusals(plan_repo: PlanRepo) -> None:
    """Work that was repeated without a refusal has no concern."""
    plan_repo.judge("010", "RED", "GREEN")
    more = {"append": {"path": "part_{task}.txt", "text": "more\n"}}
    plan_repo.simulated("barred", "implementer", [*TWICE, WRITE, DONE], [more, DONE])
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    assert "refused" in plan_repo.prompt("010", 1, role="quality-control")
    assert "refused" not in plan_repo.prompt("010", 2, role="quality-control")


@pytest.mark.parametrize(("script", "result"), [("echo x > made.txt\n", "GREEN"), ("true\n", "YELLOW")])
def test_without_worktrees_unchanged_files_are_yellow(plan_repo: PlanRepo, script: str, result: str) -> None:
    """A CLI that reports no tools hands in from the shared folder: unchanged files are YELLOW."""
    plan_repo.act("implementer", f"{script}{SOW} task set status needs_review\n")
    plan_repo.plan("First")
    done = plan_repo.run("--review", "off", "--isolation", "none")
    assert done.code == 0, done
    assert plan_repo.task("010")["result"] == result
