"""A broken state file is set aside, and the last good copy takes its place."""

from __future__ import annotations

from sow.errors import InvalidFile
from sow.store import kept, state
from sow.store.disk import failure, sync_folder
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
    except InvalidFile as problem:
        if "merge conflict" in problem.message:  # a person is at work here: nothing is moved under their hands
            raise
        text = kept.recall(desk.home, project_id, desk.id)
        if text is None:
            raise
        aside = _set_aside(desk)
        state.parse(text, f"the last good copy of {desk.id}", validate)
        desk.home.replace(desk.state_path, text)
        repaired = f"{problem.message}; the last good state is back" + (
            f", the broken file is {aside}" if aside else ""
        )
        return desk.load(), repaired


def _set_aside(desk: Desk) -> str:
    """Move the broken file out of the way, and say where it is; nothing to move where it is missing."""
    aside = f"{desk.folder}/state.broken-{clock.stamp()}.yaml"
    try:
        desk.home.disk.replace(desk.state_path, aside)
        sync_folder(desk.home.disk, desk.folder)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise failure("set aside", desk.state_path, error) from None
    return desk.home.relative(aside)
