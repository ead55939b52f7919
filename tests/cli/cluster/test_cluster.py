"""`sow cluster`: a server for one's own hosts, what lacks, and old packets."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import yaml
from conftest import SOW, Repo
from support.temporal_cluster import PATIENCE, free_port, until


def configure(repo: Repo, **cluster: Any) -> None:
    path = Path(repo.environment["HOME"], ".config", "sow", "config.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"cluster": cluster}))


def test_a_server_for_ones_own_hosts(bare_repo: Repo, tmp_path: Path):
    """It prints what to do next, leaves the port with Ctrl-C, and keeps its data for the next time."""
    port, transfer = free_port(), tmp_path / "transfer.git"
    words = [SOW, "cluster", "dev", "--port", str(port), "--transfer", str(transfer)]
    log = tmp_path / "dev.log"
    with log.open("wb") as file:
        dev = subprocess.Popen(words, cwd="/", env=bare_repo.environment, stdout=file, stderr=subprocess.STDOUT)
    try:
        until(lambda: "Ctrl-C ends the server" in log.read_text() or dev.poll() is not None, "the server is ready")
        shown = log.read_text()
        assert f"The cluster is ready at 127.0.0.1:{port}" in shown
        steps = [line.strip() for line in shown.splitlines() if line.startswith("  sow config set cluster.")]
        for line in steps[:2]:
            bare_repo.ok(*line.split()[1:])
        status = bare_repo.sow("cluster", "status", "--json")
        assert status.code == 4, status
        document = status.json
        assert (document["address"], document["transfer"]) == (f"127.0.0.1:{port}", str(transfer))
        assert [problem["error"] for problem in document["problems"]] == ["no host serves the cluster"]
        taken = bare_repo.sow("cluster", "dev", "--port", str(port))
        assert (taken.code, "--port" in taken.err) == (4, True), taken
        dev.send_signal(signal.SIGINT)
        assert dev.wait(timeout=PATIENCE) == 0
    finally:
        if dev.poll() is None:
            dev.terminate()
            dev.wait(timeout=PATIENCE)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    assert (Path(bare_repo.environment["HOME"]) / ".local/state/sow/cluster/temporal.db").exists()


def test_a_server_that_still_starts_can_be_stopped(bare_repo: Repo, tmp_path: Path):
    """Ctrl-C before the server answers ends it, too."""
    port, transfer = free_port(), tmp_path / "transfer.git"
    data = Path(bare_repo.environment["HOME"], ".local/state/sow/cluster/temporal.db")
    words = [SOW, "cluster", "dev", "--port", str(port), "--transfer", str(transfer)]
    dev = subprocess.Popen(words, cwd="/", env=bare_repo.environment, stdout=subprocess.DEVNULL)
    try:
        until(data.exists, "the server starts")
        dev.send_signal(signal.SIGINT)
        assert dev.wait(timeout=PATIENCE) in (0, 130)  # 0 if it was ready already
    finally:
        if dev.poll() is None:
            dev.kill()
            dev.wait(timeout=PATIENCE)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_what_lacks_is_listed_with_the_next_step(bare_repo: Repo, tmp_path: Path):
    """A missing server, a missing transfer repository and a missing key are three errors of one call."""
    configure(bare_repo, address="127.0.0.1:1", sign=str(tmp_path / "key"))
    status = bare_repo.sow("cluster", "status")
    assert status.code == 4
    for text in ("cannot be reached", "sow cluster dev", "cluster.transfer is not set", "cluster.sign names no file"):
        assert text in status.err


def test_a_port_and_a_folder_that_cannot_be(bare_repo: Repo, tmp_path: Path):
    """Both are refused before a server starts."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    cases = (("--port", "0"), ("--port", "seven"), ("--transfer", str(tmp_path / "full")))
    for option, value in cases:
        refused = bare_repo.sow("cluster", "dev", option, value)
        assert (refused.code, option in refused.err) == (2, True), (value, refused)
    assert os.listdir(tmp_path / "full") == ["file"]


def test_old_packets_are_removed(bare_repo: Repo, tmp_path: Path):
    """Requests and results of an older date go, newer ones and other refs stay; without packets nothing happens."""
    transfer = tmp_path / "transfer.git"
    bare_repo.git("init", "-q", "--bare", str(transfer))
    bare_repo.git("-C", str(transfer), "config", "uploadpack.allowFilter", "true")  # as in one of `sow cluster dev`
    configure(bare_repo, transfer=str(transfer))
    assert bare_repo.ok("cluster", "prune").out == "0 packets removed\n"
    old, new = "0" * 32, "1" * 32
    for token, date in ((old, "2026-01-01T00:00:00Z"), (new, "")):
        environment = {**bare_repo.environment, **({"GIT_COMMITTER_DATE": date} if date else {})}
        words = ["git", "commit-tree", "-m", "Turn", "HEAD^{tree}"]
        commit = subprocess.check_output(words, cwd=bare_repo.root, env=environment, text=True).strip()
        for kind in ("request", "result"):
            bare_repo.git("push", "-q", str(transfer), f"{commit}:refs/sow/turns/{token}/{kind}")
    bare_repo.git("push", "-q", str(transfer), "HEAD:refs/heads/main")
    done = bare_repo.ok("cluster", "prune")
    assert done.out == "2 packets removed\n"
    refs = bare_repo.git("ls-remote", str(transfer), "refs/*").split()[1::2]
    assert refs == ["refs/heads/main", f"refs/sow/turns/{new}/request", f"refs/sow/turns/{new}/result"]
    assert bare_repo.ok("cluster", "prune", "--older-than", "1d").out == "0 packets removed\n"
    assert not list((Path(bare_repo.environment["HOME"]) / ".local/state/sow/hosting").glob("prune-*"))
