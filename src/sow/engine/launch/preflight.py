"""Checks and asks everything that can stop a run, before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sow.domain import inputs
from sow.domain.checks.task_checks import Consent
from sow.domain.documents.state import ProjectState, Task
from sow.domain.inbox import start_without
from sow.domain.inputs import branch_slug
from sow.domain.plans.plan import APPROVAL, Difference, PlanFinding
from sow.domain.task import ENDED_STATUSES
from sow.domain.text.units import counted, cut_to
from sow.engine import consent
from sow.engine.launch import feature_branch, setup_questions
from sow.engine.launch.loaded_plan import LoadedPlan
from sow.engine.launch.run_request import RunRequest
from sow.engine.turns import recovery
from sow.errors import InvalidFile, SowError, Waiting
from sow.gitwork import unmerged_work
from sow.store import layout
from sow.store.files.checkout_home import FORBIDDEN_BRANCHES, Home
from sow.store.projects import plan_import, task_folder
from sow.store.projects import project as projects
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import run_folder, sessions
from sow.system.terminal import confirm, err, escape_line, is_interactive, require_yes

ALL_HOSTS = "all"


def branch_of(reading: LoadedPlan) -> str:
    """Returns the branch that a run creates if main or master is checked out."""
    return f"sow/{branch_slug(reading.plan.name) or 'plan'}"


def doubtful_warnings(request: RunRequest) -> list[PlanFinding]:
    """Returns the warnings that could change order or scope; with --agent, those about agents are left out."""
    doubtful = [warning for warning in request.reading.plan.warnings if warning.needs_confirmation]
    return [warning for warning in doubtful if not (warning.kind == "agent" and "agent" in request.settings)]


def confirm_doubts(request: RunRequest) -> None:
    """Asks before running a plan whose order or scope may have been misread."""
    doubts = doubtful_warnings(request)
    if not doubts or request.yes:
        return
    count = sum(warning.kind != APPROVAL for warning in doubts)
    if not count:
        hint = f"{doubts[0].hint}, or run it as it is: {request.command(yes='')}"
        if not is_interactive() or not confirm("Approve this plan and run it?"):
            raise Waiting("the plan waits for your approval; nothing was started", hint)
        return
    these = f"{count} of the warnings above" if len(request.reading.plan.warnings) > 1 else "the warning above"
    err(f"With {these}, tasks, their order, their agents or their checks may not be what the plan means.")
    hint = f"correct the plan, or accept it as it is read: {request.command(yes='')}"
    if not is_interactive() or not confirm("Run it as it is read?"):
        raise Waiting("the plan was not understood completely; nothing was started", hint)


def check_and_ask(request: RunRequest) -> tuple[list[Difference], Consent]:
    """Checks and asks everything; returns the changes of tasks and the commands that the user agreed to."""
    home, reading = request.home, request.reading
    branch = feature_branch.branch_to_use(home, branch_of(reading))
    layout.check(home)
    inputs.checked_line(reading.plan.name[:100] or "Plan", "the project's name", 100)
    agreed = consent.load_consents(home, request.config, request.environment)
    try:
        project = stored_project(home, reading)
    except InvalidFile:
        if branch != home.checkout.branch():
            raise
        return [], agreed  # the state may be restored from a copy; everything is asked then
    if not request.is_isolated and project is not None:
        refuse_leftover_worktrees(request, project)
    if project is not None:
        refuse_turns_elsewhere(request, project)
    diffs = changes(request, project)
    agree_to_changes(diffs, request)
    commands = commands_of_run(request, project, diffs)
    if request.yes or not is_interactive():  # on a terminal, run_setup asks about the setup
        commands |= {command: ["setup"] for command in setup_questions.missing(request)}
    return diffs, ask(request, agreed, commands)


def refuse_turns_elsewhere(request: RunRequest, project: ProjectState) -> None:
    """Refuses a run on this host while a turn on one of its tasks is out on another one that is not given up."""
    for _, task in task_folder.load_readable(request.home, project)[0]:
        included = request.includes(task["id"], task["source"]["id"] if "source" in task else "")
        if not included or task["status"] in ENDED_STATUSES or "session_id" not in task:
            continue
        record = sessions.current(TaskFolder(request.home, "", task["id"]), task["session_id"])
        if record is None or not record.is_out:
            continue
        host = record.session.get("host", "")
        if host in request.given_up or ALL_HOSTS in request.given_up:
            recovery.give_up(record, task["status"])
        elif not request.turns.is_remote:
            run = run_folder.unfinished_run(request.home, project["project_id"])
            cluster = run.run["settings"].get("cluster") if run is not None else None
            again = request.command(cluster=cluster) if cluster else request.command(on=host) if host else ""
            hint = f"continue with it: {again}" if again else "repeat the call with the same hosts"
            hint += f"; if it is gone for good: {request.command(give_up=host or ALL_HOSTS)}"
            raise Waiting(f"task {task['id']} is out on {host or 'another host'}; nothing was started", hint)


def stored_project(home: Home, reading: LoadedPlan) -> ProjectState | None:
    """Returns the project that a run continues; None if there is none."""
    if not projects.exists(home):
        return None
    project, current = projects.load_anywhere(home), home.checkout.branch()
    branch = branch_of(reading) if current in FORBIDDEN_BRANCHES else current
    if project["branch"] != branch:
        target = f"the run to {branch}" if branch else "HEAD is detached"
        raise SowError(
            f"{home.relative(projects.path(home))} belongs to branch {project['branch']}, and {target}",
            projects.other_branch_hint(home, project["branch"], has_run=projects.has_unfinished_run(home, project)),
        )
    return project


def changes(request: RunRequest, project: ProjectState | None) -> list[Difference]:
    """Returns the changes that the import of the plan would make."""
    intake = request.reading.intake(request.home)
    if project is None:
        return plan_import.propose_without_project(intake)
    return plan_import.propose(request.home, project, intake)


def selected_plan_ids(request: RunRequest) -> list[str]:
    """Returns the plan's ids of the tasks given with --task, by plan id or project id; all if none is given."""
    reading = request.reading
    if not request.tasks:
        return [task.id for task in reading.plan.tasks]
    diffs = changes(request, stored_project(request.home, reading))
    names = {name: diff.number for diff in diffs for name in (diff.task, diff.number)}
    for ident in request.tasks:
        if ident not in names:
            shown = ", ".join(task.id for task in reading.plan.tasks[:12])
            raise SowError(f"the plan has no task {ident!r:.40}", f"its tasks are: {shown}")
    return [names[ident] for ident in request.tasks]


def refuse_missing_dependencies(request: RunRequest) -> None:
    """Refuses --task if a chosen task waits for a task that is neither completed nor chosen."""
    if not request.tasks:
        return
    home = request.home
    project = stored_project(home, request.reading)
    stored = {task["id"]: task for _, task in task_folder.load_readable(home, project)[0]} if project else {}
    planned = {diff.task: diff for diff in changes(request, project) if diff.wanted is not None}
    chosen = [ident for ident, diff in planned.items() if request.includes(ident, diff.number)]
    waiting: dict[str, str] = {}  # each missing dependency, and a task that waits for it
    for ident in (queue := [*chosen]):
        wanted = planned[ident].wanted if ident in planned else None
        status = stored[ident]["status"] if ident in stored else wanted.status if wanted else ""
        if status == "completed":
            waiting.pop(ident, None)
            continue
        needs = stored[ident]["depends_on"] if ident in stored else wanted.fields["depends_on"] if wanted else []
        waiting |= {need: ident for need in needs if need not in chosen and need not in waiting}
        queue += [need for need in needs if need not in queue]
    if not waiting:
        return
    missing, ident = next(iter(waiting.items()))
    status = stored[missing]["status"] if missing in stored else "pending"
    if status == "abandoned":
        hint = start_without(ident, [need for need in stored[ident]["depends_on"] if need != missing])
    else:
        request.tasks += [planned[need].number if need in planned else need for need in waiting]
        hint = request.command()
    raise SowError(f"task {ident} waits for {missing} ({status}), which is not part of this run", hint)


def agree_to_changes(diffs: Sequence[Difference], request: RunRequest) -> None:
    """Shows how an import would change existing tasks, and asks for consent."""
    for diff in diffs:
        if diff.kind in ("changed", "gone"):
            err(escape_line(f"task {diff.task}, {diff.number} in the plan: {describe_changes(diff)}"))
    confirm_changes(diffs, yes=request.yes)


def commands_of_run(
    request: RunRequest, project: ProjectState | None, diffs: Sequence[Difference]
) -> dict[str, list[str]]:
    """Returns the commands of a run with the ids of their tasks: of the plan, and of unchanged tasks."""
    kept = [task for _, task in task_folder.load_readable(request.home, project)[0]] if project is not None else []
    coming = {diff.task: diff.wanted for diff in diffs if diff.kind in ("new", "changed")}
    gone = {diff.task for diff in diffs if diff.kind == "gone"}
    planned = [
        (diff.task, diff.wanted.fields.get("checks", ()))
        for diff in diffs
        if diff.wanted is not None
        and diff.task in coming
        and diff.wanted.status != "skipped"
        and (request.includes(diff.task, diff.number) or diff.wanted.status == "completed")
    ]
    about = {diff.task for diff in diffs if request.includes(diff.task, diff.number)}
    staying = [task for task in kept if task["id"] not in coming and task["id"] not in gone]
    commands = consent.commands_of_checks(planned)
    for command, tasks in consent.commands_of_tasks(staying, about).items():
        commands[command] = [*commands.get(command, ()), *tasks]
    return commands


def ask(request: RunRequest, agreed: Consent, commands: Iterable[str]) -> Consent:
    """Asks for consent to commands."""
    again = request.command(yes="")
    return consent.ask_consent(
        request.home, request.config, request.environment, agreed, commands, yes=request.yes, again=again
    )


def refuse_leftover_worktrees(request: RunRequest, project: ProjectState) -> None:
    """Refuses a run in one folder if an earlier run left work in worktrees."""
    tasks = selected_tasks(request, project, request.reading.intake(request.home).paths.values())
    usual = request.config.setting("run", "isolation") == "worktree"
    command = request.command(isolation=None if usual else "worktree")
    unmerged_work.refuse_work_elsewhere(request.home, tasks, command)


def selected_tasks(request: RunRequest, project: ProjectState, plans: Iterable[str]) -> list[Task]:
    """Returns the project's tasks that come from these plans and that the run includes."""
    paths = set(plans)
    tasks = [task for _, task in task_folder.load_readable(request.home, project)[0]]
    return [
        task
        for task in tasks
        if task.get("source", {}).get("plan") in paths and request.includes(task["id"], task["source"]["id"])
    ]


def describe_changes(difference: Difference) -> str:
    """Describes on one line how an import would change a task."""
    if difference.kind == "gone":
        return "is no longer in the plan: it would be abandoned"
    parts = [f"{field}: {before} → {after}" if before or after else field for field, before, after in difference.fields]
    text = cut_to(200, "; ".join(parts))
    return f"has ended: stays as it is ({text})" if difference.kind == "ended" else text


def confirm_changes(differences: Sequence[Difference], *, yes: bool) -> None:
    """Asks for consent if existing tasks would change; new tasks need none."""
    touched = [difference for difference in differences if difference.kind in ("changed", "gone")]
    if not touched or yes:
        return
    tasks = counted(len(touched), "task")
    require_yes(
        f"Change {tasks}?",
        Waiting(
            f"the import changes {tasks}, which needs your confirmation", "look at the changes above, then add --yes"
        ),
        Waiting("nothing was imported", "run the same command again when you are ready"),
    )
