"""Takes a task's merged work out of the user's branch and reopens the task."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sow.domain.documents.state import ProjectState, RunDelivery, Task
from sow.domain.task import Actor
from sow.domain.text.units import listed
from sow.errors import SowError, Waiting
from sow.gitwork.integration_branch import TRAILER, Integration, Merge, fast_forward, merge_changes
from sow.gitwork.repository import DeliveryRefused, Repository
from sow.store.files.checkout_home import Home
from sow.store.projects import acceptance, task_folder
from sow.store.projects import project as projects
from sow.store.runs import run_folder

REVERT = "Sow-Revert"
BY_HAND = "This reverts commit "  # the text that `git revert` writes


def revert(home: Home, ident: str, reason: str, *, actor: Actor) -> tuple[Task, str, list[str]]:
    """Undoes the merges of a completed task and reopens it; returns the task, the commit, and the tasks that need it.

    The commit comes first, then the branch of an unfinished run, then the task's state. After a crash the same call
    finds the commit and does the rest.
    """
    project = projects.load(home)
    tasks = [task for _, task in task_folder.load_readable(home, project)[0]]
    task = task_folder.find(home, project, ident).task()
    if task["status"] != "completed":
        raise SowError(
            f"task {ident} is {task['status']}: only completed work can be reverted", f"sow task show {ident}"
        )
    repository = Repository(home)
    _refuse_merged_request(repository, project, ident)
    with repository.locked():
        commit = _revert(repository, project, task, reason)
    changed = acceptance.reopen(home, ident, reason, actor=actor)
    dependents = [task["id"] for task in tasks if ident in task["depends_on"] and task["status"] != "abandoned"]
    return changed, commit, dependents


def _refuse_merged_request(repository: Repository, project: ProjectState, ident: str) -> None:
    """Refuses if the forge merged the task's work as other commits, which hold the work of all tasks."""
    for folder in run_folder.all_folders(repository.home):
        delivery = folder.run.get("delivery")
        if folder.run["project_id"] != project["project_id"] or delivery is None or delivery["state"] != "merged":
            continue
        if delivery.get("method") == "merge" or not _has_work(repository, delivery, ident):
            continue
        number, base, commit = delivery.get("number", 0), delivery["base"], delivery.get("merge_commit", "")[:12]
        by_hand = f", or on {base}: git revert {commit}" if delivery.get("method") == "squash" else ""
        raise SowError(
            f"the work of task {ident} was merged into {base} with request {number}, together with that of all its "
            "tasks: only the whole request can be reverted",
            f"revert it at {delivery.get('url', base)}{by_hand}",
        )


def _has_work(repository: Repository, delivery: RunDelivery, ident: str) -> bool:
    """Tells whether a delivered commit has a recorded merge of a task."""
    merges = [merge for folder in run_folder.all_folders(repository.home) for merge in folder.run.get("merges", ())]
    commits = repository.only_commits(merge["commit"] for merge in merges if merge["task"] == ident)
    heads = {delivery.get("merged_head", ""), delivery.get("head", "")} - {""}
    known = repository.only_commits(heads)
    return any(repository.is_ancestor(commit, head) for commit in commits for head in known)


def _revert(repository: Repository, project: ProjectState, task: Task, reason: str) -> str:
    """Puts a revert commit on the user's branch, unless it is there, and on the branch of an unfinished run."""
    ident, branch = task["id"], project["branch"]
    folders = run_folder.all_folders(repository.home)
    runs = [folder.run for folder in folders if folder.run["project_id"] == project["project_id"]]
    recorded = {merge["commit"] for run in runs for merge in run.get("merges", ()) if merge["task"] == ident}
    merges, last = _merged_commits(repository, ident, since=project["created_at"], recorded=recorded)
    if not merges and not last:
        raise SowError(
            f"no commit of task {ident} is on {branch}",
            "'sow integrate' brings merged work there; undo work of your own with git revert",
        )
    target = repository.commit_of("HEAD")
    if merges:
        made = _undo(repository, merges, _message(task, merges, reason))
        if made.conflicts:
            raise _conflict(ident, made)
        target = made.commit
    integration = _unfinished(repository, project)
    tried = integration.merge_user_commits(target) if integration is not None else None
    if integration is not None and tried is not None and tried.conflicts:
        raise Waiting(
            f"the revert conflicts with undelivered work of run {integration.run}: {tried.conflicts[0]}",
            f'finish that run first, then: sow revert {ident} --reason "…"',
        )
    moved = fast_forward(repository, branch, target)
    if isinstance(moved, DeliveryRefused):
        again = f"'sow revert {ident} --reason \"…\"'"
        raise Waiting(
            moved.reason.replace("the run changes", "the revert changes"), moved.hint.replace("'sow integrate'", again)
        )
    if integration is not None and tried is not None:
        integration.advance(tried.commit, integration.head)
    return target


def _merged_commits(
    repository: Repository, task: str, *, since: str, recorded: Collection[str]
) -> tuple[list[str], str]:
    """Returns the task's merges on HEAD that are not reverted, newest first, and a commit that shows a revert.

    The commits that a run recorded count. Where none of them is there, as in a clone or after a rebase, the trailers
    of the commits since the project began count.
    """
    output = repository.git("rev-list", "--topo-order", f"--since={since}", "--format=%B%x00", "HEAD")
    merges: list[str] = []
    reverted: set[str] = set()
    last = ""
    for entry in output.split("\0"):
        header, _, body = entry.strip().partition("\n")
        commit, lines = header.removeprefix("commit "), body.splitlines() or [""]
        if any(line.startswith(f"{REVERT}: {task}/") for line in lines):
            last = commit
            break
        for line in lines:
            if line.startswith(BY_HAND):
                reverted.add(line.removeprefix(BY_HAND).rstrip(".").split(",")[0])
        if commit in recorded or lines[-1].startswith(f"{TRAILER}: {task}/"):
            last = commit if commit in reverted else last
            merges += [commit] if commit not in reverted else []
    return [commit for commit in merges if commit in recorded] or merges, last


def _undo(repository: Repository, merges: Sequence[str], message: str) -> Merge:
    """Returns a commit on HEAD that undoes these merges, the newest first, or the conflict; moves nothing.

    In a conflict, the parent is the merge that cannot be undone.
    """
    head = repository.commit_of("HEAD")
    tree = repository.tree_of(head)
    for commit in merges:
        before = repository.tree_of(repository.parents(commit)[0])
        tree, conflicts, _ = merge_changes(repository, base=repository.tree_of(commit), ours=tree, theirs=before)
        if conflicts:
            return Merge(conflicts=conflicts, parent=commit)
    if tree == repository.tree_of(head):
        return Merge(commit=head, tree=tree, parent=head)
    return Merge(commit=repository.commit_tree(tree, [head], message), tree=tree, parent=head)


def _message(task: Task, merges: list[str], reason: str) -> str:
    lines = "\n".join(f"{BY_HAND}{commit}." for commit in merges)
    trailer = f"{REVERT}: {task['id']}/{task['iteration']}"
    return f'Revert "{task["name"]}"\n\n{reason}\n\n{lines}\n\n{trailer}'


def _conflict(ident: str, made: Merge) -> SowError:
    return Waiting(
        f"later commits changed what task {ident} did, so it cannot be undone alone: {listed(made.conflicts, 5)}",
        f"revert the tasks that build on it first, or undo it by hand: git revert {made.parent[:12]},\n"
        f'resolve and commit, then reopen the task: sow revert {ident} --reason "…"',
    )


def _unfinished(repository: Repository, project: ProjectState) -> Integration | None:
    """Returns the integration branch of the run that the next `sow run` continues, if it has one."""
    folder = run_folder.unfinished_run(repository.home, project["project_id"])
    if folder is None or "head" not in folder.run:
        return None
    integration = Integration(repository, folder)
    integration.begin(folder.run["base"])
    return integration
