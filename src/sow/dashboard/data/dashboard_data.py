"""Returns everything that the dashboard shows as plain documents; safe for many threads."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from sow.dashboard.data import library, run_pages, task_page, task_texts
from sow.dashboard.data.actions import ActRunner
from sow.dashboard.data.checkout_view import CheckoutView
from sow.dashboard.data.event_feed import EventFeed
from sow.dashboard.data.page_errors import PageNotFound
from sow.dashboard.data.run_pages import RunPages
from sow.dashboard.data.watcher import ChangeWatcher
from sow.engine.workflows import status_document
from sow.errors import SowError
from sow.reports.next_steps import HintContext
from sow.store.files import state_file
from sow.store.files.checkout_home import Home
from sow.store.runs import run_folder
from sow.store.runs.run_folder import RunFolder
from sow.store.workflows.folder import WorkflowFolder
from sow.system import environment as environments

Document = dict[str, Any]
Mark = tuple[Any, ...]

FRESH = 5.0  # seconds; the end of an agent's process changes no file, so the state is made again after this time
MINUTE = 60.0
REMEMBERED = 64 << 10  # characters of parsed state files; each is read once to make rows, so a small cache is enough


class DashboardData:
    """The data of one checkout for one server."""

    def __init__(self, home: Home, environment: Mapping[str, str], *, read_only: bool, person: str) -> None:
        state_file.CACHE.most = REMEMBERED
        self.home = home
        self.environment = dict(environment)
        self.read_only = read_only
        self.person = person
        self.watch = ChangeWatcher(CheckoutView(home, HintContext(self.environment, home.root)))
        self.run_pages = RunPages(self.watch.view.run_index, self.watch.view.hint_context)
        self.needles = environments.needles(environments.secrets(self.environment))
        self.cached_state: tuple[int, float, Document] | None = None  # number of changes, time, document

    def close(self) -> None:
        """Wakes all feeds, so that they end."""
        self.watch.close()

    def feed(self, after: str) -> EventFeed:
        """Returns the events from now on, or from the position where a page was cut off."""
        return EventFeed(self.watch, after)

    def state(self) -> Document:
        """Returns the overview."""
        with self.watch.condition:
            self.watch.refresh(whole=self.watch.is_due)
            changes, now = self.watch.changes, time.monotonic()
            if self.cached_state is None or self.cached_state[0] != changes or now > self.cached_state[1] + FRESH:
                self.cached_state = (changes, now, self.watch.view.document())
            extra = {"read_only": self.read_only, "person": self.person, "cursor": self.watch.cursor}
            extra["trouble"] = self.watch.trouble
            return {**self.cached_state[2], **extra, "run": self.watch.view.run_now()}

    def task(self, ident: str) -> Document:
        """Returns the page of one task."""
        with self.watch.condition:
            self.watch.refresh(whole=self.watch.is_due)
            rows = self.watch.view.some_rows({ident})
            runs = self.watch.view.runs_of_project()
        page = task_page.document(self.home, ident, runs)
        return {**page, "row": rows[0] if rows else None}

    def transcript(self, ident: str, session: str, turn: str, part: str, start: str, limit: str) -> Document:
        """Returns a page of a turn's transcript."""
        environment = self.environment
        return task_texts.transcript_page(self.home, ident, session, turn, part, start, limit, environment=environment)

    def diff(self, ident: str, iteration: str, start: str, limit: str) -> Document:
        """Returns a page of an iteration's patch."""
        return task_texts.patch_page(self.home, ident, iteration, start, limit, needles=self.needles)

    def evidence(self, ident: str, number: str, start: str, limit: str) -> Document:
        """Returns a page of a check's output."""
        return task_texts.evidence_page(self.home, ident, number, start, limit, needles=self.needles)

    def runs(self) -> Document:
        """Returns all runs, the newest first."""
        with self.watch.condition:
            return self.run_pages.page_of_runs()

    def run(self, run: str) -> Document:
        """Returns the report of one run."""
        return self.run_pages.report(self._folder(run))

    def run_mark(self, run: str) -> Mark:
        """Returns a value that changes when the report of a run does: with its files or with the project.

        Session records rarely change without the journal, so a change of theirs may show a minute late.
        """
        with self.watch.condition:
            folder = self._folder(run)
            self.watch.refresh(whole=self.watch.is_due)
            return (*run_pages.run_mark(folder), self.watch.changes, time.monotonic() // MINUTE)

    def timeline(self, run: str) -> Document:
        """Returns the timeline of a run."""
        return self.run_pages.timeline(self._folder(run))

    def timeline_mark(self, run: str) -> Mark:
        """Returns a value that changes when a run's timeline does: with its files, and in a live run with time."""
        files = run_pages.run_mark(folder := self._folder(run))
        return (*files, time.monotonic() // FRESH if run_folder.is_live(folder) else None)

    def entries(self, run: str, start: str, limit: str) -> Document:
        """Returns some lines of a run's journal."""
        return self.run_pages.entries(self._folder(run), start, limit)

    def _folder(self, run: str) -> RunFolder:
        with self.watch.condition:
            return self.run_pages.run_cache.get(run)

    def run_diff(self, run: str, start: str, limit: str) -> Document:
        """Returns a page of the patch of a whole run."""
        return task_texts.run_patch_page(self._folder(run), start, limit, needles=self.needles)

    def cost(self) -> Document:
        """Returns the costs."""
        with self.watch.condition:
            return self.run_pages.cost()

    def workflow(self) -> Document:
        """Returns the page of the workflow."""
        folder = WorkflowFolder(self.home)
        if not folder.exists():
            raise PageNotFound("there is no workflow here", "start one: sow workflow new NAME")
        loaded = folder.load()
        workflow = loaded["workflow"]
        status = status_document.document(folder, loaded)
        with self.watch.condition:
            self.watch.refresh(whole=self.watch.is_due)
            view = self.watch.view
            rows = view.some_rows(set(view.crew.notes))
        return {
            **status,
            "members": rows,
            "notes": folder.notes(loaded),
            "verifiers": {name: member["verifier"] for name, member in workflow["members"].items()},
            "escalations": workflow["escalations"],
            "answers": workflow.get("answers", []),
            "verified": workflow.get("verified"),
            "approval": workflow.get("approval"),
            "acts": ["approve-workflow"] if status["next"] == "sow workflow approve" else [],
        }

    def library(self) -> Document:
        """Returns agents, sinks and repositories."""
        return library.document(self.home, self.environment)

    def act(self, name: str, body: Mapping[str, Any]) -> tuple[int, Document]:
        """Carries out an act with the sow command, and refreshes the data at once."""
        if self.read_only:
            return 403, {"error": "this page is read-only", "hint": "start it without --read-only: sow ui"}
        reply = ActRunner(self.home.root, self.environment, self._status).do(name, body)
        try:
            self.watch.refresh(whole=True)
        except (SowError, OSError):  # the act is done anyway; the next refresh reads its result
            self.watch.urgent = True
        return reply

    def _status(self, ident: str) -> str:
        with self.watch.condition:
            self.watch.refresh(whole=True)
            cached = self.watch.view.cache.tasks.get(ident)
            return cached.task["status"] if cached is not None and cached.task else "missing"
