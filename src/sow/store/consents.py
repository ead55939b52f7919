"""What the user agreed to once, by the digest of what was shown; in the user's own folders, never in a repository."""

from __future__ import annotations

import os

from sow.store import user_file
from sow.system import clock
from sow.system.environment import user_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def _path(environment: Mapping[str, str], mark: str) -> str:
    return f"{user_folder(environment, 'XDG_STATE_HOME', '.local/state')}/sow/consents/{mark}"


def has(environment: Mapping[str, str], mark: str) -> bool:
    """Whether the user agreed to exactly this."""
    return os.path.isfile(_path(environment, mark))


def give(environment: Mapping[str, str], mark: str) -> None:
    """Remember that the user agreed."""
    user_file.write(_path(environment, mark), f"{clock.now()}\n")
