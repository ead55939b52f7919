"""The user's checkout moves forward to the result of a run, or stays exactly as it is."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from support.quick_cases import few_of
from support.worktree_repo import BRANCH, WorktreeRepo

from sow.gitwork.integration_branch import Delivered
from sow.gitwork.repository import DeliveryRefused

STATE = ".sow/project/state.yaml"


@pytest.fixture
def merged(worktree_repo: WorktreeRepo) -> WorktreeRepo:
    """A run that changed one file, added one in a new folder and removed one."""
    worktree_repo.integration.begin("HEAD")
    where = worktree_repo.prepare("010", worktree_repo.integration.head)
    worktree_repo.write("src/a.txt", "changed by the run\n", where=where)
    worktree_repo.write("new/file.txt", "new\n", where=where)
    worktree_repo.write("kept.log.txt", "x\n", where=where)
    (where / "src/b.txt").unlink()
    worktree_repo.merge("010", worktree_repo.collect("010", base=worktree_repo.integration.base).commit)
    return worktree_repo


def finish(worktree_repo: WorktreeRepo) -> Delivered | DeliveryRefused:
    return worktree_repo.deliver()


def test_a_clean_checkout_moves_forward(merged: WorktreeRepo) -> None:
    """The branch, the index and the files are those of the integration branch, and a second call changes nothing."""
    done = finish(merged)
    assert isinstance(done, Delivered)
    assert done.paths == ["kept.log.txt", "new/file.txt", "src/a.txt", "src/b.txt"]
    assert merged.head() == merged.integration.head
    assert merged.git("branch", "--show-current").strip() == BRANCH
    assert merged.git("status", "--porcelain") == ""
    assert (merged.root / "src/a.txt").read_text() == "changed by the run\n"
    again = finish(merged)
    assert isinstance(again, Delivered)
    assert again.paths == []


def test_other_work_of_the_user_stays(merged: WorktreeRepo) -> None:
    """Changed, staged, untracked, ignored and stashed files elsewhere stay byte for byte, and staged as before."""
    merged.write("stashed.txt")
    merged.git("add", "stashed.txt")
    merged.git("stash", "-q")
    merged.write("README.md", "changed\n")
    merged.write("staged.txt")
    merged.git("add", "staged.txt")
    merged.write("staged.txt", "and changed again\n")
    merged.write("untracked.txt")
    merged.write("ignored.log")
    merged.git("update-index", "--assume-unchanged", "CLAUDE.md")
    merged.write("CLAUDE.md", "hidden change\n")
    before, status = merged.user_side(), merged.git("status", "--porcelain", "--ignored")
    assert isinstance(finish(merged), Delivered)
    after = merged.user_side()
    assert merged.git("status", "--porcelain", "--ignored") == status
    changed = {"src/a.txt", "new/file.txt", "kept.log.txt", "src/b.txt"}
    for side in (before, after):
        side["files"] = {path: data for path, data in side["files"].items() if path not in changed}  # type: ignore[attr-defined]
        side["index"] = [line for line in str(side["index"]).split("\0") if line.partition("\t")[2] not in changed]
        side.pop("head_commit")
        side["refs"] = [line for line in side["refs"] if BRANCH not in line]  # type: ignore[attr-defined]
    assert after == before


def change_it(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.write("src/a.txt", "changed by the user\n")


def stage_it(worktree_repo: WorktreeRepo) -> None:
    change_it(worktree_repo)
    worktree_repo.git("add", "src/a.txt")


def stage_and_restore(worktree_repo: WorktreeRepo) -> None:
    stage_it(worktree_repo)
    worktree_repo.write("src/a.txt", "one\ntwo\nthree\n")


def delete_it(worktree_repo: WorktreeRepo) -> None:
    (worktree_repo.root / "src/a.txt").unlink()


def change_what_goes(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.write("src/b.txt", "changed by the user\n")


def have_it_untracked(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.write("new/file.txt", "the user's own\n")


def have_a_file_for_the_folder(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.write("new", "a file\n")


def have_it_ignored(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.write(".git/info/exclude", "new\n")
    worktree_repo.write("new/file.txt", "ignored, and the user's own\n")


def have_an_ignored_file_for_the_folder(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.write(".git/info/exclude", "new\n")
    worktree_repo.write("new", "ignored\n")


def have_a_link_for_the_folder(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.write(".git/info/exclude", "new\n")
    (worktree_repo.root / "elsewhere").mkdir()
    (worktree_repo.root / "new").symlink_to("elsewhere")


def have_a_folder_for_the_file(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.write("new/file.txt/deep.txt", "the user's own\n")


def hide_a_change(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.git("update-index", "--assume-unchanged", "src/a.txt")
    change_it(worktree_repo)


def change_the_mode(worktree_repo: WorktreeRepo) -> None:
    (worktree_repo.root / "src/a.txt").chmod(0o755)


DIRTY = [
    change_it,
    stage_it,
    stage_and_restore,
    delete_it,
    change_what_goes,
    have_it_untracked,
    have_a_file_for_the_folder,
    have_it_ignored,
    have_an_ignored_file_for_the_folder,
    have_a_link_for_the_folder,
    have_a_folder_for_the_file,
    hide_a_change,
    change_the_mode,
]


def switch(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.git("switch", "-q", "-c", "other")


def detach(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.git("switch", "-q", "--detach")


def commit_more(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.write("mine.txt")
    worktree_repo.commit()


def lock_the_index(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.write(".git/index.lock", "")


def conflict(worktree_repo: WorktreeRepo, *arguments: str) -> None:
    worktree_repo.git("switch", "-q", "-c", "side")
    worktree_repo.write("README.md", "side\n")
    worktree_repo.commit()
    worktree_repo.git("switch", "-q", BRANCH)
    worktree_repo.write("README.md", "ours\n")
    worktree_repo.commit()
    worktree_repo.git(*arguments, ok=False)


def leave_a_merge(worktree_repo: WorktreeRepo) -> None:
    conflict(worktree_repo, "merge", "side")


def leave_a_rebase(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.git("rebase", "-q", "--exec", "false", "HEAD~1", ok=False)


def leave_a_pick(worktree_repo: WorktreeRepo) -> None:
    conflict(worktree_repo, "cherry-pick", "side")


def leave_a_revert(worktree_repo: WorktreeRepo) -> None:
    conflict(worktree_repo, "revert", "--no-edit", "side")


def leave_a_bisect(worktree_repo: WorktreeRepo) -> None:
    worktree_repo.git("bisect", "start")


BUSY = {
    switch: "is on other",
    detach: "on no branch",
    commit_more: "has commits that the run has not",
    lock_the_index: "another git command",
    leave_a_merge: "a merge is under way",
    leave_a_rebase: "on no branch",
    leave_a_pick: "a cherry-pick is under way",
    leave_a_revert: "a revert is under way",
    leave_a_bisect: "a bisect is under way",
}


def refusal(worktree_repo: WorktreeRepo) -> DeliveryRefused:
    """Checks that a move is refused and changes nothing; returns the error."""
    before, index = worktree_repo.user_side(), (worktree_repo.root / ".git/index").read_bytes()
    state = worktree_repo.repo.snapshot()
    refused = finish(worktree_repo)
    assert isinstance(refused, DeliveryRefused)
    assert "sow integrate" in refused.hint
    assert worktree_repo.user_side() == before
    assert (worktree_repo.root / ".git/index").read_bytes() == index
    assert worktree_repo.repo.snapshot() == state
    return refused


@few_of("act", DIRTY, 3, always=["have_it_ignored"], ids=lambda act: act.__name__)
def test_files_of_the_user_are_in_the_way(merged: WorktreeRepo, act: Callable[[WorktreeRepo], None]) -> None:
    """If a changed path is dirty, untracked or ignored there, nothing changes, and the error names it."""
    act(merged)
    refused = refusal(merged)
    assert any(name in refused.reason for name in ("src/a.txt", "src/b.txt", "new")), refused.reason


@few_of("act", BUSY, 3, ids=lambda act: act.__name__)
def test_another_branch_or_an_operation_in_progress(merged: WorktreeRepo, act: Callable[[WorktreeRepo], None]) -> None:
    """On another branch, on none, with newer commits or during a git operation nothing changes, with the reason."""
    act(merged)
    assert BUSY[act] in refusal(merged).reason


@pytest.mark.full
def test_state_files_never_count_as_dirty(merged: WorktreeRepo) -> None:
    """Changed, new, staged and removed state neither stops the move nor loses a byte, and git's status is right."""
    merged.write("orchestration/old.md", "old\n")
    merged.write(".sow/project/saved.yaml", "saved\n")
    merged.write(".sow/project/going.yaml", "going\n")
    merged.integration.save_state("Save the state")
    merged.write(STATE, "newer than the saved one\n")
    merged.write(".sow/project/newest.yaml", "newest\n")
    (merged.root / ".sow/project/going.yaml").unlink()
    merged.write(".sow/project/staged.yaml", "staged\n")
    merged.git("add", ".sow/project/staged.yaml", STATE)
    state = {path: data for path, data in merged.repo.snapshot().items() if "/local/" not in path}
    assert isinstance(finish(merged), Delivered)
    assert {path: data for path, data in merged.repo.snapshot().items() if "/local/" not in path} == state
    assert (merged.root / "orchestration/old.md").read_text() == "old\n"
    status = merged.git("status", "--porcelain", "--untracked-files=all").splitlines()
    assert f" M {STATE}" in status
    assert " D .sow/project/going.yaml" in status
    assert "?? .sow/project/newest.yaml" in status
    assert not any("saved.yaml" in line for line in status)


@pytest.mark.full
def test_a_refusal_keeps_staged_state(merged: WorktreeRepo) -> None:
    """State that the user has staged is staged as before after a refused move."""
    merged.write(STATE, "saved\n")
    merged.integration.save_state("Save")
    merged.write(STATE, "staged\n")
    merged.git("add", STATE)
    change_it(merged)
    refusal(merged)
    assert merged.git("diff", "--cached", "--name-only").split() == [STATE]


@pytest.mark.full
def test_settings_for_merging_are_ignored(merged: WorktreeRepo) -> None:
    """Settings of the user that stash, squash, sign or commit have no effect."""
    for name, value in {
        f"branch.{BRANCH}.mergeoptions": "--squash",
        "merge.ff": "false",
        "merge.autoStash": "true",
        "merge.verifySignatures": "true",
        "submodule.recurse": "true",
    }.items():
        merged.git("config", name, value)
    merged.write("README.md", "changed\n")
    assert isinstance(finish(merged), Delivered)
    assert merged.head() == merged.integration.head
    assert merged.git("status", "--porcelain").splitlines() == [" M README.md"]
    assert merged.git("stash", "list") == ""


@pytest.mark.full
def test_folders_and_files_change_places(worktree_repo: WorktreeRepo) -> None:
    """A folder becomes a file and a file a folder, if no file of the user is lost."""
    worktree_repo.write("folder/inner.txt")
    worktree_repo.commit()
    worktree_repo.integration.begin("HEAD")
    where = worktree_repo.prepare("010", worktree_repo.integration.head)
    (where / "folder/inner.txt").unlink()
    (where / "folder").rmdir()
    worktree_repo.write("folder", "a file now\n", where=where)
    (where / "README.md").unlink()
    worktree_repo.write("README.md/deep.txt", where=where)
    worktree_repo.merge("010", worktree_repo.collect("010", base=worktree_repo.integration.base).commit)
    worktree_repo.write("folder/mine.log", "ignored\n")
    assert "folder" in refusal(worktree_repo).reason
    (worktree_repo.root / "folder/mine.log").unlink()
    assert isinstance(finish(worktree_repo), Delivered)
    assert (worktree_repo.root / "folder").read_text() == "a file now\n"
    assert (worktree_repo.root / "README.md/deep.txt").exists()


@pytest.mark.full
def test_git_fails_in_the_middle(merged: WorktreeRepo) -> None:
    """If git fails while it writes files, each is restored, and the error has git's message."""
    where = merged.prepare("020", merged.integration.head)
    merged.write("z.big", "needs a filter\n", where=where)
    merged.write(".gitattributes", "*.big filter=big\n", where=where)
    merged.merge("020", merged.collect("020", base=merged.integration.head).commit)
    merged.git("config", "filter.big.smudge", "false")
    merged.git("config", "filter.big.required", "true")
    before = merged.user_side()
    refused = finish(merged)
    assert isinstance(refused, DeliveryRefused)
    assert "filter" in refused.reason
    assert merged.user_side() == before
    assert merged.git("status", "--porcelain") == ""
    merged.git("config", "filter.big.required", "false")
    assert isinstance(finish(merged), Delivered)


@pytest.mark.full
def test_a_missing_index(merged: WorktreeRepo) -> None:
    """A checkout without an index file, as in a new clone, does not overwrite untracked files."""
    os.unlink(merged.root / ".git/index")
    refused = finish(merged)
    assert isinstance(refused, DeliveryRefused)
    assert (merged.root / "src/a.txt").read_text() == "one\ntwo\nthree\n"
