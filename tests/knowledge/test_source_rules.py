"""The accepted forms of source URLs, and the refusal of all other forms that git would accept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.quick_cases import all_of

from sow.errors import SowError
from sow.knowledge import source_rules as sources

GOOD = {
    "https://example.org/team/guides.git": sources.HTTPS,
    "https://me@example.org/guides": sources.HTTPS,
    "https://example.org:8443/guides": sources.HTTPS,
    "ssh://git@example.org:22/team/guides.git": sources.SSH,
    "git@github.com:company/style-guides.git": sources.SSH,
    "example.org:guides": sources.SSH,
    "ssh://git@[::1]/guides": sources.SSH,
    "file:///srv/guides.git": sources.FILE,
    "/srv/guides.git": sources.PATH,
    "../guides": sources.PATH,
    "./a:b/c": sources.PATH,
    "guides": sources.PATH,
}
BAD = [
    *("", " ", "-x", "--upload-pack=touch owned", "--", "a\nb", "a\0b", "\x1b[2J", " https://example.org/x"),
    *("ext::sh -c 'touch owned'", "EXT::sh", "Ext::x", "fd::17", "foo::bar", "testgit::/x", "ext::sh%20-c"),
    *("http://example.org/x", "git://example.org/x", "ftp://example.org/x", "HTTPS://example.org/x", "rsync://h/x"),
    *("https:///x", "https://example.org", "https://example.org/", "https://-x/y", "https://@h/x"),
    *("ssh://-oProxyCommand=touch owned/x", "ssh://git@-oX/x", "ssh://-x@h/y", "ssh://h/-x", "ssh://h"),
    *("git@-oProxyCommand=x:y", "-x@h:y", "h:-x", "h:", ":x", "@h:x", "a b:c", "<<: *a", "a: b"),
    *("https://me:secret@example.org/x", f"https://{'t' * 40}@example.org/x", "ssh://me:secret@h/x"),
    *("https://example.org/x%0ahost=evil", "https://example.org/%0D", "file:///x%00", "file://host/x", "file:///"),
    *("C:\\x", "\\\\host\\share", "a" * 2001, "\ud800"),
]


@all_of("url", GOOD)
def test_accepted_forms(url: str) -> None:
    """Each of these is reached in the way that it looks like."""
    assert sources.kind_of(url) == GOOD[url]


@all_of("url", BAD)
def test_everything_else_is_refused(url: str) -> None:
    """Programs, other protocols, flags, passwords and hidden lines are refused."""
    with pytest.raises(SowError):
        sources.kind_of(url)


def test_a_password_is_not_repeated() -> None:
    """The error about a password does not contain it."""
    with pytest.raises(SowError) as excinfo:
        sources.kind_of("https://me:secret@example.org/x")
    assert "secret" not in excinfo.value.message + excinfo.value.hint


@given(st.text(max_size=60))
def test_an_accepted_source_is_no_flag(url: str) -> None:
    """Any accepted source begins with no dash, names no helper of git, and is one printable line."""
    try:
        kind = sources.kind_of(url)
    except SowError:
        return
    assert not url.startswith("-")
    assert "::" not in url.partition("/")[0]
    assert "\n" not in url
    assert kind in (sources.HTTPS, sources.SSH, sources.FILE, sources.PATH)


@pytest.mark.parametrize(
    ("url", "path", "name"),
    [
        ("git@github.com:company/style-guides.git", "python-style", "python-style"),
        ("git@github.com:company/style-guides.git", "", "style-guides"),
        ("https://example.org/Team/API_Rules/", "", "api-rules"),
        ("host:guides.git", "", "guides"),
        ("x", "docs/Über uns", "ber-uns"),
    ],
)
def test_a_source_suggests_a_name(url: str, path: str, name: str) -> None:
    """The name is that of the folder, or of the repository, in allowed letters."""
    assert sources.name_for(url, path) == name
    assert sources.check_name(name) == name


@all_of("name", ["", "-x", "A", "a/b", "..", "index.json", "a" * 65, "ä", "_x", "a b"])
def test_bad_names_are_refused(name: str) -> None:
    """A name is the name of a folder and nothing else."""
    with pytest.raises(SowError):
        sources.check_name(name)


@all_of("ref", ["-x", "a..b", "a b", "a:b", "HEAD", "@{1}", "x^{}", "a~1", "refs/*", "\n"])
def test_bad_refs_are_refused(ref: str) -> None:
    """A ref is a plain name or a commit."""
    with pytest.raises(SowError):
        sources.check_ref(ref)


@all_of("folder", ["..", "../x", "/x", "a/../../b", "~", "-x", "a\\b", ".git", "a/.GIT/b", "a\nb"])
def test_bad_folders_are_refused(folder: str) -> None:
    """A folder stays in its repository, and is not git's own."""
    with pytest.raises(SowError):
        sources.check_folder(folder)


def test_a_folder_is_normalised() -> None:
    """A slash at the end and points are removed."""
    assert [sources.check_folder(name) for name in ("docs/", "./docs", "", ".", "a//b")] == [
        "docs",
        "docs",
        "",
        "",
        "a/b",
    ]
