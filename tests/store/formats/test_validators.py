"""The generated validators accept and refuse what the `jsonschema` library does, and name the same field.

Two of its rules are left out on purpose: it takes 1.0 for a whole number, and its `$`
matches before a line break at the end of a text.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from conftest import FULL
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator, ValidationError, validators
from support.quick_cases import all_of, few_of

from sow.store.formats import schema
from sow.store.formats.validation import SchemaError

TIME = "2026-01-31T09:00:00Z"
QUESTION = {"number": 1, "text": "Which?", "asked_at": TIME}
TASK = {
    "id": "010",
    "name": "Add login",
    "status": "completed",
    "assigned_agent": "implementer",
    "iteration": 2,
    "priority": "high",
    "depends_on": ["020", "1000"],
    "criteria": ["It works"],
    "references": ["docs/api.md", ".sow/knowledge/adrs/0001-jwt.md"],
    "context": [
        {"path": ".sow/knowledge/adrs/0001-jwt.md", "kind": "adr", "reason": "about jwt", "size": 90, "lines": "1-4"}
    ],
    "session_id": "a-b-c",
    "question": QUESTION,
    "questions": [{**QUESTION, "answer": "This", "answered_at": TIME, "answered_by": "ada"}],
    "approval": {"by": "ada", "at": TIME, "iteration": 2, "reason": "flaky"},
    "abandoned_reason": "Not needed",
    "failed_reason": "No such library",
    "created_at": TIME,
    "updated_at": TIME,
    "started_at": TIME,
    "completed_at": TIME,
    "source": {"plan": "plan.md", "id": "2.5", "digest": "0" * 64},
    "files": ["src/login.py"],
    "after": ["030"],
    "checks": [{"kind": "criterion", "command": "make test", "expected": "exit 0", "criterion": "It works"}],
    "estimated_minutes": 22.5,
    "type": "integration",
    "worktree_group": "login",
    "work": {"iteration": 2, "base": "0" * 40, "commit": "1" * 40, "tree": "2" * 40},
    "evidence": [
        {
            "kind": "test",
            "command": "pytest -q",
            "exit": None,
            "seconds": 1.5,
            "output": "3" * 64,
            "tree": "2" * 40,
            "at": TIME,
            "iteration": 2,
            "passed": False,
            "list": "4" * 64,
            "setup": "5" * 64,
            "environment": "6" * 64,
            "scope": "commit",
            "tests": {"ran": 3, "failed": 1, "skipped": 2, "base": 4},
            "host": "box-a",
        }
    ],
    "protected": ["tests/**"],
    "allow_empty": True,
    "refusals": [
        {
            "iteration": 2,
            "tool": "Bash",
            "command": "npm test",
            "reason": "not allowed",
            "count": 3,
            "executor": "claude-code",
            "at": TIME,
        }
    ],
    "waivers": [{"command": "pytest -q", "by": "ada", "reason": "flaky", "at": TIME}],
    "concerns": [{"iteration": 2, "kind": "tests", "text": "2 tests ran, 4 on the base commit", "merged": True}],
    "follows": {"task": "020", "findings": ["line-17"], "head": "1" * 40, "session": "a1", "worktree": "020"},
    "reviews": [
        {
            "iteration": 2,
            "commit": "1" * 40,
            "verdict": "RED",
            "by": "quality-control",
            "at": TIME,
            "findings": [
                {
                    "id": "4f1c2b3a5d6e",
                    "severity": "error",
                    "text": "No test",
                    "rule": "tests",
                    "file": "src/login.py",
                    "symbol": "login",
                    "evidence": "pytest: no tests ran",
                }
            ],
        }
    ],
    "result": "YELLOW",
    "retry_count": 1,
    "review_feedback": "Add a test",
    "duration": 61.5,
}
NOTE = {
    "note_id": "note_001",
    "timestamp": 1727540700,
    "description": "Assuming that it is unique",
    "context": "Creating the table",
    "category": "detail",
    "status": "resolved",
    "resolution": "It is",
    "resolved_by": "user",
    "resolution_timestamp": 1727541600,
    "escalation_reason": "Cannot tell",
}
VERIFICATION = {
    "result": "failed",
    "missing_evidence": ["the tests were not run"],
    "findings": [
        {
            "id": "4f1c2b3a5d6e",
            "severity": "error",
            "text": "No index",
            "rule": "criteria",
            "file": "schema.sql",
            "symbol": "users",
            "evidence": "line 3",
        }
    ],
    "round": 2,
    "verifier": "database_verifier",
    "at": TIME,
}
OUTPUT = {"path": "task_output/schema.sql", "version": 2, "digest": "0" * 64, "at": TIME}
DESIGN = {"digest": "0" * 64, "sections": {"database_agent": "1" * 64}, "at": TIME, "by": "ada"}
WORKFLOW = {
    "id": "8f14e45f-ceea-467f-9b1c-3f2a1b7c9d10",
    "name": "user_management",
    "task_id": "implement_user_management",
    "status": "in_progress",
    "branch": "feat/users",
    "created_at": TIME,
    "updated_at": TIME,
    "session_start": TIME,
    "plan_digest": "0" * 64,
    "verified": {**DESIGN, "passed": True},
    "approval": {**DESIGN, "how": "sow workflow approve"},
    "question_number": 2,
    "members": {
        "database_agent": {
            "status": "blocked",
            "task_id": "create_user_table_1727539200",
            "kind": "doer",
            "agent": "implementer",
            "verifier": "database_verifier",
            "dependencies": ["schema-agent"],
            "iteration": 2,
            "tries": 1,
            "rounds": 1,
            "verifier_tries": 1,
            "last_update": TIME,
            "session_id": "a-b-c",
            "session_start": 1727539800,
            "outputs": [OUTPUT],
            "read": {"agents/api_agent/task_output/api": 1},
            "result": VERIFICATION,
            "question": {**QUESTION, "kind": "user"},
            "feedback": "Add an index",
            "inferred": True,
            "requested_by": ["api_agent"],
            "pending_answer": "Yes",
        }
    },
    "escalations": [
        {
            "member": "database_agent",
            "task_id": "create_user_table_1727539200",
            "note_id": "note_001",
            "description": "Is it unique?",
            "at": TIME,
            "route": "user",
            "question": "Should an address be unique?",
            "resolution": "Yes",
            "resolved_at": TIME,
        }
    ],
    "answers": [
        {
            **QUESTION,
            "member": "database_agent",
            "kind": "user",
            "answer": "Yes",
            "answered_at": TIME,
            "answered_by": "ada",
        }
    ],
}
LINKED = {
    "name": "style-guide",
    "source": {"url": "https://example.org/style.git", "ref": "v1"},
    "pin": "1" * 40,
    "digest": "0" * 64,
    "size": 4096,
    "files": 3,
    "described_by": "files",
    "installed_at": TIME,
    "updated_at": TIME,
    "tags": ["go", "style"],
}
FOLDER = {"url": "git@example.org:team/style.git", "path": "docs", "ref": ""}
# Every field of every schema is in one of these; the first of each kind has them all.
VALID: dict[str, list[Any]] = {
    "task": [
        {"schema_version": "1.2.0", "revision": 3, "task": TASK},
        {"schema_version": "1.2.0", "task": {**TASK, "status": "abandoned"}},
        {
            "schema_version": "1.2.0",
            "task": {key: TASK[key] for key in ("id", "name", "assigned_agent", "created_at", "updated_at")},
        },
    ],
    "project": [
        {
            "schema_version": "1.2.0",
            "revision": 1,
            "project_id": "8f14e45f-ceea-467f-9b1c-3f2a1b7c9d10",
            "name": "Add authentication",
            "description": "",
            "branch": "feat/auth",
            "phases": [
                {"name": "design", "status": "completed", "created_at": TIME},
                {"name": "build", "status": "proposed", "created_at": TIME, "reason": "Why not", "question": 1},
            ],
            "questions": 1,
            "plans": [{"path": "plan.md", "digest": "0" * 64, "imported_at": TIME}],
            "created_at": TIME,
            "updated_at": TIME,
        }
    ],
    "run": [
        {
            "schema_version": "1.2.0",
            "revision": 1,
            "run": {
                "id": "20260131-090000-a1b2",
                "project_id": "8f14e45f-ceea-467f-9b1c-3f2a1b7c9d10",
                "name": "Add a login",
                "branch": "feat/login",
                "base": "0" * 40,
                "status": "waiting",
                "started_at": TIME,
                "ended_at": TIME,
                "exit": 4,
                "plans": [{"path": "plan.md", "digest": "0" * 64}],
                "tasks": ["010", "api_agent"],
                "settings": {
                    "max_concurrency": 3,
                    "schedule": "ready",
                    "isolation": "worktree",
                    "review": "on",
                    "retries": 2,
                    "executor": "simulated",
                    "agent": "implementer",
                    "timeout": 3600,
                    "max_cost": 2.5,
                    "max_wait": 600,
                    "final_checks": "on",
                    "history": "squash",
                    "network": "model",
                    "sandbox": "bwrap",
                    "baseline": "off",
                    "on": "box-a:2,box-b",
                    "cluster": "127.0.0.1:7233",
                },
                "pools": [
                    {"executor": "claude-code", "until": 1727540700, "reason": "5-hour limit"},
                    {"executor": "codex", "account": "team", "until": 1727540700, "reason": "5-hour limit"},
                ],
                "breaker": {"failures": 1, "opened": 0, "until": 0},
                "spawns": 7,
                "head": "1" * 40,
                "merges": [
                    {
                        "task": "010",
                        "iteration": 1,
                        "work": "2" * 40,
                        "commit": "1" * 40,
                        "parent": "0" * 40,
                        "tree": "3" * 40,
                        "at": TIME,
                    }
                ],
                "dropped": [{"task": "020", "head": "1" * 40, "parent": "0" * 40, "at": TIME}],
                "delivery": {
                    "remote": "origin",
                    "fork": "ada/cranes",
                    "owner": "ada",
                    "branch": "feat/login",
                    "base": "main",
                    "state": "merged",
                    "drafted": True,
                    "number": 7,
                    "url": "https://example.org/shop/pull/7",
                    "source": "1" * 40,
                    "head": "2" * 40,
                    "merge_commit": "3" * 40,
                    "merged_head": "2" * 40,
                    "method": "squash",
                    "merged_at": TIME,
                    "waiting_since": {"head": "2" * 40, "at": TIME},
                    "writing": "4f1c2b3a5d6e",
                    "own_comments": ["issue-12"],
                    "handled": [{"key": "line-17", "outcome": "follow_up", "tasks": ["030"], "at": TIME}],
                },
                "baselines": [
                    {
                        "list": "4" * 64,
                        "tree": "3" * 40,
                        "passed": False,
                        "command": "pytest -q",
                        "exit": 1,
                        "tests": {"ran": 3, "failed": 1, "skipped": 0, "base": 3},
                        "at": TIME,
                    }
                ],
                "final": [
                    {
                        "list": "4" * 64,
                        "tree": "3" * 40,
                        "passed": False,
                        "tasks": ["010"],
                        "command": "pytest -q",
                        "cause": "user",
                        "at": TIME,
                    }
                ],
                "accepted": ["outside_imports"],
            },
        }
    ],
    "notes": [
        {"task_id": "create_user_table_1727539200", "session_start": 1727539800, "notes": [NOTE]},
        {
            "task_id": "a_123456",
            "session_start": 0,
            "notes": [
                {**NOTE, "status": "escalated", "resolution": None, "resolved_by": None, "resolution_timestamp": None},
                {**NOTE, "status": "open", "escalation_reason": None},
            ],
        },
        {"task_id": "a_123456", "session_start": 0, "notes": []},
    ],
    "workflow": [
        {"schema_version": "1.2.0", "revision": 4, "workflow": WORKFLOW},
        {
            "schema_version": "1.2.0",
            "workflow": {**WORKFLOW, "status": "pending", "members": {}, "escalations": [], "branch": ""},
        },
    ],
    "shared-status": [
        {
            "task_id": "implement_user_management",
            "status": "in_progress",
            "session_start": TIME,
            "agents": {
                "database_agent": {
                    "status": "completion_drive_review",
                    "completion_drive_notes_count": 3,
                    "unresolved_notes": 1,
                    "dependencies": ["schema-agent"],
                    "last_update": TIME,
                    "outputs": [OUTPUT],
                }
            },
            "verification": {"database_verifier": {"status": "pending", "assigned_agents": ["database_agent"]}},
            "overall_completion_drive_gate": "blocked",
        },
        {
            "task_id": "x",
            "status": "pending",
            "agents": {"a": {"status": "pending", "completion_drive_notes_count": 0, "last_update": None}},
            "verification": {},
            "overall_completion_drive_gate": "clear",
        },
    ],
    "verification-results": [
        VERIFICATION,
        {**VERIFICATION, "result": "passed", "missing_evidence": [], "findings": []},
    ],
    "archive-index": [
        {
            "archives": [
                {
                    "agent": "database_agent",
                    "task_id": "create_user_table_1727539200",
                    "file": "agents/database_agent/completion_drive/session_20250928_143022_x.json",
                    "session_start": 1727539800,
                    "archived_at": TIME,
                    "notes": 2,
                    "digest": "0" * 64,
                }
            ]
        },
        {"archives": []},
    ],
    "cleanup-log": [
        {
            "entries": [
                {
                    "at": TIME,
                    "agent": "database_agent",
                    "action": "failed",
                    "reason": "left_over",
                    "source": "agents/database_agent/completion_drive/session_current.json",
                    "file": "agents/database_agent/completion_drive/session_20250928_143022_x.json",
                    "error": "the disk is full",
                }
            ]
        }
    ],
    "log-entry": [
        {"timestamp": TIME, "agent": "a-1", "action": "note", "result": "ok", "files": ["a.py"], "text": "Done"},
        {"timestamp": TIME, "agent": "orchestrator", "action": "a:b.c-d_e", "result": "0", "text": "\n"},
    ],
    "task-description": [{"title": "Add login", "text": ""}],
    "sink-index": [
        {
            "schema_version": "1.2.0",
            "sinks": [
                {
                    **LINKED,
                    "source": FOLDER,
                    "summary": "Style",
                    "when_to_use": "Always",
                    "hints": [{"path": "naming.md", "about": "A new name"}],
                }
            ],
        },
        {"schema_version": "1.2.0", "sinks": []},
    ],
    "repo-index": [
        {
            "schema_version": "1.2.0",
            "repos": [
                {**LINKED, "purpose": "Types", "hints": [{"path": "src", "about": "the types"}], "mode": "clone"}
            ],
        }
    ],
    "repo-config": [{"schema_version": "1.2.0", "artifacts": {"adrs": "docs/adrs", "designs": "docs"}}],
    "session": [
        {
            "schema_version": "1.2.0",
            "revision": 3,
            "session": {
                "number": 1,
                "key": "8f14e45f-ceea-467f-9b1c-3f2a1b7c9d10",
                "project_id": "0b7c3f52-3d0e-4f6a-8f6e-1d2c3b4a5968",
                "session_id": "ses_1",
                "task": "010",
                "role": "implementer",
                "executor": "claude-code",
                "type": "claude",
                "model": "opus",
                "cwd": "/home/ada/shop",
                "host": "box-a",
                "mark": "0123456789abcdef",
                "started_at": TIME,
                "total_cost_usd": 0.25,
                "total_input_tokens": 10,
                "total_output_tokens": None,
                "turns": [
                    {
                        "number": 1,
                        "kind": "spawn",
                        "iteration": 1,
                        "started_at": TIME,
                        "ended_at": TIME,
                        "exit": 0,
                        "outcome": "done",
                        "reason": "",
                        "status": "needs_review",
                        "inferred": False,
                        "tools": 2,
                        "cost_usd": 0.25,
                        "input_tokens": 10,
                        "output_tokens": None,
                        "agent_turns": 2,
                        "seconds": 1.5,
                        "redacted": 0,
                        "unstruck": ["API_KEY"],
                        "remote": {"token": "83664a57ee38", "sent_at": "2026-01-31T09:00:00Z", "applied": 2},
                    }
                ],
            },
        }
    ],
    "user-config": [
        {
            "limits": {
                "turn_timeout": "60m",
                "silence_timeout": "15m",
                "linger_timeout": "10s",
                "stop_grace": "500ms",
                "transcript_mb": 8,
            },
            "run": {
                "final_checks": "on",
                "history": "full",
                "baseline": "off",
                "max_concurrency": 3,
                "schedule": "waves",
                "isolation": "none",
                "retries": 2,
                "max_wait": "6h",
            },
            "review": {"enabled": True, "agents": ["quality-control"]},
            "budgets": {
                "run_usd": 2.5,
                "task_usd": 1,
                "run_tokens": 1000,
                "run_time": "8h",
                "run_spawns": 20,
            },
            "checks": {"timeout": "20m", "env": ["DATABASE_URL"], "parallel": 2, "allow": ["pytest*"]},
            "worktree": {"link": ["node_modules"], "copy": [".env"], "setup": [["npm", "ci"]]},
            "knowledge": {"sink_mb": 50, "repo_mb": 1000, "timeout": "2m"},
            "context": {"enabled": True, "budget": "8k"},
            "notify": {"command": ["notify-send", "sow"], "bell": False},
            "deliver": {"bots": ["review-bot[bot]"], "check_wait": "10m"},
            "cluster": {
                "address": "box:7233",
                "namespace": "default",
                "name": "team",
                "transfer": "git@box:turns.git",
                "sign": "~/.ssh/id_ed25519",
                "tls_ca": "/etc/ca.pem",
                "tls_cert": "/etc/me.pem",
                "tls_key": "/etc/me.key",
                "lost_after": "90s",
                "wait_for_host": "10m",
                "fetch_mb": 2048,
            },
            "host": {
                "name": "box-a",
                "capacity": {"claude-code": 2, "codex": "1@team"},
                "signers": "~/.config/sow/signers",
                "transfers": ["git@box:turns.git"],
                "keep": "7d",
                "checkpoint": "5m",
                "checks": 2,
            },
            "sandbox": {
                "mode": "auto",
                "roles": {"implementer": "off"},
                "network": "model",
                "network_roles": {"checks": "all"},
                "hosts": ["example.org:8443"],
                "read": ["~/data"],
                "write": ["~/.cache/go-build"],
                "env": ["DATABASE_URL"],
            },
            "trust": ["/home/ada/shop"],
            "agents": {
                "directories": ["agents", "~/agents"],
                "executors": {
                    "claude-code": {
                        "type": "claude",
                        "settings": {
                            "yolo_mode": True,
                            "model": "opus",
                            "max_concurrency": 2,
                            "binary": "/opt/claude",
                            "command": ["sh", "run.sh"],
                            "env": ["FOO"],
                            "allow_empty": True,
                            "scenario": "plan.yaml",
                        },
                        "custom_args": ["--verbose"],
                    }
                },
                "default": "claude-code",
                "bindings": {"reviewer": "claude-code"},
                "fallbacks": {"reviewer": ["codex"]},
            },
        },
        {"agents": {"executors": None, "bindings": None, "fallbacks": None}, "notify": {"command": "tell 'me now'"}},
        {},
    ],
}
# The fields of a kind whose keys are names.
MAPPINGS = {
    "user-config": "executors|bindings|fallbacks|roles|capacity",
    "workflow": "members|sections|read",
    "shared-status": "agents|verification",
}
NAMES = schema.names()
LIBRARY = {name: Draft7Validator(schema.document(name)) for name in NAMES}
Path = tuple[str | int, ...]


class Remembering:
    """The library, which judges each part of some documents once and accepts it again in their changes.

    A part is known by being the same object under the same rule, and the documents live as long as this object.
    """

    def __init__(self, name: str) -> None:
        self.good: set[tuple[int, int]] = set()
        self.learns = True
        keywords = {"properties": self._properties, "items": self._items}
        root = schema.document(name)
        self.library = validators.extend(Draft7Validator, keywords)(root)
        for document in VALID[name]:
            assert list(self.library.iter_errors(document)) == []
        self.learns = False

    def iter_errors(self, document: Any) -> Iterator[ValidationError]:
        yield from self.library.iter_errors(document)

    def _properties(self, library: Any, rules: Any, value: Any, _: Any) -> Iterator[ValidationError]:
        if library.is_type(value, "object"):
            for key, rule in rules.items():
                if key in value:
                    yield from self._part(library, value[key], rule, path=key, schema_path=key)

    def _items(self, library: Any, rule: Any, value: Any, _: Any) -> Iterator[ValidationError]:
        if library.is_type(value, "array"):
            for index, each in enumerate(value):
                yield from self._part(library, each, rule, path=index)

    def _part(self, library: Any, value: Any, rule: Any, **where: Any) -> Iterator[ValidationError]:
        existing = (id(value), id(rule))
        if existing in self.good:
            return
        result = list(library.descend(value, rule, **where))
        if self.learns and not result:
            self.good.add(existing)
        yield from result


SWAPS: list[Any] = [
    *(None, True, False, 0, 1, -1, 7, 1.5, 10** 30, ""),
    *(" ", "a", "A", "010", "10", "0010", "1.0", "1.0.0", "1.0.0.0", "v1.0.0"),
    *("pending", "open", "Pending", "main", "master", "feat/x", "a b", "-a"),
    *("_a", "a\nb", "\x1b[31m", "\x85", "\u2028", "é", "🙂"),
    *("2026-01-31", "2026-01-31T09:00:00+00:00", "2026-01-31T09:00:00Z"),
    *("२०२६-01-31T09:00:00Z", "note_1", "note_1234567"),
    *("x_12345", "x_1234567890123", "A_123456"),
    *("8F14E45F-ceea-467f-9b1c-3f2a1b7c9d10", "8f14e45f-ceea-167f-9b1c-3f2a1b7c9d10"),
    *("g" * 40, "0" * 39, "0" * 65, "x" * 41, "x" * 101, "x" * 256, "x" * 1001, "x" * 4001, "x" * 20001, "x" * 200001),
    *([], {}, [""], ["a"], ["a","a"], ["010","010"], [None]),
    *([[]], [{}], {"a":1}, {"a":{}}, {"a":"b"}, {"a":None}),
]  # fmt: skip


def verdict(name: str, document: Any) -> str | None:
    """Returns the path of sow's error, or None."""
    try:
        import_module(f"sow.store.validators.{name.replace('-', '_')}").validate(document)
    except SchemaError as complaint:
        return complaint.place
    return None


def shown(path: Any) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def places(document: Any, library: Draft7Validator | Remembering) -> set[str]:
    """Returns the fields of the library's errors."""
    result = set()
    for error in library.iter_errors(document):
        here = list(error.absolute_path)
        if error.validator == "required":
            result |= {shown([*here, key]) for key in error.validator_value if key not in error.instance}
        elif error.validator == "additionalProperties":
            result |= {shown([*here, key]) for key in error.instance if key not in error.schema["properties"]}
        else:
            result.add(shown(here))
    return result


def agree(name: str, document: Any, library: Draft7Validator | Remembering | None = None) -> bool:
    """Checks that both give the same verdict and the same field; tells whether the document is valid."""
    expected = places(document, library or LIBRARY[name])
    ours = verdict(name, copied(document))
    if not expected:
        assert ours is None, f"{ours} is refused in {document!r:.500}"
        return True
    assert ours in expected, f"{ours} instead of {expected} in {document!r:.500}"
    return False


def paths(value: Any, here: Path = ()) -> Iterator[Path]:
    """Returns every path in a document."""
    yield here
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from paths(each, (*here, key))


def at(document: Any, path: Path) -> Any:
    for part in path:
        document = document[part]
    return document


def copied(value: Any) -> Any:
    """Returns a copy of the document, since a validator adds defaults."""
    if isinstance(value, dict):
        return {key: copied(value) for key, value in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def opened(document: Any, path: Path) -> tuple[Any, Any]:
    """Returns a document that shares everything except the way to a place, and the part at that place."""
    result = part = copy.copy(document)
    for key in path:
        part[key] = copy.copy(part[key])
        part = part[key]
    return result, part


def replaced(document: Any, path: Path, value: Any) -> Any:
    """Returns the document with another value at one place, which may be new."""
    if not path:
        return value
    result, part = opened(document, path[:-1])
    part[path[-1]] = value
    return result


def removed(document: Any, path: Path) -> Any:
    result, part = opened(document, path[:-1])
    del part[path[-1]]
    return result


def changes(document: Any) -> Iterator[Any]:
    """Returns the document with one change, for every place and every change."""
    for path in paths(document):
        yield from (replaced(document, path, swap) for swap in SWAPS)
        if path:
            yield removed(document, path)
        if isinstance(at(document, path), dict):
            yield from (replaced(document, (*path, key), "a") for key in ("unknown", "statuss", "", "ключ", "a.b"))


def fields(rule: Any, root: Any) -> Iterator[str]:
    """Returns every property of a schema, as a path without indexes."""
    rule = root["$defs"][rule["$ref"].rpartition("/")[2]] if "$ref" in rule else rule
    inner = rule.get("additionalProperties")
    for key, each in rule.get("properties", {"*": inner} if isinstance(inner, dict) else {}).items():
        yield key
        yield from (f"{key}.{below}" for below in fields(each, root))
    if "items" in rule:
        yield from fields(rule["items"], root)


@all_of("name", NAMES)
def test_the_samples_are_valid_and_complete(name):
    """Every sample is accepted, and the first has every field of its schema."""
    assert all(agree(name, item) for item in VALID[name])
    document = schema.document(name)
    present = {shown(path) for path in paths(VALID[name][0])}
    named = MAPPINGS.get(name, "none")
    present = {re.sub(r"\[\d+\]", "", re.sub(rf"({named})\.[^.\[]+", r"\1.*", item)) for item in present}
    assert set(fields(document, document)) <= present


@few_of("name", NAMES, 4)
def test_one_change_at_every_place_gets_the_same_verdict(name):
    """A missing, unknown or wrong field gets the library's verdict."""
    library = Remembering(name)
    verdicts = [agree(name, change, library) for document in VALID[name] for change in changes(document)]
    assert verdicts.count(False) > 60


ABANDONED = {**TASK, "status": "abandoned"}
ESCALATED = {**NOTE, "status": "escalated"}
CONDITIONS = {
    "completed without a time": ("task", {**TASK, "completed_at": ...}, "task.completed_at"),
    "completed without approval": ("task", {**TASK, "approval": ...}, "task.approval"),
    "abandoned without a reason": ("task", {**ABANDONED, "abandoned_reason": ...}, "task.abandoned_reason"),
    "resolved without an answer": ("notes", {**NOTE, "resolution": ...}, "notes[0].resolution"),
    "resolved with null": ("notes", {**NOTE, "resolution": None}, "notes[0].resolution"),
    "resolved by nobody": ("notes", {**NOTE, "resolved_by": None}, "notes[0].resolved_by"),
    "resolved at no time": ("notes", {**NOTE, "resolution_timestamp": None}, "notes[0].resolution_timestamp"),
    "escalated without a reason": ("notes", {**ESCALATED, "escalation_reason": None}, "notes[0].escalation_reason"),
    "escalated, the reason missing": ("notes", {**ESCALATED, "escalation_reason": ...}, "notes[0].escalation_reason"),
}


@all_of(("name", "inner", "place"), CONDITIONS.values())
def test_a_condition_names_the_missing_field(name, inner, place):
    """A field that a status requires is required, and the error names it."""
    inner = {key: value for key, value in inner.items() if value is not ...}
    document = {**VALID[name][0], "task": inner} if name == "task" else {**VALID[name][0], "notes": [inner]}
    assert not agree(name, document)
    assert verdict(name, document) == place


def documents(rule: Any, root: Any) -> st.SearchStrategy[Any]:
    """Generates documents of the schema's shape, with random lengths, conditions and repeats."""
    if "$ref" in rule:
        return documents(root["$defs"][rule["$ref"].rpartition("/")[2]], root)
    if "enum" in rule:
        return st.sampled_from(rule["enum"])
    kinds = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
    return st.one_of([_of_kind(kind, rule, root) for kind in kinds])


def _of_kind(kind: str, rule: Any, root: Any) -> st.SearchStrategy[Any]:
    if kind == "object":
        if "properties" not in rule:
            return st.dictionaries(st.sampled_from(["a", "b", "c-d"]), documents(rule["additionalProperties"], root))
        made = {key: documents(value, root) for key, value in rule["properties"].items()}
        needed = {key: value for key, value in made.items() if key in rule["required"]}
        return st.fixed_dictionaries(needed, optional={key: value for key, value in made.items() if key not in needed})
    if kind == "array":
        return st.lists(documents(rule["items"], root), max_size=3)
    if kind == "string":
        return st.from_regex(rule["pattern"], fullmatch=True) if "pattern" in rule else st.text(max_size=20)
    plain = {"integer": st.integers(-2, 1 << 40), "boolean": st.booleans(), "null": st.none()}
    return {**plain, "number": st.floats(-2, 1e6, allow_nan=False)}[kind]


ANYTHING = st.one_of(st.sampled_from(SWAPS), st.text(max_size=12), st.integers(-5, 5))


@few_of("name", NAMES, 1)
@given(data=st.data())
@settings(max_examples=1000 if FULL else 30, suppress_health_check=list(HealthCheck))
def test_any_document_gets_the_same_verdict(name, data):
    """Documents of the schema's shape, also with something else at one place, get the library's verdict."""
    root = schema.document(name)
    document = data.draw(documents(root, root))
    assume(not _ends_in_a_line_break(document))
    agree(name, document)
    path = data.draw(st.sampled_from(list(paths(document))))
    swap = data.draw(ANYTHING)
    assume(not _ends_in_a_line_break(swap))
    agree(name, replaced(document, path, swap))


def _ends_in_a_line_break(value: Any) -> bool:
    inner = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return (isinstance(value, str) and value.endswith("\n")) or any(_ends_in_a_line_break(item) for item in inner)


def test_defaults_are_new_objects():
    """A missing field with a default gets it, and no two documents share a list."""
    first, second = copy.deepcopy(VALID["task"][2]), copy.deepcopy(VALID["task"][2])
    assert verdict("task", first) is verdict("task", second) is None
    assert first["revision"] == 0
    assert first["task"]["status"] == "pending"
    assert first["task"]["priority"] == "medium"
    first["task"]["criteria"].append("x")
    assert second["task"]["criteria"] == []


def test_an_error_is_short():
    """A key as long as the file does not make a message as long as the file."""
    with pytest.raises(SchemaError) as refused:
        import_module("sow.store.validators.repo_config").validate({"schema_version": "1.2.0", "x" * 10**6: 1})
    assert len(str(refused.value)) < 300


def test_a_key_that_is_no_text_is_refused():
    """YAML has keys of other types; no schema accepts one."""
    assert verdict("repo-config", {"schema_version": "1.2.0", 1: "a"}) == "1"
    assert verdict("user-config", {"agents": {"bindings": {1: "a"}}}) == "agents.bindings"


PRINTED = """{
  "task_id": "create_user_table_1727539200",
  "session_start": 1727539800,
  "notes": [
    {
      "note_id": "note_001",
      "timestamp": 1727540700,
      "description": "Assuming email field should be unique",
      "context": "Creating users table without explicit uniqueness requirements",
      "status": "resolved",
      "resolution": "Confirmed with user - email uniqueness required",
      "resolved_by": "workflow_executor",
      "resolution_timestamp": 1727541600,
      "escalation_reason": null
    }
  ]
}"""


def test_the_example_notes_are_valid(tmp_path, bare_repo):
    """The documented example of a session of notes is valid."""
    assert agree("notes", json.loads(PRINTED))
    folder = tmp_path / "completion_drive"
    folder.mkdir()
    (folder / "session_current.json").write_text(PRINTED)
    bare_repo.ok("validate", str(folder / "session_current.json"))
