"""Refuses a run in one folder if a task has work in its worktree or on its branch, which the run would not see."""

from __future__ import annotations

from collections.abc import Sequence

from sow.domain.documents.state import Task
from sow.domain.task import ENDED_STATUSES, worktree_name
from sow.domain.text.units import listed
from sow.errors import SowError
from sow.gitwork.repository import Repository
from sow.gitwork.slots import setup_paths
from sow.gitwork.worktree import Worktree
from sow.store.files.checkout_home import Home
from sow.system import git

BRANCHES = "refs/heads/sow/task"
INTEGRATIONS = "refs/heads/sow/int/"
NO_WORK = ("pending", *ENDED_STATUSES)
SHOWN = 5


def refuse_work_elsewhere(home: Home, tasks: Sequence[Task], command: str) -> None:
    """Refuses a run in one folder if its tasks have work elsewhere. `command` continues that work."""
    begun = [task for task in tasks if task["status"] not in NO_WORK]
    if not begun:
        return
    repository = Repository(home)
    with repository.locked():
        undelivered = {task["id"]: task for task in begun if _has_work_elsewhere(repository, task)}
    if not undelivered:
        return
    single, first = len(undelivered) == 1, next(iter(undelivered))
    task_list = listed(list(undelivered), SHOWN)
    subject = (
        f"task {task_list} has work in its worktree" if single else f"tasks {task_list} have work in their worktrees"
    )
    raise SowError(
        f"{subject}, and a run in one folder would judge without it",
        f"continue it in its worktree: {command}\n"
        f"or bring it here: {_merge_command(repository, undelivered[first])}\n"
        f'or abandon it: sow task abandon {first} --reason "…"',
    )


def _has_work_elsewhere(repository: Repository, task: Task) -> bool:
    head = repository.commit_of("HEAD")
    if repository.not_contained_in(repository.only_commits(_collected(task)), [head]):
        return True
    worktree = Worktree(repository, worktree_name(task))
    if worktree.is_ready and (
        git.unfinished_operations(worktree.git_dir) or worktree.dirty_paths(setup_paths(worktree))
    ):
        return True
    heads = [worktree.head()] if worktree.is_ready else list(_branches(repository, task["id"]).values())
    # A task's work starts from an integration branch, so commits of other tasks are on its branch too.
    return bool(repository.not_contained_in(heads, [head, *repository.refs(INTEGRATIONS).values()]))


def _collected(task: Task) -> list[str]:
    """Returns the commit of this iteration's work, if it changed anything."""
    work = task.get("work")
    if work is None or work["iteration"] != task["iteration"] or work["commit"] == work["base"]:
        return []
    return [work["commit"]]


def _branches(repository: Repository, task: str) -> dict[str, str]:
    return repository.refs(f"{BRANCHES}/*/{task}")


def _merge_command(repository: Repository, task: Task) -> str:
    worktree, branches = Worktree(repository, worktree_name(task)), _branches(repository, task["id"])
    ref = (worktree.branch() if worktree.is_ready else "") or max(branches, default="")
    name = ref.removeprefix("refs/heads/") or "".join(_collected(task))
    preparation = (
        f"commit what is open in .sow/local/worktrees/{worktree_name(task)}, then " if worktree.is_ready else ""
    )
    return f"{preparation}git merge {name}"
