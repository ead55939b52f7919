"""Describes where a hint is read, so that the commands in it work in that folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from sow.config import Config
from sow.errors import SowError


@dataclass(frozen=True)
class HintContext:
    """The folder of the person who reads a hint ("" if unknown) and their environment."""

    environment: Mapping[str, str]
    cwd: str = ""

    def config(self) -> Config:
        """Loads their settings, or the defaults if those cannot be read, so that a hint never fails."""
        from sow import config as configs  # imported here because hints are rare

        try:
            return configs.load(self.environment)
        except SowError:
            return configs.Config("", None, {})

    def sow_command(self, root: str) -> list[str]:
        """Returns how they call sow on a checkout, with --root if their folder belongs to another checkout."""
        from sow.store.files import checkout_home as homes  # imported here because hints are rare

        try:
            checkout = homes.locate(option="", environment=self.environment, cwd=self.cwd).root if self.cwd else ""
        except SowError:
            checkout = ""
        is_same = checkout and os.path.realpath(checkout) == os.path.realpath(root)
        return ["sow"] if is_same else ["sow", "--root", root]

    def plan_path(self, root: str, plan: str) -> str:
        """Returns a plan's path that works in their folder, or an absolute one."""
        full, root = os.path.join(root, plan), os.path.realpath(root)
        folder = os.path.realpath(self.cwd) if self.cwd else ""
        if os.path.isabs(plan) or not f"{folder}/".startswith(f"{root}/"):
            return full
        relative = os.path.relpath(os.path.join(root, plan), folder)
        return f"./{relative}" if relative.startswith("-") else relative


ANY_FOLDER = HintContext({})
