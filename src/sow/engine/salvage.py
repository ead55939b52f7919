"""Salvage: everything that runs ever produced, to look at, to bring back, and at last to let go."""

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
SHORTEST = 7  # digits of a commit's id that may stand for it
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
        """The name by which a person calls it."""
        return self.ref.removeprefix(f"{KEEP}/").removeprefix(HEADS) or self.path


def parts_of(ref: str) -> tuple[str, str, str]:
    """Run, task and iteration in the name of a ref of ours; the task of an integration is empty."""
    for prefix in (f"{KEEP}/", TASKS, INTEGRATIONS):
        if ref.startswith(prefix):
            run, _, rest = ref.removeprefix(prefix).partition("/")
            task, _, name = rest.partition("/")
            return (run, task if is_task_id(task) else "", name)
    return ("", "", "")


def listed(home: Home) -> list[Kept]:
    """Everything that runs ever produced: pins, branches and worktrees, the newest first."""
    repository = Repository(home)
    found = [*kept_refs(repository), *_worktrees(repository)]
    _tell_merged(repository, found)
    return sorted(found, key=lambda each: (-each.date, each.ref))


def kept_refs(repository: Repository) -> list[Kept]:
    """The pins and branches of all runs."""
    lines = repository.git("for-each-ref", FORMAT, KEEP, TASKS, INTEGRATIONS).splitlines()
    found = []
    for line in lines:
        ref, commit, date, subject = line.split("\0", 3)
        kind = PIN if ref.startswith(KEEP) else BRANCH
        found.append(Kept(kind=kind, ref=ref, commit=commit, date=int(date or 0), subject=subject))
    return found


def _worktrees(repository: Repository) -> list[Kept]:
    found = []
    for name in list_folder(f"{repository.home.sow}/local/worktrees"):
        if is_slot(name):  # it holds no work
            continue
        place = Place(repository, name)
        head = place.head() if os.path.isdir(place.path) else ""
        if head:
            date, _, subject = repository.git("log", "-1", "--no-show-signature", "--format=%ct %s", head).partition(
                " "
            )
            ref = place.branch()
            told = Kept(kind=WORKTREE, ref=ref, commit=head, date=int(date), subject=subject.strip(), path=place.path)
            task = name.removesuffix(JUDGE)
            told.task = told.task or (task if is_task_id(task) else "")
            found.append(told)
    return found


def _tell_merged(repository: Repository, found: list[Kept]) -> None:
    """Say of each in which branches it is contained; a worker's own branch does not count."""
    commits = {each.commit for each in found}
    works = squashed(repository) if commits else {}
    for branch in repository.refs(HEADS) if commits else ():
        if not branch.startswith(TASKS):
            free = repository.outside(commits, [branch, *works_in(repository, works, [branch])])
            for each in found:
                if each.commit not in free and each.ref != branch:
                    each.merged.append(branch.removeprefix(HEADS))


def squashed(repository: Repository) -> dict[str, list[str]]:
    """The commits of workers that runs merged, by the commit that each merge made, as the runs recorded it."""
    found: dict[str, list[str]] = {}
    for folder in runs.listed(repository.home):
        for each in folder.run.get("merges", ()):
            found.setdefault(each["commit"], []).append(each["work"])
    there = set(repository.only_commits({*found, *(work for works in found.values() for work in works)}))
    return {commit: [work for work in works if work in there] for commit, works in found.items() if commit in there}


def works_in(repository: Repository, works: dict[str, list[str]], refs: Iterable[str]) -> list[str]:
    """The commits of workers whose merges these refs contain: a squashed merge does not have them as ancestors."""
    free = repository.outside(works, refs)
    return [work for commit, found in works.items() if commit not in free for work in found]


def restore(home: Home, what: str, branch: str) -> Kept:
    """Make a branch of something that was kept."""
    repository = Repository(home)
    fitting = [each for each in listed(home) if what and _is_called(each, what)]
    if len({each.commit for each in fitting}) != 1:
        said = "stands for several things" if fitting else "is nothing that a run left"
        raise SowError(f"{what!r} {said}", "'sow salvage' lists what there is")
    if repository.attempt(["check-ref-format", "--branch", branch]).code or branch.startswith(
        ("sow/task/", "sow/int/")
    ):
        raise SowError(f"{branch!r} cannot be the name of a branch", "choose another name, such as salvaged/login")
    if repository.find(f"{HEADS}{branch}"):
        raise SowError(f"there is a branch {branch} already", "choose another name")
    commit = fitting[0].commit
    repository.git("update-ref", "-m", "sow: salvaged", f"{HEADS}{branch}", commit, "0" * len(commit))
    return fitting[0]


def _is_called(kept: Kept, what: str) -> bool:
    return what in (kept.ref, kept.short) or (len(what) >= SHORTEST and kept.commit.startswith(what))
