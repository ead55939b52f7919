"""Shows the output of a check, if it is kept on this machine."""

from __future__ import annotations

import hashlib
import os
import time

from sow.dashboard.data import paging
from sow.dashboard.data.problems import Missing
from sow.dashboard.data.task_page import folder_of
from sow.engine.checks import checks
from sow.reports.run_history import epoch
from sow.store.files.disk import list_folder
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import run_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sow.domain.documents.state import Evidence
    from sow.store.files.checkout_home import Home

SLACK = 5  # seconds between the time in a file's name and the start of the check


def page(home: Home, ident: str, number: str, start: str, limit: str, *, needles: list[bytes]) -> dict[str, Any]:
    """Returns a page of one check's output, by the index of its evidence in the task."""
    folder, index = folder_of(home, ident), paging.whole_number(number, "the number", 0)
    evidence = folder.task().get("evidence", []) if isinstance(folder, TaskFolder) else []
    if index >= len(evidence):
        raise Missing(f"task {ident} has no evidence {index}", f"it has {len(evidence)} pieces, counted from 0")
    text = _output(home, ident, evidence[index])
    if text is None:
        raise Missing("what this command said is not kept on this machine", "repeat it: sow runs verify")
    return paging.text_page(text, start, limit, needles)


def _output(home: Home, ident: str, piece: Evidence) -> str | None:
    """Returns the output whose digest equals that of the evidence."""
    for run in reversed(run_folder.names(home)):
        folder = f"{run_folder.folder_of(home, run)}/checks/{ident}"
        for name in list_folder(folder) if os.path.isdir(folder) else ():
            if name.endswith(".out") and _is_from_time_of(name, piece):
                path = f"{folder}/{name}"
                text = checks.read_output(path, f"{path.removesuffix('.out')}.err")
                if hashlib.sha256(text.encode()).hexdigest() == piece["output"]:
                    return text
    return None


def _is_from_time_of(name: str, piece: Evidence) -> bool:
    """True if a file such as `test-20260921_143320-ab12cd.out` was written at that time."""
    stamp = "-".join(name.split("-")[-2:-1])
    try:
        start = time.strptime(stamp, "%Y%m%d_%H%M%S")
    except ValueError:
        return False
    ended = epoch(piece["at"]) or 0
    return abs(ended - piece["seconds"] - (epoch(time.strftime("%Y-%m-%dT%H:%M:%SZ", start)) or 0)) <= SLACK
