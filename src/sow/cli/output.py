"""Prints JSON documents and tables without control characters."""

from __future__ import annotations

import sys

from sow.errors import SowError
from sow.system.terminal import HARMLESS, err, escape_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

# JSON itself escapes control characters below U+0020; these are the others.
ESCAPED = {code: f"\\u{code:04x}" for code in HARMLESS if code >= 0x7F and not 0xD800 <= code < 0xE000}


def emit(document: Any) -> int:
    """Prints a JSON document and returns exit code 0; a terminal gets it indented, a program on one line (faster)."""
    import json

    indent = 2 if sys.stdout.isatty() else None
    ascii_only = sys.stdout.encoding.lower() != "utf-8"  # escapes what the stream cannot show
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    out(text.translate(ESCAPED))
    return 0


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
    for finding in invalid[:-1]:
        err(f"error: {escape_line(finding['error'])}\nhint: {finding['hint']}")
    if invalid:
        raise SowError(invalid[-1]["error"], invalid[-1]["hint"])
    return 0


def table(rows: Sequence[tuple[str, ...]], *, indent: str = "") -> str:
    """Returns rows as aligned columns."""
    clean = [tuple(escape_line(cell) for cell in row) for row in rows]
    widths = [max(len(row[index]) for row in clean) for index in range(len(clean[0]))] if clean else []
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in clean)
    return "\n".join(f"{indent}{line}" for line in lines)
