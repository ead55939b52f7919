"""Takes a turn from a transfer repository that many hosts share, if the signer of its request may run work here."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from sow.cluster.host_folder import HostFolder, offers
from sow.cluster.hosted_turn import BEGUN, HostedTurn, Verbs
from sow.cluster.packet import BadPacket, Packet
from sow.cluster.transfer import NoSpace, TooLarge, Transfer, TransferFailed
from sow.cluster.turn_request import CHECKS, REFS, read_request
from sow.config import Config, seconds
from sow.errors import Interrupted, SowError
from sow.system import git, remote_git
from sow.system.process import process_tree
from sow.system.process.steps import Steps

FETCH_SECONDS, SEND_SECONDS = 60.0, 600.0  # how long a transfer repository that fails is tried again
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
STDIN = 0
DONE = object()


class UnwantedRequest(SowError):
    """A request that this host does not take from its sender."""


class SharedTurn:
    """One turn: its request is fetched and checked, and its result is sent back."""

    def __init__(
        self,
        host: HostFolder,
        config: Config,
        token: str,
        url: str,
        verbs: Verbs,
        tell: Callable[[dict[str, Any]], None],
    ) -> None:
        self.host = host
        self.config = config
        self.token = token
        self.url = url
        self.verbs = verbs
        self.tell = tell
        self.signers = os.path.expanduser(str(config.setting("host", "signers")))
        self.keep = seconds(str(config.setting("host", "keep")))
        fetch_mb = config.setting("cluster", "fetch_mb")
        self.transfer = Transfer(host.repository, url, remote_git.sealed_environment(), fetch_mb=fetch_mb)
        self.checkpoint = ""  # a commit that was not sent yet
        self.is_left = False  # whether the process that started this one is gone

    def run(self) -> Steps[bool]:
        """Takes the turn and returns whether its result was sent; a turn that was begun before is only ended."""
        try:
            self._require_transfer()
            if self.host.find(f"{REFS}/{self.token}/result"):
                raise UnwantedRequest(f"the turn {self.token} was taken here before", "send a new request")
            if not os.path.exists(f"{self.host.turn_folder(self.token)}/{BEGUN}"):
                yield from self._fetch()
            turn = HostedTurn(self.host, self.config, self.token, self.verbs, self._hear, is_same_user=False)
        except (UnwantedRequest, BadPacket, TooLarge) as error:
            self.tell(
                {"event": "refused", "reason": f"{error.message} ({error.hint})" if error.hint else error.message}
            )
            return False
        turn.is_left = lambda: self.is_left
        commit = yield from self._send_checkpoints(turn.run())
        facts = Packet(self.host.repository, commit).facts
        if facts["outcome"] == "refused":
            self.tell({"event": "failed", "reason": facts["reason"]})
            return False
        yield from self._send(commit)
        reset_at = facts.get("reset_at", 0)
        self.tell({"event": "ended", "commit": commit, "outcome": facts["outcome"], "reset_at": reset_at})
        return True

    def _hear(self, event: dict[str, Any]) -> None:
        if event["event"] == "checkpoint":
            self.checkpoint = self.host.find(f"{REFS}/{self.token}/checkpoint")
        self.tell(event)

    def _send_checkpoints(self, steps: Steps[str]) -> Steps[str]:
        """Takes the steps of a turn, and sends each checkpoint meanwhile; one that cannot be sent is left out."""
        sending: Steps[bool] | None = None
        try:
            pause = next(steps)
            while True:
                if self.checkpoint and sending is None:
                    sending = self.transfer.try_push({f"{REFS}/{self.token}/checkpoint": self.checkpoint})
                    self.checkpoint = ""
                if sending is not None and next(sending, DONE) is DONE:
                    sending = None
                pause = steps.send((yield pause))
        except StopIteration as end:
            commit: str = end.value
            return commit
        finally:
            if sending is not None:
                sending.close()

    def watch_starter(self) -> None:
        """Interrupts the turn when standard input ends, because the process that started this one is gone then."""

        def watch() -> None:
            while os.read(STDIN, 1):
                continue
            self.is_left = True
            process_tree.signal_one(os.getpid(), signal.SIGINT)

        threading.Thread(target=watch, daemon=True).start()

    def _require_transfer(self) -> None:
        """Refuses a transfer repository that this host's own settings do not name."""
        own = os.path.expanduser(str(self.config.setting("cluster", "transfer")))
        if self.url not in (own, *self.config.setting("host", "transfers")):
            raise UnwantedRequest(f"this host takes no requests from {self.url}", "add it to host.transfers there")
        if not self.signers and not is_local(self.url):
            raise UnwantedRequest("this host knows no signers", "set host.signers there")

    def _fetch(self) -> Steps[None]:
        """Fetches the request; one that may not run is removed again."""
        ref = f"{REFS}/{self.token}/request"
        steps = self._try_again(lambda: self.transfer.fetch(ref), FETCH_SECONDS)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                commit = end.value
                break
            if (yield):
                steps.close()
                raise Interrupted("the turn was stopped before it began", "run again")
        try:
            self._require_signature(commit)
            request = read_request(Packet(self.host.repository, commit))
            executor = CHECKS if request.kind == "check" else request.executor
            if executor not in offers(self.config, self.host.environment):
                raise UnwantedRequest(f"this host does not offer the executor {executor}", "see 'sow host list'")
        except SowError:
            self.host.drop(self.token)
            raise

    def _require_signature(self, commit: str) -> None:
        """Refuses a request without the signature of a known signer, and one so old that it may be forgotten."""
        if not self.signers:
            return
        if not os.path.isfile(self.signers):
            raise UnwantedRequest(
                f"host.signers names no file: {self.signers}",
                "write a line for each sender there: NAME ssh-ed25519 AAAA…",
            )
        options = ["-c", "gpg.format=ssh", "-c", f"gpg.ssh.allowedSignersFile={self.signers}"]
        arguments = ["log", "-1", "--format=%G? %ct", commit]
        flag, time_of_commit = git.run(arguments, cwd=self.host.repository, options=options).split()
        if flag != "G":
            reason = "has no signature" if flag == "N" else "is not signed by anybody whom this host knows"
            raise UnwantedRequest(f"the request {reason}", "see cluster.sign here and host.signers there")
        if time.time() - int(time_of_commit) > self.keep:
            raise UnwantedRequest("the request is too old", "send a new request")

    def _send(self, commit: str) -> Steps[None]:
        """Sends the result, also if a person stops the turn meanwhile."""
        yield from self._try_again(
            lambda: self.transfer.push({f"{REFS}/{self.token}/result": commit}), SEND_SECONDS, (TransferFailed, NoSpace)
        )

    def _try_again(
        self, act: Callable[[], Steps[Any]], limit: float, passing: tuple[type[SowError], ...] = (TransferFailed,)
    ) -> Steps[Any]:
        """Repeats a transfer that fails, with growing pauses."""
        give_up, pause = time.monotonic() + limit, FIRST_PAUSE
        while True:
            try:
                return (yield from act())
            except passing as error:
                if time.monotonic() + pause > give_up:
                    raise
                self.tell({"event": "waiting", "text": error.message})
            until = time.monotonic() + pause
            while time.monotonic() < until:
                yield
            pause = min(2 * pause, LONGEST_PAUSE)


def is_local(url: str) -> bool:
    """Tells whether a git URL is a folder of this machine."""
    return url.startswith(("/", "file:///"))
