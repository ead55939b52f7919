"""Collects everything a worker left in its worktree into one commit, and commits a merge that a person resolved there.

The worker's index and branch are not trusted: the files are read into our own index. The worker's commits are pinned
first, so that every later step can move or undo them.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field

from sow.domain.documents.state import Task
from sow.domain.task import worktree_name
from sow.errors import SowError
from sow.gitwork.repository import STATE_PATHS, Repository, changed_paths, is_below, path_of
from sow.gitwork.slots import setup_paths
from sow.gitwork.worktree import (
    INDEX,
    LARGEST,
    NOT_PERMITTED,
    KeptCommits,
    Worktree,
    commits_in,
    is_behind_link,
    make_readable,
    remove_file,
)
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import sessions
from sow.system import git, plain_file
from sow.system.git import GitResult

ABORTS = {
    "rebase": (["rebase", "--abort"], ["rebase", "--quit"]),
    "merge": (["merge", "--abort"], ["merge", "--quit"]),
    "cherry-pick": (["cherry-pick", "--abort"], ["cherry-pick", "--quit"]),
    "revert": (["revert", "--abort"], ["revert", "--quit"]),
    "bisect": (["bisect", "reset"], ["bisect", "reset", "HEAD"]),
}


@dataclass(frozen=True)
class CollectedWork:
    """The result of one turn in git: a commit, its base, the changed paths and remarks about what was wrong."""

    commit: str
    tree: str
    base: str
    paths: list[str]
    remarks: list[str]


@dataclass
class Collection:
    """One collection, from the worktree as it is to the commit on the task's branch."""

    worktree: Worktree
    pins: KeptCommits
    name: str
    branch: str
    base: str
    head: str = ""
    remarks: list[str] = field(default_factory=list)
    staged: str | None = None  # what the worktree's own index has, if it was read and is as it was

    @property
    def repository(self) -> Repository:
        return self.worktree.repository

    def pin(self) -> None:
        """Pins every commit of the worker. Nothing in the worktree changes."""
        self.head = self._find_head()
        self._pin_commits()
        self._pin_nested_repositories()

    def pin_and_abort(self) -> None:
        """Pins every commit of the worker, then end unfinished git operations. The files on disk stay."""
        self.pin()
        self.remarks += self.worktree.remove_stale_locks()
        self._repair_index()
        for file, command in git.unfinished_operations(self.worktree.git_dir).items():
            if os.path.lexists(f"{self.worktree.git_dir}/{file}"):
                self._abort(command)

    def _find_head(self) -> str:
        """Returns the commit under the files. If the branch was deleted, it is the last commit that HEAD pointed to."""
        head = self.worktree.head()
        if head:
            return head
        self.remarks.append("HEAD was on a branch that does not exist")
        commits = self.repository.only_commits(_last_line(f"{self.worktree.git_dir}/logs/HEAD").split()[1:2])
        return commits[0] if commits else self.repository.find_commit(self.branch) or self.base

    def _pin_commits(self) -> None:
        if self.head != self.base:
            self.pins.pin(self.name, self.head)
        excluding = [self.base, *filter(None, [self.repository.find_commit("HEAD")])]
        commits = [commit for commit in commits_in(self.worktree, self.branch) if commit not in excluding]
        if not commits:
            return
        excluding += self.repository.refs("refs/remotes/", "refs/heads/sow/int/").values()
        refs = self.pins.keep_unreachable(self.name, commits, excluding=excluding)
        if refs:
            self.remarks.append(f"commits outside the task's branch are kept: {', '.join(refs)}")

    def _pin_nested_repositories(self) -> None:
        """Fetches and pins the commits of a repository that somebody made in place of the worktree."""
        for number, folder in enumerate(self.worktree.displaced_repositories(), 1):
            target = f"{self.pins.prefix}/{self.name}-own-{number}"
            specs = [f"+refs/heads/*:{target}/*", f"+HEAD:{target}/HEAD"]
            args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-prune"]
            args += ["--", folder]
            results = [self.repository.run_git([*args, spec]) for spec in specs]
            if any(result.code for result in results):
                self.remarks.append(f"what was committed in {folder} could not be pinned: {results[0].message}")

    def _repair_index(self) -> None:
        """Replaces the worktree's index by ours if git cannot read it."""
        done = self.worktree.run_git(["ls-files", "--stage", "-z"])
        self.staged = None if done.code else done.out
        if done.code:
            self.remarks.append("the worktree's index could not be read: a new one was made")
            git.copy_file(self.worktree.index, f"{self.worktree.git_dir}/index")

    def _abort(self, command: str) -> None:
        """Aborts an unfinished merge or rebase, after pinning the files as they are."""
        ref = self.pins.pin_tree(
            self.name, self._gather().tree(), self.head, f"The worktree's files before a {command} was aborted"
        )
        soft, hard = ABORTS[command]
        self.staged = None
        # Without a refresh, git treats a file that was only touched as changed.
        self.worktree.run_git(["update-index", "-q", "--refresh"])
        if self.worktree.run_git(soft).code:
            self.worktree.run_git(hard)
        self.remarks.append(f"a {command} was under way: it was aborted, and the files are kept as {ref}")
        self.head = self._find_head()

    def _gather(self) -> WorktreeIndex:
        gathered = WorktreeIndex(self.worktree, base=self.base, head=self.head, staged=self.staged)
        self.remarks += [remark for remark in gathered.remarks if remark not in self.remarks]
        return gathered

    def tree(self) -> str:
        """Returns the tree of the files as they are."""
        return self._gather().tree()

    def snapshot(self) -> None:
        """Pins the files as they are if they differ from the commit."""
        tree = self.tree()
        if tree != self.repository.tree_of(self.head):
            self.pins.pin_tree(self.name, tree, self.head, "The worktree's files before it was made again")

    def commit(self, message: str) -> CollectedWork:
        """Makes the commit, pins it, and moves the branch, HEAD and the index to it."""
        gathered = self._gather()
        everything = gathered.tree()
        gathered.reset_excluded()
        tree = gathered.tree()
        parent = self._parent()
        if everything != tree:
            ref = self.pins.pin_tree(self.name, everything, parent, "With files that are not the task's to change")
            self.remarks.append(f"the worker changed .sow/project or orchestration: left out, and kept as {ref}")
        gathered.remove_state()
        commit = self._commit(tree, parent, message)
        self.pins.replace(self.name, commit)
        self._move_branch(commit, gathered.index)
        paths = changed_paths(self.repository, self.base, commit)
        self._remark_links(paths)
        return CollectedWork(commit=commit, tree=tree, base=self.base, paths=paths, remarks=self.remarks)

    def _parent(self) -> str:
        """Returns the parent for the new commit: the worker's commit, or the base if that is not its ancestor."""
        if self.repository.is_ancestor(self.base, self.head):
            return self.head
        self.remarks.append(
            f"the worker's commits do not build on {self.base[:12]}: its files are taken as one commit on top of that"
        )
        return self.base

    def _commit(self, tree: str, parent: str, message: str) -> str:
        """Returns a commit of this tree, reusing one that exists."""
        if self.repository.tree_of(parent) == tree:
            return parent
        pinned = self.pins.get(self.name)
        if pinned and self.repository.tree_of(pinned) == tree and self.repository.parents(pinned) == [parent]:
            return pinned
        return self.repository.commit_tree(tree, [parent], message)

    def _move_branch(self, commit: str, index: str) -> None:
        ref = self.worktree.branch()
        if ref != self.branch:
            position = ref.removeprefix("refs/heads/") or f"no branch, at {self.head[:12]}"
            self.remarks.append(f"the worker had switched to {position}")
        self.repository.set_ref(self.branch, commit, why="collected")
        if ref != self.branch:
            self.worktree.git("symbolic-ref", "-m", "sow: collected", "HEAD", self.branch)
        self.worktree.commit_index(index)

    def _remark_links(self, paths: Sequence[str]) -> None:
        """Remarks on new links that lead out of the worktree."""
        for path in paths:
            file = f"{self.worktree.path}/{path}"
            if os.path.islink(file):
                target = os.path.normpath(os.path.join(os.path.dirname(file), os.readlink(file)))
                if not f"{target}/".startswith(f"{self.worktree.path}/"):
                    self.remarks.append(f"{path} is a link out of the worktree, to {os.readlink(file)}")


def collect(worktree: Worktree, pins: KeptCommits, *, name: str, branch: str, base: str, message: str) -> CollectedWork:
    """Collects a worker's changes into a commit on its branch, pinned under a name."""
    if not worktree.git_dir or not os.path.exists(f"{worktree.git_dir}/{INDEX}"):
        raise SowError(f"the worktree {worktree.name} was never prepared", "prepare it first")
    collecting = Collection(worktree, pins, name=name, branch=branch, base=base)
    collecting.pin_and_abort()
    return collecting.commit(message)


def _last_line(path: str) -> str:
    lines = plain_file.read_text(path, LARGEST).splitlines()
    return lines[-1] if lines else ""


# sow's local files in a worker's folder are never work, because they belong in the home.
LOCAL_PATHS = (".sow/local", ".sow/sinks", ".sow/repos")
GITLINK = "160000"
FILTER = re.compile(r"clean filter '(.+?)' failed")
NOT_STORED = "failed to insert into database"  # the disk is full, so no file is at fault


class WorktreeIndex:
    """One reading of a worktree's folder into an index that starts from a commit."""

    def __init__(self, worktree: Worktree, *, base: str, head: str, staged: str | None = None) -> None:
        """`staged` is what the worktree's own index has, as `git ls-files -s -z` lists it, if that is known."""
        self.worktree = worktree
        self.repository = worktree.repository
        self.base = base
        self.remarks: list[str] = []
        self.submodules = self._submodules()
        self.index = worktree.new_index(head)
        self.listed = self._list(self.index, worktree.path)
        staged = worktree.git("ls-files", "-s", "-z") if staged is None else staged
        self.known_tree = self.repository.tree_of(head) if self._is_unchanged(staged) else ""
        if not self.known_tree:
            self._remove_stray_gitlinks()
            self._unskip_state_files()
            self._gather(self.index, worktree.path, (*setup_paths(worktree), *LOCAL_PATHS))
            self._add_forced(staged)

    def _is_unchanged(self, staged: str) -> bool:
        """Tells whether the folder surely has the files of the index, and the worktree's own index no others.

        Git looks into no submodule and at no file that it was told to skip, so that with those nothing is sure.
        """
        if self.submodules or any(_is_special(entry) for entry in self.listed):
            return False
        if not set(filter(None, staged.split("\0"))) <= set(self.listed):
            return False
        arguments = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"]
        done = self.worktree.run_git(arguments, index=self.index)
        return not (done.code or done.out or done.err)

    def tree(self) -> str:
        """Returns the tree of the index."""
        return self.known_tree or self.worktree.git("write-tree", index=self.index).strip()

    def reset_excluded(self) -> None:
        """Resets the state files in the index to the base, and leave out the files that we put into the folder."""
        paths = (*STATE_PATHS, *setup_paths(self.worktree))
        entries = self.repository.tree_entries(self.base, *paths)
        if self.repository.set_index_entries(entries, index=self.index, where=lambda path: is_below(path, paths)):
            self.known_tree = ""

    def remove_state(self) -> None:
        """Removes the state files from the folder, where a worker could mistake them for the real ones."""
        for path in STATE_PATHS:
            remove_file(self.worktree.path, path)  # a link in place of the folder
            for folder, _, names in os.walk(f"{self.worktree.path}/{path}"):
                for name in names:
                    remove_file(self.worktree.path, f"{folder}/{name}".removeprefix(f"{self.worktree.path}/"))
        self.worktree.skip_state_files(self.index)

    def _gather(self, index: str, folder: str, excluded: Sequence[str]) -> None:
        """Adds all files of a folder. Files of a nested repository are added as plain files."""
        listed = self.listed if index == self.index else self._list(index, folder)
        nested, links = self._nested(index, folder, excluded), self._gitlinks(listed, folder)
        self._add(index, folder, [*nested, *links, *excluded])
        if links:  # `git add` would look into a submodule with its own settings, which can name programs
            arguments = ["update-index", "--add", "--remove", "-z", "--stdin"]
            text = "".join(f"{path}\0" for path in links)
            done = self.worktree.run_git(arguments, index=index, within=folder, input=text)
            self.remarks += [f"not every submodule could be added: {done.message}"] if done.code else []
        for number, path in enumerate(nested):
            inner = self.repository.temp_file(f"{os.path.basename(index)}-{number}")
            self._gather(inner, f"{folder}/{path}", ())
            tree = self.worktree.git("write-tree", index=inner).strip()
            self.worktree.git("read-tree", f"--prefix={path}/", tree, index=index)
            relative = f"{folder}/{path}".removeprefix(f"{self.worktree.path}/")
            self.remarks.append(f"{relative} is a repository of its own: its files are taken, and not its history")

    def _remove_stray_gitlinks(self) -> None:
        """Removes repositories from the index that were added like submodules, so that their files are collected."""
        links = {path_of(entry) for entry in self.listed if entry.startswith(GITLINK)} - set(self.submodules)
        if links:
            stray = links - {
                path_of(entry) for entry in self.repository.tree_entries(self.base) if entry.startswith(GITLINK)
            }
            self.repository.set_index_entries([], index=self.index, where=lambda path: path in stray)
            self.listed = [entry for entry in self.listed if path_of(entry) not in stray]

    def _list(self, index: str, folder: str) -> list[str]:
        """Returns the entries of an index of a folder."""
        entries = self.worktree.git("ls-files", "-s", "-z", index=index, within=folder).split("\0")
        return [entry for entry in entries if entry]

    def _gitlinks(self, listed: Sequence[str], folder: str) -> list[str]:
        """Lists the submodules among the entries of an index, and those that a worker added to the worktree."""
        gitlinks = [path_of(entry) for entry in listed if entry.startswith(GITLINK)]
        named = self.submodules if folder == self.worktree.path else []
        plain = [path for path in named if os.path.normpath(path) == path and not path.startswith((".", "/"))]
        added = [path for path in plain if os.path.lexists(f"{folder}/{path}/.git")]
        return list(dict.fromkeys([*gitlinks, *added]))

    def _submodules(self) -> list[str]:
        """Lists the folders of the submodules that the worktree's .gitmodules names."""
        if not os.path.lexists(f"{self.worktree.path}/.gitmodules"):
            return []
        args = ["config", "--file", f"{self.worktree.path}/.gitmodules", "--get-regexp", "-z", r"^submodule\..*\.path$"]
        settings = self.worktree.run_git(args).out.split("\0")
        return [setting.partition("\n")[2] for setting in settings if setting]

    def _unskip_state_files(self) -> None:
        """Unhides the state files that a worker made. State files that do not exist stay hidden."""
        paths = [path for path in map(path_of, self.listed) if is_below(path, STATE_PATHS)]
        existing = [path for path in paths if self._is_file(path)]
        self._update_index(existing, "--no-skip-worktree")

    def _update_index(self, paths: Sequence[str], option: str) -> None:
        if paths:
            text = "".join(f"{path}\0" for path in paths)
            self.worktree.git("update-index", option, "-z", "--stdin", index=self.index, input=text)

    def _nested(self, index: str, folder: str, excluded: Sequence[str]) -> list[str]:
        """Lists the folders with a repository that no .gitmodules names."""
        arguments = ["ls-files", "-z", "--others", "--exclude-standard"]
        paths = self.worktree.git(*arguments, index=index, within=folder).split("\0")
        submodules = self.submodules if folder == self.worktree.path else []
        nested = [path.rstrip("/") for path in paths if path.endswith("/")]
        return [path for path in nested if path not in submodules and not is_below(path, excluded)]

    def _add(self, index: str, folder: str, excluded: Sequence[str]) -> None:
        """Adds everything that is not ignored. Files that git cannot read are made readable, or a remark names them."""
        paths = [path for path in excluded if not is_behind_link(folder, path)]  # git refuses to exclude the others
        pathspecs = ["--", ".", *(f":(exclude,literal,top){path}" for path in paths)]
        done = self.worktree.run_git(["add", "--all", *pathspecs], index=index, within=folder)
        if not done.code and NOT_PERMITTED not in done.err:
            return
        if done.code < 0:
            raise git.failure(["add"], done)
        if NOT_PERMITTED in done.err:
            make_readable(folder)
            self.remarks.append("files without permission were made readable")
        done = self._add_file_by_file(pathspecs, index, folder)
        if done.code not in (0, 1) or NOT_STORED in done.err:
            raise git.failure(["add"], done)
        if done.code:
            self.remarks.append(f"not everything could be added: {done.message}")

    def _add_file_by_file(self, pathspecs: Sequence[str], index: str, folder: str) -> GitResult:
        """Adds file by file. If a filter of the repository fails, the files are added without it."""
        while True:
            done = self.worktree.run_git(["add", "--all", "--ignore-errors", *pathspecs], index=index, within=folder)
            broken = FILTER.search(done.err)
            setting = f"filter.{broken[1]}.required=false" if broken else ""
            if not done.code or not broken or setting in self.worktree.git_options:
                return done
            self.worktree.git_options += ["-c", setting]
            self.remarks.append(f"the filter {broken[1]} does not work: files were taken without it")

    def _add_forced(self, staged: str) -> None:
        """Adds files that the worker staged although they are ignored."""
        entries = dict.fromkeys(path_of(entry) for entry in staged.split("\0") if not entry.startswith(GITLINK))
        known = {"", *map(path_of, self.listed)}
        paths = [path for path in entries if path not in known]  # git adds the others if they exist
        if not paths:
            return
        added = set(self.worktree.git("ls-files", "-z", index=self.index).split("\0"))
        excluded = (*setup_paths(self.worktree), *LOCAL_PATHS, *STATE_PATHS)
        missing = [path for path in paths if path not in added and not is_below(path, excluded) and self._is_file(path)]
        self._update_index(missing, "--add")

    def _is_file(self, path: str) -> bool:
        try:
            mode = os.lstat(f"{self.worktree.path}/{path}").st_mode
        except OSError:
            return False
        return (stat.S_ISREG(mode) or stat.S_ISLNK(mode)) and not is_behind_link(self.worktree.path, path)


def _is_special(entry: str) -> bool:
    """Tells whether an entry of an index is a submodule, or a file of the state, which our index skips."""
    return entry.startswith(GITLINK) or is_below(path_of(entry), STATE_PATHS)


MARK = "sow-asked"
MERGE = "merge"
CONFLICT = b"<<<<<<< "  # starts a line where git left a conflict


def record_worktree(repository: Repository, folder: TaskFolder, task: Task) -> None:
    """Records the current state of a task's worktree and the number of turns so far."""
    with repository.locked():
        worktree = Worktree(repository, worktree_name(task))
        if worktree.is_ready:
            git.write_file(
                f"{worktree.git_dir}/{MARK}", f"{_work_and_turns(folder, task)} {_worktree_state(worktree)}\n"
            )


def changed_by_person(repository: Repository, folder: TaskFolder, task: Task) -> bool:
    """Returns whether a person has changed the work since then and resolved all conflicts."""
    worktree = Worktree(repository, worktree_name(task))
    mark = git.first_line(f"{worktree.git_dir}/{MARK}") if worktree.is_ready else ""
    since = _work_and_turns(folder, task) if mark else ""
    if not mark.startswith(f"{since} "):
        return False
    with repository.locked():
        return _is_resolved(worktree) and mark != f"{since} {_worktree_state(worktree)}"


def commit_resolved_merge(repository: Repository, task: Task) -> None:
    """Commits a merge that a person has resolved but not committed, because collecting would abort it."""
    with repository.locked():
        worktree = Worktree(repository, worktree_name(task))
        if not git.unfinished_operations(worktree.git_dir) or not _is_resolved(worktree):
            return
        head, merge_head = worktree.head(), worktree.git("rev-parse", "--verify", "MERGE_HEAD").strip()
        tree = WorktreeIndex(worktree, base=head, head=head).tree()
        commit = repository.commit_tree(tree, [head, merge_head], "Merge, resolved by a person")
        worktree.git("update-ref", "-m", "sow: merge resolved", "HEAD", commit)
        worktree.git("merge", "--quit")
        worktree.git("read-tree", commit)


def _work_and_turns(folder: TaskFolder, task: Task) -> str:
    """Returns what no person changes: the work that was asked about and the number of turns."""
    turns = sum(len(record.session["turns"]) for record in sessions.records(folder))
    return f"{task['work']['commit'] if 'work' in task else ''} {turns}"


def _worktree_state(worktree: Worktree) -> str:
    """Returns the commit under the files and the tree of the files."""
    head = worktree.head()
    return f"{head} {WorktreeIndex(worktree, base=head, head=head).tree()}" if head else ""


def _is_resolved(worktree: Worktree) -> bool:
    """Returns whether nothing is under way, or only a merge without remaining conflicts."""
    if not set(git.unfinished_operations(worktree.git_dir).values()) <= {MERGE}:
        return False
    entries = worktree.git("ls-files", "--unmerged", "-z").split("\0")
    return not any(_has_two_sides(f"{worktree.path}/{entry.partition(chr(9))[2]}") for entry in entries if entry)


def _has_two_sides(path: str) -> bool:
    try:
        descriptor = plain_file.open_to_read(path)
    except OSError:
        return False
    with open(descriptor, "rb") as file:
        return any(line.startswith(CONFLICT) for line in file)
