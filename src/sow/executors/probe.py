"""What the program of an executor says about itself: its version, and whether it knows the flags that we use.

A program is asked once; the answer is kept in the user's cache until the file changes or we depend on other flags.
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
from sow.store import json_text, user_file
from sow.store.disk import Disk, read_text
from sow.system.environment import user_folder, worker_environment
from sow.system.program import Answer, ask
from sow.system.terminal import harmless_line

TIMEOUT = 15.0  # the slowest CLI takes two seconds on an idle machine
AT_ONCE = 4  # a CLI's start keeps a core busy
MOST_KEPT = 200
Program = tuple[str, str]  # its path, and the type of the executor that runs it
# ELF, Mach-O in both orders and widths and for several machines in one file, and scripts
PROGRAMS = (b"\x7fELF", b"\xfe\xed\xfa", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"#!")
VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a program said; `missing` is None where its flags could not be looked at."""

    version: str = ""
    missing: tuple[str, ...] | None = None
    trouble: str = ""
    cached: bool = False


class Cache:
    """Answers of earlier calls, by the identity of the program; a broken or missing file is an empty one."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.entries: dict[str, Any] = {}
        try:
            data = json_text.load(read_text(Disk(), path), path) if path else {}
        except (SowError, FileNotFoundError):
            data = {}
        if isinstance(data, dict) and all(isinstance(each, dict) for each in data.values()):
            self.entries = data

    def find(self, key: str, flags: tuple[str, ...]) -> Facts | None:
        entry = self.entries.get(key, {})
        version, missing = entry.get("version"), entry.get("missing")
        if entry.get("flags") != list(flags) or not isinstance(version, str) or not isinstance(missing, list):
            return None
        return Facts(version=version, missing=tuple(map(str, missing)), cached=True)

    def keep(self, key: str, flags: tuple[str, ...], facts: Facts) -> None:
        self.entries[key] = {"flags": list(flags), "version": facts.version, "missing": list(facts.missing or ())}

    def save(self) -> None:
        """Write it; a cache that cannot be kept is no failure."""
        if self.path:
            try:
                user_file.write(self.path, json_text.dump(dict(list(self.entries.items())[-MOST_KEPT:])))
            except SowError:
                return


def cache_path(environment: Mapping[str, str]) -> str:
    """Where answers are kept; nowhere for a user without a home."""
    try:
        return f"{user_folder(environment, 'XDG_CACHE_HOME', '.cache')}/sow/probes.json"
    except SowError:
        return ""


def probe_all(
    programs: Mapping[Program, Capabilities], environment: Mapping[str, str], timeout: float = TIMEOUT
) -> dict[Program, Facts]:
    """The facts on each program; those that are not known yet are asked, a few at a time."""
    cache = Cache(cache_path(environment))
    keys = {each: _identity(each[0], can) for each, can in programs.items()}
    known = {each: cache.find(keys[each], can.known_flags) for each, can in programs.items()}
    new = [each for each, facts in known.items() if facts is None]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = pool.map(lambda each: probe(each[0], programs[each], environment, timeout), new)
        asked = dict(zip(new, answers, strict=True))
    good = {each: facts for each, facts in asked.items() if not facts.trouble}
    for each, facts in good.items():  # a slow start today says nothing about tomorrow: only answers are kept
        cache.keep(keys[each], programs[each].known_flags, facts)
    if good:
        cache.save()
    return {each: facts or asked[each] for each, facts in known.items()}


def _identity(path: str, capabilities: Capabilities) -> str:
    """A program that is changed is another one; so is one that is asked with other words, or by another sow."""
    real = os.path.realpath(path)
    facts = os.stat(real)
    words = " ".join((*capabilities.version_words, *capabilities.help_words))
    return f"{real} {facts.st_mtime_ns} {facts.st_size} {__version__} {words}"


def probe(path: str, capabilities: Capabilities, environment: Mapping[str, str], timeout: float = TIMEOUT) -> Facts:
    """Ask one program; it gets no key of anybody."""
    if not _is_program(path):
        return Facts(trouble="it is neither a program for this machine nor a script that begins with #!")
    if not capabilities.version_words:
        return Facts(missing=())
    surroundings = {**worker_environment(environment, own=(), marks={}), "NO_COLOR": "1", "TERM": "dumb"}
    try:
        said = ask([path, *capabilities.version_words], environment=surroundings, timeout=timeout)
        trouble = _trouble(said, capabilities.version_words, timeout)
        found = VERSION.search(said.text)
        if trouble or not found:
            return Facts(trouble=trouble or f"no version in what it says: {_first(said.text) or 'nothing'}")
        version = found.group().rstrip(".+-")[:60]
        if not capabilities.known_flags:
            return Facts(version=version, missing=())
        text = ask([path, *capabilities.help_words], environment=surroundings, timeout=timeout)
        trouble = _trouble(text, capabilities.help_words, timeout)
    except SowError as error:
        return Facts(trouble=error.message)
    if trouble:
        return Facts(version=version, trouble=trouble)
    return Facts(version=version, missing=_missing(capabilities.known_flags, text.text))


def _is_program(path: str) -> bool:
    """Whether the system can start it, by how it begins; one that may not be read is believed."""
    try:
        with open(path, "rb") as file:
            return file.read(4).startswith(PROGRAMS)
    except OSError:
        return True


def _missing(flags: tuple[str, ...], text: str) -> tuple[str, ...]:
    """The flags that the help does not have as words of their own."""
    return tuple(each for each in flags if not re.search(rf"(?<![\w-]){re.escape(each)}(?![\w-])", text))


def _trouble(answer: Answer, words: tuple[str, ...], timeout: float) -> str:
    asked = " ".join(words)
    if answer.code is None:
        return f"{asked} did not end within {timeout:g} seconds, or said far too much"
    return f"{asked} ended with exit code {answer.code}: {_first(answer.text)}" if answer.code else ""


def _first(text: str) -> str:
    return next((harmless_line(line)[:100] for line in text.splitlines() if line.strip()), "")
