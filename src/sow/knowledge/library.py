"""Finds every document that could help a task's worker; links that lead outside are not followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator
from typing import Any

from sow.domain.documents.state import ProjectState, Repo, Sink, Task
from sow.errors import SowError
from sow.knowledge.descriptions import GENERATED_FOLDERS
from sow.knowledge.document import ADR, CODE, KNOWLEDGE, REPO, SINK, UPSTREAM, Document
from sow.store.files.checkout_home import Home
from sow.store.knowledge import artifacts
from sow.store.knowledge.index import REPOS, SINKS
from sow.store.layout import ARTIFACTS
from sow.store.projects import task_folder

TEXTS = (".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ".org")
MOST_BYTES = 2 << 20  # largest document that is read
MOST_DEPTH = 12
MOST_FILES = 5000
MOST_HINTED = 200  # files of a folder that a hint names
MOST_CODE = 2000  # source files of a linked repository
GENERATED = ("README.md",)  # files that `sow init` writes into the folders of documents


class Library:
    """The documents for one task, and remarks about what could not be read."""

    def __init__(self, home: Home, folder: str, linked: Collection[str] = ()) -> None:
        self.home = home
        self.link_targets = linked  # targets of links that the user made
        self.folder = folder  # folder in which the task is worked on: its worktree, or the home checkout
        self.by_path: dict[str, Document] = {}
        self.remarks: list[str] = []

    def find_documents(self, project: ProjectState, task: Task) -> None:
        """Finds all documents."""
        self._sinks()
        self._knowledge()
        self._repos()
        self._upstream(project, task)

    def own_documents(self) -> list[Document]:
        """Finds the repository's own documents only."""
        self._knowledge()
        return self.documents

    @property
    def documents(self) -> list[Document]:
        return list(self.by_path.values())

    def _sinks(self) -> None:
        sinks: list[Sink] = self._entries(SINKS.load)
        for sink in sinks:
            tags = tuple(sink["tags"])
            about = "\n".join((sink["name"], *tags, sink["summary"], sink["when_to_use"]))
            base = f".sow/sinks/{sink['name']}"
            hints = {f"{base}/{hint['path']}": hint["about"] for hint in sink["hints"]}
            for path in self._texts(base):
                self._add(path, SINK, owner=sink["name"], about=about, tags=tags, when=hints.get(path, ""))

    def _knowledge(self) -> None:
        """Adds the repository's documents, as they are in the task's folder."""
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
                self._add(path, ADR if path.startswith(f"{folders['adrs']}/") else KNOWLEDGE, root=self.folder)

    def _repos(self) -> None:
        repos: list[Repo] = self._entries(REPOS.load)
        for repo in repos:
            base = f".sow/repos/{repo['name']}"
            folder = f"{self.home.root}/{base}"
            if os.path.islink(folder) and os.path.realpath(folder) not in self.link_targets:
                self.remarks.append(f"{base} is a link that you did not make, so nothing is taken from there")
                continue
            tags = tuple(repo["tags"])
            about = "\n".join((repo["name"], *tags, repo["purpose"]))
            for path, hint in self._hinted_files(base, repo).items():
                self._add(path, REPO, owner=repo["name"], about=f"{about}\n{hint}", tags=tags, linked=base)
            for path in self._texts(base, suffixes=CODE, max_files=MOST_CODE):
                self._add(path, REPO, owner=repo["name"], about=about, tags=tags, linked=base)

    def _hinted_files(self, base: str, repo: Repo) -> dict[str, str]:
        """Returns the files that the repository's hints name, directly or by folder, and its README."""
        about_by_path: dict[str, str] = {}
        for hint in repo["hints"]:
            for path in self._files_at(base, hint["path"]):
                about_by_path.setdefault(path, hint["about"])
        for entry in self._list_folder(f"{self.home.root}/{base}"):
            if entry.name.lower().startswith("readme") and entry.name.lower().endswith(TEXTS):
                about_by_path.setdefault(f"{base}/{entry.name}", "")
        return about_by_path

    def _files_at(self, base: str, path: str) -> list[str]:
        """Returns the file at a path of a linked repository, or all texts of the folder there."""
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if ".." in parts or ".git" in parts:
            return []
        target = "/".join((base, *parts))
        if os.path.isfile(f"{self.home.root}/{target}"):
            return [target]
        return list(self._texts(target, max_files=MOST_HINTED))

    def _upstream(self, project: ProjectState, task: Task) -> None:
        """Adds the outputs of the tasks that this one builds on, and the files that they wrote."""
        for ident in task["depends_on"]:
            try:
                folder = task_folder.find(self.home, project, ident)
                upstream = folder.task()
            except SowError as error:
                self.remarks.append(error.message)
                continue
            owner = f"task {ident}"
            for path in self._texts(self.home.relative(f"{folder.folder}/task_output"), suffixes=()):
                self._add(path, UPSTREAM, owner=owner, certain_reason=f"output of {owner}, which this task builds on")
            for path in upstream.get("files", ()):
                if path not in task.get("files", ()):  # files that this task writes itself are in its description
                    reason = f"{owner} wrote it, and this task builds on that"
                    self._add(path, UPSTREAM, owner=owner, certain_reason=reason, root=self.folder)

    def _entries(self, load: Callable[[Home], list[Any]]) -> list[Any]:
        """Loads the entries of an index; an invalid index gives a remark and no documents."""
        try:
            return load(self.home)
        except SowError as error:
            self.remarks.append(f"{error.message}; nothing is taken from there")
            return []

    def _texts(
        self, base: str, *, root: str = "", suffixes: tuple[str, ...] = TEXTS, max_files: int = MOST_FILES
    ) -> Iterator[str]:
        """Yields the paths of all texts below a folder; skips links and hidden files."""
        stack = [(base, 0)]
        count = 0
        while stack:
            folder, depth = stack.pop()
            for entry in self._list_folder(f"{root or self.home.root}/{folder}"):
                if entry.name.startswith(".") or not entry.name.isprintable():
                    continue
                if suffixes == CODE and entry.name in GENERATED_FOLDERS:
                    continue
                if entry.is_dir(follow_symlinks=False) and depth < MOST_DEPTH:
                    stack.append((f"{folder}/{entry.name}", depth + 1))
                elif entry.is_file(follow_symlinks=False) and entry.name.lower().endswith(suffixes or ("",)):
                    count += 1
                    if count > max_files:
                        return
                    yield f"{folder}/{entry.name}"

    def _list_folder(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.remarks.append(f"{self.home.relative(folder)}: {error.strerror}")
            return []

    def _add(self, path: str, kind: str, *, root: str = "", linked: str = "", **more: Any) -> None:
        """Adds a regular file of a reasonable size below its base folder."""
        base = root or self.home.root
        full = f"{base}/{path}"
        try:
            status = os.stat(full)
            top = os.path.realpath(f"{base}/{linked}" if linked else base)
            inside = os.path.realpath(full).startswith(f"{top}/")
        except OSError:
            return
        if inside and stat.S_ISREG(status.st_mode) and 0 < status.st_size <= MOST_BYTES:
            size, mtime = status.st_size, status.st_mtime_ns
            document = Document(path=path, absolute_path=full, kind=kind, size=size, mtime=mtime, **more)
            self.by_path.setdefault(path, document)
