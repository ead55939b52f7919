"""Fits the weights of sow.knowledge.ranking to labelled tasks, and measures them on sets that they were not fitted to.

Run it from the root of the repository: .venv/bin/python tools/fit_document_choice.py
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import yaml

sys.path.insert(0, "tests")

from knowledge.labelled_set import HELD_OUT, SETS, home_at, shelve, task_of

from sow.knowledge.document_choice import choose_certain
from sow.knowledge.library import Library
from sow.knowledge.ranking import Matches
from sow.knowledge.text_index import TextIndex

ROUNDS, PENALTY = 30, 0.5
THRESHOLDS = [step / 4 for step in range(-8, 9)]


class Sample(NamedTuple):
    """One document for one task: its features with a constant, and whether it is wanted."""

    task: int
    features: tuple[float, ...]
    wanted: bool


class Set(NamedTuple):
    """The samples of one set; how many documents are chosen without them, and how many of those are wanted."""

    samples: list[Sample]
    certain: int
    certain_wanted: int
    wanted: int


def samples(name: str, root: Path) -> Set:
    """Returns all pairs of a task and a document that is not certain."""
    shelve(root, yaml.safe_load((SETS / f"{name}_library.yaml").read_text()))
    result, certain, certain_wanted, wanted_count = [], 0, 0, 0
    for number, given in enumerate(yaml.safe_load((SETS / f"{name}_tasks.yaml").read_text()), 1):
        task: Any = task_of(number, given)
        library = Library(home_at(root), str(root))
        library.find_documents({}, task)  # type: ignore[typeddict-item]
        index = TextIndex(home_at(root), library.documents)
        expected = {f".sow/{path}" for path in given["wanted"]}
        sure = {entry.document.path for entry in choose_certain(task, given["description"], library.documents, index)}
        certain, certain_wanted = certain + len(sure), certain_wanted + len(sure & expected)
        wanted_count += len(expected)
        features = Matches(index, given["name"], given["description"], given.get("files", ())).features()
        for identifier, values in features.items():
            path = index.documents_by_id[identifier].path
            if path not in sure:
                result.append(Sample(number, (*values, 1.0), path in expected))
        index.close()
    return Set(result, certain, certain_wanted, wanted_count)


def fit(data: list[Sample]) -> list[float]:
    """Returns the weights of a logistic regression, by Newton's method."""
    size = len(data[0].features)
    weights = [0.0] * size
    for _ in range(ROUNDS):
        gradient = [PENALTY * weight for weight in weights]
        hessian = [[PENALTY * (row == column) for column in range(size)] for row in range(size)]
        for sample in data:
            likely = 1 / (1 + math.exp(-dot(weights, sample.features)))
            for row in range(size):
                gradient[row] += sample.features[row] * (likely - sample.wanted)
                for column in range(size):
                    hessian[row][column] += sample.features[row] * sample.features[column] * likely * (1 - likely)
        weights = [weight - step for weight, step in zip(weights, solve(hessian, gradient), strict=True)]
    return weights


def dot(weights: list[float], features: tuple[float, ...]) -> float:
    return sum(weight * feature for weight, feature in zip(weights, features, strict=True))


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solves linear equations by elimination."""
    size, rows = len(right), [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for pivot in range(size):
        best = max(range(pivot, size), key=lambda row: abs(rows[row][pivot]))
        rows[pivot], rows[best] = rows[best], rows[pivot]
        rows[pivot] = [value / rows[pivot][pivot] for value in rows[pivot]]
        for row in range(size):
            if row != pivot:
                factor = rows[row][pivot]
                rows[row] = [value - factor * base for value, base in zip(rows[row], rows[pivot], strict=True)]
    return [row[-1] for row in rows]


def measure(data: Set, weights: list[float], threshold: float) -> tuple[float, float]:
    """Returns precision and recall of one set."""
    chosen = [sample.wanted for sample in data.samples if dot(weights, sample.features) >= threshold]
    right = data.certain_wanted + sum(chosen)
    return right / max(1, data.certain + len(chosen)), right / data.wanted


def within_reach(data: Set, weights: list[float], most: int) -> float:
    """Returns the recall if the best `most` documents of each task are taken."""
    by_task: dict[int, list[tuple[float, bool]]] = {}
    for sample in data.samples:
        by_task.setdefault(sample.task, []).append((dot(weights, sample.features), sample.wanted))
    best = [sorted(entries, reverse=True)[:most] for entries in by_task.values()]
    return (data.certain_wanted + sum(wanted for entries in best for _, wanted in entries)) / data.wanted


def main() -> None:
    names = sorted(path.name.removesuffix("_library.yaml") for path in SETS.glob("*_library.yaml"))
    with tempfile.TemporaryDirectory() as root:
        sets = {name: samples(name, Path(root) / name) for name in names}
    tuned = [name for name in names if name not in HELD_OUT]
    without = {
        name: fit([sample for other in tuned if other != name for sample in sets[other].samples]) for name in names
    }
    scores: dict[float, float] = {}
    for threshold in THRESHOLDS:
        results = [measure(sets[name], without[name], threshold) for name in tuned]
        scores[threshold] = sum(2 * p * r / (p + r) for p, r in results) / len(results)
        precision, recall = (sum(column) / len(results) for column in zip(*results, strict=True))
        print(f"threshold {threshold:5.2f}: precision {precision:.3f} recall {recall:.3f} F {scores[threshold]:.3f}")
    threshold = float(sys.argv[1]) if len(sys.argv) > 1 else max(scores, key=scores.__getitem__)
    for name in names:
        precision, recall = measure(sets[name], without[name], threshold)
        reach = " ".join(f"{within_reach(sets[name], without[name], most):.2f}" for most in (2, 4, 6, 8))
        kind = "held out" if name in HELD_OUT else "left out"
        print(f"{name:10} {kind}: precision {precision:.2f} recall {recall:.2f}; within the best 2 4 6 8: {reach}")
    weights = fit([sample for name in tuned for sample in sets[name].samples])
    print("WEIGHTS", [round(weight, 2) for weight in weights[:-1]], "BIAS", round(threshold - weights[-1], 2))


if __name__ == "__main__":
    main()
