"""Restores a task after a resumed turn that changed nothing: the worker was only asked about its work."""

from __future__ import annotations

from sow.domain.documents.state import Task
from sow.gitwork.repository import FolderWatch
from sow.store.files.disk import remove_quietly
from sow.store.projects import log, notes
from sow.store.projects.task_folder import TaskFolder
from sow.system import clock


class FormerState:
    """A task whose worker has handed in or failed, and the folder of its work, before it is resumed."""

    def __init__(self, folder: TaskFolder, cwd: str) -> None:
        self.folder = folder
        self.task = folder.task()
        self.asks = any(note["status"] == "escalated" for note in notes.load_notes(folder))
        self.feedback_count = len(log.feedback_numbers(folder))
        self.watch = FolderWatch(folder.home, cwd, folder.id)

    def is_kept(self, task: Task, *, inferred: bool) -> bool:
        """Tells whether the turn left the work as it was, and the worker asked nothing and set no other status.

        A text to a worker that asked is an answer, which is never undone.
        """
        status = self.task["status"]
        if status not in ("needs_review", "failed") or self.asks or "question" in task:
            return False
        without_status = task["status"] == "in_progress" or inferred
        if not without_status and not status == task["status"] == "needs_review":
            return False
        return not notes.unresolved(self.folder) and not self.watch.other_tasks() and not self.watch.changed()

    def restore(self) -> Task:
        """Gives the task its former status and iteration back, and takes the feedback away."""
        with self.folder.home.lock():
            loaded = self.folder.load()
            kept = {key: loaded["task"][key] for key in ("session_id", "refusals") if key in loaded["task"]}
            task: Task = {**self.task, **kept, "updated_at": clock.now()}  # type: ignore[typeddict-item]
            for number in log.feedback_numbers(self.folder)[self.feedback_count :]:
                remove_quietly(log.feedback_path(self.folder, number))
            self.folder.save(loaded, task, self.folder.owner)
        return task
