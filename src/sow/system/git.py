"""Runs the git program."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sow.errors import SystemFailure
from sow.system import crash_points, sealed_git
from sow.system.process import process_tree

TIMEOUT = 60
LONG = 1800  # for a checkout of a large repository on a slow disk, with files that a filter fetches
# Our calls never prompt, page, run a hook or start background work. Their output does not depend on the user's
# settings. They ignore the commit graph, which could name another tree than the commit does.
SETTINGS = tuple(
    word
    for setting in (
        "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.abbrev=auto", "core.commitGraph=false",
        "core.ignoreStat=false", "core.quotePath=false", "core.safecrlf=false", "commit.gpgSign=false", "gc.auto=0",
        "maintenance.auto=false", "fetch.writeCommitGraph=false", "submodule.recurse=false",
        "i18n.commitEncoding=UTF-8", "i18n.logOutputEncoding=UTF-8", "log.showSignature=false", "color.ui=false",
        "trailer.separators=:", "diff.algorithm=default", "merge.renames=true", "merge.directoryRenames=conflict",
        "merge.verbosity=2",
    )
    for word in ("-c", setting)
)  # fmt: skip
REMOVED_VARIABLES = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS",
    "GIT_ATTR_SOURCE", "GIT_REPLACE_REF_BASE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_CONFIG",
)  # fmt: skip
ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "LC_ALL": "C",
}
MAX_HEAD = 8192  # bytes of the line before an object; that of a missing one repeats its name
HEAD = ("id", "type", "size")  # the words of that line
LEAST_FREE = 64 << 10  # bytes that git needs at least for its smallest files
ERROR_PREFIXES = ("fatal: ", "error: ")
DUBIOUS_OWNERSHIP = b"detected dubious ownership"


@dataclass(frozen=True, kw_only=True)
class GitResult:
    """The result of one git command."""

    code: int
    out: str
    err: str
    is_disk_full: bool = False  # whether it failed on a full disk, which git does not always report

    @property
    def message(self) -> str:
        """Returns git's own error message: the line of the failure, not a warning before it."""
        from sow.system.process.exit_code import exit_text  # here, because only an error needs it

        lines = self.err.strip().splitlines() or self.out.strip().splitlines() or [exit_text(self.code)]
        message = next((line for start in ERROR_PREFIXES for line in lines if line.startswith(start)), lines[0])
        return message.removeprefix("fatal: ").removeprefix("error: ") + (
            " (the disk is full)" if self.is_disk_full else ""
        )


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
    """Returns the output of one git command; raises with git's own message if it fails."""
    result = run_unchecked(
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
    if check and result.code:
        raise failure(arguments, result)
    return result.out


def failure(arguments: Sequence[str], result: GitResult) -> SystemFailure:
    """Returns the error for a failed command."""
    return SystemFailure(f"git {arguments[0]} failed: {result.message}", "see 'git status' in this repository")


def run_unchecked(
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
) -> GitResult:
    """Returns the result of one git command, even of a failed one.

    `options` precede the command, `index` is another index file than the checkout's own, and `hold` is a lock that git
    keeps while it runs: if we are killed, the next process waits until our git has ended. With `is_sealed` off, git
    reads the repository's own settings although a seal exists.
    """
    own = sealed_git.variables(arguments, cwd, options) if is_sealed else sealed_git.UNSEALED
    process = _start(arguments, cwd, options, _environment(index, {**own, **(variables or {})}), hold)
    try:
        out, err = process.communicate(input.encode("utf-8", "surrogateescape"), timeout=timeout)
    except subprocess.TimeoutExpired:
        _kill(process)
        raise SystemFailure(
            f"git {arguments[0]} did not end within {timeout:.0f} seconds", "look for a hanging git process"
        ) from None
    except KeyboardInterrupt:
        # Git interrupted in the middle leaves half a checkout behind, so it may end first.
        _finish(process, timeout)
        raise
    code = process.returncode
    if code and DUBIOUS_OWNERSHIP in err:
        raise _foreign(cwd)
    return GitResult(code=code, out=_text(out), err=_text(err), is_disk_full=bool(code) and _is_full(cwd))


def _foreign(cwd: str) -> SystemFailure:
    return SystemFailure(
        f"{cwd} belongs to another user, and git refuses to work in it",
        f"if you trust it: git config --global --add safe.directory {shlex.quote(cwd)}",
    )


def _is_full(folder: str) -> bool:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < LEAST_FREE


def read(arguments: Sequence[str], *, cwd: str, options: Sequence[str] = (), limit: int) -> tuple[str, bool]:
    """Returns the beginning of a command's output, up to the limit in bytes, and whether it is complete."""
    process = _start_reading(arguments, cwd, options)
    try:
        output = process.stdout.read(limit + 1) if process.stdout else b""
    finally:
        _kill(process)
    return output[:limit].decode("utf-8", "replace"), len(output) <= limit


class ObjectReader:
    """One `git cat-file` that answers many questions about objects. It reads a ref anew for each question."""

    def __init__(self, cwd: str, options: Sequence[str] = ()) -> None:
        self._process = _start_reading(["cat-file", "--batch-command"], cwd, options)

    def find(self, name: str) -> tuple[str, str] | None:
        """Returns the id and the type of an object, empty texts if there is none, or None if git does not answer."""
        if "\n" in name:
            return "", ""
        try:
            words = self._ask("info", name)
        except BrokenPipeError:
            return None
        if not words.endswith(b"\n"):  # too long, or the end of git
            return None
        head = words.decode("utf-8", "replace").split()
        return (head[0], head[1]) if len(head) == len(HEAD) and head[2].isdigit() else ("", "")

    def content(self, name: str) -> bytes:
        """Returns the content of an object as it is stored: no filter is run."""
        try:
            _, _, size = self._ask("contents", name).rstrip(b"\n").rpartition(b" ")
            replies = self._process.stdout
            data = replies.read(int(size) + 1) if size.isdigit() and replies else b""
        except BrokenPipeError:
            raise SystemFailure("git cat-file ended too early", "run the command again") from None
        if not data:
            raise SystemFailure(f"the object {name} cannot be read", "run the command again")
        return data[:-1]

    def _ask(self, question: str, name: str) -> bytes:
        requests, replies = self._process.stdin, self._process.stdout
        if requests is None or replies is None:
            return b""
        requests.write(f"{question} {name}\n".encode("utf-8", "surrogateescape"))
        requests.flush()
        return replies.readline(MAX_HEAD)

    def close(self) -> None:
        """Ends git."""
        if self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        _kill(self._process)


def blobs(names: Sequence[str], *, cwd: str, options: Sequence[str] = ()) -> Iterator[bytes]:
    """Yields the contents of objects by name."""
    reader = ObjectReader(cwd, options)
    try:
        for name in names:
            yield reader.content(name)
    finally:
        reader.close()


def _start_reading(arguments: Sequence[str], cwd: str, options: Sequence[str]) -> subprocess.Popen[bytes]:
    environment = _environment("", sealed_git.variables(arguments, cwd, options))
    return _start(arguments, cwd, options, environment, -1, errors=subprocess.DEVNULL)


def _environment(index: str, variables: Mapping[str, str] | None) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in REMOVED_VARIABLES}
    environment |= ENVIRONMENT
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
    crash_points.crash_point(f"git {arguments[0]}")
    try:
        return subprocess.Popen(
            ["git", *SETTINGS, *options, *arguments],
            cwd=cwd,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            pass_fds=(hold,) if hold >= 0 else (),
            start_new_session=True,  # Ctrl-C goes to us only, because we know when git may stop
        )
    except OSError as error:
        raise start_failure(error, cwd) from None


def start_failure(error: OSError, cwd: str) -> SystemFailure:
    """Returns why git cannot be started in a folder."""
    if not isinstance(error, FileNotFoundError):
        return SystemFailure(f"cannot start git in {cwd}: {error.strerror}", "fix that and run the command again")
    if error.filename == cwd:
        return SystemFailure(f"{cwd} is gone", "make that folder again, or go to another")
    return SystemFailure("git is not installed", "install git 2.38 or newer and put it on PATH")


def _finish(process: subprocess.Popen[bytes], timeout: float) -> None:
    try:
        process.communicate(timeout=timeout)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process_tree.signal_one(process.pid, signal.SIGKILL, group=True)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
