"""Puts a turn into the sandbox: its files, its private home and git folder, and its channel to sow."""

from __future__ import annotations

import os
import re
import time
from _blake2 import blake2b  # hashlib loads much more
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

import sow
from sow.domain.task import WORKER, Actor
from sow.errors import SystemFailure
from sow.gitwork.private_git import PrivateGit, protect_repository, read_settings
from sow.gitwork.repository import Repository
from sow.gitwork.worktree import Worktree
from sow.store.files.checkout_home import find
from sow.store.files.disk import is_folder, remove_quietly, remove_tree_quietly
from sow.system import clock, plain_file
from sow.system.environment import user_folder
from sow.system.git import config_text
from sow.system.process.channel_server import Channel
from sow.system.sandbox import Box

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sow.engine.turns.crew_files import CrewFiles
    from sow.engine.turns.turn import AgentTurn
    from sow.executors.adapter import PrivateHome, Request
    from sow.store.files.checkout_home import Home
    from sow.store.runs.sessions import SessionRecord

    Run = Callable[[list[str], Mapping[str, str]], int]

COPY = "SOW_COPY"  # set for the commands of an agent who works in a copy of orchestration/
CHANNEL = "/run/sow"  # the folder of the socket in the box
# In a checkout that a worker shares with the user, it may commit but not change what makes git run programs.
PROTECTED_GIT = ("config", "config.worktree", "hooks", "info", "worktrees", "modules")  # and sow, which is hidden
REDIRECTS = ("commondir", "config.worktree")  # lead git to other settings; they cannot be made in advance
MADE = ("hooks", "info", "worktrees", "sow")  # made if missing, because only an existing path can be protected
ACCOUNT = re.compile(r"(?i)account|email|user|client|url|host")  # fields of a login that a refresh does not change
MAX_FILE = 8 << 20
MOST_FILES = 1000  # of a folder of settings, such as skills
HOME_DAYS = 30


@dataclass
class OpenBox:
    """The sandbox of one turn: what the process sees, and the variables that it needs there."""

    box: Box | None  # None: only the channel is open
    variables: dict[str, str]
    home: str  # the folder that the worker sees as its home
    remarks: list[str] = field(default_factory=list)


@contextmanager
def open_box(turn: AgentTurn, record: SessionRecord, request: Request) -> Iterator[OpenBox]:
    """Makes the sandbox of a turn, and takes over what the turn left in it: commits and a refreshed login."""
    settings = turn.settings
    home, environment, repository = settings.home, settings.environment, Repository(settings.home)
    private_git = _private_git(repository, turn, request.cwd)
    # A follow-up has the home of the task whose conversation it continues.
    worker = private_git.worktree.name if private_git is not None else turn.folder.id
    name = f"{turn.folder.id}-judge" if turn.read_only else worker
    folder = _home_folder(home, environment, turn.folder.owner, name)
    logins = Logins(turn.adapter.capabilities.private_home, environment, folder)
    box = Box(environment, home=folder)
    box.limit_network(settings.network_of(turn.agent.name), settings.hosts_of(turn.adapter))
    opened = OpenBox(box, logins.variables, folder)
    redirects = _redirects(home)
    channel = None
    crew = _crew_files(turn)
    if private_git is not None:
        with repository.locked():
            private_git.open()
    try:
        _mount(box, turn, request, private_git, crew)
        if settings.verbs is not None and not turn.read_only:
            channel = _channel(turn, record, name, settings.verbs, is_copy=crew is not None)
            box.place(channel.folder, CHANNEL)
            opened.variables["SOW_CHANNEL"] = f"{CHANNEL}/channel"
        try:
            logins.copy_in()
            _write_git_settings(home, folder)
        except OSError as error:
            problem = f"cannot prepare the agent's private home {folder}: {error.strerror}"
            raise SystemFailure(problem, f"remove it: rm -r {folder}") from None
        for user in box.homes[:1]:
            opened.variables["GIT_CONFIG_GLOBAL"] = f"{user}/.gitconfig"
        yield opened
    finally:
        if channel is not None:
            channel.close()
        logins.copy_back()
        if crew is not None:
            opened.remarks += crew.take_over()
        for path in sorted(_redirects(home) - redirects):
            clock.crash_point(f"remove {path}")
            remove_quietly(path)
            remove_tree_quietly(path)
            opened.remarks.append(f"the agent made {path}, which can make git run programs; sow removed it")
        if private_git is not None:
            with repository.locked():
                opened.remarks += private_git.take_over()
        settings.announce(opened.remarks)


@contextmanager
def open_channel(turn: AgentTurn, record: SessionRecord) -> Iterator[OpenBox | None]:
    """Opens only the channel, for a worker outside of the sandbox whose commands are sent to this process."""
    settings = turn.settings
    if settings.verbs is None:
        yield None
        return
    channel = _channel(turn, record, turn.folder.id, settings.verbs)
    try:
        yield OpenBox(None, {"SOW_CHANNEL": f"{channel.folder}/channel"}, settings.environment.get("HOME", ""))
    finally:
        channel.close()


def _channel(turn: AgentTurn, record: SessionRecord, name: str, verbs: Run, *, is_copy: bool = False) -> Channel:
    settings = turn.settings
    actor = Actor(kind=WORKER, name=turn.agent.name, task=turn.folder.id)
    variables = {**settings.environment, **turn.worker_variables(record), COPY: "1" if is_copy else ""}
    folder = f"{settings.home.folder('local', 'sandbox', name)}/channel"
    return Channel(folder, variables, actor, _with_refresh(verbs))


def _private_git(repository: Repository, turn: AgentTurn, cwd: str) -> PrivateGit | None:
    """Returns the git folder of a worker in a worktree of its own; a judge only reads."""
    folder = f"{repository.home.sow}/local/worktrees"
    if turn.read_only or os.path.dirname(os.path.realpath(cwd)) != os.path.realpath(folder):
        return None
    return PrivateGit(Worktree(repository, os.path.basename(cwd)))


def _home_folder(home: Home, environment: Mapping[str, str], owner: str, name: str) -> str:
    """Returns the private home of a task's agents; the task 010 of another project has another one.

    It is not in the repository, because it holds logins for a time.
    """
    identity = f"{os.path.realpath(home.checkout.common)}\0{owner}"
    key = blake2b(identity.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    parent = f"{user_folder(environment, 'XDG_STATE_HOME', '.local/state')}/sow/sandbox"
    folder = f"{parent}/{key}/{name}"
    if not os.path.isdir(folder):
        clock.crash_point(f"make {folder}")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if parent not in _cleaned:
            _cleaned.add(parent)
            _remove_old_homes(parent)
    os.utime(folder)
    return folder


_cleaned: set[str] = set()  # folders of private homes in which this process has looked for old ones


def _remove_old_homes(parent: str) -> None:
    """Removes the private homes that no turn has used for a month; their sessions can no longer be resumed."""
    oldest = time.time() - HOME_DAYS * 86400
    for repository in os.scandir(parent):
        for entry in os.scandir(repository.path):
            if entry.stat(follow_symlinks=False).st_mtime < oldest:
                remove_tree_quietly(entry.path)


def _crew_files(turn: AgentTurn) -> CrewFiles | None:
    """Returns the files of an agent who works in its own folder of a workflow; a designer writes all of them."""
    home = turn.settings.home
    if turn.read_only or not turn.folder.folder.startswith(f"{home.workflow}/"):
        return None
    from sow.engine.turns.crew_files import CrewFiles  # here, because most turns have no workflow
    from sow.store.workflows.folder import DesignFolder

    return None if isinstance(turn.folder, DesignFolder) else CrewFiles(home, turn.folder.id)


@cache
def _with_refresh(verbs: Run) -> Run:
    """Returns what runs a command of an agent. An agent of a workflow then reads in its copy what the command wrote."""

    def run(words: list[str], environment: Mapping[str, str]) -> int:
        code = verbs(words, environment)
        if words and environment.get(COPY):
            from sow.engine.turns.crew_files import CrewFiles  # here, because most turns have no workflow

            CrewFiles(find(option="", environment=environment, cwd="/"), environment["SOW_TASK"]).refresh()
        return code

    return run


def _mount(box: Box, turn: AgentTurn, request: Request, private_git: PrivateGit | None, crew: CrewFiles | None) -> None:
    """Shows the repository, and opens what this turn may write. Later mounts win."""
    settings, home = turn.settings, turn.settings.home
    is_shared = not turn.read_only and os.path.realpath(request.cwd) == os.path.realpath(home.root)
    if not is_shared:
        box.show(home.root, home.checkout.common, home.checkout.git)
    box.show(os.path.dirname(os.path.dirname(sow.__file__)))
    box.show_program(turn.binary())
    if is_shared:
        _open_checkout(box, home)
    elif turn.read_only:
        box.show(request.cwd)
    else:
        box.allow(request.cwd)
    if not turn.read_only:
        own = turn.folder.folder
        clock.crash_point(f"make a folder in {own}")
        os.makedirs(os.path.dirname(turn.folder.notes_path), exist_ok=True)
        if crew is not None:
            crew.open(box)
        # A designer of a workflow writes all its files; sow undoes what it may not change.
        _open_folder(box, home.workflow if crew is None and own.startswith(f"{home.workflow}/") else own)
    box.show(*request.readable, *request.external_readable, *turn.adapter.needed_files(request))
    protect_repository(box, home)  # after the references, which an agent may choose
    if private_git is not None:
        box.allow(private_git.folder)
        box.place(private_git.pointer, f"{request.cwd}/.git")
    box.open(read=settings.config.sandbox_paths("read"), write=settings.config.sandbox_paths("write"))


def _open_folder(box: Box, folder: str) -> None:
    """Opens a folder in which sow writes too. Its folders are mount points, so that no link can take their place."""
    for parent, folders, _ in os.walk(folder):
        folders[:] = [name for name in folders if not os.path.islink(f"{parent}/{name}")]
        box.allow(parent)


def _open_checkout(box: Box, home: Home) -> None:
    """Opens the user's checkout, except sow's state and what makes git run programs.

    Every folder above a protected path is a mount point too, so that none can be moved away and replaced.
    """
    common, git = home.checkout.common, home.checkout.git
    clock.crash_point(f"make folders in {common}")
    for name in MADE:
        os.makedirs(f"{common}/{name}", exist_ok=True)
    box.allow(home.root, common)
    box.show(*(f"{common}/{name}" for name in PROTECTED_GIT))
    if git != common:
        box.allow(git)
        box.show(f"{home.root}/.git", *(f"{git}/{name}" for name in (*REDIRECTS, "gitdir")))
    box.show(home.sow)


def _redirects(home: Home) -> set[str]:
    """Returns the files of the checkout's git folders that can make git read other settings."""
    folders = {home.checkout.common, home.checkout.git}
    return {path for folder in folders for name in REDIRECTS if os.path.lexists(path := f"{folder}/{name}")}


def _write_git_settings(home: Home, folder: str) -> None:
    """Writes the user's git settings to the private home, without logins."""
    text = config_text(read_settings(home.root, "global"))
    _write(folder, f"{folder}/.gitconfig", text.encode("utf-8", "surrogateescape"))


class Logins:
    """The settings and logins of an agent CLI in a private home. Logins are there only while a turn runs."""

    def __init__(self, wanted: PrivateHome | None, environment: Mapping[str, str], folder: str) -> None:
        self.variables: dict[str, str] = {}
        self.files: list[tuple[str, str, bool]] = []  # source, target, is a login
        self.before: dict[str, bytes] = {}
        self.target = folder
        if wanted is None or not wanted.folder:
            return
        home, named = environment.get("HOME", ""), environment.get(wanted.variable, "")
        source, beside, beside_target = f"{home}/{wanted.folder}", home, folder
        if named:
            source = f"{named}/{wanted.folder}" if wanted.is_parent else named
            beside, beside_target = named, folder if wanted.is_parent else f"{folder}/{wanted.folder}"
            self.variables[wanted.variable] = home if wanted.is_parent else f"{home}/{wanted.folder}"
        for name in wanted.files:
            self.files.append((f"{source}/{name}", f"{folder}/{wanted.folder}/{name}", name in wanted.logins))
        self.files += [(f"{beside}/{name}", f"{beside_target}/{name}", False) for name in wanted.beside]
        self.files = [(_real(source), target, is_login) for source, target, is_login in self.files]

    def copy_in(self) -> None:
        """Copies settings that the private home does not have yet, and the logins as they are now."""
        for source, target, is_login in self.files:
            if os.path.isdir(source):
                for path in _files(source) if not os.path.lexists(target) else ():
                    _write(self.target, f"{target}/{os.path.relpath(path, source)}", _read(path))
            elif is_login or not os.path.lexists(target):
                data = _read(source)
                if is_login and data:
                    self.before[target] = data
                if data:
                    _write(self.target, target, _without_history(data) if target.endswith("/.claude.json") else data)

    def copy_back(self) -> None:
        """Copies a login back that the CLI refreshed, and removes it from the private home.

        It must look like the old one and be of the same account, and the user's own must not have changed meanwhile.
        """
        for source, target, is_login in self.files:
            if not is_login or not os.path.lexists(target) or not _is_below(self.target, os.path.dirname(target)):
                continue
            old, new = self.before.get(target, b""), _read(target)
            if old and new and new != old and _shape(new) == _shape(old) is not None and _read(source) == old:
                plain_file.create_with(f"{source}.sow", new)
                clock.crash_point(f"replace {source}")
                os.replace(f"{source}.sow", source)
            remove_quietly(target)


def _real(path: str) -> str:
    """Returns a path without links; most files of a CLI are not there, and need no search for links."""
    return os.path.realpath(path) if os.path.lexists(path) else path


def _files(folder: str) -> list[str]:
    return [f"{parent}/{name}" for parent, _, names in os.walk(folder) for name in names][:MOST_FILES]


def _without_history(data: bytes) -> bytes:
    """Leaves out what Claude Code remembers about the user's other projects."""
    import json  # here, because it loads slowly

    try:
        settings = json.loads(data)
    except ValueError:
        return data
    return json.dumps({key: value for key, value in settings.items() if key != "projects"}).encode()


def _shape(data: bytes) -> object:
    """Returns a login's fields with the types of their values, and the names of its account; None if it is no JSON."""
    import json

    try:
        return _shape_of(json.loads(data))
    except (ValueError, RecursionError):
        return None


def _shape_of(value: object) -> object:
    if not isinstance(value, dict):
        return type(value).__name__
    return {name: inner if ACCOUNT.search(name) else _shape_of(inner) for name, inner in value.items()}


def _read(path: str) -> bytes:
    try:
        return plain_file.read(path, MAX_FILE)
    except OSError:
        return b""


def _is_below(home: str, folder: str) -> bool:
    """Returns whether a folder of a private home is where its name says: an agent may have put a link in its way."""
    return os.path.realpath(folder) == os.path.realpath(home) + folder.removeprefix(home)


def _write(home: str, path: str, data: bytes) -> None:
    """Writes a file of a private home; what an agent left in its way, such as a link out of the home, is removed."""
    folder = home
    for part in os.path.dirname(os.path.relpath(path, home)).split("/"):
        folder = f"{folder}/{part}" if part else folder
        if not is_folder(folder):
            remove_quietly(folder)
            clock.crash_point(f"make {folder}")
            os.mkdir(folder, 0o700)
    if is_folder(path):
        remove_tree_quietly(path)
    plain_file.create_with(path, data)
