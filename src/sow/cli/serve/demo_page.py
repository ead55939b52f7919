"""Serves the dashboard during the demo and answers the worker's question if no person does."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable

from sow.cli.serve.demo_repository import DemoRepository
from sow.dashboard.server.server import Server
from sow.errors import SowError
from sow.store.files import checkout_home as homes
from sow.store.layout import create_missing
from sow.system.terminal import err, escape_line, out, paint

LONG = 120.0  # seconds to answer for a person who has the page open
SHORT = 3.0  # seconds to open the page for a person at a terminal
BEFORE = 20.0  # seconds to open the page before the run starts
LOOK_EVERY = 0.3


class DemoPage:
    """The dashboard of the demo, which is optional."""

    def __init__(self, stage: DemoRepository, *, wanted: bool, terminal: bool) -> None:
        self.stage = stage
        self.terminal = terminal
        self.question_seen_at: float | None = None  # when the question was first seen
        self.server = _serve(stage) if wanted else None

    def __enter__(self) -> DemoPage:
        return self

    def __exit__(self, *_: object) -> None:
        if self.server:
            self.server.stop()

    def show(self) -> None:
        """Prints the address."""
        if not self.server:
            return
        out("Watch the run in your browser:")
        out(f"  {paint(self.server.address, 'cyan')}")
        sys.stdout.flush()

    def wait_to_open(self) -> None:
        """Waits a while so that a person at a terminal can open the page before the run starts."""
        if not self.server or not self.terminal:
            return
        out(f"Open it now. The run begins when the page is open, when you press Enter, or in {BEFORE:.0f} seconds.\n")
        sys.stdout.flush()
        end = time.monotonic() + BEFORE
        while not self._is_open() and time.monotonic() < end:
            if select.select([sys.stdin], [], [], LOOK_EVERY)[0]:
                sys.stdin.readline()
                return

    def answer(self, text: str) -> bool:
        """Answers the question once a person had time to do so; returns whether it is still open."""
        if not self.stage.questions():
            self.question_seen_at = None
            return False
        now = time.monotonic()
        self.question_seen_at = now if self.question_seen_at is None else self.question_seen_at
        if now < self.question_seen_at + self._seconds_to_answer():
            return True
        self.stage.answer(text)
        return False

    def wait_for_answer(self, text: str) -> None:
        """Waits until the question is answered, after the run has stopped for it."""
        if self.answer(text):
            request = (
                "answer the question on the page" if self._is_open() else "open the page, and answer the question there"
            )
            out(f"\n{paint('Your turn', 'bold')}: {request}; later the demo answers it.")
            sys.stdout.flush()
        while self.answer(text):
            time.sleep(LOOK_EVERY)

    def wait_for_enter(self, wait: Callable[[], object]) -> None:
        """Keeps the page open until the person presses Enter."""
        if not self.server or not self.terminal:
            return
        out(f"\nThe page stays at {paint(self.server.address, 'cyan')}\nPress Enter to end.")
        sys.stdout.flush()
        try:
            wait()
        except KeyboardInterrupt:
            out("")

    def _is_open(self) -> bool:
        return self.server is not None and self.server.pages > 0

    def _seconds_to_answer(self) -> float:
        """Returns how many seconds a question waits for a person."""
        if self._is_open():
            return LONG
        return SHORT if self.server and self.terminal else 0.0


def _serve(stage: DemoRepository) -> Server | None:
    """Starts the dashboard in a thread; if that fails, prints a note and returns None."""
    home = homes.locate(option=stage.root, environment={}, cwd=stage.root)
    create_missing(home)
    try:
        server = Server(home, stage.environment, person=stage.environment["USER"])
    except SowError as problem:
        err(escape_line(f"note: the demo continues without its page: {problem.message}"))
        return None
    server.start()
    return server
