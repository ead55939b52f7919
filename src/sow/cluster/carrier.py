"""Says what a run needs from the way to other hosts: ssh or Temporal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sow.cluster.transfer import Transfer
from sow.config import ExecutorConfig
from sow.system.process.steps import Steps


@dataclass
class TurnOrder:
    """One turn that is to be taken on another host."""

    token: str
    title: str  # for people, such as "task 010: implementer on claude-code"
    executor: str
    request_ref: str
    checkpoint_ref: str  # what the turn did so far, for the case that its host is lost
    result_ref: str
    commits: dict[str, str]  # what to send, by ref; empty if it was sent before
    was_sent: bool = False  # an earlier call may have sent it
    host: str = ""  # the host that has to take it; "" for any
    chosen: Callable[[str], None] = field(default=lambda host: None)  # called with the host before the turn starts
    tell: Callable[[str], None] = field(default=lambda text: None)  # called with a line about the progress
    wait_for_host: float = 600.0  # seconds that a turn waits for a host that has to take it
    rests: Callable[[], Mapping[str, int]] = field(default=dict)  # the accounts that rest now, and until when

    def all_rest(self, accounts: Collection[str]) -> bool:
        """Tells whether any host may take the turn, and all accounts with which hosts could do so rest."""
        rests = self.rests()
        return not self.host and bool(accounts) and rests.keys() >= set(accounts)

    @property
    def refs(self) -> list[str]:
        return [self.request_ref, self.checkpoint_ref, self.result_ref]


@dataclass(frozen=True)
class TurnDelivery:
    """The end of an order. `kind`: result, lost, refused, no_host, left; interrupted or rests if nothing started."""

    kind: str
    commit: str = ""  # of the result, in the user's repository
    host: str = ""
    reason: str = ""
    account: str = ""  # which the host used


class Carrier(Protocol):
    """Brings requests to hosts and results back. Orders with the same token are one turn."""

    def require(self, executor: ExecutorConfig) -> None:
        """Raises if no host offers an executor."""

    def offers(self, executor: str) -> bool:
        """Tells whether a host offers an executor."""

    def accounts(self, executor: str) -> dict[str, str]:
        """Returns the accounts with which hosts offer an executor, by the name of the host."""

    def capacity(self) -> int:
        """Returns how many turns all hosts take at once."""

    def take(self, root: str, order: TurnOrder) -> Steps[TurnDelivery]:
        """Brings an order to a host, waits for its end, and fetches the result into the repository at `root`."""

    def transfer(self, root: str, host: str) -> Transfer | None:
        """Returns the way to the packets of a host; None if the host takes no part in this call."""

    def shared_transfer(self, root: str) -> Transfer | None:
        """Returns the way to a repository that all machines of the cluster share, if there is one."""

    def settled(self, root: str, order: TurnOrder) -> Steps[None]:
        """Removes the packets of an order whose result was taken over."""
