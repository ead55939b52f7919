"""sow salvage: lists and restores all work that runs kept, and deletes it only with consent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import Repo
from support.plan_repo import PlanRepo
from support.quick_cases import few_of


@pytest.fixture
def ran(plan_repo: PlanRepo) -> PlanRepo:
    """A run in which one task was merged after it was sent back once, and another one asks."""
    plan_repo.act("implementer-010-1", 'echo first > part_010.txt; git add -A; git commit -qm "A first try"\n')
    plan_repo.judge("010", "RED", "GREEN")
    plan_repo.act("implementer-020", 'echo lost > part_020.txt\nsow task set status paused --reason "Which?"\n')
    plan_repo.plan("First", "Second")
    assert plan_repo.run().code == 4
    return plan_repo


def kept(repo: Repo) -> dict[str, dict[str, Any]]:
    """What `sow salvage --json` lists, by name."""
    return {item["called"]: item for item in repo.ok("salvage", "--json").json["kept"]}


def name_of(repo: Repo, ending: str) -> str:
    (result,) = [name for name, entry in kept(repo).items() if entry["kind"] == "pin" and name.endswith(ending)]
    return result


@pytest.mark.full
def test_every_iteration_is_listed(ran: PlanRepo):
    """The pins of both iterations of a task, its branch and the run's branch are there, with what contains them."""
    run = ran.runs()[-1]["id"]
    result = kept(ran.repo)
    assert {f"{run}/010/1", f"{run}/010/2", f"sow/int/{run}", f"sow/task/{run}/010"} <= result.keys()
    second = result[f"{run}/010/2"]
    assert (second["run"], second["task"], second["name"]) == (run, "010", "2")
    assert "feat/harbour" in second["merged"]
    assert second["time"].endswith("Z")
    shown = ran.repo.ok("salvage", "list").out
    assert all(name in shown for name in result)
    assert ran.repo.ok("salvage").out == shown


def test_an_empty_list(repo: Repo):
    """Where nothing was run, there is nothing to salvage, and that is reported."""
    assert repo.ok("salvage").out == "no run has kept any work here\n"
    assert repo.ok("salvage", "list", "--json").json == {"kept": []}


@few_of("by", ["name", "ref", "commit"], 1)
def test_a_first_try_comes_back_as_a_branch(ran: PlanRepo, by: str):
    """Work that was replaced later is a branch again, at its commit, and no checkout moves."""
    name = name_of(ran.repo, "/010/1")
    each = kept(ran.repo)[name]
    before = ran.repo.git("rev-parse", "HEAD")
    what = {"name": name, "ref": each["ref"], "commit": each["commit"][:12]}[by]
    assert "my/first-try" in ran.repo.ok("salvage", "restore", what, "--branch", "my/first-try").out
    assert ran.repo.git("show", "my/first-try:part_010.txt") == "first\n"
    assert ran.repo.git("rev-parse", "HEAD") == before


@pytest.mark.full
def test_a_branch_without_a_name_gets_one(ran: PlanRepo):
    """Without --branch the branch is named after what it holds, and is told."""
    name = name_of(ran.repo, "/010/2")
    assert f"branch salvaged/{name} is" in ran.repo.ok("salvage", "restore", name).out
    assert ran.repo.git("rev-parse", f"salvaged/{name}").strip() == kept(ran.repo)[name]["commit"]


@few_of(
    ("words", "said"),
    [
        (("nothing-of-ours",), "'nothing-of-ours' names nothing that a run left"),
        (("HEAD", "--branch", "x"), "'HEAD' names nothing that a run left"),
        (("{name}", "--branch", "a..b"), "'a..b' is not a valid branch name"),
        (("{name}", "--branch", "feat/harbour"), "there is a branch feat/harbour already"),
        (("{name}", "--branch", "sow/int/mine"), "'sow/int/mine' cannot be the name of a branch"),
    ],
    1,
)
def test_what_cannot_be_brought_back(ran: PlanRepo, words: tuple[str, ...], said: str):
    """A bad name on either side is refused, and no ref changes."""
    name = name_of(ran.repo, "/010/1")
    refs = ran.repo.git("for-each-ref")
    result = ran.repo.sow("salvage", "restore", *(word.replace("{name}", name) for word in words))
    assert result.code == 2
    assert result.err.startswith(f"error: {said}\nhint: ")
    assert ran.repo.git("for-each-ref") == refs


@pytest.mark.full
def test_without_a_word_nothing_is_let_go(ran: PlanRepo):
    """Where nobody can answer, the list is shown, the exit code is 4, and every ref is still there."""
    refs = ran.repo.git("for-each-ref")
    result = ran.repo.sow("salvage", "prune", "--older-than", "0s")
    assert result.code == 4
    assert name_of(ran.repo, "/010/2") in result.err
    assert "then add --yes" in result.err
    assert ran.repo.git("for-each-ref") == refs


@pytest.mark.full
def test_a_word_on_the_terminal(ran: PlanRepo, on_terminal: Callable[..., Any]):
    """On a terminal the question is asked there; no answer lets nothing go, and yes does."""
    refs = ran.repo.git("for-each-ref")
    code, shown = on_terminal(ran.repo, "salvage", "prune", "--older-than", "0s").until("[y/N]").type(b"n\n").end()
    assert (code, ran.repo.git("for-each-ref")) == (4, refs), shown
    code, shown = on_terminal(ran.repo, "salvage", "prune", "--older-than", "0s").until("[y/N]").type(b"y\n").end()
    assert code == 0, shown
    assert ran.repo.git("for-each-ref") != refs


@pytest.mark.full
def test_only_what_is_contained_elsewhere_goes(ran: PlanRepo):
    """What was merged goes; what only the run holds stays, and the open task keeps all that it has."""
    outcome = kept(ran.repo)
    result = ran.repo.ok("salvage", "prune", "--older-than", "0s", "--yes", "--json").json
    merged, other = name_of_either(outcome, "/010/2"), [name for name in outcome if "/020" in name]
    assert merged in result["dropped"]
    assert not set(other) & set(result["dropped"])
    assert result["kept"]
    left = kept(ran.repo)
    assert merged not in left
    assert set(other) <= left.keys()
    assert not set(result["dropped"]) & left.keys()


@pytest.mark.full
def test_after_the_project_is_gone(ran: PlanRepo):
    """What a removed project's runs left is deleted by the same rule; a worktree with unsaved work stays."""
    ran.repo.ok("cleanup", "--yes")
    run = ran.runs()[-1]["id"]
    result = ran.repo.ok("salvage", "prune", "--older-than", "0s", "--yes", "--json").json
    assert {f"{run}/010/2", f"sow/task/{run}/010", f"sow/int/{run}"} <= set(result["dropped"])
    assert {value["task"] for value in kept(ran.repo).values()} == {"020"}
    assert "020" in result["kept"]
    assert (ran.repo.root / ".sow/local/worktrees/020/part_020.txt").read_text() == "lost\n"


@pytest.mark.full
def test_a_broken_project_that_was_removed_is_gone(ran: PlanRepo):
    """A project that nobody could read, and that was removed for that, keeps nothing of its runs, and stays removed."""
    path = ran.repo.project / "state.yaml"
    path.write_text(path.read_text() + "what: is this\n")
    ran.repo.ok("project", "delete", "--yes")
    result = ran.repo.ok("salvage", "prune", "--older-than", "0s", "--yes", "--json").json
    assert f"sow/task/{ran.runs()[-1]['id']}/010" in result["dropped"]
    before = ran.turns("010")
    again = ran.run()
    assert "came back" not in again.err
    assert ran.turns("010") > before
    assert len(ran.runs()) == 2


@pytest.mark.full
def test_a_project_that_is_elsewhere_is_not_gone(ran: PlanRepo):
    """On a branch without the project, what its open task has stays as it is."""
    ran.repo.git("add", "-A")
    ran.repo.git("commit", "-q", "-m", "All")
    ran.repo.git("switch", "-q", "main")
    result = ran.repo.ok("salvage", "prune", "--older-than", "0s", "--yes", "--json").json
    assert not [name for name in result["dropped"] if "/020" in name or name == "020"]
    assert "020" in ran.worktrees()


def name_of_either(found: dict[str, dict[str, Any]], ending: str) -> str:
    return next(name for name, entry in found.items() if entry["kind"] == "pin" and name.endswith(ending))


@pytest.mark.full
def test_what_is_young_stays(ran: PlanRepo):
    """With --older-than nothing younger goes, and no question is asked about nothing."""
    refs = ran.repo.git("for-each-ref")
    result = ran.repo.ok("salvage", "prune", "--older-than", "30d")
    assert "nothing was deleted" in result.out
    assert ran.repo.git("for-each-ref") == refs


@pytest.mark.full
def test_the_age_must_be_said(ran: PlanRepo):
    """Without an age, or with an invalid one, nothing is deleted."""
    refs = ran.repo.git("for-each-ref")
    assert ran.repo.sow("salvage", "prune", "--yes").code == 2
    assert ran.repo.sow("salvage", "prune", "--older-than", "soon", "--yes").code == 2
    assert ran.repo.git("for-each-ref") == refs


def test_a_worker_lets_nothing_go(ran: PlanRepo):
    """A supervised worker neither restores nor prunes."""
    worker = {"SOW_TASK": "010", "SOW_AGENT": "implementer"}
    refs = ran.repo.git("for-each-ref")
    assert ran.repo.sow("salvage", "prune", "--older-than", "0s", "--yes", **worker).code == 2
    assert ran.repo.sow("salvage", "restore", name_of(ran.repo, "/010/1"), **worker).code == 2
    assert ran.repo.git("for-each-ref") == refs
