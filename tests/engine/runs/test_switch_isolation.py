"""Work that lies in a task's worktree, and a run in one folder: what is not in that folder is never taken for done."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

from support.plan_repo import WORK, Harbour
from support.simulated_workers import wait_for

SLOW = "trap 'exit 3' INT TERM\nsleep 60 &\nwait\n"
SHARED = ("--isolation", "none")


def stopped(harbour: Harbour, who: str, before: str = "", *words: str) -> Path:
    """The worktree of a run that ended with Ctrl-C while somebody was in a first turn."""
    begun = harbour.folder / "begun"
    harbour.act(f"{who}-1", f"{before}touch {begun}\n{SLOW}")
    run = harbour.start(*words)
    wait_for(begun.exists)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130, (out, err)
    return harbour.repo.root / ".sow/local/worktrees/010"


def assert_refused(harbour: Harbour, merge: str = "sow/task/") -> None:
    """A run in one folder says why not and what to do instead, and neither starts nor changes anything."""
    before = harbour.repo.snapshot()
    turns = harbour.turns("010"), harbour.turns("010", "quality-control")
    result = harbour.run(*SHARED, "--retries", "1", "--yes")
    assert result.code == 2, result
    assert "task 010 has work in its worktree" in result.err
    for way in ("where it is: sow run plan.yaml --retries 1 --yes\n", f"git merge {merge}", "sow task abandon 010"):
        assert way in result.err
    assert harbour.repo.snapshot() == before
    assert (harbour.turns("010"), harbour.turns("010", "quality-control")) == turns


def test_collected_work_is_not_judged_elsewhere(harbour: Harbour) -> None:
    """Work that was handed in and collected is refused by a run in one folder, and merged by the command it names."""
    harbour.plan("First")
    stopped(harbour, "quality-control-010")
    assert harbour.task("010")["status"] == "needs_review"
    assert_refused(harbour)
    assert harbour.run().code == 0
    assert (harbour.repo.root / "part_010.txt").exists()


def test_unfinished_work_is_not_left_behind(harbour: Harbour) -> None:
    """A file that nobody has committed yet is work, too."""
    harbour.plan("First")
    stopped(harbour, "implementer-010", WORK)
    assert_refused(harbour)


def test_a_branch_without_its_worktree_is_work(harbour: Harbour) -> None:
    """Where the folder is gone, the commits on the task's branch are still what the task has done."""
    harbour.plan("First")
    worktree = stopped(harbour, "implementer-010", f"{WORK}git add -A\ngit commit -qm mine\n")
    harbour.repo.git("worktree", "remove", "--force", str(worktree))
    assert_refused(harbour)


def test_a_deleted_folder_is_no_end_of_its_commits(harbour: Harbour) -> None:
    """The same holds where somebody deleted the folder and git still has its record."""
    harbour.plan("First")
    worktree = stopped(harbour, "implementer-010", f"{WORK}git add -A\ngit commit -qm mine\n")
    shutil.rmtree(worktree)
    assert_refused(harbour)


def test_collected_work_without_its_branch_is_work(harbour: Harbour) -> None:
    """Where worktree and branch are gone, what was handed in is still the commit that the task names."""
    harbour.plan("First")
    worktree = stopped(harbour, "quality-control-010")
    branch = harbour.repo.git("-C", str(worktree), "branch", "--show-current").strip()
    harbour.repo.git("worktree", "remove", "--force", str(worktree))
    harbour.repo.git("branch", "-q", "-D", branch)
    assert_refused(harbour, harbour.task("010")["work"]["commit"])


def test_an_empty_worktree_is_no_obstacle(harbour: Harbour) -> None:
    """A worker that was stopped before it did anything is followed by one who works where the run is."""
    harbour.plan("First", "Second < 1")
    stopped(harbour, "implementer-010")
    result = harbour.run(*SHARED)
    assert result.code == 0, result
    assert Path((harbour.folder / "implementer-010-2.cwd").read_text().strip()) == harbour.repo.root
    assert (harbour.repo.root / "part_010.txt").exists()
    assert harbour.statuses() == {"010": "completed", "020": "completed"}


def test_a_folder_by_another_name_is_the_same(harbour: Harbour, tmp_path: Path) -> None:
    """Through a link to the checkout the session goes on: it is no session of another folder."""
    harbour.plan("First")
    stopped(harbour, "implementer-010", WORK)
    link = tmp_path / "link"
    link.symlink_to(harbour.repo.root)
    result = harbour.run("--root", str(link))
    assert result.code == 0, result
    assert [each["kind"] for each in harbour.journal("turn_started") if each["role"] == "implementer"] == [
        "spawn",
        "resume",
    ]


def test_completed_and_other_tasks_are_no_obstacle(harbour: Harbour) -> None:
    """Branches of tasks that are done, and worktrees of tasks that the run is not about, keep nobody from anything."""
    harbour.plan("First", "Second", "Third")
    assert harbour.run("--task", "2").code == 0
    stopped(harbour, "implementer-010", WORK, "--task", "1")
    result = harbour.run(*SHARED, "--task", "2", "--task", "3")
    assert result.code == 0, result
    assert harbour.statuses()["030"] == "completed"


def test_work_that_a_person_has_merged_is_here(harbour: Harbour) -> None:
    """Merged by hand, as the refusal says, the work is in the shared folder, and is judged there."""
    harbour.plan("First")
    worktree = stopped(harbour, "quality-control-010")
    branch = harbour.repo.git("-C", str(worktree), "branch", "--show-current").strip()
    assert_refused(harbour, branch)
    harbour.repo.git("merge", "-q", branch)
    result = harbour.run(*SHARED)
    assert result.code == 0, result
    assert harbour.task("010")["status"] == "completed"
    assert (harbour.repo.root / "part_010.txt").exists()


def test_the_way_on_holds_with_the_users_settings(harbour: Harbour) -> None:
    """Who has one folder as a setting is told the option that goes on in worktrees, with the tasks they asked for."""
    harbour.plan("First", "Second")
    stopped(harbour, "implementer-010", WORK, "--task", "1")
    harbour.configure(run={"isolation": "none"})
    result = harbour.run("--task", "1")
    assert result.code == 2, result
    assert "where it is: sow run plan.yaml --task 1 --isolation worktree\n" in result.err
    harbour.repo.ok("task", "abandon", "010", "--reason", "not this way")
    assert harbour.run("--task", "2").code == 0
