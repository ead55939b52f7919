"""Builds the command line of a bubblewrap sandbox, and tells whether this machine can run one."""

from __future__ import annotations

import os
import pwd
import stat
import sys

from sow.errors import SowError
from sow.record import Record
from sow.system import clock, plain_file
from sow.system.environment import user_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from sow.domain.network import Hosts
    from sow.system.process.network_proxy import NetworkProxy
    from sow.system.process.program import ProgramOutput

    T = TypeVar("T")

PROGRAM = "bwrap"
ALL, MODEL = "all", "model"  # of the network, as in domain.network, which is loaded only where it is limited
AUTO, OFF, BWRAP = MODES = ("auto", "off", "bwrap")
# Own users, processes, shared memory and host name. It dies with us, and no process of it survives.
NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--new-session", "--die-with-parent",
)  # fmt: skip
TEMPORARY = ("/tmp", "/var/tmp", "/run")  # noqa: S108 (these get a private, empty folder)
# In /proc, root could change the kernel of the machine with these: core_pattern names a program that runs outside.
KERNEL_FILES = ("sys", "sysrq-trigger", "scsi", "acpi", "fs", "bus", "irq", "driver", "dynamic_debug")
PACKAGES = "/run/packages"
FILL = f"""
[ -e ~/.sow-filled ] || {{ cp -a --reflink=auto {PACKAGES}/. ~; touch ~/.sow-filled; }} 2> /dev/null
exec "$@"
"""
BOOT, MOUNTS = "/proc/sys/kernel/random/boot_id", "/proc/self/ns/mnt"
SOCKETS = "/proc/net/unix"  # lists the sockets of this machine with their paths
# Folders below a home in which people install programs and libraries. They are readable; keys and logins are not there.
TOOLS = (
    ".pyenv", ".local/bin", ".local/lib", ".local/share/uv/python", ".local/share/uv/tools", ".local/share/pipx",
    ".local/pipx", ".local/share/claude", ".local/share/mise", ".asdf", ".rustup", ".cargo/bin", ".cargo/registry",
    ".cargo/git", "go/bin", "go/pkg", ".nvm", ".fnm", ".local/share/fnm", ".volta", ".bun", ".deno", ".npm-global",
    ".local/share/pnpm", ".rbenv", ".gem/ruby", ".sdkman", ".m2/repository", ".gradle/wrapper", ".gradle/caches",
    "miniconda3", "anaconda3", "miniforge3", ".nix-profile",
)  # fmt: skip
# Variables that lead to sockets of the user's session, which a box does not have.
SESSION_VARIABLES = ("SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY")
VARIABLE = "SOW_BOX"  # tells a program that it runs in a box
NETWORK_VARIABLE = "SOW_NETWORK"  # and what it reaches from there, unless it is everything
RESTRICTION = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
MOST_NAMESPACES = "/proc/sys/user/max_user_namespaces"


class Box:
    """The files that a program in the sandbox sees. Everything else of the machine is there and read-only.

    The home folders of the user, /tmp and /run are private and empty; mounts that are added later win.
    """

    __slots__ = (
        "first",
        "hidden",
        "homes",
        "hosts",
        "mounts",
        "network",
        "opened",
        "program",
        "seals",
        "user_environment",
    )

    def __init__(self, environment: Mapping[str, str], *, home: str = "") -> None:
        """Prepares a box; `home` is a folder that is shown as the user's home and keeps what is written there.

        `environment` is the user's own: on the PATH of a checkout, a repository could have a bwrap that runs outside.
        """
        self.program = find_program(environment)
        self.user_environment = environment
        self.network = ALL
        self.hosts: Hosts | None = None  # None: no proxy
        self.homes = homes = home_folders(environment)
        self.hidden = [folder for folder in TEMPORARY if os.path.isdir(folder) and not os.path.islink(folder)]
        self.mounts: list[tuple[str, ...]] = []  # what is mounted from where to where; later ones win
        self.seals: list[str] = []  # come last, because mounts below a hidden folder need to make their places
        self.opened: list[str] = []  # what the user's settings open
        self.first: Sequence[str] = ()  # a program that does something and then becomes the wanted one
        self.mounts += [("--tmpfs", folder) for folder in self.hidden]
        self.mounts += [("--bind", home, folder) if home else ("--tmpfs", folder) for folder in homes]
        self.hidden += homes
        self._show_programs(environment, homes)

    def _show_programs(self, environment: Mapping[str, str], homes: Sequence[str]) -> None:
        """Shows the folders of programs that lie in a hidden folder, and the addresses of name servers."""
        key = (environment.get("PATH", os.defpath), *self.hidden)
        if key not in _shown:
            paths = [f"{home}/{tool}" for home in homes for tool in TOOLS]
            paths += key[0].split(os.pathsep)
            paths += [sys.base_prefix, sys.prefix, os.path.realpath("/etc/resolv.conf")]
            paths = [path for path in dict.fromkeys(paths) if path.startswith("/") and os.path.exists(path)]
            outside = [path for path in paths if not _holds(path, homes)]
            count = len(self.mounts)
            self.show(*(path for path in outside if self._is_hidden(path)))
            _shown[key] = self.mounts[count:]
        else:
            self.mounts += [mount for mount in _shown[key] if os.path.lexists(mount[-1])]

    def _is_hidden(self, path: str) -> bool:
        real = f"{os.path.realpath(path)}/"
        return any(real.startswith(f"{folder}/") for folder in self.hidden)

    def show(self, *paths: str) -> None:
        """Makes files or folders readable, and not writable even if they lie in a writable folder."""
        for path in paths:
            if os.path.lexists(path) and not self._is_shown(path):
                self.mounts.append(("--ro-bind", path, path))

    def _is_shown(self, path: str) -> bool:
        """Tells whether one of the last mounts shows a path already, in a folder that cannot be written.

        Each mount takes bubblewrap longer than the one before. A path that leads through a link may need its own.
        """
        for kind, source, *target in reversed(self.mounts):
            if kind != "--ro-bind" or target != [source]:
                break
            if f"{path}/".startswith(f"{source}/"):
                return path == source or os.path.realpath(path) == path
        return False

    def allow(self, *paths: str) -> None:
        """Makes folders writable."""
        self.mounts += [("--bind", path, path) for path in paths]

    def open(self, *, read: Sequence[str], write: Sequence[str]) -> None:
        """Opens what the user's settings name, with the sockets in it."""
        self.show(*read)
        self.allow(*write)
        self.opened += [*read, *write]

    def hide(self, folder: str) -> None:
        """Shows an empty folder in place of this one; what is mounted below it later is there."""
        if os.path.isdir(folder):
            self.mounts.append(("--tmpfs", folder))
            self.seals += ["--remount-ro", folder]

    def place(self, source: str, target: str) -> None:
        """Shows a file or folder at another path, and not writable."""
        self.mounts.append(("--ro-bind", source, target))

    def substitute(self, source: str, target: str) -> None:
        """Shows a folder in place of another one, and lets it be written."""
        self.mounts.append(("--bind", source, target))

    def fill_home(self, source: str) -> None:
        """Copies a folder into the home before a program runs there for the first time."""
        self.place(source, PACKAGES)
        self.first = ("/bin/sh", "-c", FILL, "sh")

    def show_program(self, path: str) -> None:
        """Shows an installed program in a hidden folder, with the folder of its package."""
        real = os.path.realpath(path)
        packages, has_modules, _ = real.rpartition("/node_modules/")
        folder = f"{packages}/node_modules" if has_modules else os.path.dirname(real)
        for shown, file in ((os.path.dirname(path), path), (folder, real)):
            if self._is_hidden(shown):
                holds_home = any(f"{hidden}/".startswith(f"{os.path.realpath(shown)}/") for hidden in self.hidden)
                self.show(file if holds_home else shown)

    def _sockets(self) -> list[str]:
        """Returns the sockets of servers that a program in the box could reach by a path, such as that of a database.

        A connection needs no writable file, so a read-only folder keeps nobody from a server's socket.
        """
        with open(SOCKETS, encoding="utf-8", errors="surrogateescape") as file:
            paths = {line.rstrip("\n").split(None, 7)[-1] for line in file}
        return sorted(path for path in paths if path.startswith("/") and self._has_socket(path))

    def _has_socket(self, path: str) -> bool:
        if path.startswith("/proc/") or any(f"{path}/".startswith(f"{folder}/") for folder in self.opened):
            return False
        mounts = (mount for mount in reversed(self.mounts) if f"{path}/".startswith(f"{mount[-1]}/"))
        last = next(mounts, ("", path, path))
        try:
            is_there = last[0] != "--tmpfs" and last[-2] == last[-1] and os.path.realpath(path) == path
            return is_there and stat.S_ISSOCK(os.lstat(path).st_mode) and os.access(path, os.W_OK)
        except OSError:
            return False

    def limit_network(self, network: str, hosts: Hosts) -> None:
        """Lets programs reach all hosts, only these, or none; each limited box has a loopback device of its own."""
        self.network, self.hosts = network, hosts if network == MODEL else None

    def open_network(self, log_path: str) -> NetworkProxy | None:
        """Starts the proxy of a box that reaches only some hosts; it logs each connection."""
        if self.hosts is None:
            return None
        from sow.system.process.network_proxy import NetworkProxy

        return NetworkProxy(self.hosts, log_path, self.user_environment)

    def arguments(self, command: Sequence[str], *, cwd: str, status: int = -1, filter: int = -1) -> list[str]:
        """Returns the command line; bubblewrap writes its status as JSON to the descriptor `status`.

        `filter` is a descriptor of `box_limits.key_filter`.
        """
        reported = ["--json-status-fd", str(status)] if status >= 0 else []
        reported += ["--seccomp", str(filter)] if filter >= 0 else []
        # Devices come before the mounts, because a repository may lie in /dev/shm.
        base = ["--cap-drop", "ALL", *reported, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        for name in KERNEL_FILES:
            base += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
        base += [] if self.network == ALL else ["--unshare-net"]
        mounts = [*self.mounts, *(("--ro-bind", os.devnull, path) for path in self._sockets())]
        flat = [word for mount in mounts for word in mount]
        return [self.program, *NAMESPACES, *base, *flat, *self.seals, "--chdir", cwd, "--", *self.first, *command]

    def start(self, function: Callable[[int], T]) -> T:
        """Calls a function that starts bubblewrap, with the descriptor of the filter or -1.

        A bubblewrap with the rights of root needs privileges that it does not get where sockets are limited.
        """
        from sow.system.process import box_limits

        filter = box_limits.key_filter()
        try:
            if os.stat(self.program).st_mode & stat.S_ISUID:
                return function(filter)
            return box_limits.call_without_other_sockets(lambda: function(filter))
        finally:
            if filter >= 0:
                os.close(filter)

    @staticmethod
    def environment(environment: Mapping[str, str], network: str = ALL) -> dict[str, str]:
        """Returns the variables of a program in a box with this network."""
        kept = {name: value for name, value in environment.items() if name not in SESSION_VARIABLES}
        kept |= dict.fromkeys(kept.keys() & {"TMPDIR", "TEMP", "TMP"}, TEMPORARY[0])
        return {**kept, VARIABLE: BWRAP, **({} if network == ALL else {NETWORK_VARIABLE: network})}


def find_program(environment: Mapping[str, str]) -> str:
    """Returns the path of bubblewrap, or "" if it is not installed; relative folders on PATH do not count."""
    paths = (f"{folder}/{PROGRAM}" for folder in environment.get("PATH", os.defpath).split(os.pathsep))
    return next((path for path in paths if os.path.isabs(path) and os.access(path, os.X_OK)), "")


def home_folders(environment: Mapping[str, str]) -> list[str]:
    """Returns the user's home folders: the one of the environment and the one of the account."""
    named = [folder for folder in (environment.get("HOME", ""), _account_home(os.getuid())) if os.path.isabs(folder)]
    homes = dict.fromkeys(os.path.realpath(folder) for folder in named if os.path.isdir(folder))
    return [folder for folder in homes if folder != "/"]


def _account_home(user: int) -> str:
    """Returns the home of an account, which is looked for once per process; a container may have no such account."""
    if user not in _accounts:
        try:
            _accounts[user] = pwd.getpwuid(user).pw_dir
        except KeyError:
            _accounts[user] = ""
    return _accounts[user]


class SandboxState(Record):
    """Whether programs run in a sandbox on this machine; if not, why, and what to do."""

    mode: str
    problem: str = ""
    hint: str = ""

    @property
    def is_on(self) -> bool:
        return self.mode != OFF and not self.problem

    @property
    def text(self) -> str:
        """Returns why there is none, in a few words."""
        return "no sandbox" + (f": {self.problem}" if self.problem else "")

    def require(self) -> None:
        """Raises if the user wants a sandbox that this machine cannot run."""
        if self.mode == BWRAP and self.problem:
            raise SowError(f"sandbox.mode is bwrap, but {self.problem}", self.hint)


def _holds(path: str, homes: Sequence[str]) -> bool:
    """Tells whether a folder is a home or holds one."""
    return any(f"{home}/".startswith(f"{path.rstrip('/')}/") for home in homes)


_shown: dict[tuple[str, ...], list[tuple[str, ...]]] = {}  # of programs, which are looked for once per process
_accounts: dict[int, str] = {}
_states: dict[tuple[str, str], SandboxState] = {}


def sandbox_state(mode: str, environment: Mapping[str, str], *, afresh: bool = False) -> SandboxState:
    """Tells whether the sandbox works here.

    It is tried once per process, and only once per boot if it worked: what does not start later is an error then.
    """
    key = (mode, environment.get("PATH", ""))
    if key not in _states:
        tried = "" if mode == OFF else _tried_path(environment)
        is_known = mode == OFF or (tried and not afresh and os.path.exists(tried))
        problem, hint = ("", "") if is_known else _try(environment)
        if tried and not is_known and not problem:
            _remember(tried)
        _states[key] = SandboxState(mode, problem, hint)
    return _states[key]


def _tried_path(environment: Mapping[str, str]) -> str:
    """Returns the path of a file that exists if this bubblewrap worked here since the machine was started; or ""."""
    try:
        info = os.stat(find_program(environment))
        container = os.stat(MOUNTS).st_ino
        with open(BOOT, encoding="ascii") as file:
            boot = file.read().strip()
        folder = user_folder(environment, "XDG_CACHE_HOME", ".cache")
    except (OSError, SowError):
        return ""
    identity = (boot, container, info.st_dev, info.st_ino, info.st_mtime_ns, os.getuid())
    return f"{folder}/sow/sandbox/{'-'.join(map(str, identity))}"


def _remember(path: str) -> None:
    """Makes a file in place of those of earlier times; without it, the next process tries again."""
    folder = os.path.dirname(path)
    try:
        clock.crash_point(f"make {path}")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for name in os.listdir(folder):
            os.unlink(f"{folder}/{name}")
        os.close(plain_file.create(path))
    except OSError:
        return


def _try(environment: Mapping[str, str]) -> tuple[str, str]:
    """Returns what keeps a small program from running in a box, and what to do about it; empty if nothing does."""
    from sow.system.process.program import capture

    if not sys.platform.startswith("linux"):
        return "there is no bubblewrap for this system", "use Linux, or a container"
    if not find_program(environment):
        return "bubblewrap is not installed", "install it: apt install bubblewrap (dnf, pacman, zypper: the same name)"
    box = Box(environment)

    def start(filter: int) -> ProgramOutput:
        arguments = box.arguments(["true"], cwd="/", filter=filter)
        return capture(arguments, environment=environment, timeout=10, pass_fds=[filter] if filter >= 0 else [])

    done = box.start(start)
    return ("", "") if done.code == 0 else _explain(done.text)


def _explain(text: str) -> tuple[str, str]:
    """Returns why bubblewrap fails, in plain words."""
    if "nknown option" in text:
        return "this bubblewrap is too old", "install bubblewrap 0.8 or newer"
    if _number(RESTRICTION) == 1:
        hint = (
            f"allow it with an AppArmor profile for {PROGRAM}, or: sudo sysctl kernel.{os.path.basename(RESTRICTION)}=0"
        )
        return "AppArmor keeps bubblewrap from creating user namespaces", hint
    if _number(MOST_NAMESPACES) == 0:
        return "this machine allows no user namespaces", "sudo sysctl user.max_user_namespaces=15000"
    first = text.strip().partition("\n")[0][:200] or "it did not end"
    return f"bubblewrap does not work here: {first}", "in a container, allow user namespaces, or set sandbox.mode: off"


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None
