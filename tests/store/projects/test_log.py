"""A log reads back as written, with any text, several writers, and torn lines."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from conftest import FULL, Repo
from hypothesis import given, settings
from hypothesis import strategies as st
from support.quick_cases import all_of

from sow.domain.inputs import is_line
from sow.errors import InvalidFile
from sow.store.files.checkout_home import Home
from sow.store.projects import log
from sow.system import checkout
from sow.system.terminal import escape_control

TIME = "2026-01-31T09:00:00Z"
LINES = [
    *("", " ", "done", "### ", "### x", f"### {TIME} · a-1 · b · c", "####"),
    *("- a", "- ", "-", "* a", "\\", "\\### x", "\\\\### x"),
    *("\\- a", "\\\\- a", "> a", "```", "é 🙂", "\t- a"),
    *("  ### x", "a\rb", "\x1b[31m", "a\u2028### b", "·", "a · b · c · d"),
]  # fmt: skip
TEXTS = st.one_of(
    st.lists(st.sampled_from(LINES), min_size=1, max_size=6).map("\n".join),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80),
).filter(lambda text: escape_control(text).strip("\n"))
FILES = st.one_of(
    st.sampled_from(["a.py", "- a", "### a", "dir/b c.md", " a", "\\", "é"]),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(is_line),
)
WORDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,8}", fullmatch=True)
ENTRIES = st.fixed_dictionaries(
    {
        "timestamp": st.just(TIME),
        "agent": st.from_regex(r"[a-z][a-z-]{0,8}-[1-9]", fullmatch=True),
        "action": WORDS,
        "result": WORDS,
        "files": st.lists(FILES, max_size=3),
        "text": TEXTS,
    }
)


def entry(text: str, **changes: Any) -> Any:
    return {"timestamp": TIME, "agent": "a-1", "action": "note", "result": "info", "files": [], "text": text} | changes


def as_read(written: Any) -> Any:
    """Returns a text as it is read: control characters escaped, empty lines around it removed."""
    return {**written, "text": escape_control(written["text"]).strip("\n")}


@pytest.mark.full
@given(st.lists(ENTRIES, max_size=4), st.sampled_from(["", "# The log of a task\n", "\n# A\n\n## B\n"]))
@settings(max_examples=5000 if FULL else 60)
def test_written_entries_read_back(entries, heading):
    """Entries of any texts and files, below a heading or not, are read back one by one."""
    text = heading + "".join(log.render(entry) for entry in entries)
    assert log.parse(text) == [as_read(entry) for entry in entries]
    log.validate_text(text, "log.md")


@all_of("files", [[], ["a.py"]])
@all_of("first", LINES)
@all_of("second", ["", "- b", "### y", "rest"])
def test_a_line_that_looks_like_another_part_stays_text(first, second, files):
    """A text that begins like a heading, a list of files or an escape of either is read back as that text."""
    written = entry(f"{first}\n{second}\nend", files=files)
    assert log.parse(log.render(written)) == [as_read(written)]


def test_empty_lines_before_a_list_do_not_make_it_files():
    """A text that starts with empty lines and a list keeps its list."""
    written = entry("\n\n- a\n- b\n\nrest")
    assert log.parse(log.render(written)) == [entry("- a\n- b\n\nrest")]


@all_of("cut", range(0, 60, 3))
def test_a_torn_entry_affects_no_other(cut):
    """The entries before and after one that was cut off at any byte are still there."""
    torn = log.render(entry("torn é 🙂 ### text", agent="b-1")).encode()[:cut].decode("utf-8", "replace")
    text = log.render(entry("first")) + torn + log.render(entry("last", files=["a.py"]))
    result = log.parse(text)
    assert result[0]["text"].startswith("first")
    assert result[-1] == entry("last", files=["a.py"])
    assert len(result) in (2, 3)


def test_a_log_that_ends_in_half_a_character_is_read(task_repo: Repo):
    """A writer that was killed within a character leaves the log readable, and the next entry complete."""
    task_repo.ok("log", "--task", "010", "before")
    path = task_repo.task_folder("010") / "log.md"
    path.write_bytes(path.read_bytes() + log.render(entry("torn 🙂")).encode()[:-3])
    task_repo.ok("log", "--task", "010", "after")
    entries = task_repo.ok("log", "--task", "010", "--list", "--json").json["entries"]
    assert [entry["text"] for entry in entries if entry["agent"] == "implementer-1"] == ["before", "after"]


def home(repo: Repo) -> Home:
    where = checkout.at(str(repo.root))
    assert where
    return Home(where)


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff", "\u200e\n"])
def test_an_entry_without_a_visible_text_is_not_written(repo: Repo, text):
    """An empty text is refused, and the log stays as it was."""
    path = f"{repo.project}/log.md"
    before = repo.snapshot()
    with pytest.raises(InvalidFile, match="text: must be 1 to 200000"):
        log.append(home(repo), path, entry(text))
    assert repo.snapshot() == before


WRONG = {
    "no time": ("### now · a-1 · b · c\n\ntext\n", 1, "not the head"),
    "three fields": (f"### {TIME} · a-1 · b\n\ntext\n", 1, "not the head"),
    "a heading of another kind": (f"### {TIME} · a-1 · b · c\n\ntext\n\n### Summary\n", 5, "not the head"),
    "two words as an action": (f"\n### {TIME} · a-1 · b b · c\n\ntext\n", 2, "action"),
    "words outside of an entry": ("# Log\n\ngarbage\n", 3, "only a heading"),
    "words above an entry": (f"Some words\n\n### {TIME} · a-1 · b · c\n\ntext\n", 1, "only a heading"),
    "no text": (f"### {TIME} · a-1 · b · c\n\n### {TIME} · a-1 · b · c\n\ntext\n", 1, "text"),
}


@pytest.mark.parametrize(("text", "line", "words"), WRONG.values(), ids=WRONG)
def test_a_wrong_entry_is_named_with_its_line(text, line, words):
    """`sow validate` has the line and the error of a wrong entry (B7)."""
    with pytest.raises(InvalidFile, match=words) as refused:
        log.validate_text(text, "log.md")
    assert refused.value.message.startswith(f"log.md:{line}: ")


WRITER = """
import sys
from sow.store.projects import log
from sow.store.files.checkout_home import Home
from sow.system import checkout
root, path, name, count = sys.argv[1:]
home = Home(checkout.at(root))
for number in range(int(count)):
    text = f"{name} {number}\\n" + f"{name}\\n" * (number * 997 % 9000 or 1)
    head = {"timestamp": "2026-01-31T09:00:00Z", "agent": name, "action": "a", "result": "b"}
    log.append(home, path, {**head, "files": [], "text": text})
"""


def test_parallel_writers_never_mix_their_entries(task_repo: Repo):
    """Eight processes that write short and long entries to one log leave every entry complete, in their order."""
    path = task_repo.task_folder("010") / "log.md"
    count = 200 if FULL else 25
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(task_repo.root), str(path), f"w{n}", str(count)])
        for n in range(8)
    ]
    assert [writer.wait(timeout=300) for writer in writers] == [0] * 8
    result = log.parse(path.read_text())
    for name in (f"w{n}" for n in range(8)):
        texts = [entry["text"] for entry in result if entry["agent"] == name]
        assert texts == [f"{name} {n}\n" + "\n".join([name] * (n * 997 % 9000 or 1)) for n in range(count)]
    assert len(result) == 8 * count
