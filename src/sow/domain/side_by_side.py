"""Notes of several workers about one file or one topic, put together, so that contradicting assumptions are seen.

Code cannot tell that two assumptions contradict each other. It can show a verifier those that might.
"""

from __future__ import annotations

from sow.domain.finding import tidy
from sow.domain.wording import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sow.domain.shapes import Note

Desk = tuple[str, "Sequence[str]", "Sequence[Note]"]  # owner, files, notes

MAX_NOTES = 200  # of one owner: its last ones
MAX_GROUPS = 50
MAX_SHARED = 40  # notes with one word: more of them tell no topic
MAX_LINE = 300
SHORTEST = 4  # letters of a word that tells a topic
# Words that notes are full of and that tell no topic.
COMMON = frozenset(
    words(
        """about added after again agent also always assume assumed assuming assumption because before being both cannot
        case change choice code could does done each either else every existing explicit field file first from given
        have instead into just keep kept like made make mean more most must need needed never none note once only other
        over plan please possible question requirement same shall should since some such task than that their them then
        there these they this those under unless until used user using value want what when where whether which while
        will with within without work would"""
    )
)


class Group:
    """Who shares what, and their notes: each with its owner."""

    __slots__ = ("about", "names", "notes", "owners")

    def __init__(self, about: str, names: Sequence[str], notes: Sequence[tuple[str, Note]]) -> None:
        self.about = about  # file or topic
        self.names = list(names)
        self.notes = list(notes)
        self.owners = list(dict.fromkeys(owner for owner, _ in notes))

    def text(self) -> str:
        """The group as lines of Markdown."""
        lines = [f"{self.about}: {', '.join(self.names[:8])}"]
        lines += [f"- {owner} {note['note_id']} ({note['status']}): {_told(note)}" for owner, note in self.notes]
        return "\n".join(lines)


def groups(desks: Iterable[Desk], of: str = "") -> list[Group]:
    """All groups with notes of two owners or more, those about files first; with `of`, only those of that owner."""
    given = [(owner, list(files), list(notes)[-MAX_NOTES:]) for owner, files, notes in desks]
    found = _by_file(given)
    shown = [{_key(each) for each in group.notes} for group in found]
    for group in _by_topic(given):
        keys = {_key(each) for each in group.notes}
        found += [] if any(keys <= other for other in shown) else [group]
    return [group for group in found if not of or of in group.owners][:MAX_GROUPS]


def _key(each: tuple[str, Note]) -> tuple[str, str]:
    return each[0], each[1]["note_id"]


def _by_file(desks: Sequence[Desk]) -> list[Group]:
    """One group for all files that the same owners touch."""
    touch: dict[str, list[str]] = {}
    for owner, files, notes in desks:
        for file in dict.fromkeys(_plain(file) for file in files) if notes else ():
            touch.setdefault(file, []).append(owner)
    together: dict[tuple[str, ...], list[str]] = {}
    for file, owners in touch.items():
        if len(set(owners)) > 1:
            together.setdefault(tuple(owners), []).append(file)
    return [
        Group("file", files, [(owner, note) for owner, _, notes in desks if owner in owners for note in notes])
        for owners, files in together.items()
    ]


def _plain(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _by_topic(desks: Sequence[Desk]) -> list[Group]:
    """Notes of different owners that share telling words, directly or through each other."""
    every = [(owner, note) for owner, _, notes in desks for note in notes]
    topics = [_topic(note) for _, note in every]
    leader = list(range(len(every)))
    named: dict[int, dict[str, int]] = {}
    for one, other in _near(topics):
        shared = topics[one] & topics[other]
        enough = len(shared) > 1 or len(shared) * 3 >= min(len(topics[one]), len(topics[other]))
        if enough and every[one][0] != every[other][0]:
            _join(leader, one, other)
            counts = named.setdefault(one, {})
            for word in shared:
                counts[word] = counts.get(word, 0) + 1
    members: dict[int, list[int]] = {}
    for at in range(len(every)):
        members.setdefault(_find(leader, at), []).append(at)
    return [
        Group("topic", _names(named, together), [every[at] for at in together])
        for together in members.values()
        if len(together) > 1
    ]


def _names(named: dict[int, dict[str, int]], together: list[int]) -> list[str]:
    """The words that the notes share, those that most of them share first."""
    counts: dict[str, int] = {}
    for at in together:
        for word, count in named.get(at, {}).items():
            counts[word] = counts.get(word, 0) + count
    return sorted(counts, key=lambda word: (-counts[word], word))


def _topic(note: Note) -> set[str]:
    """The words of a note that tell what it is about; one and many are the same."""
    found = (word.removesuffix("s") for word in words(note["description"]) if len(word) >= SHORTEST)
    return {word for word in found if word not in COMMON}


def _near(topics: list[set[str]]) -> list[tuple[int, int]]:
    """The pairs of notes that have a word in common, but for words that are everywhere."""
    having: dict[str, list[int]] = {}
    for at, topic in enumerate(topics):
        for word in topic:
            having.setdefault(word, []).append(at)
    pairs = {
        (one, other)
        for places in having.values()
        if len(places) <= MAX_SHARED
        for number, one in enumerate(places)
        for other in places[number + 1 :]
    }
    return sorted(pairs)


def _find(leader: list[int], at: int) -> int:
    while leader[at] != at:
        leader[at] = leader[leader[at]]
        at = leader[at]
    return at


def _join(leader: list[int], one: int, other: int) -> None:
    first, second = sorted((_find(leader, one), _find(leader, other)))
    leader[second] = first


def _told(note: Note) -> str:
    """What was assumed, and what became of it."""
    said = tidy(note["description"], MAX_LINE, one_line=True)
    resolution = tidy(note.get("resolution") or "", MAX_LINE, one_line=True)
    return f"{said} → {resolution}" if resolution else said
