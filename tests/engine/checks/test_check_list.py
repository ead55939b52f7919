"""A check list in a slot: its setup is kept or rebuilt, and its results are reused as a whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.plan_repo import PlanRepo
from support.worktree_repo import home_at

from sow import config as configs
from sow.agents.registry import AgentRegistry
from sow.engine.checks.check_list import CheckListResult, reusable_evidence, run_list
from sow.engine.consent import load_consents
from sow.engine.runs.run_context import RunContext
from sow.store.runs import run_folder
from sow.system.process.child_process import run_to_end

CHECKS: Any = [{"kind": "test", "command": "test -e env/made"}, {"kind": "test", "command": "test -e env/mark"}]


@pytest.fixture
def begun(plan_repo: PlanRepo, monkeypatch: pytest.MonkeyPatch) -> PlanRepo:
    """A run that has ended, in a repository whose setup makes a folder."""
    for name, value in plan_repo.repo.environment.items():
        monkeypatch.setenv(name, value)
    ledger = plan_repo.folder / "ledger"
    make = ["sh", "-c", f"mkdir -p env && touch env/made && echo made >> {ledger}"]
    (plan_repo.repo.root / ".gitignore").write_text("env/\n")
    plan_repo.repo.git("add", ".gitignore")
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    plan_repo.configure(worktree={"setup": [make]})
    return plan_repo


def ship_of(plan_repo: PlanRepo) -> RunContext:
    """Returns the run as a new process would continue it."""
    home = home_at(plan_repo.repo.root)
    environment = plan_repo.repo.environment
    agents = AgentRegistry(root=home.root, user_home=environment["HOME"], trusted=False, reviewers=[])
    folder = run_folder.find(home, plan_repo.runs()[-1]["id"])
    config = configs.load(environment)
    return RunContext(home, config, environment, agents, folder, [], load_consents(home, config, environment))


def ran(ship: RunContext, *, fresh: bool = False) -> CheckListResult:
    assert ship.isolation is not None
    head = ship.isolation.integration.head
    tree = ship.isolation.integration.repository.tree_of(head)
    return run_to_end(run_list(ship, CHECKS, commit=head, tree=tree, iteration=1, name="010", fresh=fresh))


def made(plan_repo: PlanRepo) -> int:
    return len((plan_repo.folder / "ledger").read_text().split())


def test_a_fresh_setup_is_built_for_final_checks(begun: PlanRepo) -> None:
    """With `fresh`, changes of earlier lists to the setup are gone, also if the list before it was fresh too."""
    mark = begun.repo.root / ".sow/local/worktrees/slot-1/env/mark"
    ship = ship_of(begun)
    assert [evidence["passed"] for evidence in ran(ship).evidence] == [True, False]
    mark.touch()
    assert [evidence["passed"] for evidence in ran(ship).evidence] == [True, True]
    assert made(begun) == 1
    assert [evidence["passed"] for evidence in ran(ship, fresh=True).evidence] == [True, False]
    assert made(begun) == 2
    mark.touch()
    assert [evidence["passed"] for evidence in ran(ship, fresh=True).evidence] == [True, False]
    assert made(begun) == 3
    ran(ship)
    assert made(begun) == 3


@pytest.mark.full
def test_another_process_reuses_the_setup_of_a_slot(begun: PlanRepo) -> None:
    """The next process does not repeat a setup, unless a part of it is gone."""
    ran(ship_of(begun))
    ran(ship_of(begun))
    assert made(begun) == 1
    Path(begun.repo.root, ".sow/local/worktrees/slot-1/env/made").unlink()
    Path(begun.repo.root, ".sow/local/worktrees/slot-1/env").rmdir()
    assert ran(ship_of(begun)).evidence[0]["passed"]
    assert made(begun) == 2


@pytest.mark.full
def test_results_are_reused_only_without_changes(begun: PlanRepo) -> None:
    """A passed list is reused with an equal tree, setup and environment; one failed command prevents it."""
    ship = ship_of(begun)
    failed = ran(ship).evidence
    tree = failed[0]["tree"]
    passed: Any = [{**item, "passed": True} for item in failed]
    assert reusable_evidence(ship, failed, CHECKS, tree) == []
    assert reusable_evidence(ship, passed, CHECKS, tree) == passed
    assert reusable_evidence(ship, passed, CHECKS[:1], tree) == []
    assert reusable_evidence(ship, passed[1:], CHECKS, tree) == []
    assert reusable_evidence(ship, passed, CHECKS, "9" * 40) == []
    begun.configure(checks={"env": ["MORE"]})
    assert reusable_evidence(ship_of(begun), passed, CHECKS, tree) == passed
    begun.repo.environment["MORE"] = "more"
    assert reusable_evidence(ship_of(begun), passed, CHECKS, tree) == []
    del begun.repo.environment["MORE"]
    begun.configure(worktree={"setup": [["true"]]})
    assert reusable_evidence(ship_of(begun), passed, CHECKS, tree) == []


@pytest.mark.full
def test_a_closed_list_returns_its_slot(begun: PlanRepo) -> None:
    """A list that is closed early ends its command, leaves no evidence, and frees its slot."""
    ship = ship_of(begun)
    assert ship.isolation is not None and ship.slots is not None
    head = ship.isolation.integration.head
    sleeping: Any = [{"kind": "test", "command": "sleep 300"}]
    steps = run_list(ship, sleeping, commit=head, tree="", iteration=1, name="010")
    while not begun.has_happened("step", task="010", text="running sleep 300"):
        next(steps)
    assert ship.slots.busy == {1}
    steps.close()
    assert ship.slots.busy == set()
    assert ran(ship).evidence
    assert begun.alive() == []
