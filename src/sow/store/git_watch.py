"""Compares a repository's git folder with its state before workers ran, reports the differences and undoes them.

A command that starts workers seals the repository first (system/git.py). Its own git calls ignore later changes
to hooks, settings, attributes and replaced objects.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sow.errors import SystemFailure
from sow.store.files import disk
from sow.store.files.checkout_home import Home
from sow.system import clock, git
from sow.system.checkout import Checkout
from sow.system.git import Seal

GitState = dict[str, Any]

REPLACED = "refs/replace/"
LARGEST = 1 << 20  # bytes of a hook or a list; a larger one cannot be restored
# Git and its tools write these keys in normal use. They start no program and change no content.
EVERYDAY = ("branch.sow/", "lfs.repositoryformatversion", "maintenance.")
BRANCH_ACTS = (".remote", ".pushremote", ".merge", ".mergeoptions", ".rebase")  # pull, push and merge obey these
# A seal omits these keys: includes are resolved, a worktree's own settings are merged in, and the rest only says how
# git's output looks or where the checkout is.
LEFT_OUT = ("include.", "includeif.", "alias.", "pager.", "color.", "column.", "trailer.", "format.", "safe.")
LEFT_OUT_KEYS = ("core.bare", "core.worktree", "core.attributesfile", "core.excludesfile", "extensions.worktreeconfig")
UNDO = "sow doctor --undo-git-changes"
KEEP = "sow doctor --keep-git-changes"


@contextmanager
def sealed_repository(home: Home) -> Iterator[None]:
    """Seals the repository while workers run, and removes the seal at the end if nothing changed.

    All worktrees of a repository share the seal: each holds a shared lock, and the last one removes the seal.
    """
    folder = home.git_subfolder(home.checkout.common, "seal-users")
    descriptor = disk.share(folder)
    try:
        seal = seal_repository(home)
        try:
            yield
        finally:
            git.ACTIVE_SEALS.pop(home.root, None)
            if disk.try_lock(descriptor, folder) and not _differences(home.checkout, seal):
                seal.remove()
    finally:
        os.close(descriptor)


def seal_repository(home: Home) -> Seal:
    """Seals the repository. A seal from an earlier command is reused, because later changes are not trusted."""
    checkout = home.checkout
    seal = git.load_seal(checkout)
    if seal is None:
        seal = git.make_seal(checkout, _facts(checkout))
    seal.activate(home.root)
    return seal


def new_changes(home: Home) -> list[str]:
    """Returns the changes since the seal that were not reported yet, one line each."""
    seal = git.ACTIVE_SEALS.get(home.root)
    if seal is None:
        return []
    lines = [line for line in _differences(home.checkout, seal) if line not in seal.reported]
    seal.reported.update(lines)
    return lines


def open_changes(home: Home) -> list[str]:
    """Returns the changes since the last seal that were neither undone nor accepted, one line each."""
    seal = git.find_seal(home.root)
    return _differences(home.checkout, seal) if seal is not None else []


def accept_changes(home: Home) -> None:
    """Accepts all changes: the next command trusts the git folder as it is then."""
    seal = git.find_seal(home.root)
    if seal is not None:
        seal.remove()


def undo(home: Home) -> list[str]:
    """Undoes all changes, and returns those that remain. Removed files move to `<git folder>/sow/removed`."""
    seal = git.find_seal(home.root)
    if seal is None:
        return []
    checkout, before = home.checkout, seal.recorded_state
    removed_folder = f"{checkout.common}/sow/removed/{clock.now().replace(':', '')}"
    seal.remove()  # a seal refuses git calls while a file redirects git
    try:
        now = _git_state(checkout)
    except SystemFailure:  # the config file is broken
        _restore(f"{checkout.common}/config", before["config"], removed_folder)
        now = _git_state(checkout)
    for path in changed_keys(before["files"], now["files"]):
        _restore(path, before["files"].get(path), removed_folder)
    for origin, key, value in _new_settings(now["settings"], before["settings"]):
        _unset(checkout.root, origin, key, value)
    for origin, key, value in _new_settings(before["settings"], now["settings"]):
        git.run(["config", "--file", origin, "--add", key, value or "true"], cwd=checkout.root, check=False)
    for ref in changed_keys(before["replaced"], now["replaced"]):
        old = before["replaced"].get(ref)
        git.run(["update-ref", ref, old] if old else ["update-ref", "-d", ref], cwd=checkout.root, check=False)
    remaining = _lines(checkout, before, _git_state(checkout))
    if remaining:
        seal.write()
    return remaining


def _unset(root: str, origin: str, key: str, value: str | None) -> None:
    arguments = ["config", "--file", origin, "--fixed-value", "--unset-all", key, *([] if value is None else [value])]
    git.run([arg for arg in arguments if value is not None or arg != "--fixed-value"], cwd=root, check=False)


def _restore(path: str, backup: list[Any] | None, removed_folder: str) -> None:
    """Moves a file away, and restores its old content."""
    if backup is not None and backup[1] is None:
        return  # it was too large for a backup
    clock.crash_point(f"restore {path}")
    try:
        if os.path.lexists(path):
            os.makedirs(removed_folder, exist_ok=True)
            os.rename(path, f"{removed_folder}/{os.path.basename(path)}")
        if backup is not None:
            with open(path, "wb") as file:
                file.write(base64.b64decode(backup[1]))
            os.chmod(path, backup[0])
    except OSError as error:
        raise SystemFailure(f"cannot restore {path}: {error.strerror}", f"look at it: ls -l {path}") from None


def _facts(checkout: Checkout) -> dict[str, Any]:
    git_state = _git_state(checkout)
    files = {
        name: text for name in git.COPIED_FILES if (text := git.content_of(f"{checkout.common}/{name}")) is not None
    }
    pairs = [(key, value) for _, key, value in git_state["settings"]]
    settings = [(key, value) for key, value in pairs if not key.startswith(LEFT_OUT) and key not in LEFT_OUT_KEYS]
    for name, path in _user_lists(checkout, git_state["settings"]).items():
        if text := git.content_of(path):
            files[name] = text
    files["config"] = git.config_text(settings)
    return {
        "identity": git.folder_identity(checkout),
        "common": checkout.common,
        "git": checkout.git,
        "root": checkout.root,
        # whether it is a partial clone, whose missing objects are fetched
        "lazy": any(key == "extensions.partialclone" or key.endswith(".promisor") for key, _ in settings),
        "files": files,
        "refused": {name: git.content_of(f"{checkout.common}/{name}") for name in git.REFUSED_FILES},
        "picture": git_state,
    }


def _user_lists(checkout: Checkout, settings: list[list[str | None]]) -> dict[str, str]:
    paths = {"attributes": f"{_user_git()}/attributes", "ignore": f"{_user_git()}/ignore"}
    for _, key, value in settings:
        name = {"core.attributesfile": "attributes", "core.excludesfile": "ignore"}.get(key or "")
        if name and value:
            paths[name] = os.path.join(checkout.root, os.path.expanduser(value))
    return paths


def _user_git() -> str:
    return f"{os.environ.get('XDG_CONFIG_HOME') or os.path.expanduser('~/.config')}/git"


def _git_state(checkout: Checkout) -> GitState:
    """Reads the current settings, watched files and replaced objects of a repository."""
    replaced = _replaced(checkout)
    settings = _settings(checkout)
    folders = [f"{checkout.common}/hooks", f"{checkout.common}/info", *_hooks_folder(checkout, settings)]
    paths = [path for folder in folders for path in _listed(folder)]
    paths += [f"{checkout.common}/{name}" for name in (*git.REFUSED_FILES, "shallow")]
    paths += _user_lists(checkout, settings).values()
    files = {path: backup for path in paths if (backup := _file_content(path)) is not None}
    return {
        "settings": settings,
        "files": files,
        "replaced": replaced,
        "config": _file_content(f"{checkout.common}/config"),
    }


def _settings(checkout: Checkout) -> list[list[str | None]]:
    """Returns all settings of the user and the repository in git's order, with includes resolved."""
    arguments = ["config", "--list", "--includes", "-z", "--show-scope", "--show-origin"]
    fields = git.run(arguments, cwd=checkout.root, is_sealed=False).split("\0")
    settings: list[list[str | None]] = []
    for scope, origin, pair in zip(fields[0::3], fields[1::3], fields[2::3], strict=False):
        if scope != "command":
            key, is_set, value = pair.partition("\n")
            path = os.path.join(checkout.root, origin.removeprefix("file:"))
            settings.append([path, key, value if is_set else None])
    return settings


def _hooks_folder(checkout: Checkout, settings: list[list[str | None]]) -> list[str]:
    paths = [value for _, key, value in settings if key == "core.hookspath" and value]
    return [os.path.join(checkout.root, os.path.expanduser(paths[-1]))] if paths else []


def _listed(folder: str) -> list[str]:
    try:
        return sorted(f"{folder}/{name}" for name in os.listdir(folder) if not name.endswith((".sample", ".lock")))
    except OSError:
        return []


def _file_content(path: str) -> list[Any] | None:
    """Returns the mode and the content of a file; for a large file, its size and time instead of its content."""
    try:
        info = os.stat(path)
        if not os.path.isfile(path):
            return None
        if info.st_size > LARGEST:
            return [info.st_mode & 0o777, None, info.st_size, info.st_mtime_ns]
        with open(path, "rb") as file:
            return [info.st_mode & 0o777, base64.b64encode(file.read()).decode()]
    except OSError:
        return None


def _replaced(checkout: Checkout) -> dict[str, str]:
    """Reads the replace refs from git's files, because a git process for each turn would be slow."""
    if os.path.isdir(f"{checkout.common}/reftable"):
        arguments = ["for-each-ref", "--format=%(objectname) %(refname)", REPLACED]
        lines = git.run(arguments, cwd=checkout.root, is_sealed=False).splitlines()
    else:
        packed = git.content_of(f"{checkout.common}/packed-refs") or ""
        lines = [line for line in packed.split("\n") if f" {REPLACED}" in line]
        for path in _listed(f"{checkout.common}/{REPLACED.rstrip('/')}"):
            lines.append(f"{(git.content_of(path) or '').strip()} {REPLACED}{os.path.basename(path)}")
    return {ref: oid for oid, _, ref in (line.partition(" ") for line in lines)}


def _differences(checkout: Checkout, seal: Seal) -> list[str]:
    """Returns one line for each change since the seal. Git runs only if the time of a file changed."""
    stamps = _stamps(checkout, seal.recorded_state)
    if stamps != seal.seen[0]:
        seal.seen = (stamps, _read_differences(checkout, seal.recorded_state))
    return seal.seen[1]


def _read_differences(checkout: Checkout, before: GitState) -> list[str]:
    try:
        return _lines(checkout, before, _git_state(checkout))
    except SystemFailure as problem:
        return [f"the git settings cannot be read any more: {problem.message}"]


def _stamps(checkout: Checkout, before: GitState) -> list[Any]:
    """Returns the times of all files in which a change could be."""
    paths = {path for path, _, _ in before["settings"]} | {f"{checkout.git}/config.worktree", *before["files"]}
    paths |= {
        f"{checkout.common}/{name}" for name in ("config", "packed-refs", "refs/replace", *git.REFUSED_FILES, "shallow")
    }
    paths |= {os.path.expanduser("~/.gitconfig"), f"{_user_git()}/config"}
    paths.update(_user_lists(checkout, before["settings"]).values())
    paths |= {
        os.path.join(os.path.dirname(origin), os.path.expanduser(value))
        for origin, key, value in before["settings"]
        if key.startswith(("include.", "includeif.")) and value
    }
    for folder in (f"{checkout.common}/hooks", f"{checkout.common}/info", *_hooks_folder(checkout, before["settings"])):
        paths |= {folder, *_listed(folder)}
    return [(path, git.stamp_of(path)) for path in sorted(paths)]


def _lines(checkout: Checkout, before: GitState, now: GitState) -> list[str]:
    lines = []
    removed = _new_settings(before["settings"], now["settings"])
    for origin, key, value in _new_settings(now["settings"], before["settings"]):
        verb = "changed" if any(setting[:2] == [origin, key] for setting in removed) else "set"
        lines.append(f"{_shown(checkout, origin)}: {key} was {verb} to {value!r}")
    current_keys = {(origin, key) for origin, key, _ in now["settings"]}
    lines += [
        f"{_shown(checkout, origin)}: {key} was removed"
        for origin, key, _ in removed
        if (origin, key) not in current_keys
    ]
    for path in changed_keys(before["files"], now["files"]):
        verb = "added" if path not in before["files"] else "changed" if path in now["files"] else "removed"
        lines.append(f"{_shown(checkout, path)} was {verb}")
    for ref in changed_keys(before["replaced"], now["replaced"]):
        verb = "added" if ref not in before["replaced"] else "changed" if ref in now["replaced"] else "removed"
        lines.append(f"the replacement of object {ref.removeprefix(REPLACED)} was {verb}")
    return lines


def _new_settings(settings: list[Any], baseline: list[Any]) -> list[Any]:
    """Returns the settings that the baseline does not have, without those that git writes in normal use."""
    remaining, extra = list(baseline), []
    for setting in settings:
        if setting in remaining:
            remaining.remove(setting)
        elif not _is_everyday(str(setting[1])):
            extra.append(setting)
    return extra


def _is_everyday(key: str) -> bool:
    by_editor = key.startswith("branch.") and not key.endswith(BRANCH_ACTS)
    return by_editor or key.startswith(EVERYDAY) or (key.startswith("lfs.") and key.endswith(".access"))


def changed_keys(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Returns the names whose values differ, and those that only one of the two has."""
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def _shown(checkout: Checkout, path: str) -> str:
    return path.removeprefix(f"{checkout.root}/")
