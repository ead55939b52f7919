"""Asks the program of an executor for its version, and whether its help lists the flags that sow uses.

The answer stays in the user's cache until the program's file or the list of flags changes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from sow import __version__
from sow.errors import SowError
from sow.executors.adapter import Capabilities
from sow.store.files import user_file
from sow.store.files.disk import Disk, read_text
from sow.store.formats import json_text
from sow.system.environment import user_folder, worker_environment
from sow.system.process.exit_code import ending_text
from sow.system.process.program import ProgramOutput, capture
from sow.system.terminal import escape_line

TIMEOUT = 15.0  # the slowest CLI takes two seconds on an idle machine
MAX_PARALLEL = 4  # starting a CLI keeps a core busy
MAX_ENTRIES = 200
Program = tuple[str, str]  # its path, and the type of the executor that runs it
# ELF, Mach-O in both orders and widths and for several machines in one file, and scripts
PROGRAMS = (b"\x7fELF", b"\xfe\xed\xfa", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"#!")
VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")


@dataclass(frozen=True, kw_only=True)
class ProgramFacts:
    """The answers of a program; `missing` is None if its flags could not be checked."""

    version: str = ""
    missing: tuple[str, ...] | None = None
    trouble: str = ""
    cached: bool = False


class Cache:
    """Earlier answers by the identity of the program; a broken or missing file is an empty cache."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.entries: dict[str, Any] = {}
        try:
            data = json_text.load(read_text(Disk(), path), path) if path else {}
        except (SowError, FileNotFoundError):
            data = {}
        if isinstance(data, dict) and all(isinstance(entry, dict) for entry in data.values()):
            self.entries = data

    def find(self, key: str, flags: tuple[str, ...]) -> ProgramFacts | None:
        entry = self.entries.get(key, {})
        version, missing = entry.get("version"), entry.get("missing")
        if entry.get("flags") != list(flags) or not isinstance(version, str) or not isinstance(missing, list):
            return None
        return ProgramFacts(version=version, missing=tuple(map(str, missing)), cached=True)

    def add(self, key: str, flags: tuple[str, ...], facts: ProgramFacts) -> None:
        self.entries[key] = {"flags": list(flags), "version": facts.version, "missing": list(facts.missing or ())}

    def save(self) -> None:
        """Writes the cache; a failed write is ignored."""
        if self.path:
            try:
                user_file.write(self.path, json_text.dump(dict(list(self.entries.items())[-MAX_ENTRIES:])))
            except SowError:
                return


def cache_path(environment: Mapping[str, str]) -> str:
    """Returns the path of the cache, or "" for a user without a home folder."""
    try:
        return f"{user_folder(environment, 'XDG_CACHE_HOME', '.cache')}/sow/probes.json"
    except SowError:
        return ""


def probe_all(
    programs: Mapping[Program, Capabilities], environment: Mapping[str, str], timeout: float = TIMEOUT
) -> dict[Program, ProgramFacts]:
    """Returns the facts of each program; programs that are not in the cache are asked in parallel."""
    cache = Cache(cache_path(environment))
    keys = {program: _identity(program[0], capabilities) for program, capabilities in programs.items()}
    cached = {
        program: cache.find(keys[program], capabilities.required_flags) for program, capabilities in programs.items()
    }
    missing = [program for program, facts in cached.items() if facts is None]
    with ThreadPoolExecutor(MAX_PARALLEL) as pool:
        answers = pool.map(lambda program: probe(program[0], programs[program], environment, timeout), missing)
        asked = dict(zip(missing, answers, strict=True))
    good = {program: facts for program, facts in asked.items() if not facts.trouble}
    for program, facts in good.items():  # a failure, such as a slow start, is not kept
        cache.add(keys[program], programs[program].required_flags, facts)
    if good:
        cache.save()
    return {program: facts or asked[program] for program, facts in cached.items()}


def _identity(path: str, capabilities: Capabilities) -> str:
    """Returns a key that changes with the program's file, the arguments of the probe, or sow's version."""
    real = os.path.realpath(path)
    status = os.stat(real)
    arguments = " ".join((*capabilities.version_arguments, *capabilities.help_arguments))
    return f"{real} {status.st_mtime_ns} {status.st_size} {__version__} {arguments}"


def probe(
    path: str, capabilities: Capabilities, environment: Mapping[str, str], timeout: float = TIMEOUT
) -> ProgramFacts:
    """Asks one program, in an environment without API keys."""
    if not _is_program(path):
        return ProgramFacts(trouble="it is neither a program for this machine nor a script that begins with #!")
    if not capabilities.version_arguments:
        return ProgramFacts(missing=())
    variables = {**worker_environment(environment, own=(), marks={}), "NO_COLOR": "1", "TERM": "dumb"}
    try:
        answer = capture([path, *capabilities.version_arguments], environment=variables, timeout=timeout)
        trouble = _problem(answer, capabilities.version_arguments, timeout)
        match = VERSION.search(answer.text)
        if trouble or not match:
            return ProgramFacts(
                trouble=trouble or f"no version in what it says: {_first_line(answer.text) or 'nothing'}"
            )
        version = match.group().rstrip(".+-")[:60]
        if not capabilities.required_flags:
            return ProgramFacts(version=version, missing=())
        help_answer = capture([path, *capabilities.help_arguments], environment=variables, timeout=timeout)
        trouble = _problem(help_answer, capabilities.help_arguments, timeout)
    except SowError as error:
        return ProgramFacts(trouble=error.message)
    if trouble:
        return ProgramFacts(version=version, trouble=trouble)
    return ProgramFacts(version=version, missing=_missing_flags(capabilities.required_flags, help_answer.text))


def _is_program(path: str) -> bool:
    """Returns whether the file looks like a program by its first bytes; an unreadable file counts as one."""
    try:
        with open(path, "rb") as file:
            return file.read(4).startswith(PROGRAMS)
    except OSError:
        return True


def _missing_flags(flags: tuple[str, ...], text: str) -> tuple[str, ...]:
    """Returns the flags that the help text does not contain as whole words."""
    return tuple(flag for flag in flags if not re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text))


def _problem(answer: ProgramOutput, arguments: tuple[str, ...], timeout: float) -> str:
    flags = " ".join(arguments)
    if answer.code is None:
        return f"{flags} did not end within {timeout:g} seconds, or said far too much"
    return f"{flags} {ending_text(answer.code)}: {_first_line(answer.text)}" if answer.code else ""


def _first_line(text: str) -> str:
    return next((escape_line(line)[:100] for line in text.splitlines() if line.strip()), "")
