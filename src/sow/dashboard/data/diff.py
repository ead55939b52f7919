"""Shows what each iteration of a task changed: its kept commit against its base, page by page."""

from __future__ import annotations

from sow.dashboard.data import paging
from sow.dashboard.data.problems import Missing
from sow.dashboard.data.task_page import folder_of
from sow.domain.ids import is_task_id
from sow.gitwork import diffs
from sow.gitwork.kept_commits import KEEP
from sow.gitwork.repository import Repository
from sow.gitwork.salvage import parse_ref
from sow.store.projects.task_folder import TaskFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.store.files.checkout_home import Home

    Document = dict[str, Any]

MOST = 8 << 20  # bytes of a patch
MOST_FILES = 2000
MAX_COMMITS = "--max-count=20000"  # commits that are searched for the base


def page(home: Home, ident: str, iteration: str, start: str, limit: str, *, needles: list[bytes]) -> Document:
    """Returns a page of one iteration's patch (of the last by default), and the files that it changes."""
    folder, repository = folder_of(home, ident), Repository(home)
    iterations = _iterations(repository, folder) if isinstance(folder, TaskFolder) and is_task_id(ident) else []
    listed = [{key: entry[key] for key in ("iteration", "commit", "base")} for entry in iterations]
    number = paging.whole_number(iteration, "the iteration", iterations[-1]["iteration"] if iterations else 0)
    chosen = next((entry for entry in iterations if entry["iteration"] == number), None)
    if chosen is None and iteration and iterations:
        raise Missing(f"task {ident} has no commit of iteration {number}", "choose another iteration")
    if chosen is None:
        return {"iterations": listed, "iteration": None, "files": [], "cut": False, **paging.page(b"", 0, 0)}
    base, commit = chosen["base"], chosen["commit"]
    text, patch_complete = diffs.patch(repository, base, commit, MOST)
    files, files_complete = diffs.changed_files(repository, base, commit, MOST_FILES)
    shown = paging.text_page(text, start, limit, needles)
    return {
        "iterations": listed,
        "iteration": number,
        "files": files,
        "cut": not (patch_complete and files_complete),
        **shown,
    }


def _iterations(repository: Repository, folder: TaskFolder) -> list[Document]:
    """Lists the iterations with a kept commit and its base; of several runs, the last by name counts."""
    work = folder.task().get("work")
    by_number: dict[int, Document] = {}
    for ref, commit in sorted(repository.refs(f"{KEEP}/").items()):
        run, task, name = parse_ref(ref)
        if task == folder.id and name.isdigit():
            base = work["base"] if work and work["commit"] == commit else _base(repository, run, commit)
            by_number[int(name)] = {"iteration": int(name), "commit": commit, "base": base}
    return [by_number[number] for number in sorted(by_number)]


def _base(repository: Repository, run: str, commit: str) -> str:
    """Returns the newest commit of the integration branch that the commit builds on; else its first parent."""
    heads = [f"refs/heads/sow/int/{run}", f"{KEEP}/{run}/integration/head"]
    tip = next((ref for ref in heads if repository.find_commit(ref)), "")
    if tip:
        integrated = repository.git("rev-list", "--first-parent", MAX_COMMITS, tip).split()
        ancestors = set(repository.git("rev-list", MAX_COMMITS, commit).split()) - {commit}
        for candidate in integrated:
            if candidate in ancestors:
                return candidate
    return next(iter(repository.parents(commit)), commit)
