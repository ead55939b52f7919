"""Takes turns through a Temporal server: one activity per turn, on the hosts that serve the cluster."""

from __future__ import annotations

import asyncio
import atexit
import re
import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, GetSystemInfoRequest, ListWorkersRequest
from temporalio.client import ActivityExecutionStatus, ActivityFailureError, ActivityHandle, Client
from temporalio.common import ActivityIDReusePolicy, RetryPolicy
from temporalio.exceptions import ActivityAlreadyStartedError, CancelledError, TimeoutType
from temporalio.exceptions import TimeoutError as ActivityTimeout
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from sow.cluster.carrier import TurnDelivery, TurnOrder
from sow.cluster.cluster_settings import ClusterSettings
from sow.cluster.host_folder import account_of
from sow.cluster.transfer import TooLarge, Transfer, TransferFailed
from sow.cluster.turn_request import CHECKS, PROTOCOL
from sow.config import ExecutorConfig
from sow.errors import SowError, Waiting
from sow.system import clock, git, remote_git
from sow.system.process.child_process import run_to_end
from sow.system.process.steps import Steps

T = TypeVar("T")
TURN, ABOUT = "sow-turn", "sow-about"  # the activities of a host
OLDEST_SERVER = (1, 31)
CONNECT_SECONDS = 10.0
HOST_BEAT = 1.0  # seconds between the beats of a host; with the first one it is in the list
SILENT_HOST = 15.0  # a host that was silent for so long is not asked any more
ABOUT_SECONDS = 5.0
LONGEST_TURN = timedelta(days=7)  # the limits of the run end a turn before
CLOSE_SECONDS, SETTLE_SECONDS = 2.0, 0.05
LOOK_SECONDS, LOOK_FOR_HOSTS_SECONDS = 1.0, 10.0
BUSY_SECONDS = 0.5
SHORT_SILENCE = 3.0  # of the server, about which nothing is said
SERVER_AWAY = "the Temporal server cannot be reached"
STOP_SECONDS = 0.2  # until it is looked whether a turn that is stopped has ended
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
MOST_HOSTS = 3  # on which a turn is tried if its hosts fail


@dataclass(frozen=True)
class ClusterHost:
    """A host of the cluster: what it said about itself, or nothing if it did not answer."""

    name: str
    protocol: str
    seen: float  # seconds since its last beat
    facts: Mapping[str, Any]

    @property
    def executors(self) -> Mapping[str, Mapping[str, Any]]:
        executors = self.facts.get("executors")
        return executors if isinstance(executors, dict) else {}


async def connect(settings: ClusterSettings) -> Client:
    """Returns a connection to the server; raises if it does not answer or is too old."""
    runtime = Runtime(
        telemetry=TelemetryConfig(logging=None),  # it would go to standard output
        worker_heartbeat_interval=timedelta(seconds=HOST_BEAT),
    )
    try:
        connecting = Client.connect(
            settings.address, namespace=settings.namespace, tls=_tls(settings), runtime=runtime, identity="sow"
        )
        client = await asyncio.wait_for(connecting, CONNECT_SECONDS)
        info = await client.workflow_service.get_system_info(GetSystemInfoRequest())
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=settings.namespace))
    except RPCError as error:
        raise Waiting(
            f"the Temporal server at {settings.address} cannot be used: {error.message[:200]}",
            "check cluster.namespace and the certificates",
        ) from None
    except (RuntimeError, TimeoutError) as error:
        reason, hint = _connection_problem(settings, str(error))
        raise Waiting(f"the Temporal server at {settings.address} cannot be reached: {reason}", hint) from None
    version = tuple(int(part) for part in info.server_version.split(".")[:2] if part.isdigit())
    if version < OLDEST_SERVER:
        raise Waiting(
            f"the Temporal server at {settings.address} has version {info.server_version}, which is too old",
            "sow needs 1.31 or newer",
        )
    return client


def _connection_problem(settings: ClusterSettings, text: str) -> tuple[str, str]:
    """Returns the reason and the next step for an error of the library, which names only the cause in its own code."""
    if any(word in text for word in ("PrivateKeyParse", "KeyMismatch", "NoCertificatesPresented")):
        return "cluster.tls_cert and cluster.tls_key are no certificate with its key", "check both files"
    if "InvalidCertificate" in text:
        return "its certificate is not from the authority of cluster.tls_ca", "check cluster.tls_ca"
    if "InvalidContentType" in text:
        return "it does not speak TLS", "check cluster.address, or remove cluster.tls_ca, tls_cert and tls_key"
    if "error after connection" in text:
        unknown = "check cluster.tls_cert: the server may not know its authority"
        missing = "if the server wants a certificate, set cluster.tls_cert and cluster.tls_key"
        plain = "if the server speaks TLS, set cluster.tls_ca"
        hint = unknown if settings.tls_cert else missing if settings.tls_ca else plain
        return "it ended the connection", hint
    causes = re.findall(r'message: "([^"]+)"', text)
    reason = causes[-1] if causes else text.strip().rpartition("\n")[2] or "no answer"
    return reason[:200], "start one with 'sow cluster dev', or check cluster.address"


def _tls(settings: ClusterSettings) -> TLSConfig | bool:
    """Returns the certificates for the connection; False for one without TLS."""
    if not settings.tls_ca and not settings.tls_cert:
        return False
    if bool(settings.tls_cert) != bool(settings.tls_key):
        raise SowError("cluster.tls_cert and cluster.tls_key belong together", "set both, or neither of them")

    def content(path: str) -> bytes | None:
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise SowError(f"{path}: {error.strerror}", "check cluster.tls_ca, tls_cert and tls_key") from None

    return TLSConfig(
        server_root_ca_cert=content(settings.tls_ca) if settings.tls_ca else None,
        client_cert=content(settings.tls_cert) if settings.tls_cert else None,
        client_private_key=content(settings.tls_key) if settings.tls_key else None,
    )


async def listed_hosts(client: Client, settings: ClusterSettings) -> dict[tuple[str, str], float]:
    """Returns the hosts of the cluster by name and protocol, each with the seconds since its last beat."""
    seen: dict[tuple[str, str], float] = {}
    page = b""
    while True:
        request = ListWorkersRequest(namespace=client.namespace, page_size=500, next_page_token=page)
        answer = await client.workflow_service.list_workers(request)
        beats = [worker.worker_heartbeat for worker in answer.workers_info]
        ages = {beat.worker_instance_key: time.time() - beat.heartbeat_time.seconds for beat in beats}
        for worker in answer.workers:
            name, age = settings.host_of_queue(worker.task_queue), ages.get(worker.worker_instance_key, 0.0)
            if name[0] and age < SILENT_HOST:
                seen[name] = min(age, seen.get(name, age))
        page = answer.next_page_token
        if not page:
            return seen


async def find_hosts(client: Client, settings: ClusterSettings) -> list[ClusterHost]:
    """Asks all hosts of the cluster about themselves; those of other versions are only named."""
    seen = await listed_hosts(client, settings)
    names = sorted(seen)
    answers = await asyncio.gather(*(_about(client, settings, *name) for name in names))
    return [
        ClusterHost(name, protocol, max(seen[name, protocol], 0.0), facts)
        for (name, protocol), facts in zip(names, answers, strict=True)
    ]


async def _about(client: Client, settings: ClusterSettings, name: str, protocol: str) -> Mapping[str, Any]:
    if protocol != PROTOCOL:
        return {}
    limit = timedelta(seconds=ABOUT_SECONDS)
    try:
        facts = await client.execute_activity(
            ABOUT,
            id=f"sow/{settings.name}/about/{clock.uuid4()}",
            task_queue=settings.queue_of_host(name),
            schedule_to_start_timeout=limit,
            start_to_close_timeout=limit,
            retry_policy=RetryPolicy(maximum_attempts=1),
        )
    except (ActivityFailureError, RPCError):
        return {}
    return facts if isinstance(facts, dict) else {}


class ClientThread:
    """The thread in which everything of the client runs."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        atexit.register(self.close)

    def close(self) -> None:
        """Ends all calls to the server; an open one would crash the end of this process."""
        with suppress(TimeoutError):
            self.start(self._cancel_all()).result(CLOSE_SECONDS)

    async def _cancel_all(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(SETTLE_SECONDS)  # the library drops the calls in threads of its own

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Starts work in the thread."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Waits for work in the thread, and returns its result."""
        return self.start(coroutine).result()


def ask_hosts(settings: ClusterSettings) -> list[ClusterHost]:
    """Connects to a cluster and returns its hosts."""
    thread = ClientThread()
    return thread.call(find_hosts(thread.call(connect(settings)), settings))


@dataclass
class SentTurn:
    """What the client's thread knows about a turn; the run's loop only reads it."""

    token: str
    host: str = ""
    text: str = ""
    is_stopped: bool = False
    last_contact: float = field(default_factory=time.monotonic)  # with the server
    is_given_up: bool = False  # because no host offers its executor
    rests: bool = False  # it was cancelled because all accounts rest
    handles: list[ActivityHandle[Any]] = field(default_factory=list)


class TemporalCarrier:
    """Takes turns on the hosts of a cluster."""

    def __init__(self, settings: ClusterSettings) -> None:
        self.settings = settings
        self.environment = remote_git.sealed_environment()
        self.hosts: list[ClusterHost] = []
        self.used_accounts: dict[str, dict[str, str]] = {}  # by executor and host, also of hosts that came later
        self.given_up: set[asyncio.Task[None]] = set()

    def connect(self, root: str) -> None:
        """Connects to the server, asks the hosts what they offer, and tries the transfer repository."""
        self.settings.require_transfer()
        self._connect()
        self._look_for_hosts(self.thread.call(find_hosts(self.client, self.settings)))
        if not self.hosts:
            raise Waiting(
                f"no host serves the cluster {self.settings.name} at {self.settings.address}{self.others}",
                f"start one: sow host serve --address {self.settings.address}",
            )
        run_to_end(self._try_transfer(root))

    def _connect(self) -> None:
        self.thread = ClientThread()
        self.client = self.thread.call(connect(self.settings))

    def stop(self, tokens: Sequence[str], patience: float) -> list[bool]:
        """Stops turns that no run follows; returns for each whether it has ended."""
        self._connect()

        async def stop_all() -> list[bool]:
            return await asyncio.gather(*(self._stop(token, patience) for token in tokens))

        return self.thread.call(stop_all())

    async def _stop(self, token: str, patience: float) -> bool:
        """Cancels the activities of a turn, which was sent again whenever a host was busy, and waits for their ends."""
        give_up = time.monotonic() + patience
        number, is_asked = 0, False
        while True:
            handle = self.client.get_activity_handle(self._activity(token, number))
            try:
                is_over = (await handle.describe()).status != ActivityExecutionStatus.RUNNING
                if not (is_over or is_asked):
                    await handle.cancel()
                    is_asked = True
            except RPCError as error:
                if error.status == RPCStatusCode.NOT_FOUND:
                    return True
                reason = f"the Temporal server at {self.settings.address} does not answer: {error.message[:200]}"
                raise Waiting(reason, "try again: sow runs stop") from None
            if is_over:
                number, is_asked = number + 1, False
            elif time.monotonic() > give_up:
                return False
            else:
                await asyncio.sleep(STOP_SECONDS)

    def _activity(self, token: str, number: int) -> str:
        return f"sow/{self.settings.name}/{token}/{number}"

    def _look_for_hosts(self, hosts: list[ClusterHost]) -> None:
        self.hosts = [host for host in hosts if host.executors]
        names = ", ".join(f"{host.name} ({host.protocol})" for host in hosts if host.protocol != PROTOCOL)
        self.others = f"; hosts with another version of sow: {names}" if names else ""

    def _try_transfer(self, root: str) -> Steps[None]:
        """Pushes a ref and removes it again, so that a repository that refuses this is found before anything starts."""
        transfer = self.transfer(root)
        ref = f"refs/sow/bases/test-{clock.uuid4()}"
        try:
            yield from transfer.push({ref: git.run(["rev-parse", "HEAD"], cwd=root).strip()})
        except TransferFailed as error:
            raise Waiting(error.message, "check cluster.transfer: sow pushes to refs/sow/ there") from None
        yield from transfer.remove([ref])

    def require(self, executor: ExecutorConfig) -> None:
        """Raises if no host offers an executor."""
        if not self.offers(executor.name):
            listed = "; ".join(f"{host.name}: {', '.join(host.executors)}" for host in self.hosts)
            raise Waiting(
                f"no host of the cluster offers the executor {executor.name}{self.others}",
                f"install its program on a host, or name another executor; the hosts offer: {listed[:500]}",
            )

    def offers(self, executor: str) -> bool:
        """Tells whether a host offers an executor."""
        return any(executor in host.executors for host in self.hosts)

    def accounts(self, executor: str) -> dict[str, str]:
        """Returns the accounts with which hosts offer an executor, by the name of the host."""
        offers = {host.name: host.executors[executor] for host in self.hosts if executor in host.executors}
        return {name: account_of(name, offer) for name, offer in offers.items()} | self.used_accounts.get(executor, {})

    def capacity(self) -> int:
        """Returns how many turns all hosts take at once."""
        offers = [offer for host in self.hosts for name, offer in host.executors.items() if name != CHECKS]
        return sum(int(offer.get("most", 0)) for offer in offers)

    def take(self, root: str, order: TurnOrder) -> Steps[TurnDelivery]:
        """Sends an order, waits until a host has taken it, and fetches the result."""
        transfer = self.transfer(root)
        if order.was_sent and (yield from transfer.find(order.result_ref)):
            return (yield from self._result(transfer, order, order.host))
        if order.commits and not (yield from self._until_it_works(order, lambda: transfer.push(order.commits)))[1]:
            return TurnDelivery("interrupted")
        sent = SentTurn(order.token)
        future = self.thread.start(self._follow(order, sent))
        chosen = shown = ""
        while not future.done():
            if sent.host not in ("", chosen):
                chosen = sent.host
                order.chosen(chosen)
            if sent.text not in ("", shown):
                shown = sent.text
                order.tell(f"{sent.host}: {shown}"[:200] if sent.host else shown[:200])
            if (yield):
                if sent.is_stopped:
                    return TurnDelivery("left", host=sent.host)
                sent.is_stopped = True
                self.thread.start(self._cancel(sent))
        answer = future.result()
        host = str(answer.get("host") or sent.host)
        if host not in ("", chosen):
            order.chosen(host)
        return (yield from self._delivery(transfer, order, answer, host))

    def _delivery(
        self, transfer: Transfer, order: TurnOrder, answer: Mapping[str, Any], host: str
    ) -> Steps[TurnDelivery]:
        """Returns the end of an order; a lost host may still have sent its result."""
        kind, reason = str(answer["kind"]), str(answer.get("reason", ""))[:2000]
        if kind == "lost" and (yield from self._until_it_works(order, lambda: transfer.find(order.result_ref)))[0]:
            kind = "result"
        if kind == "lost":
            yield from transfer.try_fetch(order.checkpoint_ref)
        if "account" in answer:
            self.used_accounts.setdefault(order.executor, {})[host] = account_of(host, answer)
        if kind != "result":
            kind = {"failed": "refused"}.get(kind, kind)
            return TurnDelivery(kind, host=host or "the cluster" if kind == "refused" else host, reason=reason)
        return (yield from self._result(transfer, order, host))

    def _result(self, transfer: Transfer, order: TurnOrder, host: str) -> Steps[TurnDelivery]:
        """Fetches the result of a turn."""
        try:
            commit, is_there = yield from self._until_it_works(order, lambda: transfer.fetch(order.result_ref))
        except TooLarge as error:
            return TurnDelivery("result", host=host, reason=f"its result cannot be taken over: {error.message}")
        account = self.accounts(order.executor).get(host, host)
        return TurnDelivery("result" if is_there else "left", commit=commit or "", host=host, account=account)

    def transfer(self, root: str, host: str = "") -> Transfer:
        """Returns the way to the packets of all hosts."""
        return Transfer(root, self.settings.transfer, self.environment, fetch_mb=self.settings.fetch_mb)

    def shared_transfer(self, root: str) -> Transfer:
        """Returns the way to the transfer repository."""
        return self.transfer(root)

    def settled(self, root: str, order: TurnOrder) -> Steps[None]:
        """Removes the packets of an order from the transfer repository."""
        yield from self.transfer(root).remove(order.refs)

    def _until_it_works(self, order: TurnOrder, act: Any) -> Steps[tuple[Any, bool]]:
        """Repeats a transfer that fails, within limits; returns its result, and whether nobody stopped it."""
        give_up, pause = time.monotonic() + self.settings.lost_after, FIRST_PAUSE
        while True:
            try:
                return (yield from act()), True
            except TransferFailed as error:
                if time.monotonic() + pause > give_up:
                    raise
                order.tell(f"trying again: {error.message}"[:200])
            until = time.monotonic() + pause
            while time.monotonic() < until:
                if (yield):
                    return None, False
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _follow(self, order: TurnOrder, sent: SentTurn) -> Mapping[str, Any]:
        """Sends a turn until a host has taken it: another one if the first is busy or fails."""
        settings, tried = self.settings, [order.host]
        queue = settings.queue_of_host(order.host) if order.host else settings.queue_of_executor(order.executor)
        number = 0
        answer: Mapping[str, Any] = {"kind": "interrupted"}
        while not sent.is_stopped:
            try:
                sent.handles.append(await self._start(order, sent, self._activity(order.token, number), queue))
                if sent.is_stopped:  # meanwhile
                    await self._cancel(sent)
                answer = await self._answer(order, sent)
            except RPCError as error:
                answer = {"kind": "lost", "reason": f"{SERVER_AWAY}: {error.message}"}
            number += 1
            if answer["kind"] == "busy":
                await asyncio.sleep(BUSY_SECONDS)
            elif answer["kind"] == "failed" and not order.host and len(tried) < MOST_HOSTS:
                tried.append(str(answer.get("host", "")))
                other = await self._other_host(order, tried)
                if not other:
                    return answer
                sent.text, queue = f"{answer.get('host')} failed: {answer.get('reason')}", settings.queue_of_host(other)
            else:
                if answer["kind"] == "lost":
                    self._give_up(sent)
                if answer.get("outcome") == "limited":
                    with suppress(RPCError):
                        await self._ask_again()  # a host that came later can have another account
                return answer
        return answer if answer["kind"] != "busy" else {"kind": "interrupted"}

    async def _start(self, order: TurnOrder, sent: SentTurn, ident: str, queue: str) -> ActivityHandle[Any]:
        """Starts the activity of a turn, or finds the one of an earlier call; waits for a server that is away."""
        words = {
            "token": order.token,
            "executor": order.executor,
            "transfer": self.settings.transfer,
            "title": order.title[:200],
        }
        if not order.host:
            words["rests"] = ",".join(f"{account}={until}" for account, until in order.rests().items())
        give_up, pause = time.monotonic() + self.settings.lost_after, FIRST_PAUSE
        while True:
            try:
                return await self.client.start_activity(
                    TURN,
                    words,
                    id=ident,
                    task_queue=queue,
                    schedule_to_start_timeout=timedelta(seconds=order.wait_for_host) if order.host else None,
                    start_to_close_timeout=LONGEST_TURN,
                    heartbeat_timeout=timedelta(seconds=self.settings.lost_after),
                    id_reuse_policy=ActivityIDReusePolicy.REJECT_DUPLICATE,
                    retry_policy=RetryPolicy(maximum_attempts=1),
                    summary=order.title[:200],
                )
            except ActivityAlreadyStartedError:
                return self.client.get_activity_handle(ident)
            except RPCError as error:
                if time.monotonic() + pause > give_up or not _is_passing(error):
                    raise
                sent.text = f"{SERVER_AWAY}, trying again"
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _answer(self, order: TurnOrder, sent: SentTurn) -> Mapping[str, Any]:
        """Waits for the end of an activity; a server that is away is waited for as long as for a host."""
        sent.last_contact = time.monotonic()
        watch = asyncio.create_task(self._watch(order, sent))
        end = asyncio.create_task(self._end(sent))
        try:
            while not end.done():
                silence = time.monotonic() - sent.last_contact
                if silence > self.settings.lost_after:
                    return {"kind": "lost", "reason": SERVER_AWAY}
                if silence > SHORT_SILENCE:
                    sent.text = f"{SERVER_AWAY}, trying again"
                await asyncio.wait([end], timeout=LOOK_SECONDS)
            return end.result()
        finally:
            watch.cancel()
            end.cancel()

    async def _end(self, sent: SentTurn) -> Mapping[str, Any]:
        """Returns what an activity returned, or what its failure means; a broken connection is tried again."""
        while True:
            try:
                value = await sent.handles[-1].result()
                return value if isinstance(value, dict) and "kind" in value else {"kind": "lost"}
            except ActivityFailureError as error:
                return self._failure(error.cause, sent)
            except RPCError as error:
                if not _is_passing(error):
                    raise
            await asyncio.sleep(FIRST_PAUSE)

    def _failure(self, cause: BaseException | None, sent: SentTurn) -> Mapping[str, Any]:
        """Returns what the failure of an activity means."""
        if isinstance(cause, CancelledError):
            missing = "no host offers the executor any more"
            if sent.rests:
                return {"kind": "rests", "reason": "all accounts of the executor rest"}
            return {"kind": "refused", "reason": missing} if sent.is_given_up else {"kind": "interrupted"}
        if isinstance(cause, ActivityTimeout) and cause.type == TimeoutType.SCHEDULE_TO_START:
            return {"kind": "no_host", "reason": "its host did not take the turn in time"}
        if isinstance(cause, ActivityTimeout):
            return {"kind": "lost", "reason": f"{sent.host or 'its host'} gave no sign of life"}
        return {"kind": "failed", "host": sent.host, "reason": str(cause)}

    async def _watch(self, order: TurnOrder, sent: SentTurn) -> None:
        """Reads the beats of a turn; cancels a turn for which there is no host any more."""
        began = last_offer = last_look = time.monotonic()
        while True:
            await asyncio.sleep(LOOK_SECONDS if sent.host else LOOK_SECONDS / 5)
            with suppress(RPCError):
                state = await sent.handles[-1].describe(include_heartbeat_details=True)
                sent.last_contact = time.monotonic()
                beats = await state.heartbeat_details()
                if beats and isinstance(beats[0], dict):
                    sent.host, sent.text = str(beats[0].get("host", "")), str(beats[0].get("text", ""))
                    continue
                if order.all_rest(set(self.accounts(order.executor).values())):
                    sent.rests = True
                    await sent.handles[-1].cancel()
                    return
                now = time.monotonic()
                if order.host or sent.host or now < max(began, last_look) + LOOK_FOR_HOSTS_SECONDS:
                    continue
                last_look = now
                hosts = await self._ask_again()
                if any(order.executor in host.executors for host in hosts):
                    last_offer, sent.text = now, f"waits for a free host that offers {order.executor}"
                elif now > last_offer + order.wait_for_host:
                    sent.is_given_up = True
                    await sent.handles[-1].cancel()
                else:
                    sent.text = f"no host offers {order.executor} now; start one: sow host serve"

    async def _other_host(self, order: TurnOrder, tried: list[str]) -> str:
        """Returns a host that offers the executor and was not tried yet."""
        with suppress(RPCError):
            names = [host.name for host in await self._ask_again() if order.executor in host.executors]
            rests, accounts = order.rests(), self.accounts(order.executor)
            return next((name for name in names if name not in tried and accounts[name] not in rests), "")
        return ""

    async def _ask_again(self) -> list[ClusterHost]:
        """Returns the hosts that serve now, and remembers those that are new."""
        hosts = await find_hosts(self.client, self.settings)
        known = {host.name: host for host in [*self.hosts, *hosts] if host.executors}
        self.hosts = list(known.values())
        return hosts

    def _give_up(self, sent: SentTurn) -> None:
        """Stops a turn that counts as lost as soon as its server can be reached, since others will do the task."""
        task = asyncio.create_task(self._cancel(sent))
        self.given_up.add(task)
        task.add_done_callback(self.given_up.discard)

    async def _cancel(self, sent: SentTurn) -> None:
        """Asks for the end of a turn until the server has heard it."""
        while sent.handles:
            try:
                await sent.handles[-1].cancel()
                return
            except RPCError as error:
                if not _is_passing(error):
                    return
            await asyncio.sleep(FIRST_PAUSE)


def _is_passing(error: RPCError) -> bool:
    """Tells whether the same call can work later."""
    return error.status in (
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.UNKNOWN,
        RPCStatusCode.RESOURCE_EXHAUSTED,
        RPCStatusCode.ABORTED,
        RPCStatusCode.INTERNAL,
    )
