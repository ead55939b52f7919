"""A small GitHub on 127.0.0.1: the REST and GraphQL calls that sow makes, and git over the same TLS.

It can fail, be slow, limit the rate and lie: `fail` answers the next calls to a path with something else.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import os
import re
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

Answer = tuple[int, dict[str, str], Any]
TOKEN = "gho_" + "a1B2c3D4e5F6g7H8i9J0" * 2
OWNER, NAME = "harbour", "cranes"
# What a forge keeps until it is closed; all else is its state.
FIXED = {"folder", "authority", "repositories", "lock", "http", "host", "thread"}
EXTENSIONS = "subjectAltName=DNS:localhost,IP:127.0.0.1"


def make_certificate(folder: Path) -> tuple[Path, Path, Path]:
    """Writes an authority and a certificate for localhost; returns the paths of authority, certificate and key."""
    paths = folder / "ca.pem", folder / "cert.pem", folder / "key.pem"
    for path, data in zip(paths, new_certificate(), strict=True):
        path.write_bytes(data)
    return paths


@functools.cache
def new_certificate() -> tuple[bytes, bytes, bytes]:
    """Makes an authority and a certificate, once for all servers of this process."""
    with tempfile.TemporaryDirectory() as folder:
        return tuple(path.read_bytes() for path in _make_files(Path(folder)))  # type: ignore[return-value]


def _make_files(folder: Path) -> tuple[Path, Path, Path]:
    ca, key, request, certificate = (folder / name for name in ("ca.pem", "key.pem", "request.pem", "cert.pem"))
    ca_key, extensions = folder / "ca-key.pem", folder / "extensions"
    extensions.write_text(f"{EXTENSIONS}\n")
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for command in (
        ["req", "-x509", *new_key, "-keyout", str(ca_key), "-out", str(ca), "-days", "2", "-subj", "/CN=sow tests"],
        ["req", *new_key, "-keyout", str(key), "-out", str(request), "-subj", "/CN=localhost"],
        ["x509", "-req", "-in", str(request), "-CA", str(ca), "-CAkey", str(ca_key), "-CAcreateserial", "-days", "2"],
    ):
        more = ["-extfile", str(extensions), "-out", str(certificate)] if command[0] == "x509" else []
        subprocess.run(["openssl", *command, *more], check=True, capture_output=True, timeout=60)
    return ca, certificate, key


class ForgeServer:
    """One host with repositories, people, issues, pull requests and checks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority, certificate, key = make_certificate(folder)
        self.repositories = folder / "repositories"
        self.user = "ada"
        self.access = {"ada": "admin"}  # of people, in every repository
        self.bots: set[str] = set()
        self.forks: dict[str, str] = {}  # the paths of forks, and of the repositories that they come from
        self.issues: dict[int, dict[str, Any]] = {}
        self.pulls: dict[int, dict[str, Any]] = {}
        self.talk: dict[int, list[dict[str, Any]]] = {}
        self.line_comments: dict[int, list[dict[str, Any]]] = {}
        self.reviews: dict[int, list[dict[str, Any]]] = {}
        self.checks: dict[str, list[dict[str, Any]]] = {}  # by commit
        self.statuses: dict[str, list[dict[str, Any]]] = {}
        self.logs: dict[str, str] = {}  # by job
        self.ci: Callable[[str], list[dict[str, Any]]] = lambda sha: []  # what runs for a commit that is pushed
        self.again: Callable[[str, str], dict[str, Any]] = lambda sha, name: {"name": name}  # how a job ends next time
        self.required: list[str] = []
        self.required_by: dict[str, list[str]] = {}  # checks that only one branch requires
        self.protected: set[str] = set()
        self.merge_methods = {"merge", "squash", "rebase"}
        self.drafts = True
        self.read_only = False
        self.slow_checks = True  # the first poll of a commit sees none
        self.stale_head = ""  # what requests say about their head, if that is not true
        self.delay = 0.0
        self.failures: list[tuple[re.Pattern[str], Answer]] = []
        self.hangs: dict[str, threading.Event] = {}  # a call that was done, whose answer does not come until then
        self.merge_state = "clean"
        self.requests: list[tuple[str, str]] = []
        self.sent: list[tuple[str, Any]] = []  # each call with its body
        self.tokens: set[str] = set()
        self.seen: set[str] = set()
        self.number = 0
        self.lock = threading.RLock()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server = self

        class Handler(ForgeHandler):
            forge = server

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
        self.host = f"localhost:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def call_of(self, path: str) -> str:
        """The call that a path of a URL names."""
        return unquote(path.removeprefix("/api/v3").removeprefix("/api"))

    def routes(self) -> list[tuple[str, str, Callable[..., Answer]]]:
        """The calls that this forge answers: method, path and function."""
        return ROUTES

    def state(self) -> dict[str, Any]:
        """Returns a copy of all that people and programs did here, except the files."""
        return copy.deepcopy({name: value for name, value in vars(self).items() if name not in FIXED})

    def restore(self, state: dict[str, Any]) -> None:
        """Goes back to a copy."""
        vars(self).update(copy.deepcopy(state))

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def environment(self, folder: Path) -> dict[str, str]:
        """Returns the variables with which gh and git know this host, and gh its user."""
        return {
            "SSL_CERT_FILE": str(self.authority),
            "GIT_SSL_CAINFO": str(self.authority),
            "GH_ENTERPRISE_TOKEN": TOKEN,
            "GH_CONFIG_DIR": str(folder / "gh"),
        }

    def url(self, owner: str = OWNER, name: str = NAME) -> str:
        return f"https://{self.host}/{owner}/{name}.git"

    def git(self, *arguments: str, owner: str = OWNER, name: str = NAME, stdin: str = "") -> str:
        """Runs git in a repository of the forge."""
        result = subprocess.run(
            ["git", "-C", str(self.repositories / owner / f"{name}.git"), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.folder),
                "GIT_CONFIG_NOSYSTEM": "1",
                **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in IDENTITY.items()},
            },
        )
        assert result.returncode == 0, result.stderr
        return result.stdout.strip()

    def add_repository(self, owner: str = OWNER, name: str = NAME) -> None:
        path = self.repositories / owner / f"{name}.git"
        path.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True, capture_output=True)
        self.git("config", "http.receivepack", "true", owner=owner, name=name)

    def add_fork(self, owner: str, name: str = NAME) -> None:
        """Make a fork of the repository."""
        self.add_repository(owner, name)
        self.forks[f"{owner}/{name}"] = f"{OWNER}/{NAME}"

    def next_number(self) -> int:
        self.number += 1
        return self.number

    def add_issue(self, title: str, body: str = "", *, author: str = "ada", labels: tuple[str, ...] = ()) -> int:
        number = self.next_number()
        self.issues[number] = {"number": number, "title": title, "body": body, "state": "open", "author": author}
        self.issues[number]["labels"] = [{"name": label} for label in labels]
        self.talk[number] = []
        return number

    def comment(self, number: int, body: str, *, author: str = "ada") -> int:
        """Adds a comment on an issue or a pull request."""
        ident = self.next_number()
        self.talk.setdefault(number, []).append(
            {"id": ident, "user": self.person(author), "body": body, "created_at": now()}
        )
        return ident

    def comment_on_line(
        self, number: int, path: str, line: int, body: str, *, author: str = "ada", side: str = "RIGHT"
    ) -> int:
        """A comment that begins a thread; the side LEFT is a line that the request removes."""
        ident, sha = self.next_number(), self.head_of(self.pulls[number])
        place = {"path": path, "line": line, "side": side, "commit": sha, "resolved": False}
        output = {"id": ident, "user": self.person(author), "body": body, "created_at": now(), **place}
        self.line_comments.setdefault(number, []).append(output)
        return ident

    def person(self, login: str) -> dict[str, Any]:
        return {"login": login, "type": "Bot" if login in self.bots else "User"}

    def fail(self, path: str, status: int, body: Any = None, *, times: int = 1, **headers: str) -> None:
        """Answers the next calls to a path (a pattern, after the method) with this."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.failures += [(re.compile(path), (status, named, body or {"message": "made to fail"}))] * times

    def calls(self, pattern: str = "") -> list[str]:
        return [f"{method} {path}" for method, path in self.requests if re.search(pattern, f"{method} {path}")]

    def branch_head(self, branch: str, owner: str = OWNER, name: str = NAME) -> str:
        return self.git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}", owner=owner, name=name)

    def head_of(self, pull: dict[str, Any]) -> str:
        """Returns the commit of a request's branch, also after the branch is deleted."""
        if pull["state"] == "open":
            head = self.branch_head(pull["branch"], pull["owner"], pull["name"])
            pull["head_sha"] = head or pull["head_sha"]
        return str(pull["head_sha"])

    def open_pull(
        self,
        branch: str,
        title: str,
        body: str,
        *,
        base: str = "main",
        owner: str = OWNER,
        name: str = NAME,
        draft: bool = False,
    ) -> int:
        number = self.next_number()
        self.pulls[number] = {
            "number": number, "node_id": f"PR_{number}", "title": title, "body": body, "state": "open",
            "draft": draft, "merge_commit": "", "branch": branch, "owner": owner, "name": name, "base": base,
            "head_sha": self.branch_head(branch, owner, name),
        }  # fmt: skip
        return number

    def merge(self, number: int, method: str = "merge") -> str:
        """Merges a request as GitHub does; returns the commit."""
        pull = self.pulls[number]
        self.fetch_fork(pull)
        base, head = self.branch_head(pull["base"]), self.head_of(pull)
        tree = self.git("merge-tree", "--write-tree", base, head).splitlines()[0]
        parents = ["-p", base, "-p", head] if method == "merge" else ["-p", base]
        commit = self.git("commit-tree", tree, *parents, "-m", f"{pull['title']} (#{number})")
        self.git("update-ref", f"refs/heads/{pull['base']}", commit)
        pull.update(state="closed", merge_commit=commit, head_sha=head)
        return commit

    def fetch_fork(self, pull: dict[str, Any]) -> None:
        """Bring the commits of a request from a fork to the repository."""
        if pull["owner"] != OWNER:
            self.git("fetch", "-q", str(self.repositories / pull["owner"] / f"{pull['name']}.git"), pull["branch"])

    def rerun(self, job: str) -> None:
        """Runs a job again with a new id; `again` is its result then."""
        for sha, runs in self.checks.items():
            for index, each in enumerate(runs):
                if str(each["id"]) == job:
                    runs[index] = self.check_run(**self.again(sha, each["name"]))

    def checks_of(self, sha: str) -> list[dict[str, Any]]:
        """Returns the check runs of a commit; those of a new commit appear after its first request."""
        if sha not in self.checks:
            if self.slow_checks and sha not in self.seen:
                self.seen.add(sha)
                return []
            self.checks[sha] = [self.check_run(**item) for item in self.ci(sha)]
        return self.checks[sha]

    def check_run(
        self, name: str, conclusion: str = "success", *, log: str = "", summary: str = "", app: str = ""
    ) -> Any:
        ident = self.next_number()
        self.logs[str(ident)] = log
        status = {"status": "completed", "conclusion": conclusion} if conclusion else {"status": "in_progress"}
        return {
            "id": ident,
            "name": name,
            **status,
            "details_url": f"https://{self.host}/job/{ident}",
            "output": {"title": None, "summary": summary or None, "text": None},
            "app": {"slug": app or "github-actions"},
        }


IDENTITY = {"NAME": "Forge", "EMAIL": "forge@example.org"}


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class ForgeHandler(BaseHTTPRequestHandler):
    """Answers one call."""

    forge: ForgeServer
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing."""

    def handle_any(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size) if size else b""
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = self._chunks()
        path, _, query = self.path.partition("?")
        if not path.startswith("/api/"):
            self._git(path, query, body)
            return
        call = self.forge.call_of(path)
        with self.forge.lock:
            self.forge.requests.append((self.command, call + (f"?{query}" if query else "")))
            self.forge.sent.append((f"{self.command} {call}", json.loads(body) if body else None))
        if self.forge.delay:
            time.sleep(self.forge.delay)
        answer = self._answer(call, parse_qs(query), json.loads(body) if body else {})
        for pattern, released in list(self.forge.hangs.items()):
            if re.search(pattern, f"{self.command} {call}"):
                del self.forge.hangs[pattern]
                self.forge.requests.append(("HANGS", call))
                released.wait(60)
        self._send(*answer)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any  # noqa: N815 (names of the base class)

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _send(self, status: int, headers: dict[str, str], data: Any) -> None:
        body = data.encode() if isinstance(data, str) else b"" if data is None else json.dumps(data).encode()
        headers = {"Content-Type": "text/plain" if isinstance(data, str) else "application/json", **headers}
        if self.command == "GET" and status == 200:
            etag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
            headers["ETag"] = etag
            if self.headers.get("If-None-Match") == etag:
                status, body = 304, b""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self, path: str, query: dict[str, list[str]], body: Any) -> Answer:
        forge = self.forge
        with forge.lock:
            forge.tokens.add((self.headers.get("Authorization") or "").rpartition(" ")[2])
            for index, (pattern, answer) in enumerate(forge.failures):
                if pattern.search(f"{self.command} {path}"):
                    del forge.failures[index]
                    return answer
            if TOKEN not in (self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN") or ""):
                return 401, {}, {"message": "Bad credentials"}
            for method, pattern, act in forge.routes():
                match = re.fullmatch(pattern, path)
                if match and method == self.command:
                    return act(forge, *match.groups(), query=query, body=body)
        return 404, {}, {"message": "Not Found"}

    def _git(self, path: str, query: str, body: bytes) -> None:
        """Passes a request of git on to `git http-backend`."""
        forge = self.forge
        owner = path.strip("/").split("/")[0]
        is_push = "git-receive-pack" in path or "git-receive-pack" in query
        if (
            is_push
            and (forge.read_only or forge.access.get(forge.user) not in ("admin", "write"))
            and owner != forge.user
        ):
            self._send(403, {}, f"Permission to {path} denied to {forge.user}.")
            return
        result = subprocess.run(
            ["git", "http-backend"],
            input=body,
            capture_output=True,
            env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(forge.repositories),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_NOSYSTEM": "1",
                "HOME": str(forge.folder),
                "PATH_INFO": unquote(path),
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type") or "",
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
                "REMOTE_ADDR": "127.0.0.1",
                "REMOTE_USER": forge.user,
            },
        )
        head, _, rest = result.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
        status = int(headers.pop("Status", "200").split()[0])
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)


def _person(forge: ForgeServer, **_: Any) -> Answer:
    return 200, {}, {"login": forge.user, "type": "User"}


def _repository(forge: ForgeServer, owner: str, name: str, **_: Any) -> Answer:
    if not (forge.repositories / owner / f"{name}.git").is_dir():
        return 404, {}, {"message": "Not Found"}
    can_push = owner == forge.user or (not forge.read_only and forge.access.get(forge.user) in ("admin", "write"))
    root = forge.forks.get(f"{owner}/{name}")
    parents = {"parent": {"full_name": root}, "source": {"full_name": root}} if root else {}
    return 200, {}, {
        "full_name": f"{owner}/{name}", "default_branch": "main", "permissions": {"push": can_push, "pull": True},
        "owner": {"login": owner}, "fork": bool(root), **parents,
    }  # fmt: skip


def _forks(forge: ForgeServer, owner: str, name: str, **_: Any) -> Answer:
    """The forks of a repository; the list does not say what they are forks of."""
    paths = [path for path, root in forge.forks.items() if root == f"{owner}/{name}"]
    return 200, {}, [{"full_name": path, "fork": True, "owner": {"login": path.split("/")[0]}} for path in paths]


def _issue_view(forge: ForgeServer, issue: dict[str, Any]) -> dict[str, Any]:
    number = issue["number"]
    view = {key: value for key, value in issue.items() if key != "author"}
    return view | {
        "user": forge.person(issue["author"]),
        "comments": len(forge.talk.get(number, ())),
        "html_url": f"https://{forge.host}/{OWNER}/{NAME}/issues/{number}",
    }


def _issue(forge: ForgeServer, owner: str, name: str, number: str, **_: Any) -> Answer:
    if int(number) in forge.pulls:
        return 200, {}, {"number": int(number), "pull_request": {}, "title": "", "user": forge.person("ada")}
    issue = forge.issues.get(int(number))
    return (200, {}, _issue_view(forge, issue)) if issue else (404, {}, {"message": "Not Found"})


def _issues(forge: ForgeServer, owner: str, name: str, *, query: Any, **_: Any) -> Answer:
    label, page = query.get("labels", [""])[0], int(query.get("page", ["1"])[0])
    issues = [
        _issue_view(forge, issue)
        for issue in forge.issues.values()
        if issue["state"] == "open" and (not label or {"name": label} in issue["labels"])
    ]
    issues += [{"number": number, "pull_request": {}, "title": "A request"} for number in forge.pulls]
    size = 2  # small pages, so that tests see several
    headers = {}
    if len(issues) > page * size:
        where = f"https://{forge.host}/api/v3/repos/{owner}/{name}/issues?labels={label}&state=open&page={page + 1}"
        headers["Link"] = f'<{where}>; rel="next"'
    return 200, headers, issues[(page - 1) * size : page * size]


def _talk(forge: ForgeServer, owner: str, name: str, number: str, **_: Any) -> Answer:
    return 200, {}, forge.talk.get(int(number), [])


def _say(forge: ForgeServer, owner: str, name: str, number: str, *, body: Any, **_: Any) -> Answer:
    return 201, {}, {"id": forge.comment(int(number), body["body"], author=forge.user)}


def _permission(forge: ForgeServer, owner: str, name: str, user: str, **_: Any) -> Answer:
    return 200, {}, {"permission": forge.access.get(user, "read"), "user": forge.person(user)}


def _pull_view(forge: ForgeServer, pull: dict[str, Any]) -> dict[str, Any]:
    number, sha = pull["number"], forge.head_of(pull)
    return {
        "number": number,
        "node_id": pull["node_id"],
        "title": pull["title"],
        "body": pull["body"],
        "state": pull["state"],
        "draft": pull["draft"],
        "merged": bool(pull["merge_commit"]),
        "merge_commit_sha": pull["merge_commit"] or "0" * 40,  # before the merge: of a trial that GitHub makes
        "mergeable_state": "draft" if pull["draft"] else forge.merge_state,
        "head": {"ref": pull["branch"], "sha": forge.stale_head or sha},
        "base": {"ref": pull["base"]},
        "html_url": f"https://{forge.host}/{OWNER}/{NAME}/pull/{number}",
        "user": forge.person(forge.user),
    }


def _pulls(forge: ForgeServer, owner: str, name: str, *, query: Any, **_: Any) -> Answer:
    head, state = query["head"][0], query["state"][0]
    pulls = [pull for pull in forge.pulls.values() if f"{pull['owner']}:{pull['branch']}" == head]
    return 200, {}, [_pull_view(forge, pull) for pull in pulls if pull["state"] == state]


def _open_pull(forge: ForgeServer, owner: str, name: str, *, body: Any, **_: Any) -> Answer:
    head_owner, _, branch = body["head"].rpartition(":")
    head_owner = head_owner or owner
    forks = [path.split("/")[1] for path in forge.forks if path.startswith(f"{head_owner}/")]
    head_name = forks[0] if forks else NAME
    sha = forge.branch_head(branch, head_owner, head_name)
    if not sha or not forge.branch_head(body["base"]):
        return 422, {}, {"message": "Validation Failed", "errors": [{"message": "head or base is invalid"}]}
    if any(p["branch"] == branch and p["owner"] == head_owner and p["state"] == "open" for p in forge.pulls.values()):
        return 422, {}, {"message": "Validation Failed", "errors": [{"message": f"A pull request for {branch} exists"}]}
    if body.get("draft") and not forge.drafts:
        return 422, {}, {"message": "Draft pull requests are not supported in this repository."}
    where = {"base": body["base"], "owner": head_owner, "name": head_name}
    number = forge.open_pull(branch, body["title"], body["body"], draft=bool(body.get("draft")), **where)
    return 201, {}, _pull_view(forge, forge.pulls[number])


def _pull(forge: ForgeServer, owner: str, name: str, number: str, **_: Any) -> Answer:
    pull = forge.pulls.get(int(number))
    return (200, {}, _pull_view(forge, pull)) if pull else (404, {}, {"message": "Not Found"})


def _change_pull(forge: ForgeServer, owner: str, name: str, number: str, *, body: Any, **_: Any) -> Answer:
    pull = forge.pulls[int(number)]
    pull.update({key: body[key] for key in ("title", "body", "state") if key in body})  # `draft` is ignored
    return 200, {}, _pull_view(forge, pull)


def _merge(forge: ForgeServer, owner: str, name: str, number: str, *, body: Any, **_: Any) -> Answer:
    pull = forge.pulls[int(number)]
    method = body.get("merge_method", "merge")
    if pull["state"] != "open" or pull["draft"] or method not in forge.merge_methods:
        return 405, {}, {"message": "Pull Request is not mergeable"}
    head = forge.head_of(pull)
    if body.get("sha", head) != head:
        return 409, {}, {"message": "Head branch was modified. Review and try the merge again."}
    return 200, {}, {"sha": forge.merge(int(number), method), "merged": True}


def _check_runs(forge: ForgeServer, owner: str, name: str, sha: str, **_: Any) -> Answer:
    runs = forge.checks_of(sha)
    return 200, {}, {"total_count": len(runs), "check_runs": runs}


def _status(forge: ForgeServer, owner: str, name: str, sha: str, **_: Any) -> Answer:
    return 200, {}, {"statuses": forge.statuses.get(sha, [])}


def _rules(forge: ForgeServer, owner: str, name: str, branch: str, **_: Any) -> Answer:
    checks = [{"context": name} for name in [*forge.required, *forge.required_by.get(branch, ())]]
    rule = {"type": "required_status_checks", "parameters": {"required_status_checks": checks}}
    return 200, {}, [rule] if checks else []


def _branch(forge: ForgeServer, owner: str, name: str, branch: str, **_: Any) -> Answer:
    return 200, {}, {"name": branch, "protection": {"enabled": False}}


def _log(forge: ForgeServer, owner: str, name: str, job: str, **_: Any) -> Answer:
    if job not in forge.logs:
        return 410, {}, {"message": "Gone"}
    return 302, {"Location": f"https://{forge.host}/api/v3/blobs/{job}"}, None


def _blob(forge: ForgeServer, job: str, **_: Any) -> Answer:
    return 200, {}, forge.logs[job]


def _rerun(forge: ForgeServer, owner: str, name: str, job: str, **_: Any) -> Answer:
    forge.rerun(job)
    return 201, {}, {}


ROUTES: list[tuple[str, str, Callable[..., Answer]]] = [
    ("GET", "/", lambda forge, **_: (200, {}, {})),
    ("GET", "/user", _person),
    ("GET", "/repos/([^/]+)/([^/]+)", _repository),
    ("GET", "/repos/([^/]+)/([^/]+)/forks", _forks),
    ("GET", "/repos/([^/]+)/([^/]+)/issues", _issues),
    ("GET", r"/repos/([^/]+)/([^/]+)/issues/(\d+)", _issue),
    ("GET", r"/repos/([^/]+)/([^/]+)/issues/(\d+)/comments", _talk),
    ("POST", r"/repos/([^/]+)/([^/]+)/issues/(\d+)/comments", _say),
    ("GET", "/repos/([^/]+)/([^/]+)/collaborators/([^/]+)/permission", _permission),
    ("GET", "/repos/([^/]+)/([^/]+)/pulls", _pulls),
    ("POST", "/repos/([^/]+)/([^/]+)/pulls", _open_pull),
    ("GET", r"/repos/([^/]+)/([^/]+)/pulls/(\d+)", _pull),
    ("PATCH", r"/repos/([^/]+)/([^/]+)/pulls/(\d+)", _change_pull),
    ("PUT", r"/repos/([^/]+)/([^/]+)/pulls/(\d+)/merge", _merge),
    ("GET", "/repos/([^/]+)/([^/]+)/commits/([0-9a-f]+)/check-runs", _check_runs),
    ("GET", "/repos/([^/]+)/([^/]+)/commits/([0-9a-f]+)/status", _status),
    ("GET", "/repos/([^/]+)/([^/]+)/rules/branches/(.+)", _rules),
    ("GET", "/repos/([^/]+)/([^/]+)/branches/(.+)", _branch),
    ("GET", r"/repos/([^/]+)/([^/]+)/actions/jobs/(\d+)/logs", _log),
    ("POST", r"/repos/([^/]+)/([^/]+)/actions/jobs/(\d+)/rerun", _rerun),
    ("GET", r"/blobs/(\d+)", _blob),
]


def _said(forge: ForgeServer, number: int, before: str | None) -> dict[str, Any]:
    """What was said about a request, each list with its newest hundred items, oldest first."""
    page = f"https://{forge.host}/{OWNER}/{NAME}/pull/{number}"

    def entry(item: dict[str, Any], kind: str) -> dict[str, Any]:
        login, is_bot = item["user"]["login"], item["user"]["type"] == "Bot"
        author = {"login": login.removesuffix("[bot]"), "__typename": "Bot" if is_bot else "User"}
        return {
            "body": item["body"],
            "url": f"{page}#{kind}{item['id']}",
            "createdAt": item["created_at"],
            "author": author,
        }

    lines = forge.line_comments.get(number, [])
    end = int(before) if before else len(lines)
    begin = max(end - 100, 0)
    threads = [
        {
            "isResolved": item["resolved"], "diffSide": item["side"], "path": item["path"], "line": item["line"],
            "originalLine": item["line"],
            "comments": {"nodes": [entry(item, "discussion_r") | {
                "state": "SUBMITTED", "commit": {"oid": item["commit"]}, "originalCommit": {"oid": item["commit"]},
            }]},
        }
        for item in lines[begin:end]
    ]  # fmt: skip
    reviews = [item for item in forge.reviews.get(number, []) if item["state"] in ("COMMENTED", "CHANGES_REQUESTED")]
    return {
        "comments": {"nodes": [entry(item, "issuecomment-") for item in forge.talk.get(number, [])[-100:]]},
        "reviews": {"nodes": [entry(item, "pullrequestreview-") for item in reviews[-100:]]},
        "reviewThreads": {
            "pageInfo": {"hasPreviousPage": begin > 0, "startCursor": str(begin)},
            "nodes": threads,
        },
    }


def _graphql(forge: ForgeServer, *, body: Any, **_: Any) -> Answer:
    if "viewer" in body["query"]:
        return 200, {}, {"data": {"viewer": {"login": forge.user}}}
    variables = body["variables"]
    pull = next((pull for pull in forge.pulls.values() if pull["node_id"] == variables["id"]), None)
    if pull is None:
        return 200, {}, {"data": None, "errors": [{"type": "NOT_FOUND", "message": "Could not resolve to a node"}]}
    if "reviewThreads" in body["query"]:
        return 200, {}, {"data": {"node": _said(forge, pull["number"], variables.get("before"))}}
    pull["draft"] = "convertPullRequestToDraft" in body["query"]
    return 200, {}, {"data": {}}


ROUTES.append(("POST", "/graphql", _graphql))
