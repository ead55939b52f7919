"""Plans of any size that are slow to read."""

from __future__ import annotations

from guarantees.oversized_texts import Make, numbered, pattern


def tasks(body: str) -> Make:
    """Returns tasks in Markdown with these lines; {n} is the number, {before} the previous one."""
    return lambda count: "".join(
        f"## Task {n}: a\n{body.format(n=n, before=n - 1 or 'None')}\n" for n in range(1, count + 1)
    )


def circle(count: int) -> str:
    """Returns tasks that depend on each other in a circle."""
    return "".join(f"## Task {n}: a\n**Depends on**: {n % count + 1}\nx\n" for n in range(1, count + 1))


TASK = "## Task 1: a\n"
DEPENDS = f"{TASK}**Depends on**: "
PLAN_MARKDOWN: dict[str, Make] = {
    "tasks": tasks("x"),
    "equal tasks": pattern(TASK),
    "sections": pattern("## a\n"),
    "hash signs": pattern("#"),
    "lines of hash signs": pattern("# #\n"),
    "stars": pattern("**", before=TASK),
    "bold words": pattern("**a** ", before=TASK),
    "bold lines": pattern("**a**\n", before=TASK),
    "unknown labels": pattern("**a**: b\n", before=TASK),
    "many unknown labels": numbered("**a#**: b\n", before=TASK),
    "slips": numbered("**Agent#**: b\n", before=TASK),
    "files": pattern("**Files**: a.py\n", before=TASK),
    "labels in a line": pattern("**Files**: a ", before=TASK),
    "empty labels": pattern("**Files**:\n\n", before=TASK),
    "statuses": pattern("**Status**: done\n", before=TASK),
    "commands": pattern("**Test Commands**: `a`\n", before=TASK),
    "numbers to depend on": numbered("#, ", before=DEPENDS),
    "words to depend on": numbered("x#, ", before=DEPENDS),
    "files to depend on": numbered("f#.md:1, ", before=DEPENDS),
    "one missing file": pattern("f.md:1, ", before=DEPENDS),
    "odd words to depend on": pattern("a b, ", before=DEPENDS),
    "ranges": pattern("1-9999, ", before=DEPENDS),
    "a wide range": pattern("9", before=f"{DEPENDS}1-"),
    "a long number": pattern("9", before=DEPENDS),
    "dashes to depend on": pattern("-", before=DEPENDS),
    "open remarks": pattern("(", before=DEPENDS),
    "remarks": pattern("()", before=DEPENDS),
    "remarks in remarks": lambda count: DEPENDS + "(" * (count // 2) + ")" * (count // 2),
    "a long duration": pattern("9", before=f"{TASK}**Estimated time**: "),
    "durations": pattern("1h", before=f"{TASK}**Estimated time**: "),
    "a long status": pattern("x", before=f"{TASK}**Status**: "),
    "a long agent": pattern("x ", before=f"{TASK}**Agent**: "),
    "backticks": pattern("`", before=f"{TASK}**Files**: "),
    "commas": pattern(",", before=f"{TASK}**Files**: "),
    "paths": numbered("a#.py, ", before=f"{TASK}**Files**: "),
    "fences": pattern("```\n", before=TASK),
    "an open fence": pattern("x\n", before=f"{TASK}```\n"),
    "a long fence": pattern("`", before=TASK),
    "tasks in a fence": pattern(TASK, before="```\n"),
    "comments": pattern("<!--\n", before=TASK),
    "comments in a line": pattern("<!-- -->", before=TASK),
    "bullets": pattern("- a\n", before=f"{TASK}**Success Criteria**:\n"),
    "boxes": pattern("- [x] ", before=f"{TASK}**Success Criteria**:\n"),
    "details": pattern("  - a\n", before=f"{TASK}**Success Criteria**:\n- a\n"),
    "details with names": pattern("  Command: a\n", before=f"{TASK}**Success Criteria**:\n- a\n"),
    "fences below a bullet": pattern("  ```\n", before=f"{TASK}**Success Criteria**:\n- a\n"),
    "lines of one command": pattern("a \\\n", before=f"{TASK}**Test Commands**:\n```\n"),
    "remarks below a label": pattern("(a)\n", before=f"{TASK}**Files**:\n"),
    "tabs before a bullet": pattern("\t", before=f"{TASK}**Files**:\n", after="- a\n"),
    "lines with colons": pattern("a: b\n", before=TASK),
    "a long line": pattern("x", before=TASK),
    "empty lines": pattern("\n", before=TASK),
    "returns": pattern("\r", before=TASK),
    "byte order marks": pattern("\ufeff"),
    "bytes of zero": pattern("\0", before=TASK),
    "a chain": tasks("**Depends on**: {before}\nx"),
    "a circle": circle,
    "knots": tasks("**Depends on**: {n}, {before}\nx"),
    "one before all": tasks("**Depends on**: 1\nx"),
    "all on those before": lambda count: "".join(f"## Task {n}: a\n**Depends on**: 1-{n}\nx\n" for n in range(count)),
    "one file for all": tasks("**Files**: a.py\nx"),
    "two files for all": tasks("**Depends on**: {before}\n**Files**: a.py, b.py\nx"),
    "agents": tasks("**Agent**: a{n}\nx"),
    "types": tasks("**Type**: a{n}\nx"),
    "groups": lambda count: (
        f"---\nworktree_groups: [a]\n---\n{tasks('**Worktree group**: a{n}' + chr(10) + 'x')(count)}"
    ),
    "frontmatter": numbered("k#: 1\n", before="---\n", after=f"---\n{TASK}x\n"),
    "frontmatter without an end": pattern("a: 1\n", before="---\n"),
    "brackets in frontmatter": pattern("[", before="---\na: ", after=f"\n---\n{TASK}x\n"),
    "rules": pattern("---\n"),
}
IN_TASK = "tasks:\n- number: 1\n  name: a\n  prompt: b\n  "
PLAN_YAML: dict[str, Make] = {
    "tasks": numbered("- {id: a#, name: a, prompt: b}\n", before="tasks:\n"),
    "equal tasks": pattern("- {id: a, name: a, prompt: b}\n", before="tasks:\n"),
    "tasks that are none": pattern("- a\n", before="tasks:\n"),
    "empty tasks": pattern("- {}\n", before="tasks:\n"),
    "tasks in flow": pattern("a,", before="tasks: [", after="]"),
    "slips of keys": numbered("- {id: a#, name: a, prompt: b, dependson: c}\n", before="tasks:\n"),
    "unknown keys": numbered("k#: 1\n  ", before=IN_TASK),
    "unknown keys of the plan": numbered("k#: 1\n", before="name: a\n"),
    "numbers to depend on": numbered("#, ", before=f"{IN_TASK}depends_on: [", after="]\n"),
    "ranges": pattern("1-9999, ", before=f"{IN_TASK}depends_on: [", after="]\n"),
    "mappings to depend on": numbered("{file: f#, task: 1}, ", before=f"{IN_TASK}depends_on: [", after="]\n"),
    "a text to depend on": numbered("#, ", before=f"{IN_TASK}depends_on: '", after="'\n"),
    "files": numbered("f#.py, ", before=f"{IN_TASK}files: [", after="]\n"),
    "criteria": pattern("{criterion: a, x: b}, ", before=f"{IN_TASK}success_criteria: [", after="]\n"),
    "wrong criteria": pattern("[], ", before=f"{IN_TASK}success_criteria: [", after="]\n"),
    "commands": pattern("{command: a}, ", before=f"{IN_TASK}test_commands: [", after="]\n"),
    "context": pattern("{a: [b]}, ", before=f"{IN_TASK}x: [", after="]\n"),
    "deep context": pattern("[", before=f"{IN_TASK}x: "),
    "key points": pattern("{a: b}, ", before=f"{IN_TASK}implementation: {{key_points: [", after="]}\n"),
    "groups": numbered("g#, ", before="worktree_groups: [", after="]\n"),
    "a long prompt": pattern("x ", before="tasks:\n- {id: 1, name: a, prompt: '", after="'}\n"),
    "a long name": pattern("x", before="name: '", after="'\n"),
    "a long id": pattern("9", before="tasks:\n- {name: a, prompt: b, id: ", after="}\n"),
    "a long limit": pattern("1", before="max_concurrency: ", after="\n"),
    "lists": numbered("k#: [a, a, a, a, a, a, a, a, a, a]\n", before="x:\n  a: 1\n"),
    "invisible breaks": pattern("\u2028", before="a: "),
}
