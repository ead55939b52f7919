"""The part of a large document that is worth its tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sow.knowledge import excerpts

LINES = st.lists(st.sampled_from(["# Head", "tokens rotate", "bees", "", "## Ünder", "x" * 50, "tokens"]), max_size=60)


@given(LINES, st.integers(min_value=0, max_value=400))
def test_a_passage_matches_its_fields(lines: list[str], most: int) -> None:
    """Its lines are in the text, have its size, fit the budget, and have one of the words."""
    text = "\n".join(lines)
    result = excerpts.best_passage(text, {"tokens", "rotate"}, most)
    if result is None:
        return
    parts = text.split("\n")[result.first - 1 : result.last]
    assert parts
    assert result.size == sum(len(line.encode()) + 1 for line in parts) <= most
    assert any("tokens" in line for line in parts)


def test_a_text_without_the_words_has_no_passage() -> None:
    """A text without any word of the task has no passage."""
    assert excerpts.best_passage("# A\nbees\n", {"tokens"}, 1000) is None


def test_the_section_with_most_of_the_words_is_chosen() -> None:
    """Different words count, not repetitions."""
    text = "# A\ntokens tokens tokens\n# B\ntokens rotate\n# C\nbees\n"
    result = excerpts.best_passage(text, {"tokens", "rotate"}, 30)
    assert result is not None
    assert result.lines == "3-4"


def test_a_text_without_headings_is_cut() -> None:
    """A long text without headings gives some of its lines."""
    text = "\n".join(["bees"] * 200 + ["tokens rotate"] + ["bees"] * 200)
    result = excerpts.best_passage(text, {"tokens", "rotate"}, 400)
    assert result is not None
    assert result.first <= 201 <= result.last
