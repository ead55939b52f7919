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
    from sow.domain.actor import Actor
    from sow.domain.shapes import TaskState
    from sow.store.desk import Desk
    from sow.store.home import Home
    from sow.store.state import Validate

OWN_FIELDS = ("status", "question", "questions", "updated_at")  # what a worker's calls change in its task


def load_or_repair(desk: Desk, project_id: str) -> tuple[TaskState, str]:
    """The task's state, and what was repaired to get it, if anything; for a command that writes, under the lock."""
    try:
        return desk.load(), ""
    except MergeConflict:  # a person is at work here: nothing is moved under their hands
        raise
    except InvalidFile as problem:
        text = last_good(desk.home, project_id, desk.id, validate)
        if text is None:
            raise
        repaired = put_back(desk.home, desk.state_path, text, problem.message)
        return desk.load(), repaired


def load_for(desk: Desk, project_id: str, actor: Actor) -> tuple[TaskState, list[str]]:
    """The same for one who acts: what a worker wrote into its own state by hand is no state by its next call of sow.

    A newer revision than the copy's is one whose copy could not be kept: of that, the worker's own fields count.
    """
    loaded, repaired = load_or_repair(desk, project_id)
    said = [repaired] if repaired else []
    text = last_good(desk.home, project_id, desk.id, validate) if actor.is_worker else None
    if text is None:
        return loaded, said
    good: TaskState = state.parse(text, f"the last good copy of {desk.id}", validate)  # type: ignore[assignment]
    task: dict[str, object] = {**good["task"]}
    if loaded["revision"] > good["revision"]:
        task = {key: value for key, value in task.items() if key not in OWN_FIELDS}
        task |= {key: value for key, value in loaded["task"].items() if key in OWN_FIELDS}
    if task == loaded["task"]:
        return loaded, said
    from sow.store import aside

    where = aside.keep(desk.home, desk.id, desk.home.read(desk.state_path))
    told = f"task {desk.id}: its state file was edited by hand, which does not count; the edit is in {where}"
    return {**loaded, "task": task}, [*said, told]  # type: ignore[typeddict-item]


def keep_newer(desk: Desk, project_id: str) -> None:
    """Keep a copy of a state that has no good one, or is newer: who wrote it was killed in between; under the lock.

    To be called where nobody was at work: else the next call of a worker would take the older one for the good one.
    """
    try:
        now = desk.home.read(desk.state_path)
        if kept.recall(desk.home, project_id, desk.id) == now:
            return
        text = last_good(desk.home, project_id, desk.id, validate)
        good = state.parse(text, f"the last good copy of {desk.id}", validate) if text is not None else None
        if desk.load()["revision"] > (good["revision"] if good else 0):
            kept.keep(desk.home, project_id, desk.id, now)
    except (FileNotFoundError, SowError):  # nothing to compare; whoever needs it says what is wrong, and repairs it
        return


def last_good(home: Home, owner: str, name: str, validate: Validate) -> str | None:
    """The kept copy, if it is one that this sow can read."""
    try:
        text = kept.recall(home, owner, name)
        if text is not None:
            state.parse(text, f"the last good copy of {name}", validate)
    except SowError:  # torn, or of another version: what is wrong with the file itself is the thing to say
        return None
    return text


def put_back(home: Home, path: str, text: str, problem: str) -> str:
    """Make a state file what its copy has, and say so; the broken one is set aside."""
    aside = move_aside(home, path)
    home.replace(path, text)
    return f"{problem}; the last good state is back" + (f", the broken file is {aside}" if aside else "")


def move_aside(home: Home, path: str) -> str:
    """Move the broken file out of the way, and say where it is; nothing to move where it is missing."""
    aside = f"{os.path.dirname(path)}/state.broken-{clock.stamp()}-{os.urandom(2).hex()}.yaml"
    try:
        home.move(path, aside)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise failure("set aside", path, error) from None
    return home.relative(aside)
