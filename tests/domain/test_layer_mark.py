"""The mark of installed files: it tells whose a file is, and whether somebody changed it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.domain import layer_mark
from sow.domain.layer_mark import FRONTMATTER, HASHES, JSON, PAGE

TEXTS = {
    FRONTMATTER: "---\nname: a\n---\nWords.\n",
    PAGE: "# A page\n\nWords.\n",
    HASHES: 'prompt = "x"\n',
    JSON: '{\n  "hooks": {}\n}\n',
}
WORDS = st.text(st.characters(exclude_characters="\r", exclude_categories=("Cs",)), max_size=80)


@pytest.mark.parametrize("style", TEXTS)
def test_a_stamped_text_is_ours_and_intact(style: str) -> None:
    """Every format carries its version, and says that nobody changed it."""
    mark = layer_mark.read(layer_mark.stamp(TEXTS[style], "1.2.3", style))
    assert mark and (mark.version, mark.intact) == ("1.2.3", True)


@pytest.mark.parametrize("style", TEXTS)
def test_any_change_is_seen(style: str) -> None:
    """A letter more or less, anywhere outside of the digest, is a change; other line ends are none."""
    text = layer_mark.stamp(TEXTS[style], "1.2.3", style)
    for changed in (text + "x", text.replace("1.2.3", "1.2.4"), "x" + text):
        mark = layer_mark.read(changed)
        assert mark is None or not mark.intact
    ends = layer_mark.read(text.replace("\n", "\r\n"))
    assert ends and ends.intact


@pytest.mark.parametrize(
    "text",
    [
        "",
        "words",
        "sow-version: 1.0.0\n",
        "sow-digest: x\n",
        "sow-version: 1\nwords\nsow-digest: x\n",
        "sow-version:\nsow-digest:\n",
    ],
)
def test_what_has_no_whole_mark_is_not_ours(text: str) -> None:
    """A file that only talks about marks belongs to somebody else."""
    assert layer_mark.read(text) is None


@given(before=WORDS, words=WORDS.filter(str.strip))
def test_a_block_goes_in_is_replaced_and_comes_out_again(before: str, words: str) -> None:
    """A page keeps every word of its own: with the block, with a newer block, and without it again."""
    page = layer_mark.put(before, layer_mark.block(words, "1"))
    assert layer_mark.cut(page)[1] == layer_mark.block(words, "1")
    assert layer_mark.block_is_intact(layer_mark.cut(page)[1])
    newer = layer_mark.put(page, layer_mark.block("newer", "2"))
    assert layer_mark.put(newer, layer_mark.block(words, "1")) == page
    assert layer_mark.put(newer, "").rstrip("\n") == before.rstrip("\n")


def test_words_around_a_block_stay_in_their_place() -> None:
    """What stands below the block stays below a newer one."""
    page = "# Mine\n\n" + layer_mark.block("old", "1") + "\nAfter.\n"
    assert (
        layer_mark.put(page, layer_mark.block("new", "2")) == "# Mine\n\n" + layer_mark.block("new", "2") + "\nAfter.\n"
    )
    assert layer_mark.put(page, "") == "# Mine\n\nAfter.\n"
    assert not layer_mark.block_is_intact(layer_mark.cut(page.replace("old", "odd"))[1])
