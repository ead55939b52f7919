"""The ids of runs."""

from __future__ import annotations

import time

from sow.store.runs import run_folder


def test_ids_of_one_second_are_in_order() -> None:
    """Runs that start within the same second sort by their start."""
    ids = []
    for _ in range(20):
        ids.append(run_folder.new_id())
        time.sleep(0.001)
    assert ids == sorted(set(ids))
