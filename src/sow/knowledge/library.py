"""The library of one task: every document that could be of use to its worker. What lies outside is not followed."""

from __future__ import annotations

import os
import stat

from sow.errors import SowError
from sow.knowledge.document import ADR, KNOWLEDGE, REPO, SINK, UPSTREAM, Document
from sow.store import artifacts, repo_index, sink_index
from sow.store import desk as desks
from sow.store.layout import ARTIFACTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from typing import Any

    from sow.domain.index_shapes import Repo, Sink
    from sow.domain.shapes import ProjectState, Task
    from sow.store.home import Home

TEXTS = (".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ".org")
MOST_BYTES = 2 << 20  # of a document that is looked at
MOST_DEPTH = 12
MOST_FILES = 5000
MOST_HINTED = 200  # files of a folder that a hint names
GENERATED = ("README.md",)  # what `sow init` puts into the folders of documents


class Library:
    """The documents, and what could not be read on the way."""

    __slots__ = ("folder", "found", "home", "linked", "remarks")

    def __init__(self, home: Home, folder: str, linked: Collection[str] = ()) -> None:
        self.home = home
        self.linked = linked  # where links of the user lead to
        self.folder = folder  # where the task is worked on: its own worktree, or the home checkout
        self.found: dict[str, Document] = {}
        self.remarks: list[str] = []

    def fill(self, project: ProjectState, task: Task) -> None:
        """Look at everything that there is."""
        self._sinks()
        self._knowledge()
        self._repos()
        self._upstream(project, task)

    @property
    def documents(self) -> list[Document]:
        return list(self.found.values())

    def _sinks(self) -> None:
        sinks: list[Sink] = self._entries(sink_index.load)
        for sink in sinks:
            tags = tuple(sink["tags"])
            about = "\n".join((sink["name"], *tags, sink["summary"], sink["when_to_use"]))
            for path in self._texts(f".sow/sinks/{sink['name']}"):
                self._add(path, SINK, owner=sink["name"], about=about, tags=tags)

    def _knowledge(self) -> None:
        """Documents of the repository, as they are where the task is worked on."""
        try:
            folders = artifacts.folders(self.home)
        except SowError as error:
            self.remarks.append(error.message)
            folders = dict(ARTIFACTS)
        for base in dict.fromkeys((".sow/knowledge", *folders.values())):
            for path in self._texts(base, root=self.folder):
                parent, _, name = path.rpartition("/")
                if name in GENERATED and parent in folders.values():
                    continue
                is_adr = path.startswith(f"{folders['adrs']}/")
                self._add(path, ADR if is_adr else KNOWLEDGE, root=self.folder)

    def _repos(self) -> None:
        repos: list[Repo] = self._entries(repo_index.load)
        for repo in repos:
            base = f".sow/repos/{repo['name']}"
            place = f"{self.home.root}/{base}"
            if os.path.islink(place) and os.path.realpath(place) not in self.linked:
                self.remarks.append(f"{base} is a link that you did not make, so nothing is taken from there")
                continue
            tags = tuple(repo["tags"])
            about = "\n".join((repo["name"], *tags, repo["purpose"]))
            for path, hint in self._hinted(base, repo).items():
                self._add(path, REPO, owner=repo["name"], about=f"{about}\n{hint}", tags=tags, linked=base)

    def _hinted(self, base: str, repo: Repo) -> dict[str, str]:
        """The files that hints name, by themselves or by their folder, and the repository's own first page."""
        found: dict[str, str] = {}
        for hint in repo["hints"]:
            for path in self._named(base, hint["path"]):
                found.setdefault(path, hint["about"])
        for entry in self._listed(f"{self.home.root}/{base}"):
            if entry.name.lower().startswith("readme") and entry.name.lower().endswith(TEXTS):
                found.setdefault(f"{base}/{entry.name}", "")
        return found

    def _named(self, base: str, path: str) -> list[str]:
        """The file at a path of a linked repository, or all texts of the folder there."""
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if ".." in parts or ".git" in parts:
            return []
        named = "/".join((base, *parts))
        if os.path.isfile(f"{self.home.root}/{named}"):
            return [named]
        return list(self._texts(named, most=MOST_HINTED))

    def _upstream(self, project: ProjectState, task: Task) -> None:
        """What the tasks that this one builds on handed over: their outputs, and the files that they wrote."""
        for need in task["depends_on"]:
            try:
                desk = desks.find(self.home, project, need)
                before = desk.task()
            except SowError as error:
                self.remarks.append(error.message)
                continue
            owner = f"task {need}"
            for path in self._texts(self.home.relative(f"{desk.folder}/task_output"), suffixes=()):
                self._add(path, UPSTREAM, owner=owner, sure=f"output of {owner}, which this task builds on")
            for path in before.get("files", ()):
                if path not in task.get("files", ()):  # what it writes itself is in its description
                    why = f"{owner} wrote it, and this task builds on that"
                    self._add(path, UPSTREAM, owner=owner, sure=why, root=self.folder)

    def _entries(self, load: Callable[[Home], list[Any]]) -> list[Any]:
        """The entries of an index; one that is broken hides its documents, and is said."""
        try:
            return load(self.home)
        except SowError as error:
            self.remarks.append(f"{error.message}; nothing is taken from there")
            return []

    def _texts(
        self, base: str, *, root: str = "", suffixes: tuple[str, ...] = TEXTS, most: int = MOST_FILES
    ) -> Iterator[str]:
        """The paths of all texts below a folder, in order; links are not followed, and hidden files are left out."""
        waiting = [(base, 0)]
        count = 0
        while waiting:
            folder, depth = waiting.pop()
            for entry in self._listed(f"{root or self.home.root}/{folder}"):
                if entry.name.startswith(".") or not entry.name.isprintable():
                    continue
                if entry.is_dir(follow_symlinks=False) and depth < MOST_DEPTH:
                    waiting.append((f"{folder}/{entry.name}", depth + 1))
                elif entry.is_file(follow_symlinks=False) and entry.name.lower().endswith(suffixes or ("",)):
                    count += 1
                    if count > most:
                        return
                    yield f"{folder}/{entry.name}"

    def _listed(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.remarks.append(f"{self.home.relative(folder)}: {error.strerror}")
            return []

    def _add(self, path: str, kind: str, *, root: str = "", linked: str = "", **more: Any) -> None:
        """Take a regular file of a reasonable size that lies where its path says."""
        base = root or self.home.root
        place = f"{base}/{path}"
        try:
            facts = os.stat(place)
            within = os.path.realpath(f"{base}/{linked}" if linked else base)
            inside = os.path.realpath(place).startswith(f"{within}/")
        except OSError:
            return
        if inside and stat.S_ISREG(facts.st_mode) and 0 < facts.st_size <= MOST_BYTES:
            found = Document(path=path, place=place, kind=kind, size=facts.st_size, mtime=facts.st_mtime_ns, **more)
            self.found.setdefault(path, found)
