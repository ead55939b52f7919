"""Creates, shows, saves and deletes the project of a branch (`sow project`)."""

from __future__ import annotations

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import emit, table
from sow.domain import inputs
from sow.domain.phase import new_phases
from sow.store.files.checkout_home import Home
from sow.store.projects import memory
from sow.store.projects import project as projects
from sow.store.projects.removal import remove
from sow.store.projects.tasks import log_act
from sow.store.state_commit import save_project
from sow.system import clock, random_ids
from sow.system.terminal import escape_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sow.domain.documents.state import ProjectState


def prepare_project(
    context: Context, home: Home, *, name: str, description: str, phases: list[str]
) -> Callable[[], ProjectState]:
    """Checks all input for a new project and returns a function that creates it on the current branch."""
    now = clock.now()
    actor = context.require_non_worker("start a project")
    checked = inputs.checked_line(name, "the project's name", 100)
    about = (
        inputs.checked_text(context.text(description, "--description"), "the description", 20_000)
        if description
        else ""
    )
    stages = new_phases(phases, now=now)
    projects.check_can_create(home)

    def make() -> ProjectState:
        with home.lock():
            branch = projects.check_can_create(home)
            home.folder("project")
            log_act(home, actor, action="project_new", text=f"started project {checked} on {branch}", now=now)
            return projects.create(
                home, project_id=random_ids.uuid4(), name=checked, description=about, phases=stages, now=now
            )

    return make


def new(context: Context, *, name: str, description: str, phase: list[str]) -> int:
    home = context.project_home()
    project = prepare_project(context, home, name=name, description=description, phases=phase)()
    phases = ", ".join(phase["name"] for phase in project["phases"])
    out(escape_line(f"project {project['name']} on branch {project['branch']}: {phases}"))
    return 0


def show(context: Context, *, json: bool) -> int:
    home = context.project_home()
    project = projects.load(home)
    if json:
        return emit({**project, "memories": memory.read(home)})
    keys = ("name", "description", "branch", "project_id", "created_at", "updated_at")
    rows = [(key, str(project[key])) for key in keys]  # type: ignore[literal-required]
    rows.append(("phases", ", ".join(f"{phase['name']} ({phase['status']})" for phase in project["phases"])))
    out(table([row for row in rows if row[1]]))
    return 0


def save(context: Context, *, message: str) -> int:
    home = context.project_home()
    context.require_non_worker("commit the project's state")
    kind, name = _saved(home)
    commit = save_project(
        home, inputs.checked_line(message, "--message", 200) if message else f"sow: save {kind} {name}"
    )
    out(f"saved as {commit}" if commit else f"nothing to save: the {kind} is committed as it is")
    return 0


def _saved(home: Home) -> tuple[str, str]:
    """Returns the kind and the name of what is saved: the project, or a workflow without a project."""
    from sow.store.workflows.folder import WorkflowFolder

    folder = WorkflowFolder(home)
    if folder.exists() and not projects.exists(home):
        return "workflow", folder.workflow()["name"]
    return "project", projects.load(home)["name"]


def remember(context: Context, *, memory_text: str) -> int:
    home = context.project_home()
    projects.load(home)
    body = inputs.checked_text(context.text(memory_text, "the memory"), "the memory", 20_000)
    out(f"remembered in {memory.add(home, body, by=context.actor().name, now=clock.now())}")
    return 0


def delete(context: Context, *, yes: bool) -> int:
    context.require_non_worker("delete the project")
    home = context.project_home()
    context.recover_tasks(home)
    out(f"removed .sow/project; a copy is in {remove(home, force=yes, any_branch=True)}")
    return 0


COMMANDS = (
    Command(
        "project new",
        new,
        "Start the project of this branch",
        arguments=(Argument("name", "What the project is called"),),
        options=(
            Option("--description", "TEXT", "What the project is for (TEXT, @FILE or -)"),
            Option(
                "--phase", "PHASE", "A phase, in order; without one: implementation", repeat=True, completes="phases"
            ),
        ),
    ),
    Command("project show", show, "Show the project of this branch", json=True),
    Command(
        "project save",
        save,
        "Commit what sow keeps in this repository, and nothing of yours",
        options=(Option("--message", "TEXT", "The message of the commit"),),
    ),
    Command(
        "project remember",
        remember,
        "Keep a decision or a memory that every later agent should know",
        arguments=(Argument("memory_text", "What to remember (TEXT, @FILE or -)"),),
        details="It goes to .sow/project/context/memories.md, and 'sow status' shows it.",
    ),
    Command(
        "project delete",
        delete,
        "Remove .sow/project, finished or not; a copy is kept under .sow/local/removed",
        options=(Option("--yes", help="Do so although tasks are open"),),
    ),
)
