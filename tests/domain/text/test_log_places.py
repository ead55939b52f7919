"""Lines of files in the logs of failed checks."""

from __future__ import annotations

from support.quick_cases import all_of

from sow.domain.text.log_places import places

FILES = {"src/a.py", "tests/test_a.py", "web/app.ts", "main.go", "src/main.rs", "a.py", "docs/my page.md"}


@all_of(
    ("log", "found"),
    [
        ('  File "/home/runner/work/x/x/src/a.py", line 12, in load', [("src/a.py", 12)]),
        ('  File "src/a.py", line 3', [("src/a.py", 3)]),
        ("tests/test_a.py:7: AssertionError", [("tests/test_a.py", 7)]),
        ("FAILED tests/test_a.py::test_one - assert 1 == 2", []),
        ("src/a.py:5:1: F401 `os` imported but unused", [("src/a.py", 5)]),
        ("web/app.ts(12,5): error TS2322: Type 'string'", [("web/app.ts", 12)]),
        ("    main.go:9: got 1, want 2", [("main.go", 9)]),
        ("./main.go:9:2: undefined: x", [("main.go", 9)]),
        ("  --> src/main.rs:4:9", [("src/main.rs", 4)]),
        ("##[error]docs/my page.md#L3", [("docs/my page.md", 3)]),
        ("C:\\agent\\work\\src\\a.py:8: error", [("src/a.py", 8)]),
        ("src/a.py:5 and src/a.py:5 and a.py:1", [("src/a.py", 5), ("a.py", 1)]),
        ("/usr/lib/python3.11/a.py:3: in run", []),
        ("/x/node_modules/y/a.py:3", []),
        ("other/a.py:3", []),
        ("src/a.py:0 src/a.py:99999999999", []),
        ("at 12:30:05 http://host/src/a.py:80", []),
    ],
)
def test_the_forms_of_common_programs(log: str, found: list[tuple[str, int]]) -> None:
    """A file of the repository counts in every usual form; installed packages and other files do not."""
    assert places(log, FILES) == found


def test_a_long_log_gives_a_limited_number() -> None:
    """A very long log with many lines gives a limited number of places."""
    log = "\n".join(f"src/a.py:{number}: error " + "x" * 5000 + " a.py:1" for number in range(1, 1000))
    assert places(log, FILES) == [("src/a.py", number) for number in range(1, 51)]
