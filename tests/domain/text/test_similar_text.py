"""Questions are compared by their meaning."""

from __future__ import annotations

from sow.domain.text.similar_text import DETAILS, similar, without_details


def test_details_are_no_part_of_a_question() -> None:
    """A question of the run is the same one whatever was found this time, and another one with the same details."""
    one, two = f"the review is RED{DETAILS}high: a.py: it divides", f"The review is RED{DETAILS}low: no test at all"
    assert similar(one, two)
    assert not similar(one, f"it could not be merged{DETAILS}high: a.py: it divides")
    assert without_details(one) == "the review is RED"
