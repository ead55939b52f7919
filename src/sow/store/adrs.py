"""Decision records: numbered documents that outlive the project in which something was decided."""

from __future__ import annotations

import os

from sow.domain import ids
from sow.errors import SowError
from sow.store import artifacts
from sow.store.disk import create_file, list_folder, make_folders
from sow.store.home import Home
from sow.system import checkout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

STATUSES = ("proposed", "accepted", "rejected", "deprecated", "superseded")
RETIRED = ("rejected", "deprecated", "superseded")
DIGITS = 4
MOST_READ = 1 << 20
TEMPLATE = """\
# {number}. {title}

- Status: {status}
- Date: {date}

## Context

What is the question, and what bears on it?

## Decision

What was decided, in one sentence; then the reasons.

## Alternatives

What else was weighed, and why it was not taken.

## Consequences

What becomes easier, what becomes harder, and what must be done next?
"""


class Adr:
    """One record: its number, its title, where it stands, and its file below the root."""

    __slots__ = ("date", "number", "path", "status", "title")

    def __init__(self, *, number: int, title: str, status: str, date: str, path: str) -> None:
        self.number = number
        self.title = title
        self.status = status
        self.date = date
        self.path = path


def new(home: Home, place: Home, title: str, *, status: str, date: str) -> Adr:
    """A record with the next number, written from the template in the checkout where its author works."""
    folder = artifacts.folders(place)["adrs"]
    with home.lock():
        number = max((each for root in _roots(home, place) for each in _numbers(f"{root}/{folder}")), default=0) + 1
        name = f"{number:0{DIGITS}d}-{slug(title)}.md"
        parent = make_folders(place.disk, place.root, folder.split("/"))
        text = TEMPLATE.format(number=number, title=title, status=status, date=date)
        if not create_file(place.disk, f"{parent}/{name}", text):
            raise SowError(f"{folder}/{name} is there already", "give the record another title")
    return Adr(number=number, title=title, status=status, date=date, path=f"{folder}/{name}")


def listed(home: Home) -> list[Adr]:
    """All records of a checkout, in the order of their numbers."""
    folder = artifacts.folders(home)["adrs"]
    found = []
    for name in list_folder(f"{home.root}/{folder}"):
        number = _number(name)
        if number and name.endswith(".md") and os.path.isfile(f"{home.root}/{folder}/{name}"):
            found.append(_read(home, f"{folder}/{name}", number))
    return sorted(found, key=lambda each: (each.number, each.path))


def workplace(home: Home, cwd: str) -> Home:
    """The checkout that somebody works in, if it is a worktree of the same repository; else the home."""
    folder = os.path.abspath(cwd)
    while folder != os.path.dirname(folder):
        where = checkout.at(folder)
        if where is not None:
            same = os.path.realpath(where.common) == os.path.realpath(home.checkout.common)
            return Home(where, environment=home.environment) if same else home
        folder = os.path.dirname(folder)
    return home


def slug(title: str) -> str:
    """A title as a part of a file name; letters lose their accents."""
    import unicodedata

    plain = "".join(each for each in unicodedata.normalize("NFKD", title) if not unicodedata.combining(each))
    return ids.slug_of(plain) or "decision"


def status_of(text: str) -> str:
    """Where a record stands, by its line `Status: …` or by the word below its heading `## Status`."""
    lines = [line.strip(" -*#\t").replace("*", "") for line in text.split("\n")[:60]]
    for place, line in enumerate(lines):
        word, _, rest = line.partition(":")
        if word.strip().lower() == "status":
            said = rest or next((each for each in lines[place + 1 : place + 4] if each), "")
            return (said.split() or [""])[0].strip(".,;").lower()
    return ""


def _roots(home: Home, place: Home) -> Iterator[str]:
    """Everywhere where a number may be taken: two tasks that decide side by side do not get the same."""
    yield from dict.fromkeys((home.root, place.root))
    worktrees = f"{home.sow}/local/worktrees"
    yield from (f"{worktrees}/{each}" for each in list_folder(worktrees))


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
    """A record as somebody wrote it: whatever its form is, it has a title and a status."""
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
