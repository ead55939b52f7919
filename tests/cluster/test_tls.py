"""A Temporal server with TLS: runs and hosts show their certificates, and wrong ones are clear errors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.temporal_cluster import TemporalCluster
from support.tls_line import Authority, TlsLine

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.fixture
def line(cluster: TemporalCluster, authority: Authority) -> Iterator[TlsLine]:
    made = TlsLine(cluster.server.port, authority)
    yield made
    made.close()


@pytest.mark.full
def test_a_run_over_tls(cluster: TemporalCluster, authority: Authority, line: TlsLine):
    """The run and its host speak TLS with a client's certificate, and the work arrives."""
    certificate, key = authority.sign("client")
    address = f"127.0.0.1:{line.port}"
    cluster.configure(address=address, tls_ca=authority.certificate, tls_cert=certificate, tls_key=key)
    cluster.add_hosts("box-a")
    cluster.plans.plan("One")
    done = cluster.run()
    assert done.code == 0, (done, cluster.logs())
    assert cluster.tree()["part_010.txt"] == b"by 010\n"


def test_certificates(cluster: TemporalCluster, authority: Authority, line: TlsLine, tmp_path: Path):
    """The right ones lead to the server; for others the error says what was wrong, and which settings to check."""
    certificate, key = authority.sign("client")
    right = {"tls_ca": authority.certificate, "tls_cert": certificate, "tls_key": key}
    other = Authority(tmp_path / "other")
    foreign = dict(zip(("tls_cert", "tls_key"), other.sign("client"), strict=True))
    text = tmp_path / "text.pem"
    text.write_text("no certificate\n")
    cluster.plans.plan("One")
    home = Path(cluster.repo.environment["HOME"])
    shutil.copy(authority.certificate, home / "ca.pem")
    cases = (
        ({**right, "tls_ca": "~/ca.pem"}, "no host serves the cluster", "sow host serve"),
        (right, "no host serves the cluster", "sow host serve"),
        ({**right, "tls_ca": other.certificate}, "not from the authority", "check cluster.tls_ca"),
        ({**right, "tls_ca": str(text)}, "not from the authority", "check cluster.tls_ca"),
        ({**right, **foreign}, "ended the connection", "check cluster.tls_cert"),
        ({"tls_ca": authority.certificate}, "ended the connection", "set cluster.tls_cert and cluster.tls_key"),
        ({}, "ended the connection", "if the server speaks TLS, set cluster.tls_ca"),
        ({**right, "tls_key": str(text)}, "no certificate with its key", "check both files"),
        ({**right, "tls_key": foreign["tls_key"]}, "no certificate with its key", "check both files"),
        ({**right, "address": cluster.server.address}, "does not speak TLS", "check cluster.address"),
    )
    before = {**cluster.settings, "address": f"127.0.0.1:{line.port}"}
    for settings, error, hint in cases:
        cluster.plans.configure(cluster={**before, **settings})
        done = cluster.run()
        assert (done.code, error in done.err, hint in done.err) == (4, True, True), (settings, done)
    assert not list((cluster.repo.root / ".sow" / "local").glob("runs/*"))
