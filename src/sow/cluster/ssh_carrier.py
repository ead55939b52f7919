"""Takes turns on hosts that ssh reaches: git over ssh carries the packets, and `sow turn` runs there detached."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sow.cluster.carrier import TurnDelivery, TurnOrder
from sow.cluster.host_folder import account_of
from sow.cluster.transfer import NoSpace, TooLarge, Transfer, TransferFailed, run_program
from sow.cluster.turn_request import PROTOCOL
from sow.config import ExecutorConfig
from sow.errors import SowError, Waiting
from sow.system import remote_git
from sow.system.process.child_process import run_to_end
from sow.system.process.program import SteppedProgram
from sow.system.process.steps import Result, Steps

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0  # seconds until a broken connection is tried again
NO_CONNECTION = 255  # the exit code of ssh itself
NO_PROGRAM = 127
DONE = object()
MOST_SLOTS = 1000
HOST_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,253}")
REST_SECONDS = 300.0  # for which a host that lost or refused a turn gets none that another one can take
LEAVING = 2  # requests to stop, after which a turn is left to a later call


@dataclass
class SshHost:
    """One host: its name for ssh, how many turns it takes at once, and what it said about itself."""

    name: str
    slots: int
    facts: dict[str, Any] = field(default_factory=dict)
    used: int = 0
    rests_until: float = 0.0  # on the monotonic clock

    @property
    def is_resting(self) -> bool:
        """Tells whether other hosts come first, because a turn was lost or refused here a short time ago."""
        return self.rests_until > time.monotonic()

    @property
    def executors(self) -> Mapping[str, Any]:
        executors = self.facts.get("executors")
        return executors if isinstance(executors, dict) else {}

    @property
    def url(self) -> str:
        """The git URL of its repository for packets, in the form that allows any path."""
        return f"{self.name}:{self.facts.get('repository', '')}"


def parse_hosts(text: str) -> list[SshHost]:
    """Reads `--on`: names of hosts for ssh, each with its number of turns at once, such as box-a:2,box-b."""
    hosts: list[SshHost] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, colon, number = part.partition(":")
        slots = int(number) if number.isascii() and number.isdigit() and len(number) <= len(str(MOST_SLOTS)) else 0
        slots = slots if colon else 1
        valid = HOST_NAME.fullmatch(name) and 1 <= slots <= MOST_SLOTS
        if not valid or name in [host.name for host in hosts]:
            raise SowError(f"--on: {part!r:.80} is no host", "write: --on box-a:2,box-b:1")
        hosts.append(SshHost(name, slots))
    if not hosts:
        raise SowError("--on names no host", "write: --on box-a:2,box-b:1")
    return hosts


class Watch:
    """Counts how often a person asked for the end of a turn, and knows when its host last answered."""

    def __init__(self) -> None:
        self.stops = 0
        self.last_contact = time.monotonic()

    @property
    def is_leaving(self) -> bool:
        """Tells whether to leave the turn to a later call."""
        return self.stops >= LEAVING

    def heard(self) -> None:
        """Records that the host answers now."""
        self.last_contact = time.monotonic()

    def wait(self) -> Steps[None]:
        """Waits for the next step, and counts a request to stop."""
        self.stops += bool((yield))

    def through(self, steps: Steps[Result]) -> Steps[Result]:
        """Takes steps that nothing interrupts."""
        try:
            while True:
                next(steps)
                yield from self.wait()
        except StopIteration as end:
            self.heard()
            result: Result = end.value
            return result
        finally:
            steps.close()


class SshCarrier:
    """Takes turns on the hosts of `--on`."""

    def __init__(self, hosts: Sequence[SshHost], *, lost_after: float, fetch_mb: int = 0) -> None:
        self.hosts = list(hosts)
        self.lost_after = lost_after
        self.fetch_mb = fetch_mb
        self.environment = remote_git.sealed_environment()
        self.ssh = shlex.split(self.environment.get("GIT_SSH_COMMAND") or self.environment.get("GIT_SSH") or "ssh")

    def connect(self) -> None:
        """Asks each host what it offers; raises if one does not answer or cannot take turns."""
        for host in self.hosts:
            code, output, errors = run_to_end(run_program(self._command(host, "offers"), self.environment))
            reason = errors.strip().rpartition("\n")[2] or f"exit code {code}"
            if code == NO_CONNECTION:
                others = ",".join(f"{other.name}:{other.slots}" for other in self.hosts if other is not host)
                without = f"with --on {others}" if others else "without --on"
                hint = f"try: ssh {host.name} true; if it is gone for good, run again {without}"
                raise Waiting(f"{host.name} cannot be reached: {reason[:300]}", hint)
            if code == NO_PROGRAM or (code and "not found" in errors):
                raise Waiting(
                    f"{host.name} has no sow for a command over ssh: {reason[:300]}",
                    "install it there, and put it on the PATH of a login shell (docs/how-to/cluster.md)",
                )
            try:
                host.facts = json.loads(output.strip().rpartition("\n")[2]) if not code else {}
            except ValueError:
                host.facts = {}
            if not host.facts:
                raise Waiting(
                    f"{host.name} gave no answer that sow can read: {reason[:300]}", f"update sow on {host.name}"
                )
            if host.facts.get("protocol") != PROTOCOL:
                raise Waiting(
                    f"{host.name} has another version of sow ({host.facts.get('version', 'unknown')!s:.40})",
                    f"install the same version on {host.name}",
                )

    def require(self, executor: ExecutorConfig) -> None:
        """Raises if no host offers an executor."""
        if not self.offers(executor.name):
            listed = "; ".join(f"{host.name}: {', '.join(host.executors) or 'nothing'}" for host in self.hosts)
            raise Waiting(
                f"no host of --on offers the executor {executor.name}",
                f"install its program on a host, or name another executor; the hosts offer: {listed[:500]}",
            )

    def offers(self, executor: str) -> bool:
        """Tells whether a host offers an executor."""
        return any(executor in host.executors for host in self.hosts)

    def accounts(self, executor: str) -> dict[str, str]:
        """Returns the accounts with which hosts offer an executor, by the name of the host."""
        offers = {host.name: host.executors[executor] for host in self.hosts if executor in host.executors}
        return {name: account_of(name, offer) for name, offer in offers.items()}

    def capacity(self) -> int:
        """Returns how many turns all hosts take at once."""
        return sum(host.slots for host in self.hosts)

    def take(self, root: str, order: TurnOrder) -> Steps[TurnDelivery]:
        """Brings an order to a host, waits for its end, and fetches the result; another host takes what one refuses."""
        wanted = order.host
        while True:
            host = yield from self._reserve(order)
            if isinstance(host, TurnDelivery):
                return host
            order.chosen(host.name)
            host.used += 1
            try:
                delivery = yield from self._turn(root, host, order)
            finally:
                host.used -= 1
            if delivery.kind in ("lost", "refused"):
                host.rests_until = time.monotonic() + REST_SECONDS
            if delivery.kind != "refused" or wanted or not self._others(host, order):
                return delivery
            order.tell(f"{host.name} did not take the turn: {delivery.reason}"[:200])
            yield from self.settled(root, order)

    def transfer(self, root: str, host: str) -> Transfer | None:
        """Returns the way to the packets of a host; None if it is not one of --on."""
        urls = [other.url for other in self.hosts if other.name == host]
        return Transfer(root, urls[0], self.environment, fetch_mb=self.fetch_mb) if urls else None

    def shared_transfer(self, root: str) -> None:
        """Returns nothing: each host has a repository of its own."""

    def settled(self, root: str, order: TurnOrder) -> Steps[None]:
        """Removes the packets of an order on its host."""
        transfer = self.transfer(root, order.host)
        if transfer is not None:
            yield from transfer.remove(order.refs)

    def _reserve(self, order: TurnOrder) -> Steps[SshHost | TurnDelivery]:
        """Waits for a free host that may take the order; returns the end of the order if there is none."""
        accounts = set(self.accounts(order.executor).values())
        while True:
            if order.all_rest(accounts):
                return TurnDelivery("rests", reason=f"all accounts of {order.executor} rest")
            fitting = self._fitting(order)
            if not fitting:
                return TurnDelivery("no_host", reason=f"{order.host} is not a host of this run", host=order.host)
            known = [host for host in fitting if not host.is_resting] or fitting
            free = [host for host in known if host.used < self._most(host, order.executor)]
            if free:
                return max(free, key=lambda host: host.slots - host.used)
            if (yield):
                return TurnDelivery("left" if order.was_sent else "interrupted")

    def _fitting(self, order: TurnOrder) -> list[SshHost]:
        """Returns the hosts that may take an order, without those whose account rests."""
        if order.host:
            return [host for host in self.hosts if host.name == order.host and order.executor in host.executors]
        accounts, rests = self.accounts(order.executor), order.rests()
        return [host for host in self.hosts if host.name in accounts and accounts[host.name] not in rests]

    def _others(self, host: SshHost, order: TurnOrder) -> list[SshHost]:
        """Returns the other hosts that could take an order."""
        return [other for other in self._fitting(order) if other is not host and not other.is_resting]

    def _most(self, host: SshHost, executor: str) -> int:
        own = host.executors.get(executor, {}).get("most", 0)
        return min(host.slots, own) if isinstance(own, int) and own else host.slots

    def _turn(self, root: str, host: SshHost, order: TurnOrder) -> Steps[TurnDelivery]:
        """Sends the request, follows the turn and fetches its result; a broken connection is tried again."""
        transfer = Transfer(root, host.url, self.environment, fetch_mb=self.fetch_mb)
        watch, pause = Watch(), FIRST_PAUSE
        is_sent, is_over = not order.commits, False
        while not watch.is_leaving:
            problem = ""
            try:
                if not is_sent:
                    yield from watch.through(transfer.push(order.commits))
                    is_sent = True
                if watch.stops and not order.was_sent:
                    return TurnDelivery("interrupted", host=host.name)
                if not is_over:
                    order.was_sent = True
                    ended, problem = yield from self._follow(host, order, transfer, watch)
                    if ended.get("event") == "refused":
                        return TurnDelivery("refused", host=host.name, reason=str(ended.get("reason", ""))[:2000])
                    is_over = ended.get("event") == "ended"
                if is_over:
                    commit = yield from watch.through(transfer.fetch(order.result_ref))
                    account = account_of(host.name, host.executors.get(order.executor, {}))
                    return TurnDelivery("result", commit=commit, host=host.name, account=account)
            except TooLarge as error:
                return TurnDelivery(
                    "result", host=host.name, reason=f"its result cannot be taken over: {error.message}"
                )
            except NoSpace as error:
                if is_over:  # and the result is there
                    raise
                return TurnDelivery("refused", host=host.name, reason=error.message)
            except TransferFailed as error:
                problem = error.message
            if watch.stops and not order.was_sent:
                return TurnDelivery("interrupted", host=host.name)
            patience = self.lost_after if self._others(host, order) else max(self.lost_after, order.wait_for_host)
            if time.monotonic() > watch.last_contact + patience:
                return TurnDelivery("lost", host=host.name, reason=f"{host.name}: {problem}")
            order.tell(f"{host.name}: trying again: {problem}"[:200])
            give_up = time.monotonic() + pause
            while time.monotonic() < give_up and not watch.is_leaving:
                yield from watch.wait()
            pause = min(2 * pause, LONGEST_PAUSE)
        return TurnDelivery("left", host=host.name)

    def _follow(
        self, host: SshHost, order: TurnOrder, transfer: Transfer, watch: Watch
    ) -> Steps[tuple[dict[str, Any], str]]:
        """Starts the turn, or attaches to it; returns its last event, and the problem with the connection.

        The first request to stop is passed on, and the result is waited for. With the second one the turn is left.
        """
        program = SteppedProgram(self._command(host, "start", order.token), environment=self.environment)
        stop: Steps[Any] | None = None
        fetch: Steps[Any] | None = None
        is_connected = False
        try:
            while not watch.is_leaving and (lines := program.lines()) is not None:
                for event in map(_event, lines):
                    is_connected = is_connected or bool(event)
                    if event.get("event") in ("ended", "refused"):
                        return event, ""
                    if event.get("event") == "checkpoint":
                        fetch = fetch or transfer.try_fetch(order.checkpoint_ref)
                    if event.get("text"):
                        order.tell(f"{host.name}: {event['text']}"[:200])
                if is_connected:
                    watch.heard()
                yield from watch.wait()
                if watch.stops and stop is None:
                    stop = self._stop(host, order.token)
                if stop is not None:
                    next(stop, None)
                if fetch is not None and next(fetch, DONE) is DONE:
                    fetch = None
            reason = program.errors().rpartition("\n")[2][:300] or f"the connection ended (exit {program.code})"
            return {}, reason
        finally:
            program.end()
            for steps in filter(None, (stop, fetch)):
                steps.close()

    def stop(self, host: SshHost, token: str, patience: float) -> Steps[bool]:
        """Stops a turn that no run follows; returns whether it has ended. Raises if its host cannot be reached."""
        command = self._command(host, "stop", token, f"--wait={patience:g}s")
        code, output, errors = yield from run_program(command, self.environment)
        if code:
            reason = errors.strip().rpartition("\n")[2] or f"exit code {code}"
            raise SowError(reason[:300], f"stop it there: ssh {host.name} sow turn stop {token}")
        return not any(_event(line).get("event") == "stopping" for line in output.splitlines())

    def _stop(self, host: SshHost, token: str) -> Steps[Any]:
        return run_program(self._command(host, "stop", token), self.environment)

    def _command(self, host: SshHost, *words: str) -> list[str]:
        """Returns the command that runs `sow turn` in a login shell of the machine, which knows the user's PATH."""
        inner = shlex.join(["exec", "sow", "turn", *words])
        return [*self.ssh, host.name, f'exec "${{SHELL:-/bin/sh}}" -lc {shlex.quote(inner)}']


def _event(line: str) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}
