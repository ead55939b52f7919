"""The mark of installed files shows whether sow wrote a file and whether it was changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.domain.install import file_mark
from sow.domain.install.file_mark import FRONTMATTER, HASHES, JSON, PAGE

TEXTS = {
    FRONTMATTER: "---\nname: a\n---\nWords.\n",
    PAGE: "# A page\n\nWords.\n",
    HASHES: 'prompt = "x"\n',
    JSON: '{\n  "hooks": {}\n}\n',
}
WORDS = st.text(st.characters(exclude_characters="\r", exclude_categories=("Cs",)), max_size=80)


@pytest.mark.parametrize("style", TEXTS)
def test_a_stamped_text_is_recognised(style: str) -> None:
    """Every format carries its version, and shows that the file was not changed."""
    mark = file_mark.read(file_mark.add_mark(TEXTS[style], "1.2.3", style))
    assert mark and (mark.version, mark.intact) == ("1.2.3", True)


@pytest.mark.parametrize("style", TEXTS)
def test_any_change_is_recognised(style: str) -> None:
    """A letter more or less outside of the digest is a change; other line ends are none."""
    text = file_mark.add_mark(TEXTS[style], "1.2.3", style)
    for changed in (text + "x", text.replace("1.2.3", "1.2.4"), "x" + text):
        mark = file_mark.read(changed)
        assert mark is None or not mark.intact
    ends = file_mark.read(text.replace("\n", "\r\n"))
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
def test_a_file_without_a_whole_mark_is_not_sows(text: str) -> None:
    """A file that only mentions marks does not belong to sow."""
    assert file_mark.read(text) is None


@given(before=WORDS, words=WORDS.filter(str.strip))
def test_a_block_is_added_replaced_and_removed(before: str, words: str) -> None:
    """A page keeps every word of its own: with the block, with a newer block, and without it again."""
    page = file_mark.replace_block(before, file_mark.block(words, "1"))
    assert file_mark.split_page(page)[1] == file_mark.block(words, "1")
    assert file_mark.block_is_intact(file_mark.split_page(page)[1])
    newer = file_mark.replace_block(page, file_mark.block("newer", "2"))
    assert file_mark.replace_block(newer, file_mark.block(words, "1")) == page
    assert file_mark.replace_block(newer, "").rstrip("\n") == before.rstrip("\n")


def test_text_around_a_block_stays_in_place() -> None:
    """Text below the block stays below a newer one."""
    page = "# Mine\n\n" + file_mark.block("old", "1") + "\nAfter.\n"
    assert (
        file_mark.replace_block(page, file_mark.block("new", "2"))
        == "# Mine\n\n" + file_mark.block("new", "2") + "\nAfter.\n"
    )
    assert file_mark.replace_block(page, "") == "# Mine\n\nAfter.\n"
    assert not file_mark.block_is_intact(file_mark.split_page(page.replace("old", "odd"))[1])
