"""sow config: creates, finds, checks, shows, edits and resets the file; setting a value keeps the comments."""

from __future__ import annotations

import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.paths import ROOT
from support.quick_cases import all_of, few_of

from sow import config
from sow.agents.registry import STANDARD_AGENTS
from sow.cli.command import find, parse
from sow.cli.setup.config_file import template
from sow.executors.settings import ADAPTERS, DEFAULT_EXECUTORS
from sow.store.formats.schema import document

SOW = str(Path(sys.executable).parent / "sow")
# A process of its own makes the terminal: a fork in a test runner with threads would be unsafe.
TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
MIXED = """\
# Claude for orchestration, Cursor for implementation
agents:
  executors:
    claude-code:
      type: "claude"
      settings:
        model: "sonnet"   # the quick one
    cursor:
      type: "cursor"
      settings:
        yolo_mode: true
      custom_args: ["--cascade"]
  bindings:
    orchestrator: "claude-code"
    reviewer: "cursor"
"""


class ConfigRepo:
    """A user with settings, and the command in a repository."""

    def __init__(self, repo: Any) -> None:
        self.repo = repo
        self.home = Path(repo.environment["HOME"])
        self.file = self.home / ".config/sow/config.yaml"
        self.backup = self.home / ".config/sow/config.yaml.backup"

    def write(self, text: str) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(text)

    def sow(self, *arguments: str, **options: Any) -> Any:
        return self.repo.sow("config", *arguments, **options)

    def ok(self, *arguments: str, **options: Any) -> Any:
        return self.repo.ok("config", *arguments, **options)

    def on_terminal(self, *arguments: str, typed: str, **environment: str) -> tuple[int, str]:
        """Calls the command on a terminal with typed input."""
        result = subprocess.run(
            [sys.executable, "-c", TERMINAL, SOW, "config", *arguments],
            cwd=self.repo.root,
            env={**self.repo.environment, "TERM": "xterm", **environment},
            input=typed.encode(),
            capture_output=True,
            timeout=300,
        )
        return result.returncode, result.stdout.decode()

    def program(self, name: str, text: str = "exit 0") -> Path:
        """Makes a program on PATH."""
        path = self.home / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        self.repo.environment["PATH"] = f"{path.parent}:{self.repo.environment['PATH']}"
        return path


@pytest.fixture
def config_repo(bare_repo: Any) -> ConfigRepo:
    """A user without any settings."""
    return ConfigRepo(bare_repo)


def test_init_writes_a_private_template(config_repo: ConfigRepo):
    """The first `init` makes the file and its folder readable for the user alone."""
    result = config_repo.ok("init")
    assert result.out == f"wrote {config_repo.file}\n"
    assert config_repo.file.read_text() == template("~/.config/sow/config.yaml")
    assert stat.S_IMODE(config_repo.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(config_repo.file.parent.stat().st_mode) == 0o700
    assert [path.name for path in config_repo.file.parent.iterdir()] == ["config.yaml"]


def test_the_template_is_complete(config_repo: ConfigRepo):
    """The template shows every type of executor, every role, every limit and its own path."""
    config_repo.ok("init", XDG_CONFIG_HOME=str(config_repo.home / "xdg"))
    text = (config_repo.home / "xdg/sow/config.yaml").read_text()
    assert "# Location: " in text
    assert "xdg/sow/config.yaml" in text.splitlines()[1]
    matches = set(re.findall(r"[a-z_-]+", text))
    assert matches >= set(ADAPTERS)
    assert matches >= {agent.name for agent in STANDARD_AGENTS}
    assert matches >= set(config.DEFAULT_LIMITS)
    assert "    # Add more executors as needed (windsurf, etc.)\n" in text


def test_the_template_changes_nothing(config_repo: ConfigRepo):
    """The generated template has the same effect as no file, and it passes the check."""
    before = config_repo.ok("show", "--json").json
    config_repo.ok("init")
    after = config_repo.ok("show", "--json").json
    values = [
        {role: binding["value"] for role, binding in one["agents"]["bindings"].items()} for one in (before, after)
    ]
    assert values[0] == values[1]
    assert before["agents"]["executors"] == after["agents"]["executors"]
    assert config_repo.ok("validate", "--json").json["valid"] is True


def test_every_example_in_the_template_is_valid():
    """Each commented line of the template gives valid settings."""
    example = re.compile(r"^( *)# ( *(?:[a-z_-]+:( .*)?|- \".*\"))$")
    lines = [example.sub(r"\1\2", line) for line in template("here").splitlines()]
    result = config.Config("here", config.parse("\n".join(lines) + "\n", "here"), {})
    for name in ("claude-code", "cursor", "claude-opus", "my-script", "rehearsal"):
        assert result.executors[name].origin == config.FROM_FILE, name
        assert not config.executor_error(result.executors[name])
    assert set(result.bindings) == {agent.name for agent in STANDARD_AGENTS}
    assert result.fallbacks == {"implementer": ["codex", "gemini"]}
    assert {name: value for name, (value, _) in result.limits.items()} == config.DEFAULT_LIMITS
    assert len(result.trust) == 1


def test_init_does_not_overwrite_without_a_terminal(config_repo: ConfigRepo):
    """Without a terminal an existing file stays, and the hint has the command that overwrites it."""
    config_repo.write(MIXED)
    result = config_repo.sow("init")
    assert result.code == 4
    assert result.err.splitlines() == [
        f"error: {config_repo.file} exists; not an interactive terminal",
        "hint: to confirm, run: sow config init --yes",
    ]
    assert config_repo.file.read_text() == MIXED


def test_init_yes_keeps_the_old_file(config_repo: ConfigRepo):
    """The old file is kept as config.yaml.backup, byte for byte, readable for the user alone."""
    config_repo.write(MIXED)
    result = config_repo.ok("init", "--yes")
    assert str(config_repo.backup) in result.out
    assert config_repo.backup.read_text() == MIXED
    assert stat.S_IMODE(config_repo.backup.stat().st_mode) == 0o600
    assert config_repo.file.read_text() == template("~/.config/sow/config.yaml")


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 4), ("", 4)])
def test_init_asks_on_a_terminal(config_repo: ConfigRepo, answer: str, code: int):
    """Only a yes overwrites the file."""
    config_repo.write(MIXED)
    ended, shown = config_repo.on_terminal("init", typed=f"{answer}\n")
    assert ended == code, shown
    assert "exists. Overwrite it? [y/N]" in shown
    assert (config_repo.file.read_text() == MIXED) is bool(code)


def test_a_linked_file_stays_a_link(config_repo: ConfigRepo):
    """If the file is a link into another folder, the target is written and the link stays."""
    target = config_repo.home / "dotfiles.yaml"
    target.write_text(MIXED)
    config_repo.file.parent.mkdir(parents=True)
    config_repo.file.symlink_to(target)
    config_repo.ok("init", "--yes")
    assert config_repo.file.is_symlink()
    assert target.read_text() == template("~/.config/sow/config.yaml")
    config_repo.ok("reset", "--yes")
    assert not config_repo.file.exists()
    assert target.exists()


def test_path(config_repo: ConfigRepo):
    """`path` prints the full path, `--exists` prints true or false, and --json has both."""
    assert config_repo.ok("path").out == f"{config_repo.file}\n"
    assert config_repo.ok("path", "--exists").out == "false\n"
    assert config_repo.ok("path", "--json").json == {"path": str(config_repo.file), "exists": False}
    config_repo.write("")
    assert config_repo.ok("path", "--exists").out == "true\n"
    assert config_repo.ok("path", "--json").json == {"path": str(config_repo.file), "exists": True}


# Takes away what Python does not have on Windows, then runs sow.
ON_WINDOWS = """
import os, signal, sys
for module in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[module] = None
for name in ("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "fork", "getuid", "killpg", "pread", "uname"):
    delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "SIGQUIT", "SIGTSTP", "SIGUSR1", "SIGWINCH"):
    delattr(signal, name)
sys.platform = "win32"
from sow.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["config", "path"], (0, "C:\\Users\\ada\\AppData\\Roaming\\sow\\config.yaml\n", "")),
        (["config", "path", "--exists"], (0, "false\n", "")),
        (["doctor"], (1, "", "error: sow does not run on native Windows\nhint: run it in WSL\n")),
    ],
)
def test_the_path_on_windows(config_repo: ConfigRepo, words: list[str], expected: tuple[int, str, str]):
    """Without the POSIX parts of Python the path is printed; anything else is refused (A8)."""
    result = subprocess.run(
        [sys.executable, "-c", ON_WINDOWS, *words],
        cwd=config_repo.repo.root,
        env={**config_repo.repo.environment, "APPDATA": "C:\\Users\\ada\\AppData\\Roaming"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (result.returncode, result.stdout, result.stderr) == expected


def test_config_works_outside_a_repository(config_repo: ConfigRepo):
    """Settings are the user's: no repository is needed to see or to change them."""
    for item in (
        ["path"],
        ["init"],
        ["validate"],
        ["show"],
        ["get", "run"],
        ["set", "trust", "/x"],
        ["reset", "--yes"],
    ):
        config_repo.ok(*item, cwd=config_repo.home)


def test_validate_prints_the_check_list(config_repo: ConfigRepo):
    """A valid file with a missing program passes with one warning."""
    config_repo.program("claude")
    config_repo.write(MIXED)
    result = config_repo.ok("validate", PATH=f"{config_repo.home}/bin")
    lines = result.out.splitlines()
    assert lines[:7] == [
        f"Validating configuration at {config_repo.file}...",
        "",
        "✓ YAML syntax valid",
        "✓ CUE schema valid",
        "✓ Executor types valid (claude, cursor)",
        "✓ All bindings reference defined executors",
        "⚠ Warning: cursor-agent binary not found on PATH",
    ]
    assert lines[7] == "  The 'cursor' executor requires cursor-agent CLI to be installed."
    assert lines[8].startswith("  Install: ")
    assert lines[9:] == ["", "Configuration is valid with 1 warning."]
    assert result.err == ""


def test_validate_without_a_file(config_repo: ConfigRepo):
    """Without a file the defaults are checked and valid."""
    config_repo.program("claude")
    result = config_repo.ok("validate")
    assert "✓ No file: sow uses the built-in defaults" in result.out
    assert "✓ Executor types valid (claude)" in result.out
    assert result.out.endswith("\nConfiguration is valid.\n")
    assert config_repo.ok("validate", "--json").json["exists"] is False
    assert not config_repo.file.exists()


def test_show_has_the_executor_of_all_roles(config_repo: ConfigRepo):
    """`agents.default` is shown with its origin, also if it is not set."""
    assert re.search('^  default: "claude-code" +# .default.$', config_repo.ok("show").out, re.MULTILINE)
    config_repo.ok("set", "agents.default", "simulated")
    assert re.search('^  default: "simulated" +# .*config file.*$', config_repo.ok("show").out, re.MULTILINE)


def test_the_capacity_of_an_unknown_executor_is_refused(config_repo: ConfigRepo):
    """`host.capacity` is a number for each executor, so the name of a role is a mistake."""
    refused = config_repo.sow("set", "host.capacity.architect", "2")
    assert refused.code == 2 and "host.capacity.architect: unknown executor: architect" in refused.err
    config_repo.ok("set", "host.capacity.claude-code", "2")


def test_a_program_that_several_executors_need_is_one_warning(config_repo: ConfigRepo):
    """Executors of one type that lack one program are named in one warning."""
    config_repo.write("agents:\n  executors:\n    a:\n      type: claude\n    b:\n      type: claude\n")
    result = config_repo.ok("validate", PATH="/nonexistent")
    assert "  The 'a', 'b', 'claude-code' executors require claude CLI to be installed." in result.out
    assert result.out.endswith("valid with 1 warning.\n")


def test_a_program_at_a_path(config_repo: ConfigRepo):
    """A program that is configured by path is looked for there."""
    program = config_repo.program("my-claude")
    config_repo.write(
        f"agents:\n  executors:\n    claude-code:\n      type: claude\n      settings:\n        binary: {program}\n"
    )
    assert config_repo.ok("validate").out.endswith("\nConfiguration is valid.\n")
    program.unlink()
    assert f"⚠ Warning: {program} binary not found\n" in config_repo.ok("validate").out


def test_several_problems_are_all_listed(config_repo: ConfigRepo):
    """Each problem is an error with its line and its own hint, and is reported once."""
    config_repo.write(
        "agents:\n  executors:\n    mine:\n      type: command\n"
        "  bindings:\n    implementer: cusor\n  fallbacks:\n    planner: [codex, gemmini]\n"
    )
    result = config_repo.sow("validate")
    assert result.code == 2
    first, *others = result.err.splitlines()
    assert first.startswith(f"error: {config_repo.file}:3: agents.executors.mine.settings.command: is missing")
    assert others == [
        f"error: {config_repo.file}:6: agents.bindings.implementer: unknown executor: cusor",
        "hint: did you mean cursor?",
        f"error: {config_repo.file}:8: agents.fallbacks.planner: unknown executor: gemmini",
        "hint: did you mean gemini?",
    ]
    assert "mine" not in result.out
    assert "Configuration is valid" not in result.out


MISTAKES = """\
agents:
  executors:
    claude-code:
      typ: claude
      settings:
        yolo_mode: yes
        modell: opus
    mine:
      type: comand
    text: claude
  bindings:
    implementer: cusor
    planner: 7
    reviewer: claude-code
    researcher: text
limits:
  turn_timeout: 60
rum: {}
review:
  agents: quality-control
"""


def test_all_mistakes_are_listed_together(config_repo: ConfigRepo):
    """Errors of the schema and others are listed once each, with line and nearest name (A13)."""
    config_repo.write(MISTAKES)
    expected = [
        (4, "agents.executors.claude-code.typ: is not a field; did you mean type?"),
        (6, "agents.executors.claude-code.settings.yolo_mode: must be true or false, not 'yes'"),
        (7, "agents.executors.claude-code.settings.modell: is not a field; did you mean model?"),
        (9, "agents.executors.mine.type: unknown executor type: comand; did you mean command?"),
        (10, "agents.executors.text: must be a mapping, not 'claude'"),
        (12, "agents.bindings.implementer: unknown executor: cusor"),
        (13, "agents.bindings.planner: must be a text, not 7"),
        (17, "limits.turn_timeout: must be a text, not 60"),
        (18, "rum: is not a field; did you mean run?"),
        (20, "review.agents: must be a list, not 'quality-control'"),
    ]
    result = config_repo.sow("validate")
    errors = [line for line in result.err.splitlines() if not line.startswith("hint: ")]
    assert (result.code, errors) == (2, [f"error: {config_repo.file}:{line}: {what}" for line, what in expected])
    assert "hint: did you mean cursor?\n" in result.err
    assert result.out == f"Validating configuration at {config_repo.file}...\n\n✓ YAML syntax valid\n"
    findings = [
        finding for finding in config_repo.sow("validate", "--json").json["findings"] if finding["state"] == "problem"
    ]
    assert sorted((finding["line"], finding["what"]) for finding in findings) == expected


@pytest.mark.parametrize(
    "text",
    [
        "agents:\n  executors:\n    1: {type: claude}\n",
        "agents:\n  executors: 5\n",
        "agents: 5\n",
        "limits: 5\nagents:\n",
    ],
)
def test_an_unreadable_section_is_one_error(config_repo: ConfigRepo, text: str):
    """A section that cannot be read at all is one mistake."""
    config_repo.write(text)
    result = config_repo.sow("validate")
    assert (result.code, result.err.count("error: ")) == (2, 1), result


@pytest.mark.parametrize(
    ("kind", "argument", "refused"),
    [
        ("claude", "--resume", True),
        ("claude", "--session-id=abc", True),
        ("claude", "-c", True),
        ("opencode", "--session", True),
        ("opencode", "-s", True),
        ("codex", "resume", True),
        ("cursor", "--chat-id", True),
        ("claude", "-s", False),
        ("aider", "--chat-history-file=x", True),
        ("codex", "-c", False),
        ("aider", "-c", False),
        ("claude", "--max-turns", False),
    ],
)
def test_flags_that_choose_the_session_are_refused(config_repo: ConfigRepo, kind: str, argument: str, refused: bool):
    """sow chooses the session, so custom_args cannot; other flags are passed on (A16)."""
    config_repo.write(f"agents:\n  executors:\n    mine:\n      type: {kind}\n      custom_args: ['{argument}', abc]\n")
    result = config_repo.sow("validate")
    assert (result.code, f"agents.executors.mine.custom_args: '{argument}'" in result.err) == (2 * refused, refused)


def test_validate_as_json(config_repo: ConfigRepo):
    """The document has every finding with its hint, and the exit code says whether the settings can be used."""
    config_repo.write("agents:\n  bindings:\n    implementer: cusor\n")
    result = config_repo.sow("validate", "--json")
    assert (result.code, result.err) == (2, "")
    assert result.json["valid"] is False
    assert {
        "state": "problem",
        "what": "agents.bindings.implementer: unknown executor: cusor",
        "hint": "did you mean cursor?",
        "line": 3,
    } in result.json["findings"]


def test_odd_settings_are_warnings(config_repo: ConfigRepo):
    """An unknown role, and a file that others can change, are warnings with the next step."""
    config_repo.program("claude")
    config_repo.write("agents:\n  bindings:\n    implementor: claude-code\n")
    config_repo.file.chmod(0o666)
    result = config_repo.ok("validate", SOW_AGENTS_REVUEWER="claude-code")
    assert (
        "⚠ Warning: agents.bindings.implementor: unknown role: implementor\n  did you mean implementer?" in result.out
    )
    assert "⚠ Warning: SOW_AGENTS_REVUEWER: unknown role: revuewer\n  did you mean reviewer?" in result.out
    assert (
        f"⚠ Warning: all users of this machine can change the file\n  run: chmod o-w {config_repo.file}" in result.out
    )
    assert result.out.endswith("valid with 3 warnings.\n")


def test_a_role_of_the_repository_is_known(config_repo: ConfigRepo):
    """A role that the repository defines can be bound without a warning."""
    folder = config_repo.repo.root / ".claude/agents"
    folder.mkdir(parents=True)
    (folder / "painter.md").write_text("---\nname: painter\ndescription: paints\n---\nPaint.\n")
    config_repo.program("claude")
    config_repo.write("agents:\n  bindings:\n    painter: claude-code\n")
    assert config_repo.ok("validate").out.endswith("\nConfiguration is valid.\n")


def test_show_without_a_file(config_repo: ConfigRepo):
    """The defaults are shown as such."""
    lines = config_repo.ok("show").out.splitlines()
    assert lines[:4] == [
        "# Effective configuration (merged from defaults + file + environment)",
        f"# Config file: {config_repo.file} (not found, using defaults)",
        "# Environment overrides: none",
        "",
    ]
    assert '    implementer: "claude-code"              # (default)' in lines
    assert "        yolo_mode: false  # (default)" in lines


def test_show_merges_default_file_and_environment(config_repo: ConfigRepo):
    """Every value is followed by its origin."""
    config_repo.write(MIXED)
    text = config_repo.ok("show", SOW_AGENTS_IMPLEMENTER="cursor").out
    assert f"# Config file: {config_repo.file} (exists)" in text
    assert "# Environment overrides: SOW_AGENTS_IMPLEMENTER=cursor" in text
    for line in (
        'model: "sonnet" # (from config file)',
        "yolo_mode: false # (default)",
        "yolo_mode: true # (from config file)",
        'custom_args: ["--cascade"] # (from config file)',
        'orchestrator: "claude-code" # (from config file)',
        'implementer: "cursor" # (from environment: SOW_AGENTS_IMPLEMENTER)',
        'architect: "claude-code" # (default)',
        'turn_timeout: "60m" # (default)',
    ):
        assert line in [" ".join(line.split()) for line in text.splitlines()], line


def test_every_value_has_an_origin(config_repo: ConfigRepo):
    """No line with a value is without its comment."""
    config_repo.write(MIXED + "  fallbacks:\n    planner: [codex]\ntrust: [/somewhere]\nlimits: {turn_timeout: 5m}\n")
    lines = [
        line for line in config_repo.ok("show").out.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
    for line in lines:
        assert line.endswith(":") or re.search(r"  # \((default|from config file|from environment: \w+)\)$", line), line


def test_the_printed_settings_are_a_valid_file(config_repo: ConfigRepo):
    """The printed settings, used as the user's file, give the same executors, bindings and limits."""
    odd = "      settings:\n        model: 'a \"b\" \\ # c: d'\n"
    config_repo.write(MIXED.replace('      settings:\n        model: "sonnet"   # the quick one\n', odd))
    before = config_repo.ok("show", "--json", SOW_AGENTS_PLANNER="codex").json
    config_repo.write(config_repo.ok("show", SOW_AGENTS_PLANNER="codex").out)
    after = config_repo.ok("show", "--json").json
    assert before["agents"]["executors"]["claude-code"]["settings"]["model"]["value"] == 'a "b" \\ # c: d'
    assert _values(before) == {**_values(after), "environment": {"SOW_AGENTS_PLANNER": "codex"}}


def _values(document: Any) -> Any:
    """Returns a document without its origins."""
    if isinstance(document, dict):
        return (
            document["value"] if set(document) == {"value", "origin"} else {k: _values(v) for k, v in document.items()}
        )
    return document


def test_show_as_json(config_repo: ConfigRepo):
    """The document has every executor and the origin of each value."""
    config_repo.write(MIXED)
    document = config_repo.ok("show", "--json", SOW_AGENTS_PLANNER="codex").json
    assert document["environment"] == {"SOW_AGENTS_PLANNER": "codex"}
    assert set(document["agents"]["executors"]) == set(DEFAULT_EXECUTORS)
    assert document["agents"]["executors"]["cursor"]["settings"]["yolo_mode"] == {
        "value": True,
        "origin": "from config file",
    }
    assert document["agents"]["bindings"]["planner"] == {
        "value": "codex",
        "origin": "from environment: SOW_AGENTS_PLANNER",
    }
    assert document["limits"]["turn_timeout"] == {"value": "60m", "origin": "default"}


def test_edit_starts_from_the_template(config_repo: ConfigRepo):
    """Without a file the editor gets the template, and the edited text is checked."""
    config_repo.program("claude")
    editor = config_repo.program(
        "editor", f'cp "$1" {config_repo.home}/seen; sed -i "s/planner: .*/planner: cursor  # mine/" "$1"'
    )
    result = config_repo.ok("edit", EDITOR=str(editor))
    assert (config_repo.home / "seen").read_text() == template("~/.config/sow/config.yaml")
    assert "    planner: cursor  # mine\n" in config_repo.file.read_text()
    assert "✓ CUE schema valid" in result.out


def test_the_editor_may_have_options(config_repo: ConfigRepo):
    """VISUAL goes before EDITOR, and its words are split without a shell."""
    config_repo.program("claude")
    editor = config_repo.program("my editor", f'printf "%s|" "$@" > {config_repo.home}/seen')
    config_repo.ok("edit", VISUAL=f"'{editor}' --wait '$(touch {config_repo.home}/pwned)'", EDITOR="false")
    assert (config_repo.home / "seen").read_text() == f"--wait|$(touch {config_repo.home}/pwned)|{config_repo.file}|"
    assert not (config_repo.home / "pwned").exists()


def test_edit_reports_mistakes_and_keeps_the_text(config_repo: ConfigRepo):
    """A mistake is an error with its line; the edited text stays as it is, with its comments."""
    wrong = "# my notes\nagents:\n  bindings:\n    implementer: cusor   # soon\n"
    editor = config_repo.program("editor", f'cat > "$1" <<END\n{wrong}END')
    result = config_repo.sow("edit", EDITOR=str(editor))
    assert result.code == 2
    assert result.err.splitlines() == [
        f"error: {config_repo.file}:4: agents.bindings.implementer: unknown executor: cusor",
        "hint: did you mean cursor?",
    ]
    assert config_repo.file.read_text() == wrong


def test_a_mistake_can_be_edited_again_on_a_terminal(config_repo: ConfigRepo):
    """On a terminal a mistake is named, and the editor can be opened again (A17)."""
    config_repo.program("claude")
    count = config_repo.home / "count"
    editor = config_repo.program(
        "editor",
        f'echo x >> {count}\n[ $(wc -l < {count}) = 1 ] && echo "agnts: 1" > "$1" || echo "agents: {{}}" > "$1"',
    )
    code, shown = config_repo.on_terminal("edit", typed="y\n", EDITOR=str(editor))
    assert code == 0, shown
    question = f"{config_repo.file}:1: agnts: is not a field; did you mean agents? Edit it again? [y/N]"
    assert question in " ".join(shown.split())  # a terminal breaks the lines
    assert count.read_text() == "x\nx\n"


def test_a_remaining_mistake_is_reported_once(config_repo: ConfigRepo):
    """After a no, the error has only the count of the mistakes that the question named."""
    config_repo.write("agnts: 1\nrum: 2\n")
    code, shown = config_repo.on_terminal("edit", typed="n\n", EDITOR="true")
    assert code == 2, shown
    assert shown.count("did you mean agents?") == shown.count("did you mean run?") == 1
    assert f"{config_repo.file} has 2 mistakes" in shown


def test_a_failed_editor_leaves_nothing_behind(config_repo: ConfigRepo):
    """The template for an editor that failed is removed; a file of the user stays."""
    result = config_repo.sow("edit", EDITOR="false")
    assert result.code == 1
    assert "false ended with exit code 1" in result.err
    assert not config_repo.file.exists()
    config_repo.write(MIXED)
    assert config_repo.sow("edit", EDITOR="false").code == 1
    assert config_repo.file.read_text() == MIXED


def test_reset_moves_the_file_away(config_repo: ConfigRepo):
    """After a reset the defaults are in effect, and the file is kept as a backup."""
    config_repo.write(MIXED)
    result = config_repo.ok("reset", "--yes")
    assert not config_repo.file.exists()
    assert config_repo.backup.read_text() == MIXED
    assert str(config_repo.backup) in result.out
    assert config_repo.ok("show", "--json").json["agents"]["bindings"]["reviewer"]["value"] == "claude-code"


def test_earlier_backups_are_kept(config_repo: ConfigRepo):
    """Each file that was replaced or removed is kept, and config.yaml.backup is the newest (A14)."""
    texts = [MIXED, template("~/.config/sow/config.yaml"), "# the third\n"]
    config_repo.write(MIXED)
    config_repo.ok("init", "--yes")
    config_repo.ok("reset", "--yes")
    assert config_repo.backup.read_text() == texts[1]
    config_repo.write(texts[2])
    config_repo.ok("reset", "--yes")
    assert config_repo.backup.read_text() == texts[2]
    backups = sorted(config_repo.file.parent.iterdir())
    assert sorted(path.read_text() for path in backups) == sorted(texts)
    for path in backups[1:]:
        assert re.fullmatch(r"config\.yaml\.backup-\d{8}-\d{6}(-\d)?", path.name)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_reset_without_a_file(config_repo: ConfigRepo):
    """Without a file reset succeeds, and an older backup stays."""
    config_repo.write(MIXED)
    config_repo.ok("reset", "--yes")
    assert "does not exist" in config_repo.ok("reset", "--yes").out
    assert "does not exist" in config_repo.ok("reset").out
    assert config_repo.backup.read_text() == MIXED


def test_reset_works_on_an_unreadable_file(config_repo: ConfigRepo):
    """A file that is broken beyond reading is just what a reset is for."""
    config_repo.write("")
    config_repo.file.write_bytes(b"\xff\0" * 3_000_000)
    config_repo.ok("reset", "--yes")
    assert not config_repo.file.exists()
    assert config_repo.backup.read_bytes() == b"\xff\0" * 3_000_000


@pytest.mark.parametrize(("answer", "code"), [("yes", 0), ("no", 4)])
def test_reset_asks_on_a_terminal(config_repo: ConfigRepo, answer: str, code: int):
    """Only a yes removes the file."""
    config_repo.write(MIXED)
    ended, shown = config_repo.on_terminal("reset", typed=f"{answer}\n")
    assert ended == code, shown
    assert "has your settings. Remove it? [y/N]" in shown
    assert config_repo.file.exists() is bool(code)


def test_no_command_rewrites_the_users_file(config_repo: ConfigRepo):
    """Comments, order and layout survive every command that is not meant to replace the file."""
    config_repo.program("claude")
    config_repo.write(MIXED)
    for item in (["path"], ["validate"], ["show"], ["show", "--json"], ["edit"], ["init"], ["reset"]):
        config_repo.sow(*item, EDITOR="true")
    assert config_repo.file.read_text() == MIXED
    assert [path.name for path in config_repo.file.parent.iterdir()] == ["config.yaml"]


@pytest.mark.parametrize(
    "words",
    [["init", "--yes"], ["edit"], ["reset", "--yes"], ["set", "limits.stop_grace", "1s"], ["unset", "agents.reviewer"]],
)
def test_a_worker_may_not_change_the_settings(config_repo: ConfigRepo, words: list[str]):
    """A supervised agent cannot choose another executor or more permissions through sow."""
    config_repo.write(MIXED)
    result = config_repo.sow(*words, SOW_TASK="010", SOW_AGENT="implementer", EDITOR="true")
    assert result.code == 2
    assert "a worker may not change the user's settings" in result.err
    assert config_repo.file.read_text() == MIXED


def test_a_repository_cannot_configure_anything(config_repo: ConfigRepo):
    """No file of a repository changes the settings in effect."""
    before = config_repo.ok("show").out
    (config_repo.repo.root / ".sow").mkdir()
    for name in (".sow/config.yaml", "config.yaml", ".config/sow/config.yaml", "sow/config.yaml"):
        path = config_repo.repo.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MIXED)
    assert config_repo.ok("show").out == before


def test_other_yaml_readers_read_the_printed_settings(config_repo: ConfigRepo):
    """Another YAML reader takes the printed settings for what they are."""
    config_repo.write(MIXED)
    data = yaml.safe_load(config_repo.ok("show").out)
    assert data["agents"]["executors"]["cursor"]["custom_args"] == ["--cascade"]
    assert data["limits"]["transcript_mb"] == 256


# A key and its values → the key and the value that the file has then.
SET: dict[str, tuple[str, Any]] = {
    "agents.implementer codex": ("agents.bindings.implementer", "codex"),
    "bindings.implementer codex": ("agents.bindings.implementer", "codex"),
    "agents.fallbacks.planner codex gemini": ("agents.fallbacks.planner", ["codex", "gemini"]),
    "fallbacks.planner [codex]": ("agents.fallbacks.planner", ["codex"]),
    "executors.claude.settings.yolo_mode true": ("agents.executors.claude-code.settings.yolo_mode", True),
    "agents.executors.codex.settings.max_concurrency 2": ("agents.executors.codex.settings.max_concurrency", 2),
    "executors.mine.type codex": ("agents.executors.mine.type", "codex"),
    "executors.cursor.custom_args -- --fast -x": ("agents.executors.cursor.custom_args", ["--fast", "-x"]),
    "executors.mine.settings.command x y": ("agents.executors.mine.settings.command", ["x", "y"]),
    "checks.allow *": ("checks.allow", ["*"]),
    "executors.codex.settings.model 5": ("agents.executors.codex.settings.model", "5"),
    "limits.turn_timeout 90m": ("limits.turn_timeout", "90m"),
    "limits.transcript_mb 12": ("limits.transcript_mb", 12),
    "run.baseline off": ("run.baseline", "off"),
    "budgets.run_usd 2.5": ("budgets.run_usd", 2.5),
    "budgets.run_tokens null": ("budgets.run_tokens", None),
    "worktree.setup [[npm,ci]]": ("worktree.setup", [["npm", "ci"]]),
    "notify.command true": ("notify.command", "true"),
    "notify.command true x": ("notify.command", ["true", "x"]),
    "notify.bell false": ("notify.bell", False),
    "trust /a": ("trust", ["/a"]),
}


@few_of("words", SET, 6)
@pytest.mark.parametrize("before", ["", MIXED, template("here")], ids=["empty", "mixed", "template"])
def test_set_changes_one_value(config_repo: ConfigRepo, words: str, before: str):
    """A value gets the type of the schema, `get` prints it, and comments stay in place (A19)."""
    config_repo.write(before)
    key, value = SET[words]
    result = config_repo.ok("set", *words.split())
    assert result.out.startswith(f"set {key} to ")
    assert f"backup: {config_repo.backup}\n" in result.out
    assert config_repo.backup.read_text() == before
    settings = config_repo.ok("get", words.split()[0], "--json").json["settings"]
    assert settings == {key: {"value": value, "origin": "from config file"}}
    text = config_repo.file.read_text()
    comments = re.findall("#.*", before)
    assert re.findall("#.*", text) == comments
    lost = [line for line in before.splitlines() if line not in text.splitlines()]
    assert len(lost) <= 1
    assert "needs no change" in config_repo.ok("set", *words.split()).out
    assert config_repo.file.read_text() == text


def test_set_makes_the_file(config_repo: ConfigRepo):
    """Without a file the first `set` makes a private one, and a new executor gets the type of its name."""
    config_repo.program("claude")
    result = config_repo.ok("set", "executors.claude-code.settings.model", "opus")
    assert result.out == f'set agents.executors.claude-code.settings.model to "opus" in {config_repo.file}\n'
    assert config_repo.file.read_text() == (
        'agents:\n  executors:\n    claude-code:\n      type: "claude"\n      settings:\n        model: "opus"\n'
    )
    assert stat.S_IMODE(config_repo.file.stat().st_mode) == 0o600
    assert not config_repo.backup.exists()


# What is typed → the error and its hint.
REFUSED: dict[str, tuple[str, str]] = {
    "set limits.turn_timeot 5m": ("unknown key: limits.turn_timeot", "did you mean limits.turn_timeout?"),
    "set agents.defalt codex": ("unknown key: agents.defalt", "did you mean agents.default?"),
    "set review.retries 2": ("unknown key: review.retries", "did you mean run.retries?"),
    "set turn_timeout 5m": ("unknown key: turn_timeout", "did you mean limits.turn_timeout?"),
    "set implementer codex": ("unknown key: implementer", "did you mean agents.implementer?"),
    "set agents.implementor codex": ("unknown key: agents.implementor", "did you mean agents.implementer?"),
    "set executors.cursor.settings.modle x": (
        "unknown key: executors.cursor.settings.modle",
        "did you mean agents.executors.cursor.settings.model?",
    ),
    "set limits.turn_timeout.x 5m": ("unknown key: limits.turn_timeout.x", "did you mean limits.turn_timeout?"),
    "set agents.bindings. codex": ("unknown key: agents.bindings.", "did you mean agents.bindings."),
    "set . 5": ("unknown key: .", "see all settings: sow config show"),
    "unset limts": ("unknown key: limts", "did you mean limits?"),
    "get executors.corsor.type": ("unknown key: executors.corsor.type", "did you mean agents.executors.cursor.type?"),
    "set limits 5": ("limits is a section, not a value", "see its settings: sow config get limits"),
    "set executors.mine 5": ("agents.executors.mine is a section", "see its settings: sow config get "),
    "set run.retries 1 2": ("run.retries takes one value, not 2", "put quotes around"),
    "set run.retries many": ("run.retries: must be a whole number, not 'many'", "nothing was changed"),
    "set limits.turn_timeout soon": ("limits.turn_timeout: must be a duration such as 90s", "nothing was changed"),
    "set notify.bell yes": ("notify.bell: must be true or false, not 'yes'", "nothing was changed"),
    "set trust [a": ("trust: not a list: [a", "give the items without brackets: sow config set trust A B"),
    "set agents.implementer cusor": (
        "agents.bindings.implementer: unknown executor: cusor",
        "did you mean cursor?",
    ),
    "set executors.mine.type codx": ("unknown executor type: codx; did you mean codex?", "nothing was changed"),
    "set executors.mine.settings.model opus": (
        "agents.executors.mine.type: is missing",
        "nothing was changed; set a value: sow config set agents.executors.mine.type claude",
    ),
    "set executors.mine.type command": (
        "agents.executors.mine.settings.command: is missing",
        "nothing was changed; set a value: sow config set agents.executors.mine.settings.command my-agent",
    ),
    "set budgets.run_usd nan": ("budgets.run_usd: must be a number", "nothing was changed"),
    "unset executors.cursor.type": ("agents.executors.cursor.type: is missing", "nothing was changed"),
}


@pytest.mark.parametrize("words", REFUSED)
def test_an_invalid_value_is_refused(config_repo: ConfigRepo, words: str):
    """An unknown key or a wrong value is an error with the next step, and the file stays as it was (A19)."""
    config_repo.write(MIXED)
    result = config_repo.sow(*words.split())
    error, hint = REFUSED[words]
    assert result.code == 2, result
    assert error in result.err.splitlines()[0]
    assert result.err.splitlines()[1].startswith(f"hint: {hint}")
    assert config_repo.file.read_text() == MIXED
    assert [path.name for path in config_repo.file.parent.iterdir()] == ["config.yaml"]


@pytest.mark.parametrize(
    ("text", "words", "error"),
    [
        ("agents:\n\tbindings:\n", "set limits.stop_grace 1s", ":2: a tab"),
        ("- a\n", "set limits.stop_grace 1s", ": must be a mapping"),
        ("limts: {}\n", "set run.retries 1", ":1: limts: is not a field; did you mean limits?"),
        ("run: {retries: 1,}\n", "unset run.retries", "in which sow cannot change run.retries"),
    ],
)
def test_a_file_that_cannot_be_changed_stays(config_repo: ConfigRepo, text: str, words: str, error: str):
    """A file with another mistake, or with a layout that sow cannot keep, stays as it was."""
    config_repo.write(text)
    result = config_repo.sow(*words.split())
    assert result.code == 2
    assert error in result.err
    assert config_repo.file.read_text() == text


def test_set_corrects_a_mistake(config_repo: ConfigRepo):
    """A wrong value can be replaced although it makes the file invalid."""
    config_repo.write("agents:\n  bindings:\n    planner: 7 # soon\n")
    config_repo.ok("set", "agents.planner", "codex")
    assert config_repo.file.read_text() == 'agents:\n  bindings:\n    planner: "codex" # soon\n'


def test_set_warns_about_the_result(config_repo: ConfigRepo):
    """A missing program, an unknown role and a variable that overrides the file are warnings."""
    config_repo.program("claude")
    shown = config_repo.ok("set", "agents.bindings.implementor", "amp", SOW_AGENTS_IMPLEMENTOR="codex").out
    assert "⚠ Warning: agents.bindings.implementor: unknown role: implementor\n" in shown
    assert "⚠ Warning: qwen binary not found on PATH\n" in config_repo.ok("set", "agents.planner", "qwen").out
    assert "⚠ Warning" not in config_repo.ok("set", "agents.planner", "claude-code").out
    shown = config_repo.ok("set", "agents.planner", "amp", SOW_AGENTS_PLANNER="codex").out
    assert "⚠ Warning: SOW_AGENTS_PLANNER=codex overrides it in this shell\n  run: unset SOW_AGENTS_PLANNER\n" in shown


def test_unset(config_repo: ConfigRepo):
    """A value or a section is removed, comments stay, and a missing key changes nothing."""
    config_repo.write(MIXED)
    assert config_repo.ok("unset", "agents.reviewer").out == (
        f"removed agents.bindings.reviewer from {config_repo.file}\nbackup: {config_repo.backup}\n"
    )
    assert config_repo.file.read_text() == MIXED.replace('    reviewer: "cursor"\n', "")
    config_repo.ok("unset", "executors")
    assert config_repo.file.read_text() == (
        '# Claude for orchestration, Cursor for implementation\nagents:\n  bindings:\n    orchestrator: "claude-code"\n'
    )
    assert config_repo.ok("unset", "limits.stop_grace").out == f"{config_repo.file} needs no change\n"
    config_repo.ok("reset", "--yes")
    assert config_repo.ok("unset", "limits").out == f"{config_repo.file} needs no change\n"
    assert not config_repo.file.exists()


def test_get(config_repo: ConfigRepo):
    """A value is printed as it is, a section with one line per value; variables and defaults count."""
    config_repo.write(MIXED)
    assert config_repo.ok("get", "executors.claude-code.settings.model").out == "sonnet\n"
    assert config_repo.ok("get", "executors.cursor.settings.model").out == "null\n"
    assert config_repo.ok("get", "executors.cursor.custom_args").out == '["--cascade"]\n'
    assert config_repo.ok("get", "agents.reviewer", SOW_AGENTS_REVIEWER="codex").out == "codex\n"
    assert config_repo.ok("get", "context").out == 'context.enabled: true\ncontext.budget: "8k"\n'
    assert len(config_repo.ok("get", "agents.bindings").out.splitlines()) == len(STANDARD_AGENTS)


def test_set_keeps_a_link(config_repo: ConfigRepo):
    """If the file is a link into another folder, its target changes."""
    target = config_repo.home / "dotfiles.yaml"
    target.write_text(MIXED)
    config_repo.file.parent.mkdir(parents=True)
    config_repo.file.symlink_to(target)
    config_repo.ok("set", "agents.reviewer", "codex")
    assert config_repo.file.is_symlink()
    assert target.read_text() == MIXED.replace('reviewer: "cursor"', 'reviewer: "codex"')


def test_parallel_sets_lose_nothing(config_repo: ConfigRepo):
    """No change is lost if several processes set values."""
    config_repo.write("# mine\n")
    sections = {"turn_timeout": "limits", "stop_grace": "limits", "max_wait": "run", "timeout": "checks"}
    text = [[SOW, "config", "set", f"{section}.{name}", "7m"] for name, section in sections.items()]
    makers = [subprocess.Popen(item, cwd=config_repo.repo.root, env=config_repo.repo.environment) for item in text]
    assert [maker.wait(timeout=300) for maker in makers] == [0] * 4
    assert config_repo.file.read_text().count('"7m"') == 4


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("limits.t", ["limits.turn_timeout", "limits.transcript_mb"]),
        ("agents.bindings.pl", ["agents.bindings.planner"]),
        ("agents.pl", ["agents.planner"]),
    ],
)
def test_keys_are_completed(config_repo: ConfigRepo, typed: str, expected: list[str]):
    """The shell completes the keys of settings."""
    for command in ("get", "set", "unset"):
        assert config_repo.repo.ok("completion", "words", "--", "config", command, typed).out.splitlines() == expected


PAGE = (ROOT / "docs/reference/config.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.S)


def _commands() -> list[str]:
    """Returns every call of sow on the page, in a block or in backticks."""
    inline = re.findall(r"`((?:[A-Z_]+=\S+ )*sow [^`]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.S))
    lines = [line for kind, text in BLOCKS if kind == "text" for line in text.splitlines() if line.startswith("sow ")]
    return [*inline, *lines]


@all_of("line", _commands())
def test_every_command_on_the_page_parses(line: str):
    """Every command on the page parses."""
    parts = shlex.split(line, comments=True)
    parts = parts[parts.index("sow") + 1 :]
    command, rest = find(parts)
    parse(command, rest)


@pytest.mark.parametrize("text", [text for kind, text in BLOCKS if kind == "yaml"])
def test_every_example_on_the_page_is_valid(text: str):
    """Each example is a complete and valid file."""
    result = config.Config("page", config.parse(text, "page"), {})
    for name in result.executors_in_use([agent.name for agent in STANDARD_AGENTS]):
        assert not config.executor_error(result.executors[name])


def test_the_page_names_every_key_and_default():
    """Each key of the schema is on the page, and each limit with its default."""
    keys = set(_keys(document("user-config")))
    assert keys >= {"yolo_mode", "fallbacks", "trust"}
    assert [key for key in keys if f"{key}:" not in PAGE and f".{key}`" not in PAGE] == []
    for name, value in config.DEFAULT_LIMITS.items():
        assert f"| `limits.{name}` | `{value}` |" in PAGE
    for kind in ADAPTERS:
        assert f"`{kind}`" in PAGE


def _keys(schema: dict[str, Any]) -> Iterator[str]:
    yield from schema.get("properties", {})
    for rule in (*schema.get("properties", {}).values(), schema.get("additionalProperties")):
        if isinstance(rule, dict):
            yield from _keys(rule)
