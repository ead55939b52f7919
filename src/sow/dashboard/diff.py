"""What each iteration of a task changed: the pinned commits against what they were made on, page by page."""

from __future__ import annotations

from sow.dashboard import paging
from sow.dashboard.missing import Missing
from sow.dashboard.task_page import desk_of
from sow.domain.ids import is_task_id
from sow.engine import differences
from sow.engine.pins import KEEP
from sow.engine.repository import Repository
from sow.engine.salvage import parts_of
from sow.store.desk import Desk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.store.home import Home

    Document = dict[str, Any]

MOST = 8 << 20  # bytes of a patch
MOST_FILES = 2000
DEEPEST = "--max-count=20000"  # commits in which the base is looked for


def page(home: Home, ident: str, iteration: str, start: str, limit: str, *, needles: list[bytes]) -> Document:
    """A page of the patch of one iteration, of the last one by default, and the files that it changes."""
    desk, repository = desk_of(home, ident), Repository(home)
    found = _iterations(repository, desk) if isinstance(desk, Desk) and is_task_id(ident) else []
    told = [{key: each[key] for key in ("iteration", "commit", "base")} for each in found]
    wanted = paging.whole(iteration, "the iteration", found[-1]["iteration"] if found else 0)
    chosen = next((each for each in found if each["iteration"] == wanted), None)
    if chosen is None and iteration and found:
        raise Missing(f"task {ident} has no commit of iteration {wanted}", "choose another iteration")
    if chosen is None:
        return {"iterations": told, "iteration": None, "files": [], "cut": False, **paging.page(b"", 0, 0)}
    base, commit = chosen["base"], chosen["commit"]
    text, whole = differences.patch(repository, base, commit, MOST)
    files, all_named = differences.counts(repository, base, commit, MOST_FILES)
    shown = paging.of_text(text, start, limit, needles)
    return {"iterations": told, "iteration": wanted, "files": files, "cut": not (whole and all_named), **shown}


def _iterations(repository: Repository, desk: Desk) -> list[Document]:
    """Every iteration that is pinned, with the commit that it was made on; of several runs the newest counts."""
    work = desk.task().get("work")
    found: dict[int, Document] = {}
    for ref, commit in sorted(repository.refs(f"{KEEP}/").items()):
        run, task, name = parts_of(ref)
        if task == desk.id and name.isdigit():
            base = work["base"] if work and work["commit"] == commit else _base(repository, run, commit)
            found[int(name)] = {"iteration": int(name), "commit": commit, "base": base}
    return [found[number] for number in sorted(found)]


def _base(repository: Repository, run: str, commit: str) -> str:
    """The newest state of the integration branch that the commit builds on; else the commit before it."""
    heads = [f"refs/heads/sow/int/{run}", f"{KEEP}/{run}/integration/head"]
    head = next((each for each in heads if repository.find(each)), "")
    if head:
        line = repository.git("rev-list", "--first-parent", DEEPEST, head).split()
        before = set(repository.git("rev-list", DEEPEST, commit).split()) - {commit}
        for each in line:
            if each in before:
                return each
    return next(iter(repository.parents(commit)), commit)
