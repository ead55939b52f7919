"""Shows a run of another process live in this terminal (`sow watch`)."""

from __future__ import annotations

import time

from sow import config as configs
from sow.cli.context import Context
from sow.cli.live import Live
from sow.cli.spec import Argument, Command
from sow.domain.entry import Entry
from sow.engine import expected, go_on, report
from sow.engine.entry_times import EntryTimes
from sow.engine.notifying import is_news
from sow.engine.standpoint import Standpoint
from sow.engine.steps import Interrupts
from sow.errors import Failed, Interrupted, SowError
from sow.store import runs
from sow.store.journal_tail import JournalTail
from sow.system.terminal import err, harmless_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sow.store.home import Home
    from sow.store.runs import RunFolder

PAUSE = 0.1  # seconds between reads of the journal
LOOK_EVERY = 1.0  # seconds between checks whether the run's process is alive


class Watch:
    """Follows one run until it ends."""

    __slots__ = ("bell", "ended", "folder", "live", "looked", "tail")

    def __init__(self, folder: RunFolder, live: Live, *, bell: bool) -> None:
        self.folder = folder
        self.live = live
        self.bell = bell
        self.tail = JournalTail(folder.journal_path)
        self.looked = time.monotonic()
        self.ended = False

    def follow(self) -> None:
        """Prints events until the run ends or the output is closed."""
        with Interrupts() as interrupts:
            self.live.catch_up(self._past())
            self.ended = self.ended and not self._is_live()  # the entry may belong to an earlier call
            while not (self.ended or self.live.unseen):
                if interrupts.take():
                    raise Interrupted("the watch is over, and the run goes on", "look again: sow watch")
                goes_on = self._goes_on()
                self._show()
                if not goes_on:
                    return
                self.live.tick(time.time())
                interrupts.sleep(0 if self.tail.more else PAUSE)

    def _past(self) -> Iterator[tuple[dict[str, Any], float]]:
        """Yields the entries that are in the journal now, with their times."""
        times = EntryTimes()
        while True:
            for entry in self.tail.take() or ():
                yield entry, times.of(Entry(entry))
                self._note(entry)
            if not self.tail.more:
                return

    def _show(self) -> None:
        entries = self.tail.take() or ()
        for entry in entries:
            self.live.tell(entry)
            self._note(entry)
        if self.bell and any(is_news(Entry(entry)) for entry in entries):
            self.live.ring()

    def _note(self, entry: dict[str, Any]) -> None:
        """Marks the watch as ended at the last entry of a call, unless another call has started since."""
        if entry.get("event") in ("run_started", runs.LAST):
            self.ended = entry["event"] == runs.LAST

    def _is_live(self) -> bool:
        """Returns whether the run is live now."""
        current = runs.live(self.folder.home)
        return current is not None and current.id == self.folder.id

    def _goes_on(self) -> bool:
        """Returns whether a process still works on the run; checks once a second, before the entries are read."""
        if time.monotonic() < self.looked + LOOK_EVERY:
            return True
        self.looked = time.monotonic()
        return runs.is_manned(self.folder)


def watch(context: Context, *, run: str, json: bool) -> int:
    home = context.home()
    current = runs.live(home)
    folder = runs.find(home, run) if run or current is None else current
    with Live(json=json, clock=time.time, expected=expected.minutes(folder)) as live:
        if current is not None and current.id == folder.id:
            Watch(folder, live, bell=_has_bell(context)).follow()
        elif json:
            for entry in folder.journal():
                live.tell(entry)
        unseen = live.unseen
    if not unseen:
        _say_how(home, folder.id, Standpoint(context.environment, context.cwd), json=json)
    return 0


def _has_bell(context: Context) -> bool:
    """Returns whether the user wants the terminal bell; False if the settings cannot be read."""
    try:
        return bool(configs.load(context.environment).setting("notify", "bell"))
    except SowError:
        return False


def _say_how(home: Home, ident: str, standpoint: Standpoint, *, json: bool) -> None:
    """Prints the run's report, or that its process died."""
    try:
        folder = runs.find(home, ident)
    except SowError:
        raise Failed(f"run {ident} is gone: somebody removed its folder", "see which are left: sow runs list") from None
    dead = folder.run["status"] == "running" and not runs.is_live(folder)
    if not json:
        from sow.cli import runs_view

        runs_view.show(report.facts(home, folder, standpoint))
    if dead:
        command, write = go_on.command(folder, standpoint), err if json else out
        write(harmless_line(f"run {ident} does not run any more, and its process left no word; go on with: {command}"))


COMMANDS = (
    Command(
        "watch",
        watch,
        "Follow a run that goes on in another terminal, and see what came of one that has ended",
        arguments=(
            Argument(
                "run",
                "Its id, the beginning of it, or last; without: the one that goes on, else the last one",
                optional=True,
                completes="runs",
            ),
        ),
        json=True,
        details="On a terminal the picture of 'sow run' itself, elsewhere one line for each event; with --json every\n"
        "entry of the journal, one on each line, from the first to the last. Ctrl-C ends the watch, never the run.\n"
        "Exit: 0 when the run has ended, well or not, or does not run any more; 1 when its folder was removed;\n"
        "130 after Ctrl-C.",
    ),
)
