"""Real repositories on this machine in place of remotes."""

from __future__ import annotations

import subprocess
from pathlib import Path

from conftest import Repo

STYLE = """\
---
summary: How we write Python
when_to_use: Any change to a .py file
tags: [python, style]
---
# Python style

Text.
"""


class Remote:
    """A repository that is fetched from."""

    def __init__(self, root: Path, environment: dict[str, str]) -> None:
        root.mkdir()
        self.root = root
        self.repo = Repo(root, environment)
        self.repo.git("init", "-q", "-b", "main")

    @property
    def url(self) -> str:
        return str(self.root)

    @property
    def head(self) -> str:
        return self.repo.git("rev-parse", "HEAD").strip()

    def write(self, name: str, text: str | bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def link(self, name: str, target: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def commit(self, message: str = "more") -> str:
        self.repo.git("add", "-A")
        self.repo.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head

    def tree(self, entries: str) -> str:
        """Commits a tree that no checkout could have on main."""
        commit = self.repo.git("commit-tree", "-m", "odd", self.make_tree(entries)).strip()
        self.repo.git("update-ref", "refs/heads/main", commit)
        return commit

    def make_tree(self, entries: str) -> str:
        """Makes a tree of entries as `git mktree` takes them."""
        return self._made(["mktree"], entries.encode())

    def raw_tree(self, name: str, blob: str) -> str:
        """Makes a tree with one file of any name, which `git mktree` would refuse."""
        data = b"100644 " + name.encode() + b"\0" + bytes.fromhex(blob)
        return self._made(["hash-object", "-w", "--literally", "-t", "tree", "--stdin"], data)

    def blob(self, text: str) -> str:
        return self._made(["hash-object", "-w", "--stdin"], text.encode())

    def _made(self, words: list[str], data: bytes) -> str:
        result = subprocess.run(["git", *words], cwd=self.root, input=data, capture_output=True)
        assert result.returncode == 0, result.stderr
        return result.stdout.decode().strip()


def guides(folder: Path, environment: dict[str, str]) -> Remote:
    """A repository with a folder of documents, another one beside it, and the tag v1."""
    remote = Remote(folder / "guides", environment)
    remote.write("python-style/README.md", STYLE)
    remote.write("python-style/deep/naming.md", "# Naming\n\nSnake case.\n")
    remote.write("api/rest.md", "# REST standards\n\nUse nouns.\n\n## When to use\n\nFor every new endpoint.\n")
    remote.commit("one")
    remote.repo.git("tag", "-a", "v1", "-m", "v1")
    return remote
