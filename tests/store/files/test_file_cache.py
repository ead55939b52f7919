"""Values that were computed from files are kept until one of the files changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sow.store.files.file_cache import FileCache, fingerprint


def test_a_fingerprint_changes_with_the_file(tmp_path: Path):
    """Another size, time or file at a path has another fingerprint, and a missing file has none."""
    path = tmp_path / "state.yaml"
    assert fingerprint(str(path)) is None
    path.write_text("a")
    prints = [fingerprint(str(path))]
    path.write_text("ab")
    prints.append(fingerprint(str(path)))
    os.utime(path, ns=(1, 1))
    prints.append(fingerprint(str(path)))
    (tmp_path / "other").write_text("ab")
    os.utime(tmp_path / "other", ns=(1, 1))
    (tmp_path / "other").rename(path)
    prints.append(fingerprint(str(path)))
    assert None not in prints
    assert len(set(prints)) == 4


def test_a_value_is_made_again_only_with_another_mark():
    cache: FileCache[str] = FileCache()
    made: list[str] = []

    def make() -> str:
        made.append("")
        return f"value {len(made)}"

    assert cache.refresh("a", None, make)
    assert not cache.refresh("a", None, make)
    assert cache.current("a", (1, 2, 3), make) == "value 2"
    assert cache.current("a", (1, 2, 3), make) == "value 2"
    cache.invalidate()
    assert cache["a"] == "value 2"
    assert cache.current("a", (1, 2, 3), make) == "value 3"


def test_a_failure_keeps_the_old_value():
    """A value that could not be made is tried again, and the old one stays."""
    cache: FileCache[int] = FileCache()
    cache.refresh("a", 1, lambda: 1)
    with pytest.raises(ZeroDivisionError):
        cache.refresh("a", 2, lambda: 1 // 0)
    assert cache == {"a": 1}
    assert cache.refresh("a", 2, lambda: 2)


def test_values_of_missing_names_are_dropped():
    cache: FileCache[int] = FileCache()
    for number, name in enumerate("abc"):
        cache.refresh(name, 0, lambda number=number: number)
    assert cache.keep_only(["b", "d"]) == {"a", "c"}
    assert cache == {"b": 1}
    assert cache.refresh("a", 0, lambda: 5)
