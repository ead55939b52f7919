"""Follows a request until it is merged: failed checks and comments become follow-up tasks, whose result is pushed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sow import config as configs
from sow.domain.text.units import counted, listed
from sow.engine.delivery import finding, follow_up, local_check
from sow.engine.delivery.deliver import BranchDelivery
from sow.engine.delivery.finding import COMMENT, RequestFinding
from sow.engine.delivery.record import ASKED, FOLLOW_UP, IGNORED, RERUN
from sow.engine.launch.launch import LiveView
from sow.errors import SystemFailure, Waiting
from sow.forge.api import clean
from sow.forge.forge import (
    FAILED,
    MERGED,
    NEEDS_PERSON,
    OPEN,
    PASSED,
    PENDING,
    ChangeRequest,
    Comment,
    ForgeCheck,
    ForgeError,
)
from sow.gitwork.delivered_branch import BranchMoved
from sow.store.projects import project as projects
from sow.store.projects import task_folder
from sow.system import clock
from sow.system.terminal import escape_line

POLL = 15.0  # seconds between two polls, at least
MOST_POLLS_FAILED = 20  # in a row
LOG_SIZE = 20_000  # bytes of the end of a log
RERUN_TIME = 180  # seconds until a job that runs again must have another id
MOST_REPLY = 4_000
MERGEABLE = ("clean", "unstable", "has_hooks")
AGAIN = "then: sow deliver watch"


@dataclass(frozen=True)
class WatchOptions:
    """What a watch may do, and for how long."""

    method: str = ""  # how to merge; empty: a person merges
    most_seconds: float = 0  # 0: no limit


@dataclass(frozen=True)
class RequestState:
    """One poll: the request, its checks and its comments."""

    request: ChangeRequest
    checks: list[ForgeCheck]
    comments: list[Comment]

    def named(self, state: str) -> list[ForgeCheck]:
        return [check for check in self.checks if check.state == state]


class RequestWatch:
    """Polls one request, and acts on what it sees."""

    def __init__(
        self,
        delivery: BranchDelivery,
        options: WatchOptions,
        *,
        verbs: Callable[[list[str], Mapping[str, str]], int] | None = None,
        live: Callable[[], AbstractContextManager[LiveView]] | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.delivery = delivery
        self.options = options
        self.verbs = verbs
        self.live = live  # shows the runs of follow-up tasks
        self.pause = pause
        self.record = delivery.record
        self.forge = delivery.forge
        config = configs.load(delivery.environment)
        self.bots = set(config.setting("deliver", "bots"))
        self.check_wait = configs.seconds(str(config.setting("deliver", "check_wait")))
        self.last_text = ""

    def follow(self) -> ChangeRequest:
        """Returns the merged request; raise when a person has to do something first."""
        deadline = time.monotonic() + self.options.most_seconds if self.options.most_seconds else 0
        failures = 0
        while True:
            wait = POLL
            try:
                request = self._poll()
                if request is not None:
                    return request
                failures = 0
            except BranchMoved:  # the next poll takes in what was pushed
                pass
            except ForgeError as problem:
                failures += 1
                if not (problem.seconds or problem.exit_code == 1) or failures > MOST_POLLS_FAILED:
                    raise
                self._say(problem.message)
                wait = max(POLL, problem.seconds)
            if deadline and time.monotonic() + wait > deadline:
                number, url = self.record.data["number"], self.record.data["url"]
                raise Waiting(f"{self.forge.noun} {number} is still open: {url}", "sow deliver watch")
            self.pause(wait)

    def _say(self, text: str) -> None:
        if text != self.last_text:
            self.last_text = text
            self.delivery.tell(escape_line(text))

    def _poll(self) -> ChangeRequest | None:
        """Looks at the request and do what follows from it; return it when it is merged."""
        if self.delivery.home.claim_holder("run") is not None:
            self._say("a run works on this branch: waiting for its end")
            return None
        self.record.reload()
        data = self.record.data
        request = self.forge.request(data["number"])
        if request.state == MERGED:
            self.delivery.record_merge(request)
            return request
        if request.state != OPEN:
            self.record.update(state=request.state)
            raise Waiting(f"{self.forge.noun} {request.number} was closed", f"reopen it at {request.url}, {AGAIN}")
        if request.base and request.base != data["base"]:
            self.record.update(base=request.base)
            self._say(f"somebody changed the base of {self.forge.noun} {request.number} to {request.base}")
        if request.head_sha != data["head"] or self.delivery.has_news():
            self.delivery.update()
            return None
        seen = RequestState(request, self.forge.checks(data["head"], request), self.forge.comments(request))
        findings = [*self._comment_findings(seen.comments), *self._check_findings(seen)]
        if findings:
            self._follow_up(request, findings)
            return None
        if self._is_green(seen):
            return self._merge(seen)
        return None

    # Comments

    def _comment_findings(self, comments: Sequence[Comment]) -> list[RequestFinding]:
        """Returns the new comments of people with write access, and of the bots that the user named."""
        mark = self.record.data.get("writing", "")
        if mark:  # a killed call may have written it
            own = [comment.id for comment in comments if mark in comment.body]
            self.record.update(own_comments=[*self.record.data.get("own_comments", []), *own], writing=None)
        own_ids = {*self.record.data.get("own_comments", ())}
        handled = self.record.handled()
        findings = []
        for comment in comments:
            if comment.id in own_ids or comment.id in handled:
                continue
            if self._is_believed(comment):
                findings.append(finding.from_comment(comment))
            else:
                self.record.handle([comment.id], IGNORED)
                what = "is a bot that deliver.bots does not name" if comment.is_bot else "has no write access"
                self._say(f"left out a comment: {comment.author} {what}")
        return findings

    def _is_believed(self, comment: Comment) -> bool:
        return comment.author in self.bots if comment.is_bot else self.forge.can_write(comment.author)

    # Checks

    def _check_findings(self, seen: RequestState) -> list[RequestFinding]:
        """Returns the checks that failed, when no check is under way; a job may run a second time first."""
        failed = seen.named(FAILED)
        if seen.named(PENDING) or not failed:
            return []
        sha = self.record.data["head"]
        findings = []
        for check in failed:
            key = finding.check_key(check, sha)
            entry = self.record.handled(FOLLOW_UP, IGNORED).get(key)
            if entry is not None:
                raise Waiting(
                    f"check {finding.one_line(check.name)!r} still fails after follow-up task "
                    f"{listed(entry.get('tasks', []), 3)}",
                    f"see {check.url or seen.request.url}; fix it and commit, {AGAIN}",
                )
            if self._runs_again(check, key):
                continue
            log = self.forge.job_log(check, LOG_SIZE)
            if self._rerun(check, key, log):
                continue
            self._refuse_repeated(check, seen.request)
            findings.append(finding.from_check(check, sha, log))
        return findings

    def _runs_again(self, check: ForgeCheck, key: str) -> bool:
        """Tells whether this result is older than the second run of its job."""
        entry = self.record.handled(RERUN).get(_rerun_key(check, key))
        return entry is not None and clock.epoch() - (clock.epoch_of(entry["at"]) or 0) < RERUN_TIME

    def _rerun(self, check: ForgeCheck, key: str, log: str) -> bool:
        """Runs a job again, once for each commit, if its command passes here; tell whether that was done."""
        if not check.job or any(earlier.endswith(f"-{key}") for earlier in self.record.handled(RERUN)):
            return False
        command = finding.failed_command(log)
        delivery, sha = self.delivery, self.record.data["head"]
        if not local_check.passes_here(self.record.folder, delivery.environment, command, sha, self.verbs):
            return False
        self.record.handle([_rerun_key(check, key)], RERUN)
        try:
            self.forge.rerun(check)
        except ForgeError as problem:
            if problem.seconds or problem.exit_code == 1:
                raise
            self._say(f"the job cannot run again: {problem.message}")
            return False
        self.record.journal("request_rerun", check=finding.one_line(check.name), command=command)
        self._say(f"check {finding.one_line(check.name)!r} failed, but `{command}` passes here: the job runs again")
        return True

    def _refuse_repeated(self, check: ForgeCheck, request: ChangeRequest) -> None:
        """Raises if follow-up tasks for this check failed as often as work is sent back."""
        name = f"-{finding.one_line(check.name)}"
        count = sum(key.startswith("check-") and key.endswith(name) for key in self.record.handled(FOLLOW_UP))
        if count > self.record.run["settings"]["retries"]:
            raise Waiting(
                f"check {finding.one_line(check.name)!r} failed again after {counted(count, 'follow-up task')}",
                f"see {check.url or request.url}; fix it and commit, {AGAIN}",
            )

    def _is_green(self, seen: RequestState) -> bool:
        """Tells whether all required and all reported checks passed for the pushed commit; no check is not green."""
        for check in seen.named(NEEDS_PERSON):
            self._ask(check, seen.request)
        if seen.named(PENDING):
            self._say(f"{counted(len(seen.named(PENDING)), 'check')} under way")
            return False
        # Read each time, because a rule can be added, and another base has other rules.
        missing = sorted(self.forge.required_checks(seen.request.base) - {check.name for check in seen.checks})
        if missing or not seen.checks:
            self._wait_for_checks(missing)
            return False
        return len(seen.named(PASSED)) == len(seen.checks)

    def _ask(self, check: ForgeCheck, request: ChangeRequest) -> None:
        """Says once that a check waits for a person."""
        key = f"asked-{finding.check_key(check, self.record.data['head'])}"[: finding.MOST_KEY]
        if key not in self.record.handled(ASKED):
            self.record.handle([key], ASKED)
            self._say(f"check {finding.one_line(check.name)!r} waits for a person: {check.url or request.url}")

    def _wait_for_checks(self, missing: Sequence[str]) -> None:
        """Waits for the first check of a commit; say so, or end, after some time."""
        head, since = self.record.data["head"], self.record.data.get("waiting_since")
        if since is None or since["head"] != head:
            self.record.update(waiting_since={"head": head, "at": clock.now()})
            self._say("waiting for checks")
            return
        if clock.epoch() - (clock.epoch_of(since["at"]) or 0) < self.check_wait:
            return
        what = f"the required check {listed(missing, 3)}" if missing else "no check"
        text = f"{what} has {'not ' if missing else ''}reported on {head[:12]}"
        if self.options.method:
            hint = (
                "see whether CI runs for this branch, or merge it by hand; deliver.check_wait says how long sow waits"
            )
            raise Waiting(text, hint)
        self._say(text)

    # Actions

    def _follow_up(self, request: ChangeRequest, findings: Sequence[RequestFinding]) -> None:
        """Lets follow-up tasks settle the findings, push the result and say so in the request."""
        comments = sum(item.kind == COMMENT for item in findings)
        parts = [counted(len(findings) - comments, "failed check")] if len(findings) > comments else []
        parts += [counted(comments, "comment")] if comments else []
        self.record.journal("request_findings", findings=[item.title for item in findings])
        self._say(f"{' and '.join(parts)}: starting follow-up tasks")
        delivery = self.delivery
        results = follow_up.run_follow_ups(
            delivery.home,
            delivery.environment,
            self.record.folder,
            findings,
            request.head_sha,
            base=delivery.base_head() if any(item.is_removed for item in findings) else "",
            verbs=self.verbs,
            live=self.live,
        )
        settled, open_results = [], []
        abandoned = self._abandoned({result.task for result in results})
        for result in results:
            if result.outcome == follow_up.FIXED:
                settled.append(result)
                self.record.handle([result.key], FOLLOW_UP, [result.task])
            elif result.task in abandoned:  # a person decided that nothing has to be done
                self.record.handle([result.key], IGNORED, [result.task])
            else:
                open_results.append(result)
        delivery.update()
        if settled:
            tasks = list(dict.fromkeys(result.task for result in settled))
            self._reply(request, f"Follow-up task {', '.join(tasks)} settled {counted(len(settled), 'finding')}.")
        if open_results:
            first = open_results[0]
            raise Waiting(f"follow-up task {first.task}: {first.text or first.outcome}", f"sow inbox, {AGAIN}")

    def _abandoned(self, task_ids: Collection[str]) -> set[str]:
        """Returns which of these tasks a person abandoned."""
        home = self.delivery.home
        tasks = task_folder.load_readable_or_raise(home, projects.load(home), task_ids)
        return {task["id"] for task in tasks if task["status"] == "abandoned"}

    def _reply(self, request: ChangeRequest, text: str) -> None:
        """Comments on the request; a mark shows after a kill whether the comment was written."""
        mark = os.urandom(6).hex()
        self.record.update(writing=mark)
        text = clean(text, self.delivery.environment)[:MOST_REPLY]
        ident = self.forge.reply(request, f"{text}\n\n<!-- sow {mark} -->")
        self.record.update(own_comments=[*self.record.data.get("own_comments", []), ident], writing=None)

    def _merge(self, seen: RequestState) -> ChangeRequest | None:
        """Merges a green request if the user said so; return it when it is merged."""
        request, head = seen.request, self.record.data["head"]
        waiting = self.delivery.waiting()
        if request.is_draft and not waiting and self.record.data.get("drafted"):
            self.delivery.update()  # makes it ready
            return None
        if waiting or request.is_draft:
            self._say(f"all checks passed; it is a draft, because {waiting[0] if waiting else 'somebody made it one'}")
            return None
        if not self.options.method:
            self._say(f"all checks passed; merge it at {request.url}, or: sow deliver watch --merge")
            return None
        if request.merge_state in ("dirty", "behind"):
            base = self.record.data["base"]
            what = "conflicts with" if request.merge_state == "dirty" else "must first contain"
            hint = f"git fetch {self.record.data['remote']} {base} && git merge FETCH_HEAD, {AGAIN}"
            raise Waiting(f"{self.forge.noun} {request.number} {what} {base}", hint)
        if request.merge_state not in MERGEABLE:
            self._say(f"all checks passed; the forge does not allow the merge yet ({request.merge_state})")
            return None
        return self._merge_now(request, head)

    def _merge_now(self, request: ChangeRequest, head: str) -> ChangeRequest | None:
        with self.record.claimed():
            try:
                self.forge.merge(request, sha=head, method=self.options.method)
            except ForgeError as problem:
                if problem.status == 409:  # somebody pushed in between
                    return None
                if problem.seconds or problem.exit_code == 1:
                    raise
                raise Waiting(
                    f"the forge did not merge {self.forge.noun} {request.number}: {problem.message}",
                    f"see what it needs at {request.url}, or choose another method: --merge=squash",
                ) from None
            merged = self.forge.request(request.number)
            if merged.state != MERGED:
                raise SystemFailure(
                    f"the forge says that it merged {request.url}, but the request is {merged.state}",
                    "look at it there",
                )
            self.delivery.record_merge(merged, self.options.method)
        return merged


def _rerun_key(check: ForgeCheck, key: str) -> str:
    return f"rerun-{check.job}-{key}"
