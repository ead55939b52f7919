"""Lists the addresses of the dashboard: method, required access, and the data that each returns."""

from __future__ import annotations

from urllib.parse import unquote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from sow.dashboard.data.dashboard_data import DashboardData

    View = Callable[[DashboardData, Mapping[str, str]], Any]

# Required access. OPEN addresses show no data. TOKEN exchanges a token for a cookie. VIEWER needs the cookie. ACTOR
# needs the cookie and a person as sender, and is refused by a read-only server.
OPEN, TOKEN, VIEWER, ACTOR = "open", "token", "viewer", "actor"
GUARDS = (OPEN, TOKEN, VIEWER, ACTOR)


class Route:
    """One address; a path part in braces is a value. If the result of `mark` is unchanged, so is that of `view`."""

    __slots__ = ("guard", "mark", "method", "parts", "path", "view")

    def __init__(self, method: str, path: str, guard: str, view: View | None = None, mark: View | None = None) -> None:
        if guard not in GUARDS:
            raise ValueError(f"{method} {path} has no guard")
        self.method = method
        self.path = path
        self.parts = tuple(path.split("/"))
        self.guard = guard
        self.view = view
        self.mark = mark

    @property
    def is_large(self) -> bool:
        """True if the document is about everything, and not a page of one task."""
        return self.view is not None and "{id}" not in self.parts

    def match(self, parts: list[str]) -> dict[str, str] | None:
        """Returns the values in a path of this form; None if the path has another form."""
        if len(parts) != len(self.parts):
            return None
        values = {}
        for pattern, part in zip(self.parts, parts, strict=True):
            if pattern[:1] == "{":
                values[pattern[1:-1]] = unquote(part)
            elif pattern != part:
                return None
        return values if all(values.values()) else None


class Values(dict[str, str]):
    """The values of a request by name; a missing value is an empty text."""

    __slots__ = ()

    def __missing__(self, name: str) -> str:
        return ""


INDEX = Route("GET", "/", OPEN)
ASSET = Route("GET", "/assets/{name}", OPEN)
SESSION = Route("POST", "/api/session", TOKEN)
FEED = Route("GET", "/api/feed", VIEWER)
ACT = Route("POST", "/api/acts/{name}", ACTOR)
TURN = "/api/tasks/{id}/sessions/{session}/turns/{turn}"

ROUTES = (
    INDEX,
    ASSET,
    SESSION,
    FEED,
    ACT,
    Route("GET", "/api/state", VIEWER, lambda facts, ask: facts.state()),
    Route("GET", "/api/tasks/{id}", VIEWER, lambda facts, ask: facts.task(ask["id"])),
    Route(
        "GET", TURN, VIEWER,
        lambda facts, ask: facts.transcript(
            ask["id"], ask["session"], ask["turn"], ask["part"], ask["from"], ask["limit"]
        ),
    ),
    Route(
        "GET", "/api/tasks/{id}/diff", VIEWER,
        lambda facts, ask: facts.diff(ask["id"], ask["iteration"], ask["from"], ask["limit"]),
    ),
    Route(
        "GET", "/api/tasks/{id}/evidence/{number}", VIEWER,
        lambda facts, ask: facts.evidence(ask["id"], ask["number"], ask["from"], ask["limit"]),
    ),
    Route("GET", "/api/runs", VIEWER, lambda facts, ask: facts.runs()),
    Route(
        "GET", "/api/runs/{run}", VIEWER,
        lambda facts, ask: facts.run(ask["run"]), lambda facts, ask: facts.run_mark(ask["run"]),
    ),
    Route(
        "GET", "/api/runs/{run}/timeline", VIEWER,
        lambda facts, ask: facts.timeline(ask["run"]), lambda facts, ask: facts.timeline_mark(ask["run"]),
    ),
    Route(
        "GET", "/api/runs/{run}/entries", VIEWER,
        lambda facts, ask: facts.entries(ask["run"], ask["from"], ask["limit"]),
    ),
    Route("GET", "/api/cost", VIEWER, lambda facts, ask: facts.cost()),
    Route("GET", "/api/workflow", VIEWER, lambda facts, ask: facts.workflow()),
    Route("GET", "/api/library", VIEWER, lambda facts, ask: facts.library()),
)  # fmt: skip


def find(path: str) -> list[tuple[Route, dict[str, str]]]:
    """Returns every route of a path with the values in it, one per method."""
    parts = path.split("/")
    matches = ((route, route.match(parts)) for route in ROUTES)
    return [(route, values) for route, values in matches if values is not None]
