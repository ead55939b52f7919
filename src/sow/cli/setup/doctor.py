"""Checks the machine, the repository, the project and the agent CLIs (`sow doctor`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from sow.agents.layer import LAYERS, layer
from sow.cli.command import Command, Option
from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.progress import Progress
from sow.domain.health_finding import Finding, new_finding, of_error
from sow.domain.inbox import STOP_COMMAND
from sow.domain.task import unused_worktrees
from sow.domain.text.units import counted
from sow.errors import SowError
from sow.reports.idle_tasks import ProjectRuns, idle_tasks
from sow.store.health import check_all
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.user import installed_layer
from sow.store.user.installed_layer import FOREIGN, SAME, InstallTarget
from sow.system.terminal import escape_line, out, paint

MARKS = {"ok": ("✓", "green"), "warning": ("⚠", "yellow"), "problem": ("✗", "red")}


def doctor(context: Context, *, undo_git_changes: bool, keep_git_changes: bool, yes: bool, json: bool) -> int:
    if undo_git_changes or keep_git_changes:
        return _settle_git(context, keep=keep_git_changes, undo=undo_git_changes, yes=yes)
    from sow.cli.setup.doctor_executors import examine_executors
    from sow.cli.setup.doctor_hosts import examine_hosts
    from sow.cli.setup.doctor_setup import examine_forge, examine_sandbox, examine_setup

    with Progress("Checking the repository and the agent CLIs"):
        findings = check_all(context.project_home, context.cwd)
        findings += examine_layers(context)
        findings += examine_sandbox(context)
        findings += examine_setup(context)
        findings += examine_forge(context)
        findings += examine_hosts(context)
        findings += _examine_tasks(context)
        executor_findings, executors = examine_executors(context)
        findings += executor_findings
        findings = list({finding["what"]: finding for finding in reversed(findings)}.values())[::-1]  # each once
    problems = sum(finding["state"] == "problem" for finding in findings)
    warnings = sum(finding["state"] == "warning" for finding in findings)
    if json:
        emit({"healthy": not problems, "findings": findings, "executors": executors})
        return 1 if problems else 0
    for finding in findings:
        mark, colour = MARKS[finding["state"]]
        out(f"{paint(mark, colour)} {escape_line(finding['what'])}")
        for line in finding["hint"].splitlines():
            out(f"    {escape_line(line)}")
    out(f"\n{counted(problems, 'problem')}, {counted(warnings, 'warning')}")
    return 1 if problems else 0


def _settle_git(context: Context, *, keep: bool, undo: bool, yes: bool) -> int:
    """Keeps or undoes the changes that appeared in the git folder while workers ran."""
    from sow.engine.launch import preflight

    if keep and undo:
        raise SowError("--undo-git-changes and --keep-git-changes exclude each other", "use one of them")
    context.require_non_worker("decide on changes in the git folder")
    home = context.project_home()
    home.refuse_second_run()
    return preflight.keep_git_changes(home, yes=yes) if keep else preflight.undo_git_changes(home, yes=yes)


def _examine_tasks(context: Context) -> Iterator[Finding]:
    """Finds tasks in progress without a worker, and worktrees of ended tasks that a killed run left.

    An unreadable project is reported elsewhere, and a live run removes its own worktrees.
    """
    from sow.gitwork.prune import leftover_worktrees

    try:
        home = context.project_home()
        readable, _ = task_folder.load_readable(home, projects.load(home))
    except SowError:
        return
    unsupervised, idle = idle_tasks(readable, ProjectRuns(home, context.hints()))
    for task in unsupervised:
        message = f"an earlier turn on task {task} is still running, unsupervised"
        yield new_finding("warning", message, f"stop it: {STOP_COMMAND}")
    for task, command in idle.items():
        yield new_finding("warning", f"task {task} is in progress, but no worker is on it", f"continue it: {command}")
    ended = unused_worktrees(task for _, task in readable)
    for name in leftover_worktrees(home, ended) if home.claim_holder("run") is None else ():
        task = name.partition("-")[0]
        message = f".sow/local/worktrees/{name} is left over from task {task}, which is {ended[task]['status']}"
        yield new_finding("warning", message, "remove it: sow salvage prune --older-than 0s")


COMMANDS = (
    Command(
        "doctor",
        doctor,
        "Check the machine, the repository, settings and agent CLIs",
        Option("--undo-git-changes", help="Undo changes that appeared in .git while workers ran"),
        Option("--keep-git-changes", help="Keep those changes, and let sow use them"),
        Option("--yes", help="Do not ask for confirmation"),
        json=True,
        details="Shows how checkouts are set up, and warns if a check would import code from your own checkout.\n"
        "Asks each agent CLI for its version and flags, and keeps the answer in ~/.cache/sow/probes.json.\n"
        "With settings of a cluster or of a host, these are checked too.",
    ),
)


def examine_layers(context: Context) -> list[Finding]:
    """Returns a finding for each layer installed in this repository or in the user's home."""
    targets = []
    with suppress(SowError):  # outside of a repository; reported elsewhere
        targets.append(InstallTarget(context.checkout().root, user=False))
    home = context.environment.get("HOME", "")
    if home.startswith("/"):
        targets.append(InstallTarget(home, user=True))
    return [finding for target in targets for name in LAYERS for finding in _findings(target, name)]


def _findings(target: InstallTarget, name: str) -> list[Finding]:
    scope = "in your home" if target.is_home else "here"
    command = f"sow install {name}{' --user' if target.is_home else ''}"
    try:
        if not installed_layer.plan_steps(target, layer(name, user=target.is_home), remove=True):
            return []
        steps = installed_layer.plan_steps(target, layer(name, user=target.is_home), remove=False)
    except SowError as error:
        return [of_error("warning", error)]
    if all(step.action in (SAME, FOREIGN) for step in steps):
        return [new_finding("ok", f"the execution layer for {name} {scope} is current")]
    message = f"the execution layer for {name} {scope} is not current"
    return [new_finding("warning", message, f"update it: {command} (see the changes first with --dry-run)")]
