"""Checks of typed input: lines, texts, roles, paths and words, with the reason for each refusal."""

from __future__ import annotations

import os.path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.quick_cases import all_of

from sow.domain import inputs
from sow.domain.inputs import is_line
from sow.errors import SowError

CONTROL = ["\x00", "\x01", "\x07", "\t", "\n", "\r", "\x1b", "\x7f", "\x85", "\x9b", "\u2028", "\u2029"]
# Every character class that has ever been smuggled through such checks, and plain ones.
LETTERS = st.text(alphabet=st.sampled_from([*"aZ09_-.:/\\~ é٣²", *CONTROL, "\ud800", "\u202e"]), max_size=70)


def accepts(check, *arguments) -> bool:
    try:
        check(*arguments)
    except SowError:
        return False
    return True


def refusal(check, *arguments) -> str:
    """Returns the reason of a refusal."""
    with pytest.raises(SowError) as refused:
        check(*arguments)
    assert refused.value.hint
    assert refused.value.exit_code == 2
    return refused.value.message


@pytest.mark.parametrize("value", ["Add login", "  Add login\n", "naïve ✓ 日本語", "-x", "x" * 200])
def test_a_line_is_stripped(value):
    """One line of any script is accepted, and blanks around it are dropped."""
    assert inputs.checked_line(value, "the name") == value.strip()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "the name is empty"),
        (" \n\t ", "the name is empty"),
        ("x" * 201, "the name is 201 characters long"),
        ("a\nb", "the name has a line break or a control character"),
        ("a\ud800b", "the name is not UTF-8"),
        ("a\0b", "the name has a NUL byte"),
    ],
)
def test_a_line_is_refused_with_the_reason(value, message):
    """Empty, too long, several lines and broken text are refused, each with its reason."""
    assert refusal(inputs.checked_line, value, "the name") == message


@all_of("letter", CONTROL[1:])
def test_a_line_has_no_control_character(letter):
    """A control character or any line break inside a line is refused."""
    assert "control character" in refusal(inputs.checked_line, f"a{letter}b", "the name")


@given(st.text(max_size=30))
def test_an_accepted_line_follows_the_schema(value):
    """Whatever passes as a line passes the schemas' rule for lines too."""
    if accepts(inputs.checked_line, value, "the name"):
        assert is_line(inputs.checked_line(value, "the name"))


def test_a_text_keeps_its_lines():
    """A longer text is stored as given, with line breaks and escape sequences."""
    assert inputs.checked_text(" a\n\x1b[31mb\n", "the answer") == " a\n\x1b[31mb\n"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "the answer is empty"),
        ("\n \n", "the answer is empty"),
        ("x" * 11, "the answer is 11 characters long"),
        ("a\udfff", "the answer is not UTF-8"),
        ("\0", "the answer has a NUL byte"),
    ],
)
def test_a_text_is_refused_with_the_reason(value, message):
    """Empty, too long and broken texts are refused, each with its reason."""
    assert refusal(inputs.checked_text, value, "the answer", 10) == message


@pytest.mark.parametrize("value", ["implementer", "design-verifier", "qa_2", "3d", "x" * 64])
def test_a_role_is_a_lower_case_name(value):
    """Small letters, digits, dash and underscore make a role."""
    assert inputs.role_name(value) == value


@all_of(
    "value", ["", "-", "_", "-x", "_x", "Implementer", "a b", "a/b", "../x", "a.b", "ä", "x٣", "a\n", "--yes", "x" * 65]
)
def test_an_invalid_role_is_refused(value):
    """Capitals, blanks, paths, flags and other scripts are refused as a role."""
    assert refusal(inputs.role_name, value, "--agent") == f"--agent {value!r} is not a name of a role"


@pytest.mark.parametrize("value", ["modified_file", "tests.run", "CI:build-2", "x" * 64])
def test_a_word_has_no_blanks(value):
    """Letters, digits and a few marks make a word."""
    assert inputs.checked_word(value, "--action") == value


@all_of("value", ["", "two words", "-x", ".", "a\nb", "a·b", "é", "x" * 65])
def test_an_invalid_word_is_refused(value):
    """Several words, a leading mark, and characters that would break a log's heading are refused."""
    assert refusal(inputs.checked_word, value, "--action") == f"--action {value!r} is not one word"


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("docs/api.md", "docs/api.md"),
        ("./docs//api.md", "docs/api.md"),
        ("docs/", "docs"),
        (".", "."),
        ("a..b/...", "a..b/..."),
        ("sub folder/é.md", "sub folder/é.md"),
    ],
)
def test_a_path_is_normalised(value, path):
    """A path below the root loses its redundant parts and nothing else."""
    assert inputs.checked_path(value, "--file") == path


@all_of(
    "value",
    [
        "/etc/passwd",
        "//x",
        "..",
        "../x",
        "a/../../x",
        "a/..",
        "~/x",
        "~root",
        "-rf",
        "--file",
        "./-rf",
        ".//~/x",
        "./C:/x",
        "a\\..\\b",
        "C:/x",
        "c:x",
    ],
)
def test_a_path_that_leaves_the_root_is_refused(value):
    """Absolute paths, `..`, homes, flags and other systems' paths are refused."""
    assert refusal(inputs.checked_path, value, "--file") == f"--file {value!r} leaves the repository"


PARTS = st.lists(
    st.sampled_from(["", ".", "..", "...", "a", "-x", "--yes", "~", "~root", "C:", "b\\c", " "]), max_size=5
)


@given(st.one_of(LETTERS, PARTS.map("/".join)))
def test_an_accepted_path_stays_below_the_root(value):
    """Any accepted path stays below the root, and is neither a flag nor a home for a program."""
    if accepts(inputs.checked_path, value, "--file"):
        path = inputs.checked_path(value, "--file")
        assert f"{os.path.normpath(os.path.join('/root', path))}/".startswith("/root/")
        assert not path.startswith(("-", "~", "/"))
