"""Which values are secret, and that exactly these are removed from files and texts."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from urllib.parse import quote

import pytest
from support.quick_cases import all_of

from sow.errors import SystemFailure
from sow.system import environment as environments

VALUE = "value-of-it"
SECRET = (
    "ANTHROPIC_API_KEY", "AWS_ACCESS_KEY_ID", "API_KEYS", "GITHUB_TOKEN", "GITHUBTOKEN", "npm_config__authtoken",
    "PGPASSWORD", "DB_PASSWD", "DB_PASS", "MY_SECRET", "CLIENT_SECRETS", "NPM_AUTH", "OAUTH_HEADER", "GITHUB_PAT",
    "GPG_PASSPHRASE", "GOOGLE_CREDENTIALS", "OPENAI_APIKEY",
)  # fmt: skip
OPEN = (
    "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "AUTHORITY", "XAUTHORITY_NAME", "KEYBOARD", "MONKEY",
    "TOKENIZERS_PARALLELISM", "PATH", "COMPASS", "PASSENGER_NAME", "SECRETARY", "PATTERN",
)  # fmt: skip


@all_of("name", SECRET)
def test_secret_names(name: str) -> None:
    """A word between underscores, or the end of a word, makes a variable secret."""
    assert environments.secrets({name: VALUE}) == [VALUE]


@all_of("name", OPEN)
def test_similar_names_are_not_secret(name: str) -> None:
    """A word that merely begins with a secret word makes nothing secret."""
    assert environments.secrets({name: VALUE}) == []


def test_given_names_are_secret() -> None:
    """The user's names count unchanged, and as prefixes if they end with an underscore."""
    environment = {"PLAIN": "plain-value", "MY_HOST": "my-host-value", "MYHOST": "another-value"}
    assert environments.secrets(environment, ["PLAIN", "MY_"]) == ["my-host-value", "plain-value"]


def test_an_existing_path_is_no_secret(tmp_path: Path) -> None:
    """The path of an existing file is no secret; a value that only looks like a path is."""
    environment = {"SSH_AUTH_SOCK": str(tmp_path), "API_TOKEN": "/h9w/not+a/path=="}
    assert environments.secrets(environment) == ["/h9w/not+a/path=="]


def test_a_short_value_is_no_secret() -> None:
    """A few letters would be masked in every other word."""
    assert environments.secrets({"API_KEY": "yes", "PROXY": "http://u:p@host"}) == []


URLS = [
    ("http://ada:longpassword@host:80/path", {"longpassword", "ada:longpassword"}),
    (
        "http://ada:long%2Fpassword@host",
        {"long%2Fpassword", "long/password", "ada:long%2Fpassword", "ada:long/password"},
    ),
    ("http://ada:short@host", {"ada:short"}),
    ("https://x-access-token:ghp_0123456789@host/a@b:c", {"ghp_0123456789", "x-access-token:ghp_0123456789"}),
    ("one://a:first-password@b two://c:second-password@d", {"first-password", "second-password"}),
    ("redis://:only-password@host?db=1", {"only-password", ":only-password"}),
    ("http://host/path:with@sign-in-it", set()),
    ("http://ada@host", set()),
    ("ada:no-scheme-at-all@host", set()),
    ("http://", set()),
    ("://", set()),
    ("", set()),
]


@all_of(("value", "expected"), URLS)
def test_passwords_in_urls_are_secret(value: str, expected: set[str]) -> None:
    """A password between a user and a host is secret, in any variable and both notations."""
    assert expected <= set(environments.secrets({"ANY": value}))
    if not expected:
        assert environments.secrets({"ANY": value}) == []


FORMS = [
    lambda text: text,
    lambda text: quote(text, safe=""),
    lambda text: text.encode().hex(),
    lambda text: base64.b64encode(text.encode()).decode(),
]


@pytest.mark.parametrize("form", FORMS)
def test_a_text_is_masked_in_every_form(form) -> None:
    """Texts are masked in the same forms as files."""
    secret = "s3cret/with é and more"
    text = environments.redact_text(f"before {form(secret)} after", [secret])
    assert form(secret)[4:-4] not in text
    assert (text[:8], text[-6:]) == ("before *", " after")


def test_a_value_that_is_no_text_is_masked() -> None:
    """Bytes of the environment that are not UTF-8, and half a character in a text, cause no error."""
    broken = os.fsdecode(b"\xff\xfe-bytes-\xff")
    assert environments.redact_text("plain", [broken]) == "plain"
    assert environments.redact_text(f"{chr(0xD800)} my-secret-value", ["my-secret-value"]).endswith(" " + "*" * 15)


def test_only_regular_files_are_changed(tmp_path: Path) -> None:
    """A link, a pipe or a folder in place of a transcript is not followed."""
    other = tmp_path / "other"
    other.write_text("my-secret-value")
    link, pipe, folder = tmp_path / "link", tmp_path / "pipe", tmp_path / "folder"
    link.symlink_to(other)
    os.mkfifo(pipe)
    folder.mkdir()
    places = [link, pipe, folder, tmp_path / "missing"]
    assert [environments.redact_file(str(path), ["my-secret-value"]) for path in places] == [0, 0, 0, 0]
    assert other.read_text() == "my-secret-value"


def test_a_file_that_cannot_be_masked_is_an_error(tmp_path: Path) -> None:
    """A transcript that we cannot get at is an error, never a success."""
    with pytest.raises(SystemFailure, match="cannot remove secrets from"):
        environments.redact_file(str(tmp_path / ("x" * 300)), ["my-secret-value"])
