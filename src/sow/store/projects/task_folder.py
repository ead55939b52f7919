"""Reads and writes the folder of one task, opens it under the lock for changes, and says what a worker must not write.

Opening a task repairs what a crash or an edit by hand left.
"""

from __future__ import annotations

import os

from sow.domain.inputs import WIDTH, is_task_id
from sow.domain.task import worktree_name
from sow.errors import InvalidFile, MergeConflict, SowError
from sow.store.files import state_file
from sow.store.files.disk import list_folder
from sow.store.projects import project as projects
from sow.store.validators.task import validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sow.domain.documents.state import ProjectState, Task, TaskState
    from sow.domain.task import Actor
    from sow.store.files.checkout_home import Home
    from sow.store.workflows.folder import AgentFolder


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
        state_file.save_backup(self.home, project_id, self.id, text)

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

        phases = [phase["name"] for phase in self._project()["phases"]]
        return write_protected(self, phases, worktree_name(self.task()))

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
        self.folder = find(home, self.project, task)
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
        repaired = state_file.restore_last_good(
            folder.home, project_id, folder.id, folder.state_path, validate, problem
        )
        return folder.load(), repaired


def load_as(folder: TaskFolder, project_id: str, actor: Actor) -> tuple[TaskState, list[str]]:
    """Loads a task's state for an actor; edits by hand of a worker in its own state are ignored.

    A revision newer than the copy's means that its copy could not be kept: of that, the worker's own fields count.
    """
    loaded, repaired = load_or_repair(folder, project_id)
    remarks = [repaired] if repaired else []
    text = state_file.last_good(folder.home, project_id, folder.id, validate) if actor.is_worker else None
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
        if state_file.load_backup(folder.home, project_id, folder.id) == current_text:
            return
        text = state_file.last_good(folder.home, project_id, folder.id, validate)
        copy = state_file.parse(text, f"the last good copy of {folder.id}", validate) if text is not None else None
        if folder.load()["revision"] > (copy["revision"] if copy else 0):
            state_file.save_backup(folder.home, project_id, folder.id, current_text)
    except (FileNotFoundError, SowError):  # nothing to compare; the next reader reports and repairs it
        return


SPECIAL = frozenset("\\*?[]{}()!")
DIGITS = "0123456789"
WORKFLOW = ("state.yaml", "shared_status.json", "verification_report.md", "workflow_coordination_plan.md")
# A task's worktree is beside these folders, and stays writable.
LOCAL = ("sessions", "runs", "removed", "litter", "fetching", "describing", "issues", "planning")


def write_protected(folder: TaskFolder, phases: Iterable[str], worktree: str) -> tuple[str, ...]:
    """Returns patterns for settings, sessions, runs, project state, other tasks and their worktrees, and the backups.

    A worker changes these only through `sow`. Knowledge stays writable, because it is part of the work. Other tasks are
    matched by patterns and not listed, so that a task created during the turn is covered too.
    """
    home = folder.home
    sow, project = literal(home.sow), literal(home.project)
    files = [f"{sow}/config.yaml", f"{sow}/.gitignore", f"{project}/state.yaml", f"{project}/log.md"]
    folders = [f"{sow}/sinks", f"{sow}/repos", f"{project}/context", *(f"{sow}/local/{name}" for name in LOCAL)]
    folders += [f"{sow}/local/worktrees/{pattern}" for pattern in (*other_ids(worktree), "integration-*", "slot-*")]
    folders += [f"{project}/phases/{phase}" for phase in phases if phase != folder.phase]
    folders += [f"{project}/phases/{folder.phase}/tasks/{pattern}" for pattern in other_ids(folder.id)]
    folders += [*_backup_folders(home), literal(f"{home.root}/orchestration")]
    return (*files, *(f"{folder}/**" for folder in folders))


def write_protected_for_agent(folder: AgentFolder, other_names: Iterable[str]) -> tuple[str, ...]:
    """Returns patterns for an agent of a workflow: .sow without knowledge, the workflow's files and other agents.

    The agent changes its status only through `sow`; its notes and outputs are in its own folder.
    """
    home = folder.home
    sow, orchestration = literal(home.sow), literal(f"{home.root}/orchestration")
    files = [f"{sow}/config.yaml", f"{sow}/.gitignore", *(f"{orchestration}/{name}" for name in WORKFLOW)]
    files.append(literal(folder.instructions_path))
    folders = [f"{sow}/{name}" for name in ("local", "sinks", "repos", "project")]
    folders += [
        f"{orchestration}/archive",
        *(f"{orchestration}/agents/{name}" for name in other_names),
        *_backup_folders(home),
    ]
    return (*files, *(f"{folder}/**" for folder in folders))


def _backup_folders(home: Home) -> list[str]:
    return [f"{literal(folder)}/sow" for folder in dict.fromkeys((home.checkout.git, home.checkout.common))]


def other_ids(task: str) -> list[str]:
    """Returns patterns that match every task id but this one: another digit, or another length."""
    patterns = [f"{task[:index]}[{DIGITS.replace(digit, '')}]*" for index, digit in enumerate(task)]
    return [*patterns, f"{task}?*", *(task[:end] for end in range(WIDTH, len(task)))]


def literal(path: str) -> str:
    """Returns a pattern that matches only this path."""
    return "".join(f"\\{char}" if char in SPECIAL else char for char in path)


def reference_folders(home: Home, references: Iterable[str], linked: Collection[str]) -> tuple[list[str], list[str]]:
    """Returns the folders of references in the checkout, and those that the user `linked`, as link and as target."""
    root = f"{os.path.realpath(home.root)}/"
    own_folders, linked_folders = [], []
    for path in references:
        parts = path.split("/")
        if parts[0] != ".sow" or len(parts) < 4:
            continue
        depth = 3 if parts[1] in ("sinks", "repos") else len(parts) - 1
        folder = f"{home.root}/{'/'.join(parts[:depth])}"
        real = os.path.realpath(folder)
        if real.startswith(root):
            own_folders.append(real)
        elif real in linked:
            linked_folders += [folder, real]
    return list(dict.fromkeys(own_folders)), list(dict.fromkeys(linked_folders))
