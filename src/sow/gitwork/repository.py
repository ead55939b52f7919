"""Runs git in a home: reads and compares commits and folders, moves refs, and locks the repository for one process."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sow.domain.documents.state import Run
from sow.domain.text.units import listed
from sow.errors import SowError, SystemFailure
from sow.store.files.checkout_home import Home
from sow.store.files.disk import Lock, claim_times, remove_quietly
from sow.store.git_watch import changed_keys
from sow.system import git
from sow.system.git import GitResult

# Parallel `git worktree` calls sometimes fail, and a checkout may take minutes. Other processes wait this long.
PATIENCE = 1800.0
OWN_REF_PREFIXES = ("refs/sow/", "refs/heads/sow/")
TURN_REFS = "refs/sow/turns"  # below it: one folder per token of a turn on another host, with its request and result
NO_REPOSITORY = "not a git repository"
DEFAULT_IDENTITY = {"NAME": "sow", "EMAIL": "sow@localhost"}
FULL_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# State exists once, in the home, and is never part of a task's work.
STATE_PATHS = (".sow/project", "orchestration")


class Repository:
    """The git repository of one home. Change it only below `with repository.locked():`."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.folder = ""
        self.depth = 0
        self.cached_identity: dict[str, str] | None = None
        self.lock: Lock | None = None
        self.ancestors: set[tuple[str, str]] = set()  # ids of an older and a newer commit, which never changes
        self.reader: git.ObjectReader | None = None  # one git for all names that are looked up while we hold the lock

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Locks the repository, so that only this process changes sow's worktrees and refs.

        If a git of a killed sow still runs, this waits for it.
        """
        if not self.depth:
            self.folder = self.home.backup_folder("git")
            self.lock = Lock(self.folder, patience=PATIENCE)
            self.lock.__enter__()
            self._remove_temp_files()
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            if not self.depth and self.lock:
                self._close_reader()
                self.lock.__exit__(None, None, None)
                self.lock = None

    def _close_reader(self) -> None:
        if self.reader is not None:
            self.reader.close()
            self.reader = None

    def look_up(self, name: str) -> tuple[str, str] | None:
        """Returns the id and the type of an object ("" if there is none); None if we do not hold the lock."""
        if not self.lock:
            return None
        git.seal_variables(["cat-file"], self.home.root, ())  # it raises if git would be led elsewhere
        if self.reader is None:
            self.reader = git.ObjectReader(self.home.root)
        answer = self.reader.find(name)
        if answer is None:
            self._close_reader()
        return answer

    def _remove_temp_files(self) -> None:
        """Removes temporary files of a killed process. No other process can use them, because we hold the lock."""
        for name in os.listdir(self.folder):
            remove_quietly(f"{self.folder}/{name}")

    def temp_file(self, name: str) -> str:
        """Returns the path of a temporary file, such as an index. The next holder of the lock removes it."""
        path = f"{self.folder}/{name}"
        remove_quietly(path)
        remove_quietly(f"{path}.lock")
        return path

    def run_git(
        self,
        arguments: Sequence[str],
        *,
        cwd: str = "",
        options: Sequence[str] = (),
        input: str = "",
        index: str = "",
        variables: Mapping[str, str] | None = None,
    ) -> GitResult:
        """Runs one git command in the home or in `cwd`. While we hold the lock, git holds it too."""
        return git.run_unchecked(
            arguments,
            cwd=cwd or self.home.root,
            options=[*options, *(("-c", "core.splitIndex=false") if index else ())],
            input=input,
            index=index,
            variables=variables,
            timeout=git.LONG,
            hold=self.lock.descriptor if self.lock else -1,
        )

    def git(self, *arguments: str, input: str = "", index: str = "", variables: Mapping[str, str] | None = None) -> str:
        """Returns the output of one git command that must not fail."""
        done = self.run_git(arguments, input=input, index=index, variables=variables)
        if done.code:
            raise git.failure(arguments, done)
        return done.out

    def commit_of(self, name: str) -> str:
        """Returns the full id of a named commit, or raises an error."""
        commit = self.find_commit(name)
        if commit:
            return commit
        if not self.find_commit("HEAD"):
            raise SowError(
                f"{self.home.root} has no commit yet", "make the first one: git commit --allow-empty -m start"
            )
        raise SowError(f"there is no commit {name!r} in {self.home.root}", "see 'git log --all' for what there is")

    def find_commit(self, name: str) -> str:
        """Returns the id of a commit, or "" if there is none."""
        answer = self.look_up(f"{name}^{{commit}}")
        if answer is not None:
            return answer[0]
        arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
        done = self.run_git(arguments)
        if NO_REPOSITORY in done.err:
            raise git.failure(arguments, done)
        return done.out.strip()

    def tree_of(self, commit: str) -> str:
        """Returns the id of a commit's tree."""
        answer = self.look_up(f"{commit}^{{tree}}")
        if answer is not None and answer[0]:
            return answer[0]
        return self.git("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}").strip()

    def parents(self, commit: str) -> list[str]:
        """Returns the ids of a commit's parents, first parent first."""
        return self.git("rev-list", "--no-walk", "--parents", "--end-of-options", commit).split()[1:]

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Returns whether the newer commit contains the older one."""
        if older == newer or (older, newer) in self.ancestors:
            return True
        is_older = self.run_git(["merge-base", "--is-ancestor", older, newer]).code == 0
        if is_older and FULL_ID.fullmatch(older) and FULL_ID.fullmatch(newer):
            self.ancestors.add((older, newer))
        return is_older

    def merge_base(self, first: str, second: str) -> str:
        """Returns the last commit that two commits have in common, or "" if there is none."""
        return self.run_git(["merge-base", "--end-of-options", first, second]).out.strip()

    def only_commits(self, objects: Iterable[str]) -> list[str]:
        """Returns the objects that exist and are commits."""
        names = list(objects)
        answers = [self.look_up(name) for name in names]
        if None not in answers:
            return [answer[0] for answer in answers if answer and answer[1] == "commit"]
        requested = "".join(f"{name}\n" for name in names)
        lines = self.git("cat-file", "--batch-check=%(objectname) %(objecttype)", input=requested).splitlines()
        return [line.split()[0] for line in lines if line.endswith(" commit")]

    def tips_not_in(self, commits: Iterable[str], *, excluding: Iterable[str]) -> list[str]:
        """Returns the commits that no other of them contains, nor any commit in `excluding`."""
        known = set(excluding)
        revisions = "".join(f"{commit}\n" for commit in commits if commit not in known)
        if not revisions:
            return []
        revisions += "".join(f"^{commit}\n" for commit in known)
        lines = [line.split() for line in self.git("rev-list", "--parents", "--stdin", input=revisions).splitlines()]
        inner = {parent for _, *parents in lines for parent in parents}
        return [commit for commit, *_ in lines if commit not in inner]

    def not_contained_in(self, commits: Iterable[str], refs: Iterable[str]) -> set[str]:
        """Returns the commits that none of the refs contains."""
        wanted = set(commits)
        revisions = "".join(f"{commit}\n" for commit in wanted) + "".join(f"^{commit}\n" for commit in refs)
        return wanted & set(self.git("rev-list", "--stdin", input=revisions).split()) if wanted else set()

    def refs(self, *prefixes: str) -> dict[str, str]:
        """Returns every ref below these prefixes with its object."""
        lines = self.git("for-each-ref", "--format=%(refname)%00%(objectname)", *prefixes).splitlines()
        return dict(line.split("\0") for line in lines)

    def set_ref(self, name: str, new: str, old: str | None = None, *, why: str) -> None:
        """Creates or moves one of sow's refs. With `old`, only if it still has that value ('': does not exist)."""
        if not name.startswith(OWN_REF_PREFIXES):
            raise AssertionError(f"{name} is not ours")
        expected = [] if old is None else [old or "0" * len(new)]
        arguments = ["update-ref", "-m", f"sow: {why}", name, new, *expected]
        done = self.run_git(arguments)
        if done.code and self._remove_stale_lock(name):
            done = self.run_git(arguments)
        if done.code:
            self._refuse_branch_above(name)
            raise SystemFailure(f"cannot move {name}: {done.message}", "look at it with 'git show-ref', and run again")

    def _refuse_branch_above(self, name: str) -> None:
        """Refuses if a user's branch blocks the name: git cannot make the branch a/b while there is a branch a."""
        parts = name.split("/")
        for depth in range(3, len(parts)):
            above = "/".join(parts[:depth])
            if self.find_commit(above):
                raise branch_conflict_error(above.removeprefix("refs/heads/"))

    def drop_ref(self, name: str, old: str) -> None:
        """Removes one of sow's refs if it still has this value."""
        if not name.startswith(OWN_REF_PREFIXES):
            raise AssertionError(f"{name} is not ours")
        self.git("update-ref", "-d", name, old)

    def drop_turn(self, token: str) -> None:
        """Removes the request and the result of a turn on another host."""
        with self.locked():
            for name, commit in self.refs(f"{TURN_REFS}/{token}/").items():
                self.drop_ref(name, commit)

    def _remove_stale_lock(self, name: str) -> bool:
        """Removes the lock file of one of sow's refs. Only holders of our lock move it, so its git was killed."""
        path = f"{self.home.checkout.common}/{name}.lock"
        existed = os.path.lexists(path)
        remove_quietly(path)
        return existed and bool(self.lock)

    def commit_tree(self, tree: str, parents: Sequence[str], message: str) -> str:
        """Makes a commit that is on no branch yet, and returns its id."""
        options = [option for parent in parents for option in ("-p", parent)]
        text = message.replace("\0", "").strip() + "\n"
        return self.git("commit-tree", tree, *options, "-F", "-", input=text, variables=self.identity()).strip()

    def identity(self) -> dict[str, str]:
        """Returns variables that name sow as author, if the user has not configured a name in git."""
        if self.cached_identity is None:
            self.cached_identity = {}
            for person in ("AUTHOR", "COMMITTER"):
                if self.run_git(["var", f"GIT_{person}_IDENT"], options=["-c", "user.useConfigOnly=true"]).code:
                    self.cached_identity |= {
                        f"GIT_{person}_{field}": value for field, value in DEFAULT_IDENTITY.items()
                    }
        return self.cached_identity

    def tree_entries(self, commit: str, *paths: str) -> list[str]:
        """Lists a commit's entries at some paths, or all of them, in the format of `git update-index --index-info`."""
        output = self.git("ls-tree", "-r", "-z", "--full-tree", commit, "--", *paths)
        return [entry for entry in output.split("\0") if entry]

    def set_index_entries(self, entries: Sequence[str], *, index: str, where: Callable[[str], bool]) -> list[str]:
        """Makes an index have exactly these entries at the paths that `where` selects. Returns the changed paths."""
        index_entries = self.git("ls-files", "-s", "-z", index=index).split("\0")
        present = {
            path_of(entry): _mode_and_object(entry) for entry in index_entries if entry and where(path_of(entry))
        }
        wanted = {path_of(entry): _mode_and_object(entry) for entry in entries}
        lines = {path: f"0 {'0' * len(oid)}\t{path}" for path, (_, oid) in present.items() if path not in wanted}
        for path, (mode, oid) in wanted.items():
            if present.get(path) != (mode, oid):
                lines[path] = f"{mode} {oid}\t{path}"
        if lines:
            self.git(
                "update-index", "-z", "--index-info", input="".join(f"{line}\0" for line in lines.values()), index=index
            )
        return list(lines)


def branch_conflict_error(name: str) -> SowError:
    """Returns the error for a user's branch where sow needs a folder of branches."""
    return SowError(
        f"your branch {name} blocks sow: git cannot make a branch {name}/… while it exists",
        f"rename it: git branch -m {name} {name}-old",
    )


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Returns whether a path is one of the folders or in one of them."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def path_of(entry: str) -> str:
    """Returns the path in a line of ls-tree or ls-files."""
    return entry.partition("\t")[2]


def _mode_and_object(entry: str) -> tuple[str, str]:
    """Returns mode and object of a line of ls-tree (mode type object) or of ls-files (mode object stage)."""
    fields = entry.partition("\t")[0].split()
    return (fields[0], fields[2] if fields[1] in ("blob", "commit") else fields[1])


@dataclass(frozen=True)
class DeliveryRefused:
    """The reason why something was not done, and a hint."""

    reason: str
    hint: str


# No program chosen by the repository runs. A file of more than ten megabytes is named but not printed.
DIFF_OPTIONS = (
    "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--submodule=short", "--ignore-submodules=none",
)  # fmt: skip
OPTIONS = ("-c", "core.bigFileThreshold=10m", "-c", "diff.context=3")
LONGEST_NAME = 1000  # bytes read per file, at most
WITHOUT_STATE = ("--", ".", ":(exclude).sow/project")  # the paths of a change without the state files of the project
LIST_SHARE = 4  # if the patch is too long, a quarter of the limit goes to the list of files


def changed_paths(repository: Repository, base: str, commit: str) -> list[str]:
    """Returns every path that differs, both old and new names."""
    output = repository.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, commit)
    return [path for path in output.split("\0") if path]


def patch(repository: Repository, base: str, commit: str, limit: int, paths: Sequence[str] = ()) -> tuple[str, bool]:
    """Returns the difference as a patch of at most `limit` bytes, and whether it is complete."""
    arguments = ["diff-tree", "-p", "-r", *DIFF_OPTIONS, repository.commit_of(base), repository.commit_of(commit)]
    arguments += paths
    return git.read(arguments, cwd=repository.home.root, options=OPTIONS, limit=limit)


def changed_files(
    repository: Repository, base: str, commit: str, limit: int, paths: Sequence[str] = ()
) -> tuple[list[dict[str, Any]], bool]:
    """Returns at most `limit` changed files with added and removed lines (None if binary), and whether that is all."""
    arguments = ["diff-tree", "-r", "-z", "--numstat", "--no-renames"]
    arguments += [repository.commit_of(base), repository.commit_of(commit), *paths]
    output, complete = git.read(arguments, cwd=repository.home.root, options=OPTIONS, limit=limit * LONGEST_NAME)
    rows = [line.split("\t", 2) for line in output.split("\0")]
    files = [
        {"path": path, "added": _count(added), "removed": _count(removed)}
        for added, removed, path in (row for row in rows if len(row) == 3)
    ]
    return files[:limit], complete and len(files) <= limit


def ends_of_run(repository: Repository, run: Run) -> tuple[str, str] | None:
    """Returns the commit on which a run began and the one of its last merge, or None if one of them is not here."""
    base, head = repository.find_commit(run["base"]), repository.find_commit(run.get("head") or run["base"])
    return (base, head) if base and head else None


def _count(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def diff(repository: Repository, base: str, commit: str, limit: int) -> str:
    """Returns the difference as a patch of at most `limit` bytes. If it is cut, a list of the files comes first."""
    base, commit = repository.commit_of(base), repository.commit_of(commit)
    text, complete_patch = patch(repository, base, commit, limit)
    if complete_patch:
        return text
    arguments = ["diff-tree", "-r", "--numstat", "--no-renames", base, commit]
    listing, complete = git.read(arguments, cwd=repository.home.root, options=OPTIONS, limit=limit // LIST_SHARE)
    if not complete:
        listing = listing.rpartition("\n")[0] + "\n… and more\n"
    remaining = max(limit - len(listing.encode()), 0)
    beginning = text.encode()[:remaining].decode("utf-8", "ignore").rpartition("\n")[0]
    return f"{listing}\n{beginning}\n… cut at {limit} bytes: see 'git diff {base[:12]} {commit[:12]}'\n"


# State files and aider's notes are no work. Git does not look into submodules, because it would use their settings,
# which a worker can write.
LOOK = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty", "--"]
LOOK += [".", ":(exclude).sow", ":(exclude).aider*"]

MOST = 8  # names in a remark


def folder_state(folder: str) -> str:
    """Returns the commit and every path that differs from it, with the time it was last written."""
    head = git.run(["rev-parse", "HEAD"], cwd=folder, check=False).strip()
    return "\n".join([head, *(f"{path} {facts}" for path, facts in differing_files(folder).items())])


def differing_files(folder: str) -> dict[str, str]:
    """Returns every path that differs from the commit: how it differs, and when it was last written."""
    entries = git.run(LOOK, cwd=folder, check=False).split("\0")
    return {entry[3:]: f"{entry[:2]} {_stamp(os.path.join(folder, entry[3:]))}" for entry in entries if entry}


def _stamp(path: str) -> str:
    try:
        facts = os.lstat(path)
    except OSError:
        return "gone"
    return f"{facts.st_mtime_ns} {facts.st_size}"


class FolderWatch:
    """Watches a working folder from the start of a turn: whether it changed, and who else may have changed it."""

    def __init__(self, home: Home, folder: str, task: str) -> None:
        self.home = home
        self.folder = folder
        self.task = task
        self.traces = claim_times(home.claims)
        self.held = self._held(self.traces)
        self.before = folder_state(folder)

    def changed(self) -> bool:
        """Returns whether the folder has changed."""
        return folder_state(self.folder) != self.before

    def other_tasks(self) -> list[str]:
        """Lists the other tasks that were worked on in this folder meanwhile. The changes may be theirs."""
        if self.folder != self.home.root:
            return []  # a task's own worktree
        current = claim_times(self.home.claims)
        touched = {task for task, when in current.items() if when != self.traces.get(task)}
        return sorted((touched | self.held | self._held(current)) - {self.task})

    def _held(self, tasks: dict[str, int]) -> set[str]:
        return {task for task in tasks if task != self.task and self.home.task_holder(task)}


class HomeSnapshot:
    """The user's checkout, branches, tags and stash at one moment. store/git_watch.py compares the git folder."""

    def __init__(self, repository: Repository) -> None:
        checkout = repository.home.checkout
        self.branch = checkout.branch()
        self.head = repository.find_commit("HEAD")
        self.files = differing_files(checkout.root)
        refs = repository.refs("refs/heads/", "refs/tags/", "refs/stash")
        self.refs = {name: oid for name, oid in refs.items() if not name.startswith("refs/heads/sow/")}

    def changes_since(self, earlier: HomeSnapshot) -> list[str]:
        """Lists what changed since the earlier snapshot, by the user or by a worker that left its worktree."""
        changes = []
        if self.branch != earlier.branch:
            changes.append(
                f"the home checkout is on {self.branch or 'no branch'} and was on {earlier.branch or 'none'}"
            )
        if self.head != earlier.head:
            changes.append(f"the home checkout is at {self.head[:12]} and was at {earlier.head[:12]}")
        if paths := changed_keys(self.files, earlier.files):
            changes.append(f"files of the home checkout changed: {listed(paths, MOST)}")
        if names := changed_keys(self.refs, earlier.refs):
            changes.append(f"branches, tags or the stash changed: {listed(names, MOST)}")
        return changes
