"""sow doctor with other hosts: what a cluster, a host over ssh and this machine as a host need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Repo
from support.ssh_hosts import Hosts
from support.temporal_cluster import TemporalCluster

from sow import __version__

BUSY_LOGIND = """#!/bin/sh
[ "$*" = show-user ] || exit 1
echo KillUserProcesses=yes
echo KillExcludeUsers=nobody
"""


def findings(repo: Repo) -> dict[str, tuple[str, str]]:
    """State and hint by the text of each finding."""
    return {entry["what"]: (entry["state"], entry["hint"]) for entry in repo.sow("doctor", "--json").json["findings"]}


def finding(repo: Repo, words: str) -> tuple[str, str]:
    """State and hint of the finding that begins with these words."""
    everything = findings(repo)
    (what,) = [what for what in everything if what.startswith(words)] or [str(everything)]
    return everything[what]


def configure(repo: Repo, **sections: dict[str, Any]) -> None:
    path = Path(repo.environment["HOME"]) / ".config/sow/config.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(sections))


def test_without_any_setting(repo: Repo):
    """Nothing is said about hosts, and nothing of clusters is loaded."""
    words = [sys.executable, "-X", "importtime", "-m", "sow", "doctor"]
    done = subprocess.run(words, cwd=repo.root, env=repo.environment, capture_output=True, text=True, check=False)
    assert "git 2." in done.stdout
    assert not [word for word in ("transfer", "signer", "Temporal", "serves") if word in done.stdout], done.stdout
    assert "sow.cli.setup.doctor" in done.stderr
    assert "sow.cluster" not in done.stderr


def test_a_cluster_in_order(cluster: TemporalCluster):
    """The server, each host with its version, the key and the transfer repository are fine, at home and on a host."""
    (host,) = cluster.add_hosts("box-a", most=3)
    at_home = findings(cluster.repo)
    assert at_home[f"the Temporal server at {cluster.server.address} answers"] == ("ok", "")
    assert at_home[f"host box-a: sow {__version__}, offers hand 3"] == ("ok", "")
    assert at_home[f"requests are signed with {cluster.key}"] == ("ok", "")
    assert at_home[f"the transfer repository {cluster.transfer} answers"] == ("ok", "")
    there = findings(Repo(host.folder, host.environment))
    assert there[f"1 signer may run turns here ({cluster.signers})"] == ("ok", "")
    assert there[f"the transfer repository {cluster.transfer} answers"] == ("ok", "")
    assert any("are free for turns of other machines" in what for what in there)


def test_faults_of_a_cluster(repo: Repo, tmp_path: Path):
    """Each missing part has a problem with the next step."""
    key = tmp_path / "key"
    configure(repo, cluster={"address": "127.0.0.1:1", "sign": str(key)})
    assert finding(repo, "the Temporal server at 127.0.0.1:1 cannot be reached") == (
        "problem", "start one with 'sow cluster dev', or check cluster.address",
    )  # fmt: skip
    assert finding(repo, "cluster.transfer is not set") == ("problem", "sow config set cluster.transfer URL")
    assert finding(repo, "cluster.sign names no file") == ("problem", "make a key: ssh-keygen -t ed25519")
    key.write_text("not a key\n")
    key.chmod(0o600)
    gone = tmp_path / "gone.git"
    configure(repo, cluster={"address": "127.0.0.1:1", "sign": str(key), "transfer": str(gone)})
    assert finding(repo, f"{key} signs nothing") == ("problem", f"add it to your agent: ssh-add {key}")
    assert finding(repo, f"the transfer repository {gone} cannot be reached") == (
        "problem", f"try it yourself: git ls-remote {gone}",
    )  # fmt: skip
    configure(repo, cluster={"address": "127.0.0.1:1", "transfer": "ssh://git@127.0.0.1:1/turns.git"})
    hint = "sow config set cluster.sign ~/.ssh/id_ed25519"
    assert finding(repo, "cluster.sign is not set") == ("warning", hint)
    assert repo.sow("doctor").code == 1


def test_a_key_with_a_passphrase(repo: Repo, tmp_path: Path):
    """A key that only a person can unlock is found without a question."""
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret words", "-f", str(key)], check=True)
    configure(repo, cluster={"sign": str(key), "address": "127.0.0.1:1"})
    assert finding(repo, f"{key} signs nothing") == ("problem", f"add it to your agent: ssh-add {key}")


def test_faults_of_a_host(repo: Repo, tmp_path: Path):
    """A signers file that is missing, empty, broken or open to others is found, and so is a logind that ends turns."""
    signers = tmp_path / "signers"
    configure(repo, cluster={"transfer": "ssh://git@127.0.0.1:1/turns.git"}, host={"name": "box-a"})
    hint = "sow config set host.signers ~/.config/sow/signers"
    assert finding(repo, "host.signers is not set") == ("problem", hint)
    configure(repo, host={"signers": str(signers)})
    state, hint = finding(repo, "host.signers names no file")
    assert (state, str(signers) in hint) == ("problem", True)
    signers.write_text("# nobody yet\n\n")
    assert finding(repo, "0 signers may run turns here")[0] == "warning"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")], check=True)
    good = (tmp_path / "key.pub").read_text()
    signers.write_text(f'ada {good}bob namespaces="git" {good}eve ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA\nmallory\n')
    signers.chmod(0o666)
    broken = findings(repo)
    assert [what for what in broken if "is no signer" in what] == [
        f"{signers}, line 3 is no signer: 'eve ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA'",
        f"{signers}, line 4 is no signer: 'mallory'",
    ]
    assert broken[f"2 signers may run turns here ({signers})"] == ("ok", "")
    assert broken[f"others can write {signers}, and so run code as you"] == ("problem", f"chmod go-w {signers}")
    program = tmp_path / "bin/loginctl"
    program.parent.mkdir()
    program.write_text(BUSY_LOGIND)
    program.chmod(0o755)
    repo.environment["PATH"] = f"{program.parent}:{repo.environment['PATH']}"
    state, hint = finding(repo, "systemd ends turns of other machines when their ssh connection ends")
    assert (state, "sudo systemctl restart systemd-logind" in hint) == ("problem", True)
    assert "KillExcludeUsers=nobody " in hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_host_with_little_space(repo: Repo, tmp_path: Path):
    """A disk with less than a gigabyte left is a warning."""
    state = tmp_path / "state"
    state.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=10m", "none", str(state)], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        repo.environment["XDG_STATE_HOME"] = str(state)
        configure(repo, host={"name": "box-a"})
        assert finding(repo, "0.0 GB are free for turns of other machines")[0] == "warning"
    finally:
        subprocess.run(["umount", "-l", str(state)], check=True)


def test_the_hosts_of_the_last_run(hosts: Hosts):
    """Hosts of --on are asked if the last run used them."""
    hosts.crew.plan("One")
    assert hosts.run(on="box-a:1,box-b:1").code == 0
    hosts["box-b"].down()
    assert finding(hosts.crew.repo, f"host box-a: sow {__version__}, offers simulated, hand, judge") == ("ok", "")
    assert finding(hosts.crew.repo, "box-b cannot be reached") == (
        "warning",
        "try: ssh box-b true; if it is gone for good, run again without --on",
    )
