"""Changes to a repository's git folder while workers run: hooks, settings, attributes, replaced objects.

A command that starts workers seals the repository first (system/sealed.py), so its own git calls ignore what changes
later. This module compares the git folder with the sealed picture, reports the differences, and undoes them.
"""

from __future__ import annotations

import base64
import os
from contextlib import contextmanager

from sow.errors import Failed
from sow.system import boundary, clock, git, sealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sow.store.home import Home
    from sow.system.checkout import Checkout
    from sow.system.sealed import Seal

    Setting = tuple[str, str, str | None]  # the file it stands in, the key, the value
    Picture = dict[str, Any]

REPLACED = "refs/replace/"
LARGEST = 1 << 20  # bytes of a hook or a list that can be restored
# Git and its tools write these keys in everyday work, and they start nothing and change no content.
EVERYDAY = ("branch.sow/", "lfs.repositoryformatversion", "maintenance.")
BRANCH_ACTS = (".remote", ".pushremote", ".merge", ".mergeoptions", ".rebase")  # what pull, push and merge obey
# A seal leaves these out: includes are resolved, a worktree's own settings are merged in, and the rest only says how
# git's output looks or where the checkout is.
LEFT_OUT = ("include.", "includeif.", "alias.", "pager.", "color.", "column.", "trailer.", "format.", "safe.")
LEFT_OUT_KEYS = ("core.bare", "core.worktree", "core.attributesfile", "core.excludesfile", "extensions.worktreeconfig")
UNDO = "sow doctor --undo-git-changes"
KEEP = "sow doctor --keep-git-changes"


@contextmanager
def guarded(home: Home) -> Iterator[None]:
    """Seal the repository while workers run. If nothing changed meanwhile, remove the seal at the end."""
    seal = begin(home)
    try:
        yield
    finally:
        sealed.OWNED.pop(home.root, None)
        if not _differences(home.checkout, seal):
            seal.remove()


def begin(home: Home) -> Seal:
    """Seal the repository. A seal that an earlier command left is used again: what changed since is not trusted."""
    where = home.checkout
    seal = sealed.load(where)
    if seal is None:
        seal = sealed.make(where, _facts(where))
    seal.own(home.root)
    return seal


def news(home: Home) -> list[str]:
    """The changes since the seal was made that were not reported yet, one line each."""
    seal = sealed.OWNED.get(home.root)
    if seal is None:
        return []
    lines = [each for each in _differences(home.checkout, seal) if each not in seal.told]
    seal.told.update(lines)
    return lines


def pending(home: Home) -> list[str]:
    """The changes since the last seal that nobody has undone or accepted, one line each."""
    seal = sealed.find(home.root)
    return _differences(home.checkout, seal) if seal is not None else []


def keep(home: Home) -> None:
    """Accept all changes: the next command trusts what is there then."""
    seal = sealed.find(home.root)
    if seal is not None:
        seal.remove()


def undo(home: Home) -> list[str]:
    """Undo all changes; returns those that are still there. Removed files are moved to `<git folder>/sow/removed`."""
    seal = sealed.find(home.root)
    if seal is None:
        return []
    where, before = home.checkout, seal.picture
    aside = f"{where.common}/sow/removed/{clock.now().replace(':', '')}"
    seal.remove()  # it refuses calls while a file redirects git
    try:
        now = _picture(where)
    except Failed:  # a broken file of settings
        _restore(f"{where.common}/config", before["config"], aside)
        now = _picture(where)
    for path in _unequal(before["files"], now["files"]):
        _restore(path, before["files"].get(path), aside)
    for origin, key, value in _minus(now["settings"], before["settings"]):
        _unset(where.root, origin, key, value)
    for origin, key, value in _minus(before["settings"], now["settings"]):
        git.run(["config", "--file", origin, "--add", key, value or "true"], cwd=where.root, check=False)
    for ref in _unequal(before["replaced"], now["replaced"]):
        old = before["replaced"].get(ref)
        words = ["update-ref", ref, old] if old else ["update-ref", "-d", ref]
        git.run(words, cwd=where.root, check=False)
    left = _lines(where, before, _picture(where))
    if left:
        seal.write()
    return left


def _unset(root: str, origin: str, key: str, value: str | None) -> None:
    words = ["config", "--file", origin, "--fixed-value", "--unset-all", key, *([] if value is None else [value])]
    git.run([each for each in words if value is not None or each != "--fixed-value"], cwd=root, check=False)


def _restore(path: str, kept: list[Any] | None, aside: str) -> None:
    """Move a file away, and write what was there before."""
    if kept is not None and kept[1] is None:
        return  # it was too large to be kept
    boundary.cross(f"restore {path}")
    try:
        if os.path.lexists(path):
            os.makedirs(aside, exist_ok=True)
            os.rename(path, f"{aside}/{os.path.basename(path)}")
        if kept is not None:
            with open(path, "wb") as file:
                file.write(base64.b64decode(kept[1]))
            os.chmod(path, kept[0])
    except OSError as error:
        raise Failed(f"cannot restore {path}: {error.strerror}", f"look at it: ls -l {path}") from None


def _facts(where: Checkout) -> dict[str, Any]:
    """Everything that a seal holds."""
    picture = _picture(where)
    files = {name: text for name in sealed.COPIES if (text := sealed.content(f"{where.common}/{name}")) is not None}
    settings = [(key, value) for _, key, value in picture["settings"] if not _is_left_out(key)]
    for name, path in _user_lists(where, picture["settings"]).items():
        if text := sealed.content(path):
            files[name] = text
    files["config"] = sealed.config_text(settings)
    return {
        "identity": sealed.identity(where),
        "common": where.common,
        "git": where.git,
        "root": where.root,
        "lazy": any(_is_promise(key) for key, _ in settings),
        "files": files,
        "refused": {name: sealed.content(f"{where.common}/{name}") for name in sealed.REFUSED},
        "picture": picture,
    }


def _is_left_out(key: str) -> bool:
    return key.startswith(LEFT_OUT) or key in LEFT_OUT_KEYS


def _is_promise(key: str) -> bool:
    """Whether a key says that the repository is a partial clone, whose missing objects are fetched."""
    return key == "extensions.partialclone" or (key.startswith("remote.") and key.endswith(".promisor"))


def _user_lists(where: Checkout, settings: list[list[str | None]]) -> dict[str, str]:
    """The files with the user's own attributes and excludes."""
    found = {"attributes": f"{_user_git()}/attributes", "ignore": f"{_user_git()}/ignore"}
    for _, key, value in settings:
        name = {"core.attributesfile": "attributes", "core.excludesfile": "ignore"}.get(key or "")
        if name and value:
            found[name] = os.path.join(where.root, os.path.expanduser(value))
    return found


def _user_git() -> str:
    return f"{os.environ.get('XDG_CONFIG_HOME') or os.path.expanduser('~/.config')}/git"


def _picture(where: Checkout) -> Picture:
    """The settings, the watched files and the replaced objects of a repository as they are now."""
    replaced = _replaced(where)
    settings = _settings(where)
    folders = [f"{where.common}/hooks", f"{where.common}/info", *_hooks_folder(where, settings)]
    paths = [path for folder in folders for path in _listed(folder)]
    paths += [f"{where.common}/{name}" for name in (*sealed.REFUSED, "shallow")]
    paths += _user_lists(where, settings).values()
    files = {path: kept for path in paths if (kept := _kept(path)) is not None}
    return {"settings": settings, "files": files, "replaced": replaced, "config": _kept(f"{where.common}/config")}


def _settings(where: Checkout) -> list[list[str | None]]:
    """Every setting of the user and of the repository, with includes resolved, in the order in which git reads them."""
    words = ["config", "--list", "--includes", "-z", "--show-scope", "--show-origin"]
    said = git.run(words, cwd=where.root, is_sealed=False).split("\0")
    found: list[list[str | None]] = []
    for scope, origin, pair in zip(said[0::3], said[1::3], said[2::3], strict=False):
        if scope != "command":
            key, is_set, value = pair.partition("\n")
            path = os.path.join(where.root, origin.removeprefix("file:"))
            found.append([path, key, value if is_set else None])
    return found


def _hooks_folder(where: Checkout, settings: list[list[str | None]]) -> list[str]:
    named = [value for _, key, value in settings if key == "core.hookspath" and value]
    return [os.path.join(where.root, os.path.expanduser(named[-1]))] if named else []


def _listed(folder: str) -> list[str]:
    try:
        return sorted(f"{folder}/{name}" for name in os.listdir(folder) if not name.endswith((".sample", ".lock")))
    except OSError:
        return []


def _kept(path: str) -> list[Any] | None:
    """The mode and the content of a file; a large one has its size and time in place of its content."""
    try:
        facts = os.stat(path)
        if not os.path.isfile(path):
            return None
        if facts.st_size > LARGEST:
            return [facts.st_mode & 0o777, None, facts.st_size, facts.st_mtime_ns]
        with open(path, "rb") as file:
            return [facts.st_mode & 0o777, base64.b64encode(file.read()).decode()]
    except OSError:
        return None


def _replaced(where: Checkout) -> dict[str, str]:
    """The replace refs, from git's files: a git process for each turn would be slow."""
    if os.path.isdir(f"{where.common}/reftable"):
        words = ["for-each-ref", "--format=%(objectname) %(refname)", REPLACED]
        lines = git.run(words, cwd=where.root, is_sealed=False).splitlines()
    else:
        packed = sealed.content(f"{where.common}/packed-refs") or ""
        lines = [line for line in packed.split("\n") if f" {REPLACED}" in line]
        for path in _listed(f"{where.common}/{REPLACED.rstrip('/')}"):
            lines.append(f"{(sealed.content(path) or '').strip()} {REPLACED}{os.path.basename(path)}")
    return {ref: oid for oid, _, ref in (line.partition(" ") for line in lines)}


def _differences(where: Checkout, seal: Seal) -> list[str]:
    """One line for each change since the seal was made; git is asked only if a file has another time."""
    stamps = _stamps(where, seal.picture)
    if stamps != seal.seen[0]:
        seal.seen = (stamps, _read_differences(where, seal.picture))
    return seal.seen[1]


def _read_differences(where: Checkout, before: Picture) -> list[str]:
    try:
        return _lines(where, before, _picture(where))
    except Failed as problem:
        return [f"the git settings cannot be read any more: {problem.message}"]


def _stamps(where: Checkout, before: Picture) -> list[Any]:
    """The times of all files in which a change could be."""
    paths = {path for path, _, _ in before["settings"]} | {f"{where.git}/config.worktree", *before["files"]}
    paths |= {
        f"{where.common}/{name}" for name in ("config", "packed-refs", "refs/replace", *sealed.REFUSED, "shallow")
    }
    paths |= {
        os.path.expanduser("~/.gitconfig"),
        f"{_user_git()}/config",
        *_user_lists(where, before["settings"]).values(),
    }
    paths |= {
        os.path.join(os.path.dirname(origin), os.path.expanduser(value))
        for origin, key, value in before["settings"]
        if key.startswith(("include.", "includeif.")) and value
    }
    for folder in (f"{where.common}/hooks", f"{where.common}/info", *_hooks_folder(where, before["settings"])):
        paths |= {folder, *_listed(folder)}
    return [(path, sealed.stamp(path)) for path in sorted(paths)]


def _lines(where: Checkout, before: Picture, now: Picture) -> list[str]:
    """One line for each difference between two pictures."""
    lines = []
    gone = _minus(before["settings"], now["settings"])
    for origin, key, value in _minus(now["settings"], before["settings"]):
        verb = "changed" if any(each[:2] == [origin, key] for each in gone) else "set"
        lines.append(f"{_shown(where, origin)}: {key} was {verb} to {value!r}")
    known = {(origin, key) for origin, key, _ in now["settings"]}
    lines += [f"{_shown(where, origin)}: {key} was removed" for origin, key, _ in gone if (origin, key) not in known]
    for path in _unequal(before["files"], now["files"]):
        verb = "added" if path not in before["files"] else "changed" if path in now["files"] else "removed"
        lines.append(f"{_shown(where, path)} was {verb}")
    for ref in _unequal(before["replaced"], now["replaced"]):
        verb = "added" if ref not in before["replaced"] else "changed" if ref in now["replaced"] else "removed"
        lines.append(f"the replacement of object {ref.removeprefix(REPLACED)} was {verb}")
    return lines


def _minus(some: list[Any], others: list[Any]) -> list[Any]:
    """Those of some settings that the others do not have, without everyday ones."""
    left, found = list(others), []
    for each in some:
        if each in left:
            left.remove(each)
        elif not _is_everyday(str(each[1])):
            found.append(each)
    return found


def _is_everyday(key: str) -> bool:
    by_editor = key.startswith("branch.") and not key.endswith(BRANCH_ACTS)
    return by_editor or key.startswith(EVERYDAY) or (key.startswith("lfs.") and key.endswith(".access"))


def _unequal(some: dict[str, Any], others: dict[str, Any]) -> list[str]:
    return sorted(name for name in some.keys() | others.keys() if some.get(name) != others.get(name))


def _shown(where: Checkout, path: str) -> str:
    return path.removeprefix(f"{where.root}/")
