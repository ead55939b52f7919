"""Large documents: built one at a time, shared by all waiting requests, and never older than the request."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from sow.dashboard.server import reply
from sow.dashboard.server.reply import Reply
from sow.dashboard.server.single_flight import SingleFlight
from sow.errors import SowError

PATIENCE = 30


class Maker:
    """Makes numbered documents, each only when the test permits it."""

    def __init__(self) -> None:
        self.began = threading.Semaphore(0)
        self.may = threading.Semaphore(0)
        self.made = 0
        self.at_once = 0
        self.wrong: SowError | None = None

    def __call__(self) -> Reply:
        self.made += 1
        self.at_once += 1
        assert self.at_once == 1
        number = self.made
        self.began.release()
        assert self.may.acquire(timeout=PATIENCE)
        self.at_once -= 1
        if self.wrong:
            raise self.wrong
        return reply.document({"number": number})


def waiting(flight: SingleFlight, name: str, make: Maker, count: int, pool: ThreadPoolExecutor) -> list[Future[Reply]]:
    return [pool.submit(flight.reply, name, make) for _ in range(count)]


def bodies(futures: list[Future[Reply]]) -> set[bytes]:
    return {future.result(PATIENCE).body for future in futures}


def test_waiting_requests_share_a_document():
    """Ten requests during the making of a document get the next one, which is made once."""
    flight, make = SingleFlight(), Maker()
    with ThreadPoolExecutor(12) as pool:
        first = waiting(flight, "state", make, 1, pool)
        assert make.began.acquire(timeout=PATIENCE)
        late = waiting(flight, "state", make, 10, pool)
        give_up = time.monotonic() + PATIENCE
        # One of the ten is to make it, and waits for its turn; the others wait for that one.
        while "state" not in flight.waiting or len(flight.waiting["state"].done._cond._waiters) < 9:  # type: ignore[attr-defined]
            assert time.monotonic() < give_up
            time.sleep(0.01)
        make.may.release(2)
        assert bodies(first) == {b'{"number":1}'}
        assert bodies(late) == {b'{"number":2}'}
    assert make.made == 2
    assert flight.waiting == {}


def test_other_names_are_made_separately():
    """Documents of other names are made separately, and one at a time."""
    flight, make = SingleFlight(), Maker()
    make.may.release(10)
    with ThreadPoolExecutor(5) as pool:
        asked = [item for name in "abcde" for item in waiting(flight, name, make, 1, pool)]
        assert len(bodies(asked)) == 5


def test_an_error_reaches_all_waiting_requests():
    """All waiting requests get the error, and the next request tries again."""
    flight, make = SingleFlight(), Maker()
    make.wrong = SowError("no", "yes")
    with ThreadPoolExecutor(5) as pool:
        asked = waiting(flight, "a", make, 5, pool)
        make.may.release(5)
        for item in asked:
            with pytest.raises(SowError, match="no"):
                item.result(PATIENCE)
    make.wrong = None
    make.may.release(1)
    assert flight.reply("a", make).status == 200
