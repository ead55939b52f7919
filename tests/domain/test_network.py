"""The rules of the sandbox's network: modes, hosts and ports."""

from __future__ import annotations

import pytest
from support.quick_cases import all_of

from sow.domain.network import MODES, Hosts, host_error, host_of_url, is_wider, narrower, split_host

NAMES = {
    "example.org": ("example.org", 443),
    "Example.ORG.:8443": ("example.org", 8443),
    "[::1]:80": ("::1", 80),
    "127.0.0.1:5432": ("127.0.0.1", 5432),
}
NO_NAMES = (
    "", "*", "a b", "a:0", "a:", "a:99999", "a:-1", "a:²", "u@h", "h/p", "http://x", "a\nb", "a\n", "a.b:80:90", "-a",
    "[::1", "a..b", ".a", "ä.de", "a%2e", "::1", "[]", "x" * 300,
)  # fmt: skip


@all_of("text", NAMES)
def test_a_valid_host(text: str) -> None:
    assert split_host(text) == NAMES[text]


@all_of("text", NO_NAMES)
def test_an_invalid_host(text: str) -> None:
    with pytest.raises(ValueError, match="is no host"):
        split_host(text)
    assert host_error(text).startswith("is no host")


def test_modes_are_ordered() -> None:
    """The modes are listed from the widest to the narrowest."""
    assert [[is_wider(first, second) for second in MODES] for first in MODES] == [
        [False, True, True],
        [False, False, True],
        [False, False, False],
    ]
    assert [[narrower(first, second) for second in MODES] for first in MODES] == [
        ["all", "model", "none"],
        ["model", "model", "none"],
        ["none", "none", "none"],
    ]


def test_which_hosts_a_rule_allows() -> None:
    """A star allows names below a host, a rule without a port allows 443, and nothing else is allowed."""
    hosts = Hosts(["api.example", "*.wide.example", "other.example:8443", "localhost:5432", "127.0.0.1:80"])
    allowed = [
        ("api.example", 443), ("wide.example", 443), ("a.b.wide.example", 443), ("other.example", 8443),
        ("localhost", 5432),
    ]  # fmt: skip
    assert all(hosts.allows(*item) for item in allowed)
    refused = [
        ("api.example", 80), ("x.api.example", 443), ("evilwide.example", 443), ("other.example", 443),
        ("127.0.0.1", 5432), ("api.example.evil", 443),
    ]  # fmt: skip
    assert not any(hosts.allows(*item) for item in refused)
    assert hosts.local_ports() == [5432]


URLS = {
    "https://api.example/v1": "api.example:443",
    "http://127.0.0.1:8080": "127.0.0.1:8080",
    "http://user:word@api.example/": "api.example:80",
    "http://[::1]:9000/x": "[::1]:9000",
    "": "",
    "nonsense": "",
    "https://": "",
}


@all_of("url", URLS)
def test_the_host_of_a_url(url: str) -> None:
    assert host_of_url(url) == URLS[url]
