"""Test counts in the last lines of test runners, and check lists without tests."""

from __future__ import annotations

from typing import Any

from support.quick_cases import all_of, few_of

from sow.domain.checks.test_counts import count_problem, of_command, parse, total

PYTEST = """\
============================= test session starts ==============================
platform linux -- Python 3.11.7, pytest-9.2.0, pluggy-1.7.0
collected 6 items

test_a.py .FsxXE                                                         [100%]

=========================== short test summary info ============================
FAILED test_a.py::test_2 - assert 0
ERROR test_a.py::test_6 - ValueError
==== 1 failed, 1 passed, 1 skipped, 1 xfailed, 1 xpassed, 1 error in 1.06s =====
"""
PYTEST_XDIST = """\
bringing up nodes...
........................................................................ [ 48%]
................................................s.......................  [100%]
143 passed, 1 skipped, 3 warnings in 75.31s (0:01:15)
"""
PYTEST_COLOUR = (
    "\x1b[31m\x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m4 passed\x1b[0m, "
    "\x1b[33m2 skipped\x1b[0m\x1b[31m in 1.59s\x1b[0m\x1b[0m\n"
)
UNITTEST = """\
.sFEx
======================================================================
FAIL: test_3 (test_u.T.test_3)
----------------------------------------------------------------------
Ran 6 tests in 0.001s

FAILED (failures=1, errors=1, skipped=1, expected failures=1, unexpected successes=1)
"""
JEST = """\
PASS jt/b.test.js

Test Suites: 1 failed, 1 passed, 2 total
Tests:       1 failed, 1 skipped, 1 todo, 2 passed, 5 total
Snapshots:   0 total
Time:        0.651 s
Ran all test suites.
"""
JEST_WORKSPACES = """\
web:test: Test Suites: 1 passed, 1 total
web:test: Tests:       4 passed, 4 total
api:test: Test Suites: 1 passed, 1 total
api:test: Tests:       3 passed, 3 total
"""
VITEST = (
    "\x1b[2m Test Files \x1b[22m \x1b[1m\x1b[31m1 failed\x1b[39m\x1b[22m\x1b[90m (1)\x1b[39m\n"
    "\x1b[2m      Tests \x1b[22m \x1b[1m\x1b[31m1 failed\x1b[39m\x1b[22m\x1b[2m | \x1b[22m"
    "\x1b[1m\x1b[32m1 passed\x1b[39m\x1b[22m\x1b[2m | \x1b[22m\x1b[33m1 skipped\x1b[39m\x1b[2m | \x1b[22m"
    "\x1b[90m1 todo\x1b[39m\x1b[90m (4)\x1b[39m\n"
    "\x1b[2m   Start at \x1b[22m 13:22:19\n"
)
MOCHA = """\

  x
    ✔ one
    - s
    1) bad
    - todo


  1 passing (5ms)
  2 pending
  1 failing

  1) x
       bad:
     Error: no
"""
MOCHA_TAP = "ok 1 x one\nok 2 x s # SKIP -\nnot ok 3 x bad\n# tests 2\n# pass 1\n# fail 1\n1..4\n"
NODE_TAP = """\
TAP version 13
# Subtest: one
ok 1 - one
1..4
# tests 4
# suites 0
# pass 1
# fail 1
# cancelled 0
# skipped 1
# todo 1
# duration_ms 162.636827
"""
NODE_SPEC = "✔ one (0.5ms)\n" + "".join(
    f"ℹ {name} {count}\n"
    for name, count in (("tests", 3), ("suites", 1), ("pass", 2), ("fail", 0), ("cancelled", 0), ("skipped", 1))
)
GO = """\
ok  \texample.org/app/a\t0.003s
ok  \texample.org/app/b\t(cached)\tcoverage: 80.0% of statements
?   \texample.org/app/c\t[no test files]
ok  \texample.org/app/d\t0.002s [no tests to run]
--- FAIL: TestBad (0.00s)
    bad_test.go:7: no
FAIL
FAIL\texample.org/app/e\t0.004s
FAIL
"""
GO_VERBOSE = """\
=== RUN   TestOne
--- PASS: TestOne (0.00s)
=== RUN   TestTable
=== RUN   TestTable/first
=== RUN   TestTable/second
--- FAIL: TestTable (0.00s)
    --- PASS: TestTable/first (0.00s)
    --- FAIL: TestTable/second (0.00s)
=== RUN   TestSlow
    slow_test.go:5: not today
--- SKIP: TestSlow (0.00s)
FAIL
FAIL\texample.org/app/a\t0.003s
testing: warning: no tests to run
PASS
ok  \texample.org/app/d\t0.002s [no tests to run]
FAIL
"""
CARGO = """\
     Running unittests src/lib.rs (target/debug/deps/cr-f73a538893013b88)

running 1 test
test tests::it_works ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s

     Running tests/t.rs (target/debug/deps/t-85094af2449195f9)

running 3 tests
test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.00s

   Doc-tests cr

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
NEXTEST = """\
────────────
     Summary [   0.012s] 5/6 tests run: 3 passed, 1 failed, 1 timed out, 2 skipped
        FAIL [   0.005s] cr::t bad
error: test run failed
"""
RSPEC_PARALLEL = """\
Finished in 0.01 seconds (files took 0.1 seconds to load)
5 examples, 0 failures
Finished in 0.02 seconds (files took 0.1 seconds to load)
6 examples, 1 failure, 1 pending

11 examples, 1 failure, 1 pending

Took 1 seconds
"""
PHPUNIT = "FAILURES!\nTests: 7, Assertions: 9, Errors: 1, Failures: 1, Skipped: 2, Incomplete: 1.\n"

CASES: dict[str, tuple[str, tuple[int, int, int]]] = {
    "pytest": (PYTEST, (3, 2, 2)),
    "pytest -q": ("1 passed in 0.90s\n", (1, 0, 0)),
    "pytest with xdist": (PYTEST_XDIST, (143, 0, 1)),
    "pytest in colours": (PYTEST_COLOUR, (5, 1, 2)),
    "pytest deselected": ("1 passed, 5 deselected in 0.70s\n", (1, 0, 0)),
    "pytest all deselected": ("\n6 deselected in 0.68s\n", (0, 0, 0)),
    "pytest without tests": ("============ no tests ran in 1.19s =============\n", (0, 0, 0)),
    "pytest with a broken module": (
        "!!!!! Interrupted: 2 errors during collection !!!!!\n2 errors in 0.12s\n",
        (0, 2, 0),
    ),
    "pytest with subtests": ("2 passed, 3 subtests passed in 0.12s\n", (2, 0, 0)),
    "pytest twice": ("3 passed in 0.10s\n2 passed, 1 skipped in 0.10s\n", (5, 0, 1)),
    "unittest": (UNITTEST, (4, 3, 2)),
    "unittest passed": ("..\n------\nRan 2 tests in 0.000s\n\nOK (skipped=1)\n", (1, 0, 1)),
    "unittest without tests": ("\n------\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n", (0, 0, 0)),
    "unittest twice": ("Ran 1 test in 0.000s\n\nOK\nRan 2 tests in 0.1s\n\nOK\n", (3, 0, 0)),
    "jest": (JEST, (3, 1, 2)),
    "jest with no match": ("Tests:       5 skipped, 5 total\n", (0, 0, 5)),
    "jest without files": ("No tests found, exiting with code 0\n", (0, 0, 0)),
    "jest in workspaces": (JEST_WORKSPACES, (7, 0, 0)),
    "vitest": (VITEST, (2, 1, 2)),
    "vitest with a broken file": (" Test Files  1 failed (1)\n      Tests  no tests\n", (0, 0, 0)),
    "vitest without files": ("\x1b[31mNo test files found, exiting with code 0\n\x1b[39m\n", (0, 0, 0)),
    "mocha": (MOCHA, (2, 1, 2)),
    "mocha without tests": ("\n\n  0 passing (0ms)\n\n", (0, 0, 0)),
    "mocha with tap": (MOCHA_TAP, (2, 1, 0)),
    "node with tap": (NODE_TAP, (2, 1, 2)),
    "node with spec": (NODE_SPEC, (2, 0, 1)),
    "go": (GO, (3, 1, 0)),
    "go -v": (GO_VERBOSE, (4, 2, 1)),
    "go without tests": (
        "?   \texample.org/c\t[no test files]\nok  \texample.org/d\t0.1s [no tests to run]\n",
        (0, 0, 0),
    ),
    "go that does not build": ("# example.org/a\n./a.go:1: no\nFAIL\texample.org/a [build failed]\nFAIL\n", (0, 1, 0)),
    "cargo": (CARGO, (3, 1, 1)),
    "nextest": (NEXTEST, (5, 2, 2)),
    "rspec": ("Finished in 0.1 seconds\n5 examples, 1 failure, 2 pending\n", (3, 1, 2)),
    "rspec without examples": ("No examples found.\n\n0 examples, 0 failures\n", (0, 0, 0)),
    "rspec that cannot load": ("0 examples, 0 failures, 1 error occurred outside of examples\n", (0, 1, 0)),
    "rspec in parallel": (RSPEC_PARALLEL, (10, 1, 1)),
    "phpunit": (PHPUNIT, (4, 2, 3)),
    "phpunit passed": ("\x1b[30;42mOK (5 tests, 9 assertions)\x1b[0m\n", (5, 0, 0)),
    "phpunit without tests": ("No tests executed!\n", (0, 0, 0)),
    "two runners": ("3 passed in 0.10s\nTests:       4 passed, 4 total\n", (7, 0, 0)),
    "windows lines": ("3 passed in 0.10s\r\n", (3, 0, 0)),
}
UNKNOWN = {
    "nothing": "",
    "prose": "All tests passed in 3 seconds, and 4 failed before\n",
    "a build": "   Compiling cr v0.1.0\n    Finished `test` profile in 1.34s\n",
    "a list of tests": "test_a.py::test_2\n\n6 tests collected in 0.75s\n",
    "a part of a list": "4/6 tests collected (2 deselected) in 0.75s\n",
    "tap without a summary": "ok 1 - one\nnot ok 2 - two\n1..2\n",
    "a number in a comment": "# pass 3\n",
    "a linter": "Found 3 errors in 2 files\nAll checks passed!\n",
}


@all_of("name", CASES)
def test_closing_lines_are_read(name: str) -> None:
    """Ran, failed and skipped are read from each runner's last lines."""
    output, (ran, failed, skipped) = CASES[name]
    assert parse(output) == {"ran": ran, "failed": failed, "skipped": skipped}


@all_of("name", UNKNOWN)
def test_other_output_has_no_counts(name: str) -> None:
    """An output without a runner's last lines has no counts; it is not taken for a run without tests."""
    assert parse(UNKNOWN[name]) is None


@few_of(
    "unit",
    [
        "1 passed, ",
        "=" * 40 + " ",
        "\x1b[",
        "\x1b[3",
        "\x1b]0;",
        "Tests: 1 passed, ",
        "(1, ",
        "Tests  1 passed | ",
        "5 a ",
    ],
    6,
)
def test_hostile_output_is_read_in_linear_time(unit: str) -> None:
    """Long and many lines of half a summary are read in linear time: otherwise this test would take hours."""
    line = unit * (1900 // len(unit))
    text = f"{line} in \n" * 1000 + unit * 100_000
    assert parse(f"{text}\n2 passed in 0.01s\n") == {"ran": 2, "failed": 0, "skipped": 0}


def test_only_the_end_of_a_long_output_is_read() -> None:
    """An output beyond the limit still has its last lines."""
    assert parse("x" * (9 << 20) + "\n2 passed in 0.01s\n") == {"ran": 2, "failed": 0, "skipped": 0}


def test_huge_numbers_are_no_counts() -> None:
    """A number that no runner prints does not become a count."""
    assert parse(f"{'9' * 5000} passed in 0.01s\n") is None


@all_of(
    ("command", "output", "known"),
    [
        ("pytest -q", "", 0),
        (".venv/bin/python -m pytest", "===== test session starts =====\ncollected 3 items\n", 0),
        ("python -m unittest", "", 0),
        ("pytest -qq", "...   [100%]\n", None),
        ("pytest --collect-only -q", "a::b\n", None),
        ("make test", "", None),
        ("test -f a.txt", "", None),
        ("pytest", "2 passed in 0.01s\n", 2),
    ],
)
def test_a_runner_that_was_cut_off_ran_nothing(command: str, output: str, known: int | None) -> None:
    """pytest and unittest end every complete run with a summary; without it no test is known to have run."""
    result = of_command(command, output)
    assert (None if result is None else result["ran"]) == known


def evidence(*counts: int | None, skipped: int = 0) -> Any:
    """Returns evidence of one list: each command with so many tests, or without counts."""
    return [
        {"command": f"run {number}", **({} if count is None else {"tests": {"ran": count, "skipped": skipped}})}
        for number, count in enumerate(counts, 1)
    ]


@all_of(
    ("now", "base", "said"),
    [
        (evidence(5), None, ""),
        (evidence(5), {"ran": 5}, ""),
        (evidence(None, 6), {"ran": 5}, ""),
        (evidence(2, 3), {"ran": 5}, ""),
        (evidence(None), None, ""),
        (evidence(None), {"ran": 0}, "`run 1` printed no test counts; 0 tests ran on the base commit"),
        (evidence(0), None, "no test ran in `run 1`"),
        (evidence(0, skipped=3), {"ran": 3}, "no test ran in `run 1` (3 skipped); 3 tests ran on the base commit"),
        (evidence(4, 0), {"ran": 4}, "no test ran in `run 2`; 4 tests ran on the base commit"),
        (evidence(None), {"ran": 1}, "`run 1` printed no test counts; 1 test ran on the base commit"),
        (evidence(2, 1), {"ran": 5}, "fewer tests ran: 3 now, 5 on the base commit"),
        (evidence(4, skipped=1), {"ran": 5}, "fewer tests ran: 4 now (1 skipped), 5 on the base commit"),
        ([], {"ran": 5}, ""),
        ([{"command": "x", "exit": 0, "tests": {"ran": 3, "failed": 2}}], None, "`x` passed although 2 tests failed"),
        ([{"command": "x", "exit": 1, "tests": {"ran": 3, "failed": 2}}], None, ""),
    ],
)
def test_fewer_tests_than_before_are_a_concern(now: Any, base: Any, said: str) -> None:
    """No test, fewer tests than on the base commit, or missing counts: the concern has both counts."""
    assert count_problem(now, base) == said


def test_the_counts_of_a_list_are_summed() -> None:
    """Commands without counts are ignored, and a list without any has none."""
    assert total([{"ran": 2, "failed": 1}, None, {"ran": 3, "skipped": 4}]) == {"ran": 5, "failed": 1, "skipped": 4}
    assert total([None, None]) is None
