"""Links and copies ignored files into a worktree, and tells which set-up commands must still run there.

A worktree has only committed files, but tests need node_modules, .env and the like. If that fails, it is an
EnvironmentProblem, because no worker can fix it.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from typing import Any

from sow.gitwork.repository import is_below
from sow.gitwork.worktree import SETUP_MARK, EnvironmentProblem, Worktree, is_behind_link, remove_file, remove_tree
from sow.system import clock, git

LIST = "sow-setup-files"
OURS = (".git", ".sow", "orchestration")
SETTINGS_HINT = "fix 'worktree' in your settings (sow config edit), or put the file there"


def setup_paths(worktree: Worktree) -> list[str]:
    """Lists the paths that we linked or copied into a worktree or that its setup made. The work excludes them."""
    try:
        with open(f"{worktree.git_dir}/{LIST}", encoding="utf-8", errors="surrogateescape") as file:
            return [path for path in file.read().split("\0") if path]
    except FileNotFoundError:
        return []


def install_setup_files(worktree: Worktree, settings: Mapping[str, Any]) -> list[list[str]]:
    """Links and copies what the settings name. Returns the commands that must still run in the worktree."""
    links, copies = list(settings.get("link") or ()), list(settings.get("copy") or ())
    for path in (*links, *copies):
        _check(worktree, path)
    outputs = settings.get("outputs") or ()
    paths = dict.fromkeys([*setup_paths(worktree), *map(os.path.normpath, (*links, *copies, *outputs))])
    git.write_file(f"{worktree.git_dir}/{LIST}", "".join(f"{path}\0" for path in paths))
    for path in links:
        link_into(worktree.repository.home.root, worktree.path, path)
    for path in copies:
        copy_into(worktree.repository.home.root, worktree.path, path)
    if git.first_line(f"{worktree.git_dir}/{SETUP_MARK}") == _digest(settings):
        return []
    return [list(command) for command in settings.get("setup") or ()]


def record_setup(worktree: Worktree, settings: Mapping[str, Any]) -> None:
    """Records that the commands of these settings have run here."""
    git.write_file(f"{worktree.git_dir}/{SETUP_MARK}", _digest(settings))


def remove_setup_files(worktree: Worktree) -> None:
    """Removes our links and copies from a worktree. The targets of the links stay."""
    for path in setup_paths(worktree):
        if os.path.islink(f"{worktree.path}/{path}") or not os.path.isdir(f"{worktree.path}/{path}"):
            remove_file(worktree.path, path)
            continue
        for folder, _, names in os.walk(f"{worktree.path}/{path}"):
            for name in names:
                remove_file(worktree.path, f"{folder}/{name}".removeprefix(f"{worktree.path}/"))


def _check(worktree: Worktree, path: object) -> None:
    """Refuses a path that leads out of the home or the worktree, belongs to sow or is committed."""
    clean = inner_path(worktree.repository.home.root, worktree.path, path)
    if worktree.git("ls-files", "-z", "--", f":(literal){clean}", index=worktree.index):
        raise committed_path_error(path)


def committed_path_error(path: object) -> EnvironmentProblem:
    return EnvironmentProblem(f"worktree: {path!r} is committed: every worktree has it already", SETTINGS_HINT)


def inner_path(root: str, folder: str, path: object) -> str:
    """Returns the normal form of a path to link or copy. Refuses one that leads out of the home or the worktree."""
    if not isinstance(path, str) or not path or "\0" in path or os.path.isabs(path):
        raise EnvironmentProblem(f"worktree: {path!r} is not a path inside the repository", SETTINGS_HINT)
    clean = os.path.normpath(path)
    if clean.split("/")[0] in ("..", ".", *OURS) or ".git" in clean.split("/"):
        raise EnvironmentProblem(f"worktree: {path!r} is not a path that can be linked or copied", SETTINGS_HINT)
    if not os.path.lexists(f"{root}/{clean}"):
        raise EnvironmentProblem(f"worktree: there is no {path!r} in {root}", SETTINGS_HINT)
    if not is_below(os.path.realpath(f"{root}/{clean}"), [os.path.realpath(root)]):
        raise EnvironmentProblem(f"worktree: {path!r} leads out of {root}", SETTINGS_HINT)
    if is_behind_link(folder, clean):
        raise EnvironmentProblem(f"worktree: {path!r} leads out of the worktree, through a link", SETTINGS_HINT)
    return clean


def link_into(root: str, folder: str, path: str) -> None:
    """Links a path of the home into a folder, unless something exists there."""
    target = f"{folder}/{os.path.normpath(path)}"
    if os.path.lexists(target):  # our earlier link, or the worker's own install, which stays
        return
    clock.crash_point()
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(f"{root}/{os.path.normpath(path)}", target)
    except OSError as error:
        raise _problem("link", path, error) from None


def copy_into(root: str, folder: str, path: str) -> None:
    """Copies a file or folder of the home into a folder, unless something exists there. No partial copy appears."""
    target, temporary = f"{folder}/{os.path.normpath(path)}", f"{folder}.copy"
    if os.path.lexists(target):
        return
    clock.crash_point()
    try:
        if os.path.lexists(temporary):  # the remains of an interrupted copy
            remove_tree(temporary)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _copy(f"{root}/{os.path.normpath(path)}", temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise _problem("copy", path, error) from None


def _copy(source: str, target: str) -> None:
    """Copies one file, link or folder. Links stay links, and other kinds of files are left out."""
    mode = os.lstat(source).st_mode
    clock.crash_point(f"copy to {target}")
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(source), target)
    elif stat.S_ISDIR(mode):
        os.mkdir(target)
        for name in os.listdir(source):
            _copy(f"{source}/{name}", f"{target}/{name}")
        os.chmod(target, stat.S_IMODE(mode) | 0o700)
    elif stat.S_ISREG(mode):
        with open(source, "rb") as old, open(target, "xb") as new:
            while data := old.read(1 << 20):
                new.write(data)
        os.chmod(target, stat.S_IMODE(mode))


def _problem(act: str, path: str, error: OSError) -> EnvironmentProblem:
    return EnvironmentProblem(f"cannot {act} {path} into the worktree: {error.strerror}", "fix that, and run again")


def _digest(settings: Mapping[str, Any]) -> str:
    text = json.dumps({key: settings.get(key) for key in ("link", "copy", "setup", "key")}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
