"""Output of a CLI is read without trust, and what sow writes for it is valid JSON and TOML."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.quick_cases import all_of

from sow.executors.adapter import as_integer, as_number, http_status, json_list, json_string, parse_json_line

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXTS)
def test_a_text_is_written_for_json_and_toml(text: str) -> None:
    """JSON and TOML read back the text that was written."""
    assert json.loads(json_string(text)) == text
    assert tomllib.loads(f"x = {json_string(text)}")["x"] == text


@given(st.lists(TEXTS))
def test_a_list_is_written_for_json_and_toml(words: list[str]) -> None:
    """JSON and TOML read back the list of texts that was written."""
    assert json.loads(json_list(words)) == words
    assert tomllib.loads(f"x = {json_list(words)}")["x"] == words


@all_of("line", ["", "x", "[1]", '"x"', "{", "null", '{"a":' * 100_000, "{" * 100_000])
def test_a_line_without_an_object_is_no_event(line: str) -> None:
    """Any other text is no event, however deep it is."""
    assert parse_json_line(line) is None


def test_only_numbers_are_numbers() -> None:
    """Truth values, texts and infinities do not count as numbers."""
    assert (as_integer(3), as_integer(True), as_integer("3"), as_integer(3.0)) == (3, None, None, None)
    assert (as_number(3), as_number(0.5), as_number(True), as_number("3")) == (3.0, 0.5, None, None)
    assert (as_number(float("nan")), as_number(float("inf"))) == (None, None)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests", 429),
        ("unexpected status 503 Service Unavailable: stub", 503),
        ("[API Error: 529 stub 529]", 529),
        ('[API Error: {"error":{"code":429,"message":"x"}}]', 429),
        ("Attempt 2 failed with 429 error", 429),
        ("port 8080 is taken by process 1234", 0),
        ("", 0),
    ],
)
def test_a_status_is_found_in_text(text: str, status: int) -> None:
    """The CLIs' forms of an HTTP status are recognised, and other numbers are not."""
    assert http_status(text) == status
