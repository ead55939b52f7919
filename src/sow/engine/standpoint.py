"""Where somebody stands who reads a hint: a command that is shown to them should work right there."""

from __future__ import annotations

import os

from sow.errors import SowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.config import Config


class Standpoint:
    """Who will read a hint: the folder where they are, empty where nobody knows, and their settings."""

    __slots__ = ("cwd", "environment")

    def __init__(self, environment: Mapping[str, str], cwd: str = "") -> None:
        self.environment = environment
        self.cwd = cwd

    def config(self) -> Config:
        """Their settings now; where those cannot be read, ours: a hint is no place for complaints."""
        from sow import config as configs  # here, because most who look need no hint

        try:
            return configs.load(self.environment)
        except SowError:
            return configs.Config("", None, {})

    def sow(self, root: str) -> list[str]:
        """How they call sow on a checkout; where that would find another one, or none, the checkout is named."""
        from sow.store import home as homes  # the same

        try:
            found = homes.locate(option="", environment=self.environment, cwd=self.cwd).root if self.cwd else ""
        except SowError:
            found = ""
        is_there = found and os.path.realpath(found) == os.path.realpath(root)
        return ["sow"] if is_there else ["sow", "--root", root]

    def path(self, root: str, plan: str) -> str:
        """A plan's path that works in their folder, or anywhere."""
        full, root = os.path.join(root, plan), os.path.realpath(root)
        here = os.path.realpath(self.cwd) if self.cwd else ""
        if os.path.isabs(plan) or not f"{here}/".startswith(f"{root}/"):
            return full
        near = os.path.relpath(os.path.join(root, plan), here)
        return f"./{near}" if near.startswith("-") else near


NOWHERE = Standpoint({})
