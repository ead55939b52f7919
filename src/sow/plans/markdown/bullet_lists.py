"""Reads what follows below a label: bullets or numbers with indented lines, a code fence, or a paragraph."""

from __future__ import annotations

from sow.domain.text.markdown_lines import COMMENT, FENCE, PLAIN, MarkdownPage, heading
from sow.plans.markdown import field_labels

NONE = ("none", "empty", "no", "nothing", "not", "n/a")
INDENT = 2  # a line this much deeper than an entry belongs to it


class Item:
    """One entry: its text and line, the lines indented below it (code also in `blocks`), and whether it is code."""

    __slots__ = ("blocks", "code", "details", "line", "text")

    def __init__(self, text: str, line: int, *, code: bool = False) -> None:
        self.text = text
        self.line = line
        self.code = code
        self.details: list[str] = []
        self.blocks: list[str] = []

    @property
    def full_text(self) -> str:
        return "\n".join([self.text, *self.details])


def read(page: MarkdownPage, index: int, end: int) -> tuple[int, list[Item]]:
    """Returns the index of the first line after the entries, and the entries that start at a line."""
    start = index
    while start < end and _is_skipped(page, start):
        start += 1
    if start == end or _says_none(page.texts[start]):
        return index, []
    if page.kinds[start] == FENCE:
        return _fenced(page, start, end)
    if _is_entry(page.texts[start]):
        return _entries(page, start, end)
    if start == index and is_paragraph(page, start):
        return _paragraph(page, start, end)
    return index, []


def _is_skipped(page: MarkdownPage, index: int) -> bool:
    """Returns whether a line is empty, a comment, or a remark such as `(from the root)`."""
    bare = page.texts[index].strip()
    remark = bare[:1] == "(" and bare[-1:] == ")" and not _says_none(bare)
    return page.kinds[index] == COMMENT or not bare or remark


def _says_none(text: str) -> bool:
    """Returns whether a line such as `(none needed)` says that there is no list."""
    bare = text.strip()
    return bare[:1] == "(" and bare[1:].partition(" ")[0].strip(")").lower() in NONE


def begins_field(bare: str) -> bool:
    """Returns whether a line starts a field of its own."""
    return any(label.field for label in field_labels.labels_in_line(bare))


def _is_entry(text: str) -> bool:
    bare = text.strip()
    return bool(field_labels.marker(bare)) and not begins_field(bare)


def is_paragraph(page: MarkdownPage, index: int) -> bool:
    """Returns whether a line is plain text."""
    text = page.texts[index]
    bare = text.strip()
    if page.kinds[index] != PLAIN or not bare or bare.startswith(field_labels.BOLD) or set(bare) <= set("-*_"):
        return False
    return not heading(text)[0] and not field_labels.marker(bare)


def _fenced(page: MarkdownPage, index: int, end: int) -> tuple[int, list[Item]]:
    """Reads every line of one fence or of several in a row."""
    items = []
    while index < end and (page.kinds[index] != PLAIN or not page.texts[index].strip()):
        if page.kinds[index] not in (PLAIN, FENCE, COMMENT):
            items.append(Item(page.texts[index], page.number(index), code=True))
        index += 1
    return index, items


def _paragraph(page: MarkdownPage, index: int, end: int) -> tuple[int, list[Item]]:
    items = []
    while index < end and is_paragraph(page, index):
        items.append(Item(page.texts[index].strip(), page.number(index)))
        index += 1
    return index, items


def _entries(page: MarkdownPage, index: int, end: int) -> tuple[int, list[Item]]:
    """Reads entries of one depth, up to a label or a line that is neither indented nor an entry."""
    depth = _width(page.texts[index])
    items: list[Item] = []
    while index < end:
        text = page.texts[index]
        bare = text.strip()
        width = _width(text)
        if page.kinds[index] == FENCE:
            if width < depth + INDENT:
                break
            index = _block(page, index, end, items[-1])
        elif bare and page.kinds[index] == PLAIN:
            is_entry = _is_entry(text)
            if width < depth or (width < depth + INDENT and not is_entry) or begins_field(bare):
                break
            content = bare[field_labels.marker(bare) :].strip()
            if width < depth + INDENT:
                items.append(Item(content, page.number(index)))
            else:
                items[-1].details.append(content)
        index += 1
    return index, items


def _block(page: MarkdownPage, index: int, end: int, item: Item) -> int:
    """Reads the fence that is indented below an entry; returns the index of its last line."""
    lines = []
    index += 1
    while index < end and page.kinds[index] != FENCE:
        lines.append(page.texts[index].strip())
        index += 1
    item.details.append("\n".join(lines))
    item.blocks += lines
    return index


def _width(text: str) -> int:
    """Returns the indentation of a line; a tab goes to the next multiple of four."""
    expanded = text.expandtabs(4) if "\t" in text else text
    return len(expanded) - len(expanded.lstrip())
