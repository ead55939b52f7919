"""Pushes a branch to the forge without sow's state files, and takes in what people pushed to it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from sow.domain.documents.state import RunDelivery
from sow.domain.text.units import listed
from sow.errors import SystemFailure, Waiting
from sow.forge.api import clean
from sow.forge.connect import hide_password
from sow.gitwork.integration_branch import Delivered, fast_forward, merge_commits, with_state_of
from sow.gitwork.repository import Repository
from sow.store.state_commit import PROJECT, WORKFLOWS
from sow.system.git import GitResult

PINS = "refs/sow/delivered"
HEADS = "refs/heads/"
AGAIN = "run the same command again"
# The remote's answers, in lower case, to a push that only a person can make possible.
PROTECTED = ("protected branch", "gh006", "gh013", "hook declined", "not allowed to push")
NO_RIGHT = ("permission to", "permission denied", "error: 403", "not allowed to upload", "access denied")
BEHIND = ("fetch first", "non-fast-forward", "cannot lock ref", "stale info")
MARKS = ("remote: error:", "! [", "fatal:", "error:", "remote:")  # of git's lines, the one that says most first


class BranchMoved(SystemFailure):
    """The branch on the forge has other commits now; nothing was overwritten."""


@dataclass(frozen=True)
class DeliveredBranch:
    """A branch on the forge that shows a branch of the user without sow's state files."""

    repository: Repository
    address: str  # a remote's name or a URL
    name: str
    environment: Mapping[str, str]

    def heads(self, *branches: str) -> dict[str, str]:
        """Returns the commits of branches on the remote, by name; a branch that does not exist is missing."""
        refs = [f"{HEADS}{branch}" for branch in branches]
        done = self._ask(["ls-remote", "--", self.address, *refs])
        pairs = (line.split("\t") for line in done.out.splitlines())
        return {ref.removeprefix(HEADS): commit for commit, ref in pairs if ref in refs}

    def fetch(self, branch: str, commit: str) -> None:
        """Fetches a branch of the remote whose head is this commit. No branch or tag of the user moves."""
        if self.repository.find_commit(commit):
            return
        options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--refmap=", "--no-recurse-submodules"]
        self._ask(["fetch", *options, "--", self.address, f"{HEADS}{branch}"])
        if not self.repository.find_commit(commit):
            raise BranchMoved(f"{branch} moved on the forge while it was read", AGAIN)

    def contains(self, commit: str, *heads: str) -> bool:
        """Tells whether one of our commits has a commit of the remote, which may be unknown here."""
        exists = bool(self.repository.find_commit(commit))
        return exists and any(self.repository.is_ancestor(commit, head) for head in heads if head)

    def commit_to_push(self, source: str, pushed: str) -> str:
        """Returns a commit with the tree of `source` without state files, which contains `source` and what was pushed.

        If only state files changed since then, it is the commit that was pushed.
        """
        repository = self.repository
        with repository.locked():
            paths = state_paths(repository, source)
            plain = with_state_of(repository, source, "", paths=paths, message=f"Deliver {self.name}")
            if not pushed or repository.is_ancestor(pushed, plain):
                return plain
            tree = repository.tree_of(plain)
            if tree == repository.tree_of(pushed):
                return pushed
            return repository.commit_tree(tree, [pushed, source], f"Update {self.name}")

    def push(self, commit: str) -> None:
        """Pushes a commit to the branch. Git refuses if that would lose a commit there."""
        target = f"{commit}:{HEADS}{self.name}"
        done = self.repository.run_git(["push", "--porcelain", "--no-follow-tags", "--", self.address, target])
        if not done.code:
            return
        text = clean(f"{done.out}\n{done.err}", self.environment)
        reason, lower = _reason(text), text.lower()
        command = shlex.join(["git", "push", self._shown_address(), target])
        if any(words in lower for words in BEHIND):
            raise BranchMoved(f"{self.name} has new commits on the forge", f"{AGAIN}: it takes them in")
        if "workflow" in lower and "scope" in lower:
            hint = "gh auth refresh --scopes workflow, or push over ssh"
            raise Waiting("your login may not push changes of .github/workflows", hint)
        if any(words in lower for words in PROTECTED):
            raise Waiting(f"the forge protects {self.name}: {reason}", f"let somebody push who may: {command}")
        if any(words in lower for words in NO_RIGHT):
            raise Waiting(f"you may not push to {self.name}: {reason}", f"let somebody push who may: {command}")
        raise SystemFailure(f"git push failed: {reason}", f"see why: {command}")

    def pin(self, name: str, commit: str) -> str:
        """Keeps a commit, even if the branch on the forge is deleted; returns the ref."""
        self.repository.set_ref(f"{PINS}/{name}", commit, why="delivered")
        return f"{PINS}/{name}"

    def take_in(self, branch: str, theirs: str) -> list[str]:
        """Merges what others pushed into the user's branch, which keeps its state files; returns the changed paths."""
        repository = self.repository
        with repository.locked():
            ours = repository.commit_of(f"{HEADS}{branch}")
            # Their branch has no state files. A merge would take that for a removal.
            paths = state_paths(repository, ours)
            with_state = with_state_of(repository, theirs, ours, paths=paths, message=f"Pushed to {self.name}")
            tree, conflicts, _ = merge_commits(repository, ours, with_state)
            if conflicts:
                ref = self.pin(f"theirs-{theirs[:12]}", with_state)
                raise Waiting(
                    f"what was pushed to {self.name} conflicts with your branch in {listed(conflicts, 5)}",
                    f"sow project save && git merge {ref}, resolve and commit what conflicts, then {AGAIN}",
                )
            target = with_state
            if not repository.is_ancestor(ours, with_state):
                message = f"Merge what was pushed to {self.name}"
                target = repository.commit_tree(tree, [ours, with_state], message)
            moved = fast_forward(repository, branch, target)
        if isinstance(moved, Delivered):
            return moved.paths
        reason = moved.reason.replace("the run changes", "the pushed commits change")
        raise Waiting(reason, moved.hint.replace("'sow integrate'", AGAIN))

    def _shown_address(self) -> str:
        """Returns the address without a password."""
        return hide_password(self.address) if self.address.startswith("http") else self.address

    def _ask(self, arguments: list[str]) -> GitResult:
        done = self.repository.run_git(arguments)
        if done.code:
            reason = _reason(clean(f"{done.out}\n{done.err}", self.environment))
            raise SystemFailure(
                f"the remote cannot be read: {reason}", f"git ls-remote {shlex.quote(self._shown_address())}"
            )
        return done


def is_merged(repository: Repository, delivery: RunDelivery) -> bool:
    """Tells whether a request is merged, as far as this checkout knows: from sow, or from the base as last fetched."""
    if delivery["state"] != "open":
        return delivery["state"] == "merged"
    head = repository.find_commit(delivery.get("head") or "")
    base = repository.find_commit(f"refs/remotes/{delivery['remote']}/{delivery['base']}")
    if not head or not base or repository.is_ancestor(head, base):
        return bool(head and base)
    if repository.is_ancestor(base, head):
        return False
    tree, conflicts, _ = merge_commits(repository, base, head)  # a squash or a rebase has other commits
    return not conflicts and tree == repository.tree_of(base)


def state_paths(repository: Repository, commit: str) -> tuple[str, ...]:
    """Returns the folders of a commit that have sow's state; another tool may have a folder named orchestration."""
    is_workflow = any(repository.tree_entries(commit, path) for path in WORKFLOWS)
    return (PROJECT, "orchestration") if is_workflow else (PROJECT,)


def _reason(text: str) -> str:
    """Returns the line of git's messages that says why it failed."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["git gave no reason"]
    return next((line for mark in MARKS for line in lines if line.startswith(mark)), lines[-1])[:300]
