"""Checks what turns on other hosts need, on the user's machine and on a host, for `sow doctor`."""

from __future__ import annotations

import os
import pwd
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress

from sow import __version__
from sow.cli.context import Context
from sow.config import DEFAULT_SECTIONS, Config
from sow.domain.health_finding import Finding, new_finding, of_error
from sow.domain.text.units import counted
from sow.errors import SowError
from sow.store.runs import run_folder
from sow.system import plain_file, remote_git
from sow.system.environment import user_folder
from sow.system.process.program import ProgramOutput, capture
from sow.system.remote_git import GitCommand

OF_A_CLUSTER = ("address", "namespace", "name", "transfer", "sign", "tls_ca", "tls_cert", "tls_key")  # ssh needs none
SECONDS = 15.0  # for a program or a repository that does not answer
LEAST_FREE = 1 << 30
MOST_SIGNERS = 1 << 20
KEY = re.compile(r"(?:^|\s)((?:ssh|ecdsa|sk-ssh|sk-ecdsa)-\S+\s+[A-Za-z0-9+/=]+)")
MAKE_KEY = "make a key: ssh-keygen -t ed25519"


def examine_hosts(context: Context) -> list[Finding]:
    """Returns findings about the cluster, the hosts of --on, and this machine as a host; none without any of them."""
    try:
        config = context.config()
    except SowError:  # reported elsewhere
        return []
    findings: list[Finding] = []
    uses_server = _differs(config, "cluster", OF_A_CLUSTER) or bool(context.environment.get("SOW_CLUSTER"))
    if uses_server:
        findings += [*_server(config, context), *_signing_key(config, context)]
    findings += _ssh_hosts(context)
    hosting = f"{user_folder(context.environment, 'XDG_STATE_HOME', '.local/state')}/sow/hosting"
    is_host = _differs(config, "host", tuple(DEFAULT_SECTIONS["host"]))
    if is_host:
        findings += _signers(config, context)
    if is_host or os.path.isdir(f"{hosting}/homes"):
        findings += [*_disk(hosting), *_logout(context)]
    own = str(config.setting("cluster", "transfer"))
    urls = dict.fromkeys(filter(None, (os.path.expanduser(own), *config.setting("host", "transfers"))))
    if uses_server and not urls:
        hint = "sow config set cluster.transfer URL"
        findings.append(new_finding("problem", "cluster.transfer is not set: no repository carries turns", hint))
    return findings + [_transfer(url) for url in urls]


def _differs(config: Config, section: str, names: tuple[str, ...]) -> bool:
    """Tells whether the user set one of these."""
    return any(config.setting(section, name) != DEFAULT_SECTIONS[section][name] for name in names)


def _server(config: Config, context: Context) -> Iterator[Finding]:
    """Connects to the server, and names the hosts that serve there."""
    from sow.cluster.cluster_settings import cluster_settings, require_temporal
    from sow.cluster.turn_request import PROTOCOL

    try:
        settings = cluster_settings(config, context.environment)
        require_temporal()
        from sow.cluster.temporal_client import ask_hosts

        hosts = ask_hosts(settings)
    except SowError as error:
        yield of_error("problem", error)
        return
    yield new_finding("ok", f"the Temporal server at {settings.address} answers")
    for host in hosts:
        executors = ", ".join(f"{name.lstrip(':')} {offer.get('most', 0)}" for name, offer in host.executors.items())
        if host.protocol != PROTOCOL:
            what = f"host {host.name} has another version of sow ({host.protocol}, here {PROTOCOL})"
            yield new_finding("warning", what, f"install the version of this machine there: sow {__version__}")
        elif not host.facts:
            yield new_finding("warning", f"host {host.name} does not answer", "on that host: sow doctor")
        else:
            note = f"; {host.facts['note']}" if host.facts.get("note") else ""
            what = f"host {host.name}: sow {host.facts.get('version', '')}, offers {executors or 'nothing'}{note}"
            yield new_finding("warning" if note or not executors else "ok", what)
    if not any(host.executors for host in hosts):
        hint = f"on a host: sow host serve --address {settings.address}"
        yield new_finding("warning", f"no host serves the cluster {settings.name}", hint)


def _signing_key(config: Config, context: Context) -> Iterator[Finding]:
    """Signs something, as each request is signed."""
    from sow.cluster.shared_turn import is_local

    typed = str(config.setting("cluster", "sign"))
    key = os.path.expanduser(typed)
    if not key:
        transfer = os.path.expanduser(str(config.setting("cluster", "transfer")))
        if transfer and not is_local(transfer):
            what = "cluster.sign is not set: hosts that this machine reaches over a network refuse your turns"
            yield new_finding("warning", what, "sow config set cluster.sign ~/.ssh/id_ed25519")
        return
    if not os.path.isfile(key):
        yield new_finding("problem", f"cluster.sign names no file: {key}", MAKE_KEY)
        return
    if not os.access(key, os.R_OK):
        yield new_finding("problem", f"cluster.sign names a file that you cannot read: {key}", f"chmod 600 {key}")
        return
    done = _run(["ssh-keygen", "-Y", "sign", "-n", "git", "-f", key], context, given="sow doctor\n")
    if done.code == 0:
        yield new_finding("ok", f"requests are signed with {typed}")
        return
    reason = _last_line(done)
    yield new_finding(
        "problem", f"{typed} signs nothing: {reason}", f"add it to your agent: ssh-add {shlex.quote(key)}"
    )


def _ssh_hosts(context: Context) -> Iterator[Finding]:
    """Asks the hosts of --on, if the last run used them."""
    runs: list[run_folder.RunFolder] = []
    with suppress(SowError):  # reported elsewhere
        runs = run_folder.all_folders(context.project_home())
    if not runs or "on" not in runs[-1].run["settings"]:
        return
    from sow.cluster.ssh_carrier import SshCarrier, parse_hosts

    for host in parse_hosts(runs[-1].run["settings"]["on"]):
        try:
            SshCarrier([host], lost_after=0).connect()
            executors = ", ".join(name.lstrip(":") for name in host.executors) or "nothing"
            yield new_finding("ok", f"host {host.name}: sow {host.facts.get('version')}, offers {executors}")
        except SowError as error:
            yield of_error("warning", error)


def _signers(config: Config, context: Context) -> Iterator[Finding]:
    """Reads the signers file, which says who may run turns here."""
    from sow.cluster.shared_turn import is_local

    path = os.path.expanduser(str(config.setting("host", "signers")))
    set_it = "sow config set host.signers ~/.config/sow/signers"
    if not path:
        own = os.path.expanduser(str(config.setting("cluster", "transfer")))
        remote = [url for url in filter(None, (own, *config.setting("host", "transfers"))) if not is_local(url)]
        if remote:
            yield new_finding("problem", f"host.signers is not set: no turn from {remote[0]} is taken here", set_it)
        return
    add = f'echo "ada $(cat id_ed25519.pub)" >> {shlex.quote(path)}'
    try:
        lines = plain_file.read_text(path, MOST_SIGNERS).splitlines()
        mode = os.stat(path).st_mode
    except (OSError, SowError):
        yield new_finding("problem", f"host.signers names no file that you can read: {path}", f"add a signer: {add}")
        return
    count = 0
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        key = KEY.search(line)
        if key is None or _run(["ssh-keygen", "-l", "-f", "-"], context, given=f"{key[1]}\n").code:
            what = f"{path}, line {number} is no signer: {line[:60]!r}"
            yield new_finding("problem", what, "write: a name, a space, and the line of the file id_ed25519.pub")
        else:
            count += 1
    if mode & 0o022:
        what = f"others can write {path}, and so run code as you"
        yield new_finding("problem", what, f"chmod go-w {shlex.quote(path)}")
    state = "ok" if count else "warning"
    yield new_finding(state, f"{counted(count, 'signer')} may run turns here ({path})", "" if count else add)


def _transfer(url: str) -> Finding:
    """Reads the names of the packets in a transfer repository."""
    ask = GitCommand(["ls-remote", "--quiet", "--", url, "refs/sow/turns/*"])
    try:
        done = remote_git.run(ask, timeout=SECONDS)
    except SowError as error:
        return of_error("problem", error)
    if done.code == 0:
        return new_finding("ok", f"the transfer repository {url} answers")
    reason = "no answer" if done.stopped else done.message[:200]
    hint = f"try it yourself: git ls-remote {shlex.quote(url)}"
    return new_finding("problem", f"the transfer repository {url} cannot be reached: {reason}", hint)


def _disk(hosting: str) -> Iterator[Finding]:
    """Looks for space for the homes of turns."""
    folder = hosting
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    with suppress(OSError):
        state = os.statvfs(folder)
        free = state.f_bavail * state.f_frsize
        what = f"{free / (1 << 30):.1f} GB are free for turns of other machines, in {hosting}"
        is_low = free < LEAST_FREE
        hint = "remove the homes of tasks that are over: sow config set host.keep 1d, and start sow host serve again"
        yield new_finding("warning" if is_low else "ok", what, hint if is_low else "")


def _logout(context: Context) -> Iterator[Finding]:
    """Looks whether systemd ends the processes of a user whose connection ends, and with them a detached turn."""
    with suppress(SowError):
        done = _run(["loginctl", "show-user"], context)
        facts = dict(line.partition("=")[::2] for line in done.text.splitlines()) if done.code == 0 else {}
        user = pwd.getpwuid(os.geteuid()).pw_name
        only = facts.get("KillOnlyUsers", "").split()
        is_ended = facts.get("KillUserProcesses") == "yes" and (not only or user in only)
        if is_ended and user not in facts.get("KillExcludeUsers", "").split():
            exclude = f"{facts.get('KillExcludeUsers', '')} {user}".strip()
            folder = "/etc/systemd/logind.conf.d"
            hint = (
                f"sudo mkdir -p {folder}; printf '[Login]\\nKillExcludeUsers={exclude}\\n' | sudo tee {folder}/sow.conf"
            )
            what = "systemd ends turns of other machines when their ssh connection ends (KillUserProcesses=yes)"
            yield new_finding("problem", what, f"{hint}; sudo systemctl restart systemd-logind")


def _run(arguments: list[str], context: Context, given: str = "") -> ProgramOutput:
    """Runs a program that cannot ask anything."""
    environment = {**context.environment, "SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C"}
    return capture(arguments, environment=environment, timeout=SECONDS, given=given)


def _last_line(done: ProgramOutput) -> str:
    return done.text.strip().rpartition("\n")[2][:200] or "no answer"
