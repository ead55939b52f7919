"""Starts, shows and cleans a cluster (`sow cluster`)."""

from __future__ import annotations

import os
import sys
from typing import Any

from sow.cli.cluster.host import as_document, ask_hosts
from sow.cli.context import Context
from sow.cli.output import emit
from sow.cluster.cluster_settings import ClusterSettings, cluster_settings
from sow.cluster.dev_server import DevServer
from sow.cluster.host_folder import HostFolder
from sow.cluster.late_results import kept_late, lost_turns
from sow.cluster.transfer import Transfer, TransferFailed
from sow.cluster.transfer import prune as prune_refs
from sow.cluster.turn_request import PROTOCOL, REFS
from sow.config import Config, seconds
from sow.errors import DONE, FAILED, WAITS, SowError
from sow.system import remote_git
from sow.system.process.child_process import run_to_end
from sow.system.process.steps import Steps
from sow.system.terminal import err, escape_control, escape_line, out


def dev(context: Context, *, port: str, transfer: str) -> int:
    context.require_person("start a server")
    server = DevServer(context.environment, port, transfer)
    server.find_program()
    server.make_transfer()
    return run_to_end(_serve(server), patient=True)


def _serve(server: DevServer) -> Steps[int]:
    running = yield from server.run()
    user, name = os.environ.get("USER", "YOU"), os.uname().nodename
    for line in (
        f"The cluster is ready at {server.address}. Its transfer repository is {server.transfer}",
        "On this machine, if you run plans here:",
        f"  sow config set cluster.address {server.address}",
        f"  sow config set cluster.transfer {server.transfer}",
        "  sow config set cluster.sign ~/.ssh/id_ed25519",
        "On each host, after you wrote a line with that key's public half into its file of signers:",
        f"  ssh -f -N -L {server.port}:{server.address} {user}@{name}",
        f"  sow config set cluster.address {server.address}",
        f"  sow config set cluster.transfer ssh://{user}@{name}{server.transfer}",
        "  sow config set host.signers ~/.config/sow/signers",
        "  sow host serve",
        "Ctrl-C ends the server. Its turns and queues are kept.",
    ):
        out(escape_control(line))
    sys.stdout.flush()
    if (yield from server.follow(running)):
        return DONE
    err("error: the Temporal server ended")
    return FAILED


def status(context: Context, *, address: str, json: bool) -> int:
    config = context.config()
    settings = cluster_settings(config, context.environment, address)
    problems: list[dict[str, str]] = []

    def add(error: SowError) -> None:
        problems.append({"error": error.message, "hint": error.hint})

    document: dict[str, Any] = {
        "address": settings.address,
        "name": settings.name,
        "protocol": PROTOCOL,
        "transfer": settings.transfer,
        "signing_key": str(config.setting("cluster", "sign")),
        "hosts": [],
        "requests": 0,
        "results": 0,
        "late": {"waiting": 0, "kept": []},
        "problems": problems,
    }
    try:
        hosts = ask_hosts(settings)
        document["hosts"] = [as_document(host) for host in hosts]
        if not any(host.executors for host in hosts):
            add(SowError("no host serves the cluster", f"start one: sow host serve --address {settings.address}"))
    except SowError as error:
        add(error)
    try:
        settings.require_transfer()
        names = run_to_end(_names(settings))
        document["requests"] = sum(name.endswith("/request") for name in names)
        document["results"] = sum(name.endswith("/result") for name in names)
        document["late"] = _late(context, names)
    except SowError as error:
        add(error)
    key = _missing_key(config)
    if key:
        add(key)
    if json:
        emit(document)
    else:
        _print(document)
    return WAITS if problems else DONE


def _names(settings: ClusterSettings) -> Steps[list[str]]:
    """Returns the refs of turns in the transfer repository."""
    transfer = Transfer("/", settings.transfer, remote_git.sealed_environment())
    return (yield from transfer.names(f"{REFS}/*"))


def _late(context: Context, names: list[str]) -> dict[str, Any]:
    """Returns the late results of this checkout: how many wait for a run, and the pins of those that it kept."""
    try:
        home = context.project_home()
    except SowError:  # it can be asked from anywhere
        return {"waiting": 0, "kept": []}
    return {"waiting": sum(turn.result_ref in names for turn in lost_turns(home)), "kept": kept_late(home)}


def _missing_key(config: Config) -> SowError | None:
    key = os.path.expanduser(str(config.setting("cluster", "sign")))
    if key and not os.path.isfile(key):
        return SowError(f"cluster.sign names no file: {key}", "make a key: ssh-keygen -t ed25519")
    return None


def _print(document: dict[str, Any]) -> None:
    names = ", ".join(host["name"] for host in document["hosts"] if host["executors"])
    lines = [
        f"Cluster {document['name']} at {document['address']}",
        f"Hosts: {names or 'none'}",
        f"Transfer repository: {document['transfer'] or 'none'}",
        f"Requests are {'signed with ' + document['signing_key'] if document['signing_key'] else 'not signed'}",
        f"Turns in the transfer repository: {document['requests']} requests, {document['results']} results",
    ]
    if document["late"]["waiting"]:
        lines.append(f"Late results: {document['late']['waiting']}; the next 'sow run --cluster' keeps their commits")
    if document["late"]["kept"]:
        lines.append(f"Kept late results: {', '.join(document['late']['kept'])} (sow salvage)")
    for line in lines:
        out(escape_line(line))
    for problem in document["problems"]:
        err(f"error: {escape_line(problem['error'])}\nhint: {escape_line(problem['hint'])}")


def prune(context: Context, *, older_than: str) -> int:
    context.require_person("remove packets of the cluster")
    settings = cluster_settings(context.config(), context.environment)
    settings.require_transfer()
    host = HostFolder(context.environment)
    host.open()
    try:
        age = seconds(older_than)
        count = run_to_end(prune_refs(settings.transfer, host.folder, remote_git.sealed_environment(), age))
    except TransferFailed as error:
        raise SowError(error.message, "check cluster.transfer") from None
    out(f"{count} {'packets' if count != 1 else 'packet'} removed")
    return 0
