"""The suggestion for a mistyped name."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.quick_cases import all_of

from sow.plans.values import distance, nearest

NAMES = ["implementer", "reviewer", "python-dev", "quality-control", "integration-1", "integration-2", "api"]
MEANT = {
    "implementor": "implementer",
    "Reviewer": "reviewer",
    "reveiwer": "reviewer",
    "python-pro": "python-dev",
    "python": "python-dev",
    "qualitycontrol": "quality-control",
    "integraton-2": "integration-2",
    "apis": "api",
}


@all_of("name", MEANT)
def test_a_typo_is_understood(name: str):
    """A letter more, less, other or swapped, and half a name, lead to the name."""
    assert nearest(name, NAMES) == MEANT[name]


@pytest.mark.parametrize("name", ["", "x", "baker", "12", "1.5", "i" * 1000])
def test_distant_names_have_no_suggestion(name: str):
    """Other words, numbers and very long names get no suggestion."""
    assert nearest(name, [*NAMES, "11", "1.4"]) == ""


def exact(one: str, other: str) -> int:
    """Returns the distance by its definition."""

    @cache
    def of(i: int, j: int) -> int:
        if not i or not j:
            return i or j
        best = min(of(i - 1, j) + 1, of(i, j - 1) + 1, of(i - 1, j - 1) + (one[i - 1] != other[j - 1]))
        swapped = i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]
        return min(best, of(i - 2, j - 2) + 1) if swapped else best

    return of(len(one), len(other))


@given(st.text("abc", max_size=8), st.text("abc", max_size=8), st.integers(0, 4))
def test_the_distance_is_exact_up_to_its_limit(one: str, other: str, most: int):
    """The fast algorithm agrees with the definition, and stops after the limit."""
    assert distance(one, other, most) == min(exact(one, other), most + 1)
