"""A repository with a project and the worktrees of one run, and the acts of workers and users in them."""

from __future__ import annotations

import os
import subprocess
import uuid
from pathlib import Path

from conftest import Repo

from sow.domain.documents.state import Run, RunSettings
from sow.gitwork.collect import CollectedWork
from sow.gitwork.integration_branch import Delivered, Integration, Merge, fast_forward
from sow.gitwork.repository import DeliveryRefused, Repository
from sow.gitwork.worktrees import Worktrees
from sow.store.files.checkout_home import Home
from sow.store.runs import run_folder
from sow.store.runs.run_folder import RunFolder
from sow.system import checkout

RUN = "20260131-090000-ab12"
LATER = "20260131-100000-cd34"
BRANCH = "feat/auth"


def home_at(root: Path | str) -> Home:
    where = checkout.at(str(root))
    assert where
    return Home(where)


def record_of(home: Home, run: str) -> RunFolder:
    """Returns the record of a run, and makes it if it is missing."""
    try:
        return run_folder.load(home, run)
    except FileNotFoundError:
        settings: RunSettings = {
            "max_concurrency": 1,
            "schedule": "ready",
            "isolation": "worktree",
            "review": "on",
            "retries": 2,
        }
        started: Run = {
            "id": run,
            "project_id": str(uuid.UUID(int=0, version=4)),
            "name": "A run",
            "branch": BRANCH,
            "base": "0" * 40,
            "status": "running",
            "started_at": "2026-01-31T09:00:00Z",
            "plans": [],
            "tasks": [],
            "settings": settings,
        }
        return run_folder.create(home, started)


class WorktreeRepo:
    """One home with a run."""

    def __init__(self, repo: Repo, run: str = RUN) -> None:
        self.repo = repo
        self.root = repo.root
        self.home = home_at(repo.root)
        self.run = run
        self.worktrees = Worktrees(Repository(self.home), run)
        self.integration = Integration(Repository(self.home), record_of(self.home, run))

    def keep_history(self, how: str) -> None:
        """Sets the form of merges: squash or full."""
        self.integration.record.run["settings"]["history"] = how

    def git(self, *arguments: str, cwd: Path | None = None, ok: bool = True) -> str:
        """Runs a git command of a worker or a user: their own, and not hardened."""
        result = subprocess.run(
            ["git", *arguments], cwd=cwd or self.root, env=self.repo.environment, capture_output=True, timeout=300
        )
        assert not ok or result.returncode == 0, result.stderr.decode()
        return result.stdout.decode("utf-8", "surrogateescape")

    def write(self, path: str, text: str = "text\n", *, where: Path | None = None) -> Path:
        file = (where or self.root) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def commit(self, message: str = "more", *, where: Path | None = None) -> str:
        self.git("add", "--all", cwd=where)
        self.git("commit", "-q", "-m", message, cwd=where)
        return self.head(where)

    def head(self, where: Path | None = None) -> str:
        return self.git("rev-parse", "HEAD", cwd=where).strip()

    def prepare(self, task: str = "010", base: str = "HEAD", *, fresh: bool = False) -> Path:
        return Path(self.worktrees.prepare(task, base, fresh=fresh))

    def collect(self, task: str = "010", iteration: int = 1, base: str = "HEAD") -> CollectedWork:
        return self.worktrees.collect(task, iteration, f"Work on {task}", base)

    def merge(self, task: str, commit: str, iteration: int = 1) -> Merge:
        """Merges a task and advances, as a run does when the checks pass."""
        merge = self.integration.try_merge(task, iteration, commit, f"Merge task {task}")
        if merge.commit:
            self.integration.record_merge(merge, task=task, iteration=iteration, work=commit)
        return merge

    def deliver(self) -> Delivered | DeliveryRefused:
        """Moves the user's branch to the merged work, if that is safe."""
        with self.integration.repository.locked():
            return fast_forward(self.integration.repository, BRANCH, self.integration.head)

    def work(self, task: str, path: str, text: str) -> CollectedWork:
        """Makes a task that writes one file, from the integration's head."""
        where = self.prepare(task, self.integration.head)
        self.write(path, text, where=where)
        return self.collect(task, base=self.integration.head)

    def text(self, commit: str, path: str) -> str:
        return self.git("show", f"{commit}:{path}")

    def pins(self) -> dict[str, str]:
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/sow/keep").splitlines()
        prefix = f"refs/sow/keep/{self.run}/"
        return {name.removeprefix(prefix): oid for name, oid in (line.split() for line in lines)}

    def is_kept(self, commit: str) -> bool:
        """Tells whether a pin holds this commit."""
        return bool(self.git("for-each-ref", "--contains", commit, "refs/sow/keep").strip())

    def user_side(self) -> dict[str, object]:
        """Returns all that is the user's: files, the index's entries, refs, stash, settings and hooks."""
        files: dict[str, object] = {}
        for folder, folders, names in os.walk(self.root):
            here = Path(folder).relative_to(self.root)
            if here == Path():
                folders[:] = [folder for folder in folders if folder not in (".git", ".sow")]
            for name in [*names, *(item for item in folders if (Path(folder) / item).is_symlink())]:
                path = Path(folder) / name
                content = os.readlink(path) if path.is_symlink() else path.read_bytes()
                files[str(here / name)] = (content, path.lstat().st_mode)
        refs = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        head = (self.root / ".git" / "HEAD").read_text()
        stash = self.root / ".git" / "logs" / "refs" / "stash"
        return {
            "files": files,
            "index": self.git("ls-files", "--stage", "-v", "-z"),
            "refs": [line for line in refs if not line.startswith(("refs/sow/", "refs/heads/sow/"))],
            "head_commit": dict(line.split(" ") for line in refs).get(head.strip().removeprefix("ref: "), head),
            "head": head,
            "stash": stash.read_text() if stash.exists() else "",
            "config": (self.root / ".git" / "config").read_text(),
            "exclude": (self.root / ".git" / "info" / "exclude").read_text(),
        }


def prepare_repo(repo: Repo) -> WorktreeRepo:
    """Returns the repository with a few files, everything committed."""
    worktree_repo = WorktreeRepo(repo)
    worktree_repo.write("src/a.txt", "one\ntwo\nthree\n")
    worktree_repo.write("src/b.txt", "b\n")
    worktree_repo.write("README.md", "# Read\n")
    worktree_repo.write("CLAUDE.md", "be good\n")
    worktree_repo.write(".gitignore", "node_modules/\n.env\n*.log\n")
    worktree_repo.commit("start")
    return worktree_repo
