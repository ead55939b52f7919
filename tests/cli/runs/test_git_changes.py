"""Changes in the git folder during a run: a person on a terminal is asked, and nothing else decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.plan_repo import WORK, PlanRepo
from support.quick_cases import few_of

PLANT = f"{WORK}git config alias.st 'status --short'\n"


@few_of(("typed", "stays"), [(b"y\n", False), (b"n\n", True)], 1)
def test_the_end_of_a_run_asks(plan_repo: PlanRepo, on_terminal: Callable[..., Any], typed: bytes, stays: bool) -> None:
    """With a yes the change is undone; otherwise it stays, and the command that decides later is shown."""
    plan_repo.act("implementer", PLANT)
    plan_repo.plan("First")
    code, shown = on_terminal(plan_repo.repo, "run", "plan.yaml").until("Undo these changes? [y/N]").type(typed).end()
    assert code == 0, shown
    assert ".git/config: alias.st was set to 'status --short'" in shown
    assert ("alias.st" in plan_repo.repo.git("config", "--list")) == stays
    assert ("sow doctor --undo-git-changes" in shown) == stays
    assert ("undid 1 change;" in shown) != stays


def test_a_change_is_shown_once_during_a_run(plan_repo: PlanRepo) -> None:
    """The live line and the report name the change once each and without a task: the user may have made it."""
    plan_repo.act("implementer", PLANT)
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 0, result
    lines = [line for line in result.out.splitlines() if "alias.st" in line]
    change = ".git/config: alias.st was set to 'status --short' during the run; sow ignores it"
    assert [line.split("  ", 1)[1] for line in lines] == [change, change]


@pytest.mark.full
def test_a_no_to_doctor_changes_nothing(plan_repo: PlanRepo, on_terminal: Callable[..., Any]) -> None:
    """Both options ask first; a no is exit 4. Two options at once are an error."""
    plan_repo.act("implementer", PLANT)
    plan_repo.plan("First")
    assert plan_repo.run().code == 0
    for option in ("--undo-git-changes", "--keep-git-changes"):
        code, shown = on_terminal(plan_repo.repo, "doctor", option).until("[y/N]").type(b"n\n").end()
        assert code == 4, shown
        assert "nothing was changed" in shown
    assert "alias.st" in plan_repo.repo.git("config", "--list")
    assert any("alias.st" in finding["what"] for finding in plan_repo.repo.sow("doctor", "--json").json["findings"])
    both = plan_repo.repo.sow("doctor", "--undo-git-changes", "--keep-git-changes")
    assert both.code == 2
    assert "exclude each other" in both.err


@pytest.mark.full
def test_an_agent_cannot_accept_a_change(plan_repo: PlanRepo) -> None:
    """A worker cannot accept a change that it made."""
    plan_repo.act("implementer", f"{PLANT}sow doctor --keep-git-changes --yes > said.txt 2>&1; echo $? >> said.txt\n")
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 0, result
    assert (plan_repo.repo.root / "said.txt").read_text().endswith("\n2\n")
    assert "alias.st" in result.err


def test_a_change_during_a_single_turn_is_named(plan_repo: PlanRepo) -> None:
    """`sow agent spawn` with a CLI that reports nothing itself names the change too."""
    plan_repo.act("implementer", PLANT)
    plan_repo.repo.ok("init", "--project", "Harbour")
    plan_repo.repo.ok("task", "create", "--name", "First")
    result = plan_repo.repo.sow("agent", "spawn", "implementer", "010")
    assert "meanwhile .git/config: alias.st was set to" in result.err + result.out, result
    assert "sow doctor --undo-git-changes" in result.err + result.out
