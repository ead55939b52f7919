"""Opens a task under the lock: repairs what a crash or an edit by hand left, then allows changes."""

from __future__ import annotations

from sow.store.files.repair import load_as
from sow.store.projects import project as projects
from sow.store.projects import task_folder as task_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.domain.actor import Actor
    from sow.domain.documents.state import ProjectState, Task, TaskState
    from sow.store.files.checkout_home import Home
    from sow.store.projects.task_folder import TaskFolder


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
