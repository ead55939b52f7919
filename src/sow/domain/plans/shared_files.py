"""Decides which tasks may work in one folder at the same time: only those that name their files and do not overlap."""

from __future__ import annotations

from collections.abc import Iterable

from sow.domain.inputs import plain_path
from sow.domain.text.path_pattern import folders_above

WILD = frozenset("*?[")


class Writer:
    """The files that one task writes, the folders above them, and whether the list is complete."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = frozenset(plain_path(path.replace("\\", "/")) for path in files)
        self.parent_folders = frozenset(folder for path in self.files for folder in folders_above(path))
        self.is_exact = bool(self.files) and all(map(_is_exact, self.files))


class SharedFolder:
    """The writers that are active in the folder."""

    def __init__(self) -> None:
        self.has_unknown_writer = False  # some writer may write anywhere
        self._used = False
        self._files: set[str] = set()
        self._above: set[str] = set()

    def try_add(self, writer: Writer) -> bool:
        """Adds a writer if it overlaps with no other, and returns whether it was added."""
        if self._used and (self.has_unknown_writer or not writer.is_exact or self._overlaps(writer)):
            return False
        self.add(writer)
        return True

    def add(self, writer: Writer) -> None:
        """Adds a writer that already works."""
        self._used = True
        self.has_unknown_writer = self.has_unknown_writer or not writer.is_exact
        self._files |= writer.files
        self._above |= writer.parent_folders

    def _overlaps(self, writer: Writer) -> bool:
        """Returns whether a file, a folder that contains it, or a file below it is already written."""
        return not (
            self._files.isdisjoint(writer.files)
            and self._above.isdisjoint(writer.files)
            and self._files.isdisjoint(writer.parent_folders)
        )


def _is_exact(path: str) -> bool:
    """Returns whether a path names exactly what is written. A pattern, the root and `..` do not."""
    return bool(path) and not WILD & set(path) and ".." not in path.split("/")
