"""Sets the status of a workflow's agent (`sow workflow set`)."""

from __future__ import annotations

from sow.domain import ids
from sow.errors import SowError
from sow.store.workflows import members
from sow.system.terminal import out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.cli.context import Context


def set_status(context: Context, *, field: str, value: str, agent: str) -> int:
    home, actor = context.project_home(), context.actor()
    if actor.is_worker:
        if agent and agent != actor.task:
            raise SowError(
                f"{actor.task or 'a worker'} may not set the status of {agent}", "set your own: leave --agent out"
            )
        if not ids.is_member(actor.task):
            raise SowError(
                f"a worker on task {actor.task or '?'} is no agent of a workflow",
                f"sow task set --id {actor.task or 'ID'} status needs_review",
            )
        members.set_status(home, actor.task, value, actor=actor)
        out(f"{actor.task}: status is {value}")
        return 0
    if not agent:
        raise SowError("which agent?", "name it: --agent NAME (agents themselves are known by SOW_TASK)")
    if value != "working":
        raise SowError(
            f"a person does not set {agent} to {value}: its agent does",
            f"send a failed agent back: sow workflow set status working --agent {agent}",
        )
    context.require_person("send a failed agent back")
    members.set_status(home, agent, value, actor=actor)
    out(f"{agent}: status is working; it goes on with 'sow workflow run'")
    return 0
