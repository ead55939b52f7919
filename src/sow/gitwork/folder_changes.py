"""Compares a working folder, and the user's checkout, before and after a turn, to tell what changed meanwhile."""

from __future__ import annotations

import os

from sow.domain.text.units import listed
from sow.gitwork.repository import Repository
from sow.store.files.checkout_home import Home
from sow.store.files.disk import claim_times
from sow.store.git_watch import changed_keys
from sow.system import git

# State files and aider's notes are no work. Git does not look into submodules, because it would use their settings,
# which a worker can write.
LOOK = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty", "--"]
LOOK += [".", ":(exclude).sow", ":(exclude).aider*"]

MOST = 8  # names in a remark


def folder_state(folder: str) -> str:
    """Returns the commit and every path that differs from it, with the time it was last written."""
    head = git.run(["rev-parse", "HEAD"], cwd=folder, check=False).strip()
    return "\n".join([head, *(f"{path} {facts}" for path, facts in changed_files(folder).items())])


def changed_files(folder: str) -> dict[str, str]:
    """Returns every path that differs from the commit: how it differs, and when it was last written."""
    entries = git.run(LOOK, cwd=folder, check=False).split("\0")
    return {entry[3:]: f"{entry[:2]} {_stamp(os.path.join(folder, entry[3:]))}" for entry in entries if entry}


def _stamp(path: str) -> str:
    try:
        facts = os.lstat(path)
    except OSError:
        return "gone"
    return f"{facts.st_mtime_ns} {facts.st_size}"


class FolderWatch:
    """Watches a working folder from the start of a turn: whether it changed, and who else may have changed it."""

    def __init__(self, home: Home, folder: str, task: str) -> None:
        self.home = home
        self.folder = folder
        self.task = task
        self.traces = claim_times(home.claims)
        self.held = self._held(self.traces)
        self.before = folder_state(folder)

    def changed(self) -> bool:
        """Returns whether the folder has changed."""
        return folder_state(self.folder) != self.before

    def other_tasks(self) -> list[str]:
        """Lists the other tasks that were worked on in this folder meanwhile. The changes may be theirs."""
        if self.folder != self.home.root:
            return []  # a task's own worktree
        current = claim_times(self.home.claims)
        touched = {task for task, when in current.items() if when != self.traces.get(task)}
        return sorted((touched | self.held | self._held(current)) - {self.task})

    def _held(self, tasks: dict[str, int]) -> set[str]:
        return {task for task in tasks if task != self.task and self.home.task_holder(task)}


class HomeSnapshot:
    """The user's checkout, branches, tags and stash at one moment. store/git_watch.py compares the git folder."""

    def __init__(self, repository: Repository) -> None:
        checkout = repository.home.checkout
        self.branch = checkout.branch()
        self.head = repository.find_commit("HEAD")
        self.files = changed_files(checkout.root)
        refs = repository.refs("refs/heads/", "refs/tags/", "refs/stash")
        self.refs = {name: oid for name, oid in refs.items() if not name.startswith("refs/heads/sow/")}

    def changes_since(self, earlier: HomeSnapshot) -> list[str]:
        """Lists what changed since the earlier snapshot, by the user or by a worker that left its worktree."""
        changes = []
        if self.branch != earlier.branch:
            changes.append(
                f"the home checkout is on {self.branch or 'no branch'} and was on {earlier.branch or 'none'}"
            )
        if self.head != earlier.head:
            changes.append(f"the home checkout is at {self.head[:12]} and was at {earlier.head[:12]}")
        if paths := changed_keys(self.files, earlier.files):
            changes.append(f"files of the home checkout changed: {listed(paths, MOST)}")
        if names := changed_keys(self.refs, earlier.refs):
            changes.append(f"branches, tags or the stash changed: {listed(names, MOST)}")
        return changes
