"""Child processes: lines are complete, a child always ends, and a failed start names its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from sow.system.process.child_process import CHUNK, MAX_LINE, GrowingLines
from system.process.supervisor import supervise

DEAF = "trap '' TERM INT; echo ready > ready; while :; do sleep 0.1; done"
POLITE = "trap 'sleep 0.5; echo bye; exit 7' TERM; echo ready > ready; while :; do sleep 0.1; done"

LONG = b"x" * (MAX_LINE + 3 * CHUNK)
LAYOUTS = {
    "a long line between others": ([b"one", b"two", LONG, b"three", b"four"], b"\n"),
    "two long lines": ([b"one", LONG, LONG + b"y", b"two"], b"\n"),
    "many short lines in the block that ends it": ([LONG, *(b"%d" % number for number in range(5000))], b"\n"),
    "a long line without an end": ([b"one", LONG], b""),
    "a longest line that is just not too long": ([b"one", b"x" * MAX_LINE, b"two"], b"\n"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_long_line_affects_no_other(tmp_path: Path, layout: str) -> None:
    """A line over the limit is cut there, and every other line is returned once, in order."""
    written, end = LAYOUTS[layout]
    path = tmp_path / "out"
    path.write_bytes(b"\n".join(written) + end)
    lines = GrowingLines(str(path))
    try:
        assert list(lines.rest()) == [line[:MAX_LINE].decode() for line in written]
    finally:
        lines.close()


def test_reading_the_last_lines_ends(tmp_path: Path) -> None:
    """A process that writes forever does not keep sow reading."""
    path = tmp_path / "out"
    path.write_text("one\ntwo\n")
    lines = GrowingLines(str(path))
    result = []
    with path.open("a") as file:
        for line in lines.rest():
            result.append(line)
            assert len(result) < 100
            file.write("more\n")
            file.flush()
    lines.close()
    assert result[:2] == ["one", "two"]


def test_much_output_is_read_in_parts(tmp_path: Path) -> None:
    """With any amount of output each step soon returns to check the limits."""
    script = "yes $(printf %01000d) | head -n 4096; echo full > full; sleep 300"
    code = f"""
child = start(["sh", "-c", {script!r}], grace=0.2)
there("full")
lines = []
child.step(lambda line: (lines.append(line), time.sleep(0.005)))
child.close()
tell(len(lines))
"""
    assert 0 < supervise(code, tmp_path) < 1000


def test_the_end_of_much_output_is_read(tmp_path: Path) -> None:
    """When the time for the last lines is over, the middle is left out, and the end is still read."""
    path = tmp_path / "out"
    path.write_bytes(b"".join(b"%d\n" % number for number in range(100_000)) + b"the end")
    lines = GrowingLines(str(path))
    try:
        result = list(lines.rest(seconds=-1))
    finally:
        lines.close()
    assert result[-2:] == ["99999", "the end"]
    assert 1000 < len(result) < 20_000
    assert result[:-1] == [str(number) for number in range(100_001 - len(result), 100_000)]


def test_a_closed_child_is_killed(tmp_path: Path) -> None:
    """close() does not wait for a child that ignores signals: after the grace period it is killed."""
    code = f"child = start(['sh', '-c', {DEAF!r}], grace=0.2); there('ready'); code = child.close(); "
    assert supervise(code + "tell([code, state(child.process.pid)])", tmp_path) == [-9, ""]


def test_a_closed_child_is_asked_first(tmp_path: Path) -> None:
    """close() sends SIGTERM first, and a process that ends in time ends in its own way."""
    code = f"child = start(['sh', '-c', {POLITE!r}], grace=50); there('ready'); tell(child.close())"
    assert supervise(code, tmp_path) == 7


def test_closing_after_the_end_sends_no_signal(tmp_path: Path) -> None:
    """A child that ended by itself was not stopped."""
    assert supervise(
        "child = start(['sh', '-c', 'exit 3']); follow(child); tell([child.close(), child.stopped])", tmp_path
    ) == [3, ""]


def test_a_second_interrupt_does_not_wait(tmp_path: Path) -> None:
    """A second stop does not wait for the grace."""
    asked = "child.stop('interrupt'); child.stop('interrupt'); follow(child); tell([child.close(), child.stopped])"
    code = f"child = start(['sh', '-c', {DEAF!r}], grace=10_000); there('ready'); {asked}"
    assert supervise(code, tmp_path) == [-9, "interrupt"]


def test_a_repeated_limit_is_one_stop(tmp_path: Path) -> None:
    """A child that exceeds a limit with every event has one reason to stop, and its grace period stays."""
    asked = "[child.stop('retries') for _ in range(3)]; lines = follow(child); tell([lines, child.close()])"
    code = f"child = start(['sh', '-c', {POLITE!r}], grace=50); there('ready'); {asked}"
    assert supervise(code, tmp_path) == [["bye"], 7]


def test_the_id_of_an_ended_child_is_not_reused(tmp_path: Path) -> None:
    """Until close() the system gives its process id to no other, so no signal can hit another process."""
    code = "child = start(['true']); follow(child); before = state(child.process.pid); child.close(); "
    assert supervise(code + "tell([before, state(child.process.pid)])", tmp_path) == ["Z", ""]


def test_only_the_output_is_cut(tmp_path: Path) -> None:
    """If a child puts a link in place of its output, the file behind it is not cut."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"v" * 5000)
    script = "yes | head -c 3000; rm 0.out; ln -s victim 0.out"
    code = f"child = start(['sh', '-c', {script!r}], size=1000); lines = follow(child); child.close(); tell(len(lines))"
    assert supervise(code, tmp_path) == 1500
    assert victim.stat().st_size == 5000


def test_the_end_of_stderr_is_kept(tmp_path: Path) -> None:
    """The last output on stderr is known after the child is closed, though it removed the file."""
    code = "child = start(['sh', '-c', 'echo sorry >&2; rm 0.err']); follow(child); child.close(); "
    assert supervise(code + "tell(child.stderr_tail())", tmp_path) == "sorry\n"


def program(folder: Path, name: str, text: str, mode: int = 0o755) -> str:
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_a_failed_start_has_its_reason(tmp_path: Path) -> None:
    """A missing folder, program or interpreter and a file that is no program have different errors."""
    missing, folder = str(tmp_path / "missing"), str(tmp_path)
    no_program = program(tmp_path, "text", "just words\n")
    no_interpreter = program(tmp_path, "script", "#!/no/such/interpreter\n")
    no_permission = program(tmp_path, "closed", "#!/bin/sh\n", 0o644)
    cases = {
        (missing, folder): f"executor binary not found: {missing}",
        ("/bin/sh", missing): f"the working folder is gone: {missing}",
        ("/bin/sh", no_program): f"the working folder is gone: {no_program}",
        (missing, missing): f"the working folder is gone: {missing}",
        (no_program, folder): f"cannot start {no_program}: it is neither a program for this machine nor a script",
        (
            no_interpreter,
            folder,
        ): f"cannot start {no_interpreter}: the program that its first line (#!) names is missing",
        (no_permission, folder): f"cannot start {no_permission}: it may not be executed",
        (folder, folder): f"cannot start {folder}: it may not be executed",
        ("/bin/s\0h", folder): "cannot start /bin/s\0h: embedded null byte",
    }
    code = f"""
from sow.errors import SowError
said = []
for number, (word, folder) in enumerate({list(cases)!r}):
    os.mkdir(f"t{{number}}")
    os.chdir(f"t{{number}}")
    try:
        start([word], cwd=folder, task="010")
    except SowError as error:
        said.append([error.message, error.hint])
    os.chdir("..")
tell([said, name(), len(os.listdir("/proc/self/fd"))])
"""
    output, name, handles = supervise(code, tmp_path)
    assert [message[: len(wanted)] for (message, _), wanted in zip(output, cases.values(), strict=True)] == [
        *cases.values()
    ]
    assert all(hint for _, hint in output)
    assert not name.startswith("sow-turn-")
    assert handles < 8, "files were left open"


def test_a_supervisor_has_a_badge(tmp_path: Path) -> None:
    """During a child its supervisor's process name has the task, several tasks without a number, and none after."""
    wait = "while [ ! -e go$0 ]; do sleep 0.02; done"
    code = f"""
names = [name()]
children = [start(["sh", "-c", {wait!r}, task], task=task) for task in ("010", "020") if not names.append(name())]
names.append(name())
for child, task in zip(children, ("010", "020")):
    Path("go" + task).touch()
    follow(child)
    child.close()
    names.append(name())
tell(names)
"""
    before, *during, after = supervise(code, tmp_path)
    assert during == [before, "sow-turn-010", "sow-turn-", "sow-turn-020"]
    assert after == before
