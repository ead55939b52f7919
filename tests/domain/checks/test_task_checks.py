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


def test_the_last_whole_run_counts() -> None:
    """Of several runs of a list the last one counts, and an incomplete one counts for nothing."""
    first, second = [ran(BUILD), ran(TEST, passed=False)], [ran(BUILD), ran(TEST)]
    assert last_complete_run([*first, *second], [BUILD, TEST], tree=TREE) == second
    assert last_complete_run([*second, ran(BUILD)], [BUILD, TEST], tree=TREE) == []
    assert last_complete_run(second[1:], [BUILD, TEST], tree=TREE) == []
    assert last_complete_run([], [], tree=TREE) == []


def test_other_evidence_is_not_believed() -> None:
    """Another tree, list or scope, and evidence that names none of them, belong to something else."""
    for other in ({"tree": "9" * 40}, {"list": "9" * 64}, {"scope": "folder"}, {"scope": None}):
        result = [ran(BUILD), ran(TEST, **other)]
        assert last_complete_run(result, [BUILD, TEST], tree=TREE) == []


def test_a_shared_folder_has_no_tree() -> None:
    """Evidence of a folder counts only where nothing has a tree."""
    result = [
        {key: value for key, value in ran(item, scope="folder").items() if key != "tree"} for item in (BUILD, TEST)
    ]
    assert last_complete_run(result, [BUILD, TEST], tree="") == result  # type: ignore[arg-type]
    assert last_complete_run(result, [BUILD, TEST], tree=TREE) == []  # type: ignore[arg-type]


def test_order_and_exit_are_a_part_of_a_list() -> None:
    """Lists are equal by their commands, their order and the exit that each wants."""
    assert digest([BUILD, TEST]) != digest([TEST, BUILD])
    assert digest([BUILD]) != digest([{**BUILD, "expected": "exit 1"}])
    tasks: Any = [{"id": "010", "checks": [TEST]}, {"id": "020"}, {"id": "030", "checks": [TEST]}]
    assert list(by_digest(tasks).values()) == [([TEST], ["010", "030"])]
