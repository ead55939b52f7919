"""A broken state file is set aside, and the last good copy takes its place."""

from __future__ import annotations

import os

from sow.errors import InvalidFile, MergeConflict, SowError
from sow.store import kept, state
from sow.store.disk import failure
from sow.store.validators.task import validate
from sow.system import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.shapes import TaskState
    from sow.store.desk import Desk


def load_or_repair(desk: Desk, project_id: str) -> tuple[TaskState, str]:
    """The task's state, and what was repaired to get it, if anything; for a command that writes, under the lock."""
    try:
        return desk.load(), ""
    except MergeConflict:  # a person is at work here: nothing is moved under their hands
        raise
    except InvalidFile as problem:
        text = _last_good(desk, project_id)
        if text is None:
            raise
        aside = _set_aside(desk)
        desk.home.replace(desk.state_path, text)
        repaired = f"{problem.message}; the last good state is back" + (
            f", the broken file is {aside}" if aside else ""
        )
        return desk.load(), repaired


def _last_good(desk: Desk, project_id: str) -> str | None:
    """The kept copy, if it is one that this sow can read."""
    try:
        text = kept.recall(desk.home, project_id, desk.id)
        if text is not None:
            state.parse(text, f"the last good copy of {desk.id}", validate)
    except SowError:  # torn, or of another version: what is wrong with the file itself is the thing to say
        return None
    return text


def _set_aside(desk: Desk) -> str:
    """Move the broken file out of the way, and say where it is; nothing to move where it is missing."""
    aside = f"{desk.folder}/state.broken-{clock.stamp()}-{os.urandom(2).hex()}.yaml"
    try:
        desk.home.move(desk.state_path, aside)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise failure("set aside", desk.state_path, error) from None
    return desk.home.relative(aside)
