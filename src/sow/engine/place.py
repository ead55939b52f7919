"""One worktree of ours: a folder below .sow/local/worktrees, and what git keeps about it.

Its files come from an index of our own (`sow-index` beside git's), which says three things: that the folder was filled
to the end, what every file looked like to us, and nothing that a worker did to its own index.
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
SET_UP = "sow-set-up"  # written when the worktree's commands were run
NOT_PERMITTED = "Permission denied"
LOCKS = ("index.lock", "HEAD.lock")
# Our worktrees are whole: the user's own sparse checkout is for the user's checkout.
OPTIONS = ("-c", "core.sparseCheckout=false", "-c", "core.splitIndex=false", "-c", "checkout.workers=0")


class EnvironmentProblem(Failed):
    """A worktree cannot be had, for a reason that no worker can mend: a question for a person, and never RED."""


class Place:
    """A worktree that may be missing, half made, damaged or whole."""

    __slots__ = ("name", "path", "record", "repository", "settings")

    def __init__(self, repository: Repository, name: str) -> None:
        self.repository = repository
        self.settings: list[str] = []  # that git needs here besides, as options of its command line
        self.name = name
        self.path = f"{repository.home.folder('local', 'worktrees')}/{name}"
        self.record = linked.record_of(repository.home.checkout.common, self.path)

    @property
    def index(self) -> str:
        """Our own index of the folder."""
        return f"{self.record}/{INDEX}"

    @property
    def is_ready(self) -> bool:
        """Whether the folder was filled to the end, and is there."""
        return bool(self.record) and os.path.exists(self.index) and os.path.isdir(self.path)

    def attempt(self, arguments: Sequence[str], *, index: str = "", input: str = "", within: str = "") -> Done:
        """One git command in this worktree.

        The worktree is named, and never looked for: without its pointer git would find the home around it.
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
        """The output of one git command in this worktree that must not fail."""
        done = self.attempt(arguments, index=index, input=input, within=within)
        if done.code:
            raise git.failure(arguments, done)
        return done.out

    def head(self) -> str:
        """The commit that is checked out; empty on a branch that is not there."""
        if not self.record:
            return ""
        return self.attempt(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).out.strip()

    def branch(self) -> str:
        """The ref that HEAD stands for; empty when it is detached."""
        return self.attempt(["symbolic-ref", "--quiet", "HEAD"]).out.strip() if self.record else ""

    def found(self) -> list[str]:
        """The repositories that were moved out of this folder."""
        folder, name = os.path.split(self.path)
        return sorted(f"{folder}/{each}" for each in os.listdir(folder) if each.startswith(f"{name}.found-"))

    def unlock(self) -> list[str]:
        """Remove the locks of a git that died in this worktree; one that lives keeps them."""
        if any(name.startswith("git") for name in tree.working_in(self.path).values()):
            return []
        gone = [name for name in LOCKS if linked.remove(f"{self.record}/{name}")]
        return [f"a git that died had left {name}: it was removed" for name in gone]

    def fill(self, commit: str) -> None:
        """Let the folder have the files of a commit, without the state's.

        What is right already is not written again; files of ours that the commit does not have are removed.
        """
        linked.remove(f"{self.record}/info/sparse-checkout")
        index = self.begin(commit)
        self._remove_surplus(index)
        words = ["checkout-index", "--all", "--force", "--index", "--quiet"]
        done = self.attempt(words, index=index)
        if done.code and NOT_PERMITTED in done.err:
            loosen(self.path)
            done = self.attempt(words, index=index)
        if done.code:
            raise EnvironmentProblem(f"cannot fill the worktree {self.name}: {done.words}", advice(done.words))
        self.seal(index)

    def begin(self, commit: str) -> str:
        """An index of the commit's files that knows of the folder what we knew before."""
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
        """Make this index the worktree's own, and ours; from here on the folder is filled."""
        linked.copy(index, f"{self.record}/index")
        boundary.cross()
        try:
            os.replace(index, self.index)
        except OSError as error:
            raise failure("write", self.index, error) from None

    def hide_state(self, index: str) -> None:
        """Mark the files of the state as not wanted in this folder."""
        listed = self.git("ls-files", "-z", "--", *STATE, index=index)
        if listed:
            self.git("update-index", "-z", "--skip-worktree", "--stdin", index=index, input=listed)

    def _remove_surplus(self, index: str) -> None:
        """Remove the files that we put there before, and that the new index does not have."""
        if not os.path.exists(self.index):
            return
        before, now = (self.git("ls-files", "-z", index=each).split("\0") for each in (self.index, index))
        for path in sorted(set(before) - set(now), reverse=True):
            if not path.startswith(tuple(f"{each}/" for each in STATE)):
                remove_file(self.path, path)

    def submodules(self) -> list[str]:
        """The paths of submodules in the worktree's index."""
        listed = self.git("ls-files", "-s", "-z").split("\0")
        return [entry.partition("\t")[2] for entry in listed if entry.startswith("160000")]

    def repositories(self) -> list[str]:
        """The folders of the worktree that are repositories of their own: what is committed there is nowhere else."""
        folders = {os.path.dirname(path) for path in self.git("ls-files", "-z").split("\0")} | set(self.submodules())
        return sorted(each for each in folders if each and os.path.lexists(f"{self.path}/{each}/.git"))

    def dirt(self, spare: Sequence[str]) -> list[str]:
        """What is in the folder and not in its commit, but for ignored files and some paths."""
        head = self.head()
        if not head or not os.path.exists(self.index):
            return ["what it was made from is not known"]
        index = self.begin(head)
        words = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty"]
        entries = self.git(*words, index=index).split("\0")
        return [entry[3:] for entry in entries if entry and not is_below(entry[3:].rstrip("/"), spare)]

    def clean(self, *, spare: Sequence[str], ignored: bool = False) -> None:
        """Remove what is not in the worktree's index, but for some paths and for repositories of their own."""
        words = ["clean", "-fd", "--quiet", *(["-x"] if ignored else [])]
        words += [word for path in spare for word in ("-e", f"/{_escaped(path)}")]
        if self.attempt(words).code:
            loosen(self.path)
            self.git(*words)


def is_behind_link(root: str, path: str) -> bool:
    """Whether a folder on the way to a path below a root is a link."""
    parts = path.split("/")
    return any(os.path.islink(os.path.join(root, *parts[:depth])) for depth in range(1, len(parts)))


def remove_file(root: str, path: str) -> None:
    """Remove one file below a folder, and the folders that are empty then; nothing behind a link is touched."""
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
    except OSError:  # not there any more, or a folder that has other files
        return


def _escaped(path: str) -> str:
    return "".join(f"\\{letter}" if letter in "*?[]\\!# " else letter for letter in path)


def advice(words: str) -> str:
    """What a person can do about git's refusal."""
    if "already checked out" in words or "already used by worktree" in words:
        return "switch that checkout to another branch, and run again"
    if "filter" in words:
        return "install the filter that the repository needs (git-lfs?), and run again"
    if "No space" in words:
        return "make room on the disk, and run again"
    return "see 'git worktree list' and 'sow doctor', mend it, and run again"
