"""Moves folders that a CLI leaves beside the code, such as a cache, below .sow/local between turns."""

from __future__ import annotations

import os

from sow.store.disk import counted, remove_tree_quietly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from sow.store.home import Home


class Litter:
    """Covers one turn in a folder as a `with` block. Folders that the user already has there stay there."""

    __slots__ = ("folder", "home", "names")

    def __init__(self, home: Home, folder: str, names: Iterable[str]) -> None:
        self.home = home
        self.folder = folder
        self.names = [name for name in names if not os.path.lexists(f"{folder}/{name}")]

    def __enter__(self) -> Litter:
        for name in self.names:
            stored = f"{self.home.sow}/local/litter/{name}"
            if os.path.isdir(stored) and not os.path.islink(stored):
                _move(stored, f"{self.folder}/{name}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in self.names:
            path = f"{self.folder}/{name}"
            if os.path.isdir(path) and not os.path.islink(path):
                _move(path, f"{self.home.folder('local', 'litter')}/{name}")
                remove_tree_quietly(path)  # still there if another turn stored its own before


def _move(source: str, target: str) -> None:
    """Moves a folder, and ignores a failure, because the CLI makes the folder again."""
    counted(f"move to {target}")
    try:
        os.rename(source, target)
    except OSError:
        return
