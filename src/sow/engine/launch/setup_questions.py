"""Asks how checkouts are set up, and whether checks may import code from the user's checkout."""

from __future__ import annotations

import os
from typing import Any

from sow.domain.checks.task_checks import ASK_AGAIN, NO_SETUP, REFUSED_SETUP
from sow.domain.plans.command_line import split_words
from sow.domain.plans.plan import checks_of
from sow.domain.task import OPEN_STATUSES, worktree_name
from sow.engine.checks import outside_imports
from sow.engine.checks.outside_imports import ACCEPTED, WHY, OutsideImport
from sow.engine.checks.setup_detection import Read
from sow.engine.checks.setup_plan import Setup, Setups, commit_reader, copy_consent_text, folder_reader
from sow.engine.launch.loaded_plan import LoadedPlan
from sow.engine.launch.run_request import RunRequest
from sow.errors import InvalidFile, Waiting
from sow.store.files.checkout_home import Home
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.runs import run_folder
from sow.store.runs.run_folder import RunFolder
from sow.system.terminal import NO, YES, ask, confirm, err, escape_line, is_interactive, out

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
    imports = outside_imports.find(setups, setups.setup_for(read), commands)
    return _ask_about_imports(setups, read, commands, imports, request) if imports else []


def missing(request: RunRequest) -> list[str]:
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


def record(folder: RunFolder, accepted: list[str]) -> None:
    """Records what the user accepted for this run."""
    if folder.run.get("accepted", []) != accepted:
        folder.run["accepted"] = accepted
        folder.save()


def forecast(request: RunRequest) -> dict[str, Any] | None:
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
    return setups.proposed(read), outside_imports.find(setups, setups.wanted(read), commands)


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
    for line in outside_imports.import_lines(imports):
        err(f"  {escape_line(line)}")
    err(WHY)
    setup = setups.proposed(read)
    helps = bool(setup.commands) and not outside_imports.find(setups, setup, commands)
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
