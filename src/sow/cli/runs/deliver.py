"""Delivers a branch to the forge, and follows its request (`sow deliver`)."""

from __future__ import annotations

from typing import Any

from sow.cli.context import Context
from sow.cli.output import emit
from sow.engine.delivery.deliver import BranchDelivery, DeliverOptions
from sow.forge.forge import ChangeRequest
from sow.system.terminal import out


def deliver(
    context: Context,
    *,
    run: str,
    base: str,
    remote: str,
    title: str,
    draft: bool,
    json: bool,
) -> int:
    options = DeliverOptions(run=run, base=base, remote=remote, title=title, draft=draft)
    delivery = _delivery(context, options, json=json)
    with delivery.home.claim("deliver", purpose="sow deliver"):
        request = delivery.deliver()
    return _tell(delivery, request, json=json)


def _delivery(context: Context, options: DeliverOptions, *, json: bool) -> BranchDelivery:
    context.require_non_worker("deliver a run")
    return BranchDelivery(context.project_home(), context.environment, options, tell=_ignore if json else out)


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
