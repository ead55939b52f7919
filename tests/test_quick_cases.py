"""The cases of long tables that `make test` runs: a few of each, and a test for every promise."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.paths import ROOT
from support.quick_cases import all_of, few_of, sample

GUARANTEES = ROOT / "tests" / "guarantees"


def quick(mark: pytest.MarkDecorator) -> list[Any]:
    """Returns the values of the cases that are not marked as full."""
    return [case.values[0] for case in mark.args[1] if not case.marks]


def test_few_cases_are_spread_over_the_table() -> None:
    """The other cases are marked as full, and none is lost."""
    mark = few_of("number", range(10), 2)
    assert quick(mark) == [0, 5]
    assert [case.values[0] for case in mark.args[1]] == list(range(10))
    assert {mark.name for case in mark.args[1] for mark in case.marks} == {"full"}


def test_chosen_cases_are_always_quick() -> None:
    """A case is chosen by its value, its id or the name of its function; an unknown one is an error."""
    assert quick(few_of("letter", "abcdef", 1, always=["e"])) == ["a", "e"]
    assert quick(few_of("letter", [pytest.param("a", id="first"), "b", "c"], 1, always=["first"])) == ["a", "b"]
    assert quick(few_of("act", [len, abs, max], 1, always=["max"])) == [len, max]
    assert quick(few_of("a, b", [(1, 2), (3, 4)], 1)) == [1]
    with pytest.raises(AssertionError, match="not in the table"):
        few_of("letter", "abc", 1, always=["x"])


def test_every_failed_case_is_named() -> None:
    """A test of all cases names those that failed."""
    seen = []

    @all_of("number, text", [(1, "one"), (2, "two"), (3, "three")])
    def check(number: int, text: str) -> None:
        seen.append(number)
        assert number == 2

    with pytest.raises(ExceptionGroup) as failed:
        check()
    assert seen == [1, 2, 3]
    notes = [note for error in failed.value.exceptions for note in error.__notes__]
    assert notes == ["the case: number=1, text='one'", "the case: number=3, text='three'"]
    with pytest.raises(AssertionError, match="there is no case"):
        all_of("number", [])(lambda number: None)()


def test_a_seed_chooses_the_same_sample() -> None:
    """Only tests that are marked as full are chosen; another seed chooses others."""

    def item(number: int) -> Any:
        return SimpleNamespace(
            number=number, get_closest_marker=lambda name: number % 2, path=Path("tests/store/test_x.py")
        )

    items = cast(list[pytest.Item], [item(number) for number in range(1000)])
    chosen = [item.number for item in cast(list[Any], sample(items, "a", 50))]
    assert len(chosen) == 50
    assert all(number % 2 for number in chosen)
    assert chosen == [item.number for item in cast(list[Any], sample(items, "a", 50))]
    assert chosen != [item.number for item in cast(list[Any], sample(items, "b", 50))]


PROMISES = re.findall(r"^\|.*\| (`.*) \|$", (ROOT / "docs" / "explanation" / "guarantees.md").read_text(), re.M)


@all_of("cell", PROMISES)
def test_every_promise_has_a_quick_test(cell: str) -> None:
    """Each folder and file that docs/explanation/guarantees.md names has a test that `make test` runs."""
    for name in re.findall(r"`([^`]+)`", cell):
        place = ROOT / name if name.startswith("tests/") else GUARANTEES / name
        files = [place] if place.is_file() else sorted(place.rglob("test_*.py"))
        assert any(_is_quick(node) for file in files for node in ast.parse(file.read_text()).body), name


def test_the_tests_of_faults_exist() -> None:
    """Each file of the table of faults is there."""
    page = (ROOT / "docs" / "explanation" / "guarantees.md").read_text()
    table = page.partition("### Faults of hosts")[2].partition("\n## ")[0]
    names = re.findall(r"`([\w./]*test_\w+\.py)`", table)
    assert len(names) > 20
    assert [name for name in names if not (ROOT / "tests" / "cluster" / name).is_file()] == []


def _is_quick(node: ast.stmt) -> bool:
    """Tells whether this is a test without the mark."""
    is_test = isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    return is_test and "pytest.mark.full" not in map(ast.unparse, cast(ast.FunctionDef, node).decorator_list)
