"""Reads the numbers of tests from the last lines of a test runner, and compares them with the base commit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sow.domain.documents.state import Evidence, TestCounts

MOST_BYTES = 4 << 20  # from the end of each stream of a command
LONGEST_LINE = 2000  # A summary line is short. A longer line is output of a test.
MOST_DIGITS = 9
# Only lines with one of these texts are examined.
SIGNS = (
    " in ", "Ran ", "OK", "FAILED", "NO TESTS RAN", "Tests", "No test", "passing", "pending", "failing", "# ",
    "\u2139 ", "ok  ", "FAIL\t", "?   ", "=== RUN", "--- ", "test result:", "Summary", " example", "executed",
)  # fmt: skip
COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,200}\x07|[@-Z\\-_])")
PART = re.compile(r"(\d{1,9}) ([a-z][a-z ]*)")
NAMED = re.compile(r"([A-Z][A-Za-z ]*): (\d{1,9})")

PYTEST = re.compile(
    r"(?:=+ )?(no tests ran|no tests collected.*|\d[\w ,/()]*?) in \d+\.\d+s(?: \(\d[\d:, a-z]*\))?(?: =+)?$"
)
UNITTEST = re.compile(r"Ran (\d{1,9}) tests? in [\d.]+s$")
UNITTEST_END = re.compile(
    r"(?:OK|FAILED|NO TESTS RAN)(?: \(([a-z]+(?: [a-z]+)?=\d{1,9}(?:, [a-z]+(?: [a-z]+)?=\d{1,9})*)\))?$"
)
JEST = re.compile(r"\bTests: +((?:\d{1,9} [a-z]+, )*)(\d{1,9}) total$")
VITEST = re.compile(r"\bTests  +(no tests|\d{1,9} [a-z]+(?: \| \d{1,9} [a-z]+)*)(?: \(\d{1,9}\))?$")
NO_FILES = re.compile(r"(?:No tests found, exiting with code \d+|No test files found, exiting with code \d+)$")
MOCHA = re.compile(r"(\d{1,9}) (passing|pending|failing)(?: \([\d.a-z ]+\))?$")
NODE = re.compile(r"(?:#|\u2139) (tests|pass|fail|cancelled|skipped|todo) +(\d{1,9})$")
GO_PACKAGE = re.compile(r"(ok  |FAIL|\?   )\t(\S+)(.*)$")
GO_TEST = re.compile(r"--- (PASS|FAIL|SKIP): \S+ \([\d.]+s\)$")
CARGO = re.compile(r"test result: (?:ok|FAILED)\. ((?:\d{1,9} [a-z ]+(?:; |$))+)")
NEXTEST = re.compile(r"Summary \[ *[\d.]+s\] (\d{1,9})(?:/\d{1,9})? tests? run: (.*)$")
RSPEC = re.compile(r"(\d{1,9}) examples?, (\d{1,9}) failures?((?:, \d{1,9} [a-z ]+)*)$")
PHPUNIT_OK = re.compile(r"OK \((\d{1,9}) tests?, \d{1,9} assertions?\)$")
PHPUNIT = re.compile(r"Tests: (\d{1,9}), Assertions: \d{1,9}((?:, [A-Z][A-Za-z ]*: \d{1,9})*)\.?$")


class _Tally:
    """The sums of the summaries in one output."""

    def __init__(self) -> None:
        self.has_counts = False
        self.ran = self.failed = self.skipped = 0

    def add(self, ran: int, failed: int = 0, skipped: int = 0) -> None:
        self.has_counts = True
        self.ran += max(ran, 0)
        self.failed += failed
        self.skipped += skipped


def parse(output: str) -> TestCounts | None:
    """Counts the tests in the output of a command. None if no known runner printed a summary.

    `ran` counts tests that could fail. Skipped tests and tests that are expected to fail count as `skipped`. Several
    summaries are added, because each process of a runner prints one. RSpec is the exception: its parallel runner
    prints a total at the end, so the last one counts. `go test` without -v prints only packages; each counts as one.
    """
    tally = _Tally()
    lines = _lines(output)
    for read in (_pytest, _unittest, _jest_and_vitest, _mocha, _node, _go, _cargo, _rspec, _phpunit):
        read(lines, tally)
    if not tally.has_counts:
        return None
    most = 10**MOST_DIGITS - 1
    return {"ran": min(tally.ran, most), "failed": min(tally.failed, most), "skipped": min(tally.skipped, most)}


def _lines(output: str) -> list[str]:
    """Returns the lines that can be part of a summary, without colours and surrounding spaces."""
    text = output[-2 * MOST_BYTES :].replace("\r", "\n")
    lines = []
    for raw in text.split("\n"):
        if len(raw) > LONGEST_LINE or not any(sign in raw for sign in SIGNS):
            continue
        line = COLOUR.sub("", raw) if "\x1b" in raw else raw
        lines.append(line.strip(" "))
    return lines


def _parts(text: str) -> dict[str, int]:
    """Parses `1 failed, 2 passed` into a mapping."""
    return {name.strip(): int(count) for count, name in PART.findall(text)}


def _pytest(lines: Sequence[str], tally: _Tally) -> None:
    for line in lines:
        summary = PYTEST.match(line)
        if summary is None or ("test" in summary[1] and " collected" in summary[1]):
            continue
        parts = _parts(summary[1])
        names = ("passed", "failed", "skipped", "deselected", "xfailed", "xpassed", "error", "errors")
        if not summary[1].startswith("no tests") and not any(name in parts for name in names):
            continue
        failed = parts.get("failed", 0)
        errors = parts.get("error", 0) + parts.get("errors", 0)
        ran = parts.get("passed", 0) + parts.get("xpassed", 0) + failed
        tally.add(ran, failed + errors, parts.get("skipped", 0) + parts.get("xfailed", 0))


def _unittest(lines: Sequence[str], tally: _Tally) -> None:
    pending = -1  # tests of a summary whose last line has not been read yet
    for line in lines:
        ran, end = UNITTEST.match(line), UNITTEST_END.match(line)
        if ran is not None:
            if pending >= 0:
                tally.add(pending)
            pending = int(ran[1])
        elif end is not None and pending >= 0:
            pairs = (part.partition("=") for part in (end[1] or "").split(", "))
            parts = {name: int(count) for name, _, count in pairs if count}
            skipped = parts.get("skipped", 0) + parts.get("expected failures", 0)
            failed = sum(parts.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
            tally.add(pending - skipped, failed, skipped)
            pending = -1
    if pending >= 0:
        tally.add(pending)


def _jest_and_vitest(lines: Sequence[str], tally: _Tally) -> None:
    for line in lines:
        summary = JEST.search(line) or VITEST.search(line)
        if summary is not None:
            parts = _parts(summary[1])
            failed = parts.get("failed", 0)
            tally.add(parts.get("passed", 0) + failed, failed, parts.get("skipped", 0) + parts.get("todo", 0))
        elif NO_FILES.match(line):
            tally.add(0)


def _mocha(lines: Sequence[str], tally: _Tally) -> None:
    for line in lines:
        summary = MOCHA.match(line)
        if summary is None:
            continue
        count = int(summary[1])
        if summary[2] == "passing":
            tally.add(count)
        elif tally.has_counts:
            tally.add(count if summary[2] == "failing" else 0, *((count, 0) if summary[2] == "failing" else (0, count)))


def _node(lines: Sequence[str], tally: _Tally) -> None:
    in_block = False  # A block begins with the number of tests.
    for line in lines:
        summary = NODE.match(line)
        if summary is None:
            continue
        name, count = summary[1], int(summary[2])
        in_block = in_block or name == "tests"
        if not in_block:
            continue
        if name in ("fail", "cancelled"):
            tally.add(count, count)
        elif name == "tests":
            tally.add(0)
        else:
            tally.add(count if name == "pass" else 0, 0, 0 if name == "pass" else count)


def _go(lines: Sequence[str], tally: _Tally) -> None:
    verbose = any(line.startswith("=== RUN") for line in lines)
    for line in lines:
        package, test = GO_PACKAGE.match(line), GO_TEST.match(line)
        if package is not None:
            idle = package[1] == "?   " or "[no test" in package[3]
            built = "failed]" not in package[3]
            broke = package[1] == "FAIL" and (not verbose or not built)
            tally.add(0 if verbose or idle or not built else 1, 1 if broke else 0)
        elif test is not None and verbose:
            skipped, failed = test[1] == "SKIP", test[1] == "FAIL"
            tally.add(0 if skipped else 1, 1 if failed else 0, 1 if skipped else 0)


def _cargo(lines: Sequence[str], tally: _Tally) -> None:
    for line in lines:
        summary, nextest = CARGO.search(line), NEXTEST.search(line)
        if summary is not None:
            parts = _parts(summary[1])
            failed = parts.get("failed", 0)
            tally.add(parts.get("passed", 0) + parts.get("measured", 0) + failed, failed, parts.get("ignored", 0))
        elif nextest is not None:
            parts = _parts(nextest[2])
            failed = sum(parts.get(name, 0) for name in ("failed", "timed out", "exec failed"))
            tally.add(int(nextest[1]), failed, parts.get("skipped", 0))


def _rspec(lines: Sequence[str], tally: _Tally) -> None:
    last = next((summary for line in reversed(lines) if (summary := RSPEC.match(line))), None)
    if last is not None:
        parts = _parts(last[3])
        pending = parts.get("pending", 0)
        errors = sum(count for name, count in parts.items() if name.startswith("error"))
        tally.add(int(last[1]) - pending, int(last[2]) + errors, pending)


def _phpunit(lines: Sequence[str], tally: _Tally) -> None:
    for line in lines:
        passed, summary = PHPUNIT_OK.match(line), PHPUNIT.match(line)
        if passed is not None:
            tally.add(int(passed[1]))
        elif summary is not None:
            parts = {name: int(count) for name, count in NAMED.findall(summary[2])}
            skipped = parts.get("Skipped", 0) + parts.get("Incomplete", 0)
            tally.add(int(summary[1]) - skipped, parts.get("Failures", 0) + parts.get("Errors", 0), skipped)
        elif line == "No tests executed!":
            tally.add(0)


def total(counts: Iterable[TestCounts | None]) -> TestCounts | None:
    """Returns the sum of the counts of several commands, or None if none of them has any."""
    present = [count for count in counts if count is not None]
    if not present:
        return None
    return {
        "ran": sum(count["ran"] for count in present),
        "failed": sum(count.get("failed", 0) for count in present),
        "skipped": sum(count.get("skipped", 0) for count in present),
    }


def of_command(command: str, output: str) -> TestCounts | None:
    """Counts the tests of a command that passed.

    pytest and unittest print a summary at the end of every complete run. If it is missing, a module ended the process,
    and no test is known to have run. `pytest -qq` prints no counts, but its progress reaches 100%.
    """
    counts = parse(output)
    if counts is not None:
        return counts
    tokens = {word.rpartition("/")[2] for word in command.replace(";", " ").split()}
    quiet = tokens & {"--collect-only", "--co", "--version", "-V", "--help", "-h", "--fixtures", "--markers"}
    cut_off = ("pytest" in tokens and "[100%]" not in output) or {"-m", "unittest"} <= tokens
    return {"ran": 0, "failed": 0, "skipped": 0} if cut_off and not quiet else None


def count_problem(evidence: Sequence[Evidence], base: TestCounts | None) -> str:
    """Returns why a check list that passed is not a clean pass, with both counts, or ''.

    `evidence` is the list's evidence on one tree, `base` the counts of the same list on the base commit.
    """
    current = total(result.get("tests") for result in evidence)
    on_base = "" if base is None else f"; {_tests(base['ran'])} ran on the base commit"
    idle = [result["command"] for result in evidence if "tests" in result and not result["tests"]["ran"]]
    if idle:
        return f"no test ran in `{idle[0]}`{_skipped(current)}{on_base}"
    failed = [result for result in evidence if result.get("exit") == 0 and result.get("tests", {}).get("failed", 0)]
    if failed:
        return f"`{failed[0]['command']}` passed although {_tests(failed[0]['tests']['failed'])} failed{on_base}"
    if base is None or not evidence:
        return ""
    if current is None:
        return f"`{evidence[-1]['command']}` printed no test counts{on_base}"
    if current["ran"] < base["ran"]:
        return f"fewer tests ran: {current['ran']} now{_skipped(current)}, {base['ran']} on the base commit"
    return ""


def _skipped(counts: TestCounts | None) -> str:
    count = counts.get("skipped", 0) if counts is not None else 0
    return f" ({count} skipped)" if count else ""


def _tests(count: int) -> str:
    return f"{count} {'test' if count == 1 else 'tests'}"
