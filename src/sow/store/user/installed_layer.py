"""Writes and removes the files of `sow install`: sow's own files are replaced as a whole, others are not touched."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sow.domain.install import file_mark, settings_merge
from sow.domain.install.layer import Layer, LayerFile
from sow.errors import InvalidFile, SowError
from sow.store.files.disk import (
    Disk,
    PrivateDisk,
    crash_counted,
    is_folder,
    make_folders,
    read_text,
    remove_file,
    replace_file,
    report_failure,
)

MAX_FILE = 1 << 20
MOST_FILES = 5000
WRITE, REPLACE, UPDATE, SAME, FOREIGN, REMOVE = "write", "replace", "update", "same", "foreign", "remove"


@dataclass(frozen=True)
class InstallStep:
    """Describes one change to a file: an act, the new text, and the user's changes that are kept in a copy."""

    action: str
    path: str
    text: str = ""
    edited_text: str | None = None


class InstallTarget:
    """Describes the target of an installation: a repository, where links are refused, or the user's home."""

    def __init__(self, root: str, *, user: bool, disk: Disk | None = None) -> None:
        self.root = root
        self.is_home = user
        self.disk = disk or (PrivateDisk() if user else Disk())

    def full(self, path: str) -> str:
        """Returns the full path of a file; in the user's home, links are followed."""
        joined_path = f"{self.root}/{path}"
        return os.path.realpath(joined_path) if self.is_home else joined_path

    def refuse_links(self, path: str) -> None:
        """Refuses a folder of a repository that is a link, because we would write outside the repository."""
        folder = self.root
        for part in path.split("/")[:-1]:
            folder = f"{folder}/{part}"
            if not self.is_home and os.path.lexists(folder) and not is_folder(folder):
                raise InvalidFile(f"{folder} is not a real folder", "sow install writes to real folders only: move it")

    def read(self, path: str) -> str | None:
        """Returns the text of a file; None if it is missing. Raises if it is not readable as text."""
        self.refuse_links(path)
        try:
            return read_text(Disk(), self.full(path), MAX_FILE)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def make_folder(self, path: str) -> None:
        """Makes the folder of a file."""
        parts = tuple(os.path.dirname(path).split("/")) if "/" in path else ()
        if self.is_home:
            from sow.store.files.user_file import make_folders as make_private

            make_private(os.path.dirname(self.full(path)))
        else:
            make_folders(self.disk, self.root, parts)


def plan_steps(target: InstallTarget, layer: Layer, *, remove: bool) -> list[InstallStep]:
    """Returns the steps of an installation or a removal. Changes nothing."""
    steps = [_block_step(target, piece, remove=remove) for piece in layer.pieces if piece.block]
    steps += [_settings_step(target, piece, remove=remove) for piece in layer.pieces if piece.settings]
    texts = {piece.path: piece.text for piece in layer.pieces if not (piece.block or piece.settings)}
    for path in sorted({*texts, *_marked_files(target, layer.folders)}):
        step = _file_step(target, path, "" if remove else texts.get(path, ""))
        steps += [step] if step else []
    return [step for step in steps if not (remove and step.action in (FOREIGN, SAME))]


def _file_step(target: InstallTarget, path: str, new_text: str) -> InstallStep | None:
    """Returns the step for one whole file. Without a new text, a file of sow is removed."""
    try:
        text = target.read(path)
    except SowError:
        if target.is_home or not os.path.lexists(f"{target.root}/{path}"):
            raise
        return InstallStep(FOREIGN, path)
    if text is None:
        return InstallStep(WRITE, path, new_text) if new_text else None
    mark = file_mark.read(text)
    if mark is None:
        return InstallStep(FOREIGN, path) if new_text else None
    if text == new_text:
        return InstallStep(SAME, path)
    return InstallStep(REPLACE if new_text else REMOVE, path, new_text, edited_text=None if mark.intact else text)


def _settings_step(target: InstallTarget, piece: LayerFile, *, remove: bool) -> InstallStep:
    """Returns the step for a settings file, in which everything stays that is not sow's."""
    step = _file_step(target, piece.path, "" if remove else piece.text) or InstallStep(SAME, piece.path)
    try:
        text = target.read(piece.path)
    except SowError:
        return step
    merged = settings_merge.merge_settings(text, piece.text, remove=remove) if text is not None else None
    if text is None or merged is None:
        return step
    if merged.text == text:
        return InstallStep(SAME, piece.path)
    kept = step.edited_text if merged.changed else None
    action = UPDATE if file_mark.read(text) is None else REPLACE
    return InstallStep(action if merged.text else REMOVE, piece.path, merged.text, edited_text=kept)


def _block_step(target: InstallTarget, piece: LayerFile, *, remove: bool) -> InstallStep:
    page = target.read(piece.path)
    block = file_mark.split_page(page or "")[1]
    edited_block = block if block and not file_mark.block_is_intact(block) else None
    new_page = file_mark.replace_block(page or "", "" if remove else piece.text)
    if new_page == (page or ""):
        return InstallStep(SAME, piece.path)
    if not new_page.strip():
        return InstallStep(REMOVE, piece.path, edited_text=edited_block)
    return InstallStep(WRITE if page is None else REPLACE, piece.path, new_page, edited_text=edited_block)


def _marked_files(target: InstallTarget, folders: Iterable[str]) -> Iterator[str]:
    """Yields the files in our folders that carry sow's mark, so that those of an older version are removed too."""
    count = 0
    for root_folder in folders:
        for folder, subfolders, names in os.walk(f"{target.root}/{root_folder}"):
            subfolders.sort()
            for name in sorted(names):
                count += 1
                path = os.path.relpath(f"{folder}/{name}", target.root)
                if count <= MOST_FILES and not os.path.islink(f"{folder}/{name}") and _is_ours(target, path):
                    yield path


def _is_ours(target: InstallTarget, path: str) -> bool:
    if not path.endswith((".md", ".mdc", ".toml")):
        return False
    try:
        return file_mark.read(target.read(path) or "") is not None
    except SowError:
        return False


def apply(target: InstallTarget, steps: Iterable[InstallStep]) -> list[tuple[str, str]]:
    """Carries out the steps, and returns the path of each changed file of the user with that of its copy."""
    kept_copies = []
    for step in steps:
        if step.action in (SAME, FOREIGN):
            continue
        target.refuse_links(step.path)
        if step.edited_text is not None:
            kept_copies.append((step.path, _keep(target, step)))
        if step.action == REMOVE:
            _remove(target, step.path)
        else:
            target.make_folder(step.path)
            replace_file(target.disk, target.full(step.path), step.text)
    return kept_copies


def _keep(target: InstallTarget, step: InstallStep) -> str:
    """Writes the user's version beside the file, under a name that no CLI reads."""
    number = 1
    while os.path.lexists(target.full(f"{step.path}.kept-{number}")):
        number += 1
    name = f"{step.path}.kept-{number}"
    replace_file(target.disk, target.full(name), step.edited_text or "")
    return name


def _remove(target: InstallTarget, path: str) -> None:
    """Removes a file, and the folders that are empty without it."""
    full = target.full(path)
    with report_failure("remove", full):
        remove_file(target.disk, full)
    folder = os.path.dirname(path)
    while folder and not os.path.islink(f"{target.root}/{folder}"):
        crash_counted(f"remove {folder}")
        try:
            os.rmdir(f"{target.root}/{folder}")
        except OSError:  # the folder has other files
            return
        folder = os.path.dirname(folder)
