"""Pushes a project's branch, and opens or updates its request on the forge."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from sow.domain.documents.state import ProjectState
from sow.domain.text.units import counted
from sow.engine.delivery.record import MERGED, DeliveryRecord, find_record, load_project
from sow.errors import SowError, SystemFailure, Waiting
from sow.forge import connect, forge
from sow.forge.forge import CLOSED, ChangeRequest, Forge, ForgeError
from sow.gitwork.delivered_branch import HEADS, DeliveredBranch
from sow.gitwork.repository import STATE_PATHS, Repository, is_below
from sow.plans import reader
from sow.reports import request_text, run_report
from sow.store import inbox
from sow.store.files.checkout_home import Home
from sow.store.projects import plan_files, task_folder
from sow.store.runs import run_folder
from sow.store.runs.run_folder import RunFolder
from sow.system import clock
from sow.system.terminal import escape_line

MOST_TITLE = 200
MOST_WAITING = 20
FORKS = {
    forge.GITHUB: "gh repo fork {path} --remote --remote-name fork",
    forge.GITLAB: "glab repo fork {path} --remote",
}
ISSUE = re.compile(r"https?://([^/\s]+)/(\S+?)/(?:-/)?issues/(\d+)/?")


@dataclass(frozen=True, kw_only=True)
class DeliverOptions:
    """The options of one call."""

    run: str = ""
    remote: str = ""  # by default the one of the open request, or origin
    base: str = ""
    title: str = ""
    draft: bool = False


class BranchDelivery:
    """One branch of the user on its way to a request."""

    def __init__(
        self, home: Home, environment: Mapping[str, str], options: DeliverOptions, tell: Callable[[str], None]
    ) -> None:
        self.home = home
        self.environment = environment
        self.tell = tell
        self.repository = Repository(home)
        self.project: ProjectState = load_project(home)
        self.branch = self.project["branch"]
        self.record: DeliveryRecord = find_record(home, self.project, options.run)
        remote = options.remote or str(self.record.data.get("remote") or "origin")
        self.options = replace(options, remote=remote)
        self.forge: Forge = connect.connect(home.root, environment, remote, retry="sow deliver --remote")

    @property
    def noun(self) -> str:
        return self.forge.noun

    def deliver(self) -> ChangeRequest:
        """Pushes the branch and opens or updates the request; each step is recorded before it is done."""
        with self.record.claimed():
            self._require_result()
            data = self.record.data
            request = self._recorded()
            if request is not None and request.state == MERGED and not self.has_news():
                self.tell(f"{self.noun} {request.number} is merged: {escape_line(request.url)}")
                return request
            if not data or (request is not None and request.state != forge.OPEN and self.has_news()):
                self._begin()
            self._note_uncommitted()
            self._push()
            return self._request()

    def _note_uncommitted(self) -> None:
        """Says how many changed files are not delivered, because only commits are."""
        arguments = ["status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty"]
        entries = [entry[3:] for entry in self.repository.git(*arguments).split("\0") if entry[3:]]
        count = sum(not is_below(path, STATE_PATHS) for path in entries)
        if count:
            self.tell(f"{counted(count, 'changed file')} not committed, and not delivered")

    def update(self) -> ChangeRequest:
        """Pushes what is new on the branch, and brings the open request up to date."""
        with self.record.claimed():
            self._push()
            return self._request()

    def _recorded(self) -> ChangeRequest | None:
        """Returns the recorded request as it is now, and records its end."""
        number = self.record.data.get("number", 0)
        if not number:
            return None
        request = self.forge.request(number)
        if request.state == MERGED:
            self.record_merge(request)
        elif self.record.data.get("state") != request.state:
            self.record.update(state=request.state)
        return request

    def has_news(self) -> bool:
        """Tells whether the branch has commits that were not delivered."""
        return self.record.data.get("source") != self._source()

    def _source(self) -> str:
        return self.repository.commit_of(f"{HEADS}{self.branch}")

    def _require_result(self) -> None:
        """Raises if the result of the last run is not on the branch yet."""
        tasks = [task for _, task in task_folder.load_readable(self.home, self.project)[0]]
        run_folder.refuse_undelivered(self.home, self.project["project_id"], tasks)

    def _begin(self) -> None:
        """Finds out where the branch goes, and records it."""
        facts = self.forge.facts()
        base = self.options.base or facts.default_branch
        if base == self.branch:
            raise SowError(f"{self.branch} is the branch that the request would change", "work on a branch of its own")
        own = self.forge.remote.path
        source = own if facts.can_push else self._fork(facts.user)
        existing = self.forge.find_request(self.branch, source)
        if existing is not None and self.options.base and existing.base != base:
            hint = f"sow deliver --base {existing.base}, or change its base at {existing.url}"
            raise SowError(f"{self.noun} {existing.number} of {self.branch} is for {existing.base}", hint)
        base = existing.base if existing is not None else base
        heads = self._target().heads(base)
        if base not in heads:
            raise SowError(f"there is no branch {base!r:.100} on {self.options.remote}", "sow deliver --base BRANCH")
        self._require_difference(base, heads[base])
        owner, fork = source.rpartition("/")[0], {} if source == own else {"fork": source}
        self.record.begin(
            remote=self.options.remote, owner=owner, branch=self.branch, base=base, state=forge.OPEN, **fork
        )

    def _require_difference(self, base: str, head: str) -> None:
        """Raises if the branch has nothing that its base does not have."""
        target = self._target()
        target.fetch(base, head)
        source = self._source()
        same = self.repository.tree_of(target.commit_to_push(source, "")) == self.repository.tree_of(head)
        if same or self.repository.is_ancestor(source, head):
            raise SowError(f"{self.branch} has nothing that {base} does not have", "there is nothing to deliver")

    def _target(self) -> DeliveredBranch:
        """Returns the branch in the repository that gets the request, from which its base is read."""
        return DeliveredBranch(self.repository, self.options.remote, self.branch, self.environment)

    def _delivered(self) -> DeliveredBranch:
        """Returns the branch where it is pushed to: the repository of the request, or the user's fork of it."""
        source, data = self._source_path(), self.record.data
        address = str(data.get("remote") or self.options.remote)
        if source != self.forge.remote.path:
            address = self._fork_address(source)
        return DeliveredBranch(self.repository, address, str(data.get("branch") or self.branch), self.environment)

    def _source_path(self) -> str:
        """Returns the path of the repository that has the branch: the one of the request, or the user's fork of it."""
        own, data = self.forge.remote, self.record.data
        return data.get("fork") or f"{data.get('owner') or own.owner}/{own.name}"

    def _fork(self, user: str) -> str:
        """Returns the path of the user's fork; raises with the command that makes one if there is none."""
        own = self.forge.remote
        path = self.forge.find_fork(user)
        if not path:
            raise Waiting(
                f"you may not push to {own.path}, and {user} has no fork of it",
                f"{FORKS[own.kind].format(path=own.path)}, then: sow deliver",
            )
        return path

    def _fork_address(self, path: str) -> str:
        """Returns the remote of a fork, or its URL if no remote of this checkout is the fork."""
        own = self.forge.remote
        for name in self.repository.git("remote").split():
            with suppress(SowError):  # a remote that is no forge
                host, named = connect.parse_url(connect.remote_url(self.home.root, name))
                if host == own.host and named.lower() == path.lower():
                    return name
        return connect.sibling_url(connect.remote_url(self.home.root, self.options.remote), path)

    def _push(self) -> None:
        """Takes in what others pushed, then pushes the branch."""
        data = self.record.data
        target = self._delivered()
        pushed = data.get("head", "")
        there = target.heads(target.name).get(target.name, "")
        source = self._source()
        if there and not target.contains(there, pushed, source):
            target.fetch(target.name, there)
            paths = target.take_in(self.branch, there)
            source = self._source()
            self.record.journal("request_taken_in", commit=there, paths=len(paths))
            self.tell(f"took in {len(paths)} changed files that were pushed to {target.name}")
        head = target.commit_to_push(source, pushed if pushed and not target.contains(pushed, source) else there)
        if there == head and pushed == head:
            if data.get("source") != source:
                self.record.update(source=source)
            return
        with self.repository.locked():
            target.pin(self.record.run_id, head)
        self.record.update(source=source, head=head)
        if there != head:
            target.push(head)
            self.record.journal("request_pushed", branch=target.name, commit=head)
            self.tell(f"pushed {self.branch} at {head[:12]}")

    def _request(self) -> ChangeRequest:
        """Opens the request, or brings its text up to date; it is a draft while something waits."""
        data = self.record.data
        waiting = self.waiting()
        wants_draft = self.options.draft or bool(waiting)
        request = self._find()
        section = request_text.body(self.home, self._documents(), waiting, self._closes())
        if request is None:
            request = self.forge.create_request(
                branch=data["branch"],
                source=self._source_path(),
                base=data["base"],
                title=self._title(),
                body=section,
                draft=wants_draft,
            )
            self.record.update(number=request.number, url=request.url, drafted=request.is_draft)
            self.record.journal("request_opened", number=request.number, url=request.url)
            self.tell(f"opened {self.noun} {request.number}: {escape_line(request.url)}")
            return request
        if data.get("number") != request.number:
            self.record.update(number=request.number, url=request.url)
        body = request_text.merged_body(request.body, section)
        title = self.options.title or request.title
        if (body, title) != (request.body.replace("\r\n", "\n"), request.title):
            self.forge.update_request(request, title=title, body=body)
            self.record.journal("request_updated", number=request.number)
        if wants_draft != request.is_draft and (wants_draft or data.get("drafted")):
            self._set_draft(request, wants_draft)
        self.tell(f"{self.noun} {request.number}: {escape_line(request.url)}")
        return request

    def _set_draft(self, request: ChangeRequest, draft: bool) -> None:
        """Makes the request a draft or ready; a forge without drafts keeps it as it is."""
        try:
            self.forge.set_draft(request, draft)
        except ForgeError as problem:
            if problem.status or problem.exit_code == 1:
                raise
            self.tell(f"it cannot be a draft: {problem.message}")
            return
        self.record.update(drafted=draft)

    def _find(self) -> ChangeRequest | None:
        """Returns the recorded request, or the open one of the branch."""
        data = self.record.data
        number = data.get("number", 0)
        if not number:
            return self.forge.find_request(data["branch"], self._source_path())
        request = self.forge.request(number)
        if request.state == CLOSED:
            raise Waiting(f"{self.noun} {number} was closed", f"reopen it there: {request.url}")
        return request

    def waiting(self) -> list[str]:
        """Returns what waits for a person or is not done, in one line each."""
        items = inbox.waiting(self.home)
        texts = [f"task {item['task']}: {item['text']}" if item["task"] else str(item["text"]) for item in items]
        shown = {item["task"] for item in items}
        tasks = task_folder.load_readable(self.home, self.project)[0]
        wanted = set(self.record.run["tasks"])
        texts += [
            f"task {task['id']} is {task['status']}"
            for _, task in tasks
            if task["id"] in wanted and task["id"] not in shown and task["status"] not in ("completed", "abandoned")
        ]
        return [escape_line(text.splitlines()[0])[:300] for text in texts[:MOST_WAITING] if text]

    def _documents(self) -> list[dict[str, object]]:
        return [run_report.report_data(self.home, folder) for folder in self._runs()]

    def _runs(self) -> list[RunFolder]:
        """Returns the runs of the project that did something, oldest first."""
        project_id = self.project["project_id"]
        folders = [folder for folder in run_folder.all_folders(self.home) if folder.run["project_id"] == project_id]
        return [folder for folder in folders if folder.id == self.record.run_id or not run_folder.is_empty(folder)]

    def _title(self) -> str:
        name = self.options.title or self.record.run["name"] or self.project["name"]
        return escape_line(name)[:MOST_TITLE]

    def _closes(self) -> list[str]:
        """Returns references to the issues that the plans of the delivered runs resolve."""
        own = self.forge.remote
        urls: list[str] = []
        for folder in self._runs():
            paths = [plan["path"] for plan in folder.run["plans"]]
            sources, _ = plan_files.load(
                [path for path in paths if os.path.exists(f"{self.home.root}/{path}")], self.home.root
            )
            urls += reader.read(sources).issues if sources else []
        matches = (ISSUE.fullmatch(url) for url in dict.fromkeys(urls))
        return [
            f"#{match[3]}" if (match[1], match[2]) == (own.host, own.path) else match[0]
            for match in matches
            if match is not None and match[1] == own.host
        ]

    def base_head(self) -> str:
        """Returns the commit of the base on the forge, and fetches it."""
        base = self.record.data["base"]
        target = self._target()
        head = target.heads(base).get(base, "")
        target.fetch(base, head)
        return head

    def _method(self, request: ChangeRequest) -> str | None:
        """Returns `merge` if the merge has the commits of the branch, and None if not or if that cannot be seen."""
        try:
            self.base_head()
        except SystemFailure:  # the remote does not answer; the merge itself is known
            return None
        head, commit = request.head_sha, request.merge_commit
        both = commit and head and len(self.repository.only_commits([head, commit])) == len({head, commit})
        return "merge" if both and self.repository.is_ancestor(head, commit) else None

    def record_merge(self, request: ChangeRequest, method: str = "") -> None:
        """Records that the forge merged the request, which proves that its commits are in the base."""
        data = self.record.data
        if data["state"] == MERGED:
            return
        self.record.update(
            state=MERGED,
            merge_commit=request.merge_commit or None,
            merged_head=request.head_sha or data.get("head"),
            method=method or self._method(request),
            merged_at=clock.now(),
        )
        self.record.journal("request_merged", number=request.number, commit=request.merge_commit)
