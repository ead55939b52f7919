"""Gathering: the files of a worktree, as they lie there, read into an index of ours."""

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

# Local files of sow in the folder of a worker are never work: they belong in the home.
NEVER = (".sow/local", ".sow/sinks", ".sow/repos")
GITLINK = "160000"
FILTER = re.compile(r"clean filter '(.+?)' failed")
NOT_STORED = "failed to insert into database"  # the disk is full: it is not the file's fault


class Gathering:
    """One reading of a worktree's folder, from a commit that knows most of its files."""

    __slots__ = ("base", "index", "place", "remarks", "repository")

    def __init__(self, place: Place, *, base: str, head: str) -> None:
        self.place = place
        self.repository = place.repository
        self.base = base
        self.remarks: list[str] = []
        self.index = place.begin(head)
        self._free_stray_links()
        self._show_state()
        self._gather(self.index, place.path, (*furniture(place), *NEVER))
        self._add_forced()

    def tree(self) -> str:
        """What is in the index now, as a tree."""
        return self.place.git("write-tree", index=self.index).strip()

    def leave_out(self) -> None:
        """Bring the state's files back to what the base has, and leave out what we put into the folder ourselves."""
        paths = (*STATE, *furniture(self.place))
        entries = self.repository.entries(self.base, *paths)
        self.repository.put_entries(entries, index=self.index, where=lambda path: is_below(path, paths))

    def remove_state(self) -> None:
        """Take the state's files out of the folder, where a worker could mistake them for the real ones."""
        for path in STATE:
            remove_file(self.place.path, path)  # a link in its place
            for folder, _, names in os.walk(f"{self.place.path}/{path}"):
                for name in names:
                    remove_file(self.place.path, f"{folder}/{name}".removeprefix(f"{self.place.path}/"))
        self.place.hide_state(self.index)

    def _gather(self, index: str, folder: str, apart: Sequence[str]) -> None:
        """Add all files of a folder; those of a repository inside it are plain files as well."""
        nested = self._nested(index, folder, apart)
        self._add(index, folder, [*nested, *apart])
        for number, path in enumerate(nested):
            inner = self.repository.scratch(f"{os.path.basename(index)}-{number}")
            self._gather(inner, f"{folder}/{path}", ())
            tree = self.place.git("write-tree", index=inner).strip()
            self.place.git("read-tree", f"--prefix={path}/", tree, index=index)
            shown = f"{folder}/{path}".removeprefix(f"{self.place.path}/")
            self.remarks.append(f"{shown} is a repository of its own: its files are taken, and not its history")

    def _free_stray_links(self) -> None:
        """Let go of repositories that were added as if they were submodules: their files are the work."""
        listed = self.place.git("ls-files", "-s", "-z", index=self.index).split("\0")
        links = {path_of(entry) for entry in listed if entry.startswith(GITLINK)} - set(self._submodules())
        if links:
            stray = links - {path_of(each) for each in self.repository.entries(self.base) if each.startswith(GITLINK)}
            self.repository.put_entries([], index=self.index, where=lambda path: path in stray)

    def _submodules(self) -> list[str]:
        """The paths that .gitmodules in the folder gives to submodules."""
        words = ["config", "--file", f"{self.place.path}/.gitmodules", "--get-regexp", "-z", r"^submodule\..*\.path$"]
        told = self.place.attempt(words).out.split("\0")
        return [each.partition("\n")[2] for each in told if each]

    def _show_state(self) -> None:
        """Let the index see the state's files where a worker made some: they are hidden for not being there."""
        listed = self.place.git("ls-files", "-z", "--", *STATE, index=self.index).split("\0")
        there = [path for path in listed if path and self._is_file(path)]
        if there:
            text = "".join(f"{path}\0" for path in there)
            self.place.git("update-index", "-z", "--no-skip-worktree", "--stdin", index=self.index, input=text)

    def _nested(self, index: str, folder: str, apart: Sequence[str]) -> list[str]:
        """The folders with a repository of their own that no .gitmodules names."""
        words = ["ls-files", "-z", "--others", "--exclude-standard"]
        listed = self.place.git(*words, index=index, within=folder).split("\0")
        known = self._submodules() if folder == self.place.path else []
        nested = [path.rstrip("/") for path in listed if path.endswith("/")]
        return [path for path in nested if path not in known and not is_below(path, apart)]

    def _add(self, index: str, folder: str, apart: Sequence[str]) -> None:
        """Add all that is not ignored; what git cannot read is made readable, or is named."""
        real = [path for path in apart if not is_behind_link(folder, path)]  # git refuses to hear of the others
        words = ["--", ".", *(f":(exclude,literal,top){path}" for path in real)]
        done = self.place.attempt(["add", "--all", *words], index=index, within=folder)
        if not done.code and NOT_PERMITTED not in done.err:
            return
        if done.code < 0:
            raise git.failure(["add"], done)
        if NOT_PERMITTED in done.err:
            loosen(folder)
            self.remarks.append("files without permission were made readable")
        done = self._add_what_is_possible(words, index, folder)
        if done.code not in (0, 1) or NOT_STORED in done.err:
            raise git.failure(["add"], done)
        if done.code:
            self.remarks.append(f"not everything could be added: {done.words}")

    def _add_what_is_possible(self, words: Sequence[str], index: str, folder: str) -> Done:
        """Add file by file; where a filter of the repository does not work, files are taken as they are."""
        while True:
            done = self.place.attempt(["add", "--all", "--ignore-errors", *words], index=index, within=folder)
            broken = FILTER.search(done.err)
            setting = f"filter.{broken[1]}.required=false" if broken else ""
            if not done.code or not broken or setting in self.place.settings:
                return done
            self.place.settings += ["-c", setting]
            self.remarks.append(f"the filter {broken[1]} does not work: files were taken without it")

    def _add_forced(self) -> None:
        """Add what the worker had staged although it is ignored."""
        staged = self.place.git("ls-files", "-s", "-z").split("\0")
        known = set(self.place.git("ls-files", "-z", index=self.index).split("\0"))
        apart = (*furniture(self.place), *NEVER, *STATE)
        paths = dict.fromkeys(path_of(each) for each in staged if each and not each.startswith(GITLINK))
        missing = [path for path in paths if path not in known and not is_below(path, apart) and self._is_file(path)]
        if missing:
            text = "".join(f"{path}\0" for path in missing)
            self.place.git("update-index", "--add", "-z", "--stdin", index=self.index, input=text)

    def _is_file(self, path: str) -> bool:
        try:
            mode = os.lstat(f"{self.place.path}/{path}").st_mode
        except OSError:
            return False
        return (stat.S_ISREG(mode) or stat.S_ISLNK(mode)) and not is_behind_link(self.place.path, path)
