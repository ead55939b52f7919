"""The door to the git program."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess

from sow.errors import Failed
from sow.system import boundary, sealed, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TIMEOUT = 60
LONG = 1800  # a checkout of a large repository on a slow disk, with files that a filter fetches
# Our calls never ask, never page, never run a hook and never start work in the background. What they print does not
# depend on the user's settings. They believe no commit graph, which could name another tree than the commit does.
SETTINGS = tuple(
    word
    for setting in (
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "core.abbrev=auto",
        "core.commitGraph=false",
        "core.ignoreStat=false",
        "core.quotePath=false",
        "core.safecrlf=false",
        "commit.gpgSign=false",
        "gc.auto=0",
        "maintenance.auto=false",
        "fetch.writeCommitGraph=false",
        "submodule.recurse=false",
        "i18n.commitEncoding=UTF-8",
        "i18n.logOutputEncoding=UTF-8",
        "log.showSignature=false",
        "color.ui=false",
        "trailer.separators=:",
        "diff.algorithm=default",
        "merge.renames=true",
        "merge.directoryRenames=conflict",
        "merge.verbosity=2",
    )
    for word in ("-c", setting)
)
HIDDEN = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_ATTR_SOURCE",
    "GIT_REPLACE_REF_BASE",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_CONFIG",
)
QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "LC_ALL": "C",
}
MAX_HEAD = 200  # of the line before an object
ROOM = 64 << 10  # bytes that git needs at least for its smallest files
BLAME = ("fatal: ", "error: ")
FOREIGN = b"detected dubious ownership"


class Done:
    """What one git command came to."""

    __slots__ = ("code", "err", "full", "out")

    def __init__(self, *, code: int, out: str, err: str, full: bool = False) -> None:
        self.code = code
        self.out = out
        self.err = err
        self.full = full  # whether it failed on a disk without room, of which git does not always speak

    @property
    def words(self) -> str:
        """Git's own words on what went wrong: the line that says so, and not a warning before it."""
        ended = f"exit {self.code}" if self.code >= 0 else f"it was ended by {signal.Signals(-self.code).name}"
        lines = self.err.strip().splitlines() or self.out.strip().splitlines() or [ended]
        said = next((line for start in BLAME for line in lines if line.startswith(start)), lines[0])
        return said.removeprefix("fatal: ").removeprefix("error: ") + (" (the disk is full)" if self.full else "")


def run(
    arguments: Sequence[str],
    *,
    cwd: str,
    check: bool = True,
    options: Sequence[str] = (),
    input: str = "",
    index: str = "",
    variables: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
    hold: int = -1,
    is_sealed: bool = True,
) -> str:
    """The output of one git command; a failure is our error, with git's own words."""
    done = attempt(
        arguments,
        cwd=cwd,
        options=options,
        input=input,
        index=index,
        variables=variables,
        timeout=timeout,
        hold=hold,
        is_sealed=is_sealed,
    )
    if check and done.code:
        raise failure(arguments, done)
    return done.out


def failure(arguments: Sequence[str], done: Done) -> Failed:
    """A command that failed, as an error of ours."""
    return Failed(f"git {arguments[0]} failed: {done.words}", "see 'git status' in this repository")


def attempt(
    arguments: Sequence[str],
    *,
    cwd: str,
    options: Sequence[str] = (),
    input: str = "",
    index: str = "",
    variables: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
    hold: int = -1,
    is_sealed: bool = True,
) -> Done:
    """The result of one git command, also of one that failed.

    `options` stand before the command, `index` is another index file than the checkout's own, and `hold` is a lock
    that git keeps for as long as it runs: when we are killed, the next one waits until our git has ended. With
    `is_sealed` off, git reads the repository's own settings although a seal exists.
    """
    own = sealed.variables(arguments, cwd, options) if is_sealed else sealed.UNSEALED
    process = _start(arguments, cwd, options, _environment(index, {**own, **(variables or {})}), hold)
    try:
        out, err = process.communicate(input.encode("utf-8", "surrogateescape"), timeout=timeout)
    except subprocess.TimeoutExpired:
        _kill(process)
        raise Failed(
            f"git {arguments[0]} did not end within {timeout:.0f} seconds", "look for a hanging git process"
        ) from None
    except KeyboardInterrupt:
        # Git in the middle of its work leaves half a checkout behind: it may end first.
        _finish(process, timeout)
        raise
    code = process.returncode
    if code and FOREIGN in err:
        raise _foreign(cwd)
    return Done(code=code, out=_text(out), err=_text(err), full=bool(code) and _is_full(cwd))


def _foreign(cwd: str) -> Failed:
    return Failed(
        f"{cwd} belongs to another user, and git refuses to work in it",
        f"if you trust it: git config --global --add safe.directory {shlex.quote(cwd)}",
    )


def _is_full(folder: str) -> bool:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < ROOM


def read(arguments: Sequence[str], *, cwd: str, options: Sequence[str] = (), limit: int) -> tuple[str, bool]:
    """The beginning of what a command prints, in bytes up to the limit, and whether that is all of it."""
    environment = _environment("", sealed.variables(arguments, cwd, options))
    process = _start(arguments, cwd, options, environment, -1, errors=subprocess.DEVNULL)
    try:
        said = process.stdout.read(limit + 1) if process.stdout else b""
    finally:
        _kill(process)
    return said[:limit].decode("utf-8", "replace"), len(said) <= limit


def blobs(names: Sequence[str], *, cwd: str, options: Sequence[str] = ()) -> Iterator[bytes]:
    """The contents of files by their object names, one after the other, as they are stored: no filter is run."""
    words = ["cat-file", "--batch"]
    environment = _environment("", sealed.variables(words, cwd, options))
    process = _start(words, cwd, options, environment, -1, errors=subprocess.DEVNULL)
    into, out = process.stdin, process.stdout
    try:
        for name in names:
            if into is None or out is None:
                return
            into.write(f"{name}\n".encode())
            into.flush()
            _, _, size = out.readline(MAX_HEAD).rstrip(b"\n").rpartition(b" ")
            data = out.read(int(size) + 1) if size.isdigit() else b""
            if not data:
                raise Failed(f"the object {name} cannot be read", "run the command again")
            yield data[:-1]
    except BrokenPipeError:
        raise Failed("git cat-file ended too early", "run the command again") from None
    finally:
        _kill(process)


def _environment(index: str, variables: Mapping[str, str] | None) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    environment |= QUIET
    if index:
        environment["GIT_INDEX_FILE"] = index
    return environment | dict(variables or {})


def _start(
    arguments: Sequence[str],
    cwd: str,
    options: Sequence[str],
    environment: dict[str, str],
    hold: int,
    errors: int = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    boundary.cross(f"git {arguments[0]}")
    try:
        return subprocess.Popen(
            ["git", *SETTINGS, *options, *arguments],
            cwd=cwd,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            pass_fds=(hold,) if hold >= 0 else (),
            start_new_session=True,  # Ctrl-C is for us, who know when git may stop
        )
    except FileNotFoundError as error:
        if error.filename == cwd:
            raise Failed(f"{cwd} is gone", "make that folder again, or go to another") from None
        raise Failed("git is not installed", "install git 2.38 or newer and put it on PATH") from None
    except OSError as error:
        raise Failed(f"cannot start git in {cwd}: {error.strerror}", "mend that and run the command again") from None


def _finish(process: subprocess.Popen[bytes], timeout: float) -> None:
    try:
        process.communicate(timeout=timeout)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End git and what it started."""
    if process.poll() is None:
        tree.signal_one(process.pid, signal.SIGKILL, group=True)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
