"""The integration branch: merges are tried without a branch, checked in a worktree, and then recorded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.quick_cases import few_of
from support.worktree_repo import RUN, WorktreeRepo

from sow.errors import SowError, SystemFailure
from sow.gitwork.worktree import EnvironmentProblem

INT = f"sow/int/{RUN}"
STATE = ".sow/project/state.yaml"


@pytest.fixture
def begun(worktree_repo: WorktreeRepo) -> WorktreeRepo:
    """A run whose integration branch exists."""
    worktree_repo.integration.begin("HEAD")
    return worktree_repo


def test_begin(worktree_repo: WorktreeRepo) -> None:
    """The branch begins at the base without a checkout of its own, and the user's side stays."""
    before = worktree_repo.user_side()
    worktree_repo.integration.begin("HEAD")
    assert worktree_repo.integration.head == worktree_repo.integration.base == worktree_repo.head()
    assert worktree_repo.git("rev-parse", INT).strip() == worktree_repo.head()
    assert not (worktree_repo.root / ".sow/local/worktrees").exists()
    assert worktree_repo.integration.merged_work() == {}
    assert worktree_repo.user_side() == before


def test_before_begin(worktree_repo: WorktreeRepo) -> None:
    """A run that has not begun has no head and no base, and the error says so."""
    with pytest.raises(EnvironmentProblem, match="is gone"):
        _ = worktree_repo.integration.head
    with pytest.raises(SowError, match="no integration branch"):
        _ = worktree_repo.integration.base


@pytest.mark.parametrize("history", ["squash", "full"])
def test_a_merge(begun: WorktreeRepo, history: str) -> None:
    """A merge is one commit on the head, or with full history a merge of both; it counts once it is recorded."""
    begun.keep_history(history)
    work = begun.work("010", "new.txt", "new\n")
    head = begun.integration.head
    merge = begun.integration.try_merge("010", 1, work.commit, "Merge task 010")
    assert merge.conflicts == ()
    assert begun.integration.head == head
    parents = begun.git("log", "-1", "--format=%P", merge.commit).split()
    assert parents == ([head] if history == "squash" else [head, work.commit])
    assert begun.git("log", "-1", "--format=%B", merge.commit).strip() == "Merge task 010\n\nSow-Task: 010/1"
    assert begun.text(merge.commit, "new.txt") == "new\n"
    assert begun.integration.merged_work() == {}
    begun.integration.record_merge(merge, task="010", iteration=1, work=work.commit)
    assert begun.integration.head == merge.commit == begun.git("rev-parse", INT).strip()
    assert begun.integration.merged_work() == {("010", 1): work.commit}


def test_the_record_lists_the_merges(begun: WorktreeRepo) -> None:
    """Another process reads the same merges from the record, and no trailer of a worker adds one (F10)."""
    first = begun.work("010", "a.txt", "a\n")
    second = begun.work("020", "b.txt", "b\n")
    begun.merge("010", first.commit)
    spoof = begun.prepare("030", begun.integration.head)
    begun.write("c.txt", where=spoof)
    begun.git("add", "c.txt", cwd=spoof)
    begun.git("commit", "-q", "-m", "sly\n\nSow-Task: 900/1", cwd=spoof)
    third = begun.worktrees.collect("030", 3, "sly\n\nSow-Task: 901/1", begun.integration.head)
    merge = begun.integration.try_merge("030", 3, third.commit, "Merge\n\nSow-Task: 902/1")
    begun.integration.record_merge(merge, task="030", iteration=3, work=third.commit)
    begun.merge("020", second.commit)
    fresh = WorktreeRepo(begun.repo)
    assert fresh.integration.merged_work() == {
        ("010", 1): first.commit,
        ("020", 1): second.commit,
        ("030", 3): third.commit,
    }


def forge(worktree_repo: WorktreeRepo, message: str = "Helpful\n\nSow-Task: 010/1") -> str:
    """Makes a commit of a worker on the integration branch."""
    where = worktree_repo.prepare("090", worktree_repo.integration.head)
    worktree_repo.write("forged.txt", where=where)
    commit = worktree_repo.commit(message, where=where)
    worktree_repo.git("update-ref", f"refs/heads/{INT}", commit)
    return commit


@pytest.mark.parametrize("again", [False, True], ids=["at once", "in the next call"])
def test_a_foreign_commit_does_not_count(begun: WorktreeRepo, again: bool) -> None:
    """A commit of another program on the branch is no merge, is removed, pinned and reported (F17)."""
    head, commit = begun.integration.head, forge(begun)
    worktree_repo = WorktreeRepo(begun.repo) if again else begun
    if again:
        worktree_repo.integration.begin("HEAD")
    else:
        worktree_repo.integration.restore_branch()
    assert worktree_repo.integration.merged_work() == {}
    assert worktree_repo.integration.head == head == worktree_repo.git("rev-parse", INT).strip()
    assert [
        (undone_move["found"], undone_move["restored"]) for undone_move in worktree_repo.integration.undone_moves
    ] == [(commit, head)]
    assert worktree_repo.git("rev-parse", worktree_repo.integration.undone_moves[0]["pin"]).strip() == commit


@pytest.mark.full
def test_a_branch_that_was_set_back(begun: WorktreeRepo) -> None:
    """A branch that was moved to an older commit is restored, and that is reported."""
    head = begun.merge("010", begun.work("010", "new.txt", "new\n").commit).commit
    begun.git("update-ref", f"refs/heads/{INT}", begun.integration.base)
    begun.integration.restore_branch()
    assert begun.git("rev-parse", INT).strip() == head
    assert [undone_move["pin"] for undone_move in begun.integration.undone_moves] == [""]


@pytest.mark.full
def test_a_crash_between_the_record_and_the_branch(begun: WorktreeRepo) -> None:
    """The branch follows the record, without a report of a foreign change."""
    head = begun.merge("010", begun.work("010", "new.txt", "new\n").commit).commit
    begun.git("update-ref", f"refs/heads/{INT}", begun.integration.base)
    worktree_repo = WorktreeRepo(begun.repo)
    worktree_repo.integration.begin("HEAD")
    assert worktree_repo.git("rev-parse", INT).strip() == head
    assert worktree_repo.integration.undone_moves == []


@pytest.mark.full
def test_a_second_iteration_on_merged_work(begun: WorktreeRepo) -> None:
    """More work on top of a squashed iteration is a change relative to that iteration, without a conflict."""
    first = begun.work("010", "src/a.txt", "one\n2\nthree\n")
    begun.merge("010", first.commit)
    begun.merge("020", begun.work("020", "other.txt", "other\n").commit)
    begun.write("src/a.txt", "one\nzwei\nthree\n", where=Path(begun.worktrees.path("010")))
    base = begun.integration.base_of("010", begun.worktrees.branch("010"))
    assert base == first.commit
    second = begun.worktrees.collect("010", 2, "More", base)
    assert second.paths == ["src/a.txt"]
    merge = begun.merge("010", second.commit, 2)
    assert merge.conflicts == ()
    assert begun.text(merge.commit, "src/a.txt") == "one\nzwei\nthree\n"
    assert begun.text(merge.commit, "other.txt") == "other\n"


@pytest.mark.full
def test_a_conflict_resolved_with_the_branch(begun: WorktreeRepo) -> None:
    """A worker that merges the squashed branch into its own resolves the conflict for good."""
    base = begun.integration.head
    where = begun.prepare("020", base)
    begun.write("src/a.txt", "theirs\n", where=where)
    begun.collect("020", base=base)
    begun.merge("010", begun.work("010", "src/a.txt", "ours\n").commit)
    begun.git("merge", "-q", INT, cwd=where, ok=False)
    begun.write("src/a.txt", "both\n", where=where)
    begun.commit("resolved", where=where)
    result = begun.worktrees.collect("020", 2, "m", begun.integration.base_of("020", begun.worktrees.branch("020")))
    assert begun.text(begun.merge("020", result.commit, 2).commit, "src/a.txt") == "both\n"


def test_work_without_a_change_is_recorded(begun: WorktreeRepo) -> None:
    """A task without a change is recorded as merged, and makes no commit."""
    where = begun.prepare("010", begun.integration.head)
    collected = begun.collect("010", base=begun.integration.head)
    assert where.exists()
    merge = begun.merge("010", collected.commit)
    assert merge.tree == begun.git("rev-parse", "HEAD^{tree}").strip()
    assert merge.commit == begun.integration.base
    assert begun.integration.merged_work() == {("010", 1): collected.commit}


@pytest.mark.full
def test_a_conflict(begun: WorktreeRepo) -> None:
    """A conflict has the paths and git's text, with names instead of numbers, and nothing is made."""
    base = begun.integration.head
    ours = begun.work("010", "src/a.txt", "ours\n")
    where = begun.prepare("020", base)
    begun.write("src/a.txt", "theirs\n", where=where)
    (where / "src/b.txt").unlink()
    theirs = begun.collect("020", base=base)
    begun.merge("010", ours.commit)
    again = begun.prepare("030", base)
    begun.write("src/b.txt", "changed\n", where=again)
    begun.merge("030", begun.collect("030", base=base).commit)
    head = begun.integration.head
    merge = begun.integration.try_merge("020", 1, theirs.commit, "Merge")
    assert merge.commit == ""
    assert merge.conflicts == ("src/a.txt", "src/b.txt")
    assert any("Merge conflict in src/a.txt" in message for message in merge.messages)
    assert any("task 020" in message and "the integration branch" in message for message in merge.messages)
    assert begun.integration.head == head


@pytest.mark.full
def test_a_conflict_in_an_odd_name(begun: WorktreeRepo) -> None:
    """A path with a line end in its name is reported as a whole."""
    base, name = begun.integration.head, "new\nline"
    first = begun.work("010", name, "ours\n")
    where = begun.prepare("020", base)
    begun.write(name, "theirs\n", where=where)
    second = begun.collect("020", base=base)
    begun.merge("010", first.commit)
    assert begun.integration.try_merge("020", 1, second.commit, "Merge").conflicts == (name,)


def test_state_files_never_conflict(begun: WorktreeRepo) -> None:
    """State that was saved here and committed by the user there merges: the user's is newer, and wins."""
    begun.write(STATE, "saved\n")
    begun.integration.save_state("state")
    begun.write(STATE, "committed by the user\n")
    begun.write("user.txt")
    user = begun.commit("the user's")
    merge = begun.integration.merge_user_commits(user)
    assert merge.conflicts == ()
    assert begun.text(merge.commit, STATE) == "committed by the user\n"
    assert begun.text(merge.commit, "user.txt") == "text\n"
    assert begun.git("log", "-1", "--format=%P", merge.commit).split()[1] == user


def test_the_branch_moves_only_from_the_expected_commit(begun: WorktreeRepo) -> None:
    """Advancing from another commit than expected is refused, and changes nothing."""
    work = begun.work("010", "new.txt", "new\n")
    merge = begun.integration.try_merge("010", 1, work.commit, "Merge")
    head = begun.integration.head
    with pytest.raises(SystemFailure, match="has moved meanwhile"):
        begun.integration.advance(merge.commit, work.commit)
    assert begun.integration.head == head


def test_a_checked_out_branch_does_not_move(begun: WorktreeRepo) -> None:
    """A branch that the user has checked out is not moved, and the refusal names the checkout."""
    peek = begun.root.parent / "peek"
    begun.git("worktree", "add", "-q", str(peek), INT)
    work = begun.work("010", "new.txt", "new\n")
    merge = begun.integration.try_merge("010", 1, work.commit, "Merge")
    with pytest.raises(EnvironmentProblem, match="peek"):
        begun.integration.advance(merge.commit, begun.integration.head)
    assert begun.git("status", "--porcelain", cwd=peek) == ""


@pytest.mark.full
def test_a_deleted_branch_is_restored(begun: WorktreeRepo) -> None:
    """A deleted branch is restored with all merges, during a run and with the next one."""
    work = begun.work("010", "new.txt", "new\n")
    head = begun.merge("010", work.commit).commit
    for back in (begun.integration.restore_branch, lambda: begun.integration.begin("HEAD")):
        begun.git("branch", "-q", "-D", INT)
        back()
        assert begun.integration.head == head == begun.git("rev-parse", INT).strip()
    assert begun.integration.undone_moves == []
    assert begun.integration.merged_work() == {("010", 1): work.commit}


@pytest.mark.full
def test_commits_of_the_user_are_merged(begun: WorktreeRepo) -> None:
    """New commits of the user are merged with two parents and no trailer, or conflict; old ones change nothing."""
    assert begun.integration.merge_user_commits("HEAD").commit == begun.integration.head
    begun.write("user.txt")
    user = begun.commit("the user's")
    merge = begun.integration.merge_user_commits(user)
    assert begun.git("log", "-1", "--format=%P", merge.commit).split() == [begun.integration.head, user]
    begun.integration.advance(merge.commit, begun.integration.head)
    assert begun.integration.merged_work() == {}
    work = begun.work("010", "src/a.txt", "ours\n")
    begun.merge("010", work.commit)
    begun.write("src/a.txt", "the user's\n")
    conflict = begun.integration.merge_user_commits(begun.commit())
    assert conflict.conflicts == ("src/a.txt",)
    assert conflict.commit == ""


def test_the_state_is_saved(begun: WorktreeRepo) -> None:
    """The state is one commit on the branch; the user's index, files and staged changes stay."""
    begun.write("staged.txt")
    begun.git("add", "staged.txt")
    begun.write("src/a.txt", "changed\n")
    begun.write("orchestration/plan.md", "plan\n")
    begun.write(".sow/project/new.yaml", "new\n")
    begun.write(".sow/project/half.tmp", "half\n")
    (begun.root / STATE).write_text("state\n")
    before, index = begun.user_side(), (begun.root / ".git/index").read_bytes()
    head = begun.integration.head
    saved = begun.integration.save_state("Save the state")
    assert begun.integration.head == saved
    assert begun.git("log", "-1", "--format=%P", saved).strip() == head
    changed = begun.git("diff", "--name-only", head, saved).split()
    assert changed == [".sow/project/new.yaml", STATE, "orchestration/plan.md"]
    assert begun.user_side() == before
    assert (begun.root / ".git/index").read_bytes() == index
    assert begun.integration.save_state("Save the state") == saved
    shutil.rmtree(begun.root / ".sow/project")
    gone = begun.integration.save_state("Cleaned up")
    assert ".sow/project" not in begun.git("ls-tree", "-r", "--name-only", gone)


def test_a_crash_when_a_state_commit_is_replaced(begun: WorktreeRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a crash between the record and the branch, the old state commit on the branch is no foreign change."""
    begun.write(STATE, "one\n")
    old = begun.integration.save_state("Save")
    begun.write(STATE, "two\n")
    with monkeypatch.context() as patch:
        patch.setattr(type(begun.integration.repository), "set_ref", _crash)
        with pytest.raises(KeyboardInterrupt):
            begun.integration.save_state("Save")
    assert begun.git("rev-parse", INT).strip() == old != begun.integration.head
    begun.integration.begin("HEAD")
    assert begun.integration.undone_moves == []
    assert begun.git("rev-parse", INT).strip() == begun.integration.head


def _crash(*arguments: object, **options: object) -> None:
    raise KeyboardInterrupt


@few_of("history", ["squash", "full"], 1)
def test_a_merge_is_removed(begun: WorktreeRepo, history: str) -> None:
    """Later merges are made again without it, work on top of it does not restore it, and its commit is kept."""
    begun.keep_history(history)
    for number in (1, 2, 3):
        begun.merge(f"0{number}0", begun.work(f"0{number}0", f"{number}.txt", f"{number}\n").commit)
    late = begun.work("040", "4.txt", "4\n")
    old = begun.integration.head
    assert begun.integration.drop(["020"], begun.head()) == {}
    assert [merge["task"] for merge in begun.integration.merges] == ["010", "030"]
    assert begun.is_kept(old)
    begun.merge("040", late.commit)
    files = begun.git("ls-tree", "--name-only", INT).split()
    assert [file for file in files if file[0].isdigit()] == ["1.txt", "3.txt", "4.txt"]
    assert begun.integration.undone_moves == []


@pytest.mark.full
def test_a_delivered_merge_is_not_removed(begun: WorktreeRepo) -> None:
    """A merge that is on the user's branch stays."""
    begun.merge("010", begun.work("010", "1.txt", "1\n").commit)
    head = begun.integration.head
    assert begun.integration.drop(["010"], head) == {}
    assert begun.integration.head == head


@pytest.mark.full
def test_a_merge_that_needs_another_is_removed_with_it(begun: WorktreeRepo) -> None:
    """A later merge that conflicts without the removed one is named, and removed, too."""
    begun.merge("010", begun.work("010", "1.txt", "1\n").commit)
    begun.merge("020", begun.work("020", "1.txt", "2\n").commit)
    begun.merge("030", begun.work("030", "3.txt", "3\n").commit)
    assert begun.integration.drop(["010"], begun.head()) == {"020": ("1.txt",)}
    assert [merge["task"] for merge in begun.integration.merges] == ["030"]


def test_ignored_state_is_not_saved(begun: WorktreeRepo) -> None:
    """A folder of the state that git ignores is left alone, and the rest is saved."""
    begun.write(".git/info/exclude", "orchestration\n")
    begun.write("orchestration/plan.md", "plan\n")
    assert begun.integration.save_state("Save") == begun.integration.head
    begun.write(STATE, "state\n")
    saved = begun.integration.save_state("Save")
    assert begun.git("diff", "--name-only", f"{saved}~1", saved).split() == [STATE]
