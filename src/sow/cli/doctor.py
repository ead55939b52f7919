"""Checks the machine, the repository, the project and the agent CLIs (`sow doctor`)."""

from __future__ import annotations

from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.spec import Command, Option
from sow.domain.advice import END_LEFT
from sow.domain.task import ENDED_STATUSES
from sow.engine.idle import look
from sow.engine.standpoint import Standpoint
from sow.errors import SowError
from sow.store import desk as desks
from sow.store import project as projects
from sow.store.health import examine
from sow.system.terminal import harmless_line, out, paint

MARKS = {"ok": ("✓", "green"), "warning": ("⚠", "yellow"), "problem": ("✗", "red")}


def doctor(context: Context, *, undo_git_changes: bool, keep_git_changes: bool, yes: bool, json: bool) -> int:
    if undo_git_changes or keep_git_changes:
        return _settle_git(context, keep=keep_git_changes, undo=undo_git_changes, yes=yes)
    from sow.cli.doctor_executors import examine_executors
    from sow.cli.doctor_layers import examine_layers
    from sow.cli.doctor_setup import examine_setup

    findings = examine(context.home, context.cwd)
    findings += examine_layers(context)
    findings += examine_setup(context)
    findings += _idle(context)
    findings += _leftovers(context)
    executor_findings, executors = examine_executors(context)
    findings += executor_findings
    problems = sum(finding["state"] == "problem" for finding in findings)
    warnings = sum(finding["state"] == "warning" for finding in findings)
    if json:
        emit({"healthy": not problems, "findings": findings, "executors": executors})
        return 1 if problems else 0
    for finding in findings:
        mark, colour = MARKS[finding["state"]]
        out(f"{paint(mark, colour)} {harmless_line(finding['what'])}")
        if finding["hint"]:
            out(f"    {harmless_line(finding['hint'])}")
    out(f"\n{problems} problem{'' if problems == 1 else 's'}, {warnings} warning{'' if warnings == 1 else 's'}")
    return 1 if problems else 0


def _settle_git(context: Context, *, keep: bool, undo: bool, yes: bool) -> int:
    """Keeps or undoes the changes that appeared in the git folder while workers ran."""
    from sow.cli import git_changes

    if keep and undo:
        raise SowError("--undo-git-changes and --keep-git-changes exclude each other", "give one of them")
    context.judge("decide on changes in the git folder")
    home = context.home()
    home.refuse_while_run()
    return git_changes.keep(home, yes=yes) if keep else git_changes.undo(home, yes=yes)


def _idle(context: Context) -> list[dict[str, str]]:
    """Finds tasks in progress without a worker; an unreadable project is reported elsewhere."""
    try:
        home = context.home()
        readable, _ = desks.load_all(home, projects.load(home))
    except SowError:
        return []
    unsupervised, idle = look(readable, Standpoint(context.environment, context.cwd))
    messages = [
        (f"an earlier turn on task {task} still runs, and nobody supervises it", f"end it: {END_LEFT}")
        for task in unsupervised
    ]
    messages += [
        (f"task {task} is in progress, and nobody works on it", f"go on: {command}") for task, command in idle.items()
    ]
    return [{"state": "warning", "what": message, "hint": hint} for message, hint in messages]


def _leftovers(context: Context) -> list[dict[str, str]]:
    """Finds worktrees of ended tasks that a killed run left; a live run removes its own."""
    from sow.engine.pruning import leftovers

    try:
        home = context.home()
        readable, _ = desks.load_all(home, projects.load(home))
    except SowError:
        return []
    statuses = {task["id"]: task["status"] for _, task in readable if task["status"] in ENDED_STATUSES}
    worktrees = leftovers(home, statuses) if home.claimant("run") is None else []
    findings = []
    for name in worktrees:
        task = name.partition("-")[0]
        message = f".sow/local/worktrees/{name} is left over: task {task} is {statuses[task]}"
        findings.append({"state": "warning", "what": message, "hint": "remove it: sow salvage prune --older-than 0s"})
    return findings


COMMANDS = (
    Command(
        "doctor",
        doctor,
        "Check the machine, the repository, every state file, your settings and the agent CLIs",
        options=(
            Option("--undo-git-changes", help="Undo what appeared in the git folder while workers ran"),
            Option("--keep-git-changes", help="Keep what appeared there, and let sow use it"),
            Option("--yes", help="Do not ask"),
        ),
        json=True,
        details="It says how the checkouts of checks are set up, and whether a check would import code from your own\n"
        "checkout instead (docs/running.md).\n"
        "An agent CLI that is bound or configured is asked for its version and its flags once; the answer is\n"
        "kept in ~/.cache/sow/probes.json until the program changes.",
    ),
)
