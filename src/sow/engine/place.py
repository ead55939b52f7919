"""Makes, fills and checks one git worktree below .sow/local/worktrees.

The files come from our own index (`sow-index` beside git's). Its presence shows that the folder was filled completely.
It records how every file looked to us, and it ignores what a worker did to its own index.
"""

from __future__ import annotations

import os
import stat

from sow.engine.permissions import loosen
from sow.engine.repository import STATE, Repository, is_below
from sow.errors import Failed
from sow.store.disk import failure
from sow.system import boundary, git, linked, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.system.git import Done

INDEX = "sow-index"
SET_UP = "sow-set-up"  # written when the set-up commands have run
NOT_PERMITTED = "Permission denied"
LOCKS = ("index.lock", "HEAD.lock")
# A worktree holds all files. The user's sparse checkout applies to the user's checkout only.
OPTIONS = ("-c", "core.sparseCheckout=false", "-c", "core.splitIndex=false", "-c", "checkout.workers=0")


class EnvironmentProblem(Failed):
    """A worktree cannot be made for a reason that no worker can fix. A person is asked; the task does not turn RED."""


class Place:
    """A worktree that may be missing, half made, damaged or whole."""

    __slots__ = ("name", "path", "record", "repository", "settings")

    def __init__(self, repository: Repository, name: str) -> None:
        self.repository = repository
        self.settings: list[str] = []  # further options for git's command line here
        self.name = name
        self.path = f"{repository.home.folder('local', 'worktrees')}/{name}"
        self.record = linked.record_of(repository.home.checkout.common, self.path)

    @property
    def index(self) -> str:
        """Path of our own index of the folder."""
        return f"{self.record}/{INDEX}"

    @property
    def is_ready(self) -> bool:
        """Whether the folder exists and was filled completely."""
        return bool(self.record) and os.path.exists(self.index) and os.path.isdir(self.path)

    def attempt(self, arguments: Sequence[str], *, index: str = "", input: str = "", within: str = "") -> Done:
        """Run one git command in this worktree.

        The worktree is named explicitly. Without its pointer file, git would find the repository around it.
        """
        options = [*OPTIONS, *self.settings, f"--git-dir={self.record}", f"--work-tree={within or self.path}"]
        return self.repository.attempt(
            arguments,
            cwd=within or self.path,
            options=options,
            index=index,
            input=input,
            variables=self.repository.identity() if arguments[0] in ("rebase", "merge", "cherry-pick") else None,
        )

    def git(self, *arguments: str, index: str = "", input: str = "", within: str = "") -> str:
        """Return the output of one git command in this worktree that must not fail."""
        done = self.attempt(arguments, index=index, input=input, within=within)
        if done.code:
            raise git.failure(arguments, done)
        return done.out

    def head(self) -> str:
        """Return the commit that is checked out, or "" if the branch of HEAD does not exist."""
        if not self.record:
            return ""
        return self.attempt(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).out.strip()

    def branch(self) -> str:
        """Return the ref that HEAD points to, or "" if HEAD is detached."""
        return self.attempt(["symbolic-ref", "--quiet", "HEAD"]).out.strip() if self.record else ""

    def found(self) -> list[str]:
        """List the repositories that were moved out of this folder."""
        folder, name = os.path.split(self.path)
        return sorted(f"{folder}/{entry}" for entry in os.listdir(folder) if entry.startswith(f"{name}.found-"))

    def unlock(self) -> list[str]:
        """Remove the locks that a killed git left in this worktree. A git that still runs keeps them."""
        if any(name.startswith("git") for name in tree.working_in(self.path).values()):
            return []
        removed = [name for name in LOCKS if linked.remove(f"{self.record}/{name}")]
        return [f"a git that died had left {name}: it was removed" for name in removed]

    def fill(self, commit: str) -> None:
        """Write the files of a commit to the folder, except the state files.

        Files that are already right are not written again. Files of ours that the commit does not have are removed.
        """
        linked.remove(f"{self.record}/info/sparse-checkout")
        index = self.begin(commit)
        self._remove_surplus(index)
        arguments = ["checkout-index", "--all", "--force", "--index", "--quiet"]
        done = self.attempt(arguments, index=index)
        if done.code and NOT_PERMITTED in done.err:
            loosen(self.path)
            done = self.attempt(arguments, index=index)
        if done.code:
            raise EnvironmentProblem(f"cannot fill the worktree {self.name}: {done.words}", advice(done.words))
        self.seal(index)

    def begin(self, commit: str) -> str:
        """Make an index of the commit's files that keeps what our index knows about the folder."""
        index = f"{self.record}/{INDEX}.part"
        linked.remove(f"{index}.lock")
        if os.path.exists(self.index):
            linked.copy(self.index, index)
            if not self.attempt(["read-tree", "-m", commit], index=index).code:
                self.hide_state(index)
                return index
        linked.remove(index)
        self.git("read-tree", commit, index=index)
        self.hide_state(index)
        return index

    def seal(self, index: str) -> None:
        """Make this index both the worktree's index and ours. From now on the folder counts as filled."""
        linked.copy(index, f"{self.record}/index")
        boundary.cross()
        try:
            os.replace(index, self.index)
        except OSError as error:
            raise failure("write", self.index, error) from None

    def hide_state(self, index: str) -> None:
        """Mark the state files as not wanted in this folder."""
        paths = self.git("ls-files", "-z", "--", *STATE, index=index)
        if paths:
            self.git("update-index", "-z", "--skip-worktree", "--stdin", index=index, input=paths)

    def _remove_surplus(self, index: str) -> None:
        """Remove the files that we wrote before and that the new index does not have."""
        if not os.path.exists(self.index):
            return
        old_paths, new_paths = (
            self.git("ls-files", "-z", index=index_file).split("\0") for index_file in (self.index, index)
        )
        for path in sorted(set(old_paths) - set(new_paths), reverse=True):
            if not path.startswith(tuple(f"{folder}/" for folder in STATE)):
                remove_file(self.path, path)

    def submodules(self) -> list[str]:
        """List the paths of submodules in the worktree's index."""
        entries = self.git("ls-files", "-s", "-z").split("\0")
        return [entry.partition("\t")[2] for entry in entries if entry.startswith("160000")]

    def repositories(self) -> list[str]:
        """List the folders of the worktree that are repositories themselves: their commits exist nowhere else."""
        folders = {os.path.dirname(path) for path in self.git("ls-files", "-z").split("\0")} | set(self.submodules())
        return sorted(folder for folder in folders if folder and os.path.lexists(f"{self.path}/{folder}/.git"))

    def dirt(self, spare: Sequence[str]) -> list[str]:
        """List what is in the folder and not in its commit, except ignored files and the paths to spare."""
        head = self.head()
        if not head or not os.path.exists(self.index):
            return ["what it was made from is not known"]
        index = self.begin(head)
        args = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty"]
        entries = self.git(*args, index=index).split("\0")
        return [entry[3:] for entry in entries if entry and not is_below(entry[3:].rstrip("/"), spare)]

    def clean(self, *, spare: Sequence[str], ignored: bool = False) -> None:
        """Remove what is not in the worktree's index, except the paths to spare and nested repositories."""
        arguments = ["clean", "-fd", "--quiet", *(["-x"] if ignored else [])]
        arguments += [argument for path in spare for argument in ("-e", f"/{_escaped(path)}")]
        if self.attempt(arguments).code:
            loosen(self.path)
            self.git(*arguments)


def is_behind_link(root: str, path: str) -> bool:
    """Whether a folder on the way from the root to the path is a link."""
    parts = path.split("/")
    return any(os.path.islink(os.path.join(root, *parts[:depth])) for depth in range(1, len(parts)))


def remove_file(root: str, path: str) -> None:
    """Remove one file below a folder, and the folders that become empty. Nothing behind a link is touched."""
    if is_behind_link(root, path):
        return
    parts = path.split("/")
    boundary.cross()
    try:
        if stat.S_ISDIR(os.lstat(f"{root}/{path}").st_mode):
            return
        os.unlink(f"{root}/{path}")
        for depth in range(len(parts) - 1, 0, -1):
            os.rmdir(os.path.join(root, *parts[:depth]))
    except OSError:  # the file does not exist any more, or the folder has other files
        return


def _escaped(path: str) -> str:
    return "".join(f"\\{letter}" if letter in "*?[]\\!# " else letter for letter in path)


def advice(message: str) -> str:
    """Return what a person can do about an error of git."""
    if "already checked out" in message or "already used by worktree" in message:
        return "switch that checkout to another branch, and run again"
    if "filter" in message:
        return "install the filter that the repository needs (git-lfs?), and run again"
    if "No space" in message:
        return "make room on the disk, and run again"
    return "see 'git worktree list' and 'sow doctor', mend it, and run again"
