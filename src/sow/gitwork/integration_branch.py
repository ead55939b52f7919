"""Merges finished tasks into the integration branch of a run, and moves the user's checkout forward to it.

A task is merged after its checks passed, one task at a time. No file of the user is lost.

The run's record (`run.head` and `run.merges` in its state) says what is merged. The branch shows that to people and
workers. If somebody moves the branch, it is set back to the record. Commit messages are never read.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sow.domain.documents.state import DroppedMerge, RunMerge
from sow.domain.inputs import folders_above
from sow.domain.text.units import listed
from sow.errors import SowError, SystemFailure
from sow.gitwork.repository import STATE_PATHS, DeliveryRefused, Repository, changed_paths, is_below, path_of
from sow.gitwork.worktree import EnvironmentProblem, KeptCommits, remove_file
from sow.gitwork.worktrees import check_run_id
from sow.store.runs.run_folder import RunFolder
from sow.system import clock, git

TRAILER = "Sow-Task"
STATE_MESSAGE = "With the state of the run"
FOREIGN = "foreign"  # the name of pins for commits that somebody else put on the branch


@dataclass(frozen=True)
class Merge:
    """The result of one merge: the commit, or the conflicting paths with git's messages."""

    commit: str = ""
    tree: str = ""
    parent: str = ""  # the head on which the merge was made
    conflicts: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()


class Integration:
    """The branch sow/int/<run>, and the record of its merges."""

    def __init__(self, repository: Repository, record: RunFolder) -> None:
        self.repository = repository
        self.record = record
        self.run = check_run_id(record.id)
        self.branch = f"sow/int/{self.run}"
        self.ref = f"refs/heads/{self.branch}"
        self.pins = KeptCommits(repository, self.run, "integration")
        self.undone_moves: list[dict[str, str]] = []  # moves by somebody else that were undone and not yet reported

    @property
    def base(self) -> str:
        """The commit at which the run started."""
        commit = self.pins.get("base")
        if not commit:
            raise SowError(f"run {self.run} has no integration branch yet", "begin it with the run's first commit")
        return commit

    @property
    def head(self) -> str:
        """The last commit that passed its checks, as recorded by the run."""
        commit = self.record.run.get("head", "")
        if not commit:
            raise EnvironmentProblem(f"the branch {self.branch} is gone", "'sow run' makes it again")
        return commit

    @property
    def merges(self) -> list[RunMerge]:
        """The run's merges, oldest first."""
        return self.record.run.get("merges", [])

    @property
    def squashes(self) -> bool:
        """Returns whether a merge is one commit with one parent."""
        return self.record.run["settings"].get("history", "squash") == "squash"

    def begin(self, base: str) -> None:
        """Creates the branch, or continues with the one that exists."""
        with self.repository.locked():
            start = self.pins.get("base") or self.repository.commit_of(base)
            self.pins.pin("base", start)
            if not self.record.run.get("head"):  # a new run, or one that an older sow began
                self.record.run["head"] = self.pins.get("head") or start
                self.record.save()
            self.restore_branch(after_crash=True)
            self.pins.replace("head", self.head)

    def restore_branch(self, *, after_crash: bool = False) -> None:
        """Sets the branch back to the recorded head if it is elsewhere. Foreign commits are pinned and listed.

        The record is written before the branch moves, and the head is pinned after that. After a crash in between, the
        branch is where the pin is, which is no foreign move. A missing branch is no foreign move either.
        """
        with self.repository.locked():
            head, current = self.head, self.repository.find_commit(self.ref)
            if current == head:
                return
            expected_move = not current or (
                after_crash and current in (self.pins.get("head"), *self.repository.parents(head)[:1])
            )
            if not expected_move:
                pin = "" if self.repository.is_ancestor(current, head) else self.pins.keep_numbered(FOREIGN, current)
                self.undone_moves.append({"branch": self.branch, "found": current, "restored": head, "pin": pin})
            self.repository.set_ref(self.ref, head, current, why="as recorded")

    def merged_work(self) -> dict[tuple[str, int], str]:
        """Returns the merged commit of every recorded merge, by task and iteration."""
        return {(merge["task"], merge["iteration"]): merge["work"] for merge in self.merges}

    def try_merge(self, task: str, iteration: int, commit: str, message: str) -> Merge:
        """Merges a task's commit into the head without moving a branch, or lists the conflicts."""
        text = f"{message.strip() or f'Merge task {task}'}\n\n{TRAILER}: {task}/{iteration}"
        with self.repository.locked():
            head, commit = self.head, self.repository.commit_of(commit)
            tree, conflicts = self._merged_tree(
                self._head_with_work(task), with_state_of(self.repository, commit, head), f"task {task}"
            )
            if conflicts is not None:
                return conflicts
            if self.squashes and tree == self.repository.tree_of(head):
                return Merge(commit=head, tree=tree, parent=head)  # no change, so no commit
            parents = [head] if self.squashes else [head, commit]
            return Merge(commit=self.repository.commit_tree(tree, parents, text), tree=tree, parent=head)

    def merge_user_commits(self, commit: str) -> Merge:
        """Merges the user's new commits into the head in the same way. The user's state files win."""
        with self.repository.locked():
            head, commit = self.head, self.repository.commit_of(commit)
            if self.repository.is_ancestor(commit, head):
                return Merge(commit=head, tree=self.repository.tree_of(head), parent=head)
            tree, conflicts = self._merged_tree(with_state_of(self.repository, head, commit), commit, "your branch")
            if conflicts is not None:
                return conflicts
            message = "Merge the user's commits into the run"
            return Merge(commit=self.repository.commit_tree(tree, [head, commit], message), tree=tree, parent=head)

    def _head_with_work(self, task: str) -> str:
        """Returns a commit like the head that also has the task's earlier work as an ancestor.

        A squashed merge does not contain the worker's commits. Without them, the next iteration would conflict with its
        own earlier changes. Dropped merges are ancestors too, so that work based on them does not bring them back.
        """
        head = self.head
        works = list(dict.fromkeys(merge["work"] for merge in self.merges if merge["task"] == task))
        works += self._dropped_for(task)
        existing = self.repository.only_commits(works) if works else []
        missing = [commit for commit in existing if not self.repository.is_ancestor(commit, head)]
        return (
            self.repository.commit_tree(self.repository.tree_of(head), [head, *missing], "Merged") if missing else head
        )

    def _dropped_for(self, task: str) -> list[str]:
        """Lists heads that contained dropped merges. If a merge of this task was dropped, lists its parent."""
        dropped = self.record.run.get("dropped", [])
        commits = {merge["head"]: merge["head"] for merge in dropped}
        commits.update({merge["head"]: merge["parent"] for merge in dropped if merge["task"] == task})
        return list(commits.values())

    def drop(self, tasks: Collection[str], delivered: str) -> dict[str, tuple[str, ...]]:
        """Drops the merges of some tasks, and makes all later merges again on the head before the first of them.

        Merges that are on the user's branch stay. A later merge that conflicts now is dropped too. Returns the tasks of
        those merges with the conflicting paths. The user's commits that were merged are brought in again later.
        """
        with self.repository.locked():
            old, merges = self.head, self.merges
            is_dropped = [merge["task"] in tasks and not self._is_delivered(delivered, merge) for merge in merges]
            if True not in is_dropped:
                return {}
            first = is_dropped.index(True)
            head, kept_merges = merges[first]["parent"], merges[:first]
            dropped: dict[str, DroppedMerge] = {}
            conflicts: dict[str, tuple[str, ...]] = {}
            for merge in merges[first:]:
                task = merge["task"]
                new_merge = None if task in dropped or task in tasks else self._merge_again(merge, head)
                if new_merge is not None and not new_merge.conflicts:
                    kept_merges = [
                        *kept_merges,
                        {**merge, "commit": new_merge.commit, "parent": head, "tree": new_merge.tree},
                    ]
                    head = new_merge.commit
                    continue
                dropped.setdefault(task, {"task": task, "head": old, "parent": merge["parent"], "at": clock.now()})
                if new_merge is not None:
                    conflicts[task] = new_merge.conflicts
            record = self.record.run
            record["dropped"] = [*record.get("dropped", []), *dropped.values()]
            self._advance(head, old, kept_merges)
        return conflicts

    def _is_delivered(self, branch: str, merge: RunMerge) -> bool:
        return bool(branch) and self.repository.is_ancestor(merge["commit"], branch)

    def _merge_again(self, merge: RunMerge, head: str) -> Merge:
        """Makes the change of a recorded merge again on another head."""
        repository = self.repository
        tree, conflicts, _ = merge_changes(
            repository, base=repository.tree_of(merge["parent"]), ours=repository.tree_of(head), theirs=merge["tree"]
        )
        if conflicts:
            return Merge(conflicts=conflicts)
        if self.squashes and tree == repository.tree_of(head):
            return Merge(commit=head, tree=tree, parent=head)
        text = repository.git("log", "-1", "--format=%B", merge["commit"])
        parents = [head, *repository.parents(merge["commit"])[1:]]
        return Merge(commit=repository.commit_tree(tree, parents, text), tree=tree, parent=head)

    def base_of(self, task: str, branch: str) -> str:
        """Returns the commit from which a task's branch differs: its last common commit with the merged work."""
        with self.repository.locked():
            return self.repository.git("merge-base", branch, self._head_with_work(task)).strip()

    def _merged_tree(self, ours: str, theirs: str, name: str) -> tuple[str, Merge | None]:
        tree, conflicts, messages = merge_commits(self.repository, ours, theirs)
        if not conflicts:
            return tree, None
        texts = tuple(message.replace(ours, "the integration branch").replace(theirs, name) for message in messages)
        return "", Merge(conflicts=conflicts, messages=texts)

    def record_merge(self, merge: Merge, *, task: str, iteration: int, work: str) -> None:
        """Records the merge of a task, and moves the branch to it."""
        entry: RunMerge = {
            "task": task,
            "iteration": iteration,
            "work": work,
            "commit": merge.commit,
            "parent": merge.parent,
            "tree": merge.tree,
            "at": clock.now(),
        }
        self._advance(merge.commit, merge.parent, [*self.merges, entry])

    def advance(self, commit: str, expected_old: str) -> None:
        """Records a new head that is no merge of a task, such as the user's commits, and moves the branch to it."""
        self._advance(commit, expected_old, self.merges)

    def _advance(self, commit: str, expected_old: str, merges: list[RunMerge]) -> None:
        """Writes the record first, then moves the branch. After a crash in between, `begin` moves the branch."""
        with self.repository.locked():
            self._refuse_checked_out()
            if self.head != expected_old:
                raise SystemFailure(f"{self.branch} has moved meanwhile", "merge again from where it is now")
            self.restore_branch()
            self.record.run["head"] = commit
            self.record.run["merges"] = merges
            self.record.save()
            if commit != expected_old:
                self.repository.set_ref(self.ref, commit, expected_old, why="checked")
                self.pins.replace("head", commit)

    def _refuse_checked_out(self) -> None:
        """Refuses if the user has the branch checked out: moving it would make the files there look changed."""
        checkout = self.repository.git("for-each-ref", "--format=%(worktreepath)", self.ref).strip()
        if checkout:
            raise EnvironmentProblem(
                f"{self.branch} is checked out in {checkout}", "switch that checkout to another branch, and run again"
            )

    def save_state(self, message: str) -> str:
        """Commits the home's state files on the integration branch. Returns the head, new or old.

        If the head only saved state and the user's branch does not have it yet, it is replaced, so a run makes at most
        one such commit. The commit uses our own index, so it does not include what the user has staged.
        """
        with self.repository.locked(), self.repository.home.lock():
            head = self.head
            index = self.repository.temp_file("state")
            self.repository.git("read-tree", head, index=index)
            folders = [path for path in STATE_PATHS if self._can_save(path, head)]
            if folders:
                self.repository.git("add", "--all", "--sparse", "--", *folders, index=index)
            tree_id = self.repository.git("write-tree", index=index).strip()
        if tree_id == self.repository.tree_of(head):
            return head
        commit = self.repository.commit_tree(tree_id, [self._before_state(head)], message.strip())
        self.advance(commit, head)
        return commit

    def _before_state(self, head: str) -> str:
        """Returns the head, or its parent if the head only saved state and is on no branch of the user."""
        parents = self.repository.parents(head)
        merges = {merge["commit"] for merge in self.merges}
        if len(parents) != 1 or head in merges or head == self.base:
            return head
        if not all(is_below(path, STATE_PATHS) for path in changed_paths(self.repository, parents[0], head)):
            return head
        branches = self.repository.refs("refs/heads/")
        others = [commit for ref, commit in branches.items() if not ref.startswith("refs/heads/sow/int/")]
        return head if head not in self.repository.not_contained_in([head], others) else parents[0]

    def _can_save(self, path: str, head: str) -> bool:
        """Returns whether a state folder exists or was saved before, and git does not ignore it."""
        exists = os.path.lexists(f"{self.repository.home.root}/{path}") or bool(
            self.repository.tree_entries(head, path)
        )
        return exists and bool(self.repository.run_git(["check-ignore", "--quiet", "--", path]).code)


def with_state_of(
    repository: Repository,
    commit: str,
    source: str,
    *,
    paths: Sequence[str] = STATE_PATHS,
    message: str = STATE_MESSAGE,
) -> str:
    """Returns the commit, or a new one on top with the state files of `source`: state is saved, never merged.

    Without `source` the new commit has no state files. Call it below `with repository.locked():`.
    """
    index = repository.temp_file("merge")
    repository.git("read-tree", commit, index=index)
    entries = repository.tree_entries(source, *paths) if source else []
    if not repository.set_index_entries(entries, index=index, where=lambda path: is_below(path, paths)):
        return commit
    tree = repository.git("write-tree", index=index).strip()
    return repository.commit_tree(tree, [commit], message)


def merge_commits(repository: Repository, ours: str, theirs: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Merges two commits in memory: the tree, or the conflicting paths and git's messages about them."""
    arguments = ["merge-tree", "--write-tree", "-z", "--messages", ours, theirs]
    done = repository.run_git(arguments)
    if done.code not in (0, 1):
        raise git.failure(arguments, done)
    tree, conflicts, messages = _parse_merge_tree(done.out)
    return (tree, conflicts or ("its files",), messages) if done.code else (tree, (), ())


def merge_changes(
    repository: Repository, *, base: str, ours: str, theirs: str
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Applies the change from one tree to another, `base` to `theirs`, to the tree `ours`, as merge_commits does."""
    parent = repository.commit_tree(base, [], "Before")
    trees = [repository.commit_tree(tree, [parent], "After") for tree in (ours, theirs)]
    return merge_commits(repository, *trees)


def _parse_merge_tree(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Parses the output of `git merge-tree -z`: the tree, the conflicting paths and the messages about them."""
    tree, _, rest = text.partition("\0")
    paths, _, log = rest.partition("\0\0") if not rest.startswith("\0") else ("", "", rest[1:])
    conflicts = dict.fromkeys(entry.partition("\t")[2] for entry in paths.split("\0") if entry)
    fields, messages = iter(log.split("\0")), []
    for count in fields:
        if not count.isdigit():
            break
        for _ in range(int(count) + 1):  # the paths and the kind of the message
            next(fields, "")
        message = next(fields, "").strip()
        if message.startswith("CONFLICT"):
            messages.append(message)
    return tree, tuple(conflicts), tuple(messages)


AGAIN = "then 'sow integrate'"
MERGE = [
    "merge", "--ff-only", "--quiet", "--no-stat", "--no-autostash", "--no-overwrite-ignore",
    "--no-verify-signatures",
]  # fmt: skip
STATUS = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=no"]
STATUS += ["--ignore-submodules=dirty"]  # git would use the submodules' settings, which a worker can write
UNTRACKED = "??"


@dataclass(frozen=True)
class Delivered:
    """The commit on which the user's branch is now, and the paths that changed."""

    commit: str
    paths: list[str]


def fast_forward(
    repository: Repository, branch: str, target: str, *, rehearse: bool = False
) -> Delivered | DeliveryRefused:
    """Fast-forwards the home's checkout of a branch to the target, or returns the reason why not and changes nothing.

    With `rehearse`, only test whether it would work.
    """
    refused = _refuse_other_branch(repository, branch)
    if refused:
        return refused
    old = repository.commit_of("HEAD")
    if repository.is_ancestor(target, old):
        return Delivered(old, [])
    if not repository.is_ancestor(old, target):
        return DeliveryRefused(
            f"{branch} has commits that the run has not", "'sow integrate' brings them in and checks them"
        )
    paths = [path for path in changed_paths(repository, old, target) if not is_below(path, STATE_PATHS)]
    refused = _refuse_dirty(repository, old, paths) or _rehearse(repository, old, target)
    if refused or rehearse:
        return refused or Delivered(target, paths)
    return _move(repository, branch, old, target, paths)


def _refuse_other_branch(repository: Repository, branch: str) -> DeliveryRefused | None:
    """Refuses if the branch is not checked out or another git operation is under way."""
    checkout = repository.home.checkout
    current = checkout.branch()
    if current != branch:
        position = f"on {current}" if current else "on no branch"
        return DeliveryRefused(
            f"{checkout.root} is {position}, and the run belongs to {branch}", f"git switch {branch}, {AGAIN}"
        )
    for command in git.unfinished_operations(checkout.git).values():
        hint = f"end it (git {command} --continue, or --abort), {AGAIN}"
        return DeliveryRefused(f"a {command} is under way in {checkout.root}", hint)
    if os.path.lexists(f"{checkout.git}/index.lock"):
        return DeliveryRefused(f"another git command is at work in {checkout.root}", f"wait for its end, {AGAIN}")
    return None


def _refuse_dirty(repository: Repository, old: str, paths: Sequence[str]) -> DeliveryRefused | None:
    """Refuses if a file that would change is modified, staged or untracked, so that no user file is overwritten."""
    entries = [entry for entry in repository.git(*STATUS).split("\0") if entry and not is_below(entry[3:], STATE_PATHS)]
    dirty = {entry[3:].rstrip("/"): entry[:2] for entry in entries}
    touched = list(dict.fromkeys(_overlapping(list(dirty), paths) + _blocking_files(repository, old, paths)))
    if not touched:
        return None
    untracked = {path for path, code in dirty.items() if code == UNTRACKED}
    return DeliveryRefused(
        f"the run changes files that you have changed or not committed: {listed(touched, 4)}",
        stash_hint(touched, changed=dirty.keys() - untracked, untracked=untracked),
    )


def _overlapping(paths: Sequence[str], changed: Sequence[str]) -> list[str]:
    """Returns the paths that are changed, or lie above or below a changed one."""
    exact = set(changed)
    above = {folder for path in changed for folder in folders_above(path)}
    return [path for path in paths if path in exact or path in above or exact & set(folders_above(path))]


def _blocking_files(repository: Repository, old: str, paths: Sequence[str]) -> list[str]:
    """Lists files, even ignored ones, at paths where the branch has no file yet. Git would overwrite ignored files."""
    root = repository.home.root
    committed = {path_of(entry) for entry in repository.tree_entries(old)}
    obstacles = []
    for path in paths:
        for part in (*folders_above(path), path):
            absolute = f"{root}/{part}"
            is_folder = os.path.isdir(absolute) and not os.path.islink(absolute)
            if part in committed or not os.path.lexists(absolute) or (is_folder and part != path):
                continue
            if not is_folder or _has_uncommitted(absolute, root, committed):
                obstacles.append(part)
            break
    return obstacles


def _has_uncommitted(folder: str, root: str, committed: set[str]) -> bool:
    for directory, _, names in os.walk(folder):
        if any(f"{directory}/{name}".removeprefix(f"{root}/") not in committed for name in names):
            return True
    return False


def _rehearse(repository: Repository, old: str, target: str) -> DeliveryRefused | None:
    """Tries the move with a copy of the user's index, without writing a file."""
    index = repository.temp_file("rehearsal")
    source = f"{repository.home.checkout.git}/index"
    if os.path.exists(source):
        git.copy_file(source, index)
    repository.run_git(["update-index", "-q", "--refresh"], index=index)
    _copy_state_entries(repository, target, index)
    done = repository.run_git(["read-tree", "-n", "-m", "-u", old, target], index=index)
    return (
        DeliveryRefused(f"git would not do it: {done.message}", f"look at 'git status', {AGAIN}") if done.code else None
    )


def _copy_state_entries(repository: Repository, target: str, index: str = "") -> None:
    """Gives an index the target's state entries, so that git leaves the state files alone."""
    entries = repository.tree_entries(target, *STATE_PATHS)
    repository.set_index_entries(entries, index=index, where=lambda path: is_below(path, STATE_PATHS))


def _move(repository: Repository, branch: str, old: str, target: str, paths: list[str]) -> Delivered | DeliveryRefused:
    """Fast-forwards. If git fails in the middle, every file is restored."""
    state_entries = [entry for entry in repository.git("ls-files", "-s", "-z", "--", *STATE_PATHS).split("\0") if entry]
    _copy_state_entries(repository, target)
    # The user's settings may ask for --squash or --no-ff on this branch. That must not apply here.
    options = [] if "=" in branch else ["-c", f"branch.{branch}.mergeoptions="]
    done = repository.run_git([*MERGE, target], options=[*options, "-c", "merge.autoStash=false"])
    if not done.code and repository.find_commit("HEAD") == target:
        _restore_state_files(repository)
        return Delivered(target, paths)
    repository.set_index_entries(state_entries, index="", where=lambda path: is_below(path, STATE_PATHS))
    _restore_files(repository, old, paths)
    return DeliveryRefused(f"git did not do it: {done.message}", f"fix that, {AGAIN}")


def _restore_state_files(repository: Repository) -> None:
    """Writes the state files again. If the user's sparse checkout leaves them out, the merge has removed them."""
    entries = repository.git("ls-files", "-t", "-z", "--", *STATE_PATHS).split("\0")
    hidden = "".join(f"{entry[2:]}\0" for entry in entries if entry.startswith("S "))
    if hidden:
        repository.git("update-index", "-z", "--no-skip-worktree", "--stdin", input=hidden)
        repository.run_git(["checkout-index", "--index", "--quiet", "-z", "--stdin"], input=hidden)


def _restore_files(repository: Repository, old: str, paths: Sequence[str]) -> None:
    """Restores the changed paths from the branch. They were clean before."""
    committed = {path_of(entry) for entry in repository.tree_entries(old)}
    for path in paths:
        if path not in committed:
            remove_file(repository.home.root, path)
    existing = "".join(f"{path}\0" for path in paths if path in committed)
    repository.run_git(["checkout-index", "--force", "--index", "--quiet", "-z", "--stdin"], input=existing)


MOST = 8  # paths in one command
OURS = (".sow", "orchestration")  # without these exclusions, a stash would include an untracked project
SPECIAL = frozenset("*?[\\")


def stash_hint(paths: Sequence[str], *, changed: Collection[str], untracked: Collection[str]) -> str:
    """Returns how to move these paths out of a run's way. Some of them may be untracked or ignored."""
    ignored = any(path not in changed and path not in untracked for path in paths)
    by_path = len(paths) <= MOST or ignored or any(path.split("/")[0] in OURS for path in paths)
    pathspecs = _pathspecs(paths) if by_path else shlex.join([":/", *(f":/!{folder}" for folder in OURS)])
    stash = f"git stash push {'--all' if ignored else '--include-untracked'} -- {pathspecs}"
    return f"commit them, or put them away ({stash}), then 'sow integrate'{_restore_hint(paths, changed)}"


def _restore_hint(paths: Sequence[str], changed: Collection[str]) -> str:
    """Returns how to restore them. A pop does not overwrite a file of the run that was untracked before."""
    pop = ", then 'git stash pop'" if any(path in changed for path in paths) else ""
    untracked = [path for path in paths if path not in changed]
    if not untracked:
        return pop
    pathspecs = _pathspecs(untracked) if len(untracked) <= MOST else "PATH"
    return f"{pop}; yours comes back over a file of the run by: git restore --source='stash@{{0}}^3' -- {pathspecs}"


def _pathspecs(paths: Sequence[str]) -> str:
    """Returns pathspecs that work in every folder of the checkout, quoted for a shell."""
    return shlex.join(f":(top,literal){path}" if SPECIAL & set(path) else f":/{path}" for path in paths)
