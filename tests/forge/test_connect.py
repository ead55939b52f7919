"""Which repository a remote's URL names."""

from __future__ import annotations

import pytest
from support.quick_cases import all_of

from sow.errors import SowError
from sow.forge.connect import parse_url

NAMED = {
    "https://github.com/harbour/cranes.git": ("github.com", "harbour/cranes"),
    "https://github.com/harbour/cranes/": ("github.com", "harbour/cranes"),
    "https://joe:token@GitHub.com/harbour/cranes": ("github.com", "harbour/cranes"),
    "https://localhost:8443/harbour/cranes.git": ("localhost:8443", "harbour/cranes"),
    "git@github.com:harbour/cranes.git": ("github.com", "harbour/cranes"),
    "github.com:harbour/cranes": ("github.com", "harbour/cranes"),
    "ssh://git@github.com/harbour/cranes.git": ("github.com", "harbour/cranes"),
    "ssh://git@ssh.github.com:443/harbour/cranes.git": ("github.com", "harbour/cranes"),
    "ssh://git@gitlab.example.org:2222/group/team/cranes.git": ("gitlab.example.org", "group/team/cranes"),
}
OTHER = (
    "/srv/git/cranes.git",
    "../cranes",
    "file:///srv/cranes.git",
    "https://github.com/cranes",
    "https://[::1/a/b",
    "",
)


@all_of("url", NAMED)
def test_a_url_names_host_owner_and_name(url: str):
    assert parse_url(url) == NAMED[url]


@all_of("url", OTHER)
def test_another_url_names_no_forge(url: str):
    with pytest.raises(SowError, match="is on no GitHub or GitLab"):
        parse_url(url)


def test_the_error_hides_a_password():
    with pytest.raises(SowError) as excinfo:
        parse_url("https://joe:hunter2@example.org/cranes")
    assert "hunter2" not in excinfo.value.message
