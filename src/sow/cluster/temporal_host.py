"""Serves a cluster on this machine: takes turns from its queues, and starts a process for each (`sow host serve`)."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.api.workflowservice.v1 import GetSystemInfoRequest
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import (
    CustomSlotSupplier,
    FixedSizeSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
    Worker,
    WorkerTuner,
)

from sow.cluster.cluster_settings import ClusterSettings
from sow.cluster.host_folder import HostFolder, describe, machine_name, read_capacity
from sow.cluster.settling import MOST_RESET
from sow.cluster.temporal_client import ABOUT, TURN, connect, find_hosts, listed_hosts
from sow.cluster.turn_request import CHECKS, PROTOCOL, is_token
from sow.config import Config
from sow.engine.runs.run_job import retry_time
from sow.errors import INTERRUPTED, Waiting
from sow.executors.adapter import Outcome
from sow.system import clock
from sow.system.process.program import SteppedProgram

MOST_OWN = 200  # turns and questions at once that only this host can take; they wait here for a free place
MOST_STARTS = 2  # the second process packs what a killed one left
TICK, LONGEST_BEAT = 0.05, 5.0
CONTACT_SECONDS, CONTACT_TIMEOUT = 1.0, timedelta(seconds=5)
MOST_FAILURES, CLOSED_SECONDS = 3, 300.0
BELIEVED_SECONDS = 60.0  # for which a sender's word that an account rests closes the gate
MOST_DIGITS = 12  # of a time in seconds
LONGEST_DRAIN = timedelta(days=7)
ENDS = ("ended", "refused", "failed")


@dataclass
class Places:
    """The turns that this host takes at once with one executor."""

    most: int
    account: str
    used: int = 0
    rests_until: float = 0.0  # because the account has reached a limit; the host asks for no turn before

    @property
    def are_full(self) -> bool:
        return self.used >= self.most

    @property
    def is_resting(self) -> bool:
        return self.rests_until > time.time()


class GateSlots(CustomSlotSupplier):
    """Lets the server be asked for a turn only while this host can take one."""

    def __init__(self, is_open: Callable[[], bool]) -> None:
        self.is_open = is_open

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        """Waits until the host can take a turn."""
        while not self.is_open():
            await asyncio.sleep(TICK)
        return SlotPermit()

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        """Returns a permit if the host can take a turn now."""
        return SlotPermit() if self.is_open() else None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        """Does nothing: turns are counted when they begin."""

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        """Does nothing: turns are counted when they end."""


class TemporalHost:
    """This machine as a host of a cluster."""

    def __init__(
        self,
        settings: ClusterSettings,
        folder: HostFolder,
        config: Config,
        capacity: Mapping[str, int],
        tell: Callable[[str], None],
    ) -> None:
        self.settings = settings
        self.folder = folder
        self.config = config
        self.name = machine_name(config)
        wanted = config.setting("host", "capacity") or {}
        accounts = {name: read_capacity(wanted.get(name, 0))[1] or self.name for name in capacity}
        self.places = {name: Places(most, accounts[name]) for name, most in capacity.items()}
        self.tell = tell
        self.programs: dict[str, SteppedProgram] = {}  # by token
        self.failures = 0
        self.closed_until = 0.0
        self.reason = ""
        self.signals = 0
        self.is_over = False
        self.last_contact = time.monotonic()  # with the server

    async def serve(self) -> None:
        """Takes turns until SIGTERM or Ctrl-C, then waits for those that run; the second signal ends these, too."""
        client = await connect(self.settings)
        await self._require_own_name(client)
        workers = [self._own_worker(client), *(self._worker(client, name) for name in self.places)]
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop, stopped)
        running = [asyncio.create_task(worker.run()) for worker in workers]
        asking = [asyncio.create_task(self._announce(client)), asyncio.create_task(self._watch_server(client))]
        waiting = asyncio.create_task(stopped.wait())
        await asyncio.wait([waiting, *running], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        await asyncio.gather(*(worker.shutdown() for worker in workers))
        self.is_over = True
        await asyncio.gather(*asking)  # an open call would crash the end of this process
        await asyncio.gather(*running)

    async def _watch_server(self, client: Client) -> None:
        """Notes when the server answered last: a host that is cut off ends its turns, because others begin them."""
        while not self.is_over:
            with suppress(RPCError):
                await client.workflow_service.get_system_info(GetSystemInfoRequest(), timeout=CONTACT_TIMEOUT)
                self.last_contact = time.monotonic()
            await asyncio.sleep(CONTACT_SECONDS)

    async def _announce(self, client: Client) -> None:
        """Says that this host serves when others can see it."""
        is_listed = False
        while not is_listed:
            with suppress(RPCError):
                is_listed = (self.name, PROTOCOL) in await listed_hosts(client, self.settings)
            if self.is_over:
                return
            await asyncio.sleep(TICK)
        capacity = ", ".join(f"{name.lstrip(':')} {places.most}" for name, places in self.places.items())
        self.tell(f"{self.name} serves the cluster {self.settings.name} at {self.settings.address}: {capacity}")

    def _stop(self, stopped: asyncio.Event) -> None:
        """Takes nothing new after the first signal; the second one ends the turns, whose work is still handed over."""
        self.signals += 1
        if self.signals == 1:
            count = len(self.programs)
            self.tell(f"takes nothing new{f', and waits for the end of {count} turns' if count else ''}")
            stopped.set()
        else:
            self.tell("ends its turns")
            for program in self.programs.values():
                program.leave()

    async def _require_own_name(self, client: Client) -> None:
        """Raises if a host of the same name serves the cluster, since turns are sent to hosts by name."""
        for host in await find_hosts(client, self.settings):
            if host.name == self.name and host.facts:
                raise Waiting(
                    f"a host named {self.name} serves the cluster already", "sow config set host.name ANOTHER-NAME"
                )

    def _worker(self, client: Client, executor: str) -> Worker:
        """Returns the worker for turns that any host with this executor can take."""

        @activity.defn(name=TURN)
        async def turn(words: dict[str, str]) -> dict[str, str]:
            return await self._turn(words, is_own=False)

        own = FixedSizeSlotSupplier(1)
        tuner = WorkerTuner.create_composite(
            workflow_supplier=own,
            activity_supplier=GateSlots(lambda: self._is_open(executor)),
            local_activity_supplier=own,
            nexus_supplier=own,
        )
        return Worker(
            client,
            task_queue=self.settings.queue_of_executor(executor),
            activities=[turn],
            tuner=tuner,
            max_concurrent_activity_task_polls=1,  # a poll that was begun takes a turn even if the gate closes
            **_times(),
        )

    def _own_worker(self, client: Client) -> Worker:
        """Returns the worker for what only this host can do: turns in its sessions, and saying what it is."""

        @activity.defn(name=TURN)
        async def turn(words: dict[str, str]) -> dict[str, str]:
            return await self._turn(words, is_own=True)

        @activity.defn(name=ABOUT)
        async def about() -> dict[str, Any]:
            return self._about()

        return Worker(
            client,
            task_queue=self.settings.queue_of_host(self.name),
            activities=[turn, about],
            max_concurrent_activities=MOST_OWN,
            **_times(),
        )

    def _is_open(self, executor: str) -> bool:
        places = self.places[executor]
        return not places.are_full and not places.is_resting and time.monotonic() >= self.closed_until

    def _about(self) -> dict[str, Any]:
        """Returns what others see of this host."""
        facts: dict[str, Any] = describe(self.folder, self.config)
        offered = facts["executors"]
        facts["executors"] = {
            name: {
                **offered[name],
                "most": places.most,
                "used": places.used,
                "account": places.account,
                "rests_until": int(places.rests_until) if places.is_resting else 0,
            }
            for name, places in self.places.items()
            if name in offered
        }
        seconds = self.closed_until - time.monotonic()
        notes = [f"takes nothing new for {seconds / 60:.0f} minutes: {self.reason}"] if seconds > 0 else []
        resting = [(name, places.rests_until) for name, places in self.places.items() if places.is_resting]
        notes += [f"{name} rests until {clock.local(until)}" for name, until in resting]
        facts["note"] = "; ".join(notes)
        if self.signals:
            facts["note"] = "stops when its turns have ended"
        return facts

    async def _turn(self, words: Mapping[str, str], *, is_own: bool) -> dict[str, str]:
        """Takes a turn when its executor has a free place; a turn that others can take is not kept waiting."""
        token, executor = str(words.get("token", "")), str(words.get("executor", ""))
        url = self._transfer(str(words.get("transfer", "")))
        places = self.places.get(executor)
        if places is None or not is_token(token) or not url:
            return self._answer("refused", reason=f"this host does not offer the executor {executor!r:.80}")
        if not is_own:
            self._learn_rest(places, str(words.get("rests", "")))
        while places.are_full or (not is_own and not self._is_open(executor)):
            if not is_own:
                return self._answer("busy")
            activity.heartbeat({"host": self.name, "text": "waits for a free place"})
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                return self._answer("interrupted")
        places.used += 1
        title = str(words.get("title", token))[:200]
        try:
            self.tell(f"{title}: started")
            answer = await self._run(token, url, places.account)
            self._count(answer)
            if answer.get("outcome") == "limited":
                outcome = Outcome("limited", reset_at=int(answer["reset_at"]))
                places.rests_until = min(retry_time(outcome), time.time() + MOST_RESET)
                self.tell(f"{executor} rests until {clock.local(places.rests_until)}")
            reason = f", {answer['reason']}"[:300] if answer.get("reason") else ""
            self.tell(f"{title}: {answer.get('outcome') or answer['kind']}{reason}")
            return answer
        finally:
            places.used -= 1

    def _learn_rest(self, places: Places, rests: str) -> None:
        """Closes the gate for a while if the sender knows that the account has reached a limit on another host."""
        for entry in rests.split(","):
            account, _, until = entry.partition("=")
            if account in ("", places.account) and until.isascii() and until.isdigit() and len(until) <= MOST_DIGITS:
                rests_until = min(float(until), time.time() + BELIEVED_SECONDS)
                places.rests_until = max(places.rests_until, rests_until)

    def _transfer(self, url: str) -> str:
        """Returns the transfer repository: the sender's if this host names it, else this host's own URL of it."""
        named = self.config.setting("host", "transfers")
        return url if url in named else self.settings.transfer or next(iter(named), "")

    def _answer(self, kind: str, **facts: str) -> dict[str, str]:
        return {"kind": kind, "host": self.name, **facts}

    def _count(self, answer: Mapping[str, str]) -> None:
        """Closes the gate for a while after failures in a row that are not the work's."""
        if answer["kind"] != "failed":
            self.failures = 0 if answer["kind"] == "result" else self.failures
            return
        self.failures += 1
        if self.failures >= MOST_FAILURES:
            self.closed_until, self.failures = time.monotonic() + CLOSED_SECONDS, 0
            self.reason = f"{MOST_FAILURES} turns in a row failed here, the last one: {answer.get('reason', '')}"
            self.tell(f"takes nothing new for {CLOSED_SECONDS / 60:.0f} minutes: {self.reason}")

    async def _run(self, token: str, url: str, account: str) -> dict[str, str]:
        """Runs `sow turn run`; the pipe to it ends with this process, so that no agent is left alone."""
        command = [sys.executable, "-m", "sow", "turn", "run", token, f"--transfer={url}"]
        command += ["--checks"] if CHECKS in self.places else []
        for _ in range(MOST_STARTS):
            program = SteppedProgram(command, environment=self.folder.environment, lifeline=True)
            self.programs[token] = program
            try:
                event = await self._until_end(program)
                errors = program.errors()
                code = program.code
            finally:
                del self.programs[token]
                program.end()
            if code >= 0:
                break
        if event.get("event") == "ended":
            facts = {key: str(event.get(key)) for key in ("commit", "outcome", "reset_at")}
            return self._answer("result", account=account, **facts)
        if event.get("event") in ENDS:
            return self._answer(str(event["event"]), reason=str(event.get("reason", ""))[:2000])
        if code == INTERRUPTED:
            return self._answer("interrupted")
        error = next((line for line in errors.splitlines() if line.startswith("error: ")), errors[-300:])
        return self._answer("failed", reason=error.removeprefix("error: ")[:2000] or f"exit code {code}")

    async def _until_end(self, program: SteppedProgram) -> Mapping[str, Any]:
        """Passes on the progress of a turn to the server, and its cancellation to the process; returns its end."""
        timeout = activity.info().heartbeat_timeout
        limit = timeout.total_seconds() if timeout else float("inf")
        beat = min(LONGEST_BEAT, limit / 6)
        end: Mapping[str, Any] = {}
        text, next_beat = "", 0.0
        while (lines := program.lines()) is not None:
            for event in map(_event, lines):
                end = event if event.get("event") in ENDS else end
                text = str(event.get("text") or event.get("command") or text)[:200]
            if time.monotonic() >= next_beat:
                activity.heartbeat({"host": self.name, "text": text})
                next_beat = time.monotonic() + beat
            if time.monotonic() > self.last_contact + limit:
                program.leave()
            try:
                await asyncio.sleep(TICK)
            except asyncio.CancelledError:
                if task := asyncio.current_task():
                    task.uncancel()
                details = activity.cancellation_details()
                if details is not None and details.cancel_requested:
                    program.interrupt()
                else:  # the server gave this host up, and the turn can begin elsewhere
                    program.leave()
        return end


def _times() -> dict[str, Any]:
    second = timedelta(seconds=1)
    return {
        "max_heartbeat_throttle_interval": second,  # otherwise a beat is sent only after 80 % of the time-out
        "default_heartbeat_throttle_interval": second,
        "graceful_shutdown_timeout": LONGEST_DRAIN,
    }


def _event(line: str) -> Mapping[str, Any]:
    with suppress(ValueError, RecursionError):
        event = json.loads(line)
        return event if isinstance(event, dict) else {}
    return {}


def serve(host: TemporalHost) -> None:
    """Serves the cluster until a signal ends it."""
    serving: Coroutine[Any, Any, None] = host.serve()
    asyncio.run(serving)
