"""Locates the checkout in which sow was called, and reads, writes and locks the files below its .sow/.

A live run is told what another process writes, if that process is not an agent's. The process locks a file that holds
the state until the run has read it. The system's table of locks names the process, so that an agent cannot announce a
write in the name of another.
"""

from __future__ import annotations

import os
import time

from sow.errors import SowError, Waiting
from sow.store.files import disk as disks
from sow.store.files.disk import (
    MAX_READ,
    Claim,
    Disk,
    Lock,
    append_file,
    crash_counted,
    holder,
    is_folder,
    is_locked,
    list_folder,
    make_folders,
    move,
    open_lock,
    read_text,
    remove_file,
    remove_quietly,
    replace_file,
    require_folder,
    try_lock,
)
from sow.system import caller, checkout
from sow.system import environment as environments
from sow.system.checkout import Checkout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sow.store.files.disk import Holder
    from sow.store.files.trusted_state import TrustedState

REDACTED_VARIABLES = "SOW_STRUCK"  # names of further secret variables that a worker was given
FORBIDDEN_BRANCHES = ("main", "master")


class Home:
    """Holds one checkout with its .sow/ folder, and gives the path of every file in it."""

    __slots__ = (
        "checked_folders",
        "checkout",
        "disk",
        "environment",
        "memory",
        "notices",
        "root",
        "secrets",
        "stale_backups",
    )  # fmt: skip

    def __init__(
        self, checkout: Checkout, disk: Disk | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.checkout = checkout
        self.environment = environment or {}  # its secrets are removed from every text that is written
        self.secrets: list[bytes] | None = None
        self.memory: TrustedState | None = None  # only in the process of a run
        self.notices: list[WriteNotice] = []
        self.root = checkout.root
        self.disk = disk or Disk()
        self.checked_folders: set[str] = set()  # folders already checked: none of them is a link
        self.stale_backups: set[str] = set()  # backups that could not be written, and so are older than their files

    @property
    def sow(self) -> str:
        return f"{self.root}/.sow"

    @property
    def workflow(self) -> str:
        """The folder of the checkout's workflow, whether there is one or not."""
        return f"{self.root}/orchestration"

    @property
    def project(self) -> str:
        return f"{self.root}/.sow/project"

    def relative(self, path: str) -> str:
        """Returns a path relative to the root, for messages."""
        return path.removeprefix(f"{self.root}/")

    def folder(self, *parts: str) -> str:
        """Returns a folder below .sow/, and makes it if it is missing. Refuses a link on the way."""
        return make_folders(self.disk, self.root, (".sow", *parts))

    def read(self, path: str, limit: int = MAX_READ, *, torn: bool = False) -> str:
        """Returns the text of a state file. Raises FileNotFoundError if missing; refuses one behind a link."""
        self.refuse_linked(os.path.dirname(path))
        return read_text(self.disk, path, limit, torn=torn)

    def read_or(self, unreadable: str, path: str) -> str | None:
        """Returns the text of a state file, None if it is missing, and `unreadable` if it cannot be read."""
        try:
            return self.read(path)
        except FileNotFoundError:
            return None
        except SowError:
            return unreadable

    def refuse_linked(self, folder: str) -> None:
        """Refuses a folder behind a link."""
        if len(folder) > len(self.root) and folder not in self.checked_folders:
            self.refuse_linked(os.path.dirname(folder))
            if os.path.islink(folder):
                require_folder(folder)
            self.checked_folders.add(folder)

    def replace(self, path: str, text: str) -> None:
        """Replaces a state file atomically and durably."""
        self._refuse_link_above(path)
        replace_file(self.disk, path, text)

    def append(self, path: str, text: str, *, durable: bool = True) -> None:
        """Appends to a state file in one write."""
        self._refuse_link_above(path)
        append_file(self.disk, path, text, durable=durable)

    def remove(self, path: str) -> None:
        """Removes a state file durably."""
        self._refuse_link_above(path)
        remove_file(self.disk, path)

    def move(self, path: str, target: str) -> None:
        """Renames a state file durably."""
        self._refuse_link_above(path)
        move(self.disk, path, target)

    def _refuse_link_above(self, path: str) -> None:
        """Refuses to write through a link, because it could lead out of the checkout."""
        folder = os.path.dirname(path)
        while len(folder) > len(self.root):
            require_folder(folder)
            folder = os.path.dirname(folder)

    @property
    def has_secrets(self) -> bool:
        """Returns True if the environment has secrets that must not be written to a file."""
        if self.secrets is None:
            names = self.environment.get(REDACTED_VARIABLES, "").split()
            self.secrets = environments.needles(environments.secrets(self.environment, names))
        return bool(self.secrets)

    def redact(self, text: str) -> str:
        """Returns the text without the environment's secrets. Every text of a person or agent passes through here."""
        return environments.redact_with(text, self.secrets or []) if self.has_secrets else text

    def backup_folder(self, owner: str) -> str:
        """Returns a folder in the git folder, which `git switch`, `git stash` and `git clean` do not change."""
        return self.git_subfolder(self.checkout.common, owner)

    def lock(self) -> Lock:
        """Returns the lock on all state files of this checkout."""
        return HomeLock(self)

    def announce(self, name: str, text: str) -> None:
        """Tells a live run that sow itself writes this state. A worker's process does not do this."""
        if "SOW_TASK" not in self.environment and os.path.isdir(f"{self.checkout.git}/sow/notices"):
            notice = announce_write(self, name, text)
            self.notices += [notice] if notice is not None else []

    def claim(self, name: str, *, purpose: str) -> Claim:
        """Returns the claim on a project, task or session. It is in the git folder, out of reach of `git clean`."""
        return Claim(self.git_subfolder(self.checkout.git, "claims"), name, purpose=purpose)

    def git_subfolder(self, git_folder: str, name: str) -> str:
        """Returns our folder in a git folder, and makes it if missing. Its files need not survive a power loss."""
        sow_folder = f"{git_folder}/sow"
        if is_folder(sow_folder) and is_folder(f"{sow_folder}/{name}"):
            return f"{sow_folder}/{name}"
        return make_folders(self.disk, git_folder, ("sow", name))

    def claim_holder(self, name: str) -> Holder | None:
        """Returns the current holder of a claim, without taking or creating the claim."""

        return holder(f"{self.checkout.git}/sow/claims", name)

    def refuse_second_run(self) -> None:
        """Refuses a second run early, with the holder of the first, before other problems are reported.

        A process that only checks the claim holds it for a moment; it is no sure holder and is ignored.
        """
        holder = self.claim_holder("run")
        if holder is not None and holder.confirmed:
            raise disks.claimed_error("run", holder.line)

    @property
    def claims(self) -> str:
        return f"{self.checkout.git}/sow/claims"

    def task_holder(self, task: str) -> str:
        """Returns the other process that works on a task now; empty if there is none."""
        return disks.holder_of(self.claims, f"task-{task}")

    def has_turn(self, ident: str) -> bool:
        """Returns True if another process, or a worker of this run, works on the task or as the agent."""
        from sow.system.process import process_tree

        return ident in process_tree.CHILDREN.tasks.values() or bool(self.task_holder(ident))

    def refuse_claimed(self, task: str) -> None:
        """Refuses to decide on a task while another process works on it."""
        holder = self.task_holder(task)
        if holder:
            raise disks.claimed_error(f"task-{task}", holder)


class HomeLock(Lock):
    """Locks a home. After the release, it waits until a live run has read the states that were announced."""

    __slots__ = ("home",)

    def __init__(self, home: Home) -> None:
        if not is_folder(home.sow):
            home.folder()
        super().__init__(home.git_subfolder(home.checkout.git, "lock"))  # which the sandbox hides from agents
        self.home = home

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        while self.home.notices:
            self.home.notices.pop().close()


def locate(*, option: str, environment: Mapping[str, str], cwd: str) -> Home:
    """Finds the checkout: --root, else SOW_ROOT, else the nearest one above the current folder."""
    root_option = option or environment.get("SOW_ROOT", "")
    if not root_option:
        selected = enclosing(cwd)
    else:
        root = os.path.abspath(os.path.join(cwd, root_option))
        checkout_at_root = checkout.at(root)
        if checkout_at_root is None:
            source = "--root" if option else "SOW_ROOT"
            raise SowError(
                f"{source} is {root}, which is not the root of a git repository", "give the folder that holds .git"
            )
        selected = checkout_at_root
    home = Home(selected, environment=environment)
    if os.path.lexists(home.sow):
        require_folder(home.sow)
    return home


class NoSowFolder(SowError):
    """A checkout in which `sow init` was not run."""


def find(*, option: str, environment: Mapping[str, str], cwd: str) -> Home:
    """Finds the checkout, and refuses one in which `sow init` was not run."""
    home = locate(option=option, environment=environment, cwd=cwd)
    if not os.path.lexists(home.sow):
        raise NoSowFolder(f"{home.root} has no .sow folder", start_hint(home))
    return home


def start_command(home: Home) -> str:
    """Returns the command that starts a project, on a new branch if the current one may have none."""
    is_allowed = home.checkout.branch() not in (*FORBIDDEN_BRANCHES, "")
    return ("" if is_allowed else "git switch -c feature/NAME && ") + 'sow init --project "NAME"'


def start_hint(home: Home) -> str:
    """Returns how to begin in a checkout without a project; sow creates the .sow folder in both ways."""
    return f"begin with a plan: sow run PLAN; or without one: {start_command(home)}"


def enclosing(folder: str) -> Checkout:
    """Returns the checkout that contains the folder."""
    path = os.path.abspath(folder)
    while True:
        candidate = checkout.at(path)
        if candidate is not None:
            return candidate
        if os.path.isfile(f"{path}/HEAD") and os.path.isdir(f"{path}/objects") and os.path.isdir(f"{path}/refs"):
            raise SowError(
                f"{path} is a bare repository or a git folder", "go to a checkout: git clone, or git worktree add"
            )
        parent = os.path.dirname(path)
        if parent == path:
            raise SowError(f"{folder} is not in a git repository", "go to a repository, or make one: git init")
        path = parent


NOTICE_PATIENCE = 10.0
MAX_NOTICE = 16 << 20
NOTICE_PAUSE = 0.01


class WriteNotice:
    """A file that announces one state of this process until the run has read it."""

    def __init__(self, path: str, name: str, text: str, *, waits: bool) -> None:
        self.path = path
        self.must_wait = waits
        crash_counted(f"create {path}")
        self.descriptor = open_lock(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try_lock(self.descriptor, path)
        data = text.encode()
        with open(os.dup(self.descriptor), "wb") as file:
            file.write(f"{name} {len(data)}\n".encode() + data)

    def close(self) -> None:
        """Waits until the run has read the file; raises if the run does not react in time."""
        if not self.must_wait:
            return
        give_up = time.monotonic() + NOTICE_PATIENCE
        while os.path.lexists(self.path):
            if time.monotonic() > give_up:
                remove_quietly(self.path)
                os.close(self.descriptor)
                raise Waiting(
                    f"the running sow did not confirm this change within {NOTICE_PATIENCE:.0f} s",
                    "see whether it hangs or is stopped (sow runs show), then run the command again",
                )
            time.sleep(NOTICE_PAUSE)
        os.close(self.descriptor)


def notice_folder(home: Home) -> str:
    return f"{home.checkout.git}/sow/notices"


def begin_notice(home: Home) -> None:
    """Prepares the folder for notices, and removes those of an earlier run."""
    make_folders(home.disk, home.checkout.git, ("sow", "notices"))
    for name in list_folder(notice_folder(home)):
        remove_quietly(f"{notice_folder(home)}/{name}")


def announce_write(home: Home, name: str, text: str) -> WriteNotice | None:
    """Announces a state, if a run is live that would reject it otherwise."""
    claimant = home.claim_holder("run")
    if claimant is None or not claimant.run:
        return None
    path = f"{notice_folder(home)}/{os.getpid()}-{os.urandom(6).hex()}"
    return WriteNotice(path, name, text, waits=claimant.pid != os.getpid())


def read_notices(home: Home) -> list[tuple[str, str]]:
    """Returns the names and texts of states that processes outside the agents announced, and removes the notices."""
    from sow.system import plain_file  # a live run alone reads notices
    from sow.system.process import other_process

    states = []
    for file_name in list_folder(notice_folder(home)):
        path = f"{notice_folder(home)}/{file_name}"
        try:
            descriptor = plain_file.open_to_read(path)
        except OSError:
            continue
        with open(descriptor, "rb") as file:
            head, _, data = file.read(MAX_NOTICE).partition(b"\n")
            name, _, size = head.decode("ascii", "replace").partition(" ")
            owners = other_process.lock_owners(descriptor)
            if size != str(len(data)) or not (owners if owners is not None else is_locked(descriptor)):
                continue  # incomplete, or left by a process that has ended
            if all(pid == os.getpid() or not caller.is_supervised(pid) for pid in owners or ()):
                states.append((name, data.decode("utf-8", "replace")))
            remove_quietly(path)
    return states
