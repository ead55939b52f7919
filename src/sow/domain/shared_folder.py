"""One folder in which several tasks work: they do so at once only if each names its files, and no two meet."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

WILD = frozenset("*?[")


class Writer:
    """What one task writes: its files, the folders above them, and whether that is all."""

    __slots__ = ("above", "files", "is_exact")

    def __init__(self, files: Iterable[str]) -> None:
        self.files = frozenset(_plain(each) for each in files)
        self.above = frozenset(folder for each in self.files for folder in _folders(each))
        self.is_exact = bool(self.files) and all(map(_is_exact, self.files))


class SharedFolder:
    """Who writes where at present."""

    __slots__ = ("_above", "_files", "_used", "closed")

    def __init__(self) -> None:
        self.closed = False  # somebody may write anywhere
        self._used = False
        self._files: set[str] = set()
        self._above: set[str] = set()

    def take(self, writer: Writer) -> bool:
        """Let a writer in, if it meets nobody; whether it is in."""
        if self._used and (self.closed or not writer.is_exact or self._meets(writer)):
            return False
        self.join(writer)
        return True

    def join(self, writer: Writer) -> None:
        """Count a writer in that is at work already."""
        self._used = True
        self.closed = self.closed or not writer.is_exact
        self._files |= writer.files
        self._above |= writer.above

    def _meets(self, writer: Writer) -> bool:
        """Whether a file, a folder that holds it, or something in it is written already."""
        return not (
            self._files.isdisjoint(writer.files)
            and self._above.isdisjoint(writer.files)
            and self._files.isdisjoint(writer.above)
        )


def _plain(path: str) -> str:
    return "/".join(part for part in path.replace("\\", "/").split("/") if part not in ("", "."))


def _is_exact(path: str) -> bool:
    """Whether a path says what is written: a pattern, the root and a way up do not."""
    return bool(path) and not WILD & set(path) and ".." not in path.split("/")


def _folders(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]
