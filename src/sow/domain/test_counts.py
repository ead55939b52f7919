"""The numbers of tests that a test runner reports in its closing lines, and what they say about a check."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sow.domain.shapes import Evidence, TestCounts

MOST_BYTES = 4 << 20  # of each stream of a command, from the end
LONGEST_LINE = 2000  # a closing line is short; anything longer is output of a test
MOST_DIGITS = 9
# Only lines with one of these words are looked at more closely.
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
    """Sums of the summaries in one output."""

    __slots__ = ("failed", "found", "ran", "skipped")

    def __init__(self) -> None:
        self.found = False
        self.ran = self.failed = self.skipped = 0

    def add(self, ran: int, failed: int = 0, skipped: int = 0) -> None:
        self.found = True
        self.ran += max(ran, 0)
        self.failed += failed
        self.skipped += skipped


def parse(output: str) -> TestCounts | None:
    """Count the tests in the output of a command; None if no known runner closed it.

    `ran` counts tests that could fail: skipped ones, and those that are expected to fail, are `skipped`. Several
    summaries are summed, because each process of a runner prints one. RSpec is the exception: its parallel runner
    prints a total at the end, so the last one counts. `go test` without -v names packages only: each counts as one.
    """
    tally = _Tally()
    lines = _lines(output)
    for read in (_pytest, _unittest, _jest_and_vitest, _mocha, _node, _go, _cargo, _rspec, _phpunit):
        read(lines, tally)
    if not tally.found:
        return None
    most = 10**MOST_DIGITS - 1
    return {"ran": min(tally.ran, most), "failed": min(tally.failed, most), "skipped": min(tally.skipped, most)}


def _lines(output: str) -> list[str]:
    """The lines that can be part of a summary, without colours and white space around them."""
    text = output[-2 * MOST_BYTES :].replace("\r", "\n")
    found = []
    for raw in text.split("\n"):
        if len(raw) > LONGEST_LINE or not any(sign in raw for sign in SIGNS):
            continue
        line = COLOUR.sub("", raw) if "\x1b" in raw else raw
        found.append(line.strip(" "))
    return found


def _parts(text: str) -> dict[str, int]:
    """`1 failed, 2 passed` as a mapping."""
    return {name.strip(): int(count) for count, name in PART.findall(text)}


def _pytest(lines: Sequence[str], tally: _Tally) -> None:
    for line in lines:
        found = PYTEST.match(line)
        if found is None or ("test" in found[1] and " collected" in found[1]):
            continue
        parts = _parts(found[1])
        known = ("passed", "failed", "skipped", "deselected", "xfailed", "xpassed", "error", "errors")
        if not found[1].startswith("no tests") and not any(name in parts for name in known):
            continue
        failed = parts.get("failed", 0)
        errors = parts.get("error", 0) + parts.get("errors", 0)
        ran = parts.get("passed", 0) + parts.get("xpassed", 0) + failed
        tally.add(ran, failed + errors, parts.get("skipped", 0) + parts.get("xfailed", 0))


def _unittest(lines: Sequence[str], tally: _Tally) -> None:
    waiting = -1  # tests of a summary whose last line is still to come
    for line in lines:
        ran, end = UNITTEST.match(line), UNITTEST_END.match(line)
        if ran is not None:
            if waiting >= 0:
                tally.add(waiting)
            waiting = int(ran[1])
        elif end is not None and waiting >= 0:
            parts = {
                name: int(count)
                for name, _, count in (each.partition("=") for each in (end[1] or "").split(", "))
                if count
            }
            skipped = parts.get("skipped", 0) + parts.get("expected failures", 0)
            failed = sum(parts.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
            tally.add(waiting - skipped, failed, skipped)
            waiting = -1
    if waiting >= 0:
        tally.add(waiting)


def _jest_and_vitest(lines: Sequence[str], tally: _Tally) -> None:
    for line in lines:
        found = JEST.search(line) or VITEST.search(line)
        if found is not None:
            parts = _parts(found[1])
            failed = parts.get("failed", 0)
            skipped = parts.get("skipped", 0) + parts.get("todo", 0)
            tally.add(parts.get("passed", 0) + failed, failed, skipped)
        elif NO_FILES.match(line):
            tally.add(0)


def _mocha(lines: Sequence[str], tally: _Tally) -> None:
    for line in lines:
        found = MOCHA.match(line)
        if found is None:
            continue
        count = int(found[1])
        if found[2] == "passing":
            tally.add(count)
        elif tally.found:
            tally.add(count if found[2] == "failing" else 0, *((count, 0) if found[2] == "failing" else (0, count)))


def _node(lines: Sequence[str], tally: _Tally) -> None:
    begun = False  # a block begins with the number of tests
    for line in lines:
        found = NODE.match(line)
        if found is None:
            continue
        name, count = found[1], int(found[2])
        begun = begun or name == "tests"
        if not begun:
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
        found, closing = CARGO.search(line), NEXTEST.search(line)
        if found is not None:
            parts = _parts(found[1])
            failed = parts.get("failed", 0)
            tally.add(parts.get("passed", 0) + parts.get("measured", 0) + failed, failed, parts.get("ignored", 0))
        elif closing is not None:
            parts = _parts(closing[2])
            failed = sum(parts.get(name, 0) for name in ("failed", "timed out", "exec failed"))
            tally.add(int(closing[1]), failed, parts.get("skipped", 0))


def _rspec(lines: Sequence[str], tally: _Tally) -> None:
    last = next((found for line in reversed(lines) if (found := RSPEC.match(line))), None)
    if last is not None:
        parts = _parts(last[3])
        pending = parts.get("pending", 0)
        errors = sum(count for name, count in parts.items() if name.startswith("error"))
        tally.add(int(last[1]) - pending, int(last[2]) + errors, pending)


def _phpunit(lines: Sequence[str], tally: _Tally) -> None:
    for line in lines:
        passed, found = PHPUNIT_OK.match(line), PHPUNIT.match(line)
        if passed is not None:
            tally.add(int(passed[1]))
        elif found is not None:
            parts = {name: int(count) for name, count in NAMED.findall(found[2])}
            skipped = parts.get("Skipped", 0) + parts.get("Incomplete", 0)
            tally.add(int(found[1]) - skipped, parts.get("Failures", 0) + parts.get("Errors", 0), skipped)
        elif line == "No tests executed!":
            tally.add(0)


def total(counts: Iterable[TestCounts | None]) -> TestCounts | None:
    """The sum of the counts of several commands; None if none of them has any."""
    known = [each for each in counts if each is not None]
    if not known:
        return None
    return {
        "ran": sum(each["ran"] for each in known),
        "failed": sum(each.get("failed", 0) for each in known),
        "skipped": sum(each.get("skipped", 0) for each in known),
    }


def of_command(command: str, output: str) -> TestCounts | None:
    """Count the tests of a command that passed.

    pytest and unittest close every complete run. If one of them ends without it, a module ended the process, and no
    test is known to have run. `pytest -qq` prints no counts, but its progress reaches 100%.
    """
    found = parse(output)
    if found is not None:
        return found
    words = {word.rpartition("/")[2] for word in command.replace(";", " ").split()}
    quiet = words & {"--collect-only", "--co", "--version", "-V", "--help", "-h", "--fixtures", "--markers"}
    cut_off = ("pytest" in words and "[100%]" not in output) or {"-m", "unittest"} <= words
    return {"ran": 0, "failed": 0, "skipped": 0} if cut_off and not quiet else None


def shortfall(evidence: Sequence[Evidence], base: TestCounts | None) -> str:
    """Why a check list that passed is no clean pass, with both counts; '' if nothing is wrong with its tests.

    `evidence` is the list's evidence on one tree, `base` the counts of the same list on the base commit.
    """
    now = total(each.get("tests") for each in evidence)
    on_base = "" if base is None else f"; {_tests(base['ran'])} ran on the base commit"
    idle = [each["command"] for each in evidence if "tests" in each and not each["tests"]["ran"]]
    if idle:
        return f"no test ran in `{idle[0]}`{_skipped(now)}{on_base}"
    failed = [each for each in evidence if each.get("exit") == 0 and each.get("tests", {}).get("failed", 0)]
    if failed:
        return f"`{failed[0]['command']}` passed although {_tests(failed[0]['tests']['failed'])} failed{on_base}"
    if base is None or not evidence:
        return ""
    if now is None:
        return f"`{evidence[-1]['command']}` printed no test counts{on_base}"
    if now["ran"] < base["ran"]:
        return f"fewer tests ran: {now['ran']} now{_skipped(now)}, {base['ran']} on the base commit"
    return ""


def _skipped(counts: TestCounts | None) -> str:
    count = counts.get("skipped", 0) if counts is not None else 0
    return f" ({count} skipped)" if count else ""


def _tests(count: int) -> str:
    return f"{count} {'test' if count == 1 else 'tests'}"
