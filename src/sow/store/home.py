"""The home of a project: the checkout in which sow was called, and where everything lies below its .sow/."""

from __future__ import annotations

import os

from sow.errors import SowError
from sow.store import claim
from sow.store.claim import Claim
from sow.store.disk import (
    MAX_READ,
    Disk,
    append_file,
    is_folder,
    make_folders,
    read_text,
    refuse_link,
    replace_file,
    sync_folder,
)
from sow.store.lock import Lock
from sow.system import checkout
from sow.system.checkout import Checkout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.store.holder import Holder

FORBIDDEN_BRANCHES = ("main", "master")


class Home:
    """One checkout with its .sow/ folder; every path of ours comes from here."""

    __slots__ = ("checkout", "disk", "real", "root", "unkept")

    def __init__(self, where: Checkout, disk: Disk | None = None) -> None:
        self.checkout = where
        self.root = where.root
        self.disk = disk or Disk()
        self.real: set[str] = set()  # folders that were looked at before reading: no link among them
        self.unkept: set[str] = set()  # copies that could not be written, and are older than what they stand for

    @property
    def sow(self) -> str:
        return f"{self.root}/.sow"

    @property
    def project(self) -> str:
        return f"{self.root}/.sow/project"

    def relative(self, path: str) -> str:
        """A path as a person wants to see it."""
        return path.removeprefix(f"{self.root}/")

    def folder(self, *parts: str) -> str:
        """A folder below .sow/, made when it is missing; a link on the way is refused."""
        return make_folders(self.disk, self.root, (".sow", *parts))

    def read(self, path: str, limit: int = MAX_READ, *, torn: bool = False) -> str:
        """The text of a file of ours; a missing one is FileNotFoundError, one behind a link is refused."""
        self._refuse_linked(os.path.dirname(path))
        return read_text(self.disk, path, limit, torn=torn)

    def _refuse_linked(self, folder: str) -> None:
        if len(folder) > len(self.root) and folder not in self.real:
            self._refuse_linked(os.path.dirname(folder))
            if os.path.islink(folder):
                refuse_link(folder)
            self.real.add(folder)

    def replace(self, path: str, text: str) -> None:
        """Replace a file of ours, whole and durably."""
        self._guard(path)
        replace_file(self.disk, path, text)

    def append(self, path: str, text: str, *, durable: bool = True) -> None:
        """Add to a file of ours in one write."""
        self._guard(path)
        append_file(self.disk, path, text, durable=durable)

    def remove(self, path: str) -> None:
        """Take a file of ours away."""
        self._guard(path)
        self.disk.remove(path)
        sync_folder(self.disk, os.path.dirname(path))

    def move(self, path: str, target: str) -> None:
        """Give a file of ours another name in the same folder, durably."""
        self._guard(path)
        self.disk.replace(path, target)
        sync_folder(self.disk, os.path.dirname(path))

    def _guard(self, path: str) -> None:
        """Refuse to write through a link: it could lead anywhere."""
        folder = os.path.dirname(path)
        while len(folder) > len(self.root):
            refuse_link(folder)
            folder = os.path.dirname(folder)

    def kept(self, owner: str) -> str:
        """A folder for what git cannot switch, stash or clean away."""
        return self._beside_git(self.checkout.common, owner)

    def lock(self) -> Lock:
        """The short lock on every state file of this checkout: on the folder that holds them all."""
        return Lock(self.sow if is_folder(self.sow) else self.folder())

    def claim(self, name: str, *, purpose: str) -> Claim:
        """The long lock on a project, task or session; in the git folder, where no clean reaches it."""
        return Claim(self._beside_git(self.checkout.git, "claims"), name, purpose=purpose)

    def slots(self) -> str:
        """The folder of the locks and indexes of the checkouts in which checks run."""
        return self._beside_git(self.checkout.git, "slots")

    def _beside_git(self, place: str, name: str) -> str:
        """A folder of ours in a git folder, made when it is missing; nothing in it has to outlive the machine."""
        ours = f"{place}/sow"
        if is_folder(ours) and is_folder(f"{ours}/{name}"):
            return f"{ours}/{name}"
        return make_folders(self.disk, place, ("sow", name))

    def claimant(self, name: str) -> Holder | None:
        """Who has that claim now; nothing is made or taken."""
        from sow.store.holder import holder

        return holder(f"{self.checkout.git}/sow/claims", name)

    def refuse_while_run(self) -> None:
        """Refuse a second run early, with who has the first: what is missing where it was typed is not the matter then.

        One that only looks has the claim for a moment, and is not sure to be the holder.
        """
        found = self.claimant("run")
        if found is not None and found.sure:
            raise claim.taken("run", found.line)

    @property
    def claims(self) -> str:
        return f"{self.checkout.git}/sow/claims"

    def holder(self, task: str) -> str:
        """The other process that works on a task now, or nothing."""
        return claim.holder_of(self.claims, f"task-{task}")

    def refuse_claimed(self, task: str) -> None:
        """Refuse to decide on a task while another process works on it."""
        holder = self.holder(task)
        if holder:
            raise claim.taken(f"task-{task}", holder)


def locate(*, option: str, environment: Mapping[str, str], cwd: str) -> Home:
    """The checkout that is meant: --root, else SOW_ROOT, else the nearest above the current folder."""
    named = option or environment.get("SOW_ROOT", "")
    if not named:
        where = enclosing(cwd)
    else:
        root = os.path.abspath(os.path.join(cwd, named))
        found = checkout.at(root)
        if found is None:
            source = "--root" if option else "SOW_ROOT"
            raise SowError(
                f"{source} is {root}, which is not the root of a git repository", "give the folder that holds .git"
            )
        where = found
    home = Home(where)
    if os.path.lexists(home.sow):
        refuse_link(home.sow)
    return home


def find(*, option: str, environment: Mapping[str, str], cwd: str) -> Home:
    """The same, where `sow init` has been."""
    home = locate(option=option, environment=environment, cwd=cwd)
    if not os.path.lexists(home.sow):
        raise SowError(f"{home.root} has no .sow folder", "run 'sow init' there first")
    return home


def enclosing(folder: str) -> Checkout:
    """The checkout that the folder lies in."""
    here = os.path.abspath(folder)
    while True:
        where = checkout.at(here)
        if where is not None:
            return where
        if os.path.isfile(f"{here}/HEAD") and os.path.isdir(f"{here}/objects") and os.path.isdir(f"{here}/refs"):
            raise SowError(
                f"{here} is a bare repository or a git folder", "go to a checkout: git clone, or git worktree add"
            )
        parent = os.path.dirname(here)
        if parent == here:
            raise SowError(f"{folder} is not in a git repository", "go to a repository, or make one: git init")
        here = parent
