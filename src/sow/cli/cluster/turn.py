"""Takes turns for other hosts (`sow turn`): each line of output is one JSON event."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from sow.cli.context import Context
from sow.cluster.detached_turn import DetachedTurn
from sow.cluster.host_folder import HostFolder, describe
from sow.config import seconds
from sow.errors import SowError

FAILED = 1


def offers(context: Context) -> int:
    context.require_person("offer this machine to others")
    host = HostFolder(context.environment)
    host.open()
    _tell(describe(host, context.config()))
    return 0


def start(context: Context, *, token: str) -> int:
    context.require_person("start turns of other hosts")
    host = HostFolder(context.environment)
    host.open()
    turn = DetachedTurn(host, token)
    _tell({"event": "following"})
    try:
        if turn.follow(_pass_on):
            _tell({"event": "ended"})
            return 0
    except (OSError, SowError) as error:
        if not isinstance(error, BrokenPipeError):
            _tell({"event": "refused", "reason": str(error)})
        return FAILED
    _tell({"event": "refused", "reason": turn.errors() or "the process of the turn ended without a result"})
    return FAILED


def stop(context: Context, *, token: str, wait: str) -> int:
    context.require_person("stop turns of other hosts")
    _tell({"event": DetachedTurn(HostFolder(context.environment), token).stop(seconds(wait))})
    return 0


def run(context: Context, *, token: str, transfer: str, checks: bool) -> int:
    context.require_person("take turns of other hosts")
    from sow.cluster.hosted_turn import HostedTurn  # here, because a turn is also followed, and that has to begin soon
    from sow.cluster.shared_turn import SharedTurn
    from sow.system.process.child_process import run_to_end

    if context.verbs is None:
        raise SowError("a forwarded command takes no turns", "run it on the machine itself")
    host = HostFolder(context.environment)
    host.open()
    lock = DetachedTurn(host, token).hold()
    try:
        if transfer:
            config = context.config()
            if checks:
                config.sections["host"]["checks"] = (1, "from the command")
            shared = SharedTurn(host, config, token, transfer, context.verbs, _tell)
            shared.watch_starter()
            return 0 if run_to_end(shared.run(), patient=True) else FAILED
        turn = HostedTurn(host, context.config(), token, context.verbs, _tell, is_same_user=True)
        run_to_end(turn.run())
    finally:
        os.close(lock)
    return 0


def _tell(event: dict[str, Any]) -> None:
    _pass_on(json.dumps(event, ensure_ascii=True))


def _pass_on(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
