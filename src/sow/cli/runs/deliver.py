"""Delivers a branch to the forge, and follows its request (`sow deliver`)."""

from __future__ import annotations

from typing import Any

from sow import config as configs
from sow.cli.context import Context
from sow.cli.output import emit
from sow.cli.runs.live import Live
from sow.engine.delivery.deliver import BranchDelivery, DeliverOptions
from sow.engine.delivery.watch import RequestWatch, WatchOptions
from sow.errors import SowError
from sow.forge.forge import MERGED, ChangeRequest
from sow.system.terminal import out


def deliver(
    context: Context,
    *,
    run: str,
    base: str,
    remote: str,
    title: str,
    draft: bool,
    watch: bool,
    merge: str,
    max_wait: str,
    json: bool,
) -> int:
    if not watch and (merge or max_wait):
        flag = "--merge" if merge else "--max-wait"
        raise SowError(f"sow deliver: {flag} needs --watch", "sow deliver --watch --merge")
    watched = _watch_options(merge, max_wait)
    options = DeliverOptions(run=run, base=base, remote=remote, title=title, draft=draft)
    delivery = _delivery(context, options, json=json)
    with delivery.home.claim("deliver", purpose="sow deliver"):
        request = delivery.deliver()
        if watch and request.state != MERGED:
            request = _follow(context, delivery, watched, json=json)
    return _tell(delivery, request, json=json)


def watch(context: Context, *, run: str, merge: str, max_wait: str, json: bool) -> int:
    watched = _watch_options(merge, max_wait)
    delivery = _delivery(context, DeliverOptions(run=run), json=json)
    if "number" not in delivery.record.data:
        raise SowError(f"{delivery.branch} has no request yet", "open one: sow deliver")
    with delivery.home.claim("deliver", purpose="sow deliver watch"):
        request = _follow(context, delivery, watched, json=json)
    return _tell(delivery, request, json=json)


def _watch_options(merge: str, max_wait: str) -> WatchOptions:
    return WatchOptions(method=merge, most_seconds=configs.seconds(max_wait) if max_wait else 0)


def _delivery(context: Context, options: DeliverOptions, *, json: bool) -> BranchDelivery:
    context.require_non_worker("deliver a run")
    return BranchDelivery(context.project_home(), context.environment, options, tell=_ignore if json else out)


def _follow(context: Context, delivery: BranchDelivery, options: WatchOptions, *, json: bool) -> ChangeRequest:
    request = RequestWatch(delivery, options, verbs=context.verbs, live=None if json else Live).follow()
    delivery.tell(f"{delivery.noun} {request.number} is merged as {request.merge_commit[:12]}")
    return request


def _ignore(text: str) -> None:
    """Prints nothing: JSON comes at the end."""


def _tell(delivery: BranchDelivery, request: ChangeRequest, *, json: bool) -> int:
    if json:
        emit(_document(delivery, request))
    return 0


def _document(delivery: BranchDelivery, request: ChangeRequest) -> dict[str, Any]:
    data = delivery.record.data
    return {
        "run": delivery.record.run_id,
        "number": request.number,
        "url": request.url,
        "state": request.state,
        "draft": request.is_draft,
        "branch": data.get("branch", ""),
        "base": data.get("base", ""),
        "commit": data.get("head", ""),
        "merge_commit": data.get("merge_commit", ""),
        "waits": delivery.waiting(),
    }
