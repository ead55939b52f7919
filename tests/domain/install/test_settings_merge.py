"""Settings of an agent CLI in which a part is ours."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.domain.install.settings_merge import merge_settings

ENTRY = {"hooks": [{"type": "command", "command": "sow hook session-start"}]}
OURS = json.dumps({"sow-version": "2", "sow-digest": "d", "hooks": {"SessionStart": [ENTRY]}}, indent=2) + "\n"
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', '{"hooks": []}', "[" * 100_000])
def test_what_is_no_settings_is_left_to_others(text: str) -> None:
    """Broken JSON and other documents have no part of ours."""
    assert merge_settings(text, OURS) is None


def test_a_file_that_is_all_ours_is_the_new_one() -> None:
    """Where nobody added anything, the new text is taken byte for byte, and without one nothing is left."""
    old = json.dumps({"sow-version": "1", "hooks": {"Stop": [ENTRY]}})
    for wanted in (OURS, ""):
        fitted = merge_settings(old, wanted)
        assert fitted is not None and fitted.text == wanted


def test_a_hook_of_ours_that_somebody_changed_is_told() -> None:
    """Words that are about to be replaced are known to differ, so that they can be kept."""
    other = {"hooks": [{"type": "command", "command": "sow hook session-start", "timeout": 99}]}
    fitted = merge_settings(json.dumps({"model": "x", "hooks": {"SessionStart": [other]}}), OURS)
    assert fitted is not None and fitted.changed
    same = merge_settings(json.dumps({"model": "x", "hooks": {"SessionStart": [ENTRY]}}), OURS)
    assert same is not None and not same.changed


@given(st.dictionaries(st.text(max_size=5), ANYTHING, max_size=4), st.dictionaries(st.text(max_size=5), ANYTHING))
def test_what_is_not_ours_comes_back(rest: dict[str, object], hooks: dict[str, object]) -> None:
    """Whatever stands beside our part is there with it, is there without it, and a second time changes nothing."""
    mine = {**rest, "hooks": hooks}
    put = merge_settings(json.dumps(mine), OURS)
    assert put is not None
    again = merge_settings(put.text, OURS)
    assert again is not None and again.text == put.text and not again.changed
    gone = merge_settings(put.text, "")
    assert gone is not None
    kept = json.loads(gone.text or "{}")
    listed = {event: each if isinstance(each, list) else [each] for event, each in hooks.items() if each != []}
    assert kept == rest | ({"hooks": listed} if listed else {})
