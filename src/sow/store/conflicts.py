"""Resolves the conflicts that git left in the state files and logs of a project."""

from __future__ import annotations

import os
from collections.abc import Iterable

from sow.domain.inputs import next_id
from sow.errors import SowError
from sow.store.file_kinds import validate_text
from sow.store.files import state_file
from sow.store.files.checkout_home import Home
from sow.store.files.disk import make_folders
from sow.store.formats import json_text, merge_conflict, yaml_text
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.system import git

APPENDED = ("log.md", "memories.md")  # both sides of these count
STATE = (".yaml", ".json")


def resolve(home: Home, side: str) -> list[str]:
    """Keeps one side of each conflict in sow's files, and both in logs; stages them and returns a line for each.

    A state gets a revision above both sides, so that a run does not take it for an edit by hand. If both sides added a
    task with the same id, the task of the other side gets a new id.
    """
    with home.lock():
        stages = _unmerged(home)
        other = _merged_commit(home)
        twins = [os.path.dirname(path) for path, sides in stages.items() if other and _is_added_twice(path, sides)]
        kept: dict[str, str | None] = {}
        for path in _conflicted(home, stages):
            if not path.startswith(tuple(f"{home.root}/{folder}/" for folder in twins)):
                kept[path] = _kept_text(home, path, side, stages.get(home.relative(path), ""))
        for path, text in kept.items():
            if text is None:
                home.remove(path)
                continue
            home.replace(path, text)
            if path.endswith("/state.yaml"):
                _save_backup(home, os.path.basename(os.path.dirname(path)), text)
        if kept:
            git.run(["add", "-A", "--sparse", "--", *kept], cwd=home.root)
        sides = {merge_conflict.OURS: "HEAD", merge_conflict.THEIRS: other}
        source = sides.pop(side)
        lines = [_kept_line(home.relative(path), side) for path in kept]
        return lines + (_separate(home, twins, source, *sides.popitem()) if twins else [])


def unmerged_texts(home: Home) -> list[str]:
    """Returns the paths of sow's files in which git left a conflict and which sow does not parse."""
    try:
        return [path for path in _unmerged(home) if not path.endswith((*STATE, *APPENDED))]
    except SowError:  # a missing git is a finding of its own
        return []


def unmerged_elsewhere(home: Home) -> list[str]:
    """Returns the other files of the repository in which git left a conflict."""
    return git.run(["diff", "--name-only", "--diff-filter=U", "-z"], cwd=home.root).split("\0")[:-1]


def _unmerged(home: Home) -> dict[str, str]:
    """Returns the files of sow that are in conflict, with the numbers of git's stages: 1 base, 2 ours, 3 theirs."""
    stages: dict[str, str] = {}
    for line in git.run(["ls-files", "-u", "-z", "--", ".sow"], cwd=home.root).split("\0")[:-1]:
        head, _, path = line.partition("\t")
        stages[path] = stages.get(path, "") + head[-1]
    return stages


def _merged_commit(home: Home) -> str:
    """Returns the commit that git is merging, or an empty string."""
    names = ("MERGE_HEAD", "REBASE_HEAD", "CHERRY_PICK_HEAD")
    commits = (git.run(["rev-parse", "-q", "--verify", name], cwd=home.root, check=False).strip() for name in names)
    return next(filter(None, commits), "")


def _is_added_twice(path: str, stages: str) -> bool:
    return stages == "23" and path.endswith("/state.yaml") and "/tasks/" in path


def _kept_line(path: str, side: str) -> str:
    return f"kept {'both sides' if path.endswith(APPENDED) else side}: {path}"


def _kept_text(home: Home, path: str, side: str, stages: str) -> str | None:
    """Returns the text of one side, or of both for a log; None if that side deleted the file."""
    shown_path = home.relative(path)
    if stages in ("12", "13"):
        stage = "2" if side == merge_conflict.OURS else "3"
        return git.run(["show", f":{stage}:{shown_path}"], cwd=home.root) if stage in stages else None
    text = home.read(path)
    kept = merge_conflict.keep(text, merge_conflict.BOTH if path.endswith(APPENDED) else side)
    if path.endswith("/state.yaml"):
        sides = [merge_conflict.keep(text, side) for side in (merge_conflict.OURS, merge_conflict.THEIRS)]
        revision = 1 + max(yaml_text.load(side, shown_path)["revision"] for side in sides)
        kept = yaml_text.dump({**yaml_text.load(kept, path), "revision": revision})
    if path.endswith(STATE):
        validate_text(kept, shown_path)
    return kept


def _separate(home: Home, twins: list[str], source: str, other_side: str, other: str) -> list[str]:
    """Gives each task of the other side that has the id of a kept one a new id, with all its files."""
    used = {folder.id for folder in task_folder.all_folders(home, projects.load_anywhere(home))}
    new_ids: dict[str, str] = {}
    for folder in twins:
        new_ids[os.path.basename(folder)] = next_id({*used, *new_ids.values()})
    for folder in twins:
        old_id = os.path.basename(folder)
        target = f"{os.path.dirname(folder)}/{new_ids[old_id]}"
        for path in sorted(_tree(home, other, folder), key=lambda path: path.endswith("/state.yaml")):
            text = git.run(["show", f"{other}:{path}"], cwd=home.root)
            _write_moved(home, target + path.removeprefix(folder), text, new_ids)
        git.run(["restore", f"--source={source}", "--staged", "--worktree", "--", folder], cwd=home.root)
        _save_backup(home, old_id, home.read(f"{home.root}/{folder}/state.yaml"))
        git.run(["add", "--sparse", "--", target], cwd=home.root)
    added = set(_tree(home, other, ".sow/project/phases")) - set(_tree(home, source, ".sow/project/phases"))
    for path in (path for path in added if path.endswith("/state.yaml") and os.path.dirname(path) not in twins):
        _write_moved(home, path, home.read(f"{home.root}/{path}"), new_ids)
        git.run(["add", "--sparse", "--", path], cwd=home.root)
    return [f"both sides added task {old}: that of {other_side} is {new} now" for old, new in new_ids.items()]


def _write_moved(home: Home, path: str, text: str, new_ids: dict[str, str]) -> None:
    """Writes a file of a task of the other side, with the new ids of that side's tasks."""
    name = os.path.basename(os.path.dirname(path))
    if path.endswith("/state.yaml"):
        state = yaml_text.load(text, path)
        depends_on = [new_ids.get(task, task) for task in state["task"]["depends_on"]]
        state["task"] |= {"id": name, "depends_on": depends_on}
        text = yaml_text.dump(state)
    elif path.endswith(".json") and "/completion_drive/" in path:
        session = json_text.load(text, path)
        text = json_text.dump({**session, "task_id": new_ids.get(session["task_id"], session["task_id"])})
    make_folders(home.disk, home.root, os.path.dirname(path).split("/"))
    home.replace(f"{home.root}/{path}", text)
    if path.endswith("/state.yaml"):
        _save_backup(home, name, text)


def _tree(home: Home, commit: str, folder: str) -> list[str]:
    return git.run(["ls-tree", "-r", "-z", "--name-only", commit, "--", folder], cwd=home.root).split("\0")[:-1]


def _save_backup(home: Home, name: str, text: str) -> None:
    state_file.save_backup(home, projects.load_anywhere(home)["project_id"], name, text)


def _conflicted(home: Home, unmerged: Iterable[str]) -> list[str]:
    """Returns the files in which git left a conflict, the project's own state first."""
    files = [f"{folder}/{name}" for folder, _, names in os.walk(home.project) for name in names]
    files = [f"{home.sow}/config.yaml", f"{home.sow}/sinks/index.json", *files]
    wanted = [path for path in files if path.endswith((*STATE, *APPENDED))]
    marked = {path for path in wanted if yaml_text.has_conflict(home.read_or("", path) or "")}
    paths = marked | {f"{home.root}/{path}" for path in unmerged}
    return sorted(paths, key=lambda path: (path != projects.path(home), path))
