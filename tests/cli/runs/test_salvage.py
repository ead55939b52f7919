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
    """A run that merged one task after its work was sent back once; another task asks."""
    plan_repo.act("implementer-010-1", 'echo first > part_010.txt; git add -A; git commit -qm "A first try"\n')
    plan_repo.judge("010", "RED", "GREEN")
    plan_repo.act("implementer-020", 'echo lost > part_020.txt\nsow task set status paused --reason "Which?"\n')
    plan_repo.plan("First", "Second")
    assert plan_repo.run().code == 4
    return plan_repo


def kept(repo: Repo) -> dict[str, dict[str, Any]]:
    """Returns what `sow salvage --json` lists, by name."""
    return {item["called"]: item for item in repo.ok("salvage", "--json").json["kept"]}


def name_of(repo: Repo, ending: str) -> str:
    (result,) = [name for name, entry in kept(repo).items() if entry["kind"] == "pin" and name.endswith(ending)]
    return result


@pytest.mark.full
def test_every_iteration_is_listed(ran: PlanRepo):
    """The list has the pins of both iterations, the task's branch and the run's branch, with what contains them."""
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


def test_the_list_without_a_run_is_empty(repo: Repo):
    """Without a run the list is empty, and the output says so."""
    assert repo.ok("salvage").out == "no run has kept any work here\n"
    assert repo.ok("salvage", "list", "--json").json == {"kept": []}


@few_of("by", ["name", "ref", "commit"], 1)
def test_an_earlier_iteration_is_restored_as_a_branch(ran: PlanRepo, by: str):
    """Replaced work becomes a branch at its commit, and no checkout moves."""
    name = name_of(ran.repo, "/010/1")
    each = kept(ran.repo)[name]
    before = ran.repo.git("rev-parse", "HEAD")
    what = {"name": name, "ref": each["ref"], "commit": each["commit"][:12]}[by]
    assert "my/first-try" in ran.repo.ok("salvage", "restore", what, "--branch", "my/first-try").out
    assert ran.repo.git("show", "my/first-try:part_010.txt") == "first\n"
    assert ran.repo.git("rev-parse", "HEAD") == before


@pytest.mark.full
def test_a_restored_branch_gets_a_default_name(ran: PlanRepo):
    """Without --branch the branch is named after its content, and the name is printed."""
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
def test_restore_refuses_bad_names(ran: PlanRepo, words: tuple[str, ...], said: str):
    """A bad source or branch name is refused, and no ref changes."""
    name = name_of(ran.repo, "/010/1")
    refs = ran.repo.git("for-each-ref")
    result = ran.repo.sow("salvage", "restore", *(word.replace("{name}", name) for word in words))
    assert result.code == 2
    assert result.err.startswith(f"error: {said}\nhint: ")
    assert ran.repo.git("for-each-ref") == refs


@pytest.mark.full
def test_prune_without_consent_deletes_nothing(ran: PlanRepo):
    """Without a terminal the list is shown, the exit code is 4, and every ref stays."""
    refs = ran.repo.git("for-each-ref")
    result = ran.repo.sow("salvage", "prune", "--older-than", "0s")
    assert result.code == 4
    assert name_of(ran.repo, "/010/2") in result.err
    assert "then add --yes" in result.err
    assert ran.repo.git("for-each-ref") == refs


@pytest.mark.full
def test_prune_asks_on_a_terminal(ran: PlanRepo, on_terminal: Callable[..., Any]):
    """Without an answer nothing is deleted; with yes it is."""
    refs = ran.repo.git("for-each-ref")
    code, shown = on_terminal(ran.repo, "salvage", "prune", "--older-than", "0s").until("[y/N]").type(b"n\n").end()
    assert (code, ran.repo.git("for-each-ref")) == (4, refs), shown
    code, shown = on_terminal(ran.repo, "salvage", "prune", "--older-than", "0s").until("[y/N]").type(b"y\n").end()
    assert code == 0, shown
    assert ran.repo.git("for-each-ref") != refs


@pytest.mark.full
def test_prune_deletes_only_what_is_merged(ran: PlanRepo):
    """Merged work is deleted; work that only the run holds stays, and so does that of an open task."""
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
def test_prune_works_after_the_project_is_removed(ran: PlanRepo):
    """The runs of a removed project follow the same rule; a worktree with unsaved work stays."""
    ran.repo.ok("cleanup", "--yes")
    run = ran.runs()[-1]["id"]
    result = ran.repo.ok("salvage", "prune", "--older-than", "0s", "--yes", "--json").json
    assert {f"{run}/010/2", f"sow/task/{run}/010", f"sow/int/{run}"} <= set(result["dropped"])
    assert {value["task"] for value in kept(ran.repo).values()} == {"020"}
    assert "020" in result["kept"]
    assert (ran.repo.root / ".sow/local/worktrees/020/part_020.txt").read_text() == "lost\n"


@pytest.mark.full
def test_a_removed_broken_project_keeps_nothing(ran: PlanRepo):
    """A project that could not be read and was removed keeps nothing of its runs."""
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
def test_a_project_on_another_branch_keeps_its_work(ran: PlanRepo):
    """Without the project on the current branch, the work of its open task stays."""
    ran.repo.git("add", "-A")
    ran.repo.git("commit", "-q", "-m", "All")
    ran.repo.git("switch", "-q", "main")
    result = ran.repo.ok("salvage", "prune", "--older-than", "0s", "--yes", "--json").json
    assert not [name for name in result["dropped"] if "/020" in name or name == "020"]
    assert "020" in ran.worktrees()


def name_of_either(found: dict[str, dict[str, Any]], ending: str) -> str:
    return next(name for name, entry in found.items() if entry["kind"] == "pin" and name.endswith(ending))


@pytest.mark.full
def test_prune_keeps_what_is_young(ran: PlanRepo):
    """With --older-than nothing younger is deleted, and without candidates no question is asked."""
    refs = ran.repo.git("for-each-ref")
    result = ran.repo.ok("salvage", "prune", "--older-than", "30d")
    assert "nothing was deleted" in result.out
    assert ran.repo.git("for-each-ref") == refs


@pytest.mark.full
def test_prune_needs_an_age(ran: PlanRepo):
    """Without an age, or with an invalid one, nothing is deleted."""
    refs = ran.repo.git("for-each-ref")
    assert ran.repo.sow("salvage", "prune", "--yes").code == 2
    assert ran.repo.sow("salvage", "prune", "--older-than", "soon", "--yes").code == 2
    assert ran.repo.git("for-each-ref") == refs


def test_a_worker_may_neither_restore_nor_prune(ran: PlanRepo):
    """A supervised worker neither restores nor prunes."""
    worker = {"SOW_TASK": "010", "SOW_AGENT": "implementer"}
    refs = ran.repo.git("for-each-ref")
    assert ran.repo.sow("salvage", "prune", "--older-than", "0s", "--yes", **worker).code == 2
    assert ran.repo.sow("salvage", "restore", name_of(ran.repo, "/010/1"), **worker).code == 2
    assert ran.repo.git("for-each-ref") == refs
