"""The executor that worked on a task last, in any run, for the task's card."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo
from support.dashboard_data import facts_of, fresh
from support.journals import MadeUpRun
from support.plan_repo import WORK, PlanRepo
from support.workflow_repo import WorkflowRepo

from sow.dashboard.data.dashboard_data import DashboardData

PASSED = [[{"say": "Verification: PASSED"}]]
WORDS = [["sow", "workflow", "set", "status", name] for name in ("completion_drive_review", "ready_for_verification")]


def executors(facts: DashboardData) -> dict[str, str | None]:
    return {row["id"]: row["executor"] for row in fresh(facts)["tasks"]}


def second_hand(plan_repo: PlanRepo) -> None:
    """Binds another executor to the worker's role."""
    agents: Any = plan_repo.settings["agents"]
    agents["executors"]["other"] = copy.deepcopy(agents["executors"]["hand"])
    agents["bindings"]["implementer"] = "other"
    plan_repo.configure()


@pytest.mark.full
def test_a_second_run_keeps_the_executors_of_the_first(plan_repo: PlanRepo):
    """A page names the executor of a task from an earlier run, both an open page and a new one."""
    plan_repo.repo.ok("init")
    facts = facts_of(plan_repo.repo)
    plan_repo.plan("First", "Second")
    assert plan_repo.run().code == 0
    assert executors(facts) == {"010": "hand", "020": "hand"}
    second_hand(plan_repo)
    plan_repo.plan("First", "Second", "Third", "Fourth")
    plan_repo.act("implementer-040", "sow task set status paused --reason 'Which colour?'\n")
    assert plan_repo.run().code == 4
    expected = {"010": "hand", "020": "hand", "030": "other", "040": "other"}
    assert executors(facts) == executors(facts_of(plan_repo.repo)) == expected


@pytest.mark.full
def test_work_without_a_run_counts(plan_repo: PlanRepo):
    """A worker that was spawned after a run is named instead of the run's."""
    plan_repo.act("implementer", WORK + "sow task set status failed\n")
    plan_repo.plan("First")
    assert plan_repo.run("--retries", "0").code != 0
    facts = facts_of(plan_repo.repo)
    assert executors(facts) == {"010": "hand"}
    second_hand(plan_repo)
    plan_repo.repo.ok("task", "set", "--id", "010", "status", "in_progress")
    plan_repo.act("implementer", WORK + "sow task set status needs_review\n")
    plan_repo.repo.ok("agent", "spawn", "implementer", "010", "--fresh")
    assert executors(facts) == {"010": "other"}


@pytest.mark.full
def test_an_agent_of_a_workflow_names_its_executor(repo: Repo, tmp_path: Path):
    """Agents of a deleted run name their executor, as tasks do; verifiers do not count."""
    turns = [{"write": {"path": "orchestration/agents/one/task_output/one.txt", "text": "done\n"}}]
    turns += [{"run": words} for words in WORDS]
    flow = WorkflowRepo(repo, tmp_path).begin().crew({"one": []})
    flow.scripted({"one": [turns], "one_verifier": PASSED, "solution_verifier": PASSED})
    repo.ok("workflow", "verify", "--executor", "simulated", "--yes")
    facts = facts_of(repo)
    assert executors(facts) == {"one": None}
    repo.ok("workflow", "run", "--executor", "script")
    assert executors(facts) == {"one": "script"}
    shutil.rmtree(repo.root / ".sow/local/runs")
    assert executors(facts) == {"one": "script"}


def test_a_reminded_reviewer_is_not_the_worker(repo: Repo):
    """A second prompt to the reviewer leaves the worker's executor on the card."""
    repo.ok("task", "create", "--name", "One")
    journal = MadeUpRun(repo, ["010"])
    journal.begin()
    journal.turn(1, 2, "010", executor="hand")
    for number, kind in enumerate(("review", "reminder"), 3):
        journal.turn(number, number, "010", executor="judge", role="quality-control", kind=kind)
    assert executors(facts_of(repo)) == {"010": "hand"}


@pytest.mark.full
def test_an_unreadable_record_affects_no_row(plan_repo: PlanRepo):
    """A broken record leaves the row without an executor, and everything else is shown."""
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    shutil.rmtree(plan_repo.repo.root / ".sow/local/runs")
    assert executors(facts_of(plan_repo.repo)) == {"010": "hand"}
    for record in plan_repo.repo.root.glob(".sow/local/sessions/010/*/record.yaml"):
        record.write_text("session: [")
    assert executors(facts_of(plan_repo.repo)) == {"010": None}
