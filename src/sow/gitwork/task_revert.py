"""Undoes the merges of a task on the user's branch with one revert commit."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sow.gitwork.integration_branch import TRAILER, Merge, parse_merge_tree
from sow.gitwork.repository import Repository
from sow.system import git

REVERT = "Sow-Revert"
BY_HAND = "This reverts commit "  # the text that `git revert` writes


def merged_commits(
    repository: Repository, task: str, *, since: str, recorded: Collection[str]
) -> tuple[list[str], str]:
    """Return the task's merges on HEAD that are not reverted, newest first, and a commit that shows a revert.

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


def revert(repository: Repository, merges: Sequence[str], message: str) -> Merge:
    """Return a commit on HEAD that undoes these merges, the newest first, or the conflict; moves nothing.

    In a conflict, the parent is the merge that cannot be undone.
    """
    head = repository.commit_of("HEAD")
    tree = repository.tree_of(head)
    for commit in merges:
        base = repository.commit_tree(repository.tree_of(commit), [], "Merged")
        ours = repository.commit_tree(tree, [base], "Now")
        theirs = repository.commit_tree(repository.tree_of(repository.parents(commit)[0]), [base], "Before")
        arguments = ["merge-tree", "--write-tree", "-z", "--messages", ours, theirs]
        done = repository.run_git(arguments)
        if done.code not in (0, 1):
            raise git.failure(arguments, done)
        tree, conflicts, _ = parse_merge_tree(done.out)
        if done.code:
            return Merge(conflicts=conflicts, parent=commit)
    if tree == repository.tree_of(head):
        return Merge(commit=head, tree=tree, parent=head)
    return Merge(commit=repository.commit_tree(tree, [head], message), tree=tree, parent=head)
