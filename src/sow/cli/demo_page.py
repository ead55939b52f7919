"""The page of the demo: the dashboard of the scratch repository, and who answers the question that a worker asks."""

from __future__ import annotations

import select
import sys
import time

from sow.errors import SowError
from sow.store import home as homes
from sow.store.layout import lay_out
from sow.system.terminal import err, harmless_line, out, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from sow.cli.demo_stage import Stage
    from sow.dashboard.server import Server

LONG = 120.0  # seconds in which a person who has the page open may answer
SHORT = 3.0  # seconds in which a person at a terminal may still open the page
BEFORE = 20.0  # seconds in which they may open it before the run begins
LOOK_EVERY = 0.3


class Page:
    """The dashboard while the demo lasts; without one everything goes on as well."""

    __slots__ = ("asked", "server", "stage", "terminal")

    def __init__(self, stage: Stage, *, wanted: bool, terminal: bool) -> None:
        self.stage = stage
        self.terminal = terminal
        self.asked: float | None = None  # since when a question is open
        self.server = _serve(stage) if wanted else None

    def __enter__(self) -> Page:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.server:
            self.server.stop()

    def show(self) -> None:
        """Say where it is, before anything happens."""
        if not self.server:
            return
        out("Watch it in your browser: the board, the graph, the timeline, every transcript and every diff:")
        out(f"  {paint(self.server.address, 'cyan')}")
        sys.stdout.flush()

    def wait_to_open(self) -> None:
        """Give a person at a terminal the time to open it, so that they see the run from its beginning."""
        if not self.server or not self.terminal:
            return
        out(f"Open it now: the run begins when the page is there, when you press Enter, or in {BEFORE:.0f} seconds.\n")
        sys.stdout.flush()
        end = time.monotonic() + BEFORE
        while not self._is_open() and time.monotonic() < end:
            if select.select([sys.stdin], [], [], LOOK_EVERY)[0]:
                sys.stdin.readline()
                return

    def answer(self, text: str) -> bool:
        """Answer what a worker asks, unless a person has time to do so; whether a question is still open."""
        if not self.stage.questions():
            self.asked = None
            return False
        now = time.monotonic()
        self.asked = now if self.asked is None else self.asked
        if now < self.asked + self._patience():
            return True
        self.stage.answer(text)
        return False

    def wait_for_answer(self, text: str) -> None:
        """The run has ended, and only the answer is missing."""
        if self.answer(text):
            request = (
                "answer the question on the page" if self._is_open() else "open the page and answer the question there"
            )
            out(f"\n{paint('Your turn', 'bold')}: {request}; after a while the demo answers itself.")
            sys.stdout.flush()
        while self.answer(text):
            time.sleep(LOOK_EVERY)

    def stay(self, wait: Callable[[], None]) -> None:
        """Keep the page until the person has seen enough of it."""
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

    def _patience(self) -> float:
        """How long a question waits for a person: nobody is there without a page and without a terminal."""
        if self._is_open():
            return LONG
        return SHORT if self.server and self.terminal else 0.0


def _serve(stage: Stage) -> Server | None:
    """The dashboard in a thread; where it cannot be, that is said, and the demo goes on."""
    from sow.dashboard.server import Server

    home = homes.locate(option=stage.root, environment={}, cwd=stage.root)
    lay_out(home)
    try:
        server = Server(home, stage.environment, person=stage.environment["USER"])
    except SowError as problem:
        err(harmless_line(f"note: the demo goes on without its page: {problem.message}"))
        return None
    server.start()
    return server
