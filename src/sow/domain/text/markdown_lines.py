"""Splits Markdown into front matter and lines, and marks each line as plain, code, fence or comment."""

from __future__ import annotations

PLAIN, CODE, FENCE, COMMENT = range(4)  # a FENCE line starts or ends CODE
# By the first character of the opener: the kind of the lines inside, and of the lines that open and close.
INSIDE_KIND = {"`": CODE, "~": CODE, "<": COMMENT}
FENCE_KIND = {"`": FENCE, "~": FENCE, "<": COMMENT}
OPENERS = ("```", "~~~")
COMMENT_START, COMMENT_END = "<!--", "-->"
DEEPEST_HEADING = 3  # spaces; with more of them it is not a heading in Markdown


class MarkdownPage:
    """All lines, their kinds, and the number of the first; `unclosed` is the line of a fence or comment without end."""

    def __init__(self, text: str, first: int) -> None:
        self.first = first
        self.texts = text.split("\n")
        self.kinds = bytearray(len(self.texts))
        self.unclosed = self._classify()

    def _classify(self) -> int:
        """Marks the lines that are not plain; returns the line of an opener without end, or 0."""
        opener = ""
        opened = 0
        for index, text in enumerate(self.texts):
            bare = text.lstrip()
            if opener and not _closes(bare, opener):
                self.kinds[index] = INSIDE_KIND[opener[0]]
            elif opener:
                self.kinds[index] = FENCE_KIND[opener[0]]
                opener = ""
            elif bare[:1] in INSIDE_KIND and (opener := _opener(bare)):
                self.kinds[index] = FENCE_KIND[opener[0]]
                opened = index
        return self.number(opened) if opener else 0

    def number(self, index: int) -> int:
        """Returns the line number of an index."""
        return self.first + index


def _opener(bare: str) -> str:
    """Returns the opener of a fence or comment that a line starts; one that ends on the same line is none."""
    if bare.startswith(COMMENT_START):
        return "" if COMMENT_END in bare else COMMENT_START
    if not bare.startswith(OPENERS):
        return ""
    rest = bare.lstrip(bare[0])
    return "" if bare[0] == "`" and "`" in rest else bare[: len(bare) - len(rest)]


def _closes(bare: str, opener: str) -> bool:
    if opener == COMMENT_START:
        return COMMENT_END in bare
    return bare.startswith(opener) and not bare.strip(opener[0] + " \t")


def frontmatter(text: str) -> tuple[str, str, int]:
    """Returns the block between two --- lines at the start, the rest, and the line number of the rest."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return "", text, 1
    for index, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return "\n".join(lines[1:index]), "\n".join(lines[index + 1 :]), index + 2
    return "", text, 1


def heading(text: str) -> tuple[int, str]:
    """Returns the level and the text of a heading; level 0 is no heading."""
    bare = text.lstrip(" ")
    if bare[:1] != "#" or len(text) - len(bare) > DEEPEST_HEADING:
        return 0, ""
    rest = bare.lstrip("#")
    level = len(bare) - len(rest)
    if level > 6 or rest[:1] not in (" ", "\t", ""):
        return 0, ""
    name = rest.strip()
    without_hashes = name.rstrip("#")
    return level, (without_hashes.rstrip() if without_hashes[-1:] in (" ", "\t", "") else name)
