"""sow adr: decision records have numbers and a template, and they stay when the project is removed."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Repo
from knowledge.labelled_set import write

ADRS = ".sow/knowledge/adrs"


def test_records_are_numbered(repo: Repo) -> None:
    """Each record gets the next number, a name from its title, and the template's sections."""
    first = Path(repo.ok("adr", "new", "Use PostgreSQL for *all* data!").out.strip())
    second = Path(repo.ok("adr", "new", "Čeština", "--status", "proposed").out.strip())
    assert first == repo.root / ADRS / "0001-use-postgresql-for-all-data.md"
    assert second.name == "0002-cestina.md"
    text = first.read_text()
    assert text.startswith("# 1. Use PostgreSQL for *all* data!\n\n- Status: accepted\n- Date: 20")
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Context",
        "## Decision",
        "## Alternatives",
        "## Consequences",
    ]
    listed = repo.ok("adr", "list", "--json").json["adrs"]
    assert [(task["number"], task["title"], task["status"]) for task in listed] == [
        (1, "Use PostgreSQL for *all* data!", "accepted"),
        (2, "Čeština", "proposed"),
    ]
    assert "Use PostgreSQL" in repo.ok("adr", "list").out


def test_accents_are_removed_from_file_names(repo: Repo) -> None:
    """The file name for a title with accents is plain ASCII."""
    repo.ok("adr", "new", "Über naïve Lösungen")
    repo.ok("adr", "new", "東京")
    names = sorted(path.name for path in (repo.root / ".sow/knowledge/adrs").glob("0*"))
    assert names == ["0001-uber-naive-losungen.md", "0002-decision.md"]


def test_records_of_other_forms_are_listed(repo: Repo) -> None:
    """Records in other formats are listed by number, and other files are left out."""
    files = {
        "0003-old.md": "# ADR: Old ways\n\n## Status\n\nDeprecated since spring\n",
        "12-new.md": "no heading\n",
        "notes.md": "# Notes\n",
        "0004-x.txt": "# X\n",
    }
    write(repo.root / ADRS, files)
    adrs = repo.ok("adr", "list", "--json").json["adrs"]
    assert [(adr["number"], adr["title"], adr["status"]) for adr in adrs] == [
        (3, "ADR: Old ways", "deprecated"),
        (12, "12-new.md", ""),
    ]
    assert repo.ok("adr", "new", "Next").out.strip().endswith("/0013-next.md")


def test_no_records(repo: Repo) -> None:
    """An empty folder prints that there are no records."""
    assert repo.ok("adr", "list").out == "no decision records; create one: sow adr new TITLE\n"


def test_the_config_chooses_the_folder_of_records(repo: Repo) -> None:
    """artifacts.adrs of .sow/config.yaml names the folder, below the root; it is made if missing."""
    (repo.root / ".sow/config.yaml").write_text('schema_version: "1.2.0"\nartifacts:\n  adrs: docs/decisions\n')
    assert Path(repo.ok("adr", "new", "A").out.strip()) == repo.root / "docs/decisions/0001-a.md"


@pytest.mark.parametrize("value", ["../x", "/tmp/x", ".git/hooks", ".sow/project/phases", "."])
def test_a_folder_outside_is_refused(repo: Repo, value: str) -> None:
    """A repository cannot have records written outside of its own documents."""
    (repo.root / ".sow/config.yaml").write_text(f'schema_version: "1.2.0"\nartifacts:\n  adrs: "{value}"\n')
    before = sorted(repo.root.parent.rglob("*"))
    result = repo.sow("adr", "new", "A")
    assert result.code == 2
    assert ".sow/config.yaml: artifacts.adrs" in result.err
    assert sorted(repo.root.parent.rglob("*")) == before


def test_a_linked_folder_is_refused(repo: Repo, tmp_path: Path) -> None:
    """A folder of records that is a link is refused."""
    outside = tmp_path / "outside"
    (repo.root / ADRS).rename(outside)
    (repo.root / ADRS).symlink_to(outside)
    before = sorted(outside.iterdir())
    assert repo.sow("adr", "new", "A").code == 2
    assert sorted(outside.iterdir()) == before


def test_a_worker_writes_records_in_its_worktree(repo: Repo, tmp_path: Path) -> None:
    """The record is part of the worker's change, and its number stays free in the home checkout."""
    repo.ok("adr", "new", "At home")
    work = tmp_path / "work"
    repo.git("worktree", "add", "-q", "-b", "task", str(work))
    marks = {"SOW_ROOT": str(repo.root), "SOW_TASK": "010", "SOW_AGENT": "architect"}
    made = repo.ok("adr", "new", "At work", cwd=work, **marks)
    assert Path(made.out.strip()) == work / ADRS / "0002-at-work.md"
    assert [path.name for path in sorted((repo.root / ADRS).glob("0*"))] == ["0001-at-home.md"]
    assert [adr["title"] for adr in repo.ok("adr", "list", "--json", cwd=work, **marks).json["adrs"]] == ["At work"]


def test_a_record_goes_to_the_named_root(repo: Repo, tmp_path: Path) -> None:
    """Called from another repository with --root, the record is written in the root."""
    other = tmp_path / "other"
    other.mkdir()
    repo.git("init", "-q", str(other))
    made = repo.ok("adr", "new", "Here", cwd=other, SOW_ROOT=str(repo.root))
    assert Path(made.out.strip()) == repo.root / ADRS / "0001-here.md"


def test_records_stay_after_a_cleanup(repo: Repo) -> None:
    """After the clean-up the record is there, and 'sow check' finds the branch clean."""
    path = Path(repo.ok("adr", "new", "A").out.strip())
    repo.ok("cleanup")
    assert path.is_file()
    repo.ok("check")
