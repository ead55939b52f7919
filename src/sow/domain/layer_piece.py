"""What an execution layer consists of: files of ours, and blocks in pages that are the user's."""

from __future__ import annotations


class Piece:
    """One file of the layer, or our block in a page that is the user's, or settings to which others may add."""

    __slots__ = ("block", "path", "settings", "text")

    def __init__(self, path: str, text: str, *, block: bool = False, settings: bool = False) -> None:
        self.path = path
        self.text = text
        self.block = block
        self.settings = settings


class Layer:
    """What is written for one CLI, and the folders in which files of an older version of it would be."""

    __slots__ = ("folders", "pieces")

    def __init__(self, pieces: list[Piece], folders: tuple[str, ...] = ()) -> None:
        self.pieces = pieces
        self.folders = folders
