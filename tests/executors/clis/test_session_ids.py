"""S1 for session ids of a CLI: an id that could be an option or break a state file is not accepted."""

from __future__ import annotations

import pytest
from support.quick_cases import all_of

from executors.sample_turn import SESSION, told
from sow.executors.adapter import Adapter, is_session_id
from sow.executors.clis.amp import Amp
from sow.executors.clis.copilot import Copilot
from sow.executors.clis.cursor import Cursor
from sow.executors.clis.opencode import OpenCode

HOSTILE = ["", "-x", "--dangerously-allow-all", "-", "a b", "a\nb", "a\0b", "../../x", "a/b", "a;b", "$(x)", "`x`", "ä"]
HOSTILE += ["a" * 201, "\u202ea", "\x1b[2J", "a=b", "'", '"', "{}", "٣", "---"]
GOOD = [SESSION, "ses_e21fc5e00ffe6gXxQcZAtWI2n3", "T-5928a90d-d53b-488f-a829-4e36442142ee", "a.b_c-1"]
FIELDS: list[tuple[Adapter, str]] = [
    (OpenCode(), "sessionID"),
    (Cursor(), "session_id"),
    (Amp(), "session_id"),
    (Copilot(), "sessionId"),
]


@all_of("text", HOSTILE)
def test_a_hostile_id_is_refused(text: str) -> None:
    """It never becomes part of a record or a command line."""
    assert not is_session_id(text)
    for adapter, field in FIELDS:
        for kind in ("system", "text", "assistant", "result", "tool_use", "step_start"):
            assert told(adapter, {"type": kind, field: text, "exitCode": 0}).session == ""


@pytest.mark.parametrize("text", GOOD)
def test_ids_of_real_clis_are_accepted(text: str) -> None:
    """Every known form of an id is accepted."""
    assert is_session_id(text)
    assert all(told(adapter, {"type": "result", field: text}).session == text for adapter, field in FIELDS)
