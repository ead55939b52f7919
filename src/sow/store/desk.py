"""A desk: the folder of one task, with its state, description, log, feedback, notes and outputs."""

from __future__ import annotations

import os

from sow.domain.ids import is_task_id
from sow.errors import InvalidFile, SowError
from sow.store import kept, state
from sow.store.disk import list_folder
from sow.store.validators.task import validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from sow.domain.shapes import ProjectState, Task, TaskState
    from sow.store.home import Home


class Desk:
    """Where one task's files are."""

    __slots__ = ("folder", "home", "id", "phase", "project")

    def __init__(self, home: Home, phase: str, task: str, project: ProjectState | None = None) -> None:
        self.home = home
        self.phase = phase
        self.id = task
        self.folder = f"{home.project}/phases/{phase}/tasks/{task}"
        self.project = project  # as it was when the desk was looked for; none for one that only names files

    @property
    def title(self) -> str:
        """How messages name whoever works here."""
        return f"task {self.id}"

    @property
    def state_path(self) -> str:
        return f"{self.folder}/state.yaml"

    @property
    def description_path(self) -> str:
        return f"{self.folder}/description.md"

    @property
    def log_path(self) -> str:
        return f"{self.folder}/log.md"

    @property
    def notes_path(self) -> str:
        return f"{self.folder}/completion_drive/session_current.json"

    @property
    def feedback_folder(self) -> str:
        return f"{self.folder}/feedback"

    def load(self) -> TaskState:
        """The task's state; what is wrong with it is said with its path."""
        shown = self.home.relative(self.state_path)
        try:
            loaded: TaskState = state.read(self.home, self.state_path, validate, copy=self.id)  # type: ignore[assignment]
        except FileNotFoundError:
            raise InvalidFile(f"{shown} is missing", f"restore it: git checkout -- {shown}") from None
        if loaded["task"]["id"] != self.id:
            raise InvalidFile(
                f"{shown}: task.id: is {loaded['task']['id']}, but the folder is {self.id}",
                "restore the file from git",
                place="task.id",
            )
        return loaded

    def task(self) -> Task:
        """The task itself."""
        return self.load()["task"]

    def save(self, loaded: TaskState, task: Task, project_id: str) -> None:
        """Replace the task by its next state, and keep a copy."""
        changed: TaskState = {**loaded, "task": task}
        text = state.write(self.home, self.state_path, changed, validate)  # type: ignore[arg-type]
        kept.keep(self.home, project_id, self.id, text)

    @property
    def owner(self) -> str:
        """The id of the project that the task belongs to."""
        return self._project()["project_id"]

    @property
    def iteration(self) -> int:
        """Which attempt at the task this is."""
        return self.task()["iteration"]

    def references(self) -> list[str]:
        """The documents that it is pointed to."""
        return self.task()["references"]

    def commands(self) -> list[str]:
        """What its plan wants to be run on it."""
        return [each["command"] for each in self.task().get("checks", ())]

    def closed(self) -> tuple[str, ...]:
        """What its worker has no business to write, as patterns."""
        from sow.store import bounds

        return bounds.closed(self, [each["name"] for each in self._project()["phases"]])

    def marks(self) -> dict[str, str]:
        """What tells a worker here more than its task and its role."""
        return {}

    def name_session(self, key: str, name: str) -> None:
        """The CLI's own id in the place of ours; a state that cannot be read now names the same record by our id."""
        with self.home.lock():
            try:
                loaded = self.load()
            except SowError:
                return
            if loaded["task"].get("session_id") == key:
                self.save(loaded, {**loaded["task"], "session_id": name}, self.owner)

    def _project(self) -> ProjectState:
        if self.project is None:
            raise SowError(f"the desk of task {self.id} was not looked for in its project", "report this: it is a bug")
        return self.project


def desks(home: Home, project: ProjectState) -> list[Desk]:
    """All desks of the project, in the order of their ids."""
    found = []
    for phase in project["phases"]:
        names = list_folder(f"{home.project}/phases/{phase['name']}/tasks")
        found += [Desk(home, phase["name"], name, project) for name in names if is_task_id(name)]
    return sorted(found, key=lambda desk: int(desk.id))


def find(home: Home, project: ProjectState, task: str) -> Desk:
    """The desk of one task."""
    for phase in project["phases"]:
        desk = Desk(home, phase["name"], task, project)
        if os.path.isdir(desk.folder):
            return desk
    ids = [desk.id for desk in desks(home, project)]
    hint = (
        f"the tasks are: {', '.join(ids[:12])}{', …' if len(ids) > 12 else ''}"
        if ids
        else 'create one: sow task create --name "…" --agent implementer'
    )
    raise SowError(f"there is no task {task}", hint)


def load_some(home: Home, project: ProjectState, wanted: Collection[str]) -> list[Task]:
    """Those tasks of a list that are there; one that cannot be read is refused, so that nothing is said without it."""
    return [desk.task() for desk in desks(home, project) if desk.id in wanted]


def load_all(home: Home, project: ProjectState) -> tuple[list[tuple[Desk, Task]], dict[str, str]]:
    """Every task that can be read, and what is wrong with each of the others: one broken file hurts nobody else."""
    readable = []
    broken = {}
    for desk in desks(home, project):
        try:
            readable.append((desk, desk.task()))
        except SowError as error:
            broken[desk.id] = error.message
    return readable, broken
