"""Runs git with settings that no worker can change, and reads and repairs the files in which git keeps a worktree.

Git reads its settings, attributes, excludes, grafts and the shallow list from the folder in GIT_COMMON_DIR. While a
seal exists, that variable names a folder of ours outside of the repository. It holds the settings of the moment when
the seal was made, and links to the objects and refs of the repository.

A worktree is a folder with a pointer in its file .git, and a record in the shared git folder that points back. Each of
the two can be lost while the other, and the work, is still there; git itself gives up then.
"""

from __future__ import annotations

import errno
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sow.errors import SowError, SystemFailure, Waiting
from sow.system import checkout, clock, plain_file
from sow.system.checkout import Checkout
from sow.system.environment import user_folder
from sow.system.process import process_tree

POINTER = "gitdir: "
NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL, errno.ENXIO)  # missing, or not a regular file
INITIALISING = "initializing"  # git's text in the lock of a worktree that it has not finished
# Files that an unfinished operation leaves in a git folder, and its command.
UNDER_WAY = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "sequencer": "cherry-pick",
    "BISECT_LOG": "bisect",
}


def record_of(common: str, folder: str) -> str:
    """Returns git's record of the worktree in this folder, or nothing."""
    root = os.path.realpath(folder)
    usual = f"{common}/worktrees/{os.path.basename(folder)}"
    if (recorded := _folder_of(usual)) and os.path.realpath(recorded) == root:
        return usual
    folders = {record: _folder_of(record) for record in _records(common)}
    for record, recorded in folders.items():
        if recorded and os.path.realpath(recorded) == root:
            return record
    # The repository was moved: the pointer has an old path, but the record's own name is in it.
    name = os.path.basename(pointer_of(folder))
    moved = f"{common}/worktrees/{name}"
    return moved if name and moved in folders and not os.path.lexists(folders[moved]) else ""


def _records(common: str) -> list[str]:
    try:
        return sorted(f"{common}/worktrees/{name}" for name in os.listdir(f"{common}/worktrees"))
    except FileNotFoundError:
        return []


def _folder_of(record: str) -> str:
    target = first_line(f"{record}/gitdir")
    return os.path.dirname(os.path.join(record, target)) if target else ""


def pointer_of(folder: str) -> str:
    """Returns the target of the folder's file .git, or nothing if there is no such file."""
    text = first_line(f"{folder}/.git")
    return os.path.normpath(os.path.join(folder, text.removeprefix(POINTER))) if text.startswith(POINTER) else ""


def is_valid_record(record: str, folder: str) -> bool:
    """Returns whether record and folder point to each other, and git had finished them."""
    return (
        os.path.realpath(pointer_of(folder)) == os.path.realpath(record)
        and os.path.realpath(_folder_of(record)) == os.path.realpath(folder)
        and bool(first_line(f"{record}/commondir"))
        and _head_is_sane(record)
        and first_line(f"{record}/locked") != INITIALISING
    )


def _head_is_sane(record: str) -> bool:
    head = first_line(f"{record}/HEAD")
    return head.startswith("ref: ") or bool(head.strip("0"))


def repair_record(common: str, record: str, folder: str, *, head: str) -> None:
    """Makes record and folder point to each other again; an invalid HEAD becomes this one."""
    write_file(f"{record}/gitdir", f"{os.path.realpath(folder)}/.git\n")
    if not first_line(f"{record}/commondir"):
        write_file(f"{record}/commondir", f"{os.path.relpath(common, record)}\n")
    if not _head_is_sane(record):
        write_file(f"{record}/HEAD", f"{head}\n")
    # The temporary file is outside of the folder, where a left-over would be taken for work.
    write_file(f"{folder}/.git", f"{POINTER}{os.path.realpath(record)}\n", aside=f"{folder}.pointer")
    if first_line(f"{record}/locked") == INITIALISING:
        remove_file(f"{record}/locked")


def unfinished_operations(git: str) -> dict[str, str]:
    """Returns the unfinished operations in a git folder: the file that shows each, and its command."""
    return {name: command for name, command in UNDER_WAY.items() if os.path.lexists(f"{git}/{name}")}


def write_file(path: str, text: str, *, aside: str = "") -> None:
    """Replaces one of git's small files as a whole."""
    clock.crash_point(f"write {path}")
    aside = aside or f"{path}.sow"
    try:
        with open(plain_file.create(aside, mode=0o666), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.replace(aside, path)
    except OSError as error:
        raise SystemFailure(f"cannot write {path}: {error.strerror}", "fix that and run the command again") from None


def copy_file(source: str, target: str) -> None:
    """Copies one of git's files with its time, by which git decides which entries of an index it may trust."""
    clock.crash_point(f"copy to {target}")
    try:
        with open(source, "rb") as old, open(plain_file.create(f"{target}.sow", mode=0o666), "wb") as new:
            while data := old.read(1 << 20):
                new.write(data)
            facts = os.fstat(old.fileno())
        os.utime(f"{target}.sow", ns=(facts.st_atime_ns, facts.st_mtime_ns))
        os.replace(f"{target}.sow", target)
    except OSError as error:
        raise SystemFailure(f"cannot copy {source}: {error.strerror}", "fix that and run the command again") from None


def remove_file(path: str) -> bool:
    """Removes one file; returns whether it existed."""
    clock.crash_point(f"remove {path}")
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise SystemFailure(f"cannot remove {path}: {error.strerror}", "fix that and run the command again") from None
    return True


def first_line(path: str) -> str:
    """Returns the first line of one of git's small files, or nothing if it is missing."""
    try:
        return plain_file.read(path, 8192).partition(b"\n")[0].decode("utf-8", "surrogateescape")
    except OSError as error:
        if error.errno in NO_FILE:
            return ""
        raise SystemFailure(f"cannot read {path}: {error.strerror}", "fix that and run the command again") from None


FileStamp = tuple[int, int, int, int]

WORKTREES = "/.sow/local/worktrees/"
SEAL_FACTS = "seal.json"
# A seal links to everything of the repository that git may write; a link may point to nothing yet.
LINKED_FILES = (
    "HEAD", "objects", "refs", "packed-refs", "logs", "worktrees", "modules", "rr-cache", "reftable", "lfs", "annex",
)  # fmt: skip
# A seal has these files only if the repository had them.
COPIED_FILES = ("info/attributes", "info/exclude", "info/grafts", "shallow")
# Git has no way to ignore these files. If one of them changes, our calls stop.
REFUSED_FILES = ("objects/info/alternates", "commondir")
# `git worktree` writes the path of GIT_COMMON_DIR into files, and %(worktreepath) prints it. These calls start no
# program that the settings name, so they use the repository itself.
DIRECT_COMMANDS = ("worktree",)
DIRECT_FORMAT = "%(worktreepath)"
# For calls that read the repository's own settings: git contacts nobody.
UNSEALED = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
ACTIVE_SEALS: dict[str, Seal] = {}  # the seals that this process made or took over, by the root of the checkout


class Seal:
    """The sealed settings of one repository: in memory, and in a folder for git."""

    def __init__(self, folder: str, facts: dict[str, Any]) -> None:
        self.folder = folder
        self.facts = facts
        self.stamps: list[FileStamp | None] = []
        self.seen: tuple[list[FileStamp | None], list[str]] = ([], [])  # stamps of the repository, and what they mean
        self.reported: set[str] = set()  # changes that were reported already

    @property
    def recorded_state(self) -> dict[str, Any]:
        """Returns the state of the repository's git folder when the seal was made."""
        picture: dict[str, Any] = self.facts["picture"]
        return picture

    def activate(self, root: str) -> None:
        """Uses this seal for all git calls of this process in that checkout."""
        ACTIVE_SEALS[root] = self

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
        for name in LINKED_FILES:
            _make_link(f"{self.facts['common']}/{name}", f"{self.folder}/{name}")
        files = self.texts()
        for name in COPIED_FILES:
            if name not in files and os.path.lexists(f"{self.folder}/{name}"):
                remove_file(f"{self.folder}/{name}")
        import json  # here, because it loads slowly and few commands have a seal

        for name, text in files.items():
            _write_sealed(f"{self.folder}/{name}", text)
        _write_sealed(f"{self.folder}/{SEAL_FACTS}", json.dumps(self.facts))
        self.stamps = self.current_stamps()

    def texts(self) -> dict[str, str]:
        """Returns the files of the folder; the user's own attributes and excludes are read from copies there."""
        files: dict[str, str] = self.facts["files"]
        pairs = (("core.attributesFile", "attributes"), ("core.excludesFile", "ignore"))
        settings = [(key, f"{self.folder}/{name}" if name in files else os.devnull) for key, name in pairs]
        return {**files, "config": files["config"] + config_text(settings)}

    def current_stamps(self) -> list[FileStamp | None]:
        """Returns the inodes, sizes and times of the folder's files; a program cannot set the change time back."""
        return [stamp_of(f"{self.folder}/{name}") for name in ("", "info", *self.facts["files"])]

    def remove(self) -> None:
        """Removes the folder; from now on git reads the repository's own settings again."""
        for root in [root for root, seal in ACTIVE_SEALS.items() if seal.folder == self.folder]:
            del ACTIVE_SEALS[root]
        if os.path.lexists(f"{self.folder}/{SEAL_FACTS}"):
            remove_file(f"{self.folder}/{SEAL_FACTS}")  # first: without it there is no seal
        clock.crash_point(f"remove {self.folder}")
        with suppress(OSError):  # another process writes it again, or it is gone
            for folder in (f"{self.folder}/info", self.folder):
                for name in os.listdir(folder):
                    path = f"{folder}/{name}"
                    if os.path.islink(path) or not os.path.isdir(path):
                        os.unlink(path)
                os.rmdir(folder)

    def check_redirects(self) -> None:
        """Raises if a file appeared that redirects git and that git cannot be told to ignore."""
        for name in REFUSED_FILES:
            path = f"{self.facts['common']}/{name}"
            expected = self.facts["refused"].get(name)
            if (expected is not None or stamp_of(path) is not None) and content_of(path) != expected:
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
        record = record_of(self.facts["common"], folder)
        # Without a record the call fails. Git must not follow a pointer that a worker wrote.
        return {**settings, "GIT_DIR": record or f"{self.folder}/none", "GIT_WORK_TREE": folder}


def seal_variables(arguments: Sequence[str], cwd: str, options: Sequence[str]) -> dict[str, str]:
    """Returns the environment variables for a git call in a folder; none if the repository is not sealed."""
    seal = find_seal(cwd)
    if seal is None:
        return {}
    seal.check_redirects()
    if arguments[0] in DIRECT_COMMANDS or any(DIRECT_FORMAT in argument for argument in arguments):
        return UNSEALED
    seal.ensure()
    return seal.variables(cwd, options)


def find_seal(cwd: str) -> Seal | None:
    """Returns the seal of the checkout whose root or whose task worktree this folder is."""
    root = cwd.partition(WORKTREES)[0]
    if root in ACTIVE_SEALS:
        return ACTIVE_SEALS[root]
    try:
        repository = checkout.at(root)
    except SowError:  # a broken pointer: git reports it
        return None
    return load_seal(repository) if repository is not None else None


def load_seal(repository: Checkout) -> Seal | None:
    """Loads the seal that another process made for a repository and did not remove."""
    for folder in _folders(repository):
        facts = _facts(folder)
        # A new repository at the same path has another identity.
        if facts is not None and facts.get("identity") == folder_identity(repository):
            seal = Seal(folder, {**facts, "root": repository.root, "git": repository.git})
            if all(content_of(f"{folder}/{name}") == text for name, text in seal.texts().items()):
                seal.stamps = seal.current_stamps()
            return seal
    return None


def make_seal(repository: Checkout, facts: dict[str, Any]) -> Seal:
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


def folder_identity(repository: Checkout) -> list[int]:
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

    text = content_of(f"{folder}/{SEAL_FACTS}")
    try:
        facts = json.loads(text) if text else None
    except ValueError:
        return None
    return facts if isinstance(facts, dict) and "picture" in facts else None


def content_of(path: str) -> str | None:
    """Returns the text of a small file of git, or None if it is missing."""
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise SystemFailure(f"cannot read {path}: {error.strerror}", f"look at it: ls -l {path}") from None


def stamp_of(path: str) -> FileStamp | None:
    """Returns the inode, size and times of a file, or None if it is missing."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _make_folder(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        return
    clock.crash_point(f"make {path}")
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise SystemFailure(
            f"cannot make {path}: {error.strerror}", "make room there, or change its permissions"
        ) from None


def _make_link(target: str, path: str) -> None:
    if os.path.islink(path) and os.readlink(path) == target:
        return
    clock.crash_point(f"link {path}")
    aside = f"{path}.{os.getpid()}.tmp"
    try:
        if os.path.lexists(aside):
            os.unlink(aside)
        os.symlink(target, aside)
        os.replace(aside, path)
    except OSError as error:
        raise SystemFailure(f"cannot link {path}: {error.strerror}", f"remove it: rm -r {path}") from None


def _write_sealed(path: str, text: str) -> None:
    write_file(path, text, aside=f"{path}.{os.getpid()}.tmp")


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


TIMEOUT = 60
LONG = 1800  # for a checkout of a large repository on a slow disk, with files that a filter fetches
# Our calls never prompt, page, run a hook or start background work. Their output does not depend on the user's
# settings. They ignore the commit graph, which could name another tree than the commit does.
SETTINGS = tuple(
    word
    for setting in (
        "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.abbrev=auto", "core.commitGraph=false",
        "core.ignoreStat=false", "core.quotePath=false", "core.safecrlf=false", "commit.gpgSign=false", "gc.auto=0",
        "maintenance.auto=false", "fetch.writeCommitGraph=false", "submodule.recurse=false",
        "i18n.commitEncoding=UTF-8", "i18n.logOutputEncoding=UTF-8", "log.showSignature=false", "color.ui=false",
        "trailer.separators=:", "diff.algorithm=default", "merge.renames=true", "merge.directoryRenames=conflict",
        "merge.verbosity=2",
    )
    for word in ("-c", setting)
)  # fmt: skip
REMOVED_VARIABLES = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS",
    "GIT_ATTR_SOURCE", "GIT_REPLACE_REF_BASE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_CONFIG",
)  # fmt: skip
ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "LC_ALL": "C",
}
MAX_HEAD = 8192  # bytes of the line before an object; that of a missing one repeats its name
HEAD = ("id", "type", "size")  # the words of that line
LEAST_FREE = 64 << 10  # bytes that git needs at least for its smallest files
ERROR_PREFIXES = ("fatal: ", "error: ")
DUBIOUS_OWNERSHIP = b"detected dubious ownership"


@dataclass(frozen=True, kw_only=True)
class GitResult:
    """The result of one git command."""

    code: int
    out: str
    err: str
    is_disk_full: bool = False  # whether it failed on a full disk, which git does not always report

    @property
    def message(self) -> str:
        """Returns git's own error message: the line of the failure, not a warning before it."""
        from sow.system.process.exit_code import exit_text  # here, because only an error needs it

        lines = self.err.strip().splitlines() or self.out.strip().splitlines() or [exit_text(self.code)]
        message = next((line for start in ERROR_PREFIXES for line in lines if line.startswith(start)), lines[0])
        return message.removeprefix("fatal: ").removeprefix("error: ") + (
            " (the disk is full)" if self.is_disk_full else ""
        )


def run(
    arguments: Sequence[str],
    *,
    cwd: str,
    check: bool = True,
    options: Sequence[str] = (),
    input: str = "",
    index: str = "",
    variables: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
    hold: int = -1,
    is_sealed: bool = True,
) -> str:
    """Returns the output of one git command; raises with git's own message if it fails."""
    result = run_unchecked(
        arguments,
        cwd=cwd,
        options=options,
        input=input,
        index=index,
        variables=variables,
        timeout=timeout,
        hold=hold,
        is_sealed=is_sealed,
    )
    if check and result.code:
        raise failure(arguments, result)
    return result.out


def failure(arguments: Sequence[str], result: GitResult) -> SystemFailure:
    """Returns the error for a failed command."""
    return SystemFailure(f"git {arguments[0]} failed: {result.message}", "see 'git status' in this repository")


def run_unchecked(
    arguments: Sequence[str],
    *,
    cwd: str,
    options: Sequence[str] = (),
    input: str = "",
    index: str = "",
    variables: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
    hold: int = -1,
    is_sealed: bool = True,
) -> GitResult:
    """Returns the result of one git command, even of a failed one.

    `options` precede the command, `index` is another index file than the checkout's own, and `hold` is a lock that git
    keeps while it runs: if we are killed, the next process waits until our git has ended. With `is_sealed` off, git
    reads the repository's own settings although a seal exists.
    """
    own = seal_variables(arguments, cwd, options) if is_sealed else UNSEALED
    process = _start(arguments, cwd, options, _environment(index, {**own, **(variables or {})}), hold)
    try:
        out, err = process.communicate(input.encode("utf-8", "surrogateescape"), timeout=timeout)
    except subprocess.TimeoutExpired:
        _kill(process)
        raise SystemFailure(
            f"git {arguments[0]} did not end within {timeout:.0f} seconds", "look for a hanging git process"
        ) from None
    except KeyboardInterrupt:
        # Git interrupted in the middle leaves half a checkout behind, so it may end first.
        _finish(process, timeout)
        raise
    code = process.returncode
    if code and DUBIOUS_OWNERSHIP in err:
        raise _foreign(cwd)
    return GitResult(code=code, out=_text(out), err=_text(err), is_disk_full=bool(code) and _is_full(cwd))


def _foreign(cwd: str) -> SystemFailure:
    return SystemFailure(
        f"{cwd} belongs to another user, and git refuses to work in it",
        f"if you trust it: git config --global --add safe.directory {shlex.quote(cwd)}",
    )


def _is_full(folder: str) -> bool:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < LEAST_FREE


def read(arguments: Sequence[str], *, cwd: str, options: Sequence[str] = (), limit: int) -> tuple[str, bool]:
    """Returns the beginning of a command's output, up to the limit in bytes, and whether it is complete."""
    process = _start_reading(arguments, cwd, options)
    try:
        output = process.stdout.read(limit + 1) if process.stdout else b""
    finally:
        _kill(process)
    return output[:limit].decode("utf-8", "replace"), len(output) <= limit


class ObjectReader:
    """One `git cat-file` that answers many questions about objects. It reads a ref anew for each question."""

    def __init__(self, cwd: str, options: Sequence[str] = ()) -> None:
        self._process = _start_reading(["cat-file", "--batch-command"], cwd, options)

    def find(self, name: str) -> tuple[str, str] | None:
        """Returns the id and the type of an object, empty texts if there is none, or None if git does not answer."""
        if "\n" in name:
            return "", ""
        try:
            words = self._ask("info", name)
        except BrokenPipeError:
            return None
        if not words.endswith(b"\n"):  # too long, or the end of git
            return None
        head = words.decode("utf-8", "replace").split()
        return (head[0], head[1]) if len(head) == len(HEAD) and head[2].isdigit() else ("", "")

    def content(self, name: str) -> bytes:
        """Returns the content of an object as it is stored: no filter is run."""
        try:
            _, _, size = self._ask("contents", name).rstrip(b"\n").rpartition(b" ")
            replies = self._process.stdout
            data = replies.read(int(size) + 1) if size.isdigit() and replies else b""
        except BrokenPipeError:
            raise SystemFailure("git cat-file ended too early", "run the command again") from None
        if not data:
            raise SystemFailure(f"the object {name} cannot be read", "run the command again")
        return data[:-1]

    def _ask(self, question: str, name: str) -> bytes:
        requests, replies = self._process.stdin, self._process.stdout
        if requests is None or replies is None:
            return b""
        requests.write(f"{question} {name}\n".encode("utf-8", "surrogateescape"))
        requests.flush()
        return replies.readline(MAX_HEAD)

    def close(self) -> None:
        """Ends git."""
        if self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        _kill(self._process)


def blobs(names: Sequence[str], *, cwd: str, options: Sequence[str] = ()) -> Iterator[bytes]:
    """Yields the contents of objects by name."""
    reader = ObjectReader(cwd, options)
    try:
        for name in names:
            yield reader.content(name)
    finally:
        reader.close()


def _start_reading(arguments: Sequence[str], cwd: str, options: Sequence[str]) -> subprocess.Popen[bytes]:
    environment = _environment("", seal_variables(arguments, cwd, options))
    return _start(arguments, cwd, options, environment, -1, errors=subprocess.DEVNULL)


def _environment(index: str, variables: Mapping[str, str] | None) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in REMOVED_VARIABLES}
    environment |= ENVIRONMENT
    if index:
        environment["GIT_INDEX_FILE"] = index
    return environment | dict(variables or {})


def _start(
    arguments: Sequence[str],
    cwd: str,
    options: Sequence[str],
    environment: dict[str, str],
    hold: int,
    errors: int = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    clock.crash_point(f"git {arguments[0]}")
    try:
        return subprocess.Popen(
            ["git", *SETTINGS, *options, *arguments],
            cwd=cwd,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            pass_fds=(hold,) if hold >= 0 else (),
            start_new_session=True,  # Ctrl-C goes to us only, because we know when git may stop
        )
    except OSError as error:
        raise start_failure(error, cwd) from None


def start_failure(error: OSError, cwd: str) -> SystemFailure:
    """Returns why git cannot be started in a folder."""
    if not isinstance(error, FileNotFoundError):
        return SystemFailure(f"cannot start git in {cwd}: {error.strerror}", "fix that and run the command again")
    if error.filename == cwd:
        return SystemFailure(f"{cwd} is gone", "make that folder again, or go to another")
    return SystemFailure("git is not installed", "install git 2.38 or newer and put it on PATH")


def _finish(process: subprocess.Popen[bytes], timeout: float) -> None:
    try:
        process.communicate(timeout=timeout)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process_tree.signal_one(process.pid, signal.SIGKILL, group=True)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
