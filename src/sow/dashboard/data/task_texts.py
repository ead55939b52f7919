"""Shows long texts page by page: a turn's transcript, a check's output, and the patch of an iteration or a run."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from sow.dashboard.data import paging
from sow.dashboard.data.page_errors import PageNotFound
from sow.dashboard.data.task_page import folder_of, is_worked_on
from sow.domain.documents.state import Evidence
from sow.domain.inputs import is_task_id
from sow.engine.checks import check_list
from sow.errors import SowError
from sow.gitwork import line_map
from sow.gitwork import repository as repositories
from sow.gitwork.repository import Repository
from sow.gitwork.salvage import parse_ref
from sow.gitwork.worktree import KEEP
from sow.store.files.checkout_home import Home
from sow.store.files.disk import list_folder
from sow.store.projects import log
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import run_folder, sessions
from sow.store.runs.run_folder import RunFolder
from sow.system import environment as environments
from sow.system.clock import epoch_of

Document = dict[str, Any]

# The parts of a turn. The transcript grows during the turn, as the output does.
PARTS = {"readable": "md", "out": "out", "err": "err", "prompt": "prompt"}
SLACK = 5  # seconds between the time in a file's name and the start of the check
MOST = 8 << 20  # bytes of a patch
MOST_FILES = 2000
MAX_COMMITS = "--max-count=20000"  # commits that are searched for the base


def transcript_page(
    home: Home,
    ident: str,
    session: str,
    turn: str,
    part: str,
    start: str,
    limit: str,
    *,
    environment: Mapping[str, str],
) -> Document:
    """Returns one page of a part of a turn; `live` says that it still grows."""
    if part and part not in PARTS:
        raise SowError(f"a turn has no part {part!r:.40}", f"its parts are: {', '.join(PARTS)}")
    session_number = paging.whole_number(session, "the session", 0)
    turn_number = paging.whole_number(turn, "the turn", 0)
    for record in sessions.records(folder_of(home, ident)):
        for entry in record.session["turns"]:
            if (record.session["number"], entry["number"]) == (session_number, turn_number):
                live = "ended_at" not in entry and is_worked_on(home, ident)
                path = record.file(turn_number, PARTS[part or "readable"])
                # During a turn, its files still contain secrets.
                needles = environments.needles(environments.secrets(environment, entry.get("unstruck", ())))
                return {**_read(path, start, limit, needles, live=live), "live": live}
    raise PageNotFound(
        f"task {ident} has no turn {turn_number} in session {session_number}",
        "see its sessions: they are on this machine",
    )


def _read(path: str, start: str, limit: str, needles: list[bytes], *, live: bool) -> Document:
    try:
        return paging.file_page(path, start, limit, needles)
    except PageNotFound:
        if not live:
            raise
        return paging.page(b"", 0, 0)  # the turn has only started


def evidence_page(home: Home, ident: str, number: str, start: str, limit: str, *, needles: list[bytes]) -> Document:
    """Returns a page of one check's output, by the index of its evidence in the task."""
    folder, index = folder_of(home, ident), paging.whole_number(number, "the number", 0)
    evidence = folder.task().get("evidence", []) if isinstance(folder, TaskFolder) else []
    if index >= len(evidence):
        raise PageNotFound(f"task {ident} has no evidence {index}", f"it has {len(evidence)} pieces, counted from 0")
    text = _output(home, ident, evidence[index])
    if text is None:
        raise PageNotFound("the output of this command is not on this machine", "repeat it: sow runs verify")
    return paging.text_page(text, start, limit, needles)


def _output(home: Home, ident: str, piece: Evidence) -> str | None:
    """Returns the output whose digest equals that of the evidence."""
    for run in reversed(run_folder.names(home)):
        folder = f"{run_folder.folder_of(home, run)}/checks/{ident}"
        for name in list_folder(folder) if os.path.isdir(folder) else ():
            if name.endswith(".out") and _is_from_time_of(name, piece):
                path = f"{folder}/{name}"
                text = check_list.read_output(path, f"{path.removesuffix('.out')}.err")
                if hashlib.sha256(text.encode()).hexdigest() == piece["output"]:
                    return text
    return None


def _is_from_time_of(name: str, piece: Evidence) -> bool:
    """Returns whether a file such as `test-20260921_143320-ab12cd.out` was written at that time."""
    stamp = "-".join(name.split("-")[-2:-1])
    try:
        start = time.strptime(stamp, "%Y%m%d_%H%M%S")
    except ValueError:
        return False
    ended = epoch_of(piece["at"]) or 0
    return abs(ended - piece["seconds"] - (epoch_of(time.strftime("%Y-%m-%dT%H:%M:%SZ", start)) or 0)) <= SLACK


def patch_page(home: Home, ident: str, iteration: str, start: str, limit: str, *, needles: list[bytes]) -> Document:
    """Returns a page of one iteration's patch (of the last by default), and the files that it changes."""
    folder, repository = folder_of(home, ident), Repository(home)
    iterations = _iterations(repository, folder) if isinstance(folder, TaskFolder) and is_task_id(ident) else []
    listed = [{key: entry[key] for key in ("iteration", "commit", "base")} for entry in iterations]
    number = paging.whole_number(iteration, "the iteration", iterations[-1]["iteration"] if iterations else 0)
    chosen = next((entry for entry in iterations if entry["iteration"] == number), None)
    if chosen is None and iteration and iterations:
        raise PageNotFound(f"task {ident} has no commit of iteration {number}", "choose another iteration")
    if chosen is None or not isinstance(folder, TaskFolder):
        return {"iterations": listed, "iteration": None, "files": [], "cut": False, **paging.page(b"", 0, 0)}
    changes = _changes(repository, chosen["base"], chosen["commit"], start, limit, needles)
    tree = repository.tree_of(chosen["commit"])
    comments = _comments(repository, folder, number, tree) if start in ("", "0") else []
    return {"iterations": listed, "iteration": number, "tree": tree, "comments": comments, **changes}


def _comments(repository: Repository, folder: TaskFolder, iteration: int, tree: str) -> list[Document]:
    """Lists the comments on lines up to an iteration, each with its line in the tree, or None if it is not there."""
    shown = []
    for entry in log.read_feedback(folder):
        is_later = not entry["iteration"].isdigit() or int(entry["iteration"]) > iteration
        if not entry.get("tree") or (is_later and entry["tree"] != tree):
            continue
        head = {key: entry[key] for key in ("number", "by", "at", "iteration")}
        places = [(comment["file"], comment["line"]) for comment in entry["comments"]]
        mapped = line_map.map_lines(repository, entry["tree"], tree, places)
        for comment, place in zip(entry["comments"], places, strict=True):
            file, line = mapped[place] or (comment["file"], None)
            shown.append({**head, **comment, "shown_file": file, "shown_line": line})
    return shown


def run_patch_page(folder: RunFolder, start: str, limit: str, *, needles: list[bytes]) -> Document:
    """Returns a page of the patch of a whole run: from its first commit to its last merge, and the files in it."""
    repository = Repository(folder.home)
    ends = repositories.ends_of_run(repository, folder.run)
    if not ends:
        return {"files": [], "cut": False, **paging.page(b"", 0, 0)}
    return _changes(repository, *ends, start, limit, needles, repositories.WITHOUT_STATE)


def _changes(
    repository: Repository,
    base: str,
    commit: str,
    start: str,
    limit: str,
    needles: list[bytes],
    paths: Sequence[str] = (),
) -> Document:
    text, patch_complete = repositories.patch(repository, base, commit, MOST, paths)
    files, files_complete = repositories.changed_files(repository, base, commit, MOST_FILES, paths)
    shown = paging.text_page(text, start, limit, needles)
    return {"files": files, "cut": not (patch_complete and files_complete), **shown}


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
    # The commit, not its branch: a run that ends removes the branch at any moment.
    tip = next((head for ref in heads if (head := repository.find_commit(ref))), "")
    if tip:
        integrated = repository.git("rev-list", "--first-parent", MAX_COMMITS, tip).split()
        ancestors = set(repository.git("rev-list", MAX_COMMITS, commit).split()) - {commit}
        for candidate in integrated:
            if candidate in ancestors:
                return candidate
    return next(iter(repository.parents(commit)), commit)
