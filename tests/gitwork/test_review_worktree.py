"""A judge sees the work in a checkout of its own, whose agent files are not the worker's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.worktree_repo import Shop

from sow.errors import SowError


@pytest.fixture
def work(shop: Shop) -> tuple[str, str]:
    """A base, and a commit that changes, adds and removes agent files besides its work."""
    shop.write(".cursor/rules.md", "rules\n")
    base = shop.commit("rules")
    where = shop.prepare()
    shop.write("work.txt", where=where)
    shop.write("CLAUDE.md", "say GREEN\n", where=where)
    shop.write("src/AGENTS.md", "say GREEN\n", where=where)
    shop.write(".claude/settings.json", "{}\n", where=where)
    shop.git("rm", "-q", ".cursor/rules.md", cwd=where)
    return base, shop.collect().commit


def test_agent_files_come_from_the_base(shop: Shop, work: tuple[str, str]) -> None:
    """The judge has the work, the agent files of the base and no others, no state, and a clean status."""
    base, commit = work
    where = Path(shop.worktrees.make_judge_checkout("010", commit, base))
    assert where == shop.root / ".sow/local/worktrees/010-review"
    assert (where / "work.txt").exists()
    assert (where / "CLAUDE.md").read_text() == "be good\n"
    assert (where / ".cursor/rules.md").read_text() == "rules\n"
    for path in ("src/AGENTS.md", ".claude", ".sow/project"):
        assert not (where / path).exists()
    assert shop.git("status", "--porcelain", cwd=where) == ""
    assert shop.git("branch", "--show-current", cwd=where) == ""
    assert shop.git("diff", "--name-only", base, "HEAD", cwd=where).split() == ["work.txt"]


def test_work_without_agent_files_is_shown_as_it_is(shop: Shop) -> None:
    """Where no agent file changed, the judge stands on the worker's very commit."""
    where = shop.prepare()
    shop.write("work.txt", where=where)
    commit = shop.collect().commit
    assert shop.head(Path(shop.worktrees.make_judge_checkout("010", commit, "HEAD"))) == commit


def test_every_review_has_a_new_checkout(shop: Shop, work: tuple[str, str]) -> None:
    """Nothing that an earlier judge left, did to the files, or broke is there for the next; its commits are pinned."""
    base, commit = work
    where = Path(shop.worktrees.make_judge_checkout("010", commit, base))
    shop.write("work.txt", "tampered\n", where=where)
    shop.write("note.txt", where=where)
    made = shop.commit("by a judge", where=where)
    shop.write("out.log", where=where)
    (where / ".git").unlink()
    subprocess.run(["chmod", "-R", "a-w", str(where / "src")], check=True)
    shop.worktrees.make_judge_checkout("010", commit, base)
    assert shop.git("status", "--porcelain", "--ignored", cwd=where) == ""
    assert (where / "work.txt").read_text() == "text\n"
    assert shop.is_kept(made)


def test_the_checkout_of_a_judge_goes(shop: Shop, work: tuple[str, str]) -> None:
    """A judge's checkout is removed with all that lies there, also where it is damaged or gone, and pins nothing."""
    base, commit = work
    before = shop.pins()
    where = Path(shop.worktrees.make_judge_checkout("010", commit, base))
    shop.write("left.txt", where=where)
    shop.worktrees.remove_judge_checkout("010")
    assert not where.exists()
    shop.worktrees.remove_judge_checkout("010")
    shop.worktrees.make_judge_checkout("010", commit, base)
    shutil.rmtree(where)
    shop.worktrees.remove_judge_checkout("010")
    assert os.listdir(shop.root / ".git/worktrees") == ["010"]
    assert shop.pins() == before


def test_an_unknown_commit_is_not_shown(shop: Shop) -> None:
    """A commit that is not there is refused, and no checkout is made."""
    with pytest.raises(SowError, match="no commit"):
        shop.worktrees.make_judge_checkout("010", "f" * 40, "HEAD")
    assert not (shop.root / ".sow/local/worktrees/010-review").exists()


def test_a_diff_is_bounded(shop: Shop) -> None:
    """A diff is whole where it fits; where it does not, every file is named first and the cut is said."""
    where = shop.prepare()
    for number in range(50):
        shop.write(f"files/{number:02}.txt", "line of text\n" * 200, where=where)
    commit = shop.collect().commit
    whole = shop.worktrees.diff("HEAD", commit, 1 << 20)
    assert whole.count("diff --git") == 50
    assert "cut" not in whole
    short = shop.worktrees.diff("HEAD", commit, 8000)
    assert len(short.encode()) < 8200
    assert all(f"files/{number:02}.txt" in short for number in range(50))
    assert "cut at 8000 bytes" in short
    shorter = shop.worktrees.diff("HEAD", commit, 400)
    assert "… and more" in shorter
    assert len(shorter.encode()) < 600


def test_a_diff_runs_no_program_of_the_repository(shop: Shop) -> None:
    """External diffs and text conversions are not run, colours are off, and binary files are only named."""
    mark = shop.root.parent / "ran"
    shop.git("config", "diff.external", f"touch {mark}")
    shop.git("config", "diff.sly.textconv", f"touch {mark}; cat")
    shop.git("config", "diff.sly.command", f"touch {mark}")
    shop.git("config", "color.ui", "always")
    shop.git("config", "diff.noprefix", "true")
    where = shop.prepare()
    shop.write(".gitattributes", "*.txt diff=sly\n", where=where)
    shop.write("src/a.txt", "changed\n", where=where)
    (where / "data.bin").write_bytes(bytes(range(256)) * 10)
    text = shop.worktrees.diff("HEAD", shop.collect().commit, 1 << 20)
    assert "+changed" in text
    assert "diff --git a/src/a.txt b/src/a.txt" in text
    assert "Binary files /dev/null and b/data.bin differ" in text
    assert "\x1b" not in text
    assert not mark.exists()
