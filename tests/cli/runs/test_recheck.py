"""sow runs verify: repeats the evidence of a run on the trees on which it was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Repo, Result
from support.plan_repo import PlanRepo
from support.quick_cases import few_of

CHECK = "grep -q by part_010.txt"


@pytest.fixture
def ran(plan_repo: PlanRepo) -> PlanRepo:
    """A run of two tasks, the first with a command."""
    plan_repo.plan({"test_commands": [CHECK]}, "Second")
    assert plan_repo.run().code == 0
    return plan_repo


def verify(repo: Repo, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    result = repo.sow("runs", "verify", "--json", *arguments)
    return result.code, result.json["evidence"]


@pytest.mark.full
def test_unchanged_evidence_is_confirmed(ran: PlanRepo):
    """Every command runs again on its tree with the same result; the exit code is 0, and the user's files stay."""
    state, refs = ran.repo.state("010"), ran.repo.git("for-each-ref")
    before = ran.repo.git("status", "--porcelain")
    code, evidence = verify(ran.repo)
    assert code == 0
    assert [evidence["command"] for evidence in evidence] == [CHECK] * len(evidence)
    assert {evidence["verdict"] for evidence in evidence} == {"holds"}
    assert all(evidence["tree"] and (evidence["exit"], evidence["exit_now"]) == (0, 0) for evidence in evidence)
    assert (ran.repo.state("010"), ran.repo.git("for-each-ref")) == (state, refs)
    assert ran.repo.git("status", "--porcelain") == before
    assert ran.worktrees() == set()


@pytest.mark.full
def test_the_commands_really_run_again(plan_repo: PlanRepo, tmp_path: Path):
    """A command that depends on more than its tree gives a different result, and the exit code is 1."""
    flag = tmp_path / "flag"
    flag.touch()
    plan_repo.plan({"test_commands": [f"test -e {flag}"]})
    assert plan_repo.run().code == 0
    flag.unlink()
    result = plan_repo.repo.sow("runs", "verify")
    assert result.code == 1, result
    assert f"differs   task 1 (010), its work: test -e {flag} (exit 1, was exit 0)" in result.out
    flag.touch()
    lines = plan_repo.repo.ok("runs", "verify", "last").out.splitlines()
    assert lines[-2].endswith(": 1 check has the same result")
    assert lines[-1] == "final tree: the check list of 1 task passes"


@pytest.mark.full
def test_the_recorded_tree_is_checked(ran: PlanRepo):
    """Later changes of the user do not matter: the commands run on the tree of the evidence."""
    (ran.repo.root / "part_010.txt").write_text("nothing\n")
    ran.repo.git("commit", "-q", "-am", "Worse")
    assert verify(ran.repo)[0] == 0


@pytest.mark.full
def test_an_earlier_iteration_is_not_repeated(plan_repo: PlanRepo, tmp_path: Path):
    """Only the evidence of the merged iteration is repeated."""
    flag = tmp_path / "flag"
    command = f"test -e {flag}"
    plan_repo.act("implementer-010-2", f"touch {flag}\necho more > more.txt\n")
    plan_repo.plan({"test_commands": [command]})
    assert plan_repo.run("--review", "off").code == 0
    assert [evidence["iteration"] for evidence in plan_repo.task("010")["evidence"] if not evidence["passed"]] == [1]
    code, evidence = verify(plan_repo.repo)
    assert code == 0
    assert {(evidence["iteration"], evidence["verdict"]) for evidence in evidence} == {(2, "holds")}


# On the tree of task 010 it passes only with the setup and the environment of the run; on the final tree always.
FRAIL = 'test -e part_020.txt || { test ! -e made && test "$LANG" != other; }'


@few_of("change", ["setup", "environment"], 0)
def test_results_of_another_setup_are_not_repeated(plan_repo: PlanRepo, change: str):
    """Evidence from another setup or environment is counted and skipped; the final tree decides the exit code."""
    plan_repo.plan({"test_commands": [FRAIL]}, "Second < 1")
    assert plan_repo.run("--review", "off").code == 0
    if change == "setup":
        plan_repo.configure(worktree={"setup": [["touch", "made"]]})
    more = {"LANG": "other"} if change == "environment" else {}
    result = plan_repo.repo.sow("runs", "verify", **more)
    assert result.code == 0, result
    assert "2 older results were made with another setup or environment and are not repeated" in result.out
    assert "final tree: the check list of 1 task passes" in result.out
    document = plan_repo.repo.sow("runs", "verify", "--json", **more).json
    assert {evidence["reason"] for evidence in document["evidence"]} == {
        "it was made with another setup or environment"
    }
    assert {evidence["verdict"] for evidence in document["evidence"]} == {"left out"}


@pytest.mark.full
def test_a_new_login_repeats_everything(ran: PlanRepo):
    """Variables that name a terminal or a login session do not make another environment."""
    result = ran.repo.sow("runs", "verify", TERM="vt100", SSH_AUTH_SOCK="/nowhere", XDG_SESSION_ID="77")
    assert result.code == 0, result
    assert " the same result" in result.out
    assert "another setup" not in result.out


def test_forged_evidence_is_found(ran: PlanRepo):
    """A state file whose evidence says "failed" for a command that passes is reported."""
    path = ran.repo.task_folder("010") / "state.yaml"
    path.write_text(path.read_text().replace("exit: 0", "exit: 3"))
    code, evidence = verify(ran.repo)
    assert code == 1
    assert "differs" in {evidence["verdict"] for evidence in evidence}


@few_of("name", ["1", "010"], 1)
def test_one_task_can_be_verified(ran: PlanRepo, name: str):
    """A task is named by its number in the plan or by its id."""
    code, evidence = verify(ran.repo, "--task", name)
    assert (code, {evidence["task"] for evidence in evidence}) == (0, {"010"})


def says(result: Result, code: int, said: str) -> None:
    assert result.code == code, result
    assert result.err.startswith(f"error: {said}"), result
    assert "\nhint: " in result.err


@pytest.mark.full
def test_verify_refuses_what_has_no_evidence(ran: PlanRepo):
    """An unknown task or run, and one without evidence, are refused with the ones that exist."""
    run = ran.runs()[-1]["id"]
    says(ran.repo.sow("runs", "verify", "--task", "077"), 2, f"run {run} has no task '077'")
    says(ran.repo.sow("runs", "verify", "--task", "2"), 1, f"run {run} has no evidence to repeat")
    says(ran.repo.sow("runs", "verify", "1999"), 2, "there is no run '1999'")
    says(ran.repo.sow("runs", "verify", SOW_TASK="010", SOW_AGENT="implementer"), 2, "")
    assert ran.worktrees() == set()


@pytest.mark.full
def test_evidence_without_a_tree_is_skipped(ran: PlanRepo):
    """If the tree is no longer in git, the command does not run on another one."""
    path = ran.repo.task_folder("010") / "state.yaml"
    trees = {item["tree"] for item in verify(ran.repo)[1]}
    text = path.read_text()
    for tree in trees:
        text = text.replace(tree, "f" * 40)
    path.write_text(text)
    code, evidence = verify(ran.repo)
    assert code == 1
    assert {(evidence["verdict"], evidence["reason"]) for evidence in evidence} == {
        ("left out", "its tree is not in git any more")
    }


@pytest.mark.full
def test_a_task_that_cannot_be_read_is_no_proof(ran: PlanRepo):
    """A broken state file of the run is named, whatever the evidence of the others shows."""
    path = ran.repo.task_folder("020") / "state.yaml"
    path.write_text(path.read_text().replace("status: completed", "status: fine"))
    says(ran.repo.sow("runs", "verify"), 2, ".sow/project/phases/implementation/tasks/020/state.yaml: task.status")


@pytest.mark.full
def test_commands_need_consent(plan_repo: PlanRepo):
    """A command that the user did not agree to is shown and not run without --yes."""
    plan_repo.plan({"test_commands": ["test -e part_010.txt && echo there"]})
    assert plan_repo.run().code == 0
    plan_repo.configure(checks={"allow": []})
    result = plan_repo.repo.sow("runs", "verify")
    assert result.code == 4
    assert "test -e part_010.txt && echo there" in result.err
    assert verify(plan_repo.repo, "--yes")[0] == 0


@pytest.mark.full
def test_checks_of_earlier_runs_need_consent_too(plan_repo: PlanRepo):
    """The final tree is checked with the lists of all merged tasks, so one question covers them all."""
    plan_repo.plan({"test_commands": ["test -e part_010.txt"]})
    assert plan_repo.run().code == 0
    (plan_repo.repo.root / "second.yaml").write_text(
        "name: Second\ntasks: [{id: 7, name: Seven, description: Make it, test_commands: [test -e part_070.txt]}]\n"
    )
    result = plan_repo.run("--review", "off", plan="second.yaml")
    assert result.code == 0, result
    plan_repo.configure(checks={"allow": []})
    run = next(run["id"] for run in plan_repo.runs() if "070" in run["tasks"])  # two runs of one second have no order
    refused = plan_repo.repo.sow("runs", "verify", run)
    assert refused.code == 4, refused
    assert all(f"test -e part_{name}.txt" in refused.err for name in ("010", "070"))
    assert verify(plan_repo.repo, run, "--yes", "--task", "7")[0] == 0
    assert verify(plan_repo.repo, run, "--yes")[0] == 0


@pytest.mark.full
def test_a_list_that_failed_before_the_run_is_named(plan_repo: PlanRepo, tmp_path: Path):
    """A list that failed before this run began is named, and does not change the exit code."""
    flag = tmp_path / "flag"
    flag.touch()
    plan_repo.plan({"test_commands": [f"test -e {flag}"]})
    assert plan_repo.run().code == 0
    flag.unlink()
    plan_repo.plan({"task_number": 7, "test_commands": ["test -e part_070.txt"]})
    result = plan_repo.run("--yes")
    assert result.code == 0, result
    run = next(run for run in plan_repo.runs() if "070" in run["tasks"])
    assert [evidence.get("cause") for evidence in run["final"] if not evidence["passed"]] == ["before"]
    verified = plan_repo.repo.sow("runs", "verify", run["id"])
    assert verified.code == 0, verified
    assert f"final tree, task 010: test -e {flag} (exit 1), as before the run" in verified.out
    assert "final tree: the check list of 1 task passes" in verified.out
    assert plan_repo.repo.ok("runs", "verify", run["id"], "--task", "010").code == 0
    document = plan_repo.repo.ok("runs", "verify", run["id"], "--json").json
    assert document["holds"]
    assert {(*evidence["tasks"], evidence["passed"], evidence["failed_before"]) for evidence in document["final"]} == {
        ("010", False, True),
        ("070", True, False),
    }


def test_it_is_no_call_of_the_run(ran: PlanRepo):
    """After verify, the report is the same: the run was not continued, and its time and timeline are as before."""
    (journal,) = (ran.repo.root / ".sow/local/runs").glob("*/journal.jsonl")
    before, report = journal.read_bytes(), ran.repo.ok("runs", "show", "--json").json
    assert verify(ran.repo)[0] == 0
    assert journal.read_bytes() == before
    after = ran.repo.ok("runs", "show", "--json").json
    assert (after["run"]["calls"], after["totals"]) == (1, report["totals"])
    assert "continued" not in ran.repo.ok("runs", "show").out
