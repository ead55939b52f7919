"""Values that could act as more than values: flags, commands, markup, invalid bytes, long texts, paths."""

from __future__ import annotations

import os

TOUCH = "touch owned"  # what a value would do if it were ever run, in whatever folder
HOSTILE = [
    # flags
    *("-", "--", "---", "-x", "-c", "-h", "--help", "--version", "--yes", "--json", "--debug", "--list", "--root=/"),
    *("--root", f"--upload-pack={TOUCH}", f"--exec={TOUCH}", f"-oProxyCommand={TOUCH}", f"-c core.pager={TOUCH}"),
    *("--output=owned", "--no-verify", "--amend", "--author=a <b>", "-F/etc/passwd", "--file=/etc/passwd", "-- x"),
    # shells and formats
    *(f"; {TOUCH}", f"$({TOUCH})", f"`{TOUCH}`", f"| {TOUCH}", f"&& {TOUCH}", f"& {TOUCH} &", f"> {TOUCH}"),
    *(f"'; {TOUCH}; '", f'"; {TOUCH}; "', f"\n{TOUCH}\n", f"a\n{TOUCH}", "$HOME", "${IFS}", "!!", "*", "?"),
    *("%s%n", "{0}", "{{7*7}}", "<script>", "+1", "@SUM(1)", "@/no/such/file"),
    # lines and control characters
    *("\n", "a\nb", "a\r\nb", "a\tb", "\x00", "a\x00b", "\x1b[31m", "\x1b]52;c;AA==\x07", "\x7f", "\x85", "\x9b31m"),
    *("\u2028", "a\u2029b", "\x08\x08"),
    # quotes
    *("'", '"', "a'b", 'a"b', "`", "“a”", "\\", "\\n", "a\\"),
    # what our own files are made of
    *("- a", "a: b", "# x", "#", "{}", "[]", "&a", "*a", "!a", f"!!python/object/apply:os.system ['{TOUCH}']"),
    *("<<: *a", "...", "~", "null", "1e3", "0x1f", "%YAML 1.1", "|", "? a", "a:\n  b: 1", "<<<<<<< HEAD", '{"a": 1}'),
    *("### 2026-01-31T09:00:00Z · a · b · c", "\n### x", "## x", "\\## x", "a \\## b", "- by: x", "# Feedback 001"),
    "a · b",
    # letters that look like others, or like nothing
    *("\u202etxt", "\u200b", "\ufeff", "ａｂｃ", "٠١٠", "e\u0301", "🙂", "\U0010ffff", "\ufffe", "a" + "\u0300" * 50),
    # bytes that are no text
    *(os.fsdecode(data) for data in (b"\xff", b"a\xfe\xff", b"\xed\xa0\x80", b"\xc3(")),
    # lengths
    *("", " ", " \t ", "a" * 65, "a" * 201, "a" * 100_001, "a" * 300_000, "é" * 30_000, "\n" * 5000, "9" * 5000),
    *("-" * 600, "../" * 500),
    # ids and paths
    *("0", "-10", "1_0", "0x10", "9999999999", "010/../020", "010\n", "010\x00", "#0"),
    *("../x", "../../etc/passwd", "/etc/passwd", "~/.ssh/id_rsa", "a/../../b", "..", "C:\\x", "\\\\host\\a", "a//b"),
    *(".git/config", ".git/hooks/pre-commit", ".sow/project/state.yaml", "/proc/self/environ", "a/./b"),
]
