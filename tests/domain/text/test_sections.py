"""Sections of a Markdown text: which headings count, and the text below them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sow.domain.text.markdown_text import has_text, sections, with_title_words

TEXT = """\
# Title
intro
## Input Requirements ##
- a
### More
b
## Output
```
# no heading
```
> ## quoted

#hashtag
    # code
##
"""


def test_a_section_reaches_to_the_next_of_its_level():
    """A heading owns all text and deeper headings below it; code, quotations and hashtags are no headings."""
    result = sections(TEXT, first_line=10)
    assert [(finding.title, finding.level, finding.line) for finding in result] == [
        ("Title", 1, 10), ("Input Requirements", 2, 12), ("More", 3, 14), ("Output", 2, 16), ("", 2, 24),
    ]  # fmt: skip
    assert result[1].text == "- a\n### More\nb"
    assert result[2].text == "b"


def test_a_section_of_headings_is_empty():
    """Only words below a heading count, not other headings."""
    first, second, third = sections("# A\n## B\n## C\n- x\n")
    assert [has_text(item) for item in (first, second, third)] == [True, False, True]
    assert not has_text(sections("# A\n---\n## B\n")[0])


def test_a_title_is_found_by_its_words():
    """Words match by their beginning, in any case, and all words of one set must be present."""
    result = sections("## Completion-drive notes\n## SUCCESS criterion\n## Drive\n")
    assert [text.title for text in with_title_words(result, (("completion", "drive"),))] == ["Completion-drive notes"]
    assert [text.title for text in with_title_words(result, (("success",), ("criteri",)))] == ["SUCCESS criterion"]


@given(st.lists(st.sampled_from(["# a", "## b", "###### c", "####### d", "```", "> x", "", "text", "#"]), max_size=20))
def test_every_line_below_a_heading_is_in_its_section(lines):
    """Any text is read without an error, and sections come in order with the text's own lines."""
    result = sections("\n".join(lines))
    assert [finding.line for finding in result] == sorted(finding.line for finding in result)
    for finding in result:
        assert lines[finding.line - 1].startswith("#")
        assert "\n".join(lines).count(finding.text) or not finding.text
