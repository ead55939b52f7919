"""Reads and changes a repository on GitLab."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from sow.forge import forge
from sow.forge.api import ForgeApi, clean
from sow.forge.forge import (
    ChangeRequest,
    Comment,
    ForgeCheck,
    ForgeError,
    Issue,
    Remote,
    RepositoryFacts,
)

MOST_TEXT = 60_000
DEVELOPER = 30  # the lowest access level that may push
DRAFT = "Draft: "
STATES = {"success": forge.PASSED, "skipped": forge.PASSED, "manual": forge.NEEDS_PERSON, "failed": forge.FAILED}
STATES |= {"canceled": forge.FAILED}
MERGE_STATES = {"mergeable": "clean", "conflict": "dirty", "need_rebase": "behind", "draft_status": "draft"}
MERGE_STATES |= {"checking": "unknown", "unchecked": "unknown", "preparing": "unknown", "ci_still_running": "unstable"}


class GitLab:
    """One repository on GitLab."""

    noun = "merge request"

    def __init__(self, remote: Remote, api: ForgeApi) -> None:
        self.remote = remote
        self.api = api
        self.path = f"projects/{quote(remote.path, safe='')}"
        self.writers: dict[str, bool] = {}

    def facts(self) -> RepositoryFacts:
        user = self.api.get("user") or {}
        data = self.api.get(self.path) or {}
        rights = data.get("permissions") or {}
        levels = [int((rights.get(name) or {}).get("access_level") or 0) for name in ("project_access", "group_access")]
        return RepositoryFacts(
            default_branch=str(data.get("default_branch") or ""),
            can_push=max(levels) >= DEVELOPER,
            user=str(user.get("username") or ""),
        )

    def issue(self, number: int) -> Issue:
        data = self.api.get(f"{self.path}/issues/{number}")
        notes = self.api.pages(f"{self.path}/issues/{number}/notes?per_page=100&sort=asc")
        return self._issue(data, tuple(self._comment(note) for note in notes if not note.get("system")))

    def issues(self, label: str) -> list[Issue]:
        entries = self.api.pages(f"{self.path}/issues?labels={quote(label)}&state=opened&per_page=100")
        return [self._issue(data, ()) for data in entries]

    def can_write(self, user: str) -> bool:
        if user not in self.writers:
            members = self.api.get(f"{self.path}/members/all?query={quote(user)}&per_page=100") or []
            levels = [int(member.get("access_level") or 0) for member in members if member.get("username") == user]
            self.writers[user] = max(levels, default=0) >= DEVELOPER
        return self.writers[user]

    def find_request(self, branch: str, owner: str) -> ChangeRequest | None:
        requests = self.api.get(f"{self.path}/merge_requests?source_branch={quote(branch, safe='')}&state=opened") or []
        return self._request(requests[0]) if requests else None

    def request(self, number: int) -> ChangeRequest:
        return self._request(self.api.get(f"{self.path}/merge_requests/{number}"))

    def create_request(
        self, *, branch: str, owner: str, base: str, title: str, body: str, draft: bool
    ) -> ChangeRequest:
        fields: dict[str, Any] = {"source_branch": branch, "target_branch": base, "description": body}
        fields["title"] = f"{DRAFT}{title}" if draft else title
        path = self.path
        if owner != self.remote.owner:  # a fork sends it to the project that it comes from
            path = f"projects/{quote(f'{owner}/{self.remote.name}', safe='')}"
            fields["target_project_id"] = self.api.get(self.path)["id"]
        return self._request(self.api.send("POST", f"{path}/merge_requests", fields))

    def update_request(self, request: ChangeRequest, *, title: str, body: str) -> None:
        title = f"{DRAFT}{title}" if request.is_draft else title
        self.api.send("PUT", f"{self.path}/merge_requests/{request.number}", {"title": title, "description": body})

    def set_draft(self, request: ChangeRequest, draft: bool) -> None:
        title = f"{DRAFT}{request.title}" if draft else request.title
        self.api.send("PUT", f"{self.path}/merge_requests/{request.number}", {"title": title})

    def checks(self, sha: str, request: ChangeRequest) -> list[ForgeCheck]:
        statuses = self.api.get(f"{self.path}/repository/commits/{sha}/statuses?per_page=100") or []
        return [self._check(status) for status in statuses if not status.get("allow_failure")]

    def required_checks(self, base: str) -> set[str]:
        return set()  # GitLab requires the pipeline as a whole

    def job_log(self, check: ForgeCheck, most: int) -> str:
        return self.api.tail(f"{self.path}/jobs/{check.job}/trace", most) if check.job else ""

    def rerun(self, check: ForgeCheck) -> None:
        self.api.send("POST", f"{self.path}/jobs/{check.job}/retry")

    def comments(self, request: ChangeRequest) -> list[Comment]:
        query = "?per_page=100&sort=desc&order_by=updated_at"
        notes = self.api.get(f"{self.path}/merge_requests/{request.number}/notes{query}") or []
        return forge.in_order([self._comment(note) for note in notes if not note.get("system")])

    def reply(self, request: ChangeRequest, text: str) -> str:
        data = self.api.send("POST", f"{self.path}/merge_requests/{request.number}/notes", {"body": text})
        return str(data["id"])

    def merge(self, request: ChangeRequest, *, sha: str, method: str) -> str:
        if method == "rebase":
            raise ForgeError("GitLab rebases by a setting of the project", "use --merge or --merge=squash")
        fields = {"sha": sha, "squash": method == "squash"}
        data = self.api.send("PUT", f"{self.path}/merge_requests/{request.number}/merge", fields)
        return self._request(data).merge_commit

    def _text(self, value: Any) -> str:
        return clean(str(value or ""), self.api.environment)[:MOST_TEXT]

    def _issue(self, data: Any, comments: tuple[Comment, ...]) -> Issue:
        return Issue(
            number=int(data["iid"]),
            title=self._text(data.get("title")),
            body=self._text(data.get("description")),
            state=forge.OPEN if data.get("state") == "opened" else forge.CLOSED,
            labels=tuple(map(str, data.get("labels") or ())),
            url=str(data.get("web_url") or ""),
            author=_username(data),
            comments=comments,
        )

    def _comment(self, data: Any) -> Comment:
        place = data.get("position") or {}
        return Comment(
            id=str(data["id"]),
            author=_username(data),
            body=self._text(data.get("body")),
            at=str(data.get("created_at") or ""),
            path=str(place.get("new_path") or ""),
            line=int(place.get("new_line") or 0),
            commit=str(place.get("head_sha") or ""),
            is_bot=bool((data.get("author") or {}).get("bot")),
        )

    def _request(self, data: Any) -> ChangeRequest:
        state = str(data.get("state") or "")
        is_draft = bool(data.get("draft"))
        title = self._text(data.get("title"))
        return ChangeRequest(
            number=int(data["iid"]),
            id=str(data.get("id") or ""),
            url=str(data.get("web_url") or ""),
            state={"opened": forge.OPEN, "merged": forge.MERGED}.get(state, forge.CLOSED),
            is_draft=is_draft,
            head_sha=str(data.get("sha") or ""),
            base=str(data.get("target_branch") or ""),
            title=title.removeprefix(DRAFT) if is_draft else title,
            body=str(data.get("description") or ""),
            merge_commit=str(data.get("merge_commit_sha") or data.get("squash_commit_sha") or "")
            or (str(data.get("sha") or "") if state == "merged" else ""),
            merge_state=MERGE_STATES.get(str(data.get("detailed_merge_status")), "blocked"),
        )

    def _check(self, data: Any) -> ForgeCheck:
        return ForgeCheck(
            name=str(data.get("name") or ""),
            state=STATES.get(str(data.get("status")), forge.PENDING),
            url=str(data.get("target_url") or ""),
            job=str(data.get("id") or ""),
            summary=self._text(data.get("description")),
        )


def _username(data: Any) -> str:
    return str((data.get("author") or {}).get("username") or "")
