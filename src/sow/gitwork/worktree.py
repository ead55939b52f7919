"""Makes, repairs and checks one git worktree below .sow/local/worktrees, and keeps every commit of its worker."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Sequence

from sow.errors import SowError, SystemFailure
from sow.gitwork.repository import STATE_PATHS, Repository, is_below
from sow.store.files.disk import require_folder, system_error
from sow.system import clock, git, plain_file
from sow.system.git import GitResult
from sow.system.process import process_tree

INDEX = "sow-index"
SETUP_MARK = "sow-set-up"  # written when the set-up commands have run
NOT_PERMITTED = "Permission denied"
NO_REF = "refs/heads/.invalid"  # in HEAD of a repository that keeps its refs in tables
LOCKS = ("index.lock", "HEAD.lock")
# A worktree holds all files. The user's sparse checkout applies to the user's checkout only.
OPTIONS = ("-c", "core.sparseCheckout=false", "-c", "core.splitIndex=false", "-c", "checkout.workers=0")


class EnvironmentProblem(SystemFailure):
    """A worktree cannot be made for a reason that no worker can fix. A person is asked; the task does not turn RED."""


class Worktree:
    """A worktree that may be missing, half made, damaged or whole."""

    def __init__(self, repository: Repository, name: str) -> None:
        self.repository = repository
        self.git_options: list[str] = []  # further options for git's command line here
        self.name = name
        self.path = f"{repository.home.folder('local', 'worktrees')}/{name}"
        self.git_dir = git.record_of(repository.home.checkout.common, self.path)

    @property
    def index(self) -> str:
        """Path of our own index of the folder."""
        return f"{self.git_dir}/{INDEX}"

    @property
    def is_ready(self) -> bool:
        """Returns whether the folder exists and was filled completely."""
        return bool(self.git_dir) and os.path.exists(self.index) and os.path.isdir(self.path)

    def run_git(self, arguments: Sequence[str], *, index: str = "", input: str = "", within: str = "") -> GitResult:
        """Runs one git command in this worktree.

        The worktree is named explicitly. Without its pointer file, git would find the repository around it.
        """
        options = [*OPTIONS, *self.git_options, f"--git-dir={self.git_dir}", f"--work-tree={within or self.path}"]
        return self.repository.run_git(
            arguments,
            cwd=within or self.path,
            options=options,
            index=index,
            input=input,
            variables=self.repository.identity() if arguments[0] in ("rebase", "merge", "cherry-pick") else None,
        )

    def git(self, *arguments: str, index: str = "", input: str = "", within: str = "") -> str:
        """Returns the output of one git command in this worktree that must not fail."""
        done = self.run_git(arguments, index=index, input=input, within=within)
        if done.code:
            raise git.failure(arguments, done)
        return done.out

    def head(self) -> str:
        """Returns the commit that is checked out, or "" if the branch of HEAD does not exist."""
        if not self.git_dir:
            return ""
        answer = self.repository.look_up(f"worktrees/{os.path.basename(self.git_dir)}/HEAD^{{commit}}")
        if answer is not None:
            return answer[0]
        return self.run_git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).out.strip()

    def branch(self) -> str:
        """Returns the ref that HEAD points to, or "" if HEAD is detached."""
        if not self.git_dir:
            return ""
        kind, _, ref = git.first_line(f"{self.git_dir}/HEAD").partition(" ")
        if kind == "ref:" and ref.startswith("refs/heads/") and ref != NO_REF:
            return ref.strip()
        return self.run_git(["symbolic-ref", "--quiet", "HEAD"]).out.strip()

    def displaced_repositories(self) -> list[str]:
        """Lists the repositories that were moved out of this folder."""
        folder, name = os.path.split(self.path)
        return sorted(f"{folder}/{entry}" for entry in os.listdir(folder) if entry.startswith(f"{name}.found-"))

    def remove_stale_locks(self) -> list[str]:
        """Removes the locks that a killed git left in this worktree. A git that still runs keeps them."""
        if not any(os.path.lexists(f"{self.git_dir}/{name}") for name in LOCKS):
            return []
        if any(name.startswith("git") for name in process_tree.processes_in_folder(self.path).values()):
            return []
        removed = [name for name in LOCKS if git.remove_file(f"{self.git_dir}/{name}")]
        return [f"a git that died had left {name}: it was removed" for name in removed]

    def checkout_files(self, commit: str) -> None:
        """Writes the files of a commit to the folder, except the state files.

        Files that are already right are not written again. Files of ours that the commit does not have are removed.
        """
        git.remove_file(f"{self.git_dir}/info/sparse-checkout")
        index = self.new_index(commit)
        self._remove_old_files(index)
        self.write_files(index)
        self.commit_index(index)

    def write_files(self, index: str) -> None:
        """Writes the files of an index that differ, and record in it how they look."""
        self.change_files(["checkout-index", "--all", "--force", "--index", "--quiet"], index)

    def change_files(self, arguments: Sequence[str], index: str = "") -> None:
        """Runs a git command that writes or removes files; once more if somebody removed permissions."""
        done = self.run_git(arguments, index=index)
        if done.code and NOT_PERMITTED in done.err:
            _permit(self.path, 0o700)
            make_readable(self.path)
            done = self.run_git(arguments, index=index)
        if done.code:
            raise EnvironmentProblem(
                f"cannot fill the worktree {self.name}: {done.message}", git_error_hint(done.message)
            )

    def new_index(self, commit: str) -> str:
        """Makes an index of the commit's files that keeps what our index knows about the folder."""
        index = f"{self.git_dir}/{INDEX}.part"
        git.remove_file(f"{index}.lock")
        if os.path.exists(self.index):
            git.copy_file(self.index, index)
            if not self.run_git(["read-tree", "-m", commit], index=index).code:
                self._skip_state_files_of(commit, index)
                return index
        git.remove_file(index)
        self.git("read-tree", commit, index=index)
        self._skip_state_files_of(commit, index)
        return index

    def _skip_state_files_of(self, commit: str, index: str) -> None:
        """Marks the state files in an index of a commit's files, unless the commit has none."""
        answers = [self.repository.look_up(f"{commit}:{path}") for path in STATE_PATHS]
        if any(answer is None or answer[0] for answer in answers):
            self.skip_state_files(index)

    def commit_index(self, index: str) -> None:
        """Makes this index both the worktree's index and ours. From now on the folder counts as filled."""
        git.copy_file(index, f"{self.git_dir}/index")
        clock.crash_point()
        try:
            os.replace(index, self.index)
        except OSError as error:
            raise system_error("write", self.index, error) from None

    def skip_state_files(self, index: str) -> None:
        """Marks the state files as not wanted in this folder."""
        paths = self.git("ls-files", "-z", "--", *STATE_PATHS, index=index)
        if paths:
            self.git("update-index", "-z", "--skip-worktree", "--stdin", index=index, input=paths)

    def _remove_old_files(self, index: str) -> None:
        """Removes the files that we wrote before and that the new index does not have."""
        if not os.path.exists(self.index):
            return
        old_paths, new_paths = (
            self.git("ls-files", "-z", index=index_file).split("\0") for index_file in (self.index, index)
        )
        for path in sorted(set(old_paths) - set(new_paths), reverse=True):
            if not path.startswith(tuple(f"{folder}/" for folder in STATE_PATHS)):
                remove_file(self.path, path)

    def submodules(self) -> list[str]:
        """Lists the paths of submodules in the worktree's index."""
        entries = self.git("ls-files", "-s", "-z").split("\0")
        return [entry.partition("\t")[2] for entry in entries if entry.startswith("160000")]

    def nested_repositories(self) -> list[str]:
        """Lists the folders of the worktree that are repositories themselves: their commits exist nowhere else."""
        folders = {os.path.dirname(path) for path in self.git("ls-files", "-z").split("\0")} | set(self.submodules())
        return sorted(folder for folder in folders if folder and os.path.lexists(f"{self.path}/{folder}/.git"))

    def dirty_paths(self, spare: Sequence[str]) -> list[str]:
        """Lists what is in the folder and not in its commit, except ignored files and the paths to spare."""
        head = self.head()
        if not head or not os.path.exists(self.index):
            return ["what it was made from is not known"]
        index = self.new_index(head)
        args = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty"]
        entries = self.git(*args, index=index).split("\0")
        return [entry[3:] for entry in entries if entry and not is_below(entry[3:].rstrip("/"), spare)]

    def clean(self, *, spare: Collection[str], index: str = "", options: str = "-fdx") -> None:
        """Removes what is not in an index, by default the worktree's, except the paths to spare."""
        patterns = [argument for path in spare for argument in ("-e", f"/{_escaped(path)}")]
        self.change_files(["clean", options, "--quiet", *patterns], index)


def is_behind_link(root: str, path: str) -> bool:
    """Returns whether a folder on the way from the root to the path is a link."""
    parts = path.split("/")
    return any(os.path.islink(os.path.join(root, *parts[:depth])) for depth in range(1, len(parts)))


def remove_file(root: str, path: str) -> None:
    """Removes one file below a folder, and the folders that become empty. Nothing behind a link is touched."""
    if is_behind_link(root, path):
        return
    parts = path.split("/")
    clock.crash_point()
    try:
        if stat.S_ISDIR(os.lstat(f"{root}/{path}").st_mode):
            return
        os.unlink(f"{root}/{path}")
        for depth in range(len(parts) - 1, 0, -1):
            os.rmdir(os.path.join(root, *parts[:depth]))
    except OSError:  # the file does not exist any more, or the folder has other files
        return


def remove_tree(path: str) -> None:
    """Removes a file, link or folder with its content; raises OSError. Nothing behind a link is touched."""
    clock.crash_point(f"remove {path}")
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
        return
    for folder, folders, names in os.walk(path, topdown=False, onerror=_refuse):
        for name in names:
            os.unlink(f"{folder}/{name}")
        for name in folders:
            inner = f"{folder}/{name}"
            (os.unlink if os.path.islink(inner) else os.rmdir)(inner)
    os.rmdir(path)


def _refuse(error: OSError) -> None:
    raise error


def _escaped(path: str) -> str:
    return "".join(f"\\{letter}" if letter in "*?[]\\!# " else letter for letter in path)


def git_error_hint(message: str) -> str:
    """Returns what a person can do about an error of git."""
    if "already checked out" in message or "already used by worktree" in message:
        return "switch that checkout to another branch, and run again"
    if "filter" in message:
        return "install the filter that the repository needs (git-lfs?), and run again"
    if "No space" in message:
        return "make room on the disk, and run again"
    return "see 'git worktree list' and 'sow doctor', fix it, and run again"


def make_readable(folder: str) -> None:
    """Makes everything below our folder readable and every folder enterable. Links are not followed."""
    for parent, folders, names in os.walk(folder, onerror=None):
        for name in folders:
            _permit(f"{parent}/{name}", 0o700)
        for name in names:
            _permit(f"{parent}/{name}", 0o600)


def _permit(path: str, needed: int) -> None:
    mode = os.lstat(path).st_mode
    if not stat.S_ISLNK(mode) and mode & needed != needed:
        clock.crash_point(f"permit {path}")
        os.chmod(path, stat.S_IMODE(mode) | needed)


def ensure_linked(worktree: Worktree, branch: str, commit: str) -> list[str]:
    """Makes folder and record exist and point to each other, with HEAD on an existing branch of ours or detached.

    Returns remarks about what was wrong. Existing files stay. The folder may still have to be filled.
    """
    remarks: list[str] = []
    if os.path.lexists(worktree.path):
        _refuse_link(worktree)
        remarks += _move_repository_out(worktree)
    if os.path.lexists(_temporary_path(worktree)):
        _remove_temporary(worktree)
    lost = not _has_files(worktree)
    if lost and worktree.git_dir and os.path.exists(worktree.index):
        remarks.append(f"the folder {worktree.name} was gone: it was filled again with what is committed")
        git.remove_file(f"{worktree.git_dir}/{SETUP_MARK}")
        git.remove_file(worktree.index)
    if not worktree.git_dir:
        _add_worktree(worktree, branch, commit)
    elif not git.is_valid_record(worktree.git_dir, worktree.path):
        if not lost:
            remarks.append("the worktree was not linked to the repository: it was linked again")
        _link_record(worktree, branch, commit)
    return remarks


def _move_repository_out(worktree: Worktree) -> list[str]:
    """Moves a repository that replaced the pointer file out of the folder, because it may hold commits."""
    inner = f"{worktree.path}/.git"
    if os.path.islink(inner) or not os.path.isdir(inner):
        return []
    new_path = f"{worktree.path}.found-{len(worktree.displaced_repositories()) + 1}"
    clock.crash_point()
    try:
        os.rename(inner, new_path)
    except OSError as error:
        raise system_error("move", inner, error) from None
    return [f"somebody made a repository of its own in the worktree: it was moved to {new_path}"]


def _refuse_link(worktree: Worktree) -> None:
    try:
        require_folder(worktree.path)
    except SowError as error:
        raise EnvironmentProblem(error.message, "move it away, and run again") from None


def _has_files(worktree: Worktree) -> bool:
    """Returns whether the folder contains anything except git's pointer."""
    try:
        with os.scandir(worktree.path) as entries:
            return any(entry.name != ".git" for entry in entries) or bool(git.pointer_of(worktree.path))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise system_error("read", worktree.path, error) from None


def _add_worktree(worktree: Worktree, branch: str, commit: str) -> None:
    """Has git make the record. If the folder has files but git has lost its record, the files stay as they are."""
    adopted = _has_files(worktree)
    target = _temporary_path(worktree) if adopted else worktree.path
    arguments = ["--", target, branch.removeprefix("refs/heads/")] if branch else ["--detach", "--", target, commit]
    done = worktree.repository.run_git(
        ["worktree", "add", "--quiet", "--no-checkout", *arguments], options=["-c", "worktree.useRelativePaths=false"]
    )
    if done.code:
        raise EnvironmentProblem(
            f"cannot make the worktree {worktree.name}: {done.message}", git_error_hint(done.message)
        )
    worktree.git_dir = git.record_of(worktree.repository.home.checkout.common, target)
    if adopted:
        worktree.commit_index(
            worktree.new_index(worktree.head() or commit)
        )  # commit the index before linking, because a linked worktree without an index gets filled
        _link_record(worktree, branch, commit)
        _remove_temporary(worktree)


def _temporary_path(worktree: Worktree) -> str:
    """Returns the folder of the empty worktree through which an existing folder gets a new record."""
    return f"{worktree.path}.new"


def _remove_temporary(worktree: Worktree) -> None:
    """Removes that empty worktree. A record that now belongs to the real worktree stays."""
    target = _temporary_path(worktree)
    worktree.repository.run_git(["worktree", "remove", "--force", "--force", "--", target])
    try:
        git.remove_file(f"{target}/.git")
        clock.crash_point(f"remove {target}")
        os.rmdir(target)
    except OSError:
        return


def _link_record(worktree: Worktree, branch: str, commit: str) -> None:
    """Rewrites the pointers between folder and record."""
    clock.crash_point()
    try:
        os.makedirs(worktree.path, exist_ok=True)
    except OSError as error:
        raise system_error("make", worktree.path, error) from None
    common, head = worktree.repository.home.checkout.common, f"ref: {branch}" if branch else commit
    git.repair_record(common, worktree.git_dir, worktree.path, head=head)


KEEP = "refs/sow/keep"
OBJECT = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
STASHED = re.compile(r"\t(?:WIP on|On) (.+?): ")
LARGEST = 64 << 20
# Names in git's record of a worktree that hold no commit ids, such as indexes and submodule repositories.
NO_NAMES = ("index", "sow-", "modules", "gitdir", "commondir", "config", "locked", "info")


class KeptCommits:
    """The pins of one task, of a run's integration branch, or of another named thing in a run."""

    def __init__(self, repository: Repository, run: str, name: str) -> None:
        self.repository = repository
        self.prefix = f"{KEEP}/{run}/{name}"

    def all(self) -> dict[str, str]:
        """Returns every pin with its commit."""
        return self.repository.refs(f"{self.prefix}/")

    def get(self, name: str) -> str:
        """Returns the commit that is pinned under this name, or ""."""
        answer = self.repository.look_up(f"{self.prefix}/{name}")
        if answer is not None:
            return answer[0]
        return self.all().get(f"{self.prefix}/{name}", "")

    def pin(self, name: str, commit: str) -> None:
        """Pins a commit under a name. The commit pinned there before stays reachable."""
        old = self.get(name)
        if old and self.repository.is_ancestor(commit, old):
            return
        self._move(name, old, commit)

    def replace(self, name: str, commit: str) -> None:
        """Pins a commit under a name, even if the name has a newer commit now."""
        self._move(name, self.get(name), commit)

    def _move(self, name: str, old: str, commit: str) -> None:
        if old and not self.repository.is_ancestor(old, commit):
            self.keep_numbered(name, old)
        if old != commit:
            self.repository.set_ref(f"{self.prefix}/{name}", commit, old, why="kept")

    def keep_numbered(self, name: str, commit: str) -> str:
        """Pins a commit under the next free number after a name, unless it is pinned already. Returns the ref."""
        refs = self.all()
        for ref, pinned in refs.items():
            if pinned == commit and ref != f"{self.prefix}/{name}":
                return ref
        number = 1
        while f"{self.prefix}/{name}-{number}" in refs:
            number += 1
        self.repository.set_ref(f"{self.prefix}/{name}-{number}", commit, "", why="kept")
        return f"{self.prefix}/{name}-{number}"

    def pin_tree(self, name: str, tree: str, parent: str, message: str) -> str:
        """Pins a tree as a commit beside a name. An equal tree on the same parent is pinned once."""
        for ref, commit in self.all().items():
            if self.repository.tree_of(commit) == tree and self.repository.parents(commit) == [parent]:
                return ref
        return self.keep_numbered(name, self.repository.commit_tree(tree, [parent], message))

    def keep_unreachable(self, name: str, commits: Iterable[str], *, excluding: Iterable[str]) -> list[str]:
        """Pins the tips of commits that are neither pinned nor contained in `excluding`. Returns the new refs."""
        reached = set(excluding)
        commits = [commit for commit in commits if commit not in reached]
        if not commits:
            return []
        tips = self.repository.tips_not_in(commits, excluding=[*reached, *self.all().values()])
        return [self.keep_numbered(name, tip) for tip in tips]


def commits_in(worktree: Worktree, branch: str) -> list[str]:
    """Lists every commit that a worktree has stood on or works with: HEADs, logs and unfinished operations."""
    common = worktree.repository.home.checkout.common
    oids = [oid for path in _files(worktree.git_dir) for oid in OBJECT.findall(_read(path))]
    oids += OBJECT.findall(_read(f"{common}/logs/{branch}"))
    oids += _stashed(_read(f"{common}/logs/refs/stash"), branch.removeprefix("refs/heads/"))
    oids += [worktree.repository.find_commit(branch)]
    return worktree.repository.only_commits(dict.fromkeys(oid for oid in oids if oid))


def _files(record: str) -> list[str]:
    """Lists git's files about a worktree that can contain commit ids."""
    paths = []
    for folder, folders, names in os.walk(record):
        folders[:] = [name for name in folders if not name.startswith(NO_NAMES)]
        paths += [f"{folder}/{name}" for name in names if not name.startswith(NO_NAMES)]
    return paths


def _stashed(log: str, branch: str) -> list[str]:
    """Returns the stashes made on the branch. All worktrees share one stash, so a worker's are among the user's."""
    names = (branch, branch.rpartition("/")[2])
    lines = [line for line in log.splitlines() if (match := STASHED.search(line)) and match[1] in names]
    return [line.split()[1] for line in lines]


def _read(path: str) -> str:
    try:
        return plain_file.read(path, LARGEST).decode("utf-8", "replace")
    except OSError as error:
        if error.errno in git.NO_FILE:
            return ""
        raise SystemFailure(f"cannot read {path}: {error.strerror}", "fix that and run the command again") from None
