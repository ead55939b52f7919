"""Opens a task under the lock: repairs what a crash or an edit by hand left, then allows changes."""

from __future__ import annotations

from sow.errors import InvalidFile, MergeConflict, SowError
from sow.store.files import backup, state_file
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders
from sow.store.validators.task import validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.documents.state import ProjectState, Task, TaskState
    from sow.domain.task import Actor
    from sow.store.files.checkout_home import Home
    from sow.store.projects.task_folder import TaskFolder

OWN_FIELDS = ("status", "question", "questions", "updated_at")  # the fields that a worker's calls change in its task


class TaskChange:
    """The result of a change: the task folder, the task as it is now, and remarks for the user."""

    __slots__ = ("folder", "remarks", "task")

    def __init__(self, folder: TaskFolder, task: Task, remarks: list[str]) -> None:
        self.folder = folder
        self.task = task
        self.remarks = remarks


class TaskTransaction:
    """A task under the lock, ready to be changed."""

    __slots__ = ("folder", "loaded", "project", "remarks")

    def __init__(self, home: Home, task: str, actor: Actor) -> None:
        self.project: ProjectState = projects.load(home)
        self.folder = task_folders.find(home, self.project, task)
        self.loaded: TaskState
        self.loaded, self.remarks = load_as(self.folder, self.project["project_id"], actor)
        if actor.is_worker:
            from sow.store.projects import notes  # imported here, so that starting a worker stays fast

            notes.reconcile_task_notes(self.folder, actor)

    @property
    def task(self) -> Task:
        return self.loaded["task"]

    def save(self, task: Task) -> TaskChange:
        self.folder.save(self.loaded, task, self.project["project_id"])
        return TaskChange(self.folder, task, self.remarks)


def load_or_repair(folder: TaskFolder, project_id: str) -> tuple[TaskState, str]:
    """Loads a task's state, and returns what was repaired, if anything; for writers, under the lock."""
    try:
        return folder.load(), ""
    except MergeConflict:  # a person resolves the conflict: nothing is moved
        raise
    except InvalidFile as problem:
        repaired = backup.restore_last_good(folder.home, project_id, folder.id, folder.state_path, validate, problem)
        return folder.load(), repaired


def load_as(folder: TaskFolder, project_id: str, actor: Actor) -> tuple[TaskState, list[str]]:
    """Loads a task's state for an actor; edits by hand of a worker in its own state are ignored.

    A revision newer than the copy's means that its copy could not be kept: of that, the worker's own fields count.
    """
    loaded, repaired = load_or_repair(folder, project_id)
    remarks = [repaired] if repaired else []
    text = backup.last_good(folder.home, project_id, folder.id, validate) if actor.is_worker else None
    if text is None:
        return loaded, remarks
    copy: TaskState = state_file.parse(text, f"the last good copy of {folder.id}", validate)  # type: ignore[assignment]
    task: dict[str, object] = {**copy["task"]}
    if loaded["revision"] > copy["revision"]:
        task = {key: value for key, value in task.items() if key not in OWN_FIELDS}
        task |= {key: value for key, value in loaded["task"].items() if key in OWN_FIELDS}
    if task == loaded["task"]:
        return loaded, remarks
    from sow.store.files import set_aside

    aside_path = set_aside.save_copy(folder.home, folder.id, folder.home.read(folder.state_path))
    remark = f"task {folder.id}: its state file was edited by hand, which does not count; the edit is in {aside_path}"
    return {**loaded, "task": task}, [*remarks, remark]  # type: ignore[typeddict-item]


def backup_if_newer(folder: TaskFolder, project_id: str) -> None:
    """Backs up a state that is newer than its copy or has none: its writer was killed in between. Under the lock.

    Call it only if nobody works on the task: else a worker's next call would take the older state for the good one.
    """
    try:
        current_text = folder.home.read(folder.state_path)
        if backup.load(folder.home, project_id, folder.id) == current_text:
            return
        text = backup.last_good(folder.home, project_id, folder.id, validate)
        copy = state_file.parse(text, f"the last good copy of {folder.id}", validate) if text is not None else None
        if folder.load()["revision"] > (copy["revision"] if copy else 0):
            backup.save(folder.home, project_id, folder.id, current_text)
    except (FileNotFoundError, SowError):  # nothing to compare; the next reader reports and repairs it
        return
