"""Lists the addresses of the dashboard: method, required access, and the data that each returns."""

from __future__ import annotations

from urllib.parse import unquote

# Required access. OPEN addresses show no data. TOKEN exchanges a token for a cookie. VIEWER needs the cookie. ACTOR
# needs the cookie and a person as sender, and is refused by a read-only server.
OPEN, TOKEN, VIEWER, ACTOR = "open", "token", "viewer", "actor"
GUARDS = (OPEN, TOKEN, VIEWER, ACTOR)


class Route:
    """One address; a path part in braces is a value.

    `view` names the method of DashboardData that makes the document, and `values` what it takes from the request. If
    the result of the method `mark` is unchanged, so is the document.
    """

    def __init__(self, method: str, path: str, guard: str, view: str = "", values: str = "", mark: str = "") -> None:
        if guard not in GUARDS:
            raise ValueError(f"{method} {path} has no guard")
        self.method = method
        self.path = path
        self.parts = tuple(path.split("/"))
        self.guard = guard
        self.view = view
        self.values = values.split()
        self.mark = mark

    @property
    def is_large(self) -> bool:
        """Returns whether the document is about everything, and not a page of one task."""
        return self.view != "" and "{id}" not in self.parts

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


class RequestValues(dict[str, str]):
    """The values of a request by name; a missing value is an empty text."""

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
    Route("GET", "/api/state", VIEWER, "state"),
    Route("GET", "/api/tasks/{id}", VIEWER, "task", "id"),
    Route("GET", TURN, VIEWER, "transcript", "id session turn part from limit"),
    Route("GET", "/api/tasks/{id}/diff", VIEWER, "diff", "id iteration from limit"),
    Route("GET", "/api/tasks/{id}/evidence/{number}", VIEWER, "evidence", "id number from limit"),
    Route("GET", "/api/runs", VIEWER, "runs"),
    Route("GET", "/api/runs/{run}", VIEWER, "run", "run", mark="run_mark"),
    Route("GET", "/api/runs/{run}/timeline", VIEWER, "timeline", "run", mark="timeline_mark"),
    Route("GET", "/api/runs/{run}/entries", VIEWER, "entries", "run from limit"),
    Route("GET", "/api/runs/{run}/diff", VIEWER, "run_diff", "run from limit"),
    Route("GET", "/api/cost", VIEWER, "cost"),
    Route("GET", "/api/workflow", VIEWER, "workflow"),
    Route("GET", "/api/library", VIEWER, "library"),
)


def find(path: str) -> list[tuple[Route, dict[str, str]]]:
    """Returns every route of a path with the values in it, one per method."""
    parts = path.split("/")
    matches = ((route, route.match(parts)) for route in ROUTES)
    return [(route, values) for route, values in matches if values is not None]
