"""sow's own reading of git's files, compared with the git program."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import Repo

from sow.errors import SowError, SystemFailure
from sow.store.files.checkout_home import enclosing
from sow.system import checkout

FORMATS = ["files"]
if "ref-format" in subprocess.run(["git", "init", "-h"], capture_output=True, text=True).stdout:
    FORMATS.append("reftable")


def git_says(repo: Repo) -> tuple[str, str, str, str]:
    """Returns root, git folder, shared folder and branch from git."""
    places = repo.git("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir")
    return (*map(os.path.realpath, places.splitlines()), repo.git("branch", "--show-current").strip())  # type: ignore[return-value]


def we_say(root: Path) -> tuple[str, str, str, str]:
    result = checkout.at(str(root))
    assert result
    return (
        os.path.realpath(result.root),
        os.path.realpath(result.git),
        os.path.realpath(result.common),
        result.branch(),
    )


def ordinary(repo: Repo, tmp_path: Path) -> Repo:
    return repo


def detached(repo: Repo, tmp_path: Path) -> Repo:
    repo.git("switch", "-q", "--detach")
    return repo


def on_a_tag(repo: Repo, tmp_path: Path) -> Repo:
    repo.git("tag", "v1")
    repo.git("checkout", "-q", "v1")
    return repo


def unborn(repo: Repo, tmp_path: Path) -> Repo:
    repo.git("switch", "-q", "--orphan", "feat/unborn")
    return repo


def packed(repo: Repo, tmp_path: Path) -> Repo:
    repo.git("switch", "-q", "-c", "feat/packed")
    repo.git("pack-refs", "--all", "--prune")
    assert not (repo.root / ".git" / "refs" / "heads" / "feat").exists()
    return repo


def linked(repo: Repo, tmp_path: Path) -> Repo:
    repo.git("worktree", "add", "-q", "-b", "feat/linked", str(tmp_path / "linked"))
    return Repo(tmp_path / "linked", repo.environment)


def linked_and_detached(repo: Repo, tmp_path: Path) -> Repo:
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    return Repo(tmp_path / "linked", repo.environment)


def moved_worktree(repo: Repo, tmp_path: Path) -> Repo:
    first = linked(repo, tmp_path)
    repo.git("worktree", "move", str(first.root), str(tmp_path / "moved tree"))
    return Repo(tmp_path / "moved tree", repo.environment)


def worktree_with_a_relative_pointer(repo: Repo, tmp_path: Path) -> Repo:
    tree = linked(repo, tmp_path)
    (tree.root / ".git").write_text("gitdir: ../repo/.git/worktrees/linked\n")
    return tree


def worktree_of_a_bare_repository(repo: Repo, tmp_path: Path) -> Repo:
    repo.git("clone", "-q", "--bare", str(repo.root), str(tmp_path / "bare.git"))
    bare = Repo(tmp_path / "bare.git", repo.environment)
    bare.git("worktree", "add", "-q", "-b", "feat/bare", str(tmp_path / "tree"))
    return Repo(tmp_path / "tree", repo.environment)


def with_submodule(repo: Repo, tmp_path: Path) -> Repo:
    other = Repo(tmp_path / "other", repo.environment)
    other.root.mkdir()
    other.git("init", "-q", "-b", "main")
    other.git("commit", "-q", "--allow-empty", "-m", "first")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", "-b", "main", str(other.root), "lib/other")
    return repo


def submodule(repo: Repo, tmp_path: Path) -> Repo:
    return Repo(with_submodule(repo, tmp_path).root / "lib" / "other", repo.environment)


def detached_submodule(repo: Repo, tmp_path: Path) -> Repo:
    inner = submodule(repo, tmp_path)
    inner.git("checkout", "-q", "--detach")
    return inner


def worktree_of_a_submodule(repo: Repo, tmp_path: Path) -> Repo:
    return linked(submodule(repo, tmp_path), tmp_path)


def separate_git_folder(repo: Repo, tmp_path: Path) -> Repo:
    repo.git("init", "-q", "--separate-git-dir", str(tmp_path / "git folder"))
    return repo


def linked_git_folder(repo: Repo, tmp_path: Path) -> Repo:
    (repo.root / ".git").rename(tmp_path / "real.git")
    (repo.root / ".git").symlink_to(tmp_path / "real.git")
    return repo


def in_a_rebase(repo: Repo, tmp_path: Path) -> Repo:
    repo.git("switch", "-q", "-c", "feat/rebased")
    repo.git("commit", "-q", "--allow-empty", "-m", "second")
    repo.git("-c", "sequence.editor=sed -i 1ibreak", "rebase", "-q", "-i", "--keep-empty", "main")
    assert (repo.root / ".git" / "rebase-merge").is_dir()
    return repo


def in_a_bisection(repo: Repo, tmp_path: Path) -> Repo:
    for number in range(3):
        repo.git("commit", "-q", "--allow-empty", "-m", str(number))
    repo.git("bisect", "start", "HEAD", "HEAD~3")
    return repo


LAYOUTS = [
    ordinary,
    detached,
    on_a_tag,
    unborn,
    packed,
    linked,
    linked_and_detached,
    moved_worktree,
    worktree_with_a_relative_pointer,
    worktree_of_a_bare_repository,
    with_submodule,
    submodule,
    detached_submodule,
    worktree_of_a_submodule,
    separate_git_folder,
    linked_git_folder,
    in_a_rebase,
    in_a_bisection,
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_sow_agrees_with_git(bare_repo, tmp_path, layout):
    """Root, git folder, shared folder and branch are those of the git program, in every layout."""
    repo = layout(bare_repo, tmp_path)
    assert we_say(repo.root) == git_says(repo)
    folder = repo.root / "some" / "folder"
    folder.mkdir(parents=True)
    result = enclosing(str(folder))
    assert os.path.realpath(result.root) == git_says(repo)[0]


@pytest.mark.parametrize(
    "branch", ["x", "feat/auth", "a/b/c/d", "wip-1.2_3", "größe", "日本語", "@home", "x" * 200, "ref"]
)
def test_branch_names_equal_those_of_git(bare_repo, branch):
    """Slashes, other scripts and long names are read unchanged."""
    bare_repo.git("switch", "-q", "-c", branch)
    assert we_say(bare_repo.root)[3] == bare_repo.git("branch", "--show-current").strip() == branch


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_of_references_is_read(tmp_path, environment, form):
    """For any format of its references, the branch is the one that git names."""
    root = tmp_path / "young"
    root.mkdir()
    repo = Repo(root, environment)
    repo.git("init", "-q", "-b", "feat/young", *([] if form == "files" else [f"--ref-format={form}"]))
    assert we_say(root) == git_says(repo)
    repo.git("commit", "-q", "--allow-empty", "-m", "first")
    repo.git("switch", "-q", "--detach")
    assert we_say(root)[3] == ""


def test_the_branch_is_read_each_time(bare_repo):
    """Git may have switched it."""
    result = checkout.at(str(bare_repo.root))
    assert result
    assert result.branch() == "main"
    bare_repo.git("switch", "-q", "-c", "feat/other")
    assert result.branch() == "feat/other"


def test_a_nested_repository_is_its_own(bare_repo):
    """The nearest checkout counts, not the one around it."""
    inner = Repo(bare_repo.root / "vendor" / "inner", bare_repo.environment)
    (inner.root / "deep").mkdir(parents=True)
    inner.git("init", "-q", "-b", "feat/inner")
    assert enclosing(str(inner.root / "deep")).root == str(inner.root)
    assert enclosing(str(bare_repo.root / "vendor")).root == str(bare_repo.root)


def test_a_folder_without_git_is_no_checkout(tmp_path):
    """A plain folder is none, and neither is one whose .git is something else."""
    assert checkout.at(str(tmp_path)) is None
    os.mkfifo(tmp_path / ".git")
    assert checkout.at(str(tmp_path)) is None


def test_outside_any_repository_the_folder_is_named(tmp_path):
    """Without a repository above, the error names the folder and the way to make one."""
    with pytest.raises(SowError) as refused:
        enclosing(str(tmp_path))
    assert refused.value.message == f"{tmp_path} is not in a git repository"
    assert "git init" in refused.value.hint


@pytest.mark.parametrize("place", ["", "refs", "objects"])
def test_a_bare_repository_has_no_checkout(tmp_path, environment, place):
    """In a bare repository, or in any git folder, sow refuses to work."""
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "bare.git")], env=environment, check=True)
    with pytest.raises(SowError, match="is a bare repository or a git folder"):
        enclosing(str(tmp_path / "bare.git" / place))


def test_the_git_folder_is_no_checkout(bare_repo):
    """The .git folder of a checkout is not the checkout."""
    with pytest.raises(SowError, match="is a bare repository or a git folder"):
        enclosing(str(bare_repo.root / ".git" / "hooks"))


@pytest.mark.parametrize("content", [b"", b"nonsense\n", b"\xff\xfe\n", b"gitdir:\n"])
def test_a_broken_pointer_is_an_error(tmp_path, content):
    """A .git file that points nowhere is named, with the repair."""
    (tmp_path / ".git").write_bytes(content)
    with pytest.raises(SowError, match=r"/\.git is not a pointer to a git folder") as refused:
        checkout.at(str(tmp_path))
    assert refused.value.hint == "repair the worktree: git worktree repair"


def test_a_pointer_to_a_missing_folder_is_an_error(bare_repo, tmp_path):
    """A worktree whose repository was moved has an error with the missing file."""
    tree = linked(bare_repo, tmp_path)
    bare_repo.root.rename(tmp_path / "elsewhere")
    result = checkout.at(str(tree.root))
    assert result
    with pytest.raises(SystemFailure, match=r"cannot read .*/HEAD: No such file or directory"):
        result.branch()


def test_a_repository_without_a_head_is_an_error(bare_repo):
    """A damaged repository is an error with the path, not a detached HEAD."""
    (bare_repo.root / ".git" / "HEAD").unlink()
    result = checkout.at(str(bare_repo.root))
    assert result
    with pytest.raises(SystemFailure, match=r"/\.git/HEAD: No such file or directory") as refused:
        result.branch()
    assert refused.value.hint == "repair the repository: git fsck"
