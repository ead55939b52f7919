"""Lists the files of sow that a worker must not write, as patterns for the rules of its CLI."""

from __future__ import annotations

import os

from sow.domain.inputs import WIDTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sow.store.files.checkout_home import Home
    from sow.store.projects.task_folder import TaskFolder
    from sow.store.workflows.folder import AgentFolder

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
