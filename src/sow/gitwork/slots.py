"""Provides clean checkouts for check lists, called slots, and the ignored files that each checkout needs.

A slot is in .sow/local/worktrees/slot-<n>, and is lent to one check list. Git restores its files with an index of
our own, which lies outside of the checkout and has the change time of each file. A process cannot set that time, so a
file that was rewritten with the same size and modification time is still detected. An index that this process did not
write is made again, and git compares the content of every file once. Git's record of the checkout is rewritten for
every list.

A worktree has only committed files, but tests need node_modules, .env and the like. If they cannot be linked or copied
there, that is an EnvironmentProblem, because no worker can fix it.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sow.gitwork.check_processes import end_left_checks
from sow.gitwork.repository import STATE_PATHS, Repository, is_below, path_of
from sow.gitwork.worktree import (
    OPTIONS,
    SETUP_MARK,
    EnvironmentProblem,
    Worktree,
    ensure_linked,
    is_behind_link,
    make_readable,
    remove_file,
    remove_tree,
)
from sow.store.files.disk import list_folder, open_lock, system_error, try_lock
from sow.system import clock, git
from sow.system.process.steps import Steps

PREFIX = "slot-"
SUBMODULE = "160000 "
# Git's own small files in the record of a linked worktree. Everything else there is removed before a list runs.
RECORD = ("HEAD", "commondir", "gitdir", "index", "locked")
CACHES = ("__pycache__",)
ATTRIBUTES = ".gitattributes"
# The user's settings could make git ignore the change time.
TRUST = ("-c", "core.trustctime=true", "-c", "core.checkStat=default")


class Slot(Worktree):
    """One checkout, held by one process while a list runs in it."""

    def __init__(self, repository: Repository, number: int) -> None:
        super().__init__(repository, f"{PREFIX}{number}")
        folder = repository.home.git_subfolder(repository.home.checkout.git, "slots")  # with the locks and the indexes
        self.file_prefix = f"{folder}/{self.name}"  # prefix of our own files about the slot
        self.descriptor = -1  # of the lock, while we hold it
        self._commit = ""
        self._entries: list[str] = []  # mode, object and path of every file of the commit, without state files
        self._index_digest = ""  # of our index as we left it, and the commit of that index
        self._index_commit = ""

    def try_hold(self) -> bool:
        """Locks the slot if no process has it. The lock ends with the process."""
        path = f"{self.file_prefix}.lock"
        clock.crash_point(f"lock {path}")
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
        """Gives the folder exactly the files of a commit. Of everything else, only the paths to spare stay."""
        record = self._ensure_linked(commit)
        index = self._new_index(commit)
        for entry in self._entries:
            if entry.startswith(SUBMODULE) and os.path.isdir(f"{self.path}/{path_of(entry)}"):
                self._remove(f"{self.path}/{path_of(entry)}")  # its place is an empty folder
        self.clean(spare=spare, index=index, options="-ffdx")
        self._restore_files(record, index)

    def restore(self) -> None:
        """Restores the tracked files after a command. Other files that it made stay."""
        self._restore_files(self._ensure_linked(self._commit), self._new_index(self._commit))

    def _restore_files(self, record: str, part: str) -> None:
        """Writes the files that differ from an index, and gives that index to git in the folder."""
        self.write_files(part)
        index = f"{self.file_prefix}.index"
        clock.crash_point(f"replace {index}")
        try:
            os.replace(part, index)
        except OSError as error:
            raise system_error("write", index, error) from None
        self._index_digest, self._index_commit = _digest(index), self._commit
        if _digest(f"{record}/index") != self._index_digest:
            git.remove_file(f"{record}/index.lock")
            git.copy_file(index, f"{record}/index")

    def untracked(self) -> list[str]:
        """Lists the topmost paths in the folder that the commit does not have, except caches of compiled files."""
        output = self.git("ls-files", "--others", "--directory", "-z", index=f"{self.file_prefix}.index")
        paths = (path.rstrip("/") for path in output.split("\0") if path)
        return [path for path in paths if os.path.basename(path) not in CACHES]

    def has(self, path: str) -> bool:
        """Returns whether the commit has a file at a path, or files below it."""
        return any(f"{path_of(entry)}/".startswith(f"{path}/") for entry in self._entries)

    def has_named(self, name: str) -> bool:
        """Returns whether the commit has a file of this name in any folder."""
        return any(os.path.basename(path_of(entry)) == name for entry in self._entries)

    def remove(self) -> None:
        """Removes the checkout and our files about it."""
        with self.repository.locked():
            if Worktree(self.repository, self.name).git_dir:
                self.repository.run_git(["worktree", "remove", "--force", "--force", "--", self.path])
            self._remove(self.path)
            self._remove(git.record_of(self.repository.home.checkout.common, self.path))
        for ending in ("index", "setup"):
            git.remove_file(f"{self.file_prefix}.{ending}")
        self._commit, self._entries, self._index_digest, self._index_commit = "", [], "", ""

    def _ensure_linked(self, commit: str) -> str:
        """Makes folder and record point to each other, and removes everything from the record that we did not write."""
        common = self.repository.home.checkout.common
        record = git.record_of(common, self.path)
        if not record or not git.is_valid_record(record, self.path):
            # A link, or a folder that git does not know, is not ours. The checkout is made again.
            self._remove(f"{self.path}/.git" if record and not os.path.islink(self.path) else self.path)
            with self.repository.locked():
                worktree = Worktree(self.repository, self.name)
                ensure_linked(worktree, "", commit)
                record = worktree.git_dir
        origin = git.first_line(f"{record}/commondir")
        if os.path.realpath(os.path.join(record, origin)) != os.path.realpath(common):
            git.write_file(f"{record}/commondir", f"{os.path.relpath(os.path.realpath(common), record)}\n")
        for name in os.listdir(record):
            if name not in RECORD:
                self._remove(f"{record}/{name}")
        if git.first_line(f"{record}/HEAD") != commit:
            git.write_file(f"{record}/HEAD", f"{commit}\n")
        return record

    def _new_index(self, commit: str) -> str:
        """Makes an index of a commit that keeps what git knows about files that are right."""
        part, index = f"{self.file_prefix}.part", f"{self.file_prefix}.index"
        for path in (part, f"{part}.lock"):
            git.remove_file(path)
        is_ours = bool(self._index_digest) and _digest(index) == self._index_digest
        if is_ours:
            git.copy_file(index, part)
            if commit == self._commit == self._index_commit:
                return part
        attributes = self._attributes()
        self.git("read-tree", *(["-m"] if is_ours else []), commit, index=part)
        entries = self.git("ls-files", "-s", "-z", index=part).split("\0")[:-1]
        self._commit, self._entries = commit, [entry for entry in entries if not is_below(path_of(entry), STATE_PATHS)]
        if is_ours and self._attributes() != attributes:  # the same object can become a different file
            git.remove_file(part)
            self.git("read-tree", commit, index=part)
        self.skip_state_files(part)
        if not is_ours and not self._attributes():  # with attributes, comparing would run filters
            self.run_git(["update-index", "-q", "--refresh"], index=part)
        return part

    def _attributes(self) -> list[str]:
        """Returns the attribute files of the commit."""
        return [entry for entry in self._entries if entry.endswith(ATTRIBUTES)]

    def _remove(self, path: str) -> None:
        """Removes a file, link or folder. Nothing behind a link is touched."""
        if not path or not os.path.lexists(path):
            return
        try:
            remove_tree(path)
        except PermissionError:
            clock.crash_point(f"permit {path}")
            os.chmod(os.path.dirname(path), 0o700)
            if os.path.isdir(path) and not os.path.islink(path):
                os.chmod(path, 0o700)
                make_readable(path)
            try:
                remove_tree(path)
            except OSError as error:
                raise system_error("remove", path, error) from None
        except OSError as error:
            raise system_error("remove", path, error) from None

    def run_git(self, arguments: Sequence[str], *, index: str = "", input: str = "", within: str = "") -> git.GitResult:
        """Runs one git command in the folder. If we are killed, git holds the slot until it ends."""
        options = [*OPTIONS, *TRUST, f"--git-dir={self.repository.home.checkout.common}", f"--work-tree={self.path}"]
        return git.run_unchecked(
            arguments, cwd=self.path, options=options, index=index, input=input, timeout=git.LONG, hold=self.descriptor
        )


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


LIST = "sow-setup-files"
OURS = (".git", ".sow", "orchestration")
SETTINGS_HINT = "fix 'worktree' in your settings (sow config edit), or put the file there"


def setup_paths(worktree: Worktree) -> list[str]:
    """Lists the paths that we linked or copied into a worktree or that its setup made. The work excludes them."""
    try:
        with open(f"{worktree.git_dir}/{LIST}", encoding="utf-8", errors="surrogateescape") as file:
            return [path for path in file.read().split("\0") if path]
    except FileNotFoundError:
        return []


def install_setup_files(worktree: Worktree, settings: Mapping[str, Any]) -> list[list[str]]:
    """Links and copies what the settings name. Returns the commands that must still run in the worktree."""
    links, copies = list(settings.get("link") or ()), list(settings.get("copy") or ())
    for path in (*links, *copies):
        _check(worktree, path)
    outputs = settings.get("outputs") or ()
    paths = dict.fromkeys([*setup_paths(worktree), *map(os.path.normpath, (*links, *copies, *outputs))])
    git.write_file(f"{worktree.git_dir}/{LIST}", "".join(f"{path}\0" for path in paths))
    for path in links:
        link_into(worktree.repository.home.root, worktree.path, path)
    for path in copies:
        copy_into(worktree.repository.home.root, worktree.path, path)
    if git.first_line(f"{worktree.git_dir}/{SETUP_MARK}") == _setup_digest(settings):
        return []
    return [list(command) for command in settings.get("setup") or ()]


def record_setup(worktree: Worktree, settings: Mapping[str, Any]) -> None:
    """Records that the commands of these settings have run here."""
    git.write_file(f"{worktree.git_dir}/{SETUP_MARK}", _setup_digest(settings))


def remove_setup_files(worktree: Worktree) -> None:
    """Removes our links and copies from a worktree. The targets of the links stay."""
    for path in setup_paths(worktree):
        if os.path.islink(f"{worktree.path}/{path}") or not os.path.isdir(f"{worktree.path}/{path}"):
            remove_file(worktree.path, path)
            continue
        for folder, _, names in os.walk(f"{worktree.path}/{path}"):
            for name in names:
                remove_file(worktree.path, f"{folder}/{name}".removeprefix(f"{worktree.path}/"))


def _check(worktree: Worktree, path: object) -> None:
    """Refuses a path that leads out of the home or the worktree, belongs to sow or is committed."""
    clean = inner_path(worktree.repository.home.root, worktree.path, path)
    if worktree.git("ls-files", "-z", "--", f":(literal){clean}", index=worktree.index):
        raise committed_path_error(path)


def committed_path_error(path: object) -> EnvironmentProblem:
    return EnvironmentProblem(f"worktree: {path!r} is committed: every worktree has it already", SETTINGS_HINT)


def inner_path(root: str, folder: str, path: object) -> str:
    """Returns the normal form of a path to link or copy. Refuses one that leads out of the home or the worktree."""
    if not isinstance(path, str) or not path or "\0" in path or os.path.isabs(path):
        raise EnvironmentProblem(f"worktree: {path!r} is not a path inside the repository", SETTINGS_HINT)
    clean = os.path.normpath(path)
    if clean.split("/")[0] in ("..", ".", *OURS) or ".git" in clean.split("/"):
        raise EnvironmentProblem(f"worktree: {path!r} is not a path that can be linked or copied", SETTINGS_HINT)
    if not os.path.lexists(f"{root}/{clean}"):
        raise EnvironmentProblem(f"worktree: there is no {path!r} in {root}", SETTINGS_HINT)
    if not is_below(os.path.realpath(f"{root}/{clean}"), [os.path.realpath(root)]):
        raise EnvironmentProblem(f"worktree: {path!r} leads out of {root}", SETTINGS_HINT)
    if is_behind_link(folder, clean):
        raise EnvironmentProblem(f"worktree: {path!r} leads out of the worktree, through a link", SETTINGS_HINT)
    return clean


def link_into(root: str, folder: str, path: str) -> None:
    """Links a path of the home into a folder, unless something exists there."""
    target = f"{folder}/{os.path.normpath(path)}"
    if os.path.lexists(target):  # our earlier link, or the worker's own install, which stays
        return
    clock.crash_point()
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(f"{root}/{os.path.normpath(path)}", target)
    except OSError as error:
        raise _problem("link", path, error) from None


def copy_into(root: str, folder: str, path: str) -> None:
    """Copies a file or folder of the home into a folder, unless something exists there. No partial copy appears."""
    target, temporary = f"{folder}/{os.path.normpath(path)}", f"{folder}.copy"
    if os.path.lexists(target):
        return
    clock.crash_point()
    try:
        if os.path.lexists(temporary):  # the remains of an interrupted copy
            remove_tree(temporary)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _copy(f"{root}/{os.path.normpath(path)}", temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise _problem("copy", path, error) from None


def _copy(source: str, target: str) -> None:
    """Copies one file, link or folder. Links stay links, and other kinds of files are left out."""
    mode = os.lstat(source).st_mode
    clock.crash_point(f"copy to {target}")
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(source), target)
    elif stat.S_ISDIR(mode):
        os.mkdir(target)
        for name in os.listdir(source):
            _copy(f"{source}/{name}", f"{target}/{name}")
        os.chmod(target, stat.S_IMODE(mode) | 0o700)
    elif stat.S_ISREG(mode):
        with open(source, "rb") as old, open(target, "xb") as new:
            while data := old.read(1 << 20):
                new.write(data)
        os.chmod(target, stat.S_IMODE(mode))


def _problem(act: str, path: str, error: OSError) -> EnvironmentProblem:
    return EnvironmentProblem(f"cannot {act} {path} into the worktree: {error.strerror}", "fix that, and run again")


def _setup_digest(settings: Mapping[str, Any]) -> str:
    text = json.dumps({key: settings.get(key) for key in ("link", "copy", "setup", "key")}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
