"""R11 for workflows: a file that an agent breaks affects only that agent, and the next change repairs it."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import FULL, Repo, fresh_environment
from support.call_server import Answer, Caller
from support.quick_cases import few_of
from support.workflow_store import StoredWorkflow

from guarantees.broken_files.test_tasks import Damage, content, cut, full_folder, instead, listening, swap, text, void
from sow.domain.workflows.crew_plan import Member, WorkflowPlan
from sow.store.workflows import design_state

CREW = ("data", "page")
FOLDER = "orchestration"
STATE, VIEW = f"{FOLDER}/state.yaml", f"{FOLDER}/shared_status.json"
NOTES = f"{FOLDER}/agents/data/completion_drive/session_current.json"


def value(change: Callable[[Any], object]) -> Damage:
    """Returns damage that leaves JSON, with another content."""

    def damage(path: Path) -> None:
        data = json.loads(path.read_text())
        path.write_text(json.dumps(change(data) or data))

    return damage


def of_note(**fields: Any) -> Damage:
    """Returns damage to the first note."""
    return value(lambda data: data["notes"][0].update(fields))


ANY: dict[str, Damage] = {  # whatever the file is
    "empty": content(""),
    "only white space": content(" \n\n"),
    "cut at a quarter": cut(0.25),
    "cut in the middle": cut(0.5),
    "cut at three quarters": cut(0.75),
    "the last character cut": text(lambda good: good.rstrip()[:-1]),
    "zeros": content(b"\0" * 700),
    "binary": content(bytes(range(256)) * 4),
    "Latin-1": content("name: é\n".encode("latin-1")),
    "UTF-16": text(lambda good: good.encode("utf-16").decode("latin-1")),
    "null": content("null\n"),
    "a number": content("7"),
    "a text": content('"done!"'),
    "a list": content("[]"),
    "an empty object": content("{}"),
    "50,000 brackets": content("[" * 50_000),
    "50,000 braces": content('{"a":' * 50_000),
    "50,000 dashes": content("- " * 50_000),
    "20,000 keys": content(json.dumps({f"k{n}": 1 for n in range(20_000)})),
    "5 MB": content(json.dumps({"a": "x" * 5_000_000})),
    "something behind it": text(lambda good: good + "{}"),
    "a folder": instead(Path.mkdir),
    "a full folder": instead(full_folder),
    "a link to nothing": instead(lambda path: path.symlink_to("nowhere")),
    "a link to itself": instead(lambda path: path.symlink_to(path.name)),
    "a link to endless zeros": instead(lambda path: path.symlink_to("/dev/zero")),
    "a socket": instead(listening),
    "nothing": instead(lambda path: None),
}
BROKEN_NOTES: dict[str, Damage] = {
    **ANY,
    "another task's": value(lambda data: data.update(task_id="do_page_1727539201")),
    "no task": value(lambda data: void(data.pop("task_id"))),
    "a path as a task": value(lambda data: data.update(task_id="../../page")),
    "a text as a time": value(lambda data: data.update(session_start="today")),
    "an endless time": swap('"session_start": ', '"session_start": ' + "9" * 5000),
    "an unknown field": value(lambda data: data.update(owner="me")),
    "a field twice": swap('"task_id":', '"task_id": "x", "task_id":'),
    "notes as an object": value(lambda data: data.update(notes={"note_001": {}})),
    "notes as a text": value(lambda data: data.update(notes="[]")),
    "a note that is none": value(lambda data: data["notes"].append(1)),
    "a note taken away": value(lambda data: void(data["notes"].clear())),
    "a note twice": value(lambda data: data["notes"].append(data["notes"][0])),
    "an unknown status": of_note(status="done"),
    "an unknown resolver": of_note(status="resolved", resolved_by="me", resolution="x", resolution_timestamp=1),
    "resolved by itself": of_note(
        status="resolved", resolved_by="agent_self", resolution="yes", resolution_timestamp=1727539300
    ),
    "resolved by the user": of_note(
        status="resolved", resolved_by="user", resolution="yes", resolution_timestamp=1727539300
    ),
    "resolved without a word": of_note(status="resolved"),
    "another question": of_note(description="Something else"),
    "another number": of_note(note_id="note_007"),
    "a number that is a path": of_note(note_id="../x"),
    "no description": of_note(description=""),
    "an unknown category": of_note(category="whatever"),
    "a control character": of_note(description="Which\x1b[31m colour?"),
    "not a number": swap('"timestamp": 1', '"timestamp": NaN, "x": 1'),
}
BROKEN_STATE: dict[str, Damage] = {
    **{name: value for name, value in ANY.items() if name != "something behind it"},
    "a status that is none": swap("status: working", "status: finished"),
    "verified by itself": swap("status: working", "status: verified"),
    "an unknown agent's field": swap("      tries: 0", "      tries: 0\n      nice: 1"),
    "a text as tries": swap("tries: 0", 'tries: "0"'),
    "negative rounds": swap("rounds: 0", "rounds: -1"),
    "an anchor": swap("name: user_management", "name: &a user_management"),
    "two documents": text(lambda good: good + "---\na: 1\n"),
    "an endless revision": text(lambda good: good.replace("revision: ", "revision: " + "9" * 5000)),
    "no members": swap("  members:", "  crew:"),
}


@pytest.fixture(scope="module")
def template(_project_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two agents in progress, each with a note; that of data is about something outside its task."""
    root = tmp_path_factory.mktemp("crew") / "repo"
    shutil.copytree(_project_template, root, symlinks=True)
    flow = StoredWorkflow(root)
    design_state.create(flow.home, "user_management", "# Summary\n")
    plan = WorkflowPlan()
    plan.task_id, plan.digest = "make_it", "0" * 64
    plan.members = [Member(name, task_id=f"do_{name}_1727539200", verifier="checker") for name in CREW]
    design_state.apply_plan(flow.home, plan, [])
    for name in CREW:
        flow.start(name)
        flow.note("Which colour?", name, "requirements")
        (flow.member_folder(name) / "agent_instructions.md").write_text("# Task\n")
    return root


@pytest.fixture
def crew(tmp_path: Path, template: Path) -> Repo:
    shutil.copytree(template, tmp_path / "repo", symlinks=True)
    return Repo(tmp_path / "repo", fresh_environment(tmp_path / "home"))


def call(caller: Caller, repo: Repo, words: list[str], **marks: str) -> Answer:
    return caller.call(*words, cwd=repo.root, environment={**repo.environment, **marks})


def as_agent(caller: Caller, repo: Repo, name: str, *arguments: str) -> Answer:
    return call(caller, repo, list(arguments), SOW_TASK=name, SOW_AGENT="implementer")


def note(caller: Caller, repo: Repo, name: str, words: str) -> Answer:
    return as_agent(caller, repo, name, "note", "add", "--description", words, "--context", "now")


def descriptions(repo: Repo, name: str) -> list[str]:
    path = repo.root / FOLDER / f"agents/{name}/completion_drive/session_current.json"
    return [note["description"] for note in json.loads(path.read_text())["notes"]]


def everybody_can_look(caller: Caller, repo: Repo) -> None:
    """Checks that no view hangs or crashes, and that those of a project do not change."""
    for name in ("status", "task list", "inbox", "workflow list", "workflow status", "doctor"):
        for form in ([], ["--json"]):
            answer = call(caller, repo, [*name.split(), *form])
            assert answer.code in ((0, 1) if name == "doctor" else (0,)), (name, answer)
            assert "Traceback" not in answer.err


@few_of("damage", BROKEN_NOTES.values(), 6, ids=BROKEN_NOTES)
def test_broken_notes_affect_only_their_agent(caller: Caller, crew: Repo, damage: Damage) -> None:
    """The other agent continues, the last good notes are restored, and the bad file is kept for its agent."""
    path = crew.root / NOTES
    damage(path)
    bad = path.read_bytes() if path.is_file() and not path.is_symlink() else None
    everybody_can_look(caller, crew)
    assert as_agent(caller, crew, "page", "workflow", "set", "status", "completion_drive_review").code == 0
    assert descriptions(crew, "page") == ["Which colour?"]
    answer = note(caller, crew, "data", "And which size?")
    assert answer.code == 0, answer
    assert descriptions(crew, "data") == ["Which colour?", "And which size?"]
    session = json.loads(path.read_text())
    assert [note["status"] for note in session["notes"]] == ["open", "open"]
    kept = sorted((crew.root / FOLDER / "agents/data/set_aside").glob("*session_current*"))
    assert bad is None or [path.read_bytes() for path in kept] == [bad]
    refused = as_agent(caller, crew, "data", "workflow", "set", "status", "ready_for_verification")
    assert refused.code == 2, refused


@few_of("damage", BROKEN_STATE.values(), 5, ids=BROKEN_STATE)
def test_a_broken_state_is_restored_by_the_next_change(caller: Caller, crew: Repo, damage: Damage) -> None:
    """Every view of the project works, and the next change of the workflow restores the last good state."""
    path = crew.root / STATE
    good = path.read_text()
    damage(path)
    for item in (["status"], ["task", "list"], ["inbox"], ["doctor"], ["workflow", "list"]):
        answer = call(caller, crew, item)
        assert answer.code in (0, 1) and "Traceback" not in answer.err, (item, answer)
    answer = as_agent(caller, crew, "page", "workflow", "set", "status", "completion_drive_review")
    assert answer.code == 0, answer
    changing = ("revision", "updated_at", "last_update", "status")
    same = [line for line in good.split("\n") if not line.strip().startswith(changing)]
    assert set(same) <= set(path.read_text().split("\n"))
    assert path.read_text().count("status: working") == 1
    assert "verified" not in path.read_text()


@few_of("damage", ANY.values(), 8, ids=ANY)
def test_a_broken_view_is_written_again(caller: Caller, crew: Repo, damage: Damage) -> None:
    """Nothing is read from it, and the next change writes it from the state."""
    path = crew.root / VIEW
    good = json.loads(path.read_text())
    damage(path)
    everybody_can_look(caller, crew)
    assert note(caller, crew, "page", "And which size?").code == 0
    good["agents"]["page"] |= {"completion_drive_notes_count": 2, "unresolved_notes": 2}
    assert json.loads(path.read_text()) == good


def test_the_table_has_forty_damages() -> None:
    """The table is as long as promised."""
    assert len(BROKEN_NOTES) >= 40


def test_random_damage_is_repaired_or_harmless(caller: Caller, crew: Repo) -> None:
    """For any changed bytes of the three files every view works, and so does the other agent."""
    chance = random.Random(11)
    good = {name: (crew.root / name).read_bytes() for name in (STATE, VIEW, NOTES)}
    for _ in range(1000 if FULL else 15):
        name = chance.choice(list(good))
        data = bytearray((crew.root / name).read_bytes())
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(data))
            data[place : place + chance.randint(0, 3)] = bytes(chance.choices(b'\0\n\t "&*!-?:[]{}#x0\xc3\xff', k=2))
        (crew.root / name).write_bytes(data)
        for item in (["status"], ["workflow", "list"], ["inbox"]):
            assert call(caller, crew, item).code == 0, (name, bytes(data))
        answer = note(caller, crew, "page", "And which size?")
        assert answer.code in ((0, 2) if name == STATE else (0,)), (name, bytes(data), answer)
        for path, bytes_of in good.items():
            (crew.root / path).write_bytes(bytes_of)
