"""Everything that the dashboard shows, as plain documents: one door for the server, safe for many threads."""

from __future__ import annotations

import time

from sow.dashboard import run_pages
from sow.dashboard.acts import Acting
from sow.dashboard.cost import Costs
from sow.dashboard.listening import Feed
from sow.dashboard.picture import Picture
from sow.dashboard.run_pages import RunPages
from sow.dashboard.watch import Watch
from sow.engine.standpoint import Standpoint
from sow.errors import SowError
from sow.store import runs, state
from sow.system import redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sow.store.home import Home
    from sow.store.runs import RunFolder

    Document = dict[str, Any]
    Mark = tuple[Any, ...]

FRESH = 5.0  # seconds; that nobody works on a task any more changes no file
MINUTE = 60.0
REMEMBERED = 64 << 10  # characters of state files: each is read once, and rows are made of it


class Facts:
    """One checkout, for one server."""

    __slots__ = ("costs", "environment", "home", "kept", "needles", "pages", "person", "read_only", "watch")

    def __init__(self, home: Home, environment: Mapping[str, str], *, read_only: bool, person: str) -> None:
        state.CHECKED.most = REMEMBERED
        self.home = home
        self.environment = dict(environment)
        self.read_only = read_only
        self.person = person
        self.watch = Watch(Picture(home, Standpoint(self.environment)))
        self.pages = RunPages(self.watch.picture.shelf, self.watch.picture.standpoint)
        self.costs = Costs(self.watch.picture.shelf)
        self.needles = redaction.needles(redaction.secrets(self.environment))
        self.kept: tuple[int, float, Document] | None = None  # as of so many changes, and when it was made

    def close(self) -> None:
        """Let everybody who listens go."""
        self.watch.close()

    def feed(self, after: str) -> Feed:
        """What happens from now on, or from where somebody was cut off."""
        return Feed(self.watch, after)

    def state(self) -> Document:
        """The whole at a glance."""
        with self.watch.bell:
            self.watch.look(whole=self.watch.is_due)
            changes, now = self.watch.changes, time.monotonic()
            if self.kept is None or self.kept[0] != changes or now > self.kept[1] + FRESH:
                self.kept = (changes, now, self.watch.picture.document())
            more = {"read_only": self.read_only, "person": self.person, "cursor": self.watch.cursor}
            more["trouble"] = self.watch.trouble
            return {**self.kept[2], **more, "run": self.watch.picture.run_now()}

    def task(self, ident: str) -> Document:
        """One task's page."""
        from sow.dashboard import task_page

        page = task_page.document(self.home, ident)
        with self.watch.bell:
            self.watch.look(whole=self.watch.is_due)
            rows = self.watch.picture.some_rows({ident})
        return {**page, "row": rows[0] if rows else None}

    def transcript(self, ident: str, session: str, turn: str, part: str, start: str, limit: str) -> Document:
        """A page of what was said in a turn."""
        from sow.dashboard import transcript

        return transcript.page(self.home, ident, session, turn, part, start, limit, environment=self.environment)

    def diff(self, ident: str, iteration: str, start: str, limit: str) -> Document:
        """A page of what an iteration changed."""
        from sow.dashboard import diff

        return diff.page(self.home, ident, iteration, start, limit, needles=self.needles)

    def evidence(self, ident: str, number: str, start: str, limit: str) -> Document:
        """A page of what a command said."""
        from sow.dashboard import evidence_page

        return evidence_page.page(self.home, ident, number, start, limit, needles=self.needles)

    def runs(self) -> Document:
        """All runs, the newest first."""
        with self.watch.bell:
            return self.pages.listed()

    def run(self, run: str) -> Document:
        """The report of one run."""
        return self.pages.report(self._folder(run))

    def run_mark(self, run: str) -> Mark:
        """What is another one when the report of a run is: its files, or what the project looks like.

        Records of sessions change with the journal, or hardly ever: for a minute.
        """
        with self.watch.bell:
            folder = self._folder(run)
            self.watch.look(whole=self.watch.is_due)
            return (*run_pages.mark(folder), self.watch.changes, time.monotonic() // MINUTE)

    def timeline(self, run: str) -> Document:
        """Who worked when in a run."""
        return self.pages.timeline(self._folder(run))

    def timeline_mark(self, run: str) -> Mark:
        """What is another one when the timeline of a run is: its files, and in a live one the time."""
        files = run_pages.mark(folder := self._folder(run))
        return (*files, time.monotonic() // FRESH if runs.is_live(folder) else None)

    def entries(self, run: str, start: str, limit: str) -> Document:
        """Some lines of a run's journal."""
        return self.pages.entries(self._folder(run), start, limit)

    def _folder(self, run: str) -> RunFolder:
        with self.watch.bell:
            return self.pages.shelf.get(run)

    def cost(self) -> Document:
        """What was spent."""
        with self.watch.bell:
            return self.costs.document()

    def workflow(self) -> Document:
        """The workflow that is here."""
        from sow.dashboard import crew_page

        with self.watch.bell:
            self.watch.look(whole=self.watch.is_due)
            picture = self.watch.picture
            rows = picture.some_rows(set(picture.crew.notes))
        return crew_page.document(self.home, rows)

    def library(self) -> Document:
        """Agents, sinks and repositories."""
        from sow.dashboard import library

        return library.document(self.home, self.environment)

    def act(self, name: str, body: Mapping[str, Any]) -> tuple[int, Document]:
        """Do what a person asked for, by a call of sow; everybody sees what came of it at once."""
        if self.read_only:
            return 403, {"error": "this page only shows", "hint": "start it without --read-only: sow ui"}
        done = Acting(self.home.root, self.environment, self._status).do(name, body)
        try:
            self.watch.look(whole=True)
        except (SowError, OSError):  # it is done all the same: the next look sees it
            self.watch.urgent = True
        return done

    def _status(self, ident: str) -> str:
        """The status of a task now."""
        with self.watch.bell:
            self.watch.look(whole=True)
            known = self.watch.picture.cache.known.get(ident)
            return known.task["status"] if known is not None and known.task else "missing"
