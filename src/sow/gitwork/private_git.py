"""Gives a worker in the sandbox a git folder of its own, and takes its commits over when its turn has ended.

The worker reads the objects of the repository as alternates and writes only to its own folder. sow never runs git in
that folder, because the worker can change its settings: it reads the folder's files and copies the objects.
"""

from __future__ import annotations

import os
import re
import stat
from _blake2 import blake2b  # hashlib loads much more
from collections.abc import Iterable, Iterator
from functools import cache

from sow.gitwork.repository import Repository
from sow.gitwork.worktree import LARGEST, OBJECT, Worktree
from sow.store.files.checkout_home import Home
from sow.store.files.disk import is_folder, remove_quietly, remove_tree_quietly
from sow.system import clock, git, plain_file
from sow.system.git import config_text
from sow.system.sandbox import Box

OPEN = "sow-open"  # exists while commits of a turn may be in the folder
COMMITS = "SANDBOX_COMMITS"  # in the real record: what a worker committed, for the pins
RECORD = "worktrees/own"  # the folder's record of the worktree
# Files of a record that tell what a worker did. Its other files could make git run programs or leave the repository.
TAKEN = (
    "HEAD", "ORIG_HEAD", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "SQUASH_MSG", "CHERRY_PICK_HEAD",
    "REVERT_HEAD", "REBASE_HEAD", "BISECT_LOG", "BISECT_TERMS", "index", "logs/HEAD",
)  # fmt: skip
SEQUENCE = ("sequencer/head", "sequencer/todo", "sequencer/opts", "sequencer/abort-safety")
NO_NAMES = ("index", "MERGE_MSG", "SQUASH_MSG")  # files that name no commits, or in words of the worker
# Settings that hold logins, or that name files and repositories which the sandbox does not have.
PRIVATE_SETTINGS = re.compile(
    r"(?i)^(http|url|include|includeif|gpg|commit\.gpgsign|tag\.gpgsign|extensions\.(refstorage|worktreeconfig)"
    r"|core\.(sshcommand|askpass|worktree|bare|gitproxy))\b"
)
LOGIN = re.compile(r"(?<=://)[^/@\s]+@")
SECRET = re.compile(
    r"(?i)token|passw|passphrase|pass\b|secret|extraheader|api_?key|cookie|\bauth(orization)?\b|credential|://[^/\s]*@"
)
MAX_FILE = 1 << 20


class PrivateGit:
    """The git folder of one task's worker. `folder` is below .sow/local and is kept between turns."""

    def __init__(self, worktree: Worktree) -> None:
        self.worktree = worktree
        self.repository: Repository = worktree.repository
        self.folder = f"{self.repository.home.sow}/local/sandbox/{worktree.name}/git"

    @property
    def pointer(self) -> str:
        """The file that the worktree's .git is replaced by in the sandbox."""
        return f"{os.path.dirname(self.folder)}/pointer"

    @property
    def is_open(self) -> bool:
        """Returns whether a turn began with this folder and its commits were not taken over yet."""
        return os.path.lexists(f"{os.path.dirname(self.folder)}/{OPEN}")

    def open(self) -> None:
        """Makes the folder new, from what the repository and the worktree have now."""
        self.take_over()
        home = self.repository.home
        parent = home.folder("local", "sandbox", self.worktree.name)
        clock.crash_point(f"make {self.folder}")
        remove_tree_quietly(self.folder)
        record = f"{self.folder}/{RECORD}"
        for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "hooks", f"{RECORD}/logs"):
            os.makedirs(f"{self.folder}/{folder}", mode=0o700, exist_ok=True)
        common = home.checkout.common
        self._write("objects/info/alternates", f"{common}/objects\n")
        settings = [("core.repositoryformatversion", "0"), ("core.bare", "false"), *read_settings(common, "local")]
        self._write("config", config_text(settings))
        refs = self.repository.refs("refs/heads/", "refs/tags/", "refs/remotes/")
        self._write("packed-refs", "".join(f"{commit} {name}\n" for name, commit in sorted(refs.items())))
        self._write("HEAD", "ref: refs/heads/none\n")
        for name in ("shallow", "info/exclude", "info/attributes"):
            _copy(f"{common}/{name}", f"{self.folder}/{name}")
        for name in _names(f"{common}/hooks"):
            if not name.endswith(".sample"):
                _copy(f"{common}/hooks/{name}", f"{self.folder}/hooks/{name}", mode=0o700)
        for name in TAKEN:
            _copy(f"{self.worktree.git_dir}/{name}", f"{record}/{name}", limit=LARGEST)
        if os.path.exists(f"{self.worktree.git_dir}/index"):  # with its time, by which git trusts its entries
            git.copy_file(f"{self.worktree.git_dir}/index", f"{record}/index")
        self._write(f"{RECORD}/commondir", "../..\n")
        self._write(f"{RECORD}/gitdir", f"{self.worktree.path}/.git\n")
        plain_file.write(self.pointer, f"{git.POINTER}{record}\n")
        plain_file.write(f"{parent}/{OPEN}", "".join(f"{oid}\n" for oid in self._named()))

    def _write(self, name: str, text: str) -> None:
        plain_file.write(f"{self.folder}/{name}", text)

    def _make_plain(self) -> None:
        """Removes everything but files and folders, and makes these readable: nobody may lead or hold up sow here."""
        clock.crash_point(f"make {self.folder} plain")
        os.chmod(self.folder, 0o700)
        for parent, folders, names in os.walk(self.folder):
            for path in (f"{parent}/{name}" for name in (*folders, *names)):
                kind = os.lstat(path).st_mode
                if stat.S_ISDIR(kind):
                    os.chmod(path, 0o700)
                elif not stat.S_ISREG(kind):
                    git.remove_file(path)

    def take_over(self) -> list[str]:
        """Copies the worker's commits into the repository, and moves the task's branch or HEAD to where its own are.

        Does nothing if it was done before. Returns remarks about what could not be taken over.
        """
        if not self.is_open or not self.worktree.git_dir:
            return []
        remarks = []
        mark = f"{os.path.dirname(self.folder)}/{OPEN}"
        if is_folder(self.folder):
            self._make_plain()
        if is_folder(f"{self.folder}/{RECORD}") and is_folder(f"{self.folder}/objects"):
            old = set(plain_file.read_text(mark, LARGEST).split())
            new = [oid for oid in self._named() if oid not in old]
            problem = self._import(new) if new else ""
            if problem:
                remarks.append(f"the worker's commits could not be taken over ({problem}); its files are")
            else:
                self._take_record(new)
        clock.crash_point(f"close {self.folder}")
        git.remove_file(mark)
        return remarks

    def _named(self) -> list[str]:
        """Lists the objects that the folder's refs, HEAD and logs name."""
        paths = [f"{self.folder}/{RECORD}/{name}" for name in TAKEN if name not in NO_NAMES]
        paths += [f"{self.folder}/{name}" for name in ("packed-refs", "logs/refs/stash")]
        for parent, _, names in os.walk(f"{self.folder}/refs"):  # it follows no links
            paths += [f"{parent}/{name}" for name in names]
        oids = (oid for path in paths for oid in OBJECT.findall(plain_file.read_text(path, LARGEST)))
        return [oid for oid in dict.fromkeys(oids) if oid.strip("0")]

    def _import(self, names: list[str]) -> str:
        """Copies commits with all that they need into the repository. Returns a problem, or ""."""
        objects = f"{self.folder}/objects"
        if is_folder(f"{objects}/info"):  # its alternates could lead to another repository of the user
            for name in _names(f"{objects}/info"):
                git.remove_file(f"{objects}/info/{name}")
        theirs = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": objects}
        tips = self._commits(names, theirs)
        if not tips:
            return ""
        refs = self.repository.refs("refs/heads/", "refs/tags/", "refs/remotes/", "refs/sow/").values()
        revisions = "".join(f"{tip}\n" for tip in tips) + "".join(f"^{commit}\n" for commit in dict.fromkeys(refs))
        pack = self.repository.temp_file("sandbox")
        packed = self.repository.run_git(["pack-objects", "--revs", "--quiet", pack], input=revisions, variables=theirs)
        name = f"{pack}-{packed.out.strip()}"
        if packed.code or not os.path.exists(f"{name}.pack"):
            return packed.message if packed.code else ""
        # The names in the new index come from the objects' content, and every object and link is checked.
        git.remove_file(f"{name}.idx")
        checked = self.repository.run_git(["index-pack", "--strict", f"{name}.pack"])
        if checked.code:
            return checked.message
        target = f"{self.repository.home.checkout.common}/objects/pack/pack-{packed.out.strip()}"
        for ending in ("pack", "idx"):
            clock.crash_point(f"write {target}.{ending}")
            os.replace(f"{name}.{ending}", f"{target}.{ending}")
        return "" if set(tips) <= set(self._commits(tips, {})) else "an object is not what its name says"

    def _commits(self, names: Iterable[str], variables: dict[str, str]) -> list[str]:
        """Returns those of the names that are commits or tags."""
        arguments = ["cat-file", "--batch-check=%(objectname) %(objecttype)"]
        text = "".join(f"{name}\n" for name in names)
        lines = self.repository.git(*arguments, input=text, variables=variables).splitlines()
        return [line.split()[0] for line in lines if line.endswith((" commit", " tag"))]

    def _take_record(self, new: list[str]) -> None:
        """Copies what the worker's git recorded about its work, so that it is collected as without a sandbox."""
        record, target = f"{self.folder}/{RECORD}", self.worktree.git_dir
        for name in (*TAKEN, *SEQUENCE):
            if name not in ("HEAD", "index"):
                _copy(f"{record}/{name}", f"{target}/{name}", limit=LARGEST)
        if new:
            git.write_file(f"{target}/{COMMITS}", "".join(f"{oid}\n" for oid in new))
        branch = self.worktree.branch()
        self._move_head(record, branch)
        if git.unfinished_operations(record):
            self._take_operation(record, branch)

    def _take_operation(self, record: str, branch: str) -> None:
        """Copies an unfinished operation, so that the collection gives it up; it can name no branch but the task's."""
        target = self.worktree.git_dir
        _copy(f"{record}/index", f"{target}/index", limit=LARGEST)
        if os.path.lexists(f"{record}/BISECT_LOG"):
            git.write_file(f"{target}/BISECT_START", f"{branch.removeprefix('refs/heads/')}\n")
        for name in ("rebase-merge", "rebase-apply"):
            commits = {
                file: plain_file.read_text(f"{record}/{name}/{file}", 200).strip() for file in ("orig-head", "onto")
            }
            if is_folder(f"{record}/{name}") and all(map(OBJECT.fullmatch, commits.values())):
                clock.crash_point(f"make {target}/{name}")
                os.makedirs(f"{target}/{name}", exist_ok=True)
                for file, text in {**commits, "head-name": branch}.items():
                    git.write_file(f"{target}/{name}/{file}", f"{text}\n")

    def _move_head(self, record: str, branch: str) -> None:
        """Moves the task's branch, or HEAD, to the worker's commit."""
        head = git.first_line(f"{record}/HEAD")
        name = head.removeprefix("ref: ").strip() if head.startswith("ref: ") else ""
        own = self._commit(self._value(branch)) if branch else ""
        if own:
            self.repository.set_ref(branch, own, why="taken over from the sandbox")
        commit = self._commit(self._value(name) if name else head.strip())
        if commit and (not branch or name != branch):
            self.worktree.git("update-ref", "--no-deref", "-m", "sow: taken over from the sandbox", "HEAD", commit)

    def _commit(self, name: str) -> str:
        """Returns a commit of the repository by its full name, or ""."""
        return next(iter(self.repository.only_commits([name])), "") if OBJECT.fullmatch(name) else ""

    def _value(self, name: str) -> str:
        """Returns the commit of a branch in the folder, or ""."""
        if not name.startswith("refs/heads/") or ".." in name.split("/"):
            return ""
        value = git.first_line(f"{self.folder}/{name}").strip()
        if value:
            return value
        lines = plain_file.read_text(f"{self.folder}/packed-refs", LARGEST).splitlines()
        return next((line.split()[0] for line in lines if line.endswith(f" {name}")), "")


@cache
def read_settings(cwd: str, scope: str) -> list[tuple[str, str | None]]:
    """Returns git settings of a scope, with the files that they include, but without logins and what the sandbox lacks.

    They are read once. A seal is not used, because it has no global settings.
    """
    arguments = ["config", "--list", "--show-scope", "-z"]
    fields = git.run(arguments, cwd=cwd, check=False, is_sealed=False).split("\0")
    pairs = [entry.partition("\n") for level, entry in zip(fields[::2], fields[1::2], strict=False) if level == scope]
    settings = [(name, value if has_value else None) for name, has_value, value in pairs]
    return [pair for pair in _without_logins(settings) if not PRIVATE_SETTINGS.match(pair[0])]


def _without_logins(settings: Iterable[tuple[str, str | None]]) -> list[tuple[str, str | None]]:
    """Returns settings without those that hold a login; an address loses its login."""
    cleaned = ((name, value and LOGIN.sub("", value)) for name, value in settings)
    return [(name, value) for name, value in cleaned if not SECRET.search(f"{name}={value}")]


def protect_repository(box: Box, home: Home) -> None:
    """Hides sow's backups, claims and locks, the sockets of other tasks, and the logins in git's settings.

    A file that can be read can be locked, and sow would wait.
    """
    folders = dict.fromkeys((home.checkout.common, home.checkout.git))
    for folder in folders:
        box.hide(f"{folder}/sow")
    box.hide(home.folder("local", "sandbox"))  # it has the sockets, git folders and settings of other tasks
    files = [f"{folder}/{name}" for folder in folders for name in ("config", "config.worktree")]
    for path in (*files, *_submodules(home.checkout.common)):
        try:
            text = plain_file.read(path, MAX_FILE).decode("utf-8", "surrogateescape")
        except OSError:
            continue
        if SECRET.search(text):
            box.place(_copy_without_logins(home, path), path)


def _submodules(common: str) -> Iterator[str]:
    """Yields the files of settings of the repository's submodules."""
    for parent, folders, names in os.walk(f"{common}/modules"):
        if "config" in names:
            yield f"{parent}/config"
            folders[:] = [name for name in folders if name == "modules"]


def _copy_without_logins(home: Home, path: str) -> str:
    """Returns the path of a copy of git's settings without logins; others may use the present copy."""
    arguments = ["config", "--file", path, "--no-includes", "--list", "-z"]
    entries = git.run(arguments, cwd=home.root, check=False, is_sealed=False).split("\0")
    pairs = (entry.partition("\n") for entry in entries if entry)
    text = config_text(_without_logins((name, value if has_value else None) for name, has_value, value in pairs))
    name = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    target = f"{home.folder('local', 'sandbox')}/{name}"
    data = text.encode("utf-8", "surrogateescape")
    try:
        if plain_file.read(target, MAX_FILE) == data:
            return target
    except OSError:
        pass
    temporary = f"{target}.{os.getpid()}"
    plain_file.create_with(temporary, data)
    clock.crash_point(f"replace {target}")
    os.replace(temporary, target)
    return target


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _copy(source: str, target: str, *, limit: int = MAX_FILE, mode: int = 0o600) -> None:
    """Copies a regular file, or removes the target if there is none."""
    try:
        data = plain_file.read(source, limit)
    except OSError:
        remove_quietly(target)
        return
    clock.crash_point(f"copy to {target}")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    plain_file.create_with(target, data, mode)
