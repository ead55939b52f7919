"""Reads and writes the folder of one task: its state, description, log, feedback, notes and outputs."""

from __future__ import annotations

import os

from sow.domain.inputs import is_task_id
from sow.domain.task import worktree_name
from sow.errors import InvalidFile, SowError
from sow.store.files import backup, state_file
from sow.store.files.disk import list_folder
from sow.store.validators.task import validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from sow.domain.documents.state import ProjectState, Task, TaskState
    from sow.store.files.checkout_home import Home


class WorkerFolder:
    """Holds the paths that the folder of a task and the folder of a workflow's agent have in common."""

    __slots__ = ("folder", "home", "id")
    noun = ""

    def __init__(self, home: Home, folder: str, ident: str) -> None:
        self.home = home
        self.folder = folder
        self.id = ident

    @property
    def label(self) -> str:
        """Returns the name of the task or agent in messages."""
        return f"{self.noun} {self.id}"

    @property
    def log_path(self) -> str:
        return f"{self.folder}/log.md"

    @property
    def notes_path(self) -> str:
        return f"{self.folder}/completion_drive/session_current.json"


class TaskFolder(WorkerFolder):
    """Holds the paths of one task's files."""

    __slots__ = ("phase", "project")
    noun = "task"

    def __init__(self, home: Home, phase: str, task: str, project: ProjectState | None = None) -> None:
        super().__init__(home, f"{home.project}/phases/{phase}/tasks/{task}", task)
        self.phase = phase
        self.project = project  # the project's state when the folder was looked up; None if only paths are needed

    @property
    def state_path(self) -> str:
        return f"{self.folder}/state.yaml"

    @property
    def description_path(self) -> str:
        return f"{self.folder}/description.md"

    @property
    def feedback_folder(self) -> str:
        return f"{self.folder}/feedback"

    def exists(self) -> bool:
        """Tells whether the task is there; a switch of branches leaves the empty folders of other tasks behind."""
        return os.path.exists(self.state_path) or any(files for _, _, files in os.walk(self.folder))

    def load(self) -> TaskState:
        """Reads the task's state. An error message names the path of the file."""
        shown_path = self.home.relative(self.state_path)
        try:
            task_state: TaskState = state_file.read(self.home, self.state_path, validate, copy=self.id)  # type: ignore[assignment]
        except FileNotFoundError:
            raise InvalidFile(f"{shown_path} is missing", f"restore it: git checkout -- {shown_path}") from None
        if task_state["task"]["id"] != self.id:
            raise InvalidFile(
                f"{shown_path}: task.id: is {task_state['task']['id']}, but the folder is {self.id}",
                "restore the file from git",
                place="task.id",
            )
        return task_state

    def task(self) -> Task:
        return self.load()["task"]

    def open_notes(self) -> list[str]:
        """Returns the ids of the notes that nobody has resolved."""
        from sow.store.projects import notes

        return notes.unresolved(self)

    def save(self, old_state: TaskState, task: Task, project_id: str) -> None:
        """Replaces the task in its state file, and writes a backup."""
        new_state: TaskState = {**old_state, "task": task}
        text = state_file.write(self.home, self.state_path, new_state, validate)  # type: ignore[arg-type]
        backup.save(self.home, project_id, self.id, text)

    @property
    def owner(self) -> str:
        """Returns the id of the project that the task belongs to."""
        return self._project()["project_id"]

    @property
    def iteration(self) -> int:
        """Returns the number of the task's current iteration."""
        return self.task()["iteration"]

    def references(self) -> list[str]:
        """Returns the documents that the task refers to."""
        return self.task()["references"]

    def commands(self) -> list[str]:
        """Returns the commands of the task's checks, and those in backticks in its criteria."""
        task = self.task()
        spans = [span.strip() for criterion in task["criteria"] for span in criterion.split("`")[1::2]]
        return [*(check["command"] for check in task.get("checks", ())), *spans]

    def write_protected(self) -> tuple[str, ...]:
        """Returns patterns of the files that the task's worker must not write."""
        from sow.store.projects import write_rules

        phases = [phase["name"] for phase in self._project()["phases"]]
        return write_rules.write_protected(self, phases, worktree_name(self.task()))

    def worker_environment(self) -> dict[str, str]:
        """Returns environment variables for the worker, in addition to its task and its role."""
        return {}

    def set_session_id(self, key: str, name: str) -> None:
        """Replaces our session id by the CLI's own. If the state cannot be read, our id stays; it works too."""
        with self.home.lock():
            try:
                task_state = self.load()
            except SowError:
                return
            if task_state["task"].get("session_id") == key:
                self.save(task_state, {**task_state["task"], "session_id": name}, self.owner)

    def _project(self) -> ProjectState:
        if self.project is None:
            raise SowError(f"task {self.id} was not loaded from its project", "report this: it is a bug")
        return self.project


def all_folders(home: Home, project: ProjectState) -> list[TaskFolder]:
    """Returns all task folders of the project, ordered by id."""
    folders = []
    for phase in project["phases"]:
        names = list_folder(f"{home.project}/phases/{phase['name']}/tasks")
        folders += [TaskFolder(home, phase["name"], name, project) for name in names if is_task_id(name)]
    return sorted((folder for folder in folders if folder.exists()), key=lambda folder: int(folder.id))


def find(home: Home, project: ProjectState, task: str) -> TaskFolder:
    """Returns the folder of one task."""
    for phase in project["phases"]:
        folder = TaskFolder(home, phase["name"], task, project)
        if folder.exists():
            return folder
    ids = [folder.id for folder in all_folders(home, project)]
    listed = ", ".join(ids[:12]) + (", …" if len(ids) > 12 else "")
    hint = f"the tasks are: {listed}" if ids else 'create one: sow task create --name "…" --agent implementer'
    for _, state in load_readable(home, project)[0]:
        if state.get("source", {}).get("id") == task.lstrip("0"):
            hint = f"task {task.lstrip('0')} of {state['source']['plan']} has the id {state['id']}"
    raise SowError(f"there is no task {task}", hint)


def load_readable_or_raise(home: Home, project: ProjectState, task_ids: Collection[str]) -> list[Task]:
    """Returns the tasks with these ids that exist. Raises if one of them cannot be read, so that none is left out."""
    return [folder.task() for folder in all_folders(home, project) if folder.id in task_ids]


def load_readable(home: Home, project: ProjectState) -> tuple[list[tuple[TaskFolder, Task]], dict[str, str]]:
    """Returns every readable task, and the error message of each unreadable one by id."""
    readable = []
    broken = {}
    for folder in all_folders(home, project):
        try:
            readable.append((folder, folder.task()))
        except SowError as error:
            broken[folder.id] = error.message
    return readable, broken
