"""A slot has exactly the files of a commit, whatever ran in it before."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from support.quick_cases import few_of
from support.worktree_repo import WorktreeRepo, home_at

from sow.gitwork.repository import Repository
from sow.gitwork.slots import Slot, Slots, remove_free
from sow.system.process.child_process import run_to_end


@pytest.fixture
def slot(worktree_repo: WorktreeRepo) -> Slot:
    """A held slot that shows the head."""
    worktree_repo.write("bin/run.sh", "#!/bin/sh\n").chmod(0o755)
    (worktree_repo.root / "link").symlink_to("src/a.txt")
    worktree_repo.commit("more kinds of files")
    made = taken(worktree_repo)
    made.checkout(worktree_repo.head())
    return made


def taken(worktree_repo: WorktreeRepo) -> Slot:
    """Returns the first slot, taken as by a new process."""
    result = run_to_end(Slots(Repository(home_at(worktree_repo.root)), 1).acquire())
    assert result is not None
    return result


def picture(folder: Path) -> dict[str, tuple[str, bool]]:
    """Returns every file below a folder, with content and mode, and every empty folder."""
    result = {}
    for place, folders, names in os.walk(folder):
        for name in [*names, *(folder for folder in folders if (Path(place) / folder).is_symlink())]:
            path = Path(place, name)
            shown = f"-> {os.readlink(path)}" if path.is_symlink() else path.read_text()
            result[str(path.relative_to(folder))] = (shown, os.access(path, os.X_OK) and not path.is_symlink())
        if not names and not folders:
            result[f"{Path(place).relative_to(folder)}/"] = ("", False)
    result.pop(".git", None)
    return result


def plain(worktree_repo: WorktreeRepo, commit: str) -> dict[str, tuple[str, bool]]:
    """Returns git's own checkout of a commit, without the state of the run."""
    folder = worktree_repo.root.parent / f"plain-{commit[:8]}"
    if not folder.exists():
        worktree_repo.git("worktree", "add", "-q", "--detach", str(folder), commit)
    return {path: shown for path, shown in picture(folder).items() if not path.startswith(".sow/project/")}


def same_size_and_time(path: Path, text: str) -> None:
    facts = path.stat()
    assert len(text) == facts.st_size
    path.write_text(text)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


MISCHIEF = {
    "a rewritten file": "echo other > src/a.txt",
    "a file that is gone": "rm src/a.txt",
    "a folder that is gone": "rm -r src",
    "a file that is a folder": "rm src/a.txt; mkdir -p src/a.txt/b; touch src/a.txt/b/c",
    "a folder that is a file": "rm -r src; echo x > src",
    "a folder that is a link": "mv src moved; ln -s moved src",
    "a file that is a link": "rm src/a.txt; ln -s b.txt src/a.txt",
    "a link that is a file": "rm link; echo x > link",
    "an executable file": "chmod +x src/a.txt",
    "a file that cannot be run any more": "chmod -x bin/run.sh",
    "untracked and ignored files": "touch x.log src/new.txt; mkdir -p node_modules/a; touch node_modules/a/b",
    "an empty folder": "mkdir -p src/deep/empty",
    "a repository of its own": "git init -q inner; touch inner/file",
    "its own commit": "echo new > src/a.txt; git add -A; git commit -qm own",
    "a lock and flags in its index": (
        "git update-index --assume-unchanged src/a.txt; git update-index --skip-worktree src/b.txt;"
        "echo x > src/a.txt; echo x > src/b.txt; touch $(git rev-parse --git-dir)/index.lock"
    ),
    "no pointer": "rm .git",
    "a repository in place of the pointer": "rm .git; git init -q",
    "a folder without permissions": "mkdir shut; touch shut/file; chmod 0 shut; chmod 500 src",
    "nothing left": "rm -rf -- * .git .gitignore",
}


@few_of("script", MISCHIEF.values(), 6, ids=MISCHIEF)
@pytest.mark.parametrize("anew", [False, True], ids=["same process", "another process"])
def test_a_slot_is_clean_after_anything(worktree_repo: WorktreeRepo, slot: Slot, script: str, anew: bool) -> None:
    """Whatever a command did in a slot, it then shows a commit exactly as git checks it out, with a clean status."""
    subprocess.run(
        ["sh", "-c", script], cwd=slot.path, env=worktree_repo.repo.environment, check=True, capture_output=True
    )
    if anew:
        slot.release()
        slot = taken(worktree_repo)
    slot.checkout(worktree_repo.head())
    assert picture(Path(slot.path)) == plain(worktree_repo, worktree_repo.head())
    assert worktree_repo.git("status", "--porcelain", "--ignored", cwd=Path(slot.path)) == ""
    assert worktree_repo.head(Path(slot.path)) == worktree_repo.head()
    assert sorted(os.listdir(worktree_repo.root / ".git/worktrees/slot-1")) == ["HEAD", "commondir", "gitdir", "index"]


@pytest.mark.parametrize("anew", [False, True], ids=["same process", "another process"])
def test_size_and_time_are_not_trusted(worktree_repo: WorktreeRepo, slot: Slot, anew: bool) -> None:
    """A changed file with the same size and modification time is restored."""
    time.sleep(1.1)
    slot.restore()  # makes the index a second younger than the files: otherwise git reads them anyway
    same_size_and_time(Path(slot.path, "src/b.txt"), "c\n")
    if anew:
        slot.release()
        slot = taken(worktree_repo)
    slot.checkout(worktree_repo.head())
    assert Path(slot.path, "src/b.txt").read_text() == "b\n"


def test_unchanged_files_are_not_written_again(worktree_repo: WorktreeRepo, slot: Slot) -> None:
    """A reuse, by the same process or another one, does not write unchanged files."""
    before = Path(slot.path, "src/a.txt").stat()
    worktree_repo.write("src/b.txt", "new\n")
    slot.checkout(worktree_repo.commit())
    assert Path(slot.path, "src/b.txt").read_text() == "new\n"
    assert Path(slot.path, "src/a.txt").stat().st_ino == before.st_ino
    slot.release()
    slot = taken(worktree_repo)
    slot.checkout(worktree_repo.head())
    assert Path(slot.path, "src/a.txt").stat().st_ctime_ns == before.st_ctime_ns


def test_another_commit_is_shown_completely(worktree_repo: WorktreeRepo, slot: Slot) -> None:
    """Files and folders that differ between commits are added and removed, also with odd names."""
    first = worktree_repo.head()
    worktree_repo.git("rm", "-rq", "bin", "src/b.txt")
    worktree_repo.write("new/deep/file one.txt", "1\n")
    worktree_repo.write("new/line\nbreak.txt", "2\n")
    (worktree_repo.root / "src/a.txt").unlink()
    worktree_repo.write("src/a.txt/now a folder", "3\n")
    second = worktree_repo.commit()
    for commit in (second, first, second):
        slot.checkout(commit)
        assert picture(Path(slot.path)) == plain(worktree_repo, commit)


def test_restore_keeps_built_files(worktree_repo: WorktreeRepo, slot: Slot) -> None:
    """Between two commands tracked files are restored, and untracked ones stay."""
    same_size_and_time(Path(slot.path, "src/b.txt"), "c\n")
    Path(slot.path, "src/a.txt").unlink()
    Path(slot.path, "built.log").write_text("x")
    slot.restore()
    left = picture(Path(slot.path))
    assert left.pop("built.log") == ("x", False)
    assert left == plain(worktree_repo, worktree_repo.head())


def test_spared_paths_stay(worktree_repo: WorktreeRepo, slot: Slot) -> None:
    """Of uncommitted files only the spared paths stay, also below a folder that is not committed."""
    for path in ("node_modules/a/b.js", "web/node_modules/c.js", "web/other.js", "src/a.egg-info/x"):
        worktree_repo.write(path, where=Path(slot.path))
    slot.checkout(worktree_repo.head(), spare=["node_modules", "web/node_modules", "src/a.egg-info"])
    extra = set(picture(Path(slot.path))) - set(plain(worktree_repo, worktree_repo.head()))
    assert extra == {"node_modules/a/b.js", "web/node_modules/c.js", "src/a.egg-info/x"}


def test_changed_attributes_count(worktree_repo: WorktreeRepo, slot: Slot) -> None:
    """A file whose object stays but whose line endings change by an attribute file is written again."""
    worktree_repo.write(".gitattributes", "*.txt text eol=crlf\n")
    slot.checkout(worktree_repo.commit())
    assert Path(slot.path, "src/b.txt").read_bytes() == b"b\r\n"


def test_state_files_are_not_shown(worktree_repo: WorktreeRepo, slot: Slot) -> None:
    """Committed state files are not in a slot, and its status is clean."""
    for number in range(2):
        worktree_repo.write(".sow/project/note.txt", f"{number}\n")
        slot.checkout(worktree_repo.commit())
        assert not Path(slot.path, ".sow/project").exists()
        assert worktree_repo.git("status", "--porcelain", cwd=Path(slot.path)) == ""


def test_a_submodule_is_an_empty_folder(worktree_repo: WorktreeRepo, slot: Slot) -> None:
    """The folder of a submodule is emptied before a list."""
    worktree_repo.git("update-index", "--add", "--cacheinfo", f"160000,{worktree_repo.head()},inner")
    worktree_repo.git("commit", "-qm", "a submodule")
    for _ in range(2):
        slot.checkout(worktree_repo.head())
        assert os.listdir(f"{slot.path}/inner") == []
        worktree_repo.write("inner/file", where=Path(slot.path))


def test_a_slot_is_removed_unless_it_is_held(worktree_repo: WorktreeRepo, slot: Slot) -> None:
    """A free slot is removed with git's record of it; one in use stays."""
    repository = Repository(worktree_repo.home)
    assert remove_free(repository) == ([], ["slot-1"])
    slot.release()
    assert remove_free(repository, dry_run=True) == (["slot-1"], [])
    assert Path(slot.path).exists()
    assert remove_free(repository) == (["slot-1"], [])
    assert not Path(slot.path).exists()
    assert "slot-1" not in worktree_repo.git("worktree", "list")


def test_waiting_lists_are_served_in_order(worktree_repo: WorktreeRepo) -> None:
    """With one slot, lists get it in the order of their requests; one that stops waiting is skipped."""
    slots = Slots(Repository(worktree_repo.home), 1)
    first = run_to_end(slots.acquire())
    assert first is not None
    waiting = [slots.acquire() for _ in range(3)]
    for item in waiting:
        next(item)
    with pytest.raises(StopIteration) as gave_up:
        waiting[0].send("interrupt")
    assert gave_up.value.value is None
    slots.release(first)
    assert next(waiting[2]) is None
    with pytest.raises(StopIteration) as served:
        next(waiting[1])
    slots.release(served.value.value)
    waiting[2].close()
    assert slots.waiting == []
