"""Lists everything that runs left in git, and makes a branch of any of it."""

from __future__ import annotations

import os

from sow.domain.ids import is_task_id
from sow.engine.pins import KEEP
from sow.engine.place import Place
from sow.engine.repository import Repository
from sow.engine.slots import is_slot
from sow.errors import SowError
from sow.store import runs
from sow.store.disk import list_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sow.store.home import Home

PIN, BRANCH, WORKTREE = "pin", "branch", "worktree"
HEADS = "refs/heads/"
TASKS = f"{HEADS}sow/task/"
INTEGRATIONS = f"{HEADS}sow/int/"
FORMAT = "--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(contents:subject)"
SHORTEST = 7  # shortest part of a commit id that can name it
JUDGE = "-review"
INTEGRATION = "integration-"


class Kept:
    """One thing that a run left in git: a pin, a branch or a worktree."""

    __slots__ = ("commit", "date", "kind", "merged", "name", "path", "ref", "run", "subject", "task")

    def __init__(self, *, kind: str, ref: str, commit: str, date: int, subject: str, path: str = "") -> None:
        self.kind = kind
        self.ref = ref
        self.commit = commit
        self.date = date  # in seconds since 1970
        self.subject = subject
        self.path = path
        self.merged: list[str] = []  # the branches that contain it
        self.run, self.task, self.name = parts_of(ref)

    @property
    def short(self) -> str:
        """The name by which a person refers to it."""
        return self.ref.removeprefix(f"{KEEP}/").removeprefix(HEADS) or self.path


def parts_of(ref: str) -> tuple[str, str, str]:
    """Return run, task and iteration from the name of one of sow's refs. For an integration, the task is empty."""
    for prefix in (f"{KEEP}/", TASKS, INTEGRATIONS):
        if ref.startswith(prefix):
            run, _, rest = ref.removeprefix(prefix).partition("/")
            task, _, name = rest.partition("/")
            return (run, task if is_task_id(task) else "", name)
    return ("", "", "")


def listed(home: Home) -> list[Kept]:
    """List the pins, branches and worktrees of all runs, newest first."""
    repository = Repository(home)
    items = [*kept_refs(repository), *_worktrees(repository)]
    _tell_merged(repository, items)
    return sorted(items, key=lambda item: (-item.date, item.ref))


def kept_refs(repository: Repository) -> list[Kept]:
    """List the pins and branches of all runs."""
    lines = repository.git("for-each-ref", FORMAT, KEEP, TASKS, INTEGRATIONS).splitlines()
    items = []
    for line in lines:
        ref, commit, date, subject = line.split("\0", 3)
        kind = PIN if ref.startswith(KEEP) else BRANCH
        items.append(Kept(kind=kind, ref=ref, commit=commit, date=int(date or 0), subject=subject))
    return items


def _worktrees(repository: Repository) -> list[Kept]:
    items = []
    for name in list_folder(f"{repository.home.sow}/local/worktrees"):
        if is_slot(name):  # a slot holds no work
            continue
        worktree = Place(repository, name)
        head = worktree.head() if os.path.isdir(worktree.path) else ""
        if head:
            date, _, subject = repository.git("log", "-1", "--no-show-signature", "--format=%ct %s", head).partition(
                " "
            )
            ref = worktree.branch()
            item = Kept(
                kind=WORKTREE, ref=ref, commit=head, date=int(date), subject=subject.strip(), path=worktree.path
            )
            task = name.removesuffix(JUDGE)
            item.task = item.task or (task if is_task_id(task) else "")
            items.append(item)
    return items


def _tell_merged(repository: Repository, items: list[Kept]) -> None:
    """Record for each item which branches contain it. Branches of workers do not count."""
    commits = {item.commit for item in items}
    works = squashed(repository) if commits else {}
    for branch in repository.refs(HEADS) if commits else ():
        if not branch.startswith(TASKS):
            unmerged = repository.outside(commits, [branch, *works_in(repository, works, [branch])])
            for item in items:
                if item.commit not in unmerged and item.ref != branch:
                    item.merged.append(branch.removeprefix(HEADS))


def squashed(repository: Repository) -> dict[str, list[str]]:
    """Return the workers' commits of all recorded merges, by the commit that the merge made."""
    works_by_merge: dict[str, list[str]] = {}
    for folder in runs.listed(repository.home):
        for merge in folder.run.get("merges", ()):
            works_by_merge.setdefault(merge["commit"], []).append(merge["work"])
    existing = set(
        repository.only_commits({*works_by_merge, *(work for works in works_by_merge.values() for work in works)})
    )
    return {
        commit: [work for work in works if work in existing]
        for commit, works in works_by_merge.items()
        if commit in existing
    }


def works_in(repository: Repository, works: dict[str, list[str]], refs: Iterable[str]) -> list[str]:
    """Return the workers' commits whose merges these refs contain. A squashed merge does not have them as ancestors."""
    unmerged = repository.outside(works, refs)
    return [work for commit, commits in works.items() if commit not in unmerged for work in commits]


def restore(home: Home, name: str, branch: str) -> Kept:
    """Make a branch of a kept item."""
    repository = Repository(home)
    matches = [item for item in listed(home) if name and _is_called(item, name)]
    if len({item.commit for item in matches}) != 1:
        problem = "stands for several things" if matches else "is nothing that a run left"
        raise SowError(f"{name!r} {problem}", "'sow salvage' lists what there is")
    if repository.attempt(["check-ref-format", "--branch", branch]).code or branch.startswith(
        ("sow/task/", "sow/int/")
    ):
        raise SowError(f"{branch!r} cannot be the name of a branch", "choose another name, such as salvaged/login")
    if repository.find(f"{HEADS}{branch}"):
        raise SowError(f"there is a branch {branch} already", "choose another name")
    commit = matches[0].commit
    repository.git("update-ref", "-m", "sow: salvaged", f"{HEADS}{branch}", commit, "0" * len(commit))
    return matches[0]


def _is_called(item: Kept, name: str) -> bool:
    return name in (item.ref, item.short) or (len(name) >= SHORTEST and item.commit.startswith(name))
