"""The parts of an execution layer: sow's files, and blocks in the user's pages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LayerFile:
    """A file of the layer, sow's block in a user's page, or settings that others may add to."""

    path: str
    text: str
    block: bool = False
    settings: bool = False


@dataclass(frozen=True)
class Layer:
    """The pieces for one agent CLI, and the folders that may have files of an older version."""

    pieces: list[LayerFile]
    folders: tuple[str, ...] = ()
