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
from sow.system import checkout, redaction
from sow.system.checkout import Checkout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from sow.store.holder import Holder
    from sow.store.run_memory import RunMemory
    from sow.store.vouching import Voucher

STRUCK = "SOW_STRUCK"  # names of more variables that are secret, which a worker was given
FORBIDDEN_BRANCHES = ("main", "master")


class Home:
    """One checkout with its .sow/ folder; every path of ours comes from here."""

    __slots__ = ("checkout", "disk", "environment", "memory", "needles", "real", "root", "unkept", "vouchers")

    def __init__(self, where: Checkout, disk: Disk | None = None, environment: Mapping[str, str] | None = None) -> None:
        self.checkout = where
        self.environment = environment or {}  # its secrets are struck out of every text that is written
        self.needles: list[bytes] | None = None
        self.memory: RunMemory | None = None  # of the run that this process is
        self.vouchers: list[Voucher] = []
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

    @property
    def has_secrets(self) -> bool:
        """Whether the environment has secrets that must not get into a file."""
        if self.needles is None:
            named = self.environment.get(STRUCK, "").split()
            self.needles = redaction.needles(redaction.secrets(self.environment, named))
        return bool(self.needles)

    def struck(self, text: str) -> str:
        """The text without the secrets of the environment; every text of a person or an agent passes here."""
        return redaction.struck_text(text, self.needles or []) if self.has_secrets else text

    def kept(self, owner: str) -> str:
        """A folder for what git cannot switch, stash or clean away."""
        return self._beside_git(self.checkout.common, owner)

    def lock(self) -> Lock:
        """The short lock on every state file of this checkout: on the folder that holds them all."""
        return HomeLock(self)

    def vouch(self, name: str, text: str) -> None:
        """Tell a live run that this state is written by sow, and for no worker: for a worker nobody vouches."""
        if "SOW_TASK" not in self.environment and os.path.isdir(f"{self.checkout.git}/sow/vouched"):
            from sow.store import vouching  # here, because only a live run needs it

            voucher = vouching.vouch(self, name, text)
            self.vouchers += [voucher] if voucher is not None else []

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


class HomeLock(Lock):
    """The short lock of a home; once it is given back, a run that has to know is waited for."""

    __slots__ = ("home",)

    def __init__(self, home: Home) -> None:
        super().__init__(home.sow if is_folder(home.sow) else home.folder())
        self.home = home

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        while self.home.vouchers:
            self.home.vouchers.pop().close()


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
    home = Home(where, environment=environment)
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
