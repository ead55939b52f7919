"""The merge stage: conflicts, failed checks, new commits of the user, and user files that block a merge."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.plan_repo import PlanRepo
from support.quick_cases import few_of
from support.samples import task
from support.simulated_workers import wait_for

from sow.engine.runs.task_job import TaskJob

BOTH = """git merge -q sow/int/$(ls {root}/.sow/local/runs) || true
printf 'one\\ntwo\\n' > shared.txt
git add -A
git commit -qm both
"""


def conflict(plan_repo: PlanRepo) -> None:
    """Two tasks that begin at the same commit and write the same file; the second ends after the first is merged."""
    plan_repo.act("implementer-010", "echo one > shared.txt\n")
    merged = f'grep -q \'"merged", .*"010"\' {plan_repo.repo.root}/.sow/local/runs/*/journal.jsonl'
    plan_repo.act("implementer-020-1", f"until {merged}; do sleep 0.05; done\necho two > shared.txt\n")
    plan_repo.plan("First", "Second")


@pytest.mark.full
def test_a_conflict_goes_back_to_its_worker(plan_repo: PlanRepo) -> None:
    """The second task gets the conflict and the branch as feedback, and its next iteration is merged."""
    conflict(plan_repo)
    plan_repo.act("implementer-020-2", BOTH.format(root=plan_repo.repo.root))
    result = plan_repo.run()
    assert result.code == 0, result
    assert (plan_repo.repo.root / "shared.txt").read_text() == "one\ntwo\n"
    messages = plan_repo.prompt("020", 2)
    assert "CONFLICT (add/add): Merge conflict in shared.txt" in messages
    assert f"sow/int/{plan_repo.runs()[-1]['id']}" in messages
    assert plan_repo.journal("conflict")[0]["paths"] == ["shared.txt"]
    assert (plan_repo.task("020")["iteration"], plan_repo.task("020").get("retry_count", 0)) == (2, 0)


@pytest.mark.full
def test_an_integrator_resolves_a_second_conflict(plan_repo: PlanRepo) -> None:
    """A conflict that the worker leaves goes to an integrator in the task's worktree, with both sides named."""
    conflict(plan_repo)
    plan_repo.act("implementer-020-2", "echo three > shared.txt\n")
    plan_repo.act("integrator", BOTH.format(root=plan_repo.repo.root))
    result = plan_repo.run()
    assert result.code == 0, result
    assert (plan_repo.repo.root / "shared.txt").read_text() == "one\ntwo\n"
    messages = plan_repo.prompt("020", 1, "integrator")
    assert "You are an integrator" in messages
    assert "CONFLICT (add/add): Merge conflict in shared.txt" in messages
    assert f"sow/int/{plan_repo.runs()[-1]['id']}" in messages
    assert (plan_repo.folder / "integrator-020-1.cwd").read_text().strip().endswith("/worktrees/020")


@pytest.mark.full
def test_an_unresolved_conflict_is_a_question(plan_repo: PlanRepo) -> None:
    """A conflict that neither worker nor integrator resolves is a question, and nothing of it is merged."""
    conflict(plan_repo)
    plan_repo.act("implementer-020-2", "echo three > shared.txt\n")
    plan_repo.act("integrator", "echo four > shared.txt\n")
    result = plan_repo.run()
    assert result.code == 4, result
    first, *_, place, outcome, by_hand = plan_repo.task("020")["question"]["text"].splitlines()
    assert first == "it could not be merged, and an integrator did not help"
    shown = plan_repo.repo.ok("inbox").out
    assert "CONFLICT (add/add): Merge conflict in shared.txt" in shown
    assert "sow approve" not in shown + result.out  # it would lead to the same conflict
    assert place.startswith("The work is in /")
    assert place.endswith("/worktrees/020")
    assert "the work is tried again" in outcome
    assert "resolve it there yourself" in by_hand
    assert (plan_repo.repo.root / "shared.txt").read_text() == "one\n"
    assert plan_repo.statuses() == {"010": "completed", "020": "paused"}


def asked(plan_repo: PlanRepo) -> Path:
    """The worktree of a task whose conflict is a person's question; its workers do nothing from now on."""
    conflict(plan_repo)
    plan_repo.act("implementer-020-2", "echo three > shared.txt\n")
    plan_repo.act("integrator-020-1", "echo four > shared.txt\n")
    plan_repo.act("integrator", "exit 0\n")
    assert plan_repo.run().code == 4
    return plan_repo.repo.root / ".sow/local/worktrees/020"


def by_hand(plan_repo: PlanRepo, worktree: Path, *steps: str) -> None:
    """Makes a person's changes in the worktree, before the answer."""
    script = "\n".join(["set -e", f"git merge -q sow/int/{plan_repo.runs()[-1]['id']} || true", *steps])
    subprocess.run(["sh", "-c", script], cwd=worktree, env=plan_repo.repo.environment, check=True, capture_output=True)
    plan_repo.repo.ok("answer", "020", "resolved")


@few_of("steps", [("git add -A", "git commit -qm both"), ("git add -A",), ()], 1, ids=len)
def test_a_persons_resolution_is_work(plan_repo: PlanRepo, steps: tuple[str, ...]) -> None:
    """A conflict that is resolved in the worktree, committed or not, is reviewed without a worker and merged."""
    worktree = asked(plan_repo)
    reviews = plan_repo.turns("020", "quality-control")
    by_hand(plan_repo, worktree, "printf 'one\ntwo\n' > shared.txt", *steps)
    result = plan_repo.run()
    assert result.code == 0, result
    assert (plan_repo.repo.root / "shared.txt").read_text() == "one\ntwo\n"
    assert (plan_repo.turns("020"), plan_repo.turns("020", "integrator")) == (2, 1)
    assert plan_repo.turns("020", "quality-control") == reviews + 1
    assert plan_repo.statuses() == {"010": "completed", "020": "completed"}


@pytest.mark.full
def test_a_partial_resolution_goes_to_a_worker(plan_repo: PlanRepo) -> None:
    """A merge that a person began and did not resolve is continued by a worker, who gets the answer."""
    worktree = asked(plan_repo)
    plan_repo.act("integrator-020-2", "printf 'one\ntwo\n' > shared.txt\ngit add -A\ngit commit -qm both\n")
    by_hand(plan_repo, worktree)
    result = plan_repo.run()
    assert result.code == 0, result
    assert plan_repo.turns("020", "integrator") == 2
    assert "resolved" in plan_repo.prompt("020", 2, "integrator")
    assert (plan_repo.repo.root / "shared.txt").read_text() == "one\ntwo\n"


@pytest.mark.full
def test_an_answer_alone_goes_to_a_worker(plan_repo: PlanRepo) -> None:
    """If the worktree is unchanged, a worker gets the answer, and an interrupted turn is continued."""
    asked(plan_repo)
    plan_repo.act("integrator-020-2", f"echo half > half.txt\ntouch {plan_repo.folder}/begun\nsleep 60\n")
    plan_repo.act("integrator-020-3", "rm half.txt\n" + BOTH.format(root=plan_repo.repo.root))
    plan_repo.repo.ok("answer", "020", "keep both")
    run = plan_repo.start()
    wait_for((plan_repo.folder / "begun").exists)
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=300) == 130
    result = plan_repo.run()
    assert result.code == 0, result
    assert plan_repo.turns("020", "integrator") == 3
    assert "keep both" in plan_repo.prompt("020", 2, "integrator")
    assert not (plan_repo.repo.root / "half.txt").exists()
    assert (plan_repo.repo.root / "shared.txt").read_text() == "one\ntwo\n"


@pytest.mark.full
def test_checks_are_repeated_on_the_merged_tree(plan_repo: PlanRepo) -> None:
    """Work that fails only together with other work is sent back with the failed check, and main stays good."""
    plan_repo.act("implementer-010", "echo 1 > one.txt\n")
    merged = f'grep -q \'"merged", .*"010"\' {plan_repo.repo.root}/.sow/local/runs/*/journal.jsonl'
    plan_repo.act("implementer-020-1", f"until {merged}; do sleep 0.05; done\necho 2 > two.txt\n")
    plan_repo.act("implementer-020-2", "rm two.txt; echo 3 > three.txt\n")
    script = plan_repo.folder / "alone"
    script.write_text("#!/bin/sh\nif [ -e one.txt ] && [ -e two.txt ]; then echo never both; exit 1; fi\n")
    script.chmod(0o755)
    plan_repo.plan("First", {"test_commands": [str(script)]})
    result = plan_repo.run()
    assert result.code == 0, result
    assert "never both" in plan_repo.prompt("020", 2)
    evidence = [
        (evidence["iteration"], evidence["kind"], evidence["passed"]) for evidence in plan_repo.task("020")["evidence"]
    ]
    assert evidence == [(1, "test", True), (1, "merge", False), (2, "test", True), (2, "merge", True)]
    assert not (plan_repo.repo.root / "two.txt").exists()


def test_commits_of_the_user_are_merged_at_the_end(plan_repo: PlanRepo) -> None:
    """Commits during a run are merged and checked with it, and the branch has both sides."""
    plan_repo.act(
        "implementer-010", f"until test -e {plan_repo.folder}/go; do sleep 0.05; done\necho x > part_010.txt\n"
    )
    plan_repo.plan({"test_commands": ["test -f part_010.txt"]})
    run = plan_repo.start()
    wait_for(lambda: (plan_repo.folder / "implementer-010-1.cwd").exists())
    (plan_repo.repo.root / "mine.txt").write_text("mine\n")
    plan_repo.repo.git("add", "mine.txt")
    plan_repo.repo.git("commit", "-q", "-m", "Mine")
    (plan_repo.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (out, err)
    files = plan_repo.repo.git("ls-tree", "--name-only", "HEAD").split()
    assert {"mine.txt", "part_010.txt"} <= set(files)
    assert "Mine" in plan_repo.repo.git("log", "--format=%s")


@pytest.mark.full
def test_commits_of_the_user_that_break_a_check_stop_the_delivery(plan_repo: PlanRepo) -> None:
    """If they break a task's check, the branch stays, the exit code is 4, and the reason is printed."""
    plan_repo.act(
        "implementer-010", f"until test -e {plan_repo.folder}/go; do sleep 0.05; done\necho x > part_010.txt\n"
    )
    plan_repo.plan({"test_commands": ["test ! -e bad.txt"]})
    run = plan_repo.start("--yes")
    wait_for(lambda: (plan_repo.folder / "implementer-010-1.cwd").exists())
    (plan_repo.repo.root / "bad.txt").write_text("bad\n")
    plan_repo.repo.git("add", "bad.txt")
    plan_repo.repo.git("commit", "-q", "-m", "Bad")
    head = plan_repo.repo.git("rev-parse", "HEAD")
    (plan_repo.folder / "go").touch()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 4, (out, err)
    assert b"with your new commits `test ! -e bad.txt` fails" in err
    assert plan_repo.repo.git("rev-parse", "HEAD") == head


@pytest.mark.full
def test_a_file_in_the_way_is_not_overwritten(plan_repo: PlanRepo) -> None:
    """If the user has an uncommitted file of the same name, the work waits on its branch for `sow integrate`."""
    plan_repo.plan("First")
    (plan_repo.repo.root / "part_010.txt").write_text("the user's own\n")
    result = plan_repo.run()
    assert result.code == 4, result
    assert "part_010.txt" in result.err
    assert "sow integrate" in result.err
    assert (plan_repo.repo.root / "part_010.txt").read_text() == "the user's own\n"
    assert plan_repo.statuses() == {"010": "completed"}
    (plan_repo.repo.root / "part_010.txt").unlink()
    result = plan_repo.run()
    assert result.code == 0, result
    assert (plan_repo.repo.root / "part_010.txt").read_text() == "by 010\n"
    assert plan_repo.turns("010") == 1


@few_of("setting", [("trailer.separators", "#"), ("i18n.logOutputEncoding", "UTF-16")], 1)
def test_git_settings_do_not_hide_a_merge(plan_repo: PlanRepo, setting: tuple[str, str]) -> None:
    """A run ends with one merge of its task, whatever git's settings do to messages (F48)."""
    plan_repo.repo.git("config", *setting)
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 0, result
    assert len(plan_repo.journal("merged")) == 1


def test_a_stage_without_a_change_is_a_loop() -> None:
    """The same stage of an unchanged task is noticed after a few times; any change counts as progress (F48)."""
    job = TaskJob.__new__(TaskJob)
    job.context, job.last_stage, job.repeats = SimpleNamespace(isolation=None), None, 0  # type: ignore[assignment]
    given = task(status="needs_review")
    assert [job._makes_no_progress(given, "merge", "it passed") for _ in range(6)] == [False] * 5 + [True]
    assert not job._makes_no_progress({**given, "iteration": 2}, "merge", "it passed")
