"""How commands print: JSON for programs, tables for people, nothing that could harm a terminal."""

from __future__ import annotations

import sys

from sow.errors import SowError
from sow.system.terminal import HARMLESS, err, harmless_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

# JSON escapes the first control characters itself; the others would reach a terminal raw.
ESCAPED = {code: f"\\u{code:04x}" for code in HARMLESS if code >= 0x7F and not 0xD800 <= code < 0xE000}


def emit(document: Any) -> None:
    """One JSON document on stdout: on one line for programs, which is twice as fast, and laid out for eyes."""
    import json

    indent = 2 if sys.stdout.isatty() else None
    ascii_only = sys.stdout.encoding.lower() != "utf-8"  # what the stream cannot show is escaped as JSON has it
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    out(text.translate(ESCAPED))


def report(findings: Sequence[Mapping[str, Any]], describe: Callable[[Mapping[str, Any]], str], *, json: bool) -> int:
    """What a check of files found: one document, or a line for each good file and an error for each bad one."""
    invalid = [finding for finding in findings if finding["error"]]
    if json:
        emit({"valid": not invalid, "files": findings})
        return 2 if invalid else 0
    for finding in findings:
        if not finding["error"]:
            out(harmless_line(describe(finding)))
    for finding in invalid[:-1]:
        err(f"error: {harmless_line(finding['error'])}\nhint: {finding['hint']}")
    if invalid:
        raise SowError(invalid[-1]["error"], invalid[-1]["hint"])
    return 0


def table(rows: Sequence[tuple[str, ...]], *, indent: str = "") -> str:
    """Columns, as wide as they need to be."""
    clean = [tuple(harmless_line(cell) for cell in row) for row in rows]
    widths = [max(len(row[index]) for row in clean) for index in range(len(clean[0]))] if clean else []
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in clean)
    return "\n".join(f"{indent}{line}" for line in lines)
