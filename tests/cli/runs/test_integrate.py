"""sow integrate: delivers a run's merged work later, without losing any work of the user."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import SOW, Repo
from support.plan_repo import PlanRepo
from support.quick_cases import few_of
from support.simulated_workers import wait_for


@pytest.fixture
def waiting(plan_repo: PlanRepo) -> PlanRepo:
    """A run of two tasks that could not be delivered because a file of the user is in the way."""
    plan_repo.plan({"test_commands": ["test -f part_010.txt"]}, "Second")
    (plan_repo.repo.root / "part_010.txt").write_text("mine\n")
    result = plan_repo.run()
    assert result.code == 4, result
    assert "part_010.txt" in result.err
    return plan_repo


def head(repo: Repo) -> str:
    return repo.git("rev-parse", "HEAD").strip()


def commit(repo: Repo, name: str, text: str = "theirs\n") -> str:
    """Makes a commit of the user."""
    (repo.root / name).write_text(text)
    repo.git("add", name)
    repo.git("commit", "-q", "-m", f"My {name}")
    return head(repo)


def refused(repo: Repo, code: int, said: str, hint: str) -> None:
    """Checks that the command fails with this code and text, and that the branch stays."""
    before = head(repo)
    result = repo.sow("integrate")
    assert result.code == code, result
    first, second = result.err.splitlines()[-2:]
    assert first.startswith("error: ")
    assert said in first
    assert second.startswith("hint: ")
    assert hint in second
    assert head(repo) == before


@pytest.mark.full
def test_integrate_works_once_the_file_is_moved(waiting: PlanRepo):
    """Once the user's file is moved, the branch moves to the merged work, and the run is over."""
    refused(waiting.repo, 4, "part_010.txt", "then 'sow integrate'")
    assert (waiting.repo.root / "part_010.txt").read_text() == "mine\n"
    (waiting.repo.root / "part_010.txt").unlink()
    result = waiting.repo.ok("integrate")
    assert "feat/harbour moved to" in result.out
    assert "part_010.txt" in result.out
    assert (waiting.repo.root / "part_010.txt").read_text() == "by 010\n"
    assert (waiting.runs()[-1]["status"], waiting.runs()[-1]["exit"]) == ("ended", 0)
    assert waiting.worktrees() == set()
    assert "has everything" in waiting.repo.ok("integrate").out


@pytest.mark.full
def test_the_next_step_is_to_integrate(waiting: PlanRepo):
    """The report, the status and the inbox name `sow integrate`, until the work is delivered."""
    repo = waiting.repo
    assert [item["do"] for item in repo.ok("inbox", "--json").json["items"]] == ["sow integrate"]
    assert f"- run {waiting.runs()[-1]['id']} is done and not yet on your branch" in repo.ok("inbox").out
    assert repo.ok("status", "--json").json["next"]["command"] == "sow integrate"
    assert repo.ok("runs", "report", "--format", "json").json["next"][0]["command"] == "sow integrate"
    (repo.root / "part_010.txt").unlink()
    repo.ok("integrate")
    assert repo.ok("inbox", "--json").json["items"] == []
    assert repo.ok("status", "--json").json["next"]["command"] != "sow integrate"


@pytest.mark.full
def test_a_failed_task_does_not_hide_integrate(plan_repo: PlanRepo):
    """If one task failed and the result of the others is not delivered, `sow integrate` is named too."""
    plan_repo.act("implementer-020", "exit 3\n")
    plan_repo.plan("First", "Second")
    (plan_repo.repo.root / "part_010.txt").write_text("mine\n")
    assert plan_repo.run().code == 1
    assert "sow integrate" in [item["do"] for item in plan_repo.repo.ok("inbox", "--json").json["items"]]
    steps = plan_repo.repo.ok("runs", "report", "--format", "json").json["next"]
    assert "sow integrate" in [step["command"] for step in steps]


def advised(said: str) -> list[str]:
    """Returns the commands of a hint, in order."""
    stash, _, back = said.partition("put them away (")[2].partition("), then 'sow integrate'")
    pop = ["git stash pop"] if "'git stash pop'" in back else []
    restore = re.findall(r"git restore --source='stash@\{0\}\^3' -- [^\n)]+", back)
    return [stash, f"{SOW} integrate", *pop, *restore]


def follow(repo: Repo, said: str, cwd: Path) -> list[str]:
    """Runs the commands of a hint in a shell, checks that each works, and returns them."""
    commands = advised(said)
    for command in commands:
        text = ["sh", "-c", command]
        result = subprocess.run(text, cwd=cwd, env=repo.environment, capture_output=True, text=True)
        assert result.returncode == 0, (command, result.stdout, result.stderr)
    return commands


LINES = "".join(f"line {number}\n" for number in range(20))


@few_of("where", [".", "deep"], 1)
@few_of("count", [1, 12], 1)
def test_changed_files_are_stashed_and_restored(plan_repo: PlanRepo, count: int, where: str):
    """The printed commands work in a first run and in every folder; the files have both changes."""
    root = plan_repo.repo.root
    names = [f"deep/it's [no] {number}.txt" for number in range(count)]
    (root / "deep").mkdir()
    for name in names:
        commit(plan_repo.repo, name, LINES)
    plan_repo.act("implementer", "for name in deep/*; do sed -i 's/line 18/line of the run/' \"$name\"; done\n")
    plan_repo.plan("All of them")
    for name in names:
        (root / name).write_text(LINES.replace("line 1\n", "line of mine\n"))
    (root / "notes.txt").write_text("not the run's\n")
    assert plan_repo.run().code == 4
    assert "?? .sow/" in plan_repo.repo.git("status", "--porcelain")
    refusal = plan_repo.repo.sow("integrate")
    commands = follow(plan_repo.repo, refusal.err, root / where)
    assert commands[-1] == "git stash pop"
    assert (":/!.sow" in commands[0]) is (count > 8)
    for name in names:
        text = (root / name).read_text()
        assert "line of the run" in text
        assert "line of mine" in text
    assert (root / "notes.txt").read_text() == "not the run's\n"
    assert plan_repo.repo.git("stash", "list") == ""
    assert plan_repo.runs()[-1]["status"] == "ended"


@few_of("ignored", [False, True], 0)
def test_new_files_are_moved_and_restored(waiting: PlanRepo, ignored: bool):
    """An untracked or ignored file of the user is moved away and back by the printed commands."""
    if ignored:
        commit(waiting.repo, ".gitignore", "part_010.txt\n")
    refusal = waiting.repo.sow("integrate")
    commands = follow(waiting.repo, refusal.err, waiting.repo.root)
    assert ("--all" in commands[0]) is ignored
    assert (waiting.repo.root / "part_010.txt").read_text() == "mine\n"
    assert waiting.repo.git("show", "HEAD:part_010.txt") == "by 010\n"
    assert waiting.runs()[-1]["status"] == "ended"


@pytest.mark.full
def test_a_dry_run_changes_nothing(waiting: PlanRepo):
    """It prints what would happen, or what is in the way, and changes neither branch nor files."""
    refs = waiting.repo.git("for-each-ref")
    blocked = waiting.repo.sow("integrate", "--dry-run", "--json")
    assert blocked.code == 4
    assert blocked.json["possible"] is False
    assert "part_010.txt" in blocked.json["reason"]
    (waiting.repo.root / "part_010.txt").unlink()
    result = waiting.repo.ok("integrate", "last", "--dry-run", "--json").json
    assert result["possible"]
    assert result["paths"] == ["part_010.txt", "part_020.txt"]
    assert result["branch"] == "feat/harbour"
    assert "would move" in waiting.repo.ok("integrate", "--dry-run").out
    assert waiting.repo.git("for-each-ref") == refs
    assert not (waiting.repo.root / "part_010.txt").exists()


def test_new_commits_of_the_user_are_merged_and_checked(waiting: PlanRepo):
    """The branch moves to a merge of both sides on which the checks passed."""
    (waiting.repo.root / "part_010.txt").unlink()
    theirs = commit(waiting.repo, "notes.txt")
    assert waiting.repo.ok("integrate", "--dry-run", "--json").json["your_commits"] == 1
    assert (
        "1 new commit on your branch would be merged in and checked first"
        in waiting.repo.ok("integrate", "--dry-run").out
    )
    assert "1 new commit on your branch was merged in and checked\n" in waiting.repo.ok("integrate").out
    assert waiting.repo.git("merge-base", "--is-ancestor", theirs, "HEAD") == ""
    assert (waiting.repo.root / "notes.txt").read_text() == "theirs\n"
    assert (waiting.repo.root / "part_020.txt").read_text() == "by 020\n"


@pytest.mark.full
def test_new_commits_that_conflict(waiting: PlanRepo):
    """The error names the conflicting path and the commands that solve it; after these the command ends well."""
    (waiting.repo.root / "part_010.txt").unlink()
    commit(waiting.repo, "part_020.txt")
    refused(waiting.repo, 4, "conflict with the run in part_020.txt", "sow project save && git merge sow/int/")
    branch = f"sow/int/{waiting.runs()[-1]['id']}"
    waiting.repo.ok("project", "save")
    waiting.repo.git("merge", "-q", "-X", "ours", "-m", "Mine wins", branch)
    assert waiting.repo.ok("integrate").code == 0
    assert (waiting.repo.root / "part_020.txt").read_text() == "theirs\n"


@pytest.mark.full
def test_new_commits_that_break_a_test(plan_repo: PlanRepo):
    """If a check fails on the merge with the user's commits, the exit code is 1 and the check is named."""
    commit(plan_repo.repo, "mode.txt", "good\n")
    plan_repo.plan({"test_commands": ["grep -qx good mode.txt"]})
    (plan_repo.repo.root / "part_010.txt").write_text("mine\n")
    assert plan_repo.run().code == 4
    (plan_repo.repo.root / "part_010.txt").unlink()
    commit(plan_repo.repo, "mode.txt", "bad\n")
    refused(plan_repo.repo, 1, "`grep -qx good mode.txt` fails", "fix it")
    commit(plan_repo.repo, "mode.txt", "good\nand new\n")
    plan_repo.repo.ok("integrate")


@pytest.mark.full
def test_integrate_needs_the_branch_of_the_run(waiting: PlanRepo):
    """On another branch the command names the branch to switch to, and nothing moves."""
    (waiting.repo.root / "part_010.txt").unlink()
    waiting.repo.git("switch", "-q", "-c", "elsewhere")
    refused(waiting.repo, 4, "on elsewhere, and the run belongs to feat/harbour", "git switch feat/harbour")


@pytest.mark.full
def test_integrate_waits_for_the_end_of_a_merge(waiting: PlanRepo):
    """During a git operation of the user the command is refused."""
    (waiting.repo.root / "part_010.txt").unlink()
    (waiting.repo.root / ".git" / "MERGE_HEAD").write_text(f"{head(waiting.repo)}\n")
    refused(waiting.repo, 4, "a merge is under way", "git merge --continue")


@pytest.mark.full
def test_a_deleted_branch_is_reported(waiting: PlanRepo):
    """If the run's branch was deleted, the command says where the work is."""
    (waiting.repo.root / "part_010.txt").unlink()
    waiting.repo.git("switch", "-q", "--detach")
    waiting.repo.git("branch", "-q", "-D", "feat/harbour")
    refused(waiting.repo, 4, "the branch feat/harbour is gone", "git switch -c feat/harbour sow/int/")


@pytest.mark.full
def test_integrate_during_a_run_is_refused(plan_repo: PlanRepo):
    """The error names the live run."""
    plan_repo.act("implementer", "while [ ! -e stop ]; do sleep 0.05; done\n")
    plan_repo.plan("First")
    process = plan_repo.start()
    try:
        wait_for(lambda: plan_repo.has_happened("turn_started", task="010"))
        result = plan_repo.repo.sow("integrate")
        assert result.code == 4, result
        assert str(process.pid) in result.err
    finally:
        process.terminate()
        process.communicate(timeout=300)


def test_a_run_without_worktrees_has_nothing_to_integrate(plan_repo: PlanRepo):
    """A run that worked in the user's own folder has nothing to bring in."""
    plan_repo.plan("First")
    assert plan_repo.run("--isolation", "none").code == 0
    result = plan_repo.repo.sow("integrate")
    assert result.code == 2
    assert "--isolation none" in result.err


def test_a_worker_may_not_integrate(waiting: PlanRepo):
    """A supervised worker moves no branch of the user's."""
    result = waiting.repo.sow("integrate", SOW_TASK="010", SOW_AGENT="implementer")
    assert result.code == 2, result


def test_integrate_without_a_run(repo: Repo):
    """The error says how to start a run."""
    result = repo.sow("integrate")
    assert result.code == 2
    assert "there is no run here" in result.err


@pytest.mark.full
def test_integrate_works_in_a_subfolder(waiting: PlanRepo, tmp_path: Path):
    """The command works from anywhere in the checkout."""
    (waiting.repo.root / "part_010.txt").unlink()
    below = waiting.repo.root / "docs"
    below.mkdir()
    result = subprocess.run(
        [SOW, "integrate"], cwd=below, env=waiting.repo.environment, capture_output=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
