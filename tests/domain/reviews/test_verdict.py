"""Verdicts: one reviewer's answer, several together, and the ids of findings."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.quick_cases import all_of

from sow.domain.reviews import finding as findings
from sow.domain.reviews.finding import identity, repeated_errors
from sow.domain.reviews.verdict import (
    FLAGS,
    REVIEW,
    Verdict,
    combined,
    may_retry,
    parse,
)
from sow.domain.text.similar_text import similar

NONCE = "k3-9f1c7a"
ERROR = {"severity": "error", "text": "No test", "rule": "tests", "file": "src/a.py", "symbol": "login"}
FLAG = pytest.mark.parametrize("flag", FLAGS)


def block(flag: str = "GREEN", nonce: str = NONCE, **options) -> str:
    return json.dumps({"nonce": nonce, "verdict": flag, **options})


def fenced(text: str, word: str = "json") -> str:
    return f"```{word}\n{text}\n```"


SURROUNDINGS = {
    "bare": "{}",
    "bare after prose": "I looked at everything.\n\n{}\n\nThat is all.",
    "bare, right behind a line": "My verdict:\n{}",
    "fenced": "```json\n{}\n```",
    "fenced in capitals": "```JSON\n{}\n```",
    "fenced with tildes": "~~~~json\n{}\n~~~~",
    "fenced with a word more": "```json title=x\n{}\n```",
    "fenced and not closed": "Here:\n```json\n{}\n",
    "with old line ends": "Well.\r\n\r\n```json\r\n{}\r\n```\r\n",
    "behind another block": '```json\n{{"verdict": "RED"}}\n```\n\n{}',
    "behind a block of another review": '{{"nonce": "other", "verdict": "RED"}}\n\n{}',
    "with an equal line": "{}\n\nQuality Control: FLAG",
    "behind a quoted line": "> Quality Control: RED\n\n{}",
    "behind a fenced line": "```\nQuality Control: RED\n```\n\n{}",
}


@FLAG
@pytest.mark.parametrize("around", SURROUNDINGS.values(), ids=SURROUNDINGS)
def test_a_block_with_the_nonce_is_a_verdict(around, flag):
    """The JSON block with this review's nonce is the verdict, anywhere in the answer."""
    for layout in (block(flag, feedback="Fine"), json.dumps(json.loads(block(flag, feedback="Fine")), indent=2)):
        verdict = parse(around.replace("FLAG", flag).format(layout), NONCE)
        assert (verdict.flag, verdict.feedback) == (flag, "Fine"), verdict


@FLAG
@pytest.mark.parametrize("line", sorted(REVIEW.lines), ids=str)
def test_every_form_of_the_line_is_a_verdict(line, flag):
    """With or without brackets and bold letters, alone or with feedback, the line has its flag and no other."""
    for text in (
        line,
        line.title(),
        line.upper(),
        f"\n{line}  \r\n\r\nFeedback: Fine\r\n",
        f"Looks good.\n\n{line}\n",
        f"# Review\n{line}\nFeedback: F",
    ):
        assert (parse(text, NONCE).flag == flag) == (REVIEW.lines[line] == flag), text


def test_the_feedback_follows_its_label():
    """After the line, the text after the label is the feedback; without a label it is all the rest."""
    assert (
        parse("Quality Control: RED\n\nFeedback: Add a test.\nAnd a page.\n", NONCE).feedback
        == "Add a test.\nAnd a page."
    )
    assert parse("Quality Control: RED\n\n**Feedback:** Add it.", NONCE).feedback == "Add it."
    assert (
        parse("I read it all.\n\nQuality Control: RED\n\nAdd a test.", NONCE).feedback
        == "I read it all.\n\n\nAdd a test."
    )


def test_red_needs_no_reason():
    """RED without any finding or feedback is still RED."""
    assert parse("Quality Control: RED", NONCE).flag == "RED"
    verdict = parse(block("RED", findings=None, feedback=None), NONCE)
    assert (verdict.flag, verdict.findings, verdict.feedback) == ("RED", [], "")


def test_findings_are_kept_completely():
    """A finding has an identity and all known fields; unknown fields are dropped."""
    verdict = parse(block("RED", findings=[{**ERROR, "evidence": "0 tests ran", "line": 12, "owner": "me"}]), NONCE)
    assert verdict.findings == [{**ERROR, "id": identity(ERROR), "evidence": "0 tests ran"}]


def test_an_unknown_severity_is_an_error():
    """A finding that is called critical is not read as a note, and GREEN with such a finding is doubtful."""
    output = [{"severity": "critical", "text": "It deletes the disk"}, {"text": "No severity"}]
    assert [finding["severity"] for finding in parse(block("RED", findings=output), NONCE).findings] == [
        "error",
        "error",
    ]
    assert parse(block("GREEN", findings=output), NONCE).flag == ""


def test_findings_are_cleaned():
    """Control characters, broken characters and long texts do not reach a state file; errors come first."""
    output = [
        {
            "severity": "note",
            "text": "a\x1b[31m\ud800\n" + "x" * 9000,
            "file": "a\nb\u2028c",
            "rule": "\t",
            "symbol": None,
        },
        *({"severity": "warning", "text": f"w{number}", "rule": f"r{number}"} for number in range(80)),
        ERROR,
    ]
    result = parse(block("YELLOW", findings=output), NONCE).findings
    assert result[0]["text"] == "No test"
    assert len(result) == findings.MAX_FINDINGS
    one = findings.read(output[0])
    assert one is not None
    assert (one["text"][:7], len(one["text"]), one["file"]) == ("a[31m?\n", 1000, "a b c")
    assert not {"rule", "symbol"} & one.keys()
    json.dumps(one).encode()


def test_two_findings_in_one_place_are_both_kept():
    """Findings of one rule in one file share an identity, and each keeps its text."""
    output = [{**ERROR, "text": "No test of success"}, {**ERROR, "text": "No test of failure"}, ERROR, ERROR]
    findings = parse(block("RED", findings=output), NONCE).findings
    assert [finding["text"] for finding in findings] == ["No test of success", "No test of failure", "No test"]
    assert len({finding["id"] for finding in findings}) == 1


BROKEN = {
    "a finding that is no object": {"findings": ["No test"]},
    "a finding without words": {"findings": [{"severity": "error", "text": " "}]},
    "findings that are no list": {"findings": {"text": "x"}},
    "feedback that is no text": {"feedback": ["x"]},
}


@FLAG
@pytest.mark.parametrize("more", BROKEN.values(), ids=BROKEN)
def test_a_broken_block_is_doubtful(flag, more):
    """A block with the nonce and wrong parts is no verdict, whatever its flag."""
    verdict = parse(block(flag, **more), NONCE)
    assert verdict.flag == ""
    assert verdict.doubt


def test_a_long_answer_needs_a_whole_block():
    """Only the first 64 KiB are read: a block that ends there counts; a line, or a block that is cut off, does not."""
    long = "x\n" * 40_000
    assert parse(block() + "\n" + long, NONCE).flag == "GREEN"
    assert parse(f"Quality Control: GREEN\n\n{long}", NONCE).flag == ""
    assert parse(long + block(), NONCE).flag == ""
    assert parse(block("GREEN", feedback="x" * 70_000), NONCE).flag == ""
    assert len(parse(block("GREEN", feedback="x" * 60_000), NONCE).feedback) == 20_000


@all_of(
    ("flags", "together"),
    [
        (["GREEN"], "GREEN"),
        (["GREEN", "YELLOW"], "YELLOW"),
        (["YELLOW", ""], ""),
        (["GREEN", None], ""),
        ([None, "RED"], "RED"),
        (["", "RED", "GREEN"], "RED"),
        ([None], ""),
        ([], ""),
    ],
)
def test_the_strictest_verdict_wins(flags, together):
    """RED before doubt before YELLOW before GREEN; a missing reviewer is no pass."""
    for order in (flags, flags[::-1]):
        verdict = combined([None if item is None else Verdict(item, doubt="" if item else "why") for item in order])
        assert verdict.flag == together
        assert bool(verdict.doubt) == (together == "")


def test_all_reviews_are_merged():
    """The findings and texts of all reviewers are kept; equal findings are merged with the worst severity."""
    mild, bad, other = (
        findings.read({**ERROR, "severity": "note"}),
        findings.read(ERROR),
        findings.read({"severity": "warning", "text": "Slow"}),
    )
    verdict = combined(
        [
            Verdict("YELLOW", feedback="Well.", findings=[mild, other]),
            Verdict("RED", feedback="No.", findings=[bad]),
            Verdict("YELLOW", feedback="Well."),
        ]
    )
    assert verdict.findings == [bad, other]
    assert verdict.feedback == "Well.\n\nNo."


@pytest.mark.parametrize("flag", [*FLAGS, "", "TIMEOUT"])
def test_only_red_is_retried(flag):
    """RED is sent back while retries are left, and nothing else is."""
    assert [may_retry(flag, used, 2) for used in range(4)] == [flag == "RED", flag == "RED", False, False]
    assert not may_retry(flag, 0, 0)


SAME = {
    "a line number": ({**ERROR, "line": 3, "file": "src/a.py:12"}, {**ERROR, "line": 9, "file": "src/a.py:40:2"}),
    "a link to a line": ({**ERROR, "file": "src/a.py#L3-L9"}, ERROR),
    "other words": ({**ERROR, "text": "There is no test"}, ERROR),
    "another severity": ({**ERROR, "severity": "note"}, ERROR),
    "another spelling": ({**ERROR, "rule": " Tests ", "file": ".\\src//a.py", "symbol": "login()"}, ERROR),
    "words alone": ({"text": "Line 12: no  test!"}, {"text": "line 40: No test"}),
    "words with a place": ({"text": "src/a.py:12: no test (L14)"}, {"text": "src/a.py:7: no test"}),
    "empty fields": ({"text": "No test", "rule": "", "file": None}, {"text": "no test"}),
}
OTHER = {
    "another rule": ({**ERROR, "rule": "docs"}, ERROR),
    "another file": ({**ERROR, "file": "src/b.py"}, ERROR),
    "another symbol": ({**ERROR, "symbol": "logout"}, ERROR),
    "a symbol in other letters": ({**ERROR, "symbol": "Login"}, ERROR),
    "a field in the place of another": ({"text": "x", "rule": "a"}, {"text": "x", "file": "a"}),
    "other words alone": ({"text": "No test"}, {"text": "No docs"}),
    "another number that is no line": ({"text": "gives 404"}, {"text": "gives 500"}),
    "only signs": ({"text": "???"}, {"text": "!!!"}),
}


@all_of(("one", "two"), SAME.values())
def test_a_finding_is_recognised_again(one, two):
    """Rule, file and symbol make the identity, else the text; lines, wording and spelling do not."""
    assert identity(one) == identity(two)


@all_of(("one", "two"), OTHER.values())
def test_a_different_finding_is_not_recognised(one, two):
    """A finding with another rule, file or symbol, or with another text if it has none of them, is new."""
    assert identity(one) != identity(two)


def test_an_identity_never_changes():
    """Identities are kept in state files, so they must not change from one version to the next."""
    assert identity(ERROR) == "b724d134524b"
    assert identity({"text": "No test"}) == "f15631dcdf7f"


def test_repeated_errors_are_found():
    """Errors of this review that the previous one had found, at any severity, are repeated ones."""
    before = [findings.read({**ERROR, "severity": "warning"}), findings.read({"text": "gone"})]
    now = [findings.read(ERROR), findings.read({"text": "new"}), findings.read({"severity": "note", "text": "gone"})]
    assert repeated_errors(before, now) == [now[0]]
    assert repeated_errors([], now) == []


ALIKE = [
    ("Which database?", "which   DATABASE?"),
    ("Should the e-mail address be unique, yes or no?", "Should the e-mail address be unique: yes or no"),
    ("a b c d e f g h i j k l m n o p q r s t", "a b c d e f g h i j k l m n o p q X Y Z".replace("X", "r")),
    ("???", "???"),
]
UNLIKE = [
    ("Which database?", "Which queue?"),
    ("Which?", "Which database should the login use?"),
    ("a b c d e f g h i j", "a b c d e f g h X Y"),
    ("", "Which database?"),
    ("???", "!!!"),
]


@pytest.mark.parametrize(("one", "two"), ALIKE)
def test_the_same_question_is_recognised(one, two):
    """Equal texts, or 85 of a hundred words, are the same question, in either order."""
    assert similar(one, two)
    assert similar(two, one)


@pytest.mark.parametrize(("one", "two"), UNLIKE)
def test_a_different_question_is_not_recognised(one, two):
    """Fewer common words, or a question that is only a part of another, are not the same."""
    assert not similar(one, two)
    assert not similar(two, one)


@given(st.text(max_size=200), st.text(max_size=200))
def test_similarity_is_symmetric(one, two):
    """Each text is similar to itself, and similarity goes both ways."""
    assert similar(one, one)
    assert similar(one, two) == similar(two, one)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.sampled_from([*FLAGS, NONCE]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["nonce", "verdict", "findings", "feedback", "severity", "text", "x"]), inner)
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_read_without_a_crash(said):
    """For any content of the block, there is a verdict, or a doubt with its reason."""
    verdict = parse(json.dumps(said), NONCE)
    assert verdict.flag in (*FLAGS, "")
    assert bool(verdict.doubt) == (verdict.flag == "")
