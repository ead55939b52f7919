"""Files that `sow install` writes beside the user's own: ours are replaced as a whole, others are never touched."""

from __future__ import annotations

import os

from sow.domain import layer_mark, layer_settings
from sow.errors import InvalidFile, SowError
from sow.store.disk import (
    Disk,
    PrivateDisk,
    counted,
    failure,
    is_folder,
    make_folders,
    read_text,
    replace_file,
    sync_folder,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sow.domain.layer_piece import Layer, Piece

MAX_FILE = 1 << 20
MOST_FILES = 5000
WRITE, REPLACE, SAME, FOREIGN, REMOVE = "write", "replace", "same", "foreign", "remove"


class Step:
    """What becomes of one file: an act, the text that it gets, and what is kept aside of the user's changes."""

    __slots__ = ("act", "kept", "path", "text")

    def __init__(self, act: str, path: str, text: str = "", *, kept: str | None = None) -> None:
        self.act = act
        self.path = path
        self.text = text
        self.kept = kept


class Place:
    """Where a layer is installed: a repository, below which no link is followed, or the user's home."""

    __slots__ = ("disk", "root", "user")

    def __init__(self, root: str, *, user: bool, disk: Disk | None = None) -> None:
        self.root = root
        self.user = user
        self.disk = disk or (PrivateDisk() if user else Disk())

    def full(self, path: str) -> str:
        """The file itself; what the user's own links lead to is meant."""
        joined = f"{self.root}/{path}"
        return os.path.realpath(joined) if self.user else joined

    def refuse_links(self, path: str) -> None:
        """A folder of a repository that is a link would lead our writing out of it."""
        folder = self.root
        for part in path.split("/")[:-1]:
            folder = f"{folder}/{part}"
            if not self.user and os.path.lexists(folder) and not is_folder(folder):
                raise InvalidFile(f"{folder} is not a real folder", "sow install writes to real folders only: move it")

    def read(self, path: str) -> str | None:
        """The text of a file; None where there is none. What cannot be read as a text is somebody's, and raises."""
        self.refuse_links(path)
        try:
            return read_text(Disk(), self.full(path), MAX_FILE)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def make_folder(self, path: str) -> None:
        """Make the folder of a file."""
        parts = tuple(os.path.dirname(path).split("/")) if "/" in path else ()
        if self.user:
            from sow.store.user_file import make_folders as make_private

            make_private(os.path.dirname(self.full(path)))
        else:
            make_folders(self.disk, self.root, parts)


def survey(place: Place, layer: Layer, *, remove: bool) -> list[Step]:
    """What an installation, or a removal, would do; nothing is changed."""
    steps = [_block_step(place, each, remove=remove) for each in layer.pieces if each.block]
    whole = {each.path: each.text for each in layer.pieces if not each.block}
    for path in sorted({*whole, *_swept(place, layer.folders)}):
        step = _file_step(place, path, "" if remove else whole.get(path, ""))
        steps += [step] if step else []
    shared = {each.path for each in layer.pieces if each.settings}
    steps = [_settings_step(step) if step.path in shared else step for step in steps]
    return [step for step in steps if not (remove and step.act in (FOREIGN, SAME))]


def _file_step(place: Place, path: str, wanted: str) -> Step | None:
    """What becomes of one file; without a wanted text ours goes away."""
    try:
        text = place.read(path)
    except SowError:
        if place.user or not os.path.lexists(f"{place.root}/{path}"):
            raise
        return Step(FOREIGN, path)
    if text is None:
        return Step(WRITE, path, wanted) if wanted else None
    mark = layer_mark.read(text)
    if mark is None:
        return Step(FOREIGN, path) if wanted else None
    if text == wanted:
        return Step(SAME, path)
    return Step(REPLACE if wanted else REMOVE, path, wanted, kept=None if mark.intact else text)


def _settings_step(step: Step) -> Step:
    """The same for settings: what the user or the CLI added to ours stays in its place."""
    fitted = layer_settings.fit(step.kept, step.text) if step.kept is not None else None
    if fitted is None:
        return step
    if fitted.text == step.kept:
        return Step(SAME, step.path)
    return Step(REPLACE if fitted.text else REMOVE, step.path, fitted.text, kept=step.kept if fitted.changed else None)


def _block_step(place: Place, piece: Piece, *, remove: bool) -> Step:
    """What becomes of a page in which a block is ours."""
    page = place.read(piece.path)
    block = layer_mark.cut(page or "")[1]
    kept = block if block and not layer_mark.block_is_intact(block) else None
    wanted = layer_mark.put(page or "", "" if remove else piece.text)
    if wanted == (page or ""):
        return Step(SAME, piece.path)
    if not wanted.strip():
        return Step(REMOVE, piece.path, kept=kept)
    return Step(WRITE if page is None else REPLACE, piece.path, wanted, kept=kept)


def _swept(place: Place, folders: Iterable[str]) -> Iterator[str]:
    """The files in our folders that carry a mark of ours, so that those of an older version go as well."""
    seen = 0
    for inside in folders:
        for folder, below, names in os.walk(f"{place.root}/{inside}"):
            below.sort()
            for name in sorted(names):
                seen += 1
                path = os.path.relpath(f"{folder}/{name}", place.root)
                if seen <= MOST_FILES and not os.path.islink(f"{folder}/{name}") and _is_ours(place, path):
                    yield path


def _is_ours(place: Place, path: str) -> bool:
    if not path.endswith((".md", ".mdc", ".toml")):
        return False
    try:
        return layer_mark.read(place.read(path) or "") is not None
    except SowError:
        return False


def apply(place: Place, steps: Iterable[Step]) -> list[tuple[str, str]]:
    """Do it; returns which of the user's changes are kept where."""
    aside = []
    for step in steps:
        if step.act in (SAME, FOREIGN):
            continue
        place.refuse_links(step.path)
        if step.kept is not None:
            aside.append((step.path, _keep(place, step)))
        if step.act == REMOVE:
            _remove(place, step.path)
        else:
            place.make_folder(step.path)
            replace_file(place.disk, place.full(step.path), step.text)
    return aside


def _keep(place: Place, step: Step) -> str:
    """Write the user's words beside the file, under a name that no CLI reads."""
    number = 1
    while os.path.lexists(place.full(f"{step.path}.kept-{number}")):
        number += 1
    name = f"{step.path}.kept-{number}"
    replace_file(place.disk, place.full(name), step.kept or "")
    return name


def _remove(place: Place, path: str) -> None:
    """Take a file away, and the folders that are empty without it."""
    full = place.full(path)
    try:
        place.disk.remove(full)
        sync_folder(place.disk, os.path.dirname(full))
    except OSError as error:
        raise failure("remove", full, error) from None
    folder = os.path.dirname(path)
    while folder and not os.path.islink(f"{place.root}/{folder}"):
        counted(f"remove {folder}")
        try:
            os.rmdir(f"{place.root}/{folder}")
        except OSError:  # something of somebody else is in it
            return
        folder = os.path.dirname(folder)
