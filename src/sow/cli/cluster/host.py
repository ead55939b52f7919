"""Serves a cluster on this machine, and lists the hosts of one (`sow host`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sow.cli.context import Context
from sow.cli.output import print_list
from sow.cluster.cluster_settings import ClusterSettings, cluster_settings, require_temporal
from sow.cluster.host_folder import HostFolder, account_of, offers
from sow.cluster.shared_turn import is_local
from sow.config import Config, seconds
from sow.errors import SowError
from sow.executors.settings import adapter as find_adapter
from sow.executors.settings import missing_binary
from sow.store.formats.validation import is_capacity
from sow.system.terminal import escape_line, out

if TYPE_CHECKING:
    from sow.cluster.temporal_client import ClusterHost


MOST_DIGITS = 4


def serve(context: Context, *, address: str, capacity: str, checks: str) -> int:
    context.require_person("serve a cluster on this machine")
    require_temporal()
    from sow.cluster import temporal_host

    config = context.config()
    settings = cluster_settings(config, context.environment, address)
    if not config.setting("host", "transfers"):
        settings.require_transfer()
    _require_signers(config, settings)
    folder = HostFolder(context.environment)
    folder.open()
    folder.remove_old(seconds(str(config.setting("host", "keep"))))
    if checks:
        if not (checks.isascii() and checks.isdigit() and len(checks) <= MOST_DIGITS):
            raise SowError(f"--checks: {checks!r:.80} is no number", "write: --checks 2")
        config.sections["host"]["checks"] = (int(checks), "from the command")
    places = _capacity(config, context, capacity)
    temporal_host.serve(temporal_host.TemporalHost(settings, folder, config, places, _tell))
    return 0


def _require_signers(config: Config, settings: ClusterSettings) -> None:
    """Raises if this host would refuse all requests, because it knows nobody who may send them."""
    path = os.path.expanduser(str(config.setting("host", "signers")))
    hint = "write a line for each key whose owner may run code here: NAME ssh-ed25519 AAAA…"
    if path and not os.path.isfile(path):
        raise SowError(f"host.signers names no file: {path}", hint)
    urls = [url for url in (settings.transfer, *config.setting("host", "transfers")) if url and not is_local(url)]
    if urls and not path:
        raise SowError(
            f"host.signers is not set, so this host takes no requests from {urls[0]}",
            f"sow config set host.signers ~/.config/sow/signers, and in that file {hint}",
        )


def _tell(text: str) -> None:
    out(escape_line(text))
    import sys

    sys.stdout.flush()


def _capacity(config: Config, context: Context, text: str) -> dict[str, int]:
    """Returns the turns at once by executor: from the command, else from the settings, else one for each program."""
    places: dict[str, int | str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, number = part.partition("=")
        if not is_capacity(number if "@" in number else f"{number}@x") or name in places:
            hint = "write: --capacity claude-code=2,codex=1, or with an account: claude-code=2@team"
            raise SowError(f"--capacity: {part!r:.80} is no capacity", hint)
        places[name] = number
    if places:
        sections = config.sections["host"]
        sections["capacity"] = (places, "from the command")
    offered = offers(config, context.environment)
    missing = [name for name in places if name not in offered]
    if missing:
        executor = config.executor(missing[0])
        raise missing_binary(executor.name, executor.program, find_adapter(executor.type).capabilities)
    if not offered:
        raise SowError("no program of an executor is installed here", "see 'sow doctor'")
    return {name: most or 1 for name, most in offered.items()}


def list_hosts(context: Context, *, address: str, json: bool) -> int:
    hosts = ask_hosts(cluster_settings(context.config(), context.environment, address))
    documents = [as_document(host) for host in hosts]
    return print_list(
        documents,
        [("HOST", "VERSION", "CAPACITY", "BUSY", "SEEN", "NOTE"), *_rows(hosts)],
        "no host serves this cluster; start one: sow host serve",
        json=json,
    )


def ask_hosts(settings: ClusterSettings) -> list[ClusterHost]:
    """Returns the hosts of a cluster."""
    require_temporal()
    from sow.cluster import temporal_client

    return temporal_client.ask_hosts(settings)


def as_document(host: ClusterHost) -> dict[str, Any]:
    """Returns a host for --json."""
    executors = {
        name: {key: offer.get(key, 0) for key in ("type", "most", "used", "account", "rests_until")}
        for name, offer in host.executors.items()
    }
    return {
        "name": host.name,
        "protocol": host.protocol,
        "version": host.facts.get("version", ""),
        "executors": executors,
        "seen": round(host.seen, 1),
        "note": _note(host),
    }


def _rows(hosts: Sequence[ClusterHost]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for host in hosts:
        offered = host.executors.items()
        rows.append(
            (
                host.name,
                str(host.facts.get("version") or host.protocol),
                ", ".join(_capacity_text(host, name) for name in host.executors),
                str(sum(int(offer.get("used", 0)) for _, offer in offered)),
                f"{host.seen:.0f}s",
                _note(host),
            )
        )
    return rows


def _capacity_text(host: ClusterHost, name: str) -> str:
    """Returns the turns at once of an executor, with its account if that is not the host's own."""
    offer = host.executors[name]
    account = account_of(host.name, offer)
    return f"{name.lstrip(':')} {offer.get('most', 0)}{f' ({account})' if account != host.name else ''}"


def _note(host: ClusterHost) -> str:
    from sow.cluster.turn_request import PROTOCOL

    if host.protocol != PROTOCOL:
        return "another version of sow: takes nothing from here"
    return str(host.facts.get("note", "")) if host.facts else "does not answer"
