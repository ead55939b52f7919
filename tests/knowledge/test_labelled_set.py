"""The choice of documents, measured: precision and recall on labelled sets of tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge.labelled_set import HELD_OUT, SETS, Outcome, load, outcomes, precision, recall, within_reach

# The least precision and recall of each set, and the least recall with the documents that may fit. Eight are held out:
# the weights were not fitted to them. The judges are `insurer`, `grid`, `dairy` and `observatory`: measured last.
# The aim is 0.9 for both on a fitted set and on a held-out one: `clinic` and `insurer` hold it (B8).
# "with hints": every document says when to read it, as after `sow sinks describe` and `sow context describe`.
FLOORS = {
    "clinic": (0.9, 0.95, 0.95),
    "firmware": (0.9, 0.8, 0.95),
    "transit": (0.95, 0.85, 0.95),
    "trails": (0.9, 0.85, 0.95),
    "lending": (0.9, 0.9, 0.95),
    "depot": (0.95, 0.85, 0.95),
    "shop": (0.95, 0.85, 0.95),
    "campus": (0.8, 0.65, 0.85),
    "harbour": (0.85, 0.6, 0.95),
    "newsroom": (0.85, 0.8, 0.95),
    "arcade": (0.85, 0.9, 0.95),
    "taxoffice": (0.9, 0.7, 0.95),
    "theatre": (0.85, 0.55, 0.95),
    "clinic with hints": (0.95, 0.95, 0.95),
    "depot with hints": (0.95, 0.85, 0.95),
    "lending with hints": (0.85, 0.9, 0.95),
    "trails with hints": (0.85, 0.9, 0.95),
    "arcade with hints": (0.9, 0.95, 0.95),
    "insurer": (0.9, 0.9, 0.95),
    "insurer with hints": (0.9, 0.95, 0.95),
    "grid": (0.85, 0.7, 0.9),
    "grid with hints": (0.9, 0.8, 0.95),
    "dairy": (0.85, 0.75, 0.9),
    "dairy with hints": (0.85, 0.85, 0.95),
    "newsroom with hints": (0.9, 0.9, 0.95),
    "taxoffice with hints": (0.9, 0.9, 0.95),
    "theatre with hints": (0.9, 0.9, 0.95),
    "observatory": (0.85, 0.65, 0.85),
    "observatory with hints": (0.75, 0.8, 0.9),
}
LEAST_OF_HELD_OUT = (0.88, 0.89)  # precision and recall over all tasks of the held-out sets with hints
MISTAKEN = ("arcade", "lending", "taxoffice", "observatory")  # here one document is chosen for a task that needs none
MOST_NAMED = 4.5  # documents that may fit, on average over all sets


# Every third set is quick; the others are for the full tests.
QUICK_AND_FULL = [
    pytest.param(name, marks=[pytest.mark.full] if number % 3 else []) for number, name in enumerate(FLOORS)
]


@pytest.fixture(scope="module", params=QUICK_AND_FULL)
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[Outcome]]:
    name, _, hints = request.param.partition(" ")
    return request.param, outcomes(tmp_path_factory.mktemp(name), name, with_hints=bool(hints))


def test_precision_and_recall_are_high(
    measured: tuple[str, list[Outcome]], record_property: Callable[[str, str], None]
) -> None:
    """Chosen documents are wanted, and wanted ones are chosen or named as possible; all numbers are printed (B8)."""
    name, results = measured
    chosen_well, result, reached = precision(results), recall(results), within_reach(results)
    output = f"documents for {name}: precision {chosen_well:.2f}, recall {result:.2f}, {reached:.2f} with what may fit"
    record_property("measured", output)
    least_precision, least_recall, least_reached = FLOORS[name]
    assert chosen_well >= least_precision
    assert result >= least_recall
    assert reached >= least_reached


def test_held_out_libraries_are_nearly_as_good(tmp_path: Path, record_property: Callable[[str, str], None]) -> None:
    """Over all tasks of the held-out sets with hints, precision and recall are nearly 0.9 (B8)."""
    results = [outcome for name in HELD_OUT for outcome in outcomes(tmp_path / name, name, with_hints=True)]
    chosen_well, result = precision(results), recall(results)
    output = f"documents for all held-out sets with hints: precision {chosen_well:.3f}, recall {result:.3f}"
    record_property("measured", output)
    least_precision, least_recall = LEAST_OF_HELD_OUT
    assert chosen_well >= least_precision
    assert result >= least_recall


def test_few_tasks_get_no_wanted_document(measured: tuple[str, list[Outcome]]) -> None:
    """At most one task in ten with a wanted document gets none."""
    needing = [item for item in measured[1] if item.wanted]
    without = [entry.name for entry in needing if not entry.chosen & entry.wanted]
    assert len(without) <= len(needing) // 10


def test_a_task_that_needs_nothing_gets_nothing(measured: tuple[str, list[Outcome]]) -> None:
    """A typo in a footer is fixed without any document."""
    needless = [item.chosen for item in measured[1] if not item.wanted]
    assert needless
    assert sum(map(len, needless)) <= (measured[0].partition(" ")[0] in MISTAKEN)


@pytest.mark.full
def test_few_possible_documents_are_named(tmp_path: Path) -> None:
    """A worker gets a handful of names, not a catalogue."""
    plain = [name for name in FLOORS if " " not in name]
    results = [outcome for name in plain for outcome in outcomes(tmp_path / name, name)]
    assert sum(len(result.may_fit) for result in results) / len(results) <= MOST_NAMED


def test_every_set_is_measured() -> None:
    """Each library has tasks, a floor, and a second floor if it has hints; hints name documents that exist."""
    parts = {
        part: {path.name.removesuffix(f"_{part}.yaml") for path in SETS.glob(f"*_{part}.yaml")}
        for part in ("library", "tasks", "hints")
    }
    assert parts["library"] == parts["tasks"]
    assert parts["library"] | {f"{name} with hints" for name in parts["hints"]} == set(FLOORS)
    for name in parts["hints"]:
        library, hints, _ = load(name)
        existing = {f"knowledge/{path}" for path in library["knowledge"]}
        existing |= {f"sinks/{sink['name']}/{path}" for sink in library["sinks"] for path in sink["files"]}
        assert existing == hints.keys()


def test_the_choice_is_deterministic(tmp_path: Path) -> None:
    """With the same files and tasks the choice is the same, with a kept index or without."""
    first = outcomes(tmp_path / "first", "clinic")
    assert outcomes(tmp_path / "second", "clinic") == first == outcomes(tmp_path / "second", "clinic")
