"""Gives an agent of a workflow in the sandbox a copy of orchestration/, and takes over what it may change there.

Agents write the files of their own folder, and may set their own status in shared_status.json. In a copy they can do so
by replacing the file, as editors do; the files of the other agents cannot be written at all.
"""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.store.files.disk import is_folder, list_folder, remove_tree_quietly
from sow.store.formats import json_text
from sow.store.workflows import status_view
from sow.system import clock, plain_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.files.checkout_home import Home
    from sow.system.sandbox import Box

MAX_FILE = 8 << 20
MOST_FILES = 1000


class CrewFiles:
    """The copy for one agent, and what the agent was given, to see what it changed."""

    __slots__ = ("agent", "copy", "given", "home")

    def __init__(self, home: Home, agent: str) -> None:
        folder = home.folder("local", "sandbox", agent)
        self.home = home
        self.agent = agent
        self.copy, self.given = f"{folder}/orchestration", f"{folder}/given"

    def open(self, box: Box) -> None:
        """Makes the copy, and shows it in place of the folder, with the folders of all agents read-only."""
        for folder in (self.copy, self.given):
            remove_tree_quietly(folder)
            clock.crash_point(f"make {folder}")
            os.mkdir(folder, 0o700)
        self.refresh()
        box.substitute(self.copy, self.home.workflow)
        for name in list_folder(self.home.workflow):
            if is_folder(f"{self.home.workflow}/{name}"):
                clock.crash_point(f"make {self.copy}/{name}")
                os.mkdir(f"{self.copy}/{name}", 0o700)
                box.show(f"{self.home.workflow}/{name}")

    def refresh(self) -> None:
        """Copies files that changed since, except those that the agent changed."""
        for name in list_folder(self.home.workflow)[:MOST_FILES]:
            now = _read(f"{self.home.workflow}/{name}")
            given = _read(f"{self.given}/{name}")
            if now is not None and now != given and _read(f"{self.copy}/{name}") == given:
                for folder in (self.given, self.copy):
                    plain_file.create_with(f"{folder}/.{name}", now)
                    clock.crash_point(f"replace {folder}/{name}")
                    os.replace(f"{folder}/.{name}", f"{folder}/{name}")

    def take_over(self) -> list[str]:
        """Takes over new files and the agent's own status; returns remarks about what does not count."""
        remarks = []
        for name in list_folder(self.copy)[:MOST_FILES]:
            edited, given = _read(f"{self.copy}/{name}"), _read(f"{self.given}/{name}")
            if edited is None or edited == given:
                continue
            text = edited.decode("utf-8", "replace")
            if name == status_view.NAME:
                text = self._own_status(text, given)
            elif given is not None or os.path.lexists(f"{self.home.workflow}/{name}"):
                text = ""
            if text:
                with self.home.lock():
                    self.home.replace(f"{self.home.workflow}/{name}", text)
            else:
                remarks.append(f"agent {self.agent} changed orchestration/{name} in its sandbox; that does not count")
        for folder in (self.copy, self.given):
            remove_tree_quietly(folder)
        return remarks

    def _own_status(self, edited: str, given: bytes | None) -> str:
        """Returns the present view with the agent's own status as it wrote it, or "" if it changed only others.

        What is written then is settled as an edit by hand. A text that cannot be read is, too.
        """
        view = f"{self.home.workflow}/{status_view.NAME}"
        try:
            status = json_text.load(edited, view)["agents"][self.agent]["status"]
            was = json_text.load((given or b"").decode(), view)["agents"][self.agent]["status"]
            now = json_text.load((_read(view) or b"").decode(), view)
            if status == was:
                return ""
            now["agents"][self.agent]["status"] = status
        except (SowError, LookupError, TypeError):
            return edited
        return json_text.dump(now)


def _read(path: str) -> bytes | None:
    try:
        return plain_file.read(path, MAX_FILE)
    except OSError:
        return None
