"""Which cases of a long table `make test` runs; `make test-full` runs the others, `make test-sample` some of them."""

from __future__ import annotations

import functools
import inspect
import random
from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest


def few_of(
    names: str | tuple[str, ...], cases: Iterable[Any], count: int = 2, *, always: Collection[Any] = (), **options: Any
) -> pytest.MarkDecorator:
    """Parametrizes a test, and marks all cases as full except `always` and `count` others, spread over the table."""
    one = isinstance(names, str) and "," not in names
    listed = [case if hasattr(case, "marks") else pytest.param(*([case] if one else case)) for case in cases]
    given = [_name(case, one) for case in listed]
    missing = [name for name in always if name not in given]
    assert not missing, f"not in the table: {missing}"
    others = [number for number, value in enumerate(given) if value not in always]
    quick = {others[number * len(others) // count] for number in range(count)} if others else set()
    for number in set(others) - quick:
        case = listed[number]
        listed[number] = pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.full])
    return pytest.mark.parametrize(names, listed, **options)


def _name(case: Any, one: bool) -> Any:
    """Returns how `always` names a case: by its id, by the name of a function, or by its value."""
    value = case.values[0] if one else case.values
    return case.id or getattr(value, "__name__", value)


def sample(items: list[pytest.Item], seed: str, count: int) -> list[pytest.Item]:
    """Chooses this many of the tests that are marked as full; the same seed chooses the same tests."""
    deep = [item for item in items if item.get_closest_marker("full") and item.path.parent.name != "full"]
    chosen = set(random.Random(seed).sample(range(len(deep)), min(count, len(deep))))
    return [item for number, item in enumerate(deep) if number in chosen]


def all_of(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Any], Any]:
    """Makes one test of all cases of a table of data; it names every case that fails."""
    expected = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [_arguments(case, len(expected)) for case in cases]

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def test(**given: Any) -> None:
            failed: list[Exception] = []
            for values in table:
                case = dict(zip(expected, values, strict=True))
                try:
                    function(**given, **case)
                except Exception as error:
                    error.add_note("the case: " + ", ".join(f"{name}={value!r}" for name, value in case.items()))
                    failed.append(error)
            if failed:
                raise failed[0] if len(failed) == 1 else ExceptionGroup(f"{len(failed)} cases", failed)
            assert table, "there is no case"

        signature = inspect.signature(function)
        rest = [parameter for name, parameter in signature.parameters.items() if name not in expected]
        test.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return test

    return decorate


def _arguments(case: Any, count: int) -> tuple[Any, ...]:
    """Returns the values of a case, one for each name."""
    values: tuple[Any, ...] = case.values if hasattr(case, "marks") else (case,) if count == 1 else tuple(case)
    return values
