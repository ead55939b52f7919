"""Checks and asks everything that can stop a run before the run starts: the branch, git changes, set-up and plan.

It records the user's answers, and switches the branch if that is needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from sow.domain import inputs
from sow.domain.checks.task_checks import ASK_AGAIN, NO_SETUP, REFUSED_SETUP, Consent
from sow.domain.documents.state import ProjectState, Task
from sow.domain.inbox import start_without
from sow.domain.inputs import branch_slug, is_branch_name
from sow.domain.plans.command_line import split_words
from sow.domain.plans.plan import APPROVAL, Difference, PlanFinding, checks_of
from sow.domain.task import ENDED_STATUSES, OPEN_STATUSES, worktree_name
from sow.domain.text.units import counted, cut_to
from sow.engine import consent
from sow.engine.checks import setup_plan
from sow.engine.checks.setup_detection import Read
from sow.engine.checks.setup_plan import (
    ACCEPTED,
    WHY,
    OutsideImport,
    Setup,
    Setups,
    commit_reader,
    copy_consent_text,
    folder_reader,
)
from sow.engine.launch.loaded_plan import LoadedPlan
from sow.engine.launch.run_request import RunRequest
from sow.engine.runs.run_context import require_commit
from sow.engine.turns import settle
from sow.errors import InvalidFile, SowError, SystemFailure, Waiting
from sow.gitwork import unmerged_work
from sow.gitwork.repository import branch_conflict_error
from sow.store import git_watch, layout
from sow.store.files.checkout_home import FORBIDDEN_BRANCHES, Home
from sow.store.projects import plan_import, task_folder
from sow.store.projects import project as projects
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import run_folder, sessions
from sow.store.runs.run_folder import RunFolder
from sow.system import git
from sow.system.terminal import NO, YES, ask, confirm, err, escape_line, is_interactive, out, require_yes


def branch_exists(home: Home, name: str) -> bool:
    return bool(git.run(["rev-parse", "--verify", "--quiet", f"refs/heads/{name}"], cwd=home.root, check=False).strip())


def branch_to_use(home: Home, name: str) -> str:
    """Returns the branch to work on: a new one on main or master, otherwise the current one."""
    branch = require_commit(home)
    if branch not in FORBIDDEN_BRANCHES:
        return branch
    if branch_exists(home, name):
        raise SowError(f"sow does not run on {branch}, and there is a branch {name} already", f"git switch {name}")
    return name


def leave_main(home: Home, name: str) -> None:
    """Creates the branch and switches to it if the current branch is main or master."""
    branch = home.checkout.branch()
    if branch_to_use(home, name) == branch:
        return
    try:
        git.run(["switch", "--quiet", "--create", name], cwd=home.root)
    except SystemFailure as problem:
        parent = name.partition("/")[0]
        if "/" in name and branch_exists(home, parent):
            raise branch_conflict_error(parent) from None
        message = f"sow does not run on {branch}, and branch {name} cannot be made: {problem.message}"
        raise SowError(message, "finish what is under way there, see 'git status'") from None
    err(f"note: switched to the new branch {name}, because sow does not run on {branch}")


def check_branch_name(name: str) -> str:
    """Returns the name if a project may use it as its branch."""
    if not is_branch_name(name) or name in FORBIDDEN_BRANCHES:
        raise SowError(f"--branch {name!r:.80} is not a name for a feature branch", "such as: --branch feat/login")
    return name


def switch_to(home: Home, name: str) -> None:
    """Switches to a branch and creates it if it does not exist."""
    if require_commit(home) == name:
        return
    create = [] if branch_exists(home, name) else ["--create"]
    try:
        git.run(["switch", "--quiet", *create, name], cwd=home.root)
    except SystemFailure as problem:
        raise SowError(f"cannot switch to branch {name}: {problem.message}", "see 'git status'") from None
    err(f"note: {'made' if create else 'switched to'} branch {name}")


QUESTION = "Undo these changes?"


def offer_undo(home: Home, *, yes: bool) -> None:
    """Lists the changes after a run and offers to undo them on a terminal; `--yes` does not cover this."""
    changes = git_watch.open_changes(home)
    if not changes:
        return
    _list(changes)
    if not yes and is_interactive() and confirm(QUESTION):
        _undo(home)
    else:
        err(f"sow does not use them. Undo them: {git_watch.UNDO}. Keep and use them: {git_watch.KEEP}")


def undo_git_changes(home: Home, *, yes: bool) -> int:
    """Asks the user, then undoes all changes."""
    changes = git_watch.open_changes(home)
    if changes:
        _list(changes)
        _agree(QUESTION, git_watch.UNDO, yes=yes)
    _undo(home)
    return 0


def keep_git_changes(home: Home, *, yes: bool) -> int:
    """Asks the user, then keeps all changes; sow uses them from now on."""
    changes = git_watch.open_changes(home)
    if changes:
        _list(changes)
        _agree("Keep these changes, and let sow use them?", git_watch.KEEP, yes=yes)
    git_watch.accept_changes(home)
    out(f"kept {counted(len(changes), 'change')}")
    return 0


def _undo(home: Home) -> None:
    count = len(git_watch.open_changes(home))
    failures = git_watch.undo(home)
    if failures:
        raise SystemFailure(f"cannot undo: {escape_line(failures[0])}", f"undo it by hand, then: {git_watch.KEEP}")
    out(f"undid {counted(count, 'change')}; removed files are in .git/sow/removed")


def _list(changes: list[str]) -> None:
    err("These changes appeared in the git folder while workers ran:")
    for change in changes:
        err(f"  {escape_line(change)}")


def _agree(question: str, command: str, *, yes: bool) -> None:
    if not yes:
        require_yes(
            question,
            Waiting("changes in the git folder need your consent", f"look at them, then: {command} --yes"),
            Waiting("nothing was changed", f"decide later: {command}"),
        )


OWN_SETUP_HINT = "write your own setup: sow config edit (worktree.setup)"
NOT_STARTED = "nothing was started"


def ask_about_setup(request: RunRequest) -> list[str]:
    """Asks about the setup and about outside imports; returns the doubts that the user accepted."""
    if not request.is_isolated:
        return []
    home = request.home
    setups = _setups(request)
    read, commands = commit_reader(home.root, "HEAD"), _commands(request.reading)
    _require_tools(setups, read, commands)
    reads = [read, *_reads_of_open_work(home)]
    for reader in reads:
        _ask_about_setup(setups, reader, request)
    _ask_about_copies(setups)
    accepted = _accepted_imports(setups, read, commands, request)
    if any(setups.refusal(read) for read in reads):
        err(f"note: {NO_SETUP}")
        accepted.append(REFUSED_SETUP)
    return accepted


def _accepted_imports(setups: Setups, read: Read, commands: list[str], request: RunRequest) -> list[str]:
    """Asks about imports from outside, if there are any that the user has not accepted."""
    if "accept" in request.typed_options or ACCEPTED in _accepted_before(request.home):
        return [ACCEPTED]  # also if HEAD has none: the work may bring some
    imports = setup_plan.find_outside_imports(setups, setups.setup_for(read), commands)
    return _ask_about_imports(setups, read, commands, imports, request) if imports else []


def missing_setup(request: RunRequest) -> list[str]:
    """Returns the setup commands that the user has neither agreed to nor refused."""
    if not request.is_isolated:
        return []
    home = request.home
    return _setups(request).missing_at([commit_reader(home.root, "HEAD"), *_reads_of_open_work(home)])


def _setups(request: RunRequest) -> Setups:
    return Setups(request.home, request.config, request.environment)


def _reads_of_open_work(home: Home) -> list[Read]:
    """Returns readers of the work of open tasks, which may need a different setup than HEAD."""
    try:
        if not projects.exists(home):
            return []
        tasks = [task for _, task in task_folder.load_readable(home, projects.load_anywhere(home))[0]]
    except InvalidFile:  # the state is restored later, and the question comes then
        return []
    reads = []
    for task in tasks:
        if task["status"] not in OPEN_STATUSES:
            continue
        if "work" in task:
            reads.append(commit_reader(home.root, task["work"]["commit"]))
        folder = f"{home.sow}/local/worktrees/{worktree_name(task)}"
        if os.path.isdir(folder):
            reads.append(folder_reader(folder))
    return reads


def record_setup(folder: RunFolder, accepted: list[str]) -> None:
    """Records what the user accepted for this run."""
    if folder.run.get("accepted", []) != accepted:
        folder.run["accepted"] = accepted
        folder.save()


def forecast_setup(request: RunRequest) -> dict[str, Any] | None:
    """Returns the setup of a run for `--dry-run`: commands, consent, files to copy and outside imports."""
    if not request.is_isolated:
        return None
    setups = _setups(request)
    read = commit_reader(request.home.root, "HEAD")
    setup, imports = setup_and_outside_imports(setups, read, _commands(request.reading))
    missing = setups.missing(setup)
    consent = "refused" if setups.is_refused(setup) else "needed" if missing else "given"
    return {
        "commands": setup.texts,
        "consent": consent if setup.commands else "",
        "links": setup.links,
        "copies": setup.copies,
        "copies_proposed": setups.copies(agreed=False),
        "missing_tools": list({} if setups.is_declared else setups.proposal(read).missing_tools),
        "outside_imports": [str(outside) for outside in imports],
    }


def setup_and_outside_imports(setups: Setups, read: Read, commands: list[str]) -> tuple[Setup, list[OutsideImport]]:
    """The setup that is used or would be proposed, and the outside imports that are left with it."""
    return setups.proposed(read), setup_plan.find_outside_imports(setups, setups.wanted(read), commands)


def print_setup(facts: dict[str, Any] | None) -> None:
    """Prints the setup for `--dry-run`."""
    if facts is None:
        return
    states = {
        "given": "you agreed",
        "needed": "needs your consent",
        "refused": f"you refused it, so it is not used; {ASK_AGAIN}",
    }
    if facts["commands"]:
        out(f"each checkout would be set up with ({states[facts['consent']]}):")
        for text in facts["commands"]:
            out(f"  {escape_line(text)}")
    for name, label in (
        ("links", "linked into each checkout"),
        ("copies", "copied into each checkout"),
        ("copies_proposed", "the run would ask to copy into each checkout"),
        ("missing_tools", "a setup would need a program that is not on PATH"),
    ):
        if facts[name]:
            out(escape_line(f"{label}: {', '.join(facts[name])}"))
    for outside in facts["outside_imports"]:
        out(escape_line(f"warning: {outside}"))


def _commands(reading: LoadedPlan) -> list[str]:
    return list(dict.fromkeys(check["command"] for task in reading.plan.tasks for check in checks_of(task)))


def _require_tools(setups: Setups, read: Read, commands: list[str]) -> None:
    """Stops if a setup needs a program that is not on PATH, and the checkout or a check uses it."""
    if setups.is_declared:
        return
    named = {os.path.basename((split_words(command) or [""])[0]) for command in commands}
    for tool, file in setups.proposal(read).missing_tools.items():
        is_used = tool in named or (file != "uv.lock" and os.path.isdir(f"{setups.home.root}/node_modules"))
        if is_used:
            raise Waiting(
                f"{file} needs {tool}, which is not on PATH; {NOT_STARTED}", f"install {tool}, or {OWN_SETUP_HINT}"
            )
        err(f"note: checkouts are not set up: {file} needs {tool}, which is not on PATH")


def _ask_about_setup(setups: Setups, read: Read, request: RunRequest) -> None:
    setup = setups.wanted(read)
    if not setups.missing(setup):
        return
    if request.yes:
        setups.agree(setup.texts)
        return
    _show_setup(setup)
    answer = ask("Run this setup in each checkout? [y/N]") if is_interactive() else ""
    if answer in YES:
        setups.agree(setup.texts)
    elif answer in NO:
        setups.refuse(setup.texts)
    else:  # an empty line is no, but only a typed no is remembered
        raise Waiting(
            f"the setup of checkouts needs your consent; {NOT_STARTED}",
            f"{request.command(yes='')}\nor {OWN_SETUP_HINT}",
        )


def _show_setup(setup: Setup) -> None:
    err("Tasks are worked on and checked in checkouts of their own. Each would be set up with:")
    for text in setup.texts:
        err(f"  {escape_line(text)}")


def _ask_about_copies(setups: Setups) -> None:
    """Asks about files with local settings; they may hold secrets, so --yes does not cover them."""
    files = setups.copies(agreed=False)
    if not files:
        return
    shown = escape_line(", ".join(files))
    if not is_interactive():
        err(f"note: not copied (no interactive terminal): {shown}")
        return
    err(f"Your checkout has local files that git ignores: {shown}")
    texts = [copy_consent_text(file) for file in files]
    if confirm("Copy them into each checkout, where agents and checks can read them?"):
        setups.agree(texts)
    else:
        setups.refuse(texts)


def _accepted_before(home: Home) -> list[str]:
    """Returns the doubts that the user accepted for the run that this call continues."""
    try:
        folder = (
            run_folder.unfinished_run(home, projects.load_anywhere(home)["project_id"])
            if projects.exists(home)
            else None
        )
    except InvalidFile:
        return []
    return folder.run.get("accepted", []) if folder is not None else []


def _ask_about_imports(
    setups: Setups, read: Read, commands: list[str], imports: list[OutsideImport], request: RunRequest
) -> list[str]:
    err("Checks would import this repository's code from your checkout, not from the checkout of the task:")
    for line in setup_plan.import_lines(imports):
        err(f"  {escape_line(line)}")
    err(WHY)
    setup = setups.proposed(read)
    helps = bool(setup.commands) and not setup_plan.find_outside_imports(setups, setup, commands)
    if not is_interactive():
        accept = request.command(accept="outside-imports")
        undo = f"{NO_SETUP}\nor " if helps and setups.is_refused(setup) else ""
        raise Waiting(
            f"checks would import this repository's code from outside; {NOT_STARTED}",
            f"{undo}{OWN_SETUP_HINT}\nor accept results that are YELLOW at best: {accept}",
        )
    if helps:
        _show_setup(setup)
    offer = "(s)et up each checkout, " if helps else ""
    answer = ask(f"{offer}(a)ccept results that are YELLOW at best, or stop?")
    if helps and answer in ("s", "set up"):
        setups.agree(setup.texts)
        return []
    if answer in ("a", "accept"):
        return [ACCEPTED]
    raise Waiting(NOT_STARTED, OWN_SETUP_HINT)


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
    branch = branch_to_use(home, branch_of(reading))
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
        commands |= {command: ["setup"] for command in missing_setup(request)}
    return diffs, ask_all(request, agreed, commands)


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
            settle.give_up(record, task["status"])
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


def ask_all(request: RunRequest, agreed: Consent, commands: Iterable[str]) -> Consent:
    """Asks for consent to commands."""
    again = request.command(yes="")
    return consent.ask_consent(
        request.home,
        request.config,
        request.environment,
        agreed,
        commands,
        yes=request.yes,
        again=again,
        settings=request.settings,
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
