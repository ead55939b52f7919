"""Reads the files of a worktree, as they are on disk, into an index of our own."""

from __future__ import annotations

import os
import re
import stat

from sow.engine.furnishing import furniture
from sow.engine.permissions import loosen
from sow.engine.place import NOT_PERMITTED, Place, is_behind_link, remove_file
from sow.engine.repository import STATE, is_below, path_of
from sow.system import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.system.git import Done

# sow's local files in a worker's folder are never work, because they belong in the home.
NEVER = (".sow/local", ".sow/sinks", ".sow/repos")
GITLINK = "160000"
FILTER = re.compile(r"clean filter '(.+?)' failed")
NOT_STORED = "failed to insert into database"  # the disk is full, so no file is at fault


class Gathering:
    """One reading of a worktree's folder into an index that starts from a commit."""

    __slots__ = ("base", "index", "place", "remarks", "repository")

    def __init__(self, worktree: Place, *, base: str, head: str) -> None:
        self.place = worktree
        self.repository = worktree.repository
        self.base = base
        self.remarks: list[str] = []
        self.index = worktree.begin(head)
        self._free_stray_links()
        self._show_state()
        self._gather(self.index, worktree.path, (*furniture(worktree), *NEVER))
        self._add_forced()

    def tree(self) -> str:
        """Return the tree of the index."""
        return self.place.git("write-tree", index=self.index).strip()

    def leave_out(self) -> None:
        """Reset the state files in the index to the base, and leave out the files that we put into the folder."""
        paths = (*STATE, *furniture(self.place))
        entries = self.repository.entries(self.base, *paths)
        self.repository.put_entries(entries, index=self.index, where=lambda path: is_below(path, paths))

    def remove_state(self) -> None:
        """Remove the state files from the folder, where a worker could mistake them for the real ones."""
        for path in STATE:
            remove_file(self.place.path, path)  # a link in place of the folder
            for folder, _, names in os.walk(f"{self.place.path}/{path}"):
                for name in names:
                    remove_file(self.place.path, f"{folder}/{name}".removeprefix(f"{self.place.path}/"))
        self.place.hide_state(self.index)

    def _gather(self, index: str, folder: str, excluded: Sequence[str]) -> None:
        """Add all files of a folder. Files of a nested repository are added as plain files."""
        nested = self._nested(index, folder, excluded)
        self._add(index, folder, [*nested, *excluded])
        for number, path in enumerate(nested):
            inner = self.repository.scratch(f"{os.path.basename(index)}-{number}")
            self._gather(inner, f"{folder}/{path}", ())
            tree = self.place.git("write-tree", index=inner).strip()
            self.place.git("read-tree", f"--prefix={path}/", tree, index=index)
            relative = f"{folder}/{path}".removeprefix(f"{self.place.path}/")
            self.remarks.append(f"{relative} is a repository of its own: its files are taken, and not its history")

    def _free_stray_links(self) -> None:
        """Remove repositories from the index that were added like submodules, so that their files are collected."""
        entries = self.place.git("ls-files", "-s", "-z", index=self.index).split("\0")
        links = {path_of(entry) for entry in entries if entry.startswith(GITLINK)} - set(self._submodules())
        if links:
            stray = links - {
                path_of(entry) for entry in self.repository.entries(self.base) if entry.startswith(GITLINK)
            }
            self.repository.put_entries([], index=self.index, where=lambda path: path in stray)

    def _submodules(self) -> list[str]:
        """List the submodule paths in the folder's .gitmodules."""
        args = ["config", "--file", f"{self.place.path}/.gitmodules", "--get-regexp", "-z", r"^submodule\..*\.path$"]
        settings = self.place.attempt(args).out.split("\0")
        return [setting.partition("\n")[2] for setting in settings if setting]

    def _show_state(self) -> None:
        """Unhide the state files that a worker made. State files that do not exist stay hidden."""
        paths = self.place.git("ls-files", "-z", "--", *STATE, index=self.index).split("\0")
        existing = [path for path in paths if path and self._is_file(path)]
        if existing:
            text = "".join(f"{path}\0" for path in existing)
            self.place.git("update-index", "-z", "--no-skip-worktree", "--stdin", index=self.index, input=text)

    def _nested(self, index: str, folder: str, excluded: Sequence[str]) -> list[str]:
        """List the folders with a repository that no .gitmodules names."""
        arguments = ["ls-files", "-z", "--others", "--exclude-standard"]
        paths = self.place.git(*arguments, index=index, within=folder).split("\0")
        submodules = self._submodules() if folder == self.place.path else []
        nested = [path.rstrip("/") for path in paths if path.endswith("/")]
        return [path for path in nested if path not in submodules and not is_below(path, excluded)]

    def _add(self, index: str, folder: str, excluded: Sequence[str]) -> None:
        """Add everything that is not ignored. Files that git cannot read are made readable, or a remark names them."""
        paths = [path for path in excluded if not is_behind_link(folder, path)]  # git refuses to exclude the others
        pathspecs = ["--", ".", *(f":(exclude,literal,top){path}" for path in paths)]
        done = self.place.attempt(["add", "--all", *pathspecs], index=index, within=folder)
        if not done.code and NOT_PERMITTED not in done.err:
            return
        if done.code < 0:
            raise git.failure(["add"], done)
        if NOT_PERMITTED in done.err:
            loosen(folder)
            self.remarks.append("files without permission were made readable")
        done = self._add_what_is_possible(pathspecs, index, folder)
        if done.code not in (0, 1) or NOT_STORED in done.err:
            raise git.failure(["add"], done)
        if done.code:
            self.remarks.append(f"not everything could be added: {done.words}")

    def _add_what_is_possible(self, pathspecs: Sequence[str], index: str, folder: str) -> Done:
        """Add file by file. If a filter of the repository fails, the files are added without it."""
        while True:
            done = self.place.attempt(["add", "--all", "--ignore-errors", *pathspecs], index=index, within=folder)
            broken = FILTER.search(done.err)
            setting = f"filter.{broken[1]}.required=false" if broken else ""
            if not done.code or not broken or setting in self.place.settings:
                return done
            self.place.settings += ["-c", setting]
            self.remarks.append(f"the filter {broken[1]} does not work: files were taken without it")

    def _add_forced(self) -> None:
        """Add files that the worker staged although they are ignored."""
        staged = self.place.git("ls-files", "-s", "-z").split("\0")
        added = set(self.place.git("ls-files", "-z", index=self.index).split("\0"))
        excluded = (*furniture(self.place), *NEVER, *STATE)
        paths = dict.fromkeys(path_of(entry) for entry in staged if entry and not entry.startswith(GITLINK))
        missing = [path for path in paths if path not in added and not is_below(path, excluded) and self._is_file(path)]
        if missing:
            text = "".join(f"{path}\0" for path in missing)
            self.place.git("update-index", "--add", "-z", "--stdin", index=self.index, input=text)

    def _is_file(self, path: str) -> bool:
        try:
            mode = os.lstat(f"{self.place.path}/{path}").st_mode
        except OSError:
            return False
        return (stat.S_ISREG(mode) or stat.S_ISLNK(mode)) and not is_behind_link(self.place.path, path)
