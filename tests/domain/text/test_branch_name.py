"""Branch names, compared with git's own check."""

from __future__ import annotations

import subprocess

from hypothesis import given
from hypothesis import strategies as st
from support.quick_cases import all_of

from sow.domain.inputs import is_branch_name

GOOD = ("main", "feat/login", "salvaged/20260131-090000-ab12/010/1", "ümlaut", "a.b", "x-", "@x", "a@b", "'", "a;b")
BAD = (
    "",
    "-x",
    "--force",
    "a b",
    "a..b",
    "a~1",
    "a^",
    "a:b",
    "a?",
    "a*",
    "a[b",
    "a\\b",
    ".a",
    "a/.b",
    "a.lock",
    "a.lock/b",
)
BAD += ("/a", "a/", "a//b", "a.", "@", "@{-1}", "a@{1}", "HEAD", "a\nb", "a\x7fb", "a\tb", "x" * 300)


def git_takes(name: str) -> bool:
    """Returns git's answer; `--branch` also reads `@{-1}` as the previous branch, which is no name."""
    result = subprocess.run(["git", "check-ref-format", "--branch", name], capture_output=True, text=True, cwd="/")
    return result.returncode == 0 and result.stdout == f"{name}\n"


@all_of("name", GOOD)
def test_good_names(name: str):
    """sow and git both accept these names."""
    assert is_branch_name(name)
    assert git_takes(name)


@all_of("name", BAD)
def test_bad_names(name: str):
    """sow and git both refuse these names."""
    assert not is_branch_name(name)


@given(st.text("ab./-@{}~^:?*[\\\t \x7f", max_size=8))
def test_every_accepted_name_is_one_for_git(name: str):
    """Whatever we take for a name is one to git as well."""
    assert not is_branch_name(name) or git_takes(name)
