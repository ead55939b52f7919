"""Finds lines of files in the log of a failed check: `path:line`, tracebacks, and what compilers write."""

from __future__ import annotations

import re
from collections.abc import Collection

MOST = 50  # places of one log
LONGEST = 2000  # characters of a line of the log
MOST_DIGITS = 7
# Tried in order: a Python traceback, a GitHub link, tsc, and what pytest, ruff, go, cargo, eslint and others share.
FORMS = (
    re.compile(r'File "([^"\s][^"]*)", line (\d+)'),
    re.compile(r"([\w@+./\\-][\w@+./\\ -]*?)#L(\d+)"),
    re.compile(r"([\w@+./\\-]+)\((\d+),\d+\)"),
    re.compile(r"([\w@+./\\-]+):(\d+)\b"),
)
# Folders of installed packages: a file below them is not the repository's, whatever the end of its path is.
FOREIGN = re.compile(r"(^|/)(site-packages|dist-packages|node_modules|lib/python[\d.]+|\.cargo|go/pkg|rustc)/")


def places(log: str, files: Collection[str]) -> list[tuple[str, int]]:
    """Returns the lines of these files that a log names, each once, in the order of the log."""
    unique: dict[tuple[str, int], None] = {}
    for text in log.splitlines():
        for form in FORMS:
            for path, digits in form.findall(text[:LONGEST]):
                file = _file(path.replace("\\", "/"), files)
                if file and len(digits) <= MOST_DIGITS and int(digits):
                    unique[file, int(digits)] = None
        if len(unique) >= MOST:
            break
    return list(unique)[:MOST]


def _file(path: str, files: Collection[str]) -> str:
    """Returns the file of the repository that a path means, or "".

    A relative path means the file of that name. An absolute one was written on another machine, so that the longest
    end of it that is a file counts, unless it is below a folder of installed packages.
    """
    name = path.removeprefix("./")
    if name in files:
        return name
    is_absolute = name.startswith("/") or name[1:3] == ":/"
    if not is_absolute or name.startswith("//") or FOREIGN.search(name):  # // is in an address of the web
        return ""
    parts = name.split("/")
    ends = ("/".join(parts[start:]) for start in range(1, len(parts)))
    return next((end for end in ends if end in files), "")
