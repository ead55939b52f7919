"""A small GitLab on 127.0.0.1, with the calls that sow makes; it has the repositories and people of ForgeServer."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from support.forge_server import NAME, OWNER, TOKEN, Answer, ForgeServer, now
from support.paths import ROOT

LEVELS = {"admin": 40, "write": 30, "read": 20}
ENDS = {"success": "success", "failure": "failed", "": "running"}
DRAFT = "Draft: "


class GitLabServer(ForgeServer):
    """One GitLab with a project, forks of it, merge requests and their pipelines."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.path = f"{OWNER}/{NAME}"  # of the project in calls; it can be in a group of a group
        self.trials = False  # whether pipelines run on a trial of the merge
        self.trial_commits: dict[str, str] = {}

    def environment(self, folder: Path) -> dict[str, str]:
        """The variables with which glab and git know this host; glab is a stand-in."""
        glab = folder / "programs" / "glab"
        glab.parent.mkdir()
        glab.write_text(f"#!{sys.executable}\n{(ROOT / 'tests/fakes/glab.py').read_text()}")
        glab.chmod(0o755)
        return {
            "SSL_CERT_FILE": str(self.authority),
            "GIT_SSL_CAINFO": str(self.authority),
            "GITLAB_TOKEN": TOKEN,
            "GLAB_CONFIG_DIR": str(folder / "glab"),
            "PATH": f"{glab.parent}:{os.environ['PATH']}",
        }

    def call_of(self, path: str) -> str:
        """The call that a path of a URL names; a project's path stays one encoded part of it, as GitLab needs it."""
        return path.removeprefix("/api/v4")

    def routes(self) -> list[tuple[str, str, Callable[..., Answer]]]:
        return ROUTES

    def projects(self) -> list[str]:
        """The paths of all projects; the place in the list is the id."""
        return ["", self.path, *self.forks]

    def project(self, name: str) -> int:
        """The id of a project that a call names by its id or its encoded path, or 0."""
        path = unquote(name)
        if path.isdigit():
            return int(path) if int(path) < len(self.projects()) else 0
        return self.projects().index(path) if path in self.projects() else 0

    def source(self, pull: dict[str, Any]) -> int:
        return self.projects().index(f"{pull['owner']}/{pull['name']}")

    def may_push(self, project: int) -> bool:
        owner = self.projects()[project].split("/")[0]
        return owner == self.user or (not self.read_only and LEVELS[self.access[self.user]] >= 30)

    def check_run(
        self, name: str, conclusion: str = "success", *, log: str = "", summary: str = "", app: str = ""
    ) -> Any:
        """A job of a pipeline."""
        ident = self.next_number()
        self.logs[str(ident)] = log
        return {
            "id": ident, "name": name, "status": ENDS.get(conclusion, conclusion), "stage": "test",
            "allow_failure": False, "description": summary or None, "web_url": f"https://{self.host}/-/jobs/{ident}",
        }  # fmt: skip

    def merge(self, number: int, method: str = "merge") -> str:
        """Merge a request as GitLab does: with a merge commit, also after a squash."""
        pull = self.pulls[number]
        self.fetch_fork(pull)
        base, head = self.branch_head(pull["base"]), self.head_of(pull)
        tree = self.git("merge-tree", "--write-tree", base, head).splitlines()[0]
        if method == "squash":
            start = self.git("merge-base", base, head)
            pull["squash_commit"] = self.git("commit-tree", f"{head}^{{tree}}", "-p", start, "-m", pull["title"])
        merged = pull.get("squash_commit", head)
        commit = self.git("commit-tree", tree, "-p", base, "-p", merged, "-m", f"Merge branch '{pull['branch']}'")
        self.git("update-ref", f"refs/heads/{pull['base']}", commit)
        pull.update(state="closed", merge_commit=commit, head_sha=head)
        return commit

    def pipeline(self, pull: dict[str, Any]) -> dict[str, Any]:
        """The pipeline of a request's head, which runs in the project of its branch."""
        commit = self.head_of(pull)
        if self.trials:
            commit = self.trial_commits.setdefault(commit, self._trial(pull, commit))
        return {"id": 1000 + pull["number"], "project_id": self.source(pull), "sha": commit}

    def _trial(self, pull: dict[str, Any], head: str) -> str:
        self.fetch_fork(pull)
        parents = ["-p", self.branch_head(pull["base"]), "-p", head]
        return self.git("commit-tree", f"{head}^{{tree}}", *parents, "-m", "Trial")

    def view(self, pull: dict[str, Any]) -> dict[str, Any]:
        is_merged = bool(pull["merge_commit"])
        is_draft = pull["title"].startswith(DRAFT)
        status = {"clean": "mergeable"}.get(self.merge_state, self.merge_state)
        return {
            "id": 70_000 + pull["number"],
            "iid": pull["number"],
            "project_id": 1,
            "source_project_id": self.source(pull),
            "target_project_id": 1,
            "state": "merged" if is_merged else "opened" if pull["state"] == "open" else "closed",
            "title": pull["title"],
            "description": pull["body"],
            "draft": is_draft,
            "source_branch": pull["branch"],
            "target_branch": pull["base"],
            "sha": self.stale_head or self.head_of(pull),
            "merge_commit_sha": pull["merge_commit"] or None,
            "squash_commit_sha": pull.get("squash_commit"),
            "detailed_merge_status": "draft_status" if is_draft else status,
            "web_url": f"https://{self.host}/{OWNER}/{NAME}/-/merge_requests/{pull['number']}",
            "head_pipeline": self.pipeline(pull),
        }

    def notes(self, number: int) -> list[dict[str, Any]]:
        """The notes of a merge request, newest first, with one of GitLab itself."""
        pull = self.pulls[number]
        notes = [
            {"id": 1, "system": True, "body": "added 1 commit", "author": {"username": self.user}, "created_at": now()}
        ]
        for item in self.talk.get(number, []):
            notes.append({**note_of(item), "type": None, "resolvable": False})
        for item in self.line_comments.get(number, []):
            start = self.git("merge-base", pull["base"], item["commit"])
            side = "old" if item["side"] == "LEFT" else "new"
            place = {"old_path": item["path"], "new_path": item["path"], "old_line": None, "new_line": None}
            place |= {f"{side}_line": item["line"], "head_sha": item["commit"], "base_sha": start, "start_sha": start}
            is_resolved = {"resolvable": True, "resolved": item["resolved"]}
            notes.append(
                {**note_of(item), "type": "DiffNote", "position": {"position_type": "text", **place}, **is_resolved}
            )
        return sorted(notes, key=lambda note: note["id"], reverse=True)


def note_of(item: dict[str, Any]) -> dict[str, Any]:
    author = {"username": item["user"]["login"]}
    return {"id": item["id"], "body": item["body"], "author": author, "created_at": item["created_at"], "system": False}


MISSING: Answer = (404, {}, {"message": "404 Not Found"})


def _user(forge: GitLabServer, **_: Any) -> Answer:
    return 200, {}, {"id": 1, "username": forge.user}


def _project(forge: GitLabServer, name: str, **_: Any) -> Answer:
    ident = forge.project(name)
    if not ident:
        return 404, {}, {"message": "404 Project Not Found"}
    access = {"access_level": 30} if forge.may_push(ident) else None
    return 200, {}, {
        "id": ident, "path_with_namespace": forge.projects()[ident], "default_branch": "main",
        "permissions": {"project_access": access, "group_access": None},
    }  # fmt: skip


def _issue_view(forge: GitLabServer, issue: dict[str, Any]) -> dict[str, Any]:
    number, author = issue["number"], {"username": issue["author"]}
    return {
        "id": 90_000 + number, "iid": number, "title": issue["title"], "description": issue["body"], "author": author,
        "state": "opened" if issue["state"] == "open" else "closed",
        "labels": [label["name"] for label in issue["labels"]],
        "web_url": f"https://{forge.host}/{forge.path}/-/issues/{number}",
    }  # fmt: skip


def _issues(forge: GitLabServer, name: str, *, query: Any, **_: Any) -> Answer:
    """The issues with a label, two on a page."""
    label, page = query["labels"][0], int(query.get("page", ["1"])[0])
    issues = [issue for issue in forge.issues.values() if {"name": label} in issue["labels"]]
    views = [_issue_view(forge, issue) for issue in issues if issue["state"] == "open"]
    where = f"https://{forge.host}/api/v4/projects/{name}/issues?labels={label}&state=opened&page={page + 1}"
    headers = {"Link": f'<{where}>; rel="next"'} if len(views) > 2 * page else {}
    return 200, headers, views[2 * page - 2 : 2 * page]


def _issue(forge: GitLabServer, name: str, number: str, **_: Any) -> Answer:
    issue = forge.issues.get(int(number))
    return (200, {}, _issue_view(forge, issue)) if issue else MISSING


def _issue_notes(forge: GitLabServer, name: str, number: str, **_: Any) -> Answer:
    system = {"id": 1, "system": True, "body": "changed the label", "author": {"username": "ada"}, "created_at": now()}
    return 200, {}, [system, *map(note_of, forge.talk[int(number)])]


def _forks(forge: GitLabServer, name: str, *, query: Any, **_: Any) -> Answer:
    """The forks of a project; `owned` leaves out those of others."""
    root = forge.projects()[forge.project(name)]
    paths = [path for path, origin in forge.forks.items() if origin == root]
    if query.get("owned") == ["true"]:
        paths = [path for path in paths if path.startswith(f"{forge.user}/")]
    origin = {"id": 1, "path_with_namespace": root}
    return 200, {}, [{"path_with_namespace": path, "forked_from_project": origin} for path in paths]


def _members(forge: GitLabServer, name: str, *, query: Any, **_: Any) -> Answer:
    wanted = query["query"][0]
    people = [{"username": user, "access_level": LEVELS[right]} for user, right in forge.access.items()]
    return 200, {}, [person for person in people if wanted in person["username"]]


def _requests(forge: GitLabServer, name: str, *, query: Any, **_: Any) -> Answer:
    views = [forge.view(pull) for pull in forge.pulls.values()]
    branch, state = query["source_branch"][0], query["state"][0]
    return 200, {}, [view for view in views if (view["source_branch"], view["state"]) == (branch, state)]


def _open(forge: GitLabServer, name: str, *, body: Any, **_: Any) -> Answer:
    """Open a request of a branch of this project, which can be for the project that it is a fork of."""
    ident = forge.project(name)
    owner, repository = forge.projects()[ident].split("/")
    branch, base = body["source_branch"], body["target_branch"]
    if body.get("target_project_id", ident) != 1 or not forge.branch_head(branch, owner, repository):
        return 422, {}, {"message": {"base": ["source branch or target project is invalid"]}}
    if any(
        pull["branch"] == branch and forge.source(pull) == ident and pull["state"] == "open"
        for pull in forge.pulls.values()
    ):
        return 409, {}, {"message": [f"Another open merge request already exists for this source branch: {branch}"]}
    number = forge.open_pull(branch, body["title"], body["description"], base=base, owner=owner, name=repository)
    return 201, {}, forge.view(forge.pulls[number])


def _request(forge: GitLabServer, name: str, number: str, **_: Any) -> Answer:
    pull = forge.pulls.get(int(number))
    return (200, {}, forge.view(pull)) if pull else MISSING


def _change(forge: GitLabServer, name: str, number: str, *, body: Any, **_: Any) -> Answer:
    pull = forge.pulls[int(number)]
    pull.update({field: body[word] for word, field in (("title", "title"), ("description", "body")) if word in body})
    return 200, {}, forge.view(pull)


def _merge(forge: GitLabServer, name: str, number: str, *, body: Any, **_: Any) -> Answer:
    pull = forge.pulls[int(number)]
    if not forge.may_push(1):
        return 401, {}, {"message": "401 Unauthorized"}
    if forge.view(pull)["detailed_merge_status"] != "mergeable" or pull["state"] != "open":
        return 405, {}, {"message": "405 Method Not Allowed"}
    if body.get("sha", forge.head_of(pull)) != forge.head_of(pull):
        return 409, {}, {"message": "SHA does not match HEAD of source branch"}
    forge.merge(int(number), "squash" if body.get("squash") else "merge")
    return 200, {}, forge.view(pull)


def _statuses(forge: GitLabServer, name: str, sha: str, **_: Any) -> Answer:
    """The jobs of a commit's pipelines in this project; a trial of the merge is another commit."""
    sources = [forge.source(pull) for pull in forge.pulls.values() if forge.head_of(pull) == sha]
    return 200, {}, forge.checks_of(sha) if forge.project(name) in sources and not forge.trials else []


def _commit(forge: GitLabServer, name: str, sha: str, **_: Any) -> Answer:
    owner, repository = forge.projects()[forge.project(name)].split("/")
    parents = forge.git("rev-list", "--no-walk", "--parents", sha, owner=owner, name=repository).split()[1:]
    return 200, {}, {"id": sha, "parent_ids": parents}


def _jobs(forge: GitLabServer, name: str, pipeline: str, **_: Any) -> Answer:
    pull = forge.pulls[int(pipeline) - 1000]
    return (200, {}, forge.checks_of(forge.head_of(pull))) if forge.source(pull) == forge.project(name) else MISSING


def _trace(forge: GitLabServer, name: str, job: str, **_: Any) -> Answer:
    return (200, {}, forge.logs[job]) if job in forge.logs else MISSING


def _retry(forge: GitLabServer, name: str, job: str, **_: Any) -> Answer:
    forge.rerun(job)
    return 201, {}, {}


def _notes(forge: GitLabServer, name: str, number: str, *, query: Any, **_: Any) -> Answer:
    return 200, {}, forge.notes(int(number))[: int(query["per_page"][0])]


def _say(forge: GitLabServer, name: str, number: str, *, body: Any, **_: Any) -> Answer:
    return 201, {}, {"id": forge.comment(int(number), body["body"], author=forge.user)}


PROJECT = "/projects/([^/]+)"
REQUEST = rf"{PROJECT}/merge_requests/(\d+)"
ROUTES: list[tuple[str, str, Callable[..., Answer]]] = [
    ("GET", "/user", _user),
    ("GET", PROJECT, _project),
    ("GET", f"{PROJECT}/forks", _forks),
    ("GET", f"{PROJECT}/issues", _issues),
    ("GET", rf"{PROJECT}/issues/(\d+)", _issue),
    ("GET", rf"{PROJECT}/issues/(\d+)/notes", _issue_notes),
    ("GET", f"{PROJECT}/members/all", _members),
    ("GET", f"{PROJECT}/merge_requests", _requests),
    ("POST", f"{PROJECT}/merge_requests", _open),
    ("GET", REQUEST, _request),
    ("PUT", REQUEST, _change),
    ("PUT", f"{REQUEST}/merge", _merge),
    ("GET", f"{REQUEST}/notes", _notes),
    ("POST", f"{REQUEST}/notes", _say),
    ("GET", f"{PROJECT}/repository/commits/([0-9a-f]+)/statuses", _statuses),
    ("GET", f"{PROJECT}/repository/commits/([0-9a-f]+)", _commit),
    ("GET", rf"{PROJECT}/pipelines/(\d+)/jobs", _jobs),
    ("GET", rf"{PROJECT}/jobs/(\d+)/trace", _trace),
    ("POST", rf"{PROJECT}/jobs/(\d+)/retry", _retry),
]
