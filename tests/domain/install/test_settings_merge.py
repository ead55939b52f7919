"""Settings of an agent CLI of which sow owns a part."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.quick_cases import all_of

from sow.domain.install.settings_merge import merge_settings

ENTRY = {"hooks": [{"type": "command", "command": "sow hook session-start"}]}
RULES = {"allow": ["Bash(sow status:*)"], "ask": ["Bash(sow phase approve:*)"]}
PART = {"permissions": RULES, "hooks": {"SessionStart": [ENTRY]}}
OURS = json.dumps({"sow-version": "2", "sow-digest": "d", **PART}, indent=2) + "\n"
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@all_of(
    "text",
    [
        *("", "{", "[]", '"x"', '{"hooks": []}', "[" * 100_000, '{"hooks": {"SessionStart": "x"}}'),
        *('{"permissions": 1}', '{"permissions": {"ask": {}}}', '{"a": 1, "a": 2}', '{"a": 1e999}', '{"a": "\\ud800"}'),
    ],
)
def test_unsupported_settings_stay_unchanged(text: str) -> None:
    """Broken JSON, other documents and values that would be lost stay as they are (B11)."""
    assert merge_settings(text, OURS) is None


@pytest.mark.parametrize(
    "text", ["{}\n", '{\n    "model": "x",\n    "n": [\n        1.5\n    ]\n}', '{\n\t"a": "ü"\n}\n']
)
def test_removal_restores_the_users_file(text: str) -> None:
    """Hooks and rules are added without a mark, and the removal restores each byte of an indented file (B11)."""
    put = merge_settings(text, OURS)
    assert put is not None and not put.changed
    assert json.loads(put.text) == {**json.loads(text), **PART}
    gone = merge_settings(put.text, OURS, remove=True)
    assert gone is not None and gone.text == text


def test_entries_of_the_user_stay_in_their_lists() -> None:
    """Each list keeps the other entries in order, and a hook that does more than sow's is the user's (B11)."""
    mine = {"hooks": [{"type": "command", "command": "beep; sow hook session-start"}]}
    both = {"hooks": [{"type": "command", "command": "sow hook session-start && beep"}]}
    theirs = {
        "permissions": {"allow": ["Bash(sow run:*)", "Read"], "deny": ["Bash(rm:*)"], "defaultMode": "plan"},
        "hooks": {"SessionStart": [mine, both], "Stop": []},
    }
    put = merge_settings(json.dumps(theirs), OURS)
    assert put is not None
    merged = json.loads(put.text)
    assert merged["hooks"] == {"SessionStart": [ENTRY, mine, both], "Stop": []}
    assert merged["permissions"]["allow"] == ["Bash(sow run:*)", "Read", "Bash(sow status:*)"]
    gone = merge_settings(put.text, OURS, remove=True)
    assert gone is not None and json.loads(gone.text) == theirs


def test_a_file_of_sow_is_replaced() -> None:
    """Without additions of others the new text is taken byte for byte, and without one the file is removed."""
    old = json.dumps({"sow-version": "1", "hooks": {"Stop": [ENTRY]}})
    for remove, expected in ((False, OURS), (True, "")):
        fitted = merge_settings(old, OURS, remove=remove)
        assert fitted is not None and fitted.text == expected


def test_a_changed_hook_of_sow_is_reported() -> None:
    """A changed text that is about to be replaced is reported, so that it can be kept."""
    other = {"hooks": [{"type": "command", "command": "sow hook session-start", "timeout": 99}]}
    fitted = merge_settings(json.dumps({"model": "x", "hooks": {"SessionStart": [other]}}), OURS)
    assert fitted is not None and fitted.changed
    same = merge_settings(json.dumps({"model": "x", "hooks": {"SessionStart": [ENTRY]}}), OURS)
    assert same is not None and not same.changed


@given(st.dictionaries(st.text(max_size=5), ANYTHING, max_size=4), st.dictionaries(st.text(max_size=5), ANYTHING))
def test_other_settings_survive(rest: dict[str, object], hooks: dict[str, object]) -> None:
    """Other settings survive the addition and the removal, and a second time changes nothing."""
    mine = {**rest, "hooks": hooks}
    assume("permissions" not in rest and not rest.keys() & {"sow-version", "sow-digest"})
    put = merge_settings(json.dumps(mine), OURS)
    assume(put is not None or isinstance(hooks.get("SessionStart", []), list))
    assert put is not None
    again = merge_settings(put.text, OURS)
    assert again is not None and again.text == put.text and not again.changed
    gone = merge_settings(put.text, OURS, remove=True)
    assert gone is not None
    kept = json.loads(gone.text)
    assert kept == rest | ({"hooks": hooks} if hooks else {})
