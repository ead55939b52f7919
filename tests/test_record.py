"""A record takes its annotated fields in their order or by name, and nothing else."""

from __future__ import annotations

import pytest

from sow.record import Record


class Point(Record):
    x: int
    y: int = 0


class Named(Point):
    name: str = ""
    length: int = -1

    def __post_init__(self) -> None:
        self.length = len(self.name)


def test_fields_have_values_and_defaults():
    """Inherited fields come first; fields that follow from others are completed."""
    named = Named(1, name="north")
    assert (named.x, named.y, named.name, named.length) == (1, 0, "north", 5)
    assert vars(Point(1, 2)) == {"x": 1, "y": 2}


@pytest.mark.parametrize("values, named", [((), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"z": 2})])
def test_wrong_values_are_refused(values: tuple[int, ...], named: dict[str, int]):
    """A value that is missing, surplus, given twice or of no field is an error."""
    with pytest.raises(TypeError, match="Point has the fields x, y"):
        Point(*values, **named)
