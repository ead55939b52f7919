"""The state files before and after an act: the values each may have, and whether sow can continue with them."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

from guarantees.fake_disks import Counting
from guarantees.store_acts import Act, home_at
from sow.errors import SowError

CHANGING = re.compile(
    rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    rb"|\d{8}_\d{6}(-[0-9a-f]{4})?"
    rb'|"?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"?'
    rb"|(?<!\d)1\d{9}(?!\d)"
)


@functools.lru_cache(4096)
def masked(data: bytes) -> bytes:
    """Returns the text without times and random ids."""
    return CHANGING.sub(b"?", data)


class Tree:
    """The files of sow in a checkout, to compare and to restore."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.saved: dict[str, bytes] = {}
        self.folders: list[str] = []

    def save(self) -> None:
        self.saved = self.files()
        self.folders = [folder for place in self._places() for folder, _, _ in os.walk(place)]

    def restore(self) -> None:
        """Restores the saved files, and removes the others."""
        for place in self._places():
            for folder, _, names in os.walk(place, topdown=False):
                for name in names:
                    if os.path.relpath(f"{folder}/{name}", self.root) not in self.saved:
                        os.unlink(f"{folder}/{name}")
                if folder not in self.folders:
                    os.rmdir(folder)
        for folder in self.folders:
            os.makedirs(folder, exist_ok=True)
        for path, data in self.saved.items():
            file = Path(self.root, path)
            if not file.exists() or file.read_bytes() != data:
                file.write_bytes(data)

    def files(self) -> dict[str, bytes]:
        """Returns every file of sow by its path; leftovers and locks are no state."""
        return {
            os.path.relpath(f"{folder}/{name}", self.root): Path(folder, name).read_bytes()
            for place in self._places()
            for folder, _, names in os.walk(place)
            for name in names
            if ".tmp" not in f"{folder}/{name}"[len(self.root) :] and not name.endswith(".lock")
        }

    def masked(self) -> dict[str, bytes]:
        return {masked(path.encode()).decode(): masked(data) for path, data in self.files().items()}

    def _places(self) -> tuple[str, str]:
        return f"{self.root}/.sow", f"{self.root}/.git/sow"


def appended(path: str) -> bool:
    """Tells whether a file of sow grows by appending."""
    return path.endswith(("log.md", "memories.md"))


Versions = dict[str, set[bytes | None]]


def versions_of(act: Act, tree: Tree) -> tuple[list[str], Versions]:
    """Returns the calls of the act, and every content of each file on the way; None if it is missing."""
    before = tree.masked()
    versions: Versions = {path: {data} for path, data in before.items()}

    class Looking(Counting):
        def _call(self, *arguments):
            try:
                return super()._call(*arguments)
            finally:
                now = tree.masked()
                for path in before | now:
                    versions.setdefault(path, {before.get(path)}).add(now.get(path))

    disk = Looking()
    act.run(home_at(tree.root, disk))
    assert act.done(home_at(tree.root)), f"{act.name}: not done after a clean run"
    return disk.calls, versions


def compare(tree: Tree, before: dict[str, bytes], versions: Versions, *, torn: bool) -> list[str]:
    """Returns files that are neither old nor new; only the end of a log may be torn."""
    now = tree.masked()
    odd = {path: now.get(path) for path in before | now if now.get(path) not in versions.get(path, ())}
    return [
        f"{path} is {data!r}"
        for path, data in odd.items()
        if not (torn and appended(path) and data and data.startswith(before.get(path, b"")))
    ]


def use(act: Act, tree: Tree, succeeded: bool) -> list[str]:
    """Reads everything, and repeats the act unless it is done."""
    home = home_at(tree.root, Counting())
    try:
        act.read(home)
        done = is_done(act, tree)
        if succeeded and not done:
            return ["acknowledged, but not done"]
        if not done:
            act.run(home)
            act.read(home)
            return [] if act.done(home) else ["not done when repeated"]
    except (SowError, AssertionError) as error:
        return [f"{type(error).__name__}: {error}"]
    return []


def is_done(act: Act, tree: Tree) -> bool:
    try:
        return act.done(home_at(tree.root))
    except SowError:
        return False
