"""sow cleanup and sow check: a project is removed from its branch before the merge."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import Repo
from support.claim_holder import hold_claim
from support.paths import ROOT

CLEAN = "clean: no project state in this checkout and in the last commit\n"


def finish(repo: Repo) -> None:
    repo.ok("task", "set", "--id", "010", "status", "needs_review")
    repo.ok("approve", "010")


def test_cleanup_removes_the_project_and_keeps_the_knowledge(task_repo: Repo):
    """A finished project is removed, a copy stays on this machine, and knowledge stays in the repository."""
    (task_repo.root / ".sow/knowledge/adrs/001.md").write_text("# RS256\n")
    finish(task_repo)
    result = task_repo.ok("cleanup")
    assert not task_repo.project.exists()
    copy = result.out.splitlines()[0].rpartition(" ")[2]
    assert (task_repo.root / copy / "phases/implementation/tasks/010/state.yaml").is_file()
    assert (task_repo.root / ".sow/knowledge/adrs/001.md").is_file()
    assert "git commit" not in result.out  # nothing of it was committed


def log(repo: Repo) -> list[str]:
    return repo.git("log", "--format=%s").splitlines()


def test_cleanup_takes_state_commits_off_the_branch(task_repo: Repo):
    """State commits at the end of the branch are dropped, earlier ones stay, and the checkout is clean."""
    task_repo.ok("project", "save", "--message", "all of .sow")
    (task_repo.root / "code.txt").write_text("code\n")
    task_repo.git("rm", "-r", "-q", "--cached", ".sow/project")
    task_repo.git("add", "code.txt")
    task_repo.git("commit", "-q", "-m", "before")
    before = log(task_repo)
    task_repo.ok("project", "save", "--message", "state")
    finish(task_repo)
    task_repo.ok("project", "save", "--message", "more state")
    assert len(log(task_repo)) == len(before) + 2
    result = task_repo.ok("cleanup")
    assert log(task_repo) == before
    assert re.search("took commits [0-9a-f]{10}, [0-9a-f]{10} off this branch", result.out)
    merge = "git switch main && git merge feat/auth"
    assert result.out.endswith(f"\nbranch feat/auth has no project state now; merge it: {merge}\n")
    assert task_repo.ok("status").out.endswith(f"next: the project was removed from this branch: merge it: {merge}\n")
    refused = task_repo.sow("task", "list")
    assert "bring it back: mv .sow/local/removed/" in refused.err
    task_repo.git("switch", "-q", "main")
    task_repo.git("merge", "-q", "feat/auth")
    task_repo.git("switch", "-q", "feat/auth")
    assert "sow init --project" in task_repo.ok("status").out
    assert "git commit" not in result.out
    assert task_repo.git("status", "--porcelain", "--", ".sow/project") == ""


def test_cleanup_takes_state_out_of_earlier_commits(task_repo: Repo):
    """State commits between the work are dropped, too; the work keeps its files, authors and messages (D8)."""
    task_repo.git("add", "--", ".", ":(exclude).sow/project")
    task_repo.git("commit", "-q", "-m", "before")
    base = task_repo.git("rev-parse", "HEAD")
    works = ["--author=Ada <ada@example.org>", "--message=Count\n\nTask: 010", "--message=Größe"]
    for number, arguments in enumerate((works[:2], works[2:])):
        task_repo.ok("project", "save", "--message", f"State of run {number}")
        (task_repo.root / f"code {number}.txt").write_text("code\n")
        task_repo.git("add", "code*")
        task_repo.git("commit", "-q", *arguments)
        task_repo.ok("log", "--task", "010", "more")
    (task_repo.root / "both.txt").touch()
    task_repo.git("add", "-A")
    task_repo.git("commit", "-q", "-m", "Code and state")
    finish(task_repo)
    task_repo.ok("project", "save", "--message", "State of run 2")
    before = task_repo.git("log", "--format=%an %ad %cd %B", "--invert-grep", "--grep=State of run")
    out = task_repo.ok("cleanup").out
    assert re.search("took commits ([0-9a-f]{10}, ){2}[0-9a-f]{10} off this branch", out)
    assert "git commit" not in out
    assert log(task_repo) == ["Code and state", "Größe", "Count", *log(task_repo)[3:]]
    assert task_repo.git("log", "--format=%an %ad %cd %B") == before
    assert task_repo.git("log", "--format=%H", f"{base.strip()}..", "--", ".sow/project") == ""
    assert task_repo.git("diff", "--name-only", base.strip(), "HEAD").split("\n") == [
        "both.txt",
        "code 0.txt",
        "code 1.txt",
        "",
    ]
    assert task_repo.git("status", "--porcelain") == ""
    task_repo.ok("check")


@pytest.mark.parametrize("obstacle", ["merge", "tag"])
def test_cleanup_changes_no_commit_below_a_merge_or_a_tag(task_repo: Repo, obstacle: str):
    """A state commit below a merge, or below a commit that others have, stays."""
    task_repo.ok("project", "save", "--message", "State of run 0")
    (task_repo.root / "code.txt").touch()
    task_repo.git("add", "code.txt")
    task_repo.git("commit", "-q", "-m", "work")
    if obstacle == "merge":
        task_repo.git("switch", "-q", "-c", "side", "HEAD~")
        task_repo.git("commit", "-q", "--allow-empty", "-m", "side")
        task_repo.git("switch", "-q", "-")
        task_repo.git("merge", "-q", "--no-ff", "-m", "merge", "side")
        task_repo.git("branch", "-q", "-D", "side")
    else:
        task_repo.git("tag", "v1")
    before = log(task_repo)
    finish(task_repo)
    task_repo.ok("project", "save", "--message", "State of run 1")
    result = task_repo.ok("cleanup")
    assert log(task_repo) == before
    commit_removal(task_repo, result.out)


def commit_removal(repo: Repo, said: str) -> None:
    """Runs the commands that a clean-up printed, in a folder below the root."""
    command = next(line for line in said.splitlines() if "git commit" in line).partition(": ")[2]
    below = repo.root / "below"
    below.mkdir()
    subprocess.run(["sh", "-c", command], cwd=below, env=repo.environment, check=True)


def test_the_printed_commit_takes_the_removal_only(task_repo: Repo):
    """The command works if the index has lost the project already, and leaves other staged files alone."""
    task_repo.ok("project", "save")
    task_repo.git("update-ref", "refs/tags/v1", "HEAD")
    finish(task_repo)
    result = task_repo.ok("cleanup")
    task_repo.git("rm", "-r", "-q", "--cached", ".sow/project")
    (task_repo.root / "mine.txt").touch()
    task_repo.git("add", "mine.txt")
    commit_removal(task_repo, result.out)
    assert task_repo.git("ls-tree", "-r", "--name-only", "HEAD", ".sow/project") == ""
    assert task_repo.git("diff", "--cached", "--name-only") == "mine.txt\n"


def test_check_sees_the_last_commit(task_repo: Repo):
    """If only the last commit has the project, the check fails, and the printed command removes it there (D8)."""
    finish(task_repo)
    task_repo.ok("project", "save")
    task_repo.ok("cleanup")
    failed = task_repo.sow("check")
    assert failed.code == 1
    assert ".sow/project is still in the last commit" in failed.err
    assert task_repo.sow("check", "--json").json == {"clean": False, "found": [".sow/project"]}
    command = failed.err.partition("hint: ")[2].strip()
    subprocess.run(["sh", "-c", command], cwd=task_repo.root, env=task_repo.environment, check=True)
    task_repo.ok("check")


@pytest.mark.parametrize("is_saved", [True, False])
def test_cleanup_commits_the_removal(task_repo: Repo, is_saved: bool):
    """With --commit the last commit has no project, also if work follows on a commit with state (D8)."""
    finish(task_repo)
    if is_saved:
        task_repo.ok("project", "save")
    (task_repo.root / "code.txt").write_text("code\n")
    task_repo.git("add", "code.txt")
    task_repo.git("commit", "-q", "-m", "work")
    (task_repo.root / "mine.txt").touch()
    task_repo.git("add", "mine.txt")
    out = task_repo.ok("cleanup", "--commit").out
    assert task_repo.git("ls-tree", "-r", "--name-only", "HEAD", ".sow/project") == ""
    assert log(task_repo)[0] == ("Clean up the project" if is_saved else "work")
    assert ("committed the removal" in out) == is_saved
    assert task_repo.git("diff", "--cached", "--name-only") == "mine.txt\n"
    task_repo.ok("check")


@pytest.mark.parametrize("page", ["src/sow/agents/layer_text/commands/cleanup.md"])
def test_the_documented_commands_work_after_a_dropped_commit(task_repo: Repo, page: str):
    """The commands of the documents work where the clean-up takes the state commit off the branch."""
    block = re.findall(r"```(?:sh|bash)\n([^`]*sow cleanup[^`]*)```", (ROOT / page).read_text())[0]
    task_repo.git("add", "--", ".", ":(exclude).sow/project")
    task_repo.git("commit", "-q", "-m", "before")
    finish(task_repo)
    if "sow project save" not in block:
        task_repo.ok("project", "save")
    if "git add simulated" in block:
        (task_repo.root / "simulated").mkdir()
        (task_repo.root / "simulated" / "020.md").write_text("work\n")
    text = ["sh", "-euc", block]
    result = subprocess.run(text, cwd=task_repo.root, env=task_repo.environment, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout
    assert "off this branch: only project state, never pushed" in result.stdout


@pytest.mark.parametrize("ref", ["refs/remotes/origin/feat", "refs/tags/v1", "refs/heads/other"])
def test_cleanup_keeps_state_commits_that_others_have(task_repo: Repo, ref: str):
    """A commit that was pushed, tagged or branched from stays, and the removal is to be committed."""
    task_repo.ok("project", "save", "--message", "all of .sow")
    finish(task_repo)
    task_repo.ok("project", "save", "--message", "state")
    task_repo.git("update-ref", ref, "HEAD")
    before = log(task_repo)
    result = task_repo.ok("cleanup")
    assert log(task_repo) == before
    commit_removal(task_repo, result.out)
    assert task_repo.git("ls-files", ".sow/project") == ""
    task_repo.ok("check")


def test_cleanup_refuses_while_a_run_is_alive(task_repo: Repo):
    """The clean-up names the live run, and removes nothing."""
    finish(task_repo)
    with hold_claim(task_repo, "run") as pid:
        result = task_repo.sow("cleanup", "--yes")
    assert result.code == 4
    assert str(pid) in result.err
    assert task_repo.project.exists()
    task_repo.ok("cleanup")


def test_cleanup_refuses_an_open_task(task_repo: Repo):
    """An open task stops the clean-up, unless --yes is given."""
    before = task_repo.snapshot()
    result = task_repo.sow("cleanup")
    assert result.code == 2
    assert "open tasks: 010" in result.err
    assert task_repo.snapshot() == before
    task_repo.ok("cleanup", "--yes")
    assert not task_repo.project.exists()


def test_cleanup_refuses_a_task_that_cannot_be_read(task_repo: Repo):
    """A broken task might be open: only --yes removes it."""
    finish(task_repo)
    (task_repo.task_folder("010") / "state.yaml").write_text("?\n")
    result = task_repo.sow("cleanup")
    assert result.code == 2
    assert "task 010 cannot be read" in result.err


@pytest.mark.parametrize("words", [(), ("--yes",)])
def test_cleanup_leaves_the_project_of_another_branch_alone(repo: Repo, words: tuple[str, ...]):
    """On another branch the project stays, also with --yes."""
    repo.git("switch", "-q", "-c", "feat/other")
    before = repo.snapshot()
    result = repo.sow("cleanup", *words)
    assert result.code == 2
    assert "belongs to branch feat/auth" in result.err
    assert repo.snapshot() == before


def test_check_fails_while_a_project_is_there(repo: Repo):
    """CI sees the project state with exit 1, and a clean branch with exit 0."""
    result = repo.sow("check")
    assert result.code == 1
    assert "error: .sow/project must not be merged" in result.err
    assert "hint: sow cleanup --commit" in result.err
    document = repo.sow("check", "--json")
    assert (document.code, document.json) == (1, {"clean": False, "found": [".sow/project"]})
    repo.ok("cleanup")
    assert repo.ok("check").out == CLEAN
    assert repo.ok("check", "--json").json == {"clean": True, "found": []}


@pytest.mark.parametrize("left", ["a file", "a dangling link"])
def test_check_sees_whatever_is_left(repo: Repo, left: str):
    """Any file or link at .sow/project is too much for a merge."""
    repo.ok("cleanup")
    make = {
        "a file": repo.project.touch,
        "a dangling link": lambda: repo.project.symlink_to("nowhere"),
    }
    make[left]()
    assert repo.sow("check").code == 1


def test_check_works_without_a_sow_folder(bare_repo: Repo, tmp_path: Path):
    """A repository without a .sow folder is clean, named by its folder or by --root."""
    bare_repo.ok("check")
    bare_repo.ok("check", "--root", str(bare_repo.root), cwd=tmp_path)
    result = bare_repo.sow("check", "--root", "nowhere", cwd=tmp_path)
    assert result.code == 2
    assert "nowhere, which is not the root of a git repository" in result.err


def test_a_cleaned_branch_merges(task_repo: Repo):
    """Saved, cleaned up and committed, a branch merges into main without a trace of the project."""
    finish(task_repo)
    task_repo.ok("project", "save")
    task_repo.ok("cleanup")
    task_repo.git("add", "-A", ".sow")
    task_repo.git("commit", "-q", "-m", "Clean up the project")
    task_repo.git("switch", "-q", "main")
    task_repo.git("merge", "-q", "--no-ff", "-m", "merge", "feat/auth")
    assert not [path for path in task_repo.git("ls-files").split() if path.startswith(".sow/project")]
    task_repo.ok("check")


def test_empty_folders_that_git_left_are_no_project(repo: Repo):
    """After `git switch main` empty folders may remain: check is clean, and cleanup has nothing to remove (B6)."""
    repo.ok("project", "save")
    repo.git("switch", "-q", "main")
    (repo.project / "context").mkdir(parents=True, exist_ok=True)
    assert repo.ok("check").out == CLEAN
    assert repo.ok("check", "--json").json == {"clean": True, "found": []}
    refused = repo.sow("cleanup")
    assert (refused.code, "there is nothing to remove" in refused.err) == (2, True)
