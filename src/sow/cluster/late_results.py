"""Keeps the work of turns that counted as lost, and whose results came later; it is never merged by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from sow.cluster.packet import BadPacket, Packet
from sow.cluster.transfer import Transfer, TransferFailed
from sow.cluster.turn_request import REFS
from sow.domain.inputs import is_task_id
from sow.gitwork.repository import Repository
from sow.gitwork.worktree import KEEP, KeptCommits
from sow.store.files.checkout_home import Home
from sow.store.files.disk import list_folder
from sow.store.projects.task_folder import TaskFolder
from sow.store.runs import run_folder, sessions
from sow.store.runs.run_folder import RunFolder
from sow.system.process.steps import Steps

GIVEN_UP = ("lost", "not_found")  # outcomes of turns whose hosts may still work on them
MOST_TURNS = 200  # the newest ones are looked for
LOOK_SECONDS = 20.0  # for all hosts together; what is not found then is found by a later call
LATE = "late"


@dataclass(frozen=True)
class LostTurn:
    """A turn on another host that counted as lost."""

    token: str
    task: str
    host: str
    kind: str
    sent_at: str

    @property
    def result_ref(self) -> str:
        return f"{REFS}/{self.token}/result"

    @property
    def refs(self) -> list[str]:
        return [f"{REFS}/{self.token}/{name}" for name in ("request", "checkpoint", "result")]


def lost_turns(home: Home) -> list[LostTurn]:
    """Returns the turns that counted as lost, oldest first."""
    turns = []
    for task in filter(is_task_id, list_folder(f"{home.sow}/local/sessions")):
        for record in sessions.records(TaskFolder(home, "", task)):
            host = record.session.get("host", "")
            for turn in record.session["turns"]:
                if "remote" in turn and turn.get("outcome") in GIVEN_UP:
                    remote = turn["remote"]
                    turns.append(LostTurn(remote["token"], task, host, turn["kind"], remote["sent_at"]))
    return sorted(turns, key=lambda turn: turn.sent_at)[-MOST_TURNS:]


def find_late(transfer: Transfer, turns: Iterable[LostTurn]) -> Steps[list[LostTurn]]:
    """Returns the turns whose results are there now; none if nobody answers."""
    wanted = {turn.result_ref: turn for turn in turns}
    try:
        names = yield from transfer.names(*wanted)
    except TransferFailed:
        return []
    return [wanted[name] for name in names if name in wanted]


def keep_late(home: Home, transfer_of: Callable[[str], Transfer | None]) -> Steps[list[str]]:
    """Pins the commits of late results, and removes their packets; returns remarks.

    `transfer_of` returns the way to the packets of a host; None if the host takes no part in this call.
    """
    by_url: dict[str, tuple[Transfer, list[LostTurn]]] = {}
    for turn in lost_turns(home):
        transfer = transfer_of(turn.host)
        if transfer is not None:
            by_url.setdefault(transfer.url, (transfer, []))[1].append(turn)
    remarks: list[str] = []
    looking = _keep_all(home, by_url.values(), remarks)
    give_up = time.monotonic() + LOOK_SECONDS
    try:
        with suppress(StopIteration):
            while time.monotonic() < give_up:
                next(looking)
                if (yield):
                    break
    finally:
        looking.close()
    return remarks


def _keep_all(home: Home, places: Iterable[tuple[Transfer, list[LostTurn]]], remarks: list[str]) -> Steps[None]:
    for transfer, turns in places:
        for turn in (yield from find_late(transfer, turns)):
            with suppress(TransferFailed):  # a later call finds it again
                commit = yield from transfer.fetch(turn.result_ref)
                if turn.kind != "review":  # a review that was repeated has nothing to keep
                    remarks.append(_keep(home, turn, commit))
                Repository(home).drop_turn(turn.token)
                yield from transfer.remove(turn.refs)


def _keep(home: Home, turn: LostTurn, commit: str) -> str:
    """Pins what a late result has and no branch of the run has; returns a remark."""
    about = f"task {turn.task}: a late result of {turn.host or 'another host'}"
    folder = _run_of(home, turn)
    if folder is None:
        return f"{about} is removed, because its run is gone"
    try:
        packet = Packet(home.root, commit)
        if packet.facts.get("token") != turn.token:
            raise BadPacket("it belongs to another request", "")
    except BadPacket as error:
        return f"{about} cannot be read, and is removed: {error.message}"
    repository = Repository(home)
    kept = KeptCommits(repository, folder.id, turn.task)
    known = [repository.find_commit(name) for name in ("HEAD", f"refs/heads/sow/int/{folder.id}")]
    with repository.locked():
        refs = kept.keep_unreachable(LATE, packet.parents, excluding=filter(None, known))
    folder.append_event(LATE, task=turn.task, host=turn.host, refs=refs)
    names = [ref.removeprefix(f"{KEEP}/") for ref in refs]
    restore = f"see its work: sow salvage restore {names[0]}" if names else "it has nothing new"
    return f"{about} changed nothing; {restore}"


def _run_of(home: Home, turn: LostTurn) -> RunFolder | None:
    """Returns the run in which a turn was sent."""
    folders = [folder for folder in run_folder.all_folders(home) if turn.task in folder.run["tasks"]]
    earlier = [folder for folder in folders if folder.run["started_at"] <= turn.sent_at]
    known = earlier or folders
    return known[-1] if known else None


def kept_late(home: Home) -> list[str]:
    """Returns the pins of late results, without the beginning of their names."""
    names = (ref.removeprefix(f"{KEEP}/") for ref in Repository(home).refs(KEEP))
    return [name for name in names if name.rpartition("/")[2].startswith(f"{LATE}-")]
