"""Provides clean checkouts for check lists, called slots, in .sow/local/worktrees/slot-<n>, and lends each to one list.

Only our own knowledge decides which files are restored. After writing a file we remember its inode, change time and
size. A process cannot set the change time, so a file that was rewritten with the same size and modification time is
still detected. A new process knows nothing and compares the content of every file once. Git's record of the checkout
is rewritten for every list, and our git calls use our own index.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Collection, Iterable, Sequence

from sow.gitwork.check_processes import end_left_checks
from sow.gitwork.repository import STATE_PATHS, Repository, is_below
from sow.gitwork.worktree import (
    OPTIONS,
    EnvironmentProblem,
    Worktree,
    ensure_linked,
    git_error_hint,
    make_readable,
    remove_tree,
)
from sow.store.files.disk import list_folder, system_error
from sow.store.files.locks import open_lock, try_lock
from sow.system import crash_points, git, git_worktree_files
from sow.system.process.steps import Steps

Signature = tuple[int, int, int]

PREFIX = "slot-"
SUBMODULE = "160000"
PLAIN = "100644"
EXECUTABLE = "100755"
# Git's own small files in the record of a linked worktree. Everything else there is removed before a list runs.
RECORD = ("HEAD", "commondir", "gitdir", "index", "locked")
CACHES = ("__pycache__",)
ATTRIBUTES = ".gitattributes"
CLOCK_WAIT = 0.001


class Slot:
    """One checkout, held by one process while a list runs in it."""

    def __init__(self, repository: Repository, number: int) -> None:
        self.repository = repository
        self.name = f"{PREFIX}{number}"
        self.path = f"{repository.home.folder('local', 'worktrees')}/{self.name}"
        folder = repository.home.git_subfolder(repository.home.checkout.git, "slots")  # with the locks and the indexes
        self.file_prefix = f"{folder}/{self.name}"  # prefix of our own files about the slot
        self.descriptor = -1  # of the lock, while we hold it
        self._commit = ""
        self._tree = ""
        self._entries_by_folder: dict[str, dict[str, str]] = {"": {}}  # folder: name: mode and object
        self._signatures: dict[
            str, dict[str, Signature]
        ] = {}  # folder: name: signature of a file with the wanted content
        self._folders: set[str] = set()
        self._has_state = False
        self._attributes = ""  # the attribute files of the tree
        self._index_digest = ""  # of our index as we left it, and the commit of that index
        self._index_commit = ""

    def try_hold(self) -> bool:
        """Locks the slot if no process has it. The lock ends with the process."""
        path = f"{self.file_prefix}.lock"
        crash_points.crash_point(f"lock {path}")
        descriptor = open_lock(path, os.O_RDWR | os.O_CREAT)
        if not try_lock(descriptor, path):
            os.close(descriptor)
            return False
        self.descriptor = descriptor
        return True

    def release(self) -> None:
        """Gives the slot back."""
        os.close(self.descriptor)
        self.descriptor = -1

    def checkout(self, commit: str, *, spare: Collection[str] = ()) -> None:
        """Gives the folder exactly the files of a commit. Of everything else, keep only the paths to spare."""
        record = self._ensure_linked(commit)
        self._read_commit(commit)
        self._restore_files(record, frozenset(spare), clean=True)

    def restore(self) -> None:
        """Restores the tracked files after a command. Other files that it made stay."""
        self._restore_files(self._ensure_linked(self._commit), frozenset(), clean=False)

    def _restore_files(self, record: str, spare: frozenset[str], *, clean: bool) -> None:
        try:
            self._write_missing(record, self._remove_and_list_missing(spare, clean=clean))
        except OSError as error:
            raise system_error("fill", error.filename or self.path, error) from None

    def untracked(self) -> list[str]:
        """Lists the topmost paths in the folder that the commit does not have, except caches of compiled files."""
        paths = []
        for folder in sorted(self._folders):
            try:
                with os.scandir(self._absolute(folder)) as entries:
                    names = [entry.name for entry in entries]
            except (FileNotFoundError, NotADirectoryError):
                continue
            candidates = (_join(folder, name) for name in names if name not in self._entries_by_folder.get(folder, ()))
            paths += [path for path in candidates if path not in self._folders and path != ".git"]
        return [path for path in paths if os.path.basename(path) not in CACHES]

    def has(self, path: str) -> bool:
        """Returns whether the commit has a file at a path, or files below it."""
        folder, name = os.path.split(path)
        return path in self._folders or name in self._entries_by_folder.get(folder, ())

    def has_named(self, name: str) -> bool:
        """Returns whether the commit has a file of this name in any folder."""
        return any(name in names for names in self._entries_by_folder.values())

    def remove(self) -> None:
        """Removes the checkout and our files about it."""
        worktree = Worktree(self.repository, self.name)
        with self.repository.locked():
            if worktree.git_dir:
                self.repository.run_git(["worktree", "remove", "--force", "--force", "--", self.path])
            self._remove(self.path)
            self._remove(git_worktree_files.record_of(self.repository.home.checkout.common, self.path))
        for ending in ("index", "setup"):
            git_worktree_files.remove(f"{self.file_prefix}.{ending}")
        self._forget()

    def _forget(self) -> None:
        self._signatures, self._commit, self._tree, self._attributes = {}, "", "", ""
        self._entries_by_folder = {"": {}}

    def _ensure_linked(self, commit: str) -> str:
        """Makes folder and record point to each other, and removes everything from the record that we did not write."""
        common = self.repository.home.checkout.common
        record = git_worktree_files.record_of(common, self.path)
        if not record or not git_worktree_files.is_valid(record, self.path):
            # A link, or a folder that git does not know, is not ours. The checkout is made again.
            self._remove(f"{self.path}/.git" if record and not os.path.islink(self.path) else self.path)
            with self.repository.locked():
                worktree = Worktree(self.repository, self.name)
                ensure_linked(worktree, "", commit)
                record = worktree.git_dir
        origin = git_worktree_files.first_line(f"{record}/commondir")
        if os.path.realpath(os.path.join(record, origin)) != os.path.realpath(common):
            git_worktree_files.write(f"{record}/commondir", f"{os.path.relpath(os.path.realpath(common), record)}\n")
        for name in os.listdir(record):
            if name not in RECORD:
                self._remove(f"{record}/{name}")
        if git_worktree_files.first_line(f"{record}/HEAD") != commit:
            git_worktree_files.write(f"{record}/HEAD", f"{commit}\n")
        return record

    def _read_commit(self, commit: str) -> None:
        """Reads which files the commit has, and forgets what we know about the files that differ."""
        if commit == self._commit:
            return
        tree, old_tree = self.repository.tree_of(commit), self._tree
        self._commit = self._tree = ""  # if a step fails, the next list reads everything again
        done = self._run_git(["diff-tree", "-r", "-z", "--no-renames", old_tree, tree]) if old_tree else None
        if done is not None and not done.code:
            changes = _parse_diff_tree(done.out)
        else:
            changes = _parse_ls_tree(self._git("ls-tree", "-r", "-z", "--full-tree", tree))
            self._entries_by_folder, self._signatures, self._has_state = {"": {}}, {}, False
        for path, entry in changes:
            if is_below(path, STATE_PATHS):
                self._has_state = True
                self._index_digest = ""
                continue
            folder, name = os.path.split(path)
            names = self._entries_by_folder.setdefault(folder, {})
            self._signatures.get(folder, {}).pop(name, None)
            if entry:
                names[name] = entry
            else:
                names.pop(name, None)
        self._entries_by_folder = {
            folder: names for folder, names in self._entries_by_folder.items() if names or not folder
        }
        self._folders = {""} | {above for folder in self._entries_by_folder for above in _folder_and_parents(folder)}
        attribute_files = sorted(
            (folder, names[ATTRIBUTES]) for folder, names in self._entries_by_folder.items() if ATTRIBUTES in names
        )
        attributes = "\n".join(map("/".join, attribute_files))
        if attributes != self._attributes:  # with other attributes, the same object can become a different file
            self._signatures = {}
        self._attributes = attributes
        if not self._signatures and not attributes:
            self._compare_content()
        self._commit, self._tree = commit, tree

    def _compare_content(self) -> None:
        """Finds out by content which files in the folder are right. This runs once per process."""
        signatures: dict[str, Signature] = {}
        for folder, names in self._entries_by_folder.items():
            if any(not _is_real_folder(f"{self.path}/{parent}") for parent in _folder_and_parents(folder)):
                continue
            with os.scandir(self._absolute(folder)) as entries:
                statuses = {entry.name: entry.stat(follow_symlinks=False) for entry in entries if entry.name in names}
            for name, status in statuses.items():
                mode = EXECUTABLE if status.st_mode & stat.S_IXUSR else PLAIN
                if stat.S_ISREG(status.st_mode) and names[name].startswith(mode) and "\n" not in folder + name:
                    signatures[_join(folder, name)] = _signature(status)
        if not signatures:
            return
        arguments = ["hash-object", "--no-filters", "--stdin-paths"]
        done = self._run_git(arguments, input="".join(f"{path}\n" for path in signatures))
        for path, oid in zip(signatures, done.out.split(), strict=False):
            folder, name = os.path.split(path)
            if self._entries_by_folder[folder][name].endswith(f" {oid}"):
                self._signatures.setdefault(folder, {})[name] = signatures[path]

    def _remove_and_list_missing(self, spare: frozenset[str], *, clean: bool) -> list[str]:
        """Removes what must not be there, and returns the tracked paths that have to be written."""
        above_spared = {above for path in spare for above in _folder_and_parents(os.path.dirname(path))}
        missing: list[str] = []
        visited: set[str] = set()
        stack = [("", clean)]
        while stack:
            folder, cleans = stack.pop()
            visited.add(folder)
            names, signatures = self._entries_by_folder.get(folder, {}), self._signatures.setdefault(folder, {})
            right = set()
            for entry in self._entries(folder):
                name = entry.name
                wanted = names.get(name)
                if wanted is not None:
                    if wanted.startswith(SUBMODULE):
                        is_right = self._is_empty(entry, cleans=cleans)
                    else:
                        is_right = signatures.get(name) == _signature(entry.stat(follow_symlinks=False))
                    if is_right:
                        right.add(name)
                    else:
                        self._remove(entry.path)
                    continue
                path = f"{folder}/{name}" if folder else name
                is_folder = entry.is_dir(follow_symlinks=False)
                if path in spare:
                    if path in self._folders:
                        stack.append((path, False))
                elif is_folder and (path in self._folders or (cleans and path in above_spared)):
                    stack.append((path, cleans))
                elif path != ".git" and (cleans or path in self._folders):
                    self._remove(entry.path)
            missing += [_join(folder, name) for name in names if name not in right]
        for folder in self._folders - visited:
            missing += [_join(folder, name) for name in self._entries_by_folder.get(folder, ())]
        return missing

    def _is_empty(self, entry: os.DirEntry[str], *, cleans: bool) -> bool:
        """Returns whether a submodule's path is an empty folder. Before a list, the folder is emptied."""
        if not entry.is_dir(follow_symlinks=False):
            return False
        if cleans:
            for name in os.listdir(entry.path):
                self._remove(f"{entry.path}/{name}")
        return True

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self._absolute(folder)) as entries:
                return list(entries)
        except PermissionError:
            self._permit(self._absolute(folder))
            with os.scandir(self._absolute(folder)) as entries:
                return list(entries)

    def _write_missing(self, record: str, missing: Sequence[str]) -> None:
        """Writes these files from the commit, and give git a matching index in the folder."""
        index = f"{self.file_prefix}.index"
        if missing or not self._is_ours(index) or self._index_commit != self._commit:
            part = self._new_index()
            self._write_files(part, missing)
            crash_points.crash_point(f"replace {index}")
            os.replace(part, index)
            self._index_digest, self._index_commit = _digest(index), self._commit
        if not self._is_ours(f"{record}/index"):
            git_worktree_files.remove(f"{record}/index.lock")
            git_worktree_files.copy(index, f"{record}/index")
        self._remember_written(missing)

    def _is_ours(self, index: str) -> bool:
        """Returns whether an index is unchanged since this process wrote it."""
        return bool(self._index_digest) and _digest(index) == self._index_digest

    def _new_index(self) -> str:
        """Makes an index of the commit that keeps git's data about unchanged files."""
        part, index = f"{self.file_prefix}.part", f"{self.file_prefix}.index"
        for path in (part, f"{part}.lock"):
            git_worktree_files.remove(path)
        if self._is_ours(index):
            git_worktree_files.copy(index, part)
            self._git("read-tree", "-m", self._commit, index=part)
            return part
        self._git("read-tree", self._commit, index=part)
        if self._has_state:
            paths = self._git("ls-files", "-z", "--", *STATE_PATHS, index=part)
            self._git("update-index", "-z", "--skip-worktree", "--stdin", index=part, input=paths)
        if any(self._signatures.values()):
            self._run_git(["update-index", "-q", "--refresh"], index=part)
        return part

    def _write_files(self, index: str, missing: Sequence[str]) -> None:
        if not missing:
            return
        total = sum(map(len, self._entries_by_folder.values()))
        some = len(missing) < total or self._has_state
        arguments = ["checkout-index", "--force", "--index", "--quiet", *(["-z", "--stdin"] if some else ["--all"])]
        names = "".join(f"{path}\0" for path in missing) if some else ""
        done = self._run_git(arguments, index=index, input=names)
        if done.code:
            self._permit(self.path)
            done = self._run_git(arguments, index=index, input=names)
        if done.code:
            raise EnvironmentProblem(
                f"cannot fill the checkout {self.name}: {done.message}", git_error_hint(done.message)
            )

    def _remember_written(self, written: Iterable[str]) -> None:
        """Remembers the files that we wrote, and wait until any later change gets a later change time."""
        newest = 0
        for path in written:
            folder, name = os.path.split(path)
            try:
                status = os.lstat(f"{self.path}/{path}")
            except OSError as error:
                raise system_error("read", f"{self.path}/{path}", error) from None
            if not stat.S_ISDIR(status.st_mode):
                self._signatures.setdefault(folder, {})[name] = _signature(status)
                newest = max(newest, status.st_ctime_ns)
        pointer = f"{self.path}/.git"
        while newest:
            crash_points.crash_point(f"touch {pointer}")
            os.utime(pointer)
            if os.lstat(pointer).st_ctime_ns > newest:
                return
            time.sleep(CLOCK_WAIT)

    def _remove(self, path: str) -> None:
        """Removes a file, link or folder. Nothing behind a link is touched."""
        if not path or not os.path.lexists(path):
            return
        try:
            remove_tree(path)
        except PermissionError:
            crash_points.crash_point(f"permit {path}")
            os.chmod(os.path.dirname(path), 0o700)
            if _is_real_folder(path):
                self._permit(path)
            try:
                remove_tree(path)
            except OSError as error:
                raise system_error("remove", path, error) from None
        except OSError as error:
            raise system_error("remove", path, error) from None

    def _permit(self, folder: str) -> None:
        """Restores the permissions that a command removed."""
        crash_points.crash_point(f"permit {folder}")
        os.chmod(folder, 0o700)
        make_readable(folder)

    def _absolute(self, folder: str) -> str:
        return f"{self.path}/{folder}" if folder else self.path

    def _run_git(self, arguments: Sequence[str], *, index: str = "", input: str = "") -> git.GitResult:
        """Runs one git command in the folder. If we are killed, git holds the slot until it ends."""
        options = [*OPTIONS, f"--git-dir={self.repository.home.checkout.common}", f"--work-tree={self.path}"]
        return git.run_unchecked(
            arguments, cwd=self.path, options=options, index=index, input=input, timeout=git.LONG, hold=self.descriptor
        )

    def _git(self, *arguments: str, index: str = "", input: str = "") -> str:
        done = self._run_git(arguments, index=index, input=input)
        if done.code:
            raise git.failure(arguments, done)
        return done.out


def _signature(status: os.stat_result) -> Signature:
    return (status.st_ino, status.st_ctime_ns, status.st_size)


def _parse_ls_tree(text: str) -> list[tuple[str, str]]:
    """Parses `git ls-tree -r -z`: each path with its mode and object."""
    entries = []
    for line in text.split("\0"):
        facts, _, path = line.partition("\t")
        if path:
            mode, _, oid = facts.split(" ")
            entries.append((path, f"{mode} {oid}"))
    return entries


def _parse_diff_tree(text: str) -> list[tuple[str, str]]:
    """Parses `git diff-tree -r -z`: each path with its new mode and object, or "" for a removed path."""
    fields = text.split("\0")
    entries = []
    for facts, path in zip(fields[::2], fields[1::2], strict=False):
        _, mode, _, oid, status = facts.split(" ")
        entries.append((path, "" if status == "D" else f"{mode} {oid}"))
    return entries


def _folder_and_parents(folder: str) -> list[str]:
    """Lists a folder and every folder above it, except the root."""
    parts = folder.split("/") if folder else []
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _is_real_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return ""


class Slots:
    """The slots that this process uses. Other sow processes may hold other slots of the same folder."""

    def __init__(self, repository: Repository, most: int) -> None:
        self.repository = repository
        self.limit = max(most, 1)
        self.slots_by_number: dict[int, Slot] = {}
        self.busy: set[int] = set()
        self.waiting: list[object] = []

    def acquire(self) -> Steps[Slot | None]:
        """Waits for a free slot. Returns None if a person wants to stop."""
        ticket = object()
        self.waiting.append(ticket)
        try:
            while self.waiting[0] is not ticket or len(self.busy) >= self.limit:
                if (yield):
                    return None
            return self._first_free()
        finally:
            self.waiting.remove(ticket)

    def release(self, slot: Slot) -> None:
        """Gives a slot back."""
        slot.release()
        self.busy = {number for number in self.busy if self.slots_by_number[number] is not slot}

    def _first_free(self) -> Slot:
        """Holds the first slot that no process has."""
        if not self.slots_by_number:  # checks of a killed process may still run in a slot
            end_left_checks(f"{self.repository.home.sow}/local/runs")
        number = 1
        while True:
            if number not in self.busy:
                slot = self.slots_by_number.setdefault(number, Slot(self.repository, number))
                if slot.try_hold():
                    self.busy.add(number)
                    return slot
            number += 1


def is_slot(name: str) -> bool:
    """Returns whether a folder below .sow/local/worktrees is a slot."""
    return name.startswith(PREFIX) and name.removeprefix(PREFIX).isdigit()


def remove_free(repository: Repository, *, dry_run: bool = False) -> tuple[list[str], list[str]]:
    """Removes every slot that no process uses. Returns the names of the removed ones and of the busy ones."""
    removed, busy = [], []
    for name in list_folder(f"{repository.home.sow}/local/worktrees"):
        if not is_slot(name):
            continue
        slot = Slot(repository, int(name.removeprefix(PREFIX)))
        if not slot.try_hold():
            busy.append(name)
            continue
        try:
            if not dry_run:
                slot.remove()
        finally:
            slot.release()
        removed.append(name)
    return removed, busy
