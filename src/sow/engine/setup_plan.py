"""How a clean checkout is set up before checks run in it."""

from __future__ import annotations

import hashlib
import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sow.engine.ship import Ship
    from sow.engine.tree_reader import TreeReader

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

    def environment(self, folder: str) -> dict[str, str]:
        """The variables for commands in a folder."""
        return dict(self._environment)


def setup_of(ship: Ship, tree_reader: TreeReader) -> Setup:
    """The setup of a tree, from the user's config."""
    links, copies, commands = (ship.config.setting("worktree", name) for name in ("link", "copy", "setup"))
    manifests = tree_reader.named(MANIFESTS) if commands else {}
    text = json.dumps([links, copies, commands, manifests], sort_keys=True)
    return Setup(
        commands=commands,
        copies=copies,
        links=links,
        key=hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest(),
        environment=ship.check_environment(),
    )
