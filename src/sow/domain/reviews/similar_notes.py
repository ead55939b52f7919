"""Groups notes of several workers about one file or topic, so that contradicting assumptions are noticed.

Code cannot tell that two assumptions contradict each other. It can show a verifier those that might.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sow.domain.documents.state import Note
from sow.domain.inputs import plain_path
from sow.domain.reviews.finding import clean_text
from sow.domain.text.similar_text import words

WorkerNotes = tuple[str, "Sequence[str]", "Sequence[Note]"]  # owner, files, notes

MAX_NOTES = 200  # the last notes of one owner
MAX_GROUPS = 50
MAX_SHARED = 40  # If more notes share a word, it is no topic.
MAX_LINE = 300
SHORTEST = 4  # letters of a topic word
# Words that are frequent in notes and are no topic.
COMMON = frozenset(
    """about added after again agent also always assume assumed assuming assumption because before being both cannot
    case change choice code could does done each either else every existing explicit field file first from given
    have instead into just keep kept like made make mean more most must need needed never none note once only other
    over plan please possible question requirement same shall should since some such task than that their them then
    there these they this those under unless until used user using value want what when where whether which while
    will with within without work would""".split()  # noqa: SIM905
)


class Group:
    """A shared file or topic, and the notes about it, each with its owner."""

    def __init__(self, about: str, names: Sequence[str], notes: Sequence[tuple[str, Note]]) -> None:
        self.about = about  # file or topic
        self.names = list(names)
        self.notes = list(notes)
        self.owners = list(dict.fromkeys(owner for owner, _ in notes))

    def text(self) -> str:
        """Returns the group as lines of Markdown."""
        lines = [f"{self.about}: {', '.join(self.names[:8])}"]
        lines += [f"- {owner} {note['note_id']} ({note['status']}): {_note_text(note)}" for owner, note in self.notes]
        return "\n".join(lines)


def groups(workers: Iterable[WorkerNotes], of: str = "") -> list[Group]:
    """Returns all groups with notes of two or more owners, files first. `of` selects the groups of one owner."""
    limited = [(owner, list(files), list(notes)[-MAX_NOTES:]) for owner, files, notes in workers]
    all_groups = _by_file(limited)
    note_keys = [{_key(entry) for entry in group.notes} for group in all_groups]
    for group in _by_topic(limited):
        keys = {_key(entry) for entry in group.notes}
        all_groups += [] if any(keys <= earlier for earlier in note_keys) else [group]
    return [group for group in all_groups if not of or of in group.owners][:MAX_GROUPS]


def _key(entry: tuple[str, Note]) -> tuple[str, str]:
    return entry[0], entry[1]["note_id"]


def _by_file(workers: Sequence[WorkerNotes]) -> list[Group]:
    """Returns one group for all files that the same owners change."""
    owners_by_file: dict[str, list[str]] = {}
    for owner, files, notes in workers:
        for file in dict.fromkeys(plain_path(file) for file in files) if notes else ():
            owners_by_file.setdefault(file, []).append(owner)
    files_by_owners: dict[tuple[str, ...], list[str]] = {}
    for file, owners in owners_by_file.items():
        if len(set(owners)) > 1:
            files_by_owners.setdefault(tuple(owners), []).append(file)
    return [
        Group("file", files, [(owner, note) for owner, _, notes in workers if owner in owners for note in notes])
        for owners, files in files_by_owners.items()
    ]


def _by_topic(workers: Sequence[WorkerNotes]) -> list[Group]:
    """Groups notes of different owners that share topic words, directly or through other notes."""
    entries = [(owner, note) for owner, _, notes in workers for note in notes]
    topics = [topic_words(note["description"]) for _, note in entries]
    leader = list(range(len(entries)))
    shared_words: dict[int, dict[str, int]] = {}
    for first, second in _pairs_with_shared_words(topics):
        shared = topics[first] & topics[second]
        enough = len(shared) > 1 or len(shared) * 3 >= min(len(topics[first]), len(topics[second]))
        if enough and entries[first][0] != entries[second][0]:
            _join(leader, first, second)
            counts = shared_words.setdefault(first, {})
            for word in shared:
                counts[word] = counts.get(word, 0) + 1
    members: dict[int, list[int]] = {}
    for index in range(len(entries)):
        members.setdefault(_root_of(leader, index), []).append(index)
    return [
        Group("topic", _names(shared_words, indexes), [entries[index] for index in indexes])
        for indexes in members.values()
        if len(indexes) > 1
    ]


def _names(shared_words: dict[int, dict[str, int]], indexes: list[int]) -> list[str]:
    """Returns the words that the notes share, the most frequent first."""
    counts: dict[str, int] = {}
    for index in indexes:
        for word, count in shared_words.get(index, {}).items():
            counts[word] = counts.get(word, 0) + count
    return sorted(counts, key=lambda word: (-counts[word], word))


def topic_words(text: str) -> set[str]:
    """Returns the topic words of a note. Singular and plural count as the same word."""
    stems = (word.removesuffix("s") for word in words(text) if len(word) >= SHORTEST)
    return {word for word in stems if word not in COMMON}


def _pairs_with_shared_words(topics: list[set[str]]) -> list[tuple[int, int]]:
    """Returns the pairs of notes that have a word in common, except for words that too many notes have."""
    indexes_by_word: dict[str, list[int]] = {}
    for index, topic in enumerate(topics):
        for word in topic:
            indexes_by_word.setdefault(word, []).append(index)
    pairs = {
        (first, second)
        for indexes in indexes_by_word.values()
        if len(indexes) <= MAX_SHARED
        for position, first in enumerate(indexes)
        for second in indexes[position + 1 :]
    }
    return sorted(pairs)


def _root_of(leader: list[int], index: int) -> int:
    while leader[index] != index:
        leader[index] = leader[leader[index]]
        index = leader[index]
    return index


def _join(leader: list[int], first_index: int, second_index: int) -> None:
    first, second = sorted((_root_of(leader, first_index), _root_of(leader, second_index)))
    leader[second] = first


def _note_text(note: Note) -> str:
    assumption = clean_text(note["description"], MAX_LINE, one_line=True)
    resolution = clean_text(note.get("resolution") or "", MAX_LINE, one_line=True)
    return f"{assumption} → {resolution}" if resolution else assumption
