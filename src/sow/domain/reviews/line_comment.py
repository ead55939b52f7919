"""Writes comments on lines of files into the text of a feedback, and reads them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sow.domain.inputs import checked_path, printable_line
from sow.errors import SowError

HEADING = "### "
QUOTE = "> "
LONGEST_QUOTE = 300  # characters of the quoted line
LARGEST_LINE = 9  # digits


@dataclass(frozen=True)
class LineComment:
    """A comment on one line of a file; `quote` is the line as it was when the comment was made."""

    file: str
    line: int
    text: str
    quote: str = ""

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    def quoting(self, line: str) -> LineComment:
        """Returns the comment with the line that it is about."""
        return replace(self, quote=printable_line(line)[:LONGEST_QUOTE])


def parse_place(text: str) -> tuple[str, int]:
    """Returns file and line of a place such as src/a.py:12."""
    file, _, line = text.rpartition(":")
    if not file or not line.isascii() or not line.isdigit() or len(line) > LARGEST_LINE or not int(line):
        raise SowError(f"{text!r:.80} is not a line of a file", "write FILE:LINE, such as: src/app.py:12")
    return checked_path(file, "the file"), int(line)


def pair(places: Sequence[str], texts: Sequence[str]) -> tuple[str, list[LineComment]]:
    """Returns the text about the whole work, and the comments: the n-th text belongs to the n-th place.

    If there is one text more than places, the first text is about the whole work.
    """
    extra = len(texts) - len(places)
    if not places and extra > 1:
        raise SowError(f"unexpected argument {texts[1]!r:.60}", "quote a text of several words")
    if extra not in (0, 1):
        raise SowError(
            f"the number of texts ({len(texts)}) does not fit the number of lines ({len(places)})",
            'write a text after each place: --at src/app.py:12 "Handle an empty list"',
        )
    places_and_texts = zip(places, texts[extra:], strict=True)
    return texts[0] if extra else "", [LineComment(*parse_place(place), text) for place, text in places_and_texts]


def feedback_text(general: str, comments: Sequence[LineComment]) -> str:
    """Returns one text with a section for each comment: its place, the quoted line, and the words."""
    sections = [
        f"{HEADING}{comment.place}\n\n{QUOTE}{comment.quote}\n\n{_without_headings(comment.text)}"
        for comment in comments
    ]
    return "\n\n".join(filter(None, [_without_headings(general), *sections]))


def _without_headings(text: str) -> str:
    """Indents the lines that would begin a section."""
    lines = text.strip().splitlines()
    return "\n".join(f" {line}" if line.startswith(HEADING) else line for line in lines)


def split(text: str) -> tuple[str, list[LineComment]]:
    """Returns the text about the whole work and the comments of a text that `feedback_text` wrote."""
    general, *sections = f"\n{text}".split(f"\n{HEADING}")
    return general.strip(), [comment for section in sections if (comment := _comment(section)) is not None]


def _comment(section: str) -> LineComment | None:
    place, _, rest = section.partition("\n")
    quote, _, text = rest.lstrip("\n").partition("\n")
    try:
        file, line = parse_place(place)
    except SowError:  # somebody edited the file
        return None
    return LineComment(file, line, text.strip(), quote.removeprefix(QUOTE))
