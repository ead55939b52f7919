"""A look at the home from outside: two looks tell what somebody changed there while a worker should not have."""

from __future__ import annotations

from sow.engine import evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.engine.repository import Repository

MOST = 8


class HomeLook:
    """The user's checkout, branches, tags and stash at one moment; store/git_watch.py compares the git folder."""

    __slots__ = ("branch", "files", "head", "refs")

    def __init__(self, repository: Repository) -> None:
        checkout = repository.home.checkout
        self.branch = checkout.branch()
        self.head = repository.find("HEAD")
        self.files = evidence.files(checkout.root)
        refs = repository.refs("refs/heads/", "refs/tags/", "refs/stash")
        self.refs = {name: oid for name, oid in refs.items() if not name.startswith("refs/heads/sow/")}

    def changes_since(self, before: HomeLook) -> list[str]:
        """What is different from before: by a worker that left its worktree, or by the user."""
        found = []
        if self.branch != before.branch:
            found.append(f"the home checkout is on {self.branch or 'no branch'} and was on {before.branch or 'none'}")
        if self.head != before.head:
            found.append(f"the home checkout is at {self.head[:12]} and was at {before.head[:12]}")
        if paths := _different(self.files, before.files):
            found.append(f"files of the home checkout changed: {_some(paths)}")
        if names := _different(self.refs, before.refs):
            found.append(f"branches, tags or the stash changed: {_some(names)}")
        return found


def _different(now: dict[str, str], before: dict[str, str]) -> list[str]:
    return sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))


def _some(names: list[str]) -> str:
    return ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")
