"""S6 for the dashboard: no control byte of an agent reaches a browser, on a page or in the feed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from conftest import Repo
from hypothesis import given
from hypothesis import strategies as some
from support.simulated_workers import WorkerRepo
from support.ui_client import Dashboard

from guarantees.control_bytes.test_terminal import SEQUENCES
from sow.dashboard.server import feed, reply
from sow.system.terminal import HARMLESS

LOG = "\n### 2026-01-31T09:00:00Z · {} · x · y\n\n{}\n"


def texts(data: Any) -> Iterator[str]:
    """Returns every text in a document, including the keys."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield key
            yield from texts(value)
    elif isinstance(data, list):
        for item in data:
            yield from texts(item)


def check(body: bytes) -> str:
    """Checks that neither the bytes nor the texts have a control character except line ends."""
    sent = body.decode()
    assert not set(map(ord, sent)) & (HARMLESS.keys() | {0x0A}), sent
    shown = "\x00".join(texts(json.loads(sent)))
    assert not set(map(ord, shown.replace("\x00", ""))) & HARMLESS.keys(), shown
    return shown


def splits(sequence: bytes) -> Iterator[tuple[bytes, bytes]]:
    return ((sequence[:place], sequence[place:]) for place in range(len(sequence) + 1))


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_split_sequence_is_harmless(name: str):
    """A sequence in two texts, or in a text and its key, is harmless in a document and in an event."""
    for parts in splits(SEQUENCES[name]):
        for decoding in ("replace", "surrogateescape"):
            one, two = (part.decode("utf-8", decoding) for part in parts)
            document = {"a": [one, two, {two: one}], one: two + one, "both": one + two, "lines": "a\r\nb\tc\nd"}
            check(reply.text(document).encode())
            assert json.loads(reply.text(document))["lines"] == "a\nb\tc\nd"
            messages = feed.message(one, two, document)
            lines = messages.decode().split("\n")
            assert len(messages.splitlines()) == len(lines) - 1 == (4 if lines[0].startswith("id: ") else 3)
            check(lines[-3].removeprefix("data: ").encode())


ANY = some.recursive(
    some.one_of(
        some.text(), some.integers(), some.booleans(), some.none(), some.sampled_from(sorted(map(chr, HARMLESS)))
    ),
    lambda inner: some.one_of(some.lists(inner, max_size=4), some.dictionaries(some.text(), inner, max_size=4)),
    max_leaves=12,
)


@given(ANY, some.text(), some.text())
def test_any_document_is_one_line(document: Any, ident: str, kind: str):
    """Any document is sent on one line, and as one event."""
    check(reply.text(document).encode())
    messages = feed.message(ident, kind, document).decode()
    assert messages.endswith("\n\n")
    assert not any(line.partition(": ")[0] not in ("id", "event", "data") for line in messages.rstrip("\n").split("\n"))


@given(some.text(some.characters(blacklist_categories=("Cc", "Cs", "Cf", "Zl", "Zp"))))
def test_good_text_is_unchanged(text: str):
    """Letters of any script arrive unchanged."""
    assert json.loads(reply.text([text])) == [text]


@pytest.fixture(scope="module")
def raw() -> bytes:
    return b" ".join(SEQUENCES.values())


@pytest.fixture
def spoiled(task_repo: Repo, tmp_path: Path, raw: bytes) -> Dashboard:
    """A project whose every text has control bytes: transcripts, prompt, logs, feedback, description, git."""
    worker = WorkerRepo(task_repo, tmp_path)
    task_repo.ok("task", "create", "--name", "Second", "--agent", "implementer")
    worker.scenario([{"say": "hello"}, {"write": {"path": "a.txt", "text": "x"}}], task="default")
    task_repo.sow("agent", "spawn", "implementer", "020")
    for path in (task_repo.root / ".sow/local/sessions/020").rglob("turn-*"):
        path.write_bytes(path.read_bytes() + b"\n" + raw + b"\n")
    for name in ("log.md", "description.md"):
        with (task_repo.task_folder("010") / name).open("ab") as file:
            file.write(LOG.format("a", raw.decode("utf-8", "replace")).encode())
    feedback = task_repo.task_folder("010") / "feedback"
    feedback.mkdir(exist_ok=True)
    (feedback / "001.md").write_text("# Feedback 001\n" + raw.decode("utf-8", "replace"))
    return Dashboard(task_repo)


def test_every_page_is_clean(spoiled: Dashboard):
    """Every document of the dashboard is free of control bytes, whatever is in the files."""
    with spoiled as served:
        served.sign_in()
        for path in ("state", "tasks/010", "tasks/020", "runs", "cost", "workflow", "library", "tasks/020/diff"):
            answer = served.ask("GET", f"/api/{path}")
            assert answer.status == (200 if path != "workflow" else 404), answer
            check(answer.body)
        assert "Traceback" not in served.complaints()


@pytest.mark.full
def test_every_page_of_a_transcript_is_clean(spoiled: Dashboard, raw: bytes):
    """A page that begins or ends in the middle of a sequence, or of a letter, is harmless, too."""
    with spoiled as served:
        served.sign_in()
        result = 0
        for part in ("out", "err", "prompt", "readable"):
            base = f"/api/tasks/020/sessions/1/turns/1?part={part}"
            size = served.ask("GET", base).json["size"] if served.ask("GET", base).status == 200 else 0
            for start in range(max(size - len(raw) - 1, 0), size, 1 if part == "out" else 7):
                answer = served.ask("GET", f"{base}&from={start}&limit=16")
                assert answer.status in (200, 400), answer
                check(answer.body)
                result += answer.status == 200
        assert result > len(raw)


@pytest.mark.full
def test_errors_are_clean(task_repo: Repo):
    """A visitor's input is harmless in an error."""
    with Dashboard(task_repo) as served:
        served.sign_in()
        for sequence in SEQUENCES.values():
            for path in (
                "tasks/{}",
                "runs/{}",
                "runs/{}/timeline",
                "tasks/010/diff?iteration={}",
                "runs/x/entries?from={}",
            ):
                answer = served.ask("GET", "/api/" + path.format(quote(sequence)))
                assert answer.status in (400, 404), answer
                check(answer.body)
            check(served.ask("POST", f"/api/acts/{quote(sequence)}", {"task": "010"}).body)
            check(served.ask("POST", "/api/acts/approve", {"task": sequence.decode("utf-8", "replace")}).body)
        assert "Traceback" not in served.complaints()
