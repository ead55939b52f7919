"""Reads and changes a repository on GitHub or GitHub Enterprise."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from sow.forge import forge, github_talk
from sow.forge.api import ForgeApi, clean
from sow.forge.forge import (
    MOST_TEXT,
    ChangeRequest,
    Comment,
    ForgeCheck,
    ForgeError,
    Issue,
    Remote,
    RepositoryFacts,
)

WRITE = ("admin", "maintain", "write")
CONCLUSIONS = {
    "success": forge.PASSED,
    "neutral": forge.PASSED,
    "skipped": forge.PASSED,
    "action_required": forge.NEEDS_PERSON,
}
STATUSES = {"success": forge.PASSED, "pending": forge.PENDING}
ACTIONS = "github-actions"
PAGE = 100  # items, the most in one answer
READY = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { clientMutationId } }"
DRAFT = "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { clientMutationId } }"


class GitHub:
    """One repository on GitHub."""

    noun = "pull request"

    def __init__(self, remote: Remote, api: ForgeApi) -> None:
        self.remote = remote
        self.api = api
        self.path = f"repos/{quote(remote.owner)}/{quote(remote.name)}"
        self.writers: dict[str, bool] = {}

    def facts(self) -> RepositoryFacts:
        user = self.api.get("user") or {}
        data = self.api.get(self.path) or {}
        return RepositoryFacts(
            default_branch=str(data.get("default_branch") or ""),
            can_push=bool((data.get("permissions") or {}).get("push")),
            user=str(user.get("login") or ""),
        )

    def issue(self, number: int) -> Issue:
        data = self.api.get(f"{self.path}/issues/{number}")
        if not data or "pull_request" in data:
            raise ForgeError(f"#{number} is a pull request and not an issue", "name an issue by its number")
        comments = self.api.pages(f"{self.path}/issues/{number}/comments?per_page=100") if data.get("comments") else []
        return self._issue(data, tuple(self._comment(comment) for comment in comments))

    def issues(self, label: str) -> list[Issue]:
        entries = self.api.pages(f"{self.path}/issues?labels={quote(label)}&state=open&per_page=100")
        return [self._issue(data, ()) for data in entries if "pull_request" not in data]

    def can_write(self, user: str) -> bool:
        if user not in self.writers:
            try:
                data = self.api.get(f"{self.path}/collaborators/{quote(user, safe='')}/permission") or {}
            except ForgeError as error:
                if error.status not in (403, 404):
                    raise
                data = {}
            self.writers[user] = data.get("permission") in WRITE
        return self.writers[user]

    def find_fork(self, user: str) -> str:
        fork = self._optional(f"repos/{quote(user)}/{quote(self.remote.name)}")
        fork = fork if isinstance(fork, dict) else {}
        roots = [fork[name].get("full_name") for name in ("parent", "source") if isinstance(fork.get(name), dict)]
        if self.remote.path.lower() in (str(root).lower() for root in roots) and (path := _fork_path(fork, user)):
            return path
        # A fork with another name is in the list of all forks.
        forks = self.api.pages(f"{self.path}/forks?sort=newest&per_page={PAGE}")
        return next(filter(None, (_fork_path(data, user) for data in forks)), "")

    def find_request(self, branch: str, source: str) -> ChangeRequest | None:
        head = quote(f"{_owner(source)}:{branch}", safe="")
        requests = self.api.get(f"{self.path}/pulls?head={head}&state=open&per_page=100") or []
        return self._request(requests[0]) if requests else None

    def request(self, number: int) -> ChangeRequest:
        return self._request(self.api.get(f"{self.path}/pulls/{number}"))

    def create_request(
        self, *, branch: str, source: str, base: str, title: str, body: str, draft: bool
    ) -> ChangeRequest:
        head = branch if source == self.remote.path else f"{_owner(source)}:{branch}"
        fields = {"title": title, "head": head, "base": base, "body": body, "draft": draft}
        try:
            return self._request(self.api.send("POST", f"{self.path}/pulls", fields))
        except ForgeError as error:
            if not (draft and error.status == 422 and "draft" in error.message.lower()):
                raise
            return self._request(self.api.send("POST", f"{self.path}/pulls", {**fields, "draft": False}))

    def update_request(self, request: ChangeRequest, *, title: str, body: str) -> None:
        self.api.send("PATCH", f"{self.path}/pulls/{request.number}", {"title": title, "body": body})

    def set_draft(self, request: ChangeRequest, draft: bool) -> None:
        self.api.graphql(DRAFT if draft else READY, {"id": request.id})

    def checks(self, sha: str, request: ChangeRequest) -> list[ForgeCheck]:
        runs = (self.api.get(f"{self.path}/commits/{sha}/check-runs?filter=latest&per_page=100") or {}).get(
            "check_runs", ()
        )
        statuses = (self.api.get(f"{self.path}/commits/{sha}/status?per_page=100") or {}).get("statuses", ())
        return [*(_check(check, self.api) for check in runs), *(_status(check) for check in statuses)]

    def required_checks(self, base: str) -> set[str]:
        branch = quote(base, safe="")
        names: set[str] = set()
        for rule in self._optional(f"{self.path}/rules/branches/{branch}") or ():
            if rule.get("type") == "required_status_checks":
                checks = (rule.get("parameters") or {}).get("required_status_checks") or ()
                names.update(str(check.get("context") or "") for check in checks)
        protection = (self._optional(f"{self.path}/branches/{branch}") or {}).get("protection") or {}
        names.update(map(str, (protection.get("required_status_checks") or {}).get("contexts") or ()))
        return names - {""}

    def job_log(self, check: ForgeCheck, most: int) -> str:
        return self.api.tail(f"{self.path}/actions/jobs/{check.job}/logs", most) if check.job else ""

    def rerun(self, check: ForgeCheck) -> None:
        self.api.send("POST", f"{self.path}/actions/jobs/{check.job}/rerun")

    def comments(self, request: ChangeRequest) -> list[Comment]:
        return forge.in_order(github_talk.comments(self.api, request.id))

    def reply(self, request: ChangeRequest, text: str) -> str:
        data = self.api.send("POST", f"{self.path}/issues/{request.number}/comments", {"body": text})
        return f"issue-{data['id']}"

    def merge(self, request: ChangeRequest, *, sha: str, method: str) -> str:
        fields = {"sha": sha, "merge_method": method}
        return str(self.api.send("PUT", f"{self.path}/pulls/{request.number}/merge", fields).get("sha") or "")

    def _optional(self, path: str) -> Any:
        """Returns what a path holds, or None if the plan or the rights of the user do not include it."""
        try:
            return self.api.get(path)
        except ForgeError as error:
            if error.status not in (403, 404):
                raise
            return None

    def _text(self, value: Any) -> str:
        return clean(str(value or ""), self.api.environment)[:MOST_TEXT]

    def _issue(self, data: Any, comments: tuple[Comment, ...]) -> Issue:
        labels = (label.get("name", "") if isinstance(label, dict) else label for label in data.get("labels") or ())
        return Issue(
            number=int(data["number"]),
            title=self._text(data.get("title")),
            body=self._text(data.get("body")),
            state=str(data.get("state") or ""),
            labels=tuple(map(str, labels)),
            url=str(data.get("html_url") or ""),
            author=_login(data),
            comments=comments,
        )

    def _comment(self, data: Any) -> Comment:
        return Comment(
            id=f"issue-{data['id']}",
            author=_login(data),
            body=self._text(data.get("body")),
            at=str(data.get("created_at") or ""),
            is_bot=(data.get("user") or {}).get("type") == "Bot",
            url=str(data.get("html_url") or ""),
        )

    def _request(self, data: Any) -> ChangeRequest:
        merged = bool(data.get("merged") or data.get("merged_at"))
        return ChangeRequest(
            number=int(data["number"]),
            id=str(data.get("node_id") or ""),
            url=str(data.get("html_url") or ""),
            state=forge.MERGED if merged else forge.CLOSED if data.get("state") == "closed" else forge.OPEN,
            is_draft=bool(data.get("draft")),
            head_sha=str((data.get("head") or {}).get("sha") or ""),
            base=str((data.get("base") or {}).get("ref") or ""),
            title=self._text(data.get("title")),
            body=str(data.get("body") or ""),
            merge_commit=str(data.get("merge_commit_sha") or "") if merged else "",
            merge_state=str(data.get("mergeable_state") or "unknown"),
        )


def _owner(path: str) -> str:
    return path.rpartition("/")[0]


def _fork_path(data: Any, user: str) -> str:
    """Returns the path of a fork if it is this user's and can be pushed to, or ""."""
    if not isinstance(data, dict) or not data.get("fork") or data.get("archived"):
        return ""
    path = forge.repository_path(data.get("full_name"))
    return path if _owner(path).lower() == user.lower() else ""


def _login(data: Any) -> str:
    return str((data.get("user") or {}).get("login") or "")


def _check(data: Any, api: ForgeApi) -> ForgeCheck:
    """Returns a check run; a job of GitHub Actions has its own id."""
    state = forge.PENDING
    if data.get("status") == "completed":
        state = CONCLUSIONS.get(str(data.get("conclusion")), forge.FAILED)
    output = data.get("output") or {}
    texts = [str(output.get(name) or "") for name in ("title", "summary", "text")]
    return ForgeCheck(
        name=str(data.get("name") or ""),
        state=state,
        url=str(data.get("details_url") or data.get("html_url") or ""),
        job=str(data["id"]) if (data.get("app") or {}).get("slug") == ACTIONS else "",
        summary=clean("\n".join(filter(None, texts)), api.environment)[:MOST_TEXT],
    )


def _status(data: Any) -> ForgeCheck:
    return ForgeCheck(
        name=str(data.get("context") or ""),
        state=STATUSES.get(str(data.get("state")), forge.FAILED),
        url=str(data.get("target_url") or ""),
        summary=str(data.get("description") or ""),
    )
