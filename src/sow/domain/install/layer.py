"""The parts of an execution layer: sow's files, and blocks in the user's pages."""

from __future__ import annotations


class LayerFile:
    """A file of the layer, sow's block in a user's page, or settings that others may add to."""

    __slots__ = ("block", "path", "settings", "text")

    def __init__(self, path: str, text: str, *, block: bool = False, settings: bool = False) -> None:
        self.path = path
        self.text = text
        self.block = block
        self.settings = settings


class Layer:
    """The pieces for one agent CLI, and the folders that may have files of an older version."""

    __slots__ = ("folders", "pieces")

    def __init__(self, pieces: list[LayerFile], folders: tuple[str, ...] = ()) -> None:
        self.pieces = pieces
        self.folders = folders
