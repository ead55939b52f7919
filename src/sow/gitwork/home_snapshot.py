"""Takes snapshots of the user's checkout and compares them, to detect changes while a worker ran."""

from __future__ import annotations

from sow.gitwork import activity
from sow.gitwork.repository import Repository

MOST = 8


class HomeSnapshot:
    """The user's checkout, branches, tags and stash at one moment. store/git_watch.py compares the git folder."""

    __slots__ = ("branch", "files", "head", "refs")

    def __init__(self, repository: Repository) -> None:
        checkout = repository.home.checkout
        self.branch = checkout.branch()
        self.head = repository.find_commit("HEAD")
        self.files = activity.changed_files(checkout.root)
        refs = repository.refs("refs/heads/", "refs/tags/", "refs/stash")
        self.refs = {name: oid for name, oid in refs.items() if not name.startswith("refs/heads/sow/")}

    def changes_since(self, earlier: HomeSnapshot) -> list[str]:
        """List what changed since the earlier snapshot, by the user or by a worker that left its worktree."""
        changes = []
        if self.branch != earlier.branch:
            changes.append(
                f"the home checkout is on {self.branch or 'no branch'} and was on {earlier.branch or 'none'}"
            )
        if self.head != earlier.head:
            changes.append(f"the home checkout is at {self.head[:12]} and was at {earlier.head[:12]}")
        if paths := _different(self.files, earlier.files):
            changes.append(f"files of the home checkout changed: {_first_names(paths)}")
        if names := _different(self.refs, earlier.refs):
            changes.append(f"branches, tags or the stash changed: {_first_names(names)}")
        return changes


def _different(current: dict[str, str], earlier: dict[str, str]) -> list[str]:
    return sorted(name for name in current.keys() | earlier.keys() if current.get(name) != earlier.get(name))


def _first_names(names: list[str]) -> str:
    return ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")
