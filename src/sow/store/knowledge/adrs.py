"""Writes and lists decision records: numbered documents that stay when a project is cleaned up."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from sow.domain import inputs
from sow.errors import SowError
from sow.store.files.checkout_home import Home
from sow.store.files.disk import create_file, list_folder, make_folders
from sow.store.knowledge import artifacts
from sow.system import checkout

STATUSES = ("proposed", "accepted", "rejected", "deprecated", "superseded")
RETIRED = ("rejected", "deprecated", "superseded")
DIGITS = 4
MOST_READ = 1 << 20
TEMPLATE = """\
# {number}. {title}

- Status: {status}
- Date: {date}

## Context

What is the question, and what affects it?

## Decision

What was decided, in one sentence; then the reasons.

## Alternatives

What else was considered, and why it was not chosen.

## Consequences

What becomes easier, what becomes harder, and what must be done next?
"""


@dataclass(frozen=True)
class Adr:
    """Describes one decision record; its path is relative to the root."""

    number: int
    title: str
    status: str
    date: str
    path: str


def create(home: Home, work_home: Home, title: str, *, status: str, date: str) -> Adr:
    """Writes a record with the next number from the template, in the checkout where its author works."""
    folder, title = artifacts.folders(work_home)["adrs"], home.redact(title)
    with home.lock():
        number = max((n for root in _roots(home, work_home) for n in _numbers(f"{root}/{folder}")), default=0) + 1
        name = f"{number:0{DIGITS}d}-{slug(title)}.md"
        parent = make_folders(work_home.disk, work_home.root, folder.split("/"))
        text = TEMPLATE.format(number=number, title=title, status=status, date=date)
        if not create_file(work_home.disk, f"{parent}/{name}", text):
            raise SowError(f"{folder}/{name} is there already", "give the record another title")
    return Adr(number=number, title=title, status=status, date=date, path=f"{folder}/{name}")


def load_all(home: Home) -> list[Adr]:
    """Returns all records of a checkout, ordered by number."""
    folder = artifacts.folders(home)["adrs"]
    records = []
    for name in list_folder(f"{home.root}/{folder}"):
        number = _number(name)
        if number and name.endswith(".md") and os.path.isfile(f"{home.root}/{folder}/{name}"):
            records.append(_read(home, f"{folder}/{name}", number))
    return sorted(records, key=lambda record: (record.number, record.path))


def current_checkout(home: Home, cwd: str) -> Home:
    """Returns the checkout that contains the folder if it is a worktree of the same repository; else the home."""
    folder = os.path.abspath(cwd)
    while folder != os.path.dirname(folder):
        current = checkout.at(folder)
        if current is not None:
            same = os.path.realpath(current.common) == os.path.realpath(home.checkout.common)
            return Home(current, environment=home.environment) if same else home
        folder = os.path.dirname(folder)
    return home


def slug(title: str) -> str:
    """Returns a title as a part of a file name, without accents."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", title) if not unicodedata.combining(char))
    return inputs.branch_slug(plain) or "decision"


def status_of(text: str) -> str:
    """Reads a record's status from its line `Status: …` or from the text below its heading `## Status`."""
    lines = [line.strip(" -*#\t").replace("*", "") for line in text.split("\n")[:60]]
    for index, line in enumerate(lines):
        key, _, rest = line.partition(":")
        if key.strip().lower() == "status":
            value = rest or next((following for following in lines[index + 1 : index + 4] if following), "")
            return (value.split() or [""])[0].strip(".,;").lower()
    return ""


def _roots(home: Home, work_home: Home) -> Iterator[str]:
    """Yields every root in which a number may be used, so that parallel tasks get different numbers."""
    yield from dict.fromkeys((home.root, work_home.root))
    worktrees = f"{home.sow}/local/worktrees"
    yield from (f"{worktrees}/{name}" for name in list_folder(worktrees))


def _numbers(folder: str) -> Iterator[int]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    yield from (_number(name) for name in names)


def _number(name: str) -> int:
    digits = name.partition("-")[0].partition(".")[0]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 6 else 0


def _read(home: Home, path: str, number: int) -> Adr:
    """Reads a record in any form. If it cannot be read, its title is the file name and its status is empty."""
    try:
        text = home.read(f"{home.root}/{path}", MOST_READ, torn=True)
    except (OSError, SowError):
        text = ""
    lines = text.split("\n")
    heading = next((line.removeprefix("# ") for line in lines if line.startswith("# ")), os.path.basename(path))
    first, _, rest = heading.partition(" ")
    title = rest if first.rstrip(".:").isdigit() and rest else heading
    date = next((line.partition(":")[2].strip() for line in lines if line.startswith("- Date:")), "")
    return Adr(number=number, title=title.strip(), status=status_of(text), date=date, path=path)
