"""How a clean checkout is set up before checks run in it."""

from __future__ import annotations

import hashlib
import json

from sow.system import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sow.engine.ship import Ship

    Read = Callable[[str], bytes | None]

# Files that say what a setup command installs. If one of them changes, the setup runs again.
MANIFESTS = frozenset(
    {
        "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "uv.lock", "poetry.lock", "Pipfile.lock",
        "package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock",
        "Cargo.toml", "Cargo.lock", "go.mod", "go.sum", "Gemfile.lock", "composer.lock",
    }
)  # fmt: skip


class Setup:
    """The commands, links and copies of a checkout, and the environment of the commands that run in it."""

    __slots__ = ("_environment", "commands", "copies", "key", "links", "outputs")

    def __init__(
        self,
        *,
        commands: Sequence[Sequence[str]] = (),
        copies: Sequence[str] = (),
        links: Sequence[str] = (),
        outputs: Sequence[str] = (),
        key: str,
        environment: Mapping[str, str],
    ) -> None:
        self.commands = [list(each) for each in commands]
        self.copies = list(copies)
        self.links = list(links)
        self.outputs = list(outputs)
        self.key = key
        self._environment = dict(environment)

    def environment(self, folder: str, *, setting_up: bool = False) -> dict[str, str]:
        """The variables for checks in a folder, or for the commands that set it up."""
        return dict(self._environment)


def setup_of(ship: Ship, read: Read) -> Setup:
    """The setup of a tree, from the user's config; `read` returns the content of a file of that tree, or None."""
    links, copies, commands = (ship.config.setting("worktree", name) for name in ("link", "copy", "setup"))
    digest = hashlib.sha256(json.dumps([links, copies, commands]).encode("utf-8", "surrogateescape"))
    for path in sorted(MANIFESTS) if commands else ():
        text = read(path)
        if text is not None:
            digest.update(f"\0{path}\0{hashlib.sha256(text).hexdigest()}".encode())
    return Setup(
        commands=commands,
        copies=copies,
        links=links,
        key=digest.hexdigest(),
        environment=ship.check_environment(),
    )


def reader_at(root: str, tree: str) -> Read:
    """Reads files of a commit or tree."""
    listed: set[str] = set()

    def read(path: str) -> bytes | None:
        if not listed:
            words = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree]
            listed.update(git.attempt(words, cwd=root).out.split("\0"))
        if path not in listed:
            return None
        done = git.attempt(["cat-file", "blob", f"{tree}:{path}"], cwd=root)
        return None if done.code else done.out.encode("utf-8", "surrogateescape")

    return read
