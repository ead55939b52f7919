"""Makes a sealed copy of a repository's git settings, which our git calls use instead of files that a worker can edit.

Git reads its settings, attributes, excludes, grafts and the shallow list from the folder in GIT_COMMON_DIR. While a
seal exists, that variable names a folder of ours outside of the repository. It holds the settings of the moment when
the seal was made, and links to the objects and refs of the repository.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from sow.errors import SowError, SystemFailure, Waiting
from sow.system import checkout, crash_points, git_worktree_files
from sow.system.checkout import Checkout
from sow.system.environment import user_folder

Stamp = tuple[int, int, int, int]

WORKTREES = "/.sow/local/worktrees/"
FACTS = "seal.json"
# A seal links to everything of the repository that git may write; a link may point to nothing yet.
LINKS = (
    "HEAD", "objects", "refs", "packed-refs", "logs", "worktrees", "modules", "rr-cache", "reftable", "lfs", "annex",
)  # fmt: skip
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
ACTIVE: dict[str, Seal] = {}  # the seals that this process made or took over, by the root of the checkout


class Seal:
    """The sealed settings of one repository: in memory, and in a folder for git."""

    def __init__(self, folder: str, facts: dict[str, Any]) -> None:
        self.folder = folder
        self.facts = facts
        self.stamps: list[Stamp | None] = []
        self.seen: tuple[list[Stamp | None], list[str]] = ([], [])  # stamps of the repository, and what they mean
        self.reported: set[str] = set()  # changes that were reported already

    @property
    def recorded_state(self) -> dict[str, Any]:
        """Returns the state of the repository's git folder when the seal was made."""
        picture: dict[str, Any] = self.facts["picture"]
        return picture

    def activate(self, root: str) -> None:
        """Uses this seal for all git calls of this process in that checkout."""
        ACTIVE[root] = self

    def ensure(self) -> None:
        """Writes the folder again if it is not as we wrote it."""
        if self.current_stamps() != self.stamps:
            self.write()

    def write(self) -> None:
        """Writes the files and links of the folder."""
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
                git_worktree_files.remove(f"{self.folder}/{name}")
        import json  # here, because it loads slowly and few commands have a seal

        for name, text in files.items():
            _write(f"{self.folder}/{name}", text)
        _write(f"{self.folder}/{FACTS}", json.dumps(self.facts))
        self.stamps = self.current_stamps()

    def texts(self) -> dict[str, str]:
        """Returns the files of the folder; the user's own attributes and excludes are read from copies there."""
        files: dict[str, str] = self.facts["files"]
        pairs = (("core.attributesFile", "attributes"), ("core.excludesFile", "ignore"))
        settings = [(key, f"{self.folder}/{name}" if name in files else os.devnull) for key, name in pairs]
        return {**files, "config": files["config"] + config_text(settings)}

    def current_stamps(self) -> list[Stamp | None]:
        """Returns the inodes, sizes and times of the folder's files; a program cannot set the change time back."""
        return [stamp(f"{self.folder}/{name}") for name in ("", "info", *self.facts["files"])]

    def remove(self) -> None:
        """Removes the folder; from now on git reads the repository's own settings again."""
        for root in [root for root, seal in ACTIVE.items() if seal.folder == self.folder]:
            del ACTIVE[root]
        if os.path.lexists(f"{self.folder}/{FACTS}"):
            git_worktree_files.remove(f"{self.folder}/{FACTS}")  # first: without it there is no seal
        crash_points.crash_point(f"remove {self.folder}")
        with suppress(OSError):  # another process writes it again, or it is gone
            for folder in (f"{self.folder}/info", self.folder):
                for name in os.listdir(folder):
                    path = f"{folder}/{name}"
                    if os.path.islink(path) or not os.path.isdir(path):
                        os.unlink(path)
                os.rmdir(folder)

    def check_redirects(self) -> None:
        """Raises if a file appeared that redirects git and that git cannot be told to ignore."""
        for name in REFUSED:
            path = f"{self.facts['common']}/{name}"
            expected = self.facts["refused"].get(name)
            if (expected is not None or stamp(path) is not None) and content(path) != expected:
                raise Waiting(
                    f"{path} changed since the run started, and git would take objects or refs from elsewhere",
                    "undo it: sow doctor --undo-git-changes, or keep it: sow doctor --keep-git-changes",
                )

    def variables(self, cwd: str, options: Sequence[str]) -> dict[str, str]:
        """Returns the environment variables that make git use this seal."""
        settings = {"GIT_COMMON_DIR": self.folder, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        if not self.facts["lazy"]:
            settings["GIT_NO_LAZY_FETCH"] = "1"
        if any(option.startswith("--git-dir=") for option in options):
            return settings
        root, _, inside = cwd.partition(WORKTREES)
        if not inside:
            return {**settings, "GIT_DIR": self.facts["git"], "GIT_WORK_TREE": root}
        folder = f"{root}{WORKTREES}{inside.partition('/')[0]}"
        record = git_worktree_files.record_of(self.facts["common"], folder)
        # Without a record the call fails. Git must not follow a pointer that a worker wrote.
        return {**settings, "GIT_DIR": record or f"{self.folder}/none", "GIT_WORK_TREE": folder}


def variables(arguments: Sequence[str], cwd: str, options: Sequence[str]) -> dict[str, str]:
    """Returns the environment variables for a git call in a folder; none if the repository is not sealed."""
    seal = find(cwd)
    if seal is None:
        return {}
    seal.check_redirects()
    if arguments[0] in DIRECT or any(DIRECT_FORMAT in argument for argument in arguments):
        return UNSEALED
    seal.ensure()
    return seal.variables(cwd, options)


def find(cwd: str) -> Seal | None:
    """Returns the seal of the checkout whose root or whose task worktree this folder is."""
    root = cwd.partition(WORKTREES)[0]
    if root in ACTIVE:
        return ACTIVE[root]
    try:
        repository = checkout.at(root)
    except SowError:  # a broken pointer: git reports it
        return None
    return load(repository) if repository is not None else None


def load(repository: Checkout) -> Seal | None:
    """Loads the seal that another process made for a repository and did not remove."""
    for folder in _folders(repository):
        facts = _facts(folder)
        # A new repository at the same path has another identity.
        if facts is not None and facts.get("identity") == identity(repository):
            seal = Seal(folder, {**facts, "root": repository.root, "git": repository.git})
            if all(content(f"{folder}/{name}") == text for name, text in seal.texts().items()):
                seal.stamps = seal.current_stamps()
            return seal
    return None


def make(repository: Checkout, facts: dict[str, Any]) -> Seal:
    """Seals a repository: writes the folder at the first path that can be written."""
    problem: SystemFailure | None = None
    for folder in _folders(repository):
        seal = Seal(folder, facts)
        try:
            seal.write()
        except SystemFailure as error:
            problem = error
            continue
        return seal
    raise problem or SystemFailure(f"cannot seal the settings of {repository.root}", "set HOME to your home folder")


def identity(repository: Checkout) -> list[int]:
    """Returns the device and inode that tell a git folder from another one at the same path."""
    try:
        facts = os.stat(repository.common)
    except OSError:  # a linked worktree whose repository is gone: git reports it
        return []
    return [facts.st_dev, facts.st_ino]


def _folders(repository: Checkout) -> list[str]:
    """Returns the user's state folder, which no worker may write, then the git folder."""
    from hashlib import sha256

    key = sha256(os.path.realpath(repository.common).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    in_git_folder = f"{repository.common}/sow/sealed"
    try:
        return [f"{user_folder(os.environ, 'XDG_STATE_HOME', '.local/state')}/sow/git/{key}", in_git_folder]
    except SowError:
        return [in_git_folder]


def _facts(folder: str) -> dict[str, Any] | None:
    """Returns the facts of a seal, or None if the file is incomplete, which a power loss can cause."""
    import json

    text = content(f"{folder}/{FACTS}")
    try:
        facts = json.loads(text) if text else None
    except ValueError:
        return None
    return facts if isinstance(facts, dict) and "picture" in facts else None


def content(path: str) -> str | None:
    """Returns the text of a small file of git, or None if it is missing."""
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise SystemFailure(f"cannot read {path}: {error.strerror}", f"look at it: ls -l {path}") from None


def stamp(path: str) -> Stamp | None:
    """Returns the inode, size and times of a file, or None if it is missing."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _make_folder(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        return
    crash_points.crash_point(f"make {path}")
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise SystemFailure(
            f"cannot make {path}: {error.strerror}", "make room there, or change its permissions"
        ) from None


def _link(target: str, path: str) -> None:
    if os.path.islink(path) and os.readlink(path) == target:
        return
    crash_points.crash_point(f"link {path}")
    aside = f"{path}.{os.getpid()}.tmp"
    try:
        if os.path.lexists(aside):
            os.unlink(aside)
        os.symlink(target, aside)
        os.replace(aside, path)
    except OSError as error:
        raise SystemFailure(f"cannot link {path}: {error.strerror}", f"remove it: rm -r {path}") from None


def _write(path: str, text: str) -> None:
    git_worktree_files.write(path, text, aside=f"{path}.{os.getpid()}.tmp")


def config_text(settings: Sequence[tuple[str, str | None]]) -> str:
    """Returns settings as the text of a git config file, in their order."""
    return "".join(f"{_section(key)}\t{_setting(key, value)}\n" for key, value in settings)


def _section(key: str) -> str:
    section, _, rest = key.partition(".")
    quoted = rest.rpartition(".")[0].replace("\\", "\\\\").replace('"', '\\"')
    return f'[{section} "{quoted}"]\n' if "." in rest else f"[{section}]\n"


def _setting(key: str, value: str | None) -> str:
    name = key.rpartition(".")[2]
    if value is None:
        return name
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'{name} = "{escaped}"'
