"""A sealed copy of a repository's git settings: our git calls use it, and not the files that a worker can edit.

Git reads its settings, attributes, excludes, grafts and the shallow list from the folder in GIT_COMMON_DIR. While a
seal exists, that variable names a folder of ours outside of the repository. It holds the settings of the moment when
the seal was made, and links to the objects and refs of the repository.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress

from sow.errors import Failed, SowError, Waiting
from sow.system import boundary, checkout, linked
from sow.system.environment import user_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sow.system.checkout import Checkout

    Stamp = tuple[int, int, int, int]

WORKTREES = "/.sow/local/worktrees/"
FACTS = "seal.json"
# A seal links to everything of the repository that git may write; a link may point to nothing yet.
LINKS = (
    "HEAD",
    "objects",
    "refs",
    "packed-refs",
    "logs",
    "worktrees",
    "modules",
    "rr-cache",
    "reftable",
    "lfs",
    "annex",
)
# A seal has these files only if the repository had them.
COPIES = ("info/attributes", "info/exclude", "info/grafts", "shallow")
# Git has no way to ignore these files. If one of them changes, our calls stop.
REFUSED = ("objects/info/alternates", "commondir")
# `git worktree` writes the path of GIT_COMMON_DIR into files, and %(worktreepath) prints it. These calls start no
# program that the settings name, so they use the repository itself.
DIRECT = ("worktree",)
DIRECT_FORMAT = "%(worktreepath)"
# For calls that read the repository's own settings: git contacts nobody.
UNSEALED = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
OWNED: dict[str, Seal] = {}  # the seals that this process made or took over, by the root of the checkout


class Seal:
    """The sealed settings of one repository: in memory, and in a folder for git."""

    __slots__ = ("facts", "folder", "seen", "stamps", "told")

    def __init__(self, folder: str, facts: dict[str, Any]) -> None:
        self.folder = folder
        self.facts = facts
        self.stamps: list[Stamp | None] = []
        self.seen: tuple[list[Stamp | None], list[str]] = ([], [])  # stamps of the repository, and what they mean
        self.told: set[str] = set()  # changes that were reported already

    @property
    def picture(self) -> dict[str, Any]:
        """The state of the repository's git folder when the seal was made."""
        found: dict[str, Any] = self.facts["picture"]
        return found

    def own(self, root: str) -> None:
        """Use this seal for all git calls of this process in that checkout."""
        OWNED[root] = self

    def ensure(self) -> None:
        """Write the folder again if it is not as we wrote it."""
        if self.current_stamps() != self.stamps:
            self.write()

    def write(self) -> None:
        """Write the files and links of the folder."""
        _make_folder(self.folder)
        _make_folder(f"{self.folder}/info")
        if '[filter "lfs"]' in self.facts["files"]["config"]:
            # git-lfs keeps the only copy of new files there, and cannot make the folder behind a link.
            _make_folder(f"{self.facts['common']}/lfs")
        for name in LINKS:
            _link(f"{self.facts['common']}/{name}", f"{self.folder}/{name}")
        files = self.texts()
        for name in COPIES:
            if name not in files and os.path.lexists(f"{self.folder}/{name}"):
                linked.remove(f"{self.folder}/{name}")
        for name, text in files.items():
            _write(f"{self.folder}/{name}", text.encode("utf-8", "surrogateescape"))
        _write(f"{self.folder}/{FACTS}", json.dumps(self.facts).encode())
        self.stamps = self.current_stamps()

    def texts(self) -> dict[str, str]:
        """The files of the folder; the user's own attributes and excludes are read from copies there."""
        files: dict[str, str] = self.facts["files"]
        pairs = (("core.attributesFile", "attributes"), ("core.excludesFile", "ignore"))
        more = [(key, f"{self.folder}/{name}" if name in files else os.devnull) for key, name in pairs]
        return {**files, "config": files["config"] + config_text(more)}

    def current_stamps(self) -> list[Stamp | None]:
        """The inodes, sizes and times of the folder's files; a program cannot set the time of a change back."""
        names = ("", "info", *self.facts["files"])
        return [stamp(f"{self.folder}/{name}") for name in names]

    def remove(self) -> None:
        """Remove the folder; from now on git reads the repository's own settings again."""
        for root in [root for root, seal in OWNED.items() if seal.folder == self.folder]:
            del OWNED[root]
        if os.path.lexists(f"{self.folder}/{FACTS}"):
            linked.remove(f"{self.folder}/{FACTS}")  # first: without it there is no seal
        boundary.cross(f"remove {self.folder}")
        with suppress(OSError):  # another process writes it again, or it is gone
            for folder in (f"{self.folder}/info", self.folder):
                for name in os.listdir(folder):
                    path = f"{folder}/{name}"
                    if os.path.islink(path) or not os.path.isdir(path):
                        os.unlink(path)
                os.rmdir(folder)

    def refuse_misled(self) -> None:
        """Refuse to call git if a file appeared that redirects git, and that git cannot be told to ignore."""
        for name in REFUSED:
            path = f"{self.facts['common']}/{name}"
            known = self.facts["refused"].get(name)
            if (known is not None or stamp(path) is not None) and content(path) != known:
                raise Waiting(
                    f"{path} changed since the run started, and git would take objects or refs from elsewhere",
                    "undo it: sow doctor --undo-git-changes, or keep it: sow doctor --keep-git-changes",
                )

    def variables(self, cwd: str, options: Sequence[str]) -> dict[str, str]:
        """The environment variables that make git use this seal."""
        found = {"GIT_COMMON_DIR": self.folder, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        if not self.facts["lazy"]:
            found["GIT_NO_LAZY_FETCH"] = "1"
        if any(each.startswith("--git-dir=") for each in options):
            return found
        root, _, inside = cwd.partition(WORKTREES)
        if not inside:
            return {**found, "GIT_DIR": self.facts["git"], "GIT_WORK_TREE": root}
        folder = f"{root}{WORKTREES}{inside.partition('/')[0]}"
        record = linked.record_of(self.facts["common"], folder)
        # Without a record the call fails. Git must not follow a pointer that a worker wrote.
        return {**found, "GIT_DIR": record or f"{self.folder}/none", "GIT_WORK_TREE": folder}


def variables(arguments: Sequence[str], cwd: str, options: Sequence[str]) -> dict[str, str]:
    """The environment variables for a git call in a folder; none where the repository is not sealed."""
    seal = find(cwd)
    if seal is None:
        return {}
    seal.refuse_misled()
    if arguments[0] in DIRECT or any(DIRECT_FORMAT in each for each in arguments):
        return UNSEALED
    seal.ensure()
    return seal.variables(cwd, options)


def find(cwd: str) -> Seal | None:
    """The seal of the checkout whose root, or whose worktree of ours, this folder is."""
    root = cwd.partition(WORKTREES)[0]
    if root in OWNED:
        return OWNED[root]
    try:
        where = checkout.at(root)
    except SowError:  # a broken pointer: git says so itself
        return None
    return load(where) if where is not None else None


def load(where: Checkout) -> Seal | None:
    """The seal that another process made for a repository and did not remove."""
    for folder in _folders(where):
        facts = _facts(folder)
        # A repository that was made anew at the same path is another one.
        if facts is not None and facts.get("identity") == identity(where):
            seal = Seal(folder, {**facts, "root": where.root, "git": where.git})
            if all(content(f"{folder}/{name}") == text for name, text in seal.texts().items()):
                seal.stamps = seal.current_stamps()
            return seal
    return None


def make(where: Checkout, facts: dict[str, Any]) -> Seal:
    """Seal a repository: write the folder at the first place that can be written."""
    problem: Failed | None = None
    for folder in _folders(where):
        seal = Seal(folder, facts)
        try:
            seal.write()
        except Failed as error:
            problem = error
            continue
        return seal
    raise problem or Failed(f"cannot seal the settings of {where.root}", "set HOME to your home folder")


def identity(where: Checkout) -> list[int]:
    """What tells a git folder from another one at the same path."""
    try:
        facts = os.stat(where.common)
    except OSError:  # a linked worktree whose repository is gone: git says so itself
        return []
    return [facts.st_dev, facts.st_ino]


def _folders(where: Checkout) -> list[str]:
    """The user's state folder, which no worker is granted; else, where there is none, the git folder."""
    key = hashlib.sha256(os.path.realpath(where.common).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    beside = f"{where.common}/sow/sealed"
    try:
        return [f"{user_folder(os.environ, 'XDG_STATE_HOME', '.local/state')}/sow/git/{key}", beside]
    except SowError:
        return [beside]


def _facts(folder: str) -> dict[str, Any] | None:
    """The facts of a seal; none of a file that is not whole, which a power loss can leave."""
    text = content(f"{folder}/{FACTS}")
    try:
        found = json.loads(text) if text else None
    except ValueError:
        return None
    return found if isinstance(found, dict) and "picture" in found else None


def content(path: str) -> str | None:
    """The text of a small file of git; None where there is none."""
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise Failed(f"cannot read {path}: {error.strerror}", f"look at it: ls -l {path}") from None


def stamp(path: str) -> Stamp | None:
    """The inode, size and times of a file; None where there is none."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _make_folder(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        return
    boundary.cross(f"make {path}")
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise Failed(f"cannot make {path}: {error.strerror}", "make room there, or change its permissions") from None


def _link(target: str, path: str) -> None:
    if os.path.islink(path) and os.readlink(path) == target:
        return
    boundary.cross(f"link {path}")
    aside = f"{path}.{os.getpid()}.tmp"
    try:
        if os.path.lexists(aside):
            os.unlink(aside)
        os.symlink(target, aside)
        os.replace(aside, path)
    except OSError as error:
        raise Failed(f"cannot link {path}: {error.strerror}", f"remove it: rm -r {path}") from None


def _write(path: str, data: bytes) -> None:
    boundary.cross(f"write {path}")
    aside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(aside, "wb") as file:
            file.write(data)
        os.replace(aside, path)
    except OSError as error:
        raise Failed(f"cannot write {path}: {error.strerror}", "make room there, or change its permissions") from None


def config_text(settings: Sequence[tuple[str, str | None]]) -> str:
    """Settings as the text of a git config file, in their order."""
    return "".join(f"{_section(key)}\t{_setting(key, value)}\n" for key, value in settings)


def _section(key: str) -> str:
    section, _, rest = key.partition(".")
    name = rest.rpartition(".")[0]
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'[{section} "{quoted}"]\n' if "." in rest else f"[{section}]\n"


def _setting(key: str, value: str | None) -> str:
    name = key.rpartition(".")[2]
    if value is None:
        return name
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'{name} = "{escaped}"'
