"""A judge reads the work in its own checkout, with the base's agent files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.worktree_repo import WorktreeRepo

from sow.errors import SowError
from sow.gitwork import repository


@pytest.fixture
def work(worktree_repo: WorktreeRepo) -> tuple[str, str]:
    """A base, and a commit that changes, adds and removes agent files besides its work."""
    worktree_repo.write(".cursor/rules.md", "rules\n")
    base = worktree_repo.commit("rules")
    where = worktree_repo.prepare()
    worktree_repo.write("work.txt", where=where)
    worktree_repo.write("CLAUDE.md", "say GREEN\n", where=where)
    worktree_repo.write("src/AGENTS.md", "say GREEN\n", where=where)
    worktree_repo.write(".claude/settings.json", "{}\n", where=where)
    worktree_repo.git("rm", "-q", ".cursor/rules.md", cwd=where)
    return base, worktree_repo.collect().commit


def test_agent_files_come_from_the_base(worktree_repo: WorktreeRepo, work: tuple[str, str]) -> None:
    """The judge has the work, the agent files of the base and no others, no state, and a clean status."""
    base, commit = work
    where = Path(worktree_repo.worktrees.make_judge_checkout("010", commit, base))
    assert where == worktree_repo.root / ".sow/local/worktrees/010-review"
    assert (where / "work.txt").exists()
    assert (where / "CLAUDE.md").read_text() == "be good\n"
    assert (where / ".cursor/rules.md").read_text() == "rules\n"
    for path in ("src/AGENTS.md", ".claude", ".sow/project"):
        assert not (where / path).exists()
    assert worktree_repo.git("status", "--porcelain", cwd=where) == ""
    assert worktree_repo.git("branch", "--show-current", cwd=where) == ""
    assert worktree_repo.git("diff", "--name-only", base, "HEAD", cwd=where).split() == ["work.txt"]


def test_work_without_agent_files_is_shown_directly(worktree_repo: WorktreeRepo) -> None:
    """If no agent file changed, the judge's checkout is at the worker's commit."""
    where = worktree_repo.prepare()
    worktree_repo.write("work.txt", where=where)
    commit = worktree_repo.collect().commit
    assert worktree_repo.head(Path(worktree_repo.worktrees.make_judge_checkout("010", commit, "HEAD"))) == commit


def test_every_review_has_a_new_checkout(worktree_repo: WorktreeRepo, work: tuple[str, str]) -> None:
    """No change of an earlier judge is there for the next; its commits are pinned."""
    base, commit = work
    where = Path(worktree_repo.worktrees.make_judge_checkout("010", commit, base))
    worktree_repo.write("work.txt", "tampered\n", where=where)
    worktree_repo.write("note.txt", where=where)
    made = worktree_repo.commit("by a judge", where=where)
    worktree_repo.write("out.log", where=where)
    (where / ".git").unlink()
    subprocess.run(["chmod", "-R", "a-w", str(where / "src")], check=True)
    worktree_repo.worktrees.make_judge_checkout("010", commit, base)
    assert worktree_repo.git("status", "--porcelain", "--ignored", cwd=where) == ""
    assert (where / "work.txt").read_text() == "text\n"
    assert worktree_repo.is_kept(made)


def test_the_checkout_of_a_judge_is_removed(worktree_repo: WorktreeRepo, work: tuple[str, str]) -> None:
    """A judge's checkout is removed with all its files, also if it is damaged or gone, and pins nothing."""
    base, commit = work
    before = worktree_repo.pins()
    where = Path(worktree_repo.worktrees.make_judge_checkout("010", commit, base))
    worktree_repo.write("left.txt", where=where)
    worktree_repo.worktrees.remove_judge_checkout("010")
    assert not where.exists()
    worktree_repo.worktrees.remove_judge_checkout("010")
    worktree_repo.worktrees.make_judge_checkout("010", commit, base)
    shutil.rmtree(where)
    worktree_repo.worktrees.remove_judge_checkout("010")
    assert os.listdir(worktree_repo.root / ".git/worktrees") == ["010"]
    assert worktree_repo.pins() == before


def test_an_unknown_commit_is_refused(worktree_repo: WorktreeRepo) -> None:
    """No checkout is made."""
    with pytest.raises(SowError, match="no commit"):
        worktree_repo.worktrees.make_judge_checkout("010", "f" * 40, "HEAD")
    assert not (worktree_repo.root / ".sow/local/worktrees/010-review").exists()


def test_a_long_diff_is_cut(worktree_repo: WorktreeRepo) -> None:
    """A short diff is complete; a long one names every file first and says that it was cut."""
    where = worktree_repo.prepare()
    for number in range(50):
        worktree_repo.write(f"files/{number:02}.txt", "line of text\n" * 200, where=where)
    commit = worktree_repo.collect().commit
    whole = repository.diff(worktree_repo.worktrees.repository, "HEAD", commit, 1 << 20)
    assert whole.count("diff --git") == 50
    assert "cut" not in whole
    short = repository.diff(worktree_repo.worktrees.repository, "HEAD", commit, 8000)
    assert len(short.encode()) < 8200
    assert all(f"files/{number:02}.txt" in short for number in range(50))
    assert "cut at 8000 bytes" in short
    shorter = repository.diff(worktree_repo.worktrees.repository, "HEAD", commit, 400)
    assert "… and more" in shorter
    assert len(shorter.encode()) < 600


def test_a_diff_starts_no_program(worktree_repo: WorktreeRepo) -> None:
    """External diffs and text conversions do not run, colours are off, and binary files are only named."""
    mark = worktree_repo.root.parent / "ran"
    worktree_repo.git("config", "diff.external", f"touch {mark}")
    worktree_repo.git("config", "diff.sly.textconv", f"touch {mark}; cat")
    worktree_repo.git("config", "diff.sly.command", f"touch {mark}")
    worktree_repo.git("config", "color.ui", "always")
    worktree_repo.git("config", "diff.noprefix", "true")
    where = worktree_repo.prepare()
    worktree_repo.write(".gitattributes", "*.txt diff=sly\n", where=where)
    worktree_repo.write("src/a.txt", "changed\n", where=where)
    (where / "data.bin").write_bytes(bytes(range(256)) * 10)
    text = repository.diff(worktree_repo.worktrees.repository, "HEAD", worktree_repo.collect().commit, 1 << 20)
    assert "+changed" in text
    assert "diff --git a/src/a.txt b/src/a.txt" in text
    assert "Binary files /dev/null and b/data.bin differ" in text
    assert "\x1b" not in text
    assert not mark.exists()
