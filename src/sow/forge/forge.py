"""Defines what sow reads and does on a forge, the site that hosts the repository: issues, requests and checks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sow.errors import SowError

GITHUB, GITLAB = "github", "gitlab"
PATH = re.compile(r"(?:\w[\w.-]*/)+[\w.-]*\w[\w.-]*", re.ASCII)
MOST_PATH = 200
MOST_TEXT = 60_000  # characters of an issue or a comment
# States of a check.
PENDING, PASSED, FAILED, NEEDS_PERSON = "pending", "passed", "failed", "needs a person"
OPEN, CLOSED, MERGED = "open", "closed", "merged"


class ForgeError(SowError):
    """A refusal of the forge: nothing was changed there. `status` is the HTTP status, or 0 without an answer."""

    def __init__(self, message: str, hint: str, *, status: int = 0, exit_code: int = 2, seconds: float = 0) -> None:
        super().__init__(message, hint)
        self.status = status
        self.exit_code = exit_code
        self.seconds = seconds  # until the forge accepts calls again, if it limits them


@dataclass(frozen=True, slots=True)
class Remote:
    """The repository that a remote's URL names."""

    kind: str
    host: str  # with its port, if the URL of an HTTP remote has one
    owner: str  # GitLab: with its groups, such as `group/team`
    name: str

    @property
    def path(self) -> str:
        return f"{self.owner}/{self.name}"


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """What the forge says about a repository and about the user's rights in it."""

    default_branch: str
    can_push: bool
    user: str


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on an issue or a request; `path` and `line` are empty without a place in a file."""

    id: str
    author: str
    body: str
    at: str
    path: str = ""
    line: int = 0
    commit: str = ""  # the commit whose line it means
    is_removed: bool = False  # the line is one of the base, which the request removes
    is_bot: bool = False
    url: str = ""


@dataclass(frozen=True, slots=True)
class Issue:
    """One issue; its texts are a stranger's unless its author may write to the repository."""

    number: int
    title: str
    body: str
    state: str  # open or closed
    labels: tuple[str, ...]
    url: str
    author: str
    comments: tuple[Comment, ...] = ()  # only of an issue that was asked for by its number


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """A pull request or merge request."""

    number: int
    id: str  # what GraphQL calls the request
    url: str
    state: str
    is_draft: bool
    head_sha: str
    base: str
    title: str
    body: str
    merge_commit: str = ""  # once it is merged
    merge_state: str = ""  # clean, dirty, blocked, behind, unstable, draft, or unknown while the forge computes it
    pipeline: tuple[int, int, str] = (0, 0, "")  # GitLab: project, id and commit of a pipeline that runs elsewhere


@dataclass(frozen=True, slots=True)
class ForgeCheck:
    """One check that the forge reports for a commit."""

    name: str
    state: str
    url: str = ""
    job: str = ""  # what the forge calls a job with a log, which can run again
    summary: str = ""
    path: str = ""  # the first place that it names
    line: int = 0


class Forge(Protocol):
    """One repository on a forge."""

    remote: Remote

    @property
    def noun(self) -> str:
        """What a request is called there."""

    def facts(self) -> RepositoryFacts:
        """Returns what the user may do."""

    def issue(self, number: int) -> Issue:
        """Returns an issue with its comments."""

    def issues(self, label: str) -> list[Issue]:
        """Returns the open issues with a label, without their comments."""

    def can_write(self, user: str) -> bool:
        """Returns whether a person may write to the repository."""

    def find_fork(self, user: str) -> str:
        """Returns the path of the user's own fork, such as `ada/cranes`, or "" if there is none."""

    def find_request(self, branch: str, source: str) -> ChangeRequest | None:
        """Returns the open request of a branch in the repository with the path `source`."""

    def request(self, number: int) -> ChangeRequest:
        """Returns a request as it is now."""

    def create_request(
        self, *, branch: str, source: str, base: str, title: str, body: str, draft: bool
    ) -> ChangeRequest:
        """Opens a request for a branch in the repository with the path `source`."""

    def update_request(self, request: ChangeRequest, *, title: str, body: str) -> None:
        """Replaces the texts of a request."""

    def set_draft(self, request: ChangeRequest, draft: bool) -> None:
        """Makes a request a draft, or ready for review."""

    def checks(self, sha: str, request: ChangeRequest) -> list[ForgeCheck]:
        """Returns all checks that were reported for a commit."""

    def required_checks(self, base: str) -> set[str]:
        """Returns the names of the checks that a branch requires."""

    def job_log(self, check: ForgeCheck, most: int) -> str:
        """Returns the end of a job's log, or "" if there is none."""

    def rerun(self, check: ForgeCheck) -> None:
        """Runs a job again."""

    def comments(self, request: ChangeRequest) -> list[Comment]:
        """Returns the newest comments and reviews of a request, without those of resolved threads."""

    def reply(self, request: ChangeRequest, text: str) -> str:
        """Comments on a request; returns the comment's id."""

    def merge(self, request: ChangeRequest, *, sha: str, method: str) -> str:
        """Merges a request if its head is still this commit; returns the commit of the merge."""


def repository_path(value: object) -> str:
    """Returns the path of a repository from an answer, or "" if it is none that can be part of a URL."""
    path = value if isinstance(value, str) else ""
    return path if len(path) <= MOST_PATH and PATH.fullmatch(path) else ""


def in_order(comments: Sequence[Comment]) -> list[Comment]:
    """Returns comments in the order of their times."""
    return sorted(comments, key=lambda comment: (comment.at, comment.id))
