"""`sow run` from the plan to merged work without a fault, and the files that it does not touch."""

from __future__ import annotations

import pytest
from conftest import Repo
from support.plan_repo import PlanRepo


def changes(repo: Repo) -> list[str]:
    """Returns what git sees in the user's checkout, without the files of `sow init`."""
    return [line for line in repo.git("status", "--porcelain").splitlines() if " .sow/" not in line]


@pytest.mark.full
def test_a_plan_becomes_merged_work(plan_repo: PlanRepo) -> None:
    """Every task is worked on, reviewed, pinned and merged, a dependent sees its base, and the branch has all work."""
    plan_repo.act("implementer-020", "cat part_010.txt > copy.txt\n")
    plan_repo.plan("First", "Second < 1", "Third")
    result = plan_repo.run()
    assert result.code == 0, result
    assert plan_repo.statuses() == {"010": "completed", "020": "completed", "030": "completed"}
    assert (plan_repo.repo.root / "copy.txt").read_text() == "by 010\n"
    assert (plan_repo.repo.root / "part_030.txt").read_text() == "by 030\n"
    assert changes(plan_repo.repo) == []
    assert plan_repo.repo.git("branch", "--show-current") == "feat/harbour\n"
    log = plan_repo.repo.git("log", "--format=%(trailers:key=Sow-Task,valueonly)")
    assert {line for line in log.splitlines() if line} == {"010/1", "020/1", "030/1"}
    assert [review["verdict"] for review in plan_repo.task("010")["reviews"]] == ["GREEN"]
    assert plan_repo.task("010")["result"] == "GREEN"
    kept = plan_repo.repo.git("for-each-ref", "--format=%(refname)", "refs/sow/keep").splitlines()
    assert any(text.endswith("/010/1") for text in kept), kept


@pytest.mark.full
def test_a_finished_run_leaves_nothing_behind(plan_repo: PlanRepo) -> None:
    """After a run there is no worktree, no process and no claim, and its state says that it has ended."""
    plan_repo.plan("First", "Second < 1")
    assert plan_repo.run().code == 0
    assert plan_repo.worktrees() == set()
    assert plan_repo.alive() == []
    assert plan_repo.runs()[-1]["status"] == "ended"
    assert plan_repo.run().code == 0  # nobody holds the run, and there is nothing to do
    assert plan_repo.turns("010") == 1


@pytest.mark.full
def test_on_main_a_branch_is_made(plan_repo: PlanRepo) -> None:
    """On main the run makes sow/<plan> at the same commit, and main does not move."""
    plan_repo.plan("First")
    plan_repo.repo.git("switch", "-q", "-C", "main")
    before = plan_repo.repo.git("rev-parse", "main")
    result = plan_repo.run()
    assert result.code == 0, result
    assert plan_repo.repo.git("branch", "--show-current") == "sow/harbour\n"
    assert plan_repo.repo.git("rev-parse", "main") == before
    assert "part_010.txt" in plan_repo.repo.git("ls-tree", "--name-only", "sow/harbour")
    plan_repo.repo.git("switch", "-q", "main")
    again = plan_repo.run()
    assert again.code == 2
    assert "git switch sow/harbour" in again.err


def test_the_users_files_stay_as_they_are(plan_repo: PlanRepo) -> None:
    """Dirty, staged, untracked and stashed work of the user is the same byte for byte after a run."""
    root, git = plan_repo.repo.root, plan_repo.repo.git
    for name in ("dirty.txt", "staged.txt", "stashed.txt"):
        (root / name).write_text("committed\n")
    git("add", ".")
    plan_repo.plan("First")
    (root / "stashed.txt").write_text("away\n")
    git("stash", "-q")
    (root / "dirty.txt").write_text("dirty\n")
    (root / "staged.txt").write_text("staged\n")
    git("add", "staged.txt")
    (root / "staged.txt").write_text("staged and edited\n")
    (root / "own.txt").write_text("untracked\n")
    before = (
        changes(plan_repo.repo),
        git("diff"),
        git("diff", "--cached", "--", "staged.txt"),
        git("stash", "list", "-p"),
    )
    result = plan_repo.run()
    assert result.code == 0, result
    after = (
        changes(plan_repo.repo),
        git("diff"),
        git("diff", "--cached", "--", "staged.txt"),
        git("stash", "list", "-p"),
    )
    assert after == before
    assert (root / "own.txt").read_text() == "untracked\n"
    assert (root / "part_010.txt").read_text() == "by 010\n"


@pytest.mark.full
def test_a_worktree_is_set_up_by_the_users_config(plan_repo: PlanRepo) -> None:
    """Links and setup commands of the user's config are in a task's worktree, and where its merge is checked."""
    (plan_repo.repo.root / ".gitignore").write_text("deps/\nready.txt\n")
    plan_repo.repo.git("add", ".gitignore")
    (plan_repo.repo.root / "deps").mkdir()
    (plan_repo.repo.root / "deps" / "lib.txt").write_text("lib\n")
    plan_repo.configure(worktree={"link": ["deps"], "setup": [["touch", "ready.txt"]]})
    plan_repo.act("implementer", 'cat deps/lib.txt > "part_$SOW_TASK.txt"; sleep 0.2\n')
    plan_repo.plan(*({"test_commands": ["test -f deps/lib.txt", "test -f ready.txt"]} for _ in range(2)))
    result = plan_repo.run()
    assert result.code == 0, result
    assert (plan_repo.repo.root / "part_020.txt").read_text() == "lib\n"
    assert {evidence["kind"] for evidence in plan_repo.task("020")["evidence"]} == {"test", "merge", "final"}


def test_a_failed_setup_is_a_question(plan_repo: PlanRepo) -> None:
    """A setup command that fails is no fault of the work: the task asks, and no turn starts."""
    plan_repo.configure(worktree={"setup": [["sh", "-c", "echo no network; exit 3"]]})
    plan_repo.plan("First")
    result = plan_repo.run()
    assert result.code == 4, result
    asked = plan_repo.task("010")["question"]["text"]
    assert "the setup of the checkout failed" in asked
    assert "(exit 3)\nno network" in asked
    assert plan_repo.turns("010") == 0


def test_without_isolation_there_is_no_commit(plan_repo: PlanRepo) -> None:
    """With --isolation none the work is in the user's folder, and nothing is committed, pinned or merged."""
    plan_repo.act("implementer", 'echo x > "part_$SOW_TASK.txt"; sow task set status needs_review\n')
    plan_repo.plan("First", "Second < 1")
    before = plan_repo.repo.git("rev-parse", "HEAD")
    result = plan_repo.run("--isolation", "none")
    assert result.code == 0, result
    assert changes(plan_repo.repo) == ["?? part_010.txt", "?? part_020.txt"]
    assert plan_repo.repo.git("rev-parse", "HEAD") == before
    assert plan_repo.repo.git("for-each-ref", "refs/sow", "refs/heads/sow") == ""
    assert plan_repo.worktrees() == set()


def overlap(plan_repo: PlanRepo, first: str, second: str) -> bool:
    """Tells whether two tasks worked at the same time."""
    spans = {}
    for task in (first, second):
        starts = [entry["t"] for entry in plan_repo.journal("turn_started") if entry["task"] == task]
        ends = [entry["t"] for entry in plan_repo.journal("turn_ended") if entry["task"] == task]
        spans[task] = (min(starts), max(ends))
    return spans[first][0] < spans[second][1] and spans[second][0] < spans[first][1]


def test_in_one_folder_only_disjoint_files_are_parallel(plan_repo: PlanRepo) -> None:
    """Without isolation tasks with disjoint files run in parallel, and one that names none runs alone."""
    plan_repo.act("implementer", "sow task set status needs_review\n")
    for task, other in (("010", "020"), ("020", "010")):
        begun = plan_repo.folder / f"implementer-{other}-1.cwd"
        plan_repo.act(
            f"implementer-{task}", f"until test -e {begun}; do sleep 0.05; done\nsow task set status needs_review\n"
        )
    plan_repo.plan({"files": ["a.txt"]}, {"files": ["b.txt"]}, {})
    result = plan_repo.run("--isolation", "none", "--review", "off", "--timeout", "120s")
    assert result.code == 0, result
    assert not overlap(plan_repo, "010", "030")
    assert not overlap(plan_repo, "020", "030")


@pytest.mark.full
def test_waves_are_barriers(plan_repo: PlanRepo) -> None:
    """With --schedule waves a task waits for the whole previous wave, not only for its own dependencies."""
    merged = f'grep -q \'"merged", .*"010"\' {plan_repo.repo.root}/.sow/local/runs/*/journal.jsonl'
    plan_repo.act("implementer-020", f"until {merged}; do sleep 0.05; done\nsleep 0.5\necho x > slow.txt\n")
    plan_repo.plan("First", "Slow", "After the first < 1")
    assert plan_repo.run("--schedule", "waves", "--timeout", "120s").code == 0
    assert not overlap(plan_repo, "020", "030")


@pytest.mark.full
def test_ready_tasks_do_not_wait_for_a_wave(plan_repo: PlanRepo) -> None:
    """By default a task starts when its own dependencies are done, while others of their wave still run."""
    plan_repo.act("implementer-020", "while [ ! -e ../030/part_030.txt ]; do sleep 0.05; done; echo x > slow.txt\n")
    plan_repo.plan("First", "Slow", "After the first < 1")
    assert plan_repo.run("--timeout", "120s").code == 0


@pytest.mark.full
def test_tasks_of_a_worktree_group_run_in_sequence(plan_repo: PlanRepo) -> None:
    """The tasks of one worktree group never work at the same time, and each sees the merged work of the last one."""
    see = "ls part_*.txt 2>/dev/null | tr -d '\\n'"
    plan_repo.act("implementer", f'echo "saw $({see})" > "part_$SOW_TASK.txt"\nsleep 0.2\n')
    groups = [{"worktree_group": "api"}, {"worktree_group": "api"}, {"worktree_group": "api"}]
    plan_repo.plan(*groups)
    assert plan_repo.run().code == 0
    assert (plan_repo.repo.root / "part_030.txt").read_text() == "saw part_010.txtpart_020.txt\n"
    order = [(entry["event"], entry["task"]) for entry in plan_repo.journal("task_started", "task_ended")]
    assert order == [(event, task) for task in ("010", "020", "030") for event in ("task_started", "task_ended")]


@pytest.mark.full
def test_a_new_session_has_no_work_of_an_earlier_project(plan_repo: PlanRepo) -> None:
    """Work of an earlier project in the worktree of the same id stays reachable, and no new worker gets it."""
    plan_repo.act("implementer-010-1", "echo old > old.txt\ngit add old.txt\ngit commit -qm Old\nexit 5\n")
    plan_repo.act("implementer-010-2", "ls > seen.txt\n")
    plan_repo.plan("First")
    assert plan_repo.run().code == 1
    lost = plan_repo.repo.git("log", "--all", "--format=%H", "--grep", "Old").split()[0]
    assert plan_repo.worktrees() == {"010"} | {
        worktree for worktree in plan_repo.worktrees() if worktree.startswith("integration")
    }
    plan_repo.repo.ok("cleanup", "--yes")
    result = plan_repo.run()
    assert result.code == 0, result
    assert "old.txt" not in (plan_repo.repo.root / "seen.txt").read_text().split()
    assert plan_repo.repo.git("for-each-ref", "--contains", lost, "refs/sow/keep") != ""


@pytest.mark.full
def test_a_run_without_work_is_not_the_last(plan_repo: PlanRepo) -> None:
    """After a call without any work, `last` is still the run that worked, until another one does."""
    plan_repo.act("implementer-020", "exit 1\n")
    plan_repo.plan("First", "Second")
    assert plan_repo.run().code == 1
    did = plan_repo.runs()[-1]["id"]
    assert plan_repo.run().code == 1  # a failed task is not tried again
    assert len(plan_repo.runs()) == 2
    for item in (["runs", "show", "--json"], ["runs", "show", "last", "--json"]):
        assert plan_repo.repo.ok(*item).json["run"]["id"] == did
    assert f"already has everything of run {did}" in plan_repo.repo.ok("integrate").out
    plan_repo.plan("First", "Second", "Third")
    assert plan_repo.run().code == 1
    assert plan_repo.repo.ok("runs", "show", "--json").json["run"]["id"] == plan_repo.runs()[-1]["id"]
