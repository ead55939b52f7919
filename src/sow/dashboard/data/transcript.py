"""Shows one turn page by page: its transcript, its raw output or its prompt."""

from __future__ import annotations

from sow.dashboard.data import paging
from sow.dashboard.data.problems import Missing
from sow.dashboard.data.task_page import folder_of, is_worked_on
from sow.errors import SowError
from sow.store.runs import sessions
from sow.system import redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sow.store.files.checkout_home import Home

# The transcript grows during the turn, as the output does.
PARTS = {"readable": "md", "out": "out", "err": "err", "prompt": "prompt"}


def page(
    home: Home,
    ident: str,
    session: str,
    turn: str,
    part: str,
    start: str,
    limit: str,
    *,
    environment: Mapping[str, str],
) -> dict[str, Any]:
    """Returns one page of a part of a turn; `live` says that it still grows."""
    if part and part not in PARTS:
        raise SowError(f"a turn has no part {part!r:.40}", f"its parts are: {', '.join(PARTS)}")
    session_number = paging.whole_number(session, "the session", 0)
    turn_number = paging.whole_number(turn, "the turn", 0)
    for record in sessions.records(folder_of(home, ident)):
        for entry in record.session["turns"]:
            if (record.session["number"], entry["number"]) == (session_number, turn_number):
                live = "ended_at" not in entry and is_worked_on(home, ident)
                path = record.file(turn_number, PARTS[part or "readable"])
                # During a turn, its files still contain secrets.
                needles = redaction.needles(redaction.secrets(environment, entry.get("unstruck", ())))
                return {**_read(path, start, limit, needles, live=live), "live": live}
    raise Missing(
        f"task {ident} has no turn {turn_number} in session {session_number}",
        "see its sessions: they are on this machine",
    )


def _read(path: str, start: str, limit: str, needles: list[bytes], *, live: bool) -> dict[str, Any]:
    try:
        return paging.file_page(path, start, limit, needles)
    except Missing:
        if not live:
            raise
        return paging.page(b"", 0, 0)  # the turn has only started
