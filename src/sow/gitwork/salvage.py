"""Lists everything that runs left in git, and makes a branch of any of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from sow.domain.inputs import is_task_id
from sow.errors import SowError
from sow.gitwork.repository import Repository
from sow.gitwork.slots import is_slot
from sow.gitwork.worktree import KEEP, Worktree
from sow.store.files.checkout_home import Home
from sow.store.files.disk import list_folder
from sow.store.runs import run_folder

PIN, BRANCH, WORKTREE = "pin", "branch", "worktree"
HEADS = "refs/heads/"
TASKS = f"{HEADS}sow/task/"
INTEGRATIONS = f"{HEADS}sow/int/"
FORMAT = "--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(contents:subject)"
SHORTEST = 7  # shortest part of a commit id that can name it
JUDGE = "-review"


@dataclass
class KeptItem:
    """One thing that a run left in git: a pin, a branch or a worktree."""

    kind: str
    ref: str
    commit: str
    date: int  # in seconds since 1970
    subject: str
    path: str = ""
    merged: list[str] = field(default_factory=list)  # the branches that contain it

    def __post_init__(self) -> None:
        self.run, self.task, self.name = parse_ref(self.ref)

    @property
    def short(self) -> str:
        """The name by which a person refers to it."""
        return self.ref.removeprefix(f"{KEEP}/").removeprefix(HEADS) or self.path


def parse_ref(ref: str) -> tuple[str, str, str]:
    """Returns run, task and iteration from the name of one of sow's refs. For an integration, the task is empty."""
    for prefix in (f"{KEEP}/", TASKS, INTEGRATIONS):
        if ref.startswith(prefix):
            run, _, rest = ref.removeprefix(prefix).partition("/")
            task, _, name = rest.partition("/")
            return (run, task if is_task_id(task) else "", name)
    return ("", "", "")


def list_items(home: Home) -> list[KeptItem]:
    """Lists the pins, branches and worktrees of all runs, newest first."""
    repository = Repository(home)
    items = [*kept_refs(repository), *_worktrees(repository)]
    _set_merged(repository, items)
    return sorted(items, key=lambda item: (-item.date, item.ref))


def kept_refs(repository: Repository) -> list[KeptItem]:
    """Lists the pins and branches of all runs."""
    lines = repository.git("for-each-ref", FORMAT, KEEP, TASKS, INTEGRATIONS).splitlines()
    items = []
    for line in lines:
        ref, commit, date, subject = line.split("\0", 3)
        kind = PIN if ref.startswith(KEEP) else BRANCH
        items.append(KeptItem(kind=kind, ref=ref, commit=commit, date=int(date or 0), subject=subject))
    return items


def _worktrees(repository: Repository) -> list[KeptItem]:
    items = []
    for name in list_folder(f"{repository.home.sow}/local/worktrees"):
        if is_slot(name):  # a slot holds no work
            continue
        worktree = Worktree(repository, name)
        head = worktree.head() if os.path.isdir(worktree.path) else ""
        if head:
            line = repository.git("log", "-1", "--no-show-signature", "--format=%ct %s", head)
            date, _, subject = line.partition(" ")
            ref = worktree.branch()
            item = KeptItem(
                kind=WORKTREE, ref=ref, commit=head, date=int(date), subject=subject.strip(), path=worktree.path
            )
            task = name.removesuffix(JUDGE)
            item.task = item.task or (task if is_task_id(task) else "")
            items.append(item)
    return items


def _set_merged(repository: Repository, items: list[KeptItem]) -> None:
    """Records for each item which branches contain it. Branches of workers do not count."""
    commits = {item.commit for item in items}
    works = works_by_merge(repository) if commits else {}
    for branch in repository.refs(HEADS) if commits else ():
        if not branch.startswith(TASKS):
            unmerged = repository.not_contained_in(commits, [branch, *merged_works(repository, works, [branch])])
            for item in items:
                if item.commit not in unmerged and item.ref != branch:
                    item.merged.append(branch.removeprefix(HEADS))
    for head, base in merged_requests(repository).items() if commits else ():
        unmerged = repository.not_contained_in(commits, [head, *merged_works(repository, works, [head])])
        for item in items:
            if item.commit not in unmerged and base not in item.merged:
                item.merged.append(base)


def works_by_merge(repository: Repository) -> dict[str, list[str]]:
    """Returns the workers' commits of all recorded merges, by the commit that the merge made."""
    works_by_merge: dict[str, list[str]] = {}
    for folder in run_folder.all_folders(repository.home):
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


def merged_requests(repository: Repository) -> dict[str, str]:
    """Returns the heads of the requests that the forge merged, each with the branch that has their work.

    After a squash or a rebase no commit of them is on that branch; the record of the request is the proof.
    """
    heads = {}
    for folder in run_folder.all_folders(repository.home):
        delivery = folder.run.get("delivery")
        if delivery is not None and delivery["state"] == "merged" and "merge_commit" in delivery:
            head = delivery.get("merged_head", "")
            heads[head] = f"{delivery['base']} (request {delivery.get('number', 0)})"
    existing = repository.only_commits(head for head in heads if head)
    return {head: heads[head] for head in existing}


def merged_works(repository: Repository, works: dict[str, list[str]], refs: Iterable[str]) -> list[str]:
    """Returns the workers' commits whose merges these refs contain. They are no ancestors of a squashed merge."""
    unmerged = repository.not_contained_in(works, refs)
    return [work for commit, commits in works.items() if commit not in unmerged for work in commits]


def restore(home: Home, name: str, branch: str) -> KeptItem:
    """Makes a branch of a kept item."""
    repository = Repository(home)
    matches = [item for item in list_items(home) if name and _matches(item, name)]
    if len({item.commit for item in matches}) != 1:
        problem = "names several things" if matches else "names nothing that a run left"
        raise SowError(f"{name!r} {problem}", "'sow salvage' lists what there is")
    if repository.run_git(["check-ref-format", "--branch", branch]).code or branch.startswith(
        ("sow/task/", "sow/int/")
    ):
        raise SowError(f"{branch!r} cannot be the name of a branch", "choose another name, such as salvaged/login")
    if repository.find_commit(f"{HEADS}{branch}"):
        raise SowError(f"there is a branch {branch} already", "choose another name")
    commit = matches[0].commit
    repository.git("update-ref", "-m", "sow: salvaged", f"{HEADS}{branch}", commit, "0" * len(commit))
    return matches[0]


def _matches(item: KeptItem, name: str) -> bool:
    return name in (item.ref, item.short) or (len(name) >= SHORTEST and item.commit.startswith(name))
