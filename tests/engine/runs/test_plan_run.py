"""`sow run` from the plan to merged work: the good way, and what stays untouched on it."""

from __future__ import annotations

from conftest import Repo
from support.plan_repo import Harbour


def changes(repo: Repo) -> list[str]:
    """What git sees in the user's checkout, but for the files of `sow init`."""
    return [line for line in repo.git("status", "--porcelain").splitlines() if " .sow/" not in line]


def test_a_plan_becomes_merged_work(harbour: Harbour) -> None:
    """Every task is worked on, reviewed, pinned and merged, a dependent sees its base, the user's branch has all."""
    harbour.act("implementer-020", "cat part_010.txt > copy.txt\n")
    harbour.plan("First", "Second < 1", "Third")
    result = harbour.run()
    assert result.code == 0, result
    assert harbour.statuses() == {"010": "completed", "020": "completed", "030": "completed"}
    assert (harbour.repo.root / "copy.txt").read_text() == "by 010\n"
    assert (harbour.repo.root / "part_030.txt").read_text() == "by 030\n"
    assert changes(harbour.repo) == []
    assert harbour.repo.git("branch", "--show-current") == "feat/harbour\n"
    log = harbour.repo.git("log", "--format=%(trailers:key=Sow-Task,valueonly)")
    assert {line for line in log.splitlines() if line} == {"010/1", "020/1", "030/1"}
    assert [each["verdict"] for each in harbour.task("010")["reviews"]] == ["GREEN"]
    assert harbour.task("010")["result"] == "GREEN"
    kept = harbour.repo.git("for-each-ref", "--format=%(refname)", "refs/sow/keep").splitlines()
    assert any(each.endswith("/010/1") for each in kept), kept


def test_nothing_is_left_behind(harbour: Harbour) -> None:
    """After a run that is done there is no worktree, no process, no claim, and its state says that it has ended."""
    harbour.plan("First", "Second < 1")
    assert harbour.run().code == 0
    assert harbour.worktrees() == set()
    assert harbour.alive() == []
    assert harbour.runs()[-1]["status"] == "ended"
    assert harbour.run().code == 0  # nobody holds the run, and there is nothing to do
    assert harbour.turns("010") == 1


def test_on_main_a_branch_is_made(harbour: Harbour) -> None:
    """On main the run makes sow/<plan> at the same commit, and main does not move."""
    harbour.plan("First")
    harbour.repo.git("switch", "-q", "-C", "main")
    before = harbour.repo.git("rev-parse", "main")
    result = harbour.run()
    assert result.code == 0, result
    assert harbour.repo.git("branch", "--show-current") == "sow/harbour\n"
    assert harbour.repo.git("rev-parse", "main") == before
    assert "part_010.txt" in harbour.repo.git("ls-tree", "--name-only", "sow/harbour")
    harbour.repo.git("switch", "-q", "main")
    again = harbour.run()
    assert again.code == 2
    assert "git switch sow/harbour" in again.err


def test_the_users_own_files_stay_as_they_are(harbour: Harbour) -> None:
    """Dirty, staged, untracked and stashed work of the user is the same byte for byte after a run."""
    root, git = harbour.repo.root, harbour.repo.git
    for name in ("dirty.txt", "staged.txt", "stashed.txt"):
        (root / name).write_text("committed\n")
    git("add", ".")
    harbour.plan("First")
    (root / "stashed.txt").write_text("away\n")
    git("stash", "-q")
    (root / "dirty.txt").write_text("dirty\n")
    (root / "staged.txt").write_text("staged\n")
    git("add", "staged.txt")
    (root / "staged.txt").write_text("staged and edited\n")
    (root / "own.txt").write_text("untracked\n")
    before = (
        changes(harbour.repo),
        git("diff"),
        git("diff", "--cached", "--", "staged.txt"),
        git("stash", "list", "-p"),
    )
    result = harbour.run()
    assert result.code == 0, result
    after = (
        changes(harbour.repo),
        git("diff"),
        git("diff", "--cached", "--", "staged.txt"),
        git("stash", "list", "-p"),
    )
    assert after == before
    assert (root / "own.txt").read_text() == "untracked\n"
    assert (root / "part_010.txt").read_text() == "by 010\n"


def test_a_worktree_is_prepared_as_the_user_wants_it(harbour: Harbour) -> None:
    """Links and set-up commands of the user's config are in a task's worktree, and where its merge is checked."""
    (harbour.repo.root / ".gitignore").write_text("deps/\nready.txt\n")
    harbour.repo.git("add", ".gitignore")
    (harbour.repo.root / "deps").mkdir()
    (harbour.repo.root / "deps" / "lib.txt").write_text("lib\n")
    harbour.configure(worktree={"link": ["deps"], "setup": [["touch", "ready.txt"]]})
    harbour.act("implementer", 'cat deps/lib.txt > "part_$SOW_TASK.txt"; sleep 0.2\n')
    harbour.plan(*({"test_commands": ["test -f deps/lib.txt", "test -f ready.txt"]} for _ in range(2)))
    result = harbour.run()
    assert result.code == 0, result
    assert (harbour.repo.root / "part_020.txt").read_text() == "lib\n"
    assert {each["kind"] for each in harbour.task("020")["evidence"]} == {"test", "merge", "final"}


def test_set_up_that_fails_is_a_question(harbour: Harbour) -> None:
    """A set-up command that fails is no fault of the work: the task asks, and no turn was started."""
    harbour.configure(worktree={"setup": [["sh", "-c", "echo no network; exit 3"]]})
    harbour.plan("First")
    result = harbour.run()
    assert result.code == 4, result
    asked = harbour.task("010")["question"]["text"]
    assert "the setup of the checkout failed" in asked
    assert "(exit 3)\nno network" in asked
    assert harbour.turns("010") == 0


def test_without_isolation_there_is_no_commit(harbour: Harbour) -> None:
    """With --isolation none the work is done in the user's folder, and nothing is committed, pinned or merged."""
    harbour.act("implementer", 'echo x > "part_$SOW_TASK.txt"; sow task set status needs_review\n')
    harbour.plan("First", "Second < 1")
    before = harbour.repo.git("rev-parse", "HEAD")
    result = harbour.run("--isolation", "none")
    assert result.code == 0, result
    assert changes(harbour.repo) == ["?? part_010.txt", "?? part_020.txt"]
    assert harbour.repo.git("rev-parse", "HEAD") == before
    assert harbour.repo.git("for-each-ref", "refs/sow", "refs/heads/sow") == ""
    assert harbour.worktrees() == set()


def overlap(harbour: Harbour, first: str, second: str) -> bool:
    """Whether two tasks were at work at the same time."""
    spans = {}
    for task in (first, second):
        starts = [each["t"] for each in harbour.journal("turn_started") if each["task"] == task]
        ends = [each["t"] for each in harbour.journal("turn_ended") if each["task"] == task]
        spans[task] = (min(starts), max(ends))
    return spans[first][0] < spans[second][1] and spans[second][0] < spans[first][1]


def test_in_one_folder_only_disjoint_files_are_written_at_once(harbour: Harbour) -> None:
    """Without isolation tasks with disjoint files run side by side, and one that names none runs alone."""
    harbour.act("implementer", "sow task set status needs_review\n")
    for task, other in (("010", "020"), ("020", "010")):
        begun = harbour.folder / f"implementer-{other}-1.cwd"
        harbour.act(
            f"implementer-{task}", f"until test -e {begun}; do sleep 0.05; done\nsow task set status needs_review\n"
        )
    harbour.plan({"files": ["a.txt"]}, {"files": ["b.txt"]}, {})
    result = harbour.run("--isolation", "none", "--review", "off", "--timeout", "120s")
    assert result.code == 0, result
    assert not overlap(harbour, "010", "030")
    assert not overlap(harbour, "020", "030")


def test_waves_are_barriers(harbour: Harbour) -> None:
    """With --schedule waves a task waits for the whole wave before it, not only for its own dependencies."""
    merged = f'grep -q \'"merged", .*"010"\' {harbour.repo.root}/.sow/local/runs/*/journal.jsonl'
    harbour.act("implementer-020", f"until {merged}; do sleep 0.05; done\nsleep 0.5\necho x > slow.txt\n")
    harbour.plan("First", "Slow", "After the first < 1")
    assert harbour.run("--schedule", "waves", "--timeout", "120s").code == 0
    assert not overlap(harbour, "020", "030")


def test_ready_tasks_do_not_wait_for_a_wave(harbour: Harbour) -> None:
    """By default a task starts when its own dependencies are done, while others of their wave still run."""
    harbour.act("implementer-020", "while [ ! -e ../030/part_030.txt ]; do sleep 0.05; done; echo x > slow.txt\n")
    harbour.plan("First", "Slow", "After the first < 1")
    assert harbour.run("--timeout", "120s").code == 0


def test_tasks_of_a_group_are_worked_on_in_turn(harbour: Harbour) -> None:
    """The tasks of one worktree group never work at the same time, and each finds what the one before it has merged."""
    see = "ls part_*.txt 2>/dev/null | tr -d '\\n'"
    harbour.act("implementer", f'echo "saw $({see})" > "part_$SOW_TASK.txt"\nsleep 0.2\n')
    groups = [{"worktree_group": "api"}, {"worktree_group": "api"}, {"worktree_group": "api"}]
    harbour.plan(*groups)
    assert harbour.run().code == 0
    assert (harbour.repo.root / "part_030.txt").read_text() == "saw part_010.txtpart_020.txt\n"
    order = [(each["event"], each["task"]) for each in harbour.journal("task_started", "task_ended")]
    assert order == [(event, task) for task in ("010", "020", "030") for event in ("task_started", "task_ended")]


def test_a_new_session_finds_nothing_of_an_earlier_projects_work(harbour: Harbour) -> None:
    """What an earlier project left in the worktree of the same id stays reachable, and no new worker gets it."""
    harbour.act("implementer-010-1", "echo old > old.txt\ngit add old.txt\ngit commit -qm Old\nexit 5\n")
    harbour.act("implementer-010-2", "ls > seen.txt\n")
    harbour.plan("First")
    assert harbour.run().code == 1
    lost = harbour.repo.git("log", "--all", "--format=%H", "--grep", "Old").split()[0]
    assert harbour.worktrees() == {"010"} | {each for each in harbour.worktrees() if each.startswith("integration")}
    harbour.repo.ok("cleanup", "--yes")
    harbour.repo.git("add", "-A", ".sow")
    harbour.repo.git("commit", "-q", "-m", "Clean up")
    result = harbour.run()
    assert result.code == 0, result
    assert "old.txt" not in (harbour.repo.root / "seen.txt").read_text().split()
    assert harbour.repo.git("for-each-ref", "--contains", lost, "refs/sow/keep") != ""


def test_a_run_with_nothing_to_do_is_not_the_last(harbour: Harbour) -> None:
    """After a re-run without any work, `last` is still the run that did the work, until another one does some."""
    harbour.plan("First")
    assert harbour.run().code == 0
    did = harbour.runs()[-1]["id"]
    assert harbour.run().code == 0
    assert len(harbour.runs()) == 2
    for words in (["runs", "show", "--json"], ["runs", "show", "last", "--json"]):
        assert harbour.repo.ok(*words).json["run"]["id"] == did
    assert f"has everything of run {did} already" in harbour.repo.ok("integrate").out
    harbour.plan("First", "Second")
    assert harbour.run().code == 0
    assert harbour.repo.ok("runs", "show", "--json").json["run"]["id"] == harbour.runs()[-1]["id"]
