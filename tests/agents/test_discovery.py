"""Agents defined in files: which files are read, and that a bad file causes a warning and no error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sow.agents.registry import MOST_FILES, PROJECT, USER, read_agent, read_agents, split
from sow.errors import SowError

GOOD = "---\nname: swiftdev\ndescription: Swift code\ntools:\n  - Read\n  - Edit\n---\n\n# Swift\n\nWrite Swift.\n"


def write(folder: Path, name: str, text: str | bytes = GOOD) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def named(name: str) -> str:
    return f"---\nname: {name}\ndescription: d\n---\nwords\n"


def test_a_file_with_name_description_and_tools_is_an_agent(tmp_path: Path) -> None:
    """Name, description and tools come from the frontmatter, the prompt is the body, and the path is kept."""
    path = write(tmp_path, "swiftdev.md")
    result, warnings = read_agents(str(tmp_path), USER)
    agent = result["swiftdev"]
    assert (agent.description, agent.tools, agent.source, agent.path) == (
        "Swift code",
        ("Read", "Edit"),
        USER,
        str(path),
    )
    assert split(path.read_text(), str(path))[1] == "# Swift\n\nWrite Swift."
    assert warnings == []


def test_discovery_reads_the_root_and_numbered_folders_only(tmp_path: Path) -> None:
    """Strategy B: root files and 01-* to 10-*; documentation by folder or by name is skipped without a warning."""
    taken = ["root.md", "01-core/one.md", "10-last/ten.md", "05-mid/five.md"]
    skipped = [
        "README.md",
        "testing-framework.md",
        "notes.txt",
        "01-core/README.md",
        "01-core/x-framework.md",
        "01-core/deeper/deep.md",
        "examples/example.md",
        "transcripts/t.md",
        "logs/l.md",
        "00-zero/zero.md",
        "11-eleven/eleven.md",
        "1-one/short.md",
        "other/other.md",
    ]
    for number, name in enumerate([*taken, *skipped]):
        write(tmp_path, name, named(f"agent-{number}"))
    result, warnings = read_agents(str(tmp_path), USER)
    assert sorted(result) == [f"agent-{number}" for number in range(len(taken))]
    assert warnings == []


def test_a_missing_folder_has_no_agents(tmp_path: Path) -> None:
    """A missing folder causes neither an error nor a warning."""
    assert read_agents(str(tmp_path / "none"), USER) == ({}, [])


def test_a_file_in_place_of_the_folder_is_a_warning(tmp_path: Path) -> None:
    """A file where the folder should be causes a warning and no error."""
    result, warnings = read_agents(str(write(tmp_path, "agents", "x")), USER)
    assert result == {} and len(warnings) == 1 and "not a folder" in warnings[0]


BAD = {
    "no frontmatter": ("# Words only\n", "no frontmatter"),
    "frontmatter that never ends": ("---\nname: a\ndescription: d\nwords\n", "no frontmatter"),
    "something before the frontmatter": ("\n---\nname: a\ndescription: d\n---\nwords\n", "no frontmatter"),
    "broken YAML": ("---\nname: [a\n---\nwords\n", "bad.md"),
    "a list": ("---\n- name\n---\nwords\n", "not a mapping"),
    "nothing between the lines": ("---\n---\nwords\n", "not a mapping"),
    "no name": ("---\ndescription: d\n---\nwords\n", "name: must be lower case"),
    "a name in capitals": (named("SwiftDev"), "name: must be lower case"),
    "a name with a slash": (named("../../etc/passwd"), "name: must be lower case"),
    "a name like a flag": (named("--help"), "name: must be lower case"),
    "a name with a space": (named("swift dev"), "name: must be lower case"),
    "a name that is a number": (named("7"), "name: must be lower case"),
    "a name that is too long": (named("a" * 65), "name: must be lower case"),
    "no description": ("---\nname: a\n---\nwords\n", "description is missing"),
    "an empty description": ('---\nname: a\ndescription: " "\n---\nwords\n', "description is missing"),
    "no prompt": ("---\nname: a\ndescription: d\n---\n\n  \n", "no prompt below"),
    "a tool like a flag": ("---\nname: a\ndescription: d\ntools: [--yolo]\n---\nwords\n", "not the name of a tool"),
    "tools that hide a flag": ("---\nname: a\ndescription: d\ntools: Read,-x\n---\nwords\n", "not the name of a tool"),
    "a tool with a space": ("---\nname: a\ndescription: d\ntools: [Read --x]\n---\nwords\n", "not the name of a tool"),
    "a tool with a rule": ("---\nname: a\ndescription: d\ntools: ['Bash(*)']\n---\nwords\n", "not the name of a tool"),
    "tools that are a mapping": ("---\nname: a\ndescription: d\ntools: {a: 1}\n---\nwords\n", "must be a list"),
    "tools that are a number": ("---\nname: a\ndescription: d\ntools: 7\n---\nwords\n", "must be a list"),
    "a name twice": ("---\nname: a\nname: b\ndescription: d\n---\nwords\n", "bad.md"),
    "a quote that never ends": ('---\nname: a\ndescription: "d\n---\nwords\n', "bad.md:"),
    "an alias": ("---\nname: &a x\ndescription: *a\n---\nwords\n", "bad.md"),
    "not UTF-8": (b"---\nname: a\ndescription: \xff\n---\nwords\n", "not UTF-8"),
    "too large": (named("a") + "x" * (1 << 20), "larger than"),
    "a thousand levels": ("---\nname: " + "[" * 1000 + "\n---\nwords\n", "bad.md"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_warning(tmp_path: Path, case: str) -> None:
    """The warning names the file and the reason; the other agents of the folder are found."""
    text, reason = BAD[case]
    bad = write(tmp_path, "bad.md", text)
    write(tmp_path, "good.md")
    result, warnings = read_agents(str(tmp_path), USER)
    assert list(result) == ["swiftdev"]
    assert len(warnings) == 1 and warnings[0].startswith(str(bad)) and reason in warnings[0]
    assert len(warnings[0]) < 1000


def test_a_pipe_or_a_broken_link_is_a_warning(tmp_path: Path) -> None:
    """A named pipe, a dangling link and a circle of links are reported once by path; sow does not wait for them."""
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop.md").symlink_to(tmp_path / "loop.md")
    (tmp_path / "01-loop").symlink_to(tmp_path / "01-loop")
    result, warnings = read_agents(str(tmp_path), USER)
    assert result == {}
    assert warnings == [
        f"{tmp_path}/gone.md: it is a link that leads nowhere",
        f"{tmp_path}/loop.md: it is a link that leads nowhere",
        f"{tmp_path}/pipe.md: is not a regular file",
    ]


def test_a_folder_is_read_once(tmp_path: Path) -> None:
    """A numbered folder that leads back to the folder itself brings no second definitions."""
    write(tmp_path, "a.md")
    write(tmp_path, "01-x/b.md", named("b"))
    (tmp_path / "02-up").symlink_to(tmp_path)
    (tmp_path / "03-x").symlink_to(tmp_path / "01-x")
    result, warnings = read_agents(str(tmp_path), USER)
    assert (sorted(result), warnings) == (["b", "swiftdev"], [])


def test_a_warning_has_the_line_number_of_the_file(tmp_path: Path) -> None:
    """The line numbers count the fence of the frontmatter."""
    path = write(tmp_path, "a.md", "---\nname: a\ndescription: d\nname: b\n---\nwords\n")
    assert read_agents(str(tmp_path), USER)[1] == [f"{path}:4: the key 'name' is here a second time"]


def test_the_first_of_two_files_with_one_name_counts(tmp_path: Path) -> None:
    """A second definition is a warning that names the first."""
    write(tmp_path, "a.md")
    write(tmp_path, "b.md")
    result, warnings = read_agents(str(tmp_path), USER)
    assert result["swiftdev"].path == str(tmp_path / "a.md")
    assert len(warnings) == 1 and "a.md" in warnings[0] and warnings[0].startswith(str(tmp_path / "b.md"))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("tools: [Read, Grep]", ("Read", "Grep")),
        ("tools: Read, Grep", ("Read", "Grep")),
        ("tools: Read", ("Read",)),
        ("tools:\n  - Read\n  - mcp__files__read", ("Read", "mcp__files__read")),
        ("tools: [Read, Read]", ("Read",)),
        ("tools:", ()),
        ("tools: []", ()),
        ("color: blue", ()),
    ],
)
def test_tools_are_a_list_or_a_comma_separated_text(tmp_path: Path, written: str, read: tuple[str, ...]) -> None:
    """Both forms of tools are read; without any, the role inherits them."""
    path = write(tmp_path, "a.md", f"---\nname: a\ndescription: d\n{written}\n---\nwords\n")
    agent = read_agent(str(path), USER)
    assert agent is not None and agent.tools == read


def test_unknown_keys_are_listed_as_ignored(tmp_path: Path) -> None:
    """Keys of the frontmatter besides name, description and tools are listed as ignored."""
    path = write(tmp_path, "a.md", "---\nname: a\ndescription: d\nmodel: opus\nhooks: {x: y}\n---\nwords\n")
    agent = read_agent(str(path), USER)
    assert agent is not None and agent.unused_fields == ("hooks", "model")


def test_a_description_with_colons_is_read(tmp_path: Path) -> None:
    """Agent CLIs write descriptions that are no valid YAML; such a line is read as plain text."""
    prose = 'Use it when: the user says "go". Examples: <example>Context: a test\\nuser: "x"</example> #1 \'s'
    path = write(tmp_path, "a.md", f"---\nname: a\ndescription: {prose}\ntools: Read\n---\nwords\n")
    agent = read_agent(str(path), USER)
    assert agent is not None and agent.description == prose and agent.tools == ("Read",)


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    """A file with Windows line ends and a byte order mark is read like any other."""
    path = write(tmp_path, "a.md", b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    agent = read_agent(str(path), USER)
    assert agent is not None and agent.name == "swiftdev" and agent.tools == ("Read", "Edit")


def test_installed_files_define_no_role(tmp_path: Path) -> None:
    """A file with sow's mark is skipped without a warning; the same text in a description is no mark."""
    write(tmp_path, "ours.md", "---\nname: implementer\ndescription: d\nsow-version: 1.0.0\n---\nwords\n")
    write(tmp_path, "theirs.md", '---\nname: a\ndescription: "about sow-version: x"\n---\nwords\n')
    result, warnings = read_agents(str(tmp_path), USER)
    assert (list(result), warnings) == (["a"], [])


def test_a_link_out_of_the_repository_is_refused(tmp_path: Path) -> None:
    """A link to a file or folder outside causes a warning; a link inside is followed."""
    root, outside = tmp_path / "repo", tmp_path / "outside"
    write(outside, "a.md", named("a"))
    write(root, "shared/b.md", named("b"))
    agents = root / ".claude/agents"
    agents.mkdir(parents=True)
    (agents / "a.md").symlink_to(outside / "a.md")
    (agents / "01-out").symlink_to(outside)
    (agents / "b.md").symlink_to(root / "shared/b.md")
    result, warnings = read_agents(str(agents), PROJECT, inside=str(root))
    assert list(result) == ["b"]
    assert len(warnings) == 2 and all("leads out of the repository" in warning for warning in warnings)


def test_a_linked_agents_folder_outside_is_refused(tmp_path: Path) -> None:
    """If .claude/agents links outside, each of its files is refused; the user's own folder may be a link."""
    outside = tmp_path / "dotfiles"
    write(outside, "a.md", named("a"))
    root = tmp_path / "repo"
    (root / ".claude").mkdir(parents=True)
    (root / ".claude/agents").symlink_to(outside)
    result, warnings = read_agents(f"{root}/.claude/agents", PROJECT, inside=str(root))
    assert result == {} and len(warnings) == 1
    result, warnings = read_agents(f"{root}/.claude/agents", USER)
    assert list(result) == ["a"] and warnings == []


def test_the_number_of_files_is_limited(tmp_path: Path) -> None:
    """At most a fixed number of files is read, and a warning says so."""
    for number in range(MOST_FILES + 5):
        write(tmp_path, f"a{number:05d}.md", named(f"a{number:05d}"))
    result, warnings = read_agents(str(tmp_path), USER)
    assert len(result) == MOST_FILES
    assert len(warnings) == 1 and str(MOST_FILES) in warnings[0]


def test_a_missing_named_file_is_an_error(tmp_path: Path) -> None:
    """Asking for one file by its path says that it is not there."""
    with pytest.raises(SowError, match="there is no such file"):
        read_agent(str(tmp_path / "none.md"), USER)
