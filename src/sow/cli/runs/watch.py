"""Shows a run of another process live in this terminal (`sow watch`)."""

from __future__ import annotations

import time

from sow import config as configs
from sow.cli.command import Argument, Command
from sow.cli.context import Context
from sow.cli.runs.live import Live
from sow.domain.runs.journal_entry import JournalEntry
from sow.engine.runs.notify import is_news
from sow.errors import Interrupted, SowError, SystemFailure
from sow.reports import expected_time, resume_command, run_report
from sow.reports.hint_context import HintContext
from sow.reports.run_history import EntryTimes
from sow.store.runs import run_folder
from sow.store.runs.journal import JournalTail
from sow.system.process.generator_steps import Interrupts
from sow.system.terminal import err, escape_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sow.store.files.checkout_home import Home
    from sow.store.runs.run_folder import RunFolder

PAUSE = 0.1  # seconds between reads of the journal
LOOK_EVERY = 1.0  # seconds between checks whether the run's process is alive


class RunWatch:
    """Follows one run until it ends."""

    __slots__ = ("bell", "checked_at", "ended", "folder", "live", "tail")

    def __init__(self, folder: RunFolder, live: Live, *, bell: bool) -> None:
        self.folder = folder
        self.live = live
        self.bell = bell
        self.tail = JournalTail(folder.journal_path)
        self.checked_at = time.monotonic()
        self.ended = False

    def follow(self) -> None:
        """Prints events until the run ends or the output is closed."""
        with Interrupts() as interrupts:
            self.live.catch_up(self._recorded_entries())
            self.ended = self.ended and not self._is_live()  # the entry may belong to an earlier call
            while not (self.ended or self.live.closed):
                if interrupts.take():
                    raise Interrupted("the watch is over, and the run goes on", "look again: sow watch")
                goes_on = self._has_process()
                self._show()
                if not goes_on:
                    return
                self.live.tick(time.time())
                interrupts.sleep(0 if self.tail.has_more else PAUSE)

    def _recorded_entries(self) -> Iterator[tuple[dict[str, Any], float]]:
        """Yields the entries that are in the journal now, with their times."""
        times = EntryTimes()
        while True:
            for entry in self.tail.read_new() or ():
                yield entry, times.time_of(JournalEntry(entry))
                self._note(entry)
            if not self.tail.has_more:
                return

    def _show(self) -> None:
        entries = self.tail.read_new() or ()
        for entry in entries:
            self.live.tell(entry)
            self._note(entry)
        if self.bell and any(is_news(JournalEntry(entry)) for entry in entries):
            self.live.ring_bell()

    def _note(self, entry: dict[str, Any]) -> None:
        """Marks the watch as ended at the last entry of a call, unless another call has started since."""
        if entry.get("event") in ("run_started", run_folder.END_EVENT):
            self.ended = entry["event"] == run_folder.END_EVENT

    def _is_live(self) -> bool:
        """Returns whether the run is live now."""
        current = run_folder.live_run(self.folder.home)
        return current is not None and current.id == self.folder.id

    def _has_process(self) -> bool:
        """Returns whether a process still works on the run; checks once a second, before the entries are read."""
        if time.monotonic() < self.checked_at + LOOK_EVERY:
            return True
        self.checked_at = time.monotonic()
        return run_folder.has_process(self.folder)


def watch(context: Context, *, run: str, json: bool) -> int:
    home = context.project_home()
    current = run_folder.live_run(home)
    folder = run_folder.find(home, run) if run or current is None else current
    with Live(json=json, clock=time.time, expected=expected_time.expected_minutes(folder)) as live:
        if current is not None and current.id == folder.id:
            RunWatch(folder, live, bell=_has_bell(context)).follow()
        elif json:
            for entry in folder.journal():
                live.tell(entry)
        unseen = live.closed
    if not unseen:
        _print_result(home, folder.id, HintContext(context.environment, context.cwd), json=json)
    return 0


def _has_bell(context: Context) -> bool:
    """Returns whether the user wants the terminal bell; False if the settings cannot be read."""
    try:
        return bool(configs.load(context.environment).setting("notify", "bell"))
    except SowError:
        return False


def _print_result(home: Home, ident: str, hint_context: HintContext, *, json: bool) -> None:
    """Prints the run's report, or that its process died."""
    try:
        folder = run_folder.find(home, ident)
    except SowError:
        raise SystemFailure(
            f"run {ident} is gone: somebody removed its folder", "see which are left: sow runs list"
        ) from None
    dead = folder.run["status"] == "running" and not run_folder.is_live(folder)
    if not json:
        from sow.cli.runs import show

        show.show(run_report.report_data(home, folder, hint_context))
    if dead:
        command, write = resume_command.resume_command(folder, hint_context), err if json else out
        write(escape_line(f"run {ident} does not run any more, and its process left no word; go on with: {command}"))


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
