"""docs/reference/executors.md describes the adapters correctly."""

from __future__ import annotations

import shlex

from fakes import PROGRAMS
from real.install import PINNED
from support.paths import ROOT
from support.quick_cases import all_of

from executors.sample_turn import JUDGE, request
from sow.executors.adapter import ASSIGNED, FILE, GIVEN, NONE
from sow.executors.settings import ADAPTERS
from sow.executors.settings import adapter as find_adapter

PAGE = (ROOT / "docs" / "reference" / "executors.md").read_text()
IDS = {GIVEN: "ours", ASSIGNED: "its own", FILE: "a file of ours", NONE: "none"}
ROWS = {
    cells[0]: cells[1:]
    for cells in ([cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines())
    if len(cells) == 10 and cells[0] in ADAPTERS
}


def yes(value: bool) -> str:
    return "yes" if value else "no"


@all_of("kind", ROWS)
def test_the_table_matches_the_capabilities(kind: str) -> None:
    """A row of the table says what the capability record says."""
    capabilities = find_adapter(kind).capabilities
    facts = (
        capabilities.resumes,
        capabilities.model,
        capabilities.reports_cost,
        capabilities.reports_tokens,
        capabilities.read_only,
    )
    expected = [
        capabilities.binary,
        IDS[capabilities.session],
        *map(yes, facts),
        yes(not capabilities.needs_yolo),
        yes(capabilities.closes),
    ]
    assert ROWS[kind] == expected


CLIS = [adapter for adapter in ADAPTERS if adapter not in ("command", "simulated")]


def section(kind: str) -> str:
    """Returns the page's text about one CLI: the section with its command lines."""
    binary = find_adapter(kind).capabilities.binary
    (result,) = [part for part in PAGE.split("\n## ") if f"```sh\n{binary} " in part]
    return result


@all_of("kind", CLIS)
def test_the_page_names_the_tested_versions(kind: str) -> None:
    """A CLI is tested in the version that tests install, or with a named fake and a remark about its limits."""
    if kind in PINNED:
        assert f"Tested with {PINNED[kind][2]}." in section(kind)
        assert "Not verified" not in section(kind)
    else:
        stand_in = PROGRAMS[find_adapter(kind).capabilities.binary]
        assert "**tested against a stand-in**" in section(kind) and f"`tests/fakes/{stand_in}`" in section(kind)
        assert section(kind).count("- **Not verified**, because ") == 1


@all_of("kind", CLIS)
def test_the_command_lines_are_correct(kind: str) -> None:
    """The page shows the exact words of a new session with and without yolo, of a judge, and of the next turn."""
    adapter = find_adapter(kind)
    places = {
        "session": "ID",
        "session_folder": "FOLDER",
        "writable": ("/repo/TASK_FOLDER", "/repo/.git"),
        "write_protected": ("/repo/CLOSED",),
    }
    asked = [request(**places, **more) for more in ({"yolo": True}, {}, {"role": JUDGE})]
    calls = [*map(adapter.spawn_command, asked)]
    calls += [adapter.resume_command(asked[0])] if adapter.capabilities.resumes else []
    lines = [shlex.join([adapter.capabilities.binary, *call.arguments]) for call in calls]
    shown = [line for line in PAGE.splitlines() if line.startswith(f"{adapter.capabilities.binary} ")]
    assert shown == lines
    assert kind in ROWS
