"""Prints JSON documents and tables without control characters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from sow.domain.text import units
from sow.errors import SowError
from sow.system.terminal import HARMLESS, columns, err, escape_line, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NARROWEST = 8  # columns of a table's column that is cut
# JSON itself escapes control characters below U+0020; these are the others.
ESCAPED = {code: f"\\u{code:04x}" for code in HARMLESS if code >= 0x7F and not 0xD800 <= code < 0xE000}


def emit(document: Any, *, pretty: bool = False) -> int:
    """Prints a JSON document and returns exit code 0; a person gets it indented, a program on one line (faster)."""
    import json

    indent = 2 if pretty or sys.stdout.isatty() else None
    ascii_only = sys.stdout.encoding.lower() != "utf-8"  # escapes what the stream cannot show
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    out(text.translate(ESCAPED))
    return 0


def print_list(document: Any, rows: Sequence[tuple[str, ...]], empty: str, *, json: bool) -> int:
    """Prints a list: as JSON, as a table that begins with its header, or as the text for an empty one."""
    if json:
        return emit(document)
    out(table(rows) if len(rows) > 1 else empty)
    return 0


def print_error(message: str, hint: str) -> None:
    """Prints an error and its hint, if any, in the form of the last error of a command."""
    err(f"error: {escape_line(message)}")
    if hint:
        err("hint: " + "\n      ".join(escape_line(line) for line in hint.split("\n")))


def print_findings(
    findings: Sequence[Mapping[str, Any]], describe: Callable[[Mapping[str, Any]], str], *, json: bool
) -> int:
    """Prints the results of file checks, as JSON or as one line or error per file."""
    invalid = [finding for finding in findings if finding["error"]]
    if json:
        emit({"valid": not invalid, "files": findings})
        return 2 if invalid else 0
    for finding in findings:
        if not finding["error"]:
            out(escape_line(describe(finding)))
    for finding in invalid:
        *messages, last = finding.get("errors") or [finding["error"]]
        for message in messages:
            print_error(message, "")
        if finding is invalid[-1]:
            raise SowError(last, finding["hint"])
        print_error(last, finding["hint"])
    return 0


def coloured_table(rows: Sequence[tuple[str, ...]], column: str, colours: Mapping[str, str]) -> list[str]:
    """Returns the lines of a table with a header, indented; the words of one column have their colours."""
    header, *lines = table(rows, indent="  ").split("\n")
    start, index = header.index(column), rows[0].index(column)
    for number, row in enumerate(rows[1:]):
        word, line = row[index], lines[number]
        if word in colours and line[start:].startswith(word):
            lines[number] = f"{line[:start]}{paint(word, colours[word])}{line[start + len(word) :]}"
    return [header, *lines]


def table(rows: Sequence[tuple[str, ...]], *, indent: str = "") -> str:
    """Returns rows as aligned columns.

    On a terminal the widest columns are cut, so that no line wraps; not the first one, because it names the row.
    """
    clean = [tuple(escape_line(cell) for cell in row) for row in rows]
    widths = [max(map(units.width_of, column)) for column in zip(*clean, strict=True)]
    if sys.stdout.isatty():
        room = columns() - len(indent) - 2 * (len(widths) - 1)
        while sum(widths) > room and max(widths[1:], default=0) > NARROWEST:
            widths[widths.index(max(widths[1:]), 1)] -= 1
    lines = ("  ".join(map(units.pad, row, widths)).rstrip() for row in clean)
    return "\n".join(f"{indent}{line}" for line in lines)
