"""Shows a run of another process live in this terminal (`sow watch`)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from sow.cli.context import Context
from sow.cli.runs.live import Live, show_report
from sow.engine.runs.loop import is_news
from sow.errors import Interrupted, SowError, SystemFailure
from sow.reports import next_steps, run_history, run_report
from sow.reports.next_steps import HintContext
from sow.store.files.checkout_home import Home
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import run_folder, sessions
from sow.store.runs.run_folder import READ_SIZE, JournalEntry, JournalTail, RunFolder
from sow.system import plain_file
from sow.system.process.child_process import Interrupts
from sow.system.terminal import err, escape_control, escape_line, out

if TYPE_CHECKING:
    from sow.cli.runs.watch_keys import WatchKeys

PAUSE = 0.1  # seconds between reads of the journal
LOOK_EVERY = 1.0  # seconds between checks whether the run's process is alive


class RunWatch:
    """Follows one run until it ends."""

    def __init__(self, folder: RunFolder, live: Live, *, bell: bool, context: Context | None = None) -> None:
        self.folder = folder
        self.live = live
        self.bell = bell
        self.context = context  # of the user, whose keys are taken
        self.tail = JournalTail(folder.journal_path)
        self.checked_at = time.monotonic()
        self.ended = False

    def follow(self) -> None:
        """Prints events until the run ends or the output is closed."""
        with Interrupts() as interrupts, self._keys(interrupts) as keys:
            self.live.catch_up(self._recorded_entries())
            self.ended = self.ended and not self._is_live()  # the entry may belong to an earlier call
            while not (self.ended or self.live.closed):
                if interrupts.take():
                    raise Interrupted("stopped watching; the run continues", "watch it again: sow watch")
                has_process = self._has_process()
                self._show()
                if not has_process:
                    return
                if keys:
                    keys.handle()
                self.live.tick(time.time())
                interrupts.sleep(0 if self.tail.has_more else PAUSE)

    def _keys(self, interrupts: Interrupts) -> AbstractContextManager[WatchKeys | None]:
        """Returns the keys of the terminal, or nothing if it shows no block."""
        if self.context is None or self.live.form != "block":
            return nullcontext()
        from sow.cli.runs.watch_keys import WatchKeys

        return WatchKeys(
            self.context, self.folder.home, self.folder.id, self.live, may_wait=lambda: not interrupts.waiting
        )

    def _recorded_entries(self) -> Iterator[dict[str, Any]]:
        """Yields the entries that are in the journal now."""
        for entry in self.tail.read_to_end():
            yield entry
            self._note(entry)

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
    workers = [] if json or current is not None else _spawned_workers(home)
    if workers and run in ("", *(worker.id for worker in workers)):
        _watch_worker(next(worker for worker in workers if run in ("", worker.id)))
        return 0
    folder = run_folder.find(home, run) if run or current is None else current
    with Live(json=json, clock=time.time, expected=run_history.expected_minutes(folder)) as live:
        if current is not None and current.id == folder.id:
            RunWatch(folder, live, bell=_has_bell(context), context=context).follow()
        elif json:
            for entry in folder.journal():
                live.tell(entry)
        unseen = live.closed
    if not unseen:
        _print_result(home, folder.id, context.hints(), json=json)
    return 0


def _spawned_workers(home: Home) -> list[TaskFolder]:
    """Returns the tasks on which a spawned worker is at work."""
    if not projects.exists(home):
        return []
    return [folder for folder in task_folder.all_folders(home, projects.load(home)) if home.task_holder(folder.id)]


def _watch_worker(folder: TaskFolder) -> None:
    """Prints the transcripts of a spawned worker's turns until its call has ended."""
    shown, offset = "", 0
    with Interrupts() as interrupts:
        while True:
            at_work = folder.home.task_holder(folder.id)
            records = sessions.records(folder)
            session = records[-1].session if records else None
            path = records[-1].file(session["turns"][-1]["number"], "md") if session else ""
            if session and path != shown:
                turn = f"turn {session['turns'][-1]['number']} of session {session['number']}"
                out(escape_line(f"task {folder.id}: {session['role']} on {session['executor']}, {turn}"))
                shown, offset = path, 0
            text = _new_lines(path, offset)
            offset += len(text)
            if text:
                out(escape_control(text.decode("utf-8", "replace")).rstrip("\n"))
            if not at_work and not text:
                break
            if interrupts.take():
                raise Interrupted("stopped watching; the worker continues", "watch it again: sow watch")
            sys.stdout.flush()
            interrupts.sleep(0 if text else PAUSE)
    out(f"task {folder.id}: status is {folder.task()['status']}")


def _new_lines(path: str, offset: int) -> bytes:
    """Returns the complete lines of a file after an offset."""
    try:
        descriptor = plain_file.open_to_read(path)
    except OSError:  # the turn has not begun its transcript
        return b""
    try:
        data = os.pread(descriptor, READ_SIZE, offset)
    finally:
        os.close(descriptor)
    return data[: data.rfind(b"\n") + 1]


def _has_bell(context: Context) -> bool:
    """Returns whether the user wants the terminal bell; False if the settings cannot be read."""
    try:
        return bool(context.config().setting("notify", "bell"))
    except SowError:
        return False


def _print_result(home: Home, ident: str, hint_context: HintContext, *, json: bool) -> None:
    """Prints the run's report, or that its process died."""
    try:
        folder = run_folder.find(home, ident)
    except SowError:
        raise SystemFailure(
            f"run {ident} is gone, because its folder was removed", "list the runs: sow runs list"
        ) from None
    dead = folder.run["status"] == "running" and not run_folder.is_live(folder)
    if not json:
        show_report(run_report.report_data(home, folder, hint_context))
    if dead:
        command, write = next_steps.resume_command(folder, hint_context), err if json else out
        write(escape_line(f"run {ident} was interrupted; continue with: {command}"))
