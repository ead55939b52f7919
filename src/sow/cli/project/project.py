"""Creates .sow, and creates, shows, saves and deletes the project of a branch (`sow init`, `sow project`)."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable

from sow.cli.command import Argument, Command, Option
from sow.cli.context import Context
from sow.cli.output import emit, table
from sow.domain import inputs
from sow.domain.documents.state import ProjectState
from sow.errors import SowError
from sow.store import conflicts
from sow.store.files.checkout_home import Home
from sow.store.formats.merge_conflict import OURS, THEIRS
from sow.store.layout import create_missing
from sow.store.projects import plan_import
from sow.store.projects import project as projects
from sow.store.projects.removal import remove
from sow.store.projects.tasks import log_act
from sow.store.state_commit import save_project
from sow.system import clock
from sow.system.terminal import escape_line, out


def prepare_project(
    context: Context, home: Home, *, name: str, description: str, phases: list[str]
) -> Callable[[], ProjectState]:
    """Checks all input for a new project and returns a function that creates it on the current branch."""
    actor = context.require_non_worker("start a project")
    about = context.text(description, "--description") if description else ""
    return plan_import.prepare_project(home, name=name, description=about, phases=phases, actor=actor)


def new(context: Context, *, name: str, description: str, phase: list[str]) -> int:
    home = context.project_home()
    make = prepare_project(context, home, name=name, description=description, phases=phase)
    create_missing(home)
    project = make()
    phases = ", ".join(phase["name"] for phase in project["phases"])
    out(escape_line(f"project {project['name']} on branch {project['branch']}: {phases}"))
    return 0


def show(context: Context, *, json: bool) -> int:
    home = context.project_home()
    project = projects.load(home)
    if json:
        return emit({**project, "memories": projects.read_memories(home)})
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
    out(f"saved as {commit}" if commit else f"nothing to save: the {kind} is already committed")
    return 0


def _saved(home: Home) -> tuple[str, str]:
    """Returns the kind and the name of what is saved: the project, or a workflow without a project."""
    from sow.store.workflows.folder import WorkflowFolder

    folder = WorkflowFolder(home)
    if folder.exists() and not projects.exists(home):
        return "workflow", folder.workflow()["name"]
    return "project", projects.load(home)["name"]


def adopt(context: Context) -> int:
    actor = context.require_non_worker("move the project to another branch")
    home, now = context.project_home(), clock.now()
    home.refuse_second_run()
    with home.lock():
        old_branch, branch = projects.adopt(home, now=now)
        log_act(home, actor, action="project_adopt", text=f"moved from branch {old_branch} to {branch}", now=now)
    out(escape_line(f"moved the project from {old_branch} to {branch}"))
    return 0


def resolve(context: Context, *, side: str) -> int:
    context.require_non_worker("resolve a merge conflict")
    home = context.project_home()
    home.refuse_second_run()
    lines = conflicts.resolve(home, side)
    for line in lines:
        out(escape_line(line))
    if not lines:
        out("no conflicts in state files")
        return 0
    rebase = any(os.path.isdir(f"{home.checkout.git}/{name}") for name in ("rebase-merge", "rebase-apply"))
    command = "git rebase --continue" if rebase else "git commit"
    files = shlex.join(conflicts.unmerged_elsewhere(home))
    out(
        escape_line(
            f"resolve the conflict in {files}, then: git add {files} && {command}"
            if files
            else f"continue with: {command}"
        )
    )
    return 0


def remember(context: Context, *, memory_text: str) -> int:
    home = context.project_home()
    projects.load(home)
    body = context.checked_text(memory_text, "the memory", 20_000)
    out(f"recorded in {projects.add_memory(home, body, by=context.actor().name, now=clock.now())}")
    return 0


def delete(context: Context, *, yes: bool) -> int:
    context.require_non_worker("delete the project")
    home = context.project_home()
    context.recover_tasks(home)
    out(f"removed .sow/project; copy: {remove(home, force=yes, any_branch=True)}")
    return 0


def init(context: Context, *, project: str, description: str, phase: list[str]) -> int:
    if not project and (description or phase):
        raise SowError("--description and --phase need a project", 'name it: sow init --project "NAME"')
    home = context.checkout()
    make = prepare_project(context, home, name=project, description=description, phases=phase) if project else None
    paths = create_missing(home)
    for path in paths:
        out(f"created {path}")
    if not paths:
        out(escape_line(f"{os.path.join(home.root, '.sow')} exists already"))
    if make:
        created = make()
        out(escape_line(f"project {created['name']} on branch {created['branch']}"))
    return 0


COMMANDS = (
    Command(
        "project new",
        new,
        "Create the project of this branch",
        Argument("name", "The project's name"),
        Option("--description", "TEXT", "The goal of the project (TEXT, @FILE or -)"),
        Option("--phase", "PHASE", "A phase, in order (default: implementation)", repeat=True, completes="phases"),
    ),
    Command("project show", show, "Show the project of this branch", json=True),
    Command(
        "project save",
        save,
        "Commit the state files of sow, and nothing else",
        Option("--message", "TEXT", "The commit message"),
    ),
    Command(
        "project adopt",
        adopt,
        "Move the project to this branch, if you renamed its branch",
        details="The old branch must not exist any more (git branch -m OLD NEW). Unfinished runs move too.",
    ),
    Command(
        "project resolve",
        resolve,
        "Resolve merge conflicts in state files",
        Argument("side", "The side to keep: ours is above =======, theirs below", choices=(OURS, THEIRS)),
        details="Logs and memories keep both sides. If both added a task with the same id, theirs gets a new id.\n"
        "sow stages the files and prints the git command that continues.",
    ),
    Command(
        "project remember",
        remember,
        "Record a decision that every later agent should know",
        Argument("memory_text", "The decision (TEXT, @FILE or -)"),
        details="sow writes it to .sow/project/context/memories.md, and tells it to every worker and reviewer.",
        forwarded=True,
    ),
    Command(
        "project delete",
        delete,
        "Delete the project, and keep a copy in .sow/local/removed",
        Option("--yes", help="Delete it even if tasks are open"),
    ),
    Command(
        "init",
        init,
        "Create the .sow folder, and a project with --project",
        Option("--project", "NAME", "Also create a project on this branch"),
        Option("--description", "TEXT", "The goal of the project (TEXT, @FILE or -)"),
        Option("--phase", "PHASE", "A phase of the project, in order", repeat=True, completes="phases"),
        details="Existing files are not changed. A project needs a feature branch: main and master are refused.",
    ),
)
