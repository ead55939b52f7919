"""Stops turns on other hosts whose run is dead; the next call of the run takes over what they did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sow.cluster.cluster_settings import cluster_settings, require_temporal
from sow.cluster.ssh_carrier import SshCarrier, parse_hosts
from sow.config import Config
from sow.engine.runs.stop import TurnElsewhere
from sow.errors import SowError
from sow.store.files.disk import remove_quietly
from sow.system.process.child_process import run_to_end
from sow.system.process.steps import Steps

Ends = dict[TurnElsewhere, bool | SowError]  # whether each turn has ended, or why it cannot be stopped


def stop_turns(
    turns: Sequence[TurnElsewhere], config: Config, environment: Mapping[str, str], patience: float
) -> tuple[list[str], list[SowError]]:
    """Stops turns and waits for their ends; returns a line for each one, and an error for each that may run on."""
    ends: Ends = {}
    run_to_end(_stop_over_ssh([turn for turn in turns if "on" in turn.settings], patience, ends))
    in_cluster = [turn for turn in turns if "on" not in turn.settings]
    for address in dict.fromkeys(str(turn.settings.get("cluster", "")) for turn in in_cluster):
        own = [turn for turn in in_cluster if turn.settings.get("cluster", "") == address]
        _stop_in_cluster(own, address, config, environment, patience, ends)
    lines, errors = [], []
    for turn, end in ends.items():
        if isinstance(end, SowError):
            errors.append(SowError(f"{turn.label} could not be stopped: {end.message}", end.hint))
        elif end:
            if turn.path:
                remove_quietly(turn.path)
            after = "repeats them" if turn.path else "takes over what it did"
            lines.append(f"stopped {turn.label}; the next call {after}")
        else:
            errors.append(SowError(f"not stopped yet: {turn.label}", "check again: sow runs stop"))
    return lines, errors


def _stop_over_ssh(turns: Sequence[TurnElsewhere], patience: float, ends: Ends) -> Steps[None]:
    """Stops all turns at the same time."""
    open_steps = {turn: _stop_one(turn, patience) for turn in turns}
    while open_steps:
        for turn, steps in list(open_steps.items()):
            try:
                next(steps)
                continue
            except StopIteration as end:
                ends[turn] = end.value
            except SowError as error:
                ends[turn] = error
            del open_steps[turn]
        yield


def _stop_one(turn: TurnElsewhere, patience: float) -> Steps[bool]:
    if not turn.host:  # the run was killed before it chose one, so nothing was sent
        return True
    carrier = SshCarrier(parse_hosts(turn.host), lost_after=0)
    return (yield from carrier.stop(carrier.hosts[0], turn.token, patience))


def _stop_in_cluster(
    turns: Sequence[TurnElsewhere],
    address: str,
    config: Config,
    environment: Mapping[str, str],
    patience: float,
    ends: Ends,
) -> None:
    try:
        require_temporal()
        from sow.cluster.temporal_client import TemporalCarrier

        carrier = TemporalCarrier(cluster_settings(config, environment, address))
        tokens = [turn.token for turn in turns]
        ends |= dict(zip(turns, carrier.stop(tokens, patience), strict=True))
    except SowError as error:
        ends |= dict.fromkeys(turns, error)
