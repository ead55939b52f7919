"""The context compiler, measured: precision and recall on a labelled set of tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge.labelled_set import Outcome, outcomes, precision, recall


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    return outcomes(tmp_path_factory.mktemp("shop"))


def test_precision_and_recall_are_high(results: list[Outcome], record_property: Callable[[str, str], None]) -> None:
    """Three of four chosen documents are wanted, and four of five wanted ones are chosen; both are printed."""
    chosen_well, found = precision(results), recall(results)
    said = f"the context compiler has precision {chosen_well:.2f} and recall {found:.2f} over {len(results)} tasks"
    record_property("measured", said)
    assert chosen_well >= 0.75
    assert found >= 0.8


def test_the_first_document_of_every_task_is_one_that_it_needs(results: list[Outcome]) -> None:
    """No task with a wanted document goes without any, but for one in ten."""
    needing = [each for each in results if each.wanted]
    without = [each.name for each in needing if not each.chosen & each.wanted]
    assert len(without) <= len(needing) // 10


def test_a_task_that_needs_nothing_gets_nothing(results: list[Outcome]) -> None:
    """A typo in a footer is fixed without any document."""
    assert [each.chosen for each in results if not each.wanted] == [set(), set()]


def test_the_set_is_what_it_says(results: list[Outcome]) -> None:
    """The set has enough tasks, and every label is a file of the library."""
    assert len(results) >= 20
    assert len({path for each in results for path in each.wanted}) >= 20


def test_the_choice_is_the_same_each_time(results: list[Outcome], tmp_path: Path) -> None:
    """With the same files and tasks the choice is the same, with a kept index or without."""
    assert outcomes(tmp_path) == results == outcomes(tmp_path)
