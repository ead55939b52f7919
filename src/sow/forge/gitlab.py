"""Reads and changes a repository on GitLab."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from sow.forge import forge
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

DEVELOPER = 30  # the lowest access level that may push
DRAFT = "Draft: "
STATES = {"success": forge.PASSED, "skipped": forge.PASSED, "manual": forge.NEEDS_PERSON, "failed": forge.FAILED}
STATES |= {"canceled": forge.FAILED}
MERGE_STATES = {"mergeable": "clean", "conflict": "dirty", "need_rebase": "behind", "draft_status": "draft"}
MERGE_STATES |= {"checking": "unknown", "unchecked": "unknown", "preparing": "unknown"}
REQUEST_STATES = {"opened": forge.OPEN, "locked": forge.OPEN, "merged": forge.MERGED}  # locked: it is being merged
BOT = re.compile(r"(?:project|group)_\d+_bot(?:_\w+)?|service_account_\w+")  # users of access tokens and accounts
# What GitLab writes into a job's trace beside the output: a time stamp before each line, and marks of its sections.
STAMP = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z \d\d[OE][ +]", re.MULTILINE)
SECTION = re.compile(r"^section_(?:start|end):\d+:[^\n]*\n?", re.MULTILINE)


class GitLab:
    """One repository on GitLab."""

    noun = "merge request"

    def __init__(self, remote: Remote, api: ForgeApi) -> None:
        self.remote = remote
        self.api = api
        self.path = _project(remote.path)
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

    def find_fork(self, user: str) -> str:
        forks = self.api.pages(f"{self.path}/forks?owned=true&per_page=100")
        paths = [self._fork_path(data) for data in forks if isinstance(data, dict)]
        own = [path for path in paths if path.rpartition("/")[0] == user]
        return next(iter([*own, *filter(None, paths)]), "")

    def _fork_path(self, data: Any) -> str:
        """Returns the path of a fork that can be pushed to, or ""."""
        root = (data.get("forked_from_project") or {}).get("path_with_namespace")
        if data.get("archived") or str(root).lower() != self.remote.path.lower():
            return ""
        return forge.repository_path(data.get("path_with_namespace"))

    def find_request(self, branch: str, source: str) -> ChangeRequest | None:
        requests = self.api.get(f"{self.path}/merge_requests?source_branch={quote(branch, safe='')}&state=opened") or []
        if not requests:
            return None
        project = int(self.api.get(_project(source))["id"])
        return next((self._request(data) for data in requests if data.get("source_project_id") == project), None)

    def request(self, number: int) -> ChangeRequest:
        return self._request(self.api.get(f"{self.path}/merge_requests/{number}"))

    def create_request(
        self, *, branch: str, source: str, base: str, title: str, body: str, draft: bool
    ) -> ChangeRequest:
        fields: dict[str, Any] = {"source_branch": branch, "target_branch": base, "description": body}
        fields["title"] = f"{DRAFT}{title}" if draft else title
        if source != self.remote.path:  # a fork sends it to the project that it comes from
            fields["target_project_id"] = self.api.get(self.path)["id"]
        return self._request(self.api.send("POST", f"{_project(source)}/merge_requests", fields))

    def update_request(self, request: ChangeRequest, *, title: str, body: str) -> None:
        title = f"{DRAFT}{title}" if request.is_draft else title
        self.api.send("PUT", f"{self.path}/merge_requests/{request.number}", {"title": title, "description": body})

    def set_draft(self, request: ChangeRequest, draft: bool) -> None:
        title = f"{DRAFT}{request.title}" if draft else request.title
        self.api.send("PUT", f"{self.path}/merge_requests/{request.number}", {"title": title})

    def checks(self, sha: str, request: ChangeRequest) -> list[ForgeCheck]:
        statuses = self.api.get(f"{self.path}/repository/commits/{sha}/statuses?per_page=100") or []
        return [
            self._check(status, project)
            for project, jobs in (("", statuses), self._jobs_elsewhere(sha, request))
            for status in jobs
            if not status.get("allow_failure")
        ]

    def _jobs_elsewhere(self, sha: str, request: ChangeRequest) -> tuple[str, list[Any]]:
        """Returns the project and the jobs of a request's pipeline that runs in a fork, or on a trial of the merge."""
        project, pipeline, commit = request.pipeline
        path = f"projects/{project}"
        if not pipeline:
            return "", []
        try:
            if commit != sha and sha not in self.api.get(f"{path}/repository/commits/{commit}").get("parent_ids", ()):
                return "", []  # the pipeline of an earlier commit
            return str(project), self.api.get(f"{path}/pipelines/{pipeline}/jobs?per_page=100") or []
        except ForgeError as error:
            if error.status not in (403, 404):
                raise
            return "", []  # the user may not see it

    def required_checks(self, base: str) -> set[str]:
        return set()  # GitLab requires the pipeline as a whole

    def job_log(self, check: ForgeCheck, most: int) -> str:
        text = self.api.tail(f"{self._job_path(check)}/trace", most) if check.job else ""
        return SECTION.sub("", STAMP.sub("", text))

    def rerun(self, check: ForgeCheck) -> None:
        self.api.send("POST", f"{self._job_path(check)}/retry")

    def _job_path(self, check: ForgeCheck) -> str:
        project, _, job = check.job.rpartition("/")
        return f"projects/{project}/jobs/{job}" if project else f"{self.path}/jobs/{job}"

    def comments(self, request: ChangeRequest) -> list[Comment]:
        query = "?per_page=100&sort=desc&order_by=updated_at"
        notes = self.api.get(f"{self.path}/merge_requests/{request.number}/notes{query}") or []
        comments = [note for note in notes if not note.get("system") and not note.get("resolved")]
        return forge.in_order([self._comment(note, request.url) for note in comments])

    def reply(self, request: ChangeRequest, text: str) -> str:
        data = self.api.send("POST", f"{self.path}/merge_requests/{request.number}/notes", {"body": text})
        return str(data["id"])

    def merge(self, request: ChangeRequest, *, sha: str, method: str) -> str:
        if method == "rebase":
            raise ForgeError("GitLab rebases by a setting of the project", "use --merge or --merge=squash")
        fields = {"sha": sha, "squash": method == "squash"}
        try:
            data = self.api.send("PUT", f"{self.path}/merge_requests/{request.number}/merge", fields)
        except ForgeError as error:
            if error.status != 401:
                raise
            raise ForgeError("you may not merge it", f"let somebody merge who may: {request.url}", status=401) from None
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

    def _comment(self, data: Any, page: str = "") -> Comment:
        place = data.get("position") or {}
        is_removed = bool(place.get("old_line")) and not place.get("new_line")
        side = "old" if is_removed else "new"
        author = _username(data)
        return Comment(
            id=str(data["id"]),
            author=author,
            body=self._text(data.get("body")),
            at=str(data.get("created_at") or ""),
            path=str(place.get(f"{side}_path") or ""),
            line=int(place.get(f"{side}_line") or 0),
            commit=str(place.get("head_sha") or ""),
            is_removed=is_removed,
            is_bot=bool((data.get("author") or {}).get("bot") or BOT.fullmatch(author)),
            url=f"{page}#note_{data['id']}" if page else "",
        )

    def _request(self, data: Any) -> ChangeRequest:
        state = str(data.get("state") or "")
        is_draft = bool(data.get("draft"))
        title = self._text(data.get("title"))
        return ChangeRequest(
            number=int(data["iid"]),
            id=str(data.get("id") or ""),
            url=str(data.get("web_url") or ""),
            state=REQUEST_STATES.get(state, forge.CLOSED),
            is_draft=is_draft,
            head_sha=str(data.get("sha") or ""),
            base=str(data.get("target_branch") or ""),
            title=title.removeprefix(DRAFT) if is_draft else title,
            body=str(data.get("description") or ""),
            merge_commit=str(data.get("merge_commit_sha") or data.get("squash_commit_sha") or "")
            or (str(data.get("sha") or "") if state == "merged" else ""),
            merge_state=MERGE_STATES.get(str(data.get("detailed_merge_status")), "blocked"),
            pipeline=_pipeline_elsewhere(data),
        )

    def _check(self, data: Any, project: str) -> ForgeCheck:
        return ForgeCheck(
            name=str(data.get("name") or ""),
            state=STATES.get(str(data.get("status")), forge.PENDING),
            url=str(data.get("target_url") or data.get("web_url") or ""),
            job=f"{project}/{data['id']}" if project else str(data["id"]),
            summary=self._text(data.get("description")),
        )


def _username(data: Any) -> str:
    return str((data.get("author") or {}).get("username") or "")


def _project(path: str) -> str:
    return f"projects/{quote(path, safe='')}"


def _pipeline_elsewhere(data: Any) -> tuple[int, int, str]:
    """Returns project, id and commit of a request's pipeline whose jobs are not listed with the request's commit."""
    pipeline = data.get("head_pipeline") or {}
    project = pipeline.get("project_id") or data.get("project_id")
    if not pipeline or (project, pipeline.get("sha")) == (data.get("project_id"), data.get("sha")):
        return 0, 0, ""
    return int(project), int(pipeline["id"]), str(pipeline.get("sha") or "")
