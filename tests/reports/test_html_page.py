"""The report of a run as one HTML file: all facts, no network, and texts of agents only as text."""

from __future__ import annotations

import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from conftest import FULL, Repo
from hypothesis import given, settings
from hypothesis import strategies as st
from support.journals import START, MadeUpRun, stamp
from support.quick_cases import few_of

from sow.reports import html_page, run_report, timeline
from sow.reports.html_elements import ATTRIBUTES, TAGS, h
from sow.reports.svg_timeline import LEFT, RIGHT, WIDTH, Axis, chart

RUN = "20260921-143320-ab12"
REACHING = {"href", "src", "srcset", "action", "formaction", "data", "poster", "style", "xlink:href", "background"}


class Parsed(HTMLParser):
    """The parsed file, as a browser sees it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.style = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["style"]:
            self.style += data
        else:
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    @property
    def shown(self) -> str:
        return "\n".join(self.texts)


def inert(text: str) -> Parsed:
    """Checks that nothing in the file can run, fetch or reorder letters, and returns it."""
    parsed = Parsed(text)
    names = {name for name, _ in parsed.attributes}
    assert set(parsed.tags) <= {tag.lower() for tag in TAGS}
    assert names <= {name.lower() for name in ATTRIBUTES}
    assert not [name for name in names if name.startswith("on") or name in REACHING]
    assert not re.findall(r"url\((?!#)|@import|expression\(|://", parsed.style)
    bad = [
        character
        for character in text
        if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") and character not in "\n\t"
    ]
    assert bad == []
    assert not set(text) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200e\u200f\ufeff")
    return parsed


@pytest.fixture
def journal(repo: Repo) -> MadeUpRun:
    """A run with a task that is done, one that failed, one that waits for it, one that asks, and a second call."""
    for item in (["Store users"], ["Login form"], ["Logout", "--depends-on", "020"], ["Sessions"]):
        repo.ok("task", "create", "--name", *item)
    repo.ok("task", "set", "--id", "020", "status", "in_progress")
    repo.ok("task", "set", "--id", "020", "status", "failed")
    made = MadeUpRun(repo, ["010", "020", "030", "040"])
    made.begin(needs={"030": ["020"]}, settings={"max_concurrency": 2})
    with made.in_time_order():
        made.work(1, 61, "010")
        made.add(59, "check", task="010", iteration=1, command="make test", exit=0, seconds=1, passed=True)
        made.add(60, "reviewed", task="010", iteration=1, verdict="GREEN", by="reviewer", findings=0, feedback="")
        made.work(1, 31, "020", "failed", executor="codex", cost_usd=None)
        made.add(32, "limit", executor="codex", until=START + 50, reason="usage limit")
        made.add(62, "task_started", task="040", iteration=1)
        made.turn(62, 70, "040")
        made.add(70, "question", task="040", number=3, text="Which store?")
        made.add(70, "task_ended", task="040", status="paused", seconds=8)
    made.folder.append_event("run_started", at=stamp(4000), t=0, recovered=True, tasks=[])
    made.folder.append_event("answered", at=stamp(4001), t=1, task="040", number=3, origin="ada")
    return made


def test_the_report_is_complete(repo: Repo, journal: MadeUpRun) -> None:
    """Outcome, sums, the timeline, tasks with reviews and evidence, questions, cost and the next steps are in it."""
    journal.end(4010, code=1)
    parsed = inert(repo.ok("runs", "report", "--format", "html").out)
    for text in (
        "Add a login",
        "something failed",
        f"Report of run {RUN}",
        "plan.md on branch feat/auth",
        "Store users",
        "completed",
        "GREEN",
        "1 / 1",
        "waits for 2 (020), failed",
        "Which store?",
        "answered by ada",
        "codex: usage limit",
        "implementer on codex",
        "unknown",
        "sow task show 020",
        "sow run plan.md",
        "no call of sow was alive for 1h 6m",
        "limit of an executor, codex, 00:32 to 00:50 (18s): codex pauses",
    ):
        assert any(text in item for item in parsed.texts), (text, parsed.shown)
    assert {"svg", "table", "dl", "ol"} <= set(parsed.tags)


@pytest.mark.full
def test_the_answer_is_in_the_report(plan_repo: Any) -> None:
    """A person's answer is below the question, in every format."""
    ask = "sow note add --description 'Which port?' --context x --category requirements\n"
    plan_repo.act("implementer-010-1", f"{ask}sow note escalate 1 --reason 'only you'\nsow task set status paused\n")
    plan_repo.plan("First")
    assert plan_repo.run().code == 4
    plan_repo.repo.ok("answer", "1", "Port <8080>\nand no other")
    assert plan_repo.run().code == 0
    parsed = inert(plan_repo.repo.ok("runs", "report", "--format", "html").out)
    assert "Port <8080>\nand no other" in parsed.texts
    assert "all done" in parsed.texts
    (asked,) = plan_repo.repo.ok("runs", "report", "--format", "json").json["questions"]
    assert asked["answer"] == "Port <8080>\nand no other"


def test_the_report_has_one_duration_and_the_changed_files(plan_repo: Any) -> None:
    """It has the files of all merges without sow's state, and the length of the run once."""
    plan_repo.plan("First", "Second")
    assert plan_repo.run().code == 0
    parsed = inert(plan_repo.repo.ok("runs", "report", "--format", "html").out)
    assert {"Changed files", "part_010.txt", "part_020.txt", "+1"} <= set(parsed.texts)
    assert not any(".sow/" in text for text in parsed.texts)
    assert "2 of 2 tasks completed" in parsed.texts


@pytest.mark.full
def test_the_details_of_a_question_keep_their_lines(plan_repo: Any) -> None:
    """The run's findings are below its question in the table, each on a line of its own."""
    finding = "printf 'Quality Control: RED\\n\\nFeedback: all wrong\\n- a.txt: is   empty\\n- b.txt: is missing\\n'\n"
    plan_repo.act("quality-control-010", finding)
    plan_repo.plan("First")
    assert plan_repo.run("--retries", "0").code == 4
    parsed = inert(plan_repo.repo.ok("runs", "report", "--format", "html").out)
    (shown,) = [text for text in parsed.texts if text.startswith("asks: ")]
    asked = plan_repo.task("010")["question"]["text"]
    lines = [" ".join(line.split()) for line in f"asks: {asked}".split("\n") if line]
    assert shown.split("\n") == lines
    assert {"What was found:", "- b.txt: is missing"} <= set(lines)
    assert "td .why { white-space: pre-line;" in parsed.style


def test_the_report_is_written_to_a_file(repo: Repo, journal: MadeUpRun) -> None:
    """`--out` writes the same bytes, and reading a run changes nothing else."""
    before = repo.snapshot()
    page = repo.ok("runs", "report", "--format", "html").out
    repo.ok("runs", "report", RUN, "--format", "html", "--out", "report.html")
    assert (repo.root / "report.html").read_text() == page
    assert page.startswith("<!doctype html>\n<html lang=")
    assert repo.snapshot() == before


def test_the_report_fetches_and_runs_nothing(repo: Repo, journal: MadeUpRun) -> None:
    """It has no script, no link and no address, and forbids them to the browser."""
    page = repo.ok("runs", "report", "--format", "html").out
    parsed = inert(page)
    assert "script" not in parsed.tags
    assert ("content", html_page.POLICY) in parsed.attributes
    assert "default-src 'none'" in html_page.POLICY
    assert not re.search(r"https?:|//[a-z]", page)


def test_an_unreadable_journal_is_a_remark(repo: Repo, journal: MadeUpRun) -> None:
    """Without its journal the report has everything else, and says what is missing."""
    path = Path(journal.folder.journal_path)
    path.unlink()
    path.mkdir()
    parsed = inert(repo.ok("runs", "report", "--format", "html").out)
    assert "its journal cannot be read" in parsed.shown
    assert "Store users" in parsed.shown


def test_the_report_has_styles_for_dark_screens_phones_and_paper(repo: Repo, journal: MadeUpRun) -> None:
    """One file serves a dark screen, a phone and a printer."""
    style = inert(repo.ok("runs", "report", "--format", "html").out).style
    for query in ("prefers-color-scheme: dark", "max-width: 640px", "@media print"):
        assert query in style


HOSTILE = (
    "<script>alert(1)</script>", "</style><script>x</script>", '" onload="x', "' onmouseover='x", "<!--", "]]>",
    "<img src=x onerror=x>", "</title><svg/onload=x>", "&lt;b&gt;", "javascript:x", "\x1b]0;t\x07", "\x9b31m",
    "a\u2028b", "\u202eb", "\ud800", "\x00",
    "<a href=//x>", "`${x}`", "{{x}}", "&#x3c;script&#x3e;", "</svg></figure>", "url(//x)", "\ufeff",
)  # fmt: skip


def spoil(journal: MadeUpRun, text: str) -> None:
    """Puts a text into every place of the journal that an agent or a plan can fill."""
    tasks = [{"id": "010", "number": text, "name": text, "agent": text, "needs": [text]}]
    journal.add(80, "run_started", tasks=tasks, name=text)
    fields = ("text", "reason", "executor", "role", "feedback", "verdict", "by", "command", "origin", "kind", "outcome")
    for event in (
        *("task_started", "turn_started", "turn_ended", "step", "check", "reviewed", "sent_back", "conflict", "merged"),
        *("question", "answered", "limit", "budget", "waiting"),
    ):
        journal.add(81, event, task="010", number=4, paths=[text], passed=False, **dict.fromkeys(fields, text))
    journal.add(82, "question", task="010", number=text, text=text)
    journal.add(83, "task_ended", task="010", status=text, result=text)


@few_of("text", HOSTILE, 3, always=["<img src=x onerror=x>"], ids=[ascii(item) for item in HOSTILE])
def test_hostile_texts_are_shown_as_text(repo: Repo, journal: MadeUpRun, text: str) -> None:
    """Any text of a plan or an agent is shown as it is, and is no part of the page."""
    usual = set(inert(_page(journal)).tags)
    spoil(journal, text)
    journal.folder.run["name"] = f"n{text}"
    parsed = inert(_page(journal))
    assert set(parsed.tags) <= usual | {"rect", "path", "p", "small"}
    if text.isprintable() and text.isascii():
        assert f"n{text}" in parsed.shown


def _page(journal: MadeUpRun) -> str:
    return run_report.render(journal.home, journal.folder, "html")


SEQUENCES = ("\x1b[31m<b>x", "\x1b]52;c;AA==\x07</td>", "\x9b31m&amp;", "a\r\n<i>", "\u2066<u>\u2069", "é<script>")


@pytest.mark.parametrize("text", SEQUENCES, ids=[ascii(sequence) for sequence in SEQUENCES])
def test_split_sequences_are_harmless(repo: Repo, journal: MadeUpRun, text: str) -> None:
    """A sequence in two pieces, cut anywhere, even within a letter, is as harmless as in one."""
    data = text.encode()
    document = run_report.report_data(journal.home, journal.folder)
    for place in range(len(data) + 1):
        one, two = data[:place].decode("utf-8", "surrogateescape"), data[place:].decode("utf-8", "surrogateescape")
        row = document["tasks"][0]
        row |= {"name": one, "agent": two, "executor": one + two, "outcome": "failed", "why": two}
        document["run"]["name"], document["remarks"] = one, [one, two]
        inert(html_page.page(document))


ANY = st.text(st.characters(), max_size=12) | st.sampled_from(HOSTILE)


@pytest.mark.full
@settings(max_examples=1000 if FULL else 60)
@given(st.lists(ANY, min_size=8, max_size=8), st.floats(0, 1e7), st.floats(0, 1e7))
def test_any_text_is_inert(texts: list[str], begin: float, long: float) -> None:
    """No text in any field of the document becomes a tag, an attribute or a control byte."""
    one, two, three, four, five, six, seven, eight = texts
    row: dict[str, Any] = {
        "id": one, "plan_id": two, "name": three, "agent": four, "executor": five, "outcome": six, "tries": 1,
        "reviews": [{"verdict": seven, "by": eight, "iteration": 1, "findings": 0}],
        "checks": {"passed": 1, "failed": 0}, "waits_for": [{"id": one, "plan_id": None, "outcome": two}],
        "question": {"number": 1, "text": three},
        "why": four, "started_at": five, "active_seconds": 2.0, "estimated_minutes": 3, "cost_usd": 0.5,
        "cost_unknown_turns": 1, "input_tokens": 3, "output_tokens": 4, "tokens_unknown_turns": 0, "status": six,
        "concerns": [{"kind": "no_changes", "text": seven}],
        "refusals": [{"tool": one, "command": two, "reason": three, "count": 2, "executor": four}],
        "comments": [{"by": one, "file": two, "line": 3, "text": four}],
    }  # fmt: skip
    group = {**row, "turns": 2, "work_seconds": 3.0, "tasks": 1}
    counts = {"total": 1, **dict.fromkeys(html_page.OUTCOME_BADGES, 0), "failed": 1}
    seconds = ("wall_seconds", "waited_for_people_seconds", "waited_for_limits_seconds", "work_seconds")
    sums = (
        "turns",
        "questions",
        "limits",
        "conflicts",
        "merges",
        "cost_unknown_turns",
        "input_tokens",
        "output_tokens",
    )
    totals = {
        **dict.fromkeys(seconds, 1.0),
        **dict.fromkeys(sums, 1),
        "busy_seconds": 60.0,
        "speed_up": 1.5,
        "checks": {"passed": 1, "failed": 0},
        "reviews": {one: 1},
        "cost_usd": 1.0,
        "tokens_unknown_turns": 0,
    }
    span = {"id": 1, "task": one, "kind": "work", "role": two, "executor": three, "outcome": four, "text": five}
    document = {
        "run": {
            "id": one, "name": two, "plans": [three], "branch": four, "started_at": five, "ended_at": six,
            "status": seven, "live": False, "exit": 0, "calls": 2,
        },
        "counts": counts, "tasks": [row], "totals": totals, "by_agent": [group], "by_executor": [group], "by_host": [],
        "questions": [{
            "task": one, "number": two, "text": three, "asked_at": four, "answered_at": five, "origin": six,
            "waited_seconds": 1.0, "answer": seven,
        }],
        "limits": [{"executor": one, "reason": two}], "stops": [three], "remarks": [four],
        "next": [{"text": five, "command": six}],
        "timeline": {
            "from": begin, "to": begin + long + 1, "now": None, "lanes": [{"id": one, "name": two, "plan_id": three}],
            "spans": [
                {**span, "from": begin, "to": begin + long},
                {**span, "task": None, "kind": "limit", "from": 0, "to": 9},
            ],
            "marks": [{"at": begin, "task": one, "kind": "question", "text": eight}],
            "gaps": [{"from": begin + long / 3, "to": begin + long / 2}],
        },
    }  # fmt: skip
    inert(html_page.page(document))


def test_only_listed_tags_are_written() -> None:
    """A tag or an attribute that is not on the list is refused when it is written, and a text is never one."""
    for make in (lambda: h("script"), lambda: h("p", onclick="x"), lambda: h("p", href="x"), lambda: h("p", style="x")):
        with pytest.raises(ValueError, match="not a known"):
            make()
    assert (
        h("p", "<b>", ["&", None, h("small", '"')], class_='"')
        == '<p class="&quot;">&lt;b&gt;&amp;<small>&quot;</small></p>'
    )


@pytest.mark.full
@given(
    st.floats(0, 1e6),
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), max_size=4),
    st.lists(st.floats(-1e6, 3e6), min_size=2, max_size=6),
)
def test_later_is_never_further_left(length: float, gaps: list[tuple[float, float]], moments: list[float]) -> None:
    """On the axis time runs from left to right within the picture, with any gaps; gaps do not overlap."""
    ordered = sorted({item for gap in gaps for item in gap})
    apart = [{"from": one, "to": two} for one, two in zip(ordered[::2], ordered[1::2], strict=False)]
    axis = Axis(0.0, length, apart)
    places = [axis.x(moment) for moment in sorted(moments)]
    assert places == sorted(places)
    assert LEFT <= places[0] <= places[-1] <= WIDTH - RIGHT + 1
    assert len(axis.ticks()) < 80


@pytest.mark.full
def test_many_tasks_are_shortened(repo: Repo) -> None:
    """Of thousands of tasks the picture and the table show a limited number, and say so."""
    idents = [f"{number}0".zfill(3) for number in range(1, 2501)]
    made = MadeUpRun(repo, idents)
    with made.in_time_order():
        made.begin()
        for number, ident in enumerate(idents):
            made.work(number, number + 2, ident)
    parsed = inert(_page(made))
    assert "The first 150 of 2500 tasks that were worked on." in parsed.shown
    assert "and 500 more: sow runs show" in parsed.shown


def test_a_run_without_work_has_no_picture(repo: Repo) -> None:
    """Before the first turn there is a page, without a picture."""
    made = MadeUpRun(repo, ["010"])
    document = timeline.document(made.folder.journal(), run=RUN, live=False)
    assert chart(document) == ""
    assert "0 of 1 task completed" in inert(_page(made)).shown
