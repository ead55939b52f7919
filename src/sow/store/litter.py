"""What a CLI leaves beside the code, such as a cache: there while its turn lasts, below .sow/local between turns."""

from __future__ import annotations

import os

from sow.store.disk import counted, remove_tree_quietly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from sow.store.home import Home


class Litter:
    """`with Litter(home, folder, names):` is one turn in that folder; what the user has there already stays there."""

    __slots__ = ("folder", "home", "names")

    def __init__(self, home: Home, folder: str, names: Iterable[str]) -> None:
        self.home = home
        self.folder = folder
        self.names = [name for name in names if not os.path.lexists(f"{folder}/{name}")]

    def __enter__(self) -> Litter:
        for name in self.names:
            kept = f"{self.home.sow}/local/litter/{name}"
            if os.path.isdir(kept) and not os.path.islink(kept):
                _move(kept, f"{self.folder}/{name}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in self.names:
            left = f"{self.folder}/{name}"
            if os.path.isdir(left) and not os.path.islink(left):
                _move(left, f"{self.home.folder('local', 'litter')}/{name}")
                remove_tree_quietly(left)  # still there where another turn has put its own away before


def _move(source: str, target: str) -> None:
    """Give a folder another place; one that cannot be moved is no loss, since its CLI makes it again."""
    counted(f"move to {target}")
    try:
        os.rename(source, target)
    except OSError:
        return
