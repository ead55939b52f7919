"""Following a journal: each entry is read once, from any position."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sow.store.runs.run_folder import JournalTail


def lines(count: int) -> list[bytes]:
    return [json.dumps({"event": "step", "n": number, "text": "ä€😀"}).encode() + b"\n" for number in range(count)]


@given(cuts=st.lists(st.integers(0, 400), max_size=8).map(sorted), start=st.integers(-450, 450))
def test_every_entry_comes_once(tmp_path_factory, cuts: list[int], start: int):
    """However a journal is written in pieces, its entries come once and in order, each with the end of its line."""
    path = tmp_path_factory.mktemp("tail") / "journal.jsonl"
    whole = b"".join(lines(6))
    path.write_bytes(b"")
    tail, result, done = JournalTail(str(path)), [], 0
    for cut in [*cuts, len(whole)]:
        with path.open("ab") as file:
            file.write(whole[done : max(cut, done)])
        done = max(cut, done)
        result += tail.read_new_with_offsets() or []
    assert [entry["n"] for _, entry in result] == list(range(6))
    assert all(whole[:end].endswith(b"\n") and whole[:end].count(b"\n") == entry["n"] + 1 for end, entry in result)
    assert tail.line_start == len(whole)
    place = start if start >= 0 else max(len(whole) + start, 0)
    late = JournalTail(str(path), start).read_new() or []
    assert [entry["n"] for entry in late] == [entry["n"] for end, entry in result if _begin(whole, end) >= place]


def _begin(whole: bytes, end: int) -> int:
    return whole[: end - 1].rfind(b"\n") + 1


def test_a_torn_line_waits_and_a_bad_one_is_skipped(tmp_path: Path):
    """Half a line is no entry yet; an invalid line is skipped."""
    path = tmp_path / "journal.jsonl"
    first, second, third = lines(3)
    path.write_bytes(first + second[:20])
    tail = JournalTail(str(path))
    assert [entry["n"] for entry in tail.read_new() or []] == [0]
    assert tail.line_start == len(first)
    with path.open("ab") as file:
        file.write(second[20:] + b"{not json\n[1]\n\n" + third)
    assert [entry["n"] for entry in tail.read_new() or []] == [1, 2]


def test_a_replaced_journal_is_read_from_its_start(tmp_path: Path):
    """A removed journal is reported as such, and a new one in its place is read from its beginning."""
    path = tmp_path / "journal.jsonl"
    tail = JournalTail(str(path))
    assert tail.read_new() is None
    path.write_bytes(b"".join(lines(3)))
    assert (len(tail.read_new() or []), tail.restarts) == (3, 1)
    path.write_bytes(lines(1)[0])
    assert (len(tail.read_new() or []), tail.restarts) == (1, 2)
    path.unlink()
    assert tail.read_new() is None
