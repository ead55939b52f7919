"""The comparison of questions."""

from __future__ import annotations

from sow.domain.text.similar_text import DETAILS, similar, without_details


def test_details_do_not_make_another_question() -> None:
    """A question of the run is the same for other findings, and another kind of question differs."""
    one, two = f"the review is RED{DETAILS}high: a.py: it divides", f"The review is RED{DETAILS}low: no test at all"
    assert similar(one, two)
    assert not similar(one, f"it could not be merged{DETAILS}high: a.py: it divides")
    assert without_details(one) == "the review is RED"
