"""Reads files of one tree from git."""

from __future__ import annotations

from sow.engine.repository import path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from sow.engine.repository import Repository


class TreeReader:
    """The files of a tree, listed once and read when somebody asks."""

    __slots__ = ("_objects", "repository", "tree")

    def __init__(self, repository: Repository, tree: str) -> None:
        self.repository = repository
        self.tree = tree
        self._objects: dict[str, str] | None = None

    def objects(self) -> dict[str, str]:
        """Every path of the tree, and the object that it has there."""
        if self._objects is None:
            entries = self.repository.entries(self.tree)
            self._objects = {path_of(entry): entry.partition("\t")[0].split()[2] for entry in entries}
        return self._objects

    def named(self, names: Collection[str]) -> dict[str, str]:
        """The paths whose last part is one of these names, and their objects, in order."""
        return {path: oid for path, oid in sorted(self.objects().items()) if path.rpartition("/")[2] in names}

    def read(self, path: str) -> str:
        """The text of a file; empty if the tree does not have it."""
        found = self.repository.attempt(["cat-file", "blob", f"{self.tree}:{path}"])
        return "" if found.code else found.out
