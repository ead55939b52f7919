"""Task lists of other tools of any size that are slow to read."""

from __future__ import annotations

from guarantees.oversized_texts import Make, numbered, pattern

PHASE = "# Tasks: x\n\n## Phase 1: y\n\n"
BLOCK = "---\nid: TASK-1\ntitle: x\nstatus: To Do\n"
SPEC_KIT: dict[str, Make] = {
    "tasks": numbered("- [ ] T1# do it in src/a#.py\n", before=PHASE + "- [ ] T001 a\n"),
    "equal tasks": pattern("- [ ] T001 a\n", before=PHASE),
    "groups": numbered("### g\n- [ ] T1# [P] a\n", before=PHASE + "- [ ] T001 a\n"),
    "phases": numbered("## Phase #: y\n", before=PHASE + "- [ ] T001 a\n"),
    "words": pattern("in a/b.py ", before=f"{PHASE}- [ ] T001 "),
    "one word": pattern("a", before=f"{PHASE}- [ ] T001 in ", after="/b"),
    "dots": pattern("a.", before=f"{PHASE}- [ ] T001 in a/"),
    "brackets": pattern("[P] ", before=f"{PHASE}- [ ] T001 "),
    "open remarks": pattern("(depends on ", before=f"{PHASE}- [ ] T001 "),
    "remarks": pattern("(depends on T001) ", before=f"{PHASE}- [ ] T002 a\n- [ ] T001 "),
    "text": pattern("x\n", before=f"{PHASE}- [ ] T001 a\n\n"),
    "indented text": pattern("  x\n", before=f"{PHASE}- [ ] T001 a\n"),
}
TASK_MASTER: dict[str, Make] = {
    "tasks": numbered('{"id": 1#, "title": "x"},', before='{"tasks": [', after='{"id": 1, "title": "y"}]}'),
    "subtasks": numbered(
        '{"id": 1#, "title": "x", "dependencies": [1]},',
        before='{"tasks": [{"id": 1, "title": "x", "subtasks": [',
        after='{"id": 1, "title": "y"}]}]}',
    ),
    "dependencies": pattern("1,", before='{"tasks": [{"id": 2, "title": "x", "dependencies": [', after="1]}]}"),
    "lists": pattern("[", before='{"tasks": '),
    "objects": pattern('{"a":', before='{"tasks": '),
    "quotes": pattern('"', before='{"tasks": '),
    "backslashes": pattern("\\\\", before='{"tasks": "'),
    "spaces": pattern(" ", before='{"tasks":'),
    "lines": pattern("\n", before='{"tasks":'),
    "digits": pattern("1", before='{"tasks": [{"id": '),
    "keys": numbered('"k#": 1,', before='{"tasks": [{', after='"id": 1}]}'),
}
BACKLOG: dict[str, Make] = {
    "labels": numbered("- l#\n", before=f"{BLOCK}labels:\n", after="---\n"),
    "dependencies": numbered("- TASK-1#\n", before=f"{BLOCK}dependencies:\n", after="---\n"),
    "unknown fields": numbered("k#: 1\n", before=BLOCK, after="---\n"),
    "names": pattern("@a", before=f"{BLOCK}assignee: ", after="\n---\n"),
    "a long id": pattern("1.", before="---\ntitle: x\nstatus: To Do\nid: TASK-1", after="1\n---\n"),
    "spaces in a status": pattern(" ", before="---\nid: TASK-1\ntitle: x\nstatus:", after="x\n---\n"),
    "criteria": numbered("- [ ] ## it\n", before=f"{BLOCK}---\n## Acceptance Criteria\n"),
    "sections": pattern("## a\n", before=f"{BLOCK}---\n"),
    "markers": pattern("<!-- AC:BEGIN -->\n", before=f"{BLOCK}---\n"),
    "lines": pattern("\n", before=f"{BLOCK}---\n"),
    "a block without end": pattern("id: TASK-1\ntitle: x\n", before="---\n"),
}
LISTS = {
    f"{name}: {case}": (name, make)
    for name, cases in (("tasks.md", SPEC_KIT), ("tasks.json", TASK_MASTER), ("task-1.md", BACKLOG))
    for case, make in cases.items()
}
