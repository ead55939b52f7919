"""A check list runs as a whole and counts as a whole."""

from __future__ import annotations

from typing import Any

from sow.domain.checks.task_checks import by_digest, digest, last_complete_run

BUILD: Any = {"kind": "test", "command": "make"}
TEST: Any = {"kind": "test", "command": "make test"}
TREE = "2" * 40


def ran(check: Any, *, passed: bool = True, **options: Any) -> Any:
    made = {"command": check["command"], "passed": passed, "list": digest([BUILD, TEST]), "scope": "commit"}
    return {**made, "tree": TREE, **options}


def test_the_last_complete_result_counts() -> None:
    """Of several results of a list the last complete one counts."""
    first, second = [ran(BUILD), ran(TEST, passed=False)], [ran(BUILD), ran(TEST)]
    assert last_complete_run([*first, *second], [BUILD, TEST], tree=TREE) == second
    assert last_complete_run([*second, ran(BUILD)], [BUILD, TEST], tree=TREE) == []
    assert last_complete_run(second[1:], [BUILD, TEST], tree=TREE) == []
    assert last_complete_run([], [], tree=TREE) == []


def test_evidence_of_another_tree_does_not_count() -> None:
    """Evidence of another tree, list or scope, or without any, does not count."""
    for other in ({"tree": "9" * 40}, {"list": "9" * 64}, {"scope": "folder"}, {"scope": None}):
        result = [ran(BUILD), ran(TEST, **other)]
        assert last_complete_run(result, [BUILD, TEST], tree=TREE) == []


def test_a_shared_folder_has_no_tree() -> None:
    """Evidence without a tree counts only if nothing has a tree."""
    result = [
        {key: value for key, value in ran(item, scope="folder").items() if key != "tree"} for item in (BUILD, TEST)
    ]
    assert last_complete_run(result, [BUILD, TEST], tree="") == result  # type: ignore[arg-type]
    assert last_complete_run(result, [BUILD, TEST], tree=TREE) == []  # type: ignore[arg-type]


def test_order_and_exit_codes_belong_to_a_list() -> None:
    """Lists are equal if commands, order and expected exit codes are equal."""
    assert digest([BUILD, TEST]) != digest([TEST, BUILD])
    assert digest([BUILD]) != digest([{**BUILD, "expected": "exit 1"}])
    tasks: Any = [{"id": "010", "checks": [TEST]}, {"id": "020"}, {"id": "030", "checks": [TEST]}]
    assert list(by_digest(tasks).values()) == [([TEST], ["010", "030"])]
