"""A program that the machine lacks is distinguished from a command that failed."""

from __future__ import annotations

from support.quick_cases import all_of

from sow.domain.checks.missing_program import missing_program

CASES = {
    "no such program": ("pytest -q", 127, "there is no program pytest", "pytest"),
    "a shell's word": ("cd web && jest", 127, "bash: line 1: jest: command not found", "jest"),
    "another shell's word": ("npm test", 127, "> jest\n\nsh: 1: jest: not found\n", "jest"),
    "a program that may not be run": ("tool --check", 126, "bash: /opt/tool: Permission denied", "/opt/tool"),
    "nothing said": ("tool --check", 127, "", "tool"),
    "a script of the repository": ("./run.sh", 127, "there is no program ./run.sh", ""),
    "a script below the root": ("bash -c tools/run", 127, "bash: line 1: tools/run: No such file or directory", ""),
    "a script that was not made executable": ("./run.sh", 126, "bash: ./run.sh: Permission denied", ""),
    "a script that a shell is given": ("bash check.sh", 127, "bash: check.sh: No such file or directory", ""),
    "the same inside a text": ("cd a && bash 'check.sh'", 127, "bash: check.sh: No such file or directory", ""),
    "a shell that says it otherwise": ("sh check.sh", 127, "sh: 0: Can't open check.sh", ""),
    "a program that a program is given": ("xargs jest", 127, "xargs: jest: No such file or directory", "jest"),
    "an interpreter": ("x", 126, "bash: ./x: /opt/py: bad interpreter: No such file or directory", "/opt/py"),
    "a file of the work": ("sh -c mine", 126, "sh: 1: mine: Permission denied", ""),
    "a failed test": ("pytest -q", 1, "sh: 1: jest: not found", ""),
    "a stopped command": ("pytest -q", None, "", ""),
}


@all_of(("command", "code", "output", "program"), CASES.values())
def test_a_missing_program_is_named(command: str, code: int | None, output: str, program: str) -> None:
    """The missing program is named; a program of the repository does not count."""
    assert missing_program(command, code, output, lambda name: name == "mine") == program
