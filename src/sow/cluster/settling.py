"""Takes the result of a turn on another host over: its work, transcripts, commands, outputs and status."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from sow.cluster.packet import BadPacket, Packet
from sow.cluster.turn_request import PROTOCOL
from sow.cluster.worker_commands import apply_commands, read_commands
from sow.domain.documents.state import Refusal, SessionTurn
from sow.domain.task import WORKER, Actor
from sow.engine.turns import settle as local_settle
from sow.engine.turns.task_turn import FinishedTurn, TaskTurn
from sow.errors import InvalidFile, SowError
from sow.executors.adapter import Outcome
from sow.gitwork.worktrees import Worktrees
from sow.store.files import state_file
from sow.store.files.disk import make_folders
from sow.store.projects import tasks
from sow.store.runs.sessions import SessionRecord
from sow.store.validators.session import validate as validate_session
from sow.system import clock, plain_file
from sow.system.process.steps import Steps
from sow.system.terminal import escape_control

OUTCOMES = (
    "done",
    "failed",
    "limited",
    "overloaded",
    "not_found",
    "in_use",
    "timeout",
    "interrupted",
    "lost",
    "refused",
)
ENDINGS = ("prompt", "out", "err", "md", "txt")
TURN_FIELDS = (
    "exit", "outcome", "reason", "inferred", "tools", "cost_usd", "input_tokens", "output_tokens", "agent_turns",
    "seconds", "redacted",
)  # fmt: skip
TOTALS = ("total_cost_usd", "total_input_tokens", "total_output_tokens")
MOST_REMARKS = 50
MOST_TURNS = 20
MOST_RESET = 31 * 86400  # seconds until a limit ends
Verbs = Callable[[list[str], Mapping[str, str]], int]


def settle(
    turn: TaskTurn,
    record: SessionRecord,
    packet: Packet,
    worktrees: Worktrees,
    verbs: Verbs | None,
    remarks: list[str],
) -> Steps[FinishedTurn]:
    """Takes a result over, in steps that can be repeated until the caller has recorded the end of the turn."""
    folder = turn.folder
    open_turn = record.session["turns"][-1]
    remote = open_turn["remote"]
    outcome = outcome_of(packet, remote["token"])
    host = record.session.get("host", "another host")
    their_remarks = [str(remark)[:500] for remark in packet.value("remarks", list, [])[:MOST_REMARKS]]
    remarks += turn.settings.announce([f"on {host}: {escape_control(remark)}" for remark in their_remarks])
    _receive(turn, packet, worktrees)
    _write_transcripts(record, open_turn, packet)
    remarks += _write_outputs(turn, packet)
    if verbs is not None:
        commands = read_commands(packet.value("verbs", list, []), open_turn["started_at"], clock.now())
        if outcome.kind == "lost":  # its work is older than what it said about it
            commands = [command for command in commands if command.words[:2] != ["task", "set"]]

        def applied(number: int) -> None:
            remote["applied"] = number
            record.save()

        remarks += yield from apply_commands(
            folder,
            commands,
            verbs,
            {**turn.settings.environment, **turn.worker_variables(record)},
            Actor(kind=WORKER, name=turn.agent.name, task=folder.id),
            start=remote.get("applied", 0),
            applied=applied,
        )
    if outcome.kind != "lost":
        remarks += _take_status(turn, packet)
    refusals = _refusals(packet)
    try:
        if refusals:
            with turn.settings.home.lock():
                local_settle.record_refusals(folder, refusals)
        old, name = _take_session(record, open_turn, packet)
        for known in {old, record.session["key"]} - {name} if name else ():
            turn.name_session(known, name)
    except InvalidFile as error:
        remarks += turn.settings.announce([f"a part of the result of {host} is not taken over: {error.message}"])
    task = folder.task()
    return FinishedTurn(turn, record, outcome, task, remarks, refusals, task["iteration"] != open_turn["iteration"])


def settle_review(record: SessionRecord, packet: Packet) -> Outcome:
    """Takes a review over: its answer, its transcripts and its cost. A judge changes nothing else."""
    turn = record.session["turns"][-1]
    outcome = outcome_of(packet, turn["remote"]["token"])
    _write_transcripts(record, turn, packet)
    _take_session(record, turn, packet)
    end_turn(record, outcome, "reviewed")
    return outcome


def end_turn(record: SessionRecord, outcome: Outcome, status: str = "") -> None:
    """Records the end of the turn that was on another host."""
    turn = record.session["turns"][-1]
    turn.setdefault("ended_at", clock.now())
    turn.update({"outcome": outcome.kind, "reason": outcome.reason[:2000]})
    turn["status"] = status or record.owner_folder.task()["status"]  # type: ignore[union-attr]
    record.save()


def outcome_of(packet: Packet, token: str) -> Outcome:
    """Returns the outcome in a result. Raises BadPacket if it is that of another request or version of sow."""
    if packet.facts.get("protocol") != PROTOCOL or packet.facts.get("token") != token:
        raise BadPacket("the result does not belong to its request", "run again")
    return _outcome(packet)


def _outcome(packet: Packet) -> Outcome:
    kind = packet.value("outcome", str)
    if kind not in OUTCOMES:
        raise BadPacket(f"its outcome is {kind!r:.40}", "")
    reason, text = escape_control(packet.value("reason", str, ""))[:2000], packet.value("text", str, "")
    latest = int(time.time()) + MOST_RESET
    return Outcome(kind, text=text, reason=reason, reset_at=min(max(packet.value("reset_at", int, 0), 0), latest))


def _receive(turn: TaskTurn, packet: Packet, worktrees: Worktrees) -> None:
    """Makes the worktree of this machine equal to the one in which the worker was."""
    head, files = packet.value("head", str), packet.value("files", str)
    if not {head, files} <= set(packet.parents):
        raise BadPacket("its commits are not in it", "")
    worktrees.receive(turn.folder.id, head, files)
    worktrees.pin_received(turn.folder.id, packet.parents, [head, files])


def _write_transcripts(record: SessionRecord, open_turn: SessionTurn, packet: Packet) -> None:
    """Writes the files of the turns into the session's folder, numbered as here."""
    first, turns = open_turn["number"], packet.value("session", dict, {}).get("turns")
    count = min(len(turns), MOST_TURNS) if isinstance(turns, list) else 0
    numbers = {str(number + 1): first + number for number in range(count)}
    for name, data in packet.files("session"):
        number, _, ending = name.partition(".")
        if number in numbers and ending in ENDINGS:
            plain_file.create_with(record.file(numbers[number], ending), data)


def _write_outputs(turn: TaskTurn, packet: Packet) -> list[str]:
    """Writes the worker's output files; nothing is written through a link."""
    folder, home = turn.folder, turn.settings.home
    parts = tuple(folder.folder.removeprefix(f"{home.root}/").split("/"))
    remarks = []
    for name, data in packet.files("output"):
        inner = ("task_output", *os.path.dirname(name).split("/")) if "/" in name else ("task_output",)
        try:
            parent = make_folders(home.disk, home.root, (*parts, *inner))
            plain_file.create_with(f"{parent}/{os.path.basename(name)}", data, 0o644)
        except (OSError, SowError) as error:
            remarks.append(f"the output {name[:200]} could not be written: {error}")
    return remarks[:MOST_REMARKS]


def _take_status(turn: TaskTurn, packet: Packet) -> list[str]:
    """Takes the status over that the worker left without a command, if a worker may make that change."""
    folder, status = turn.folder, packet.value("status", str, "")
    commands = read_commands(packet.value("verbs", list, []), "", "")
    by_command = any(command.words[:2] == ["task", "set"] and status in command.words for command in commands)
    if not status or by_command or status == folder.task()["status"]:
        return []
    actor = Actor(kind=WORKER, name=turn.agent.name, task=folder.id)
    reason = packet.value("status_reason", str, "") or packet.value("reason", str, "")
    try:
        tasks.set_status(turn.settings.home, folder.id, status, actor=actor, reason=reason)
    except SowError as error:
        return [f"the status {status!r:.40} of the worker is not taken over: {error.message}"]
    return []


def _refusals(packet: Packet) -> list[Refusal]:
    """Returns the refused tool calls that have the form of one."""
    refusals: list[Refusal] = []
    for entry in packet.value("refusals", list, [])[:MOST_REMARKS]:
        if isinstance(entry, dict) and {"iteration", "tool", "reason", "count", "executor", "at"} <= entry.keys():
            refusals.append(entry)  # type: ignore[arg-type]
    return refusals


def _take_session(record: SessionRecord, open_turn: SessionTurn, packet: Packet) -> tuple[str, str]:
    """Takes over what the turns cost and how the CLI names its session; returns the old and the new name of that."""
    session: Any = packet.value("session", dict, {})
    if not session:
        return "", ""
    candidate: Any = {"schema_version": record.loaded["schema_version"], "session": dict(session)}
    state_file.check(candidate, "the session in the result", validate_session)
    session = candidate["session"]
    own: Any = record.session
    name = session.get("session_id") or session["key"]
    old = own.get("session_id") or own["key"]
    for key in TOTALS:
        if session.get(key) is not None:
            own[key] = session[key]
    own["type"], own["model"] = session["type"], session.get("model", "")
    if name != old:
        own["session_id"] = name
        record.save()  # before the task gets this name, by which it must find the record
    for index, other in enumerate(session["turns"][:MOST_TURNS]):
        values = {key: other[key] for key in TURN_FIELDS if key in other}
        values["ended_at"] = other.get("ended_at", clock.now())
        number = open_turn["number"] + index
        if not index:
            open_turn.update(values)  # type: ignore[typeddict-item]
        elif all(known["number"] != number for known in own["turns"]):
            start = {key: other[key] for key in ("kind", "started_at")}
            defaults = {"iteration": open_turn["iteration"], "reason": "", "inferred": False, "redacted": 0}
            own["turns"].append({"number": number, **start, **defaults, **values})
    return old, name
